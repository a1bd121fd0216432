//! Looking for blobs: here, and in another repository of the same registry.

use reqwest::{Method, StatusCode};

use crate::digest::Digest;
use crate::error::{Kind, Result};
use crate::limits::Ceiling;
use crate::reference::Repository;

use super::Registry;
use super::begin::Answer;

impl Registry {
    /// Tells whether a blob is here.
    pub(super) async fn has_blob(&self, digest: &Digest) -> Result<bool> {
        let path = format!("blobs/{digest}");
        let request = self.request(Method::HEAD, &path, "cannot look for the blob")?;
        let reply = self.exchange(&request).await?;
        match reply.status().as_u16() {
            404 => Ok(false),
            // Leave to GET from a storage is not always leave to HEAD; sending the blob again does no harm.
            400..=403 if reply.head.away => Ok(false),
            400 | 405 | 501 => self.has_blob_by_get(&path).await,
            _ if reply.status().is_success() => {
                // A page for people says nothing about blobs.
                reply.check_no_html("a blob")?;
                Ok(true)
            }
            _ => Err(self.refused(&reply, &request)),
        }
    }

    /// Tells whether a blob is here, for registries without HEAD: the head of an answer to GET says the same, and its
    /// body is not read.
    async fn has_blob_by_get(&self, path: &str) -> Result<bool> {
        let request = self.request(Method::GET, path, "cannot look for the blob")?;
        let session = &self.session;
        let mut attempts = self.attempts();
        loop {
            let failure = match session.live(&request).await {
                Ok(live) if live.head.status.is_success() => return Ok(true),
                Ok(live) if live.head.status == StatusCode::NOT_FOUND => return Ok(false),
                Ok(live) => match session.read(live, Ceiling::ErrorBody).await {
                    Ok(reply) => self.failure(&reply, &request),
                    Err(failure) => failure,
                },
                Err(failure) => failure,
            };
            attempts.again(failure).await?;
        }
    }

    /// Asks the registry to take a blob from another repository; keeps the upload that it begins instead, if it does.
    pub(super) async fn mount_blob(&self, digest: &Digest, from: &Repository) -> Result<bool> {
        self.begin_to_write();
        let path = format!("blobs/uploads/?mount={digest}&from={}", from.path());
        let mut request = self.request(Method::POST, &path, "cannot mount the blob")?;
        request.scope.from = Some(from.path().to_owned());
        let asked = self.ask_to_begin(&request, &mut self.attempts()).await;
        let Answer { reply, place } = match asked {
            Ok(answer) => answer,
            // No leave to read there: the blob is sent instead.
            Err(error) if error.kind() == Kind::Denied => return Ok(false),
            Err(error) => return Err(error),
        };
        match reply.status() {
            StatusCode::CREATED => Ok(true),
            StatusCode::ACCEPTED => {
                if place.upload().is_some() {
                    self.keep_upload(*digest, place);
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }
}
