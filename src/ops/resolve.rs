//! Resolving: from a repository and a question to the digest of one bundle (spec/resolution.md).
//!
//! What a channel or a tag says only decides what is looked at; a bundle is chosen by what its own manifest says.

use std::collections::BTreeMap;

use futures_util::stream::{self, StreamExt as _};

use crate::channel::{self, Channel};
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::image;
use crate::metadata::{Metadata, key};
use crate::name::ChannelName;
use crate::oci::ManifestBlob;
use crate::resolution::{Facts, Question, Reason};
use crate::store::{self, Name, Store};
use crate::tag::Tag;
use crate::version::Version;

use super::load;
use super::open::Reach;

/// How many manifests are asked for at once, when the newest one did not fit.
const WINDOW: usize = 4;

/// The answer to a question.
#[derive(Debug, Clone)]
pub struct Resolution {
    /// The bundle, if one fits.
    pub chosen: Option<Chosen>,
    /// The newer ones, or all, and why each does not fit; the newest first.
    pub passed_over: Vec<PassedOver>,
    /// How many bundles there were to choose from.
    pub candidates: usize,
}

/// The bundle that was chosen.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its version's tag, where it was found by tags.
    pub tag: Option<Tag>,
    /// Its manifest and what it says; absent where the caller knew the bundle already and nothing was fetched.
    pub bundle: Option<Summary>,
}

/// What can be known of a bundle without its files.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Its manifest.
    pub manifest: ManifestBlob,
    /// What it says.
    pub metadata: Metadata,
}

/// A bundle that was not chosen.
#[derive(Debug, Clone)]
pub struct PassedOver {
    /// Its version, as the channel or the tag has it.
    pub version: Version,
    /// Its digest, as far as that is known.
    pub digest: Option<Digest>,
    /// Why.
    pub reason: Reason,
}

/// A candidate, before its manifest was looked at.
struct Candidate {
    name: Name,
    tag: Option<Tag>,
    version: Version,
    digest: Option<Digest>,
    /// What the channel says of it.
    said: Option<Facts>,
}

/// Finds the newest bundle that fits, in a channel or among the tags of a repository.
///
/// `known` is the bundle that an earlier call chose; when it still is the newest, one look at a tag is all that it costs
/// (with a channel, unless the question admits pre-releases) beside the list of tags (without). It is not judged again: it
/// must not be named when the question is another one than that to which it was the answer, or of another channel.
///
/// # Errors
///
/// [`Kind::NotFound`] for a channel that is not there, and what reading it refuses. A bundle that is missing, malformed or not what is said of it
/// is passed over; a registry that cannot be asked, or that sends other bytes, is an error.
pub async fn resolve(
    store: &dyn Store,
    channel: Option<&ChannelName>,
    question: &Question,
    known: Option<&Digest>,
    reach: &Reach,
) -> Result<Resolution> {
    let mut passed_over = Vec::new();
    let candidates = match channel {
        Some(name) => {
            // The tag names the newest release, so that it says nothing of pre-releases.
            if let Some(known) = known
                && !question.admits_prereleases()
                && store.tagged(&channel::head_tag(name)?).await? == Some(*known)
            {
                return Ok(unchanged(*known));
            }
            let (channel, _) = fetch_channel(store, name, reach).await?;
            in_channel(&channel)
        }
        None => among_tags(store.tags().await?),
    };
    let count = candidates.len();
    let mut left = Vec::new();
    for candidate in candidates {
        // What needs no look at the bundle is decided first.
        let reason = match &candidate.said {
            Some(said) => question.judge(said),
            None => question.judge_version(&candidate.version),
        };
        left.push((candidate, reason));
    }
    if channel.is_none()
        && let Some(known) = known
        && let Some((newest, _)) = left.iter().find(|(_, reason)| reason.is_none())
        && let Name::Tag(tag) = &newest.name
        && store.tagged(tag).await? == Some(*known)
    {
        return Ok(unchanged(*known));
    }
    let mut left = left.into_iter().peekable();
    let mut window = 1;
    while left.peek().is_some() {
        let next: Vec<_> = take_window(&mut left, window);
        window = WINDOW;
        // In the order of the candidates, however the answers come.
        let mut judged = stream::iter(next)
            .map(|(candidate, reason)| judge(store, candidate, reason, question, reach))
            .buffered(WINDOW);
        while let Some(judged) = judged.next().await {
            match judged? {
                Ok(chosen) => {
                    return Ok(Resolution {
                        chosen: Some(chosen),
                        passed_over,
                        candidates: count,
                    });
                }
                Err(passed) => passed_over.push(passed),
            }
        }
    }
    Ok(Resolution {
        chosen: None,
        passed_over,
        candidates: count,
    })
}

fn unchanged(known: Digest) -> Resolution {
    Resolution {
        chosen: Some(Chosen {
            digest: known,
            tag: None,
            bundle: None,
        }),
        passed_over: Vec::new(),
        candidates: 0,
    }
}

type Left = (Candidate, Option<Reason>);

/// Takes candidates until `looks` of them must be looked at.
fn take_window(
    left: &mut std::iter::Peekable<std::vec::IntoIter<Left>>,
    looks: usize,
) -> Vec<Left> {
    let mut taken = Vec::new();
    let mut open = 0;
    while open < looks
        && let Some(next) = left.next()
    {
        open += usize::from(next.1.is_none());
        taken.push(next);
    }
    taken
}

