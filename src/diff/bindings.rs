//! Who has which role: the difference between what two states of a binding give.

use std::collections::BTreeSet;

use crate::objects::{Object, ObjectId};
use crate::yaml::Node;

use super::Place;

/// Somebody who has a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Given {
    /// What has it: `User`, `Group` or `ServiceAccount`.
    pub subject_kind: String,
    /// The namespace of a service account; none where it is not said.
    pub subject_namespace: Option<String>,
    /// The name, such as `system:authenticated`.
    pub subject: String,
    /// `Role` or `ClusterRole`.
    pub role_kind: String,
    /// The name of the role.
    pub role: String,
}

/// Who has a role now by a binding and had it not, and the reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings {
    /// The binding; one with a namespace gives its role there alone.
    pub binding: ObjectId,
    /// Where it is on the old side and on the new one.
    pub places: [Option<Place>; 2],
    /// Who gets a role.
    pub gained: Vec<Given>,
    /// Who loses one.
    pub lost: Vec<Given>,
}

/// Tells whether an object is a binding.
pub(super) fn is_binding(id: &ObjectId) -> bool {
    id.group == "rbac.authorization.k8s.io"
        && matches!(id.kind.as_str(), "RoleBinding" | "ClusterRoleBinding")
}

/// Compares what two states of a binding give.
pub(super) fn compare(
    old: Option<&Object>,
    new: Option<&Object>,
    places: &[Option<Place>; 2],
) -> Option<Bindings> {
    let binding = old.or(new)?.id.clone();
    let read = |object: Option<&Object>| object.map(given).unwrap_or_default();
    let (old, new) = (read(old), read(new));
    let found = Bindings {
        binding,
        places: places.clone(),
        gained: new.difference(&old).cloned().collect(),
        lost: old.difference(&new).cloned().collect(),
    };
    (!found.gained.is_empty() || !found.lost.is_empty()).then_some(found)
}

/// Takes out what one binding gives and another one of the same namespace no longer does: it only has another name.
pub(super) fn cancel(all: &mut Vec<Bindings>) {
    let of = |pick: fn(&Bindings) -> &Vec<Given>| -> BTreeSet<(Option<String>, Given)> {
        let pairs = all.iter().flat_map(|one| {
            let namespace = &one.binding.namespace;
            pick(one)
                .iter()
                .map(|given| (namespace.clone(), given.clone()))
        });
        pairs.collect()
    };
    let (gained, lost) = (of(|one| &one.gained), of(|one| &one.lost));
    for one in all.iter_mut() {
        let namespace = one.binding.namespace.clone();
        let key = |given: &Given| (namespace.clone(), given.clone());
        one.gained.retain(|given| !lost.contains(&key(given)));
        one.lost.retain(|given| !gained.contains(&key(given)));
    }
    all.retain(|one| !one.gained.is_empty() || !one.lost.is_empty());
    all.sort_by(|a, b| a.binding.cmp(&b.binding));
}

/// Returns what a binding gives to whom.
fn given(object: &Object) -> BTreeSet<Given> {
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let Some(role) = object.node.get("roleRef") else {
        return BTreeSet::new();
    };
    let (Some(role_kind), Some(role)) = (text(role, "kind"), text(role, "name")) else {
        return BTreeSet::new();
    };
    let subjects = object.node.get("subjects").and_then(Node::as_sequence);
    let subjects = subjects.unwrap_or_default().iter();
    let one = |node: &Node| {
        let subject_kind = text(node, "kind")?;
        Some(Given {
            // Users and groups are everywhere.
            subject_namespace: text(node, "namespace").filter(|_| subject_kind == "ServiceAccount"),
            subject_kind,
            subject: text(node, "name")?,
            role_kind: role_kind.clone(),
            role: role.clone(),
        })
    };
    subjects.filter_map(one).collect()
}
