//! The one way in which a request leaves: attempts, authorisation, redirects, deadlines.
//!
//! [`Session::exchange`] repeats until there is an answer that is worth reading; [`Session::live`] (in `auth`) authorises;
//! [`Session::follow`] follows redirects and never takes credentials along to another origin, not even on the way back
//! (P7).

use std::pin::pin;
use std::sync::Arc;

use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderValue, LOCATION,
    TRANSFER_ENCODING,
};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use crate::error::{Error, Kind, Result};
use crate::limits::Ceiling;

use super::answer::{Collector, Head, Reply};
use super::auth::Scope;
use super::body::{self, Body, Progress};
use super::event::Event;
use super::incoming::Incoming;
use super::location::{check_step, resolve, same_origin, shown_origin};
use super::noted::Noted;
use super::proxy::Via;
use super::retry::{Again, Attempts, Failure};
use super::session::{HEAD_MAX, Session};
use super::transport;

/// A body of this size earns the registry one more idle period to store it.
const STORED_PER_PERIOD: u64 = 128 * 1024 * 1024;

/// One request, which can be sent several times.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    /// What the request needs leave for.
    pub(super) scope: Scope,
    /// What cannot be done if it fails, such as `cannot read the manifest`.
    pub(super) doing: &'static str,
    /// The largest answer.
    pub(super) ceiling: Ceiling,
}

/// An answer whose body was not read.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) head: Head,
    pub(super) incoming: Incoming,
}

impl Session {
    /// Sends a request until there is an answer that another attempt would not change, and returns it whole.
    pub(super) async fn exchange(
        &self,
        request: &Request,
        attempts: &mut Attempts,
    ) -> Result<Reply> {
        loop {
            let sent = self.reply(request).await;
            match sent.and_then(|reply| self.judge(request, reply)) {
                Ok(reply) => return Ok(reply),
                Err(failure) => attempts.again(failure).await?,
            }
        }
    }

    /// Tells an answer that another attempt would not change from a failure that it might not have.
    pub(super) fn judge(&self, request: &Request, reply: Reply) -> Result<Reply, Failure> {
        if reply.status().is_success() {
            return Ok(reply);
        }
        let failure = reply.refused(request.doing, &self.settings.time);
        match failure.again {
            Again::Never => Ok(reply),
            _ => Err(failure),
        }
    }

    /// Sends a request once and returns the answer whole.
    pub(super) async fn reply(&self, request: &Request) -> Result<Reply, Failure> {
        let live = self.live(request).await?;
        self.read(live, request.ceiling).await
    }

    /// Reads the body of an answer, up to the ceiling; that of a refusal is cut.
    pub(super) async fn read(&self, live: Live, ceiling: Ceiling) -> Result<Reply, Failure> {
        let Live { head, mut incoming } = live;
        let ceiling = if head.status.is_success() {
            head.check_coding()?;
            ceiling
        } else {
            Ceiling::ErrorBody
        };
        let mut collector = Collector::new(ceiling, self.limits()[ceiling]);
        loop {
            match incoming.next().await {
                Ok(Some(piece)) => {
                    if !collector.add(&piece)? {
                        break;
                    }
                }
                Ok(None) => break,
                // What a refusal says is of use even when it is not complete.
                Err(_) if !head.status.is_success() => break,
                Err(failure) => return Err(failure),
            }
        }
        Ok(Reply {
            head,
            body: collector.finish(),
        })
    }

