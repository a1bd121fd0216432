//! Faults planted one at a time into a small tree that has none: each must be named, with its place.

use super::rules;
use super::tree::Tree;

const LIB: &str = "//! Map.\n// Floor 0: words.\npub mod word;\npub mod other;\n// Floor 1: forms.\nmod form;\n// Floor 2: places.\nmod place;\n";

/// A good tree with one file replaced or added.
fn planted(path: &str, text: &str) -> Tree {
    let good = [
        ("src/lib.rs", LIB),
        (
            "src/word.rs",
            "//! A.\nuse crate::other::X;\n#[cfg(test)]\nmod tests { use crate::place::Y; }\n",
        ),
        ("src/other.rs", "//! A.\npub struct X;\n"),
        (
            "src/form.rs",
            "//! A.\n// crate::place in a comment\nuse crate::word;\nmod inner;\n",
        ),
        (
            "src/form/inner.rs",
            "//! A.\nuse super::super::word::A;\nuse super::form_of;\n",
        ),
        (
            "src/place.rs",
            "//! A.\nuse crate::{form, word::A};\nuse std::fs;\n",
        ),
        ("src/content.rs", "//! A.\n"),
        (
            "src/bin/bundle/main.rs",
            "//! A.\nmod args;\nuse std::env;\n",
        ),
        (
            "src/bin/bundle/args.rs",
            "//! A.\nuse manifest_bundle::word;\nfn f() { println!(); }\n",
        ),
    ];
    let mut files: Vec<_> = good
        .iter()
        .filter(|(name, _)| *name != "src/content.rs")
        .copied()
        .collect();
    files.retain(|(name, _)| *name != path);
    files.push((path, text));
    Tree::of(
        files
            .into_iter()
            .map(|(name, text)| (name.to_owned(), text.to_owned())),
    )
}

/// Asserts that `rule` finds exactly this.
#[track_caller]
fn found(rule: fn(&Tree) -> Vec<String>, path: &str, text: &str, expected: &[&str]) {
    assert_eq!(rule(&planted(path, text)), expected, "{text}");
}

#[test]
fn a_good_tree_has_no_faults() {
    for rule in [
        rules::floors,
        rules::library_reach,
        rules::binary_reach,
        rules::orphans,
        rules::shape,
    ] {
        found(rule, "src/other.rs", "//! A.\npub struct X;\n", &[]);
    }
}

#[test]
fn a_use_of_a_higher_floor_is_found() {
    let rule = rules::floors;
    let fault = "src/other.rs:2: `other` (floor 0) uses `form` (floor 1)";
    found(
        rule,
        "src/other.rs",
        "//! A.\nuse crate::form::B;\n",
        &[fault],
    );
    found(
        rule,
        "src/other.rs",
        "//! A.\nfn f() { crate::form::g() }\n",
        &[fault],
    );
    found(
        rule,
        "src/other.rs",
        "//! A.\npub use super::form;\n",
        &[fault],
    );
    let fault = "src/other.rs:4: `other` (floor 0) uses `place` (floor 2)";
    found(
        rule,
        "src/other.rs",
        "//! A.\nuse crate::{\n    word::A,\n    place::{self, B},\n};\n",
        &[
            fault,
            "src/other.rs:4: `other` (floor 0) uses `place` (floor 2)",
            "src/other.rs:3: `other` uses `word`, which uses `other`",
            "src/word.rs:2: `word` uses `other`, which uses `word`",
        ],
    );
    let fault = "src/form/inner.rs:2: `form` (floor 1) uses `place` (floor 2)";
    found(
        rule,
        "src/form/inner.rs",
        "//! A.\nuse super::super::place;\n",
        &[fault],
    );
}

#[test]
fn a_circle_on_one_floor_is_found() {
    found(
        rules::floors,
        "src/other.rs",
        "//! A.\nuse crate::word::A;\n",
        &[
            "src/other.rs:2: `other` uses `word`, which uses `other`",
            "src/word.rs:2: `word` uses `other`, which uses `word`",
        ],
    );
}

#[test]
fn a_module_on_no_floor_is_found() {
    let rule = rules::floors;
    found(
        rule,
        "src/new.rs",
        "//! A.\n",
        &["src/new.rs: `new` is on no floor of src/lib.rs"],
    );
    let lib = LIB.replace("// Floor 0: words.\n", "");
    found(
        rule,
        "src/lib.rs",
        &lib,
        &[
            "src/lib.rs:2: `word` is on no floor",
            "src/lib.rs:3: `other` is on no floor",
            "src/form.rs:3: takes `word` from the crate root instead of its module",
            "src/form/inner.rs:2: takes `word` from the crate root instead of its module",
            "src/other.rs: `other` is on no floor of src/lib.rs",
            "src/place.rs:2: takes `word` from the crate root instead of its module",
            "src/word.rs: `word` is on no floor of src/lib.rs",
        ],
    );
}

#[test]
fn a_name_from_the_root_of_the_crate_is_found() {
    let fault = "src/other.rs:2: takes `Error` from the crate root instead of its module";
    found(
        rules::floors,
        "src/other.rs",
        "//! A.\nuse crate::Error;\n",
        &[fault],
    );
    let fault = "src/other.rs:2: takes `*` from the crate root instead of its module";
    found(
        rules::floors,
        "src/other.rs",
        "//! A.\nuse crate::*;\n",
        &[fault],
    );
}

