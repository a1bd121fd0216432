//! Completing metadata when a bundle is packed: what the file says, what the call adds, what the objects ask for (P11).
//!
//! The source is never changed. A call that contradicts the file is an error: nobody could tell which of the two was meant.

use std::collections::BTreeMap;

use super::text::{self, ARGO_CD_LINE};
use super::{FILE, Mediatype, Metadata, Placeholders, key};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::Limits;
use crate::name::{ChannelName, OperatorId, PackageName};
use crate::oci::Annotations;
use crate::version::{KubernetesVersion, Version};

/// What a call says about a bundle beside what its metadata says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The package.
    pub package: Option<PackageName>,
    /// The version.
    pub version: Option<Version>,
    /// The operator that the bundle is meant for.
    pub operator_id: Option<OperatorId>,
    /// The lowest version of that operator.
    pub min_operator_version: Option<Version>,
    /// The lowest version of Kubernetes.
    pub min_kubernetes_version: Option<KubernetesVersion>,
    /// The channels.
    pub channels: Vec<ChannelName>,
    /// What is in `manifests/`.
    pub mediatype: Option<Mediatype>,
    /// How placeholders are written.
    pub placeholders: Option<Placeholders>,
    /// Other keys and values.
    pub annotations: Annotations,
}

/// The keys of a source's metadata file and what comes to them when it is packed.
#[derive(Debug, Clone, Default)]
pub struct Filled {
    /// All keys and values.
    pub annotations: Annotations,
    /// The line of each key that the file has.
    pub lines: BTreeMap<String, u32>,
    /// What the file does not have.
    pub added: Annotations,
}

/// Complete metadata.
#[derive(Debug, Clone)]
pub struct Completed {
    /// What it means.
    pub metadata: Metadata,
    /// The bytes of `metadata/annotations.yaml` in the bundle.
    pub bytes: Vec<u8>,
    /// The keys that the file did not have; comments of the file are not carried when there are any.
    pub added: Vec<String>,
}

impl Identity {
    /// Returns what the call says as keys and values, with the flag that said it.
    fn entries(&self) -> Vec<(String, String, String)> {
        let text = |value: &dyn ToString| Some(value.to_string());
        let channels: Vec<&str> = self.channels.iter().map(ChannelName::as_str).collect();
        let known = [
            (
                key::PACKAGE,
                self.package.as_ref().and_then(|v| text(v)),
                "--package",
            ),
            (
                key::VERSION,
                self.version.as_ref().and_then(|v| text(v)),
                "--version",
            ),
            (
                key::OPERATOR_ID,
                self.operator_id.as_ref().and_then(|v| text(v)),
                "--operator-id",
            ),
            (
                key::MIN_OPERATOR_VERSION,
                self.min_operator_version.as_ref().and_then(|v| text(v)),
                "--min-operator-version",
            ),
            (
                key::MIN_KUBERNETES_VERSION,
                self.min_kubernetes_version.as_ref().and_then(|v| text(v)),
                "--min-kubernetes-version",
            ),
            (
                key::CHANNELS,
                (!channels.is_empty()).then(|| channels.join(",")),
                "--channels",
            ),
            (
                key::MEDIATYPE,
                self.mediatype.map(|m| m.name().to_owned()),
                "--mediatype",
            ),
            (
                key::PLACEHOLDERS,
                self.placeholders.map(|p| p.name().to_owned()),
                "--placeholders",
            ),
        ];
        let known = known
            .into_iter()
            .filter_map(|(key, value, flag)| Some((key.to_owned(), value?, flag.to_owned())));
        let free = self.annotations.iter().map(|(key, value)| {
            (
                key.clone(),
                value.clone(),
                format!("--annotation {}", shown(key)),
            )
        });
        known.chain(free).collect()
    }
}

