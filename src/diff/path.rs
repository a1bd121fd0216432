//! The path that leads to a field: keys, items of lists by what tells them apart, and places in other lists.

use std::fmt;

use crate::digest::Hasher;

/// The longest key in a path, in bytes, and how much of a longer one is left. No name of Kubernetes is as long.
const LONG: usize = 400;
const LEFT: usize = 100;

/// What a step takes beside its text.
const OVERHEAD: usize = 64;

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

impl Step {
    /// Returns the step to the value of a key.
    pub(super) fn of_key(key: &str) -> Self {
        Self::Key(shortened(key))
    }

    /// Returns the same step with what is long in it cut.
    pub(super) fn shortened(self) -> Self {
        match self {
            Self::Key(key) => Self::of_key(&key),
            Self::Item(fields) => {
                let fields = fields.iter().map(|(k, v)| (shortened(k), shortened(v)));
                Self::Item(fields.collect())
            }
            Self::Index(..) => self,
        }
    }

    /// Returns about how much memory it takes.
    pub(super) fn size(&self) -> usize {
        let text = match self {
            Self::Key(key) => key.len(),
            Self::Item(fields) => fields
                .iter()
                .map(|(key, value)| key.len() + value.len() + OVERHEAD)
                .fold(0, usize::saturating_add),
            Self::Index(..) => 0,
        };
        text.saturating_add(OVERHEAD)
    }
}

/// Returns a key as it stands in a path: of a long one the beginning, and of a digest as much as tells two of them apart.
pub(super) fn shortened(key: &str) -> String {
    if key.len() <= LONG {
        return key.to_owned();
    }
    let mut hasher = Hasher::sha256();
    hasher.update(key.as_bytes());
    let digest = hasher.finish();
    let first = key.chars().take(LEFT);
    first
        .chain(['…'])
        .chain(digest.hex().chars().take(16))
        .collect()
}

impl FieldPath {
    /// Returns about how much memory it takes.
    pub(super) fn size(&self) -> usize {
        let steps = self.0.iter().map(Step::size);
        steps.fold(OVERHEAD, usize::saturating_add)
    }
}

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
