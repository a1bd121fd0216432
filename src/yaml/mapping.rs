//! The entries of a mapping while it is read: no key twice, merged entries give way.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use crate::escape::shown;

use super::fault::{Fault, FaultKind};
use super::{Key, Node};

/// Up to this many entries, looking at each is faster than an index.
const SMALL: usize = 16;

/// The entries of all mappings that are being read, the innermost mapping's last.
///
/// One list for all of them, so that each mapping is allocated once, when its size is known.
pub(super) type Stack = Vec<(Key, Node)>;

/// The entries of one mapping, which are the last on the stack, in the order of the file.
#[derive(Debug)]
pub(super) struct Entries {
    start: usize,
    index: Option<Index>,
}

/// Where keys are, by hash; of two keys with one hash only the first is in it.
#[derive(Debug, Default)]
struct Index {
    hasher: RandomState,
    places: HashMap<u64, usize>,
}

impl Entries {
    /// Begins a mapping.
    pub(super) fn begin(stack: &Stack) -> Self {
        Self {
            start: stack.len(),
            index: None,
        }
    }

    /// Adds an entry that is written in the mapping itself; the same key from a merge is replaced.
    pub(super) fn insert(&mut self, stack: &mut Stack, key: Key, value: Node) -> Result<(), Fault> {
        let Some(entry) = self.find(stack, &key.text) else {
            self.push(stack, key, value);
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
    pub(super) fn merge(&mut self, stack: &mut Stack, entries: Vec<(Key, Node)>) {
        for (key, value) in entries {
            match self.find(stack, &key.text) {
                Some(entry) => entry.1 = value,
                None => self.push(
                    stack,
                    Key {
                        merged: true,
                        ..key
                    },
                    value,
                ),
            }
        }
    }

    /// Ends the mapping and takes its entries off the stack.
    pub(super) fn end(self, stack: &mut Stack) -> Vec<(Key, Node)> {
        stack.drain(self.start..).collect()
    }

    fn push(&mut self, stack: &mut Stack, key: Key, value: Node) {
        let entries = stack.get(self.start..).unwrap_or_default();
        if entries.len() == SMALL {
            let mut index = Index::default();
            for (at, (key, _)) in entries.iter().enumerate() {
                index.add(&key.text, at);
            }
            self.index = Some(index);
        }
        if let Some(index) = &mut self.index {
            index.add(&key.text, entries.len());
        }
        stack.push((key, value));
    }

    fn find<'s>(&self, stack: &'s mut Stack, text: &str) -> Option<&'s mut (Key, Node)> {
        let is_it = |(key, _): &(Key, Node)| &*key.text == text;
        let entries = stack.get_mut(self.start..)?;
        let indexed = match &self.index {
            Some(index) => Some(index.get(text)?).filter(|at| entries.get(*at).is_some_and(is_it)),
            None => None,
        };
        let at = indexed.or_else(|| entries.iter().position(is_it))?;
        entries.get_mut(at)
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
