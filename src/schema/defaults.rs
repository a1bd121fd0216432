//! Nulls and defaults: what an API server makes of an object before it looks at anything else.

use std::collections::HashSet;

use crate::yaml::{Key, Node, Value};

use super::{Budget, Schema};

/// Takes out nulls that may not be, and fills in what an object does not say and its schema does.
///
/// A null in a list stays what it is, unless there is a default for it.
pub(super) fn fill(schema: &Schema, node: &mut Node, budget: &mut Budget) {
    if !budget.charge(1) {
        return;
    }
    let line = node.line;
    match &mut node.value {
        Value::Mapping(entries) => {
            entries.retain(|(key, value)| {
                let schema = schema.properties.get(&key.text).or(schema.each());
                let is_dropped = |schema: &Schema| !schema.nullable && schema.default.is_none();
                !(value.is_null() && schema.is_some_and(is_dropped))
            });
            for name in missing(schema, entries, budget) {
                let property = schema.properties.get(name);
                if let Some(default) = property.and_then(|property| property.default.as_ref())
                    && let Some(value) = copy(default, line, budget)
                {
                    entries.push((Key::at(name, line), value));
                }
            }
            for (key, value) in entries {
                if let Some(schema) = schema.properties.get(&key.text).or(schema.each()) {
                    replace_null(schema, value, budget);
                    fill(schema, value, budget);
                }
            }
        }
        Value::Sequence(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    replace_null(schema, item, budget);
                    fill(schema, item, budget);
                }
            }
        }
        _ => {}
    }
}

/// Returns the properties that have a default and are not there.
fn missing<'s>(schema: &'s Schema, entries: &[(Key, Node)], budget: &mut Budget) -> Vec<&'s str> {
    let work = schema.filled.len().saturating_add(entries.len());
    if schema.filled.is_empty() || !budget.charge(work as u64) {
        return Vec::new();
    }
    let known: HashSet<&str> = entries.iter().map(|(key, _)| &*key.text).collect();
    let names = schema.filled.iter().map(|name| &**name);
    names.filter(|name| !known.contains(name)).collect()
}

/// Puts the default in the place of a null that may not be one.
fn replace_null(schema: &Schema, node: &mut Node, budget: &mut Budget) {
    if node.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
        && let Some(value) = copy(default, node.line, budget)
    {
        *node = value;
    }
}

/// Copies a default to where it is filled in; none when that is too much work.
fn copy(default: &Node, line: u32, budget: &mut Budget) -> Option<Node> {
    if !budget.charge(size(default)) {
        return None;
    }
    let mut value = default.clone();
    place(&mut value, line);
    Some(value)
}

/// Takes a key out of a mapping.
pub(super) fn remove(node: &mut Node, key: &str) {
    if let Value::Mapping(entries) = &mut node.value {
        entries.retain(|(found, _)| &*found.text != key);
    }
}

/// Counts the nodes of a value.
pub(super) fn size(node: &Node) -> u64 {
    let sum = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(1, u64::saturating_add);
    match &node.value {
        Value::Sequence(items) => sum(&mut items.iter().map(size)),
        Value::Mapping(entries) => sum(&mut entries.iter().map(|(_, value)| size(value))),
        _ => 1,
    }
}

/// Says of a value that comes from the definition that it stands where it was filled in.
fn place(node: &mut Node, line: u32) {
    node.line = line;
    match &mut node.value {
        Value::Sequence(items) => items.iter_mut().for_each(|item| place(item, line)),
        Value::Mapping(entries) => {
            for (key, value) in entries {
                key.line = line;
                place(value, line);
            }
        }
        _ => {}
    }
}
