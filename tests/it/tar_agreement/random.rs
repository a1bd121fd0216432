//! Numbers that look like chance and are the same on every machine.

pub(super) struct Random(u64);

impl Random {
    /// The numbers of one case of a series, which no other case has any part in.
    pub(super) fn new(seed: u64, case: usize) -> Self {
        let mut start = Self(seed);
        let start = start.next() ^ case as u64;
        Self(start)
    }

    /// Steps by a constant and mixes, so that neighbours have nothing in common.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    pub(super) fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// True once in `count` times.
    pub(super) fn rarely(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}
