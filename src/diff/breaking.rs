//! Changes that may break those who use what a bundle installs, by the rules of spec/compatibility-of-changes.md.

mod bounds;
mod crd;
mod found;
mod immutable;
mod known_values;
pub(super) mod removal;
mod schema;

use crate::objects::Object;

use super::budget::Budget;
use super::path::FieldPath;
use crate::crd::is_crd;
use found::Found;

/// A change that may break somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaking {
    /// The id of the rule, such as `crd-field-removed`.
    pub rule: &'static str,
    /// The field that it is about; empty when it is about the object as a whole.
    pub path: FieldPath,
    /// What is broken: a lower-case sentence without a period, text from outside escaped.
    pub message: String,
    /// Whether something that was fine is refused now, or gone, for sure; else that depends on what there is.
    pub certain: bool,
    /// The line in the new side's file, or in the old one's where the new one has nothing of it; 0 where it is about the object as a whole.
    pub line: u32,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// The stable id.
    pub id: &'static str,
    /// What it finds, for the specification.
    pub about: &'static str,
}

const fn rule(id: &'static str, about: &'static str) -> Rule {
    Rule { id, about }
}

/// All rules, in the order of the specification.
#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule("crd-removed", "A custom resource definition is removed."),
    rule("crd-scope", "The scope changes."),
    rule("crd-names", "The kind or the plural changes."),
    rule("crd-version-removed", "A version that was served is removed."),
    rule("crd-version-not-served", "A version is no longer served."),
    rule("crd-storage-version", "Objects are stored in another version."),
    rule("crd-subresource-removed", "A sub-resource is removed."),
    rule("crd-field-removed", "A field is removed."),
    rule("crd-unknown-fields", "Fields that the schema does not name are no longer kept."),
    rule("crd-type", "A value of the old type is no longer accepted."),
    rule("crd-required", "A field becomes required, and has no default."),
    rule("crd-enum", "A value is no longer one of those that are accepted."),
    rule("crd-bound", "A bound is new or tighter."),
    rule("crd-pattern", "A pattern or format is new or another one."),
    rule("crd-unique", "The items of a list must differ from each other."),
    rule("crd-validation", "A validation rule is new or another one."),
    rule("immutable-field", "A field changes that the API server does not change."),
    rule("immutable-object", "The content of an object changes that says that it is immutable."),
    rule("api-removed", "An object moves to a version of its API that Kubernetes removed."),
    rule("namespace-removed", "A namespace is removed, and with it everything in it."),
    rule("storage-removed", "A claim to storage, or a volume, is removed."),
    rule("stateful-set-removed", "A StatefulSet is removed."),
    rule("service-removed", "A Service is removed."),
    rule("api-service-removed", "An API that a Service answers is removed."),
    rule("webhook-removed", "Webhooks that change objects are removed."),
];

/// Returns why a change of an object may break somebody.
pub(super) fn of_change(old: &Object, new: &Object, budget: &mut Budget) -> Vec<Breaking> {
    let mut found = Found::new(budget);
    if is_crd(&new.id) {
        crd::compare(old, new, &mut found);
    }
    immutable::compare(old, new, &mut found);
    found.finish()
}
