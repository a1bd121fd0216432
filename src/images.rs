//! The container images that manifests name (spec/images.md): which, how sure that is, and where each is named.
//!
//! An image is *certain* where an API says that the field holds one, and *likely* where a text only looks like one. Files
//! are read one at a time. Nothing here asks a registry, and nothing is written into a manifest.

mod collect;
mod keys;
mod known;
mod kustomize;
mod lock;
mod name;
mod text;
mod walk;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::bundle::{self, Files, MANIFESTS};
use crate::content::Content;
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};
use crate::objects::{
    Entry, ObjectId, What, entries, is_kustomization, is_manifest_name, read_template,
};
use crate::path::BundlePath;
use crate::reference::Reference;

pub use keys::speaks_of_images;
pub use known::{FIELDS, SPOKEN_OF};
pub use lock::{LOCK, Lock, LockFault, Pin};
pub use name::full_name;

use collect::Collector;
use walk::Walk;

/// How sure it is that something is an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grade {
    /// The text looks like an image, in a place whose meaning is not known.
    Likely,
    /// It stands where an API has an image.
    Certain,
}

impl Grade {
    /// Returns the word that people and machines see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where something is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as a path in the bundle.
    pub file: BundlePath,
    /// The line in it, from 1.
    pub line: u32,
    /// The object, where it is one.
    pub object: Option<Arc<ObjectId>>,
    /// The path in the object or document, such as `spec.containers[0].image`; a long one is cut.
    pub path: String,
    /// The text that names the image there.
    pub written: String,
    /// How sure it is there.
    pub grade: Grade,
}

/// A container image, and every place that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerImage {
    /// Its full name: with registry, and with a tag unless it has a digest only.
    pub reference: Reference,
    /// The surest of its places.
    pub grade: Grade,
    /// The places, by file and line.
    pub places: Vec<Place>,
    /// How many more places there are than are kept.
    pub more: usize,
}

impl ContainerImage {
    /// Returns the image as it is written; where that is done in several ways, the first in the order of bytes.
    pub fn written(&self) -> &str {
        let written = self.places.iter().map(|place| place.written.as_str());
        written.min().unwrap_or_default()
    }

    /// Returns all ways in which it is written.
    pub fn spellings(&self) -> BTreeSet<&str> {
        self.places.iter().map(|p| p.written.as_str()).collect()
    }
}

/// A place for an image in which none is named yet: a template, a variable, or a text that is no reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unnamed {
    /// Where, and what stands there.
    pub place: Place,
    /// What it is instead of an image.
    pub why: String,
}

/// A document in which no image could be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The file, as a path in the bundle.
    pub file: BundlePath,
    /// The line at which reading stopped, from 1; 0 for the file as a whole.
    pub line: u32,
    /// Why: a lower-case sentence, escaped.
    pub why: String,
}

/// What was found in some files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory {
    /// The images, in the order of [`ContainerImage::written`].
    pub images: Vec<ContainerImage>,
    /// Places for images without one, by file and line.
    pub unnamed: Vec<Unnamed>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

impl Inventory {
    /// Returns how many images have a grade.
    pub fn count(&self, grade: Grade) -> usize {
        self.images.iter().filter(|i| i.grade == grade).count()
    }
}

/// Finds the images that the files below `manifests/` name; bounded as reading objects is.
///
/// # Errors
///
/// [`Kind::Limit`](crate::Kind::Limit) for more than [`Ceiling::Images`], and content that cannot be read. Documents
/// that are no YAML are in [`Inventory::unread`].
pub fn collect(files: &Files, limits: &Limits) -> Result<Inventory> {
    collect_with(files, limits, bundle::has_placeholders(files, limits)?)
}

/// Finds images as [`collect`] does; whether an operator fills placeholders is said, and not looked for in the metadata.
pub fn collect_with(files: &Files, limits: &Limits, fills_placeholders: bool) -> Result<Inventory> {
    let mut collector = Collector::new(limits);
    for (path, content) in files {
        if path.strip_prefix(MANIFESTS).is_none() || !is_read(path.file_name()) {
            continue;
        }
        let bytes = match content.len() {
            length if length > limits[Ceiling::File] => {
                collector.unread(path, 0, "is larger than the ceiling on a file");
                continue;
            }
            _ => read(path, content)?,
        };
        let is_template = fills_placeholders && bytes.windows(2).any(|two| two == b"{{");
        let name = path.file_name();
        if is_template {
            let mut faults = false;
            read_template(name, &bytes, limits, |entry| {
                faults |= matches!(entry, Entry::Fault(_));
                look(&entry, path, limits, &mut collector);
            });
            if faults {
                // Filled it may be YAML; until then it is text.
                let text = String::from_utf8_lossy(&bytes);
                Walk::new(path, None, Grade::Likely, limits, &mut collector).lines(&text);
            }
        } else {
            for entry in entries(name, &bytes, limits) {
                if let Entry::Fault(fault) = &entry {
                    collector.unread(path, fault.line, &fault.message);
                }
                look(&entry, path, limits, &mut collector);
            }
        }
        collector.check()?;
    }
    collector.finish()
}

/// Looks at what stands in a file.
fn look(entry: &Entry, path: &BundlePath, limits: &Limits, collector: &mut Collector) {
    match entry {
        Entry::Fault(_) => {}
        Entry::Object(object) => {
            let grade = known::highest(&object.id);
            let id = Arc::new(object.id.clone());
            Walk::new(path, Some(id), grade, limits, collector).object(&object.node);
        }
        Entry::Other(other) if other.what == What::Kustomization => {
            kustomize::look(&other.node, path, limits, collector);
        }
        Entry::Other(other) if other.what == What::KustomizeSettings => {}
        Entry::Other(other) => {
            Walk::new(path, None, Grade::Likely, limits, collector).any(&other.node);
        }
    }
}

/// Tells whether files of a name are read as YAML or JSON.
fn is_read(name: &str) -> bool {
    is_kustomization(name) || is_manifest_name(name)
}

fn read(path: &BundlePath, content: &Content) -> Result<bytes::Bytes> {
    content
        .to_bytes()
        .map_err(|source| Error::io("cannot read", path.as_str().as_ref(), source))
}

#[cfg(test)]
mod tests;
