//! The lowest version of the operator: what objects ask for (KDP's annotation) against what the metadata says.

use crate::escape::shown;
use crate::finding::Finding;
use crate::metadata::{FILE, key};
use crate::objects::Object;
use crate::path::BundlePath;
use crate::version::Version;

use super::Whole;
use super::context::Context;

/// The annotation by which an object asks for a version of its operator.
const ANNOTATION: &str = "addons.k8s.io/min-operator-version";

/// A version of the operator that an object asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinOperatorVersion {
    /// The version.
    pub version: Version,
    /// The file of the object, as a path in the bundle.
    pub file: BundlePath,
    /// The line of the annotation, from 1.
    pub line: u32,
}

/// Returns what an object asks for, when that is a version.
pub(super) fn required_by(path: &BundlePath, object: &Object) -> Option<MinOperatorVersion> {
    let node = object.annotation(ANNOTATION)?;
    Some(MinOperatorVersion {
        version: node.as_str()?.parse().ok()?,
        file: path.clone(),
        line: node.line,
    })
}

/// Returns the highest of some versions; of equal ones the first.
pub(super) fn highest(
    all: impl IntoIterator<Item = MinOperatorVersion>,
) -> Option<MinOperatorVersion> {
    all.into_iter().reduce(|highest, next| {
        if next.version.precedence(&highest.version).is_gt() {
            next
        } else {
            highest
        }
    })
}

/// Reports annotations that are no versions.
pub(super) fn of_object(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let Some(node) = object.annotation(ANNOTATION) else {
        return;
    };
    let (message, hint) = match node.as_str().map(str::parse::<Version>) {
        Some(Ok(_)) => return,
        Some(Err(invalid)) => (format!("`{ANNOTATION}`: {invalid}"), invalid.hint),
        None => {
            let written = node.plain_text().filter(|text| !text.is_empty());
            (
                format!("`{ANNOTATION}` is {}, not a string", node.value.kind_name()),
                written.map(|text| format!("quote it: \"{}\"", shown(text))),
            )
        }
    };
    let mut finding = Finding::error("object-min-operator-version", message).at(path, node.line);
    finding.hint = hint;
    findings.push(finding);
}

/// Compares the highest version that an object asks for with the metadata.
pub(super) fn of_metadata(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    const CODE: &str = "min-operator-version";
    let (Some(metadata), Some(wanted)) = (&context.metadata, &whole.min_operator_version) else {
        return;
    };
    let place = format!("{}, line {}", shown(wanted.file.as_str()), wanted.line);
    let asked = format!(
        "{place} asks for version {} of the operator",
        wanted.version
    );
    findings.push(
        match (&metadata.operator_id, &metadata.min_operator_version) {
            (_, Some(said)) if said.precedence(&wanted.version).is_lt() => {
                let message = format!("the metadata says {said}, and {asked}");
                Finding::error(CODE, message)
                    .at(FILE, context.line_of(key::MIN_OPERATOR_VERSION))
                    .hint(format!(
                        "set `{}` to \"{}\"",
                        key::MIN_OPERATOR_VERSION,
                        wanted.version
                    ))
            }
            (_, Some(_)) => return,
            (Some(_), None) => {
                let message = format!("{asked}; `pack` puts it into the metadata");
                Finding::note(CODE, message).at(FILE, 0)
            }
            (None, None) => {
                let message =
                    format!("{asked}, and the metadata names no operator: nobody checks it");
                Finding::warning(CODE, message)
                    .at(FILE, 0)
                    .hint(format!("set `{}`", key::OPERATOR_ID))
            }
        },
    );
}
