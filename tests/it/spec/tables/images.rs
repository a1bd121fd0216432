//! Tables of container images.

use std::collections::BTreeSet;

use manifest_bundle::images;

use super::same;
use crate::spec::markdown::{Table, code};
use crate::spec::schemas::All;

pub(super) fn full_name(cells: &[String], _: &All) -> Result<(), String> {
    let reference = images::full_name(code(&cells[0])?).map_err(|e| e.to_string())?;
    let full = reference.to_string();
    let again = images::full_name(&full).map_err(|e| e.to_string())?;
    same("the full name of the full name", again, reference)?;
    same("the full name", full.as_str(), code(&cells[1])?)
}

pub(super) fn none(cells: &[String], _: &All) -> Result<(), String> {
    match images::full_name(code(&cells[0])?) {
        Ok(reference) => Err(format!("this is the image {reference}")),
        Err(_) => Ok(()),
    }
}

pub(super) fn name(cells: &[String], _: &All) -> Result<(), String> {
    let speaks = images::speaks_of_images(code(&cells[0])?);
    same("whether it speaks", speaks, cells[1] == "yes")
}

/// Every known field is in the table, and nothing else.
pub(super) fn fields(table: &Table) -> Vec<(usize, String)> {
    let mut listed = BTreeSet::new();
    let mut faults = Vec::new();
    for row in &table.rows {
        let codes = |cell: &String| {
            let codes = cell.split(", ").map(|text| code(text).map(str::to_owned));
            codes.collect::<Result<Vec<_>, _>>()
        };
        let cells: Result<Vec<_>, _> = row.cells.iter().map(codes).collect();
        match cells {
            Ok(cells) => {
                for kind in &cells[1] {
                    for field in &cells[2] {
                        listed.insert((cells[0][0].clone(), kind.clone(), field.clone()));
                    }
                }
            }
            Err(why) => faults.push((row.line, why)),
        }
    }
    let known = images::FIELDS
        .iter()
        .map(|(group, kind, field)| ((*group).into(), (*kind).into(), (*field).into()));
    let all = same("the set of fields", known.collect(), listed);
    faults.extend(all.err().map(|why| (table.line, why)));
    faults
}

pub(super) fn spoken_of(table: &Table) -> Vec<(usize, String)> {
    let listed: Result<Vec<&str>, String> =
        table.rows.iter().map(|row| code(&row.cells[0])).collect();
    let checked =
        listed.and_then(|listed| same("the list of groups", images::SPOKEN_OF.to_vec(), listed));
    checked
        .err()
        .map(|why| (table.line, why))
        .into_iter()
        .collect()
}
