//! When an attempt is repeated, and after how long.
//!
//! Five attempts for each operation, with waits that double from half a second, of which up to one half is left out at
//! random: four waits take at least 3.75 s, in which a registry can restart. What the registry asks for in `Retry-After`
//! wins if it is at most a minute. Nothing is repeated that would fail again in the same way: names that do not exist,
//! bad certificates, refusals, bytes that do not match.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::escape::shown;

use super::event::{Event, Events};
use super::time::Time;

/// How often one operation is tried.
pub(super) const ATTEMPTS: u32 = 5;
/// How often one operation is repeated after "too many requests".
const THROTTLED: u32 = 2;
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// The longest `Retry-After` that is waited for.
pub(super) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// After this long no other attempt begins.
const BUDGET: Duration = Duration::from_secs(120);
/// How much of one attempt counts: one that sent bytes for an hour has not wasted an hour.
const COUNTED: Duration = Duration::from_secs(30);
/// After this many more bytes of a blob a failure counts as the first one again.
const PROGRESS: u64 = 1024 * 1024;

/// Whether a failed attempt is worth repeating.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It would fail again.
    Never,
    /// After a wait that grows, or the one that the server asked for.
    Wait(Option<Duration>),
    /// The same, but the server counts our requests: seldom.
    Throttled(Option<Duration>),
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    pub(super) again: Again,
}

impl Failure {
    /// Takes an error that another attempt may not have.
    pub(super) fn passing(error: Error) -> Self {
        Self {
            error: error.retryable(),
            again: Again::Wait(None),
        }
    }
}

/// Every error that is not said to be passing is final.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            error,
            again: Again::Never,
        }
    }
}

/// Counts the attempts of one operation.
#[derive(Debug)]
pub(super) struct Attempts {
    time: Time,
    events: Events,
    place: String,
    /// When the current attempt began.
    began: Duration,
    /// What earlier attempts and waits took from the budget.
    spent: Duration,
    failed: u32,
    throttled: u32,
    /// How many bytes had passed when failures were last forgotten.
    mark: u64,
}

impl Attempts {
    pub(super) fn new(time: &Time, events: &Events, place: String) -> Self {
        Self {
            began: time.now(),
            spent: Duration::ZERO,
            time: time.clone(),
            events: events.clone(),
            place,
            failed: 0,
            throttled: 0,
            mark: 0,
        }
    }

    /// Notes how many bytes of a blob have passed; earlier failures are forgotten when that is enough more than ever
    /// before. What begins at the start again has to come further, so that it does not go on for ever.
    pub(super) fn reached(&mut self, position: u64) {
        if position.saturating_sub(self.mark) < PROGRESS {
            return;
        }
        self.mark = position;
        self.failed = 0;
        self.throttled = 0;
        self.spent = Duration::ZERO;
        self.began = self.time.now();
    }

    /// Waits for the next attempt, or gives the failure back when there is none.
    pub(super) async fn again(&mut self, failure: Failure) -> Result<()> {
        let asked = match failure.again {
            Again::Never => return Err(failure.error),
            Again::Wait(asked) => asked,
            Again::Throttled(asked) => {
                self.throttled = self.throttled.saturating_add(1);
                if self.throttled > THROTTLED {
                    return Err(failure.error);
                }
                asked
            }
        };
        self.failed = self.failed.saturating_add(1);
        let wait = asked.unwrap_or_else(|| backoff(self.failed, random()));
        let took = self.time.now().saturating_sub(self.began);
        self.spent = self.spent.saturating_add(took.min(COUNTED));
        self.spent = self.spent.saturating_add(wait);
        if self.failed >= ATTEMPTS || wait > RETRY_AFTER_MAX || self.spent > BUDGET {
            return Err(failure.error);
        }
        self.events.tell(Event::Retry {
            place: self.place.clone(),
            why: shown(failure.error.message()),
            wait,
            attempt: self.failed.saturating_add(1),
            attempts: ATTEMPTS,
        });
        self.time.sleep(wait).await;
        self.began = self.time.now();
        Ok(())
    }
}

/// Returns the wait after the `failed`th failure: between one half and the whole of a bound that doubles.
///
/// Without that floor, four attempts can be over before a server that restarts listens again.
fn backoff(failed: u32, random: u64) -> Duration {
    let doublings = failed.saturating_sub(1).min(16);
    let bound = FIRST_WAIT
        .saturating_mul(1 << doublings)
        .min(LONGEST_WAIT)
        .as_millis();
    let half = bound / 2;
    let wait = half.saturating_add(
        u128::from(random)
            .checked_rem(half.saturating_add(1))
            .unwrap_or(0),
    );
    Duration::from_millis(u64::try_from(wait).unwrap_or(0))
}

