//! Label selectors: what they match, and workloads whose selector is not of their own pods.

use std::collections::HashMap;

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::Node;

use super::context::Context;

/// Labels, as texts; one that is no string, or is filled by a template, is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Labels {
    known: HashMap<Box<str>, Option<Box<str>>>,
    /// Whether there may be labels that are not known, because a template makes their keys.
    is_open: bool,
}

/// What a selector asks of labels; every requirement must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Debug, Clone)]
struct Requirement {
    key: Box<str>,
    wants: Wants,
}

#[derive(Debug, Clone)]
enum Wants {
    In(Vec<Box<str>>),
    NotIn(Vec<Box<str>>),
    Exists,
    DoesNotExist,
    /// A value that is not known, because a template makes it.
    Unknown,
}

impl Labels {
    pub(super) fn read(node: Option<&Node>) -> Self {
        let members = node.and_then(Node::as_mapping).unwrap_or_default();
        Self {
            known: members
                .iter()
                .map(|(key, value)| (key.text.clone(), fixed(value)))
                .collect(),
            is_open: members.iter().any(|(key, _)| key.text.contains("{{")),
        }
    }
}

impl Selector {
    /// Reads the selector of a Service: labels alone.
    pub(super) fn of_labels(node: &Node) -> Self {
        let members = node.as_mapping().unwrap_or_default();
        Self(
            members
                .iter()
                .map(|(key, value)| Requirement {
                    key: key.text.clone(),
                    wants: fixed(value).map_or(Wants::Unknown, |text| Wants::In(vec![text])),
                })
                .collect(),
        )
    }

