//! What was found of one change, as much of it as there is room for.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::schema;

use super::super::budget::{Budget, Room};
use super::super::path::{FieldPath, Step};
use super::Breaking;

/// How many findings there are of each rule, certain ones apart.
type Counts = BTreeMap<(&'static str, bool), usize>;

/// Findings, and how many there are for which there was no room.
pub(super) struct Found<'b> {
    all: Vec<Breaking>,
    more: Counts,
    room: &'b mut Room,
    /// What patterns may cost.
    pub(super) patterns: &'b mut schema::Budget,
}

/// What was found in one part of a change.
pub(super) struct Part {
    range: Range<usize>,
    counts: Counts,
}

impl<'b> Found<'b> {
    pub(super) fn new(budget: &'b mut Budget) -> Self {
        Self {
            all: Vec::new(),
            more: Counts::new(),
            room: &mut budget.breaking,
            patterns: &mut budget.patterns,
        }
    }

    pub(super) fn push(&mut self, one: Breaking) {
        let size = one.path.size().saturating_add(one.message.len());
        if self.room.take(size) {
            self.all.push(one);
        } else {
            *self.more.entry((one.rule, one.certain)).or_default() += 1;
        }
    }

    /// Runs a search and returns what it found.
    pub(super) fn part(&mut self, search: impl FnOnce(&mut Self)) -> Part {
        let before = self.all.len();
        let known = std::mem::take(&mut self.more);
        search(self);
        let mut counts = self.more.clone();
        add(&mut self.more, known);
        for one in self.all.iter().skip(before) {
            *counts.entry((one.rule, one.certain)).or_default() += 1;
        }
        Part {
            range: before..self.all.len(),
            counts,
        }
    }

    /// Adds once more what was found in a part, for another version.
    pub(super) fn repeat(&mut self, part: &Part, version: &Step) {
        let mut left = part.counts.clone();
        for at in part.range.clone() {
            let Some(one) = self.all.get(at).filter(|_| !self.room.is_empty()) else {
                break;
            };
            let mut one = one.clone();
            if let Some(count) = left.get_mut(&(one.rule, one.certain)) {
                *count = count.saturating_sub(1);
            }
            if let Some(step) = one.path.0.get_mut(2) {
                step.clone_from(version);
            }
            self.push(one);
        }
        add(&mut self.more, left);
    }

    /// Returns what was found, with a finding for each rule that finds more.
    pub(super) fn finish(self) -> Vec<Breaking> {
        let mut all = self.all;
        let more = self.more.into_iter().filter(|(_, count)| *count > 0);
        all.extend(more.map(|((rule, certain), count)| Breaking {
            rule,
            path: FieldPath::default(),
            message: format!("{count} more of this rule than are listed"),
            certain,
            line: 0,
        }));
        all
    }
}

fn add(counts: &mut Counts, more: Counts) {
    for (key, count) in more {
        *counts.entry(key).or_default() += count;
    }
}
