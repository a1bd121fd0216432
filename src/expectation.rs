//! Expectations: what a caller wants a bundle to be, compared with what it says it is (spec/verification.md).
//!
//! A pure comparison; integrity has been checked when it comes to this. Every check gives a line, asked or not, so that
//! nobody takes "not looked at" for "fine" (P9).

use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::metadata::Metadata;
use crate::name::{OperatorId, PackageName};
use crate::requirement::Requirement;
use crate::tag::Tag;
use crate::version::{KubernetesVersion, Version};

pub use crate::check::{Check, Outcome};

/// What the caller wants; whatever is absent is not asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The package.
    pub package: Option<PackageName>,
    /// The version, as a requirement.
    pub version: Option<Requirement>,
    /// The operator that will apply the bundle.
    pub operator_id: Option<OperatorId>,
    /// The version of that operator.
    pub operator_version: Option<Version>,
    /// The version of the cluster.
    pub kubernetes_version: Option<KubernetesVersion>,
    /// Whether a bundle that names no operator is accepted for any.
    pub allow_unbound: bool,
}

impl Expectations {
    /// Tells whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        *self
            == Self {
                allow_unbound: self.allow_unbound,
                ..Self::default()
            }
    }
}

/// Compares a bundle with the expectations and with the tag by which it was asked for.
pub fn check(metadata: &Metadata, tag: Option<&Tag>, expected: &Expectations) -> Vec<Check> {
    vec![
        package(metadata, expected),
        version(metadata, expected),
        operator_id(metadata, expected),
        operator_version(metadata, expected),
        kubernetes_version(metadata, expected),
        tag_against_version(metadata, tag),
    ]
}

fn package(metadata: &Metadata, expected: &Expectations) -> Check {
    let found = metadata.package.to_string();
    match &expected.package {
        None => Check::not_asked("package", Some(found)),
        Some(package) => Check::of(
            "package",
            *package == metadata.package,
            package.as_str(),
            found,
        ),
    }
}

fn version(metadata: &Metadata, expected: &Expectations) -> Check {
    let found = metadata.version.to_string();
    match &expected.version {
        None => Check::not_asked("version", Some(found)),
        Some(requirement) => Check::of(
            "version",
            requirement.matches(&metadata.version),
            requirement.to_string(),
            found,
        ),
    }
}

fn operator_id(metadata: &Metadata, expected: &Expectations) -> Check {
    let name = "operator id";
    let found = metadata.operator_id.as_ref().map(ToString::to_string);
    match (&expected.operator_id, &metadata.operator_id) {
        (None, _) => Check::not_asked(name, found),
        (Some(wanted), Some(id)) => Check::of(name, wanted == id, wanted.as_str(), id.as_str()),
        (Some(wanted), None) => {
            let wanted = if expected.allow_unbound {
                format!("{wanted} or none")
            } else {
                wanted.to_string()
            };
            Check::of(name, expected.allow_unbound, wanted, "none")
        }
    }
}

fn operator_version(metadata: &Metadata, expected: &Expectations) -> Check {
    let name = "minimum operator version";
    let found = metadata
        .min_operator_version
        .as_ref()
        .map(ToString::to_string);
    match (&expected.operator_version, &metadata.min_operator_version) {
        (None, _) => Check::not_asked(name, found),
        (Some(version), Some(minimum)) => Check::of(
            name,
            version.precedence(minimum).is_ge(),
            format!("at most {version}"),
            minimum.to_string(),
        ),
        (Some(version), None) => Check::of(name, true, format!("at most {version}"), "none"),
    }
}

fn kubernetes_version(metadata: &Metadata, expected: &Expectations) -> Check {
    let name = "Kubernetes version";
    let found = metadata
        .min_kubernetes_version
        .map(|minimum| format!("{minimum} or later"));
    match (expected.kubernetes_version, metadata.min_kubernetes_version) {
        (None, _) => Check::not_asked(name, found),
        (Some(version), minimum) => {
            let holds = minimum.is_none_or(|minimum| version >= minimum);
            Check::of(
                name,
                holds,
                version.to_string(),
                found.unwrap_or_else(|| "any".to_owned()),
            )
        }
    }
}

/// A tag that is a version promises that version; other tags promise nothing.
fn tag_against_version(metadata: &Metadata, tag: Option<&Tag>) -> Check {
    let name = "tag against version";
    match tag.and_then(|tag| Some((tag, tag.version()?))) {
        None => Check::not_asked(name, tag.map(ToString::to_string)),
        Some((tag, version)) => Check::of(
            name,
            version == metadata.version,
            format!("{version} (tag {tag})"),
            metadata.version.to_string(),
        ),
    }
}

