//! Copying a manifest with everything below it from one store to another: push, pull and copy are all this.
//!
//! Children come before parents and the tag comes last, so nobody ever sees a manifest whose parts are missing (P6). What
//! arrives has the digest that left, or the copy fails.

use std::collections::BTreeSet;
use std::path::PathBuf;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, Document, ManifestBlob};
use crate::store::{self, Name, Store};
use crate::tag::Tag;

/// The tags under which older signing tools keep what belongs to a manifest, beside its digest.
const SUFFIXES: [&str; 3] = ["sig", "att", "sbom"];

/// How to copy.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// How many blobs travel at once.
    pub concurrency: usize,
    /// Where blobs that travel are kept for the moment.
    pub spool_directory: PathBuf,
    /// The ceilings.
    pub limits: Limits,
    /// What to do about the referrers of the root.
    pub referrers: ReferrersMode,
    /// Whether to look, once a tag is written, where it points: somebody else may have written it at the same time.
    pub confirm: bool,
}

/// What to do about the referrers of what is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferrersMode {
    /// Do not ask for them.
    Ignore,
    /// Count and name them.
    Count,
    /// Take them along.
    Copy,
}

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// Blobs that were sent.
    pub sent: u64,
    /// Blobs that were there already.
    pub present: u64,
    /// Blobs that were mounted from another repository of the same registry.
    pub mounted: u64,
    /// Bytes of the blobs that were sent.
    pub bytes: u64,
    /// Manifests that were written.
    pub manifests: u64,
    /// Referrers that were found, with the tag where they have one; copied if that was asked for.
    pub referrers: Vec<Referrer>,
}

/// A manifest that refers to what was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referrer {
    /// Describes it.
    pub descriptor: Descriptor,
    /// Its tag, for those of older signing tools.
    pub tag: Option<Tag>,
}

/// Copies a manifest that was fetched from `source`, and everything below it, to `destination`; `tags` name it there in the end.
///
/// # Errors
///
/// Whatever the stores fail with. Nothing names the copy before it is whole.
pub async fn copy(
    source: &dyn Store,
    root: &ManifestBlob,
    destination: &dyn Store,
    tags: &[Tag],
    options: &CopyOptions,
) -> Result<Copied> {
    let mut walk = Walk {
        source,
        destination,
        options,
        seen: BTreeSet::new(),
        copied: Copied::default(),
    };
    walk.below(root, 0).await?;
    walk.name(root, tags).await?;
    if options.referrers != ReferrersMode::Ignore {
        walk.referrers(root).await?;
    }
    Ok(walk.copied)
}

/// Looks for the referrers of a manifest that is at the destination already, and copies them if that is asked for.
pub async fn referrers(
    source: &dyn Store,
    root: &ManifestBlob,
    destination: &dyn Store,
    options: &CopyOptions,
) -> Result<Copied> {
    let mut walk = Walk {
        source,
        destination,
        options,
        seen: BTreeSet::new(),
        copied: Copied::default(),
    };
    walk.seen.insert(root.descriptor.digest);
    walk.referrers(root).await?;
    Ok(walk.copied)
}

/// Gives a manifest that is in a store more tags, and looks whether they point to it.
///
/// # Errors
///
/// [`Kind::Conflict`](crate::error::Kind::Conflict) for a tag that somebody else moved meanwhile.
pub async fn name(store: &dyn Store, manifest: &ManifestBlob, tags: &[Tag]) -> Result<()> {
    for tag in tags {
        store.push_manifest(manifest, Some(tag)).await?;
        confirm(store, tag, &manifest.descriptor.digest).await?;
    }
    Ok(())
}

