//! Resolution: which bundle is the newest that an operator can run, and why a newer one is not (spec/resolution.md).
//!
//! A pure judgement of what a bundle says, or what a channel says of it; where the candidates come from is `ops::resolve`.

use std::fmt;

use crate::metadata::Metadata;
use crate::name::{OperatorId, PackageName};
use crate::requirement::Requirement;
use crate::version::{KubernetesVersion, Version};

/// What decides about a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The package.
    pub package: PackageName,
    /// The version of the package.
    pub version: Version,
    /// The operator that the bundle is meant for; none means any.
    pub operator_id: Option<OperatorId>,
    /// The lowest version of that operator.
    pub min_operator_version: Option<Version>,
    /// The lowest version of Kubernetes.
    pub min_kubernetes_version: Option<KubernetesVersion>,
}

impl From<&Metadata> for Facts {
    fn from(metadata: &Metadata) -> Self {
        Self {
            package: metadata.package.clone(),
            version: metadata.version.clone(),
            operator_id: metadata.operator_id.clone(),
            min_operator_version: metadata.min_operator_version.clone(),
            min_kubernetes_version: metadata.min_kubernetes_version,
        }
    }
}

impl Facts {
    /// Returns the first thing in which a bundle is not what was said of it; `said_by` did the saying, such as `channel`.
    pub fn contradiction(&self, bundle: &Self, said_by: &'static str) -> Option<Reason> {
        let text = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
        let pairs = [
            (
                "package",
                self.package.to_string(),
                bundle.package.to_string(),
            ),
            (
                "version",
                self.version.to_string(),
                bundle.version.to_string(),
            ),
            (
                "operator id",
                text(self.operator_id.as_ref().map(ToString::to_string)),
                text(bundle.operator_id.as_ref().map(ToString::to_string)),
            ),
            (
                "minimum operator version",
                text(self.min_operator_version.as_ref().map(ToString::to_string)),
                text(
                    bundle
                        .min_operator_version
                        .as_ref()
                        .map(ToString::to_string),
                ),
            ),
            (
                "minimum Kubernetes version",
                text(self.min_kubernetes_version.map(|v| v.to_string())),
                text(bundle.min_kubernetes_version.map(|v| v.to_string())),
            ),
        ];
        let (what, said, found) = pairs.into_iter().find(|(_, said, found)| said != found)?;
        Some(Reason::Contradiction {
            said_by,
            what,
            said,
            found,
        })
    }
}

/// What a caller asks for; whatever is absent does not matter to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Question {
    /// The package.
    pub package: Option<PackageName>,
    /// The version.
    pub version: Option<Requirement>,
    /// The operator that will apply the bundle.
    pub operator_id: Option<OperatorId>,
    /// The version of that operator.
    pub operator_version: Option<Version>,
    /// The version of the cluster.
    pub kubernetes_version: Option<KubernetesVersion>,
    /// Whether pre-releases come into question that the requirement does not name.
    pub pre: bool,
    /// Whether a bundle that names no operator is accepted for any.
    pub allow_unbound: bool,
}

impl Question {
    /// Tells whether a pre-release may be the answer.
    pub fn admits_prereleases(&self) -> bool {
        self.pre
            || self
                .version
                .as_ref()
                .is_some_and(Requirement::names_prerelease)
    }
}

