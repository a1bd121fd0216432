//! What a transfer tells while it runs: attempts, warnings, bytes. The library prints none of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::digest::Digest;

/// Something that a caller may want to show while a request runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An attempt failed and another follows.
    Retry {
        /// Where: the repository.
        place: String,
        /// Why the attempt failed, escaped.
        why: String,
        /// How long it waits before the next attempt.
        wait: Duration,
        /// The number of the next attempt, from 2.
        attempt: u32,
        /// How many attempts there are at most.
        attempts: u32,
    },
    /// A request is over, with whatever answer. No headers, no bodies, no credentials.
    Request {
        /// The method.
        method: String,
        /// Where it went, with `…` for what may be a secret in the query; escaped.
        url: String,
        /// The status; none when no answer came.
        status: Option<u16>,
        /// The bytes of the body that was sent.
        sent: u64,
        /// The bytes of the answer's body that were read.
        received: u64,
        /// From the first byte that was sent to the last that was read.
        took: Duration,
    },
    /// A registry, or what it points to (its token service, its storage), is asked for the first time.
    Reached {
        /// Scheme, host and port; escaped.
        origin: String,
        /// The proxy on the way, without its password, and where it was set; escaped.
        proxy: Option<String>,
    },
    /// The registry asked for credentials, which were looked for; told once for each repository and outcome.
    Credentials {
        /// The repository.
        place: String,
        /// Where they were found; none where there are none. Never the secret itself.
        found: Option<String>,
        /// What the look-up had to say: where it looked, what is missing.
        notes: Vec<String>,
    },
    /// The registry let a request in without asking for credentials.
    Open {
        /// The repository.
        place: String,
    },
    /// A tag was looked up; told once for each outcome.
    Resolved {
        /// Repository and tag.
        reference: String,
        /// What it names; none where there is no such tag.
        digest: Option<Digest>,
    },
    /// Something is not as it should be but does not stop the work; escaped.
    Warning(String),
    /// Bytes of a blob left for the registry. After a failed attempt they are counted again.
    Sent {
        /// The blob.
        digest: Digest,
        /// How many bytes since the event before.
        bytes: u64,
    },
    /// Bytes of a blob arrived from the registry.
    Received {
        /// The blob.
        digest: Digest,
        /// How many bytes since the event before.
        bytes: u64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry {
                place,
                why,
                wait,
                attempt,
                attempts,
            } => write!(
                f,
                "retrying in {:.1} s ({attempt} of {attempts}): {place}: {why}",
                wait.as_secs_f64()
            ),
            Self::Request {
                method,
                url,
                status,
                sent,
                received,
                took,
            } => {
                write!(f, "{method} {url}: ")?;
                match status {
                    Some(status) => write!(f, "{status}")?,
                    None => f.write_str("no answer")?,
                }
                let took = took.as_millis();
                write!(f, ", {sent} bytes sent, {received} received, {took} ms")
            }
            Self::Reached { origin, proxy } => {
                write!(f, "asking {origin}")?;
                match proxy {
                    Some(proxy) => write!(f, " through the proxy {proxy}"),
                    None => Ok(()),
                }
            }
            Self::Credentials {
                place,
                found,
                notes,
            } => {
                write!(f, "{place} asks for credentials: ")?;
                match found {
                    Some(found) => write!(f, "found in {found}"),
                    None => f.write_str("none were found"),
                }?;
                notes.iter().try_for_each(|note| write!(f, "; {note}"))
            }
            Self::Open { place } => write!(f, "{place} asks for no credentials"),
            Self::Resolved { reference, digest } => match digest {
                Some(digest) => write!(f, "{reference} is {digest}"),
                None => write!(f, "{reference} is not there"),
            },
            Self::Warning(text) => f.write_str(text),
            Self::Sent { digest, bytes } => write!(f, "{digest}: sent {bytes} bytes"),
            Self::Received { digest, bytes } => write!(f, "{digest}: received {bytes} bytes"),
        }
    }
}

/// Takes every [`Event`]; called from several tasks, and must return soon.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Takes a callback.
    pub fn new(take: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Hands an event to the callback.
    pub(super) fn tell(&self, event: Event) {
        (self.0)(event);
    }

    /// Hands on a warning.
    pub(super) fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning(text.into()));
    }
}

impl Default for Events {
    /// Drops every event.
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
