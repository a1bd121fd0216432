//! Tables of the tool's contract: exit codes, the keys of answers and errors, and findings.

use std::collections::{BTreeMap, BTreeSet};

use manifest_bundle::limits::Limits;
use manifest_bundle::validate::{CHECKS, Options, validate};

use super::same;
use crate::spec::markdown::Table;
use crate::support::{Sandbox, bundle_dir};

/// The table of exit codes is what the binary does and the library calls it, read from their source.
pub(super) fn exit_codes(table: &Table) -> Vec<(usize, String)> {
    let codes = arms("src/bin/bundle/report.rs", "Kind::");
    let names = arms("src/error.rs", "Self::");
    let mut faults = Vec::new();
    if codes.len() < 13 {
        faults.push((
            table.line,
            format!("only {} codes are found in the source", codes.len()),
        ));
    }
    let mut listed = BTreeSet::new();
    for row in table.rows.iter().filter(|row| !row.cells[1].is_empty()) {
        let kind = names
            .iter()
            .find(|(_, name)| **name == format!("\"{}\"", row.cells[1].trim_matches('`')));
        let checked = kind
            .ok_or("there is no such kind".to_owned())
            .and_then(|(kind, _)| {
                listed.insert(kind.clone());
                same(
                    "the code",
                    codes.get(kind).map(String::as_str),
                    row.cells[0].split(',').next(),
                )
            });
        faults.extend(checked.err().map(|why| (row.line, why)));
    }
    let all = same("the set of kinds", codes.keys().cloned().collect(), listed);
    faults.extend(all.err().map(|why| (table.line, why)));
    faults
}

/// Returns the arms `PATHName => value,` of the matches in a source file.
fn arms(file: &str, path: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(crate::spec::root().join(file)).unwrap();
    let arms = text.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix(path)?.split_once(" => ")?;
        let value = value.strip_suffix(',')?;
        let is_name = name.chars().all(char::is_alphanumeric);
        let is_value = value.starts_with('"') || value.parse::<u8>().is_ok();
        (is_name && is_value).then(|| (name.to_owned(), value.to_owned()))
    });
    arms.collect()
}

/// An answer has the keys of the table, whatever applies.
pub(super) fn answer_keys(table: &Table) -> Vec<(usize, String)> {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let ran = sandbox.run(["pack", "etcd", "-o", "etcd.tar", "--format", "json"]);
    let answer = ran.ok().json();
    let found: BTreeSet<&str> = answer
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let listed = table.rows.iter().map(|row| row.cells[0].trim_matches('`'));
    let checked = same("the set of keys", found, listed.collect());
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

/// What commands answer beyond that is what the table has for them.
pub(super) fn command_keys(table: &Table) -> Vec<(usize, String)> {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let keys = |words: &[&str]| {
        let ran = sandbox.run(words.iter().chain(&["--format", "json"]));
        let answer = ran.ok().json();
        let keys = answer.as_object().unwrap().keys().cloned();
        keys.collect::<BTreeSet<String>>()
    };
    let common = keys(&["pack", "etcd", "-o", "etcd.tar"]);
    let calls: [&[&str]; 5] = [
        &["push", "etcd", "oci:lay"],
        &["tag", "oci:lay:1.0.0", "stable"],
        &["copy", "oci:lay:1.0.0", "copy.tar"],
        &["resolve", "oci:lay"],
        &["images", "etcd"],
    ];
    let mut faults = Vec::new();
    for words in calls {
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        let rows = table
            .rows
            .iter()
            .filter(|row| bare(&row.cells[0]) == words[0]);
        let listed = rows.map(|row| bare(&row.cells[1])).collect::<BTreeSet<_>>();
        let found: BTreeSet<String> = keys(words).difference(&common).cloned().collect();
        let checked = same(words[0], found, listed);
        faults.extend(checked.err().map(|why| (table.line, why)));
    }
    faults
}

/// An error has the keys of the table: those that are always there, and of the others those that apply.
pub(super) fn error_keys(table: &Table) -> Vec<(usize, String)> {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let file = "etcd/metadata/annotations.yaml";
    let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
    sandbox.run(["pack", "etcd", "-o", "good.tar"]).ok();
    sandbox.write(file, text.replace("\"1.0.0\"", "1.0"));
    let runs: [&[&str]; 4] = [
        &["pack", "etcd", "-o", "bad.tar"],
        &["verify", "good.tar", "--version", "2.0.0"],
        &["verify", "good.tar", "--operator-id", "x"],
        &["pull", "localhost:1/etcd:1.0.0"],
    ];
    let always = table.rows.iter().filter(|row| row.cells[1] == "always");
    let always: BTreeSet<String> = always
        .map(|row| row.cells[0].trim_matches('`').into())
        .collect();
    let listed: BTreeSet<String> = table
        .rows
        .iter()
        .map(|row| row.cells[0].trim_matches('`').into())
        .collect();
    let mut seen = BTreeSet::new();
    let mut faults = Vec::new();
    for words in runs {
        let ran = sandbox.run(words.iter().chain(&["--format", "json"]));
        let error = ran.error_json();
        let keys: BTreeSet<String> = error.as_object().unwrap().keys().cloned().collect();
        if !always.is_subset(&keys) || !keys.is_subset(&listed) {
            faults.push((table.line, format!("{words:?} has the keys {keys:?}")));
        }
        seen.extend(keys);
    }
    // What these do not show is in the source, so nothing in the table is made up.
    let source =
        std::fs::read_to_string(crate::spec::root().join("src/bin/bundle/report.rs")).unwrap();
    for row in &table.rows {
        let name = row.cells[0].trim_matches('`');
        if !seen.contains(name) && !source.contains(&format!("\"{name}\"")) {
            faults.push((row.line, format!("no error has `{name}`")));
        }
    }
    if seen.len() < 9 {
        faults.push((table.line, format!("only {seen:?} were seen")));
    }
    faults
}

/// The table of findings is the table of checks; the severity is what the sample in `testdata/bad` gives.
pub(super) fn findings(table: &Table) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    if table.rows.len() != CHECKS.len() {
        faults.push((
            table.line,
            format!("there are {} checks in the code", CHECKS.len()),
        ));
    }
    for (row, check) in table.rows.iter().zip(CHECKS) {
        let checks = [
            same("the code", &*format!("`{}`", check.code), &row.cells[0]),
            same("what it is about", check.family.name(), &row.cells[1]),
            severity(check.code, &row.cells[2]),
            same("what it means", check.about, &row.cells[3]),
        ];
        let failed = checks.into_iter().filter_map(Result::err);
        faults.extend(failed.map(|why| (row.line, why)));
    }
    faults
}

/// Compares a severity with that of the sample; a few faults have none, since no directory can hold them.
fn severity(code: &str, wanted: &str) -> Result<(), String> {
    let sample = crate::spec::root().join("testdata/bad").join(code);
    if !sample.exists() {
        return match wanted {
            "error" | "warning" | "note" => Ok(()),
            _ => Err(format!("`{wanted}` is no severity")),
        };
    }
    let options = Options {
        needs_metadata: true,
        ..Options::default()
    };
    let files = crate::spec::files(&sample);
    let report = validate(&files, &Limits::default(), &options).unwrap();
    let found = report.findings.iter().find(|finding| finding.code == code);
    let found = found.ok_or("the sample does not show it")?;
    same("the severity", found.severity.name(), wanted)
}
