//! The strict reader and the writer of archives, over archives that are made byte by byte; and what other people's
//! readers see in what we write.

use std::collections::BTreeMap;

use manifest_bundle::content::Content;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::path::BundlePath;
use manifest_bundle::tar::{self, Entry, EntryKind, Rules};
use manifest_bundle::{Error, Kind};

use crate::support::Sandbox;
use crate::support::targen::{Head, TarGen, record};

const LONG: &str = "a-directory-whose-name-is-rather-long-as-such-names-go/another-one-that-is-no-shorter-than-the-one-before/file.yaml";

fn read(archive: &[u8]) -> Result<Vec<Entry>, Error> {
    read_by(archive, |limits| Rules::layer(limits))
}

/// Reads an archive both ways, which must agree.
fn read_by(archive: &[u8], rules: fn(&Limits) -> Rules<'_>) -> Result<Vec<Entry>, Error> {
    let limits = Limits::default();
    let jumped = tar::index(&Content::from(archive.to_vec()), rules(&limits));
    let mut bytes = archive;
    let mut slow = OneByOne(&mut bytes);
    let mut reader = tar::Reader::new(&mut slow, rules(&limits));
    let streamed = std::iter::from_fn(|| reader.next_entry().transpose());
    let streamed: Result<Vec<_>, _> = streamed.collect();
    drop(reader);
    match (jumped, streamed) {
        (Ok(jumped), Ok(streamed)) => {
            assert_eq!(jumped, streamed);
            assert_eq!(bytes.len(), 0, "read to the end");
            Ok(jumped)
        }
        (Err(jumped), Err(streamed)) => {
            assert_eq!(jumped.message(), streamed.message());
            Err(jumped)
        }
        (jumped, streamed) => panic!("{jumped:?} but {streamed:?}"),
    }
}

/// A source that gives few bytes at a time.
struct OneByOne<'a, 'b>(&'a mut &'b [u8]);

impl std::io::Read for OneByOne<'_, '_> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        let few = target.len().min(613);
        self.0.read(&mut target[..few])
    }
}

fn names(entries: &[Entry]) -> Vec<String> {
    let name = |entry: &Entry| match entry.kind {
        EntryKind::File => entry.path.to_string(),
        EntryKind::Directory => format!("{}/", entry.path),
        EntryKind::Whiteout => format!("-{}", entry.path),
        EntryKind::Opaque => format!("-{}/*", entry.path),
    };
    entries.iter().map(name).collect()
}

