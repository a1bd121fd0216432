//! Manifests: read by name, looked up, written.

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Ceiling;
use crate::oci::{Document, ManifestBlob, media_type};
use crate::store::{Name, RawManifest, no_such_manifest};
use crate::tag::Tag;

use super::Registry;
use super::answer::{Head, Reply};
use super::body::Body;
use super::event::Event;
use super::http::Request;

/// The registry's word for the digest of what it sends or got.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
/// Says that the registry took notice of a manifest's subject.
const OCI_SUBJECT: HeaderName = HeaderName::from_static("oci-subject");

impl Registry {
    /// Reads a manifest or index. What its digest is worth is for the caller to check.
    pub(super) async fn read_manifest(&self, name: &Name) -> Result<RawManifest> {
        let request = self.manifest_request(Method::GET, name, "cannot read the manifest")?;
        let reply = self.exchange(&request).await?;
        if reply.status().as_u16() == 404 {
            self.tell_resolved(name, None);
            return Err(self.no_manifest(&reply, name));
        }
        if !reply.status().is_success() {
            return Err(self.refused(&reply, &request));
        }
        reply.check_no_html("a manifest")?;
        // Whether it is a good manifest is for its parser; this is about answers that are none at all.
        let by_digest = matches!(name, Name::Digest(_));
        if !may_be_manifest(&reply.body, by_digest) {
            return Err(Error::protocol(format!(
                "the answer of {} bytes is no manifest",
                reply.body.len()
            )));
        }
        let digest = match name {
            Name::Tag(_) => Digest::of(&reply.body),
            Name::Digest(wanted) => wanted.like(&reply.body),
        };
        check_digest_header(&reply.head, &digest)?;
        self.tell_resolved(name, Some(digest));
        let declared = reply.head.media_type();
        let known = declared.starts_with("application/vnd.");
        Ok(RawManifest {
            bytes: reply.body,
            media_type: if known { declared } else { String::new() },
        })
    }

