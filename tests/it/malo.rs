//! The public corpus of archives about which parsers disagree. Without `BUNDLE_CORPUS` there is nothing to read.
//!
//! Each format is judged by its reader alone, not as the layer of a bundle.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use manifest_bundle::content::Content;
use manifest_bundle::limits::Limits;
use manifest_bundle::tar::{self, Rules};
use manifest_bundle::{Error, Kind, gzip, zstd};

use crate::support::corpus;

/// Returns the files of `malo/FORMAT/CATEGORY` with an extension, in order.
fn files(format: &str, category: &str, extension: &str) -> Vec<(String, Vec<u8>)> {
    let Some(corpus) = corpus() else {
        return Vec::new();
    };
    let directory = corpus.join("malo").join(format).join(category);
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .map(|path| (stem(&path), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "nothing in {}", directory.display());
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Judges a category and checks that exactly `accepted` are accepted. Whatever is refused is refused for what it is.
fn check(
    (format, category, extension): (&str, &str, &str),
    accepted: impl Fn(&str) -> bool,
    read: impl Fn(&[u8]) -> Result<(), Error>,
) {
    for (name, bytes) in files(format, category, extension) {
        match read(&bytes) {
            Ok(()) => assert!(accepted(&name), "{format}/{category}/{name} was accepted"),
            Err(error) => {
                assert!(!accepted(&name), "{format}/{category}/{name}: {error}");
                let kinds = [Kind::Unsafe, Kind::Mismatch, Kind::Limit];
                assert!(kinds.contains(&error.kind()), "{name}: {error:?}");
            }
        }
    }
}

fn read_tar(bytes: &[u8]) -> Result<(), Error> {
    let limits = Limits::default();
    let content = Content::from(bytes.to_vec());
    let jumped = tar::index(&content, Rules::layer(&limits));
    let mut stream = bytes;
    let mut reader = tar::Reader::new(&mut stream, Rules::layer(&limits));
    let mut streamed = Vec::new();
    let end = loop {
        match reader.next_entry() {
            Ok(Some(entry)) => streamed.push(entry),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    match (&jumped, &end) {
        (Ok(entries), Ok(())) => assert_eq!(*entries, streamed),
        (Err(a), Err(b)) => assert_eq!(a.message(), b.message()),
        _ => panic!("jumping and streaming disagree: {jumped:?} {end:?}"),
    }
    jumped.map(|_| ())
}

#[test]
fn tar() {
    // A link is refused wherever it leads (threats, R3); this archive holds nothing else.
    check(("tar", "accept", "tar"), |name| name != "symlink", read_tar);
    check(("tar", "reject", "tar"), |_| false, read_tar);
    check(("tar", "malicious", "tar"), |_| false, read_tar);
    let honest = BTreeMap::from([
        ("gnu_magic", "GNU tar writes this header by default"),
        ("name_no_nul", "a name of exactly 100 bytes has no NUL"),
        (
            "pax_path_nonzero_fixed",
            "every PAX writer fills the short name as well",
        ),
    ]);
    assert!(honest.len() <= 4);
    check(
        ("tar", "iffy", "tar"),
        |name| honest.contains_key(name),
        read_tar,
    );
}

/// Wraps a raw deflate stream as a gzip member whose trailer agrees with what another decoder makes of it.
fn read_deflate(bytes: &[u8]) -> Result<(), Error> {
    let mut content = Vec::new();
    let _ = flate2::read::DeflateDecoder::new(bytes).read_to_end(&mut content);
    let mut crc = flate2::Crc::new();
    crc.update(&content);
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend_from_slice(bytes);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&crc.amount().to_le_bytes());
    let mut found = Vec::new();
    read_all(
        &mut gzip::Reader::new(member.as_slice(), &Limits::default()),
        &mut found,
    )?;
    assert_eq!(found, content);
    Ok(())
}

fn read_all(reader: &mut dyn Read, found: &mut Vec<u8>) -> Result<(), Error> {
    reader
        .read_to_end(found)
        .map(|_| ())
        .map_err(|error| Error::from_io("cannot read", error))
}

#[test]
fn deflate() {
    check(("deflate", "accept", "deflate"), |_| true, read_deflate);
    check(("deflate", "reject", "deflate"), |_| false, read_deflate);
    check(("deflate", "malicious", "deflate"), |_| false, read_deflate);
}

fn read_zstd(bytes: &[u8]) -> Result<(), Error> {
    let mut found = Vec::new();
    read_all(
        &mut zstd::Reader::new(bytes, &Limits::default()),
        &mut found,
    )
}

#[test]
fn zstandard() {
    check(("zstd", "accept", "zst"), |_| true, read_zstd);
    check(("zstd", "reject", "zst"), |_| false, read_zstd);
    check(("zstd", "malicious", "zst"), |_| false, read_zstd);
}
