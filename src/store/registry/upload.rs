//! Writing blobs: whole if the registry takes them so, in pieces if it does not, from the start again if it forgot.

use reqwest::header::{CONTENT_RANGE, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, RANGE};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::limits::Ceiling;
use crate::oci::Descriptor;
use crate::reference::Repository;

use super::Registry;
use super::answer::Reply;
use super::body::Body;
use super::http::Request;
use super::location::{check_upload, resolve, with_digest};
use super::manifest::check_digest_header;
use super::retry::{Attempts, Failure};

/// The size of a piece. Some registries take no request over 4 MiB.
const PIECE: u64 = 4 * 1024 * 1024;
/// The registry's word for the smallest piece that it takes.
const CHUNK_MIN_LENGTH: HeaderName = HeaderName::from_static("oci-chunk-min-length");
/// After this many failures a large blob is sent in pieces.
const BROKEN: u32 = 2;

/// An upload that was begun.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    /// Where the next request goes.
    pub(super) url: Url,
    /// The smallest piece that the registry takes.
    smallest: u64,
}

/// How one attempt failed.
enum Setback {
    /// As any request may fail.
    Failure(Failure),
    /// The registry takes smaller requests only.
    TooLarge(Reply),
}

impl From<Failure> for Setback {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Error> for Setback {
    fn from(error: Error) -> Self {
        Self::Failure(error.into())
    }
}

impl Registry {
    /// Tells whether a blob is here.
    pub(super) async fn has_blob(&self, digest: &Digest) -> Result<bool> {
        let path = format!("blobs/{digest}");
        let request = self.request(Method::HEAD, &path, "cannot look for the blob")?;
        let reply = self.exchange(&request).await?;
        match reply.status().as_u16() {
            404 => Ok(false),
            400 | 405 | 501 => {
                // No HEAD: the head of an answer to GET says the same, and its body is not read.
                let request = self.request(Method::GET, &path, "cannot look for the blob")?;
                let session = &self.session;
                let live = session.live(&request).await.map_err(|f| f.error)?;
                match live.head.status.as_u16() {
                    404 => Ok(false),
                    _ if live.head.status.is_success() => Ok(true),
                    _ => {
                        let reply = session.read(live, Ceiling::ErrorBody).await;
                        Err(self.refused(&reply.map_err(|f| f.error)?, &request))
                    }
                }
            }
            _ if reply.status().is_success() => Ok(true),
            _ => Err(self.refused(&reply, &request)),
        }
    }

