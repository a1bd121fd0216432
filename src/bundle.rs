//! A bundle: its metadata and its files.

use std::collections::BTreeMap;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::metadata::{self, Metadata, key};
use crate::path::BundlePath;

/// The directory of a bundle's objects.
pub const MANIFESTS: &str = "manifests";
/// The directory of a bundle's metadata.
pub const METADATA: &str = "metadata";

/// Files by path, in the order in which they are packed.
pub type Files = BTreeMap<BundlePath, Content>;

/// One version of one package.
///
/// Equal bundles give equal images, byte for byte (P2). `files` holds everything below `manifests/` and `metadata/`,
/// `metadata/annotations.yaml` among them, whose meaning is `metadata`.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// What the bundle says about itself.
    pub metadata: Metadata,
    /// The files.
    pub files: Files,
}

impl Bundle {
    /// Returns the files below `manifests/`.
    pub fn manifests(&self) -> impl Iterator<Item = (&BundlePath, &Content)> {
        self.files
            .iter()
            .filter(|(path, _)| path.strip_prefix(MANIFESTS).is_some())
    }

    /// Returns the name that a directory or archive of this bundle has by default: `PACKAGE-VERSION`.
    pub fn default_name(&self) -> String {
        format!("{}-{}", self.metadata.package, self.metadata.version)
    }
}

/// Tells whether files are those of a declared bundle, with metadata of their own.
pub fn has_metadata(files: &Files) -> bool {
    files.contains_key(metadata::FILE)
}

/// Tells whether the metadata among files say that an operator fills placeholders; metadata that cannot be read say nothing.
///
/// # Errors
///
/// [`Kind::Io`](crate::error::Kind::Io) for content that cannot be read.
pub fn has_placeholders(files: &Files, limits: &Limits) -> Result<bool> {
    // A longer file would hold more than one document may have.
    let file = files
        .get(metadata::FILE)
        .filter(|content| content.len() <= limits[Ceiling::Yaml]);
    let Some(content) = file else {
        return Ok(false);
    };
    let bytes = content
        .to_bytes()
        .map_err(|error| Error::io("cannot read", metadata::FILE.as_ref(), error))?;
    Ok(metadata::parse(&bytes, limits)
        .is_ok_and(|(annotations, _)| annotations.contains_key(key::PLACEHOLDERS)))
}
