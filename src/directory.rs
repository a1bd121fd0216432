//! Directories on disk: what the author wrote, read into contents, and contents written out whole or not at all.
//!
//! Reading takes an immutable snapshot: every file is opened once, below a directory that is open already, without
//! following a link, and read once, so that what is validated, hashed and packed are the same bytes.

mod file;
mod link;
mod read;
mod walk;

use std::path::PathBuf;

use crate::bundle::Files;
use crate::path::BundlePath;

pub use read::read;

/// How a source is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// More patterns of what to leave out, in git's syntax, relative to the source.
    pub ignore: Vec<String>,
    /// Patterns of what no rule may leave out, in the same syntax. Only this lets a private key or kubeconfig in.
    pub include: Vec<String>,
    /// Whether the built-in rules apply.
    pub built_in_rules: bool,
    /// Whether links that lead to something inside the source are followed.
    pub resolve_symlinks: bool,
    /// Directories outside the source to which links may lead as well; naming one follows links.
    pub symlink_roots: Vec<PathBuf>,
    /// Whether files in sub-directories of the manifests are carried as `sub-file.yaml`.
    pub flatten: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            ignore: Vec::new(),
            include: Vec::new(),
            built_in_rules: true,
            resolve_symlinks: false,
            symlink_roots: Vec::new(),
            flatten: false,
        }
    }
}

/// What was read from a source.
#[derive(Debug)]
pub struct Source {
    /// The files by their paths in the bundle; never none.
    pub files: Files,
    /// Whether the source has the layout of a bundle; if not, it is a bare directory, or one file, of manifests.
    pub declared: bool,
    /// What was there and is not in `files`, in the order of the paths.
    pub left_out: Vec<LeftOut>,
    /// Which files got another path, with the path they had in the source.
    pub renamed: Vec<(String, BundlePath)>,
}

/// Something in a source that is not carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The path in the source, raw, with a final `/` if it is a directory.
    pub path: String,
    /// The rule that left it out, such as ``built-in rule `.DS_Store` ``.
    pub rule: String,
}
