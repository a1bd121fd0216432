//! Unquoted words and numbers where Kubernetes wants strings: `yes` is true, `1.10` is 1.1, and an API server refuses both.
//!
//! Only fields of which it is certain that they are strings, of kinds whose fields are not all known (`fields` looks at those), and
//! of templates.

use crate::escape::shown;
use crate::finding::Finding;
use crate::known_fields::is_known;
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::{Node, Value};

use super::context::Context;

/// Reports values that are no strings in labels, annotations, selectors, environments, arguments and ConfigMaps.
pub(super) fn unquoted(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    if !object.is_template && is_known(&object.api_version(), &object.id.kind) {
        return;
    }
    let mut strings = Strings { path, findings };
    strings.metadata("metadata", object.node.get("metadata"));
    let id = &object.id;
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "ConfigMap") => strings.members("data", object.node.get("data")),
        ("", "Secret") => {
            strings.members("data", object.node.get("data"));
            strings.members("stringData", object.node.get("stringData"));
        }
        ("", "Service" | "ReplicationController") => {
            strings.members("spec.selector", object.node.at(&["spec", "selector"]));
        }
        ("apps", _) => {
            let labels = ["spec", "selector", "matchLabels"];
            strings.members(&labels.join("."), object.node.at(&labels));
        }
        _ => {}
    }
    let Some((at, spec)) = pod_spec(object) else {
        return;
    };
    // The template of the pod has labels and annotations of its own; a Pod's are the object's.
    if let [template @ .., _] = at
        && !template.is_empty()
    {
        let prefix = format!("{}.metadata", template.join("."));
        let metadata = object
            .node
            .at(template)
            .and_then(|node| node.get("metadata"));
        strings.metadata(&prefix, metadata);
    }
    let at = at.join(".");
    strings.members(&format!("{at}.nodeSelector"), spec.get("nodeSelector"));
    for list in ["initContainers", "containers"] {
        for container in spec
            .get(list)
            .and_then(Node::as_sequence)
            .unwrap_or_default()
        {
            strings.items(list, "command", container.get("command"));
            strings.items(list, "args", container.get("args"));
            let variables = container.get("env").and_then(Node::as_sequence);
            for variable in variables.unwrap_or_default() {
                if let Some(name) = variable.get("name") {
                    strings.value("the name of a variable in `env`", name);
                }
                if let Some(value) = variable.get("value") {
                    let name = variable.get("name").and_then(Node::as_str);
                    strings.value(&format!("env `{}`", shown(name.unwrap_or("?"))), value);
                }
            }
        }
    }
}

struct Strings<'a> {
    path: &'a BundlePath,
    findings: &'a mut Vec<Finding>,
}

impl Strings<'_> {
    fn metadata(&mut self, at: &str, metadata: Option<&Node>) {
        for field in ["labels", "annotations"] {
            let members = metadata.and_then(|metadata| metadata.get(field));
            self.members(&format!("{at}.{field}"), members);
        }
    }

    fn members(&mut self, at: &str, node: Option<&Node>) {
        for (key, value) in node.and_then(Node::as_mapping).unwrap_or_default() {
            if is_unquoted(value) {
                let key = key.plain_text().unwrap_or(&key.text);
                self.value(&format!("`{at}`, `{}`", shown(key)), value);
            }
        }
    }

    fn items(&mut self, list: &str, field: &str, node: Option<&Node>) {
        for item in node.and_then(Node::as_sequence).unwrap_or_default() {
            if is_unquoted(item) {
                self.value(&format!("an item of `{list}.{field}`"), item);
            }
        }
    }

    fn value(&mut self, what: &str, node: &Node) {
        if !is_unquoted(node) {
            return;
        }
        let written = shown(node.plain_text().unwrap_or_default());
        let message = format!(
            "{what} is {} (`{written}`), and Kubernetes wants a string",
            node.value.kind_name()
        );
        self.findings.push(
            Finding::warning("unquoted", message)
                .at(self.path, node.line)
                .hint(format!("quote it: \"{written}\"")),
        );
    }
}

/// Tells whether a value is a number or a boolean; null counts as no value, and collections are other faults.
fn is_unquoted(node: &Node) -> bool {
    matches!(
        node.value,
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_)
    )
}
