//! A store holds blobs by digest and names manifests by tag; the trait that all of them share.
//!
//! Nothing that a store says is believed: [`fetch`] and [`fetch_manifest`] are the only two callers of the unchecked
//! reads, and hand out only bytes of the right size and digest (P5). A name is resolved once; what follows uses the
//! digest (P4).
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

pub mod archive;
pub mod layout;
pub mod memory;
pub mod registry;

use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

use crate::content::{Content, Spool};
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, Document, ManifestBlob};
use crate::reference::Repository;
use crate::tag::Tag;

/// What a manifest is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// A tag; what it names may change.
    Tag(Tag),
    /// A digest; what it names cannot change.
    Digest(Digest),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tag(tag) => write!(f, ":{tag}"),
            Self::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

/// The bytes of a manifest or index as they came, before anything was checked.
#[derive(Debug, Clone)]
pub struct RawManifest {
    /// The bytes, never more than the ceiling.
    pub bytes: Bytes,
    /// The media type under which they came; empty when there was none.
    pub media_type: String,
}

/// How a store gives out a blob.
pub enum Opened {
    /// Piece by piece, from the network.
    Stream(BoxStream<'static, Result<Bytes>>),
    /// As a handle on a file or memory that is there already.
    Content(Content),
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stream(_) => f.write_str("Stream"),
            Self::Content(content) => write!(f, "Content({} bytes)", content.len()),
        }
    }
}

/// The manifests that refer to another one.
#[derive(Debug, Clone, Default)]
pub struct Referrers {
    /// Their descriptors; the `subject` of each must be checked when it is fetched.
    pub descriptors: Vec<Descriptor>,
    /// Whether they came from the fallback tag because the store has no referrers API.
    pub fallback: bool,
}

/// A place that holds blobs by digest and names manifests by tag: one repository of a registry, or one layout.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync {
    /// Says where this is, for messages and pinned references: `registry.example/team/etcd`, `oci:dir`.
    fn place(&self) -> String;

    /// Returns the repository, if this is one of a registry: blobs can be mounted from it.
    fn repository(&self) -> Option<&Repository> {
        None
    }

    /// Returns the bytes of a manifest or index, unchecked. For [`fetch_manifest`] alone.
    async fn manifest_unchecked(&self, name: &Name) -> Result<RawManifest>;

    /// Returns the digest that a tag names at the moment, or nothing when there is no such tag. Costs no body.
    async fn tagged(&self, tag: &Tag) -> Result<Option<Digest>>;

    /// Opens a blob, unchecked. For [`fetch`] alone. A stream resumes by itself after an interruption.
    async fn open_unchecked(&self, descriptor: &Descriptor) -> Result<Opened>;

    /// Tells whether bytes that came with another digest may be right when they are sent once more: true of a network. For
    /// [`fetch`] and [`fetch_manifest`].
    fn is_worth_another_transfer(&self) -> bool {
        false
    }

    /// Hears that a transfer is repeated, and why, to say so. For [`fetch`] and [`fetch_manifest`].
    fn note_another_transfer(&self, _why: &Error) {}

    /// Tells whether a manifest or blob is here.
    async fn has(&self, descriptor: &Descriptor) -> Result<bool>;

    /// Makes a blob of another repository of the same registry appear here without sending it; tells whether that worked.
    async fn mount(&self, _descriptor: &Descriptor, _from: &Repository) -> Result<bool> {
        Ok(false)
    }

    /// Writes a blob. The store checks, or lets the registry check, that the content has the digest (C9).
    async fn push_blob(&self, descriptor: &Descriptor, content: &Content) -> Result<()>;

    /// Writes a manifest whose blobs are here, and lets `tag`, if there is one, name it.
    async fn push_manifest(&self, manifest: &ManifestBlob, tag: Option<&Tag>) -> Result<()>;

    /// Returns all tags, following every page; names that are no tags are left out.
    async fn tags(&self) -> Result<Vec<Tag>>;

    /// Returns the manifests whose subject is `digest`, of one artifact type or of all.
    async fn referrers(&self, digest: &Digest, artifact_type: Option<&str>) -> Result<Referrers>;
}

/// What to say when the second transfer was no better than the first.
const TWICE: &str =
    "it was fetched twice: the registry, or something on the way to it, changes the bytes";

/// Fetches a manifest or index and checks it: its digest where one was asked for, its size and its shape always.
///
/// A transfer that brought other bytes is repeated once.
///
/// # Errors
///
/// [`Kind::Mismatch`] for other bytes than asked for; what [`Document::parse`] refuses.
pub async fn fetch_manifest(
    store: &dyn Store,
    name: &Name,
    limits: &Limits,
) -> Result<ManifestBlob> {
    let (raw, digest) = match manifest_once(store, name).await {
        Err(error) if error.kind() == Kind::Mismatch && store.is_worth_another_transfer() => {
            store.note_another_transfer(&error);
            manifest_once(store, name).await.map_err(twice)?
        }
        other => other?,
    };
    let document = Document::parse(&raw.bytes, &raw.media_type, limits)
        .map_err(|error| error.at(format!("{}{name}", store.place())).digest(digest))?;
    let descriptor = Descriptor::new(document.media_type(), digest, raw.bytes.len() as u64);
    Ok(ManifestBlob {
        descriptor,
        bytes: raw.bytes,
        document,
    })
}

