//! The answer of `diff` for people: every line begins with what it is about, as in a unified diff.

use std::fmt::Write as _;

use manifest_bundle::diff;
use manifest_bundle::diff::{
    Change, CrdVersion, Diff, FileChange, Given, Grant, NamedImage, Place, Subject,
};
use manifest_bundle::escape::shown;
use manifest_bundle::images::Grade;
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::Location;
use serde_json::Value;

use super::{Args, Sides};
use crate::commands::contents::Contents;
use crate::output::yaml;

/// How many lines of a value are shown.
const LINES: usize = 20;

/// How many lines of the difference of two texts are shown.
const DIFFERENT_LINES: usize = 100;

/// Shows everything.
pub(super) fn of(args: &Args, found: &Diff, sides: &Sides) -> Vec<String> {
    if found.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("--- {}", args.old), format!("+++ {}", args.new)];
    if !found.metadata.is_empty() {
        lines.push("  metadata".to_owned());
        for one in &found.metadata {
            let sides = [(&one.old, '-'), (&one.new, '+')];
            let known = sides
                .into_iter()
                .filter_map(|(value, mark)| Some((value.as_ref()?, mark)));
            lines
                .extend(known.map(|(value, mark)| {
                    format!("{mark}   {}: {}", shown(&one.key), shown(value))
                }));
        }
    }
    if !found.images_added.is_empty() || !found.images_removed.is_empty() {
        lines.push("  images".to_owned());
        lines.extend(found.images_removed.iter().map(|one| image('-', one)));
        lines.extend(found.images_added.iter().map(|one| image('+', one)));
    }
    for one in &found.grants {
        let alike = found.grants.iter().filter(|other| other.role == one.role);
        let place = distinction(alike.count(), &one.places, sides);
        lines.push(format!("  {} may{place}", shown(&one.role.to_string())));
        if one.is_too_large {
            lines.push("~   too many things to list here".to_owned());
        }
        lines.extend(
            one.lost
    for one in &found.bindings {
        let alike = found.bindings.iter();
        let alike = alike.filter(|other| other.binding == one.binding);
        let place = distinction(alike.count(), &one.places, sides);
        lines.push(format!("  by {}{place}", shown(&one.binding.to_string())));
        let line =
            |mark: char, verb: &str, given: &Given| format!("{mark}   {}", bound(verb, given));
        lines.extend(one.lost.iter().map(|given| line('-', "loses", given)));
        lines.extend(one.gained.iter().map(|given| line('+', "gets", given)));
    }
                .iter()
                .map(|grant| format!("-   {}", allowed(grant))),
        );
        lines.extend(
            one.gained
                .iter()
                .map(|grant| format!("+   {}", allowed(grant))),
        );
    }
    for one in &found.crds {
        let alike = found.crds.iter().filter(|other| other.name == one.name);
        let place = distinction(alike.count(), &one.places, sides);
        lines.push(format!("  versions of {}{place}", shown(&one.name)));
        let gone = |these: &[CrdVersion], those: &[CrdVersion], mark: char| -> Vec<String> {
            let differing = these.iter().filter(|version| !those.contains(version));
            differing
                .map(|version| format!("{mark}   {}", of_version(version)))
                .collect()
        };
        lines.extend(gone(&one.old, &one.new, '-'));
        lines.extend(gone(&one.new, &one.old, '+'));
    }
    for change in &found.changes {
        lines.push(heading(change, sides));
        lines.extend(broken(&change.breaking));
        for field in &change.fields {
            lines.extend(of_field(field));
        }
    }
    lines
}

/// Writes an image; that it is certain goes without saying.
fn image(mark: char, image: &NamedImage) -> String {
    let doubt = match image.grade {
        Grade::Certain => String::new(),
        grade @ Grade::Likely => format!(" ({grade})"),
    };
    format!("{mark}   {}{doubt}", shown(&image.written))
}

/// Shows breaking changes only.
pub(super) fn breaking(found: &Diff, sides: &Sides) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &found.changes {
        lines.push(heading(change, sides));
        lines.extend(broken(&change.breaking));
    }
    lines
}

/// Shows files as they are: one line for each that only one side has or that was moved, else the lines that differ.
pub(super) fn of_files(args: &Args, found: &[FileChange], sides: &Sides) -> Vec<String> {
    let mut lines = Vec::new();
    for file in found {
        let path = |path: &Option<BundlePath>, side: &Contents| {
            let path = path.as_ref();
            path.map(|path| shown(&side.within(path.as_str())))
        };
        // What a directory has can be opened by this; of what is packed it is said where it comes from.
        let whole = |path: &Option<BundlePath>, side: &Contents, location: &Location| {
            let path = path.as_ref().map(BundlePath::as_str).unwrap_or_default();
            let origin = side.origin_of(path);
            shown(&origin.unwrap_or_else(|| format!("{location}/{path}")))
        };
        match (path(&file.old, &sides.old), path(&file.new, &sides.new)) {
            (Some(old), Some(new)) if file.old != file.new => {
                lines.push(format!("~ {old} → {new}"));
            }
            (Some(path), Some(_)) if file.hunks.is_empty() => {
                lines.push(format!("~ {path}: no text, and it differs"));
            }
            (Some(_), Some(_)) => {
                lines.push(format!("--- {}", whole(&file.old, &sides.old, &args.old)));
                lines.push(format!("+++ {}", whole(&file.new, &sides.new, &args.new)));
            }
            (Some(path), None) => lines.push(format!("- {path}")),
            (None, path) => lines.push(format!("+ {}", path.unwrap_or_default())),
        }
        for hunk in &file.hunks {
            let ((a, b), (c, d)) = (hunk.old, hunk.new);
            lines.push(format!("@@ -{a},{b} +{c},{d} @@"));
            lines.extend(
                hunk.lines
                    .iter()
                    .map(|line| format!("{}{}", line.mark, shown(&line.text))),
            );
        }
    }
    lines
}