#[test]
fn what_honest_writers_write_is_read() {
    let new = TarGen::new;
    let pax_long = |g: TarGen, extra: &[(&str, &str)]| {
        let records: Vec<(&str, &str)> = extra.iter().copied().chain([("path", LONG)]).collect();
        g.pax(b'x', &records)
            .entry(Head::file(LONG, 1).name(&LONG.as_bytes()[..100]), b"x")
            .end()
    };
    let ten_thousand = (0..10_000).fold(new(), |g, n| g.file(&format!("m/{n}.yaml"), b""));
    for (archive, want) in [
        (new().end(), &[][..]),
        (
            new().dir("d/").file("d/a", b"1").file("b", b"").end(),
            &["d/", "d/a", "b"],
        ),
        (new().file("d/a", b"1").dir("d").end(), &["d/a", "d/"]),
        (new().dir("./").file("./ok.yaml", b"1").end(), &["ok.yaml"]),
        (
            new()
                .dir("./")
                .dir("./")
                .dir("./d/")
                .file("./d/a", b"1")
                .end(),
            &["d/", "d/a"],
        ),
        (new().dir("d/").dir("./d").dir("d").end(), &["d/"]),
        (new().dir("empty/").end(), &["empty/"]),
        // GNU's dialect, a long name in it, and one before a POSIX header.
        (new().entry(Head::file("a", 1).gnu(), b"x").end(), &["a"]),
        (
            new()
                .gnu_name(LONG)
                .entry(Head::file(LONG, 1).gnu(), b"x")
                .end(),
            &[LONG],
        ),
        (new().gnu_name(LONG).file(LONG, b"x").end(), &[LONG]),
        (
            new()
                .gnu_name("long/")
                .entry(Head::dir("long/").gnu(), b"")
                .end(),
            &["long/"],
        ),
        // PAX: as Python and Go write it, as bsdtar does with a prefix, with times and attributes.
        (pax_long(new(), &[]), &[LONG]),
        (
            pax_long(
                new(),
                &[("mtime", "1.5"), ("SCHILY.xattr.user.x", "\0\u{1}=\n")],
            ),
            &[LONG],
        ),
        (pax_long(new(), &[("size", "1")]), &[LONG]),
        (
            new()
                .pax(b'x', &[("path", LONG)])
                .entry(Head::file("file.yaml", 0).prefix(&LONG[..54]), b"")
                .end(),
            &[LONG],
        ),
        (
            new()
                .pax(b'x', &[("path", "./caf\u{e9}")])
                .file("./caf?", b"")
                .end(),
            &["caf\u{e9}"],
        ),
        (
            new().pax(b'x', &[("path", "a")]).file("", b"").end(),
            &["a"],
        ),
        (
            new()
                .pax(b'g', &[("comment", "0123456789abcdef")])
                .file("a", b"")
                .end(),
            &["a"],
        ),
        (
            new()
                .pax(b'g', &[("comment", "x")])
                .pax(b'x', &[("path", "b")])
                .file("a", b"")
                .end(),
            &["b"],
        ),
        // Prefix and name; names of exactly 100 bytes; names in UTF-8 without PAX.
        (
            new().entry(Head::file("c", 0).prefix("a/b"), b"").end(),
            &["a/b/c"],
        ),
        (
            new().entry(Head::file("c", 0).prefix("./a"), b"").end(),
            &["a/c"],
        ),
        (new().file("caf\u{e9}.yaml", b"").end(), &["caf\u{e9}.yaml"]),
        // Modes and padding of all kinds.
        (
            new().entry(Head::file("run", 1).mode(0o755), b"x").end(),
            &["run"],
        ),
        (
            new().entry(Head::file("run", 1).mode(0o6755), b"x").end(),
            &["run"],
        ),
        (
            new()
                .entry(Head::dir("ro").mode(0o555), b"")
                .file("ro/x", b"")
                .end(),
            &["ro/", "ro/x"],
        ),
        (new().file("a", b"").zeros(2).zeros(16).end(), &["a"]),
        (
            new().file("a", b"").zeros(2).raw(&[0; 700]).open_end(),
            &["a"],
        ),
        (new().file("a", &[7; 1024]).end(), &["a"]),
    ] {
        let entries = read(&archive).unwrap_or_else(|e| panic!("{want:?}: {e}"));
        assert_eq!(names(&entries), want);
    }
    assert_eq!(read(&ten_thousand.end()).unwrap().len(), 10_000);
}

#[test]
fn an_entry_says_where_its_content_is() {
    let archive = TarGen::new()
        .dir("d/")
        .file("d/a", &[b'x'; 600])
        .entry(Head::file("b", 3).mode(0o4711), b"yyy")
        .end();
    let entries = read(&archive).unwrap();
    let facts: Vec<_> = entries.iter().map(|e| (e.offset, e.size, e.mode)).collect();
    assert_eq!(
        facts,
        [(512, 0, 0o755), (1024, 600, 0o644), (2560, 3, 0o4711)]
    );
    assert_eq!(&archive[2560..2563], b"yyy");
}

