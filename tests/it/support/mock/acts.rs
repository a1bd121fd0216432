//! Rules: which request, and what happens to it instead of an honest answer.

use std::sync::Arc;
use std::time::Duration;

use super::{Origin, Request, Response};

/// What happens to a request.
///
/// Byte counts are of the body. What a reset throws away may include the last bytes before it, when the
/// client was slow to read; tests that count on `k` bytes use one that fits a socket buffer.
#[derive(Clone)]
pub(crate) enum Act {
    /// This answer; the request has no effect.
    Respond(Response),
    /// The same without reading the request's body, and the connection is closed.
    RespondEarly(Response),
    /// The honest answer, changed: another digest header, other bytes, a lying length.
    Change(Arc<dyn Fn(&mut Response) + Send + Sync>),
    /// The honest answer until `k` bytes of its body, then an orderly end.
    Cut(usize),
    /// The honest answer until `k` bytes of its body, then a reset.
    CutReset(usize),
    /// The honest answer until `k` bytes of its body, then silence.
    CutStall(usize),
    /// A reset before anything else.
    Reset,
    /// An orderly end before anything else.
    Close,
    /// Silence, until the registry is dropped.
    Stall,
    /// A reset after `k` bytes of the request's body; the request has no effect.
    ResetUpload(usize),
    /// The request takes effect, but its answer is a reset.
    LoseAnswer,
    /// These bytes instead of HTTP, and an orderly end.
    Raw(Vec<u8>),
    /// The honest answer, late.
    Delay(Duration),
}

impl Act {
    pub(crate) fn change(edit: impl Fn(&mut Response) + Send + Sync + 'static) -> Self {
        Self::Change(Arc::new(edit))
    }
}

/// Which requests a rule is for.
#[derive(Clone, Debug)]
pub(crate) struct When {
    method: &'static str,
    parts: Vec<String>,
    origin: Option<Origin>,
    authorized: bool,
    first: usize,
    last: usize,
}

/// Every request with this method (empty: any) whose path and query has `path` in it; a `*` stands for
/// anything between.
pub(crate) fn on(method: &'static str, path: &str) -> When {
    When {
        method,
        parts: path.split('*').map(str::to_owned).collect(),
        origin: None,
        authorized: false,
        first: 1,
        last: usize::MAX,
    }
}

impl When {
    /// Only the `n`th such request (from 1).
    pub(crate) fn nth(self, n: usize) -> Self {
        Self {
            first: n,
            last: n,
            ..self
        }
    }

    /// Only the first `n` such requests.
    pub(crate) fn first(self, n: usize) -> Self {
        Self { last: n, ..self }
    }

    /// The `n`th such request and all after it.
    pub(crate) fn from(self, n: usize) -> Self {
        Self { first: n, ..self }
    }

    /// Only at this listener.
    pub(crate) fn at(self, origin: Origin) -> Self {
        Self {
            origin: Some(origin),
            ..self
        }
    }

    /// Only those that come with an authorisation: not the one that only finds out what is asked for.
    pub(crate) fn authorized(self) -> Self {
        Self {
            authorized: true,
            ..self
        }
    }

    /// Whether it is such a request, whatever its number.
    pub(crate) fn fits(&self, request: &Request) -> bool {
        let mut rest = request.path.as_str();
        let path = self
            .parts
            .iter()
            .all(|part| match rest.split_once(part.as_str()) {
                Some((_, after)) => {
                    rest = after;
                    true
                }
                None => false,
            });
        path && (self.method.is_empty() || self.method == request.method)
            && self.origin.is_none_or(|origin| origin == request.origin)
            && (!self.authorized || request.header("authorization").is_some())
    }
}

/// A rule and how often its condition has been met.
pub(super) struct Rule {
    when: When,
    act: Act,
    seen: usize,
}

impl Rule {
    pub(super) fn new(when: When, act: Act) -> Self {
        Self { when, act, seen: 0 }
    }

    /// Counts the request, and says what to do with it if its turn has come.
    pub(super) fn count(&mut self, request: &Request) -> Option<Act> {
        if !self.when.fits(request) {
            return None;
        }
        self.seen += 1;
        (self.when.first..=self.when.last)
            .contains(&self.seen)
            .then(|| self.act.clone())
    }
}
