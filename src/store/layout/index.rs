//! `index.json` of a layout: which manifests are in it and what they are called (image-spec, "Image Layout").

use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::json;
use crate::limits::Limits;
use crate::oci::{Annotations, Descriptor, Document, Index, ManifestBlob};
use crate::reference::Entry;
use crate::store::Name;
use crate::tag::Tag;

/// The file that says that a directory is a layout.
pub(in crate::store) const LAYOUT_FILE: &str = "oci-layout";
/// What it holds.
pub(in crate::store) const LAYOUT_TEXT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;
/// The annotation that names an entry.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The index of a layout.
#[derive(Debug, Clone)]
pub(in crate::store) struct LayoutIndex(Index);

impl Default for LayoutIndex {
    fn default() -> Self {
        Self(Index::new(Vec::new()))
    }
}

/// Checks the file that says which version of the layout this is.
pub(in crate::store) fn check_layout_file(text: &[u8], limits: &Limits) -> Result<()> {
    let value = json::parse(LAYOUT_FILE, text, limits)?;
    match value
        .get("imageLayoutVersion")
        .and_then(serde_json::Value::as_str)
    {
        Some("1.0.0") => Ok(()),
        Some(other) => Err(Error::invalid(format!(
            "OCI layout of version `{}`, and only 1.0.0 is known",
            shown(other)
        ))),
        None => Err(Error::invalid(format!(
            "no OCI layout: `{LAYOUT_FILE}` has no `imageLayoutVersion`"
        ))),
    }
}

impl LayoutIndex {
    /// The file's name.
    pub(in crate::store) const FILE: &'static str = "index.json";

    /// Reads the file.
    pub(in crate::store) fn parse(bytes: &[u8], limits: &Limits) -> Result<Self> {
        match Document::parse(bytes, crate::oci::media_type::INDEX, limits)? {
            Document::Index(index) => Ok(Self(index)),
            Document::Manifest(_) => Err(Error::invalid("`index.json` is no index")),
        }
    }

    /// Writes the file.
    pub(in crate::store) fn write(&self) -> Result<Vec<u8>> {
        self.0.write()
    }

    /// Returns all entries.
    pub(in crate::store) fn manifests(&self) -> &[Descriptor] {
        &self.0.manifests
    }

    /// Returns the entry that has a name.
    ///
    /// # Errors
    ///
    /// [`Kind::Invalid`] for a name that different images have: readers would take different ones.
    pub(in crate::store) fn named(&self, tag: &Tag) -> Result<Option<&Descriptor>> {
        let is_named = |entry: &&Descriptor| name_of(entry) == Some(tag.as_str());
        let mut found = self.0.manifests.iter().filter(is_named);
        let first = found.next();
        match found.find(|other| first.is_some_and(|first| first.digest != other.digest)) {
            None => Ok(first),
            Some(_) => Err(Error::invalid(format!(
                "`{}` gives two images the name `{tag}`",
                Self::FILE
            ))
            .hint("name the image that is meant by its digest: `@sha256:…`")),
        }
    }

    /// Returns the names that are tags; other names cannot be asked for and are left out.
    pub(in crate::store) fn tags(&self) -> Vec<Tag> {
        let mut tags: Vec<Tag> = self
            .0
            .manifests
            .iter()
            .filter_map(|entry| name_of(entry)?.parse().ok())
            .collect();
        tags.sort();
        tags.dedup();
        tags
    }

    /// Lets an entry be found by its name, its digest, or because it is the only one.
    pub(in crate::store) fn select(&self, wanted: &Entry, place: &str) -> Result<Name> {
        if let Some(digest) = wanted.digest {
            return Ok(Name::Digest(digest));
        }
        if let Some(tag) = &wanted.name {
            return Ok(Name::Tag(tag.clone()));
        }
        match self.0.manifests.as_slice() {
            [] => Err(Error::new(
                Kind::NotFound,
                format!("{} holds no image", shown(place)),
            )),
            [only] => Ok(match name_of(only).and_then(|name| name.parse().ok()) {
                Some(tag) => Name::Tag(tag),
                None => Name::Digest(only.digest),
            }),
            several => {
                let tags: Vec<String> = self
                    .tags()
                    .iter()
                    .take(10)
                    .map(ToString::to_string)
                    .collect();
                let error = Error::usage(format!(
                    "{} holds {} images, and none is named",
                    shown(place),
                    several.len()
                ));
                Err(match tags.first() {
                    Some(first) => error.hint(format!(
                        "write `{}:{first}`; there are: {}",
                        shown(place),
                        tags.join(", ")
                    )),
                    None => error.hint("name one by its digest: `@sha256:…`"),
                })
            }
        }
    }

    /// Adds a manifest: under a name, which then names nothing else, or without one if it is not there yet.
    pub(in crate::store) fn insert(&mut self, manifest: &ManifestBlob, tag: Option<&Tag>) {
        let entries = &mut self.0.manifests;
        let digest = manifest.descriptor.digest;
        // What an index lists is found through it.
        if let Document::Index(index) = &manifest.document {
            entries.retain(|entry| {
                name_of(entry).is_some()
                    || index
                        .manifests
                        .iter()
                        .all(|child| child.digest != entry.digest)
            });
        }
        match tag {
            None if entries.iter().any(|entry| entry.digest == digest) => return,
            None => {}
            Some(tag) => entries.retain(|entry| {
                let name = name_of(entry);
                name != Some(tag.as_str()) && (name.is_some() || entry.digest != digest)
            }),
        }
        entries.push(entry(&manifest.descriptor, tag));
    }
}

/// Makes an entry of the index.
pub(in crate::store) fn entry(descriptor: &Descriptor, tag: Option<&Tag>) -> Descriptor {
    let mut entry = Descriptor::new(&descriptor.media_type, descriptor.digest, descriptor.size);
    if let Some(tag) = tag {
        entry.annotations = Annotations::from([(REF_NAME.to_owned(), tag.to_string())]);
    }
    entry
}

/// Returns the name of an entry.
fn name_of(entry: &Descriptor) -> Option<&str> {
    entry.annotations.get(REF_NAME).map(String::as_str)
}
