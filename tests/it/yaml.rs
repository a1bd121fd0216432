//! YAML read as Kubernetes reads it: samples with the JSON that Go's `sigs.k8s.io/yaml` made of them, and the corpus.

use std::path::{Path, PathBuf};

use manifest_bundle::digest::{Digest, Hasher};
use manifest_bundle::limits::Limits;
use manifest_bundle::yaml;
use serde_json::Value;

use crate::support::corpus;

/// The digest of the corpus: paths and contents of its YAML files.
const CORPUS: &str = "sha256:efcd6c1b11ded9b793011d63a851815b9fa5bcf0759d1ba19f57ebb506fc1bd2";

/// The digest of all values in it, taken when each had been compared with what `sigs.k8s.io/yaml` 1.3 gives.
const CORPUS_VALUES: &str =
    "sha256:4ff2bfe4bc52c2ff1e1342f4c5b961bcf235ab75cc8a80103f7614448fa3d79a";

/// Tells whether two values are the same to a reader that has one kind of number: Go writes the float 1.0 as `1`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Lists the files below a directory that end in one of the extensions, sorted.
fn files(directory: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let path = entry.path();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file()
                && extensions
                    .iter()
                    .any(|e| path.extension().is_some_and(|x| x == *e))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn samples_have_the_values_that_go_recorded() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/yaml");
    let limits = Limits::default();
    let samples = files(&directory, &["yaml"]);
    assert!(samples.len() >= 8, "{}", samples.len());
    for sample in samples {
        let text = std::fs::read(&sample).unwrap();
        let found: Vec<Value> = yaml::documents(&text, &limits)
            .map(|document| {
                document.unwrap_or_else(|fault| panic!("{}: {fault}", sample.display()))
            })
            .map(|document| document.root.to_json())
            .filter(|value| !value.is_null())
            .collect();
        let recorded = std::fs::read(sample.with_extension("json")).unwrap();
        let recorded: Vec<Value> = serde_json::from_slice(&recorded).unwrap();
        // Of blank documents Go makes null, and of some nothing.
        let recorded: Vec<Value> = recorded
            .into_iter()
            .filter(|value| !value.is_null())
            .collect();
        assert_eq!(found.len(), recorded.len(), "{}", sample.display());
        for (found, recorded) in found.iter().zip(&recorded) {
            if let (Value::Object(found), Value::Object(recorded)) = (found, recorded) {
                for (key, value) in recorded {
                    let found = found.get(key).unwrap_or(&Value::Null);
                    assert!(
                        same(found, value),
                        "{}: {key}: {found} is not {value}",
                        sample.display()
                    );
                }
            }
            assert!(
                same(found, recorded),
                "{}: {found} is not {recorded}",
                sample.display()
            );
        }
    }
}

#[test]
fn the_corpus_has_the_values_that_go_gives() {
    let Some(directory) = corpus().map(|corpus| corpus.join("corpus")) else {
        return;
    };
    let limits = Limits::default();
    let (mut documents, mut faulty) = (0, 0);
    let mut names = Hasher::sha256();
    let mut values = Hasher::sha256();
    let all = files(&directory, &["yaml", "yml", "json", "template"]);
    for path in &all {
        let text = std::fs::read(path).unwrap();
        let name = path.strip_prefix(&directory).unwrap().to_str().unwrap();
        names.update(format!("{name} {}\n", Digest::of(&text)).as_bytes());
        values.update(format!("{name}\n").as_bytes());
        let lines = text.split(|b| *b == b'\n').count();
        for document in yaml::documents(&text, &limits) {
            match document {
                Ok(document) => {
                    documents += 1;
                    values.update(document.root.to_json().to_string().as_bytes());
                    assert_eq!(line_out_of(&document.root, lines), None, "{name}");
                }
                Err(fault) => {
                    faulty += 1;
                    values.update(b"fault");
                    assert!(
                        (1..=lines).contains(&(fault.line as usize)),
                        "{name}: {fault}"
                    );
                }
            }
            values.update(b"\n");
        }
    }
    eprintln!(
        "{} files, {documents} documents, {faulty} faults",
        all.len()
    );
    assert!(documents > all.len(), "most files hold documents");
    let names = names.finish().to_string();
    if names == CORPUS {
        assert_eq!(
            values.finish().to_string(),
            CORPUS_VALUES,
            "a value has changed"
        );
    } else {
        eprintln!(
            "another corpus ({names}, {}): only counted",
            values.finish()
        );
    }
}

/// Returns a line that is not between 1 and `lines`, if a node claims to be there.
fn line_out_of(node: &yaml::Node, lines: usize) -> Option<u32> {
    let line = |line: u32| (!(1..=lines).contains(&(line as usize))).then_some(line);
    let keys = node.as_mapping().unwrap_or_default().iter();
    line(node.line)
        .or_else(|| keys.clone().find_map(|(key, _)| line(key.line)))
        .or_else(|| {
            keys.clone()
                .find_map(|(_, value)| line_out_of(value, lines))
        })
        .or_else(|| {
            node.as_sequence()
                .unwrap_or_default()
                .iter()
                .find_map(|item| line_out_of(item, lines))
        })
}
