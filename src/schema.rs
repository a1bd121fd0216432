//! Schemas of custom resources: the part of OpenAPI v3 that Kubernetes takes in a definition, and what it makes of an object.
//!
//! An object is filled with defaults and then held against the schema, as an API server does it when the object is created;
//! fields that it would drop are told apart. Rules in CEL (`x-kubernetes-validations`) are not carried out. Whoever wrote a
//! schema may be a stranger: all work is charged to a [`Budget`], and patterns are compiled within limits.

mod check;
mod defaults;
mod formats;
mod pattern;
mod read;
mod text;
mod unknown;

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::crd::{Version, keeps_unknown_fields};
use crate::escape::shown;
use crate::objects::Object;
use crate::yaml::Node;

use formats::Format;
use pattern::Pattern;

/// A schema, read from a definition by [`Schema::read`].
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
pub struct Schema {
    kind: Option<Type>,
    nullable: bool,
    int_or_string: bool,
    preserve_unknown: bool,
    embedded: bool,
    properties: BTreeMap<Box<str>, Schema>,
    additional: Additional,
    items: Option<Box<Schema>>,
    required: Vec<Box<str>>,
    /// The properties that have a default.
    filled: Vec<Box<str>>,
    default: Option<Node>,
    rules: Option<Box<Rules>>,
}

/// What few fields have.
#[derive(Debug, Default)]
struct Rules {
    values: Vec<Node>,
    pattern: Option<Pattern>,
    format: Option<Format>,
    minimum: Option<Bound>,
    maximum: Option<Bound>,
    multiple_of: Option<f64>,
    length: Range,
    items: Range,
    properties: Range,
    list: List,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Schema>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// What may stand in an object beside its properties.
#[derive(Debug, Default)]
enum Additional {
    /// Nothing is said: it is dropped, or kept where unknown fields are.
    #[default]
    Unsaid,
    /// `additionalProperties: false`, which only old definitions may say.
    Forbidden,
    Any,
    Each(Box<Schema>),
}

#[derive(Debug, Clone, Copy)]
struct Bound {
    value: f64,
    is_exclusive: bool,
}

/// How many there must be at least and may be at most.
#[derive(Debug, Default, Clone, Copy)]
struct Range {
    least: Option<u64>,
    most: Option<u64>,
}

/// What makes items of a list one and the same (`x-kubernetes-list-type`).
#[derive(Debug, Default)]
enum List {
    #[default]
    Atomic,
    Set,
    /// The values of these keys.
    Map(Vec<Box<str>>),
}

/// What is left of the work that may be done.
#[derive(Debug)]
pub struct Budget {
    steps: u64,
    patterns: u32,
}

/// Tells whether a value may match a pattern, which is unanchored: only what certainly does not is told.
pub fn may_match(pattern: &str, value: &str, budget: &mut Budget) -> bool {
    Pattern::new(pattern).may_match(value, budget)
}

impl Default for Budget {
    /// Enough for any real bundle: some seconds of work, and some MiB of compiled patterns.
    fn default() -> Self {
        Self {
            steps: 5_000_000,
            patterns: 500,
        }
    }
}

impl Budget {
    /// Tells whether there is nothing left, so that what was found may not be all.
    pub fn is_spent(&self) -> bool {
        self.steps == 0
    }

    /// Charges for bytes that are read and parsed once more.
    pub fn charge_reading(&mut self, bytes: u64) {
        self.charge(bytes / 64);
    }

    fn charge(&mut self, steps: u64) -> bool {
        self.steps = self.steps.saturating_sub(steps);
        self.steps > 0
    }
}

/// Something in an object that its schema does not have so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The way to the field, such as `spec.replicas`.
    pub path: String,
    /// The line on which it stands.
    pub line: u32,
    /// What is wrong with it.
    pub what: Wrong,
}

/// In which way an object does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// An API server refuses the object; the text says what it should be.
    Invalid(String),
    /// An API server drops the field, and strict clients refuse the object.
    Unknown,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        match &self.what {
            Wrong::Invalid(text) => write!(f, "`{path}` {text}"),
            Wrong::Unknown => write!(f, "`{path}` is not in the schema"),
        }
    }
}

/// The most mismatches of one object that are told, and the longest path to one.
const MISMATCHES_MAX: usize = 1_000;
const PATH_SHOWN: usize = 200;

/// The way to a value.
#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn path_text(steps: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in steps {
        if text.len() > PATH_SHOWN * char::MAX.len_utf8() {
            break;
        }
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.extend(key.chars().take(PATH_SHOWN + 1));
            }
            Step::Index(index) => {
                // Writing to a string cannot fail.
                let _ = write!(text, "[{index}]");
            }
        }
    }
    if text.len() > PATH_SHOWN {
        text = text.chars().take(PATH_SHOWN).chain(['…']).collect();
    }
    text
}

impl Schema {
    /// Returns the schema of what stands in an object beside its properties.
    fn each(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Each(schema) => Some(schema),
            _ => None,
        }
    }
}

/// The schema of one version of a definition, with what else the version says of its objects.
#[derive(Debug)]
pub struct VersionSchema {
    schema: Arc<Schema>,
    nodes: u64,
    has_status: bool,
    prunes: bool,
}

impl VersionSchema {
    /// Reads the schemas of those versions of a definition that have one, by the names of the versions; one that several have is
    /// read once.
    pub fn read_all<'n>(definition: &Object, versions: Vec<Version<'n>>) -> Vec<(&'n str, Self)> {
        let prunes = !keeps_unknown_fields(definition);
        let mut known: HashMap<*const Node, Arc<Schema>> = HashMap::new();
        let read = |version: Version<'n>| {
            let node = version.schema?;
            let mut nodes = 0;
            let schema = known.entry(node).or_insert_with(|| {
                let schema = Schema::read(node);
                nodes = schema.nodes();
                Arc::new(schema)
            });
            let schema = Self {
                schema: Arc::clone(schema),
                nodes,
                has_status: version.has_subresource("status"),
                prunes,
            };
            Some((version.name, schema))
        };
        versions.into_iter().filter_map(read).collect()
    }

    /// Counts the schemas in this one, itself included, and the names and values in them; none where another version has the
    /// same.
    pub fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Holds a custom resource against the schema, as an API server does when it is created.
    ///
    /// The object is changed: it gets its defaults, and loses what a status sub-resource takes.
    pub fn check(&self, object: &mut Node, budget: &mut Budget) -> Vec<Mismatch> {
        if self.has_status {
            defaults::remove(object, "status");
        }
        check(&self.schema, self.prunes, object, budget)
    }
}

/// Holds an object against a schema; `prunes` tells whether unknown fields are dropped.
pub fn check(
    schema: &Schema,
    prunes: bool,
    object: &mut Node,
    budget: &mut Budget,
) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if prunes {
        unknown::find(schema, object, budget, &mut found);
        defaults::fill(schema, object, budget);
    }
    check::check(schema, object, budget, &mut found);
    found.sort_by_key(|mismatch| mismatch.line);
    found
}

#[cfg(test)]
mod tests;
