//! Namespaces of objects that have none: of built-in kinds, and of those that a definition in the bundle says it of.

use std::collections::{HashMap, hash_map::Entry};

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::{Object, ObjectId, Summary};
use crate::path::BundlePath;
use crate::scope::is_cluster_wide;
use crate::yaml::Node;

use super::context::Context;
use super::custom::Definition;
use super::links::report;

/// Reports objects of built-in kinds without namespaces that name one.
pub(super) fn namespace(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let id = &object.id;
    let node = object.node.at(&["metadata", "namespace"]);
    let name = node.and_then(Node::as_str).filter(|name| !name.is_empty());
    if let (Some(node), Some(name)) = (node, name)
        && is_cluster_wide(&id.group, &id.kind)
    {
        findings.push(dropped(id, name).at(path, node.line));
    }
}

/// Takes the namespaces from custom resources of which a definition says that they have none, and reports them.
pub(super) fn settle(
    context: &Context<'_>,
    definitions: &[Definition],
    objects: &mut [Summary],
    findings: &mut Vec<Finding>,
) {
    // What kustomize holds can be a patch of a definition.
    if context.is_kustomize() {
        return;
    }
    let mut scopes: HashMap<(&str, &str), bool> = HashMap::new();
    for definition in definitions {
        match scopes.entry(definition.kind()) {
            Entry::Vacant(entry) => {
                entry.insert(definition.is_cluster_wide());
            }
            // Two definitions that disagree say nothing.
            Entry::Occupied(mut entry) => *entry.get_mut() &= definition.is_cluster_wide(),
        }
    }
    let mut found = Vec::new();
    for object in objects {
        let key = (object.id.group.as_str(), object.id.kind.as_str());
        if scopes.get(&key) == Some(&true)
            && let Some(name) = object.id.namespace.take()
        {
            found.push(dropped(&object.id, &name).at(&object.file, object.line));
        }
    }
    report(&found, findings);
}

fn dropped(id: &ObjectId, namespace: &str) -> Finding {
    let message = format!(
        "`{}` is there for the whole cluster: the API server drops its namespace `{}`",
        shown(&id.to_string()),
        shown(namespace)
    );
    Finding::note("object-scope", message).hint("leave out `metadata.namespace`")
}