    /// Asks the registry to take a blob from another repository; keeps the upload that it begins instead, if it does.
    pub(super) async fn mount_blob(&self, digest: &Digest, from: &Repository) -> Result<bool> {
        self.begin_to_write();
        let path = format!("blobs/uploads/?mount={digest}&from={}", from.path());
        let mut request = self.request(Method::POST, &path, "cannot mount the blob")?;
        request.scope.from = Some(from.path().to_owned());
        let reply = match self.exchange(&request).await {
            Ok(reply) => reply,
            // No leave to read there: the blob is sent instead.
            Err(error) if error.kind() == Kind::Denied => return Ok(false),
            Err(error) => return Err(error),
        };
        match reply.status() {
            StatusCode::CREATED => Ok(true),
            StatusCode::ACCEPTED => {
                if let Ok(upload) = self.begun(&reply) {
                    self.keep_upload(*digest, upload);
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// Writes a blob; an upload that comes to nothing is ended, also when nobody waits for it any more.
    pub(super) async fn write_blob(
        &self,
        descriptor: &Descriptor,
        content: &Content,
    ) -> Result<()> {
        let mut unfinished = Unfinished::new(self);
        let sent = self.send_blob(descriptor, content, &mut unfinished).await;
        if let (Err(_), Some(ending)) = (&sent, unfinished.end()) {
            ending.await;
        }
        sent
    }

    /// Sends a blob, as often as it takes.
    async fn send_blob(
        &self,
        descriptor: &Descriptor,
        content: &Content,
        unfinished: &mut Unfinished,
    ) -> Result<()> {
        self.begin_to_write();
        let digest = descriptor.digest;
        if content.len() != descriptor.size {
            return Err(
                Error::mismatch("size of the blob", descriptor.size, content.len()).digest(digest),
            );
        }
        let mut attempts = self.attempts();
        let mut begun = self.kept_upload(&digest);
        let mut in_pieces = false;
        let mut broken = 0_u32;
        loop {
            let upload = match begun.take() {
                Some(upload) => upload,
                None => match self.begin_upload(&mut attempts, &digest).await? {
                    Some(upload) => upload,
                    None => return Ok(()),
                },
            };
            unfinished.url = Some(upload.url.clone());
            let sent = if in_pieces {
                self.send_pieces(upload, &digest, content, &mut attempts, unfinished)
                    .await
            } else {
                self.send_whole(upload, &digest, content).await
            };
            match sent {
                Ok(()) => {
                    unfinished.url = None;
                    return Ok(());
                }
                Err(Setback::TooLarge(_)) if !in_pieces && content.len() > PIECE => {
                    in_pieces = true;
                }
                Err(Setback::TooLarge(reply)) => {
                    let doing = format!("cannot write a blob of {} bytes", content.len());
                    let failure = reply.refused(&doing, &self.session.settings.time);
                    return Err(failure.error.digest(digest));
                }
                Err(Setback::Failure(failure)) => {
                    // An error on the way may have come after the last byte.
                    attempts.again(failure).await?;
                    if self.has_blob(&digest).await? {
                        unfinished.url = None;
                        return Ok(());
                    }
                    // Some say "too large" by closing the connection in the middle of the body.
                    broken = broken.saturating_add(1);
                    in_pieces |= broken >= BROKEN && content.len() > PIECE;
                }
            }
        }
    }

    /// Begins an upload; nothing when the registry says that it has the blob already.
    async fn begin_upload(
        &self,
        attempts: &mut Attempts,
        digest: &Digest,
    ) -> Result<Option<Upload>> {
        let request = self.request(Method::POST, "blobs/uploads/", "cannot begin an upload")?;
        let reply = self.session.exchange(&request, attempts).await?;
        if !reply.status().is_success() {
            return Err(self.refused(&reply, &request));
        }
        if reply.status() == StatusCode::CREATED && self.has_blob(digest).await? {
            return Ok(None);
        }
        self.begun(&reply).map(Some)
    }

    /// Reads where an upload goes on.
    fn begun(&self, reply: &Reply) -> Result<Upload> {
        let Some(location) = reply.header(&LOCATION) else {
            return Err(Error::protocol(
                "the registry begins an upload but does not say where (no `Location`)",
            ));
        };
        let url = resolve(&reply.head.url, location)?;
        check_upload(&self.session.base, &url, self.session.is_public())?;
        let smallest = reply
            .header(&CHUNK_MIN_LENGTH)
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        Ok(Upload { url, smallest })
    }

    /// Sends a blob with one request.
    async fn send_whole(
        &self,
        upload: Upload,
        digest: &Digest,
        content: &Content,
    ) -> Result<(), Setback> {
        let request = self.put_request(&upload.url, digest, content.clone());
        let reply = self.session.reply(&request).await?;
        self.stored(&reply, &request, digest).await
    }

    /// Sends a blob piece by piece.
    async fn send_pieces(
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
                    position = self.ask_position(&mut upload, attempts).await?;
                    continue;
                }
            };
            let status = reply.status().as_u16();
            let end = position.saturating_add(length);
            match status {
                _ if reply.status().is_success() => {
                    let stored = reply.header(&RANGE).map_or(Some(end), stored_up_to);
                    match stored {
                        Some(stored) if stored > position && stored <= end => position = stored,
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
                    unfinished.url = Some(upload.url.clone());
                }
                416 => {
                    let failure = reply.refused(request.doing, &self.session.settings.time);
                    attempts.again(Failure::passing(failure.error)).await?;
                    position = self.ask_position(&mut upload, attempts).await?;
                }
                404 => return Err(lost(&reply, &request, self).into()),
                413 => return Err(Setback::TooLarge(reply)),
                _ => {
                    let failure = reply.refused(request.doing, &self.session.settings.time);
                    attempts.again(failure).await?;
                    position = self.ask_position(&mut upload, attempts).await?;
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
    ) -> Result<u64, Setback> {
        let mut request = self.request(Method::GET, "", "cannot go on with an upload")?;
        request.url = upload.url.clone();
        let reply = self.session.exchange(&request, attempts).await?;
        if !reply.status().is_success() {
            return Err(lost(&reply, &request, self).into());
        }
        if reply.header(&LOCATION).is_some() {
            upload.url = self.begun(&reply)?.url;
        }
        match reply.header(&RANGE).map(stored_up_to) {
            Some(Some(position)) => Ok(position),
            Some(None) => Err(Error::protocol("the `Range` of an upload is malformed").into()),
            None => Ok(0),
        }
    }

    /// Reads the answer to the last request of an upload.
    async fn stored(
        &self,
        reply: &Reply,
        request: &Request,
        digest: &Digest,
    ) -> Result<(), Setback> {
        match reply.status().as_u16() {
            201 => Ok(check_digest_header(reply, digest)?),
            _ if reply.status().is_success() => {
                check_digest_header(reply, digest)?;
                self.note_written(&format!("blobs/{digest}"));
                if self.has_blob(digest).await? {
                    return Ok(());
                }
                Err(Error::protocol(format!(
                    "the registry took the blob ({}) but does not have it",
                    reply.status().as_u16()
                ))
                .digest(*digest)
                .into())
            }
            404 => Err(lost(reply, request, self).into()),
            413 | 416 => Err(Setback::TooLarge(Reply {
                head: super::answer::Head {
                    status: reply.status(),
                    headers: reply.head.headers.clone(),
                    url: reply.head.url.clone(),
                    away: reply.head.away,
                },
                body: reply.body.clone(),
            })),
            _ => Err(reply
                .refused(request.doing, &self.session.settings.time)
                .into()),
        }
    }

    fn put_request(&self, url: &Url, digest: &Digest, content: Content) -> Request {
        let body = if content.is_empty() {
            Body::Bytes(bytes::Bytes::new())
        } else {
            Body::Content {
                content,
                digest: *digest,
            }
        };
        let mut request = self.request_to(
            Method::PUT,
            with_digest(url.clone(), digest),
            "cannot write the blob",
        );
        request.body = body;
        request.headers.insert(CONTENT_TYPE, OCTETS);
        request
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

/// An upload that was begun and not finished yet; dropped, it is ended by a task of its own.
struct Unfinished {
    registry: Registry,
    url: Option<Url>,
}

impl Unfinished {
    fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            url: None,
        }
    }

    /// Returns what ends the upload, if there is one. Whether that works is nobody's concern: registries forget, too.
    fn end(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let url = self.url.take()?;
        let registry = self.registry.clone();
        Some(async move {
            let request = registry.request_to(Method::DELETE, url, "cannot end an upload");
            drop(registry.session.reply(&request).await);
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(ending) = self.end() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.registry.session.keep_task(runtime.spawn(ending));
        }
    }
}

const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Says that the registry has forgotten an upload, which is no reason to give up.
fn lost(reply: &Reply, request: &Request, registry: &Registry) -> Failure {
    Failure::passing(registry.refused(reply, request))
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
