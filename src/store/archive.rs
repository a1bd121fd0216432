//! An archive: an OCI image layout in a tar, read into and written from a store in memory (spec/image.md, "Archives").
//!
//! Contents stay in the file: reading makes handles on its parts, writing copies from handles. The same strict reader of tars
//! is used as for layers (J5); every blob is checked when it is fetched, as everywhere.

use std::io::Write;
use std::path::Path;

use super::Name;
use super::layout::{LAYOUT_FILE, LAYOUT_TEXT, LayoutIndex, entry};
use super::memory::Memory;
use crate::bundle::Files;
use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::oci::Index;
use crate::path::BundlePath;
use crate::reference::Entry;
use crate::tar;

/// An archive that was read.
#[derive(Debug)]
pub struct Archive {
    /// What it holds.
    pub memory: Memory,
    index: LayoutIndex,
    place: String,
}

impl Archive {
    /// Returns what an entry names: the image with the name, the one with the digest, or the only one.
    pub fn select(&self, entry: &Entry) -> Result<Name> {
        self.index.select(entry, &self.place)
    }
}

/// Reads an archive; `place` is what messages call it, such as `oci-archive:etcd.tar`.
///
/// # Errors
///
/// What the strict reader refuses; [`Kind::Invalid`](crate::error::Kind::Invalid) for a tar that holds no layout.
pub fn read(content: &Content, place: &str, limits: &Limits) -> Result<Archive> {
    let mut reader = tar::Reader::over(content, tar::Rules::layout(limits));
    let memory = Memory::new(place).with_limits(limits);
    let mut layout = None;
    let mut index = None;
    while let Some(entry) = reader.next_entry().map_err(|error| error.at(place))? {
        // The reader has seen that the file is whole, so there is a slice of it.
        let Some(content) = content.slice(entry.offset, entry.size) else {
            continue;
        };
        match entry.path.as_str() {
            LAYOUT_FILE => layout = Some(small(&content, LAYOUT_FILE, place, limits)?),
            LayoutIndex::FILE => index = Some(small(&content, LayoutIndex::FILE, place, limits)?),
            path => {
                if let Some(digest) = digest_of(path) {
                    memory.put_blob(digest, content);
                }
            }
        }
    }
    let no_layout = |what: &str| {
        Error::invalid(format!("{place} is no OCI archive: `{what}` is missing"))
            .hint("an archive is what `bundle pack` or `skopeo copy … oci-archive:` writes")
    };
    super::layout::check_layout_file(&layout.ok_or_else(|| no_layout(LAYOUT_FILE))?, limits)
        .map_err(|error| error.at(place))?;
    let index = index.ok_or_else(|| no_layout(LayoutIndex::FILE))?;
    let index = LayoutIndex::parse(&index, limits).map_err(|error| error.at(place))?;
    for listed in index.manifests() {
        memory.put_media_type(listed.digest, &listed.media_type);
    }
    for tag in index.tags() {
        if let Some(descriptor) = index.named(&tag).map_err(|error| error.at(place))? {
            memory.put_tag(tag.clone(), descriptor.digest);
        }
    }
    Ok(Archive {
        memory,
        index,
        place: place.to_owned(),
    })
}

/// Writes everything that a store in memory holds as an archive; equal stores give equal bytes.
pub fn write(memory: &Memory, out: &mut dyn Write) -> Result<()> {
    let mut files = Files::new();
    let mut put = |path: &str, content: Content| -> Result<()> {
        let path: BundlePath = path
            .parse()
            .map_err(|error: crate::invalid::Invalid| Error::invalid(error.to_string()))?;
        files.insert(path, content);
        Ok(())
    };
    for (digest, content) in memory.contents() {
        put(
            &format!("blobs/{}/{}", digest.algorithm(), digest.hex()),
            content,
        )?;
    }
    let manifests = memory
        .roots()?
        .iter()
        .map(|(tag, descriptor)| entry(descriptor, tag.as_ref()))
        .collect();
    put(LayoutIndex::FILE, Index::new(manifests).write()?.into())?;
    put(LAYOUT_FILE, Content::from(LAYOUT_TEXT))?;
    tar::write(&files, out)
}

/// Reads a small file of the archive.
fn small(content: &Content, name: &str, place: &str, limits: &Limits) -> Result<Vec<u8>> {
    let max = limits[Ceiling::Manifest];
    if content.len() > max {
        let error = Error::limit(Ceiling::Manifest, max, content.len());
        return Err(error.at(format_args!("{place}: `{name}`")));
    }
    let bytes = content
        .to_bytes()
        .map_err(|error| Error::io("cannot read", Path::new(place), error))?;
    Ok(bytes.to_vec())
}

/// Returns the digest that a blob's path says.
fn digest_of(path: &str) -> Option<Digest> {
    let (algorithm, hex) = path.strip_prefix("blobs/")?.split_once('/')?;
    format!("{algorithm}:{hex}").parse().ok()
}
