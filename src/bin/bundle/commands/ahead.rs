//! Looking at where a bundle shall go before its layers are fetched, so that nothing travels in vain.

use std::path::{Path, PathBuf};

use manifest_bundle::Result;
use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, Ahead, Standing, WriteOptions};
use manifest_bundle::image;
use manifest_bundle::layer::Layer;
use manifest_bundle::metadata::Metadata;
use manifest_bundle::oci::{Manifest, ManifestBlob};
use manifest_bundle::ops::destination::look_ahead_at_archive;
use manifest_bundle::reference::Location;
use manifest_bundle::store::{Store as _, layout::Layout};
use manifest_bundle::tag::Tag;

use super::pull::{WriteArgs, is_archive};
use super::push::moved;
use super::source::Opened;
use crate::settings::Settings;

/// Refuses a destination in which the bundle of a manifest cannot be written, as far as the manifest tells.
///
/// Returns the layer where the destination holds what is in it already: then it need not be fetched, and once the bundle
/// is loaded nothing has to be written.
///
/// # Errors
///
/// What writing would refuse; and where layers come from a registry, a directory that is not seen to hold the same.
pub(super) async fn look_ahead(
    opened: &Opened,
    manifest: &ManifestBlob,
    args: &WriteArgs,
    settings: &Settings,
) -> Result<Option<Layer>> {
    // What is no bundle is refused when it is loaded, in better words.
    let Ok(oci) = image::manifest_of(manifest) else {
        return Ok(None);
    };
    let metadata = image::identify(oci, None)
        .ok()
        .and_then(|copies| Metadata::of_copy(&copies.annotations).ok());
    let by_default = metadata
        .as_ref()
        .map(|of| Location::Path(PathBuf::from(format!("{}-{}", of.package, of.version))));
    let options = WriteOptions {
        force: args.force,
        prune: args.prune,
        ..WriteOptions::default()
    };
    match args.output.clone().or(by_default) {
        Some(Location::Path(path)) if !is_archive(&path) => {
            let ahead =
                directory::look_ahead(&path, &options, metadata.as_ref(), &settings.limits)?;
            // Elsewhere the layer is at hand, and what is there is compared with its files.
            if opened.store.repository().is_none() {
                return Ok(None);
            }
            same_layer(ahead, &path, oci, args.force, settings)
        }
        Some(Location::Path(path) | Location::Archive { path, .. }) => {
            let digest = &manifest.descriptor.digest;
            look_ahead_at_archive(&path, args.force, digest, &settings.limits).map(|()| None)
        }
        Some(Location::Layout { path, entry }) => {
            let version = metadata.and_then(|of| Tag::of_version(&of.version).ok());
            let tag = entry.name.or_else(|| opened.tag.clone()).or(version);
            if let (Standing::Layout, Some(tag)) = (directory::look(&path)?, tag) {
                let layout = Layout::open(&path, &settings.limits)?;
                let digest = manifest.descriptor.digest;
                let present = layout.tagged(&tag).await?;
                if let Some(present) = present.filter(|present| *present != digest)
                    && tag.version().is_some()
                    && !args.force
                {
                    return Err(moved(&layout, &tag, digest, present));
                }
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Makes the layer that the files at a destination have, and returns it if it is the manifest's: equal files have equal
/// layers, so nothing of them has to be fetched to know that they are the same.
fn same_layer(
    ahead: Ahead,
    path: &Path,
    oci: &Manifest,
    force: bool,
    settings: &Settings,
) -> Result<Option<Layer>> {
    let mut spool = Spool::new(&settings.spool_directory);
    let files = match (ahead, oci.layers.as_slice()) {
        (Ahead::Free, _) => return Ok(None),
        (Ahead::Files(present), [wanted]) => present
            .read(&settings.limits, &mut spool)?
            .map(|files| (files, wanted)),
        (Ahead::Files(_) | Ahead::Other, _) => None,
    };
    if let Some((files, wanted)) = files {
        let layer = image::pack_layer(files, settings.threads, &mut spool)?;
        if layer.is(wanted) {
            return Ok(Some(layer));
        }
    }
    if force {
        Ok(None)
    } else {
        Err(directory::in_the_way(path))
    }
}
