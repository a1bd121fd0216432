//! Beginning uploads, with a request that is waited for to its end: an answer that nobody reads would be the only one to say
//! where the upload is that has to be ended.

use reqwest::header::{HeaderName, LOCATION};
use reqwest::{Method, StatusCode};
use tokio::sync::oneshot;

use crate::digest::Digest;
use crate::error::{Error, Kind, Result};

use super::Registry;
use super::answer::Reply;
use super::http::Request;
use super::location::{check_upload, resolve};
use super::retry::{Attempts, Failure};
use super::unfinished::Unfinished;
use super::upload::Upload;

/// The registry's word for the smallest piece that it takes.
const CHUNK_MIN_LENGTH: HeaderName = HeaderName::from_static("oci-chunk-min-length");

/// What a registry answers to the wish to begin an upload.
pub(super) struct Answer {
    pub(super) reply: Reply,
    /// The upload, if there is one: it is ended when this is dropped.
    pub(super) place: Unfinished,
}

impl Registry {
    /// Begins an upload; nothing when the registry says that it has the blob already.
    pub(super) async fn begin_upload(
        &self,
        attempts: &mut Attempts,
        digest: &Digest,
    ) -> Result<Option<(Upload, Unfinished)>> {
        let request = self.request(Method::POST, "blobs/uploads/", "cannot begin an upload")?;
        let Answer { reply, mut place } = self.ask_to_begin(&request, attempts).await?;
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
        let upload = if let Some(upload) = place.upload() {
            upload
        } else {
            let upload = self.begun(&reply)?;
            place.begin(upload.clone());
            upload
        };
        Ok(Some((upload, place)))
    }

    /// Sends a request that may begin an upload until there is an answer that another attempt would not change.
    pub(super) async fn ask_to_begin(
        &self,
        request: &Request,
        attempts: &mut Attempts,
    ) -> Result<Answer> {
        loop {
            match self.ask_to_begin_once(request.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => attempts.again(failure).await?,
            }
        }
    }

    /// Sends a request that may begin an upload, in a task of its own, which goes on when nobody waits here any more.
    async fn ask_to_begin_once(&self, request: Request) -> Result<Answer, Failure> {
        let (tell, told) = oneshot::channel();
        let registry = self.clone();
        let task = tokio::spawn(async move {
            let sent = registry.session.reply(&request).await;
            let judged = sent.and_then(|reply| registry.session.judge(&request, reply));
            let answer = judged.map(|reply| {
                let mut place = Unfinished::new(&registry);
                // What "created" names is a blob, and deleting that would not be tidying up.
                if reply.status() == StatusCode::ACCEPTED
                    && let Ok(upload) = registry.begun(&reply)
                {
                    place.begin(upload);
                }
                Answer { reply, place }
            });
            // With an answer that nobody takes its upload is dropped, and so ended.
            drop(tell.send(answer));
        });
        self.session.keep_task(task);
        told.await.unwrap_or_else(|_| {
            let gone = Error::new(Kind::Interrupted, "stopped before there was an answer");
            Err(gone.into())
        })
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
}
