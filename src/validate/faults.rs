//! Documents that cannot be read: one code for each kind of fault.

use serde::de::IgnoredAny;

use crate::escape::shown;
use crate::finding::Finding;
use crate::path::BundlePath;
use crate::yaml::{Fault, FaultKind};

use super::context::{Context, has_extension};
use super::files::File;
use super::template::{self, Actions};

/// Makes a finding of a fault; a document that is a template is called one.
pub(super) fn finding(
    context: &Context<'_>,
    path: &BundlePath,
    fault: &Fault,
    actions: &mut Actions<'_>,
) -> Finding {
    if can_come_from_a_template(&fault.kind)
        && let Some(line) = actions.first_in_document(fault.line)
    {
        return template::finding(context, path, line);
    }
    // Of the branches of a condition only one is left once the template is rendered.
    if let FaultKind::DuplicateKey { first_line, .. } = fault.kind
        && let Some(line) = actions.branch_between(first_line, fault.line)
    {
        return template::finding(context, path, line);
    }
    let finding = Finding::error(code(&fault.kind), fault.message.clone()).at(path, fault.line);
    match &fault.kind {
        FaultKind::DuplicateKey { .. } => finding.hint("keep one of them"),
        FaultKind::LostDocument => finding.hint("write the separator `---` on a line of its own"),
        _ => finding,
    }
}

/// Reports files that are JSON by their names alone: some consumers read them with a JSON reader.
pub(super) fn json(_: &Context<'_>, file: &File<'_>, findings: &mut Vec<Finding>) {
    if !has_extension(file.path.file_name(), "json") || file.bytes.trim_ascii().is_empty() {
        return;
    }
    if let Err(error) = serde_json::from_slice::<IgnoredAny>(file.bytes) {
        let message = format!(
            "the name ends in `.json`, and the file is no JSON: {}",
            reason(&error)
        );
        findings.push(
            Finding::warning("json-syntax", message)
                .at(file.path, u32::try_from(error.line()).unwrap_or(u32::MAX))
                .hint(
                    "name it `.yaml` if it is YAML; a JSON file holds one value, without comments",
                ),
        );
    }
}

/// Returns what the JSON reader says, without the place.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.find(" at line ").unwrap_or(text.len());
    shown(text.get(..end).unwrap_or_default())
}

/// Makes the finding of a file that is too large to be read.
pub(super) fn file_too_large(path: &BundlePath, found: u64, limit: u64) -> Finding {
    let message = format!("the file has {found} bytes, more than {limit}");
    Finding::error("yaml-too-large", message)
        .at(path, 0)
        .hint("if it must be so large, raise --max-file")
}

/// Returns the code of a kind of fault: its name behind `yaml-`.
fn code(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::NotUtf8 => "yaml-not-utf8",
        FaultKind::ControlCharacter => "yaml-control-character",
        FaultKind::LineBreak => "yaml-line-break",
        FaultKind::Syntax => "yaml-syntax",
        FaultKind::DuplicateKey { .. } => "yaml-duplicate-key",
        FaultKind::BadKey => "yaml-bad-key",
        FaultKind::BadMerge => "yaml-bad-merge",
        FaultKind::BadTag => "yaml-bad-tag",
        FaultKind::NotFinite => "yaml-not-finite",
        FaultKind::UnknownAlias => "yaml-unknown-alias",
        FaultKind::SelfAlias => "yaml-self-alias",
        FaultKind::AliasExpansion => "yaml-alias-expansion",
        FaultKind::TooDeep { .. } => "yaml-too-deep",
        FaultKind::TooManyNodes { .. } => "yaml-too-many-nodes",
        FaultKind::TooLarge { .. } => "yaml-too-large",
        FaultKind::TooManyDocuments { .. } => "yaml-too-many-documents",
        FaultKind::LostDocument => "yaml-lost-document",
        // These two are faults of metadata alone.
        FaultKind::NotOneDocument | FaultKind::NotPlain => "metadata-yaml",
    }
}

fn can_come_from_a_template(kind: &FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Syntax
            | FaultKind::BadKey
            | FaultKind::BadTag
            | FaultKind::DuplicateKey { .. }
            | FaultKind::UnknownAlias
            | FaultKind::LostDocument
    )
}
