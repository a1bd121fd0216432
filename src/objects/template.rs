//! Objects in files that are templates, read as far as that goes before an operator fills them.
//!
//! Actions (`{{ … }}`) that stand alone on their lines are taken out, others are replaced by words and put back into what
//! was read. Both branches of a condition are seen, so nothing that is found here is certain.

use std::fmt::Write as _;

use crate::limits::Limits;
use crate::yaml::{Node, Value};

use super::{Entry, entries};

/// What stands before and after the number of an action: characters of no meaning, which YAML takes in a word.
const MARKS: [char; 2] = ['\u{e000}', '\u{e001}'];

/// Reads what stands in a file of which the metadata says that an operator fills it, as [`entries`] does; a fault may come from the placeholders alone.
///
/// Objects in which an action stood have [`super::Object::is_template`].
pub fn read_template(file_name: &str, text: &[u8], limits: &Limits, mut each: impl FnMut(Entry)) {
    let masked = str::from_utf8(text).ok().and_then(mask);
    let (text, actions) = match &masked {
        Some((masked, actions)) => (masked.as_bytes(), actions.as_slice()),
        None => (text, &[][..]),
    };
    for mut entry in entries(file_name, text, limits) {
        match &mut entry {
            Entry::Fault(_) => {}
            Entry::Other(other) => {
                restore_node(&mut other.node, actions);
            }
            Entry::Object(object) => {
                object.is_template = restore_node(&mut object.node, actions);
                let id = &mut object.id;
                for text in [
                    &mut id.group,
                    &mut id.kind,
                    &mut id.name,
                    &mut object.version,
                ] {
                    restore(text, actions);
                }
                if let Some(namespace) = &mut id.namespace {
                    restore(namespace, actions);
                }
            }
        }
        each(entry);
    }
}

/// Replaces actions, keeping all lines; none when there are no actions, or when the marks are in the text already.
fn mask(text: &str) -> Option<(String, Vec<&str>)> {
    if !text.contains("{{") || text.contains(MARKS) {
        return None;
    }
    let mut actions = Vec::new();
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.find("{{").and_then(|at| rest.split_at_checked(at)) {
        let end = from.find("}}").and_then(|at| at.checked_add(2));
        let Some((action, after)) = end.and_then(|end| from.split_at_checked(end)) else {
            break;
        };
        masked.push_str(before);
        // Writing to a string cannot fail.
        let _ = write!(masked, "{}{}{}", MARKS[0], actions.len(), MARKS[1]);
        // An action may go over lines; what stands below keeps its line.
        masked.extend(action.matches('\n'));
        actions.push(action);
        rest = after;
    }
    masked.push_str(rest);
    let lines: Vec<&str> = masked.split('\n').map(without_lone_actions).collect();
    Some((lines.join("\n"), actions))
}

/// Returns nothing in place of a line that consists of actions: they control what is around them, or hold many lines.
fn without_lone_actions(line: &str) -> &str {
    let is_part = |c: char| MARKS.contains(&c) || c.is_ascii_digit() || c.is_ascii_whitespace();
    if line.contains(MARKS) && line.chars().all(is_part) {
        ""
    } else {
        line
    }
}

/// Puts actions back into all texts of a node; tells whether there were any.
fn restore_node(node: &mut Node, actions: &[&str]) -> bool {
    match &mut node.value {
        Value::String(text) => restore(text, actions),
        Value::Sequence(items) => items
            .iter_mut()
            .fold(false, |any, item| restore_node(item, actions) | any),
        Value::Mapping(entries) => entries.iter_mut().fold(false, |any, (key, value)| {
            let mut text = String::from(&*key.text);
            let in_key = restore(&mut text, actions);
            if in_key {
                key.text = text.into();
            }
            restore_node(value, actions) | in_key | any
        }),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => false,
    }
}

fn restore(text: &mut String, actions: &[&str]) -> bool {
    let Some(first) = text.find(MARKS[0]) else {
        return false;
    };
    let mut restored = text.get(..first).unwrap_or_default().to_owned();
    for part in text
        .get(first..)
        .unwrap_or_default()
        .split(MARKS[0])
        .skip(1)
    {
        let (number, after) = part.split_once(MARKS[1]).unwrap_or(("", part));
        let action = number.parse().ok().and_then(|n: usize| actions.get(n));
        restored.push_str(action.copied().unwrap_or_default());
        restored.push_str(after);
    }
    *text = restored;
    true
}