/// Why a bundle was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It is a pre-release, and nobody asked for one.
    PreRelease,
    /// Its version is not one that was asked for.
    Version {
        /// What was asked for.
        required: String,
    },
    /// It is another package.
    Package {
        /// The package that it is.
        found: PackageName,
    },
    /// It is meant for another operator, or for none.
    OperatorId {
        /// The operator that it is meant for.
        found: Option<OperatorId>,
    },
    /// It needs a later version of the operator.
    MinOperatorVersion {
        /// The lowest version that understands it.
        minimum: Version,
    },
    /// It needs a later version of Kubernetes.
    MinKubernetesVersion {
        /// The lowest version.
        minimum: KubernetesVersion,
    },
    /// It is not what its channel or its tag says of it.
    Contradiction {
        /// Who says it: `channel` or `tag`.
        said_by: &'static str,
        /// What it says something about.
        what: &'static str,
        /// What it says.
        said: String,
        /// What the bundle says.
        found: String,
    },
    /// It is listed and not there.
    Missing,
    /// It cannot be used: no bundle, unsafe, or over a ceiling.
    Unusable {
        /// Why, in words.
        why: String,
    },
}

impl Reason {
    /// Returns the stable name that machines read.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PreRelease => "pre-release",
            Self::Version { .. } => "version",
            Self::Package { .. } => "package",
            Self::OperatorId { .. } => "operator-id",
            Self::MinOperatorVersion { .. } => "min-operator-version",
            Self::MinKubernetesVersion { .. } => "min-kubernetes-version",
            Self::Contradiction { .. } => "contradiction",
            Self::Missing => "missing",
            Self::Unusable { .. } => "unusable",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PreRelease => write!(f, "is a pre-release"),
            Self::Version { required } => write!(f, "does not satisfy `{required}`"),
            Self::Package { found } => write!(f, "is the package {found}"),
            Self::OperatorId { found: Some(found) } => write!(f, "is meant for {found}"),
            Self::OperatorId { found: None } => write!(f, "names no operator"),
            Self::MinOperatorVersion { minimum } => {
                write!(f, "needs version {minimum} of its operator")
            }
            Self::MinKubernetesVersion { minimum } => write!(f, "needs Kubernetes {minimum}"),
            Self::Contradiction {
                said_by,
                what,
                said,
                found,
            } => write!(
                f,
                "the {said_by} gives its {what} as {said}, and it is {found}"
            ),
            Self::Missing => write!(f, "is listed and not there"),
            Self::Unusable { why } => write!(f, "cannot be used: {why}"),
        }
    }
}

impl Question {
    /// Judges a version alone, which is all that a tag tells.
    pub fn judge_version(&self, version: &Version) -> Option<Reason> {
        match &self.version {
            Some(required) if self.pre && required.admits(version) => None,
            Some(required) if required.matches(version) => None,
            Some(required) if required.admits(version) => Some(Reason::PreRelease),
            Some(required) => Some(Reason::Version {
                required: required.to_string(),
            }),
            None if version.is_prerelease() && !self.pre => Some(Reason::PreRelease),
            None => None,
        }
    }

