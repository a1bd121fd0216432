//! Why a document is refused, and where.

use std::fmt;

use crate::error::{Error, Kind};
use crate::limits::Ceiling;

/// A document that cannot be read, or that two readers would read in two ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The line of the file, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// A sentence for people: a lower-case fragment, escaped.
    pub message: String,
}

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// It holds a character that YAML does not allow.
    ControlCharacter,
    /// It holds U+0085, U+2028 or U+2029 where Kubernetes' reader sees the end of a line.
    LineBreak,
    /// It is no YAML.
    Syntax,
    /// A mapping has a key twice.
    DuplicateKey {
        /// The key.
        key: String,
        /// The line on which it stands first.
        first_line: u32,
    },
    /// A key cannot be a key in JSON: null, a list, a mapping, a number above 63 bits.
    BadKey,
    /// A merge key (`<<`) has a value that is neither a mapping nor a list of mappings.
    BadMerge,
    /// A value does not fit its tag.
    BadTag,
    /// A number is infinite or NaN, which JSON cannot say.
    NotFinite,
    /// An alias has no anchor before it.
    UnknownAlias,
    /// An alias stands inside the value that it repeats.
    SelfAlias,
    /// Aliases multiply the document far beyond its text.
    AliasExpansion,
    /// It is nested too deeply.
    TooDeep {
        /// The limit in force.
        limit: u64,
    },
    /// It has too many nodes.
    TooManyNodes {
        /// The limit in force.
        limit: u64,
    },
    /// It has too many bytes.
    TooLarge {
        /// The limit in force.
        limit: u64,
        /// The size of the document.
        found: u64,
    },
    /// The file has too many documents; those after this fault are not read.
    TooManyDocuments {
        /// The limit in force.
        limit: u64,
    },
    /// A document begins without a line `---` of its own, so that Kubernetes would drop it in silence.
    LostDocument,
    /// Metadata holds no document, or more than one.
    NotOneDocument,
    /// Metadata holds an anchor, an alias, a tag or a merge key.
    NotPlain,
}

impl FaultKind {
    /// Returns the stable name that machines see.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotUtf8 => "not-utf8",
            Self::ControlCharacter => "control-character",
            Self::LineBreak => "line-break",
            Self::Syntax => "syntax",
            Self::DuplicateKey { .. } => "duplicate-key",
            Self::BadKey => "bad-key",
            Self::BadMerge => "bad-merge",
            Self::BadTag => "bad-tag",
            Self::NotFinite => "not-finite",
            Self::UnknownAlias => "unknown-alias",
            Self::SelfAlias => "self-alias",
            Self::AliasExpansion => "alias-expansion",
            Self::TooDeep { .. } => "too-deep",
            Self::TooManyNodes { .. } => "too-many-nodes",
            Self::TooLarge { .. } => "too-large",
            Self::TooManyDocuments { .. } => "too-many-documents",
            Self::LostDocument => "lost-document",
            Self::NotOneDocument => "not-one-document",
            Self::NotPlain => "not-plain",
        }
    }
}

impl Fault {
    pub(super) fn new(
        kind: FaultKind,
        (line, column): (u32, u32),
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            line,
            column,
            message: message.into(),
        }
    }

    /// Turns it into an error: [`Kind::Limit`] where a ceiling or the aliases are at fault, else [`Kind::Invalid`].
    ///
    /// The file is the caller's to add.
    pub fn into_error(self) -> Error {
        let error = match self.kind {
            FaultKind::TooDeep { limit } => {
                Error::limit(Ceiling::YamlDepth, limit, limit.saturating_add(1))
            }
            FaultKind::TooManyNodes { limit } => {
                Error::limit(Ceiling::YamlNodes, limit, limit.saturating_add(1))
            }
            FaultKind::TooLarge { limit, found } => Error::limit(Ceiling::Yaml, limit, found),
            FaultKind::TooManyDocuments { limit } => {
                Error::limit(Ceiling::YamlDocuments, limit, limit.saturating_add(1))
            }
            FaultKind::AliasExpansion => Error::new(Kind::Limit, self.to_string()),
            _ => Error::invalid(self.to_string()),
        };
        error.line(self.line)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for Fault {}
