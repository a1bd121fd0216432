//! What differs between two bundles, object by object and field by field (spec/compatibility-of-changes.md).
//!
//! Each side is read twice, one file at a time: once for what there is in it, with a digest of every value, and once more for the objects that
//! differ. What a Secret holds is never part of an answer. Nothing here judges a side by itself: that is `validate`'s part.

mod bindings;
mod breaking;
mod budget;
mod crds;
mod fields;
mod files;
mod grants;
mod images;
mod index;
mod lists;
mod load;
mod mask;
mod pairs;
mod path;
mod value;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::bundle::Files;
use crate::crd::is_crd;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::limits::Limits;
use crate::metadata::{self, Identity};
use crate::objects::{Entry, Object, ObjectId};
use crate::oci::Annotations;
use crate::olm;
use crate::path::BundlePath;

pub use bindings::{Bindings, Given};
pub use breaking::{Breaking, RULES, Rule};
pub use budget::LineBudget;
pub use crds::{CrdVersion, CrdVersions};
pub use fields::{Field, FieldChange};
pub use files::{FileChange, Hunk, Line, files, texts};
pub use grants::{Grant, Grants};
pub use images::NamedImage;
pub use mask::HIDDEN;
pub use path::{FieldPath, Step};

use budget::Budget;
use index::{Index, Item};
use load::{Found, Loader};
use mask::Sources;

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The files below `manifests/` and `metadata/`.
    pub files: &'a Files,
    /// The keys and values of a bundle. None for a source: then they are what its file says and what packing would add.
    pub annotations: Option<&'a Annotations>,
    /// Where the files stand, for notes and errors; none where their paths in the bundle say it.
    pub places: Option<&'a BTreeMap<BundlePath, String>>,
}

impl Side<'_> {
    /// Puts the place of a file into a finding.
    fn locate(&self, mut finding: Finding) -> Finding {
        let path: Option<BundlePath> = finding.file.parse().ok();
        let place = path.and_then(|path| self.places?.get(&path));
        if let Some(place) = place.filter(|place| **place != finding.file) {
            let path = std::mem::replace(&mut finding.file, place.clone());
            finding.bundle_path = Some(path);
        }
        finding
    }
}

/// What something is that two sides have or do not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// An object; a group that Kubernetes gave up for another counts as the one that it is now in.
    Object(ObjectId),
    /// A document that is no object, by its file and its place among those in it.
    Document(BundlePath, usize),
    /// A file that holds neither YAML nor JSON.
    File(BundlePath),
}

/// Where something stands on one side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, as a path in the bundle.
    pub file: BundlePath,
    /// The line on which it begins, from 1; 0 for a file as a whole.
    pub line: u32,
    /// Group and version of an object's API.
    pub api_version: Option<String>,
}

/// Something that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What it is.
    pub subject: Subject,
    /// Where it is on the old side; none when it was added.
    pub old: Option<Place>,
    /// Where it is on the new side; none when it was removed.
    pub new: Option<Place>,
    /// The fields that differ, in the order of their paths; none when it was added or removed.
    pub fields: Vec<Field>,
    /// Why the change may break those who use it.
    pub breaking: Vec<Breaking>,
}

/// A key of the metadata that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataChange {
    /// The key.
    pub key: String,
    /// The old value.
    pub old: Option<String>,
    /// The new value.
    pub new: Option<String>,
}

/// All that differs between two sides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diff {
    /// The metadata, by key; empty when one side has none.
    pub metadata: Vec<MetadataChange>,
    /// Images that only the old side names, certain and likely ones.
    pub images_removed: Vec<NamedImage>,
    /// Images that only the new side names.
    pub images_added: Vec<NamedImage>,
    /// What roles allow now and did not, and the reverse.
    pub grants: Vec<Grants>,
    /// Who has a role now and had it not, and the reverse.
    pub bindings: Vec<Bindings>,
    /// Custom resource definitions whose versions differ.
    pub crds: Vec<CrdVersions>,
    /// What differs, sorted by what it is.
    pub changes: Vec<Change>,
    /// What a reader should know about the comparison itself.
    pub notes: Vec<Finding>,
}

impl Diff {
    /// Tells whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.changes.is_empty()
    }

    /// Returns all breaking changes.
    pub fn breaking(&self) -> impl Iterator<Item = &Breaking> {
        self.changes.iter().flat_map(|change| &change.breaking)
    }
}