    /// Returns why a bundle does not fit, or nothing when it does.
    pub fn judge(&self, facts: &Facts) -> Option<Reason> {
        if let Some(reason) = self.judge_version(&facts.version) {
            return Some(reason);
        }
        if self
            .package
            .as_ref()
            .is_some_and(|asked| *asked != facts.package)
        {
            return Some(Reason::Package {
                found: facts.package.clone(),
            });
        }
        let is_meant_for = |asked: &OperatorId| match &facts.operator_id {
            Some(found) => found == asked,
            None => self.allow_unbound,
        };
        if !self.operator_id.as_ref().is_none_or(is_meant_for) {
            return Some(Reason::OperatorId {
                found: facts.operator_id.clone(),
            });
        }
        if let (Some(asked), Some(minimum)) = (&self.operator_version, &facts.min_operator_version)
            && asked.precedence(minimum).is_lt()
        {
            return Some(Reason::MinOperatorVersion {
                minimum: minimum.clone(),
            });
        }
        match (self.kubernetes_version, facts.min_kubernetes_version) {
            (Some(asked), Some(minimum)) if asked < minimum => {
                Some(Reason::MinKubernetesVersion { minimum })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(version: &str, operator: &str, minimum: &str, kubernetes: &str) -> Facts {
        let optional = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Facts {
            package: "etcd".parse().unwrap(),
            version: version.parse().unwrap(),
            operator_id: optional(operator).map(|id| id.parse().unwrap()),
            min_operator_version: optional(minimum).map(|v| v.parse().unwrap()),
            min_kubernetes_version: optional(kubernetes).map(|v| v.parse().unwrap()),
        }
    }

    #[test]
    fn the_first_thing_that_does_not_fit_is_the_reason() {
        let question = Question {
            package: Some("etcd".parse().unwrap()),
            operator_id: Some("etcd-manager".parse().unwrap()),
            operator_version: Some("1.4.0".parse().unwrap()),
            kubernetes_version: Some("v1.31.2-gke.100".parse().unwrap()),
            ..Question::default()
        };
        let id = "etcd-manager";
        for (facts, want) in [
            (facts("3.5.0", id, "1.4.0", "1.31"), None),
            (facts("3.5.0", id, "", ""), None),
            (facts("3.5.0", id, "1.4.0-rc.1", ""), None),
            (facts("3.5.0-rc.1", id, "", ""), Some("pre-release")),
            (facts("3.5.0", "", "", ""), Some("operator-id")),
            (facts("3.5.0", "etcd-druid", "", ""), Some("operator-id")),
            (
                facts("3.5.0", id, "1.4.1", "1.99"),
                Some("min-operator-version"),
            ),
            (
                facts("3.5.0", id, "1.10.0", ""),
                Some("min-operator-version"),
            ),
            (
                facts("3.5.0", id, "1.0.0", "1.32"),
                Some("min-kubernetes-version"),
            ),
        ] {
            let found = question.judge(&facts);
            assert_eq!(found.as_ref().map(Reason::code), want, "{facts:?}");
        }
        let other = Question {
            package: Some("zookeeper".parse().unwrap()),
            ..question.clone()
        };
        let reason = other.judge(&facts("3.5.0", id, "", "")).unwrap();
        assert_eq!(reason.to_string(), "is the package etcd");
        let unbound = Question {
            allow_unbound: true,
            ..question
        };
        assert_eq!(unbound.judge(&facts("3.5.0", "", "", "")), None);
        assert!(
            unbound
                .judge(&facts("3.5.0", "etcd-druid", "", ""))
                .is_some()
        );
    }

    #[test]
    fn pre_releases_come_when_they_are_named_or_asked_for() {
        for (required, pre, version, want) in [
            (None, false, "1.0.0", None),
            (None, false, "1.0.0-rc.1", Some("pre-release")),
            (None, true, "1.0.0-rc.1", None),
            (Some("^1.0"), false, "1.1.0-rc.1", Some("pre-release")),
            (Some("^1.0"), true, "1.1.0-rc.1", None),
            (Some("^1.0"), true, "2.0.0-rc.1", Some("version")),
            (Some(">=1.1.0-rc.1"), false, "1.1.0-rc.2", None),
            (Some("1.1.0-rc.1"), false, "1.1.0-rc.1", None),
            (Some("1.1.0"), true, "1.1.0-rc.1", Some("version")),
        ] {
            let question = Question {
                version: required.map(|text| text.parse().unwrap()),
                pre,
                ..Question::default()
            };
            let found = question.judge_version(&version.parse().unwrap());
            assert_eq!(
                found.as_ref().map(Reason::code),
                want,
                "{required:?} {pre} {version}"
            );
        }
    }

    #[test]
    fn what_is_said_of_a_bundle_must_be_what_it_says() {
        let said = facts("1.0.0", "a", "1.0.0", "1.30");
        assert_eq!(said.contradiction(&said.clone(), "channel"), None);
        let found = facts("1.0.0", "a", "2.0.0", "1.30");
        let reason = said.contradiction(&found, "channel").unwrap();
        assert_eq!(
            reason.to_string(),
            "the channel gives its minimum operator version as 1.0.0, and it is 2.0.0"
        );
    }
}