    /// Asks which digest a name has, without the body where the registry can do that.
    pub(super) async fn look_up(&self, name: &Name) -> Result<Option<Digest>> {
        let request = self.manifest_request(Method::HEAD, name, "cannot look up the manifest")?;
        let reply = self.exchange(&request).await?;
        match reply.status().as_u16() {
            404 => {
                self.tell_resolved(name, None);
                return Ok(None);
            }
            400 | 405 | 501 => {}
            _ if !reply.status().is_success() => return Err(self.refused(&reply, &request)),
            _ => {
                let said = reply.header(&CONTENT_DIGEST).map(str::parse::<Digest>);
                if let Some(Ok(digest)) = said {
                    self.tell_resolved(name, Some(digest));
                    return Ok(Some(digest));
                }
            }
        }
        match self.read_manifest(name).await {
            Ok(raw) => Ok(Some(match name {
                Name::Tag(_) => Digest::of(&raw.bytes),
                Name::Digest(wanted) => wanted.like(&raw.bytes),
            })),
            Err(error) if error.kind() == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Tells what a tag names; those of referrers are looked for and not asked for.
    fn tell_resolved(&self, name: &Name, digest: Option<Digest>) {
        if let Name::Tag(tag) = name
            && !tag.is_referrers()
        {
            self.session.tell_once(Event::Resolved {
                reference: format!("{}:{tag}", self.place_name()),
                digest,
            });
        }
    }

    /// Writes a manifest under a tag, or under its digest; a registry without the referrers API gets its entry in the
    /// fallback tag, too.
    pub(super) async fn write_manifest(
        &self,
        manifest: &ManifestBlob,
        tag: Option<&Tag>,
    ) -> Result<()> {
        let name = match tag {
            Some(tag) => Name::Tag(tag.clone()),
            None => Name::Digest(manifest.descriptor.digest),
        };
        let knows_subjects = self.put_manifest(manifest, &name).await?;
        if !knows_subjects {
            self.refer_by_tag(manifest).await?;
        }
        Ok(())
    }

    /// Sends a manifest; tells whether the registry took notice of its subject.
    pub(super) async fn put_manifest(&self, manifest: &ManifestBlob, name: &Name) -> Result<bool> {
        self.begin_to_write();
        let digest = manifest.descriptor.digest;
        let mut request = self.manifest_request(Method::PUT, name, "cannot write the manifest")?;
        request.headers.remove(ACCEPT);
        let kind = HeaderValue::from_str(&manifest.descriptor.media_type)
            .map_err(|_| Error::protocol("the manifest's media type is none"))?;
        request.headers.insert(CONTENT_TYPE, kind);
        request.body = Body::Bytes(manifest.bytes.clone());
        request.ceiling = Ceiling::ErrorBody;
        let reply = self.exchange(&request).await?;
        if !reply.status().is_success() {
            self.manifest_refused(&reply, &request, manifest, name)
                .await?;
            // It took nothing this time, and so says nothing of subjects.
            return self.lists_subjects(manifest).await;
        }
        check_digest_header(&reply.head, &digest)?;
        self.note_written(&format!("manifests/{digest}"));
        if let Name::Tag(tag) = name {
            self.note_written(&format!("manifests/{tag}"));
        }
        if reply.status().as_u16() != 201 && self.look_up(name).await? != Some(digest) {
            return Err(Error::protocol(format!(
                "the registry took the manifest ({}) but does not have it",
                reply.status().as_u16()
            ))
            .digest(digest));
        }
        Ok(reply.header(&OCI_SUBJECT).is_some())
    }

    /// Finds out why a manifest was refused; an immutable tag that has this digest already is no failure.
    async fn manifest_refused(
        &self,
        reply: &Reply,
        request: &Request,
        manifest: &ManifestBlob,
        name: &Name,
    ) -> Result<()> {
        let status = reply.status().as_u16();
        let error = self.refused(reply, request);
        let digest = manifest.descriptor.digest;
        let says_immutable = error.message().to_ascii_lowercase().contains("immutable");
        if let Name::Tag(tag) = name
            && (matches!(status, 403 | 405 | 409 | 412) || says_immutable)
        {
            match self.look_up(name).await {
                Ok(Some(found)) if found == digest => return Ok(()),
                Ok(Some(found)) if status != 403 || says_immutable => {
                    return Err(Error::conflict(format!(
                        "the tag `{tag}` is immutable: it is {found} and cannot become {digest}"
                    ))
                    .digest(digest)
                    .expected(digest)
                    .found(found)
                    .hint("push under another tag: a new version is a new tag")
                    .source(error));
                }
                _ => {}
            }
        }
        let unknown = ["MANIFEST_BLOB_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_UNKNOWN"];
        if unknown.iter().any(|code| reply.has_code(code)) {
            return Err(Error::not_found(format!(
                "the registry does not have everything that the manifest names: {error}"
            ))
            .digest(digest)
            .missing(missing_parts(reply, &manifest.document))
            .hint("push again: what is there already is not sent twice"));
        }
        if matches!(status, 400 | 405 | 406 | 415) {
            return Err(type_refused(&error, &manifest.document));
        }
        Err(error)
    }

    fn manifest_request(
        &self,
        method: Method,
        name: &Name,
        doing: &'static str,
    ) -> Result<Request> {
        let name = match name {
            Name::Tag(tag) => tag.to_string(),
            Name::Digest(digest) => digest.to_string(),
        };
        let mut request = self.request(method, &format!("manifests/{name}"), doing)?;
        request.ceiling = Ceiling::Manifest;
        // Without this header some registries convert what they send, or find nothing.
        for media_type in media_type::MANIFESTS {
            request
                .headers
                .append(ACCEPT, HeaderValue::from_static(media_type));
        }
        Ok(request)
    }

    /// Says which of the two is missing: the repository, or the manifest in it.
    fn no_manifest(&self, reply: &Reply, name: &Name) -> Error {
        if reply.has_code("NAME_UNKNOWN") {
            return self.no_repository();
        }
        // The full reference is put before the message.
        let missing = no_such_manifest("", name);
        match name {
            Name::Tag(_) => missing.hint(format!(
                "`bundle list {}` lists the tags that are there",
                self.repository
            )),
            Name::Digest(_) => missing,
        }
    }

    /// Says that the registry knows no such repository, or does not let this caller see it.
    pub(super) fn no_repository(&self) -> Error {
        Error::not_found(format!("there is no repository `{}`", self.repository)).hint(format!(
            "is its name right? Some registries hide what a caller may not see: `bundle login {}`",
            self.repository.registry()
        ))
    }
}

/// Returns what a manifest lists and the registry says it does not have; everything where it does not say which.
fn missing_parts(reply: &Reply, document: &Document) -> Vec<Digest> {
    let parts: Vec<Digest> = match document {
        Document::Manifest(manifest) => manifest.blobs().map(|part| part.digest).collect(),
        Document::Index(index) => index.manifests.iter().map(|part| part.digest).collect(),
    };
    let said = String::from_utf8_lossy(&reply.body);
    let is_named = |digest: &&Digest| said.contains(&digest.to_string());
    let named: Vec<Digest> = parts.iter().filter(is_named).copied().collect();
    if named.is_empty() { parts } else { named }
}

/// The members of which a manifest or index has at least one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    schema_version: Option<IgnoredAny>,
    media_type: Option<IgnoredAny>,
    config: Option<IgnoredAny>,
    layers: Option<IgnoredAny>,
    manifests: Option<IgnoredAny>,
}

/// Tells a manifest, however bad, from the other things that a server may say in JSON or otherwise. Where it was asked for
/// by its digest, any object may be one: the digest decides.
fn may_be_manifest(body: &[u8], by_digest: bool) -> bool {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return false;
    }
    if by_digest {
        return true;
    }
    // What cannot be read may be a part of one: its digest decides.
    serde_json::from_slice(body).map_or(true, |found: Members| {
        found.schema_version.is_some()
            || found.media_type.is_some()
            || found.config.is_some()
            || found.layers.is_some()
            || found.manifests.is_some()
    })
}

