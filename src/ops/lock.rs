//! Locking: asking the registry of each image which digest its name has at the moment.
//!
//! Nothing is fetched: one look at the name costs no body, and registries do not count it as a pull.

use futures_util::stream::{self, StreamExt as _};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::oci::{Descriptor, media_type};
use crate::reference::Reference;
use crate::store::Store as _;
use crate::store::registry::Registry;

use super::open::Reach;

/// What a registry says about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// The digest that is meant: the one in the name, or else what its tag names.
    pub digest: Digest,
    /// What the tag names at the moment; nothing where there is no tag, or the registry does not have it.
    pub tagged: Option<Digest>,
}

/// Asks for all images, at most so many at once; the answers come in the order of the images.
pub async fn find(images: &[Reference], reach: &Reach, concurrency: usize) -> Vec<Result<Digests>> {
    stream::iter(images)
        .map(|image| find_one(image, reach))
        .buffered(concurrency.max(1))
        .collect()
        .await
}

/// Asks for one image.
///
/// # Errors
///
/// [`Kind::NotFound`](crate::Kind::NotFound) when the registry has no such tag or digest, and what it refuses.
async fn find_one(image: &Reference, reach: &Reach) -> Result<Digests> {
    let registry = Registry::open(image.repository.clone(), &reach.access)?;
    let tagged = match &image.tag {
        Some(tag) => registry.tagged(tag).await?,
        None => None,
    };
    let missing = || Error::not_found("the registry has no such image").reference(image);
    match image.digest {
        // The digest decides, so it must be there whatever became of the tag.
        Some(digest) if tagged == Some(digest) => Ok(Digests { digest, tagged }),
        Some(digest) => {
            let descriptor = Descriptor::new(media_type::MANIFEST, digest, 0);
            if registry.has(&descriptor).await? {
                Ok(Digests { digest, tagged })
            } else {
                Err(missing())
            }
        }
        None => tagged.map_or_else(
            || Err(missing()),
            |digest| {
                Ok(Digests {
                    digest,
                    tagged: Some(digest),
                })
            },
        ),
    }
}
