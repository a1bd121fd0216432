//! Channels: lists of the bundles of one package, newest first, as image indexes (spec/channel.md).
//!
//! Pure: what an index says, what a change makes of it. Reading and writing one in a store is `ops::channel`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::limits::{Ceiling, Limits};
use crate::metadata::{Metadata, key};
use crate::name::{ChannelName, PackageName};
use crate::oci::{Annotations, Descriptor, Document, Index, ManifestBlob, media_type};
use crate::resolution::Facts;
use crate::tag::Tag;

/// The key of an index that holds the channel's name.
pub const NAME: &str = "k8s.io.bundle.channel.v1";
/// The key of an index that holds the digest of the index before it.
pub const PREVIOUS: &str = "k8s.io.bundle.channel.previous.v1";
/// The key of an index that holds the digests of the bundles that were withdrawn from the channel.
pub const WITHDRAWN: &str = "k8s.io.bundle.channel.withdrawn.v1";
/// The most bundles that a channel records as withdrawn: so many digests of the longest kind have room in an annotation.
pub const WITHDRAWN_MAX: usize = 400;
/// The most bundles in a channel.
pub const ENTRIES_MAX: usize = 1000;
/// The most bytes of an index that is written.
const WRITTEN_MAX: usize = 1024 * 1024;

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its name.
    pub name: ChannelName,
    /// The package of all its bundles.
    pub package: PackageName,
    /// The digest of the index that this one takes the place of.
    pub previous: Option<Digest>,
    /// The bundles, the newest first, each digest once.
    entries: Vec<Entry>,
    /// What was taken out for good, and is not in `entries`.
    withdrawn: BTreeSet<Digest>,
    /// Other annotations of the index, which stay as they are.
    others: Annotations,
}

/// A bundle in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Type, digest and size of its manifest.
    pub descriptor: Descriptor,
    /// What the channel says of it.
    pub facts: Facts,
}

impl Entry {
    /// Makes the entry of a bundle.
    pub fn of(manifest: &ManifestBlob, metadata: &Metadata) -> Self {
        let descriptor = &manifest.descriptor;
        Self {
            descriptor: Descriptor::new(&descriptor.media_type, descriptor.digest, descriptor.size),
            facts: Facts::from(metadata),
        }
    }
}

/// Returns the tag of a channel's index.
pub fn index_tag(name: &ChannelName) -> Result<Tag> {
    format!("channel-{name}")
        .parse()
        .map_err(|invalid: crate::invalid::Invalid| invalid.of_kind(Kind::Usage))
}

/// Returns the tag that points straight at the newest bundle, for clients that cannot choose.
pub fn head_tag(name: &ChannelName) -> Result<Tag> {
    name.as_str()
        .parse()
        .map_err(|invalid: crate::invalid::Invalid| invalid.of_kind(Kind::Usage))
}

/// Returns the channel of whose index a tag is the tag.
pub fn of_tag(tag: &Tag) -> Option<ChannelName> {
    tag.as_str().strip_prefix("channel-")?.parse().ok()
}

/// Reads the index of a channel by the name that it has itself; nothing for what is none.
pub fn of_index(blob: &ManifestBlob, limits: &Limits) -> Option<Channel> {
    let Document::Index(index) = &blob.document else {
        return None;
    };
    let name = index.annotations.get(NAME)?.parse().ok()?;
    Channel::parse(blob, &name, limits).ok()
}

impl Channel {
    /// Makes a channel without bundles.
    pub fn new(name: ChannelName, package: PackageName) -> Self {
        Self {
            name,
            package,
            previous: None,
            entries: Vec::new(),
            withdrawn: BTreeSet::new(),
            others: Annotations::new(),
        }
    }

