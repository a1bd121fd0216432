//! The one way in which a word of the format fails to parse.
//!
//! Digests, tags, names, versions, paths and references are checked where they enter and never again;
//! each of their parsers fails with an [`Invalid`], which names the kind of word, shows the text and says why.

use std::borrow::Cow;
use std::fmt;

use crate::escape::shown;

/// A text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The kind of word that was expected, such as `tag` or `digest`.
    pub what: &'static str,
    /// The text that was found, raw.
    pub text: String,
    /// Why it is refused; a fragment that follows the text, such as `is empty`.
    pub why: Cow<'static, str>,
    /// What to write instead, where there is a likely answer.
    pub hint: Option<String>,
}

impl Invalid {
    /// Makes a failure for `text`, which should have been a `what`.
    pub fn new(what: &'static str, text: &str, why: impl Into<Cow<'static, str>>) -> Self {
        Self {
            what,
            text: text.to_owned(),
            why: why.into(),
            hint: None,
        }
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` {}", self.what, shown(&self.text), self.why)
    }
}

impl std::error::Error for Invalid {}
