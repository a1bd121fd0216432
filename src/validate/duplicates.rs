//! Objects counted and compared: two of one identity cannot both be applied, and there is a ceiling on all of them.

use std::collections::{BTreeMap, HashMap};

use crate::escape::shown;
use crate::finding::Finding;
use crate::limits::Ceiling;
use crate::objects::Summary;
use crate::path::BundlePath;

use super::Whole;
use super::context::Context;
use super::files::Tally;

/// How many objects two files may share before one finding speaks of all of them.
const SINGLE_MAX: usize = 3;

/// Reports each object that is in the bundle already; of files that share many, all of them at once.
pub(super) fn duplicates(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    let mut seen = HashMap::new();
    for of_file in whole.objects.chunk_by(|a, b| a.file == b.file) {
        // Of what a template holds it is not known how often it comes out.
        let is_fixed = |object: &&Summary| !object.has_generated_name && !object.is_template;
        let mut shared: BTreeMap<&BundlePath, Vec<(&Summary, &Summary)>> = BTreeMap::new();
        for object in of_file.iter().filter(is_fixed) {
            // Bases, overlays and patches of kustomize repeat the objects that they change, in files of their own.
            let file = context.is_kustomize().then_some(&object.file);
            let first: &Summary = seen.entry((&object.id, file)).or_insert(object);
            if !std::ptr::eq(first, object) {
                shared.entry(&first.file).or_default().push((first, object));
            }
        }
        let mut tally = Tally::default();
        let mut found = Vec::new();
        for (other, pairs) in shared {
            match pairs.first() {
                Some((_, object)) if pairs.len() > SINGLE_MAX && object.file != *other => {
                    found.push(shared_by(object, other, pairs.len(), of_file.len()));
                }
                _ => {
                    for (first, object) in pairs {
                        found.push(duplicate(first, object));
                        tally.bound(&mut found);
                    }
                }
            }
        }
        if let Some(object) = of_file.first() {
            tally.finish(&object.file, &mut found);
        }
        findings.append(&mut found);
    }
}

/// Says that a file has many objects that another one has too.
fn shared_by(object: &Summary, other: &BundlePath, count: usize, all: usize) -> Finding {
    let place = shown(other.as_str());
    let message = if count == all {
        format!("all {count} objects of this file are already in {place}")
    } else {
        format!(
            "{count} of the {all} objects of this file are already in {place}, the first is `{}`",
            shown(&object.id.to_string())
        )
    };
    Finding::error("object-duplicate", message)
        .at(&object.file, object.line)
        .hint(
            "if one of the files is there to choose from, leave the other one out with `--exclude`",
        )
}

fn duplicate(first: &Summary, object: &Summary) -> Finding {
    let (id, place) = (shown(&object.id.to_string()), shown(first.file.as_str()));
    let message = format!("`{id}` is already in {place}, line {}", first.line);
    Finding::error("object-duplicate", message)
        .at(&object.file, object.line)
        .hint("remove one of them, or rename it")
}

/// Reports bundles with more objects than the ceiling, of which no object is remembered.
pub(super) fn too_many(context: &Context<'_>, _: &Whole<'_>, findings: &mut Vec<Finding>) {
    if context.has_too_many_objects() {
        let limit = context.limits[Ceiling::Objects];
        let message = format!("the bundle has more than {limit} objects");
        findings.push(
            Finding::error("too-many-objects", message)
                .hint("if it must have so many, raise --max-objects"),
        );
    }
}
