//! The entries of a mapping while it is read: no key twice, merged entries give way.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::escape::shown;

use super::fault::{Fault, FaultKind};
use super::{Key, Node};

/// Up to this many entries, looking at each is faster than an index.
const SMALL: usize = 16;

/// Entries in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Entries {
    list: Vec<(Key, Node)>,
    index: Option<Index>,
}

/// Where keys are, by hash; of two keys with one hash only the first is in it.
#[derive(Debug, Default)]
struct Index {
    hasher: RandomState,
    places: HashMap<u64, usize>,
}

impl Entries {
    /// Adds an entry that is written in the mapping itself; the same key from a merge is replaced.
    pub(super) fn insert(&mut self, key: Key, value: Node) -> Result<(), Fault> {
        let Some(entry) = self.find(&key.text).and_then(|at| self.list.get_mut(at)) else {
            self.push(key, value);
            return Ok(());
        };
        if entry.0.merged {
            *entry = (key, value);
            return Ok(());
        }
        let first_line = entry.0.line;
        let text = shown(&key.text);
        Err(Fault::new(
            FaultKind::DuplicateKey {
                key: key.text.into_string(),
                first_line,
            },
            (key.line, key.column),
            format!("the key `{text}` is there twice, first on line {first_line}"),
        ))
    }

    /// Takes over the entries of a merged mapping.
    ///
    /// As in Go, a merge overrides what stands before it, also what is written in the mapping itself.
    pub(super) fn merge(&mut self, entries: Vec<(Key, Node)>) {
        for (key, value) in entries {
            match self.find(&key.text).and_then(|at| self.list.get_mut(at)) {
                Some(entry) => entry.1 = value,
                None => self.push(
                    Key {
                        merged: true,
                        ..key
                    },
                    value,
                ),
            }
        }
    }

    pub(super) fn into_vec(self) -> Vec<(Key, Node)> {
        self.list
    }

    fn push(&mut self, key: Key, value: Node) {
        if self.list.len() == SMALL {
            let mut index = Index::default();
            for (at, (key, _)) in self.list.iter().enumerate() {
                index.add(&key.text, at);
            }
            self.index = Some(index);
        }
        if let Some(index) = &mut self.index {
            index.add(&key.text, self.list.len());
        }
        self.list.push((key, value));
    }

    fn find(&self, text: &str) -> Option<usize> {
        let is_it = |(key, _): &(Key, Node)| &*key.text == text;
        if let Some(index) = &self.index {
            let at = index.get(text)?;
            if self.list.get(at).is_some_and(is_it) {
                return Some(at);
            }
        }
        self.list.iter().position(is_it)
    }
}

impl Index {
    fn add(&mut self, text: &str, at: usize) {
        self.places.entry(self.hasher.hash_one(text)).or_insert(at);
    }

    fn get(&self, text: &str) -> Option<usize> {
        self.places.get(&self.hasher.hash_one(text)).copied()
    }
}
