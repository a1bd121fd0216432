//! What a check finds: a stable code, how bad it is, where, and a sentence.
//!
//! Checks return all findings as data, sorted; showing them is the binary's affair.

use std::fmt;

use crate::escape::shown;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Right for some consumers and wrong for others.
    Warning,
    /// Wrong: the bundle is not packed.
    Error,
}

impl Severity {
    /// Returns the word that people and machines see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One thing that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, as a path in the bundle, or where it stands in the source; empty when it is about the bundle as a whole.
    pub file: String,
    /// The path in the bundle, where `file` is another one.
    pub bundle_path: Option<String>,
    /// The line in that file, from 1; 0 when it is about the file as a whole.
    pub line: u32,
    /// The stable code, such as `metadata-version`: one for each kind of fault (spec/bundle.md, "Findings").
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: a lower-case sentence without a period, text from outside escaped.
    pub message: String,
    /// What to do about it, where there is a likely answer.
    pub hint: Option<String>,
}

impl Finding {
    /// Makes a finding of a severity.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            file: String::new(),
            bundle_path: None,
            line: 0,
            code,
            severity,
            message: message.into(),
            hint: None,
        }
    }

    /// Makes an error.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// Makes a warning.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// Makes a note.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// Adds the file and line.
    #[must_use]
    pub fn at(mut self, file: impl fmt::Display, line: u32) -> Self {
        self.file = file.to_string();
        self.line = line;
        self
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the place as people read it: `file:line`, `file`, or nothing.
    pub fn place(&self) -> String {
        match (self.file.is_empty(), self.line) {
            (true, _) => String::new(),
            (false, 0) => shown(&self.file),
            (false, line) => format!("{}:{line}", shown(&self.file)),
        }
    }
}

impl Finding {
    /// Returns `file:line: message [code]`, for where it is clear how bad it is.
    pub fn sentence(&self) -> String {
        let (message, code) = (&self.message, self.code);
        match self.place() {
            place if place.is_empty() => format!("{message} [{code}]"),
            place => format!("{place}: {message} [{code}]"),
        }
    }
}

impl fmt::Display for Finding {
    /// Writes `file:line: severity: message [code]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        write!(
            f,
            "{}: {} [{}]",
            self.severity.name(),
            self.message,
            self.code
        )
    }
}

/// Puts findings into the order in which they are shown: by file and line, then the worst first.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        (&a.file, a.line)
            .cmp(&(&b.file, b.line))
            .then(b.severity.cmp(&a.severity))
            .then_with(|| (a.code, &a.message).cmp(&(b.code, &b.message)))
    });
}

/// Tells whether any finding is an error.
pub fn has_errors(findings: &[Finding]) -> bool {
    findings
        .iter()
        .any(|finding| finding.severity == Severity::Error)
}
