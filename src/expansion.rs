//! How far a compressed stream has grown, and where that stops; and what a stream is that is not what it should be.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits, RATIO_FREE};

/// Counts the bytes that go into a decompressor and come out of it.
#[derive(Debug)]
pub(crate) struct Expansion {
    packed: u64,
    unpacked: u64,
    most: u64,
    /// What an error names; with room for headers `most` is more.
    ceiling: u64,
    ratio: u64,
}

impl Expansion {
    /// Allows what the limits allow for the files of a bundle, and `room` bytes more for what stands around them.
    pub(crate) fn new(limits: &Limits, room: u64) -> Self {
        Self {
            packed: 0,
            unpacked: 0,
            most: limits[Ceiling::Unpacked].saturating_add(room),
            ceiling: limits[Ceiling::Unpacked],
            ratio: limits[Ceiling::Ratio],
        }
    }

    /// Counts bytes that were taken in and given out.
    ///
    /// The ratio is looked at while the stream is read, not at its end, so that a bomb costs no more than 8 MiB.
    pub(crate) fn add(&mut self, packed: u64, unpacked: u64) -> Result<()> {
        self.packed = self.packed.saturating_add(packed);
        self.unpacked = self.unpacked.saturating_add(unpacked);
        if self.unpacked > self.most {
            return Err(Error::limit(Ceiling::Unpacked, self.ceiling, self.unpacked));
        }
        if self.unpacked > RATIO_FREE && self.unpacked > self.packed.saturating_mul(self.ratio) {
            let found = self.unpacked.div_ceil(self.packed.max(1));
            return Err(Error::limit(Ceiling::Ratio, self.ratio, found));
        }
        Ok(())
    }
}

/// What [`looks_like`] says when it does not know.
pub(crate) const UNKNOWN: &str = "something unknown";
/// What it says of an archive.
pub(crate) const TAR: &str = "an uncompressed tar archive";

/// Returns a name for what some bytes begin, for messages; nothing is ever done differently because of it.
pub(crate) fn looks_like(start: &[u8]) -> &'static str {
    const MAGIC: [(usize, &[u8], &str); 8] = [
        (0, b"\x1f\x8b", "gzip"),
        (0, b"\x28\xb5\x2f\xfd", "zstd"),
        (0, b"\xfd7zXZ\0", "xz"),
        (0, b"PK\x03\x04", "zip"),
        // The ones above begin with what no name in an archive does.
        (257, b"ustar", TAR),
        (0, b"BZh", "bzip2"),
        (0, b"<", "HTML or XML"),
        (0, b"{", "JSON"),
    ];
    let known = MAGIC.iter().find(|(at, magic, _)| {
        start
            .get(*at..)
            .is_some_and(|start| start.starts_with(magic))
    });
    match known {
        Some((_, _, name)) => name,
        None if start.is_empty() => "nothing at all",
        None if start
            .iter()
            .all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) =>
        {
            "text"
        }
        None => UNKNOWN,
    }
}
