//! An OCI image layout in a directory: blobs in files named by their digests, tags in `index.json`.
//!
//! What is in the directory is as little trusted as what a registry says: only regular files below it are opened, links are
//! never followed. Blobs appear by rename when they are whole; `index.json` is replaced by rename under a lock, so that many
//! processes can write into one layout and a reader always sees an old or a new index (P6).

mod files;
mod index;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::memory::{no_such_blob, referring};
use super::{Name, Opened, RawManifest, Referrers, Store, no_such_manifest};
use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, ManifestBlob};
use crate::reference::Entry;
use crate::tag::Tag;

use files::{Files, Unfinished};
pub(super) use index::{LAYOUT_FILE, LAYOUT_TEXT, LayoutIndex, check_layout_file, entry};

/// A layout in a directory.
#[derive(Debug)]
pub struct Layout {
    files: Files,
    limits: Limits,
    /// What was written into a layout that this process made, as long as nothing names a manifest in it.
    unfinished: Mutex<Option<Unfinished>>,
}

impl Layout {
    /// Opens a layout that is there.
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is no such directory, [`Kind::Invalid`](crate::error::Kind::Invalid) when it is no layout.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self> {
        Self::of(Files::open(path)?, limits)
    }

    /// Makes sure that a directory is a layout.
    fn of(files: Files, limits: &Limits) -> Result<Self> {
        let text = files
            .read(&[LAYOUT_FILE], limits[Ceiling::Manifest])?
            .ok_or_else(|| {
                Error::invalid(format!(
                    "`{}` is no OCI layout: `{LAYOUT_FILE}` is missing",
                    files.shown()
                ))
            })?;
        check_layout_file(&text, limits).map_err(|error| error.at(files.shown()))?;
        Ok(Self {
            files,
            limits: limits.clone(),
            unfinished: Mutex::new(None),
        })
    }

    /// Opens a layout, or makes one in a directory that is absent or empty.
    ///
    /// One that was made is removed again when it is dropped before anything was pushed under a name.
    ///
    /// # Errors
    ///
    /// [`Kind::Conflict`](crate::error::Kind::Conflict) when the directory holds something else.
    pub fn open_or_create(path: &Path, limits: &Limits) -> Result<Self> {
        let (files, made) = Files::open_or_create(path)?;
        if files
            .read(&[LAYOUT_FILE], limits[Ceiling::Manifest])?
            .is_some()
        {
            return Self::of(files, limits);
        }
        if !files.is_empty_or_ours()? {
            // Another process may have made the layout since the look above.
            if files
                .read(&[LAYOUT_FILE], limits[Ceiling::Manifest])?
                .is_some()
            {
                return Self::of(files, limits);
            }
            return Err(Error::conflict(format!(
                "`{}` exists and is no OCI layout",
                files.shown()
            ))
            .hint("name another directory, or an empty one"));
        }
        Ok(Self {
            files,
            limits: limits.clone(),
            unfinished: Mutex::new(made.then(Unfinished::default)),
        })
    }

    /// Returns what a layout's entry names: the one with the name, the one with the digest, or the only one.
    ///
    /// # Errors
    ///
    /// [`Kind::NotFound`](crate::error::Kind::NotFound) when there is none, [`Kind::Usage`](crate::error::Kind::Usage) when there are several to choose from.
    pub fn select(&self, entry: &Entry) -> Result<Name> {
        self.index()?.select(entry, &self.place())
    }

