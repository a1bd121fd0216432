//! Channels in a store: reading them, and changing them although a registry has no compare-and-swap (spec/channel.md).

pub mod head;
pub mod sync;

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::channel::{self, Channel, Entry};
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::name::{ChannelName, PackageName};
use crate::oci::ManifestBlob;
use crate::resolution::Reason;
use crate::store::{self, Name, Store};
use crate::tag::Tag;
use crate::version::Version;

use super::copy;
use super::open::Reach;
use super::resolve::{Summary, fetch_channel, look, versions};

/// How many manifests are asked for at once.
const CONCURRENCY: usize = 8;

/// What a change did.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The channel as it is now.
    pub channel: Channel,
    /// The digest of its index; absent where it is empty and was never written.
    pub digest: Option<Digest>,
    /// Whether an index was written.
    pub is_written: bool,
    /// The bundles that were not in it before.
    pub added: Vec<Entry>,
    /// The bundles that are no longer in it, as it had them.
    pub removed: Vec<Entry>,
    /// The bundles of which it now says something else.
    pub corrected: Vec<Entry>,
    /// Where the head tag points now, if it moved.
    pub head: Option<Digest>,
    /// Where the head tag still points although the channel is empty, or has another newest bundle and the tag was to be left alone.
    pub stale: Option<Digest>,
}

