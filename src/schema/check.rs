//! What an API server refuses: types, required fields, bounds, and alternatives.
//!
//! A value is held against each schema of a definition at most once, so the work is at most the product of both sizes, and
//! charged.

use std::collections::{HashMap, HashSet};

use crate::escape::shown;
use crate::yaml::{Key, Node, Value};

use super::text::{cut, listed, written};
use super::{
    Additional, Bound, Budget, List, MISMATCHES_MAX, Mismatch, Range, Rules, Schema, Step, Type,
    Wrong, path_text,
};

/// Finds what is wrong with an object.
pub(super) fn check(
    schema: &Schema,
    object: &Node,
    budget: &mut Budget,
    found: &mut Vec<Mismatch>,
) {
    let mut walk = Walk {
        budget,
        found,
        path: Vec::new(),
        most: MISMATCHES_MAX,
    };
    walk.value(schema, object);
}

struct Walk<'a, 'n> {
    budget: &'a mut Budget,
    found: &'a mut Vec<Mismatch>,
    path: Vec<Step<'n>>,
    /// How many mismatches are wanted; the walk ends with the last one.
    most: usize,
}

impl<'n> Walk<'_, 'n> {
    fn value(&mut self, schema: &Schema, node: &'n Node) {
        if self.found.len() >= self.most || !self.budget.charge(1) {
            return;
        }
        if node.is_null() {
            if !schema.nullable && (schema.kind.is_some() || schema.int_or_string) {
                self.wrong(node, || format!("is null, and must be {}", wanted(schema)));
            } else if let Some(rules) = schema.rules.as_ref().filter(|_| !schema.nullable) {
                self.one_of_values(rules, node);
            }
            return;
        }
        if !has_type(schema, node) {
            self.wrong(node, || {
                let (found, written) = (node.value.kind_name(), written(node));
                format!("is {found}{written}, and must be {}", wanted(schema))
            });
            return;
        }
        match &node.value {
            Value::Mapping(_) => self.members(schema, node),
            Value::Sequence(items) => {
                if let Some(schema) = &schema.items {
                    for (index, item) in items.iter().enumerate() {
                        self.path.push(Step::Index(index));
                        self.value(schema, item);
                        self.path.pop();
                    }
                }
            }
            _ => {}
        }
        if let Some(rules) = &schema.rules {
            self.rules(rules, node);
        }
    }

    fn members(&mut self, schema: &Schema, node: &'n Node) {
        let entries = node.as_mapping().unwrap_or_default();
        self.required(schema, node, entries);
        for (key, value) in entries {
            self.path.push(Step::Key(&key.text));
            if let Some(property) = schema.properties.get(&key.text) {
                self.value(property, value);
            } else if self.budget.charge(1) {
                match &schema.additional {
                    Additional::Each(each) => self.value(each, value),
                    Additional::Forbidden => self.wrong(value, || "is not allowed".into()),
                    Additional::Any | Additional::Unsaid => {}
                }
            }
            self.path.pop();
        }
    }

    fn required(&mut self, schema: &Schema, node: &'n Node, entries: &'n [(Key, Node)]) {
        let implied: &[&str] = if schema.embedded {
            &["apiVersion", "kind"]
        } else {
            &[]
        };
        let count = schema.required.len().saturating_add(implied.len());
        if count == 0
            || !self
                .budget
                .charge(count.saturating_add(entries.len()) as u64)
        {
            return;
        }
        let known: HashSet<&str> = entries.iter().map(|(key, _)| &*key.text).collect();
        let names = schema.required.iter().map(|name| &**name);
        for name in names.chain(implied.iter().copied()) {
            if !known.contains(name) {
                self.wrong(node, || {
                    format!("lacks `{}`, which is required", shown(name))
                });
            }
        }
    }

    fn one_of_values(&mut self, rules: &Rules, node: &'n Node) {
        let mut values = rules.values.iter();
        if !rules.values.is_empty() && !values.any(|value| is_same(value, node, self.budget)) {
            let message = || format!("is{}, and must be {}", written(node), listed(&rules.values));
            self.wrong(node, message);
        }
    }

    fn rules(&mut self, rules: &Rules, node: &'n Node) {
        self.one_of_values(rules, node);
        match &node.value {
            Value::String(text) => self.text(rules, node, text),
            Value::Sequence(items) => {
                self.count(node, rules.items, items.len() as u64, "items");
                self.list(&rules.list, items);
            }
            Value::Mapping(entries) => {
                self.count(node, rules.properties, entries.len() as u64, "fields");
            }
            _ => {
                if let Some(number) = node.as_number() {
                    self.number(rules, node, number);
                }
            }
        }
        self.alternatives(rules, node);
    }

    fn text(&mut self, rules: &Rules, node: &'n Node, text: &str) {
        if !self.budget.charge(text_steps(text)) {
            return;
        }
        let length = rules.length;
        if length.least.is_some() || length.most.is_some() {
            self.count(node, length, text.chars().count() as u64, "characters");
        }
        if let Some(pattern) = &rules.pattern
            && !pattern.may_match(text, self.budget)
        {
            let pattern = cut(&pattern.text);
            self.wrong(node, || {
                format!("is{}, and must match `{pattern}`", written(node))
            });
        }
        if let Some(format) = rules.format.filter(|format| !format.may_be(text)) {
            let message = || format!("is{}, and must be {}", written(node), format.name());
            self.wrong(node, message);
        }
    }

    fn number(&mut self, rules: &Rules, node: &'n Node, number: f64) {
        let is_below =
            |bound: &Bound| number < bound.value || bound.is_exclusive && number <= bound.value;
        let is_above =
            |bound: &Bound| number > bound.value || bound.is_exclusive && number >= bound.value;
        let or_equal = |bound: &Bound| if bound.is_exclusive { "" } else { " or equal" };
        if let Some(bound) = rules.minimum.filter(is_below) {
            let message = || {
                format!(
                    "is {number}, and must be greater than{} {}",
                    or_equal(&bound),
                    bound.value
                )
            };
            self.wrong(node, message);
        }
        if let Some(bound) = rules.maximum.filter(is_above) {
            let message = || {
                format!(
                    "is {number}, and must be less than{} {}",
                    or_equal(&bound),
                    bound.value
                )
            };
            self.wrong(node, message);
        }
        // Only whole numbers are divided, which is exact.
        if let Some(divisor) = rules
            .multiple_of
            .filter(|d| *d >= 1.0 && d.fract() == 0.0 && number % d != 0.0)
        {
            self.wrong(node, || {
                format!("is {number}, and must be a multiple of {divisor}")
            });
        }
    }

    fn count(&mut self, node: &'n Node, range: Range, found: u64, what: &str) {
        if let Some(least) = range.least.filter(|least| found < *least) {
            self.wrong(node, || {
                format!("has {found} {what}, and must have at least {least}")
            });
        }
        if let Some(most) = range.most.filter(|most| found > *most) {
            self.wrong(node, || format!("has {found} {what}, and may have {most}"));
        }
    }

    /// Finds the first item of a list that is one with an item before it.
    fn list(&mut self, list: &List, items: &'n [Node]) {
        let keys = match list {
            List::Atomic => return,
            List::Set => None,
            List::Map(keys) => Some(keys),
        };
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            let identity = match keys {
                None => item.to_json().to_string(),
                Some(keys) => {
                    let members = item.as_mapping().unwrap_or_default();
                    if !self.budget.charge(members.len() as u64) {
                        return;
                    }
                    let members: HashMap<&str, &Node> = members
                        .iter()
                        .map(|(key, value)| (&*key.text, value))
                        .collect();
                    let values = keys
                        .iter()
                        .map(|key| Some(members.get(&**key)?.to_json().to_string()));
                    format!("{:?}", values.collect::<Vec<_>>())
                }
            };
            if !self.budget.charge(identity.len() as u64) {
                return;
            }
            if !seen.insert(identity) {
                self.path.push(Step::Index(index));
                let same = || match keys {
                    None => "is in the list already".to_owned(),
                    Some(keys) => format!(
                        "has the same {} as an item before it",
                        cut(&keys.join(" and "))
                    ),
                };
                self.wrong(item, same);
                self.path.pop();
                return;
            }
        }
    }

    fn alternatives(&mut self, rules: &Rules, node: &'n Node) {
        for schema in &rules.all_of {
            self.value(schema, node);
        }
        if !rules.any_of.is_empty() && !rules.any_of.iter().any(|schema| self.fits(schema, node)) {
            self.wrong(node, || {
                format!("fits none of {} alternatives (`anyOf`)", rules.any_of.len())
            });
        }
        if !rules.one_of.is_empty() {
            let fitting = rules
                .one_of
                .iter()
                .filter(|schema| self.fits(schema, node))
                .count();
            if fitting != 1 && !self.budget.is_spent() {
                let all = rules.one_of.len();
                self.wrong(node, || {
                    format!("fits {fitting} of {all} alternatives, and must fit one (`oneOf`)")
                });
            }
        }
        if let Some(schema) = &rules.not
            && self.fits(schema, node)
            && !self.budget.is_spent()
        {
            self.wrong(node, || "is what it must not be (`not`)".into());
        }
    }

    /// Tells whether a value fits a schema, without a word about why not; what cannot be afforded fits.
    fn fits(&mut self, schema: &Schema, node: &'n Node) -> bool {
        let mut found = Vec::new();
        let mut walk = Walk {
            budget: &mut *self.budget,
            found: &mut found,
            path: Vec::new(),
            most: 1,
        };
        walk.value(schema, node);
        found.is_empty()
    }

    fn wrong(&mut self, node: &Node, message: impl FnOnce() -> String) {
        if self.found.len() >= self.most {
            return;
        }
        // Of an alternative that is passed over nobody reads why.
        let (path, message) = if self.most == 1 {
            (String::new(), String::new())
        } else {
            (path_text(&self.path), message())
        };
        let path = if path.is_empty() {
            "the object".into()
        } else {
            path
        };
        self.found.push(Mismatch {
            path,
            line: node.line,
            what: Wrong::Invalid(message),
        });
    }
}