/// Returns a number that differs from call to call: the standard library seeds its hash maps at random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Reads a `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3); nothing for what is neither.
///
/// A date counts from `date`, the time at which the server says it answered.
pub(super) fn retry_after(value: &str, date: Option<SystemTime>) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(value).ok()?;
    Some(at.duration_since(date?).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let date = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").ok();
        let seconds = |n| Some(Duration::from_secs(n));
        for (value, want) in [
            ("2", seconds(2)),
            (" 0 ", seconds(0)),
            ("1000000000", seconds(1_000_000_000)),
            ("99999999999999999999999", seconds(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:39 GMT", seconds(2)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", seconds(0)),
            ("-1", None),
            ("1.5", None),
            ("abc", None),
            ("", None),
        ] {
            assert_eq!(retry_after(value, date), want, "{value}");
        }
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:39 GMT", None), None);
    }

    #[test]
    fn waits_double_up_to_ten_seconds_and_are_spread_over_their_upper_half() {
        let all = |failed| (0..20_000).map(move |r| backoff(failed, r).as_millis());
        let longest: Vec<u128> = (1..=8).map(|failed| all(failed).max().unwrap()).collect();
        let shortest: Vec<u128> = (1..=8).map(|failed| all(failed).min().unwrap()).collect();
        assert_eq!(shortest, [250, 500, 1000, 2000, 4000, 5000, 5000, 5000]);
        assert_eq!(
            longest,
            [500, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]
        );
        assert!((0..100).any(|_| random() != random()));
    }

    #[test]
    fn failures_are_forgotten_after_enough_more_bytes_than_ever_before() {
        let minute = Duration::from_secs(60);
        let time = Time::new(move || minute, |_| Box::pin(std::future::ready(())));
        let mut attempts = Attempts::new(&time, &Events::new(drop), "r".into());
        let mut forgets = |position| {
            attempts.failed = 3;
            attempts.throttled = 1;
            attempts.spent = minute;
            attempts.began = Duration::ZERO;
            attempts.reached(position);
            let is_new = (attempts.failed, attempts.throttled) == (0, 0);
            assert_eq!(is_new, attempts.spent.is_zero());
            assert_eq!(is_new, attempts.began == minute);
            is_new
        };
        for (position, is_forgotten) in [
            (0, false),
            (PROGRESS - 1, false),
            (PROGRESS, true),
            // What begins again at the start has to come further.
            (1, false),
            (PROGRESS + 1, false),
            (2 * PROGRESS - 1, false),
            (5 * PROGRESS, true),
            (5 * PROGRESS, false),
            (6 * PROGRESS, true),
        ] {
            assert_eq!(forgets(position), is_forgotten, "{position}");
        }
    }

    /// Fails again and again, each attempt after so long; returns the waits and how many events there were.
    fn waits(again: Again, attempt: Duration) -> (Vec<Duration>, usize) {
        let clock = Arc::new(Mutex::new((Duration::ZERO, Vec::new())));
        let (now, sleep) = (Arc::clone(&clock), Arc::clone(&clock));
        let time = Time::new(
            move || now.lock().unwrap().0,
            move |wait| {
                let mut clock = sleep.lock().unwrap();
                clock.0 += wait;
                clock.1.push(wait);
                Box::pin(std::future::ready(()))
            },
        );
        let told = Arc::new(Mutex::new(0));
        let tell = Arc::clone(&told);
        let events = Events::new(move |_| *tell.lock().unwrap() += 1);
        let mut attempts = Attempts::new(&time, &events, "r".into());
        let error = futures_util::future::FutureExt::now_or_never(async {
            loop {
                let failure = Failure {
                    error: Error::protocol("x"),
                    again,
                };
                clock.lock().unwrap().0 += attempt;
                if let Err(error) = attempts.again(failure).await {
                    return error;
                }
            }
        });
        assert!(error.is_some());
        let waits = clock.lock().unwrap().1.clone();
        let told = *told.lock().unwrap();
        (waits, told)
    }

    #[test]
    fn attempts_end() {
        let second = Some(Duration::from_secs(1));
        let minute = Some(RETRY_AFTER_MAX);
        for (again, want) in [
            (Again::Never, 0),
            (Again::Wait(None), 4),
            (Again::Wait(second), 4),
            (Again::Throttled(None), 2),
            (Again::Throttled(second), 2),
            (Again::Throttled(minute), 2),
            // The budget of two minutes has room for two of them.
            (Again::Wait(minute), 2),
            (Again::Wait(Some(Duration::from_secs(61))), 0),
            (Again::Throttled(Some(Duration::from_secs(3600))), 0),
        ] {
            let (waits, told) = waits(again, Duration::ZERO);
            assert_eq!((waits.len(), told), (want, want), "{again:?}");
        }
        let (exactly, _) = waits(Again::Wait(second), Duration::ZERO);
        assert_eq!(exactly, [Duration::from_secs(1); 4]);
        // Attempts count, too, but no more than half a minute each.
        for (attempt, want) in [(1, 4), (29, 4), (30, 3), (3600, 3)] {
            let (waits, _) = waits(Again::Wait(second), Duration::from_secs(attempt));
            assert_eq!(waits.len(), want, "{attempt}");
        }
    }
}
