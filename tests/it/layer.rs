//! Layers: what is written is read back, what others write is read, and what is hostile is refused, each for its fault.

use std::collections::BTreeMap;
use std::io::Write as _;

use manifest_bundle::bundle::Files;
use manifest_bundle::content::{Content, Spool};
use manifest_bundle::digest::Digest;
use manifest_bundle::layer::{self, Merged, Source};
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::oci::media_type;
use manifest_bundle::path::BundlePath;
use manifest_bundle::tar::EntryKind;
use manifest_bundle::{Error, Kind, gzip};

use crate::support::targen::{Head, TarGen};
use crate::support::{Sandbox, corpus};

fn gz(data: &[u8]) -> Vec<u8> {
    let mut writer = gzip::Writer::new(Vec::new(), 1);
    writer.write_all(data).unwrap();
    writer.finish().unwrap()
}

fn source(blob: impl Into<Content>, media_type: &str) -> Source {
    Source {
        content: blob.into(),
        media_type: media_type.to_owned(),
        diff_id: None,
    }
}

fn gzipped(archive: &[u8]) -> Source {
    source(gz(archive), media_type::LAYER_GZIP)
}

fn read_all(layers: &[Source]) -> Result<Merged, Error> {
    let directory = tempfile::tempdir().unwrap();
    // Everything goes through the file, however small.
    let mut spool = Spool::with_memory(directory.path(), 0);
    layer::read_all(layers, &Limits::default(), &mut spool)
}

fn texts(files: &Files) -> BTreeMap<String, String> {
    let text = |content: &Content| String::from_utf8(content.to_bytes().unwrap().into()).unwrap();
    let pairs = files
        .iter()
        .map(|(path, content)| (path.to_string(), text(content)));
    pairs.collect()
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = pairs
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    owned.collect()
}

fn files() -> Files {
    let large: String = (0..300_000).fold(String::new(), |text, n| text + &n.to_string() + "\n");
    [
        (".sourceignore", "/metadata/\n"),
        ("manifests/a.yaml", "kind: A\n"),
        ("manifests/empty.yaml", ""),
        ("manifests/large.yaml", large.as_str()),
        ("metadata/annotations.yaml", "annotations: {}\n"),
    ]
    .into_iter()
    .map(|(path, text)| {
        (
            path.parse().unwrap(),
            Content::from(text.as_bytes().to_vec()),
        )
    })
    .collect()
}

#[test]
fn a_layer_is_read_back_as_it_was_written_whatever_the_threads() {
    let directory = tempfile::tempdir().unwrap();
    let mut written = Vec::new();
    for (threads, in_memory) in [(1, 0), (2, 4_000_000), (7, 1_000)] {
        let mut spool = Spool::with_memory(directory.path(), in_memory);
        let layer = layer::write(&files(), &mut spool, threads).unwrap();
        let blob = layer.content.to_bytes().unwrap();
        assert_eq!(layer.digest, Digest::of(&blob));
        assert_eq!(layer.size, blob.len() as u64);
        let mut archive = Vec::new();
        let mut other = flate2::read::GzDecoder::new(&blob[..]);
        std::io::copy(&mut other, &mut archive).unwrap();
        assert_eq!(layer.diff_id, Digest::of(&archive));

        let source = Source {
            content: layer.content.clone(),
            media_type: media_type::LAYER_GZIP.into(),
            diff_id: Some(layer.diff_id),
        };
        let merged = layer::read_all(&[source], &Limits::default(), &mut spool).unwrap();
        assert_eq!(texts(&merged.files), texts(&files()));
        assert!(merged.empty_directories.is_empty());
        written.push(layer.digest);
    }
    written.dedup();
    assert_eq!(written.len(), 1);
}

/// The bytes of a layer are part of the format: if this fails, every digest of every bundle has changed.
#[test]
fn the_bytes_of_a_layer_do_not_move() {
    let mut spool = Spool::new(std::env::temp_dir());
    let layer = layer::write(&files(), &mut spool, 2).unwrap();
    let found = [layer.diff_id, layer.digest].map(|digest| digest.to_string());
    assert_eq!(
        found,
        [
            "sha256:e7c362bb2f93c36901c4b494a4efca157cbe3627bad5c9d40907925c2cf9e190",
            "sha256:20c259bcb248f0d21454bf99e4426fab9746a8865df1e2e4fe0d10a7b3d70e3c",
        ]
    );
    assert_eq!(layer.size, 515_665);
}

