//! The metadata of a bundle: `metadata/annotations.yaml`, read and written (spec/bundle.md).
//!
//! The same keys and values travel three times: in this file, as labels of the image config and as annotations of the
//! image manifest. All of them are strings; [`Metadata`] keeps them all and holds the ones that have a meaning parsed.

mod complete;
mod kinds;
mod text;

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::{Error, Kind};
use crate::escape::shown;
use crate::finding::Finding;
use crate::invalid::Invalid;
use crate::name::{ChannelName, OperatorId, PackageName};
use crate::oci::Annotations;
use crate::path::BundlePath;
use crate::version::{KubernetesVersion, Version};

pub(crate) use complete::identity_hint;
pub use complete::{Completed, Filled, Identity, complete, fill};
pub use kinds::{Mediatype, Placeholders};
pub(crate) use text::read;
pub use text::{ARGO_CD_LINE, parse, write};

/// Where the metadata is in a bundle.
pub const FILE: &str = "metadata/annotations.yaml";

/// The annotation with which an object asks for a version of its operator (kubebuilder-declarative-pattern).
pub const KDP_MIN_OPERATOR_VERSION: &str = "addons.k8s.io/min-operator-version";

/// Returns where the metadata is in a bundle, as a path.
pub fn path() -> Result<BundlePath, Error> {
    FILE.parse()
        .map_err(|invalid: Invalid| invalid.of_kind(Kind::Invalid))
}

/// The keys that have a meaning (spec/bundle.md, "Keys").
pub mod key {
    /// What all keys of this format begin with.
    pub const PREFIX: &str = "k8s.io.bundle.";
    /// What is in `manifests/`: `manifests` or `kustomize`.
    pub const MEDIATYPE: &str = "k8s.io.bundle.mediatype.v1";
    /// Always `manifests/`.
    pub const MANIFESTS: &str = "k8s.io.bundle.manifests.v1";
    /// Always `metadata/`.
    pub const METADATA: &str = "k8s.io.bundle.metadata.v1";
    /// The name of the package.
    pub const PACKAGE: &str = "k8s.io.bundle.package.v1";
    /// The version of the package.
    pub const VERSION: &str = "k8s.io.bundle.version.v1";
    /// The operator that the bundle is meant for.
    pub const OPERATOR_ID: &str = "k8s.io.bundle.operator.id.v1";
    /// The lowest version of that operator that understands the bundle.
    pub const MIN_OPERATOR_VERSION: &str = "k8s.io.bundle.operator.min-version.v1";
    /// The channels that the bundle belongs to, separated by commas.
    pub const CHANNELS: &str = "k8s.io.bundle.channels.v1";
    /// The lowest version of Kubernetes that the objects can be applied to.
    pub const MIN_KUBERNETES_VERSION: &str = "k8s.io.bundle.kubernetes.min-version.v1";
    /// How the operator fills placeholders in the objects: `go-template`.
    pub const PLACEHOLDERS: &str = "k8s.io.bundle.placeholders.v1";
    /// All keys of this format that have a meaning in this version.
    pub const ALL: [&str; 10] = [
        MEDIATYPE,
        MANIFESTS,
        METADATA,
        PACKAGE,
        VERSION,
        OPERATOR_ID,
        MIN_OPERATOR_VERSION,
        CHANNELS,
        MIN_KUBERNETES_VERSION,
        PLACEHOLDERS,
    ];
    /// The version once more, where other tools look for it.
    pub const OCI_VERSION: &str = "org.opencontainers.image.version";
    /// The name of the package once more, where other tools look for it.
    pub const OCI_TITLE: &str = "org.opencontainers.image.title";
    /// When the image was made.
    pub const OCI_CREATED: &str = "org.opencontainers.image.created";
    /// The older spelling of [`MEDIATYPE`] in KEP-2494's prose; read, never written.
    pub const KEP_MEDIATYPE: &str = "k8s.io.mediatype.v1";
    /// What the keys of OLM's registry+v1 bundles begin with.
    pub const OLM_PREFIX: &str = "operators.operatorframework.io.bundle.";
}

/// What a bundle says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// All keys and values, those below among them.
    pub annotations: Annotations,
    /// What is in `manifests/`.
    pub mediatype: Mediatype,
    /// The package.
    pub package: PackageName,
    /// The version of the package.
    pub version: Version,
    /// The operator that the bundle is meant for; none means that any client may apply it.
    pub operator_id: Option<OperatorId>,
    /// The lowest version of that operator that understands the bundle.
    pub min_operator_version: Option<Version>,
    /// The lowest version of Kubernetes.
    pub min_kubernetes_version: Option<KubernetesVersion>,
    /// The channels that the bundle belongs to.
    pub channels: Vec<ChannelName>,
    /// How placeholders are written, if there may be any.
    pub placeholders: Option<Placeholders>,
}

