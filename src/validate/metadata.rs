//! The metadata as the other checks need it: read as far as it can be read.

use std::collections::BTreeMap;

use crate::bundle::Files;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{FILE, Mediatype, Metadata, identity_hint, key, parse};
use crate::oci::Annotations;

use super::Options;

/// What was made of the metadata.
#[derive(Default)]
pub(super) struct Read {
    pub(super) metadata: Option<Metadata>,
    pub(super) annotations: Annotations,
    pub(super) lines: BTreeMap<String, u32>,
    pub(super) mediatype: Option<Mediatype>,
    pub(super) has_placeholders: bool,
}

/// Reads the metadata file; what is wrong with one key does not hide what the others say.
pub(super) fn read(
    files: &Files,
    limits: &Limits,
    options: &Options,
    findings: &mut Vec<Finding>,
) -> Result<Read> {
    let none = Annotations::new();
    let additions = options.additions.as_ref().unwrap_or(&none);
    let is_named = additions.contains_key(key::PACKAGE) || additions.contains_key(key::VERSION);
    let assumed = Read {
        mediatype: mediatype(additions, options),
        has_placeholders: additions.contains_key(key::PLACEHOLDERS),
        ..Read::default()
    };
    let file = files.iter().find(|(path, _)| path.as_str() == FILE);
    let Some((_, content)) = file else {
        if options.needs_metadata && is_named {
            return Ok(meaning(
                additions.clone(),
                BTreeMap::new(),
                options,
                findings,
            ));
        }
        if options.needs_metadata {
            findings.push(
                Finding::error("metadata-missing", "the file is missing")
                    .at(FILE, 0)
                    .hint("describe the bundle there, or add --package P --version V"),
            );
        }
        return Ok(assumed);
    };
    // A longer file would hold more than one document may have.
    if content.len() > limits[Ceiling::Yaml] {
        let message = format!(
            "the file has {} bytes, more than {}",
            content.len(),
            limits[Ceiling::Yaml]
        );
        findings.push(Finding::error("metadata-yaml", message).at(FILE, 0));
        return Ok(assumed);
    }
    let bytes = content
        .to_bytes()
        .map_err(|source| Error::io("cannot read", FILE.as_ref(), source))?;
    let (mut annotations, lines) = match parse(&bytes, limits) {
        Ok(read) => read,
        Err(faults) => {
            findings.extend(faults);
            return Ok(assumed);
        }
    };
    if is_olm(&annotations) && !is_named {
        let message =
            "this is the metadata of an OLM bundle (registry+v1), and none of this format";
        findings.push(
            Finding::error("metadata-olm", message).at(FILE, 0).hint(
                "pack its `manifests/` with --package and --version; the keys of OLM can stay beside ours",
            ),
        );
        return Ok(Read {
            annotations,
            lines,
            ..assumed
        });
    }
    for (key, value) in additions {
        annotations
            .entry(key.clone())
            .or_insert_with(|| value.clone());
    }
    Ok(meaning(annotations, lines, options, findings))
}

/// Reads what keys and values mean; what is wrong with one of them does not hide what the others say.
fn meaning(
    annotations: Annotations,
    lines: BTreeMap<String, u32>,
    options: &Options,
    findings: &mut Vec<Finding>,
) -> Read {
    let line = |key: &str| lines.get(key).copied().unwrap_or(0);
    let metadata = match Metadata::of(annotations.clone(), &line) {
        Ok(metadata) => Some(metadata),
        Err(mut faults) => {
            // Only a source can still be told what it is.
            if options.additions.is_some() {
                for fault in faults.iter_mut().filter(|f| f.code == "metadata-required") {
                    fault.hint = identity_hint(&annotations);
                }
            }
            findings.append(&mut faults);
            None
        }
    };
    Read {
        mediatype: mediatype(&annotations, options),
        has_placeholders: annotations.contains_key(key::PLACEHOLDERS),
        metadata,
        annotations,
        lines,
    }
}

/// Returns what `manifests/` holds; none when the metadata says something that is not known.
fn mediatype(annotations: &Annotations, options: &Options) -> Option<Mediatype> {
    match annotations.get(key::MEDIATYPE) {
        Some(text) => text.parse().ok(),
        None => Some(options.mediatype),
    }
}

/// Tells whether OLM's keys are there and none of ours.
fn is_olm(annotations: &Annotations) -> bool {
    let any = |prefix: &str| annotations.keys().any(|key| key.starts_with(prefix));
    any(key::OLM_PREFIX) && !any(key::PREFIX)
}