    /// Reads the index of a channel.
    ///
    /// # Errors
    ///
    /// [`Kind::Invalid`] for a document that is no channel, is another one, or has entries that it may not have.
    pub fn parse(blob: &ManifestBlob, name: &ChannelName, limits: &Limits) -> Result<Self> {
        let Document::Index(index) = &blob.document else {
            return Err(Error::invalid("it is an image, and a channel is an index"));
        };
        let mut others = index.annotations.clone();
        let mut take = |key: &str| others.remove(key);
        let named = take(NAME).ok_or_else(|| {
            Error::invalid(format!("it is no channel: the index has no `{NAME}`"))
        })?;
        if named != name.as_str() {
            return Err(Error::invalid("it is the index of another channel")
                .expected(name)
                .found(named));
        }
        let package = take(key::PACKAGE).ok_or_else(|| missing(key::PACKAGE))?;
        let package: PackageName = word(&package)?;
        let previous = take(PREVIOUS).map(|digest| word(&digest)).transpose()?;
        let withdrawn = take(WITHDRAWN).map(|list| read_withdrawn(&list));
        let withdrawn = withdrawn.transpose()?.unwrap_or_default();
        let max = limits[Ceiling::IndexEntries].min(ENTRIES_MAX as u64);
        let count = index.manifests.len() as u64;
        if count > max {
            return Err(Error::limit(Ceiling::IndexEntries, max, count));
        }
        let mut channel = Self {
            name: name.clone(),
            package,
            previous,
            entries: Vec::new(),
            withdrawn,
            others,
        };
        for descriptor in &index.manifests {
            let entry = read_entry(descriptor, &channel.package)
                .map_err(|error| error.digest(descriptor.digest))?;
            if channel.find(&descriptor.digest).is_some() {
                return Err(
                    Error::invalid("the channel lists a bundle twice").digest(descriptor.digest)
                );
            }
            // A writer that does not know the record leaves it as it was when it puts a bundle back.
            channel.withdrawn.remove(&descriptor.digest);
            channel.entries.push(entry);
        }
        // Whoever wrote it: the order is that of the versions.
        channel.sort();
        Ok(channel)
    }

    /// Returns the bundles, the newest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the digests of the bundles that were withdrawn.
    pub fn withdrawn(&self) -> &BTreeSet<Digest> {
        &self.withdrawn
    }

    /// Returns the newest release, or the newest pre-release where there is no release.
    pub fn head(&self) -> Option<&Entry> {
        let is_release = |entry: &&Entry| !entry.facts.version.is_prerelease();
        self.entries
            .iter()
            .find(is_release)
            .or(self.entries.first())
    }

    /// Returns the entry with a digest.
    pub fn find(&self, digest: &Digest) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|entry| entry.descriptor.digest == *digest)
    }

    /// Returns another annotation of the index.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.others.get(key).map(String::as_str)
    }

    /// Sets another annotation of the index, or takes it off; tells whether anything changed.
    pub fn annotate(&mut self, key: &str, value: Option<String>) -> bool {
        if self.annotation(key) == value.as_deref() {
            return false;
        }
        match value {
            Some(value) => self.others.insert(key.to_owned(), value),
            None => self.others.remove(key),
        };
        true
    }

    /// Adds a bundle, also one that was withdrawn; tells whether anything changed.
    ///
    /// # Errors
    ///
    /// [`Kind::Conflict`] for another package, for a version that is there with another digest, and for a full channel.
    pub fn add(&mut self, entry: Entry) -> Result<bool> {
        let version = &entry.facts.version;
        if entry.facts.package != self.package {
            return Err(Error::conflict(format!(
                "channel `{}` holds bundles of another package: expected {}, found {}",
                self.name, self.package, entry.facts.package
            ))
            .expected(&self.package)
            .found(&entry.facts.package)
            .hint("use a repository of its own for each package, or another channel"));
        }
        if let Some(there) = self.find(&entry.descriptor.digest) {
            if there.facts == entry.facts {
                return Ok(false);
            }
            let digest = entry.descriptor.digest;
            self.entries
                .retain(|there| there.descriptor.digest != digest);
        } else if let Some(there) = self.entries.iter().find(|e| e.facts.version == *version) {
            return Err(Error::conflict(format!(
                "channel `{}` has another bundle of version {version}",
                self.name
            ))
            .expected(there.descriptor.digest)
            .found(entry.descriptor.digest)
            .hint(format!(
                "`bundle channel remove REPOSITORY {} {version}` first",
                self.name
            )));
        }
        if self.entries.len() >= ENTRIES_MAX {
            return Err(Error::conflict(format!(
                "channel `{}` is full: it holds {ENTRIES_MAX} bundles",
                self.name
            ))
            .hint(format!(
                "take old versions out with `bundle channel remove REPOSITORY {} VERSION…`",
                self.name
            )));
        }
        self.withdrawn.remove(&entry.descriptor.digest);
        self.entries.push(entry);
        self.sort();
        Ok(true)
    }

    /// Takes out every bundle that `leaves` says, and records them as withdrawn: nobody who puts bundles where they say that they
    /// belong puts them back. Returns them.
    ///
    /// # Errors
    ///
    /// [`Kind::Conflict`] where the record is full: the channel stays as it was.
    pub fn withdraw(&mut self, leaves: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>> {
        let leaving = self.entries.iter().filter(|entry| leaves(entry)).count();
        if self.withdrawn.len().saturating_add(leaving) > WITHDRAWN_MAX && leaving > 0 {
            return Err(Error::conflict(format!(
                "channel `{}` has no room to record that {leaving} more are withdrawn: it records {} bundles, and {WITHDRAWN_MAX} at most",
                self.name,
                self.withdrawn.len()
            ))
            .hint("--forget takes a bundle out without a record, and takes one out of the record"));
        }
        let gone = self.remove(leaves);
        self.withdrawn
            .extend(gone.iter().map(|entry| entry.descriptor.digest));
        Ok(gone)
    }

    /// Takes a digest out of the record of what was withdrawn; tells whether it was there.
    pub fn forget(&mut self, digest: &Digest) -> bool {
        self.withdrawn.remove(digest)
    }

    /// Takes out every bundle that `leaves` says, without a record; returns them.
    pub fn remove(&mut self, leaves: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let (gone, kept) = self.entries.drain(..).partition(leaves);
        self.entries = kept;
        gone
    }

    /// Writes the index; equal channels have equal bytes.
    ///
    /// # Errors
    ///
    /// [`Kind::Limit`] for an index of more than 1 MiB.
    pub fn write(&self, limits: &Limits) -> Result<ManifestBlob> {
        let mut index = Index::new(self.entries.iter().map(write_entry).collect());
        index.annotations.clone_from(&self.others);
        let own = [
            (NAME, Some(self.name.to_string())),
            (key::PACKAGE, Some(self.package.to_string())),
            (PREVIOUS, self.previous.map(|digest| digest.to_string())),
            (WITHDRAWN, write_withdrawn(&self.withdrawn)),
        ];
        index.annotations.extend(
            own.into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?))),
        );
        let bytes = index.write()?;
        if bytes.len() > WRITTEN_MAX {
            return Err(Error::limit(
                Ceiling::Manifest,
                WRITTEN_MAX as u64,
                bytes.len() as u64,
            ));
        }
        ManifestBlob::new(bytes, limits)
    }

    /// Puts the newest first; of equal precedence, build metadata decides, and then the digest.
    fn sort(&mut self) {
        self.entries.sort_by(|a, b| {
            let versions = b.facts.version.cmp(&a.facts.version);
            versions.then_with(|| a.descriptor.digest.cmp(&b.descriptor.digest))
        });
    }
}

