//! Time as a value: how long it is since something, and how to wait.
//!
//! The client asks this for every pause between two attempts and for the age of every token, so that a test can run
//! through an hour of waiting at once. Deadlines of single reads are [`Timeouts`](super::Timeouts)' affair.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;

type Now = dyn Fn() -> Duration + Send + Sync;
type Wall = dyn Fn() -> SystemTime + Send + Sync;
type Sleep = dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync;

/// A monotonic clock, a way to wait and, if the caller gives one, the time of day.
#[derive(Clone)]
pub struct Time {
    now: Arc<Now>,
    wall: Option<Arc<Wall>>,
    sleep: Arc<Sleep>,
}

impl Time {
    /// Takes a monotonic clock and a way to wait.
    pub fn new(
        now: impl Fn() -> Duration + Send + Sync + 'static,
        sleep: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            now: Arc::new(now),
            wall: None,
            sleep: Arc::new(sleep),
        }
    }

    /// Waits `scale` times as long as asked: for tests of the whole program, where 1 is real.
    pub fn scaled(scale: f64) -> Self {
        let start = tokio::time::Instant::now();
        let scale = if scale.is_finite() {
            scale.clamp(0.0, 1.0)
        } else {
            1.0
        };
        Self::new(
            move || start.elapsed(),
            move |wait| Box::pin(tokio::time::sleep(wait.mul_f64(scale))),
        )
    }

    /// Adds the time of day, for a `Retry-After` that is a date in an answer that has no `Date`.
    #[must_use]
    pub fn with_wall(mut self, wall: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.wall = Some(Arc::new(wall));
        self
    }

    /// Returns the time since some fixed moment; never goes back.
    pub(super) fn now(&self) -> Duration {
        (self.now)()
    }

    /// Returns the time of day, if the caller gave it.
    pub(super) fn wall(&self) -> Option<SystemTime> {
        self.wall.as_ref().map(|wall| wall())
    }

    /// Waits.
    pub(super) async fn sleep(&self, wait: Duration) {
        (self.sleep)(wait).await;
    }
}

impl Default for Time {
    /// Real time, without the time of day.
    fn default() -> Self {
        Self::scaled(1.0)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Time")
    }
}
