//! Fields that the API server does not change once an object is there, and versions of APIs that are gone.

use crate::escape::shown;
use crate::objects::Object;
use crate::quantity::Quantity;
use crate::removed_apis;
use crate::yaml::{Node, Value};

use super::super::fields;
use super::super::path::{FieldPath, Step};
use super::super::value::{members, same};
use super::Breaking;
use super::found::Found;

/// Fields that do not change, by group and kind.
#[rustfmt::skip]
const FIELDS: &[(&str, &str, &[&str])] = &[
    ("apps", "Deployment", &["spec.selector"]),
    ("apps", "DaemonSet", &["spec.selector"]),
    ("apps", "ReplicaSet", &["spec.selector"]),
    ("apps", "StatefulSet", &["spec.selector", "spec.serviceName", "spec.volumeClaimTemplates", "spec.podManagementPolicy"]),
    ("batch", "Job", &["spec.selector", "spec.template", "spec.completionMode", "spec.podFailurePolicy"]),
    ("", "PersistentVolumeClaim", &["spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeMode", "spec.volumeName", "spec.dataSource", "spec.dataSourceRef"]),
    ("", "Secret", &["type"]),
    ("storage.k8s.io", "StorageClass", &["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"]),
    ("storage.k8s.io", "CSIDriver", &["spec.attachRequired", "spec.volumeLifecycleModes"]),
    ("rbac.authorization.k8s.io", "RoleBinding", &["roleRef"]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &["roleRef"]),
    ("networking.k8s.io", "IngressClass", &["spec.controller"]),
    ("scheduling.k8s.io", "PriorityClass", &["value", "preemptionPolicy"]),
    ("node.k8s.io", "RuntimeClass", &["handler"]),
    ("discovery.k8s.io", "EndpointSlice", &["addressType"]),
];

/// What the API server puts in where a field is left out, so that writing it is no change.
#[rustfmt::skip]
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("StatefulSet", "spec.podManagementPolicy", "OrderedReady"),
    ("Job", "spec.completionMode", "NonIndexed"),
    ("PersistentVolumeClaim", "spec.volumeMode", "Filesystem"),
    ("Secret", "type", "Opaque"),
    ("StorageClass", "reclaimPolicy", "Delete"),
    ("StorageClass", "volumeBindingMode", "Immediate"),
    ("PriorityClass", "preemptionPolicy", "PreemptLowerPriority"),
];

/// Compares two states of an object.
pub(super) fn compare(old: &Object, new: &Object, found: &mut Found<'_>) {
    removed_api(old, new, found);
    // An object with a generated name is a new one each time.
    if old.has_generated_name {
        return;
    }
    let id = &new.id;
    let group = if id.group == "extensions" {
        "apps"
    } else {
        &id.group
    };
    for (_, _, fields) in FIELDS
        .iter()
        .filter(|row| row.0 == group && row.1 == id.kind)
    {
        for field in *fields {
            compare_field(old, new, field, found);
        }
    }
    if id.group.is_empty() {
        match id.kind.as_str() {
            "Service" => service(old, new, found),
            "PersistentVolumeClaim" => smaller_claim(old, new, found),
            "ConfigMap" | "Secret" => content(old, new, found),
            _ => {}
        }
    }
}

/// Looks whether the object is now of a version that no release serves any more.
fn removed_api(old: &Object, new: &Object, found: &mut Found<'_>) {
    let (before, after) = (old.api_version(), new.api_version());
    let gone = removed_apis::removed_api(&after, &new.id.kind).filter(|_| before != after);
    if let Some(gone) = gone {
        let message = format!(
            "`{}` is removed in Kubernetes {}",
            gone.api_version, gone.removed_in
        );
        let line = new
            .node
            .get("apiVersion")
            .map_or(new.line, |node| node.line);
        note("api-removed", "apiVersion", line, message, found);
    }
}