/// Looks whether a tag that was just written points to what was written under it.
async fn confirm(store: &dyn Store, tag: &Tag, digest: &Digest) -> Result<()> {
    let place = || format!("{}:{tag}", store.place());
    match store.tagged(tag).await? {
        Some(found) if found == *digest => Ok(()),
        Some(found) => Err(Error::conflict(format!(
            "somebody else moved the tag meanwhile: {digest} was written, and it names {found}"
        ))
        .at(place())
        .digest(*digest)
        .expected(digest)
        .found(found)
        .hint("find out who else writes this tag; what was copied can be had by its digest")),
        None => Err(Error::protocol("the tag was written and is not there")
            .at(place())
            .digest(*digest)),
    }
}

/// One copy on its way.
struct Walk<'a> {
    source: &'a dyn Store,
    destination: &'a dyn Store,
    options: &'a CopyOptions,
    /// What was visited: a graph that comes back to itself ends here.
    seen: BTreeSet<Digest>,
    copied: Copied,
}

/// How one blob got to the destination.
enum Arrived {
    Present,
    Mounted,
    Sent(u64),
}

impl Walk<'_> {
    /// Copies what a manifest lists, not the manifest itself.
    async fn below(&mut self, manifest: &ManifestBlob, depth: u64) -> Result<()> {
        let limits = &self.options.limits;
        self.seen.insert(manifest.descriptor.digest);
        self.expect_few_nodes(0)?;
        match &manifest.document {
            Document::Manifest(image) => self.blobs(image.blobs()).await,
            Document::Index(index) => {
                let depth = depth.saturating_add(1);
                if depth > limits[Ceiling::GraphDepth] {
                    return Err(Error::limit(
                        Ceiling::GraphDepth,
                        limits[Ceiling::GraphDepth],
                        depth,
                    ));
                }
                // What the index tells already is refused before anything of it is written.
                let new: BTreeSet<&Digest> = index
                    .manifests
                    .iter()
                    .map(|child| &child.digest)
                    .filter(|digest| !self.seen.contains(digest))
                    .collect();
                self.expect_few_nodes(new.len())?;
                let sizes = index.manifests.iter().map(|child| child.size);
                let (largest, max) = (sizes.max().unwrap_or(0), limits[Ceiling::Manifest]);
                if largest > max {
                    return Err(Error::limit(Ceiling::Manifest, max, largest)
                        .at(self.source.place())
                        .digest(manifest.descriptor.digest));
                }
                for child in &index.manifests {
                    if self.seen.contains(&child.digest) {
                        continue;
                    }
                    let child = self.fetch(child).await?;
                    Box::pin(self.below(&child, depth)).await?;
                    self.name(&child, &[]).await?;
                }
                Ok(())
            }
        }
    }

    /// Refuses to walk over too many manifests: those that were seen, and some more.
    fn expect_few_nodes(&self, more: usize) -> Result<()> {
        let nodes = self.seen.len().saturating_add(more) as u64;
        let max = self.options.limits[Ceiling::GraphNodes];
        if nodes > max {
            return Err(Error::limit(Ceiling::GraphNodes, max, nodes).at(self.source.place()));
        }
        Ok(())
    }

    /// Fetches a manifest by its descriptor, whose size must hold too.
    async fn fetch(&self, descriptor: &Descriptor) -> Result<ManifestBlob> {
        let name = Name::Digest(descriptor.digest);
        let manifest = store::fetch_manifest(self.source, &name, &self.options.limits).await?;
        if manifest.descriptor.size != descriptor.size {
            let found = manifest.descriptor.size;
            return Err(
                Error::mismatch("size of the manifest", descriptor.size, found)
                    .digest(descriptor.digest),
            );
        }
        Ok(manifest)
    }

    /// Copies blobs, several at once, each digest once.
    async fn blobs(&mut self, descriptors: impl Iterator<Item = &Descriptor>) -> Result<()> {
        let mut unique: Vec<&Descriptor> = Vec::new();
        for descriptor in descriptors {
            if !unique.iter().any(|known| known.digest == descriptor.digest) {
                unique.push(descriptor);
            }
        }
        let (source, destination, options) = (self.source, self.destination, self.options);
        let arrived: Vec<Arrived> = stream::iter(unique)
            .map(|descriptor| blob(source, destination, descriptor, options))
            .buffer_unordered(options.concurrency.max(1))
            .try_collect()
            .await?;
        for one in arrived {
            let count = match one {
                Arrived::Present => &mut self.copied.present,
                Arrived::Mounted => &mut self.copied.mounted,
                Arrived::Sent(bytes) => {
                    self.copied.bytes = self.copied.bytes.saturating_add(bytes);
                    &mut self.copied.sent
                }
            };
            *count = count.saturating_add(1);
        }
        Ok(())
    }

    /// Writes a manifest whose parts are there, under each of the tags or under none.
    async fn name(&mut self, manifest: &ManifestBlob, tags: &[Tag]) -> Result<()> {
        if tags.is_empty() {
            self.put(manifest, None).await?;
        }
        for tag in tags {
            self.put(manifest, Some(tag)).await?;
            if self.options.confirm {
                confirm(self.destination, tag, &manifest.descriptor.digest).await?;
            }
        }
        self.copied.manifests = self.copied.manifests.saturating_add(1);
        Ok(())
    }

    /// Writes a manifest. Of what the destination then says it does not have, though it said otherwise, it gets another
    /// copy, once.
    async fn put(&mut self, manifest: &ManifestBlob, tag: Option<&Tag>) -> Result<()> {
        let missing = match self.destination.push_manifest(manifest, tag).await {
            Err(error) if !error.detail().missing.is_empty() => error.detail().missing.clone(),
            other => return other,
        };
        match &manifest.document {
            Document::Manifest(image) => {
                for part in image.blobs().filter(|part| missing.contains(&part.digest)) {
                    send(self.source, self.destination, part, self.options).await?;
                    self.copied.sent = self.copied.sent.saturating_add(1);
                    self.copied.bytes = self.copied.bytes.saturating_add(part.size);
                }
            }
            Document::Index(index) => {
                let listed = index.manifests.iter();
                for part in listed.filter(|part| missing.contains(&part.digest)) {
                    let part = self.fetch(part).await?;
                    self.destination.push_manifest(&part, None).await?;
                }
            }
        }
        let again = self.destination.push_manifest(manifest, tag).await;
        again.map_err(|error| match error.detail().missing.as_slice() {
            [] => error,
            _ => error.hint("it was sent twice: the registry loses what it takes"),
        })
    }

    /// Finds the referrers of the root and, if asked, copies them.
    async fn referrers(&mut self, root: &ManifestBlob) -> Result<()> {
        let digest = root.descriptor.digest;
        let listed = self.source.referrers(&digest, None).await?.descriptors;
        let count = listed.len() as u64;
        let max = self.options.limits[Ceiling::Referrers];
        if count > max {
            return Err(Error::limit(Ceiling::Referrers, max, count));
        }
        for descriptor in listed {
            if self.options.referrers == ReferrersMode::Copy
                && !self.seen.contains(&descriptor.digest)
            {
                let manifest = self.fetch(&descriptor).await?;
                check_subject(&manifest, &digest)?;
                self.below(&manifest, 0).await?;
                self.name(&manifest, &[]).await?;
            }
            self.copied.referrers.push(Referrer {
                descriptor,
                tag: None,
            });
        }
        for suffix in SUFFIXES {
            let text = format!("{}-{}.{suffix}", digest.algorithm(), digest.hex());
            let Ok(tag) = text.parse::<Tag>() else {
                continue;
            };
            // What the tag names now is what is fetched, whoever moves it meanwhile.
            let Some(named) = self.source.tagged(&tag).await? else {
                continue;
            };
            let named = Name::Digest(named);
            let manifest = store::fetch_manifest(self.source, &named, &self.options.limits).await?;
            if self.options.referrers == ReferrersMode::Copy {
                self.below(&manifest, 0).await?;
                self.name(&manifest, std::slice::from_ref(&tag)).await?;
            }
            self.copied.referrers.push(Referrer {
                descriptor: manifest.descriptor,
                tag: Some(tag),
            });
        }
        Ok(())
    }
}

