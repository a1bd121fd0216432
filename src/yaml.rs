//! YAML as Kubernetes reads it, with the place of everything in it.
//!
//! Files are split into documents as Kubernetes' reader splits them, scanned by `granit-parser`, and composed here into
//! [`Node`]s with the values that Go's `sigs.k8s.io/yaml` gives (see `scalar`). What is refused comes back as a [`Fault`]
//! with line and column. JSON is read by the same functions: it is YAML, and its escapes `\/` and surrogate pairs, which Go's
//! YAML reader refuses, are taken. Nothing here reads a file, and nothing writes YAML: manifests are carried as they are.

mod budget;
mod characters;
mod compose;
mod documents;
mod fault;
mod mapping;
mod scalar;
mod source;
mod tabs;

pub use documents::{Document, Documents, documents, metadata_document};
pub use fault::{Fault, FaultKind};

/// A value and where it begins.
///
/// A node that an alias brought in has the place of the anchor's node, where its text is.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What it holds.
    pub value: Value,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// The column in characters at which it begins, from 1.
    pub column: u32,
    /// How it is written.
    pub style: Style,
    /// The text of a plain scalar whose value is no string.
    plain: Option<Box<str>>,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean; unquoted `yes`, `no`, `on`, `off`, `y` and `n` are booleans.
    Bool(bool),
    /// An integer that fits into 64 bits with a sign.
    Int(i64),
    /// An integer above [`i64::MAX`].
    UInt(u64),
    /// Any other number; never infinite, never NaN.
    Float(f64),
    /// A text.
    String(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in the order of the file; no key twice, merge keys carried out.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The key as Kubernetes sees it: keys that are no strings are written out, so `on:` is `true`.
    pub text: Box<str>,
    /// The line on which it stands, from 1.
    pub line: u32,
    /// The column in characters at which it begins, from 1.
    pub column: u32,
    /// Whether it came in by a merge key (`<<`).
    pub merged: bool,
    /// The text of a plain key that is no string, such as `on`.
    plain: Option<Box<str>>,
}

/// How a node is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes; also a value that is not written at all.
    Plain,
    /// `'text'`
    SingleQuoted,
    /// `"text"`
    DoubleQuoted,
    /// `|` and indented lines.
    Literal,
    /// `>` and indented lines.
    Folded,
    /// A collection written by indentation.
    Block,
    /// `[…]` or `{…}`
    Flow,
}

impl Node {
    /// Makes the null of a document that holds nothing.
    fn absent(line: u32) -> Self {
        Self {
            value: Value::Null,
            line,
            column: 1,
            style: Style::Plain,
            plain: None,
        }
    }

    /// Returns the value of a key; None as well when this is no mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let mut entries = self.as_mapping()?.iter();
        entries
            .find(|(k, _)| &*k.text == key)
            .map(|(_, value)| value)
    }

    /// Returns the value that a path of keys leads to.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number of any kind, as near as a float comes.
    pub fn as_number(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "as JSON has it in Go")]
        match self.value {
            Value::Int(number) => Some(number as f64),
            Value::UInt(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the items of a sequence.
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match &self.value {
            Value::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a mapping.
    pub fn as_mapping(&self) -> Option<&[(Key, Self)]> {
        match &self.value {
            Value::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// Tells whether this is `null` or nothing.
    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Null)
    }

    /// Tells whether a key has the value `true`.
    pub fn has_true(&self, key: &str) -> bool {
        self.get(key)
            .is_some_and(|node| node.value == Value::Bool(true))
    }

    /// Returns what an unquoted scalar looks like in the file: `1.10` where the value is 1.1, `yes` where it is true.
    ///
    /// None for quoted scalars, block scalars, collections and values that are not written.
    pub fn plain_text(&self) -> Option<&str> {
        match (&self.plain, &self.value) {
            (Some(text), _) => Some(text),
            (None, Value::String(text)) if self.style == Style::Plain => Some(text),
            _ => None,
        }
    }

    /// Returns the value as JSON, without places.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::UInt(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::String(text) => text.as_str().into(),
            Value::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Value::Mapping(entries) => entries
                .iter()
                .map(|(key, value)| (String::from(&*key.text), value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

impl Key {
    /// Makes a key that stands in no text, but belongs on a line.
    pub(crate) fn at(text: &str, line: u32) -> Self {
        Self {
            text: text.into(),
            line,
            column: 1,
            merged: false,
            plain: None,
        }
    }

    /// Returns what an unquoted key that is no string looks like in the file: `on` where the key is `true`.
    pub fn plain_text(&self) -> Option<&str> {
        self.plain.as_deref()
    }
}

impl Value {
    /// Returns the name of the kind of value, for messages: `a string`, `a number`.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) | Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Sequence(_) => "a list",
            Self::Mapping(_) => "a mapping",
        }
    }
}

#[cfg(test)]
mod tests;
