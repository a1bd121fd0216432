//! A store in memory: where a bundle is packed on its way to another store, and what an archive is once it is read.
//!
//! Contents are handles, so a large blob stays in its file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{Name, Opened, RawManifest, Referrers, Store, digest_of, no_such_manifest};
use crate::content::{Content, Spool};
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::image::Image;
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, Document, ManifestBlob, media_type};
use crate::tag::Tag;

/// Blobs, manifests and tags, held by this process.
#[derive(Debug)]
pub struct Memory {
    place: String,
    limits: Limits,
    held: Mutex<Held>,
}

/// What a [`Memory`] holds.
#[derive(Debug, Default)]
struct Held {
    blobs: BTreeMap<Digest, Content>,
    manifests: BTreeMap<Digest, RawManifest>,
    tags: BTreeMap<Tag, Digest>,
    /// The types under which blobs are manifests, where an archive's index says so.
    media_types: BTreeMap<Digest, String>,
    /// Where blobs that are pushed are kept, so that neither memory nor open files grow with their number.
    spool: Option<Spool>,
    /// How many blobs are kept as the open files as which they came.
    open: usize,
}

/// How many pushed blobs may stay in files of their own.
const OPEN_MAX: usize = 16;

impl Held {
    /// Returns a content as it is to be kept.
    fn keep(&mut self, content: &Content) -> io::Result<Content> {
        let Some(spool) = &mut self.spool else {
            return Ok(content.clone());
        };
        if matches!(content, Content::File { .. }) && self.open < OPEN_MAX {
            self.open = self.open.saturating_add(1);
            return Ok(content.clone());
        }
        spool.store(&mut content.reader())
    }
}

impl Memory {
    /// Makes an empty store with the default ceilings; `place` is what messages call it.
    pub fn new(place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            limits: Limits::default(),
            held: Mutex::default(),
        }
    }

    /// Sets the ceilings for what is read from it.
    #[must_use]
    pub fn with_limits(self, limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            ..self
        }
    }

    /// Lets blobs that are pushed be kept in one temporary file, which is made in `directory`, except for the first few. Without it they
    /// are kept as they come: in memory, or each in its own open file.
    #[must_use]
    pub fn with_spool(self, directory: &Path) -> Self {
        self.held().spool = Some(Spool::new(directory));
        self
    }

    /// Makes a store that holds one image, under a tag where one is given.
    pub fn of_image(place: impl Into<String>, image: &Image, tag: Option<&Tag>) -> Result<Self> {
        let memory = Self::new(place);
        for (descriptor, content) in image.blobs()? {
            memory.put_blob(descriptor.digest, content.clone());
        }
        memory.put_manifest(&image.manifest, tag);
        Ok(memory)
    }

    /// Holds a blob.
    pub fn put_blob(&self, digest: Digest, content: Content) {
        self.held().blobs.insert(digest, content);
    }

    /// Holds a manifest, and lets a tag name it.
    pub fn put_manifest(&self, manifest: &ManifestBlob, tag: Option<&Tag>) {
        let digest = manifest.descriptor.digest;
        let raw = RawManifest {
            bytes: manifest.bytes.clone(),
            media_type: manifest.descriptor.media_type.clone(),
        };
        let mut held = self.held();
        held.manifests.insert(digest, raw);
        if let Some(tag) = tag {
            held.tags.insert(tag.clone(), digest);
        }
    }

    /// Lets a tag name a manifest or blob that may be read as a manifest.
    pub fn put_tag(&self, tag: Tag, digest: Digest) {
        self.held().tags.insert(tag, digest);
    }

    /// Says that a blob may be read as a manifest of a media type.
    pub(super) fn put_media_type(&self, digest: Digest, media_type: &str) {
        self.held()
            .media_types
            .insert(digest, media_type.to_owned());
    }

    /// Returns every blob and manifest by digest, in order.
    pub fn contents(&self) -> BTreeMap<Digest, Content> {
        let held = self.held();
        let manifests = held
            .manifests
            .iter()
            .map(|(digest, raw)| (*digest, Content::from(raw.bytes.clone())));
        held.blobs
            .iter()
            .map(|(digest, content)| (*digest, content.clone()))
            .chain(manifests)
            .collect()
    }

    /// Returns every tag with the manifest that it names, and every manifest that nothing names, for a layout's index.
    ///
    /// # Errors
    ///
    /// [`Kind::Io`] when a manifest of an archive cannot be read, [`Kind::Limit`] when it is too large for one.
    pub fn roots(&self) -> Result<Vec<(Option<Tag>, Descriptor)>> {
        let manifests = self.manifests()?;
        let held = self.held();
        let describe = |digest: &Digest| {
            if let Some(raw) = manifests.get(digest) {
                let size = raw.bytes.len() as u64;
                return Some(Descriptor::new(&raw.media_type, *digest, size));
            }
            // An index may list what is no manifest.
            let (media_type, blob) = (held.media_types.get(digest)?, held.blobs.get(digest)?);
            Some(Descriptor::new(media_type, *digest, blob.len()))
        };
        let tagged = held
            .tags
            .iter()
            .filter_map(|(tag, digest)| Some((Some(tag.clone()), describe(digest)?)));
        let children: Vec<Digest> = manifests
            .values()
            .flat_map(|raw| children(&raw.bytes, &self.limits))
            .collect();
        let listed: BTreeSet<&Digest> = manifests.keys().chain(held.media_types.keys()).collect();
        let loose = listed.into_iter().filter(|digest| {
            !held.tags.values().any(|d| d == *digest) && !children.contains(digest)
        });
        Ok(tagged
            .chain(loose.filter_map(|digest| Some((None, describe(digest)?))))
            .collect())
    }

    /// Returns every manifest, also those that an archive's index lists and that came as blobs.
    fn manifests(&self) -> Result<BTreeMap<Digest, RawManifest>> {
        let held = self.held();
        let mut manifests = held.manifests.clone();
        for (digest, media_type) in &held.media_types {
            if !media_type::MANIFESTS.contains(&media_type.as_str()) {
                continue;
            }
            let Some(blob) = held.blobs.get(digest) else {
                continue;
            };
            if !manifests.contains_key(digest) {
                let raw = self.raw(blob, media_type);
                manifests.insert(*digest, raw.map_err(|error| error.digest(*digest))?);
            }
        }
        Ok(manifests)
    }

    /// Reads a blob as a manifest, unchecked but for its size.
    fn raw(&self, blob: &Content, media_type: &str) -> Result<RawManifest> {
        let max = self.limits[Ceiling::Manifest];
        if blob.len() > max {
            return Err(Error::limit(Ceiling::Manifest, max, blob.len()).at(&self.place));
        }
        let bytes = blob
            .to_bytes()
            .map_err(|error| Error::io("cannot read", Path::new(&self.place), error))?;
        Ok(RawManifest {
            bytes,
            media_type: media_type.to_owned(),
        })
    }

    /// A panic elsewhere cannot leave the maps half changed, so a poisoned lock is as good as another.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the manifests that an index lists; nothing for anything else.