/// Returns the names of the channels of a repository, in order.
pub async fn names(store: &dyn Store) -> Result<Vec<ChannelName>> {
    let mut names: Vec<ChannelName> = store
        .tags()
        .await?
        .iter()
        .filter_map(channel::of_tag)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// A change of a channel that was looked at and not yet written.
#[derive(Debug, Clone)]
pub struct Planned {
    channel: Channel,
    /// What it held before.
    old: Vec<Entry>,
    /// The digest of the index that was read.
    before: Option<Digest>,
    /// The index that takes its place, if anything changed.
    index: Option<ManifestBlob>,
}

/// Reads a channel and lets `change` change it, and writes nothing: whatever refuses the change is known before anything is sent.
///
/// `package` is that of a channel that is not there yet; without it such a channel is an error.
///
/// # Errors
///
/// What `change` and [`fetch_channel`] refuse, and [`Kind::Limit`] for an index that grows too large.
pub async fn plan(
    store: &dyn Store,
    name: &ChannelName,
    package: Option<&PackageName>,
    reach: &Reach,
    change: impl FnOnce(&mut Channel) -> Result<bool>,
) -> Result<Planned> {
    let (mut channel, before) = match (fetch_channel(store, name, reach).await, package) {
        (Ok((channel, digest)), _) => (channel, Some(digest)),
        (Err(error), Some(package)) if error.kind() == Kind::NotFound => {
            (Channel::new(name.clone(), package.clone()), None)
        }
        (Err(error), _) => return Err(error),
    };
    // A conflict is one with what this repository has, so it is named.
    let in_place = |error: Error| match error.kind() {
        Kind::Conflict => {
            let hint = error.detail().hint.as_ref();
            match hint.map(|hint| hint.replace("REPOSITORY", &store.place())) {
                Some(hint) => error.at(store.place()).hint(hint),
                None => error.at(store.place()),
            }
        }
        _ => error,
    };
    let old = channel.entries().to_vec();
    let mut index = None;
    if change(&mut channel).map_err(in_place)? {
        channel.previous = before;
        let written = channel.write(&reach.limits);
        index = Some(written.map_err(|error| error.at(store.place()))?);
    }
    Ok(Planned {
        channel,
        old,
        before,
        index,
    })
}

impl Planned {
    /// Writes the channel, if it changed; `move_head` also moves the head tag. The bundles must be in the store by now.
    ///
    /// # Errors
    ///
    /// [`Kind::Conflict`] when somebody else changed the channel meanwhile, as far as that can be seen.
    pub async fn write(self, store: &dyn Store, move_head: bool, reach: &Reach) -> Result<Changed> {
        if let Some(index) = &self.index {
            let tag = channel::index_tag(&self.channel.name)?;
            if store.tagged(&tag).await? != self.before {
                return Err(moved(store, &tag));
            }
            // Looks once more where the tag points when it is written.
            copy::name(store, index, std::slice::from_ref(&tag)).await?;
        }
        let changed = self.look(store, move_head).await?;
        if let Some(digest) = changed.head {
            let tag = channel::head_tag(&changed.channel.name)?;
            let name = Name::Digest(digest);
            let manifest = store::fetch_manifest(store, &name, &reach.limits).await?;
            copy::name(store, &manifest, &[tag]).await?;
        }
        Ok(changed)
    }

    /// Says what [`Planned::write`] would do, and does nothing.
    ///
    /// # Errors
    ///
    /// What a store fails with that is asked for a tag.
    pub async fn look(self, store: &dyn Store, move_head: bool) -> Result<Changed> {
        let Self {
            channel,
            old,
            before,
            index,
        } = self;
        let before_of = |entry: &Entry| {
            let digest = entry.descriptor.digest;
            old.iter().find(|old| old.descriptor.digest == digest)
        };
        let entries = channel.entries().iter();
        let added = entries.clone().filter(|one| before_of(one).is_none());
        let corrected = entries.filter(|one| before_of(one).is_some_and(|old| old != *one));
        let removed = old
            .iter()
            .filter(|one| channel.find(&one.descriptor.digest).is_none());
        let removed: Vec<Entry> = removed.cloned().collect();
        let newest = channel.head().map(|head| head.descriptor.digest);
        let (mut head, mut stale) = (None, None);
        let tagged = store.tagged(&channel::head_tag(&channel.name)?).await?;
        if tagged != newest {
            // No tag can be taken away in a way that every registry knows.
            match newest {
                Some(newest) if move_head => head = Some(newest),
                _ => stale = tagged,
            }
        }
        Ok(Changed {
            added: added.cloned().collect(),
            corrected: corrected.cloned().collect(),
            digest: index
                .as_ref()
                .map_or(before, |index| Some(index.descriptor.digest)),
            is_written: index.is_some(),
            removed,
            channel,
            head,
            stale,
        })
    }
}

/// Changes a channel: [`plan`], and then [`Planned::write`].
///
/// # Errors
///
/// As those two.
pub async fn update(
    store: &dyn Store,
    name: &ChannelName,
    package: Option<&PackageName>,
    move_head: bool,
    reach: &Reach,
    change: impl FnOnce(&mut Channel) -> Result<bool>,
) -> Result<Changed> {
    let planned = plan(store, name, package, reach, change).await?;
    planned.write(store, move_head, reach).await
}

/// Refuses a repository one of whose channels holds another package than the one that shall be imported.
///
/// # Errors
///
/// [`Kind::Conflict`], and what a registry that cannot be asked fails with.
pub async fn expect_package(store: &dyn Store, package: &PackageName, reach: &Reach) -> Result<()> {
    let names = match names(store).await {
        Err(error) if error.kind() == Kind::NotFound => return Ok(()),
        names => names?,
    };
    for name in names {
        let found = match fetch_channel(store, &name, reach).await {
            Ok((channel, _)) => channel.package,
            // What is no channel, or is one no longer, says nothing about the package.
            Err(error) if error.kind() == Kind::NotFound || error.kind().is_of_content() => {
                continue;
            }
            Err(error) => return Err(error),
        };
        if found != *package {
            return Err(Error::conflict(format!(
                "channel `{name}` holds bundles of another package, and a repository holds one: expected {package}, found {found}"
            ))
            .at(store.place())
            .expected(package)
            .found(&found)
            .hint("import into a repository of its own"));
        }
    }
    Ok(())
}

fn moved(store: &dyn Store, tag: &Tag) -> Error {
    Error::conflict("somebody else changed the channel meanwhile")
        .at(format!("{}:{tag}", store.place()))
        .hint("run the command again; a channel has best one writer at a time")
        .retryable()
}

/// Finds bundles by versions or digests and makes entries of them.
///
/// # Errors
///
/// [`Kind::NotFound`] for one that is not there, [`Kind::Invalid`] for what is no bundle, and
/// [`Kind::Refused`] for a version's tag that names another version.
pub async fn entries(store: &dyn Store, named: &[Named], reach: &Reach) -> Result<Vec<Entry>> {
    stream::iter(named)
        .map(|named| async move {
            let (name, Summary { manifest, metadata }) = find(store, named, reach).await?;
            if let Named::Version(version) = named
                && metadata.version != *version
            {
                return Err(Error::new(
                    Kind::Refused,
                    "the tag of a version names a bundle of another version",
                )
                .at(format!("{}{name}", store.place()))
                .expected(version)
                .found(&metadata.version));
            }
            Ok(Entry::of(&manifest, &metadata))
        })
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

/// Looks at a bundle by its digest or by the tag of its version: the plain one, or else the one with a `v`, as the images of other
/// tools have it.
async fn find(store: &dyn Store, named: &Named, reach: &Reach) -> Result<(Name, Summary)> {
    let name = named.name()?;
    let plain = look(store, &name, reach).await;
    let (missing, tag) = match (plain, &name) {
        (Err(error), Name::Tag(tag)) if error.kind() == Kind::NotFound => (error, tag),
        (found, _) => return Ok((name, found?)),
    };
    // A tag that grows too long is one that cannot be there.
    let Ok(other) = format!("v{tag}").parse().map(Name::Tag) else {
        return Err(missing);
    };
    match look(store, &other, reach).await {
        // What is missing is what was asked for.
        Err(error) if error.kind() == Kind::NotFound => Err(missing),
        found => Ok((other, found?)),
    }
}

/// A bundle of a repository, as a maintainer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// By its version.
    Version(Version),
    /// By its digest.
    Digest(Digest),
}

impl Named {
    /// Returns the name under which a store has it.
    pub fn name(&self) -> Result<Name> {
        Ok(match self {
            Self::Version(version) => {
                Name::Tag(Tag::of_version(version).map_err(|invalid| invalid.of_kind(Kind::Usage))?)
            }
            Self::Digest(digest) => Name::Digest(*digest),
        })
    }

    /// Tells whether an entry is the one that is named.
    pub fn is(&self, entry: &Entry) -> bool {
        match self {
            Self::Version(version) => entry.facts.version == *version,
            Self::Digest(digest) => entry.descriptor.digest == *digest,
        }
    }
}

impl std::str::FromStr for Named {
    type Err = crate::invalid::Invalid;

    /// Reads a digest, or a version with or without a leading `v`.
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        if text.starts_with("sha256:") || text.starts_with("sha512:") {
            return Ok(Self::Digest(text.parse()?));
        }
        Ok(Self::Version(Version::parse_lenient(text)?.0))
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

/// Returns what is wrong with each entry of a channel that is not as the channel says, and nothing for the others.
pub async fn check(
    store: &dyn Store,
    channel: &Channel,
    reach: &Reach,
) -> Result<BTreeMap<Digest, Reason>> {
    let checked = stream::iter(channel.entries())
        .map(|entry| async move {
            let digest = entry.descriptor.digest;
            let reason = match look(store, &Name::Digest(digest), reach).await {
                Ok(bundle) => {
                    let facts = (&bundle.metadata).into();
                    entry.facts.contradiction(&facts, "channel")
                }
                Err(error) if error.kind() == Kind::NotFound => Some(Reason::Missing),
                Err(error) if error.kind().is_of_content() => Some(Reason::Unusable {
                    why: error.message().to_owned(),
                }),
                Err(error) => return Err(error),
            };
            Ok(reason.map(|reason| (digest, reason)))
        })
        .buffered(CONCURRENCY);
    let found: Vec<Option<(Digest, Reason)>> = checked.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Returns the digests that a channel records as withdrawn, with the versions of the bundles that are still there.
pub async fn withdrawn(
    store: &dyn Store,
    channel: &Channel,
    reach: &Reach,
) -> Result<Vec<(Digest, Option<Version>)>> {
    stream::iter(channel.withdrawn())
        .map(|digest| async move {
            let version = match look(store, &Name::Digest(*digest), reach).await {
                Ok(bundle) => Some(bundle.metadata.version),
                Err(error) if error.kind() == Kind::NotFound || error.kind().is_of_content() => {
                    None
                }
                Err(error) => return Err(error),
            };
            Ok((*digest, version))
        })
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

/// A bundle of a repository, as far as its channels need to know it.
#[derive(Debug, Clone)]
pub struct Member {
    /// What a channel says of it.
    pub entry: Entry,
    /// The channels that it names itself.
    pub channels: Vec<ChannelName>,
}

/// Reads every bundle of a repository that has a version's tag, of two tags of one version that which is written plainly; what is
/// no bundle is passed over. Manifests are dropped as soon as they are read, since a repository may have many large ones.
pub async fn bundles(store: &dyn Store, reach: &Reach) -> Result<Vec<Member>> {
    let tags = versions(store.tags().await?);
    let read = stream::iter(tags)
        .map(|(version, tag)| async move {
            match look(store, &Name::Tag(tag), reach).await {
                Ok(bundle) if version == bundle.metadata.version => Ok(Some(Member {
                    entry: Entry::of(&bundle.manifest, &bundle.metadata),
                    channels: bundle.metadata.channels,
                })),
                Ok(_) => Ok(None),
                Err(error) if error.kind() == Kind::NotFound || error.kind().is_of_content() => {
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        })
        .buffered(CONCURRENCY);
    let found: Vec<Option<Member>> = read.try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}
