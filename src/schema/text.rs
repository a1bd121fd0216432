//! Values as messages repeat them: never longer than a line, however large they are.

use crate::escape::shown;
use crate::yaml::{Node, Value};

/// The most values of an `enum` that a message names, and the longest text that it repeats.
const SHOWN_VALUES: usize = 8;
const SHOWN_TEXT: usize = 60;

/// Returns how a scalar is written, in parentheses.
pub(super) fn written(node: &Node) -> String {
    match &node.value {
        Value::String(text) => format!(" `{}`", cut(text)),
        Value::Sequence(_) | Value::Mapping(_) => String::new(),
        _ => format!(" `{}`", node.to_json()),
    }
}

pub(super) fn listed(values: &[Node]) -> String {
    let mut texts: Vec<String> = values
        .iter()
        .take(SHOWN_VALUES)
        .map(|value| {
            let mut text = String::new();
            match value.as_str() {
                Some(whole) => text.extend(whole.chars().take(SHOWN_TEXT + 1)),
                None => begin(value, &mut text),
            }
            format!("`{}`", cut(&text))
        })
        .collect();
    if let Some(more @ 1..) = values.len().checked_sub(SHOWN_VALUES) {
        texts.push(format!("{more} more"));
    }
    match texts.as_slice() {
        [one] => one.clone(),
        all => format!("one of {}", all.join(", ")),
    }
}

/// Writes a value as JSON, at least as much of it as [`cut`] leaves, and little more.
fn begin(node: &Node, out: &mut String) {
    let is_long = |out: &String| out.len() > SHOWN_TEXT * char::MAX.len_utf8();
    let text = |text: &str| {
        let first: String = text.chars().take(SHOWN_TEXT).collect();
        serde_json::Value::from(first).to_string()
    };
    match &node.value {
        Value::String(value) => out.push_str(&text(value)),
        Value::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push(if index == 0 { '[' } else { ',' });
                begin(item, out);
                if is_long(out) {
                    return;
                }
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Mapping(entries) => {
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                out.push_str(&text(&key.text));
                out.push(':');
                begin(value, out);
                if is_long(out) {
                    return;
                }
            }
            out.push_str(if entries.is_empty() { "{}" } else { "}" });
        }
        _ => out.push_str(&node.to_json().to_string()),
    }
}

/// Returns a text from outside, cut where it is long.
pub(super) fn cut(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_TEXT).collect();
    let dots = if short.len() < text.len() { "…" } else { "" };
    format!("{}{dots}", shown(&short))
}
