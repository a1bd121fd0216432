//! Several layers as the one tree that they stand for.
//!
//! Whiteouts are applied to a tree in memory and nowhere else (threat A24): nothing on disk is ever removed by one.

use std::collections::BTreeMap;

use super::Entry;
use crate::bundle::Files;
use crate::content::Content;
use crate::error::Result;
use crate::path::BundlePath;
use crate::tar::EntryKind;
use crate::tree::Tree;

/// The tree that layers stand for.
#[derive(Debug, Default)]
pub struct Merged {
    /// The files.
    pub files: Files,
    /// The directories in which there is nothing; a bundle does not carry them.
    pub empty_directories: Vec<BundlePath>,
}

/// Puts layers on each other, lowest first.
///
/// What a layer removes, it removes from the layers below it, wherever in the layer that stands. A file in the place
/// of a directory, or a directory in the place of a file, replaces it.
///
/// # Errors
///
/// [`crate::Kind::Unsafe`] when the outcome is no tree that every system can hold.
pub fn merge(layers: Vec<Vec<Entry>>) -> Result<Merged> {
    let several = layers.len() > 1;
    // Directories have no content.
    let mut tree: BTreeMap<BundlePath, Option<Content>> = BTreeMap::new();
    for layer in layers {
        for entry in &layer {
            match entry.kind {
                EntryKind::Whiteout => {
                    tree.remove(&entry.path);
                    remove_below(&mut tree, &entry.path);
                }
                EntryKind::Opaque => remove_below(&mut tree, &entry.path),
                EntryKind::File | EntryKind::Directory => {}
            }
        }
        for entry in layer {
            let content = match entry.kind {
                EntryKind::File => Some(entry.content),
                EntryKind::Directory => None,
                EntryKind::Whiteout | EntryKind::Opaque => continue,
            };
            if several {
                give_way(&mut tree, &entry.path, content.is_some());
            }
            tree.insert(entry.path, content);
        }
    }
    let mut names = Tree::default();
    let mut merged = Merged::default();
    for (path, content) in tree {
        if let Some(content) = content {
            names.file(&path)?;
            merged.files.insert(path, content);
        } else {
            names.directory(&path, 0)?;
            merged.empty_directories.push(path);
        }
    }
    let Merged {
        files,
        empty_directories,
    } = &mut merged;
    empty_directories.retain(|directory| below(files, directory).next().is_none());
    Ok(merged)
}

/// Makes room for an entry where a lower layer has something of another kind.
fn give_way(tree: &mut BTreeMap<BundlePath, Option<Content>>, path: &BundlePath, is_file: bool) {
    if is_file {
        remove_below(tree, path);
    }
    let mut above = path.parent();
    while let Some(directory) = above {
        if let Some(Some(_)) = tree.get(&directory) {
            tree.remove(&directory);
        }
        above = directory.parent();
    }
}

fn remove_below(tree: &mut BTreeMap<BundlePath, Option<Content>>, directory: &BundlePath) {
    let gone: Vec<BundlePath> = below(tree, directory).cloned().collect();
    for path in gone {
        tree.remove(&path);
    }
}

/// Returns the paths below a directory.
fn below<'a, V>(
    tree: &'a BTreeMap<BundlePath, V>,
    directory: &'a BundlePath,
) -> impl Iterator<Item = &'a BundlePath> {
    // Between a directory and what is below it may stand names such as `a-b`, which sort before `a/b`.
    tree.range::<BundlePath, _>(directory..)
        .map(|(path, _)| path)
        .take_while(|path| path.as_str().starts_with(directory.as_str()))
        .filter(|path| path.strip_prefix(directory.as_str()).is_some())
}
