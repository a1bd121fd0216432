//! The fields of Kubernetes' own kinds, with their types: what no API server takes, and what it does not know.
//!
//! The table (`known_fields/kinds.txt`) has the names and types of fields from the OpenAPI documents of Kubernetes 1.33 to 1.37, all
//! releases together, of the kinds that bundles mostly hold. What a field may hold beside its type is not in it.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::escape::shown;
use crate::objects::Object;
use crate::quantity::is_quantity;
use crate::similar::nearest;
use crate::yaml::{Key, Node, Value};

/// Kinds with their fields, an empty line, and the types that these fields have.
///
/// A type is `s` (string), `i` (integer), `b` (boolean), `x` (integer or string), `q` (quantity), `y` (base64), `*` (anything) or
/// one of the table, behind `[]` for a list of it and behind `{}` for a mapping to it.
const TABLE: &str = include_str!("known_fields/kinds.txt");

/// How many faults of one object are told.
const FAULTS_MAX: usize = 20_000;

/// Fields that must be there and not empty, by their type.
#[rustfmt::skip]
const REQUIRED: &[(&str, &[&str])] = &[
    ("PodSpec", &["containers"]),
    ("Container", &["name"]),
    ("ContainerPort", &["containerPort"]),
    ("EnvVar", &["name"]),
    ("Volume", &["name"]),
    ("VolumeMount", &["name", "mountPath"]),
    ("DeploymentSpec", &["template"]),
    ("DaemonSetSpec", &["template"]),
    ("StatefulSetSpec", &["template"]),
    ("JobSpec", &["template"]),
    ("CronJobSpec", &["schedule", "jobTemplate"]),
    ("ServicePort", &["port"]),
    ("RoleRef", &["kind", "name"]),
    ("Subject", &["kind", "name"]),
];

/// Something about a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where it is, such as `spec.containers[name=main].image`; escaped.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub what: Wrong,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// A value of a type that no API server takes: what it is, what it must be, and how it is right where that is known; escaped.
    Type(&'static str, &'static str, Option<String>),
    /// A word or number without quotes where a string must be: what it is, and how it is written; escaped.
    Unquoted(&'static str, String),
    /// A text that is not of the form that it must have: which form.
    Form(&'static str),
    /// It must be there, and not be empty.
    Missing,
    /// No API server knows it: the nearest one that is known.
    Unknown(Option<&'static str>),
}

/// The fields of a type, sorted by name.
type Fields = Vec<(&'static str, &'static str)>;

struct Tables {
    kinds: HashMap<(&'static str, &'static str), Fields>,
    types: HashMap<&'static str, Fields>,
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let fields = |words: std::str::SplitAsciiWhitespace<'static>| -> Fields {
            words.filter_map(|word| word.split_once(':')).collect()
        };
        let (kinds, types) = TABLE.split_once("\n\n").unwrap_or((TABLE, ""));
        let kind = |line: &'static str| {
            let mut words = line.split_ascii_whitespace();
            Some(((words.next()?, words.next()?), fields(words)))
        };
        let of_type = |line: &'static str| {
            let mut words = line.split_ascii_whitespace();
            Some((words.next()?, fields(words)))
        };
        Tables {
            kinds: kinds.lines().filter_map(kind).collect(),
            types: types.lines().filter_map(of_type).collect(),
        }
    })
}

/// Tells whether the fields of an API and kind are known.
pub fn is_known(api_version: &str, kind: &str) -> bool {
    tables().kinds.contains_key(&(api_version, kind))
}

/// Looks at all fields of an object; an object of a kind that is not in the table, or that a template makes, has no faults.
///
/// Where `is_patch` says that the object may be a part of one, nothing is missing.
pub fn faults(object: &Object, is_patch: bool) -> Vec<Fault> {
    let api_version = object.api_version();
    let kind = object.id.kind.as_str();
    let fields = tables().kinds.get(&(api_version.as_str(), kind));
    let (Some(fields), Some(members), false) =
        (fields, object.node.as_mapping(), object.is_template)
    else {
        return Vec::new();
    };
    let mut walk = Walk {
        path: Vec::new(),
        found: Vec::new(),
        is_patch,
    };
    let is_type = |key: &Key| matches!(&*key.text, "apiVersion" | "kind");
    walk.members(fields, members, &is_type);
    walk.found
}

