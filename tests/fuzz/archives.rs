//! Archives and compressed streams. What the strict readers accept, the readers of others must see in the same way.

use std::collections::BTreeMap;
use std::io::Read;

use manifest_bundle::content::Content;
use manifest_bundle::digest::Digest;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::store::{Name, archive as store};
use manifest_bundle::tar::{Entry, EntryKind, Rules, index, write};
use manifest_bundle::{gzip as strict_gzip, reference, zstd as strict_zstd};

/// Small ceilings, so that the time goes into inputs and not into zeros.
fn limits() -> Limits {
    Limits::default()
        .with(Ceiling::Unpacked, 4 << 20)
        .with(Ceiling::File, 4 << 20)
        .with(Ceiling::Blob, 4 << 20)
        .with(Ceiling::Entries, 1000)
}

/// The `tar` crate sees the same entries with the same contents, and what is written of them is read back.
pub(crate) fn tar(data: &[u8]) {
    let limits = limits();
    let content = Content::from(data.to_vec());
    let Ok(entries) = index(&content, Rules::layer(&limits)) else {
        return;
    };
    let mut files = BTreeMap::new();
    let mut ours = Vec::new();
    for Entry {
        path,
        kind,
        offset,
        size,
        ..
    } in entries
    {
        let bytes = content.slice(offset, size).unwrap().to_bytes().unwrap();
        match kind {
            EntryKind::File => drop(files.insert(path.clone(), Content::from(bytes.to_vec()))),
            EntryKind::Directory => assert!(bytes.is_empty(), "a directory has content"),
            other => panic!("{other:?} where nothing lies below"),
        }
        ours.push((
            path.to_string(),
            kind == EntryKind::Directory,
            bytes.to_vec(),
        ));
    }
    let mut theirs = Vec::new();
    for entry in ::tar::Archive::new(data).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = String::from_utf8(entry.path_bytes().to_vec()).unwrap();
        let kind = entry.header().entry_type();
        if kind.is_pax_global_extensions() {
            continue;
        }
        assert!(kind.is_file() || kind.is_dir(), "{kind:?} at {path}");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let path = path
            .strip_prefix("./")
            .unwrap_or(&path)
            .trim_end_matches('/');
        if !matches!(path, "" | ".") {
            theirs.push((path.to_owned(), kind.is_dir(), bytes));
        }
    }
    assert_eq!(ours, theirs, "two trees");

    let mut written = Vec::new();
    write(&files, &mut written).unwrap();
    let written = Content::from(written);
    let again: BTreeMap<_, _> = index(&written, Rules::layer(&limits))
        .unwrap()
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| (entry.path, written.slice(entry.offset, entry.size).unwrap()))
        .collect();
    assert_eq!(again.len(), files.len());
    for (path, content) in &files {
        assert_eq!(
            again[path].to_bytes().unwrap(),
            content.to_bytes().unwrap(),
            "{path}"
        );
    }
}

/// flate2's reader of several members gives the same bytes, and no more than the ceiling come out.
pub(crate) fn gzip(data: &[u8]) {
    let limits = limits();
    let mut ours = Vec::new();
    let result = strict_gzip::Reader::new(data, &limits).read_to_end(&mut ours);
    assert!(ours.len() as u64 <= limits[Ceiling::Unpacked] + (1 << 20));
    if result.is_ok() {
        let mut theirs = Vec::new();
        flate2::read::MultiGzDecoder::new(data)
            .read_to_end(&mut theirs)
            .unwrap();
        assert!(ours == theirs, "two contents");
    }
}

/// The sizes of the reads have no influence, and no more than the ceiling comes out.
pub(crate) fn zstd(data: &[u8]) {
    let limits = limits();
    let mut whole = Vec::new();
    let result = strict_zstd::Reader::new(data, &limits).read_to_end(&mut whole);
    assert!(whole.len() as u64 <= limits[Ceiling::Unpacked] + (1 << 20));
    if result.is_ok() {
        let mut pieces = Vec::new();
        let mut reader = strict_zstd::Reader::new(data, &limits);
        let mut piece = [0; 7];
        loop {
            match reader.read(&mut piece).unwrap() {
                0 => break,
                n => pieces.extend_from_slice(&piece[..n]),
            }
        }
        assert!(pieces == whole, "the sizes of the reads show");
    }
}

/// Any bytes as an archive with a layout: what is read is written, and then the same.
pub(crate) fn archive(data: &[u8]) {
    let limits = limits();
    let Ok(read) = store::read(&Content::from(data.to_vec()), "fuzz", &limits) else {
        return;
    };
    let Ok(roots) = read.memory.roots() else {
        return;
    };
    let mut written = Vec::new();
    if store::write(&read.memory, &mut written).is_err() {
        return;
    }
    let again = store::read(&Content::from(written), "again", &limits).unwrap();
    assert_eq!(again.memory.roots().unwrap(), roots);
    assert_eq!(again.memory.contents().len(), read.memory.contents().len());
}

/// Any bytes as the `index.json` of a sound archive: what can be selected is what the index lists.
pub(crate) fn layout(data: &[u8]) {
    let limits = limits();
    let blob = Digest::of(b"{}");
    let files = [
        (
            "oci-layout".to_owned(),
            br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec(),
        ),
        ("index.json".to_owned(), data.to_vec()),
        (format!("blobs/sha256/{}", blob.hex()), b"{}".to_vec()),
    ]
    .map(|(path, bytes)| (path.parse().unwrap(), Content::from(bytes)));
    let mut tar = Vec::new();
    write(&files.into(), &mut tar).unwrap();
    let Ok(read) = store::read(&Content::from(tar), "fuzz", &limits) else {
        return;
    };
    let parsed: serde_json::Value = serde_json::from_slice(data).unwrap();
    let manifests = parsed["manifests"].as_array().cloned().unwrap_or_default();
    let holds = |pointer: &str, text: &str| {
        manifests
            .iter()
            .any(|m| m.pointer(pointer).and_then(|v| v.as_str()) == Some(text))
    };
    match read.select(&reference::Entry::default()) {
        Ok(Name::Digest(digest)) => assert!(holds("/digest", &digest.to_string()), "{digest}"),
        Ok(Name::Tag(tag)) => {
            assert!(
                holds(
                    "/annotations/org.opencontainers.image.ref.name",
                    tag.as_str()
                ),
                "{tag}"
            );
        }
        Err(_) => {}
    }
}
