//! Bounds where the old schema names all values: a new bound breaks somebody only if it refuses one of them.

use std::collections::HashSet;

use crate::escape::shown;
use crate::yaml::Node;

use super::bounds::number;
use super::schema::Walk;

/// The bounds of a number and of the length of a text; whether each is an upper one, and about the length.
const BOUNDS: [(&str, bool, bool); 4] = [
    ("maximum", true, false),
    ("minimum", false, false),
    ("maxLength", true, true),
    ("minLength", false, true),
];

/// Compares the bounds of two schemas by the values that the old one names.
pub(super) fn compare(walk: &mut Walk<'_, '_>, old: &Node, new: &Node, values: &[Node]) {
    let still = new.get("enum").and_then(Node::as_sequence);
    let text = |value: &Node| value.to_json().to_string();
    let still: Option<HashSet<String>> = still.map(|items| items.iter().map(text).collect());
    // What the new list does not name is said already.
    let kept: Vec<&Node> = values
        .iter()
        .filter(|value| still.as_ref().is_none_or(|all| all.contains(&text(value))))
        .collect();
    for (rule, key) in BOUNDS
        .map(|(key, ..)| ("crd-bound", key))
        .into_iter()
        .chain([("crd-bound", "multipleOf"), ("crd-pattern", "pattern")])
    {
        let Some(bound) = new.get(key) else { continue };
        let refused = kept
            .iter()
            .filter(|value| allows(walk, old, key, value) && !allows(walk, new, key, value))
            .map(|value| text(value))
            .collect::<Vec<_>>();
        if !refused.is_empty() {
            let limit = bound.as_str().map_or_else(|| text(bound), str::to_owned);
            let what = format!(
                "`{key}` is `{}`, which refuses {}",
                shown(&limit),
                shown(&refused.join(", "))
            );
            walk.note(rule, true, bound.line, what);
        }
    }
}

/// Tells whether a bound of a schema lets a value be; true where that is not certain.
fn allows(walk: &mut Walk<'_, '_>, schema: &Node, key: &str, value: &Node) -> bool {
    let Some(bound) = schema.get(key) else {
        return true;
    };
    if key == "pattern" {
        let pair = bound.as_str().zip(value.as_str());
        return pair.is_none_or(|(pattern, value)| walk.may_match(pattern, value));
    }
    let Some(limit) = number(Some(bound)) else {
        return true;
    };
    if key == "multipleOf" {
        return number(Some(value)).is_none_or(|value| (value / limit).fract() == 0.0);
    }
    let row = BOUNDS.iter().find(|(name, ..)| *name == key);
    let Some((_, is_upper, is_length)) = row else {
        return true;
    };
    let found = if *is_length {
        let length = value.as_str().map(|text| text.chars().count());
        length
            .and_then(|length| u32::try_from(length).ok())
            .map(f64::from)
    } else {
        number(Some(value))
    };
    let exclusive = if *is_upper {
        "exclusiveMaximum"
    } else {
        "exclusiveMinimum"
    };
    let is_open = !is_length && schema.has_true(exclusive);
    found.is_none_or(|found| match (is_upper, is_open) {
        (true, false) => found <= limit,
        (true, true) => found < limit,
        (false, false) => found >= limit,
        (false, true) => found > limit,
    })
}
