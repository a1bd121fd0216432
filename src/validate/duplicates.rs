//! Two objects with one identity: whoever applies the bundle keeps one of them, or refuses both.

use std::collections::HashMap;

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::Summary;

use super::Whole;
use super::context::Context;

/// Reports each object that is in the bundle already.
pub(super) fn duplicates(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    let mut seen = HashMap::new();
    // Of what a template holds it is not known how often it comes out.
    let is_fixed = |object: &&Summary| !object.has_generated_name && !object.is_template;
    for object in whole.objects.iter().filter(is_fixed) {
        // Bases, overlays and patches of kustomize repeat the objects that they change, in files of their own.
        let file = context.is_kustomize().then_some(&object.file);
        let first = *seen.entry((&object.id, file)).or_insert(object);
        if std::ptr::eq(first, object) {
            continue;
        }
        let (id, place) = (shown(&object.id.to_string()), shown(first.file.as_str()));
        let message = format!("`{id}` is already in {place}, line {}", first.line);
        findings.push(
            Finding::error("object-duplicate", message)
                .at(&object.file, object.line)
                .hint("remove one of them, or rename it"),
        );
    }
}
