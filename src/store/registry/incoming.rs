//! The body of an answer, with the deadlines for its next bytes.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::Instant;

use super::access::Timeouts;
use super::noted::Noted;
use super::proxy::Via;
use super::retry::Failure;
use super::transport;

/// The body of an answer, as it comes in.
#[derive(Debug)]
pub(super) struct Incoming {
    response: Response,
    /// The proxy that it comes through.
    via: Option<Via>,
    timeouts: Timeouts,
    /// When the current period began, and how many bytes came in it.
    period: (Instant, u64),
    /// Tells of the request when this is dropped.
    noted: Noted,
}

impl Incoming {
    pub(super) fn new(
        response: Response,
        via: Option<Via>,
        timeouts: Timeouts,
        noted: Noted,
    ) -> Self {
        Self {
            response,
            via,
            timeouts,
            period: (Instant::now(), 0),
            noted,
        }
    }

    /// Returns the next bytes, or nothing at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let idle = self.timeouts.idle;
        let next = tokio::time::timeout(idle, self.response.chunk()).await;
        let (url, via) = (self.response.url(), self.via.as_ref());
        let piece = match next {
            Ok(Ok(piece)) => piece,
            Ok(Err(error)) => return Err(transport::failure(error, url, via)),
            Err(_) => return Err(transport::too_slow(url, via, idle)),
        };
        let bytes = piece.as_ref().map_or(0, Bytes::len) as u64;
        self.noted.received = self.noted.received.saturating_add(bytes);
        self.period.1 = self.period.1.saturating_add(bytes);
        let elapsed: Duration = self.period.0.elapsed();
        if elapsed >= idle && piece.is_some() {
            if self.period.1 < self.timeouts.least {
                return Err(transport::too_slow(url, via, idle));
            }
            self.period = (Instant::now(), 0);
        }
        Ok(piece)
    }
}