/// Refuses a referrer that was listed for one manifest and belongs to another.
fn check_subject(manifest: &ManifestBlob, digest: &Digest) -> Result<()> {
    let subject = match &manifest.document {
        Document::Manifest(image) => image.subject.as_ref(),
        Document::Index(index) => index.subject.as_ref(),
    };
    match subject {
        Some(subject) if subject.digest == *digest => Ok(()),
        other => {
            let found =
                other.map_or_else(|| "none".to_owned(), |subject| subject.digest.to_string());
            Err(Error::mismatch("subject of a referrer", digest, found)
                .digest(manifest.descriptor.digest))
        }
    }
}

/// Brings one blob to the destination in the cheapest way.
async fn blob(
    source: &dyn Store,
    destination: &dyn Store,
    descriptor: &Descriptor,
    options: &CopyOptions,
) -> Result<Arrived> {
    if destination.has(descriptor).await? {
        return Ok(Arrived::Present);
    }
    if let Some(from) = source.repository()
        && destination.mount(descriptor, from).await?
    {
        return Ok(Arrived::Mounted);
    }
    send(source, destination, descriptor, options).await?;
    Ok(Arrived::Sent(descriptor.size))
}

/// Fetches one blob and sends it, whatever is there.
async fn send(
    source: &dyn Store,
    destination: &dyn Store,
    descriptor: &Descriptor,
    options: &CopyOptions,
) -> Result<()> {
    let content = store::fetch(
        source,
        descriptor,
        &options.spool_directory,
        &options.limits,
    )
    .await?;
    destination.push_blob(descriptor, &content).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::ENTRIES_MAX;
    use crate::content::Content;
    use crate::error::Kind;
    use crate::oci::{Annotations, Index, Manifest, media_type};
    use crate::store::memory::Memory;

    /// Makes a store with an index of as many images as a channel may have.
    fn full() -> (Memory, ManifestBlob) {
        let limits = Limits::default();
        let memory = Memory::new("source");
        let config = Descriptor::of(media_type::CONFIG, b"{}");
        memory.put_blob(config.digest, Content::from("{}"));
        let images = (0..ENTRIES_MAX).map(|number| {
            let manifest = Manifest {
                annotations: Annotations::from([("number".to_owned(), number.to_string())]),
                artifact_type: None,
                config: config.clone(),
                layers: Vec::new(),
                media_type: media_type::MANIFEST.to_owned(),
                schema_version: 2,
                subject: None,
            };
            let image = ManifestBlob::new(manifest.write().unwrap(), &limits).unwrap();
            memory.put_manifest(&image, None);
            image.descriptor
        });
        let index = Index::new(images.collect()).write().unwrap();
        let index = ManifestBlob::new(index, &limits).unwrap();
        memory.put_manifest(&index, None);
        (memory, index)
    }

    #[tokio::test]
    async fn a_full_channel_is_copied_or_refused_before_anything_is_written() {
        let (source, index) = full();
        let mut options = CopyOptions {
            concurrency: 1,
            spool_directory: std::env::temp_dir(),
            limits: Limits::default(),
            referrers: ReferrersMode::Copy,
            confirm: false,
        };
        let destination = Memory::new("destination");
        let copied = copy(&source, &index, &destination, &[], &options).await;
        assert_eq!(copied.unwrap().manifests, ENTRIES_MAX as u64 + 1);

        let default = options.limits.clone();
        for (ceiling, value) in [
            (Ceiling::GraphNodes, ENTRIES_MAX as u64),
            (Ceiling::Manifest, 100),
        ] {
            options.limits = default.clone().with(ceiling, value);
            let destination = Memory::new("destination");
            let refused = copy(&source, &index, &destination, &[], &options).await;
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), Kind::Limit, "{error}");
            assert!(error.message().contains(ceiling.name()), "{error}");
            assert!(destination.contents().is_empty(), "{error}");
        }
    }
}
