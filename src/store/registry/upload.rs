//! Writing blobs: whole if the registry takes them so, in pieces if it does not, from the start again if it forgot.

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, StatusCode};
use url::Url;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::oci::Descriptor;

use super::Registry;
use super::answer::Reply;
use super::body::Body;
use super::http::Request;
use super::location::{check_upload, resolve, with_digest};
use super::manifest::check_digest_header;
use super::retry::{Attempts, Failure};
use super::unfinished::Unfinished;

/// The size of a piece. Some registries take no request over 4 MiB.
pub(super) const PIECE: u64 = 4 * 1024 * 1024;
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
    pub(super) smallest: u64,
}

/// How one attempt failed.
pub(super) enum Setback {
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
    /// Writes a blob; an upload that comes to nothing is ended, also when nobody waits for it any more.
    pub(super) async fn write_blob(
        &self,
        descriptor: &Descriptor,
        content: &Content,
    ) -> Result<()> {
        let kept = self.kept_upload(&descriptor.digest);
        let mut unfinished = kept.unwrap_or_else(|| Unfinished::new(self));
        let sent = self.send_blob(descriptor, content, &mut unfinished).await;
        // What a blob did not need after all is ended aside, when this is dropped.
        if sent.is_err()
            && let Some(ending) = unfinished.end()
        {
            ending.await;
        }
        sent
    }

    /// Sends a blob, as often as it takes; the first time with an upload that was begun already, if there is one.
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
        let mut begun = unfinished.upload();
        let mut in_pieces = false;
        let mut broken = 0_u32;
        loop {
            let upload = match begun.take() {
                Some(upload) => upload,
                None => match self.begin_upload(&mut attempts, &digest).await? {
                    Some(upload) => {
                        unfinished.begin(upload.clone());
                        upload
                    }
                    None => return Ok(()),
                },
            };
            let sent = if in_pieces {
                self.send_pieces(upload, &digest, content, &mut attempts, unfinished)
                    .await
            } else {
                self.send_whole(upload, &digest, content).await
            };
            match sent {
                Ok(()) => {
                    unfinished.finish();
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
                    // An error on the way may have come after the last byte, or somebody else has sent the blob meanwhile.
                    attempts.again(failure).await?;
                    if self.has_blob(&digest).await? {
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
        if reply.has_code("NAME_UNKNOWN") {
            return Err(self
                .refused(&reply, &request)
                .hint("create the repository first: this registry does not make one by itself"));
        }
        if !reply.status().is_success() {
            return Err(self.refused(&reply, &request));
        }
        if reply.status() == StatusCode::CREATED && self.has_blob(digest).await? {
            return Ok(None);
        }
        self.begun(&reply).map(Some)
    }

    /// Reads where an upload goes on.
    pub(super) fn begun(&self, reply: &Reply) -> Result<Upload> {
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

    /// Reads the answer to the last request of an upload.
    pub(super) async fn stored(
        &self,
        reply: &Reply,
        request: &Request,
        digest: &Digest,
    ) -> Result<(), Setback> {
        match reply.status().as_u16() {
            201 => Ok(check_digest_header(&reply.head, digest)?),
            _ if reply.status().is_success() => {
                check_digest_header(&reply.head, digest)?;
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
            // A wrong range, where everything was sent, is one of an upload that holds something already.
            404 | 416 => Err(lost(reply, request, self).into()),
            413 => Err(Setback::TooLarge(reply.clone())),
            _ => Err(self.failure(reply, request).into()),
        }
    }

    pub(super) fn put_request(&self, url: &Url, digest: &Digest, content: Content) -> Request {
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
}

pub(super) const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Says that the registry has forgotten an upload, which is no reason to give up.
pub(super) fn lost(reply: &Reply, request: &Request, registry: &Registry) -> Failure {
    Failure::passing(registry.refused(reply, request))
}
