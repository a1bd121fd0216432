//! What a server answered: its head, its body up to a ceiling, and what a refusal says in its own words.

use bytes::{Bytes, BytesMut};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, DATE, HeaderMap, HeaderName, RETRY_AFTER};
use serde_json::Value;
use url::Url;

use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Ceiling;

use super::proxy::Via;
use super::retry::{Again, Failure, RETRY_AFTER_MAX, retry_after};
use super::time::Time;
use super::transport::{PROXY_PASSWORD, SPEAKS_HTTPS, way};

/// How much of a server's own words is shown, in bytes.
const WORDS_MAX: usize = 1024;

/// Everything of an answer but its body.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// Where the answer came from, after redirects.
    pub(super) url: Url,
    /// The proxy that it came through.
    pub(super) via: Option<Box<Via>>,
    /// Whether it came from another origin than the request was meant for, or by way of one.
    pub(super) away: bool,
}

impl Head {
    /// Returns a header that stands there once and is text.
    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }

    /// Returns the media type in lower case, without its parameters; empty when there is none.
    pub(super) fn media_type(&self) -> String {
        let value = self.header(&CONTENT_TYPE).unwrap_or_default();
        let bare = value.split(';').next().unwrap_or_default();
        bare.trim().to_ascii_lowercase()
    }

    /// Refuses an answer whose bytes are not the ones that were asked for, but coded.
    pub(super) fn check_coding(&self) -> Result<()> {
        match self.header(&CONTENT_ENCODING) {
            None if !self.headers.contains_key(CONTENT_ENCODING) => Ok(()),
            Some("" | "identity") => Ok(()),
            coding => Err(Error::protocol(format!(
                "the answer is coded (`{}`), which was not asked for",
                shown(coding.unwrap_or("?"))
            ))),
        }
    }

    /// Returns how long the server asks to wait.
    pub(super) fn retry_after(&self, time: &Time) -> Option<std::time::Duration> {
        let date = self
            .header(&DATE)
            .and_then(|date| httpdate::parse_http_date(date).ok());
        retry_after(self.header(&RETRY_AFTER)?, date.or_else(|| time.wall()))
    }
}

/// An answer with its body.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) head: Head,
    pub(super) body: Bytes,
}

impl Reply {
    pub(super) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.head.header(name)
    }

    /// Reads the body as a JSON object; `what` is what was asked for.
    ///
    /// # Errors
    ///
    /// [`Kind::Protocol`] for anything else: a login page, an empty body.
    pub(super) fn json<T: serde::de::DeserializeOwned>(&self, what: &str) -> Result<T> {
        self.check_no_html(what)?;
        if self.body.trim_ascii_start().first() != Some(&b'{') {
            return Err(Error::protocol(format!(
                "the answer of {} bytes is not {what}",
                self.body.len()
            )));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            Error::protocol(format!(
                "the answer is not {what}: {}",
                shown(&error.to_string())
            ))
        })
    }

    /// Refuses a web page where something else was asked for.
    pub(super) fn check_no_html(&self, what: &str) -> Result<()> {
        match html_title(&self.head, &self.body) {
            None => Ok(()),
            Some(title) => Err(Error::protocol(format!("HTML instead of {what}{title}"))
                .hint("a login page or a captive portal answers in the registry's place")),
        }
    }

    /// Tells whether the error answer has a code, such as `BLOB_UNKNOWN`.
    pub(super) fn has_code(&self, code: &str) -> bool {
        codes(&self.body).iter().any(|(found, _)| found == code)
    }

    /// Turns an answer that is no success into an error that says what could not be done.
    pub(super) fn refused(&self, doing: &str, time: &Time) -> Failure {
        let status = self.status();
        let codes = codes(&self.body);
        let has = |code: &str| codes.iter().any(|(found, _)| found == code);
        let said = words(&self.head, &self.body, &codes);
        // Over plain HTTP it may be the proxy that answers, and nobody can tell.
        let via = self.head.via.as_deref();
        let from = match via.filter(|_| self.head.url.scheme() == "http") {
            None if !self.head.away => String::new(),
            via => format!("{} answered ", way(&self.head.url, via)),
        };
        let message = format!("{doing}: {from}{}{said}", status_text(status));
        let wants_https =
            status == 400 && self.head.url.scheme() == "http" && wants_tls(&self.body);
        let asked = self.head.retry_after(time);
        let error = |kind| Error::new(kind, message.clone());
        match status.as_u16() {
            429 => throttled(&message, asked),
            _ if has("TOOMANYREQUESTS") => throttled(&message, asked),
            408 | 425 | 500 | 502 | 503 | 504 => Failure {
                error: error(Kind::Unreachable).retryable(),
                again: Again::Wait(asked),
            },
            407 => error(Kind::Unreachable).hint(PROXY_PASSWORD).into(),
            511 => error(Kind::Unreachable)
                .hint("this network asks to sign in first (a captive portal)")
                .into(),
            500..=599 => error(Kind::Unreachable).into(),
            401 | 403 => error(Kind::Denied).into(),
            404 => error(Kind::NotFound).into(),
            413 => error(Kind::Protocol)
                .hint("the registry, or a proxy before it, refuses this size")
                .into(),
            _ if wants_https => error(Kind::Protocol).hint(SPEAKS_HTTPS).into(),
            _ if has("DIGEST_INVALID") || has("SIZE_INVALID") => error(Kind::Mismatch).into(),
            _ => error(Kind::Protocol).into(),
        }
    }
}

