//! Names of objects, by what the API server asks of each kind: only kinds of which that is certain.
//!
//! Kinds whose names may be anything that fits into a URL, such as those of RBAC, are not here; for all kinds see `identity`.

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::Object;
use crate::path::BundlePath;

use super::context::Context;
use super::identity::{is_label, is_subdomain};
use super::labels::is_filled;

/// The longest name of a CronJob: its Jobs get eleven characters more.
const CRON_JOB_MAX: usize = 52;

/// What a name must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Labels joined with dots.
    Subdomain,
    /// Letters, digits and `-`.
    Label,
    /// A label that begins with a letter, as DNS had it first.
    ServiceLabel,
}

impl Rule {
    fn allows(self, name: &str) -> bool {
        match self {
            Self::Subdomain => is_subdomain(name),
            Self::Label => is_label(name),
            Self::ServiceLabel => is_label(name) && !name.starts_with(|c: char| c.is_ascii_digit()),
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Self::Subdomain => {
                "lower-case letters, digits, `-` and `.`, with a letter or digit at both ends of each part"
            }
            Self::Label => {
                "at most 63 lower-case letters, digits and `-`, with a letter or digit at both ends"
            }
            Self::ServiceLabel => {
                "at most 63 lower-case letters, digits and `-`, with a letter first and no `-` last"
            }
        }
    }
}

fn rule(group: &str, kind: &str) -> Option<Rule> {
    match (group, kind) {
        ("", "Service") => Some(Rule::ServiceLabel),
        ("", "Namespace") => Some(Rule::Label),
        (
            "",
            "ConfigMap"
            | "Endpoints"
            | "LimitRange"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "Pod"
            | "PodTemplate"
            | "ReplicationController"
            | "ResourceQuota"
            | "Secret"
            | "ServiceAccount",
        )
        | ("apps", "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet")
        | ("batch", "CronJob" | "Job")
        | ("autoscaling", "HorizontalPodAutoscaler")
        | ("policy", "PodDisruptionBudget")
        | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy")
        | ("storage.k8s.io", "StorageClass")
        | ("scheduling.k8s.io", "PriorityClass")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => Some(Rule::Subdomain),
        _ => None,
    }
}

/// Reports names that every API server refuses for the kind.
pub(super) fn name(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let id = &object.id;
    // kustomize can replace a name.
    if context.is_kustomize() || is_filled(&id.name) {
        return;
    }
    let Some(rule) = rule(&id.group, &id.kind) else {
        return;
    };
    // What the API server puts behind a prefix ends it well.
    let (field, whole) = if object.has_generated_name {
        ("generateName", format!("{}x", id.name))
    } else {
        ("name", id.name.clone())
    };
    let is_long_cron_job = id.kind == "CronJob" && whole.len() > CRON_JOB_MAX;
    let wanted = match (rule.allows(&whole), is_long_cron_job) {
        (false, _) => rule.wanted(),
        (true, true) => "at most 52 characters",
        (true, false) => return,
    };
    let node = object.node.at(&["metadata", field]);
    let line = node.map_or(object.line, |node| node.line);
    let message = format!(
        "`metadata.{field}` is `{}`, and the name of a {} has {wanted}",
        shown(&id.name),
        shown(&id.kind)
    );
    findings.push(Finding::error("object-name", message).at(path, line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_the_rule_of_the_api_server() {
        for (group, kind, name, expected) in [
            ("", "ConfigMap", "a.b-c.1", true),
            ("", "ConfigMap", "My_Config", false),
            ("", "ConfigMap", "a..b", false),
            ("", "Secret", "-a", false),
            ("", "Service", "a-1", true),
            ("", "Service", "1-a", false),
            ("", "Service", "a.b", false),
            ("", "Namespace", "1-a", true),
            ("", "Namespace", "a.b", false),
            ("apps", "Deployment", "A", false),
        ] {
            let rule = rule(group, kind).unwrap();
            assert_eq!(rule.allows(name), expected, "{kind} {name}");
        }
        for (group, kind) in [
            ("rbac.authorization.k8s.io", "ClusterRole"),
            ("example.com", "Deployment"),
        ] {
            assert_eq!(rule(group, kind), None);
        }
    }
}
