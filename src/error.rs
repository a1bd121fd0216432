//! What goes wrong, said in terms of what the caller can do about it.
//!
//! An [`Error`] has a [`Kind`], which decides the exit code, a sentence for people, and the details that a machine may
//! want. Messages are lower-case fragments that read after "failed: "; text from outside is escaped before it is put in.

use std::fmt;
use std::path::Path;

use crate::check::Check;
use crate::digest::Digest;
use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::invalid::Invalid;
use crate::limits::Ceiling;

/// The result of what can fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure it is: one kind, one exit code (spec: README, "Exit codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The call makes no sense as it stands.
    Usage,
    /// What was asked for is not there.
    NotFound,
    /// The registry does not let this caller do it.
    Denied,
    /// The registry could not be reached, or did not answer in time.
    Unreachable,
    /// The registry answered something that the protocol does not allow.
    Protocol,
    /// A digest or a size is not what it must be.
    Mismatch,
    /// The content could do harm, or two readers could see two things in it.
    Unsafe,
    /// Something is larger than its ceiling.
    Limit,
    /// Verification was asked for and failed.
    Refused,
    /// It is no bundle, or its metadata or objects are invalid.
    Invalid,
    /// The local machine failed: a file, a directory, the disk.
    Io,
    /// Something exists already and differs.
    Conflict,
    /// The caller asked to stop.
    Interrupted,
}

impl Kind {
    /// Returns the stable name that machines see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not-found",
            Self::Denied => "denied",
            Self::Unreachable => "unreachable",
            Self::Protocol => "protocol",
            Self::Mismatch => "mismatch",
            Self::Unsafe => "unsafe",
            Self::Limit => "limit",
            Self::Refused => "refused",
            Self::Invalid => "invalid",
            Self::Io => "io",
            Self::Conflict => "conflict",
            Self::Interrupted => "interrupted",
        }
    }

    /// Tells whether it lies in what was found, and not in the call, the way there or this machine: it is the same for
    /// everybody who looks at the same bytes with the same ceilings.
    pub fn is_of_content(self) -> bool {
        matches!(self, Self::Invalid | Self::Unsafe | Self::Limit)
    }
}

/// A failure, with everything that is known about it.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    message: String,
    detail: Box<Detail>,
}