/// Colours lines that are safe to show by what they begin with.
pub(super) fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |line| (line, "\n"));
        let colour = match line.as_bytes() {
            [b'-', b'-', ..] | [b'+', b'+', ..] => "1",
            [b'-', ..] => "31",
            [b'+', ..] => "32",
            [b'~', ..] => "33",
            [b'!', ..] => "1;31",
            [b'@', ..] => "36",
            _ => "",
        };
        // Writing to a string cannot fail.
        let _ = if colour.is_empty() || line.is_empty() {
            write!(out, "{line}{end}")
        } else {
            write!(out, "\u{1b}[{colour}m{line}\u{1b}[0m{end}")
        };
    }
    out
}

/// Returns how many lines say what breaks.
pub(super) fn count_broken(found: &Diff) -> usize {
    let changes = found.changes.iter();
    changes.map(|change| broken(&change.breaking).len()).sum()
}

/// Writes what breaks, once for all versions of a definition in which it is the same.
fn broken(all: &[Breaking]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
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
        match lines.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, versions)) => versions.extend(version),
            None => lines.push((sentence, version.into_iter().collect())),
        }
    }
    let line = |(sentence, versions): (String, Vec<&str>)| match versions.as_slice() {
        [] => format!("!   {sentence}"),
        versions => format!("!   {}: {sentence}", shown(&versions.join(", "))),
    };
    lines.into_iter().map(line).collect()
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

fn heading(change: &Change, sides: &Sides) -> String {
    let side = match change.new {
        Some(_) => &sides.new,
        None => &sides.old,
    };
    let file = |file: &BundlePath| shown(&side.within(file.as_str()));
    let name = match &change.subject {
        Subject::Object(id) => shown(&id.to_string()),
        Subject::Document(path, place) => {
            format!("document {} in {}", place.saturating_add(1), file(path))
        }
        Subject::File(path) => format!("file {}", file(path)),
    };
    let mark = match (&change.old, &change.new) {
/// Says who gets or loses which role.
fn bound(verb: &str, given: &Given) -> String {
    let namespace = given.subject_namespace.as_ref();
    let namespace = namespace.map_or_else(String::new, |name| format!("{name}/"));
    shown(&format!(
        "{} {namespace}{} {verb} {} {}",
        given.subject_kind, given.subject, given.role_kind, given.role
    ))
}

        (Some(_), None) => '-',
        (None, Some(_)) => '+',
        _ => '~',
    };
    match &change.subject {
        Subject::File(_) => format!("{mark} {name}"),
        _ => format!(
            "{mark} {name}  ({})",
            placed([&change.old, &change.new], sides)
        ),
    }
}

/// Says where something is, seen from each side; once where that is the same.
fn placed([old, new]: [&Option<Place>; 2], sides: &Sides) -> String {
    let place = |place: &Place, side: &Contents| {
        let file = shown(&side.within(place.file.as_str()));
        match place.line {
            0 => file,
            line => format!("{file}:{line}"),
        }
    };
    let old = old.as_ref().map(|old| place(old, &sides.old));
    let new = new.as_ref().map(|new| place(new, &sides.new));
    match (old, new) {
        (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (old, new) => new.or(old).unwrap_or_default(),
    }
}

/// Says where something is, if there are several of its name.
fn distinction(count: usize, [old, new]: &[Option<Place>; 2], sides: &Sides) -> String {
    if count > 1 {
        format!("  ({})", placed([old, new], sides))
    } else {
        String::new()
    }
}

fn of_field(field: &Field) -> Vec<String> {
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
                of_texts(&path, &text(&field.old), &text(&field.new))
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
fn of_texts(path: &str, old: &str, new: &str) -> Vec<String> {
    let mut lines = vec![format!("~   {path}:")];
    for hunk in diff::texts(old, new) {
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

fn allowed(grant: &Grant) -> String {
    let mut text = format!(
        "{} {}",
        shown(&grant.verbs.join(",")),
        shown(&grant.resource)
    );
    if let Some(group) = grant.group.as_ref().filter(|group| !group.is_empty()) {
        let _ = write!(text, ".{}", shown(group));
    }
    if let Some(name) = &grant.name {
        let _ = write!(text, " named {}", shown(name));
    }
    text
}

fn of_version(version: &CrdVersion) -> String {
    let served = if version.served {
        "served"
    } else {
        "not served"
    };
    let storage = if version.storage { ", stored" } else { "" };
    format!("{} ({served}{storage})", shown(&version.name))
}