fn children(bytes: &[u8], limits: &Limits) -> Vec<Digest> {
    match Document::parse(bytes, "", limits) {
        Ok(Document::Index(index)) => index.manifests.iter().map(|d| d.digest).collect(),
        _ => Vec::new(),
    }
}

#[async_trait]
impl Store for Memory {
    fn place(&self) -> String {
        self.place.clone()
    }

    async fn manifest_unchecked(&self, name: &Name) -> Result<RawManifest> {
        let missing = || no_such_manifest(&self.place, name);
        let (digest, blob, media_type) = {
            let held = self.held();
            let digest = match name {
                Name::Tag(tag) => *held.tags.get(tag).ok_or_else(missing)?,
                Name::Digest(digest) => *digest,
            };
            if let Some(raw) = held.manifests.get(&digest) {
                return Ok(raw.clone());
            }
            let blob = held.blobs.get(&digest).cloned().ok_or_else(missing)?;
            (
                digest,
                blob,
                held.media_types.get(&digest).cloned().unwrap_or_default(),
            )
        };
        let raw = self
            .raw(&blob, &media_type)
            .map_err(|error| error.digest(digest))?;
        // The caller of a tag cannot check the digest, and an archive may lie.
        let found = blob
            .digest(digest.hasher())
            .map_err(|error| Error::io("cannot read", Path::new(&self.place), error))?;
        if found != digest {
            return Err(Error::mismatch("digest of the manifest", digest, found).at(&self.place));
        }
        Ok(raw)
    }

    async fn tagged(&self, tag: &Tag) -> Result<Option<Digest>> {
        Ok(self.held().tags.get(tag).copied())
    }

    async fn open_unchecked(&self, descriptor: &Descriptor) -> Result<Opened> {
        let content = self.held().blobs.get(&descriptor.digest).cloned();
        content
            .map(Opened::Content)
            .ok_or_else(|| no_such_blob(&self.place, descriptor))
    }

