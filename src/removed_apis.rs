//! API versions of Kubernetes' own kinds that its API server stopped serving, or will: since when, and what to use instead.
//!
//! Facts from the "Deprecated API Migration Guide" (kubernetes.io/docs/reference/using-api/deprecation-guide) and from the
//! lifecycle that the types of `k8s.io/api` state; of alpha versions, from the OpenAPI documents of the releases 1.8 to 1.37, which do
//! not have them any more. [`AS_OF`] says of when. Only Kubernetes' own kinds, nobody's CRDs.

use crate::version::KubernetesVersion;

/// When the table was last compared with its sources, and the newest release that they speak of.
pub const AS_OF: &str = "2026-12, up to Kubernetes 1.37";

/// The newest release that the table speaks of.
pub const NEWEST: KubernetesVersion = KubernetesVersion::release(1, NEWEST_MINOR);

const NEWEST_MINOR: u64 = 37;

/// The newest release that nobody supports any more: what it does not serve, no cluster that is kept up serves.
///
/// Kubernetes supports three releases; one more is for those who are late.
pub const UNSUPPORTED: KubernetesVersion = KubernetesVersion::release(1, NEWEST_MINOR - 4);

/// An API version of a kind that is removed in some release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemovedApi {
    /// `group/version`.
    pub api_version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The first release that has something better; the one that removed it where it went without notice, as alpha versions may.
    pub deprecated_in: KubernetesVersion,
    /// The first release that does not serve it.
    pub removed_in: KubernetesVersion,
    /// What takes its place, if anything does.
    pub replacement: Option<Replacement>,
}

/// What takes the place of a removed API; the kind keeps its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replacement {
    /// `group/version`.
    pub api_version: &'static str,
    /// The first release that serves it.
    pub since: KubernetesVersion,
}

/// Returns what is known about the removal of an API, of which `api_version` is `group/version`.
pub fn removed_api(api_version: &str, kind: &str) -> Option<&'static RemovedApi> {
    REMOVED_APIS
        .iter()
        .find(|api| api.kind == kind && api.api_version == api_version)
}

/// Returns the first release that serves an API, if it took the place of one that is removed.
pub fn served_since(api_version: &str, kind: &str) -> Option<KubernetesVersion> {
    REMOVED_APIS
        .iter()
        .filter(|api| api.kind == kind)
        .filter_map(|api| api.replacement)
        .find(|new| new.api_version == api_version)
        .map(|new| new.since)
}