/// Compares what the registry says about a digest with the truth; another algorithm says nothing.
pub(super) fn check_digest_header(head: &Head, digest: &Digest) -> Result<()> {
    for value in head.headers.get_all(CONTENT_DIGEST) {
        let said = value.to_str().ok().and_then(|text| text.parse().ok());
        if let Some(said) = said
            && said != *digest
            && Digest::algorithm(&said) == digest.algorithm()
        {
            return Err(
                Error::mismatch("digest in the registry's answer", digest, said).digest(*digest),
            );
        }
    }
    Ok(())
}

/// Quotes the types of a manifest that was refused, because it is often one of them that a registry does not take.
fn type_refused(error: &Error, document: &Document) -> Error {
    let (config, artifact) = match document {
        Document::Manifest(manifest) => (
            Some(&manifest.config.media_type),
            manifest.artifact_type.as_ref(),
        ),
        Document::Index(index) => (None, index.artifact_type.as_ref()),
    };
    let mut types = format!("media type `{}`", shown(document.media_type()));
    for (name, value) in [("config", config), ("artifactType", artifact)] {
        if let Some(value) = value {
            types = format!("{types}, {name} `{}`", shown(value));
        }
    }
    let hint = match artifact {
        Some(_) => "this registry may not take `artifactType`; what `bundle pack` writes has none",
        None if document.media_type() == media_type::MANIFEST => {
            "pack with `--image-format docker`, which older registries take, too"
        }
        None => "this registry may not take this type",
    };
    Error::new(error.kind(), format!("{error} ({types})"))
        .found(types)
        .hint(hint)
}
