//! What changes of a schema refuse or drop what was fine before.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::crd::Version;
use crate::escape::shown;
use crate::schema::may_match;
use crate::yaml::{Node, Value};

use super::super::path::{FieldPath, Step, shortened};
use super::super::value::same;
use super::found::Found;
use super::{Breaking, bounds, crd};

/// Looks whether a version no longer keeps fields that its schema does not name; `keeps` tells it of both sides.
pub(super) fn compare_versions(
    old: &Version<'_>,
    new: &Version<'_>,
    keeps: [bool; 2],
    found: &mut Found<'_>,
) {
    if keeps[0] && !keeps[1] && new.schema.is_some() {
        let what = "fields that the schema does not name are dropped";
        let mut walk = Walk::new(old.name, keeps[1], found);
        walk.note("crd-unknown-fields", true, new.line, what.to_owned());
    }
}

/// Compares the schemas of a version; `keeps_all` tells whether fields that the new one does not name are kept wherever they are.
pub(super) fn compare(
    version: &str,
    [old, new]: [&Node; 2],
    keeps_all: bool,
    found: &mut Found<'_>,
) {
    let mut walk = Walk::new(version, keeps_all, found);
    for key in ["schema", "openAPIV3Schema"] {
        walk.path.push(Step::Key(key.to_owned()));
    }
    walk.node(old, new);
}

/// A walk over two schemas of one thing. The depth of a document bounds it.
pub(super) struct Walk<'f, 'b> {
    path: Vec<Step>,
    /// The field of the resource that the schema is about, such as `spec.rules[].host`.
    field: String,
    /// Whether the API server keeps what the new schema does not name.
    keeps_all: bool,
    found: &'f mut Found<'b>,
}

impl<'f, 'b> Walk<'f, 'b> {
    fn new(version: &str, keeps_all: bool, found: &'f mut Found<'b>) -> Self {
        Self {
            path: crd::path(version),
            field: String::new(),
            keeps_all,
            found,
        }
    }
    pub(super) fn note(&mut self, rule: &'static str, certain: bool, line: u32, what: String) {
        // What the status holds is up to the controller, which comes with the definition; those who read it miss what is removed.
        let is_status = self.field == "status" || self.field.starts_with("status.");
        let certain = certain && (!is_status || rule == "crd-field-removed");
        let message = match self.field.as_str() {
            "" => what,
            field => format!("`{}`: {what}", shown(field)),
        };
        self.found.push(Breaking {
            rule,
            path: FieldPath(self.path.clone()),
            message,
            certain,
            line,
        });
    }

    /// Tells whether a value may match a pattern.
    pub(super) fn may_match(&mut self, pattern: &str, value: &str) -> bool {
        may_match(pattern, value, self.found.patterns)
    }

    /// Goes one level down and comes back.
    fn below(&mut self, steps: &[&str], field: &str, old: &Node, new: &Node) {
        let (depth, length) = (self.path.len(), self.field.len());
        self.path.extend(steps.iter().map(|key| Step::of_key(key)));
        self.field.push_str(field);
        self.node(old, new);
        self.path.truncate(depth);
        self.field.truncate(length);
    }

    fn node(&mut self, old: &Node, new: &Node) {
        let (before, after) = (types(old), types(new));
        let gone: Vec<&str> = before
            .iter()
            .filter(|kind| !accepts(&after, kind))
            .copied()
            .collect();
        if !gone.is_empty() {
            let what = format!("was {} and is {}", said(&before), said(&after));
            self.note("crd-type", true, new.line, what);
            if before.is_disjoint(&after) {
                return;
            }
        } else if old.has_true("nullable") && !new.has_true("nullable") {
            self.note(
                "crd-type",
                true,
                new.line,
                "null is no longer accepted".to_owned(),
            );
        }
        self.unknown_fields(old, new);
        let fields = fields(new);
        self.required(old, new, &fields);
        self.values(old, new);
        bounds::compare(self, old, new);
        self.rules(old, new);
        self.properties(old, new, &fields);
        for (key, field) in [("items", "[]"), ("additionalProperties", "[*]")] {
            if let (Some(a), Some(b)) = (old.get(key), new.get(key)) {
                self.below(&[key], field, a, b);
            }
        }
    }

    fn unknown_fields(&mut self, old: &Node, new: &Node) {
        let kinds = types(old);
        let has_fields = kinds.contains("object") || kinds.contains("any");
        if has_fields
            && (keeps(old) || has_other_fields(old))
            && !(keeps(new) || self.keeps_all || has_other_fields(new))
        {
            let what = "fields that the schema does not name are dropped";
            self.note("crd-unknown-fields", true, new.line, what.to_owned());
        }
    }

    fn properties(&mut self, old: &Node, new: &Node, fields: &HashMap<&str, &Node>) {
        let mut all: Vec<(&str, &Node)> =
            super::super::value::members(old.get("properties").unwrap_or(old))
                .filter(|_| old.get("properties").is_some())
                .collect();
        all.sort_by_key(|(key, _)| *key);
        let takes_any = keeps(new) || self.keeps_all || has_other_fields(new);
        for (key, before) in all {
            let dot = if self.field.is_empty() { "" } else { "." };
            let field = format!("{dot}{}", shortened(key));
            match fields.get(key) {
                Some(after) => self.below(&["properties", key], &field, before, after),
                None if takes_any => {}
                None => {
                    let length = self.field.len();
                    self.field.push_str(&field);
                    self.path.extend(["properties", key].map(Step::of_key));
                    self.note("crd-field-removed", true, 0, "is removed".to_owned());
                    self.path.truncate(self.path.len().saturating_sub(2));
                    self.field.truncate(length);
                }
            }
        }
    }