/// Turns failed checks into the one error that refuses the bundle.
///
/// # Errors
///
/// [`Kind::Refused`] naming every check that failed, with expected and found of the first, and with all checks.
pub fn require(checks: &[Check]) -> Result<()> {
    let failed: Vec<&Check> = checks
        .iter()
        .filter(|check| check.outcome == Outcome::Failed)
        .collect();
    let Some(first) = failed.first() else {
        return Ok(());
    };
    let text = |value: &Option<String>| shown(value.as_deref().unwrap_or("none"));
    let all: Vec<String> = failed
        .iter()
        .map(|check| {
            format!(
                "{}: expected {}, found {}",
                check.name,
                text(&check.expected),
                text(&check.found)
            )
        })
        .collect();
    let mut error = Error::new(
        Kind::Refused,
        format!(
            "the bundle is not the one that was asked for: {}",
            all.join("; ")
        ),
    )
    .expected(text(&first.expected))
    .found(text(&first.found))
    .checks(checks.to_vec());
    if failed
        .iter()
        .any(|check| check.name == "operator id" && check.found.as_deref() == Some("none"))
    {
        error = error.hint("it names no operator; if that is fine, say --allow-unbound");
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::key;
    use crate::oci::Annotations;

    fn metadata(pairs: &[(&str, &str)]) -> Metadata {
        let mut all: Annotations = [
            (key::MEDIATYPE, "manifests"),
            (key::PACKAGE, "etcd"),
            (key::VERSION, "3.5.0"),
        ]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
        all.extend(
            pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned())),
        );
        Metadata::of(all, &|_| 0).unwrap()
    }

    fn bound() -> Metadata {
        metadata(&[
            (key::OPERATOR_ID, "etcd-manager"),
            (key::MIN_OPERATOR_VERSION, "1.4.0"),
            (key::MIN_KUBERNETES_VERSION, "1.28"),
        ])
    }

    #[test]
    fn nothing_asked_is_nothing_passed() {
        assert!(Expectations::default().is_empty());
        let checks = check(&bound(), None, &Expectations::default());
        assert!(
            checks
                .iter()
                .all(|check| check.outcome == Outcome::NotAsked)
        );
        assert!(require(&checks).is_ok());
    }

    #[test]
    fn each_expectation_passes_or_fails_by_itself() {
        let free = metadata(&[]);
        let ask = |change: &dyn Fn(&mut Expectations)| {
            let mut expected = Expectations::default();
            change(&mut expected);
            expected
        };
        type Change<'a> = &'a dyn Fn(&mut Expectations);
        let rows: Vec<(Metadata, Change<'_>, Option<&str>)> = vec![
            (
                bound(),
                &|e| e.package = Some("etcd".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.package = Some("prometheus".parse().unwrap()),
                Some("package"),
            ),
            (
                bound(),
                &|e| e.version = Some("^3.5".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.version = Some("<3".parse().unwrap()),
                Some("version"),
            ),
            (
                bound(),
                &|e| e.operator_id = Some("etcd-manager".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.operator_id = Some("other".parse().unwrap()),
                Some("operator id"),
            ),
            (
                free.clone(),
                &|e| e.operator_id = Some("other".parse().unwrap()),
                Some("operator id"),
            ),
            (
                free.clone(),
                &|e| {
                    e.operator_id = Some("other".parse().unwrap());
                    e.allow_unbound = true;
                },
                None,
            ),
            (
                bound(),
                &|e| e.operator_version = Some("1.4.0".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.operator_version = Some("1.10.0".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.operator_version = Some("1.4.0-rc.1".parse().unwrap()),
                Some("minimum operator version"),
            ),
            (
                free.clone(),
                &|e| e.operator_version = Some("0.0.1".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.kubernetes_version = Some("v1.28.0-gke.1".parse().unwrap()),
                None,
            ),
            (
                bound(),
                &|e| e.kubernetes_version = Some("1.27.9".parse().unwrap()),
                Some("Kubernetes version"),
            ),
            (
                free,
                &|e| e.kubernetes_version = Some("1.0".parse().unwrap()),
                None,
            ),
        ];
        for (metadata, change, fails) in rows {
            let expected = ask(change);
            let checks = check(&metadata, None, &expected);
            let failed: Vec<_> = checks
                .iter()
                .filter(|c| c.outcome == Outcome::Failed)
                .map(|c| c.name)
                .collect();
            assert_eq!(
                failed,
                fails.into_iter().collect::<Vec<_>>(),
                "{expected:?}"
            );
            assert_eq!(require(&checks).is_err(), fails.is_some());
        }
    }

    #[test]
    fn a_version_tag_must_tell_the_truth() {
        for (tag, outcome) in [
            ("3.5.0", Outcome::Passed),
            ("v3.5.0", Outcome::Passed),
            ("3.5.1", Outcome::Failed),
            ("stable", Outcome::NotAsked),
        ] {
            let checks = check(
                &bound(),
                Some(&tag.parse().unwrap()),
                &Expectations::default(),
            );
            assert_eq!(checks.last().unwrap().outcome, outcome, "{tag}");
        }
    }
}
