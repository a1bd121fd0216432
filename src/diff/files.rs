//! Two sides as they are, file by file and byte for byte: which were added, removed, changed and moved, and the lines that differ.
//!
//! Lines of a document that holds a Secret are not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use imara_diff::{Algorithm, Diff, InternedInput};

use crate::bundle::Files;
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::path::BundlePath;

use super::budget::{LineBudget, differing};
use super::index::{bytes_of, cannot_read};
use super::mask::{self, Sources};

/// Lines around a difference that are shown.
const CONTEXT: u32 = 3;

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path on the old side; none when it was added.
    pub old: Option<BundlePath>,
    /// Its path on the new side; none when it was removed. Another one when it was moved and not changed.
    pub new: Option<BundlePath>,
    /// The lines that differ and those around them; none for a file that is no text, or that was moved, added or removed.
    pub hunks: Vec<Hunk>,
    /// Whether it was changed and holds something else than text.
    pub is_binary: bool,
}

/// Lines that stand together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The first old line, from 1, and how many there are.
    pub old: (u32, u32),
    /// The first new line, from 1, and how many there are.
    pub new: (u32, u32),
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `-` for an old line, `+` for a new one, a blank for both.
    pub mark: char,
    /// What stands there, without the end of the line; [`HIDDEN`](super::HIDDEN) for a line of a Secret.
    pub text: String,
}

/// Compares files as they are; in the order of their paths.
///
/// # Errors
///
/// [`Kind::Limit`](crate::Kind::Limit) for a file that is over the ceiling; content that cannot be read.
pub fn files(old: &Files, new: &Files, limits: &Limits) -> Result<Vec<FileChange>> {
    let (a, b) = (digests(old, limits)?, digests(new, limits)?);
    let is_gone = |path: &BundlePath, other: &Files| !other.contains_key(path);
    let mut added: BTreeMap<&Digest, Vec<&BundlePath>> = BTreeMap::new();
    for (path, digest) in b.iter().rev().filter(|(path, _)| is_gone(path, old)) {
        added.entry(digest).or_default().push(path);
    }
    let sources = [Sources::of(old, limits)?, Sources::of(new, limits)?];
    let mut budget = LineBudget::default();
    let mut changes = Vec::new();
    for (path, digest) in &a {
        let mut change = FileChange {
            old: Some((*path).clone()),
            new: Some((*path).clone()),
            hunks: Vec::new(),
            is_binary: false,
        };
        match b.get(path) {
            Some(other) if other == digest => continue,
            Some(_) => {
                let hunks = hunks(path, [old, new], &sources, limits, &mut budget)?;
                change.is_binary = hunks.is_none();
                change.hunks = hunks.unwrap_or_default();
            }
            None => change.new = added.get_mut(digest).and_then(Vec::pop).cloned(),
        }
        changes.push(change);
    }
    changes.extend(added.into_values().flatten().map(|path| FileChange {
        old: None,
        new: Some(path.clone()),
        hunks: Vec::new(),
        is_binary: false,
    }));
    changes.sort_by(|a, b| {
        let key = |change: &FileChange| {
            (
                change.old.clone().or(change.new.clone()),
                change.new.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
    Ok(changes)
}

fn digests<'f>(files: &'f Files, limits: &Limits) -> Result<BTreeMap<&'f BundlePath, Digest>> {
    let mut digests = BTreeMap::new();
    for (path, content) in files {
        let (found, limit) = (content.len(), limits[Ceiling::File]);
        if found > limit {
            return Err(Error::limit(Ceiling::File, limit, found)
                .at(path)
                .file(path));
        }
        let digest: Digest = content
            .digest(Hasher::sha256())
            .map_err(|error| cannot_read(path, error))?;
        digests.insert(path, digest);
    }
    Ok(digests)
}

/// Finds the lines that differ in two states of a file; none of a file that is no text.
fn hunks(
    path: &BundlePath,
    [old, new]: [&Files; 2],
    [a, b]: &[Sources; 2],
    limits: &Limits,
    budget: &mut LineBudget,
) -> Result<Option<Vec<Hunk>>> {
    let read = |files: &Files| -> Result<Bytes> {
        let content = files.get(path);
        content.map_or_else(|| Ok(Bytes::new()), |content| bytes_of(path, content))
    };
    let (old, new) = (read(old)?, read(new)?);
    let (Ok(before), Ok(after)) = (str::from_utf8(&old), str::from_utf8(&new)) else {
        return Ok(None);
    };
    if before.contains('\0') || after.contains('\0') {
        return Ok(None);
    }
    let secret = [
        mask::secret_lines(path, &old, a, limits),
        mask::secret_lines(path, &new, b, limits),
    ];
    Ok(Some(hunks_shown(before, after, &secret, budget)))
}

/// Compares two texts line by line; the lines around what differs are there too, up to three on each side.
pub fn texts(old: &str, new: &str, budget: &mut LineBudget) -> Vec<Hunk> {
    hunks_shown(old, new, &[BTreeSet::new(), BTreeSet::new()], budget)
}

/// Returns the lines that differ and those around them; differences that are near to each other are together.
fn hunks_shown(
    before: &str,
    after: &str,
    secret: &[BTreeSet<u32>; 2],
    budget: &mut LineBudget,
) -> Vec<Hunk> {
    let (before, after): (Vec<&str>, Vec<&str>) = (
        before.split_inclusive('\n').collect(),
        after.split_inclusive('\n').collect(),
    );
    let all = Lines {
        before: &before,
        after: &after,
        secret,
    };
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut last: Option<imara_diff::Hunk> = None;
    let mut group: Vec<imara_diff::Hunk> = Vec::new();
    for hunk in hunks_of(&before, &after, budget) {
        let is_near = last
            .as_ref()
            .is_none_or(|last| hunk.before.start.saturating_sub(last.before.end) <= 2 * CONTEXT);
        if !is_near {
            hunks.extend(all.hunk(&group));
            group.clear();
        }
        group.push(hunk.clone());
        last = Some(hunk);
    }
    hunks.extend(all.hunk(&group));
    hunks
}

/// Returns where two texts differ; over the budget, all that is between what they begin and end with in common.
fn hunks_of(before: &[&str], after: &[&str], budget: &mut LineBudget) -> Vec<imara_diff::Hunk> {
    let [old_range, new_range] = differing(before, after);
    if budget.affords(old_range.len(), new_range.len()) {
        let mut input = InternedInput::default();
        input.update_before(before.iter().copied());
        input.update_after(after.iter().copied());
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        return diff.hunks().collect();
    }
    let at = |place| u32::try_from(place).unwrap_or(u32::MAX);
    let range = |range: Range<usize>| at(range.start)..at(range.end);
    vec![imara_diff::Hunk {
        before: range(old_range),
        after: range(new_range),
    }]
}

/// Two states of a text, and which lines of them are hidden.
struct Lines<'t> {
    before: &'t [&'t str],
    after: &'t [&'t str],
    secret: &'t [BTreeSet<u32>; 2],
}

