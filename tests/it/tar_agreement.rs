//! Whatever archive our reader accepts, other people's readers must see the same tree in it.
//!
//! Archives are thrown together from parts that are all right somewhere: names, records, numbers, dialects, ends. About
//! a third of them are accepted. `BUNDLE_SEED` makes it another series, `BUNDLE_CASES` a longer one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use manifest_bundle::content::Content;
use manifest_bundle::digest::Digest;
use manifest_bundle::limits::Limits;
use manifest_bundle::tar::{self, EntryKind, Rules};

use crate::support::Sandbox;
use crate::support::targen::{Head, TarGen, record};

/// A tree by names: the digest of a file's content, or nothing for a directory.
type Tree = BTreeMap<String, Option<String>>;

/// Numbers that are the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % count as u64).unwrap()
    }

    fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// True once in `count` times.
    fn rarely(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

const NAMES: &[&str] = &[
    "a",
    "./a",
    "a/b",
    "./a/c",
    "a/",
    "./",
    "d/",
    "d/e",
    "ä",
    "a\u{308}",
    "A",
    "x.yaml",
    "x.yaml/",
    ".",
    "",
    "a b",
    "café/x",
    "z/y/x/w",
    "../a",
    "/a",
    "a\\b",
    "a-name-of-more-than-one-hundred-bytes-which-does-not-fit-where-names-are-in-a-header-and-needs-a-longer-place/f",
];

const KEYS: &[&str] = &[
    "mtime",
    "atime",
    "ctime",
    "uid",
    "gid",
    "uname",
    "gname",
    "size",
    "comment",
    "linkpath",
    "SCHILY.dev",
    "SCHILY.xattr.user.a",
    "SCHILY.acl.access",
    "LIBARCHIVE.creationtime",
    "LIBARCHIVE.xattr.user.a",
    "MSWINDOWS.rawsd",
    "RHT.security.selinux",
];

fn archive(random: &mut Random) -> Vec<u8> {
    let mut archive = TarGen::new();
    for n in 0..=random.below(3) {
        let name = if random.rarely(3) {
            random.one_of(NAMES).to_owned()
        } else {
            format!("{}{n}", random.one_of(&["a", "ä", "./b", "d/c", "./d/ö"]))
        };
        let directory = random.rarely(4);
        let size = [0, 1, 5, 511, 512, 513][random.below(6)];
        let data = vec![b'x'; if directory { 0 } else { size }];
        archive = extension(archive, random, &name, data.len());
        let short = if random.rarely(4) {
            random.one_of(NAMES)
        } else {
            &name
        };
        let head = if directory {
            Head::dir(short)
        } else {
            Head::file(short, data.len() as u64)
        };
        archive = archive.entry(vary(head, random, data.len()), &data);
    }
    if !random.rarely(15) {
        archive = archive.zeros(2);
    }
    if random.rarely(6) {
        archive = archive.zeros(random.below(20));
    }
    archive.open_end()
}

/// Adds what may stand before an entry.
fn extension(archive: TarGen, random: &mut Random, name: &str, size: usize) -> TarGen {
    match random.below(8) {
        0 | 1 => {
            let mut data = Vec::new();
            if !random.rarely(4) {
                data.extend(record("path", name));
            }
            for _ in 0..random.below(3) {
                let key = random.one_of(KEYS);
                let value = match key {
                    "size" if !random.rarely(4) => size.to_string(),
                    _ => random
                        .one_of(&["1", "1.5", "-3", "x", "0", "12345678901", "a=b\nc", "a\0"])
                        .to_owned(),
                };
                data.extend(record(key, &value));
            }
            archive.pax_raw(if random.rarely(6) { b'g' } else { b'x' }, &data)
        }
        2 => archive.gnu_name(name),
        _ => archive,
    }
}

/// Changes a header into another one that somebody writes, or that nobody should.
fn vary(head: Head, random: &mut Random, size: usize) -> Head {
    match random.below(12) {
        0 => head.prefix(random.one_of(&["p", "p/q", ".", "/", "..", "a", "./p"])),
        1 | 2 => head.gnu(),
        3 => {
            let field = [100, 108, 116, 329, 337][random.below(5)];
            head.field(
                field,
                random.one_of(&[
                    b"0000644\0",
                    b"000644 \0",
                    b"   644 \0",
                    b"0100644\0",
                    b"\x80\0\0\0\0\0\x01\xa4",
                    b"644\0\0\0\0\0",
                    b"\0\0\0\0\0\0\0\0",
                    b" 644    ",
                    b"00000644",
                    b"\x80\0\0\xff\0\0\0\0",
                ]),
            )
        }
        4 => {
            let ways = [
                format!("{size:012o}"),
                format!("{size:>11o} "),
                format!("{size:010o} \0"),
                format!("{size:011o} "),
            ];
            head.field(124, ways[random.below(4)].as_bytes())
        }
        5 => head.field(
            136,
            random.one_of(&[
                b"\x80\0\0\0\0\0\0\0\x7f\0\0\0",
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                b"77777777777\0",
                b"777777777777",
                b"\0\0\0\0\0\0\0\0\0\0\0\0",
            ]),
        ),
        6 => head.field(
            [265, 297][random.below(2)],
            &[[b'x', 0xff, b'/', 0][random.below(4)]; 32],
        ),
        7 => head.flag(random.one_of(&[b"0", b"5", b"\0", b"1", b"7"])[0]),
        _ => head,
    }
}

/// Reads an archive with our reader.
fn ours(archive: &[u8]) -> Option<Tree> {
    let limits = Limits::default();
    let content = Content::from(archive.to_vec());
    let entries = tar::index(&content, Rules::layer(&limits)).ok()?;
    let tree = entries.iter().map(|entry| {
        let data = content
            .slice(entry.offset, entry.size)
            .unwrap()
            .to_bytes()
            .unwrap();
        let file = entry.kind == EntryKind::File;
        (
            entry.path.to_string(),
            file.then(|| Digest::of(&data).hex()),
        )
    });
    Some(tree.collect())
}

/// Reads an archive with the `tar` crate.
fn crates(archive: &[u8]) -> std::io::Result<Tree> {
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
        insert(
            &mut tree,
            &name,
            kind.is_file().then(|| Digest::of(&data).hex()),
        );
    }
    Ok(tree)
}

