//! The order in which a cluster accepts the objects of a bundle (spec/order.md).
//!
//! Documents are the units: a document keeps its text, and a list stays whole. Nothing is parsed to be written again.

mod rank;

use std::path::Path;

use crate::bundle::{Files, MANIFESTS};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::objects::{self, Entry, Other, Summary, What};
use crate::path::BundlePath;
use crate::yaml;

pub use rank::{Phase, kinds};

use rank::{Rank, rank};

/// A document of a file below `manifests/`, with its place in the order.
#[derive(Debug, Clone)]
pub struct Document {
    /// The file.
    pub path: BundlePath,
    /// The line of the file on which its text begins, from 1.
    pub line: u32,
    /// Its text as it stands in the file, without separators and without a byte order mark.
    pub text: Content,
    /// When it is applied.
    pub phase: Phase,
    /// The objects in it: one, or those of a list.
    pub objects: Vec<Summary>,
    rank: Rank,
    /// Whether a line end that is put behind the text would change what the document means.
    pub ends_inside_a_text: bool,
}

/// Returns the documents of all files below `manifests/` in the order in which a cluster accepts them.
///
/// Documents of one kind keep their order: by path, then as they stand in the file. Documents that hold nothing but
/// comments are passed over. One file is held in memory at a time.
///
/// # Errors
///
/// [`Kind::Invalid`](crate::Kind::Invalid) for a document that cannot be read or is no object, [`Kind::Limit`](crate::Kind::Limit) for more than
/// [`Ceiling::Objects`], and content that cannot be read.
pub fn order(files: &Files, limits: &Limits) -> Result<Vec<Document>> {
    let mut found = Vec::new();
    for (path, content) in files {
        if path.strip_prefix(MANIFESTS).is_none() {
            continue;
        }
        let bytes = content
            .to_bytes()
            .map_err(|error| Error::io("cannot read", Path::new(path.as_str()), error))?;
        read(path, content, &bytes, limits, &mut found)?;
        let objects: usize = found.iter().map(|document| document.objects.len()).sum();
        if objects as u64 > limits[Ceiling::Objects] {
            return Err(Error::limit(
                Ceiling::Objects,
                limits[Ceiling::Objects],
                objects as u64,
            ));
        }
    }
    // Stable: the files come by path.
    found.sort_by_key(|document| document.rank);
    Ok(found)
}

/// Reads the documents of one file.
fn read(
    path: &BundlePath,
    content: &Content,
    bytes: &[u8],
    limits: &Limits,
    found: &mut Vec<Document>,
) -> Result<()> {
    for document in yaml::documents(bytes, limits) {
        let document = document.map_err(|fault| at(fault.into_error(), path))?;
        if document.root.is_null() {
            continue;
        }
        let mut range = document.range;
        if bytes
            .get(range.clone())
            .is_some_and(|text| text.starts_with(BYTE_ORDER_MARK))
        {
            range.start = range.start.saturating_add(BYTE_ORDER_MARK.len());
        }
        let text = bytes.get(range.clone()).unwrap_or_default();
        let ends_inside_a_text = !text.ends_with(b"\n") && changes(text, &document.root, limits);
        let mut objects = Vec::new();
        for entry in objects::in_document(document.root, path.file_name()) {
            match entry {
                Entry::Object(object) => objects.push(object.summary(path)),
                Entry::Other(other) => return Err(at(no_object(&other), path)),
                Entry::Fault(fault) => return Err(at(fault.into_error(), path)),
            }
        }
        let rank = objects.iter().map(rank).min().unwrap_or(Rank::LAST);
        let text = content.slice(range.start as u64, range.len() as u64);
        found.push(Document {
            path: path.clone(),
            line: document.line,
            text: text.ok_or_else(|| at(Error::invalid("a document outside of its file"), path))?,
            phase: rank.phase,
            objects,
            rank,
            ends_inside_a_text,
        });
    }
    Ok(())
}

/// Says that something cannot be applied, and what it lacks.
fn no_object(other: &Other) -> Error {
    let message = match &other.what {
        What::Incomplete(lacks) => {
            let lacks: Vec<String> = lacks.iter().map(ToString::to_string).collect();
            format!("an object that cannot be applied: {}", lacks.join(", "))
        }
        what => format!("{what} is no object that can be applied"),
    };
    Error::invalid(message).line(other.line)
}

/// What some editors put before the first character.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Tells whether a document means something else with a line end behind it, as one that ends in a block text does.
fn changes(text: &[u8], root: &yaml::Node, limits: &Limits) -> bool {
    let mut longer = text.to_vec();
    longer.push(b'\n');
    let read = yaml::documents(&longer, limits).next();
    !matches!(read, Some(Ok(document)) if document.root.to_json() == root.to_json())
}

fn at(error: Error, path: &BundlePath) -> Error {
    let place = match error.detail().line {
        Some(line) => format!("{path}:{line}"),
        None => path.to_string(),
    };
    error.file(path).at(place)
}

#[cfg(test)]
mod tests;
