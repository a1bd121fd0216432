//! The architecture, proved from the source: modules use lower floors only, disk and network are touched on floor 2 alone,
//! the library is silent and reads no surroundings, and no file is forgotten, nameless or too long.
//!
//! The floors are the `// Floor N:` groups of `src/lib.rs`. The reading is textual: it sees through comments, strings, braced
//! imports and `super::super`, not through macros. Every rule is planted with a fault below, because a rule that has
//! never failed proves nothing.

mod paths;
mod planted;
mod rules;
mod source;
mod tree;

use std::path::Path;

use tree::Tree;

/// The files below `directory`, as they are.
fn real(directory: &str) -> Tree {
    let tree = Tree::read(Path::new(env!("CARGO_MANIFEST_DIR")), directory);
    assert!(tree.files().count() > 10, "{directory} has files");
    tree
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn modules_use_lower_floors_only() {
    none(&rules::floors(&real("src")));
}

#[test]
fn the_library_touches_disk_and_network_on_floor_2_and_reads_no_surroundings() {
    none(&rules::library_reach(&real("src")));
}

#[test]
fn the_binary_stands_on_the_public_interface_of_the_library() {
    none(&rules::binary_reach(&real("src")));
}

#[test]
fn every_file_is_part_of_the_build() {
    none(&rules::orphans(&real("src")));
    none(&rules::orphans(&real("tests")));
}

#[test]
fn every_test_over_the_corpus_has_it_in_its_name() {
    none(&rules::corpus(&real("src")));
    none(&rules::corpus(&real("tests")));
}

#[test]
fn every_file_says_what_it_is_for_and_is_short_or_a_table() {
    none(&rules::shape(&real("src")));
    none(&rules::stale(&real("src")));
}
