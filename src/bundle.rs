//! A bundle: its metadata and its files.

use std::collections::BTreeMap;

use crate::content::Content;
use crate::metadata::{self, Metadata};
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
    files.keys().any(|path| path.as_str() == metadata::FILE)
}