/// Adds to the metadata of a source what comes to it when it is packed, whether that is enough and right or not.
///
/// `file` is the source's `metadata/annotations.yaml`, if it has one; `highest` is the highest minimum operator version that
/// its objects ask for, taken up when nothing else says one, and `more` what comes in the same way where nobody says otherwise.
///
/// # Errors
///
/// [`Kind::Usage`](crate::error::Kind::Usage) for a call that contradicts the file, [`Kind::Invalid`](crate::error::Kind::Invalid) for a file without keys and values.
pub fn fill(
    file: Option<&[u8]>,
    identity: &Identity,
    highest: Option<&Version>,
    more: &Annotations,
    limits: &Limits,
) -> Result<Filled> {
    let (mut annotations, lines) = match file {
        Some(bytes) => text::parse(bytes, limits).map_err(Error::of_findings)?,
        None => (Annotations::new(), BTreeMap::new()),
    };
    let mut added = Annotations::new();
    let mut add = |annotations: &mut Annotations, key: &str, value: String| {
        annotations.insert(key.to_owned(), value.clone());
        added.insert(key.to_owned(), value);
    };
    for (key, value, flag) in identity.entries() {
        match annotations.get(&key) {
            Some(present) if *present == value => {}
            Some(present) => {
                let line = lines.get(&key).copied().unwrap_or_default();
                let place = if line > 0 {
                    format!("{FILE}:{line}")
                } else {
                    FILE.to_owned()
                };
                return Err(Error::usage(format!(
                    "{flag} says `{}`, but {place} says `{}`",
                    shown(&value),
                    shown(present)
                ))
                .file(FILE)
                .line(line)
                .expected(shown(present))
                .found(shown(&value))
                .hint(format!("leave out {flag}, or change the file")));
            }
            None => add(&mut annotations, &key, value),
        }
    }
    for (key, value) in [
        (key::MEDIATYPE, Mediatype::Manifests.name()),
        (key::MANIFESTS, "manifests/"),
        (key::METADATA, "metadata/"),
    ] {
        if !annotations.contains_key(key) {
            add(&mut annotations, key, value.to_owned());
        }
    }
    if let Some(highest) = highest
        && !annotations.contains_key(key::MIN_OPERATOR_VERSION)
    {
        add(
            &mut annotations,
            key::MIN_OPERATOR_VERSION,
            highest.to_string(),
        );
    }
    for (key, value) in more {
        if !annotations.contains_key(key) {
            add(&mut annotations, key, value.clone());
        }
    }
    Ok(Filled {
        annotations,
        lines,
        added,
    })
}

/// Completes the metadata of a bundle, as [`fill`] does, and reads its meaning.
///
/// # Errors
///
/// What [`fill`] refuses, and [`Kind::Invalid`](crate::error::Kind::Invalid) for metadata that is not valid in the end.
pub fn complete(
    file: Option<&[u8]>,
    identity: &Identity,
    highest: Option<&Version>,
    more: &Annotations,
    limits: &Limits,
) -> Result<Completed> {
    let Filled {
        annotations,
        lines,
        added,
    } = fill(file, identity, highest, more, limits)?;
    let bytes = match file {
        Some(bytes) if added.is_empty() => with_argo_cd_line(bytes),
        _ => text::write(&annotations),
    };
    let hint = identity_hint(&annotations);
    let metadata = Metadata::of(annotations, &|key| {
        lines.get(key).copied().unwrap_or_default()
    })
    .map_err(|findings| {
        let error = Error::of_findings(findings);
        match hint {
            Some(hint) if error.detail().hint.is_none() => error.hint(hint),
            _ => error,
        }
    })?;
    Ok(Completed {
        metadata,
        bytes,
        added: added.into_keys().collect(),
    })
}

/// Says how to give what every bundle needs.
pub(crate) fn identity_hint(annotations: &Annotations) -> Option<String> {
    let missing: Vec<&str> = [(key::PACKAGE, "--package P"), (key::VERSION, "--version V")]
        .into_iter()
        .filter(|(key, _)| !annotations.contains_key(*key))
        .map(|(_, flag)| flag)
        .collect();
    (!missing.is_empty()).then(|| format!("add {}, or write it into {FILE}", missing.join(" ")))
}

