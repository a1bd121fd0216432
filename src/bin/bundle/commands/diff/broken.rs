//! What breaks somebody, as lines and as a number.

use std::collections::HashMap;

use manifest_bundle::diff::{Breaking, Diff, Step};
use manifest_bundle::escape::shown;

/// A breaking change, once for all versions of a definition in which it is the same.
struct Merged<'b> {
    one: &'b Breaking,
    sentence: String,
    versions: Vec<&'b str>,
}

/// Returns how many breaking changes there are, each counted once for all versions of a definition.
pub(super) fn count(found: &Diff) -> usize {
    let changes = found.changes.iter();
    changes.map(|change| merged(&change.breaking).len()).sum()
}

/// Writes what breaks; what breaks in the same way at several places of a schema is written once.
pub(super) fn lines(all: &[Breaking]) -> Vec<String> {
    let mut groups: Vec<(Merged<'_>, usize)> = Vec::new();
    let mut places = HashMap::new();
    for next in merged(all) {
        let known = kind_of(&next).map(|kind| *places.entry(kind).or_insert(groups.len()));
        match known.and_then(|at| groups.get_mut(at)) {
            Some((_, others)) => *others = others.saturating_add(1),
            None => groups.push((next, 0)),
        }
    }
    let line = |(merged, others): (Merged<'_>, usize)| {
        let versions = match merged.versions.as_slice() {
            [] => String::new(),
            versions => format!("{}: ", shown(&versions.join(", "))),
        };
        let places = match others {
            0 => String::new(),
            1 => ", and at another place".to_owned(),
            _ => format!(", and at {others} other places"),
        };
        format!("!   {versions}{}{places}", merged.sentence)
    };
    groups.into_iter().map(line).collect()
}

fn merged(all: &[Breaking]) -> Vec<Merged<'_>> {
    let mut found: Vec<Merged<'_>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for one in all {
        let version = match one.path.0.as_slice() {
            // Of a schema; what is said of a version as a whole names it.
            [_, _, Step::Item(fields), _, ..] => fields.first(),
            _ => None,
        };
        let version = version
            .filter(|_| one.rule.starts_with("crd-"))
            .map(|(_, version)| version.as_str());
        let sentence = sentence(one);
        let at = *places.entry(sentence.clone()).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => known.versions.extend(version),
            None => found.push(Merged {
                one,
                sentence,
                versions: version.into_iter().collect(),
            }),
        }
    }
    found
}

/// Returns what two breaking changes of one field at different places have in common; none for what is about no nested field.
fn kind_of(merged: &Merged<'_>) -> Option<(&'static str, bool, String, String)> {
    let one = merged.one;
    let (field, what) = one.message.strip_prefix('`')?.split_once("`: ")?;
    let mut names = field.rsplit('.');
    let (last, parent) = (names.next()?, names.next()?);
    names.next()?;
    let tail = format!("{parent}.{last} {}", merged.versions.join(","));
    Some((one.rule, one.certain, tail, what.to_owned()))
}

fn sentence(one: &Breaking) -> String {
    let doubt = if one.certain { "" } else { "may break: " };
    let path = one.path.to_string();
    // The path of a schema is long, and its sentences name the field.
    let place = if path.is_empty() || one.rule.starts_with("crd-") {
        String::new()
    } else {
        format!("{}: ", shown(&path))
    };
    format!("{doubt}{place}{} [{}]", one.message, one.rule)
}