#[test]
fn a_layer_is_what_its_media_type_says_and_nothing_else() {
    let archive = TarGen::new().file("a", b"x").end();
    let zstd = {
        // One raw block.
        let size = u32::try_from(archive.len()).unwrap();
        let header = [&[0x28, 0xb5, 0x2f, 0xfd, 0xa0], &size.to_le_bytes()[..]].concat();
        [
            header,
            (size << 3 | 1).to_le_bytes()[..3].to_vec(),
            archive.clone(),
        ]
        .concat()
    };
    let good = [
        (archive.clone(), media_type::LAYER),
        (gz(&archive), media_type::LAYER_GZIP),
        (gz(&archive), media_type::DOCKER_LAYER),
        (zstd.clone(), media_type::LAYER_ZSTD),
    ];
    for (blob, media_type) in good {
        let mut layer = source(blob, media_type);
        for diff_id in [None, Some(Digest::of(&archive))] {
            layer.diff_id = diff_id;
            let merged = read_all(std::slice::from_ref(&layer)).unwrap();
            assert_eq!(texts(&merged.files), pairs(&[("a", "x")]));
        }
        layer.diff_id = Some(Digest::of(b"other"));
        let error = read_all(&[layer]).unwrap_err();
        assert_eq!(error.kind(), Kind::Mismatch, "{media_type}: {error}");
        assert!(error.message().starts_with("digest of the unpacked layer"));
    }
    for (blob, media_type, kind, words) in [
        (
            archive.clone(),
            media_type::LAYER_GZIP,
            Kind::Unsafe,
            "looks like an uncompressed tar archive",
        ),
        (
            zstd,
            media_type::LAYER_GZIP,
            Kind::Unsafe,
            "looks like zstd",
        ),
        (
            gz(&archive),
            media_type::LAYER_ZSTD,
            Kind::Unsafe,
            "looks like gzip",
        ),
        (
            gz(&archive),
            media_type::LAYER,
            Kind::Unsafe,
            "looks like gzip",
        ),
        (
            b"<html>".to_vec(),
            media_type::DOCKER_LAYER,
            Kind::Unsafe,
            "looks like HTML",
        ),
        (
            gz(&archive),
            "application/spdx+json",
            Kind::Invalid,
            "`application/spdx+json`",
        ),
        (gz(&archive), "x\u{1b}", Kind::Invalid, "`x\\u{1b}`"),
        (
            gz(&archive),
            media_type::CONFIG,
            Kind::Invalid,
            "no files that can be read",
        ),
    ] {
        let error = read_all(&[source(blob, media_type)]).unwrap_err();
        assert_eq!(error.kind(), kind, "{media_type}: {error}");
        assert!(error.message().contains(words), "{error}, not: {words}");
    }
}

#[test]
fn layers_are_put_on_each_other_and_whiteouts_remove_from_below() {
    let bottom = TarGen::new()
        .dir("d/")
        .file("d/a", b"1")
        .file("d/b", b"1")
        .file("d/e/f", b"1")
        .file("d-x", b"1")
        .file("gone", b"1")
        .file("turns", b"1")
        .file("tree/x", b"1")
        .dir("empty/")
        .end();
    let top = TarGen::new()
        .file("d/.wh.a", b"")
        .file("d/b", b"2")
        .file(".wh.gone", b"")
        .file(".wh.never", b"")
        .file("turns/into/a/tree", b"2")
        .file("tree", b"2")
        .end();
    let merged = read_all(&[gzipped(&bottom), gzipped(&top)]).unwrap();
    let want = [
        ("d/b", "2"),
        ("d/e/f", "1"),
        ("d-x", "1"),
        ("turns/into/a/tree", "2"),
        ("tree", "2"),
    ];
    assert_eq!(texts(&merged.files), pairs(&want));
    let empty: Vec<String> = merged
        .empty_directories
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(empty, ["empty"]);

    // Opaque: nothing of the layers below, all of its own, wherever the mark stands.
    let opaque = TarGen::new()
        .file("d/new", b"3")
        .file("d/.wh..wh..opq", b"")
        .end();
    let merged = read_all(&[gzipped(&bottom), gzipped(&opaque)]).unwrap();
    let want = [
        ("d/new", "3"),
        ("d-x", "1"),
        ("gone", "1"),
        ("turns", "1"),
        ("tree/x", "1"),
    ];
    assert_eq!(texts(&merged.files), pairs(&want));

    // A whole directory.
    let gone = TarGen::new().file(".wh.d", b"").end();
    let merged = read_all(&[gzipped(&bottom), gzipped(&gone)]).unwrap();
    assert_eq!(merged.files.len(), 4);
    assert!(texts(&merged.files).contains_key("d-x"));
}

