//! Every OLM bundle of the corpus: inspected, validated, packed, and back byte for byte; what is refused is in
//! `refused.tsv` with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::codes;
use crate::real::tree;
use crate::support::{Sandbox, corpus};

/// Directory, codes of the errors, and why that is right; tab-separated.
const REFUSED: &str = include_str!("refused.tsv");

#[test]
fn corpus_bundles_of_olm_are_read_and_packed() {
    let Some(root) = corpus() else { return };
    let root = root.join("corpus/olm-bundles");
    let expected: BTreeMap<&str, &str> = REFUSED
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut cells = line.split('\t');
            Some((cells.next()?, cells.next()?))
        })
        .collect();
    let sandbox = Sandbox::new();
    let mut faults = Vec::new();
    let mut refused = BTreeSet::new();
    let mut packed = 0;
    for directory in bundles(&root) {
        let name = directory.strip_prefix(&root).unwrap().to_str().unwrap();
        let at = directory.to_str().unwrap();
        let validated = sandbox.run(["validate", at, "--quiet", "--format", "json"]);
        let found: BTreeSet<String> = codes(&validated.json())
            .into_iter()
            .map(str::to_owned)
            .collect();
        let found = found.into_iter().collect::<Vec<_>>().join(",");
        if found != expected.get(name).copied().unwrap_or_default() {
            faults.push(format!("{name}\t{found}\tunexpected"));
        }
        let inspected = sandbox.run(["inspect", at, "--quiet", "--format", "json"]);
        if !found.is_empty() {
            validated.assert_code(1);
            assert!(inspected.ok().json()["digest"].is_null(), "{inspected}");
            refused.insert(name.to_owned());
            continue;
        }
        validated.assert_code(0);
        let inspected = inspected.ok().json();
        let ran = sandbox.run([
            "pack", at, "--olm", "-o", "b.tar", "--force", "--quiet", "--format", "json",
        ]);
        assert_eq!(ran.ok().json()["digest"], inspected["digest"], "{name}");
        // The directory is named for the version; only the build of cilium's is not in it.
        let version = inspected["version"].as_str().unwrap();
        let release = version.split('+').next().unwrap();
        assert!(name.ends_with(release), "{name} {version}");
        sandbox
            .run(["unpack", "b.tar", "-o", "out", "--force", "--quiet"])
            .ok();
        let manifests = tree(sandbox.path("out/manifests"));
        if manifests != tree(directory.join("manifests")) {
            faults.push(format!("{name}: the files differ"));
        }
        packed += 1;
    }
    eprintln!(
        "OLM: {packed} bundles packed, {} refused as listed",
        refused.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(
        refused.len(),
        expected.len(),
        "every line of the list is a refusal"
    );
    assert!(packed > 30, "the corpus has {packed} bundles only");
}

/// The directories that look like bundles: each with `manifests/`, and what a package has beside its versions.
fn bundles(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let is_bundle = directory.join("manifests").is_dir() || directory.ends_with("_package");
        let below = directory
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path());
        open.extend(
            below.filter(|path| path.is_dir() && !(is_bundle && path.ends_with("manifests"))),
        );
        if is_bundle {
            found.push(directory);
        }
    }
    found.sort();
    found
}
