//! Tables of sources: what becomes of which file.

use std::path::Path;

use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, ReadOptions};
use manifest_bundle::ignore::{self, Ignore};
use manifest_bundle::limits::Limits;

use super::{list, same};
use crate::spec::markdown::{Table, code};
use crate::spec::schemas::All;

pub(super) fn ignore_line(cells: &[String], _: &All) -> Result<(), String> {
    let mut ignore = Ignore::new(&[], &[], true).map_err(|e| e.to_string())?;
    ignore
        .enter("", code(&cells[0])?.as_bytes())
        .map_err(|e| e.to_string())?;
    for (cell, left_out) in [(&cells[1], true), (&cells[2], false)] {
        for path in list(cell)? {
            // As a walk does, from the root downwards: nothing below a directory that is left out is looked at.
            let mut above: Vec<&Path> = Path::new(path).ancestors().collect();
            above.pop();
            let found = above
                .iter()
                .any(|p| ignore.rule(p, *p != Path::new(path)).is_some());
            same(&format!("whether `{path}` is left out"), found, left_out)?;
        }
    }
    Ok(())
}

/// The table of built-in rules is the code's list, in its order.
pub(super) fn built_in(table: &Table) -> Vec<(usize, String)> {
    let cells = table.rows.iter().map(|row| list(&row.cells[0]));
    let patterns = cells
        .collect::<Result<Vec<_>, _>>()
        .map(|lists| lists.concat());
    let checked =
        patterns.and_then(|patterns| same("the list", ignore::BUILT_IN.to_vec(), patterns));
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

/// Makes a source of the files in the first column and reads it; the second says what becomes of each.
pub(super) fn source(table: &Table) -> Vec<(usize, String)> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("source");
    for row in &table.rows {
        let file = root.join(code(&row.cells[0]).unwrap());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "a: b\n").unwrap();
    }
    let options = ReadOptions {
        flatten: table.header[0] == "Flattened",
        ..ReadOptions::default()
    };
    let mut spool = Spool::new(directory.path());
    let source = directory::read(&root, &options, &Limits::default(), &mut spool).unwrap();
    let mut faults = Vec::new();
    if source.declared != (table.header[0] == "In a declared source") {
        faults.push((table.line, "the source is of the other kind".into()));
    }
    let mut carried = 0;
    for row in &table.rows {
        let path = code(&row.cells[0]).unwrap();
        let left_out = source
            .left_out
            .iter()
            .find(|left_out| left_out.path == path);
        let found = if let Some(left_out) = left_out {
            format!("left out: {}", left_out.rule)
        } else {
            carried += 1;
            let renamed = source.renamed.iter().find(|(from, _)| from == path);
            let below = if source.declared { "" } else { "manifests/" };
            let to = renamed.map_or_else(|| format!("{below}{path}"), |(_, to)| to.to_string());
            let carries = source.files.keys().any(|file| file.as_str() == to);
            if carries {
                format!("`{to}`")
            } else {
                format!("not `{to}`")
            }
        };
        if let Err(why) = same("what becomes of it", &*found, &row.cells[1]) {
            faults.push((row.line, why));
        }
    }
    if carried != source.files.len() {
        faults.push((
            table.line,
            format!("there are other files: {:?}", source.files),
        ));
    }
    faults
}