#[test]
fn disk_network_surroundings_and_output_are_found() {
    for (text, fault) in [
        ("use std::fs;", "`std::fs`: only floor 2 touches the disk"),
        (
            "use std::{io, fs::File};",
            "`std::fs::File`: only floor 2 touches the disk",
        ),
        (
            "fn f() { rustix::fs::sync() }",
            "`rustix::fs::sync`: only floor 2 touches the disk",
        ),
        (
            "use std::net::TcpStream;",
            "`std::net::TcpStream`: only floor 2 touches the network",
        ),
        (
            "use tokio::process::Command;",
            "`tokio::process::Command`: the library starts no program",
        ),
        (
            "fn f() { std::process::exit(1) }",
            "`std::process::exit`: the library starts no program",
        ),
        (
            "fn f() { std::env::var(x) }",
            "`std::env::var`: the library reads no environment: settings come in as values",
        ),
        (
            "fn f() { SystemTime::now() }",
            "`SystemTime::now`: the library reads no clock: times come in as values",
        ),
        ("fn f() { println!() }", "`println!`: the library is silent"),
        (
            "use std::io::stderr;",
            "`std::io::stderr`: the library is silent",
        ),
    ] {
        let fault = format!("src/other.rs:2: {fault}");
        found(
            rules::library_reach,
            "src/other.rs",
            &format!("//! A.\n{text}\n"),
            &[&fault],
        );
    }
    found(
        rules::library_reach,
        "src/other.rs",
        "//! std::fs\nuse std::net::IpAddr;\n// println!()\n",
        &[],
    );
    // Floor 2 has leave for the disk, not for the rest.
    let fault = "src/place.rs:3: `std::env::home_dir`: the library reads no environment: settings come in as values";
    found(
        rules::library_reach,
        "src/place.rs",
        "//! A.\nuse std::fs;\nuse std::env::home_dir;\n",
        &[fault],
    );
    // Only the file that is named has leave, not its module.
    found(
        rules::library_reach,
        "src/content.rs",
        "//! A.\nuse std::fs;\n",
        &[],
    );
}

#[test]
fn a_binary_that_goes_past_the_library_is_found() {
    let (rule, path) = (rules::binary_reach, "src/bin/bundle/args.rs");
    found(
        rule,
        path,
        "//! A.\n#[path = \"../../word.rs\"]\nmod word;\n",
        &["src/bin/bundle/args.rs: takes in a file by its path"],
    );
    found(
        rule,
        path,
        "//! A.\ninclude!(\"../../word.rs\");\n",
        &["src/bin/bundle/args.rs:2: takes in source by `include!`"],
    );
    found(
        rule,
        path,
        "//! A.\nuse reqwest::Client;\n",
        &[
            "src/bin/bundle/args.rs:2: `reqwest::Client`: the binary reaches the network through the library alone",
        ],
    );
}

#[test]
fn a_file_that_nothing_builds_is_found() {
    for (path, parent) in [
        ("src/new.rs", "src/lib.rs"),
        ("src/word/new.rs", "src/word.rs"),
        ("src/bin/bundle/new.rs", "src/bin/bundle/main.rs"),
        ("src/nothing/new.rs", "src/nothing.rs"),
    ] {
        let fault = format!("{path}: not in {parent}, so nothing builds it");
        found(rules::orphans, path, "//! A.\n", &[&fault]);
    }
}

#[test]
fn a_file_without_a_head_and_a_long_one_are_found() {
    let path = "src/other.rs";
    let fault = "src/other.rs: does not open with `//!` and what it is for";
    found(rules::shape, path, "// A.\n", &[fault]);
    let fault = "src/other.rs: 501 lines, more than 500, and not named as a table";
    found(
        rules::shape,
        path,
        &format!("//! A.\n{}", "x\n".repeat(500)),
        &[fault],
    );
    found(
        rules::shape,
        path,
        &format!("//! A.\n{}", "x\n".repeat(499)),
        &[],
    );
}

#[test]
fn a_test_that_hides_that_it_reads_the_corpus_is_found() {
    let path = "src/other.rs";
    let fault = "src/other.rs:2: `f` reads the corpus without its name";
    found(
        rules::corpus,
        path,
        "fn f() {\nlet a = corpus();\n}\n",
        &[fault],
    );
    found(
        rules::corpus,
        path,
        "fn the_corpus_is_read() {\nlet a = corpus(); // corpus()\n}\n",
        &[],
    );
}

#[test]
fn an_exception_that_is_not_needed_is_found() {
    let faults = rules::stale(&planted("src/content.rs", "//! A.\n"));
    assert!(
        faults
            .iter()
            .any(|fault| fault.starts_with("src/content.rs: an exception")),
        "{faults:?}"
    );
    let faults = rules::stale(&planted("src/content.rs", "//! A.\nuse std::fs;\n"));
    assert!(
        !faults
            .iter()
            .any(|fault| fault.starts_with("src/content.rs")),
        "{faults:?}"
    );
}
