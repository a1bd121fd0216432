//! The names of one tree, watched for any two that exclude each other.
//!
//! A tree that two systems would write in two ways is refused whole: the same path twice, two paths that differ by
//! nothing but case or Unicode form, a file that is also a directory (spec/image.md, "Names").
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::error::{Error, Result};
use crate::path::BundlePath;

/// The paths that were added so far; each costs about twice its length.
#[derive(Debug, Default)]
pub struct Tree {
    /// By folded path, components separated by NUL. No path holds a NUL and nothing sorts before it, so that what is
    /// below a directory follows it at once, and a new path can clash with its two neighbours only.
    nodes: BTreeMap<Box<str>, Node>,
}

#[derive(Debug)]
struct Node {
    path: BundlePath,
    /// The mode of a directory; nothing for a file.
    directory: Option<u32>,
}

impl Tree {
    /// Adds a file.
    ///
    /// Fails with [`crate::Kind::Unsafe`] when the path is there already or excludes one that is.
    pub fn file(&mut self, path: &BundlePath) -> Result<()> {
        self.add(path, None).map(|_| ())
    }

    /// Adds a directory; tells whether it is new. The same directory with the same mode may be added again.
    ///
    /// Fails as [`Tree::file`] does, and when the directory is there with another mode.
    pub fn directory(&mut self, path: &BundlePath, mode: u32) -> Result<bool> {
        self.add(path, Some(mode))
    }

    /// Tells whether a path, or something below it, is there.
    pub fn has(&self, path: &BundlePath) -> bool {
        let key = path.folded().replace('/', "\0");
        let from = (Bound::Included(key.as_str()), Bound::Unbounded);
        let next = self.nodes.range::<str, _>(from).next();
        next.is_some_and(|(_, node)| {
            node.path == *path || node.path.strip_prefix(path.as_str()).is_some()
        })
    }

    /// Tells whether a path, or a file or directory of which it would be a part, is there.
    pub fn has_above(&self, path: &BundlePath) -> bool {
        let mut next = (!self.nodes.is_empty()).then(|| path.clone());
        while let Some(path) = next {
            let key = path.folded().replace('/', "\0");
            let known = self.nodes.get(key.as_str());
            if known.is_some_and(|node| node.path == path) {
                return true;
            }
            next = path.parent();
        }
        false
    }

    fn add(&mut self, path: &BundlePath, directory: Option<u32>) -> Result<bool> {
        let key = path.folded().replace('/', "\0").into_boxed_str();
        let before = (Bound::Unbounded, Bound::Excluded(&*key));
        let after = (Bound::Included(&*key), Bound::Unbounded);
        let before = self.nodes.range::<str, _>(before).next_back();
        let after = self.nodes.range::<str, _>(after).next();
        for (near, node) in before.into_iter().chain(after) {
            if let Some(why) = exclusion(&key, path, directory, near, node) {
                return Err(Error::unsafe_content(why).file(path));
            }
            if *key == **near {
                return Ok(false);
            }
        }
        let node = Node {
            path: path.clone(),
            directory,
        };
        self.nodes.insert(key, node);
        Ok(true)
    }
}

