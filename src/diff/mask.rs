//! What of a value may be shown: never what a Secret holds, nor a text that is a Secret.

use serde_json::Value as Json;

use crate::yaml::{Node, Value};

/// What stands in the place of a value that is not shown.
pub const HIDDEN: &str = "(hidden)";

/// Where `kubectl apply` keeps a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is known of the values at some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    /// Nothing is hidden here but texts that are Secrets.
    Open,
    /// The top of a Secret.
    Secret,
    /// The metadata of a Secret.
    Metadata,
    /// The annotations of a Secret.
    Annotations,
    /// Everything here is hidden.
    Hidden,
}

impl Mask {
    /// Returns what holds for a document. Any kind named Secret is taken for one.
    pub(super) fn of(kind: Option<&str>) -> Self {
        match kind {
            Some("Secret") => Self::Secret,
            _ => Self::Open,
        }
    }

    /// Returns what holds below a key.
    pub(super) fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Hidden, _)
            | (Self::Secret, "data" | "stringData")
            | (Self::Annotations, LAST_APPLIED)
            | (_, "secretGenerator") => Self::Hidden,
            (Self::Secret, "metadata") => Self::Metadata,
            (Self::Metadata, "annotations") => Self::Annotations,
            _ => Self::Open,
        }
    }

    /// Tells whether a value is not shown.
    pub(super) fn hides(self, node: &Node) -> bool {
        self == Self::Hidden && !node.is_null() || node.as_str().is_some_and(is_secret)
    }

    /// Returns a value as JSON, with what is hidden left out.
    pub(super) fn json(self, node: &Node) -> Json {
        match &node.value {
            Value::Mapping(entries) => entries
                .iter()
                .map(|(key, value)| (key.text.to_string(), self.below(&key.text).json(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Value::Sequence(items) => items.iter().map(|item| self.json(item)).collect(),
            _ if self.hides(node) => HIDDEN.into(),
            _ => node.to_json(),
        }
    }
}

/// Tells whether a text may be a Secret in YAML or JSON: a patch, a template, or what was applied last.
pub(super) fn is_secret(text: &str) -> bool {
    text.match_indices("kind").any(|(at, _)| {
        let rest = text.get(at.saturating_add(4)..).unwrap_or_default();
        let rest = rest.trim_start_matches(['"', '\'', '\\']).trim_start();
        let Some(value) = rest.strip_prefix(':') else {
            return false;
        };
        let value = value.trim_start().trim_start_matches(['"', '\'', '\\']);
        value
            .strip_prefix("Secret")
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}
