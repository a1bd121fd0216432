//! A repository of a registry, spoken to over the OCI distribution API.
//!
//! This is the only place that knows the network. Credentials leave for their own origin and its token service only (P7);
//! every answer has a ceiling (P8); what is worth another attempt gets one, within bounds. The files below hold one
//! concern each: `http` sends, `auth` authorises, `retry` repeats, `location` and `link` decide where it goes on.

mod access;
mod answer;
mod auth;
mod begin;
mod blob;
mod body;
mod challenge;
mod download;
mod event;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod incoming;
mod link;
mod location;
mod login;
mod manifest;
mod noted;
mod pieces;
mod proxy;
mod realm;
mod referrers;
mod resolve;
mod retry;
mod session;
mod tags;
mod time;
mod token;
mod transport;
mod unfinished;
mod upload;
mod warning;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::Ceiling;
use crate::oci::{Descriptor, ManifestBlob};
use crate::reference::Repository;
use crate::store::{Name, Opened, RawManifest, Referrers, Store};
use crate::tag::Tag;

pub use access::{Access, AccessSettings, ClientCertificate, Timeouts};
pub use event::{Event, Events};
pub use login::{Login, check_login};
pub use proxy::{Proxies, Proxy};
pub use time::Time;

use answer::Reply;
use auth::{Actions, Scope};
use body::Body;
use http::Request;
use retry::{Attempts, Failure};
use session::Session;
use unfinished::Unfinished;

/// How often something that was just written is looked for again.
const LOOKS: u32 = 3;

/// A repository of a registry, as a [`Store`].
#[derive(Debug, Clone)]
pub struct Registry {
    repository: Repository,
    session: Arc<Session>,
    kept: Arc<Kept>,
}

/// What the clones of one [`Registry`] share.
#[derive(Debug, Default)]
struct Kept {
    /// Whether something is or will be written, so that one leave is asked for and not two.
    writes: AtomicBool,
    /// Uploads that the registry began when it was asked to mount; what nobody uses is ended with the last clone.
    uploads: Mutex<HashMap<Digest, Unfinished>>,
    /// What was just written, as paths: a registry may need a moment until it finds it.
    written: Mutex<HashSet<String>>,
}

impl Registry {
    /// Opens a repository; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::error::Kind::Usage) where the settings do not fit each other.
    pub fn open(repository: Repository, access: &Access) -> Result<Self> {
        Ok(Self {
            session: access.session(repository.registry())?,
            repository,
            kept: Arc::default(),
        })
    }

    /// Says that something will be written, so that leave to write is asked for from the first request on.
    ///
    /// Without this the first write asks again where tokens are used.
    #[must_use]
    pub fn to_write(self) -> Self {
        self.begin_to_write();
        self
    }

    fn begin_to_write(&self) {
        self.kept.writes.store(true, Ordering::Relaxed);
    }

    fn place_name(&self) -> String {
        self.repository.to_string()
    }

    /// Begins to count attempts.
    fn attempts(&self) -> Attempts {
        self.session.attempts(self.place_name())
    }

    /// Makes a request to a path below the repository, with its query.
    fn request(&self, method: Method, path: &str, doing: &'static str) -> Result<Request> {
        let path = format!("{}/{path}", self.repository.path());
        let url = self
            .session
            .base
            .join(&path)
            .map_err(|_| Error::usage(format!("`{}` cannot be part of a URL", shown(&path))))?;
        Ok(self.request_to(method, url, doing))
    }

    fn request_to(&self, method: Method, url: Url, doing: &'static str) -> Request {
        Request {
            method,
            url,
            headers: HeaderMap::new(),
            body: Body::None,
            scope: Scope {
                repository: self.repository.clone(),
                actions: if self.kept.writes.load(Ordering::Relaxed) {
                    Actions::Push
                } else {
                    Actions::Pull
                },
                from: None,
            },
            doing,
            ceiling: Ceiling::ErrorBody,
        }
    }

    /// Sends a request; what was just written and is not found is asked for again.
    async fn exchange(&self, request: &Request) -> Result<Reply> {
        let mut attempts = self.attempts();
        let mut looks = 0_u32;
        loop {
            let reply = self.session.exchange(request, &mut attempts).await?;
            let is_reading = request.method == Method::GET || request.method == Method::HEAD;
            if reply.status().as_u16() != 404
                || !is_reading
                || looks >= LOOKS
                || !self.is_written(&request.url)
            {
                return Ok(reply);
            }
            looks = looks.saturating_add(1);
            let error = self.refused(&reply, request);
            attempts.again(Failure::passing(error)).await?;
        }
    }

