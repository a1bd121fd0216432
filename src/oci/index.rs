//! Image indexes: lists of manifests, used for several platforms, for referrers and for channels.

use serde::{Deserialize, Serialize};

use super::{
    Annotations, Descriptor, check_annotations, check_media_type, media_type, nullable, write,
};
use crate::error::{Error, Result};
use crate::limits::{Ceiling, Limits};

/// A list of manifests, OCI's image index or Docker's manifest list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// Free key-value pairs.
    #[serde(
        default,
        skip_serializing_if = "Annotations::is_empty",
        deserialize_with = "nullable"
    )]
    pub annotations: Annotations,
    /// What kind of artifact this is; never written, accepted on reading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The manifests.
    #[serde(deserialize_with = "nullable")]
    pub manifests: Vec<Descriptor>,
    /// The media type of the index itself.
    #[serde(default)]
    pub media_type: String,
    /// Always 2.
    pub schema_version: u32,
    /// The manifest that this one refers to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
}

impl Index {
    /// Makes an index of some manifests.
    pub fn new(manifests: Vec<Descriptor>) -> Self {
        Self {
            annotations: Annotations::new(),
            artifact_type: None,
            manifests,
            media_type: media_type::INDEX.to_owned(),
            schema_version: 2,
            subject: None,
        }
    }

    /// Writes the index; equal indexes have equal bytes.
    pub fn write(&self) -> Result<Vec<u8>> {
        write(self)
    }

    /// Checks the numbers and sizes against the ceilings.
    pub(super) fn check(&self, limits: &Limits) -> Result<()> {
        let entries = self.manifests.len() as u64;
        if entries > limits[Ceiling::IndexEntries] {
            return Err(Error::limit(
                Ceiling::IndexEntries,
                limits[Ceiling::IndexEntries],
                entries,
            ));
        }
        check_annotations(&self.annotations, limits)?;
        for descriptor in self.manifests.iter().chain(&self.subject) {
            check_media_type(&descriptor.media_type)?;
            check_annotations(&descriptor.annotations, limits)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Document;
    use super::*;
    use crate::error::Kind;

    fn index(entries: usize) -> Index {
        Index::new(vec![Descriptor::of(media_type::MANIFEST, b"{}"); entries])
    }

    fn read(index: &Index, limits: &Limits) -> Result<Document> {
        Document::parse(&index.write().unwrap(), "", limits)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let index = index(2);
        let read = read(&index, &Limits::default()).unwrap();
        assert_eq!(read, Document::Index(index));
    }

    #[test]
    fn an_index_has_as_many_entries_as_it_may() {
        let limits = Limits::default().with(Ceiling::IndexEntries, 2);
        assert!(read(&index(1), &limits).is_ok());
        assert!(read(&index(2), &limits).is_ok());
        for entries in [3, 10] {
            let error = read(&index(entries), &limits).unwrap_err();
            assert_eq!(error.kind(), Kind::Limit);
        }
    }

    #[test]
    fn every_descriptor_of_an_index_is_checked() {
        let limits = Limits::default().with(Ceiling::Annotations, 1);
        let annotations: Annotations = ["a", "b"].map(|key| (key.into(), String::new())).into();
        let mut annotated = index(1);
        annotated.annotations.clone_from(&annotations);
        let mut below = index(2);
        below.manifests[1].annotations = annotations;
        for index in [annotated, below] {
            assert_eq!(read(&index, &limits).unwrap_err().kind(), Kind::Limit);
        }
        let mut nameless = index(2);
        nameless.manifests[1].media_type = "x".into();
        let mut about = index(0);
        about.subject = Some(Descriptor::of("x", b""));
        for index in [nameless, about] {
            assert_eq!(read(&index, &limits).unwrap_err().kind(), Kind::Unsafe);
        }
    }
}
