//! The path that leads to a field: keys, items of lists by what tells them apart, and places in other lists.

use std::fmt;

/// One step on the way to a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A key of a mapping.
    Key(String),
    /// The item of a list in which some fields have these values.
    Item(Vec<(String, String)>),
    /// The item of a list by its place on the old and on the new side, from 0.
    Index(Option<usize>, Option<usize>),
}

/// The way to a field.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath(pub Vec<Step>);

impl fmt::Display for FieldPath {
    /// Writes `spec.containers[name=main].args[2]`; keys with other characters are put in brackets and quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 && matches!(step, Step::Key(key) if is_plain(key)) {
                f.write_str(".")?;
            }
            step.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) if is_plain(key) => f.write_str(key),
            Self::Key(key) => write!(f, "[{}]", serde_json::Value::from(key.as_str())),
            Self::Item(fields) => {
                let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{k}={v}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Index(Some(old), Some(new)) if old != new => write!(f, "[{old}→{new}]"),
            Self::Index(old, new) => write!(f, "[{}]", old.or(*new).unwrap_or_default()),
        }
    }
}

/// Tells whether a key can stand between dots.
fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '$'))
}
