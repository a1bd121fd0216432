//! The parsers of headers, for the fuzz binary: they are nobody else's business.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LINK, WWW_AUTHENTICATE};
use url::Url;

use super::challenge::{Wanted, wanted};
use super::{link, location, retry};
use crate::digest::Digest;
use crate::error::Result;

/// Returns realm, service and scope of a `WWW-Authenticate`; all absent where a password is wanted.
pub fn challenge(value: &[u8]) -> Option<Result<Option<[Option<String>; 3]>>> {
    let answer = wanted(&headers(WWW_AUTHENTICATE, value)?);
    Some(answer.map(|wanted| match wanted? {
        Wanted::Basic => Some([None, None, None]),
        Wanted::Bearer(bearer) => Some([Some(bearer.realm), bearer.service, bearer.scope]),
    }))
}

/// Returns where a `Link` says that a listing goes on.
pub fn next_page(value: &[u8]) -> Option<Result<Option<String>>> {
    Some(link::next_page(&headers(LINK, value)?))
}

/// Resolves a `Location`.
pub fn resolve(base: &Url, value: &str) -> Result<Url> {
    location::resolve(base, value)
}

/// Tells whether a step from one address to another is allowed.
pub fn check_step(from: &Url, to: &Url, public: bool) -> Result<()> {
    location::check_step(from, to, public)
}

/// Adds the digest to the address of an upload.
pub fn with_digest(url: Url, digest: &Digest) -> Url {
    location::with_digest(url, digest)
}

/// Reads a `Retry-After`.
pub fn retry_after(value: &str, date: SystemTime) -> Option<Duration> {
    retry::retry_after(value, Some(date))
}

/// Returns a header, unless no server could send it.
fn headers(name: HeaderName, value: &[u8]) -> Option<HeaderMap> {
    let value = HeaderValue::from_bytes(value).ok()?;
    Some(HeaderMap::from_iter([(name, value)]))
}
