//! Uploads that come to nothing are ended at the registry, where they would take up space for days.

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use crate::limits::Ceiling;
use crate::reference::Repository;

use super::Registry;
use super::auth::{Actions, Scope};
use super::body::Body;
use super::http::Request;
use super::session::Session;
use super::upload::Upload;

/// The place of an upload that is begun and not finished yet; dropped, it ends the upload in a task of its own.
///
/// It does not hold the [`Registry`], which may keep it.
#[derive(Debug)]
pub(super) struct Unfinished {
    session: Arc<Session>,
    repository: Repository,
    upload: Option<Upload>,
}

impl Unfinished {
    /// Makes the place; there is no upload yet.
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            session: Arc::clone(&registry.session),
            repository: registry.repository.clone(),
            upload: None,
        }
    }

    /// Takes an upload that was begun; the one before, if it is not finished, is ended.
    pub(super) fn begin(&mut self, upload: Upload) {
        self.end_aside();
        self.upload = Some(upload);
    }

    /// Returns the upload, if there is one.
    pub(super) fn upload(&self) -> Option<Upload> {
        self.upload.clone()
    }

    /// Notes that the same upload goes on at another address.
    pub(super) fn goes_on_at(&mut self, url: &Url) {
        if let Some(upload) = &mut self.upload {
            upload.url = url.clone();
        }
    }

    /// Notes that the upload has become a blob.
    pub(super) fn finish(&mut self) {
        self.upload = None;
    }

    /// Returns what ends the upload, if there is one. Whether that works is nobody's concern: registries forget, too.
    pub(super) fn end(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let url = self.upload.take()?.url;
        let session = Arc::clone(&self.session);
        let request = Request {
            method: Method::DELETE,
            url,
            headers: HeaderMap::new(),
            body: Body::None,
            scope: Scope {
                repository: self.repository.clone(),
                actions: Actions::Push,
                from: None,
            },
            doing: "cannot end an upload",
            ceiling: Ceiling::ErrorBody,
        };
        Some(async move { drop(session.reply(&request).await) })
    }

    /// Ends the upload, if there is one, in a task that [`Access::settle`](super::Access::settle) waits for.
    fn end_aside(&mut self) {
        let Some(ending) = self.end() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.session.keep_task(runtime.spawn(ending));
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.end_aside();
    }
}