/// Adds what another reader calls `./a`, `a/` or `a`; the root has no name.
fn insert(tree: &mut Tree, name: &str, file: Option<String>) {
    let name = name.strip_prefix("./").unwrap_or(name);
    let name = name.strip_suffix('/').unwrap_or(name);
    if !matches!(name, "" | ".") {
        tree.insert(name.to_owned(), file);
    }
}

const PYTHON: &str = "
import hashlib, sys, tarfile
for path in sys.argv[1:]:
    print('=', path)
    for entry in tarfile.open(path, 'r:'):
        data = entry.isfile() and hashlib.sha256(tarfile.open(path, 'r:').extractfile(entry).read()).hexdigest()
        print(data or ('-' if entry.isdir() else '?'), entry.name)
";

#[test]
fn every_archive_that_is_accepted_is_one_tree_to_all_readers() {
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    };
    let cases = usize::try_from(number("BUNDLE_CASES", 1_500)).unwrap();
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ number("BUNDLE_SEED", 1));
    let mut accepted = BTreeMap::new();
    for case in 0..cases {
        let archive = archive(&mut random);
        let Some(tree) = ours(&archive) else { continue };
        let theirs = crates(&archive).unwrap_or_else(|e| panic!("case {case}: {tree:?}: {e}"));
        assert_eq!(tree, theirs, "case {case}, seen by the tar crate");
        accepted.insert(archive, tree);
    }
    // A reader that accepts nothing agrees with everybody.
    let share = accepted.len() * 100 / cases;
    assert!((10..60).contains(&share), "{share} % accepted");

    let sandbox = Sandbox::new();
    let trees: Vec<(String, Tree)> = accepted
        .into_iter()
        .take(300)
        .enumerate()
        .map(|(n, (archive, tree))| {
            sandbox.write(format!("{n}.tar"), archive);
            (format!("{n}.tar"), tree)
        })
        .collect();
    let paths: Vec<&str> = trees.iter().map(|(path, _)| path.as_str()).collect();
    let listing = sandbox.python(PYTHON, &paths);
    let mut listing = listing.ok().stdout().split("= ").skip(1);
    for (path, tree) in &trees {
        let mut lines = listing.next().unwrap().lines();
        assert_eq!(lines.next().unwrap(), path);
        let mut theirs = Tree::new();
        for line in lines {
            let (digest, name) = line.split_once(' ').unwrap();
            insert(
                &mut theirs,
                name,
                (digest != "-").then(|| digest.to_owned()),
            );
        }
        assert_eq!(*tree, theirs, "{path}, seen by Python");
    }
    for (path, tree) in trees.iter().take(40) {
        let listed = sandbox.tool("tar", ["-t", "--quoting-style=literal", "-f", path]);
        let mut theirs = Tree::new();
        for name in listed.ok().stdout().lines() {
            insert(&mut theirs, name, None);
        }
        let names: BTreeSet<&String> = tree.keys().collect();
        assert_eq!(names, theirs.keys().collect(), "{path}, seen by GNU tar");
    }
}
