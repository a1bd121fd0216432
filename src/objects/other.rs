//! What stands in manifests without being an object, recognised by name, kind and shape.

use std::fmt;
use std::path::Path;

use crate::escape::shown;
use crate::yaml::{Node, Value};

/// A document, or an item of a list, that is no object.
#[derive(Debug, Clone, PartialEq)]
pub struct Other {
    /// What it is, as far as can be told.
    pub what: What,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// All of it.
    pub node: Node,
}

/// What something is that is no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The file that a directory of kustomize is known by, or a component.
    Kustomization,
    /// A generator or transformer that kustomize carries out (`apiVersion: builtin`).
    KustomizePlugin,
    /// Settings for kustomize's transformers (`kustomizeconfig.yaml`).
    KustomizeSettings,
    /// The `Chart.yaml` of a Helm chart.
    Chart,
    /// The default values of a Helm chart.
    ChartValues,
    /// Operations on an object.
    JsonPatch,
    /// A list or a scalar; the text names it, such as `a list`.
    NotAMapping(&'static str),
    /// A mapping with neither apiVersion nor kind.
    Untyped,
    /// An object in which something is missing or is no string.
    Incomplete(Vec<Lack>),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kustomization => "a kustomization",
            Self::KustomizePlugin => "a transformer or generator of kustomize",
            Self::KustomizeSettings => "settings for kustomize's transformers",
            Self::Chart => "the `Chart.yaml` of a Helm chart",
            Self::ChartValues => "the values of a Helm chart",
            Self::JsonPatch => "a JSON patch",
            Self::NotAMapping(kind) => kind,
            Self::Untyped => "a mapping",
            Self::Incomplete(_) => "an incomplete object",
        })
    }
}

/// Something that an object must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// The line at which it should be, or at which it is something else.
    pub line: u32,
    /// What is there instead of a string, such as `a number`; none when nothing is there.
    pub found: Option<&'static str>,
    /// How it is written, when that is one word.
    pub written: Option<String>,
}

impl Lack {
    pub(super) fn missing(path: &[&str], line: u32) -> Self {
        Self {
            field: path.join("."),
            line,
            found: None,
            written: None,
        }
    }

    pub(super) fn wrong(path: &[&str], node: &Node) -> Self {
        Self {
            field: path.join("."),
            line: node.line,
            found: Some(node.value.kind_name()),
            written: node.plain_text().map(str::to_owned),
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.found, &self.written) {
            (None, _) => write!(f, "`{}` is missing", self.field),
            (Some(found), None) => write!(f, "`{}` is {found}, not a string", self.field),
            (Some(found), Some(text)) => {
                write!(
                    f,
                    "`{}` is {found} (`{}`), not a string",
                    self.field,
                    shown(text)
                )
            }
        }
    }
}

/// Tells whether a file holds YAML or JSON, by the end of its name, in lower case as consumers want it.
pub fn is_manifest_name(path: impl AsRef<Path>) -> bool {
    let extension = path.as_ref().extension();
    extension.is_some_and(|found| ["yaml", "yml", "json"].iter().any(|known| found == *known))
}

/// Tells whether a directory with a file of this name is one of kustomize's.
pub fn is_kustomization(file_name: &str) -> bool {
    matches!(
        file_name,
        "kustomization.yaml" | "kustomization.yml" | "Kustomization"
    )
}

/// Tells whether a directory with a file of this name is a Helm chart, by Argo CD's rule: the name ends in `Chart.yaml`.
pub fn is_chart(file_name: &str) -> bool {
    file_name.ends_with("Chart.yaml")
}

/// Recognises what looks like an object, or could be taken for one, and is none.
pub(super) fn known(node: &Node, file_name: &str) -> Option<What> {
    if !matches!(node.value, Value::Mapping(_)) {
        return Some(if is_json_patch(node) {
            What::JsonPatch
        } else {
            What::NotAMapping(node.value.kind_name())
        });
    }
    let text = |key| node.get(key).and_then(Node::as_str);
    match text("apiVersion") {
        Some(version) if version.starts_with("kustomize.config.k8s.io/") => {
            return Some(What::Kustomization);
        }
        Some("builtin") => return Some(What::KustomizePlugin),
        _ => {}
    }
    if is_kustomization(file_name) {
        return Some(What::Kustomization);
    }
    (is_chart(file_name) && node.get("kind").is_none()).then_some(What::Chart)
}

/// Names what has no full identity, from what it lacks.
pub(super) fn by_what_it_lacks(node: &Node, lacks: Vec<Lack>, file_name: &str) -> What {
    if node.get("apiVersion").is_some() || node.get("kind").is_some() {
        return What::Incomplete(lacks);
    }
    if is_kustomize_settings(node) {
        What::KustomizeSettings
    } else if file_name.starts_with("values") {
        What::ChartValues
    } else {
        What::Untyped
    }
}

/// The top-level keys that settings for kustomize's transformers may have.
const SETTINGS: &[&str] = &[
    "commonAnnotations",
    "commonLabels",
    "images",
    "labels",
    "namePrefix",
    "nameReference",
    "nameSuffix",
    "namespace",
    "replicas",
    "templateLabels",
    "varReference",
];

/// Tells whether a mapping consists of lists of fields (`path:`, or `fieldSpecs:` for references) under kustomize's names.
fn is_kustomize_settings(node: &Node) -> bool {
    let is_field = |item: &Node| item.get("path").is_some() || item.get("fieldSpecs").is_some();
    node.as_mapping().is_some_and(|members| {
        !members.is_empty()
            && members.iter().all(|(key, value)| {
                SETTINGS.contains(&&*key.text)
                    && value
                        .as_sequence()
                        .is_some_and(|items| items.iter().all(is_field))
            })
    })
}

fn is_json_patch(node: &Node) -> bool {
    node.as_sequence().is_some_and(|items| {
        !items.is_empty()
            && items
                .iter()
                .all(|item| item.get("op").is_some() && item.get("path").is_some())
    })
}
