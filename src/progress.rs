//! How far a piece of local work is, for whoever wants to show it. The library prints none of it.

use std::fmt;
use std::sync::Arc;

type Tell = dyn Fn(u64, u64) + Send + Sync;

/// Takes how many files are done, and of how many; called from several threads, and must return soon.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Tell>>);

impl Progress {
    /// Drops everything.
    pub const NONE: Self = Self(None);

    /// Takes a callback.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    /// Tells that `done` of `all` files are done.
    pub(crate) fn tell(&self, done: u64, all: usize) {
        if let Some(tell) = &self.0 {
            tell(done, all as u64);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