fn compare_field(old: &Object, new: &Object, field: &str, found: &mut Found<'_>) {
    let path: Vec<&str> = field.split('.').collect();
    let (before, after) = (old.node.at(&path), new.node.at(&path));
    let default = DEFAULTS
        .iter()
        .find(|row| row.0 == new.id.kind && row.1 == field)
        .map(|row| row.2);
    let is_default = |node: Option<&Node>| {
        node.is_none_or(|node| node.is_null() || node.as_str() == default && default.is_some())
    };
    let is_same = match (before, after) {
        (Some(a), Some(b)) => same(a, b) || fields::are_alike(&path, a, b),
        (None, None) => true,
        _ => false,
    };
    if is_same || default.is_some() && is_default(before) && is_default(after) {
        return;
    }
    note(
        "immutable-field",
        field,
        after.map_or(new.line, |node| node.line),
        changed(before, after),
        found,
    );
}

/// Says how a value changed, with the values where they are short.
fn changed(before: Option<&Node>, after: Option<&Node>) -> String {
    let value = |node: Option<&Node>| match node.map(|node| &node.value) {
        None => Some("nothing".to_owned()),
        Some(Value::Sequence(_) | Value::Mapping(_)) => None,
        Some(_) => node.map(|node| {
            format!(
                "`{}`",
                shown(
                    &node
                        .as_str()
                        .map_or_else(|| node.to_json().to_string(), str::to_owned)
                )
            )
        }),
    };
    match (value(before), value(after)) {
        (Some(before), Some(after)) => format!("cannot change from {before} to {after}"),
        _ => "cannot change".to_owned(),
    }
}

/// Returns the text of a field, if it says something.
fn text<'n>(object: &'n Object, path: &[&str]) -> Option<&'n str> {
    object
        .node
        .at(path)
        .and_then(Node::as_str)
        .filter(|text| !text.is_empty())
}

/// A service keeps the address that it has; leaving it out keeps it as well.
fn service(old: &Object, new: &Object, found: &mut Found<'_>) {
    let is_name = |object| text(object, &["spec", "type"]) == Some("ExternalName");
    if is_name(old) || is_name(new) {
        return;
    }
    let path = ["spec", "clusterIP"];
    if let Some(after) = text(new, &path)
        && text(old, &path) != Some(after)
    {
        let (before, after) = (old.node.at(&path), new.node.at(&path));
        let line = after.map_or(new.line, |node| node.line);
        note(
            "immutable-field",
            "spec.clusterIP",
            line,
            changed(before, after),
            found,
        );
    }
    let path = ["spec", "loadBalancerClass"];
    if text(old, &path).is_some() && text(old, &path) != text(new, &path) {
        let message = changed(old.node.at(&path), new.node.at(&path));
        note(
            "immutable-field",
            "spec.loadBalancerClass",
            new.line,
            message,
            found,
        );
    }
}

/// A claim may grow, not shrink.
fn smaller_claim(old: &Object, new: &Object, found: &mut Found<'_>) {
    let path = ["spec", "resources", "requests", "storage"];
    let (before, after) = (old.node.at(&path), new.node.at(&path));
    let size = |node: Option<&Node>| node.and_then(Quantity::of);
    if let (Some(a), Some(b)) = (size(before), size(after))
        && b < a
    {
        let line = after.map_or(new.line, |node| node.line);
        note(
            "immutable-field",
            "spec.resources.requests.storage",
            line,
            changed(before, after),
            found,
        );
    }
}

/// A ConfigMap or Secret may say that it does not change.
fn content(old: &Object, new: &Object, found: &mut Found<'_>) {
    if !old.node.has_true("immutable") {
        return;
    }
    for key in ["data", "stringData", "binaryData", "immutable"] {
        let count = |object: &Object| object.node.get(key).map_or(0, |node| members(node).count());
        let is_same = match (old.node.get(key), new.node.get(key)) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => true,
            _ => key != "immutable" && count(old) == 0 && count(new) == 0,
        };
        if !is_same {
            let line = new.node.get(key).map_or(new.line, |node| node.line);
            note(
                "immutable-object",
                key,
                line,
                "the object says that it is immutable".to_owned(),
                found,
            );
        }
    }
}

fn note(rule: &'static str, field: &str, line: u32, message: String, found: &mut Found<'_>) {
    let path = field
        .split('.')
        .map(|key| Step::Key(key.to_owned()))
        .collect();
    found.push(Breaking {
        rule,
        path: FieldPath(path),
        message,
        certain: true,
        line,
    });
}