fn has_type(schema: &Schema, node: &Node) -> bool {
    let is_whole = || match node.value {
        Value::Int(_) | Value::UInt(_) => true,
        // Go writes 1.0 as 1.
        Value::Float(number) => number.fract() == 0.0,
        _ => false,
    };
    if schema.int_or_string {
        return is_whole() || node.as_str().is_some();
    }
    match schema.kind {
        None => true,
        Some(Type::Object) => matches!(node.value, Value::Mapping(_)),
        Some(Type::Array) => matches!(node.value, Value::Sequence(_)),
        Some(Type::String) => matches!(node.value, Value::String(_)),
        Some(Type::Boolean) => matches!(node.value, Value::Bool(_)),
        Some(Type::Integer) => is_whole(),
        Some(Type::Number) => node.as_number().is_some(),
    }
}

fn wanted(schema: &Schema) -> &'static str {
    if schema.int_or_string {
        return "an integer or a string";
    }
    match schema.kind {
        None => "a value",
        Some(Type::Object) => "a mapping",
        Some(Type::Array) => "a list",
        Some(Type::String) => "a string",
        Some(Type::Boolean) => "a boolean",
        Some(Type::Integer) => "an integer",
        Some(Type::Number) => "a number",
    }
}

/// Tells whether two values are the same to JSON, up to the first difference; what cannot be afforded is the same.
fn is_same(a: &Node, b: &Node, budget: &mut Budget) -> bool {
    if !budget.charge(1) {
        return true;
    }
    match (&a.value, &b.value) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            a.len() == b.len() && (!budget.charge(text_steps(a)) || a == b)
        }
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b, budget))
        }
        (Value::Mapping(a), Value::Mapping(b)) => {
            if a.len() != b.len() || !budget.charge(b.len() as u64) {
                return a.len() == b.len();
            }
            let b: HashMap<&str, &Node> =
                b.iter().map(|(key, value)| (&*key.text, value)).collect();
            a.iter().all(|(key, a)| {
                let b = b.get(&*key.text);
                b.is_some_and(|b| is_same(a, b, budget))
            })
        }
        _ => a
            .as_number()
            .is_some_and(|number| b.as_number() == Some(number)),
    }
}

/// Returns what it costs to read a text once.
fn text_steps(text: &str) -> u64 {
    text.len() as u64 / 64
}
