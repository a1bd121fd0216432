//! The metadata as the other checks need it: read as far as it can be read.

use std::collections::BTreeMap;

use crate::bundle::Files;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{FILE, Mediatype, Metadata, identity_hint, key, parse};
use crate::oci::Annotations;
use crate::olm;

use super::Options;

/// Says what is read where OLM's keys are there and none of this format.
pub(crate) const OF_OLM: &str =
    "this is the metadata of an OLM bundle (registry+v1): its ClusterServiceVersion says the rest";

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
    additions: Option<&Annotations>,
    findings: &mut Vec<Finding>,
) -> Result<Read> {
    let none = Annotations::new();
    let additions = additions.unwrap_or(&none);
    let is_named = additions.contains_key(key::PACKAGE) || additions.contains_key(key::VERSION);
    let assumed = Read {
        mediatype: mediatype(additions, options),
        has_placeholders: additions.contains_key(key::PLACEHOLDERS),
        ..Read::default()
    };
    let Some(content) = files.get(FILE) else {
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
    for (key, value) in additions {
        annotations
            .entry(key.clone())
            .or_insert_with(|| value.clone());
    }
    if olm::is_olm(annotations.keys().map(String::as_str)) {
        return of_olm(files, annotations, lines, limits, findings);
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

/// Reads the metadata of a bundle that has OLM's keys alone; half of it is said by an object.
fn of_olm(
    files: &Files,
    annotations: Annotations,
    lines: BTreeMap<String, u32>,
    limits: &Limits,
    findings: &mut Vec<Finding>,
) -> Result<Read> {
    let line = |key: &str| lines.get(key).copied().unwrap_or(0);
    let (metadata, found) = olm::metadata(files, &annotations, &line, limits)?;
    findings.push(Finding::note("metadata-olm", OF_OLM).at(FILE, 0));
    findings.extend(found);
    Ok(Read {
        metadata,
        mediatype: Some(Mediatype::RegistryV1),
        has_placeholders: false,
        annotations,
        lines,
    })
}