impl Metadata {
    /// Reads the meaning of some annotations or labels; `line` tells where a key stands, 0 where that is unknown.
    ///
    /// # Errors
    ///
    /// All findings at once, each an error with a code of the `metadata-` family.
    pub fn of(annotations: Annotations, line: &dyn Fn(&str) -> u32) -> Result<Self, Vec<Finding>> {
        let mut reader = Reader {
            annotations: &annotations,
            line,
            findings: Vec::new(),
        };
        reader.check_keys();
        reader.check_constant(key::MANIFESTS, "manifests/");
        reader.check_constant(key::METADATA, "metadata/");
        let mediatype = reader.required(key::MEDIATYPE, "metadata-mediatype");
        let package = reader.required(key::PACKAGE, "metadata-package");
        let version = reader.required(key::VERSION, "metadata-version");
        let operator_id = reader.optional(key::OPERATOR_ID, "metadata-operator-id");
        let min_operator_version =
            reader.optional(key::MIN_OPERATOR_VERSION, "metadata-min-operator-version");
        let min_kubernetes_version = reader.optional(
            key::MIN_KUBERNETES_VERSION,
            "metadata-min-kubernetes-version",
        );
        let placeholders = reader.optional(key::PLACEHOLDERS, "metadata-placeholders");
        let channels = reader.channels();
        reader.check_agreement();
        let findings = reader.findings;
        match (mediatype, package, version) {
            (Some(mediatype), Some(package), Some(version)) if findings.is_empty() => Ok(Self {
                annotations,
                mediatype,
                package,
                version,
                operator_id,
                min_operator_version,
                min_kubernetes_version,
                channels,
                placeholders,
            }),
            _ => Err(findings),
        }
    }
}

impl Metadata {
    /// Checks the keys and values of any metadata, whatever they mean.
    pub(crate) fn check_keys(
        annotations: &Annotations,
        line: &dyn Fn(&str) -> u32,
    ) -> Vec<Finding> {
        let mut reader = Reader {
            annotations,
            line,
            findings: Vec::new(),
        };
        reader.check_keys();
        reader.findings
    }

    /// Reads the meaning of a copy of the metadata: labels, or annotations, in which pack has put more than the file has.
    ///
    /// # Errors
    ///
    /// As [`Metadata::of`].
    pub fn of_copy(copy: &Annotations) -> Result<Self, Vec<Finding>> {
        let mut annotations = copy.clone();
        annotations.remove(key::OCI_CREATED);
        Self::of(annotations, &|_| 0)
    }
}