/// The parts of an [`Error`] that not every failure has.
#[derive(Debug, Default)]
pub struct Detail {
    /// What was being done, such as `resolve` or `unpack`.
    pub stage: Option<&'static str>,
    /// The reference that was worked on.
    pub reference: Option<String>,
    /// The digest of the content at fault.
    pub digest: Option<Digest>,
    /// The file or archive entry at fault.
    pub file: Option<String>,
    /// The line in that file, from 1.
    pub line: Option<u32>,
    /// What should have been there.
    pub expected: Option<String>,
    /// What was there.
    pub found: Option<String>,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What the caller can do; a command that works, or one sentence.
    pub hint: Option<String>,
    /// All findings, where a check refused a bundle; the message is about the first that is at fault.
    pub findings: Vec<Finding>,
    /// How many of the findings are at fault.
    pub at_fault: usize,
    /// Every check and how it came out, where one of them refused a bundle.
    pub checks: Vec<Check>,
    /// What a registry says it does not have of what a manifest names; all of it where the registry does not say which.
    pub missing: Vec<Digest>,
    /// The failure below this one.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: Box::default(),
        }
    }

    /// Makes an error about a call that makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// Makes an error about something that is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    /// Makes an error about content that could do harm.
    pub fn unsafe_content(message: impl Into<String>) -> Self {
        Self::new(Kind::Unsafe, message)
    }

    /// Makes an error about something that is no valid bundle.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, message)
    }

    /// Makes an error about an answer that the protocol does not allow.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self::new(Kind::Protocol, message)
    }

    /// Makes an error about something that exists and differs.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Kind::Conflict, message)
    }

    /// Makes an error about bytes whose digest or size is not the expected one.
    pub fn mismatch(what: &str, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self::new(
            Kind::Mismatch,
            format!("{what}: expected {expected}, found {found}"),
        )
        .expected(expected)
        .found(found)
    }

    /// Makes an error about something that exceeds a ceiling; `found` is at least how much it was.
    pub fn limit(ceiling: Ceiling, value: u64, found: u64) -> Self {
        let name = ceiling.name();
        let error = Self::new(
            Kind::Limit,
            format!("limit `{name}` = {value}, got at least {found}"),
        )
        .expected(format!("at most {value}"))
        .found(format!("at least {found}"));
        if ceiling.can_be_raised() {
            error.hint(format!(
                "if you trust the source, raise it with --max-{name} {found} or more"
            ))
        } else {
            error
        }
    }

    /// Makes an error about a local file: `action` is a fragment such as `cannot read`.
    pub fn io(action: &str, path: &Path, source: std::io::Error) -> Self {
        let shown_path = shown(&path.to_string_lossy());
        let mut error = Self::new(
            Kind::Io,
            format!("{action} `{shown_path}`: {}", io_reason(&source)),
        );
        error.detail.file = Some(path.to_string_lossy().into_owned());
        error.detail.source = Some(Box::new(source));
        error
    }

    /// Makes an error of what a check found; the message is that of the first error, and all findings come with it.
    pub fn of_findings(findings: Vec<Finding>) -> Self {
        Self::of_refused(findings, |finding| finding.severity == Severity::Error)
    }

    /// Makes an error of what a check found, of which only a part is at fault: the caller may have allowed the rest.
    pub fn of_refused(findings: Vec<Finding>, at_fault: impl Fn(&Finding) -> bool) -> Self {
        let mut errors = findings.iter().filter(|finding| at_fault(finding));
        let Some(first) = errors.next() else {
            return Self::invalid("the bundle is not valid");
        };
        let more = errors.count();
        let mut message = first.sentence();
        if more > 0 {
            message = format!("{message} (and {more} more)");
        }
        let mut error = Self::invalid(message);
        error.detail.at_fault = more.saturating_add(1);
        if !first.file.is_empty() {
            error = error.file(&first.file);
        }
        if first.line > 0 {
            error = error.line(first.line);
        }
        error.detail.hint.clone_from(&first.hint);
        error.detail.findings = findings;
        error
    }

    /// Wraps this error so that it passes through the traits of [`std::io`]; [`Error::from_io`] takes it out again.
    pub fn into_io(self) -> std::io::Error {
        std::io::Error::other(self)
    }

    /// Takes out an error that [`Error::into_io`] wrapped; any other failure is one of this machine.
    ///
    /// `action` is a fragment such as `cannot read the archive`; where a path is known, [`Error::io`] says more.
    pub fn from_io(action: impl fmt::Display, error: std::io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(own) => own,
            Err(other) => {
                let message = format!("{action}: {}", io_reason(&other));
                Self::new(Kind::Io, message).source(other)
            }
        }
    }

    /// Adds what was being done.
    #[must_use]
    pub fn stage(mut self, stage: &'static str) -> Self {
        self.detail.stage.get_or_insert(stage);
        self
    }

    /// Adds the reference that was worked on, unless a closer one is known.
    #[must_use]
    pub fn reference(mut self, reference: impl fmt::Display) -> Self {
        self.detail
            .reference
            .get_or_insert_with(|| reference.to_string());
        self
    }

    /// Adds the digest of the content at fault.
    #[must_use]
    pub fn digest(mut self, digest: Digest) -> Self {
        self.detail.digest.get_or_insert(digest);
        self
    }

    /// Adds the file or archive entry at fault.
    #[must_use]
    pub fn file(mut self, file: impl fmt::Display) -> Self {
        self.detail.file.get_or_insert_with(|| file.to_string());
        self
    }

    /// Adds the line at fault.
    #[must_use]
    pub fn line(mut self, line: u32) -> Self {
        self.detail.line.get_or_insert(line);
        self
    }

    /// Adds what should have been there.
    #[must_use]
    pub fn expected(mut self, expected: impl fmt::Display) -> Self {
        self.detail.expected = Some(expected.to_string());
        self
    }

    /// Adds what was there.
    #[must_use]
    pub fn found(mut self, found: impl fmt::Display) -> Self {
        self.detail.found = Some(found.to_string());
        self
    }

    /// Adds what the caller can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.detail.hint = Some(hint.into());
        self
    }

    /// Adds every check that was made.
    #[must_use]
    pub fn checks(mut self, checks: Vec<Check>) -> Self {
        self.detail.checks = checks;
        self
    }

    /// Adds what a registry does not have of what a manifest names.
    #[must_use]
    pub fn missing(mut self, missing: Vec<Digest>) -> Self {
        self.detail.missing = missing;
        self
    }

    /// Says that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.detail.retryable = true;
        self
    }

    /// Adds the failure below this one.
    #[must_use]
    pub fn source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.detail.source = Some(source.into());
        self
    }

    /// Puts where it happened before the message: `PLACE: message`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{}: {}", shown(&place.to_string()), self.message);
        self
    }

    /// Names the file at fault by where it stands, in the details and the message, if that is known.
    #[must_use]
    pub fn located(mut self, place: impl Fn(&str) -> Option<String>) -> Self {
        if let Some(file) = &self.detail.file
            && let Some(place) = place(file)
        {
            self.message = self.message.replacen(&shown(file), &shown(&place), 1);
            self.detail.file = Some(place);
        }
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the details.
    pub fn detail(&self) -> &Detail {
        &self.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source: &(dyn std::error::Error + 'static) = self.detail.source.as_deref()?;
        Some(source)
    }
}

impl Invalid {
    /// Turns a word that failed to parse into an error of the kind that its place calls for.
    ///
    /// The same bad digest is [`Kind::Usage`] on a command line and [`Kind::Unsafe`] in a manifest.
    #[must_use]
    pub fn of_kind(self, kind: Kind) -> Error {
        let error = Error::new(kind, self.to_string()).found(shown(&self.text));
        match self.hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Says in plain words why the system refused, without its error number.
fn io_reason(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::StorageFull => "no space left".into(),
        ErrorKind::FileTooLarge => "the file would be larger than this system lets it be".into(),
        ErrorKind::ReadOnlyFilesystem => "read-only file system".into(),
        ErrorKind::AlreadyExists => "it exists already".into(),
        _ => {
            let text = error.to_string();
            match text.find(" (os error") {
                Some(cut) => shown(text.get(..cut).unwrap_or_default()),
                None => shown(&text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_expected_and_found() {
        let error = Error::mismatch("size of the layer", 3, 4).file("a");
        assert_eq!(error.to_string(), "size of the layer: expected 3, found 4");
        assert_eq!(error.detail().expected.as_deref(), Some("3"));
        let error = Error::limit(Ceiling::Entries, 10_000, 10_001);
        assert_eq!(error.kind(), Kind::Limit);
        assert!(
            error
                .detail()
                .hint
                .as_deref()
                .unwrap()
                .contains("--max-entries")
        );
        assert!(
            Error::limit(Ceiling::PathDepth, 32, 33)
                .detail()
                .hint
                .is_none()
        );
    }

    #[test]
    fn an_error_passes_through_io_and_other_failures_become_local_ones() {
        let error = Error::from_io("cannot read", Error::usage("x").into_io());
        assert_eq!(error.kind(), Kind::Usage);
        let error = Error::from_io("cannot write it", std::io::ErrorKind::StorageFull.into());
        assert_eq!(error.kind(), Kind::Io);
        assert_eq!(error.message(), "cannot write it: no space left");
    }

    #[test]
    fn a_bad_word_becomes_the_error_that_its_place_calls_for() {
        let invalid = "x\u{1b}".parse::<crate::tag::Tag>().unwrap_err();
        let error = invalid.of_kind(Kind::Usage);
        assert_eq!(error.kind(), Kind::Usage);
        assert!(error.message().contains("\\u{1b}"));
    }
}
