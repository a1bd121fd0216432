//! The images that only one side names.

use std::collections::BTreeMap;

use crate::bundle::Files;
use crate::error::Result;
use crate::images::{self, Grade};
use crate::limits::Limits;

/// Returns the images of a side that are certain, as they are written, by what they are references of.
fn of(files: &Files, limits: &Limits) -> Result<BTreeMap<String, String>> {
    let found = images::collect(files, limits)?.images;
    let certain = found.iter().filter(|one| one.grade == Grade::Certain);
    let names = certain.map(|one| (one.reference.to_string(), one.written().to_owned()));
    Ok(names.collect())
}

/// Returns the images that only the old side names, and those that only the new side does.
pub(super) fn compare(old: &Files, new: &Files, limits: &Limits) -> Result<[Vec<String>; 2]> {
    let (old, new) = (of(old, limits)?, of(new, limits)?);
    let only = |these: &BTreeMap<String, String>, those: &BTreeMap<String, String>| {
        let others = these.iter().filter(|(name, _)| !those.contains_key(*name));
        others.map(|(_, written)| written.clone()).collect()
    };
    Ok([only(&old, &new), only(&new, &old)])
}
