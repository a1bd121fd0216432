//! Writing a blob piece by piece, for registries that take small requests only.

use reqwest::Method;
use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderValue, LOCATION, RANGE};
use url::Url;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};

use super::Registry;
use super::body::Body;
use super::http::Request;
use super::retry::{Attempts, Failure};
use super::unfinished::Unfinished;
use super::upload::{OCTETS, PIECE, Setback, Upload, lost};

/// A piece of which less than this is taken, though it was longer, counts as a failed attempt.
const LEAST_TAKEN: u64 = PIECE / 16;

impl Registry {
    /// Sends a blob piece by piece.
    pub(super) async fn send_pieces(
        &self,
        mut upload: Upload,
        digest: &Digest,
        content: &Content,
        attempts: &mut Attempts,
        unfinished: &mut Unfinished,
    ) -> Result<(), Setback> {
        let size = PIECE.max(upload.smallest);
        let mut position = 0;
        while position < content.len() {
            let length = size.min(content.len().saturating_sub(position));
            let Some(piece) = content.slice(position, length) else {
                break;
            };
            let request = self.patch_request(&upload.url, digest, position, piece)?;
            let reply = match self.session.reply(&request).await {
                Ok(reply) => reply,
                Err(failure) => {
                    attempts.again(failure).await?;
                    position = self.ask_position(&mut upload, attempts, unfinished).await?;
                    continue;
                }
            };
            let status = reply.status().as_u16();
            let end = position.saturating_add(length);
            match status {
                _ if reply.status().is_success() => {
                    let stored = reply.header(&RANGE).map_or(Some(end), stored_up_to);
                    match stored {
                        Some(stored) if stored > position && stored <= end => {
                            let taken = stored.saturating_sub(position);
                            position = stored;
                            attempts.reached(position);
                            // Who takes next to nothing of each piece would be sent the same bytes for ever.
                            if position < end && taken < LEAST_TAKEN {
                                let error = Error::protocol(format!(
                                    "the registry takes {taken} bytes of a piece of {length}"
                                ));
                                attempts.again(Failure::passing(error)).await?;
                            }
                        }
                        _ => {
                            return Err(Error::protocol(format!(
                                "the registry says that it stored {} bytes of {end} that were sent",
                                stored.unwrap_or(0)
                            ))
                            .into());
                        }
                    }
                    upload = Upload {
                        smallest: upload.smallest,
                        ..self.begun(&reply)?
                    };
                    unfinished.goes_on_at(&upload.url);
                }
                416 => {
                    let error = self.refused(&reply, &request);
                    attempts.again(Failure::passing(error)).await?;
                    position = self.ask_position(&mut upload, attempts, unfinished).await?;
                }
                404 => return Err(lost(&reply, &request, self).into()),
                413 => return Err(Setback::TooLarge(reply)),
                _ => {
                    attempts.again(self.failure(&reply, &request)).await?;
                    position = self.ask_position(&mut upload, attempts, unfinished).await?;
                }
            }
        }
        let request = self.put_request(&upload.url, digest, Content::from(""));
        let reply = self.session.reply(&request).await?;
        self.stored(&reply, &request, digest).await
    }

    /// Asks how much of an upload the registry has.
    async fn ask_position(
        &self,
        upload: &mut Upload,
        attempts: &mut Attempts,
        unfinished: &mut Unfinished,
    ) -> Result<u64, Setback> {
        let mut request = self.request(Method::GET, "", "cannot go on with an upload")?;
        request.url = upload.url.clone();
        let reply = self.session.exchange(&request, attempts).await?;
        if !reply.status().is_success() {
            return Err(lost(&reply, &request, self).into());
        }
        if reply.header(&LOCATION).is_some() {
            upload.url = self.begun(&reply)?.url;
            unfinished.goes_on_at(&upload.url);
        }
        match reply.header(&RANGE).map(stored_up_to) {
            Some(Some(position)) => Ok(position),
            Some(None) => Err(Error::protocol("the `Range` of an upload is malformed").into()),
            // What it has is not known, so that nothing can be added to it.
            None => Err(Failure::passing(Error::protocol(
                "the registry does not say how much of an upload it has (no `Range`)",
            ))
            .into()),
        }
    }

    fn patch_request(
        &self,
        url: &Url,
        digest: &Digest,
        position: u64,
        piece: Content,
    ) -> Result<Request> {
        let last = position.saturating_add(piece.len()).saturating_sub(1);
        let range = HeaderValue::try_from(format!("{position}-{last}"))
            .map_err(|_| Error::protocol("no range can be written"))?;
        let mut request = self.request_to(
            Method::PATCH,
            url.clone(),
            "cannot write a piece of the blob",
        );
        request.body = Body::Content {
            content: piece,
            digest: *digest,
        };
        request.headers.insert(CONTENT_TYPE, OCTETS);
        request.headers.insert(CONTENT_RANGE, range);
        Ok(request)
    }
}

/// Reads the `Range: 0-LAST` of an upload (no unit, unlike the header of that name elsewhere); returns LAST + 1.
fn stored_up_to(range: &str) -> Option<u64> {
    let range = range.trim();
    let range = range.strip_prefix("bytes=").unwrap_or(range);
    let (first, last) = range.split_once('-')?;
    let last: u64 = last.trim().parse().ok()?;
    if first.trim() != "0" {
        return None;
    }
    // Nothing stored is written `0-0`, as one byte is; pieces are larger than that.
    if last == 0 {
        return Some(0);
    }
    last.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_uploads_are_read() {
        for (range, want) in [
            ("0-9", Some(10)),
            (" 0-9 ", Some(10)),
            ("bytes=0-9", Some(10)),
            ("0-0", Some(0)),
            ("1-9", None),
            ("0--1", None),
            ("0-", None),
            ("9", None),
            ("0-99999999999999999999", None),
            ("0-18446744073709551615", None),
        ] {
            assert_eq!(stored_up_to(range), want, "{range}");
        }
    }
}
