//! Objects whose removal breaks somebody.

use crate::objects::{Object, ObjectId};

use super::super::path::FieldPath;
use super::Breaking;
use crate::crd::is_crd;

/// Tells whether what an object holds decides what its removal means.
pub(crate) fn depends_on_content(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("apps", "StatefulSet") | ("apiregistration.k8s.io", "APIService")
    )
}

/// Returns why the removal of an object may break somebody; `old` is the object, if what it holds matters.
pub(crate) fn find(id: &ObjectId, old: Option<&Object>) -> Vec<Breaking> {
    let text = |path: &[&str]| old.and_then(|old| old.node.at(path)?.as_str());
    let (rule, certain, message) = match (id.group.as_str(), id.kind.as_str()) {
        _ if is_crd(id) => (
            "crd-removed",
            true,
            "removing a definition deletes all its objects",
        ),
        ("", "Namespace") => (
            "namespace-removed",
            true,
            "removing a namespace deletes everything in it",
        ),
        ("", "PersistentVolumeClaim") => (
            "storage-removed",
            true,
            "removing a claim gives its volume up, and deletes its data unless the volume is retained",
        ),
        ("", "PersistentVolume") => (
            "storage-removed",
            true,
            "removing a volume takes it from the claim that has it",
        ),
        ("apps", "StatefulSet") => {
            let path = [
                "spec",
                "persistentVolumeClaimRetentionPolicy",
                "whenDeleted",
            ];
            if text(&path) == Some("Delete") {
                (
                    "stateful-set-removed",
                    true,
                    "removing the set deletes the claims of its pods, as it says itself",
                )
            } else {
                (
                    "stateful-set-removed",
                    false,
                    "its pods are gone, and the claims that they made stay behind",
                )
            }
        }
        ("", "Service") => (
            "service-removed",
            false,
            "whoever calls the Service by its name no longer reaches it",
        ),
        // One without a Service only says that the API server itself serves the group.
        ("apiregistration.k8s.io", "APIService")
            if text(&["spec", "service", "name"]).is_some() =>
        {
            (
                "api-service-removed",
                true,
                "the API server no longer serves the group and version",
            )
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => (
            "webhook-removed",
            false,
            "what its webhooks fill in is left out of new objects",
        ),
        _ => return Vec::new(),
    };
    vec![Breaking {
        rule,
        path: FieldPath::default(),
        message: message.to_owned(),
        certain,
        line: 0,
    }]
}
