//! The answer of `diff` for people: every line begins with what it is about, as in a unified diff.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::Hash;

use manifest_bundle::diff::{
    Change, CrdVersion, Diff, FileChange, Given, Grant, LineBudget, NamedImage, Place, Subject,
};
use manifest_bundle::escape::shown;
use manifest_bundle::images::Grade;
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::Location;

use super::{Args, Sides, broken, fields};
use crate::commands::contents::Contents;

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
    let alike = counts(found.grants.iter().map(|one| &one.role));
    for one in &found.grants {
        let place = distinction(alike.get(&one.role), &one.places, sides);
        lines.push(format!("  {} may{place}", shown(&one.role.to_string())));
        if one.is_too_large {
            lines.push("~   too many things to list here".to_owned());
        }
        lines.extend(
            one.lost
                .iter()
                .map(|grant| format!("-   {}", allowed(grant))),
        );
        lines.extend(
            one.gained
                .iter()
                .map(|grant| format!("+   {}", allowed(grant))),
        );
    }
    let alike = counts(found.bindings.iter().map(|one| &one.binding));
    for one in &found.bindings {
        let place = distinction(alike.get(&one.binding), &one.places, sides);
        lines.push(format!("  by {}{place}", shown(&one.binding.to_string())));
        let line =
            |mark: char, verb: &str, given: &Given| format!("{mark}   {}", bound(verb, given));
        lines.extend(one.lost.iter().map(|given| line('-', "loses", given)));
        lines.extend(one.gained.iter().map(|given| line('+', "gets", given)));
    }
    let alike = counts(found.crds.iter().map(|one| &one.name));
    for one in &found.crds {
        let place = distinction(alike.get(&one.name), &one.places, sides);
        lines.push(format!("  versions of {}{place}", shown(&one.name)));
        let gone = |these: &[CrdVersion], those: &[CrdVersion], mark: char| -> Vec<String> {
            let those: HashSet<&CrdVersion> = those.iter().collect();
            let differing = these.iter().filter(|version| !those.contains(version));
            differing
                .map(|version| format!("{mark}   {}", of_version(version)))
                .collect()
        };
        lines.extend(gone(&one.old, &one.new, '-'));
        lines.extend(gone(&one.new, &one.old, '+'));
    }
    let mut budget = LineBudget::default();
    for change in &found.changes {
        lines.push(heading(change, sides));
        lines.extend(broken::lines(&change.breaking));
        lines.extend(fields::lines(change, args.descriptions, &mut budget));
    }
    lines
}

/// Counts how often each is there.
fn counts<'a, T: Hash + Eq>(all: impl Iterator<Item = &'a T>) -> HashMap<&'a T, usize> {
    let mut counts = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    counts
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
        lines.extend(broken::lines(&change.breaking));
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
fn distinction(count: Option<&usize>, [old, new]: &[Option<Place>; 2], sides: &Sides) -> String {
    if count.is_some_and(|count| *count > 1) {
        format!("  ({})", placed([old, new], sides))
    } else {
        String::new()
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

/// Says who gets or loses which role.
fn bound(verb: &str, given: &Given) -> String {
    let namespace = given.subject_namespace.as_ref();
    let namespace = namespace.map_or_else(String::new, |name| format!("{name}/"));
    shown(&format!(
        "{} {namespace}{} {verb} {} {}",
        given.subject_kind, given.subject, given.role_kind, given.role
    ))
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