    fn index(&self) -> Result<LayoutIndex> {
        match self
            .files
            .read(&[LayoutIndex::FILE], self.limits[Ceiling::Manifest])?
        {
            Some(bytes) => {
                LayoutIndex::parse(&bytes, &self.limits).map_err(|error| error.at(self.place()))
            }
            None => Ok(LayoutIndex::default()),
        }
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Content>> {
        self.files
            .content(&["blobs", digest.algorithm(), &digest.hex()])
    }

    fn manifest(&self, digest: &Digest, media_type: &str) -> Result<Option<RawManifest>> {
        let max = self.limits[Ceiling::Manifest];
        let bytes = self
            .files
            .read(&["blobs", digest.algorithm(), &digest.hex()], max)
            .map_err(|error| error.digest(*digest))?;
        Ok(bytes.map(|bytes| RawManifest {
            bytes: bytes.into(),
            media_type: media_type.to_owned(),
        }))
    }

    /// Changes the index under the lock: read, change, write beside, rename.
    fn update(&self, change: impl FnOnce(&mut LayoutIndex)) -> Result<()> {
        let is_new = self.files.write_once(LAYOUT_FILE, LAYOUT_TEXT.as_bytes())?;
        if let Some(unfinished) = &mut *self.unfinished() {
            unfinished.is_marked |= is_new;
        }
        let _lock = self.files.lock(LAYOUT_FILE)?;
        self.files.remove_leftovers();
        let max = self.limits[Ceiling::Manifest];
        let former = self.files.read(&[LayoutIndex::FILE], max)?;
        let mut index = self.index()?;
        change(&mut index);
        let text = index.write()?;
        self.files
            .replace(LayoutIndex::FILE, &text, former.as_deref())?;
        *self.unfinished() = None;
        Ok(())
    }

    /// Writes a blob.
    fn push(&self, digest: &Digest, content: &Content) -> Result<()> {
        let is_new = self.files.push(digest, content)?;
        if let Some(unfinished) = &mut *self.unfinished()
            && is_new
        {
            unfinished.blobs.insert(*digest);
        }
        Ok(())
    }

    fn unfinished(&self) -> MutexGuard<'_, Option<Unfinished>> {
        self.unfinished
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Layout {
    /// Takes a layout away that this process began and could not finish.
    fn drop(&mut self) {
        if let Some(unfinished) = &*self.unfinished() {
            self.files.remove_unfinished(unfinished);
        }
    }
}

#[async_trait]
impl Store for Layout {
    fn place(&self) -> String {
        format!("oci:{}", self.files.shown())
    }

    async fn manifest_unchecked(&self, name: &Name) -> Result<RawManifest> {
        let (digest, media_type) = match name {
            Name::Digest(digest) => (Some(*digest), String::new()),
            Name::Tag(tag) => match self
                .index()?
                .named(tag)
                .map_err(|error| error.at(self.place()))?
            {
                Some(descriptor) => (Some(descriptor.digest), descriptor.media_type.clone()),
                None => (None, String::new()),
            },
        };
        let missing = || no_such_manifest(&self.place(), name);
        let digest = digest.ok_or_else(missing)?;
        let raw = self.manifest(&digest, &media_type)?.ok_or_else(missing)?;
        let found = digest.like(&raw.bytes);
        // A tag's digest stands in the index; the caller of a tag cannot check it, so it is done here.
        if matches!(name, Name::Tag(_)) && found != digest {
            return Err(Error::mismatch("digest of the manifest", digest, found).at(self.place()));
        }
        Ok(raw)
    }

    async fn tagged(&self, tag: &Tag) -> Result<Option<Digest>> {
        let index = self.index()?;
        let named = index.named(tag).map_err(|error| error.at(self.place()))?;
        Ok(named.map(|descriptor| descriptor.digest))
    }

    async fn open_unchecked(&self, descriptor: &Descriptor) -> Result<Opened> {
        let content = self.blob(&descriptor.digest)?;
        content
            .map(Opened::Content)
            .ok_or_else(|| no_such_blob(&self.place(), descriptor))
    }

    async fn has(&self, descriptor: &Descriptor) -> Result<bool> {
        Ok(self
            .blob(&descriptor.digest)?
            .is_some_and(|content| content.len() == descriptor.size))
    }

    async fn push_blob(&self, descriptor: &Descriptor, content: &Content) -> Result<()> {
        if content.len() != descriptor.size {
            let (size, found) = (descriptor.size, content.len());
            return Err(Error::mismatch("size of the blob", size, found).digest(descriptor.digest));
        }
        self.push(&descriptor.digest, content)
    }

    async fn push_manifest(&self, manifest: &ManifestBlob, tag: Option<&Tag>) -> Result<()> {
        let content = Content::from(manifest.bytes.clone());
        self.push(&manifest.descriptor.digest, &content)?;
        self.update(|index| index.insert(manifest, tag))
    }

    async fn tags(&self) -> Result<Vec<Tag>> {
        Ok(self.index()?.tags())
    }

    async fn referrers(&self, digest: &Digest, artifact_type: Option<&str>) -> Result<Referrers> {
        let mut raws = Vec::new();
        for descriptor in self.index()?.manifests() {
            if !descriptor.is_manifest() {
                continue;
            }
            let raw = self.manifest(&descriptor.digest, &descriptor.media_type)?;
            raws.extend(raw.map(|raw| (descriptor.digest, raw)));
        }
        let found = referring(&raws, digest, artifact_type, &self.limits);
        Ok(Referrers {
            descriptors: found.map_err(|error| error.at(self.place()))?,
            fallback: false,
        })
    }
}
