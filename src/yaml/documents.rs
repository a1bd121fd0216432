//! A file as its documents: split at the lines at which Kubernetes' reader splits.
//!
//! The split comes before the parsing, so what is wrong in one document never hides the next one.

use std::ops::Range;

use crate::limits::{Ceiling, Limits};

use super::Node;
use super::characters;
use super::compose::{Rules, compose};
use super::fault::{Fault, FaultKind};

/// A document of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What it holds; null when there are only comments.
    pub root: Node,
    /// The line of the file on which its text begins, from 1: the line after the separator.
    pub line: u32,
    /// The bytes of the file that it takes, without separators.
    pub range: Range<usize>,
    /// Whether it holds comments only.
    pub is_empty: bool,
}

/// The documents of a file, read one by one: see [`documents`].
#[derive(Debug, Clone)]
pub struct Documents<'t, 'l> {
    text: &'t [u8],
    limits: &'l Limits,
    rules: Rules,
    /// Where the next document begins.
    offset: usize,
    line: u32,
    /// How many more may come.
    left: u64,
}

/// Reads the documents of a YAML or JSON file in order; what is between separators and blank is passed over.
///
/// A separator is a line `---`, alone or with a comment. A fault takes the place of its document and the reading goes on
/// after it; only [`FaultKind::TooManyDocuments`] is the last. Each document is bounded by [`Ceiling::Yaml`],
/// [`Ceiling::YamlNodes`] and [`Ceiling::YamlDepth`].
pub fn documents<'t, 'l>(text: &'t [u8], limits: &'l Limits) -> Documents<'t, 'l> {
    Documents {
        text,
        limits,
        rules: Rules::Manifest,
        offset: 0,
        line: 1,
        left: limits[Ceiling::YamlDocuments],
    }
}

/// Reads the one document of a metadata file, which may not have anchors, aliases, tags or merge keys.
///
/// Two readers of metadata must see the same thing, so whatever YAML readers differ in is refused.
pub fn metadata_document(text: &[u8], limits: &Limits) -> Result<Document, Fault> {
    let mut found = None;
    let all = Documents {
        rules: Rules::Metadata,
        ..documents(text, limits)
    };
    for document in all {
        let document = document?;
        if document.is_empty {
            continue;
        }
        if found.is_some() {
            let place = (document.root.line, document.root.column);
            return Err(Fault::new(
                FaultKind::NotOneDocument,
                place,
                "a second document in metadata",
            ));
        }
        found = Some(document);
    }
    found.ok_or_else(|| Fault::new(FaultKind::NotOneDocument, (1, 1), "no document in metadata"))
}

impl Documents<'_, '_> {
    /// Returns the next document's bytes and first line, and steps over the separator after it.
    fn next_range(&mut self) -> Option<(Range<usize>, u32)> {
        let (start, first_line) = (self.offset, self.line);
        if start >= self.text.len() {
            return None;
        }
        loop {
            let at = self.offset;
            let rest = self.text.get(at..).unwrap_or_default();
            let length = rest
                .iter()
                .position(|b| *b == b'\n')
                .map_or(rest.len(), |i| i + 1);
            if length == 0 {
                return Some((start..at, first_line));
            }
            self.offset += length;
            self.line = self.line.saturating_add(1);
            if is_separator(rest.get(..length).unwrap_or_default()) {
                return Some((start..at, first_line));
            }
        }
    }

    fn read(&self, range: Range<usize>, line: u32) -> Result<Document, Fault> {
        let bytes = self.text.get(range.clone()).unwrap_or_default();
        let limit = self.limits[Ceiling::Yaml];
        let found = bytes.len() as u64;
        if found > limit {
            let message = format!("the document has {found} bytes, more than {limit}");
            return Err(Fault::new(
                FaultKind::TooLarge { limit, found },
                (line, 1),
                message,
            ));
        }
        let root = compose(
            characters::text(bytes, line)?,
            line,
            self.limits,
            self.rules,
        )?;
        Ok(Document {
            is_empty: root.is_none(),
            root: root.unwrap_or_else(|| Node::absent(line)),
            line,
            range,
        })
    }
}

impl Iterator for Documents<'_, '_> {
    type Item = Result<Document, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (range, line) = self.next_range()?;
            let bytes = self.text.get(range.clone()).unwrap_or_default();
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else {
                self.offset = self.text.len();
                let limit = self.limits[Ceiling::YamlDocuments];
                let message = format!("the file has more than {limit} documents");
                return Some(Err(Fault::new(
                    FaultKind::TooManyDocuments { limit },
                    (line, 1),
                    message,
                )));
            };
            self.left = left;
            return Some(self.read(range, line));
        }
    }
}

/// Tells whether a line ends a document for Kubernetes: `---`, and nothing but blanks and a comment after it.
fn is_separator(line: &[u8]) -> bool {
    line.strip_prefix(b"---")
        .is_some_and(|rest| matches!(rest.trim_ascii(), [] | [b'#', ..]))
}
