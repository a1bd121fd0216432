//! What of a value may be shown: never what a Secret holds, nor a text that is a Secret.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::bundle::Files;
use crate::error::Result;
use crate::limits::Limits;
use crate::objects;
use crate::path::BundlePath;
use crate::yaml::{self, Node, Value};

use super::index::bytes_of;

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

/// The files from which kustomizations make Secrets, by the last parts of their paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    names: BTreeSet<String>,
    /// Whether a kustomization cannot be read, so that any file may be one.
    any: bool,
}

impl Sources {
    /// Reads the kustomizations among some files.
    pub(super) fn of(files: &Files, limits: &Limits) -> Result<Self> {
        let mut sources = Self::default();
        for (path, content) in files {
            if objects::is_kustomization(path.file_name()) {
                for document in yaml::documents(&bytes_of(path, content)?, limits) {
                    match document {
                        Ok(document) => sources.add(&document.root),
                        Err(_) => sources.any = true,
                    }
                }
            }
        }
        Ok(sources)
    }

    fn add(&mut self, node: &Node) {
        let list = |node: Option<&'_ Node>| {
            node.and_then(Node::as_sequence)
                .unwrap_or_default()
                .to_vec()
        };
        for generator in list(node.get("secretGenerator")) {
            let all = ["files", "envs"]
                .into_iter()
                .flat_map(|key| list(generator.get(key)));
            for one in all.chain(generator.get("env").cloned()) {
                // `key=path` gives the content another name.
                let text = one.as_str().unwrap_or_default();
                let path = text.split_once('=').map_or(text, |(_, path)| path);
                let name = path.rsplit('/').next().unwrap_or(path);
                self.names.insert(name.to_owned());
            }
        }
    }

    pub(super) fn has(&self, path: &BundlePath) -> bool {
        self.any || self.names.contains(path.file_name())
    }
}

/// Returns the lines, from 0, of all documents of a file in which something is hidden.
///
/// A text that cannot be read is hidden if it looks like a Secret, and so is what a Secret is made from.
pub(super) fn secret_lines(
    path: &BundlePath,
    text: &[u8],
    sources: &Sources,
    limits: &Limits,
) -> BTreeSet<u32> {
    let whole = || 0..u32::try_from(text.split(|b| *b == b'\n').count()).unwrap_or(u32::MAX);
    if sources.has(path) {
        return whole().collect();
    }
    let mut lines = BTreeSet::new();
    for document in yaml::documents(text, limits) {
        match document {
            Ok(document) => {
                if holds_secret(&document.root) {
                    let bytes = text.get(document.range).unwrap_or_default();
                    let count = bytes.split(|b| *b == b'\n').count();
                    let first = document.line.saturating_sub(1);
                    let count = u32::try_from(count).unwrap_or(u32::MAX);
                    lines.extend(first..first.saturating_add(count));
                }
            }
            Err(_) if is_secret(&String::from_utf8_lossy(text)) => lines.extend(whole()),
            Err(_) => {}
        }
    }
    lines
}

/// Tells whether something in a value is a Secret, or would be hidden in one.
fn holds_secret(node: &Node) -> bool {
    match &node.value {
        Value::Mapping(entries) => {
            node.get("kind")
                .and_then(Node::as_str)
                .is_some_and(|kind| kind.starts_with("Secret"))
                || entries
                    .iter()
                    .any(|(key, value)| &*key.text == "secretGenerator" || holds_secret(value))
        }
        Value::Sequence(items) => items.iter().any(holds_secret),
        Value::String(text) => is_secret(text),
        _ => false,
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
