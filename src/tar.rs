//! Archives: a strict reader and a writer whose bytes depend on nothing but paths and contents (spec/image.md).
//!
//! The reader accepts an archive only if every reader that people use sees the same tree in it; what is odd, ambiguous
//! or not a file or directory is an error that names the entry and where it is, never skipped and never repaired.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod header;
mod input;
mod pax;
mod read;
mod write;

use crate::content::Content;
use crate::error::Result;
use crate::limits::{Ceiling, Limits};
use crate::path::BundlePath;

pub use read::Reader;
pub use write::write;

/// What an entry of an archive is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// The path, and what is below it, is not there any more; from `.wh.NAME` in a layer above others.
    Whiteout,
    /// The layers below have nothing in this directory any more; from `.wh..wh..opq`.
    Opaque,
}

/// One entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path; of a whiteout, what it removes.
    pub path: BundlePath,
    /// What it is.
    pub kind: EntryKind,
    /// The permission bits as the archive has them; nothing is ever written with them.
    pub mode: u32,
    /// Where the content begins in the archive.
    pub offset: u64,
    /// The length of the content; 0 for everything but files.
    pub size: u64,
}

/// What an archive may hold.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The ceilings in force.
    pub limits: &'a Limits,
    /// Whether names that begin with `.wh.` remove what lower layers have. If not, they are refused.
    pub whiteouts: bool,
    /// Which ceiling one file has.
    pub file: Ceiling,
    /// Which ceiling all files together have, if they have one.
    pub total: Option<Ceiling>,
}

impl<'a> Rules<'a> {
    /// Returns the rules for the only layer of a bundle.
    pub fn layer(limits: &'a Limits) -> Self {
        Self {
            limits,
            whiteouts: false,
            file: Ceiling::File,
            total: Some(Ceiling::Unpacked),
        }
    }

    /// Returns the rules for an archive whose files are the blobs of an image layout.
    pub fn layout(limits: &'a Limits) -> Self {
        Self {
            file: Ceiling::Blob,
            total: None,
            ..Self::layer(limits)
        }
    }
}

/// Returns the entries of a whole archive in their order, without reading the contents of files.
///
/// # Errors
///
/// As [`Reader::next_entry`].
pub fn index(content: &Content, rules: Rules<'_>) -> Result<Vec<Entry>> {
    let mut reader = Reader::over(content, rules);
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        entries.push(entry);
    }
    Ok(entries)
}
