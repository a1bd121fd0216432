//! Layers: the files of a bundle as the one blob of an image, and what others' layers hold.
//!
//! A layer is decompressed once, a large one on a thread of its own, into a spooled archive, while its headers are walked;
//! the contents of its files are ranges of that archive. So the memory does not depend on the sizes. Only blobs that were
//! fetched, and so verified, may come in here (P5).
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod merge;
mod read_ahead;

use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;

use crate::bundle::Files;
use crate::content::{self, Content, Spool};
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::expansion::{TAR, UNKNOWN, looks_like};
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, media_type};
use crate::path::BundlePath;
use crate::tar::{self, EntryKind, Rules};
use crate::{gzip, zstd};

use read_ahead::ReadAhead;

pub use merge::{Merged, merge};

/// How much an archive may have around each file: two headers, a long name, and padding.
const ROOM_FOR_ENTRY: u64 = 2 * 1024;
/// How much an archive may have at its end, and in headers that are for no file.
const ROOM_AROUND: u64 = 2 * 1024 * 1024;
/// From which size on a blob is decompressed on a thread of its own.
const WORTH_A_THREAD: u64 = 256 * 1024;

/// A layer that was written.
#[derive(Debug, Clone)]
pub struct Layer {
    /// The digest of the blob.
    pub digest: Digest,
    /// The size of the blob.
    pub size: u64,
    /// The digest of the archive in it, which the image's config states.
    pub diff_id: Digest,
    /// The blob.
    pub content: Content,
}

impl Layer {
    /// Tells whether this is the blob of a descriptor.
    pub fn is(&self, descriptor: &Descriptor) -> bool {
        (self.digest, self.size) == (descriptor.digest, descriptor.size)
    }
}

/// A layer to be read: a blob that was fetched, and what its image says about it.
#[derive(Debug, Clone)]
pub struct Source {
    /// The blob.
    pub content: Content,
    /// Its media type.
    pub media_type: String,
    /// The digest of the archive in it, from the image's config.
    pub diff_id: Option<Digest>,
}

/// One entry of a layer.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The path; of a whiteout, what it removes.
    pub path: BundlePath,
    /// What it is.
    pub kind: EntryKind,
    /// The permission bits as the layer has them.
    pub mode: u32,
    /// The content; empty for everything but files.
    pub content: Content,
}

/// Writes files as a layer; equal files give equal bytes, whatever the threads.
///
/// # Errors
///
/// As [`tar::write`].
pub fn write(files: &Files, spool: &mut Spool, threads: usize) -> Result<Layer> {
    let directory = spool.directory().to_owned();
    let cannot_keep = |error| cannot_keep(&directory, error);
    let blob = Hashing::new(spool.begin());
    let mut archive = Hashing::new(gzip::Writer::new(blob, threads));
    tar::write(files, &mut archive)?;
    let diff_id = archive.hasher.finish();
    let blob = archive.inner.finish().map_err(cannot_keep)?;
    let digest = blob.hasher.finish();
    let content = blob.inner.finish().map_err(cannot_keep)?;
    Ok(Layer {
        digest,
        size: content.len(),
        diff_id,
        content,
    })
}

/// Tells whether a media type is one that [`read`] takes for a layer.
pub fn is_layer(media_type: &str) -> bool {
    packing(media_type).is_some()
}

/// Reads one layer; `whiteouts` tells whether there are layers below.
///
/// # Errors
///
/// [`crate::Kind::Invalid`] for a media type that is no layer's, [`crate::Kind::Mismatch`] for another archive than the
/// config states, and what [`tar::Reader`], [`gzip::Reader`] and [`zstd::Reader`] refuse.
pub fn read(
    layer: &Source,
    whiteouts: bool,
    limits: &Limits,
    spool: &mut Spool,
) -> Result<Vec<Entry>> {
    read_after(&mut Before::default(), layer, whiteouts, limits, spool)
}

/// Reads all layers of an image, lowest first, as one tree; the ceilings are for all of them together.
///
/// An only layer may not have whiteouts: there is nothing that they could remove.
///
/// # Errors
///
/// As [`read`] and [`merge`].
pub fn read_all(layers: &[Source], limits: &Limits, spool: &mut Spool) -> Result<Merged> {
    let mut before = Before::default();
    let whiteouts = layers.len() > 1;
    let read = layers
        .iter()
        .map(|layer| read_after(&mut before, layer, whiteouts, limits, spool));
    merge(read.collect::<Result<_>>()?)
}

