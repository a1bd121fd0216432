//! An image is what travels: manifest, config and layers. Packing makes one of a bundle, unpacking reads one (spec/image.md).

mod copies;
mod pack;
mod unpack;

use crate::channel::NAME as CHANNEL;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::oci::{Descriptor, Document, Manifest, ManifestBlob};

pub use copies::{Copies, Difference};
pub use pack::{Format, PackOptions, SOURCE_IGNORE, pack, pack_layer};
pub use unpack::{Unpacked, identify, unpack};

/// A manifest and the blobs that it lists.
#[derive(Debug, Clone)]
pub struct Image {
    /// The manifest; never an index.
    pub manifest: ManifestBlob,
    /// The config.
    pub config: Content,
    /// The layers, in the order of the manifest.
    pub layers: Vec<Content>,
}

impl Image {
    /// Returns the manifest's meaning.
    pub fn oci(&self) -> Result<&Manifest> {
        manifest_of(&self.manifest)
    }

    /// Returns each blob with its descriptor: the config, then the layers.
    pub fn blobs(&self) -> Result<impl Iterator<Item = (&Descriptor, &Content)>> {
        let contents = std::iter::once(&self.config).chain(&self.layers);
        Ok(self.oci()?.blobs().zip(contents))
    }

    /// Returns the number of bytes of manifest, config and layers together.
    pub fn size(&self) -> u64 {
        let blobs = std::iter::once(&self.config).chain(&self.layers);
        blobs
            .map(Content::len)
            .fold(self.manifest.descriptor.size, u64::saturating_add)
    }
}

/// Returns the image manifest, or says that an index is no bundle.
pub fn manifest_of(blob: &ManifestBlob) -> Result<&Manifest> {
    match &blob.document {
        Document::Manifest(manifest) => Ok(manifest),
        Document::Index(index) => {
            let count = index.manifests.len();
            let error = Error::invalid(format!("not a bundle but an index of {count} manifests"))
                .digest(blob.descriptor.digest);
            Err(match index.annotations.get(CHANNEL) {
                Some(name) => error.hint(format!(
                    "it is a channel: `bundle resolve REPOSITORY --channel {}` chooses a bundle in it, `bundle inspect` shows it",
                    shown(name)
                )),
                None => error.hint("name one of them by its digest"),
            })
        }
    }
}
