//! Packing: from a bundle to an image with the same bytes everywhere and always (P2).

use crate::bundle::{Bundle, Files};
use crate::content::{Content, Spool};
use crate::error::{Error, Result};
use crate::layer;
use crate::limits::{Ceiling, Limits};
use crate::metadata::key;
use crate::oci::{
    Annotations, Descriptor, ImageConfig, Manifest, ManifestBlob, RootFs, Runtime, media_type,
};
use crate::path::BundlePath;

use super::Image;

/// A file at the root of the layer that keeps Flux from taking the metadata for an object; not part of the bundle.
pub const SOURCE_IGNORE: (&str, &str) = (".sourceignore", "/metadata/\n");

/// When an image was made, unless the caller says otherwise: a clock would move the digest.
const EPOCH: &str = "1970-01-01T00:00:00Z";

/// The most that the manifest and the config may take; what every registry accepts.
const WRITTEN_MAX: u64 = 1024 * 1024;

/// Which of the two formats of images is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// OCI image manifest.
    #[default]
    Oci,
    /// Docker image manifest version 2 schema 2, for registries and tools that know no other; it has no annotations.
    Docker,
}

/// What packing needs beside the bundle.
#[derive(Debug, Clone)]
pub struct PackOptions {
    /// The format of the image.
    pub format: Format,
    /// When the image was made, RFC 3339 in UTC; the first second of 1970 if absent.
    pub created: Option<String>,
    /// How many threads compress; the bytes do not depend on it.
    pub threads: usize,
    /// The ceilings.
    pub limits: Limits,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            format: Format::Oci,
            created: None,
            threads: 1,
            limits: Limits::default(),
        }
    }
}

/// Packs the files of a bundle into the layer of its image; two bundles with the same files have the same layer.
///
/// # Errors
///
/// As [`layer::write`].
pub fn pack_layer(mut files: Files, threads: usize, spool: &mut Spool) -> Result<layer::Layer> {
    let (name, text) = SOURCE_IGNORE;
    let name: BundlePath = name
        .parse()
        .map_err(|error: crate::invalid::Invalid| Error::invalid(error.to_string()))?;
    files.insert(name, Content::from(text));
    layer::write(&files, spool, threads)
}

/// Packs a bundle into an image. The bundle has been validated; the layer is written into `spool`.
///
/// # Errors
///
/// [`Kind::Limit`](crate::error::Kind::Limit) when the metadata makes manifest or config larger than 1 MiB, or the layer is larger than a blob may be.
pub fn pack(bundle: &Bundle, options: &PackOptions, spool: &mut Spool) -> Result<Image> {
    let layer = pack_layer(bundle.files.clone(), options.threads, spool)?;
    let max = options.limits[Ceiling::Blob];
    if layer.size > max {
        return Err(Error::limit(Ceiling::Blob, max, layer.size).at("layer"));
    }

    let config = ImageConfig {
        architecture: "amd64".to_owned(),
        config: Runtime {
            labels: bundle.metadata.annotations.clone(),
        },
        created: Some(options.created.clone().unwrap_or_else(|| EPOCH.to_owned())),
        os: "linux".to_owned(),
        rootfs: RootFs {
            diff_ids: vec![layer.diff_id],
            kind: "layers".to_owned(),
        },
    };
    let config = config.write()?;
    check_written("config", &config)?;

    let oci = options.format == Format::Oci;
    let mut layer_descriptor = Descriptor::new(
        if oci {
            media_type::LAYER_GZIP
        } else {
            media_type::DOCKER_LAYER
        },
        layer.digest,
        layer.size,
    );
    if oci {
        // With these three, `oras pull` unpacks the layer; nobody else minds them.
        layer_descriptor.annotations = [
            (key::OCI_TITLE, ".".to_owned()),
            ("io.deis.oras.content.unpack", "true".to_owned()),
            ("io.deis.oras.content.digest", layer.diff_id.to_string()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into();
    }
    let manifest = Manifest {
        annotations: if oci {
            annotations(bundle, options)
        } else {
            Annotations::new()
        },
        artifact_type: None,
        config: Descriptor::of(
            if oci {
                media_type::CONFIG
            } else {
                media_type::DOCKER_CONFIG
            },
            &config,
        ),
        layers: vec![layer_descriptor],
        media_type: if oci {
            media_type::MANIFEST
        } else {
            media_type::DOCKER_MANIFEST
        }
        .to_owned(),
        schema_version: 2,
        subject: None,
    };
    let manifest = manifest.write()?;
    check_written("manifest", &manifest)?;
    Ok(Image {
        manifest: ManifestBlob::new(manifest, &options.limits)?,
        config: config.into(),
        layers: vec![layer.content],
    })
}

/// The manifest's annotations: the metadata, and what other tools look for under names of their own.
fn annotations(bundle: &Bundle, options: &PackOptions) -> Annotations {
    let metadata = &bundle.metadata;
    let mut annotations = metadata.annotations.clone();
    annotations.insert(key::OCI_VERSION.to_owned(), metadata.version.to_string());
    annotations
        .entry(key::OCI_TITLE.to_owned())
        .or_insert_with(|| metadata.package.to_string());
    if let Some(created) = &options.created {
        annotations.insert(key::OCI_CREATED.to_owned(), created.clone());
    }
    annotations
}

/// Checks the size that every registry and consumer takes; the cause can only be the metadata.
fn check_written(what: &str, bytes: &[u8]) -> Result<()> {
    let size = bytes.len() as u64;
    if size <= WRITTEN_MAX {
        return Ok(());
    }
    Err(Error::new(
        crate::error::Kind::Limit,
        format!(
            "the image {what} would have {size} bytes, and registries take {WRITTEN_MAX} at most"
        ),
    )
    .expected(format!("at most {WRITTEN_MAX}"))
    .found(size)
    .hint("shorten the annotations: they are written into it"))
}
