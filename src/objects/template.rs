//! Objects in files that are templates, read as far as that goes before an operator fills them.
//!
//! Actions (`{{ … }}`) that stand alone on their lines are taken out, others are replaced by words and put back into what
//! was read. Both branches of a condition are seen, so nothing that is found here is certain.

use std::fmt::Write as _;

use crate::limits::{Ceiling, Limits};
use crate::yaml::{Fault, FaultKind, Node, Value};

use super::{Entry, Object, Other, entries};

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
    // Each action stands once in the text; aliases may repeat it, as far as one document may grow.
    let written: usize = actions.iter().map(|action| action.len()).sum();
    let mut actions = Actions {
        texts: actions,
        left: limits[Ceiling::Yaml].saturating_add(written as u64),
    };
    for entry in entries(file_name, text, limits) {
        let (line, restored) = match entry {
            Entry::Fault(fault) => (fault.line, Ok(Entry::Fault(fault))),
            Entry::Other(other) => (other.line, restore_other(other, &mut actions)),
            Entry::Object(object) => (object.line, restore_object(object, &mut actions)),
        };
        each(restored.unwrap_or_else(|TooMuch| {
            Entry::Fault(Fault {
                kind: FaultKind::AliasExpansion,
                line,
                column: 1,
                message: "aliases repeat placeholders too often".to_owned(),
            })
        }));
    }
}

/// The actions of a file, and how many bytes of them may still be put back.
struct Actions<'t> {
    texts: &'t [&'t str],
    left: u64,
}

/// Says that aliases multiply actions far beyond the text.
struct TooMuch;

fn restore_other(mut other: Other, actions: &mut Actions<'_>) -> Result<Entry, TooMuch> {
    restore_node(&mut other.node, actions)?;
    Ok(Entry::Other(other))
}

fn restore_object(mut object: Object, actions: &mut Actions<'_>) -> Result<Entry, TooMuch> {
    object.is_template = restore_node(&mut object.node, actions)?;
    let id = &mut object.id;
    let texts = [
        &mut id.group,
        &mut id.kind,
        &mut id.name,
        &mut object.version,
    ];
    for text in texts.into_iter().chain(&mut id.namespace) {
        restore(text, actions)?;
    }
    Ok(Entry::Object(object))
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
fn restore_node(node: &mut Node, actions: &mut Actions<'_>) -> Result<bool, TooMuch> {
    let mut any = false;
    match &mut node.value {
        Value::String(text) => any = restore(text, actions)?,
        Value::Sequence(items) => {
            for item in items {
                any |= restore_node(item, actions)?;
            }
        }
        Value::Mapping(entries) => {
            for (key, value) in entries {
                if key.text.contains(MARKS[0]) {
                    let mut text = String::from(&*key.text);
                    any |= restore(&mut text, actions)?;
                    key.text = text.into();
                }
                any |= restore_node(value, actions)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => {}
    }
    Ok(any)
}

fn restore(text: &mut String, actions: &mut Actions<'_>) -> Result<bool, TooMuch> {
    let Some((before, from)) = text
        .find(MARKS[0])
        .and_then(|first| text.split_at_checked(first))
    else {
        return Ok(false);
    };
    let mut restored = before.to_owned();
    for part in from.split(MARKS[0]).skip(1) {
        let (number, after) = part.split_once(MARKS[1]).unwrap_or(("", part));
        let action = number
            .parse()
            .ok()
            .and_then(|n: usize| actions.texts.get(n));
        let action = action.copied().unwrap_or_default();
        let left = actions.left.checked_sub(action.len() as u64);
        actions.left = left.ok_or(TooMuch)?;
        restored.push_str(action);
        restored.push_str(after);
    }
    *text = restored;
    Ok(true)
}
