//! Bounds of a schema: numbers, lengths, patterns, formats, and lists whose items must differ.

use crate::escape::shown;
use crate::yaml::{Node, Value};

use super::known_values;
use super::schema::Walk;

/// Compares all bounds of two schemas of one thing.
pub(super) fn compare(walk: &mut Walk<'_, '_>, old: &Node, new: &Node) {
    if let Some(values) = old.get("enum").and_then(Node::as_sequence) {
        known_values::compare(walk, old, new, values);
    } else {
        numbers(walk, old, new);
        texts(walk, old, new);
    }
    let is_unique = |node: &Node| {
        matches!(
            node.get("x-kubernetes-list-type").and_then(Node::as_str),
            Some("set" | "map")
        )
    };
    let line = |key| new.get(key).map_or(new.line, |node| node.line);
    if is_unique(new) && !is_unique(old) {
        let what = "the items of the list must differ now".to_owned();
        walk.note("crd-unique", true, line("x-kubernetes-list-type"), what);
    }
}

fn numbers(walk: &mut Walk<'_, '_>, old: &Node, new: &Node) {
    for (key, is_upper) in [
        ("maximum", true),
        ("maxLength", true),
        ("maxItems", true),
        ("maxProperties", true),
        ("minimum", false),
        ("minLength", false),
        ("minItems", false),
        ("minProperties", false),
    ] {
        let Some(node) = new.get(key) else { continue };
        let (before, Some(after)) = (number(old.get(key)), number(Some(node))) else {
            continue;
        };
        // Nothing has less than no items.
        let is_void = !is_upper && key != "minimum" && after <= 0.0;
        let is_tighter = before.is_none_or(|before| {
            if is_upper {
                after < before
            } else {
                after > before
            }
        });
        if is_tighter && !is_void {
            let before =
                before.map_or_else(|| "not bounded".to_owned(), |before| before.to_string());
            walk.note(
                "crd-bound",
                true,
                node.line,
                format!("`{key}` was {before} and is {after}"),
            );
        }
    }
    for key in ["exclusiveMaximum", "exclusiveMinimum"] {
        if new.has_true(key) && !old.has_true(key) {
            walk.note("crd-bound", true, new.line, format!("`{key}` is new"));
        }
    }
    if let (before, Some(after)) = (number(old.get("multipleOf")), number(new.get("multipleOf")))
        && before.is_none_or(|before| (before / after).fract() != 0.0)
    {
        walk.note(
            "crd-bound",
            true,
            new.line,
            format!("must be a multiple of {after}"),
        );
    }
}

pub(super) fn number(node: Option<&Node>) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds of that size differ by more"
    )]
    match node?.value {
        Value::Int(value) => Some(value as f64),
        Value::UInt(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        _ => None,
    }
}

fn texts(walk: &mut Walk<'_, '_>, old: &Node, new: &Node) {
    let text = |node: &Node, key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let line = |key| new.get(key).map_or(new.line, |node| node.line);
    let (before, after) = (text(old, "pattern"), text(new, "pattern"));
    if let Some(after) = after.filter(|after| before.as_ref() != Some(after)) {
        // A new pattern refuses something; another one may accept all that the old one did.
        let certain = before.is_none();
        walk.note(
            "crd-pattern",
            certain,
            line("pattern"),
            format!("must match `{}`", shown(&after)),
        );
    }
    let (before, after) = (text(old, "format"), text(new, "format"));
    let is_wide = |format: &String| matches!(format.as_str(), "int64" | "double" | "float");
    if let Some(after) = after.filter(|after| before.as_ref() != Some(after) && !is_wide(after)) {
        walk.note(
            "crd-pattern",
            false,
            line("format"),
            format!("has the format `{}` now", shown(&after)),
        );
    }
}
