//! The images that only one side names.

use std::collections::BTreeMap;

use crate::bundle::Files;
use crate::error::Result;
use crate::images::{self, Grade};
use crate::limits::Limits;

/// An image that only one side names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedImage {
    /// The image, as it is written.
    pub written: String,
    /// How sure it is that it is one.
    pub grade: Grade,
}

/// Returns the images of a side by what they are references of.
fn of(files: &Files, limits: &Limits) -> Result<BTreeMap<String, NamedImage>> {
    let found = images::collect(files, limits)?.images;
    let names = found.iter().map(|one| {
        let (written, grade) = (one.written().to_owned(), one.grade);
        (one.reference.to_string(), NamedImage { written, grade })
    });
    Ok(names.collect())
}

/// Returns the images that only the old side names, and those that only the new side does.
pub(super) fn compare(old: &Files, new: &Files, limits: &Limits) -> Result<[Vec<NamedImage>; 2]> {
    let (old, new) = (of(old, limits)?, of(new, limits)?);
    let only = |these: &BTreeMap<String, NamedImage>, those: &BTreeMap<String, NamedImage>| {
        let others = these.iter().filter(|(name, _)| !those.contains_key(*name));
        others.map(|(_, image)| image.clone()).collect()
    };
    Ok([only(&old, &new), only(&new, &old)])
}
