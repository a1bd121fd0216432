//! Loading a bundle from a store: manifest, config, layers, in this order, and no further than the expectations hold.

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::content::{Content, Spool};
use crate::error::{Error, Kind, Result};
use crate::expectation::{self, Check, Expectations, Outcome};
use crate::image::{self, Copies, Difference, Image, Unpacked};
use crate::layer::Layer;
use crate::limits::Ceiling;
use crate::metadata::Metadata;
use crate::oci::{ImageConfig, Manifest, ManifestBlob};
use crate::store::{self, Store};
use crate::tag::Tag;

use super::open::Reach;

/// What a bundle is asked to be when it is loaded.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The tag by which it was asked for, even where the digest decides.
    pub tag: Option<Tag>,
    /// What the caller expects.
    pub expectations: Expectations,
    /// A layer that the caller has already; it is not fetched where its digest is the one that is listed.
    pub at_hand: Option<Layer>,
}

/// A manifest and its config: what can be known of a bundle before a layer is fetched.
#[derive(Debug, Clone)]
pub struct Head {
    /// The manifest.
    pub manifest: ManifestBlob,
    /// The config's bytes.
    pub config: Content,
    /// The copies of the metadata that they hold.
    pub copies: Copies,
}

/// A bundle that was loaded whole.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The image.
    pub image: Image,
    /// The bundle, and the copies of its metadata.
    pub unpacked: Unpacked,
    /// Every check and how it came out.
    pub checks: Vec<Check>,
}

impl Loaded {
    /// Returns the keys on which the copies of the metadata differ.
    pub fn differences(&self) -> Vec<Difference> {
        self.unpacked
            .copies
            .differences(&self.unpacked.bundle.metadata.annotations)
    }
}

/// Loads the bundle of a manifest that was fetched, and refuses it as soon as it is known not to be what was asked for: before a layer is fetched where the
/// copies of the metadata tell, and in any case before this returns.
///
/// # Errors
///
/// [`Kind::Refused`] when a check fails; what fetching and unpacking refuse.
pub async fn load(
    store: &dyn Store,
    manifest: ManifestBlob,
    asked: &Asked,
    reach: &Reach,
) -> Result<Loaded> {
    let head = load_head(store, manifest, reach).await?;
    // The file decides in the end; copies that cannot be read are left for then.
    if let Ok(metadata) = Metadata::of_copy(head.copies.best()) {
        expectation::require(&expectation::check(
            &metadata,
            asked.tag.as_ref(),
            &asked.expectations,
        ))
        .map_err(|error| error.at(store.place()))?;
    }
    let loaded = load_layers(store, head, asked, reach).await?;
    expectation::require(&loaded.checks).map_err(|error| error.at(store.place()))?;
    Ok(loaded)
}

/// Loads the bundle of a manifest that was fetched and makes every check, whatever comes out.
pub async fn verify(
    store: &dyn Store,
    manifest: ManifestBlob,
    asked: &Asked,
    reach: &Reach,
) -> Result<Loaded> {
    let head = load_head(store, manifest, reach).await?;
    load_layers(store, head, asked, reach).await
}

/// Fetches the config of a manifest and tells a bundle from anything else. No layer is fetched.
///
/// # Errors
///
/// What [`store::fetch`] and [`image::identify`] refuse.
pub async fn load_head(store: &dyn Store, manifest: ManifestBlob, reach: &Reach) -> Result<Head> {
    let oci = image::manifest_of(&manifest).map_err(|error| error.at(store.place()))?;
    image::identify(oci, None).map_err(|error| error.at(store.place()))?;
    let config = load_config(store, oci, reach).await?;
    let bytes = config
        .to_bytes()
        .map_err(|error| Error::io("cannot read", &reach.spool_directory, error))?;
    let config_meaning =
        ImageConfig::parse(&bytes, &reach.limits).map_err(|error| error.at(store.place()))?;
    let copies =
        image::identify(oci, Some(&config_meaning)).map_err(|error| error.at(store.place()))?;
    Ok(Head {
        manifest,
        config,
        copies,
    })
}

async fn load_config(store: &dyn Store, manifest: &Manifest, reach: &Reach) -> Result<Content> {
    let (size, max) = (manifest.config.size, reach.limits[Ceiling::Config]);
    if size > max {
        return Err(Error::limit(Ceiling::Config, max, size).at(store.place()));
    }
    store::fetch(
        store,
        &manifest.config,
        &reach.spool_directory,
        &reach.limits,
    )
    .await
}