/// What earlier layers of the same image held.
#[derive(Default)]
struct Before {
    entries: u64,
    bytes: u64,
}

fn read_after(
    before: &mut Before,
    layer: &Source,
    whiteouts: bool,
    limits: &Limits,
    spool: &mut Spool,
) -> Result<Vec<Entry>> {
    let rules = Rules {
        whiteouts,
        ..Rules::layer(limits)
    };
    let (archive, entries, found) = match checked_packing(layer)? {
        None => {
            let found = match &layer.diff_id {
                Some(diff_id) => {
                    let digest = layer.content.digest(diff_id.hasher());
                    Some(digest.map_err(|error| Error::from_io("cannot read the layer", error))?)
                }
                None => None,
            };
            let reader = tar::Reader::over(&layer.content, rules);
            (layer.content.clone(), walk(before, reader)?, found)
        }
        Some(packing) => unpack(before, layer, packing, rules, spool)?,
    };
    if let (Some(stated), Some(found)) = (layer.diff_id, found)
        && stated != found
    {
        return Err(Error::mismatch("digest of the unpacked layer", stated, found).digest(stated));
    }
    let content = |entry: &tar::Entry| archive.slice(entry.offset, entry.size);
    Ok(entries
        .into_iter()
        .map(|entry| Entry {
            // The reader saw the whole archive, so every range is inside.
            content: content(&entry).unwrap_or_else(|| Content::from("")),
            path: entry.path,
            kind: entry.kind,
            mode: entry.mode,
        })
        .collect())
}

/// Decompresses a layer into the spool; returns the archive, its entries, and its digest if one is stated.
fn unpack(
    before: &mut Before,
    layer: &Source,
    packing: Packing,
    rules: Rules<'_>,
    spool: &mut Spool,
) -> Result<(Content, Vec<tar::Entry>, Option<Digest>)> {
    let directory = spool.directory().to_owned();
    let room = room(rules.limits);
    let blob = layer.content.reader();
    let decoder: Box<dyn Read + Send> = match packing {
        Packing::Gzip => Box::new(gzip::Reader::with_room(blob, rules.limits, room)),
        Packing::Zstd => Box::new(zstd::Reader::with_room(blob, rules.limits, room)),
    };
    thread::scope(|scope| {
        let mut unpacking = Unpacking {
            decoder: if layer.content.len() < WORTH_A_THREAD {
                ReadAhead::Here(decoder)
            } else {
                ReadAhead::begin(scope, decoder)
            },
            hasher: layer.diff_id.as_ref().map(Digest::hasher),
            archive: spool.begin(),
            directory: &directory,
        };
        let entries = walk(before, tar::Reader::new(&mut unpacking, rules))?;
        let found = unpacking.hasher.take().map(Hasher::finish);
        let archive = unpacking.archive.finish();
        let archive = archive.map_err(|error| cannot_keep(&directory, error))?;
        Ok((archive, entries, found))
    })
}

/// Returns how much an archive may have beside the bytes of its files.
fn room(limits: &Limits) -> u64 {
    let entries = limits[Ceiling::Entries].saturating_mul(ROOM_FOR_ENTRY);
    entries.saturating_add(ROOM_AROUND)
}

fn walk(before: &mut Before, reader: tar::Reader<'_>) -> Result<Vec<tar::Entry>> {
    let mut reader = reader.after(before.entries, before.bytes);
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    (before.entries, before.bytes) = reader.so_far();
    Ok(entries)
}

/// How an archive is compressed.
#[derive(Clone, Copy, PartialEq)]
enum Packing {
    Gzip,
    Zstd,
}

/// Returns how a layer of a media type is compressed, and what to call that.
fn packing(media_type: &str) -> Option<(Option<Packing>, &'static str)> {
    match media_type {
        media_type::LAYER => Some((None, TAR)),
        media_type::LAYER_GZIP | media_type::DOCKER_LAYER => Some((Some(Packing::Gzip), "gzip")),
        media_type::LAYER_ZSTD => Some((Some(Packing::Zstd), "zstd")),
        _ => None,
    }
}

