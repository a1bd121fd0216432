//! HTTP/1.1 as bytes on a connection, by hand, because a server library would not let us break it.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use url::form_urlencoded;

use super::Origin;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) origin: Origin,
    pub(crate) method: String,
    /// With its query, as it was sent.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Bytes of the body that were read.
    pub(crate) body_size: usize,
    /// The first of them, for searches.
    pub(crate) body: Vec<u8>,
    /// Whether the client showed a certificate on this connection.
    pub(crate) certificate: bool,
    /// The status it was answered with, if it was.
    pub(crate) status: Option<u16>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub(crate) fn route(&self) -> &str {
        self.path.split('?').next().unwrap()
    }

    /// Every value of a query parameter, decoded.
    pub(crate) fn query(&self, name: &str) -> Vec<String> {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let pairs = form_urlencoded::parse(query.as_bytes());
        let values = pairs.filter(|(n, _)| n == name);
        values.map(|(_, value)| value.into_owned()).collect()
    }

    /// `GET /v2/ 200`; a request that got no answer has `-` for its status.
    pub(crate) fn line(&self) -> String {
        let status = self
            .status
            .map_or("-".to_owned(), |status| status.to_string());
        format!("{} {} {status}", self.method, self.route())
    }

    /// Everything before the body, for searches.
    pub(crate) fn head_text(&self) -> String {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let lines: Vec<_> = [self.path.clone()].into_iter().chain(headers).collect();
        lines.join("\n")
    }
}

/// An answer in the making.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// A `content-length` here is sent as it is, true or not; with `transfer-encoding` the body is
    /// sent in one chunk.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Sent before the answer: interim ones.
    pub(crate) interim: String,
    /// It is one of HTTP/1.0: its body ends with the connection.
    pub(crate) is_old: bool,
    /// It comes byte by byte, with these pauses in its body.
    pub(crate) pause: Option<Duration>,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            interim: String::new(),
            is_old: false,
            pause: None,
        }
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::new(status)
            .header("content-type", "application/json")
            .body(value.to_string())
    }

    /// The specification's error envelope.
    pub(crate) fn error(status: u16, code: &str, message: &str) -> Self {
        let value = json!({"errors": [{"code": code, "message": message}]});
        Self::json(status, &value)
    }

    /// 429 that asks to wait no time at all.
    pub(crate) fn throttled() -> Self {
        Self::error(429, "TOOMANYREQUESTS", "slow down").header("retry-after", "0")
    }

    /// A redirect of the kind that keeps the method.
    pub(crate) fn redirect(to: &str) -> Self {
        Self::new(307).header("location", to)
    }

    /// Sets a header, in place of the one that it may have.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.headers.retain(|(n, _)| n != name);
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n == name)
    }

    /// Whether nothing more can follow on this connection: a length that is not the body's.
    pub(super) fn lies(&self) -> bool {
        let lie = |(name, value): &(String, String)| {
            name == "content-length" && *value != self.body.len().to_string()
        };
        self.is_old || self.headers.iter().any(lie)
    }

    /// Everything up to the body.
    fn head(&self) -> Vec<u8> {
        let version = if self.is_old { "1.0" } else { "1.1" };
        let mut text = format!("{}HTTP/{version} {} Mock\r\n", self.interim, self.status);
        for (name, value) in &self.headers {
            text += &[name, ": ", value, "\r\n"].concat();
        }
        let no_body = self.status == 204 || self.status == 304;
        if !no_body && !self.is_old && !self.has("content-length") && !self.has("transfer-encoding")
        {
            text += &["content-length: ", &self.body.len().to_string(), "\r\n"].concat();
        }
        text += "\r\n";
        text.into_bytes()
    }

    /// The bytes to send: all of it, or `limit` bytes of its body; none for HEAD.
    pub(super) fn bytes(&self, method: &str, limit: Option<usize>) -> Vec<u8> {
        let mut all = self.head();
        if method == "HEAD" {
            return all;
        }
        let chunked = self.has("transfer-encoding");
        if chunked && !self.body.is_empty() {
            all.extend(format!("{:x}\r\n", self.body.len()).into_bytes());
        }
        let shown = limit.map_or(self.body.len(), |limit| limit.min(self.body.len()));
        all.extend(&self.body[..shown]);
        if chunked && limit.is_none() {
            let end: &[u8] = if self.body.is_empty() {
                b"0\r\n\r\n"
            } else {
                b"\r\n0\r\n\r\n"
            };
            all.extend(end);
        }
        all
    }
}

/// A connection and what was read from it beyond the last request.
pub(super) struct Reader<C> {
    pub(super) conn: C,
    buffer: Vec<u8>,
}

impl<C: AsyncRead + AsyncWrite + Unpin> Reader<C> {
    pub(super) fn new(conn: C) -> Self {
        Self {
            conn,
            buffer: Vec::new(),
        }
    }

    /// The next request without its body; `None` at the end of the connection, or where somebody tries
    /// TLS on a plain port.
    pub(super) async fn head(&mut self, origin: Origin) -> io::Result<Option<Request>> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            let tls = self.buffer.first() == Some(&0x16);
            if tls || self.more().await? == 0 {
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.buffer.drain(..end).collect();
        let text = String::from_utf8_lossy(&head);
        let mut lines = text.trim_end().split("\r\n");
        let mut words = lines
            .next()
            .unwrap_or_default()
            .split(' ')
            .map(str::to_owned);
        let (method, path) = (
            words.next().unwrap_or_default(),
            words.next().unwrap_or_default(),
        );
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Ok(Some(Request {
            origin,
            method,
            path,
            headers,
            body_size: 0,
            body: Vec::new(),
            certificate: false,
            status: None,
        }))
    }

    /// The body of `request`, or its first `limit` bytes.
    pub(super) async fn body(&mut self, request: &Request, limit: usize) -> io::Result<Vec<u8>> {
        if request.header("expect").is_some() {
            self.conn
                .write_all(b"HTTP/1.1 100 Continue\r\n\r\n")
                .await?;
        }
        let mut body = Vec::new();
        if request.header("transfer-encoding").is_some() {
            while body.len() < limit {
                let size = self.line().await?;
                let size = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                body.extend(self.exactly(size).await?);
                self.line().await?;
                if size == 0 {
                    break;
                }
            }
        } else {
            let size = request.header("content-length").unwrap_or("0");
            let size: usize = size.parse().map_err(io::Error::other)?;
            body = self.exactly(size.min(limit)).await?;
        }
        Ok(body)
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(at) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.more_or_end().await?;
        }
    }

    async fn exactly(&mut self, size: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < size {
            self.more_or_end().await?;
        }
        // Not `drain`, which takes seconds for some MiB in a build that is not optimised.
        let rest = self.buffer.split_off(size);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn more_or_end(&mut self) -> io::Result<()> {
        match self.more().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn more(&mut self) -> io::Result<usize> {
        self.buffer.reserve(1 << 16);
        self.conn.read_buf(&mut self.buffer).await
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
