//! Is a bundle well formed? All checks, and all that they find at once (spec/bundle.md, "Findings").
//!
//! A check is a function, a row in [`CHECKS`] and a folder in `testdata/bad`. A file is read, checked and dropped before
//! the next one, or as many at a time as there are threads. Nothing here changes a file or looks outside the bundle.

mod checks;
mod context;
mod credentials;
mod custom;
mod duplicates;
mod faults;
mod fields;
mod files;
mod identity;
mod images;
mod kustomize;
mod labels;
mod layout;
mod links;
mod lock;
mod metadata;
mod names;
mod object_sizes;
mod removed;
mod scopes;
mod selectors;
mod served;
mod sizes;
mod strings;
mod template;
mod versions;

use std::num::NonZeroUsize;

use crate::bundle::Files;
use crate::error::Result;
use crate::finding::{self, Finding};
use crate::limits::Limits;
use crate::metadata::{Mediatype, Metadata};
use crate::objects::Summary;
use crate::oci::Annotations;
use crate::progress::Progress;
use crate::version::KubernetesVersion;

pub use checks::{CHECKS, Check, Family, check, is_object_code};
pub(crate) use metadata::OF_OLM;
pub use versions::MinOperatorVersion;

use checks::Run;
use context::Context;
use links::Links;

/// How to look at the files.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether files without metadata are at fault.
    pub needs_metadata: bool,
    /// What the files are taken for when their metadata does not say it.
    pub mediatype: Mediatype,
    /// For a source: what comes to its metadata when it is packed, and counts as if it stood there. So does the highest
    /// version of the operator that an object asks for, where nothing says one.
    pub additions: Option<Annotations>,
    /// The version of the cluster that the objects are meant for, if it is known.
    pub kubernetes_version: Option<KubernetesVersion>,
    /// How many files are checked at a time; the answer does not depend on it.
    pub threads: NonZeroUsize,
    /// Is told how many files are checked.
    pub progress: Progress,
}

impl Default for Options {
    /// Objects without metadata are fine, they are not kustomize's, and one file is looked at after the other.
    fn default() -> Self {
        Self {
            needs_metadata: false,
            mediatype: Mediatype::Manifests,
            additions: None,
            kubernetes_version: None,
            threads: NonZeroUsize::MIN,
            progress: Progress::NONE,
        }
    }
}

/// What there is in some files, and what is wrong with them.
#[derive(Debug, Clone)]
pub struct Report {
    /// All findings, sorted by file and line.
    pub findings: Vec<Finding>,
    /// The metadata, unless it is missing or has an error.
    pub metadata: Option<Metadata>,
    /// All objects, by file and line; none when there are too many.
    pub objects: Vec<Summary>,
    /// The highest version of the operator that an object asks for.
    pub min_operator_version: Option<MinOperatorVersion>,
}

impl Report {
    /// Tells whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        finding::has_errors(&self.findings)
    }
}

/// Checks the files of a bundle, or files below `manifests/` without metadata.
///
/// # Errors
///
/// Only when a content cannot be read; whatever is wrong with the files is a finding.
pub fn validate(files: &Files, limits: &Limits, options: &Options) -> Result<Report> {
    let mut findings = Vec::new();
    let mut context = Context::new(files, limits, options, &mut findings)?;
    let checked = files::check_all(&context, options)?;
    let minimums = checked.iter().filter_map(|file| file.minimum.clone());
    let min_operator_version = versions::highest(minimums);
    if let Some(minimum) = &min_operator_version {
        context.take_up(&minimum.version, options, &mut findings)?;
    }
    for check in CHECKS {
        if let Run::Layout(run) = check.run {
            run(&context, &mut findings);
        }
    }
    let mut objects = Vec::new();
    let mut links = Links::default();
    for file in checked {
        findings.extend(file.findings);
        objects.extend(file.objects);
        links.append(file.links);
    }
    if context.has_too_many_objects() {
        objects.clear();
    }
    scopes::settle(&context, &links.definitions, &mut objects, &mut findings);
    let whole = Whole {
        has_errors: finding::has_errors(&findings),
        objects: &objects,
        links,
        min_operator_version,
    };
    for check in CHECKS {
        match check.run {
            Run::Whole(run) => run(&context, &whole, &mut findings),
            Run::Again(run) => run(&context, &whole, &mut findings)?,
            _ => {}
        }
    }
    let min_operator_version = whole.min_operator_version;
    finding::sort(&mut findings);
    Ok(Report {
        findings,
        metadata: context.metadata,
        objects,
        min_operator_version,
    })
}

/// What is known once all files are read.
struct Whole<'a> {
    /// Whether an error was found before.
    has_errors: bool,
    objects: &'a [Summary],
    links: Links,
    min_operator_version: Option<MinOperatorVersion>,
}

#[cfg(test)]
mod tests;
