//! Which kinds come before which: a table.

use crate::objects::Summary;

/// The phases in which a cluster gets the objects of a bundle, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Namespaces.
    Namespaces,
    /// Definitions of custom resources.
    Definitions,
    /// What other objects name as their class, for the whole cluster.
    Classes,
    /// Who may do what.
    Access,
    /// Settings, limits and storage that workloads need before they start.
    Configuration,
    /// Names and addresses of workloads.
    Services,
    /// What runs.
    Workloads,
    /// What is built into Kubernetes and needs something that runs.
    Exposure,
    /// Objects of all other API groups.
    CustomResources,
    /// What is asked about every later request.
    Admission,
}

impl Phase {
    /// All phases, in order.
    pub const ALL: [Self; 10] = [
        Self::Namespaces,
        Self::Definitions,
        Self::Classes,
        Self::Access,
        Self::Configuration,
        Self::Services,
        Self::Workloads,
        Self::Exposure,
        Self::CustomResources,
        Self::Admission,
    ];

    /// Returns the name that people and machines see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Definitions => "definitions",
            Self::Classes => "classes",
            Self::Access => "access",
            Self::Configuration => "configuration",
            Self::Services => "services",
            Self::Workloads => "workloads",
            Self::Exposure => "exposure",
            Self::CustomResources => "custom-resources",
            Self::Admission => "admission",
        }
    }
}

/// The place of a kind: its phase, and its row in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) phase: Phase,
    row: usize,
}

impl Rank {
    /// Where a list without items goes.
    pub(super) const LAST: Self = Self {
        phase: Phase::Admission,
        row: usize::MAX,
    };
}

/// Returns the place of an object.
pub(super) fn rank(object: &Summary) -> Rank {
    let kind = object.id.kind.as_str();
    let known = KINDS
        .iter()
        .position(|(_, groups, name)| *name == kind && groups.contains(&object.id.group.as_str()));
    if let Some(row) = known
        && let Some((phase, ..)) = KINDS.get(row)
    {
        return Rank { phase: *phase, row };
    }
    let phase = if BUILT_IN.contains(&object.id.group.as_str()) {
        Phase::Exposure
    } else {
        Phase::CustomResources
    };
    Rank {
        phase,
        row: KINDS.len(),
    }
}

/// Returns the kinds that have a place of their own, in their order.
pub fn kinds() -> impl Iterator<Item = (Phase, &'static str)> {
    KINDS.iter().map(|(phase, _, kind)| (*phase, *kind))
}

const CORE: &[&str] = &[""];
const RBAC: &[&str] = &["rbac.authorization.k8s.io"];
const APPS: &[&str] = &["apps", "extensions"];
const BATCH: &[&str] = &["batch"];
const STORAGE: &[&str] = &["storage.k8s.io"];
const ADMISSION: &[&str] = &["admissionregistration.k8s.io"];
const FLOW: &[&str] = &["flowcontrol.apiserver.k8s.io"];

/// The kinds in their order (spec/order.md, "Phases"); a group that is gone stands beside its successor.
const KINDS: &[(Phase, &[&str], &str)] = &[
    (Phase::Namespaces, CORE, "Namespace"),
    (
        Phase::Definitions,
        &["apiextensions.k8s.io"],
        "CustomResourceDefinition",
    ),
    (Phase::Classes, &["scheduling.k8s.io"], "PriorityClass"),
    (Phase::Classes, &["node.k8s.io"], "RuntimeClass"),
    (Phase::Classes, STORAGE, "CSIDriver"),
    (Phase::Classes, STORAGE, "StorageClass"),
    (Phase::Classes, STORAGE, "VolumeAttributesClass"),
    (Phase::Classes, &["networking.k8s.io"], "IngressClass"),
    (Phase::Classes, &["resource.k8s.io"], "DeviceClass"),
    (Phase::Classes, FLOW, "PriorityLevelConfiguration"),
    (Phase::Classes, FLOW, "FlowSchema"),
    (
        Phase::Classes,
        &["policy", "extensions"],
        "PodSecurityPolicy",
    ),
    (Phase::Access, CORE, "ServiceAccount"),
    (Phase::Access, RBAC, "ClusterRole"),
    (Phase::Access, RBAC, "Role"),
    (Phase::Access, RBAC, "ClusterRoleBinding"),
    (Phase::Access, RBAC, "RoleBinding"),
    (Phase::Configuration, CORE, "ResourceQuota"),
    (Phase::Configuration, CORE, "LimitRange"),
    (
        Phase::Configuration,
        &["networking.k8s.io", "extensions"],
        "NetworkPolicy",
    ),
    (Phase::Configuration, &["policy"], "PodDisruptionBudget"),
    (Phase::Configuration, CORE, "Secret"),
    (Phase::Configuration, CORE, "ConfigMap"),
    (Phase::Configuration, CORE, "PersistentVolume"),
    (Phase::Configuration, CORE, "PersistentVolumeClaim"),
    (Phase::Services, CORE, "Service"),
    (Phase::Services, CORE, "Endpoints"),
    (Phase::Services, &["discovery.k8s.io"], "EndpointSlice"),
    (Phase::Workloads, CORE, "PodTemplate"),
    (Phase::Workloads, APPS, "DaemonSet"),
    (Phase::Workloads, CORE, "Pod"),
    (Phase::Workloads, CORE, "ReplicationController"),
    (Phase::Workloads, APPS, "ReplicaSet"),
    (Phase::Workloads, APPS, "Deployment"),
    (Phase::Workloads, APPS, "StatefulSet"),
    (Phase::Workloads, BATCH, "Job"),
    (Phase::Workloads, BATCH, "CronJob"),
    (Phase::Exposure, &["autoscaling"], "HorizontalPodAutoscaler"),
    (
        Phase::Exposure,
        &["networking.k8s.io", "extensions"],
        "Ingress",
    ),
    (Phase::Exposure, &["apiregistration.k8s.io"], "APIService"),
    (Phase::Admission, ADMISSION, "ValidatingAdmissionPolicy"),
    (
        Phase::Admission,
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
    ),
    (Phase::Admission, ADMISSION, "MutatingAdmissionPolicy"),
    (
        Phase::Admission,
        ADMISSION,
        "MutatingAdmissionPolicyBinding",
    ),
    (Phase::Admission, ADMISSION, "MutatingWebhookConfiguration"),
    (
        Phase::Admission,
        ADMISSION,
        "ValidatingWebhookConfiguration",
    ),
];

/// The API groups that every cluster serves by itself; the kinds of all others are custom resources.
const BUILT_IN: &[&str] = &[
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];