/// Makes a row from minor versions of Kubernetes 1.
const fn row(
    api_version: &'static str,
    kind: &'static str,
    deprecated_in: u64,
    removed_in: u64,
    replacement: (&'static str, u64),
) -> RemovedApi {
    RemovedApi {
        replacement: Some(Replacement {
            api_version: replacement.0,
            since: KubernetesVersion::release(1, replacement.1),
        }),
        ..lost(api_version, kind, deprecated_in, removed_in)
    }
}

/// Makes the row of an API that nothing replaces.
const fn lost(
    api_version: &'static str,
    kind: &'static str,
    deprecated_in: u64,
    removed_in: u64,
) -> RemovedApi {
    RemovedApi {
        api_version,
        kind,
        deprecated_in: KubernetesVersion::release(1, deprecated_in),
        removed_in: KubernetesVersion::release(1, removed_in),
        replacement: None,
    }
}

const ADMISSION: &str = "admissionregistration.k8s.io/v1beta1";
const ADMISSION_V1: &str = "admissionregistration.k8s.io/v1";
const APPS: (&str, u64) = ("apps/v1", 9);
const AUTHORIZATION: (&str, u64) = ("authorization.k8s.io/v1", 6);
const FLOW: (&str, u64) = ("flowcontrol.apiserver.k8s.io/v1", 29);
const RBAC: (&str, u64) = ("rbac.authorization.k8s.io/v1", 8);

/// All of them, by the release that removed them, the latest first.
#[rustfmt::skip]
pub const REMOVED_APIS: &[RemovedApi] = &[
    row("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 33, 37, ("certificates.k8s.io/v1", 37)),
    row("networking.k8s.io/v1beta1", "IPAddress", 33, 37, ("networking.k8s.io/v1", 33)),
    row("networking.k8s.io/v1beta1", "ServiceCIDR", 33, 37, ("networking.k8s.io/v1", 33)),
    row("scheduling.k8s.io/v1alpha2", "PodGroup", 37, 37, ("scheduling.k8s.io/v1beta1", 37)),
    row("scheduling.k8s.io/v1alpha2", "Workload", 37, 37, ("scheduling.k8s.io/v1beta1", 37)),
    row("storage.k8s.io/v1beta1", "VolumeAttributesClass", 34, 37, ("storage.k8s.io/v1", 34)),
    row("scheduling.k8s.io/v1alpha1", "Workload", 36, 36, ("scheduling.k8s.io/v1beta1", 37)),
    row("certificates.k8s.io/v1alpha1", "PodCertificateRequest", 35, 35, ("certificates.k8s.io/v1", 37)),
    row("storage.k8s.io/v1alpha1", "VolumeAttributesClass", 31, 35, ("storage.k8s.io/v1", 34)),
    row("storagemigration.k8s.io/v1alpha1", "StorageVersionMigration", 35, 35, ("storagemigration.k8s.io/v1", 37)),
    row(ADMISSION, "ValidatingAdmissionPolicy", 31, 34, (ADMISSION_V1, 30)),
    row(ADMISSION, "ValidatingAdmissionPolicyBinding", 31, 34, (ADMISSION_V1, 30)),
    row("resource.k8s.io/v1alpha3", "DeviceClass", 32, 34, ("resource.k8s.io/v1", 34)),
    row("resource.k8s.io/v1alpha3", "ResourceClaim", 32, 34, ("resource.k8s.io/v1", 34)),
    row("resource.k8s.io/v1alpha3", "ResourceClaimTemplate", 32, 34, ("resource.k8s.io/v1", 34)),
    row("resource.k8s.io/v1alpha3", "ResourceSlice", 32, 34, ("resource.k8s.io/v1", 34)),
    row("authentication.k8s.io/v1beta1", "SelfSubjectReview", 28, 33, ("authentication.k8s.io/v1", 28)),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 29, 32, FLOW),
    row("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration", 29, 32, FLOW),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicy", 28, 32, (ADMISSION_V1, 30)),
    row("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBinding", 28, 32, (ADMISSION_V1, 30)),
    row("authentication.k8s.io/v1alpha1", "SelfSubjectReview", 27, 32, ("authentication.k8s.io/v1", 28)),
    row("coordination.k8s.io/v1alpha1", "LeaseCandidate", 32, 32, ("coordination.k8s.io/v1beta1", 33)),
    lost("resource.k8s.io/v1alpha3", "PodSchedulingContext", 32, 32),
    row("networking.k8s.io/v1alpha1", "IPAddress", 31, 31, ("networking.k8s.io/v1", 33)),
    row("networking.k8s.io/v1alpha1", "ServiceCIDR", 31, 31, ("networking.k8s.io/v1", 33)),
    lost("resource.k8s.io/v1alpha2", "PodSchedulingContext", 31, 31),
    row("resource.k8s.io/v1alpha2", "ResourceClaim", 31, 31, ("resource.k8s.io/v1", 34)),
    lost("resource.k8s.io/v1alpha2", "ResourceClaimParameters", 31, 31),
    row("resource.k8s.io/v1alpha2", "ResourceClaimTemplate", 31, 31, ("resource.k8s.io/v1", 34)),
    lost("resource.k8s.io/v1alpha2", "ResourceClass", 31, 31),
    lost("resource.k8s.io/v1alpha2", "ResourceClassParameters", 31, 31),
    row("resource.k8s.io/v1alpha2", "ResourceSlice", 31, 31, ("resource.k8s.io/v1", 34)),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema", 26, 29, FLOW),
    row("flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration", 26, 29, FLOW),
    lost("networking.k8s.io/v1alpha1", "ClusterCIDR", 29, 29),
    row("storage.k8s.io/v1beta1", "CSIStorageCapacity", 24, 27, ("storage.k8s.io/v1", 24)),
    row("resource.k8s.io/v1alpha1", "ResourceClaim", 27, 27, ("resource.k8s.io/v1", 34)),
    row("resource.k8s.io/v1alpha1", "ResourceClaimTemplate", 27, 27, ("resource.k8s.io/v1", 34)),
    lost("resource.k8s.io/v1alpha1", "ResourceClass", 27, 27),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema", 23, 26, FLOW),
    row("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration", 23, 26, FLOW),
    row("autoscaling/v2beta2", "HorizontalPodAutoscaler", 23, 26, ("autoscaling/v2", 23)),
    row("autoscaling/v2beta1", "HorizontalPodAutoscaler", 22, 25, ("autoscaling/v2", 23)),
    row("batch/v1beta1", "CronJob", 21, 25, ("batch/v1", 21)),
    row("discovery.k8s.io/v1beta1", "EndpointSlice", 21, 25, ("discovery.k8s.io/v1", 21)),
    row("events.k8s.io/v1beta1", "Event", 22, 25, ("events.k8s.io/v1", 19)),
    row("node.k8s.io/v1beta1", "RuntimeClass", 22, 25, ("node.k8s.io/v1", 20)),
    row("policy/v1beta1", "PodDisruptionBudget", 21, 25, ("policy/v1", 21)),
    lost("policy/v1beta1", "PodSecurityPolicy", 21, 25),
    row("node.k8s.io/v1alpha1", "RuntimeClass", 14, 24, ("node.k8s.io/v1", 20)),
    row("storage.k8s.io/v1alpha1", "CSIStorageCapacity", 21, 24, ("storage.k8s.io/v1", 24)),
    row("scheduling.k8s.io/v1alpha1", "PriorityClass", 11, 23, ("scheduling.k8s.io/v1", 14)),
    row("storage.k8s.io/v1alpha1", "VolumeAttachment", 10, 23, ("storage.k8s.io/v1", 13)),
    row(ADMISSION, "MutatingWebhookConfiguration", 16, 22, (ADMISSION_V1, 16)),
    row(ADMISSION, "ValidatingWebhookConfiguration", 16, 22, (ADMISSION_V1, 16)),
    row("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 16, 22, ("apiextensions.k8s.io/v1", 16)),
    row("apiregistration.k8s.io/v1beta1", "APIService", 19, 22, ("apiregistration.k8s.io/v1", 10)),
    row("authentication.k8s.io/v1beta1", "TokenReview", 19, 22, ("authentication.k8s.io/v1", 6)),
    row("authorization.k8s.io/v1beta1", "LocalSubjectAccessReview", 19, 22, AUTHORIZATION),
    row("authorization.k8s.io/v1beta1", "SelfSubjectAccessReview", 19, 22, AUTHORIZATION),
    row("authorization.k8s.io/v1beta1", "SubjectAccessReview", 19, 22, AUTHORIZATION),
    row("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 19, 22, ("certificates.k8s.io/v1", 19)),
    row("coordination.k8s.io/v1beta1", "Lease", 19, 22, ("coordination.k8s.io/v1", 14)),
    row("extensions/v1beta1", "Ingress", 14, 22, ("networking.k8s.io/v1", 19)),
    row("networking.k8s.io/v1beta1", "Ingress", 19, 22, ("networking.k8s.io/v1", 19)),
    row("networking.k8s.io/v1beta1", "IngressClass", 19, 22, ("networking.k8s.io/v1", 19)),
    row("rbac.authorization.k8s.io/v1alpha1", "ClusterRole", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1alpha1", "ClusterRoleBinding", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1alpha1", "Role", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1alpha1", "RoleBinding", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRole", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1beta1", "Role", 17, 22, RBAC),
    row("rbac.authorization.k8s.io/v1beta1", "RoleBinding", 17, 22, RBAC),
    row("scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22, ("scheduling.k8s.io/v1", 14)),
    row("storage.k8s.io/v1beta1", "CSIDriver", 19, 22, ("storage.k8s.io/v1", 19)),
    row("storage.k8s.io/v1beta1", "CSINode", 17, 22, ("storage.k8s.io/v1", 17)),
    row("storage.k8s.io/v1beta1", "StorageClass", 19, 22, ("storage.k8s.io/v1", 6)),
    row("storage.k8s.io/v1beta1", "VolumeAttachment", 19, 22, ("storage.k8s.io/v1", 13)),
    row("authorization.k8s.io/v1beta1", "SelfSubjectRulesReview", 8, 22, ("authorization.k8s.io/v1", 8)),
    row("batch/v2alpha1", "CronJob", 8, 21, ("batch/v1", 21)),
    row("flowcontrol.apiserver.k8s.io/v1alpha1", "FlowSchema", 20, 21, FLOW),
    row("flowcontrol.apiserver.k8s.io/v1alpha1", "PriorityLevelConfiguration", 20, 21, FLOW),
    lost("settings.k8s.io/v1alpha1", "PodPreset", 18, 20),
    lost("auditregistration.k8s.io/v1alpha1", "AuditSink", 19, 19),
    row("discovery.k8s.io/v1alpha1", "EndpointSlice", 17, 17, ("discovery.k8s.io/v1", 21)),
    row("extensions/v1beta1", "NetworkPolicy", 9, 16, ("networking.k8s.io/v1", 8)),
    // It moved to `policy/v1beta1`, which is removed as well.
    lost("extensions/v1beta1", "PodSecurityPolicy", 11, 16),
    row("extensions/v1beta1", "DaemonSet", 8, 16, APPS),
    row("extensions/v1beta1", "Deployment", 8, 16, APPS),
    row("extensions/v1beta1", "ReplicaSet", 8, 16, APPS),
    row("apps/v1beta2", "DaemonSet", 9, 16, APPS),
    row("apps/v1beta2", "Deployment", 9, 16, APPS),
    row("apps/v1beta2", "ReplicaSet", 9, 16, APPS),
    row("apps/v1beta2", "StatefulSet", 9, 16, APPS),
    row("apps/v1beta1", "Deployment", 8, 16, APPS),
    row("apps/v1beta1", "ReplicaSet", 8, 16, APPS),
    row("apps/v1beta1", "StatefulSet", 8, 16, APPS),
    row("apps/v1beta1", "ControllerRevision", 8, 16, APPS),
    row("apps/v1beta2", "ControllerRevision", 9, 16, APPS),
    lost("admissionregistration.k8s.io/v1alpha1", "InitializerConfiguration", 14, 14),
    lost("admissionregistration.k8s.io/v1alpha1", "ExternalAdmissionHookConfiguration", 9, 9),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_api_is_found_by_its_version_and_kind_together() {
        let ingress = removed_api("extensions/v1beta1", "Ingress").unwrap();
        assert_eq!(ingress.removed_in, "1.22".parse().unwrap());
        assert_eq!(
            ingress.replacement.unwrap().api_version,
            "networking.k8s.io/v1"
        );
        assert_eq!(
            removed_api("policy/v1beta1", "PodSecurityPolicy")
                .unwrap()
                .replacement,
            None
        );
        for (api_version, kind, removed_in) in [
            ("batch/v2alpha1", "CronJob", "1.21"),
            ("resource.k8s.io/v1alpha2", "ResourceClaim", "1.31"),
            ("resource.k8s.io/v1alpha3", "ResourceClaim", "1.34"),
        ] {
            let found = removed_api(api_version, kind).unwrap();
            assert_eq!(found.removed_in, removed_in.parse().unwrap());
        }
        for (api_version, kind) in [
            ("networking.k8s.io/v1", "Ingress"),
            ("extensions/v1beta1", "Thing"),
            ("v1beta1", "Ingress"),
        ] {
            assert_eq!(removed_api(api_version, kind), None);
        }
    }

    #[test]
    fn every_row_is_in_order_and_leads_to_an_api_that_stays() {
        let mut seen = BTreeSet::new();
        let mut last = None;
        for api in REMOVED_APIS {
            assert!(seen.insert((api.api_version, api.kind)), "{api:?}");
            assert!(api.deprecated_in <= api.removed_in, "{api:?}");
            assert!(last.is_none_or(|last| last >= api.removed_in), "{api:?}");
            last = Some(api.removed_in);
            if let Some(replacement) = api.replacement {
                assert_eq!(
                    removed_api(replacement.api_version, api.kind),
                    None,
                    "{api:?}"
                );
                let since = served_since(replacement.api_version, api.kind);
                assert_eq!(since, Some(replacement.since), "{api:?}");
                assert!(replacement.since <= NEWEST, "{api:?}");
            }
        }
        assert!(AS_OF.ends_with(&format!("Kubernetes {}", NEWEST.short())));
        assert_eq!(served_since("apps/v2", "Deployment"), None);
    }
}