fn missing(key: &str) -> Error {
    Error::invalid(format!("the channel's index lacks `{key}`"))
}

fn word<T: std::str::FromStr<Err = crate::invalid::Invalid>>(text: &str) -> Result<T> {
    text.parse::<T>()
        .map_err(|invalid| invalid.of_kind(Kind::Invalid))
}

fn read_withdrawn(list: &str) -> Result<BTreeSet<Digest>> {
    let digests = list.split(',').map(word::<Digest>);
    let digests: BTreeSet<Digest> = digests.collect::<Result<_>>()?;
    if digests.len() > WITHDRAWN_MAX {
        return Err(
            Error::invalid("the channel records too many bundles as withdrawn")
                .expected(format!("at most {WITHDRAWN_MAX}"))
                .found(digests.len()),
        );
    }
    Ok(digests)
}

fn write_withdrawn(digests: &BTreeSet<Digest>) -> Option<String> {
    let texts: Vec<String> = digests.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

fn read_entry(descriptor: &Descriptor, package: &PackageName) -> Result<Entry> {
    let is_image = [media_type::MANIFEST, media_type::DOCKER_MANIFEST]
        .contains(&descriptor.media_type.as_str());
    if !is_image {
        return Err(Error::invalid("a channel lists something that is no image")
            .found(&descriptor.media_type));
    }
    let said = |key: &str| descriptor.annotations.get(key);
    let version = said(key::VERSION).ok_or_else(|| missing(key::VERSION))?;
    Ok(Entry {
        descriptor: Descriptor::new(&descriptor.media_type, descriptor.digest, descriptor.size),
        facts: Facts {
            package: package.clone(),
            version: word(version)?,
            operator_id: said(key::OPERATOR_ID).map(|v| word(v)).transpose()?,
            min_operator_version: said(key::MIN_OPERATOR_VERSION)
                .map(|v| word(v))
                .transpose()?,
            min_kubernetes_version: said(key::MIN_KUBERNETES_VERSION)
                .map(|v| word(v))
                .transpose()?,
        },
    })
}

fn write_entry(entry: &Entry) -> Descriptor {
    let facts = &entry.facts;
    let said = [
        (key::VERSION, Some(facts.version.to_string())),
        (
            key::OPERATOR_ID,
            facts.operator_id.as_ref().map(ToString::to_string),
        ),
        (
            key::MIN_OPERATOR_VERSION,
            facts.min_operator_version.as_ref().map(ToString::to_string),
        ),
        (
            key::MIN_KUBERNETES_VERSION,
            facts.min_kubernetes_version.map(|v| v.to_string()),
        ),
    ];
    let annotations = said
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Descriptor {
        annotations: annotations.collect(),
        ..entry.descriptor.clone()
    }
}
