//! Notes each request and its answer for whoever wants to read along.
//!
//! Headers and bodies are never noted, and of a query only the values that are known to be no secret: a signed address is
//! as good as a password.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use url::Url;

use crate::escape::shown;

use super::event::{Event, Events};
use super::time::Time;

/// The parameters of the distribution API and of token services that say what is asked for.
const PLAIN: [&str; 7] = [
    "artifactType",
    "digest",
    "from",
    "mount",
    "n",
    "scope",
    "service",
];

/// One request, which is told when it is over: when its answer was read, or nobody reads on.
#[derive(Debug)]
pub(super) struct Noted {
    events: Events,
    time: Time,
    began: Duration,
    method: Method,
    url: String,
    pub(super) status: Option<StatusCode>,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Noted {
    /// Begins with a request; `away` says that it goes where the registry only points to.
    pub(super) fn new(
        events: &Events,
        time: &Time,
        method: &Method,
        url: &Url,
        away: bool,
    ) -> Self {
        Self {
            began: time.now(),
            events: events.clone(),
            time: time.clone(),
            method: method.clone(),
            url: shown_url(url, away),
            status: None,
            sent: 0,
            received: 0,
        }
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        self.events.tell(Event::Request {
            method: self.method.to_string(),
            url: std::mem::take(&mut self.url),
            status: self.status.map(|status| status.as_u16()),
            sent: self.sent,
            received: self.received,
            took: self.time.now().saturating_sub(self.began),
        });
    }
}

/// Returns an address without credentials and with `…` for what may be a secret in its query.
fn shown_url(url: &Url, away: bool) -> String {
    let bare = &url[url::Position::BeforeHost..url::Position::AfterPath];
    let mut text = format!("{}://{bare}", url.scheme());
    for (at, part) in url.query().unwrap_or_default().split('&').enumerate() {
        if part.is_empty() {
            continue;
        }
        text.push(if at == 0 { '?' } else { '&' });
        match part.split_once('=') {
            Some((key, value)) if !away && PLAIN.contains(&key) => {
                text.push_str(key);
                text.push('=');
                text.push_str(value);
            }
            Some((key, _)) => {
                text.push_str(key);
                text.push_str("=…");
            }
            // Without a name it may be anything.
            None => text.push('…'),
        }
    }
    shown(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_a_secret() {
        for (url, away, want) in [
            (
                "https://r.io/v2/a/manifests/1",
                false,
                "https://r.io/v2/a/manifests/1",
            ),
            (
                "https://r.io:5000/v2/a/blobs/uploads/?mount=sha256:x&from=b",
                false,
                "https://r.io:5000/v2/a/blobs/uploads/?mount=sha256:x&from=b",
            ),
            (
                "https://r.io/v2/a/blobs/uploads/1?_state=hunter2&digest=sha256:x",
                false,
                "https://r.io/v2/a/blobs/uploads/1?_state=…&digest=sha256:x",
            ),
            (
                "https://auth.io/token?service=r.io&scope=repository:a:pull&account=me",
                false,
                "https://auth.io/token?service=r.io&scope=repository:a:pull&account=…",
            ),
            (
                "https://cdn.io/x?X-Amz-Signature=hunter2&digest=hunter2&hunter2",
                true,
                "https://cdn.io/x?X-Amz-Signature=…&digest=…&…",
            ),
            (
                "https://me:hunter2@r.io/v2/#hunter2",
                false,
                "https://r.io/v2/",
            ),
        ] {
            assert_eq!(shown_url(&url.parse().unwrap(), away), want);
        }
    }
}
