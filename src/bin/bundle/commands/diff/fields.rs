//! The fields of an object that differ, as lines.

use std::collections::HashMap;

use manifest_bundle::crd::is_crd;
use manifest_bundle::diff::{
    self, Change, Field, FieldChange, FieldPath, HIDDEN, Hunk, LineBudget, Step, Subject,
};
use manifest_bundle::escape::shown;
use serde_json::Value;

use crate::output::yaml;

/// How many lines of a value are shown.
const LINES: usize = 20;

/// How many lines of the difference of two texts are shown.
const DIFFERENT_LINES: usize = 100;

/// How many of the last steps to a field of a schema say that it is the same field at another place.
const SAME_STEPS: usize = 4;

/// Writes what differs. Of definitions, descriptions are counted unless they are wanted, and what differs in the same way at
/// several places is written once.
pub(super) fn lines(
    change: &Change,
    with_descriptions: bool,
    budget: &mut LineBudget,
) -> Vec<String> {
    let is_definition = matches!(&change.subject, Subject::Object(id) if is_crd(id));
    let mut groups: Vec<(&Field, usize)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut descriptions = 0_usize;
    for field in &change.fields {
        if is_definition && !with_descriptions && is_description(&field.path) {
            descriptions = descriptions.saturating_add(1);
            continue;
        }
        let known = kind_of(field)
            .filter(|_| is_definition)
            .map(|kind| *places.entry(kind).or_insert(groups.len()));
        match known.and_then(|at| groups.get_mut(at)) {
            Some((_, others)) => *others = others.saturating_add(1),
            None => groups.push((field, 0)),
        }
    }
    let mut lines = Vec::new();
    for (field, others) in groups {
        lines.extend(of_field(field, budget));
        match others {
            0 => {}
            1 => lines.push("~     the same at another place; --format json has it".to_owned()),
            _ => lines.push(format!(
                "~     the same at {others} other places; --format json has them"
            )),
        }
    }
    match descriptions {
        0 => {}
        1 => lines
            .push("~   1 description in the schema differs; --descriptions shows it".to_owned()),
        _ => lines.push(format!(
            "~   {descriptions} descriptions in the schema differ; --descriptions shows them"
        )),
    }
    lines
}

/// Tells whether a field is the description of something in a schema; a property may have that name.
fn is_description(path: &FieldPath) -> bool {
    let is_key = |step: &Step, name: &str| matches!(step, Step::Key(key) if key == name);
    let Some((last, before)) = path.0.split_last() else {
        return false;
    };
    is_key(last, "description")
        && before.iter().any(|step| is_key(step, "openAPIV3Schema"))
        && !before.last().is_some_and(|step| is_key(step, "properties"))
}

/// Returns what the same difference of the same field of a schema has in common; none for what is no part of a schema.
fn kind_of(field: &Field) -> Option<String> {
    let steps = &field.path.0;
    let is_schema = |step: &Step| matches!(step, Step::Key(key) if key == "openAPIV3Schema");
    let depth = steps.len().checked_sub(steps.iter().position(is_schema)?)?;
    let from = steps
        .len()
        .checked_sub(SAME_STEPS)
        .filter(|_| depth > SAME_STEPS)?;
    let tail = FieldPath(steps.get(from..)?.to_vec());
    Some(format!(
        "{tail} {:?} {} {}",
        field.change, field.old, field.new
    ))
}

fn of_field(field: &Field, budget: &mut LineBudget) -> Vec<String> {
    let path = shown(&field.path.to_string());
    match field.change {
        FieldChange::Reordered => {
            let items = |value: &Value| {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                items
                    .iter()
                    .map(scalar)
                    .map(Option::unwrap_or_default)
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            vec![format!(
                "~   {path}: another order: {} → {}",
                items(&field.old),
                items(&field.new)
            )]
        }
        FieldChange::Added => of_value('+', &path, &field.new),
        FieldChange::Removed => of_value('-', &path, &field.old),
        FieldChange::Changed => match (scalar(&field.old), scalar(&field.new)) {
            (Some(old), Some(new)) if old == HIDDEN && new == HIDDEN => {
                vec![format!("~   {path}: differs {HIDDEN}")]
            }
            (Some(old), Some(new)) => vec![format!("~   {path}: {old} → {new}")],
            _ if field.old.is_string() && field.new.is_string() => {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                of_texts(&path, &text(&field.old), &text(&field.new), budget)
            }
            _ => {
                let mut lines = of_value('-', &path, &field.old);
                lines.extend(of_value('+', &path, &field.new));
                lines
            }
        },
    }
}

/// Writes two texts as the lines that differ. Of many that only one side has, the first ones are shown.
fn of_texts(path: &str, old: &str, new: &str, budget: &mut LineBudget) -> Vec<String> {
    let mut lines = vec![format!("~   {path}:")];
    for hunk in diff::texts(old, new, budget) {
        lines.extend(of_hunk(&hunk));
    }
    // Lines alone do not show it.
    if old.ends_with('\n') != new.ends_with('\n') {
        let side = if old.ends_with('\n') { "new" } else { "old" };
        lines.push(format!("~     no line end at the end of the {side} text"));
    }
    let count = lines.len();
    if count > DIFFERENT_LINES {
        lines.truncate(DIFFERENT_LINES);
        let more = count.saturating_sub(DIFFERENT_LINES);
        lines.push(format!("~     … {more} more lines; --format json has them"));
    }
    lines
}

fn of_hunk(hunk: &Hunk) -> Vec<String> {
    let ((a, b), (c, d)) = (hunk.old, hunk.new);
    let mut lines = vec![format!("@@    -{a},{b} +{c},{d} @@")];
    for run in hunk.lines.chunk_by(|one, other| one.mark == other.mark) {
        let mark = run.first().map_or(' ', |line| line.mark);
        let shown_lines = run.iter().take(LINES);
        lines.extend(shown_lines.map(|line| format!("{mark}     {}", shown(&line.text))));
        if let Some(more) = run.len().checked_sub(LINES).filter(|more| *more > 0) {
            lines.push(format!(
                "{mark}     … {more} more lines; --format json has them"
            ));
        }
    }
    lines
}

/// Writes a value behind its path, on lines of its own where it is no scalar.
fn of_value(mark: char, path: &str, value: &Value) -> Vec<String> {
    if let Some(text) = scalar(value) {
        return vec![format!("{mark}   {path}: {text}")];
    }
    let mut lines = vec![format!("{mark}   {path}:")];
    let text = match value {
        Value::String(text) => text.clone(),
        other => yaml(other, 0).trim_start_matches('\n').to_owned(),
    };
    let count = text.lines().count();
    lines.extend(
        text.lines()
            .take(LINES)
            .map(|line| format!("{mark}     {}", shown(line))),
    );
    if count > LINES {
        lines.push(format!(
            "{mark}     … {} more lines; --format json has them",
            count.saturating_sub(LINES)
        ));
    }
    lines
}

/// Writes a value that takes one line.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::String(text) => (!text.contains('\n')).then(|| shown(text)),
        Value::Array(items) => items.is_empty().then(|| "[]".to_owned()),
        Value::Object(members) => members.is_empty().then(|| "{}".to_owned()),
        other => Some(other.to_string()),
    }
}
