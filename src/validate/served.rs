//! API versions and kinds of Kubernetes that a cluster does not serve yet, or that no release is known to serve.
//!
//! What was served once and is gone is the affair of `removed`. Only groups that are built in, nobody's CRDs.

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::Object;
use crate::path::BundlePath;
use crate::removed_apis::{NEWEST, served_since};
use crate::version::KubernetesVersion;

use super::Whole;
use super::context::Context;

/// A group that is built in: the versions that any release served, and all its kinds.
struct Group {
    name: &'static str,
    versions: &'static [&'static str],
    kinds: &'static [&'static str],
}

const fn group(
    name: &'static str,
    versions: &'static [&'static str],
    kinds: &'static [&'static str],
) -> Group {
    Group {
        name,
        versions,
        kinds,
    }
}

const V1: &[&str] = &["v1"];
const TO_BETA: &[&str] = &["v1", "v1beta1"];
const TO_ALPHA: &[&str] = &["v1", "v1beta1", "v1alpha1"];

/// The groups of which all versions and kinds are known, up to [`NEWEST`].
#[rustfmt::skip]
const GROUPS: &[Group] = &[
    group("", V1, &["Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "List", "Namespace",
        "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController", "ResourceQuota",
        "Secret", "Service", "ServiceAccount"]),
    group("admissionregistration.k8s.io", TO_ALPHA, &["ExternalAdmissionHookConfiguration", "InitializerConfiguration",
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"]),
    group("apiextensions.k8s.io", TO_BETA, &["ConversionReview", "CustomResourceDefinition"]),
    group("apiregistration.k8s.io", TO_BETA, &["APIService"]),
    group("apps", &["v1", "v1beta2", "v1beta1"], &["ControllerRevision", "DaemonSet", "Deployment", "DeploymentRollback",
        "ReplicaSet", "Scale", "StatefulSet"]),
    group("autoscaling", &["v1", "v2", "v2beta2", "v2beta1"], &["HorizontalPodAutoscaler", "Scale"]),
    group("authentication.k8s.io", TO_ALPHA, &["SelfSubjectReview", "TokenRequest", "TokenReview"]),
    group("authorization.k8s.io", TO_BETA, &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview",
        "SubjectAccessReview"]),
    group("batch", &["v1", "v1beta1", "v2alpha1"], &["CronJob", "Job", "JobTemplate", "ScheduledJob"]),
    group("certificates.k8s.io", TO_ALPHA, &["CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"]),
    group("coordination.k8s.io", &["v1", "v1beta1", "v1alpha2", "v1alpha1"], &["Lease", "LeaseCandidate"]),
    group("discovery.k8s.io", TO_ALPHA, &["EndpointSlice"]),
    group("events.k8s.io", TO_BETA, &["Event"]),
    group("extensions", &["v1beta1"], &["DaemonSet", "Deployment", "DeploymentRollback", "HorizontalPodAutoscaler", "Ingress",
        "Job", "NetworkPolicy", "PodSecurityPolicy", "ReplicaSet", "Scale", "ThirdPartyResource"]),
    group("flowcontrol.apiserver.k8s.io", &["v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha1"], &["FlowSchema",
        "PriorityLevelConfiguration"]),
    group("networking.k8s.io", TO_ALPHA, &["ClusterCIDR", "IPAddress", "Ingress", "IngressClass", "NetworkPolicy",
        "ServiceCIDR"]),
    group("node.k8s.io", TO_ALPHA, &["RuntimeClass"]),
    group("policy", TO_BETA, &["Eviction", "PodDisruptionBudget", "PodSecurityPolicy"]),
    group("rbac.authorization.k8s.io", TO_ALPHA, &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    group("resource.k8s.io", &["v1", "v1beta2", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"], &["DeviceClass",
        "DeviceTaintRule", "PodScheduling", "PodSchedulingContext", "ResourceClaim", "ResourceClaimParameters",
        "ResourceClaimTemplate", "ResourceClass", "ResourceClassParameters", "ResourcePoolStatusRequest", "ResourceSlice"]),
    group("scheduling.k8s.io", &["v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"], &["CompositePodGroup", "PodGroup",
        "PriorityClass", "Workload"]),
    group("storage.k8s.io", TO_ALPHA, &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment",
        "VolumeAttributesClass"]),
    group("storagemigration.k8s.io", TO_ALPHA, &["StorageVersionMigration"]),
];

/// Reports APIs of Kubernetes that the cluster does not serve yet, and versions and kinds that are not known.
pub(super) fn served(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let api_version = object.api_version();
    let kind = &object.id.kind;
    if let (Some(cluster), Some(since)) =
        (context.kubernetes_version, served_since(&api_version, kind))
        && cluster < since
    {
        let message = format!(
            "`{}` of {} is served from Kubernetes {} on, and {cluster} is asked about",
            shown(kind),
            shown(&api_version),
            since.short()
        );
        findings.push(Finding::error("api-not-served", message).at(path, object.line));
        return;
    }
    let Some((what, hint)) = unknown(&object.id.group, &object.version, kind) else {
        return;
    };
    let message = format!("{what} is not known in Kubernetes up to {}", NEWEST.short());
    findings.push(
        Finding::warning("api-not-served", message)
            .at(path, object.line)
            .hint(hint),
    );
}

/// Returns what is not known of an API of a built-in group, and what is.
fn unknown(group: &str, version: &str, kind: &str) -> Option<(String, String)> {
    let known = GROUPS.iter().find(|known| known.name == group)?;
    if [version, kind].iter().any(|text| text.contains("{{")) {
        return None;
    }
    let full = |group: &Group| match (group.name, group.versions.first()) {
        ("", Some(version)) => (*version).to_owned(),
        (name, version) => format!("{name}/{}", version.unwrap_or(&"v1")),
    };
    if !known.kinds.contains(&kind) {
        let what = match group {
            "" => format!("a kind `{}` of `{}`", shown(kind), shown(version)),
            _ => format!("a kind `{}` of the group `{group}`", shown(kind)),
        };
        // The group that is dying out is no advice.
        let elsewhere = GROUPS
            .iter()
            .find(|other| other.name != "extensions" && other.kinds.contains(&kind));
        let hint = match elsewhere {
            Some(other) => format!("`{}` is one of `{}`", shown(kind), full(other)),
            None => format!("its kinds are {}", known.kinds.join(", ")),
        };
        return Some((what, hint));
    }
    if !known.versions.contains(&version) {
        let api = match group {
            "" => shown(version),
            _ => shown(&format!("{group}/{version}")),
        };
        return Some((
            format!("the API version `{api}`"),
            format!("write `{}`", full(known)),
        ));
    }
    None
}

/// Says up to which release the tables know, where the cluster is of a later one.
pub(super) fn knowledge(context: &Context<'_>, _: &Whole<'_>, findings: &mut Vec<Finding>) {
    let Some(cluster) = context.kubernetes_version else {
        return;
    };
    // Patches of the newest release are known: they change no API.
    let is_known = cluster <= NEWEST || cluster.short() == NEWEST.short();
    if !is_known {
        findings.push(Finding::note("kubernetes-version", beyond(cluster)));
    }
}

fn beyond(cluster: KubernetesVersion) -> String {
    format!(
        "which APIs are served is known up to Kubernetes {}, and {cluster} is asked about",
        NEWEST.short()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removed_apis::REMOVED_APIS;

    #[test]
    fn what_was_served_once_is_known_and_what_never_was_is_not() {
        for api in REMOVED_APIS {
            let replacement = api.replacement.map(|new| new.api_version);
            for version in [Some(api.api_version), replacement].into_iter().flatten() {
                let (group, version) = version.split_once('/').unwrap();
                assert_eq!(unknown(group, version, api.kind), None, "{group}/{version}");
            }
        }
        for (group, version, kind, hint) in [
            ("apps", "v2", "Deployment", "write `apps/v1`"),
            ("", "v2", "Pod", "write `v1`"),
            ("", "v1", "Deployment", "`Deployment` is one of `apps/v1`"),
            (
                "networking.k8s.io",
                "v1",
                "Ingres",
                "its kinds are ClusterCIDR",
            ),
        ] {
            let (_, found) = unknown(group, version, kind).unwrap();
            assert!(found.starts_with(hint), "{found}");
        }
        for (group, version, kind) in [
            ("example.com", "v7", "Deployment"),
            ("apps", "{{ .Version }}", "Deployment"),
            ("apps", "v1", "Deployment"),
        ] {
            assert_eq!(unknown(group, version, kind), None);
        }
    }
}
