//! The same archive through four readers: ours, the `tar` crate, Python and GNU tar.

use std::collections::BTreeMap;
use std::io::Read as _;

use manifest_bundle::content::Content;
use manifest_bundle::digest::Digest;
use manifest_bundle::limits::Limits;
use manifest_bundle::tar::{self, EntryKind, Rules};

use crate::support::Sandbox;

/// A tree by names: the digest of a file's content, or nothing for a directory.
pub(super) type Tree = BTreeMap<String, Option<String>>;

/// What our reader made of an archive.
pub(super) struct Read {
    pub(super) tree: Tree,
    /// The contents of all files, in the order of the archive.
    pub(super) contents: Vec<u8>,
}

/// Reads an archive with our reader; nothing if it refuses.
pub(super) fn ours(archive: &[u8]) -> Option<Read> {
    let limits = Limits::default();
    let content = Content::from(archive.to_vec());
    let mut entries = tar::index(&content, Rules::layer(&limits)).ok()?;
    entries.sort_by_key(|entry| entry.offset);
    let mut read = Read {
        tree: Tree::new(),
        contents: Vec::new(),
    };
    for entry in entries {
        let data = content.slice(entry.offset, entry.size).unwrap();
        let data = data.to_bytes().unwrap();
        read.contents.extend_from_slice(&data);
        let file = entry.kind == EntryKind::File;
        let file = file.then(|| Digest::of(&data).hex());
        read.tree.insert(entry.path.to_string(), file);
    }
    Some(read)
}

/// Adds what another reader calls `./a`, `a/` or `a`; the root has no name.
fn insert(tree: &mut Tree, name: &str, file: Option<String>) {
    let name = name.strip_prefix("./").unwrap_or(name);
    let name = name.strip_suffix('/').unwrap_or(name);
    if matches!(name, "" | ".") {
        return;
    }
    // A directory may be there twice, which is one.
    let twice = tree
        .get(name)
        .is_some_and(|before| before.is_some() || file.is_some());
    let found = if twice {
        Some("there twice".to_owned())
    } else {
        file
    };
    tree.insert(name.to_owned(), found);
}

/// Reads an archive with the `tar` crate.
pub(super) fn crates(archive: &[u8]) -> std::io::Result<Tree> {
    let mut tree = Tree::new();
    for entry in ::tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mut data = Vec::new();
        entry.read_to_end(&mut data)?;
        let file = if kind.is_dir() {
            None
        } else if kind.is_file() {
            Some(Digest::of(&data).hex())
        } else {
            Some(format!("{kind:?}"))
        };
        insert(&mut tree, &name, file);
    }
    Ok(tree)
}

const PYTHON: &str = "
import hashlib, sys, tarfile
for path in sys.argv[1:]:
    print('=', path)
    archive = tarfile.open(path, 'r:')
    for entry in archive.getmembers():
        data = entry.isfile() and hashlib.sha256(archive.extractfile(entry).read()).hexdigest()
        print(data or ('-' if entry.isdir() else '?'), entry.name)
";

/// Reads files of the sandbox with Python, all in one run.
pub(super) fn python(sandbox: &Sandbox, paths: &[&str]) -> Vec<Tree> {
    let ran = sandbox.python(PYTHON, paths);
    let listing = ran.ok().stdout();
    let mut trees: Vec<Tree> = Vec::new();
    for line in listing.lines() {
        let (word, name) = line.split_once(' ').unwrap();
        if word == "=" {
            assert_eq!(name, paths[trees.len()]);
            trees.push(Tree::new());
        } else {
            let file = (word != "-").then(|| word.to_owned());
            insert(trees.last_mut().unwrap(), name, file);
        }
    }
    trees
}

/// Reads a file of the sandbox with GNU tar: what is where, without digests, and the contents of all files as one.
pub(super) fn gnu(sandbox: &Sandbox, path: &str) -> (Tree, Vec<u8>) {
    let plain = "--quoting-style=literal";
    let listed = sandbox.tool("tar", ["-t", plain, "-f", path]);
    let quiet = "--warning=none";
    let options = [
        "-x",
        "-O",
        "-vv",
        "--numeric-owner",
        quiet,
        plain,
        "-f",
        path,
    ];
    let read = sandbox.tool("tar", options);
    let names: Vec<&str> = listed.ok().stdout().lines().collect();
    // The long listing, whose first letter is the type; names are not to be told from the columns before them.
    let types: Vec<&str> = read.ok().stderr().lines().collect();
    assert_eq!(names.len(), types.len(), "{path}: {names:?} {types:?}");
    let mut tree = Tree::new();
    for (name, line) in names.into_iter().zip(types) {
        let file = (!line.starts_with('d')).then(|| line[..1].to_owned());
        insert(&mut tree, name, file);
    }
    (tree, read.stdout_bytes().to_vec())
}
