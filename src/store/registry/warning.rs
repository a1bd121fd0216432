//! `Warning` headers (distribution-spec, "Warnings"): what a registry wants its users to know.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use reqwest::header::{HeaderMap, WARNING};

use crate::escape::shown;

use super::session::Session;

/// How many different warnings of one registry are shown; the rest are noise.
const SHOWN_MAX: usize = 16;

/// The warnings that were shown already.
#[derive(Debug, Default)]
pub(super) struct Warnings(Mutex<HashSet<String>>);

impl Session {
    /// Hands on the warnings of an answer, each once.
    pub(super) fn hear(&self, headers: &HeaderMap) {
        for value in headers.get_all(WARNING) {
            let value = String::from_utf8_lossy(value.as_bytes());
            let Some(text) = text(&value) else { continue };
            self.warn_once(format!("{} says: {}", self.registry, shown(text)));
        }
    }

    /// Hands on a warning, unless it was handed on before.
    pub(super) fn warn_once(&self, text: String) {
        let mut known = self
            .warnings
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_new = known.len() < SHOWN_MAX && known.insert(text.clone());
        drop(known);
        if is_new {
            self.events().warn(text);
        }
    }
}

/// Returns the text of `299 - "text"`; other codes are for caches.
fn text(value: &str) -> Option<&str> {
    let text = value.trim().strip_prefix("299 - \"")?.strip_suffix('"')?;
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_for_people_are_shown() {
        for (value, want) in [
            ("299 - \"old API\"", Some("old API")),
            (" 299 - \"a\" ", Some("a")),
            ("299 - \"\"", None),
            ("299 - x", None),
            ("110 - \"stale\"", None),
            ("", None),
        ] {
            assert_eq!(text(value), want, "{value}");
        }
    }
}
