//! What all checks may look at: the files, the metadata, and what was asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::bundle::{Files, MANIFESTS};
use crate::content::Content;
use crate::error::Result;
use crate::finding::Finding;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{Mediatype, Metadata, key};
use crate::oci::Annotations;
use crate::path::BundlePath;
use crate::version::KubernetesVersion;

use super::{Options, metadata};

/// What is known before any file below `manifests/` is read.
pub(super) struct Context<'a> {
    pub(super) files: &'a Files,
    pub(super) limits: &'a Limits,
    /// What `manifests/` holds; none when the metadata says something that is not known.
    pub(super) mediatype: Option<Mediatype>,
    /// Whether the metadata says that an operator fills placeholders.
    pub(super) has_placeholders: bool,
    /// The metadata, when nothing is wrong with it.
    pub(super) metadata: Option<Metadata>,
    /// The keys and values, as far as they can be read at all.
    pub(super) annotations: Annotations,
    /// The version of the cluster that was asked about.
    pub(super) kubernetes_version: Option<KubernetesVersion>,
    /// How many objects have been read.
    pub(super) objects: AtomicU64,
    /// The line of each key.
    lines: BTreeMap<String, u32>,
}

impl<'a> Context<'a> {
    /// Reads the metadata and reports what is wrong with it.
    pub(super) fn new(
        files: &'a Files,
        limits: &'a Limits,
        options: &Options,
        findings: &mut Vec<Finding>,
    ) -> Result<Self> {
        let read = metadata::read(files, limits, options, findings)?;
        Ok(Self {
            files,
            limits,
            mediatype: read.mediatype,
            has_placeholders: read.has_placeholders,
            metadata: read.metadata,
            annotations: read.annotations,
            kubernetes_version: options.kubernetes_version,
            objects: AtomicU64::new(0),
            lines: read.lines,
        })
    }

    /// Returns the files below `manifests/`, with the rest of their paths.
    pub(super) fn manifests(&self) -> impl Iterator<Item = (&'a BundlePath, &'a str, &'a Content)> {
        let files: &'a Files = self.files;
        files.iter().filter_map(|(path, content)| {
            path.strip_prefix(MANIFESTS)
                .map(|rest| (path, rest, content))
        })
    }

    /// Returns the line of a key of the metadata, 0 when there is none.
    pub(super) fn line_of(&self, key: &str) -> u32 {
        self.lines.get(key).copied().unwrap_or(0)
    }

    /// Tells whether there are more objects than the ceiling allows; then none of them is listed.
    pub(super) fn has_too_many_objects(&self) -> bool {
        self.objects.load(Ordering::Relaxed) > self.limits[Ceiling::Objects]
    }

    /// Says how the mediatype `kustomize` is declared: by the metadata where they say another one, else by a flag.
    pub(super) fn kustomize_hint(&self) -> &'static str {
        if self.line_of(key::MEDIATYPE) > 0 {
            "declare `k8s.io.bundle.mediatype.v1: kustomize`"
        } else {
            "add `--mediatype kustomize`"
        }
    }

    pub(super) fn is_flat(&self) -> bool {
        matches!(
            self.mediatype,
            Some(Mediatype::Manifests | Mediatype::RegistryV1)
        )
    }

    /// Tells whether this is a bundle of OLM's, with nothing of this format in it.
    pub(super) fn is_olm(&self) -> bool {
        self.mediatype == Some(Mediatype::RegistryV1)
    }

    pub(super) fn is_kustomize(&self) -> bool {
        self.mediatype == Some(Mediatype::Kustomize)
    }
}

/// Tells whether a file holds YAML or JSON, by its name.
pub(super) fn is_manifest_name(name: &str) -> bool {
    ["yaml", "yml", "json"]
        .iter()
        .any(|extension| has_extension(name, extension))
}

/// Tells whether a name ends in an extension, written in lower case as consumers want it, behind something.
pub(super) fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(stem, found)| !stem.is_empty() && found == extension)
}
