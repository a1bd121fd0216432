//! Whatever archive our reader accepts, other people's readers must see the same tree in it.
//!
//! A series is 2,000 archives, and 20,000 with `BUNDLE_TEST_FULL` or when it is about the corpus. All that are accepted go
//! to the `tar` crate and to Python; GNU tar, which is started twice for each, gets about 100 of them, or 1,000. The share
//! that was accepted is printed. A failure names its seed and case: `BUNDLE_TEST_SEED` replays it, or makes it another
//! series, and `BUNDLE_TEST_KEEP` keeps the archives.

mod archives;
mod random;
mod readers;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::support::{Sandbox, corpus};
use random::Random;
use readers::{Read, Tree};

fn is_full() -> bool {
    std::env::var_os("BUNDLE_TEST_FULL").is_some()
}

fn seed() -> u64 {
    let named = std::env::var("BUNDLE_TEST_SEED");
    named.map_or(1, |text| text.parse().unwrap())
}

/// Makes a series of archives and compares what the readers make of those that ours accepts, a share in per cent.
#[track_caller]
fn agree(
    what: &str,
    cases: usize,
    expected: Range<usize>,
    make: impl Fn(&mut Random) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let seed = seed();
    let sandbox = Sandbox::new();
    let mut accepted: BTreeMap<Vec<u8>, (String, Read)> = BTreeMap::new();
    let mut count = 0;
    for case in 0..cases {
        let archive = make(&mut Random::new(seed, case));
        let Some(read) = readers::ours(&archive) else {
            continue;
        };
        count += 1;
        if accepted.contains_key(&archive) {
            continue;
        }
        let path = format!("{case}.tar");
        sandbox.write(&path, &archive);
        let theirs = readers::crates(&archive)
            .unwrap_or_else(|e| panic!("{what}, seed {seed}, case {case}: {:?}: {e}", read.tree));
        assert_eq!(
            read.tree, theirs,
            "{what}, seed {seed}, case {case}, by the tar crate"
        );
        accepted.insert(archive, (path, read));
    }
    eprintln!(
        "{what}, seed {seed}: {count} of {cases} are accepted, {} of them different",
        accepted.len()
    );
    // A reader that accepts nothing agrees with everybody.
    let share = count * 100 / cases;
    assert!(expected.contains(&share), "{what}: {share} % accepted");

    let paths: Vec<&str> = accepted.values().map(|(path, _)| path.as_str()).collect();
    let trees = readers::python(&sandbox, &paths);
    assert_eq!(trees.len(), accepted.len());
    for ((path, read), theirs) in accepted.values().zip(trees) {
        assert_eq!(read.tree, theirs, "{what}, seed {seed}, {path}, by Python");
    }
    let some = if is_full() { 1_000 } else { 100 };
    // From all over: they are in the order of their bytes, so that the first have much in common.
    let step = (accepted.len() / some).max(1);
    for (path, read) in accepted.values().step_by(step) {
        let (tree, contents) = readers::gnu(&sandbox, path);
        let kinds: Tree = read
            .tree
            .iter()
            .map(|(name, file)| (name.clone(), file.as_ref().map(|_| "-".to_owned())))
            .collect();
        assert_eq!(kinds, tree, "{what}, seed {seed}, {path}, by GNU tar");
        let same = read.contents == contents;
        assert!(same, "{what}, seed {seed}, {path}: contents, by GNU tar");
    }
    accepted.into_keys().collect()
}

#[test]
fn every_archive_that_is_accepted_is_one_tree_to_all_readers() {
    let cases = if is_full() { 20_000 } else { 2_000 };
    let right = agree("archives of parts", cases, 10..60, archives::archive);
    agree("mutants of those", cases, 5..60, |random| {
        archives::mutant(random, &right)
    });
}

#[test]
fn mutants_of_the_corpus_that_are_accepted_are_one_tree_to_all_readers() {
    let Some(directory) = corpus() else {
        return;
    };
    let mut seeds = Vec::new();
    for category in ["accept", "iffy", "malicious", "reject"] {
        let directory = directory.join("malo/tar").join(category);
        for file in std::fs::read_dir(directory).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|e| e == "tar") {
                seeds.push(path);
            }
        }
    }
    // One order on every machine, or the seed would say nothing.
    seeds.sort();
    let seeds: Vec<Vec<u8>> = seeds
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    agree("mutants of the corpus", 20_000, 1..30, |random| {
        archives::mutant(random, &seeds)
    });
}
