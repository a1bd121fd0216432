//! What a source holds, for commands that look into it: also a directory of manifests that is no bundle yet.

use manifest_bundle::bundle::{Files, MANIFESTS};
use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, Origins, ReadOptions, Source};
use manifest_bundle::escape::shown;
use manifest_bundle::expectation::{self, Expectations};
use manifest_bundle::metadata::Metadata;
use manifest_bundle::olm;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Kind, Result};

use super::source::{self, PackArgs, Stream};
use crate::settings::Settings;

/// The files of a source, and what they are.
pub(super) struct Contents {
    /// The files by their paths in the bundle.
    pub(super) files: Files,
    /// What the bundle says about itself; none for manifests that are no bundle.
    pub(super) metadata: Option<Metadata>,
    /// Where the files stand, if they are not packed yet.
    origins: Option<Origins>,
}

impl Contents {
    /// Returns where a file can be opened; nothing where it is packed.
    pub(super) fn origin_of(&self, file: &str) -> Option<String> {
        let origin = self.origins.as_ref()?.of(file)?;
        Some(origin.to_string_lossy().into_owned())
    }

    /// Returns where a file can be opened, or its path in the bundle.
    pub(super) fn place_of(&self, file: &str) -> String {
        self.origin_of(file).unwrap_or_else(|| file.to_owned())
    }

    /// Returns where a file is, seen from the source.
    pub(super) fn within(&self, file: &str) -> String {
        let origins = self.origins.as_ref();
        let place = origins.and_then(|origins| origins.within(file));
        place.map_or_else(
            || file.to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }
}

/// Reads a source whole: a bundle is verified, and a directory is taken as it is, whether it could be packed or not.
///
/// Expectations hold for bundles: manifests without metadata fail them.
pub(super) async fn read(
    source: &Location,
    expectations: Expectations,
    reach: &Reach,
    settings: &Settings,
) -> Result<Contents> {
    let opened = match source {
        Location::Stream => match source::read_stream(settings)? {
            Stream::Objects(content) => {
                let read = source::stream_source(content)?;
                return of_directory(source, read, &expectations, settings);
            }
            archive @ Stream::Archive(_) => {
                source::open_read(archive, &PackArgs::default(), reach, settings)?
            }
        },
        other => match open::open(other, reach).await? {
            Place::Directory(path) => {
                let mut spool = Spool::new(&settings.spool_directory);
                let options = ReadOptions::default();
                let read = directory::read(&path, &options, &settings.limits, &mut spool)?;
                return of_directory(other, read, &expectations, settings);
            }
            Place::Store(..) => source::open(other, &PackArgs::default(), reach, settings).await?,
        },
    };
    let asked = Asked {
        tag: opened.tag.clone(),
        expectations,
        at_hand: None,
    };
    let manifest = opened.manifest(reach).await?;
    let loaded = load::load(opened.store.as_ref(), manifest, &asked, reach).await?;
    let bundle = loaded.unpacked.bundle;
    Ok(Contents {
        files: bundle.files,
        metadata: Some(bundle.metadata),
        origins: None,
    })
}

/// Takes the files of a directory, and its metadata where it has some.
fn of_directory(
    place: &Location,
    read: Source,
    expectations: &Expectations,
    settings: &Settings,
) -> Result<Contents> {
    for one in &read.left_out {
        let (path, rule) = (shown(&one.path), shown(&one.rule));
        let place = shown(&place.to_string());
        settings
            .talk
            .say(format!("left out `{path}` of `{place}`: {rule}"));
    }
    let metadata = match olm::metadata_of(&read.files, &settings.limits)? {
        Some(Err(findings)) if expectations.is_empty() => {
            // What is no bundle yet may be looked at all the same.
            let error = Error::of_findings(findings);
            settings.talk.warn(error.message());
            None
        }
        Some(found) => Some(found.map_err(Error::of_findings)?),
        None => None,
    };
    if let Some(metadata) = &metadata {
        expectation::require(&expectation::check(metadata, None, expectations))
            .map_err(|error| error.at(place))?;
    } else if !expectations.is_empty() {
        let message =
            format!("`{place}` does not say what it is, so nothing can be expected of it");
        return Err(Error::new(Kind::Refused, message).hint(format!(
                "`bundle init` writes the metadata of a directory with `{MANIFESTS}/`, and `bundle pack` that of any"
            )));
    }
    Ok(Contents {
        files: read.files,
        metadata,
        origins: Some(read.origins),
    })
}
