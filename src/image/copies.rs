//! The three copies of a bundle's metadata: the file, the labels and the annotations.
//!
//! Each consumer reads another one. The file wins; a strict reader reports where the others differ (spec/image.md, "Three copies").

use crate::metadata::key;
use crate::oci::{Annotations, differing_keys};
use crate::olm;

/// The copies that travel beside the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copies {
    /// The labels of the image config.
    pub labels: Annotations,
    /// The annotations of the image manifest; Docker's form has none.
    pub annotations: Annotations,
}

/// A key on which the copies do not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// The value in `metadata/annotations.yaml`.
    pub file: Option<String>,
    /// The value in the labels.
    pub label: Option<String>,
    /// The value in the annotations.
    pub annotation: Option<String>,
}

impl Copies {
    /// Returns the keys of this format on which the copies differ from the file.
    ///
    /// A copy without any key of the format is not there: Docker's form has no annotations, and builders annotate images with
    /// what they like. Of a bundle with OLM's keys alone, those are compared.
    pub fn differences(&self, file: &Annotations) -> Vec<Difference> {
        let is_olm = olm::is_olm(file.keys().map(String::as_str));
        let prefix = if is_olm { key::OLM_PREFIX } else { key::PREFIX };
        let mut keys = Vec::new();
        for copy in [&self.labels, &self.annotations] {
            if copy.keys().any(|key| key.starts_with(prefix)) {
                keys.extend(differing_keys(file, copy, prefix));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter()
            .map(|key| Difference {
                key: key.to_owned(),
                file: file.get(key).cloned(),
                label: self.labels.get(key).cloned(),
                annotation: self.annotations.get(key).cloned(),
            })
            .collect()
    }

    /// Tells whether one of the copies is that of a bundle, be it one of OLM.
    pub fn is_of_bundle(&self) -> bool {
        let keys = self.labels.keys().chain(self.annotations.keys());
        let mut keys = keys.map(String::as_str);
        keys.any(|k| matches!(k, key::MEDIATYPE | key::KEP_MEDIATYPE)) || self.is_olm()
    }

    /// Tells whether the copies have OLM's keys and none of this format: then they do not say which version it is.
    pub fn is_olm(&self) -> bool {
        let keys = self.labels.keys().chain(self.annotations.keys());
        olm::is_olm(keys.map(String::as_str))
    }

    /// Returns the copy that says most without the file: the labels, or the annotations where there are no labels.
    pub fn best(&self) -> &Annotations {
        if self.labels.contains_key(key::MEDIATYPE) {
            &self.labels
        } else {
            &self.annotations
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> Annotations {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    }

    #[test]
    fn only_keys_of_the_format_are_compared() {
        let file = map(&[(key::PACKAGE, "a"), ("org.opencontainers.image.title", "x")]);
        let copies = Copies {
            labels: map(&[(key::PACKAGE, "b")]),
            annotations: map(&[(key::PACKAGE, "a"), (key::VERSION, "1.0.0"), ("other", "y")]),
        };
        let keys: Vec<_> = copies
            .differences(&file)
            .into_iter()
            .map(|d| d.key)
            .collect();
        assert_eq!(keys, [key::PACKAGE, key::VERSION]);
        let other = map(&[("other", "y")]);
        for (labels, annotations) in [
            (file.clone(), Annotations::new()),
            (file.clone(), other.clone()),
            (other, file.clone()),
        ] {
            let copies = Copies {
                labels,
                annotations,
            };
            assert!(copies.differences(&file).is_empty(), "{copies:?}");
        }
        let name = crate::olm::key::PACKAGE;
        let olm = map(&[(name, "a"), ("other", "x")]);
        for (labels, annotations, differs) in [
            (&[(name, "a")], &[("other", "y")][..], false),
            (&[(name, "b")], &[("other", "x")], true),
            (&[(name, "a")], &[(name, "b")], true),
        ] {
            let copies = Copies {
                labels: map(labels),
                annotations: map(annotations),
            };
            assert!(copies.is_olm() && copies.is_of_bundle());
            assert_eq!(!copies.differences(&olm).is_empty(), differs);
        }
    }
}
