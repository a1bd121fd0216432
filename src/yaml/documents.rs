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
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let (length, separator) = next_separator(rest);
        let taken = length + separator;
        let breaks = line_breaks(rest.get(..taken).unwrap_or_default());
        self.offset += taken;
        self.line = first_line.saturating_add(breaks);
        Some((start..start + length, first_line))
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
            characters::read(bytes, line)?,
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

/// Returns how long the document at the beginning of a text is, and how long the separator after it.
fn next_separator(text: &[u8]) -> (usize, usize) {
    let mut start = 0;
    loop {
        let line = text.get(start..).unwrap_or_default();
        if let Some(rest) = line.strip_prefix(b"---") {
            let end = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            // Kubernetes splits where nothing but blanks and a comment are behind the dashes.
            if let [] | [b'#', ..] = rest.get(..end).unwrap_or_default().trim_ascii() {
                return (start, line.len().min(3 + end + 1));
            }
        }
        match dash_at_line_start(line) {
            Some(offset) => start += offset,
            None => return (text.len(), 0),
        }
    }
}

/// Returns where the next line that begins with a dash begins, not looking at the first line.
///
/// Such lines are rare, so whole blocks of bytes are looked at without a branch for each.
fn dash_at_line_start(text: &[u8]) -> Option<usize> {
    const BLOCK: usize = 64;
    let mut start = 0;
    while let Some(block) = text
        .get(start..)
        .and_then(<[u8]>::first_chunk::<{ BLOCK + 1 }>)
    {
        let (here, next) = (block.first_chunk::<BLOCK>()?, block.last_chunk::<BLOCK>()?);
        let mut any = 0;
        for (a, b) in here.iter().zip(next) {
            any |= u8::from(*a == b'\n') & u8::from(*b == b'-');
        }
        if any != 0 {
            break;
        }
        start += BLOCK;
    }
    let rest = text.get(start..)?;
    Some(start + rest.windows(2).position(|pair| pair == b"\n-")? + 1)
}

/// Counts line breaks; adding small numbers without overflow checks lets many bytes be looked at in one step.
fn line_breaks(text: &[u8]) -> u32 {
    text.iter()
        .fold(0_u32, |count, b| count.wrapping_add(u32::from(*b == b'\n')))
}
