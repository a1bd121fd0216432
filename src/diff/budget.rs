//! What a comparison may cost and hold, whoever wrote the two sides: what is over it is counted, and the answer says so.

use crate::schema;

/// The most memory for the paths of fields, and for what breaks: some 100,000 of each in a real bundle.
const FIELDS: usize = 256 << 20;
const BREAKING: usize = 256 << 20;

/// The most memory for the single permissions of roles.
const GRANTS: usize = 128 << 20;

/// How many pairs of lines or items are compared at worst: some seconds.
const PAIRS: u64 = 10_000_000_000;

/// How many lines or items two texts or lists may have together to be compared one by one.
const LONG: usize = 50_000;

/// What is left of what a comparison may cost.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) fields: Room,
    pub(super) breaking: Room,
    pub(super) patterns: schema::Budget,
    pub(super) grants: Room,
    pub(super) lines: LineBudget,
    /// How many fields differ for which there was no room.
    pub(super) more_fields: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            fields: Room(FIELDS),
            breaking: Room(BREAKING),
            patterns: schema::Budget::default(),
            grants: Room(GRANTS),
            lines: LineBudget::default(),
            more_fields: 0,
        }
    }
}

/// How much more there may be of something.
#[derive(Debug)]
pub(super) struct Room(pub(super) usize);

impl Room {
    /// Takes some; where there is less than that, all that is left, and tells so.
    pub(super) fn take(&mut self, size: usize) -> bool {
        let left = self.0.checked_sub(size);
        self.0 = left.unwrap_or_default();
        left.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

/// How much more may be compared line by line or item by item; one is for all texts of a comparison.
///
/// The work grows with the square where few lines are different ones. Texts over it are compared by what they begin and end with.
#[derive(Debug)]
pub struct LineBudget {
    pairs: u64,
}

impl Default for LineBudget {
    fn default() -> Self {
        Self { pairs: PAIRS }
    }
}

impl LineBudget {
    /// Makes one for so many pairs of lines.
    pub(super) fn of(pairs: u64) -> Self {
        Self { pairs }
    }

    /// Tells whether two runs of lines may be compared one by one.
    pub(super) fn affords(&mut self, old: usize, new: usize) -> bool {
        let lines = old.saturating_add(new);
        let pairs = (lines as u64).saturating_pow(2);
        if lines > LONG || pairs > self.pairs {
            return false;
        }
        self.pairs = self.pairs.saturating_sub(pairs);
        true
    }
}

/// Returns what two lists have between what they begin and end with in common, as ranges of places.
pub(super) fn differing<T: PartialEq>(old: &[T], new: &[T]) -> [std::ops::Range<usize>; 2] {
    let same = |pair: &(&T, &T)| pair.0 == pair.1;
    let lead = old.iter().zip(new).take_while(same).count();
    let rest = old.len().min(new.len()).saturating_sub(lead);
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take(rest).take_while(same).count();
    let range = |all: &[T]| lead..all.len().saturating_sub(tail);
    [range(old), range(new)]
}