/// Reads one key after the other and collects what is wrong.
struct Reader<'a> {
    annotations: &'a Annotations,
    line: &'a dyn Fn(&str) -> u32,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn report(&mut self, key: &str, code: &'static str, message: String, hint: Option<String>) {
        let mut finding = Finding::error(code, message).at(FILE, (self.line)(key));
        finding.hint = hint;
        self.findings.push(finding);
    }

    fn optional<T: FromStr<Err = Invalid>>(&mut self, key: &str, code: &'static str) -> Option<T> {
        match self.annotations.get(key)?.parse() {
            Ok(value) => Some(value),
            Err(invalid) => {
                self.report(key, code, format!("`{key}`: {invalid}"), invalid.hint);
                None
            }
        }
    }

    fn required<T: FromStr<Err = Invalid>>(&mut self, key: &str, code: &'static str) -> Option<T> {
        if self.annotations.contains_key(key) {
            return self.optional(key, code);
        }
        self.report("", "metadata-required", format!("`{key}` is missing"), None);
        None
    }

    fn check_constant(&mut self, key: &str, wanted: &str) {
        let Some(found) = self.annotations.get(key).filter(|found| *found != wanted) else {
            return;
        };
        let message = format!("`{key}` is `{}`, and can only be `{wanted}`", shown(found));
        self.report(
            key,
            "metadata-directory",
            message,
            Some(format!("write `{wanted}`")),
        );
    }

    fn channels(&mut self) -> Vec<ChannelName> {
        let Some(list) = self.annotations.get(key::CHANNELS) else {
            return Vec::new();
        };
        let mut channels: Vec<ChannelName> = Vec::new();
        for name in list.split(',').map(str::trim_ascii) {
            match name.parse::<ChannelName>() {
                Ok(channel) if channels.contains(&channel) => {
                    let message =
                        format!("`{}` names the channel `{channel}` twice", key::CHANNELS);
                    self.report(key::CHANNELS, "metadata-channels", message, None);
                }
                Ok(channel) => channels.push(channel),
                Err(invalid) => {
                    let message = format!("`{}`: {invalid}", key::CHANNELS);
                    self.report(key::CHANNELS, "metadata-channels", message, invalid.hint);
                }
            }
        }
        channels
    }

    /// Checks what must hold between keys.
    fn check_agreement(&mut self) {
        let get = |key| self.annotations.get(key);
        if get(key::MIN_OPERATOR_VERSION).is_some() && get(key::OPERATOR_ID).is_none() {
            let message = format!(
                "`{}` is there without `{}`",
                key::MIN_OPERATOR_VERSION,
                key::OPERATOR_ID
            );
            let hint = "say which operator is meant: `--operator-id X` when packing".to_owned();
            self.report(
                key::MIN_OPERATOR_VERSION,
                "metadata-operator-id",
                message,
                Some(hint),
            );
        }
        if self.annotations.contains_key(key::PLACEHOLDERS)
            && !self.annotations.contains_key(key::OPERATOR_ID)
        {
            let message = format!(
                "`{}` is there without `{}`: nobody would fill them",
                key::PLACEHOLDERS,
                key::OPERATOR_ID
            );
            self.report(key::PLACEHOLDERS, "metadata-operator-id", message, None);
        }
        let versions = (
            self.annotations.get(key::VERSION),
            self.annotations.get(key::OCI_VERSION),
        );
        if let (Some(ours), Some(theirs)) = versions
            && ours != theirs
        {
            let message = format!(
                "`{}` is `{}`, but the version is `{}`",
                key::OCI_VERSION,
                shown(theirs),
                shown(ours)
            );
            self.report(
                key::OCI_VERSION,
                "metadata-version",
                message,
                Some(format!("leave out `{}`: pack writes it", key::OCI_VERSION)),
            );
        }
    }

    /// Checks that the image can carry all keys, the keys themselves, and that no value has characters that would not
    /// survive.
    fn check_keys(&mut self) {
        let annotations = self.annotations;
        let count = annotations
            .keys()
            .filter(|key| !WRITTEN.contains(&key.as_str()))
            .count();
        if count > KEYS_MAX {
            let message = format!("there are {count} keys, and an image carries {KEYS_MAX}");
            self.report("", "metadata-key", message, None);
        }
        // The manifest and its config would be refused: some readers of JSON do not see the difference.
        let written = WRITTEN.iter().chain(&ADDED).copied();
        let mut seen: BTreeMap<String, &str> =
            written.map(|key| (key.to_ascii_lowercase(), key)).collect();
        for key in annotations.keys() {
            match seen.insert(key.to_ascii_lowercase(), key) {
                Some(other) if other != key => {
                    let message = format!(
                        "the keys `{}` and `{}` differ only in case",
                        shown(other),
                        shown(key)
                    );
                    self.report(key, "metadata-key", message, None);
                }
                _ => {}
            }
        }
        for (key, value) in annotations {
            let fine = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '`');
            if key.is_empty() || key.len() > 253 || !key.chars().all(fine) {
                let message = format!(
                    "the key `{}` is not 1 to 253 visible ASCII characters without quotes",
                    shown(key)
                );
                self.report(key, "metadata-key", message, None);
            }
            if let Some(c) = value
                .chars()
                .find(|c| c.is_control() && !matches!(c, '\n' | '\t'))
            {
                let message = format!(
                    "`{}` holds the control character U+{:04X}",
                    shown(key),
                    u32::from(c)
                );
                self.report(key, "metadata-value", message, None);
            }
            if let Some(reason) = reserved(key) {
                let message = format!("the key `{}` must not be used: {reason}", shown(key));
                self.report(key, "metadata-key", message, None);
            }
        }
    }
}

/// The keys that packing may add to the manifest's annotations.
const WRITTEN: [&str; 3] = [key::OCI_VERSION, key::OCI_TITLE, key::OCI_CREATED];

/// The keys that packing adds to the metadata where they are missing.
const ADDED: [&str; 3] = [key::MEDIATYPE, key::MANIFESTS, key::METADATA];

/// The most keys beside `WRITTEN`: a manifest has at most 1,000 annotations (spec/limits.md), and whoever packs must not make one
/// that nobody reads.
pub const KEYS_MAX: usize = 997;