/// Recognises the words with which Go's server, nginx and Apache refuse plain HTTP on a port for HTTPS.
fn wants_tls(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    [
        "to an https server",
        "sent to https port",
        "ssl-enabled server port",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Says that the server counts requests and has counted enough.
fn throttled(message: &str, asked: Option<std::time::Duration>) -> Failure {
    let wait = match asked {
        Some(asked) => format!("; it asks to wait {} s", asked.as_secs()),
        None => String::new(),
    };
    let error = Error::new(Kind::Unreachable, format!("{message}: rate limited{wait}")).retryable();
    let error = match asked {
        Some(asked) if asked > RETRY_AFTER_MAX => {
            error.hint(format!("try again after {} s", asked.as_secs()))
        }
        _ => error.hint("try again later, or log in: registries limit anonymous callers first"),
    };
    Failure {
        error,
        again: Again::Throttled(asked),
    }
}

/// Returns a status as `404 Not Found`.
fn status_text(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// Reads the codes and messages of an error answer (distribution-spec, "Error codes"); none if it is not one.
fn codes(body: &[u8]) -> Vec<(String, String)> {
    let Ok(Value::Object(answer)) = serde_json::from_slice::<Value>(body) else {
        return Vec::new();
    };
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let errors = answer.get("errors").and_then(Value::as_array);
    errors
        .into_iter()
        .flatten()
        .take(4)
        .map(|error| (text(error, "code"), text(error, "message")))
        .collect()
}

/// Returns what the server says about its refusal, escaped, with a colon before it.
fn words(head: &Head, body: &[u8], codes: &[(String, String)]) -> String {
    let words = if !codes.is_empty() {
        let one = |(code, message): &(String, String)| match message.as_str() {
            "" => code.clone(),
            message => format!("{code}: {message}"),
        };
        codes.iter().map(one).collect::<Vec<_>>().join("; ")
    } else if let Some(title) = html_title(head, body) {
        return format!(", with an HTML page{title}");
    } else {
        String::from_utf8_lossy(body.get(..WORDS_MAX).unwrap_or(body))
            .trim()
            .to_owned()
    };
    match shown(&words) {
        words if words.is_empty() => words,
        words => format!(": {words}"),
    }
}

/// Returns the title of an HTML page, escaped and with a blank before it; nothing when it is none.
fn html_title(head: &Head, body: &[u8]) -> Option<String> {
    let start = body.trim_ascii_start();
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let looks = |prefix: &[u8]| {
        start
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    if head.media_type() != "text/html" && !looks(b"<!doctype") && !looks(b"<html") {
        return None;
    }
    let text = String::from_utf8_lossy(body.get(..8 * WORDS_MAX).unwrap_or(body));
    let title = text
        .split_once("<title>")
        .and_then(|(_, rest)| rest.split_once("</title>"))
        .map(|(title, _)| title.trim());
    Some(match title {
        Some(title) if !title.is_empty() => format!(" (`{}`)", shown(title)),
        _ => String::new(),
    })
}

/// Collects a body that must not be longer than a ceiling.
#[derive(Debug)]
pub(super) struct Collector {
    bytes: BytesMut,
    max: u64,
    ceiling: Ceiling,
    /// Whether what is too much is cut off instead of refused: for error answers.
    cuts: bool,
}

impl Collector {
    pub(super) fn new(ceiling: Ceiling, max: u64) -> Self {
        Self {
            bytes: BytesMut::new(),
            max,
            ceiling,
            cuts: ceiling == Ceiling::ErrorBody,
        }
    }

    /// Adds a piece; tells whether there is room for more.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<bool> {
        let room = self.max.saturating_sub(self.bytes.len() as u64);
        if piece.len() as u64 <= room {
            self.bytes.extend_from_slice(piece);
            return Ok(true);
        }
        if !self.cuts {
            let found = self.max.saturating_add(1);
            return Err(Error::limit(self.ceiling, self.max, found));
        }
        let room = usize::try_from(room).unwrap_or(0);
        self.bytes
            .extend_from_slice(piece.get(..room).unwrap_or_default());
        Ok(false)
    }

    pub(super) fn finish(self) -> Bytes {
        self.bytes.freeze()
    }
}

#[cfg(test)]
mod tests;