    async fn has(&self, descriptor: &Descriptor) -> Result<bool> {
        let held = self.held();
        Ok(held.blobs.contains_key(&descriptor.digest)
            || held.manifests.contains_key(&descriptor.digest))
    }

    async fn push_blob(&self, descriptor: &Descriptor, content: &Content) -> Result<()> {
        if content.len() != descriptor.size {
            let (size, found) = (descriptor.size, content.len());
            return Err(Error::mismatch("size of the blob", size, found).digest(descriptor.digest));
        }
        let found = digest_of(content, &descriptor.digest)
            .await
            .map_err(|error| Error::io("cannot read", Path::new(&self.place), error))?;
        if found != descriptor.digest {
            return Err(
                Error::mismatch("digest of the blob", descriptor.digest, found)
                    .digest(descriptor.digest),
            );
        }
        let mut held = self.held();
        let content = held.keep(content).map_err(|error| {
            let directory = held.spool.as_ref().map(Spool::directory);
            let directory = directory.unwrap_or(Path::new(&self.place));
            Error::io("cannot keep a blob in", directory, error)
        })?;
        held.blobs.insert(descriptor.digest, content);
        Ok(())
    }

    async fn push_manifest(&self, manifest: &ManifestBlob, tag: Option<&Tag>) -> Result<()> {
        self.put_manifest(manifest, tag);
        Ok(())
    }

    async fn tags(&self) -> Result<Vec<Tag>> {
        Ok(self.held().tags.keys().cloned().collect())
    }

    async fn referrers(&self, digest: &Digest, artifact_type: Option<&str>) -> Result<Referrers> {
        let raws: Vec<(Digest, RawManifest)> = self.manifests()?.into_iter().collect();
        let found = referring(&raws, digest, artifact_type, &self.limits);
        Ok(Referrers {
            descriptors: found.map_err(|error| error.at(&self.place))?,
            fallback: false,
        })
    }
}

/// Says that a blob is not here; the same words for every store.
pub(super) fn no_such_blob(place: &str, descriptor: &Descriptor) -> Error {
    Error::not_found(format!("{place} lacks the blob `{}`", descriptor.digest))
        .digest(descriptor.digest)
}

/// What to say about a manifest of which nobody knows whether it is a referrer.
const MAY_BE_ONE: &str = "it may be a referrer, so that a list of them would not be complete: take it out of `index.json`, or use `bundle pull`, which takes the bundle alone";

/// Describes those manifests whose subject is `digest`, of one artifact type or of all.
///
/// # Errors
///
/// [`Kind::Mismatch`] for a manifest that has not the digest under which it is kept: nobody
/// can say whether it was a referrer. Neither can anybody of one that cannot be read: what [`Document::parse`] refuses.
pub(super) fn referring(
    manifests: &[(Digest, RawManifest)],
    digest: &Digest,
    artifact_type: Option<&str>,
    limits: &Limits,
) -> Result<Vec<Descriptor>> {
    let mut found = Vec::new();
    for (own, raw) in manifests {
        let actual = own.like(&raw.bytes);
        if actual != *own {
            return Err(Error::mismatch("digest of the manifest", own, actual)
                .digest(*own)
                .hint(MAY_BE_ONE));
        }
        let document = Document::parse(&raw.bytes, &raw.media_type, limits).map_err(|error| {
            let error = error.at(format_args!("the manifest {own}")).digest(*own);
            match error.kind() {
                // It has the hint how the ceiling is raised.
                Kind::Limit => error,
                _ => error.hint(MAY_BE_ONE),
            }
        })?;
        let (subject, kind, annotations) = match &document {
            Document::Manifest(m) => {
                let kind = m
                    .artifact_type
                    .clone()
                    .unwrap_or_else(|| m.config.media_type.clone());
                (m.subject.as_ref(), Some(kind), &m.annotations)
            }
            Document::Index(i) => (i.subject.as_ref(), i.artifact_type.clone(), &i.annotations),
        };
        if subject.map(|s| s.digest) != Some(*digest)
            || (artifact_type.is_some() && artifact_type != kind.as_deref())
        {
            continue;
        }
        let mut descriptor = Descriptor::new(document.media_type(), *own, raw.bytes.len() as u64);
        descriptor.artifact_type = kind;
        descriptor.annotations = annotations.clone();
        found.push(descriptor);
    }
    Ok(found)
}
