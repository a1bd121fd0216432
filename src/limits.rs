//! Ceilings: the largest of everything that comes from outside (spec/limits.md).
//!
//! One table. The command line makes a flag of each row that can be raised, the specification's table is compared
//! with it by a test, and an error about a limit names the row.

use std::ops::Index;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Declares the ceilings: name, default, whether a flag raises it, and what it bounds.
macro_rules! ceilings {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $default:expr, $raise:literal;)+) => {
        /// Something that comes from outside and has a largest size.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Ceiling {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Ceiling {
            /// All ceilings, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the name as in `--max-NAME` and in errors.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the default value.
            pub fn default_value(self) -> u64 {
                match self { $(Self::$name => $default,)+ }
            }

            /// Tells whether a caller may raise it; the others are part of the format.
            pub fn can_be_raised(self) -> bool {
                match self { $(Self::$name => $raise,)+ }
            }

            /// Says what it bounds, for help texts and the specification.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

ceilings! {
    /// Bytes of an image manifest or index.
    Manifest = "manifest", 4 * MIB, true;
    /// Bytes of an image config.
    Config = "config", 4 * MIB, true;
    /// Layers of an image.
    Layers = "layers", 128, true;
    /// Annotations of a manifest or descriptor, and labels of a config.
    Annotations = "annotations", 1_000, true;
    /// Bytes of one annotation or label, key and value.
    Annotation = "annotation", 64 * KIB, true;
    /// Manifests that an index lists.
    IndexEntries = "index-entries", 1_000, true;
    /// Levels of indexes below indexes.
    GraphDepth = "graph-depth", 4, false;
    /// Manifests that one copy walks over.
    GraphNodes = "graph-nodes", 4_000, true;
    /// Tags of a repository, and names in its list that are none.
    Tags = "tags", 100_000, true;
    /// Pages of a listing.
    Pages = "pages", 1_000, true;
    /// Referrers of a manifest.
    Referrers = "referrers", 1_000, true;
    /// Bytes of one blob.
    Blob = "blob", 1024 * MIB, true;
    /// Bytes of all files of a bundle once unpacked.
    Unpacked = "unpacked", 512 * MIB, true;
    /// Unpacked bytes for each packed byte, after the first 8 MiB.
    Ratio = "ratio", 200, true;
    /// Files and directories of a bundle.
    Entries = "entries", 10_000, true;
    /// Bytes of one file.
    File = "file", 64 * MIB, true;
    /// Bytes of a path.
    Path = "path", 1_024, false;
    /// Bytes of one component of a path.
    PathComponent = "path-component", 255, false;
    /// Components of a path.
    PathDepth = "path-depth", 32, false;
    /// Bytes of one extension header of an archive.
    ArchiveHeader = "archive-header", 64 * KIB, false;
    /// Bytes of extension headers in a row.
    ArchiveHeaders = "archive-headers", MIB, false;
    /// Bytes of the header fields of a gzip stream.
    GzipHeader = "gzip-header", 64 * KIB, false;
    /// Bytes of a YAML document.
    Yaml = "yaml", 16 * MIB, true;
    /// Documents of a YAML file.
    YamlDocuments = "yaml-documents", 100_000, true;
    /// Nodes of a YAML document, aliases counted each time.
    YamlNodes = "yaml-nodes", 250_000, true;
    /// Levels of nesting of a YAML document.
    YamlDepth = "yaml-depth", 64, false;
    /// Objects of a bundle.
    Objects = "objects", 100_000, true;
    /// Images that the objects of a bundle name.
    Images = "images", 10_000, true;
    /// Levels of nesting of a JSON document.
    JsonDepth = "json-depth", 64, false;
    /// Bytes of a token service's answer.
    Token = "token", 64 * KIB, false;
    /// Bytes of a registry's error answer that are read.
    ErrorBody = "error-body", 64 * KIB, false;
    /// Bytes of one page of a listing.
    Page = "page", 4 * MIB, false;
    /// Redirects that one request follows.
    Redirects = "redirects", 10, false;
    /// Bytes of a credential file.
    CredentialFile = "credential-file", MIB, false;
    /// Bytes that a credential helper may print.
    Helper = "helper", 64 * KIB, false;
    /// Bytes of all ignore files.
    IgnoreFile = "ignore-file", 64 * KIB, true;
}

/// Unpacked bytes that are allowed before [`Ceiling::Ratio`] is looked at.
pub const RATIO_FREE: u64 = 8 * MIB;

/// The ceilings in force: `limits[Ceiling::Entries]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    values: Vec<u64>,
}

impl Limits {
    /// Sets one ceiling.
    pub fn set(&mut self, ceiling: Ceiling, value: u64) {
        if let Some(slot) = self.values.get_mut(ceiling as usize) {
            *slot = value;
        }
    }

    /// Returns these limits with one ceiling set.
    #[must_use]
    pub fn with(mut self, ceiling: Ceiling, value: u64) -> Self {
        self.set(ceiling, value);
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            values: Ceiling::ALL.iter().map(|c| c.default_value()).collect(),
        }
    }
}

impl Index<Ceiling> for Limits {
    type Output = u64;

    fn index(&self, ceiling: Ceiling) -> &u64 {
        // `values` has one slot for each ceiling; no value would mean no allowance.
        self.values.get(ceiling as usize).unwrap_or(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ceiling_has_its_default_and_can_be_set() {
        let limits = Limits::default();
        for ceiling in Ceiling::ALL {
            assert_eq!(
                limits[*ceiling],
                ceiling.default_value(),
                "{}",
                ceiling.name()
            );
            assert!(ceiling.about().ends_with('.'));
        }
        let limits = limits.with(Ceiling::Entries, 7);
        assert_eq!(limits[Ceiling::Entries], 7);
        assert_eq!(limits[Ceiling::File], 64 * MIB);
    }

    #[test]
    fn paths_have_one_limit_written_twice() {
        assert_eq!(Ceiling::Path.default_value(), crate::path::PATH_MAX as u64);
        assert_eq!(
            Ceiling::PathComponent.default_value(),
            crate::path::COMPONENT_MAX as u64
        );
        assert_eq!(
            Ceiling::PathDepth.default_value(),
            crate::path::DEPTH_MAX as u64
        );
    }
}
