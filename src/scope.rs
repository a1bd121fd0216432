//! Kinds of which there is one set of objects for the whole cluster: a namespace that such an object names means nothing.
//!
//! Facts from the OpenAPI documents of Kubernetes 1.33 to 1.37, where the paths of these kinds have no namespace, and from the
//! reference of the releases that served what is gone since. Of custom resources their definitions say it.

/// Kinds of Kubernetes that have no namespace, by group.
const CLUSTER: &[(&str, &[&str])] = &[
    (
        "",
        &["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
    ),
    (
        "admissionregistration.k8s.io",
        &[
            "ExternalAdmissionHookConfiguration",
            "InitializerConfiguration",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("auditregistration.k8s.io", &["AuditSink"]),
    (
        "authentication.k8s.io",
        &["SelfSubjectReview", "TokenReview"],
    ),
    (
        "authorization.k8s.io",
        &[
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    (
        "certificates.k8s.io",
        &["CertificateSigningRequest", "ClusterTrustBundle"],
    ),
    ("extensions", &["PodSecurityPolicy", "ThirdPartyResource"]),
    (
        "flowcontrol.apiserver.k8s.io",
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    (
        "networking.k8s.io",
        &["ClusterCIDR", "IPAddress", "IngressClass", "ServiceCIDR"],
    ),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &["PodSecurityPolicy"]),
    (
        "rbac.authorization.k8s.io",
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    (
        "resource.k8s.io",
        &[
            "DeviceClass",
            "DeviceTaintRule",
            "ResourceClass",
            "ResourcePoolStatusRequest",
            "ResourceSlice",
        ],
    ),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &[
            "CSIDriver",
            "CSINode",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// Tells whether objects of a built-in kind have no namespace; false for those that have one, and for all other kinds.
pub fn is_cluster_wide(group: &str, kind: &str) -> bool {
    CLUSTER
        .iter()
        .any(|(of, kinds)| *of == group && kinds.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_known_by_its_group() {
        for (group, kind, expected) in [
            ("", "Namespace", true),
            ("", "ConfigMap", false),
            ("rbac.authorization.k8s.io", "ClusterRole", true),
            ("rbac.authorization.k8s.io", "Role", false),
            ("example.org", "ClusterRole", false),
        ] {
            assert_eq!(is_cluster_wide(group, kind), expected, "{group} {kind}");
        }
    }
}