/// Says why a new path and a known one cannot be in one tree, if that is so.
fn exclusion(
    key: &str,
    path: &BundlePath,
    directory: Option<u32>,
    near: &str,
    node: &Node,
) -> Option<String> {
    let known = &node.path;
    let folds = key.split('\0').zip(near.split('\0'));
    let mut names = path.components().zip(known.components());
    // Over the components that they have in common where case and Unicode form are ignored.
    for (fold, near_fold) in folds {
        let (name, known_name) = names.next()?;
        if fold != near_fold {
            return None;
        }
        if name != known_name {
            return Some(format!(
                "`{known}` and `{path}` are one file where case or Unicode form is ignored"
            ));
        }
    }
    if key == near {
        return match (directory, node.directory) {
            (Some(mode), Some(known_mode)) if mode == known_mode => None,
            (Some(_), Some(_)) => Some(format!("`{path}` is there twice, with two modes")),
            (None, None) => Some(format!("`{path}` is there twice")),
            _ => Some(format!("`{path}` is both a file and a directory")),
        };
    }
    let (upper, is_file) = if key.len() < near.len() {
        (path, directory.is_none())
    } else {
        (known, node.directory.is_none())
    };
    is_file.then(|| format!("`{upper}` is both a file and a directory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    /// Adds paths in order; a `/` at the end makes a directory, a number before it its mode.
    fn build(paths: &[&str]) -> Result<()> {
        let mut tree = Tree::default();
        for text in paths {
            let (mode, text) = text.split_once('=').unwrap_or(("755", text));
            match text.strip_suffix('/') {
                Some(text) => tree
                    .directory(&text.parse().unwrap(), mode.parse().unwrap())
                    .map(|_| ())?,
                None => tree.file(&text.parse().unwrap())?,
            }
        }
        Ok(())
    }

    #[test]
    fn ordinary_trees_are_accepted_in_any_order() {
        for paths in [
            &["a/", "a/x", "a/y", "a.yaml", "a-b", "a b", "b/c/d", "b/c/e"][..],
            &["a/x", "a/", "a/", "a0/x", "A0x"],
            &["700=a/", "a/b", "700=a/"],
        ] {
            build(paths).unwrap();
            let reversed: Vec<&str> = paths.iter().rev().copied().collect();
            build(&reversed).unwrap();
        }
    }

    #[test]
    fn what_is_there_is_found_by_its_directories_too() {
        let mut tree = Tree::default();
        for path in ["a/b/c", "a-b", "x"] {
            tree.file(&path.parse().unwrap()).unwrap();
        }
        for (path, is_there) in [
            ("a", true),
            ("a/b", true),
            ("a/b/c", true),
            ("x", true),
            ("X", false),
            ("a/b/c/d", false),
            ("a/c", false),
            ("b", false),
            ("y", false),
        ] {
            assert_eq!(tree.has(&path.parse().unwrap()), is_there, "{path}");
        }
        for (path, is_there) in [
            ("a/b/c/d/e", true),
            ("a/b/c", true),
            ("a/b", false),
            ("X", false),
        ] {
            assert_eq!(tree.has_above(&path.parse().unwrap()), is_there, "{path}");
        }
    }

    #[test]
    fn paths_that_exclude_each_other_are_refused_in_any_order() {
        for (paths, words) in [
            (&["a", "a"][..], "`a` is there twice"),
            (&["a/", "700=a/"], "two modes"),
            (&["a", "a/"], "both a file and a directory"),
            (&["a", "a/x"], "`a` is both a file and a directory"),
            (&["a", "a/b/c/d"], "`a` is both a file and a directory"),
            (&["a.yaml", "A.yaml"], "are one file where"),
            (&["A/x", "a/y"], "are one file where"),
            (&["A/", "a/y"], "are one file where"),
            (&["A/", "a/"], "are one file where"),
            (&["caf\u{e9}", "cafe\u{301}"], "are one file where"),
            (&["\u{fb01}/x", "fi/y"], "are one file where"),
            (&["x/a/b/c/f", "x/a/B/c/e"], "are one file where"),
        ] {
            // What lies between the two in the order of the names must not hide one from the other.
            for extra in [
                &[][..],
                &["a-b", "a.b", "a b", "zz"],
                &["x/a/b-", "x/a/c/d", "aa/b"],
            ] {
                let mut all: Vec<&str> = extra.iter().chain(paths).copied().collect();
                let error = build(&all).unwrap_err();
                assert_eq!(error.kind(), Kind::Unsafe, "{all:?}");
                assert!(error.message().contains(words), "{all:?}: {error}");
                all.reverse();
                assert!(build(&all).is_err(), "{all:?}");
            }
        }
    }
}