impl Lines<'_> {
    /// Returns differences that are near to each other, with the lines around them.
    fn hunk(&self, group: &[imara_diff::Hunk]) -> Option<Hunk> {
        let (first, last) = (group.first()?, group.last()?);
        let lead = first.before.start.min(CONTEXT).min(first.after.start);
        let (mut i, mut j) = (first.before.start - lead, first.after.start - lead);
        let (old_start, new_start) = (i, j);
        let mut lines = Vec::new();
        for hunk in group {
            while i < hunk.before.start {
                lines.push(self.line(' ', 1, j));
                (i, j) = (i + 1, j + 1);
            }
            lines.extend(hunk.before.clone().map(|at| self.line('-', 0, at)));
            lines.extend(hunk.after.clone().map(|at| self.line('+', 1, at)));
            (i, j) = (hunk.before.end, hunk.after.end);
        }
        let end = u32::try_from(self.before.len()).unwrap_or(u32::MAX);
        let until = last.before.end.saturating_add(CONTEXT).min(end);
        while i < until {
            lines.push(self.line(' ', 1, j));
            (i, j) = (i + 1, j + 1);
        }
        Some(Hunk {
            old: (old_start + 1, i - old_start),
            new: (new_start + 1, j - new_start),
            lines,
        })
    }

    fn line(&self, mark: char, side: usize, at: u32) -> Line {
        let (texts, secret) = match side {
            0 => (self.before, &self.secret[0]),
            _ => (self.after, &self.secret[1]),
        };
        let text = usize::try_from(at).ok().and_then(|at| texts.get(at));
        let text = text.copied().unwrap_or_default();
        let text = if secret.contains(&at) {
            super::HIDDEN
        } else {
            text.strip_suffix('\n').unwrap_or(text)
        };
        Line {
            mark,
            text: text.to_owned(),
        }
    }
}