/// Adds to a mismatch that it is the second one.
fn twice(error: Error) -> Error {
    match error.kind() {
        Kind::Mismatch => error.hint(TWICE),
        _ => error,
    }
}

/// Reads the bytes of a manifest and compares their digest with the one that was asked for.
async fn manifest_once(store: &dyn Store, name: &Name) -> Result<(RawManifest, Digest)> {
    let raw = store.manifest_unchecked(name).await?;
    let digest = match name {
        Name::Tag(_) => Digest::of(&raw.bytes),
        Name::Digest(wanted) => {
            let found = wanted.like(&raw.bytes);
            if found != *wanted {
                return Err(Error::mismatch("digest of the manifest", wanted, found)
                    .at(format!("{}{name}", store.place()))
                    .digest(*wanted));
            }
            found
        }
    };
    Ok((raw, digest))
}

/// Fetches a blob whole and checks its size and digest; large ones go to a temporary file in `directory`.
///
/// A transfer that brought as many bytes as it should, but others, is repeated once, from the first byte on.
///
/// # Errors
///
/// [`Kind::Limit`] before anything is asked for when the descriptor is over the ceiling; [`Kind::Mismatch`] for a blob
/// that is shorter, longer or other than its descriptor says.
pub async fn fetch(
    store: &dyn Store,
    descriptor: &Descriptor,
    directory: &Path,
    limits: &Limits,
) -> Result<Content> {
    let place = || format!("{}@{}", store.place(), descriptor.digest);
    if descriptor.size > limits[Ceiling::Blob] {
        return Err(
            Error::limit(Ceiling::Blob, limits[Ceiling::Blob], descriptor.size).at(place()),
        );
    }
    let other = |found: Digest| {
        Error::mismatch("digest of the blob", descriptor.digest, found)
            .at(place())
            .digest(descriptor.digest)
    };
    let (content, found) = blob_once(store, descriptor, directory).await?;
    if found == descriptor.digest {
        return Ok(content);
    }
    let error = other(found);
    if !store.is_worth_another_transfer() {
        return Err(error);
    }
    store.note_another_transfer(&error);
    drop(content);
    let (content, found) = blob_once(store, descriptor, directory).await?;
    if found == descriptor.digest {
        return Ok(content);
    }
    Err(twice(other(found)))
}

/// Reads a blob whole, no more than its size, and computes its digest.
async fn blob_once(
    store: &dyn Store,
    descriptor: &Descriptor,
    directory: &Path,
) -> Result<(Content, Digest)> {
    let size_fault = |found: String| {
        Error::mismatch("size of the blob", descriptor.size, found)
            .at(format!("{}@{}", store.place(), descriptor.digest))
            .digest(descriptor.digest)
    };
    let io_fault = |error| Error::io("cannot keep a blob in", directory, error);
    match store.open_unchecked(descriptor).await? {
        Opened::Content(content) => {
            if content.len() != descriptor.size {
                return Err(size_fault(content.len().to_string()));
            }
            let found = digest_of(&content, &descriptor.digest)
                .await
                .map_err(|error| Error::io("cannot read", Path::new(&store.place()), error))?;
            Ok((content, found))
        }
        Opened::Stream(mut stream) => {
            let mut spool = Spool::new(directory);
            let mut writer = spool.begin();
            let mut hasher = descriptor.digest.hasher();
            while let Some(piece) = stream.next().await {
                let piece = piece?;
                if writer.len().saturating_add(piece.len() as u64) > descriptor.size {
                    return Err(size_fault("more".into()));
                }
                hasher.update(&piece);
                std::io::Write::write_all(&mut writer, &piece).map_err(io_fault)?;
            }
            if writer.len() != descriptor.size {
                return Err(size_fault(writer.len().to_string()));
            }
            Ok((writer.finish().map_err(io_fault)?, hasher.finish()))
        }
    }
}

/// Up to how many bytes are hashed on the spot; to hand over fewer costs more than to hash them.
const ON_THE_SPOT: u64 = 1024 * 1024;

/// Computes the digest of a content in the algorithm of another one; of a large one off the threads that wait for the network.
async fn digest_of(content: &Content, wanted: &Digest) -> std::io::Result<Digest> {
    let hasher = wanted.hasher();
    if content.len() <= ON_THE_SPOT {
        return content.digest(hasher);
    }
    let content = content.clone();
    tokio::task::spawn_blocking(move || content.digest(hasher))
        .await
        .map_err(std::io::Error::other)?
}

/// Says that a manifest is not here; the same words for every store. Without a place, the caller puts it before them.
pub(crate) fn no_such_manifest(place: &str, name: &Name) -> Error {
    let error = Error::not_found(match name {
        Name::Tag(_) => "there is no such tag",
        Name::Digest(_) => "there is no such manifest",
    });
    if place.is_empty() {
        error
    } else {
        let reference = format!("{place}{name}");
        error.at(&reference).reference(reference)
    }
}