    /// Reads a selector with `matchLabels` and `matchExpressions`.
    pub(super) fn read(node: &Node) -> Self {
        let mut all = node
            .get("matchLabels")
            .map(Self::of_labels)
            .unwrap_or_default();
        let expressions = node.get("matchExpressions").and_then(Node::as_sequence);
        all.0.extend(
            expressions
                .unwrap_or_default()
                .iter()
                .filter_map(expression),
        );
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Says how much there is to compare with the labels of one pod: a step for each text, and more for a long one.
    pub(super) fn size(&self) -> usize {
        let texts = self.0.iter().flat_map(|requirement| {
            let values = match &requirement.wants {
                Wants::In(values) | Wants::NotIn(values) => values.as_slice(),
                Wants::Exists | Wants::DoesNotExist | Wants::Unknown => &[],
            };
            values.iter().chain([&requirement.key])
        });
        texts
            .map(|text| text.len() / 64 + 1)
            .fold(0, usize::saturating_add)
    }

    /// Tells whether labels may be selected; only what is certain not to match does not.
    pub(super) fn may_match(&self, labels: &Labels) -> bool {
        labels.is_open
            || self
                .0
                .iter()
                .all(|requirement| requirement.may_hold(labels))
    }
}

impl Requirement {
    fn may_hold(&self, labels: &Labels) -> bool {
        if self.key.contains("{{") {
            return true;
        }
        let Some(value) = labels.known.get(&self.key) else {
            return matches!(self.wants, Wants::NotIn(_) | Wants::DoesNotExist);
        };
        match (&self.wants, value) {
            (Wants::DoesNotExist, _) => false,
            (Wants::In(values), Some(value)) => values.contains(value),
            (Wants::NotIn(values), Some(value)) => !values.contains(value),
            (Wants::Exists | Wants::Unknown, _) | (_, None) => true,
        }
    }
}

/// Returns the text of a value that is what it says.
fn fixed(node: &Node) -> Option<Box<str>> {
    node.as_str()
        .filter(|text| !text.contains("{{"))
        .map(Into::into)
}

fn expression(node: &Node) -> Option<Requirement> {
    let key = node.get("key")?.as_str()?.into();
    let values = || {
        let values = node.get("values").and_then(Node::as_sequence);
        values
            .unwrap_or_default()
            .iter()
            .map(fixed)
            .collect::<Option<Vec<_>>>()
    };
    let wants = match node.get("operator").and_then(Node::as_str) {
        Some("In") => values().map_or(Wants::Unknown, Wants::In),
        Some("NotIn") => Wants::NotIn(values()?),
        Some("Exists") => Wants::Exists,
        Some("DoesNotExist") => Wants::DoesNotExist,
        _ => return None,
    };
    Some(Requirement { key, wants })
}

/// Tells whether a workload says neither which pods it has nor what runs in them, as only what changes one does.
pub(super) fn looks_like_patch(object: &Object) -> bool {
    let containers = pod_spec(object).and_then(|(_, spec)| spec.get("containers")?.as_sequence());
    let has_image = |container: &Node| container.get("image").is_some();
    object.id.group == "apps"
        && object.node.get("spec").is_some()
        && object.node.at(&["spec", "selector"]).is_none()
        && !containers.unwrap_or_default().iter().any(has_image)
}

/// Reports workloads that do not select their own pods, which the API server refuses.
pub(super) fn own_pods(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    // A patch of kustomize says only what it changes.
    if context.is_kustomize() {
        return;
    }
    let is_rc = matches!(
        (object.id.group.as_str(), object.id.kind.as_str()),
        ("", "ReplicationController")
    );
    let is_workload = object.id.group == "apps"
        && matches!(
            object.id.kind.as_str(),
            "Deployment" | "DaemonSet" | "ReplicaSet" | "StatefulSet"
        );
    if !is_rc && !is_workload {
        return;
    }
    let id = shown(&object.id.to_string());
    let found = object
        .node
        .at(&["spec", "selector"])
        .filter(|node| !node.is_null());
    let Some(node) = found else {
        // The versions before `apps/v1` took the labels of the pods for it.
        if is_workload && object.version == "v1" && object.node.get("spec").is_some() {
            let finding = if looks_like_patch(object) {
                let message = format!(
                    "`{id}` has neither a `spec.selector` nor the image of a container: it looks like a patch of one"
                );
                Finding::error("selector-mismatch", message).hint(format!(
                    "{}, or leave it out with `.bundleignore`",
                    context.kustomize_hint()
                ))
            } else {
                let message = format!("`{id}` has no `spec.selector`, which `apps/v1` requires");
                Finding::error("selector-mismatch", message)
                    .hint("select the labels of `spec.template.metadata`")
            };
            findings.push(finding.at(path, object.line));
        }
        return;
    };
    let selector = if is_rc {
        Selector::of_labels(node)
    } else {
        Selector::read(node)
    };
    let labels = Labels::read(object.node.at(&["spec", "template", "metadata", "labels"]));
    let message = if selector.is_empty() && is_workload && node.as_mapping().is_some() {
        format!("the selector of `{id}` is empty")
    } else if !selector.may_match(&labels) {
        format!("the selector of `{id}` does not match the labels of its own `spec.template`")
    } else {
        return;
    };
    findings.push(
        Finding::error("selector-mismatch", message)
            .at(path, node.line)
            .hint("select the labels of `spec.template.metadata`"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::yaml::documents;

    fn node(text: &str) -> Node {
        let limits = Limits::default();
        let document = documents(text.as_bytes(), &limits).next().unwrap();
        document.unwrap().root
    }

    #[test]
    fn selectors_match_as_kubernetes_has_it_and_what_is_unknown_may_match() {
        for (selector, labels, expected) in [
            ("{matchLabels: {a: b}}", "{a: b, c: d}", true),
            ("{matchLabels: {a: b}}", "{a: x}", false),
            ("{matchLabels: {a: b}}", "{}", false),
            ("{matchLabels: {a: b}}", "{a: '{{ .X }}'}", true),
            ("{matchLabels: {a: '{{ .X }}'}}", "{a: b}", true),
            ("{matchLabels: {a: '{{ .X }}'}}", "{}", false),
            ("{matchLabels: {a: b}}", "{'{{ .K }}': b}", true),
            ("{matchLabels: {a: 1}}", "{a: 1}", true),
            ("{}", "{}", true),
            (
                "{matchExpressions: [{key: a, operator: In, values: [b, c]}]}",
                "{a: c}",
                true,
            ),
            (
                "{matchExpressions: [{key: a, operator: In, values: [b, c]}]}",
                "{a: d}",
                false,
            ),
            (
                "{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}",
                "{a: b}",
                false,
            ),
            (
                "{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}",
                "{}",
                true,
            ),
            (
                "{matchExpressions: [{key: a, operator: Exists}]}",
                "{a: x}",
                true,
            ),
            (
                "{matchExpressions: [{key: a, operator: Exists}]}",
                "{b: x}",
                false,
            ),
            (
                "{matchExpressions: [{key: a, operator: DoesNotExist}]}",
                "{a: x}",
                false,
            ),
            ("{matchExpressions: [{key: a, operator: Near}]}", "{}", true),
        ] {
            let labels_read = Labels::read(Some(&node(labels)));
            let found = Selector::read(&node(selector)).may_match(&labels_read);
            assert_eq!(found, expected, "{selector} of {labels}");
        }
    }
}
