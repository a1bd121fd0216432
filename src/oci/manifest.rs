//! Image manifests, and telling them from indexes without ambiguity.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Annotations, Descriptor, Index, check_annotations, check_media_type, media_type, nullable,
    write,
};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::json;
use crate::limits::{Ceiling, Limits};

/// An image manifest: the config and the layers of one image, OCI's or Docker's version 2 schema 2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Free key-value pairs; Docker's manifests have none.
    #[serde(
        default,
        skip_serializing_if = "Annotations::is_empty",
        deserialize_with = "nullable"
    )]
    pub annotations: Annotations,
    /// What kind of artifact this is; never written for bundles, accepted on reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The config.
    pub config: Descriptor,
    /// The layers, from the lowest to the highest.
    #[serde(deserialize_with = "nullable")]
    pub layers: Vec<Descriptor>,
    /// The media type of the manifest itself.
    #[serde(default)]
    pub media_type: String,
    /// Always 2.
    pub schema_version: u32,
    /// The manifest that this one refers to, in a signature or another referrer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
}

impl Manifest {
    /// Writes the manifest; equal manifests have equal bytes.
    pub fn write(&self) -> Result<Vec<u8>> {
        write(self)
    }

    /// Returns the descriptors of the config and the layers, in this order.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        std::iter::once(&self.config).chain(&self.layers)
    }
}

/// What a manifest's bytes turned out to be.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time exists, and a box would be in every caller's way"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// One image.
    Manifest(Manifest),
    /// A list of manifests.
    Index(Index),
}

impl Document {
    /// Reads a manifest or an index.
    ///
    /// `declared` is the media type under which the bytes came (a `Content-Type` or a descriptor's); empty when there is
    /// none. It, the document's own `mediaType` and its shape must agree.
    ///
    /// # Errors
    ///
    /// [`Kind::Unsafe`](crate::error::Kind::Unsafe) where two readers could see two documents, [`Kind::Limit`](crate::error::Kind::Limit) over a ceiling,
    /// [`Kind::Invalid`](crate::error::Kind::Invalid) for a document of another kind.
    pub fn parse(bytes: &[u8], declared: &str, limits: &Limits) -> Result<Self> {
        let size = bytes.len() as u64;
        if size > limits[Ceiling::Manifest] {
            return Err(Error::limit(
                Ceiling::Manifest,
                limits[Ceiling::Manifest],
                size,
            ));
        }
        let value = json::parse("manifest", bytes, limits)?;
        let kind = media_type_of(&value, declared)?;
        match kind.as_str() {
            media_type::MANIFEST | media_type::DOCKER_MANIFEST => {
                let mut manifest: Manifest = typed(value)?;
                manifest.media_type = kind;
                check(&manifest, limits)?;
                Ok(Self::Manifest(manifest))
            }
            media_type::INDEX | media_type::DOCKER_LIST => {
                let mut index: Index = typed(value)?;
                index.media_type = kind;
                index.check(limits)?;
                Ok(Self::Index(index))
            }
            other => Err(Error::invalid(format!(
                "manifest is of the unknown type `{}`",
                shown(other)
            ))),
        }
    }

    /// Returns the media type.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Manifest(manifest) => &manifest.media_type,
            Self::Index(index) => &index.media_type,
        }
    }
}

/// A manifest or index whose digest was checked; what is written and what a checked read returns.
#[derive(Debug, Clone)]
pub struct ManifestBlob {
    /// Describes the bytes.
    pub descriptor: Descriptor,
    /// The bytes; they alone have the digest.
    pub bytes: Bytes,
    /// What they mean.
    pub document: Document,
}

impl ManifestBlob {
    /// Takes a manifest that was just written.
    pub fn new(bytes: Vec<u8>, limits: &Limits) -> Result<Self> {
        let document = Document::parse(&bytes, "", limits)?;
        let descriptor = Descriptor::of(document.media_type(), &bytes);
        Ok(Self {
            descriptor,
            bytes: bytes.into(),
            document,
        })
    }
}

/// Reads the members of a manifest or index; a descriptor must be an object wherever it stands.
fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    json::expect_objects(
        "manifest",
        &value,
        &["config", "subject", "layers[]", "manifests[]"],
    )?;
    let lists = ["layers", "manifests"]
        .into_iter()
        .filter_map(|list| value.get(list)?.as_array());
    for descriptor in lists.flatten() {
        json::expect_objects("descriptor", descriptor, &["annotations", "platform"])?;
    }
    json::into("manifest", value)
}