#[test]
fn what_could_do_harm_or_be_read_in_two_ways_is_refused() {
    let new = TarGen::new;
    let plain = |name: &str| new().file("ok.yaml", b"1").file(name, b"x").end();
    let two = |a: &str, b: &str| new().file(a, b"1").file(b, b"2").end();
    let flag = |flag: u8, size: u64| {
        let inner = Head::file("inner.yaml", 0).block();
        let data = &inner[..usize::try_from(size).unwrap()];
        let head = Head::file("odd", size).flag(flag).link("target");
        new().file("ok", b"1").entry(head, data).end()
    };
    let head = |head: Head, data: &[u8]| new().file("ok", b"1").entry(head, data).end();
    let pax = |records: &[(&str, &str)]| new().pax(b'x', records).file("a", b"hello").end();
    let mut bad: Vec<(Vec<u8>, &str)> = Vec::new();

    // Paths (threats A1, A2, A19, A30, A31).
    for name in [
        "../evil",
        "a/../../evil",
        "..",
        "./..",
        "a/..",
        "../",
        "/etc/passwd",
        "//etc/x",
        "C:\\x",
        "\\\\srv\\x",
        "C:x",
        "a\\b",
        "a:b",
        "a//b",
        "a/./b",
        ".",
        "./.",
        "././a",
        "./",
        "a/",
        "a/.",
        ".git",
        "CON",
        "nul.yaml",
        "a ",
        " a",
        "a.",
        "a\u{1b}[2J",
        "a\nb",
        "a\rb",
        "\u{202e}a",
        "\u{feff}a",
        "x/.wh.a",
        ".wh.a",
        ".wh..wh..opq",
        "a/\u{2025}/b",
    ] {
        bad.push((plain(name), "entry `"));
    }
    bad.push((head(Head::file("", 1), b"x"), "has no name"));
    bad.push((
        head(Head::file("", 1).name(b"a\0b"), b"x"),
        "goes on after a NUL",
    ));
    bad.push((head(Head::file("", 1).name(b"a\xff"), b"x"), "not UTF-8"));
    bad.push((
        head(Head::file("", 1).name(b"\xc0\xae\xc0\xae/x"), b"x"),
        "not UTF-8",
    ));
    bad.push((
        head(Head::file("", 1).name(b"\xed\xa0\x80"), b"x"),
        "not UTF-8",
    ));
    bad.push((head(Head::dir("."), b""), "component `.`"));
    bad.push((head(Head::dir("../d"), b""), "component `..`"));
    bad.push((head(Head::dir("d//"), b""), "empty component"));

    // The prefix (A25).
    for (prefix, name) in [
        ("..", "a"),
        ("a/..", "b"),
        ("/", "a"),
        ("/a", "b"),
        ("a/", "b"),
        (".", "a"),
        ("a", "/b"),
        ("a", "../b"),
        ("a", "b/"),
    ] {
        bad.push((head(Head::file(name, 0).prefix(prefix), b""), "entry `"));
    }
    bad.push((head(Head::dir("").prefix("dir"), b""), "has no name"));
    bad.push((
        head(Head::file("a", 0).gnu().prefix("b"), b""),
        "incremental dump",
    ));

    // Kinds (A3, A8, A26), each bare and with data that looks like a header.
    for odd in [
        0, b'1', b'2', b'3', b'4', b'6', b'7', b'A', b'D', b'K', b'M', b'N', b'S', b'V', b'X',
        b'Z', 0xff,
    ] {
        bad.push((flag(odd, 0), "entry `odd` at byte 1024 is "));
        bad.push((flag(odd, 512), "entry `odd` at byte 1024 is "));
    }
    bad.push((
        head(Head::dir("d").size(512), &Head::file("x", 0).block()),
        "directory with content",
    ));
    bad.push((head(Head::file("a", 0).link("b"), b""), "target of a link"));

    // Duplicates and collisions (A17, A18).
    for (a, b) in [
        ("a", "a"),
        ("a", "./a"),
        ("A.yaml", "a.yaml"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("\u{fb01}", "fi"),
        ("\u{ff41}", "a"),
        ("A/x", "a/y"),
        ("a", "a/b"),
        ("a/b", "a"),
    ] {
        bad.push((two(a, b), "entry `"));
    }
    bad.push((
        new().dir("a").file("a", b"").end(),
        "both a file and a directory",
    ));
    bad.push((
        new().file("a", b"").dir("a/").end(),
        "both a file and a directory",
    ));
    bad.push((
        new().dir("a").entry(Head::dir("a/").mode(0o700), b"").end(),
        "with two modes",
    ));
    bad.push((
        new()
            .dir("./")
            .entry(Head::dir("./").mode(0o700), b"")
            .end(),
        "with two modes",
    ));

    // PAX (A9–A14).
    bad.push((pax(&[("size", "0")]), "two sizes, 5 and 0"));
    bad.push((pax(&[("size", "2048")]), "two sizes"));
    let zero = new()
        .pax(b'x', &[("size", "512")])
        .entry(Head::file("a", 0), &Head::file("x", 0).block());
    bad.push((zero.end(), "two sizes, 0 and 512"));
    bad.push((pax(&[("path", "safe"), ("path", "evil")]), "`path` twice"));
    bad.push((pax(&[("path", "")]), "empty PAX `path`"));
    bad.push((pax(&[("path", "../evil")]), "component `..`"));
    bad.push((pax(&[("path", "/evil")]), "is absolute"));
    bad.push((pax(&[("path", "file/")]), "empty component"));
    bad.push((pax(&[("path", "a\0b")]), "NUL"));
    bad.push((
        pax(&[("path", "./b")]),
        "begins with `./` where its short name does not",
    ));
    for key in [
        "linkpath",
        "hdrcharset",
        "comment",
        "GNU.sparse.name",
        "GNU.sparse.map",
        "SCHILY.filetype",
        "unknown",
        "charset",
    ] {
        bad.push((pax(&[(key, "1")]), "which is not accepted"));
    }
    for key in ["path", "size", "linkpath", "uid", "GNU.sparse.major"] {
        bad.push((
            new().pax(b'g', &[(key, "1")]).file("a", b"x").end(),
            "which is not accepted",
        ));
    }
    let other_prefix = Head::file("evil", 0).prefix("../..");
    bad.push((
        new()
            .pax(b'x', &[("path", "safe")])
            .entry(other_prefix, b"")
            .end(),
        "does not begin with",
    ));
    bad.push((
        new().pax_raw(b'x', b"9 path=ab\n").file("a", b"").end(),
        "malformed",
    ));
    bad.push((
        new()
            .pax_raw(b'x', &[record("path", "b"), vec![0; 4]].concat())
            .file("a", b"")
            .end(),
        "malformed",
    ));
    let second = "is a second extension header";
    bad.push((
        new()
            .pax(b'x', &[("path", "b")])
            .pax(b'x', &[("mtime", "1")])
            .file("a", b"")
            .end(),
        second,
    ));
    bad.push((
        new()
            .pax(b'x', &[("path", "b")])
            .pax(b'g', &[("comment", "1")])
            .file("a", b"")
            .end(),
        second,
    ));
    bad.push((
        new()
            .pax(b'x', &[("path", "b")])
            .gnu_name("c")
            .file("a", b"")
            .end(),
        second,
    ));
    bad.push((
        new()
            .gnu_name("c")
            .pax(b'x', &[("path", "b")])
            .file("a", b"")
            .end(),
        second,
    ));
    bad.push((
        new().gnu_name("c").gnu_name("d").file("a", b"").end(),
        second,
    ));
    bad.push((
        new().pax(b'x', &[("path", "b")]).end(),
        "belongs to no entry",
    ));
    bad.push((
        new().pax(b'g', &[("comment", "b")]).end(),
        "belongs to no entry",
    ));
    bad.push((
        new().gnu_name("").file("a", b"").end(),
        "long name that is empty",
    ));
    bad.push((
        new().gnu_name("a\0b").file("a", b"").end(),
        "has a NUL inside",
    ));
    bad.push((
        new()
            .entry(Head::file("x", 2).flag(b'L'), b"a\0")
            .file("a", b"")
            .end(),
        "dialect",
    ));
    bad.push((
        new()
            .entry(Head::file("x", 9).flag(b'x').gnu(), b"9 path=b\n")
            .file("a", b"")
            .end(),
        "dialect",
    ));

    // Frames (A27) and fields (A28, tested one by one beside the code).
    bad.push((
        new().file("a", b"1").open_end(),
        "without the two blocks of zeros",
    ));
    bad.push((Vec::new(), "without the two blocks of zeros"));
    bad.push((
        new().file("a", b"1").zeros(1).open_end(),
        "after one block of zeros",
    ));
    bad.push((
        new().file("a", b"1").zeros(1).file("b", b"2").end(),
        "a single block of zeros",
    ));
    bad.push((
        new().file("a", b"1").zeros(2).file("b", b"2").end(),
        "more than zeros",
    ));
    bad.push((
        new().file("a", b"1").zeros(2).raw(b"x").open_end(),
        "more than zeros",
    ));
    bad.push((
        new().file("a", b"1").zeros(2).zeros(2049).open_end(),
        "too many",
    ));
    bad.push((
        head(Head::file("a", 1), &[b'x'; 512]),
        "padding that is not zero",
    ));
    bad.push((
        head(Head::file("a", 1).checksum(*b"000000\0 "), b"x"),
        "wrong checksum",
    ));
    bad.push((
        head(
            Head::file("a", 0).field(124, b"\x80\0\0\0\0\0\0\0\0\0\0\0"),
            b"",
        ),
        "no octal number",
    ));

    for (archive, words) in bad {
        let error = read(&archive).expect_err(words);
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
        assert!(error.message().contains(words), "{error}, not: {words}");
        assert!(error.message().contains(" byte "), "{error} says where");
        let raw = error.message().chars().find(|c| c.is_control());
        assert_eq!(raw, None, "{error:?} is escaped");
    }
}

#[test]
fn an_archive_that_is_cut_off_is_a_mismatch_wherever_that_is() {
    let archive = TarGen::new()
        .dir("d/")
        .pax(b'x', &[("path", "d/a")])
        .file("a", &[b'x'; 700])
        .file("b", b"y")
        .end();
    for cut in 0..archive.len() {
        let error = read(&archive[..cut]).unwrap_err();
        // Between two entries there is nothing to see but that the end is missing.
        let boundary = [0, 512, 1536, 3072, 4096, 4608].contains(&cut);
        let kind = if boundary {
            Kind::Unsafe
        } else {
            Kind::Mismatch
        };
        assert_eq!(error.kind(), kind, "{cut}: {error}");
    }
    assert_eq!(read(&archive).unwrap().len(), 3);
}

#[test]
fn every_ceiling_holds_to_the_entry_and_the_byte() {
    let limits = Limits::default()
        .with(Ceiling::Entries, 3)
        .with(Ceiling::File, 10)
        .with(Ceiling::Unpacked, 15);
    let entries = |count: usize| (0..count).fold(TarGen::new(), |g, n| g.dir(&format!("{n}")));
    let comment = |length: usize| {
        let text = "x".repeat(length);
        TarGen::new()
            .pax(b'g', &[("comment", &text)])
            .file("a", b"")
            .end()
    };
    let row = |count: usize| {
        let text = "x".repeat(65_000);
        let generator = (0..count).fold(TarGen::new(), |g, _| g.pax(b'g', &[("comment", &text)]));
        generator.file("a", b"").end()
    };
    let files = |sizes: &[usize]| {
        let file = |g: TarGen, n: usize| g.file(&format!("{n}"), &vec![b'x'; sizes[n]]);
        (0..sizes.len()).fold(TarGen::new(), file).end()
    };
    let deep = |depth: usize| {
        TarGen::new()
            .gnu_name(&vec!["d"; depth].join("/"))
            .file("x", b"")
            .end()
    };
    let long = |length: usize| {
        let name = format!("{}{}", "d".repeat(250) + "/", "x".repeat(length - 251));
        TarGen::new().gnu_name(&name).file("x", b"").end()
    };
    let path = |length: usize| {
        let name = "a-directory-of-exactly-forty-characters-/".repeat(24);
        let name = format!("{name}{}", "x".repeat(length - name.len()));
        TarGen::new().gnu_name(&name).file("x", b"").end()
    };
    for (most, over, ceiling) in [
        (entries(3).end(), entries(4).end(), Ceiling::Entries),
        // The same directory again counts as well, or there would be no end to them.
        (
            entries(3).end(),
            entries(3).dir("0").end(),
            Ceiling::Entries,
        ),
        (files(&[10]), files(&[11]), Ceiling::File),
        (files(&[10, 5]), files(&[10, 5, 1]), Ceiling::Unpacked),
        (comment(65_521), comment(65_522), Ceiling::ArchiveHeader),
        (row(16), row(17), Ceiling::ArchiveHeaders),
        (deep(32), deep(33), Ceiling::PathDepth),
        (long(251 + 255), long(251 + 256), Ceiling::PathComponent),
        (path(1024), path(1025), Ceiling::Path),
    ] {
        let index = |archive: Vec<u8>| tar::index(&Content::from(archive), Rules::layer(&limits));
        index(most).unwrap_or_else(|e| panic!("{}: {e}", ceiling.name()));
        let error = index(over).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
        let words = format!("limit `{}` = {}", ceiling.name(), limits[ceiling]);
        assert!(error.message().contains(&words), "{error}");
    }
}

fn files(names: &[&str]) -> BTreeMap<BundlePath, Content> {
    let content = |name: &str| Content::from(name.as_bytes().to_vec());
    let file = |name: &&str| (name.parse().unwrap(), content(name));
    names.iter().map(file).collect()
}

fn written(files: &BTreeMap<BundlePath, Content>) -> Vec<u8> {
    let mut archive = Vec::new();
    tar::write(files, &mut archive).unwrap();
    archive
}

/// Names around every edge of the format, in ASCII and not.
fn edgy_names() -> Vec<String> {
    let d = "d".repeat(60);
    let u = "ö".repeat(30);
    let mut names: Vec<String> = [
        ".sourceignore",
        "manifests/a.yaml",
        "manifests-2/a",
        "manifests.yaml",
        "Z",
        "ä.yaml",
        "漢字/😀.json",
    ]
    .map(String::from)
    .into();
    for length in [99, 100, 101, 155, 156, 157, 255] {
        names.push("x".repeat(length));
    }
    for (directory, length) in [
        (d.as_str(), 101),
        (d.as_str(), 161),
        (d.as_str(), 162),
        (u.as_str(), 101),
    ] {
        names.push(format!(
            "{directory}/{}",
            "f".repeat(length - directory.len() - 1)
        ));
    }
    for (part, length) in [
        (d.as_str(), 256),
        (d.as_str(), 300),
        (u.as_str(), 256),
        (u.as_str(), 300),
    ] {
        let directory = [part, part, part].join("/");
        names.push(format!(
            "{directory}/{}",
            "g".repeat(length - directory.len() - 1)
        ));
    }
    names.sort();
    names
}

#[test]
fn what_is_written_is_what_is_read_back_and_nothing_more() {
    let names = edgy_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let archive = written(&files(&names));
    let entries = read(&archive).unwrap();
    let mut found = Vec::new();
    for entry in &entries {
        match entry.kind {
            EntryKind::File => {
                assert_eq!(entry.mode, 0o644);
                let (start, size) = (
                    usize::try_from(entry.offset).unwrap(),
                    usize::try_from(entry.size).unwrap(),
                );
                assert_eq!(
                    &archive[start..start + size],
                    entry.path.as_str().as_bytes()
                );
                found.push(entry.path.as_str());
            }
            _ => assert_eq!((entry.kind, entry.mode), (EntryKind::Directory, 0o755)),
        }
    }
    found.sort_unstable();
    assert_eq!(found, names);
    let in_order = self::names(&entries);
    assert!(in_order.is_sorted(), "{in_order:?}");
    let last = entries.last().unwrap();
    let end = (last.offset + last.size).next_multiple_of(512) + 1024;
    assert_eq!(archive.len() as u64, end, "two blocks of zeros and no more");
}

#[test]
fn the_headers_are_those_of_the_format() {
    let archive = written(&files(&["d/a.yaml"]));
    // The writer leaves the numbers of devices empty and gives the checksum one digit more.
    let head = |head: Head| {
        let head = head.field(329, &[0; 16]);
        let mut block = head.clone().block();
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        let text = format!("{sum:07o}\0");
        head.checksum(text.as_bytes().try_into().unwrap())
    };
    let want = TarGen::new()
        .entry(head(Head::dir("d/")), b"")
        .entry(head(Head::file("d/a.yaml", 8)), b"d/a.yaml")
        .end();
    assert!(archive == want);
    assert_eq!(written(&BTreeMap::new()), [0; 1024]);
}

/// The bytes of an archive are part of the format: if this fails, every digest of every bundle has changed.
#[test]
fn the_bytes_of_an_archive_do_not_move() {
    let names = edgy_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let digest = Content::from(written(&files(&names)));
    let digest = digest
        .digest(manifest_bundle::digest::Hasher::sha256())
        .unwrap();
    assert_eq!(
        digest.to_string(),
        "sha256:ae718d20b7b0cb09e95daa21dedf3cfa5729cdcaf242ffe8613679e320563e01"
    );
}

#[test]
fn paths_that_exclude_each_other_are_not_written() {
    for names in [["A/x", "a/y"], ["a", "a/b"], ["x.yaml", "X.yaml"]] {
        let error = tar::write(&files(&names), &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
    }
}

#[test]
fn a_failing_output_is_an_error_of_this_machine() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for room in [0, 511, 512, 1024, 1500, 2048] {
        let error = tar::write(&files(&["d/a"]), &mut Full(room)).unwrap_err();
        assert_eq!(error.kind(), Kind::Io);
        assert!(error.message().contains("no space left"), "{error}");
    }
}

#[test]
fn other_readers_see_the_same_names_and_contents() {
    let sandbox = Sandbox::new();
    let names = edgy_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let archive = written(&files(&names));
    let path = sandbox.write("a.tar", &archive);
    let ours = self::names(&read(&archive).unwrap());

    let listed = sandbox.tool("tar", ["-t", "--quoting-style=literal", "-f", "a.tar"]);
    assert_eq!(listed.ok().stdout().lines().collect::<Vec<_>>(), ours);
    sandbox
        .tool("tar", ["-x", "-C", "../tmp", "-f", "a.tar"])
        .ok();
    for name in &names {
        let found = std::fs::read_to_string(sandbox.tmp().join(name)).unwrap();
        assert_eq!(found, *name);
    }

    let script = "
import sys, tarfile
for entry in tarfile.open(sys.argv[1]):
    print(entry.name + ('/' if entry.isdir() else ''))
    assert (entry.mode, entry.uid, entry.gid, entry.mtime) == (0o755 if entry.isdir() else 0o644, 0, 0, 0)
    assert (entry.uname, entry.gname) == ('', '')
";
    let listed = sandbox.python(script, &[path.to_str().unwrap()]);
    assert_eq!(listed.ok().stdout().lines().collect::<Vec<_>>(), ours);

    let mut crates = ::tar::Archive::new(archive.as_slice());
    let crates = crates.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        String::from_utf8(entry.path_bytes().into_owned()).unwrap()
    });
    assert_eq!(crates.collect::<Vec<_>>(), ours);
}