/// Reads what a bundle says of itself: in its labels or annotations, or, where it is one of OLM's, whose labels say no version,
/// in its files, for which the layers are fetched.
///
/// # Errors
///
/// What [`load_head`] refuses, and [`Kind::Invalid`] for metadata with faults; also for blobs of another size than the manifest
/// says, and for layers of an OLM image that are not what its config says, because whoever made the image is the one to blame.
pub async fn metadata(
    store: &dyn Store,
    manifest: ManifestBlob,
    reach: &Reach,
) -> Result<Metadata> {
    let place = format!("{}@{}", store.place(), manifest.descriptor.digest);
    let head = load_head(store, manifest, reach)
        .await
        .map_err(blame_the_manifest)?;
    if !head.copies.is_olm() {
        return Metadata::of_copy(head.copies.best())
            .map_err(Error::of_findings)
            .map_err(|error| error.at(place));
    }
    let image = fetch_layers(store, head, &Asked::default(), reach)
        .await
        .map_err(blame_the_manifest)?;
    let (_, unpacked) = unpack(image, reach)
        .await
        .map_err(|error| match error.kind() {
            Kind::Mismatch => Error::invalid(error.message()),
            _ => error,
        })
        .map_err(|error| error.at(place))?;
    Ok(unpacked.bundle.metadata)
}

/// Makes a manifest invalid that says another size of a blob than it has: everybody who can push can write one, and a registry
/// that takes it keeps the blob as it is. Other bytes are another matter.
fn blame_the_manifest(error: Error) -> Error {
    let expected = error.detail().expected.as_deref();
    let is_size = expected.is_some_and(|expected| expected.parse::<u64>().is_ok());
    if error.kind() == Kind::Mismatch && is_size {
        Error::invalid(error.message())
    } else {
        error
    }
}

/// Fetches the layers, unpacks them and makes the checks.
async fn load_layers(
    store: &dyn Store,
    head: Head,
    asked: &Asked,
    reach: &Reach,
) -> Result<Loaded> {
    let image = fetch_layers(store, head, asked, reach).await?;
    let (image, unpacked) = unpack(image, reach)
        .await
        .map_err(|error| error.at(store.place()))?;
    let mut loaded = Loaded {
        image,
        unpacked,
        checks: Vec::new(),
    };
    loaded.checks = checks(&loaded, asked);
    Ok(loaded)
}

/// Fetches the layers, which keep the manifest's order (D17).
async fn fetch_layers(
    store: &dyn Store,
    head: Head,
    asked: &Asked,
    reach: &Reach,
) -> Result<Image> {
    let layers = image::manifest_of(&head.manifest)?.layers.clone();
    let layers = stream::iter(&layers)
        .map(|layer| async {
            match asked.at_hand.as_ref().filter(|at_hand| at_hand.is(layer)) {
                Some(at_hand) => Ok(at_hand.content.clone()),
                None => store::fetch(store, layer, &reach.spool_directory, &reach.limits).await,
            }
        })
        .buffered(reach.concurrency.max(1))
        .try_collect()
        .await?;
    Ok(Image {
        manifest: head.manifest,
        config: head.config,
        layers,
    })
}

/// Unpacks an image on a thread of its own.
async fn unpack(image: Image, reach: &Reach) -> Result<(Image, Unpacked)> {
    let limits = reach.limits.clone();
    let mut spool = Spool::new(&reach.spool_directory);
    tokio::task::spawn_blocking(move || {
        image::unpack(&image, &limits, &mut spool).map(|unpacked| (image, unpacked))
    })
    .await
    .map_err(stopped)?
}

/// Makes the checks on a bundle that was loaded whole; its digests held, or it would not have been.
fn checks(loaded: &Loaded, asked: &Asked) -> Vec<Check> {
    let digest = loaded.image.manifest.descriptor.digest.to_string();
    let differing: Vec<String> = loaded
        .differences()
        .into_iter()
        .map(|difference| difference.key)
        .collect();
    let found = if differing.is_empty() {
        "copies of the metadata that agree".to_owned()
    } else {
        format!(
            "copies of the metadata that differ in {}",
            differing.join(", ")
        )
    };
    let mut checks = vec![
        Check {
            name: "digest",
            outcome: Outcome::Passed,
            expected: None,
            found: Some(digest),
        },
        Check::of(
            "format",
            differing.is_empty(),
            "a bundle whose copies of the metadata agree",
            found,
        ),
    ];
    let metadata = &loaded.unpacked.bundle.metadata;
    checks.extend(expectation::check(
        metadata,
        asked.tag.as_ref(),
        &asked.expectations,
    ));
    checks
}

/// Says that a piece of work on another thread ended without an answer; only a panic does that.
pub(super) fn stopped(error: tokio::task::JoinError) -> Error {
    match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => Error::new(crate::error::Kind::Interrupted, error.to_string()),
    }
}