#[derive(Clone, Copy)]
enum Step<'n> {
    Key(&'n Key),
    Named(&'n str),
    Index(usize),
    Missing(&'static str),
}

/// A walk over an object. The depth of a document bounds it.
struct Walk<'n> {
    path: Vec<Step<'n>>,
    found: Vec<Fault>,
    is_patch: bool,
}

impl<'n> Walk<'n> {
    fn members(
        &mut self,
        fields: &Fields,
        members: &'n [(Key, Node)],
        is_skipped: &dyn Fn(&Key) -> bool,
    ) {
        for (key, value) in members.iter().filter(|(key, _)| !is_skipped(key)) {
            self.path.push(Step::Key(key));
            match fields.binary_search_by_key(&&*key.text, |(name, _)| *name) {
                Ok(at) => {
                    let of = fields.get(at).map_or("*", |(_, of)| of);
                    self.value(of, value);
                }
                // Directives of a patch begin with `$`.
                Err(_) if is_filled(&key.text) || self.is_patch && key.text.starts_with('$') => {}
                Err(_) => {
                    let names = fields.iter().map(|(name, _)| *name);
                    let near = nearest(&key.text, names)
                        .filter(|(name, distance)| *distance <= 2 && distance * 3 <= name.len())
                        .map(|(name, _)| name)
                        .or_else(|| {
                            let same = |name: &&str| name.eq_ignore_ascii_case(&key.text);
                            fields.iter().map(|(name, _)| *name).find(same)
                        });
                    self.note(key.line, Wrong::Unknown(near));
                }
            }
            self.path.pop();
        }
    }

    fn value(&mut self, of: &'static str, node: &'n Node) {
        // Something may fill it before an API server sees it.
        if of == "*" || node.is_null() || node.as_str().is_some_and(is_filled) {
            return;
        }
        if let Some(of) = of.strip_prefix("[]") {
            let Some(items) = node.as_sequence() else {
                return self.wrong_type("a list", node);
            };
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Node::as_str);
                self.path.push(name.map_or(Step::Index(index), Step::Named));
                self.value(of, item);
                self.path.pop();
            }
        } else if let Some(of) = of.strip_prefix("{}") {
            let Some(members) = node.as_mapping() else {
                return self.wrong_type("a mapping", node);
            };
            for (key, value) in members {
                self.path.push(Step::Key(key));
                self.value(of, value);
                self.path.pop();
            }
        } else if let Some(fields) = tables().types.get(of) {
            let Some(members) = node.as_mapping() else {
                return self.wrong_type("a mapping", node);
            };
            self.members(fields, members, &|_| false);
            if !self.is_patch {
                self.missing(of, node);
            }
        } else {
            self.scalar(of, node);
        }
    }

    fn scalar(&mut self, of: &'static str, node: &Node) {
        let is_whole = match node.value {
            Value::Int(_) | Value::UInt(_) => true,
            Value::Float(value) => value.fract() == 0.0,
            _ => false,
        };
        let wanted = match (of, &node.value) {
            ("i" | "x", _) if is_whole => return,
            ("s" | "x", Value::String(_))
            | ("b", Value::Bool(_))
            | ("q", Value::Int(_) | Value::UInt(_) | Value::Float(_)) => return,
            ("q", Value::String(text)) if is_quantity(text) => return,
            ("y", Value::String(text)) if is_base64(text) => return,
            ("q", Value::String(_)) => {
                return self.note(
                    node.line,
                    Wrong::Form("a quantity, such as `100m` or `1Gi`"),
                );
            }
            ("y", Value::String(_)) => return self.note(node.line, Wrong::Form("base64")),
            ("s" | "y", Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
                let written = shown(node.plain_text().unwrap_or_default());
                return self.note(node.line, Wrong::Unquoted(node.value.kind_name(), written));
            }
            ("s", _) => "a string",
            ("y", _) => "a string of base64",
            ("i", _) => "an integer",
            ("b", _) => "a boolean",
            ("x", _) => "an integer or a string",
            ("q", _) => "a quantity",
            _ => return,
        };
        self.wrong_type(wanted, node);
    }

    fn missing(&mut self, of: &str, node: &Node) {
        let row = REQUIRED.iter().find(|(name, _)| *name == of);
        for field in row.map_or(&[][..], |(_, fields)| fields) {
            let found = node.get(field);
            let is_there = found.is_some_and(|found| match &found.value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Sequence(items) => !items.is_empty(),
                _ => true,
            });
            if !is_there {
                self.path.push(Step::Missing(field));
                self.note(found.map_or(node.line, |found| found.line), Wrong::Missing);
                self.path.pop();
            }
        }
    }

    fn wrong_type(&mut self, wanted: &'static str, node: &Node) {
        let right = node.as_str().filter(|text| match wanted {
            "an integer" => text.parse::<i64>().is_ok(),
            "a boolean" => matches!(*text, "true" | "false"),
            _ => false,
        });
        let right = right.map(shown);
        self.note(
            node.line,
            Wrong::Type(node.value.kind_name(), wanted, right),
        );
    }

    fn note(&mut self, line: u32, what: Wrong) {
        if self.found.len() < FAULTS_MAX {
            let path = written(&self.path);
            self.found.push(Fault { path, line, what });
        }
    }
}

/// Writes a path with the keys as they stand in the file.
fn written(path: &[Step<'_>]) -> String {
    let mut out = String::new();
    for step in path {
        let (key, is_plain) = match step {
            Step::Key(key) => {
                let text = key.plain_text().unwrap_or(&key.text);
                let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
                (text, !text.is_empty() && text.bytes().all(is_word))
            }
            Step::Missing(text) => (*text, true),
            // Writing to a string cannot fail.
            Step::Named(name) => {
                let _ = write!(out, "[name={}]", shown(name));
                continue;
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
                continue;
            }
        };
        if is_plain {
            let dot = if out.is_empty() { "" } else { "." };
            let _ = write!(out, "{dot}{key}");
        } else {
            let _ = write!(out, "[{}]", shown(key));
        }
    }
    out
}

/// Tells whether something may fill a text before an API server sees it.
fn is_filled(text: &str) -> bool {
    text.contains("{{") || text.contains("${") || text.contains("$(")
}

/// Tells whether a text is what Go reads as base64: it passes over ends of lines.
fn is_base64(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    STANDARD.decode(text).is_ok()
}

#[cfg(test)]
mod tests;