#[test]
fn what_layers_stand_for_together_is_checked_as_well() {
    let layer = |name: &str| gzipped(&TarGen::new().file(name, b"").end());
    for (a, b) in [("A.yaml", "a.yaml"), ("A/x", "a/y")] {
        let error = read_all(&[layer(a), layer(b)]).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
    }
    let replaced = TarGen::new()
        .file(".wh.A.yaml", b"")
        .file("a.yaml", b"2")
        .end();
    assert!(read_all(&[layer("A.yaml"), gzipped(&replaced)]).is_ok());
    // Within one layer the two may not meet: some readers would apply them in their order.
    for clash in [
        ["a", ".wh.a"],
        [".wh.a", "a"],
        ["a/b", ".wh.a"],
        [".wh.a", "a/b"],
        ["a/", ".wh.a"],
    ] {
        let add = |g: TarGen, name: &str| match name.strip_suffix('/') {
            Some(name) => g.dir(name),
            None => g.file(name, b""),
        };
        let top = clash.into_iter().fold(TarGen::new(), add).end();
        let error = read_all(&[layer("a"), gzipped(&top)]).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
        assert!(error.message().contains("removes and has"), "{error}");
    }
    // An only layer has nothing below it.
    let error = read_all(&[gzipped(&replaced)]).unwrap_err();
    assert!(error.message().contains("`.wh.`"), "{error}");
}

#[test]
fn ceilings_are_for_all_layers_together() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path());
    let layer = |n: usize| gzipped(&TarGen::new().file(&format!("{n}"), b"12345").end());
    let layers: Vec<Source> = (0..3).map(layer).collect();
    for (ceiling, most) in [(Ceiling::Entries, 3), (Ceiling::Unpacked, 15)] {
        let mut read = |most| {
            let limits = Limits::default().with(ceiling, most);
            layer::read_all(&layers, &limits, &mut spool)
        };
        assert_eq!(read(most).unwrap().files.len(), 3);
        let error = read(most - 1).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
        assert!(error.message().contains(ceiling.name()), "{error}");
    }
}

#[test]
fn a_small_layer_that_grows_is_stopped_before_it_is_large() {
    let zeros = vec![0; 32 * 1024 * 1024];
    let inside = TarGen::new().file("a", &zeros).end();
    let error = read_all(&[gzipped(&inside)]).unwrap_err();
    let words = "entry `a` at byte 0: limit `ratio` = 200";
    assert!(error.message().starts_with(words), "{error}");
    // What the header says is enough.
    let head = TarGen::new()
        .entry(Head::file("zero.yaml", 2 << 30), b"")
        .end();
    let error = read_all(&[gzipped(&head)]).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    let words = "entry `zero.yaml` at byte 0: limit `file` = 67108864, got at least 2147483648";
    assert_eq!(error.message(), words);
    // Zeros after the end count for nothing, and there are not many of them.
    let tail = TarGen::new().file("a", b"x").zeros(10_000).end();
    let error = read_all(&[gzipped(&tail)]).unwrap_err();
    assert_eq!(error.kind(), Kind::Unsafe, "{error}");
}

#[test]
fn layers_that_others_compressed_are_read() {
    let sandbox = Sandbox::new();
    for n in 0..40 {
        let lines = (0..n * 1_000).map(|n| format!("key{n}: {}", n * n));
        let text = lines.collect::<Vec<_>>().join("\n");
        sandbox.write(format!("in/{n}.yaml"), text);
    }
    let want = {
        sandbox
            .tool("tar", ["-c", "-C", "in", "-f", "plain.tar", "."])
            .ok();
        let plain = std::fs::read(sandbox.path("plain.tar")).unwrap();
        texts(&read_all(&[source(plain, media_type::LAYER)]).unwrap().files)
    };
    assert_eq!(want.len(), 40);
    for (tool, option, media_type) in [
        ("gzip", "-1", media_type::LAYER_GZIP),
        ("gzip", "-9", media_type::LAYER_GZIP),
        ("zstd", "-1", media_type::LAYER_ZSTD),
        ("zstd", "-19", media_type::LAYER_ZSTD),
    ] {
        let packed = sandbox.tool(tool, [option, "-c", "plain.tar"]);
        let blob = packed.ok().stdout_bytes().to_vec();
        let merged = read_all(&[source(blob, media_type)]).unwrap();
        assert!(texts(&merged.files) == want, "{tool} {option}");
    }
}