#[test]
fn archives_of_other_writers_are_read() {
    let sandbox = Sandbox::new();
    let long = format!("{}/{}/ö.yaml", "d".repeat(90), "e".repeat(60));
    for name in ["in/a.yaml", "in/d/b.yaml", &format!("in/{long}")] {
        sandbox.write(name, name);
    }
    let want = |prefix: &str| {
        let mut names = vec!["a.yaml".to_owned(), "d/b.yaml".into(), long.clone()];
        for name in &mut names {
            name.insert_str(0, prefix);
        }
        names
    };
    for format in ["gnu", "ustar", "pax"] {
        for (what, prefix) in [(".", ""), ("in", "in/")] {
            let from = if what == "." { "in" } else { "." };
            let format_option = format!("--format={format}");
            sandbox
                .tool(
                    "tar",
                    ["-c", &format_option, "-C", from, "-f", "b.tar", what],
                )
                .ok();
            let archive = std::fs::read(sandbox.path("b.tar")).unwrap();
            let entries = read(&archive).unwrap_or_else(|e| panic!("{format} {what}: {e}"));
            let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
            let mut found: Vec<String> = files.map(|entry| entry.path.to_string()).collect();
            found.sort();
            assert_eq!(found, want(prefix), "{format} {what}");
        }
    }
    let script = "
import sys, tarfile
for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT):
    with tarfile.open(sys.argv[1] + str(format), 'w', format=format) as archive:
        archive.add('in', '.')
