//! The answer of `diff` for machines.

use manifest_bundle::diff::{
    Breaking, Change, CrdVersion, Diff, Field, FieldChange, FileChange, Given, Grant, Hunk,
    NamedImage, Place, Subject,
};
use manifest_bundle::path::BundlePath;
use serde_json::{Map, Value, json};

use super::{Args, Sides, broken};
use crate::commands::contents::Contents;

/// Returns the whole comparison, or what of it breaks somebody; `same` tells whether nothing differs at all.
pub(super) fn of(args: &Args, found: &Diff, sides: &Sides, same: bool) -> Value {
    let is_whole = args.breaking.is_none();
    let changes: Vec<Value> = found
        .changes
        .iter()
        .map(|one| change(one, sides, is_whole))
        .collect();
    let mut value = json!({
        "old": args.old.to_string(),
        "new": args.new.to_string(),
        "same": same,
        "breaking": broken::count(found),
        "breakingInEachVersion": found.breaking().count(),
        "changes": changes,
        "notes": found.notes.iter().map(crate::report::finding).collect::<Vec<_>>(),
    });
    if let Some(members) = value.as_object_mut().filter(|_| is_whole) {
        members.extend(summaries(found, sides));
    }
    value
}

/// Returns what is said beside the changes.
fn summaries(found: &Diff, sides: &Sides) -> Map<String, Value> {
    let metadata = found.metadata.iter();
    let metadata = metadata.map(|m| json!({ "key": m.key, "old": m.old, "new": m.new }));
    let grants = found.grants.iter().map(|one| {
        json!({
            "kind": one.role.kind,
            "namespace": one.role.namespace,
            "name": one.role.name,
            "oldPlace": placed(one.places[0].as_ref(), &sides.old),
            "newPlace": placed(one.places[1].as_ref(), &sides.new),
            "gained": one.gained.iter().map(grant).collect::<Vec<_>>(),
            "lost": one.lost.iter().map(grant).collect::<Vec<_>>(),
            "tooLarge": one.is_too_large,
        })
    });
    let bindings = found.bindings.iter().map(|one| {
        json!({
            "kind": one.binding.kind,
            "namespace": one.binding.namespace,
            "name": one.binding.name,
            "oldPlace": placed(one.places[0].as_ref(), &sides.old),
            "newPlace": placed(one.places[1].as_ref(), &sides.new),
            "gained": one.gained.iter().map(given).collect::<Vec<_>>(),
            "lost": one.lost.iter().map(given).collect::<Vec<_>>(),
        })
    });
    let crds = found.crds.iter();
    let crds = crds.map(
        |one| json!({ "name": one.name, "old": versions(&one.old), "new": versions(&one.new) }),
    );
    let images =
        json!({ "added": images(&found.images_added), "removed": images(&found.images_removed) });
    Map::from_iter([
        ("metadata".to_owned(), metadata.collect()),
        ("images".to_owned(), images),
        ("grants".to_owned(), grants.collect()),
        ("bindings".to_owned(), bindings.collect()),
        ("crds".to_owned(), crds.collect()),
    ])
}

fn images(all: &[NamedImage]) -> Vec<Value> {
    let image = |one: &NamedImage| json!({ "image": one.written, "grade": one.grade.name() });
    all.iter().map(image).collect()
}

/// Returns the comparison of files as they are.
pub(super) fn of_files(args: &Args, found: &[FileChange], sides: &Sides) -> Value {
    let place = |path: &Option<BundlePath>, side: &Contents| {
        let path = path.as_ref();
        path.map(|path| side.place_of(path.as_str()))
    };
    let file = |one: &FileChange| {
        json!({
            "change": word(one),
            "old": place(&one.old, &sides.old),
            "new": place(&one.new, &sides.new),
            "binary": one.is_binary,
            "hunks": one.hunks.iter().map(hunk).collect::<Vec<_>>(),
        })
    };
    json!({
        "old": args.old.to_string(),
        "new": args.new.to_string(),
        "same": found.is_empty(),
        "files": found.iter().map(file).collect::<Vec<_>>(),
    })
}

/// Returns what happened to a file.
pub(super) fn word(file: &FileChange) -> &'static str {
    match (&file.old, &file.new) {
        (None, _) => "added",
        (_, None) => "removed",
        (old, new) if old != new => "moved",
        _ => "changed",
    }
}

fn hunk(hunk: &Hunk) -> Value {
    let lines: Vec<String> = hunk
        .lines
        .iter()
        .map(|line| format!("{}{}", line.mark, line.text))
        .collect();
    json!({
        "oldLine": hunk.old.0,
        "oldLines": hunk.old.1,
        "newLine": hunk.new.0,
        "newLines": hunk.new.1,
        "lines": lines,
    })
}

fn grant(one: &Grant) -> Value {
    let is_path = one.group.is_none();
    json!({
        "apiGroup": one.group,
        "resource": (!is_path).then_some(&one.resource),
        "resourceName": one.name,
        "path": is_path.then_some(&one.resource),
        "verbs": one.verbs,
    })
}

fn given(one: &Given) -> Value {
    json!({
        "subjectKind": one.subject_kind,
        "subjectNamespace": one.subject_namespace,
        "subject": one.subject,
        "roleKind": one.role_kind,
        "role": one.role,
    })
}

fn versions(all: &[CrdVersion]) -> Vec<Value> {
    let version = |one: &CrdVersion| json!({ "name": one.name, "served": one.served, "storage": one.storage });
    all.iter().map(version).collect()
}

fn change(change: &Change, sides: &Sides, is_whole: bool) -> Value {
    let object = match &change.subject {
        Subject::Object(id) => Some(id),
        Subject::Document(..) | Subject::File(_) => None,
    };
    let what = match (&change.old, &change.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    let mut value = json!({
        "change": what,
        "group": object.map(|id| &id.group),
        "kind": object.map(|id| &id.kind),
        "namespace": object.and_then(|id| id.namespace.as_ref()),
        "name": object.map(|id| &id.name),
        "old": placed(change.old.as_ref(), &sides.old),
        "new": placed(change.new.as_ref(), &sides.new),
        "breaking": change.breaking.iter().map(breaking).collect::<Vec<_>>(),
    });
    if let Some(members) = value.as_object_mut().filter(|_| is_whole) {
        let fields = change.fields.iter().map(field).collect();
        members.insert("fields".to_owned(), fields);
    }
    value
}

fn placed(place: Option<&Place>, side: &Contents) -> Option<Value> {
    let place = place?;
    Some(json!({
        "apiVersion": place.api_version,
        "file": side.place_of(place.file.as_str()),
        "bundlePath": place.file.as_str(),
        "line": (place.line > 0).then_some(place.line),
    }))
}

fn field(field: &Field) -> Value {
    let what = match field.change {
        FieldChange::Added => "added",
        FieldChange::Removed => "removed",
        FieldChange::Changed => "changed",
        FieldChange::Reordered => "reordered",
    };
    json!({
        "path": field.path.to_string(),
        "change": what,
        "old": field.old,
        "new": field.new,
        "hidden": field.hidden,
        "oldLine": (field.old_line > 0).then_some(field.old_line),
        "newLine": (field.new_line > 0).then_some(field.new_line),
    })
}

fn breaking(one: &Breaking) -> Value {
    json!({
        "rule": one.rule,
        "path": one.path.to_string(),
        "message": one.message,
        "certain": one.certain,
        "line": (one.line > 0).then_some(one.line),
    })
}