    fn required(&mut self, old: &Node, new: &Node, fields: &HashMap<&str, &Node>) {
        let before = words(old.get("required"));
        let line = new.get("required").map_or(new.line, |node| node.line);
        for name in words(new.get("required")).difference(&before) {
            let property = fields.get(name);
            if property.is_none_or(|property| property.get("default").is_none()) {
                let what = format!("field `{}` is required now", shown(name));
                self.note("crd-required", true, line, what);
            }
        }
    }

    fn values(&mut self, old: &Node, new: &Node) {
        let list = |node: &Node| -> Option<Vec<String>> {
            let items = node.get("enum")?.as_sequence()?;
            Some(
                items
                    .iter()
                    .map(|item| item.to_json().to_string())
                    .collect(),
            )
        };
        let Some(after) = list(new) else {
            return;
        };
        let line = new.get("enum").map_or(new.line, |node| node.line);
        let Some(before) = list(old) else {
            let what = format!(
                "any value was accepted, and now only {}",
                shown(&after.join(", "))
            );
            self.note("crd-enum", true, line, what);
            return;
        };
        let after: HashSet<&str> = after.iter().map(String::as_str).collect();
        let before = before.iter().map(String::as_str);
        let gone: Vec<&str> = before.filter(|value| !after.contains(value)).collect();
        if !gone.is_empty() {
            let what = format!("no longer accepted: {}", shown(&gone.join(", ")));
            self.note("crd-enum", true, line, what);
        }
    }

    /// Looks at rules in words and at schemas of which some must hold. Whether they refuse what was fine is not computed.
    fn rules(&mut self, old: &Node, new: &Node) {
        let list = |node: &Node| -> Vec<(String, u32)> {
            let items = node
                .get("x-kubernetes-validations")
                .and_then(Node::as_sequence);
            let rules = items
                .unwrap_or_default()
                .iter()
                .filter_map(|item| item.get("rule"));
            let text = |node: &Node| {
                let words: Vec<&str> = node.as_str()?.split_whitespace().collect();
                Some((words.join(" "), node.line))
            };
            rules.filter_map(text).collect()
        };
        let before: BTreeSet<String> = list(old).into_iter().map(|(rule, _)| rule).collect();
        for (rule, line) in list(new) {
            if !before.contains(&rule) {
                let what = format!("must satisfy `{}`", shown(&rule));
                self.note("crd-validation", false, line, what);
            }
        }
        for key in ["allOf", "anyOf", "oneOf", "not"] {
            let (Some(after), before) = (new.get(key), old.get(key)) else {
                continue;
            };
            let is_said_otherwise = key == "anyOf" && is_integer_or_string(after);
            if !is_said_otherwise && before.is_none_or(|before| !same(before, after)) {
                let what = format!(
                    "`{key}` is {}",
                    if before.is_some() {
                        "another one"
                    } else {
                        "new"
                    }
                );
                self.note("crd-validation", false, after.line, what);
            }
        }
    }
}

/// Returns the types of which a value may be; all of them where nothing is said.
fn types(node: &Node) -> BTreeSet<&str> {
    if is_int_or_string(node) {
        return BTreeSet::from(["integer", "string"]);
    }
    let said = node.get("type").and_then(Node::as_str);
    // Schemas of the first API leave out what follows from the rest.
    let implied = [("properties", "object"), ("items", "array")]
        .into_iter()
        .find_map(|(key, kind)| node.get(key).map(|_| kind));
    match said.or(implied) {
        Some(kind) => BTreeSet::from([kind]),
        None => BTreeSet::from(["any"]),
    }
}

fn accepts(types: &BTreeSet<&str>, kind: &str) -> bool {
    types.contains("any") || types.contains(kind) || kind == "integer" && types.contains("number")
}

fn said(types: &BTreeSet<&str>) -> String {
    let words: Vec<String> = types.iter().map(|kind| shown(kind)).collect();
    words.join(" or ")
}

fn is_int_or_string(node: &Node) -> bool {
    node.has_true("x-kubernetes-int-or-string")
        || node.get("anyOf").is_some_and(is_integer_or_string)
}

/// Tells whether a list of schemas says in a long way that a value is an integer or a string.
fn is_integer_or_string(any_of: &Node) -> bool {
    let all = any_of.as_sequence().unwrap_or_default();
    let kinds: Vec<&str> = all
        .iter()
        .filter_map(|one| one.get("type")?.as_str())
        .collect();
    kinds.len() == all.len() && kinds.contains(&"integer") && kinds.contains(&"string")
}

/// Tells whether a schema has a schema for fields that it does not name.
fn has_other_fields(node: &Node) -> bool {
    let additional = node.get("additionalProperties");
    additional.is_some_and(|additional| additional.value != Value::Bool(false))
}

/// Tells whether a schema keeps fields that it does not name.
fn keeps(node: &Node) -> bool {
    node.has_true("x-kubernetes-preserve-unknown-fields") || node.has_true("additionalProperties")
}

/// Returns the schemas of the fields by name.
fn fields(node: &Node) -> HashMap<&str, &Node> {
    let members = node.get("properties").and_then(Node::as_mapping);
    let members = members.unwrap_or_default().iter();
    members.map(|(key, value)| (&*key.text, value)).collect()
}

fn words(node: Option<&Node>) -> BTreeSet<&str> {
    let items = node.and_then(Node::as_sequence).unwrap_or_default();
    items.iter().filter_map(Node::as_str).collect()
}