/// Fetches the index of a channel; its digest comes with it.
///
/// # Errors
///
/// [`Kind::NotFound`] when there is none, and what [`Channel::parse`] refuses.
pub async fn fetch_channel(
    store: &dyn Store,
    name: &ChannelName,
    reach: &Reach,
) -> Result<(Channel, Digest)> {
    let tag = Name::Tag(channel::index_tag(name)?);
    let blob = match store::fetch_manifest(store, &tag, &reach.limits).await {
        Err(error) if error.kind() == Kind::NotFound => {
            // Few registries tell the two apart; a layout was opened, so it is there.
            let what = match store.repository() {
                Some(_) => format!("the repository is not there, or has no channel `{name}`"),
                None => format!("there is no channel `{name}`"),
            };
            return Err(Error::not_found(what).at(store.place()).hint(format!(
                "`bundle channel list {}` lists them",
                store.place()
            )));
        }
        other => other?,
    };
    let channel = Channel::parse(&blob, name, &reach.limits)
        .map_err(|error| error.at(format!("{}{tag}", store.place())))?;
    Ok((channel, blob.descriptor.digest))
}

fn in_channel(channel: &Channel) -> Vec<Candidate> {
    let entries = channel.entries().iter();
    let candidates = entries.map(|entry| Candidate {
        name: Name::Digest(entry.descriptor.digest),
        tag: None,
        version: entry.facts.version.clone(),
        digest: Some(entry.descriptor.digest),
        said: Some(entry.facts.clone()),
    });
    candidates.collect()
}

/// Returns the versions that tags name, each once; of two tags of one version, that which is written plainly.
pub(super) fn versions(tags: Vec<Tag>) -> BTreeMap<Version, Tag> {
    let mut versions: BTreeMap<Version, Tag> = BTreeMap::new();
    for tag in tags {
        let Some(version) = tag.version() else {
            continue;
        };
        let is_plain = Tag::of_version(&version).is_ok_and(|plain| plain == tag);
        let there = versions.contains_key(&version);
        if is_plain || !there {
            versions.insert(version, tag);
        }
    }
    versions
}

/// Returns the versions that tags name, the newest first.
fn among_tags(tags: Vec<Tag>) -> Vec<Candidate> {
    let newest_first = versions(tags).into_iter().rev();
    let candidates = newest_first.map(|(version, tag)| Candidate {
        name: Name::Tag(tag.clone()),
        tag: Some(tag),
        version,
        digest: None,
        said: None,
    });
    candidates.collect()
}

/// Looks at a bundle, unless there is a reason to pass it over already.
async fn judge(
    store: &dyn Store,
    candidate: Candidate,
    reason: Option<Reason>,
    question: &Question,
    reach: &Reach,
) -> Result<std::result::Result<Chosen, PassedOver>> {
    let passed = |digest, reason| {
        Ok(Err(PassedOver {
            version: candidate.version.clone(),
            digest,
            reason,
        }))
    };
    if let Some(reason) = reason {
        return passed(candidate.digest, reason);
    }
    let looked = look(store, &candidate.name, reach).await;
    let bundle = match looked {
        Ok(found) => found,
        Err(error) => {
            return match error.kind() {
                Kind::NotFound => passed(candidate.digest, Reason::Missing),
                // Anybody who can push could otherwise stop everybody from resolving.
                kind if kind.is_of_content() => passed(
                    candidate.digest,
                    Reason::Unusable {
                        why: error.message().to_owned(),
                    },
                ),
                _ => Err(error),
            };
        }
    };
    let digest = bundle.manifest.descriptor.digest;
    let facts = Facts::from(&bundle.metadata);
    let contradiction = match &candidate.said {
        Some(said) => said.contradiction(&facts, "channel"),
        None => Facts {
            version: candidate.version.clone(),
            ..facts.clone()
        }
        .contradiction(&facts, "tag"),
    };
    match contradiction.or_else(|| question.judge(&facts)) {
        Some(reason) => passed(Some(digest), reason),
        None => Ok(Ok(Chosen {
            digest,
            tag: candidate.tag,
            bundle: Some(bundle),
        })),
    }
}

/// Fetches the manifest of a bundle and reads what it says; the config only where the manifest says nothing, and the layers
/// only where that says no version: a bundle of OLM.
///
/// # Errors
///
/// What [`store::fetch_manifest`] and [`load::metadata`] refuse, and [`Kind::Invalid`] for metadata with faults.
pub async fn look(store: &dyn Store, name: &Name, reach: &Reach) -> Result<Summary> {
    let manifest = store::fetch_manifest(store, name, &reach.limits).await?;
    let oci = image::manifest_of(&manifest).map_err(|error| error.at(store.place()))?;
    let copies = image::identify(oci, None).map_err(|error| error.at(store.place()))?;
    let metadata = if copies.annotations.contains_key(key::MEDIATYPE) {
        Metadata::of_copy(&copies.annotations)
            .map_err(Error::of_findings)
            .map_err(|error| error.at(format!("{}{name}", store.place())))?
    } else {
        load::metadata(store, manifest.clone(), reach).await?
    };
    Ok(Summary { manifest, metadata })
}
