//! Referrers: what refers to a manifest, from the referrers API and from the fallback tag that stands in for it.
//!
//! Either list is a hint and no more: whoever uses an entry fetches it and checks that its `subject` is the manifest
//! (distribution-spec, "Listing Referrers").

use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderValue};
use serde_json::Value;
use url::form_urlencoded;

use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::limits::{Ceiling, Limits};
use crate::oci::{Descriptor, Document, Index, ManifestBlob, media_type};
use crate::store::{Name, Referrers};
use crate::tag::Tag;

use super::Registry;
use super::answer::Reply;

/// How often a fallback tag is written anew because somebody else wrote it, too.
const ROUNDS: u32 = 5;
/// How much of algorithm and digest a fallback tag holds (distribution-spec, "Referrers Tag Schema").
const TAG_ALGORITHM: usize = 32;
const TAG_HEX: usize = 64;

impl Registry {
    /// Returns the manifests whose subject is `digest`, of one artifact type or of all.
    ///
    /// An empty answer of the API is not believed alone: some registries have the address but not the function, so the
    /// fallback tag is looked at, too.
    pub(super) async fn list_referrers(
        &self,
        digest: &Digest,
        artifact_type: Option<&str>,
    ) -> Result<Referrers> {
        let listed = self.ask_referrers(digest, artifact_type).await?;
        let (mut descriptors, fallback) = match listed {
            Some(descriptors) if !descriptors.is_empty() => (descriptors, false),
            listed => {
                let index = self.fallback_index(digest).await?;
                let found = index.map(|index| index.manifests).unwrap_or_default();
                let is_from_tag = listed.is_none() || !found.is_empty();
                (found, is_from_tag)
            }
        };
        // A registry may ignore the filter. An entry without a type is kept: only its manifest says what it is.
        if let Some(wanted) = artifact_type {
            descriptors.retain(|descriptor| {
                descriptor.artifact_type.as_deref().unwrap_or(wanted) == wanted
            });
        }
        let max = self.session.limits()[Ceiling::Referrers];
        let count = descriptors.len() as u64;
        if count > max {
            return Err(Error::limit(Ceiling::Referrers, max, count));
        }
        Ok(Referrers {
            descriptors,
            fallback,
        })
    }

    /// Asks the referrers API, page by page; nothing where there is none.
    async fn ask_referrers(
        &self,
        digest: &Digest,
        artifact_type: Option<&str>,
    ) -> Result<Option<Vec<Descriptor>>> {
        let mut path = format!("referrers/{digest}");
        if let Some(artifact_type) = artifact_type {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("artifactType", artifact_type);
            path = format!("{path}?{}", query.finish());
        }
        let mut request = self.request(Method::GET, &path, "cannot list the referrers")?;
        request.ceiling = Ceiling::Page;
        let accept = HeaderValue::from_static(media_type::INDEX);
        request.headers.insert(ACCEPT, accept);
        let max = self.session.limits()[Ceiling::Referrers];
        let mut all: Vec<Descriptor> = Vec::new();
        let mut pages = 0_u64;
        loop {
            let reply = self.exchange(&request).await?;
            match reply.status().as_u16() {
                400 | 404 | 405 | 406 if pages == 0 => return Ok(None),
                _ if !reply.status().is_success() => return Err(self.refused(&reply, &request)),
                _ => {}
            }
            let page = page(&reply, self.session.limits())?;
            let before = all.len();
            for descriptor in page.manifests {
                if !all.iter().any(|known| known.digest == descriptor.digest) {
                    all.push(descriptor);
                }
            }
            let count = all.len() as u64;
            if count > max {
                return Err(Error::limit(Ceiling::Referrers, max, count));
            }
            pages = pages.saturating_add(1);
            match self.next_page(&reply, pages)? {
                None => return Ok(Some(all)),
                Some(_) if all.len() == before => {
                    return Err(Error::protocol(
                        "the list of referrers goes on with a page that adds nothing",
                    ));
                }
                Some(next) => request.url = next,
            }
        }
    }

    /// Tells whether the registry has the referrers API; it is not asked about a manifest without a subject, which needs none.
    pub(super) async fn lists_subjects(&self, manifest: &ManifestBlob) -> Result<bool> {
        let Some((subject, _)) = entry(manifest) else {
            return Ok(true);
        };
        Ok(self.ask_referrers(&subject, None).await?.is_some())
    }

