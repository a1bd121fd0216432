//! Where the built-in kinds keep the specifications of their pods.

use super::Object;
use crate::yaml::Node;

/// Returns the pod specification of an object of a built-in kind, with the path that leads to it.
///
/// Kinds are known by group and kind, so a `Deployment` of some other API is left alone.
pub fn pod_spec(object: &Object) -> Option<(&'static [&'static str], &Node)> {
    let path = path(&object.id.group, &object.id.kind)?;
    Some((path, object.node.at(path)?))
}

fn path(group: &str, kind: &str) -> Option<&'static [&'static str]> {
    match (group, kind) {
        ("", "Pod") => Some(&["spec"]),
        ("", "PodTemplate") => Some(&["template", "spec"]),
        ("", "ReplicationController")
        | ("apps" | "extensions", "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | ("batch", "Job") => Some(&["spec", "template", "spec"]),
        ("batch", "CronJob") => Some(&["spec", "jobTemplate", "spec", "template", "spec"]),
        _ => None,
    }
}