/// Decides the media type from the document, from how it was declared and from its shape; refuses any disagreement.
fn media_type_of(value: &Value, declared: &str) -> Result<String> {
    let Some(object) = value.as_object() else {
        return Err(Error::unsafe_content("manifest is no JSON object"));
    };
    match object.get("schemaVersion").and_then(Value::as_u64) {
        Some(2) => {}
        Some(1) => {
            return Err(Error::invalid(
                "manifest has schema version 1, which is no longer read",
            ));
        }
        _ => {
            return Err(Error::unsafe_content(
                "manifest has no `schemaVersion` of 2",
            ));
        }
    }
    let is_index = object.contains_key("manifests");
    let is_image = object.contains_key("layers") || object.contains_key("config");
    if is_index && is_image {
        return Err(Error::unsafe_content(
            "manifest has both `manifests` and `layers` or `config`",
        ));
    }
    let own = match object.get("mediaType") {
        None => None,
        Some(Value::String(own)) => Some(own.as_str()),
        Some(_) => {
            return Err(Error::unsafe_content(
                "manifest has a `mediaType` that is no string",
            ));
        }
    };
    // A registry may add parameters and letters of either case; a type that says nothing does not count.
    let declared = declared
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let vague = [
        "",
        "application/json",
        "text/plain",
        "application/octet-stream",
    ]
    .contains(&declared.as_str());
    let kind = match own {
        Some(own) if vague || own.eq_ignore_ascii_case(&declared) => own.to_owned(),
        Some(own) => {
            return Err(Error::unsafe_content(format!(
                "manifest says it is `{}` but came as `{}`",
                shown(own),
                shown(&declared)
            )));
        }
        None if !vague => declared,
        None => {
            return Err(Error::unsafe_content(
                "manifest has no `mediaType` and came without one",
            ));
        }
    };
    let index_type = kind == media_type::INDEX || kind == media_type::DOCKER_LIST;
    let image_type = kind == media_type::MANIFEST || kind == media_type::DOCKER_MANIFEST;
    if (index_type && !is_index) || (image_type && !is_image) {
        return Err(Error::unsafe_content(format!(
            "manifest of type `{}` has not the members of one",
            shown(&kind)
        )));
    }
    Ok(kind)
}

