//! Every directory of the corpus that holds manifests, through push (which packs) and pull on a real registry: the files
//! come back byte for byte. What is refused is refused for the reason in `corpus/refused.tsv`, and everything in that list
//! is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{DockerRegistry, Sandbox, corpus};

/// Directory, codes of the errors, and why that is right; tab-separated.
const REFUSED: &str = include_str!("corpus/refused.tsv");

#[test]
fn corpus_directories_come_back_byte_for_byte() {
    let Some(root) = corpus() else { return };
    let root = root.join("corpus");
    let registry = DockerRegistry::local();
    let repository = registry.repository("corpus");
    let directories = directories(&root);
    let expected: BTreeMap<&str, &str> = REFUSED
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    let next = AtomicUsize::new(0);
    let faults = Mutex::new(Vec::new());
    let refused = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let sandbox = Sandbox::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(directory) = directories.get(index) else {
                        break;
                    };
                    let repository = format!("{repository}-{index}");
                    let name = directory.strip_prefix(&root).unwrap().to_str().unwrap();
                    let (codes, fault) = round_trip(&sandbox, &repository, directory, name);
                    if codes != expected.get(name).copied().unwrap_or_default() {
                        faults
                            .lock()
                            .unwrap()
                            .push(format!("{name}\t{codes}\tunexpected"));
                    }
                    if !codes.is_empty() {
                        refused.lock().unwrap().insert(name.to_owned());
                    }
                    faults
                        .lock()
                        .unwrap()
                        .extend(fault.map(|fault| format!("{name}: {fault}")));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    let refused = refused.into_inner().unwrap().len();
    eprintln!(
        "corpus: {} directories, {refused} refused as listed",
        directories.len()
    );
    assert!(
        directories.len() > 300,
        "the corpus has {} directories only",
        directories.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        refused,
        expected.len(),
        "every line of the list is a refusal"
    );
}

/// The directories that hold manifests themselves; those of OLM's metadata hold none.
fn directories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let entries: Vec<_> = std::fs::read_dir(&directory)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        open.extend(
            entries
                .iter()
                .filter(|e| e.file_type().unwrap().is_dir())
                .map(std::fs::DirEntry::path),
        );
        let is_olm_metadata =
            directory.ends_with("metadata") && directory.with_file_name("manifests").is_dir();
        if !is_olm_metadata
            && entries
                .iter()
                .any(|entry| entry.file_type().unwrap().is_file() && is_manifest(&entry.path()))
        {
            found.push(directory);
        }
    }
    found.sort();
    found
}

fn is_manifest(path: &Path) -> bool {
    path.extension()
        .is_some_and(|kind| ["yaml", "yml", "json"].iter().any(|known| kind == *known))
}

/// Takes one directory there and back; returns the codes for which it was refused, and what else went wrong.
fn round_trip(
    sandbox: &Sandbox,
    repository: &str,
    directory: &Path,
    name: &str,
) -> (String, Option<String>) {
    let kustomize = ["kustomization.yaml", "kustomization.yml", "Kustomization"]
        .iter()
        .any(|file| directory.join(file).is_file());
    let nested = std::fs::read_dir(directory)
        .unwrap()
        .any(|entry| entry.unwrap().file_type().unwrap().is_dir());
    let mut call = vec!["push", directory.to_str().unwrap()];
    call.extend([
        repository,
        "--package",
        "corpus",
        "--version",
        "1.0.0",
        "--operator-id",
        "corpus",
        "--format",
        "json",
        "--quiet",
    ]);
    let flatten = nested && !kustomize;
    if kustomize {
        call.extend(["--mediatype", "kustomize"]);
    } else if flatten {
        call.push("--flatten");
    }
    let ran = sandbox.run(&call);
    let mut codes = String::new();
    let record = if ran.code() == 0 {
        ran.json()
    } else {
        let error = ran.error_json();
        let all: BTreeSet<&str> = error["findings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|f| f["severity"] == "error")
            .filter_map(|f| f["code"].as_str())
            .collect();
        codes = all.into_iter().collect::<Vec<_>>().join(",");
        if codes.is_empty() {
            return (format!("exit {}", ran.code()), Some(error.to_string()));
        }
        // Faults of objects are no reason to lose a byte of them.
        call.push("--allow-invalid");
        let again = sandbox.run(&call);
        if again.code() != 0 {
            return (codes, None);
        }
        again.json()
    };
    let pulled = sandbox.path(name.replace('/', "_"));
    let ran = sandbox.run([
        "pull",
        record["reference"].as_str().unwrap(),
        "-o",
        pulled.to_str().unwrap(),
        "--quiet",
    ]);
    if ran.code() != 0 {
        return (codes, Some(ran.stderr().to_owned()));
    }
    let left_out: BTreeSet<&str> = record["leftOut"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    let mut wanted = BTreeMap::new();
    files_below(directory, directory, &mut |relative, path| {
        let skipped = left_out
            .iter()
            .any(|out| *out == relative || out.ends_with('/') && relative.starts_with(out));
        if is_manifest(path) && !skipped {
            let target = if flatten {
                relative.replace('/', "-")
            } else {
                relative.to_owned()
            };
            wanted.insert(target, std::fs::read(path).unwrap());
        }
    });
    let mut found = BTreeMap::new();
    let manifests = pulled.join("manifests");
    files_below(&manifests, &manifests, &mut |relative, path| {
        found.insert(relative.to_owned(), std::fs::read(path).unwrap());
    });
    std::fs::remove_dir_all(&pulled).unwrap();
    if wanted == found {
        return (codes, None);
    }
    let names =
        |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>().join(" ");
    (
        codes,
        Some(format!(
            "files differ: wanted {}; found {}",
            names(&wanted),
            names(&found)
        )),
    )
}

/// Visits every regular file below a directory, with its path from `root`.
fn files_below(root: &Path, directory: &Path, visit: &mut dyn FnMut(&str, &Path)) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            files_below(root, &path, visit);
        } else {
            visit(path.strip_prefix(root).unwrap().to_str().unwrap(), &path);
        }
    }
}