    /// Reads the index under the fallback tag; nothing where there is no such tag.
    async fn fallback_index(&self, digest: &Digest) -> Result<Option<Index>> {
        let tag = fallback_tag(digest)?;
        let raw = match self.read_manifest(&Name::Tag(tag.clone())).await {
            Ok(raw) => raw,
            Err(error) if error.kind() == Kind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let limits = self.session.limits();
        let document = Document::parse(&raw.bytes, &raw.media_type, limits);
        match document.map_err(as_protocol)? {
            Document::Index(index) => Ok(Some(index)),
            Document::Manifest(_) => Err(Error::protocol(format!(
                "the tag `{tag}` should list referrers but is an image"
            ))),
        }
    }

    /// Adds a manifest with a subject to the subject's fallback tag, for a registry without the referrers API.
    ///
    /// Two writers may meet: after writing, the tag is read again, and written again if the entry is not there.
    pub(super) async fn refer_by_tag(&self, manifest: &ManifestBlob) -> Result<()> {
        let Some((subject, entry)) = entry(manifest) else {
            return Ok(());
        };
        let tag = fallback_tag(&subject)?;
        let limits = self.session.limits();
        for _ in 0..ROUNDS {
            let index = self.fallback_index(&subject).await?;
            let mut index = index.unwrap_or_else(|| Index::new(Vec::new()));
            if index
                .manifests
                .iter()
                .any(|known| known.digest == entry.digest)
            {
                return Ok(());
            }
            index.manifests.push(entry.clone());
            let count = index.manifests.len() as u64;
            if count > limits[Ceiling::Referrers] {
                return Err(Error::limit(
                    Ceiling::Referrers,
                    limits[Ceiling::Referrers],
                    count,
                ));
            }
            let blob = ManifestBlob::new(index.write()?, limits)?;
            self.put_manifest(&blob, &Name::Tag(tag.clone())).await?;
        }
        let index = self.fallback_index(&subject).await?;
        let listed = index.is_some_and(|index| {
            let mut manifests = index.manifests.iter();
            manifests.any(|known| known.digest == entry.digest)
        });
        if listed {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "others keep writing the tag `{tag}`, so that {} is not listed there",
            entry.digest
        ))
        .digest(entry.digest)
        .retryable()
        .hint("push again"))
    }
}

/// Returns the subject of a manifest, and how the manifest stands in a list of referrers: with its artifact type and
/// annotations pulled up.
fn entry(manifest: &ManifestBlob) -> Option<(Digest, Descriptor)> {
    let (subject, artifact_type, annotations) = match &manifest.document {
        Document::Manifest(document) => (
            document.subject.as_ref()?,
            // The type of a manifest without one is that of its config (image-spec).
            document
                .artifact_type
                .as_ref()
                .unwrap_or(&document.config.media_type)
                .clone(),
            &document.annotations,
        ),
        Document::Index(document) => (
            document.subject.as_ref()?,
            document.artifact_type.clone().unwrap_or_default(),
            &document.annotations,
        ),
    };
    let mut entry = manifest.descriptor.clone();
    entry.artifact_type = Some(artifact_type).filter(|kind| !kind.is_empty());
    entry.annotations = annotations.clone();
    Some((subject.digest, entry))
}

/// Returns the tag that stands in for the list of referrers: algorithm and digest, cut to what fits a tag.
fn fallback_tag(digest: &Digest) -> Result<Tag> {
    let algorithm: String = digest.algorithm().chars().take(TAG_ALGORITHM).collect();
    let hex: String = digest.hex().chars().take(TAG_HEX).collect();
    format!("{algorithm}-{hex}")
        .parse()
        .map_err(|invalid: crate::invalid::Invalid| invalid.of_kind(Kind::Usage))
}

/// Reads one page of the API's answer. What is no index is a fault: taking it for "none" would hide signatures.
fn page(reply: &Reply, limits: &Limits) -> Result<Index> {
    let value: Value = reply.json("a list of referrers")?;
    if !value
        .get("manifests")
        .is_some_and(|m| m.is_array() || m.is_null())
    {
        return Err(Error::protocol(
            "the answer is no list of referrers: it has no `manifests`",
        ));
    }
    match Document::parse(&reply.body, "", limits).map_err(as_protocol)? {
        Document::Index(index) => Ok(index),
        Document::Manifest(_) => Err(Error::protocol("the answer is an image, no list")),
    }
}

/// A list that cannot be read is the registry's fault; one that is too long keeps its own kind.
fn as_protocol(error: Error) -> Error {
    match error.kind() {
        Kind::Limit => error,
        _ => Error::protocol(format!("the list of referrers: {error}")).source(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fallback_tags_fit_a_tag() {
        let short = Digest::of(b"");
        assert_eq!(
            fallback_tag(&short).unwrap().as_str(),
            short.to_string().replace(':', "-")
        );
        let long: Digest = format!("sha512:{}", "0f".repeat(64)).parse().unwrap();
        assert_eq!(
            fallback_tag(&long).unwrap().as_str(),
            format!("sha512-{}", "0f".repeat(32))
        );
    }
}