/// Compares two sides.
///
/// The order of documents and keys, quotes, comments and the names of files do not matter.
///
/// # Errors
///
/// [`Kind::Invalid`](crate::Kind::Invalid) for a file that cannot be read as YAML, unless both sides have the very same; [`Kind::Limit`](crate::Kind::Limit) for one that is over a
/// ceiling; content that cannot be read.
pub fn diff(old: &Side<'_>, new: &Side<'_>, limits: &Limits) -> Result<Diff> {
    let indexes = index::read([old, new], limits)?;
    let mut diff = Diff::default();
    unreadable([old, new], &indexes, &mut diff.notes)?;
    compare_metadata([old, new], &indexes, limits, &mut diff)?;
    let [a, b] = &indexes;
    let sources = [
        Sources::of(old.files, limits)?,
        Sources::of(new.files, limits)?,
    ];
    let mut loaders = [Loader::new(old, limits), Loader::new(new, limits)];
    let mut budget = Budget::default();
    for pair in pairs::pairs(a, b) {
        compare(pair, &mut loaders, &sources, &mut budget, &mut diff)?;
    }
    if budget.more_fields > 0 {
        let message = format!("{} more fields differ than are listed", budget.more_fields);
        diff.notes
            .push(Finding::note("diff-too-many-fields", message));
    }
    // Where nothing differs, neither do the images, which are looked for in every text.
    if !diff.changes.is_empty() {
        [diff.images_removed, diff.images_added] = images::compare(old.files, new.files, limits)?;
    }
    diff.changes
        .sort_by(|a, b| (&a.subject, &a.old, &a.new).cmp(&(&b.subject, &b.old, &b.new)));
    diff.grants.sort_by(|a, b| a.role.cmp(&b.role));
    bindings::cancel(&mut diff.bindings);
    diff.crds.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(diff)
}