/// Says why a key is not accepted, if it is one that makes another system do something.
fn reserved(key: &str) -> Option<&'static str> {
    match key {
        "dev.carvel.imgpkg.bundle" => {
            Some("imgpkg would take the image for one of its own bundles")
        }
        "quay.expires-after" => Some("Quay would delete the tag"),
        "org.opencontainers.image.ref.name" => Some("it names images in a layout"),
        key::OCI_CREATED => Some("`pack --created` writes it"),
        key::KEP_MEDIATYPE => Some("it is written `k8s.io.bundle.mediatype.v1`"),
        _ if key.starts_with("operators.operatorframework.io.index.") => {
            Some("OLM would take the image for a catalog")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        let mut all: Annotations = [
            (key::MEDIATYPE, "manifests"),
            (key::MANIFESTS, "manifests/"),
            (key::METADATA, "metadata/"),
            (key::PACKAGE, "etcd"),
            (key::VERSION, "3.5.0"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        for (key, value) in pairs {
            if *value == "-" {
                all.remove(*key);
            } else {
                all.insert((*key).to_owned(), (*value).to_owned());
            }
        }
        all
    }

    #[test]
    fn good_metadata_is_parsed() {
        let metadata = Metadata::of(
            annotations(&[
                (key::OPERATOR_ID, "etcd-manager"),
                (key::MIN_OPERATOR_VERSION, "1.19.0-0"),
                (key::MIN_KUBERNETES_VERSION, "1.28"),
                (key::CHANNELS, "stable, beta"),
                (key::PLACEHOLDERS, "go-template"),
                ("org.opencontainers.image.description", "two\nlines"),
                ("example.org/team", "ä"),
            ]),
            &|_| 0,
        )
        .unwrap();
        assert_eq!(metadata.package.as_str(), "etcd");
        assert_eq!(metadata.channels.len(), 2);
        assert_eq!(metadata.annotations["example.org/team"], "ä");
    }

    #[test]
    fn there_are_no_more_keys_than_an_image_carries() {
        for (count, is_fine) in [(KEYS_MAX, true), (KEYS_MAX + 1, false)] {
            let mut all = annotations(&[
                (key::OCI_VERSION, "3.5.0"),
                (key::OCI_TITLE, "these two do not count"),
            ]);
            for n in all.len() - 2..count {
                all.insert(format!("example.org/{n}"), "x".to_owned());
            }
            let codes = |findings: Vec<Finding>| findings[0].code;
            let found = Metadata::of(all, &|_| 0).map_err(codes);
            assert_eq!(found.err(), (!is_fine).then_some("metadata-key"));
        }
    }

    #[test]
    fn every_fault_has_its_code_and_all_come_at_once() {
        for (pairs, codes) in [
            (&[(key::PACKAGE, "-")][..], &["metadata-required"][..]),
            (
                &[(key::PACKAGE, "../x"), (key::VERSION, "1.2")],
                &["metadata-package", "metadata-version"],
            ),
            (&[(key::MEDIATYPE, "helm")], &["metadata-mediatype"]),
            (&[(key::MANIFESTS, "objects/")], &["metadata-directory"]),
            (&[(key::OPERATOR_ID, "A_B")], &["metadata-operator-id"]),
            (
                &[(key::MIN_OPERATOR_VERSION, "1.0.0")],
                &["metadata-operator-id"],
            ),
            (
                &[
                    (key::OPERATOR_ID, "x"),
                    (key::MIN_OPERATOR_VERSION, ">=1.0.0"),
                ],
                &["metadata-min-operator-version"],
            ),
            (
                &[(key::MIN_KUBERNETES_VERSION, "new")],
                &["metadata-min-kubernetes-version"],
            ),
            (&[(key::CHANNELS, "stable,stable")], &["metadata-channels"]),
            (&[(key::CHANNELS, "")], &["metadata-channels"]),
            (&[(key::CHANNELS, "a,\u{a0}b")], &["metadata-channels"]),
            (
                &[("example.org/A", "1"), ("example.org/a", "2")],
                &["metadata-key"],
            ),
            (
                &[("Org.opencontainers.image.title", "x")],
                &["metadata-key"],
            ),
            (
                &[(key::PLACEHOLDERS, "go-template")],
                &["metadata-operator-id"],
            ),
            (
                &[(key::PLACEHOLDERS, "jinja"), (key::OPERATOR_ID, "x")],
                &["metadata-placeholders"],
            ),
            (&[(key::OCI_VERSION, "9.9.9")], &["metadata-version"]),
            (&[("quay.expires-after", "1d")], &["metadata-key"]),
            (&[("a b", "x")], &["metadata-key"]),
            (&[("a", "\u{1b}[2J")], &["metadata-value"]),
        ] {
            let findings = Metadata::of(annotations(pairs), &|_| 0).unwrap_err();
            let found: Vec<&str> = findings.iter().map(|f| f.code).collect();
            assert_eq!(found, codes, "{pairs:?}");
        }
    }
}