    /// Sends a request and follows redirects; the authorisation goes to the origin of `home` only.
    pub(super) async fn follow(
        &self,
        request: &Request,
        home: &Url,
        authorization: Option<&HeaderValue>,
    ) -> Result<Live, Failure> {
        let is_own = same_origin(home, &self.base);
        let mut method = request.method.clone();
        let mut url = request.url.clone();
        let mut body = &request.body;
        // Once a request has left its home it never counts as at home again.
        let mut away = !same_origin(&url, home);
        let mut hops = self.limits()[Ceiling::Redirects];
        loop {
            let mut headers = request.headers.clone();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            if let (false, Some(authorization)) = (away, authorization) {
                headers.insert(AUTHORIZATION, authorization.clone());
            }
            let client = if is_own && !away {
                self.own()
            } else {
                self.other()?
            };
            let (events, time) = (self.events(), &self.settings.time);
            let mut noted = Noted::new(events, time, &method, &url, away);
            let via = self.routes.of(&url).cloned();
            self.tell_once(Event::Reached {
                origin: shown_origin(&url),
                proxy: via.as_ref().map(ToString::to_string),
            });
            let to = (&url, via.as_ref());
            let sending = self.transmit(client, &method, to, headers, body, &mut noted);
            let response = sending.await?;
            let head = head_of(&response, url.clone(), via.clone(), away)?;
            if is_own && !away {
                self.hear(&head.headers);
                self.answered_from(response.remote_addr());
            }
            let status = head.status;
            if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                let incoming = Incoming::new(response, via, self.settings.timeouts, noted);
                return Ok(Live { head, incoming });
            }
            let Some(location) = head.header(&LOCATION) else {
                return Err(unusable(request, &head, "redirects to nowhere").into());
            };
            let next = resolve(&url, location)?;
            check_step(&url, &next, self.is_public())?;
            let bodiless = body.len().is_none();
            let reading = method == Method::GET || method == Method::HEAD;
            match status {
                StatusCode::SEE_OTHER => {
                    if method != Method::HEAD {
                        method = Method::GET;
                    }
                    body = &Body::None;
                }
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
                    if bodiless || same_origin(&url, &next) => {}
                _ if reading => {}
                _ => return Err(unusable(request, &head, "redirects what is sent").into()),
            }
            hops = match hops.checked_sub(1) {
                Some(hops) => hops,
                None => return Err(unusable(request, &head, "redirects too often").into()),
            };
            away = away || !same_origin(&next, home);
            url = next;
        }
    }

    /// Sends one request and waits for the head of its answer.
    async fn transmit(
        &self,
        client: &reqwest::Client,
        method: &Method,
        (url, via): (&Url, Option<&Via>),
        headers: HeaderMap,
        body: &Body,
        noted: &mut Noted,
    ) -> Result<Response, Failure> {
        let progress = Arc::new(Progress::default());
        let mut builder = client.request(method.clone(), url.clone()).headers(headers);
        if let Some(length) = body.len() {
            builder = builder.header(CONTENT_LENGTH, length);
        }
        builder = match body {
            Body::None => builder,
            Body::Bytes(bytes) => builder.body(bytes.clone()),
            Body::Content { content, digest } => {
                let events = self.events().clone();
                let pieces = body::read(content.clone(), *digest, Arc::clone(&progress), events);
                builder.body(reqwest::Body::wrap_stream(pieces))
            }
        };
        let streamed = matches!(body, Body::Content { .. });
        let length = body.len().unwrap_or(0);
        let watched = self.watch(builder.send(), streamed.then_some(&*progress), length);
        let answer = watched.await;
        noted.sent = if streamed { progress.sent() } else { length };
        match answer {
            Some(Ok(response)) => {
                noted.status = Some(response.status());
                Ok(response)
            }
            Some(Err(error)) => Err(match progress.fault() {
                Some(fault) => Error::new(Kind::Io, "cannot read what is to be sent")
                    .source(fault)
                    .into(),
                None => transport::failure(error, url, via),
            }),
            None => Err(transport::too_slow(url, via, self.settings.timeouts.idle)),
        }
    }

    /// Waits for an answer as long as the body that is sent makes progress, and one idle period after that.
    async fn watch<T>(
        &self,
        answer: impl Future<Output = T>,
        progress: Option<&Progress>,
        length: u64,
    ) -> Option<T> {
        let timeouts = self.settings.timeouts;
        let mut answer = pin!(answer);
        let mut sent = 0;
        let mut periods = length / STORED_PER_PERIOD;
        loop {
            if let Ok(output) = tokio::time::timeout(timeouts.idle, &mut answer).await {
                return Some(output);
            }
            let progress = progress?;
            if progress.is_done() {
                periods = periods.checked_sub(1)?;
            } else if progress.sent().saturating_sub(sent) < timeouts.least {
                return None;
            }
            sent = progress.sent();
        }
    }
}

/// Takes the head of an answer; one that is too large is refused.
fn head_of(response: &Response, url: Url, via: Option<Via>, away: bool) -> Result<Head> {
    let headers = response.headers().clone();
    let size: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len().saturating_add(value.len()))
        .sum();
    if size > HEAD_MAX as usize {
        return Err(Error::protocol(format!(
            "the head of the answer has {size} bytes, more than {HEAD_MAX}"
        )));
    }
    // Whoever reads the one and whoever reads the other see two answers (RFC 9112, 6.3).
    if headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH) {
        return Err(Error::protocol(
            "the answer has both a `Content-Length` and a `Transfer-Encoding`",
        ));
    }
    Ok(Head {
        status: response.status(),
        headers,
        url,
        via: via.map(Box::new),
        away,
    })
}

fn unusable(request: &Request, head: &Head, what: &str) -> Error {
    Error::protocol(format!(
        "{}: {} {what}",
        request.doing,
        shown_origin(&head.url)
    ))
}