    /// Notes that something can be found at a path below the repository.
    fn note_written(&self, path: &str) {
        let path = format!(
            "{}{}/{path}",
            self.session.base.path(),
            self.repository.path()
        );
        let written = &self.kept.written;
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(path);
    }

    fn is_written(&self, url: &Url) -> bool {
        let written = &self.kept.written;
        let written = written.lock().unwrap_or_else(PoisonError::into_inner);
        written.contains(url.path())
    }

    /// Turns a refusal into a failure; that of the registry itself says which credentials were tried. No other server got any.
    fn failure(&self, reply: &Reply, request: &Request) -> Failure {
        let mut failure = reply.refused(request.doing, &self.session.settings.time);
        if !reply.head.away {
            failure.error = self.session.explain(failure.error, &self.repository);
        }
        failure
    }

    /// Turns a refusal into an error.
    fn refused(&self, reply: &Reply, request: &Request) -> Error {
        self.failure(reply, request).error
    }

    fn keep_upload(&self, digest: Digest, upload: Unfinished) {
        let uploads = &self.kept.uploads;
        let mut uploads = uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.insert(digest, upload);
    }

    fn kept_upload(&self, digest: &Digest) -> Option<Unfinished> {
        let uploads = &self.kept.uploads;
        let mut uploads = uploads.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.remove(digest)
    }
}

#[async_trait]
impl Store for Registry {
    fn place(&self) -> String {
        self.place_name()
    }

    fn repository(&self) -> Option<&Repository> {
        Some(&self.repository)
    }

    async fn manifest_unchecked(&self, name: &Name) -> Result<RawManifest> {
        let read = self.read_manifest(name).await;
        read.map_err(|error| {
            let reference = format!("{}{name}", self.place_name());
            error.at(&reference).reference(reference)
        })
    }

    async fn tagged(&self, tag: &Tag) -> Result<Option<Digest>> {
        let found = self.look_up(&Name::Tag(tag.clone())).await;
        found.map_err(|error| error.at(format!("{}:{tag}", self.place_name())))
    }

    async fn open_unchecked(&self, descriptor: &Descriptor) -> Result<Opened> {
        let opened = self.open_blob(descriptor).await;
        opened
            .map(Opened::Stream)
            .map_err(|error| error.at(self.place_name()))
    }

    fn is_worth_another_transfer(&self) -> bool {
        true
    }

    fn note_another_transfer(&self, why: &Error) {
        self.session.events().tell(Event::Retry {
            place: self.place_name(),
            why: shown(why.message()),
            wait: Duration::ZERO,
            attempt: 2,
            attempts: 2,
        });
    }

    async fn has(&self, descriptor: &Descriptor) -> Result<bool> {
        let found = if descriptor.is_manifest() {
            let name = Name::Digest(descriptor.digest);
            self.look_up(&name).await.map(|found| found.is_some())
        } else {
            self.has_blob(&descriptor.digest).await
        };
        found.map_err(|error| error.at(self.place_name()))
    }

    async fn mount(&self, descriptor: &Descriptor, from: &Repository) -> Result<bool> {
        if from.registry() != self.repository.registry() {
            return Ok(false);
        }
        let mounted = self.mount_blob(&descriptor.digest, from).await;
        mounted.map_err(|error| error.at(self.place_name()))
    }

    async fn push_blob(&self, descriptor: &Descriptor, content: &Content) -> Result<()> {
        let written = self.write_blob(descriptor, content).await;
        written.map_err(|error| error.at(self.place_name()))
    }

    async fn push_manifest(&self, manifest: &ManifestBlob, tag: Option<&Tag>) -> Result<()> {
        let written = self.write_manifest(manifest, tag).await;
        written.map_err(|error| error.at(self.place_name()))
    }

    async fn tags(&self) -> Result<Vec<Tag>> {
        let listed = self.list_tags().await;
        listed.map_err(|error| error.at(self.place_name()))
    }

    async fn referrers(&self, digest: &Digest, artifact_type: Option<&str>) -> Result<Referrers> {
        let listed = self.list_referrers(digest, artifact_type).await;
        listed.map_err(|error| error.at(self.place_name()))
    }
}
