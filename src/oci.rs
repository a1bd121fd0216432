//! The OCI documents: descriptors, image manifests, indexes and configs, as they are read and written (spec/image.md).
//!
//! Read: raw bytes are the truth and are kept by whoever has them; the types here are a view of what this project
//! needs, and unknown members are ignored. Written: members in the order of their names, no white space, no numbers
//! with a fraction — what RFC 8785 prescribes — so that equal values have equal bytes.

mod config;
mod index;
mod manifest;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::{Ceiling, Limits};

pub use config::{ImageConfig, RootFs, Runtime};
pub use index::Index;
pub use manifest::{Document, Manifest, ManifestBlob};

/// Annotations and labels: sorted by key, so that they are always written in one order.
pub type Annotations = BTreeMap<String, String>;

/// The media types that this project knows.
pub mod media_type {
    /// An OCI image manifest.
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    /// An OCI image index.
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    /// An OCI image config.
    pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    /// An uncompressed layer.
    pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
    /// A layer compressed with gzip: the one that is written.
    pub const LAYER_GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    /// A layer compressed with zstd: read, never written.
    pub const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";
    /// The empty JSON object that stands for "no config".
    pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
    /// Docker's image manifest, version 2 schema 2.
    pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
    /// Docker's manifest list.
    pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    /// Docker's image config.
    pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
    /// Docker's layer.
    pub const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

    /// Everything that may be a manifest, in the order of preference; for `Accept`.
    pub const MANIFESTS: [&str; 4] = [MANIFEST, INDEX, DOCKER_MANIFEST, DOCKER_LIST];
}

/// Points to content: what it is, how long it is and which digest it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// Free key-value pairs.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    pub annotations: Annotations,
    /// What kind of artifact the content is; only in lists of referrers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The digest of the content.
    pub digest: Digest,
    /// The media type of the content.
    pub media_type: String,
    /// The platform, in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// The length of the content, in bytes.
    pub size: u64,
}

impl Descriptor {
    /// Describes some bytes.
    pub fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self::new(media_type, Digest::of(bytes), bytes.len() as u64)
    }

    /// Describes content whose digest and size are known.
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            annotations: Annotations::new(),
            artifact_type: None,
            digest,
            media_type: media_type.to_owned(),
            platform: None,
            size,
        }
    }

    /// Tells whether the content is a manifest or an index.
    pub fn is_manifest(&self) -> bool {
        media_type::MANIFESTS.contains(&self.media_type.as_str())
    }
}

/// What machine an image is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// The processor, such as `amd64`.
    pub architecture: String,
    /// The operating system, such as `linux`.
    pub os: String,
    /// The variant of the processor, such as `v8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Reads `null` as the default, as Go writes empty maps and lists.
fn nullable<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Writes a document: the members of each type above are declared in the order of their names.
fn write(document: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(document).map_err(|error| {
        Error::invalid(format!(
            "cannot be written as JSON: {}",
            shown(&error.to_string())
        ))
    })
}

/// Checks the number and size of annotations or labels.
fn check_annotations(annotations: &Annotations, limits: &Limits) -> Result<()> {
    let count = annotations.len() as u64;
    if count > limits[Ceiling::Annotations] {
        return Err(Error::limit(
            Ceiling::Annotations,
            limits[Ceiling::Annotations],
            count,
        ));
    }
    for (key, value) in annotations {
        let size = (key.len() as u64).saturating_add(value.len() as u64);
        if size > limits[Ceiling::Annotation] {
            return Err(
                Error::limit(Ceiling::Annotation, limits[Ceiling::Annotation], size)
                    .found(format!("annotation `{}` of {size} bytes", shown(key))),
            );
        }
    }
    Ok(())
}

/// Checks that a media type looks like one (RFC 6838), so that it can be put into a header.
fn check_media_type(text: &str) -> Result<()> {
    let name = |part: &str| {
        !part.is_empty()
            && part.len() <= 127
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    match text.split_once('/') {
        Some((kind, subtype)) if name(kind) && name(subtype) => Ok(()),
        _ => Err(Error::unsafe_content(format!(
            "`{}` is no media type",
            shown(text)
        ))),
    }
}

/// Tells whether two lists of annotations agree on every key with a prefix; returns the keys that differ.
pub fn differing_keys<'a>(a: &'a Annotations, b: &'a Annotations, prefix: &str) -> Vec<&'a str> {
    let mut keys: Vec<&str> = a
        .keys()
        .chain(b.keys())
        .map(String::as_str)
        .filter(|k| k.starts_with(prefix))
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| a.get(*key) != b.get(*key));
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_fit_into_a_header() {
        let long = "a".repeat(127);
        for good in [
            "application/vnd.oci.image.manifest.v1+json".to_owned(),
            "a!#$&-^_.+9/b".to_owned(),
            format!("{long}/{long}"),
        ] {
            check_media_type(&good).unwrap();
        }
        for bad in [
            String::new(),
            "a".into(),
            "/".into(),
            "a/".into(),
            "/b".into(),
            "a/b/c".into(),
            "a /b".into(),
            "a/b;c=d".into(),
            "ä/b".into(),
            "a/b\r\nc".into(),
            format!("{long}a/b"),
            format!("b/{long}a"),
        ] {
            let error = check_media_type(&bad).unwrap_err();
            assert_eq!(error.kind(), crate::error::Kind::Unsafe, "{bad:?}");
        }
    }

    #[test]
    fn annotations_have_a_number_and_a_size() {
        let limits = Limits::default()
            .with(Ceiling::Annotations, 2)
            .with(Ceiling::Annotation, 5);
        let check = |all: &[(&str, &str)]| {
            let all = all
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()));
            check_annotations(&all.collect(), &limits)
        };
        check(&[("a", "1234"), ("bcdef", "")]).unwrap();
        for (bad, ceiling) in [
            (&[("a", ""), ("b", ""), ("c", "")][..], "`annotations`"),
            (&[("a", "12345")], "`annotation`"),
            (&[("a", ""), ("b", "1234567")], "`annotation`"),
        ] {
            let error = check(bad).unwrap_err();
            assert_eq!(error.kind(), crate::error::Kind::Limit);
            assert!(error.message().contains(ceiling), "{error}");
        }
    }

    #[test]
    fn manifests_are_told_by_their_media_type() {
        for media_type in media_type::MANIFESTS {
            assert!(Descriptor::of(media_type, b"{}").is_manifest());
        }
        for other in [
            "application/vnd.oci.image.config.v1+json",
            "application/vnd.oci.image.layer.v1.tar+gzip",
            "",
        ] {
            assert!(!Descriptor::of(other, b"{}").is_manifest(), "{other}");
        }
    }
}