/// Returns how a layer is compressed: as its media type says and in no other way, whatever it looks like.
fn checked_packing(layer: &Source) -> Result<Option<Packing>> {
    let Some((packing, name)) = packing(&layer.media_type) else {
        let found = shown(&layer.media_type);
        return Err(Error::invalid(format!(
            "a layer of the type `{found}` holds no files that can be read"
        ))
        .expected(media_type::LAYER_GZIP)
        .found(found));
    };
    let mut start = [0; 512];
    let read = layer.content.read_at(&mut start, 0);
    let read = read.map_err(|error| Error::from_io("cannot read the layer", error))?;
    let found = looks_like(start.get(..read).unwrap_or_default());
    // The readers look closer at what is not known here: an empty archive, or zstd that begins with a frame to skip.
    if found != name && (packing == Some(Packing::Gzip) || found != UNKNOWN) {
        return Err(Error::unsafe_content(format!(
            "the layer is not {name}, as its type `{}` says; it looks like {found}",
            layer.media_type
        ))
        .expected(name)
        .found(found));
    }
    Ok(packing)
}

fn cannot_keep(directory: &Path, error: io::Error) -> Error {
    let directory = shown(&directory.to_string_lossy());
    Error::from_io(format_args!("cannot keep a layer in `{directory}`"), error)
}

/// Computes the digest of what is written through it.
struct Hashing<W> {
    inner: W,
    hasher: Hasher,
}

impl<W> Hashing<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            hasher: Hasher::sha256(),
        }
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Decompresses an archive, and keeps and hashes what it gives out.
struct Unpacking<'a> {
    decoder: ReadAhead<Box<dyn Read + Send>>,
    hasher: Option<Hasher>,
    archive: content::Writer<'a>,
    directory: &'a Path,
}

impl Read for Unpacking<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(target)?;
        let bytes = target.get(..read).unwrap_or_default();
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        let kept = self.archive.write_all(bytes);
        kept.map_err(|error| cannot_keep(self.directory, error).into_io())?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_known_by_digest_and_size() {
        let layer = Layer {
            digest: Digest::of(b"abc"),
            size: 3,
            diff_id: Digest::of(b""),
            content: Content::from("abc"),
        };
        let descriptor = Descriptor::of(media_type::LAYER_GZIP, b"abc");
        assert!(layer.is(&descriptor));
        assert!(!layer.is(&Descriptor::of(media_type::LAYER_GZIP, b"abd")));
        let size = descriptor.size + 1;
        assert!(!layer.is(&Descriptor { size, ..descriptor }));
    }

    #[test]
    fn layers_are_told_by_their_media_type() {
        assert!(is_layer(media_type::LAYER_GZIP));
        for other in [media_type::CONFIG, media_type::MANIFEST, "", "text/plain"] {
            assert!(!is_layer(other), "{other}");
        }
    }
    #[test]
    fn an_archive_has_two_kib_for_each_entry_and_two_mib_beside_them() {
        let limits = Limits::default().with(Ceiling::Entries, 3);
        assert_eq!(room(&limits), 3 * 2_048 + 2_097_152);
    }

    #[test]
    fn a_blob_must_begin_as_its_media_type_says_or_as_nothing_known() {
        // A frame to skip is how some zstd streams begin, and what is in it is nobody's archive; gzip always begins as gzip.
        let layer = |media_type: &str, start: &'static [u8]| Source {
            content: Content::Bytes(bytes::Bytes::from_static(start)),
            media_type: media_type.to_owned(),
            diff_id: None,
        };
        let skipped = b"\x50\x2a\x4d\x18\0\0\0\0";
        assert!(checked_packing(&layer(media_type::LAYER_ZSTD, skipped)).is_ok());
        assert!(checked_packing(&layer(media_type::LAYER_GZIP, skipped)).is_err());
        for (media_type, other) in [
            (media_type::LAYER_GZIP, &b"\x28\xb5\x2f\xfd"[..]),
            (media_type::LAYER_ZSTD, b"\x1f\x8b"),
            (media_type::LAYER, b"\x1f\x8b"),
        ] {
            assert!(
                checked_packing(&layer(media_type, other)).is_err(),
                "{media_type}"
            );
        }
    }

    #[test]
    fn what_flushes_the_digest_flushes_what_is_behind_it() {
        struct Counting(u32);
        impl Write for Counting {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                self.0 += 1;
                Ok(())
            }
        }
        let mut hashing = Hashing::new(Counting(0));
        hashing.flush().unwrap();
        assert_eq!(hashing.inner.0, 1);
    }
}