/// Refuses files that cannot be read, unless they are on both sides, byte for byte; then it is a note.
fn unreadable(
    sides: [&Side<'_>; 2],
    [old, new]: &[Index; 2],
    notes: &mut Vec<Finding>,
) -> Result<()> {
    for ((one, other), side) in [(old, new), (new, old)].into_iter().zip(sides) {
        let known: HashSet<&Digest> = other.fault_digests().collect();
        for (finding, digest) in &one.faults {
            if !known.contains(digest) {
                let finding = side.locate(finding.clone());
                return Err(
                    Error::of_findings(vec![finding]).hint("`--files` compares files as they are")
                );
            }
        }
    }
    let [old_side, _] = sides;
    for (finding, _) in &old.faults {
        let mut finding = old_side.locate(finding.clone());
        finding.severity = crate::finding::Severity::Note;
        finding.message = format!("not compared, the same on both sides: {}", finding.message);
        notes.push(finding);
    }
    for ((name, index), side) in [("old", old), ("new", new)].into_iter().zip(sides) {
        notes.extend(index.duplicates(name).map(|note| side.locate(note)));
    }
    Ok(())
}

/// Compares the metadata key by key, if both sides have some.
fn compare_metadata(
    sides: [&Side<'_>; 2],
    indexes: &[Index; 2],
    limits: &Limits,
    diff: &mut Diff,
) -> Result<()> {
    let mut all = Vec::new();
    for (side, index) in sides.into_iter().zip(indexes) {
        all.push(match side.annotations {
            Some(annotations) => Some(annotations.clone()),
            None => source_metadata(side.files, index, limits)?,
        });
    }
    let (Some(Some(new)), Some(Some(old))) = (all.pop(), all.pop()) else {
        if sides
            .iter()
            .any(|side| side.annotations.is_some() || crate::bundle::has_metadata(side.files))
        {
            let message = "one side has no metadata: what the other one says is not compared";
            diff.notes.push(Finding::note("diff-no-metadata", message));
        }
        return Ok(());
    };
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (old, new) = (old.get(key), new.get(key));
        if old != new {
            diff.metadata.push(MetadataChange {
                key: key.clone(),
                old: old.cloned(),
                new: new.cloned(),
            });
        }
    }
    Ok(())
}

/// Returns what the metadata of a source would be once it is packed.
fn source_metadata(files: &Files, index: &Index, limits: &Limits) -> Result<Option<Annotations>> {
    let Some((path, content)) = files.get_key_value(metadata::FILE) else {
        return Ok(None);
    };
    let bytes = index::bytes_of(path, content)?;
    let (said, _) = metadata::parse(&bytes, limits).map_err(Error::of_findings)?;
    let more = olm::additions(files, &said, limits)?;
    let highest = index.min_operator_version.as_ref();
    let filled = metadata::fill(Some(&bytes), &Identity::default(), highest, &more, limits)?;
    Ok(Some(filled.annotations))
}

/// Compares what is on one or both sides and is not the same.
fn compare(
    [old, new]: [Option<&Item>; 2],
    [old_loader, new_loader]: &mut [Loader<'_>; 2],
    sources: &[Sources; 2],
    budget: &mut Budget,
    diff: &mut Diff,
) -> Result<()> {
    let Some(subject) = old.or(new).map(|item| item.subject.clone()) else {
        return Ok(());
    };
    let mut change = Change {
        subject,
        old: old.map(Item::place),
        new: new.map(Item::place),
        fields: Vec::new(),
        breaking: Vec::new(),
    };
    let hides_all = [&change.old, &change.new]
        .into_iter()
        .flatten()
        .any(|place| sources.iter().any(|sources| sources.has(&place.file)));
    let is_pair = old.is_some() && new.is_some();
    let is_wanted = |item: &&Item| is_pair || has_summary(item);
    let old = old
        .filter(is_wanted)
        .map(|item| old_loader.load(item))
        .transpose()?
        .flatten();
    let new = new
        .filter(is_wanted)
        .map(|item| new_loader.load(item))
        .transpose()?
        .flatten();
    let more_before = budget.more_fields;
    let lines = |found: &Option<Found>| found.as_ref().map_or(0, |found| found.lines_before);
    let (old_before, new_before) = (lines(&old), lines(&new));
    let is_both = old.is_some() && new.is_some();
    match (&old, &new) {
        (
            Some(Found {
                entry: Entry::Object(a),
                ..
            }),
            Some(Found {
                entry: Entry::Object(b),
                ..
            }),
        ) => {
            change.fields = fields::of_objects(a, b, budget);
            change.breaking = breaking::of_change(a, b, budget);
            summaries(Some(a), Some(b), &change, budget, diff);
        }
        (
            Some(Found {
                entry: Entry::Other(a),
                ..
            }),
            Some(Found {
                entry: Entry::Other(b),
                ..
            }),
        ) => {
            change.fields = fields::of_documents(&a.node, &b.node, hides_all, budget);
        }
        (
            Some(Found {
                entry: Entry::Object(a),
                ..
            }),
            None,
        ) => summaries(Some(a), None, &change, budget, diff),
        (
            None,
            Some(Found {
                entry: Entry::Object(b),
                ..
            }),
        ) => summaries(None, Some(b), &change, budget, diff),
        _ => {}
    }
    if let (Subject::Object(id), None) = (&change.subject, &change.new) {
        let old = match &old {
            Some(Found {
                entry: Entry::Object(old),
                ..
            }) => Some(old),
            _ => None,
        };
        change.breaking = breaking::removal::find(id, old);
    }
    for field in &mut change.fields {
        shift(&mut field.old_line, old_before);
        shift(&mut field.new_line, new_before);
    }
    for breaking in &mut change.breaking {
        shift(&mut breaking.line, new_before);
    }
    // What was read differs; what it says may be the same, in other units.
    let is_all = budget.more_fields == more_before;
    let is_same = is_both && is_all && change.fields.is_empty() && change.breaking.is_empty();
    if !is_same {
        diff.changes.push(change);
    }
    Ok(())
}

/// Turns a line of a document into one of its file.
fn shift(line: &mut u32, before: u32) {
    if *line > 0 {
        *line = line.saturating_add(before);
    }
}

/// Tells whether more is said of an object than that it is there or not.
fn has_summary(item: &Item) -> bool {
    matches!(&item.subject, Subject::Object(id) if is_crd(id) || grants::is_role(id)
        || bindings::is_binding(id) || breaking::removal::depends_on_content(id))
}

/// Adds what is said of some kinds by itself.
fn summaries(
    old: Option<&Object>,
    new: Option<&Object>,
    change: &Change,
    budget: &mut Budget,
    diff: &mut Diff,
) {
    let Some(id) = old.or(new).map(|object| &object.id) else {
        return;
    };
    let places = [change.old.clone(), change.new.clone()];
    if is_crd(id) {
        diff.crds.extend(crds::compare(old, new, &places));
    }
    if grants::is_role(id) {
        diff.grants
            .extend(grants::compare(old, new, &places, &mut budget.grants));
    }
    if bindings::is_binding(id) {
        diff.bindings.extend(bindings::compare(old, new, &places));
    }
}

#[cfg(test)]
mod tests;
