//! Reads and checks one file at a time below `manifests/`, on as many threads as are wanted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::finding::{Finding, Severity};
use crate::limits::Ceiling;
use crate::objects::{
    Entry, Summary, entries, is_chart, is_kustomization, is_manifest_name, read_template,
};
use crate::path::BundlePath;
use crate::sensitive;

use super::checks::{CHECKS, Run};
use super::context::Context;
use super::layout::is_leftover;
use super::links::Links;
use super::template::Actions;
use super::{MinOperatorVersion, Options, faults, versions};

/// How many findings of one code a file may have before the rest is only counted.
const SAME_CODE_MAX: usize = 100;

/// What came out of one file.
#[derive(Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) objects: Vec<Summary>,
    /// The highest version of the operator that an object in it asks for.
    pub(super) minimum: Option<MinOperatorVersion>,
    pub(super) links: Links,
}

/// A file that is being checked.
pub(super) struct File<'a> {
    pub(super) path: &'a BundlePath,
    pub(super) bytes: &'a [u8],
}

/// Checks all files that hold YAML or JSON; the results come in the order of the paths.
pub(super) fn check_all(context: &Context<'_>, options: &Options) -> Result<Vec<Checked>> {
    let mut work: Vec<(usize, &BundlePath, &Content)> = context
        .manifests()
        .filter(|(_, rest, _)| is_manifest_name(rest) || context.is_kustomize())
        .enumerate()
        .map(|(place, (path, _, content))| (place, path, content))
        .collect();
    // The largest first, so that no thread is left with one at the end.
    work.sort_by_key(|(_, _, content)| std::cmp::Reverse(content.len()));
    let next = AtomicUsize::new(0);
    let finished = AtomicU64::new(0);
    let take = || -> Result<Vec<(usize, Checked)>> {
        let mut done = Vec::new();
        while let Some((place, path, content)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*place, check(context, path, content)?));
            let before = finished.fetch_add(1, Ordering::Relaxed);
            options.progress.tell(before.saturating_add(1), work.len());
        }
        Ok(done)
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..options.threads.get().min(work.len()))
            .map(|_| scope.spawn(take))
            .collect();
        let mut all = take()?;
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok::<_, Error>(all)
    })?;
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, checked)| checked).collect())
}

/// Reads a file, runs the checks of files and objects over it, and forgets it.
fn check(context: &Context<'_>, path: &BundlePath, content: &Content) -> Result<Checked> {
    let mut checked = Checked::default();
    let limit = context.limits[Ceiling::File];
    if content.len() > limit {
        checked
            .findings
            .push(faults::file_too_large(path, content.len(), limit));
        return Ok(checked);
    }
    let name = path.file_name();
    let is_read = (is_manifest_name(name) || is_kustomization(name)) && !is_leftover(name);
    // Of other files the beginning says what there is to say.
    let head = content.slice(0, content.len().min(sensitive::LOOKED_AT as u64));
    let bytes = if is_read { None } else { head }
        .unwrap_or_else(|| content.clone())
        .to_bytes()
        .map_err(|source| Error::io("cannot read", path.as_str().as_ref(), source))?;
    let file = File {
        path,
        bytes: &bytes,
    };
    for check in CHECKS {
        if let Run::File(run) = check.run {
            run(context, &file, &mut checked.findings);
        }
    }
    // What a chart's description lacks of an object is not worth a second finding.
    if is_read && !(is_chart(name) && context.is_flat()) {
        let mut tally = Tally::default();
        let mut actions = Actions::new(&bytes);
        let is_template = context.has_placeholders && bytes.windows(2).any(|two| two == b"{{");
        for entry in entries(name, &bytes, context.limits) {
            match entry {
                Entry::Fault(fault) => {
                    let finding = faults::finding(context, path, &fault, &mut actions);
                    checked.findings.push(finding);
                }
                entry if !is_template => check_entry(context, path, &entry, &mut checked),
                _ => {}
            }
            tally.bound(&mut checked.findings);
        }
        // Here the faults are known; what is left can be read with the actions masked.
        if is_template {
            read_template(name, &bytes, context.limits, |entry| {
                check_entry(context, path, &entry, &mut checked);
                tally.bound(&mut checked.findings);
            });
        }
        tally.finish(path, &mut checked.findings);
    }
    Ok(checked)
}

/// Runs the checks of one object, or of what stands in the place of one.
fn check_entry(context: &Context<'_>, path: &BundlePath, entry: &Entry, checked: &mut Checked) {
    for check in CHECKS {
        match (&check.run, entry) {
            (Run::Other(run), Entry::Other(other)) => {
                run(context, path, other, &mut checked.findings);
            }
            (Run::Object(run), Entry::Object(object)) => {
                run(context, path, object, &mut checked.findings);
            }
            _ => {}
        }
    }
    if let Entry::Object(object) = entry {
        let minimums = [checked.minimum.take(), versions::required_by(path, object)];
        checked.minimum = versions::highest(minimums.into_iter().flatten());
        let before = context.objects.fetch_add(1, Ordering::Relaxed);
        if before < context.limits[Ceiling::Objects] {
            checked.objects.push(object.summary(path));
            checked.links.note(path, object);
        }
    }
}

/// Counts findings by code, so that a file cannot fill the memory with them.
#[derive(Default)]
pub(super) struct Tally {
    counts: BTreeMap<(&'static str, Severity), usize>,
    /// How many of the findings have been counted.
    counted: usize,
}

impl Tally {
    /// Drops new findings of which there are too many.
    pub(super) fn bound(&mut self, findings: &mut Vec<Finding>) {
        if findings.len() == self.counted {
            return;
        }
        for finding in findings.split_off(self.counted) {
            let count = self
                .counts
                .entry((finding.code, finding.severity))
                .or_default();
            *count += 1;
            if *count <= SAME_CODE_MAX {
                findings.push(finding);
            }
        }
        self.counted = findings.len();
    }

    /// Says how many were dropped.
    pub(super) fn finish(self, path: impl std::fmt::Display, findings: &mut Vec<Finding>) {
        for ((code, severity), count) in self.counts {
            if let Some(more @ 1..) = count.checked_sub(SAME_CODE_MAX) {
                let message = format!("{more} more findings of this kind in this file");
                findings.push(Finding::new(severity, code, message).at(&path, 0));
            }
        }
    }
}
