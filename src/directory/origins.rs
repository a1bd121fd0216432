//! Where the files of a bundle stand in its source, so that a finding names what an editor can open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::bundle::MANIFESTS;
use crate::escape::shown;
use crate::finding::Finding;
use crate::path::BundlePath;

/// The codes of findings whose message names another file of the bundle.
const NAMES_ANOTHER: [&str; 2] = ["object-duplicate", "min-operator-version"];

/// The paths of files in a bundle, with those in its source.
#[derive(Debug, Clone, Default)]
pub struct Origins {
    /// The source, as the caller named it.
    root: PathBuf,
    /// Whether the source has the layout of a bundle.
    declared: bool,
    files: BTreeMap<BundlePath, PathBuf>,
}

impl Origins {
    /// Takes the source, and each file with its path in it.
    pub(super) fn new(root: &Path, declared: bool, files: BTreeMap<BundlePath, PathBuf>) -> Self {
        let root = root.to_owned();
        Self {
            root,
            declared,
            files,
        }
    }

    /// Takes one file that comes from somewhere.
    pub fn of_file(path: BundlePath, origin: &Path) -> Self {
        Self::new(origin, false, BTreeMap::from([(path, PathBuf::new())]))
    }

    /// Returns where a path of the bundle stands; nothing for what is in no source, as the metadata of a bare directory.
    pub fn of(&self, path: &str) -> Option<PathBuf> {
        let below = self.below(path)?;
        Some(if below.as_os_str().is_empty() {
            self.root.clone()
        } else {
            self.root.join(below)
        })
    }

    /// Returns where a path of the bundle stands, seen from the source; the name alone where the source is the file itself.
    pub fn within(&self, path: &str) -> Option<PathBuf> {
        let below = self.below(path)?;
        if below.as_os_str().is_empty() {
            return self.root.file_name().map(PathBuf::from);
        }
        Some(below.to_owned())
    }

    fn below<'p>(&'p self, path: &'p str) -> Option<&'p Path> {
        let file = path
            .parse()
            .ok()
            .and_then(|path: BundlePath| self.files.get(&path).map(PathBuf::as_path));
        // A directory, or a file that is missing where the layout wants it.
        file.or_else(|| {
            if self.declared {
                return Some(Path::new(path));
            }
            match path.strip_prefix(MANIFESTS)? {
                "" => Some(Path::new("")),
                below => below.strip_prefix('/').map(Path::new),
            }
        })
    }

    /// Puts the places in the source into findings; their order is no longer that of the places then.
    pub fn locate(&self, findings: &mut [Finding]) {
        for finding in findings.iter_mut() {
            if NAMES_ANOTHER.contains(&finding.code) {
                self.locate_in_message(&mut finding.message);
            }
            let Some(origin) = self.of(&finding.file) else {
                continue;
            };
            let origin = origin.to_string_lossy().into_owned();
            if !finding.file.is_empty() && origin != finding.file {
                finding.bundle_path = Some(std::mem::replace(&mut finding.file, origin));
            }
        }
    }

    /// Replaces the path that a message has as one of its words.
    fn locate_in_message(&self, message: &mut String) {
        let words = message.split(' ').map(|word| {
            let bare = word.trim_matches(['`', ',', ':']);
            match self.of(bare).filter(|_| bare.starts_with(MANIFESTS)) {
                Some(origin) => word.replace(bare, &shown(&origin.to_string_lossy())),
                None => word.to_owned(),
            }
        });
        *message = words.collect::<Vec<_>>().join(" ");
    }
}
