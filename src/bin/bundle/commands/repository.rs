//! Repositories: a place without a tag or digest, which holds many bundles.

use std::sync::Arc;

use manifest_bundle::ops::open::Reach;
use manifest_bundle::reference::{Location, Reference, Repository};
use manifest_bundle::store::Store;
use manifest_bundle::store::layout::Layout;
use manifest_bundle::store::registry::Registry;
use manifest_bundle::{Error, Result};

use crate::args::word;

/// Reads a repository or a layout, without a tag or digest.
pub(super) fn parse(text: &str) -> std::result::Result<Location, String> {
    let location: Location = word(text)?;
    match &location {
        Location::Registry(Reference {
            tag: None,
            digest: None,
            ..
        }) => Ok(location),
        Location::Registry(_) => word::<Repository>(text).map(|repository| {
            Location::Registry(Reference {
                repository,
                tag: None,
                digest: None,
            })
        }),
        Location::Layout { entry, .. } if entry.name.is_none() && entry.digest.is_none() => {
            Ok(location)
        }
        _ => Err(of_host(text, "").unwrap_or_else(|| {
            format!(
                "is neither HOST/REPOSITORY nor oci:DIR; for Docker Hub write `docker.io/{text}`"
            )
        })),
    }
}

/// Opens a repository to read from it.
pub(super) fn open(location: &Location, reach: &Reach) -> Result<Arc<dyn Store>> {
    Ok(match location {
        Location::Registry(reference) => {
            Arc::new(Registry::open(reference.repository.clone(), &reach.access)?)
        }
        Location::Layout { path, .. } => Arc::new(Layout::open(path, &reach.limits)?),
        other => return Err(Error::usage(format!("`{other}` is no repository"))),
    })
}

/// Opens a repository that is there to write into it.
pub(super) fn open_to_write(location: &Location, reach: &Reach) -> Result<Arc<dyn Store>> {
    Ok(match location {
        Location::Registry(reference) => {
            Arc::new(Registry::open(reference.repository.clone(), &reach.access)?.to_write())
        }
        other => open(other, reach)?,
    })
}

/// Says of a word that is more likely the name of a registry than that of a repository, having a port behind a host, what to
/// write instead; `rest` is what follows the repository.
pub(super) fn of_host(text: &str, rest: &str) -> Option<String> {
    let is_host = match text.rsplit_once(':') {
        None => text == "localhost",
        Some((host, port)) => {
            port.parse::<u16>().is_ok() && (host == "localhost" || host.contains(['.', ']']))
        }
    };
    is_host.then(|| {
        format!("that is a registry: write the repository, too: `{text}/REPOSITORY{rest}`")
    })
}
