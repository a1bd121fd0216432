//! The metadata as the other checks need it: read as far as it can be read.

use std::collections::BTreeMap;

use crate::bundle::Files;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::finding::Finding;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{self, FILE, Mediatype, Metadata, identity_hint, key};
use crate::oci::Annotations;
use crate::olm;
use crate::similar::nearest;

use super::Options;
use super::context::Context;

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
                    .hint("`bundle init` writes it, and `bundle pack` takes --package P --version V instead"),
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
    let file = match metadata::read(&bytes, limits) {
        Ok(file) => file,
        Err(faults) => {
            findings.extend(faults);
            return Ok(assumed);
        }
    };
    let are_strings = file.findings.is_empty();
    findings.extend(file.findings);
    let (mut annotations, lines) = (file.annotations, file.lines);
    for (key, value) in additions {
        annotations
            .entry(key.clone())
            .or_insert_with(|| value.clone());
    }
    let mut read = if olm::is_olm(annotations.keys().map(String::as_str)) {
        of_olm(files, annotations, lines, limits, findings)?
    } else {
        meaning(annotations, lines, options, findings)
    };
    read.metadata = read.metadata.filter(|_| are_strings);
    Ok(read)
}

/// Reports keys of this format that it does not have: what was meant by them would be lost without a word.
pub(super) fn unknown_keys(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let is_unknown =
        |key: &&String| key.starts_with(key::PREFIX) && !key::ALL.contains(&key.as_str());
    for key in context.annotations.keys().filter(is_unknown) {
        let message = format!(
            "the key `{}` has no meaning in this version of the format, which reserves it",
            shown(key)
        );
        let hint = match nearest(key, key::ALL) {
            Some((near, 1..=4)) => format!("write `{near}`, if that is meant"),
            _ => format!(
                "keys of your own begin with a domain of yours, not with `{}`",
                key::PREFIX
            ),
        };
        findings.push(
            Finding::warning("metadata-unknown", message)
                .at(FILE, context.line_of(key))
                .hint(hint),
        );
    }
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
