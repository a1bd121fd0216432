//! The catalogue of threats and faults: every one has a test, or a reason why it has none.
//!
//! The rows are in `catalogue/threats.tsv`; the suites with tables of their own (hostile archives, faults of the network)
//! carry the same ids. A test that is renamed or removed is missed here.

use std::collections::BTreeSet;
use std::path::Path;

const THREATS: &str = include_str!("catalogue/threats.tsv");

/// The parts of the catalogue and how many rows each has.
const PARTS: [(&str, usize); 14] = [
    ("A", 31), // structure and paths of archives
    ("B", 10), // compression
    ("C", 9),  // packing
    ("D", 19), // documents of OCI
    ("E", 20), // network and credentials
    ("F", 20), // what a bundle is trusted for
    ("G", 15), // metadata, YAML, references
    ("H", 7),  // terminal and logs
    ("I", 10), // local files
    ("J", 6),  // layouts and archives
    ("K", 8),  // credential helpers
    ("N", 16), // transport
    ("S", 28), // answers of registries
    ("L", 19), // this machine
];

struct Row<'t> {
    id: &'t str,
    codes: &'t str,
    tests: &'t str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = THREATS.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, what, codes, tests] = cells[..] else {
            panic!("not four columns: {line}");
        };
        assert!(
            !what.is_empty() && !codes.is_empty() && !tests.is_empty(),
            "{line}"
        );
        Row { id, codes, tests }
    });
    rows.collect()
}

/// The names of all tests below a directory, as the last parts of their paths.
fn tests_below(directory: &Path, names: &mut BTreeSet<String>) {
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_below(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                is_test |= line == "#[test]" || line.starts_with("#[tokio::test");
                let function = line.strip_prefix("async fn ").or(line.strip_prefix("fn "));
                if let Some(name) = function.filter(|_| is_test) {
                    names.insert(name.split('(').next().unwrap().to_owned());
                    is_test = false;
                }
            }
        }
    }
}

#[test]
fn every_threat_is_listed_once_and_in_order() {
    let wanted: Vec<String> = PARTS
        .iter()
        .flat_map(|(part, count)| (1..=*count).map(move |n| format!("{part}{n}")))
        .collect();
    let listed: Vec<&str> = rows().iter().map(|row| row.id).collect();
    assert_eq!(listed, wanted);
}

#[test]
fn every_threat_has_a_test_that_exists_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut names = BTreeSet::new();
    tests_below(&root.join("src"), &mut names);
    tests_below(&root.join("tests"), &mut names);
    assert!(names.len() > 500, "only {} tests are found", names.len());
    let (mut proven, mut missing) = (0, Vec::new());
    for row in rows() {
        if let Some(reason) = row.tests.strip_prefix("-: ") {
            assert!(
                reason.split(' ').count() > 3,
                "{}: {reason} is no reason",
                row.id
            );
            continue;
        }
        proven += 1;
        for test in row.tests.split(", ") {
            let name = test.rsplit("::").next().unwrap();
            if !names.contains(name) {
                missing.push(format!("{}: {test}", row.id));
            }
        }
    }
    assert!(missing.is_empty(), "no such test:\n{}", missing.join("\n"));
    eprintln!("{proven} of {} threats are proven by tests", rows().len());
}

#[test]
fn every_exit_code_of_the_catalogue_is_one_of_the_contract() {
    for row in rows() {
        for code in row.codes.split(", ").filter(|code| *code != "-") {
            let code: u8 = code.parse().unwrap();
            assert!(
                code <= 13 || [101, 130, 141, 143].contains(&code),
                "{}: {code}",
                row.id
            );
        }
    }
}
