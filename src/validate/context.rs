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
use crate::version::{KubernetesVersion, Version};

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
        let additions = options.additions.as_ref();
        let read = metadata::read(files, limits, options, additions, findings)?;
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

    /// Reads the metadata of a source again, with the version of the operator that its objects ask for, where nothing says
    /// one: packing puts it there. `findings` are what was wrong with the metadata, and are what is wrong now.
    pub(super) fn take_up(
        &mut self,
        highest: &Version,
        options: &Options,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        const KEY: &str = key::MIN_OPERATOR_VERSION;
        let Some(additions) = &options.additions else {
            return Ok(());
        };
        if additions.contains_key(KEY) || self.annotations.contains_key(KEY) {
            return Ok(());
        }
        let mut additions = additions.clone();
        additions.insert(KEY.to_owned(), highest.to_string());
        findings.clear();
        let read = metadata::read(self.files, self.limits, options, Some(&additions), findings)?;
        (self.metadata, self.annotations) = (read.metadata, read.annotations);
        Ok(())
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

/// Tells whether a name ends in an extension, written in lower case as consumers want it, behind something.
pub(super) fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(stem, found)| !stem.is_empty() && found == extension)
}