fn check(manifest: &Manifest, limits: &Limits) -> Result<()> {
    let layers = manifest.layers.len() as u64;
    if layers > limits[Ceiling::Layers] {
        return Err(Error::limit(
            Ceiling::Layers,
            limits[Ceiling::Layers],
            layers,
        ));
    }
    check_annotations(&manifest.annotations, limits)?;
    for descriptor in manifest.blobs().chain(&manifest.subject) {
        check_media_type(&descriptor.media_type)?;
        check_annotations(&descriptor.annotations, limits)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::error::Kind;

    fn parse(text: &str, declared: &str) -> Result<Document> {
        Document::parse(text.as_bytes(), declared, &Limits::default())
    }

    fn image(extra: &str) -> String {
        let d = format!(
            r#"{{"mediaType":"application/x","digest":"{}","size":3}}"#,
            Digest::of(b"abc")
        );
        format!(r#"{{"schemaVersion":2,"config":{d},"layers":[{d}]{extra}}}"#)
    }

    #[test]
    fn the_type_comes_from_the_document_or_from_how_it_came() {
        let own = image(&format!(r#","mediaType":"{}""#, media_type::MANIFEST));
        for declared in [
            "",
            "application/json",
            "application/vnd.oci.image.manifest.v1+json; charset=utf-8",
        ] {
            assert_eq!(
                parse(&own, declared).unwrap().media_type(),
                media_type::MANIFEST
            );
        }
        let none = image("");
        assert_eq!(
            parse(&none, media_type::DOCKER_MANIFEST)
                .unwrap()
                .media_type(),
            media_type::DOCKER_MANIFEST
        );
        assert!(parse(&none, "").is_err());
        assert_eq!(
            parse(&own, media_type::INDEX).unwrap_err().kind(),
            Kind::Unsafe
        );
        assert_eq!(
            parse(&none, media_type::INDEX).unwrap_err().kind(),
            Kind::Unsafe
        );
    }

    #[test]
    fn a_manifest_is_as_large_and_has_as_many_layers_as_it_may() {
        let text = image("");
        let size = text.len() as u64;
        let read = |text: &str, limits: &Limits| {
            Document::parse(text.as_bytes(), media_type::MANIFEST, limits).map_err(|e| e.kind())
        };
        for (most, good) in [
            (size + 1, true),
            (size, true),
            (size - 1, false),
            (9, false),
        ] {
            let limits = Limits::default().with(Ceiling::Manifest, most);
            let found = read(&text, &limits).map(|_| ());
            assert_eq!(found, if good { Ok(()) } else { Err(Kind::Limit) });
        }
        for (most, good) in [(2, true), (1, true), (0, false)] {
            let limits = Limits::default().with(Ceiling::Layers, most);
            assert_eq!(read(&text, &limits).is_ok(), good, "{most}");
        }
    }

    #[test]
    fn a_document_has_the_members_of_its_type() {
        let list = r#"{"schemaVersion":2,"manifests":[]}"#;
        let layers = r#"{"schemaVersion":2,"layers":[]}"#;
        for (text, declared) in [
            (list, media_type::MANIFEST),
            (list, media_type::DOCKER_MANIFEST),
            (layers, media_type::INDEX),
            (layers, media_type::DOCKER_LIST),
            (r#"{"schemaVersion":2}"#, media_type::DOCKER_LIST),
            (r#"{"schemaVersion":2}"#, media_type::DOCKER_MANIFEST),
            (
                r#"{"schemaVersion":2,"layers":[],"manifests":[]}"#,
                media_type::INDEX,
            ),
            (
                r#"{"schemaVersion":2,"config":{},"manifests":[]}"#,
                media_type::INDEX,
            ),
            // What says nothing is no type.
            (list, "text/plain"),
            (list, "application/octet-stream; charset=utf-8"),
        ] {
            let kind = parse(text, declared).unwrap_err().kind();
            assert_eq!(kind, Kind::Unsafe, "{text} as {declared}");
        }
        for declared in [media_type::INDEX, media_type::DOCKER_LIST] {
            assert_eq!(parse(list, declared).unwrap().media_type(), declared);
        }
    }

    #[test]
    fn the_blobs_of_a_manifest_are_its_config_and_its_layers() {
        let Document::Manifest(manifest) = parse(&image(""), media_type::MANIFEST).unwrap() else {
            panic!("it is an image");
        };
        let blobs: Vec<&Descriptor> = manifest.blobs().collect();
        assert_eq!(blobs, [&manifest.config, &manifest.layers[0]]);
    }

    #[test]
    fn documents_of_two_kinds_and_of_none_are_refused() {
        let both = image(r#","manifests":[]"#);
        assert_eq!(
            parse(&both, media_type::MANIFEST).unwrap_err().kind(),
            Kind::Unsafe
        );
        for (text, kind) in [
            (r#"{"schemaVersion":1,"history":[]}"#, Kind::Invalid),
            ("[]", Kind::Unsafe),
            ("null", Kind::Unsafe),
            (
                r#"{"schemaVersion":2,"mediaType":"application/x"}"#,
                Kind::Invalid,
            ),
            (r#"{"layers":[]}"#, Kind::Unsafe),
            (
                r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[[{}]]}"#,
                Kind::Unsafe,
            ),
        ] {
            assert_eq!(parse(text, "").unwrap_err().kind(), kind, "{text}");
        }
    }

    #[test]
    fn descriptors_hold_only_real_digests_and_sizes() {
        for (from, to) in [
            ("sha256:", "md5:"),
            (r#""size":3"#, r#""size":-3"#),
            (r#""size":3"#, r#""size":1e3"#),
            (r#""size":3"#, r#""size":"3""#),
        ] {
            let text = image("").replacen(from, to, 1);
            assert_eq!(
                parse(&text, media_type::MANIFEST).unwrap_err().kind(),
                Kind::Unsafe,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_written_is_canonical_and_read_back() {
        let mut manifest = Manifest {
            annotations: Annotations::from([
                ("b".into(), "ä\u{1}\"".into()),
                ("a".into(), "/".into()),
            ]),
            artifact_type: None,
            config: Descriptor::of(media_type::CONFIG, b"{}"),
            layers: vec![Descriptor::of(media_type::LAYER_GZIP, b"x")],
            media_type: media_type::MANIFEST.into(),
            schema_version: 2,
            subject: None,
        };
        let bytes = manifest.write().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(
            text.starts_with(
                r#"{"annotations":{"a":"/","b":"ä\u0001\""},"config":{"digest":"sha256:"#
            ),
            "{text}"
        );
        let sorted: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            sorted.to_string(),
            text,
            "members are in the order of their names"
        );
        assert_eq!(
            Document::parse(&bytes, "", &Limits::default()).unwrap(),
            Document::Manifest(manifest.clone())
        );
        manifest.layers = vec![manifest.layers[0].clone(); 129];
        let error =
            Document::parse(&manifest.write().unwrap(), "", &Limits::default()).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit);
    }
}