";
    let path = sandbox.path("c.tar");
    let path = path.to_str().unwrap();
    sandbox.python(script, &[path]).ok();
    for format in 0..3 {
        let archive = std::fs::read(format!("{path}{format}")).unwrap();
        let entries = read(&archive).unwrap_or_else(|e| panic!("Python {format}: {e}"));
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        let mut found: Vec<String> = files.map(|entry| entry.path.to_string()).collect();
        found.sort();
        assert_eq!(found, want(""), "Python {format}");
    }
}

#[test]
fn whiteouts_are_read_where_they_may_be() {
    fn rules(limits: &Limits) -> Rules<'_> {
        Rules {
            whiteouts: true,
            ..Rules::layer(limits)
        }
    }
    let archive = TarGen::new()
        .dir("d/")
        .file("d/.wh.a", b"")
        .file("d/.wh..wh..opq", b"")
        .file("d/b", b"1")
        .file(".wh.top", b"")
        .end();
    let entries = read_by(&archive, rules).unwrap();
    assert_eq!(names(&entries), ["d/", "-d/a", "-d/*", "d/b", "-top"]);

    for (archive, words) in [
        (TarGen::new().file(".wh.", b"").end(), "is empty"),
        (TarGen::new().file("d/.wh.", b"").end(), "empty component"),
        (TarGen::new().file(".wh...", b"").end(), "component `..`"),
        (
            TarGen::new().file("../../.wh.precious", b"").end(),
            "component `..`",
        ),
        (TarGen::new().file("/.wh.a", b"").end(), "is absolute"),
        (
            TarGen::new().file(".wh.../x", b"").end(),
            "ends with a space or a dot",
        ),
        (
            TarGen::new().file(".wh.a/x", b"").end(),
            "begins with `.wh.`",
        ),
        (
            TarGen::new().file(".wh..wh..opq", b"").end(),
            "hides all layers below",
        ),
        (
            TarGen::new().file("d/.wh..wh.plnk", b"").end(),
            "of an unknown kind",
        ),
        (
            TarGen::new().file(".wh.a", b"x").end(),
            "whiteout has content",
        ),
        (TarGen::new().dir(".wh.a/").end(), "begins with `.wh.`"),
        (
            TarGen::new().file("a", b"").file(".wh.a", b"").end(),
            "removes and has `a`",
        ),
        (
            TarGen::new().file("a/b", b"").file(".wh.a", b"").end(),
            "removes and has `a`",
        ),
        (
            TarGen::new().file(".wh.a", b"").file(".wh.a", b"").end(),
            "is there twice",
        ),
    ] {
        let error = read_by(&archive, rules).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
        assert!(error.message().contains(words), "{error}, not: {words}");
    }
}

#[test]
fn the_archive_of_a_layout_may_hold_large_blobs() {
    let limits = Limits::default()
        .with(Ceiling::File, 1)
        .with(Ceiling::Unpacked, 1);
    let archive = TarGen::new().file("blobs/sha256/a", b"large").end();
    let content = Content::from(archive);
    assert!(tar::index(&content, Rules::layer(&limits)).is_err());
    assert!(tar::index(&content, Rules::layout(&limits)).is_ok());
    let limits = limits.with(Ceiling::Blob, 4);
    let error = tar::index(&content, Rules::layout(&limits)).unwrap_err();
    assert!(error.message().contains("limit `blob` = 4"), "{error}");
}
