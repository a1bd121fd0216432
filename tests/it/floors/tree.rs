//! The files of a source tree by their paths, from disk or planted by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source;

#[derive(Clone)]
pub(super) struct Tree {
    files: BTreeMap<String, File>,
}

#[derive(Clone)]
pub(super) struct File {
    /// As it is on disk.
    pub(super) text: String,
    /// What is built of it outside tests.
    pub(super) code: String,
    /// Built only for tests.
    pub(super) test: bool,
}

impl Tree {
    /// Reads the `.rs` files below `root/directory`.
    pub(super) fn read(root: &Path, directory: &str) -> Self {
        let mut files = Vec::new();
        let mut open = vec![root.join(directory)];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") {
                    let name = path
                        .strip_prefix(root)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned();
                    files.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        Self::of(files)
    }

    pub(super) fn of(texts: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut tests = BTreeSet::new();
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let (code, names) = source::without_tests(&source::code(&text));
            let below = path.strip_suffix(".rs").unwrap().to_owned();
            tests.extend(names.iter().map(|name| format!("{below}/{name}")));
            files.insert(
                path,
                File {
                    text,
                    code,
                    test: false,
                },
            );
        }
        for (path, file) in &mut files {
            let path = path.strip_suffix(".rs").unwrap();
            file.test = tests.iter().any(|test| {
                path.strip_prefix(test.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
        }
        Self { files }
    }

    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The files of the library that are built outside tests, `lib.rs` apart, each with the names of its module.
    pub(super) fn library(&self) -> impl Iterator<Item = (&str, Vec<&str>, &File)> {
        let files = self.files().filter(|(path, file)| {
            !file.test && !path.starts_with("src/bin/") && *path != "src/lib.rs"
        });
        files.map(|(path, file)| {
            let module = path
                .strip_prefix("src/")
                .unwrap()
                .strip_suffix(".rs")
                .unwrap();
            (path, module.split('/').collect(), file)
        })
    }
}
