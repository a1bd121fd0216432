//! Reading blobs: a stream that goes on where it was interrupted.
//!
//! Nothing is checked here but the protocol; [`store::fetch`](crate::store::fetch) checks size and digest. A stream may
//! give more than the descriptor's size, so that what is too long is seen.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use reqwest::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderValue, RANGE};
use reqwest::{Method, StatusCode};

use crate::error::{Error, Kind, Result};
use crate::limits::Ceiling;
use crate::oci::Descriptor;

use super::Registry;
use super::event::Event;
use super::http::{Live, Request};
use super::incoming::Incoming;
use super::manifest::check_digest_header;
use super::retry::{Attempts, Failure};

/// A blob on its way.
struct Download {
    registry: Registry,
    descriptor: Descriptor,
    request: Request,
    attempts: Attempts,
    /// The answer that is being read; none before the first and after an interruption.
    incoming: Option<Incoming>,
    /// How many bytes were given out.
    position: u64,
    /// How many of the next bytes were given out already, because the server began at the start again.
    skip: u64,
    /// Whether the registry was asked again because the storage that it sent us to refused.
    asked_again: bool,
}

impl Registry {
    /// Opens a blob; the first answer is waited for, so that a missing blob is an error at once.
    pub(super) async fn open_blob(
        &self,
        descriptor: &Descriptor,
    ) -> Result<BoxStream<'static, Result<Bytes>>> {
        let path = format!("blobs/{}", descriptor.digest);
        let request = self.request(Method::GET, &path, "cannot read the blob")?;
        let mut download = Download {
            registry: self.clone(),
            descriptor: descriptor.clone(),
            request,
            attempts: self.attempts(),
            incoming: None,
            position: 0,
            skip: 0,
            asked_again: false,
        };
        download.connect().await?;
        let place = Arc::new(self.place_name());
        let pieces = stream::try_unfold(download, |mut download| async move {
            let piece = download.next().await?;
            Ok(piece.map(|piece| (piece, download)))
        });
        Ok(pieces
            .map(move |piece| piece.map_err(|error: Error| error.at(&place)))
            .boxed())
    }
}

impl Download {
    /// Returns the next bytes, as often as it takes.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            self.connect().await?;
            let Some(incoming) = &mut self.incoming else {
                return Ok(None);
            };
            match incoming.next().await {
                Ok(Some(mut piece)) => {
                    let skip = self.skip.min(piece.len() as u64);
                    self.skip = self.skip.saturating_sub(skip);
                    let _ = piece.split_to(usize::try_from(skip).unwrap_or(0));
                    if piece.is_empty() {
                        continue;
                    }
                    let bytes = piece.len() as u64;
                    self.position = self.position.saturating_add(bytes);
                    self.attempts.reached(self.position);
                    let digest = self.descriptor.digest;
                    let events = self.registry.session.events();
                    events.tell(Event::Received { digest, bytes });
                    return Ok(Some(piece));
                }
                Ok(None) => return Ok(None),
                // All bytes are here; how the connection ended does not matter.
                Err(_) if self.position >= self.descriptor.size => return Ok(None),
                Err(failure) => {
                    self.incoming = None;
                    self.attempts.again(failure).await?;
                }
            }
        }
    }

    /// Asks for the bytes from the position on, unless an answer is being read.
    async fn connect(&mut self) -> Result<()> {
        while self.incoming.is_none() {
            match self.ask().await {
                Ok(incoming) => self.incoming = Some(incoming),
                Err(failure) => self.attempts.again(failure).await?,
            }
        }
        Ok(())
    }

    async fn ask(&mut self) -> Result<Incoming, Failure> {
        let session = Arc::clone(&self.registry.session);
        let mut request = self.request.clone();
        if self.position > 0 {
            let range = HeaderValue::try_from(format!("bytes={}-", self.position))
                .map_err(|_| Error::protocol("no range can be asked for"))?;
            request.headers.insert(RANGE, range);
        }
        let live = session.live(&request).await?;
        let status = live.head.status;
        if !status.is_success() {
            return Err(self.refused(live).await);
        }
        live.head.check_coding()?;
        check_digest_header(&live.head, &self.descriptor.digest)?;
        if live.head.media_type() == "text/html" {
            let reply = session.read(live, Ceiling::ErrorBody).await?;
            reply.check_no_html("a blob")?;
            return Err(Error::protocol("HTML instead of a blob").into());
        }
        self.skip = self.begins_at(&live)?;
        Ok(live.incoming)
    }

    /// Returns how many bytes of an answer are to be skipped; refuses one that is not what was asked for.
    fn begins_at(&self, live: &Live) -> Result<u64> {
        let head = &live.head;
        let size = self.descriptor.size;
        let wrong_size = |found: u64| {
            Error::mismatch("size of the blob", size, found).digest(self.descriptor.digest)
        };
        if head.status == StatusCode::PARTIAL_CONTENT {
            let range = head.header(&CONTENT_RANGE).and_then(content_range);
            return match range {
                Some((start, _)) if start != self.position => Err(Error::protocol(format!(
                    "asked for the bytes from {} on, got those from {start} on",
                    self.position
                ))),
                Some((_, Some(total))) if total != size => Err(wrong_size(total)),
                Some(_) => Ok(0),
                None => Err(Error::protocol(
                    "the answer is a part of the blob but does not say which",
                )),
            };
        }
        if head.status != StatusCode::OK {
            return Err(Error::protocol(format!(
                "cannot read the blob: {} is no answer to that",
                head.status.as_u16()
            )));
        }
        let length = head
            .header(&CONTENT_LENGTH)
            .and_then(|length| length.parse::<u64>().ok());
        match length {
            Some(length) if length != size => Err(wrong_size(length)),
            _ => Ok(self.position),
        }
    }

    /// Says why there is no blob. A storage whose leave has run out is asked for again, once, by way of the registry.
    async fn refused(&mut self, live: Live) -> Failure {
        let session = Arc::clone(&self.registry.session);
        let away = live.head.away;
        let reply = match session.read(live, Ceiling::ErrorBody).await {
            Ok(reply) => reply,
            Err(failure) => return failure,
        };
        let status = reply.status().as_u16();
        let failure = self.registry.failure(&reply, &self.request);
        match status {
            400 | 401 | 403 if away && !self.asked_again => {
                self.asked_again = true;
                Failure::passing(failure.error)
            }
            400 if away => Error::new(Kind::Denied, failure.error.to_string()).into(),
            404 => Error::not_found(format!(
                "the registry lists the blob {} but does not have it",
                self.descriptor.digest
            ))
            .digest(self.descriptor.digest)
            .into(),
            416 if self.position > 0 => Error::mismatch(
                "size of the blob",
                self.descriptor.size,
                format!("at most {}", self.position),
            )
            .digest(self.descriptor.digest)
            .into(),
            _ => failure,
        }
    }
}

/// Reads `bytes START-END/TOTAL` (RFC 9110, 14.4); the total may be unknown.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.trim().split_once('-')?;
    let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    (start <= end && total.is_none_or(|total| end < total)).then_some((start, total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read() {
        for (value, want) in [
            ("bytes 0-9/10", Some((0, Some(10)))),
            ("bytes 5-9/*", Some((5, None))),
            ("bytes 5-9/9", None),
            ("bytes 9-5/10", None),
            ("bytes */10", None),
            ("5-9/10", None),
            ("items 5-9/10", None),
            ("bytes 5-/10", None),
            ("bytes -1-9/10", None),
            ("", None),
        ] {
            assert_eq!(content_range(value), want, "{value}");
        }
    }
}
