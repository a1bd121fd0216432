//! The second pass: the objects that differ, read once more, one document of each side at a time.

use bytes::Bytes;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::objects::{self, Entry};
use crate::path::BundlePath;
use crate::yaml;

use super::Side;
use super::index::{At, Item, bytes_of};

/// Reads items of one side; what was read last is kept.
pub(super) struct Loader<'a> {
    side: &'a Side<'a>,
    limits: &'a Limits,
    last: Option<(BundlePath, At)>,
    entries: Vec<Option<Entry>>,
    /// What is to be added to the lines of the document.
    lines_before: u32,
}

/// What was read, and the number of lines before its document.
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) lines_before: u32,
}

impl<'a> Loader<'a> {
    pub(super) fn new(side: &'a Side<'a>, limits: &'a Limits) -> Self {
        Self {
            side,
            limits,
            last: None,
            entries: Vec::new(),
            lines_before: 0,
        }
    }

    /// Reads an item that the first pass found.
    pub(super) fn load(&mut self, item: &Item) -> Result<Option<Found>> {
        let (document, place) = match &item.at {
            At::Document {
                start,
                end,
                first_line,
                item,
            } => (
                At::Document {
                    start: *start,
                    end: *end,
                    first_line: *first_line,
                    item: 0,
                },
                *item,
            ),
            At::Template { item } => (At::Template { item: 0 }, *item),
            At::File => return Ok(None),
        };
        let key = (item.file.clone(), document);
        if self.last.as_ref() != Some(&key) {
            self.read(&key.0, &key.1)?;
            self.last = Some(key);
        }
        let entry = self.entries.get_mut(place).and_then(Option::take);
        Ok(entry.map(|entry| Found {
            entry,
            lines_before: self.lines_before,
        }))
    }

    fn read(&mut self, path: &BundlePath, at: &At) -> Result<()> {
        self.entries.clear();
        let Some(content) = self.side.files.get(path) else {
            return Ok(());
        };
        if let At::Document {
            start,
            end,
            first_line,
            ..
        } = at
        {
            self.lines_before = first_line.saturating_sub(1);
            let bytes = part(path, content, *start, *end)?;
            for document in yaml::documents(&bytes, self.limits) {
                let document = document.map_err(|fault| changed(path).source(fault))?;
                let entries = objects::in_document(document.root, path.file_name());
                self.entries.extend(entries.into_iter().map(Some));
            }
        } else {
            self.lines_before = 0;
            let (bytes, entries) = (bytes_of(path, content)?, &mut self.entries);
            objects::read_template(path.file_name(), &bytes, self.limits, |entry| {
                entries.push(Some(entry));
            });
        }
        Ok(())
    }
}

fn part(path: &BundlePath, content: &Content, start: usize, end: usize) -> Result<Bytes> {
    let length = end.saturating_sub(start) as u64;
    let part = content
        .slice(start as u64, length)
        .ok_or_else(|| changed(path))?;
    bytes_of(path, &part)
}

/// Says that a content is not what it was a moment ago; contents do not change.
fn changed(path: &BundlePath) -> Error {
    Error::invalid("the file changed while it was read").file(path)
}