/// The archives of `cases/80-hostile-layers`, with what is right for each.
#[test]
fn the_hostile_layers_of_the_corpus() {
    let Some(corpus) = corpus() else { return };
    let layers = corpus.join("cases/80-hostile-layers/layers");
    for (name, want) in [
        ("dotdot", Err((Kind::Unsafe, "entry `../escape.yaml`"))),
        (
            "absolute",
            Err((Kind::Unsafe, "entry `/tmp/escape-abs.yaml`")),
        ),
        (
            "inner-dotdot",
            Err((Kind::Unsafe, "entry `a/../../escape.yaml`")),
        ),
        ("drive", Err((Kind::Unsafe, "entry `C:\\escape.yaml`"))),
        (
            "symlink-then-file",
            Err((Kind::Unsafe, "entry `dir` at byte 0 is a symbolic link")),
        ),
        (
            "symlink-dotdot",
            Err((Kind::Unsafe, "entry `up` at byte 0 is a symbolic link")),
        ),
        (
            "hardlink-outside",
            Err((Kind::Unsafe, "entry `pw` at byte 1024 is a hard link")),
        ),
        (
            "hardlink-cwd",
            Err((Kind::Unsafe, "entry `evil` at byte 1024 is a hard link")),
        ),
        (
            "hardlink-then-write",
            Err((Kind::Unsafe, "entry `h` at byte 0 is a hard link")),
        ),
        (
            "fifo",
            Err((Kind::Unsafe, "entry `pipe` at byte 1024 is a named pipe")),
        ),
        (
            "chardev",
            Err((
                Kind::Unsafe,
                "entry `null` at byte 1024 is a character device",
            )),
        ),
        (
            "backslash",
            Err((Kind::Unsafe, "entry `cmd\\flux\\x.yaml`")),
        ),
        (
            "same-name-twice",
            Err((Kind::Unsafe, "`a.yaml` is there twice")),
        ),
        (
            "file-then-dir",
            Err((Kind::Unsafe, "`a` is both a file and a directory")),
        ),
        ("whiteout", Err((Kind::Unsafe, "entry `.wh.ok.yaml`"))),
        (
            "plain-symlink",
            Err((
                Kind::Unsafe,
                "entry `link.yaml` at byte 1024 is a symbolic link",
            )),
        ),
        ("nul-name", Err((Kind::Unsafe, "at byte 1024"))),
        ("not-gzip", Err((Kind::Unsafe, "the layer is not gzip"))),
        ("two-members", Err((Kind::Unsafe, "more than zeros"))),
        ("setuid", Ok(&["run.sh"][..])),
        ("dot-slash", Ok(&["ok.yaml"])),
        ("readonly-dir", Ok(&["ro/x.yaml"])),
        // As it lies there nothing is missing; below it is cut.
        ("truncated", Ok(&["big", "ok.yaml"])),
    ] {
        let blob = std::fs::read(layers.join(format!("{name}.tgz"))).unwrap();
        let read = read_all(&[source(blob, media_type::LAYER_GZIP)]);
        match (read, want) {
            (Ok(merged), Ok(names)) => {
                let found: Vec<&str> = merged.files.keys().map(BundlePath::as_str).collect();
                assert_eq!(found, names, "{name}");
            }
            (Err(error), Err((kind, words))) => {
                assert_eq!(error.kind(), kind, "{name}: {error}");
                assert!(error.message().contains(words), "{name}: {error}");
            }
            (read, _) => panic!("{name}: {read:?}"),
        }
    }
    let mut cut = std::fs::read(layers.join("truncated.tgz")).unwrap();
    cut.truncate(cut.len() - 20);
    let error = read_all(&[source(cut, media_type::LAYER_GZIP)]).unwrap_err();
    assert_eq!(error.kind(), Kind::Mismatch, "{error}");
    let plain = std::fs::read(layers.join("plain.tar")).unwrap();
    assert_eq!(
        read_all(&[source(plain.clone(), media_type::LAYER)])
            .unwrap()
            .files
            .len(),
        1
    );
    let error = read_all(&[source(plain, media_type::LAYER_GZIP)]).unwrap_err();
    assert!(error.message().contains(media_type::LAYER_GZIP), "{error}");
}

#[test]
fn one_layer_is_read_with_its_modes() {
    let mut spool = Spool::new(std::env::temp_dir());
    let archive = TarGen::new()
        .dir("d/")
        .entry(Head::file("d/run", 2).mode(0o4755), b"hi")
        .end();
    let layer = gzipped(&archive);
    let entries = layer::read(&layer, false, &Limits::default(), &mut spool).unwrap();
    let facts: Vec<_> = entries
        .iter()
        .map(|e| (e.path.as_str(), e.kind, e.mode, e.content.len()))
        .collect();
    assert_eq!(
        facts,
        [
            ("d", EntryKind::Directory, 0o755, 0),
            ("d/run", EntryKind::File, 0o4755, 2)
        ]
    );
}