/// Puts Argo CD's line first, unless it is there.
fn with_argo_cd_line(bytes: &[u8]) -> Vec<u8> {
    // A byte order mark can only stand at the very beginning.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    if first.strip_suffix(b"\r").unwrap_or(first) == ARGO_CD_LINE.as_bytes() {
        return bytes.to_vec();
    }
    [ARGO_CD_LINE.as_bytes(), b"\n", bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    const FULL: &str = "annotations:\n  k8s.io.bundle.mediatype.v1: manifests\n  k8s.io.bundle.manifests.v1: manifests/\n  \
                        k8s.io.bundle.metadata.v1: metadata/\n  k8s.io.bundle.package.v1: etcd # ours\n  k8s.io.bundle.version.v1: \"3.5.0\"\n";

    fn identity(package: &str, version: &str) -> Identity {
        Identity {
            package: Some(package.parse().unwrap()),
            version: Some(version.parse().unwrap()),
            ..Identity::default()
        }
    }

    fn completed(
        file: Option<&str>,
        identity: &Identity,
        highest: Option<&str>,
    ) -> Result<Completed> {
        let highest = highest.map(|v| v.parse().unwrap());
        complete(
            file.map(str::as_bytes),
            identity,
            highest.as_ref(),
            &Annotations::new(),
            &Limits::default(),
        )
    }

    #[test]
    fn a_full_file_is_carried_with_its_comments() {
        let done = completed(Some(FULL), &Identity::default(), None).unwrap();
        assert!(done.added.is_empty());
        assert_eq!(done.bytes, format!("{ARGO_CD_LINE}\n{FULL}").as_bytes());
        let again = completed(
            Some(std::str::from_utf8(&done.bytes).unwrap()),
            &identity("etcd", "3.5.0"),
            None,
        )
        .unwrap();
        assert_eq!(
            again.bytes, done.bytes,
            "packing what was unpacked changes nothing"
        );
    }

    #[test]
    fn only_the_whole_line_tells_argo_cd_to_skip_the_file() {
        for (line, is_there) in [
            ("# +argocd:skip-file-rendering", true),
            ("# +argocd:skip-file-rendering\r", true),
            ("# +argocd:skip-file-rendering-not", false),
            ("# +argocd:skip-file-rendering ", false),
            ("#+argocd:skip-file-rendering", false),
            ("# ours\n# +argocd:skip-file-rendering", false),
        ] {
            let file = format!("{line}\n{FULL}");
            let done = completed(Some(&file), &Identity::default(), None).unwrap();
            let want = if is_there {
                file
            } else {
                format!("{ARGO_CD_LINE}\n{file}")
            };
            assert_eq!(done.bytes, want.as_bytes(), "{line:?}");
        }
    }

    #[test]
    fn what_is_missing_is_added_and_named() {
        let done = completed(None, &identity("etcd", "3.5.0"), None).unwrap();
        assert_eq!(done.added.len(), 5);
        assert_eq!(
            Metadata::parse(&done.bytes, &Limits::default()).unwrap(),
            done.metadata
        );
        let mut with_operator = identity("etcd", "3.5.0");
        with_operator.operator_id = Some("x".parse().unwrap());
        let done = completed(Some(FULL), &with_operator, Some("1.2.0")).unwrap();
        assert_eq!(done.added, [key::OPERATOR_ID, key::MIN_OPERATOR_VERSION]);
        assert_eq!(
            done.metadata.min_operator_version.unwrap().to_string(),
            "1.2.0"
        );
    }

    #[test]
    fn contradictions_and_gaps_are_errors_that_help() {
        let error = completed(Some(FULL), &identity("etcd", "3.5.1"), None).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        assert_eq!(
            error.message(),
            "--version says `3.5.1`, but metadata/annotations.yaml:6 says `3.5.0`"
        );
        let error = completed(None, &Identity::default(), None).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(
            error
                .detail()
                .hint
                .as_deref()
                .unwrap()
                .contains("--package P --version V")
        );
        // A minimum without an operator has nobody to hold to it.
        assert_eq!(
            completed(Some(FULL), &Identity::default(), Some("1.2.0"))
                .unwrap_err()
                .kind(),
            Kind::Invalid
        );
    }
}
