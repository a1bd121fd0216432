//! Writing blobs: whole if the registry takes them so, in pieces if it does not, from the start again if it forgot.

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use url::Url;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::oci::Descriptor;

use super::Registry;
use super::answer::Reply;
use super::body::Body;
use super::http::Request;
use super::location::with_digest;
use super::manifest::check_digest_header;
use super::retry::Failure;
use super::unfinished::Unfinished;

/// The size of a piece. Some registries take no request over 4 MiB.
pub(super) const PIECE: u64 = 4 * 1024 * 1024;
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
                    Some((upload, place)) => {
                        *unfinished = place;
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
