//! What stands in a file is an object, and says who it is in words that an API server takes.

use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::objects::{Object, Other, What, is_kustomization};
use crate::path::BundlePath;

use super::context::Context;
use super::layout::is_stray_annotations;

/// What is wrong with a mapping that does not say what it is.
const NO_OBJECT: &str = "this is no object: it has no `apiVersion`, `kind` and `metadata.name`";

/// Reports what is no object: lists, patches, values of charts, kustomize's files.
pub(super) fn not_object(
    context: &Context<'_>,
    path: &BundlePath,
    other: &Other,
    findings: &mut Vec<Finding>,
) {
    // A kustomization may have patches, values and settings beside its objects; only kustomize knows which is which.
    if context.is_kustomize() || is_kustomization(path.file_name()) {
        return;
    }
    // That metadata is no object goes without saying once it is said that it is in the wrong place.
    if is_stray_annotations(path) {
        return;
    }
    let message = match &other.what {
        What::Incomplete(_) => return,
        What::NotAMapping(kind) => format!("this is {kind}, and an object is a mapping"),
        What::Untyped => NO_OBJECT.to_owned(),
        What::ChartValues | What::KustomizeSettings => {
            format!("{NO_OBJECT}; it looks like {}", other.what)
        }
        what => format!("this looks like {what}, and is no object"),
    };
    let finding = Finding::error("not-object", message).at(path, other.line);
    findings.push(match &other.what {
        What::Kustomization | What::KustomizePlugin | What::KustomizeSettings | What::JsonPatch => {
            finding.hint(format!(
                "{}, or pack what `kustomize build` writes",
                context.kustomize_hint()
            ))
        }
        What::Chart | What::ChartValues => {
            finding.hint("pack what `helm template` writes, or leave it out with `.bundleignore`")
        }
        _ => finding.hint("leave it out with `.bundleignore`"),
    });
}

/// Reports objects in which apiVersion, kind or name is missing or no string.
pub(super) fn incomplete(
    context: &Context<'_>,
    path: &BundlePath,
    other: &Other,
    findings: &mut Vec<Finding>,
) {
    let What::Incomplete(lacks) = &other.what else {
        return;
    };
    // Beside a kustomization this may be a patch, or settings of some program.
    let severity = if context.is_kustomize() {
        Severity::Note
    } else {
        Severity::Error
    };
    for lack in lacks {
        let line = lack.found.map_or(other.line, |_| lack.line);
        let mut finding =
            Finding::new(severity, "object-incomplete", lack.to_string()).at(path, line);
        finding.hint = lack
            .written
            .as_ref()
            .map(|text| format!("quote it: \"{}\"", shown(text)));
        findings.push(finding);
    }
}

/// Reports words that no API server takes as apiVersion, kind, name or namespace.
pub(super) fn identity(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let mut report = |field: &[&str], text: &str, why: &str| {
        // A template has a finding of its own.
        if !text.contains("{{") {
            let line = object.node.at(field).map_or(object.line, |node| node.line);
            let message = format!("`{}` is `{}`, {why}", field.join("."), shown(text));
            findings.push(Finding::error("object-identity", message).at(path, line));
        }
    };
    let id = &object.id;
    if !(id.group.is_empty() || is_subdomain(&id.group)) || !is_label(&object.version) {
        let why = "which is neither `VERSION` nor `GROUP/VERSION`";
        report(&["apiVersion"], &object.api_version(), why);
    }
    if !is_kind(&id.kind) {
        report(
            &["kind"],
            &id.kind,
            "which is not a letter and letters or digits",
        );
    }
    if !is_name(&id.name) {
        let field = if object.has_generated_name {
            "generateName"
        } else {
            "name"
        };
        let why = "which has `/` or `%`, is `.` or `..`, or is longer than 253 bytes";
        report(&["metadata", field], &id.name, why);
    }
    if let Some(namespace) = id.namespace.as_deref().filter(|name| !is_label(name)) {
        let why = "which is not 1 to 63 lower-case letters, digits and `-`";
        report(&["metadata", "namespace"], namespace, why);
    }
}

/// Reports objects whose name the API server makes up.
pub(super) fn generated_name(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    if object.has_generated_name {
        let message = format!(
            "`{}` has `generateName`: `kubectl apply` and Flux refuse it, and each `create` makes another one",
            shown(&object.id.kind)
        );
        let finding = Finding::warning("object-generate-name", message).at(path, object.line);
        findings.push(finding.hint("give it a name"));
    }
}

/// A DNS-1123 label.
pub(super) fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A DNS-1123 subdomain.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// What every kind's names have in common: they can be a part of a URL's path. Most kinds want more.
fn is_name(text: &str) -> bool {
    text.len() <= 253 && !matches!(text, "." | "..") && !text.contains(['/', '%'])
}
