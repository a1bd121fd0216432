//! Unpacking: from an image, ours or another tool's, to a bundle (spec/image.md, "What readers accept").
//!
//! Every blob has been fetched, and so checked, before it comes here (P5).

use crate::bundle::{Bundle, Files, MANIFESTS, METADATA};
use crate::content::Spool;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::layer;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{self, Mediatype, Metadata, key};
use crate::oci::{ImageConfig, Manifest, media_type};
use crate::olm;
use crate::path::BundlePath;

use super::pack::SOURCE_IGNORE;
use super::{Copies, Image};

/// A bundle that came out of an image, with the copies of its metadata that came beside it.
#[derive(Debug, Clone)]
pub struct Unpacked {
    /// The bundle.
    pub bundle: Bundle,
    /// The labels and annotations.
    pub copies: Copies,
    /// The files of an OLM image that are no part of its bundle.
    pub left_out: Vec<BundlePath>,
}

/// Tells a bundle from everything else by its manifest and, where it was fetched, its config, before any layer is fetched.
///
/// # Errors
///
/// [`Kind::Invalid`](crate::error::Kind::Invalid) for an image, chart, signature or anything else that is no bundle, saying what it is.
pub fn identify(manifest: &Manifest, config: Option<&ImageConfig>) -> Result<Copies> {
    let config_type = manifest.config.media_type.as_str();
    if config_type != media_type::CONFIG && config_type != media_type::DOCKER_CONFIG {
        let what = manifest.artifact_type.as_deref().unwrap_or(config_type);
        return Err(Error::invalid(format!(
            "not a bundle: an artifact of type `{}`",
            shown(what)
        )));
    }
    let copies = Copies {
        labels: config
            .map(|config| config.config.labels.clone())
            .unwrap_or_default(),
        annotations: manifest.annotations.clone(),
    };
    // The labels may say it where the annotations do not, and builders annotate images with what they like: the config decides.
    if config.is_some() && !copies.is_of_bundle() {
        return Err(Error::invalid(format!(
            "not a bundle: neither labels nor annotations have `{}`",
            key::MEDIATYPE
        )));
    }
    if manifest.layers.is_empty() {
        return Err(Error::invalid("not a bundle: the image has no layers"));
    }
    for layer in &manifest.layers {
        if !layer::is_layer(&layer.media_type) {
            let kind = shown(&layer.media_type);
            return Err(
                Error::invalid(format!("not a bundle: a layer has the type `{kind}`"))
                    .digest(layer.digest),
            );
        }
    }
    Ok(copies)
}

/// Unpacks an image into a bundle; its files are handles into `spool`.
///
/// # Errors
///
/// What [`identify`] and [`layer::read`] refuse; [`Kind::Mismatch`](crate::error::Kind::Mismatch) for layers that are not what the config says;
/// [`Kind::Invalid`](crate::error::Kind::Invalid) for content that is no bundle or metadata with faults.
pub fn unpack(image: &Image, limits: &Limits, spool: &mut Spool) -> Result<Unpacked> {
    let manifest = image.oci()?;
    let size = image.config.len();
    if size > limits[Ceiling::Config] {
        return Err(Error::limit(Ceiling::Config, limits[Ceiling::Config], size));
    }
    let bytes = image
        .config
        .to_bytes()
        .map_err(|error| Error::io("cannot read", spool.directory(), error))?;
    let config = ImageConfig::parse(&bytes, limits)?;
    let copies = identify(manifest, Some(&config))?;
    let files = read_layers(image, manifest, &config.rootfs.diff_ids, limits, spool)?;
    let (files, beside) = split(files);
    let refuse_beside = |is_olm: bool| match beside.first() {
        Some(path) if !is_olm => Err(Error::invalid(format!(
            "not a bundle: `{path}` is neither in `{MANIFESTS}/` nor in `{METADATA}/`"
        ))
        .file(path)),
        _ => Ok(()),
    };
    refuse_beside(copies.is_olm())?;
    let metadata = read_metadata(&files, limits)?;
    // The file decides what it is.
    refuse_beside(metadata.mediatype == Mediatype::RegistryV1)?;
    Ok(Unpacked {
        bundle: Bundle { metadata, files },
        copies,
        left_out: beside,
    })
}

/// Reads the layers and, where there are several, merges them in memory.
fn read_layers(
    image: &Image,
    manifest: &Manifest,
    diff_ids: &[Digest],
    limits: &Limits,
    spool: &mut Spool,
) -> Result<Files> {
    // An image that was not made for a container runtime may have no diff ids; one that has some has them all.
    if !diff_ids.is_empty() && diff_ids.len() != manifest.layers.len() {
        let found = format!("{} diff ids", diff_ids.len());
        return Err(Error::mismatch(
            "layers in the config",
            format!("{} diff ids", manifest.layers.len()),
            found,
        ));
    }
    let layers: Vec<layer::Source> = manifest
        .layers
        .iter()
        .zip(&image.layers)
        .enumerate()
        .map(|(index, (descriptor, content))| layer::Source {
            content: content.clone(),
            media_type: descriptor.media_type.clone(),
            diff_id: diff_ids.get(index).copied(),
        })
        .collect();
    Ok(layer::read_all(&layers, limits, spool)?.files)
}

/// Takes the image's own furniture away, and what lies beside the two directories of a bundle.
fn split(files: Files) -> (Files, Vec<BundlePath>) {
    let (inside, mut beside): (Files, Files) =
        files.into_iter().partition(|(path, _)| olm::is_part(path));
    beside.retain(|path, _| path.as_str() != SOURCE_IGNORE.0);
    (inside, beside.into_keys().collect())
}

fn read_metadata(files: &Files, limits: &Limits) -> Result<Metadata> {
    let Some(read) = olm::metadata_of(files, limits)? else {
        return Err(
            Error::invalid(format!("not a bundle: `{}` is missing", metadata::FILE))
                .file(metadata::FILE),
        );
    };
    read.map_err(Error::of_findings)
}

#[cfg(test)]
mod tests;
