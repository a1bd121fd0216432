//! Directories on disk: what the author wrote, read into contents, and contents written out whole or not at all.
//!
//! Reading takes an immutable snapshot: every file is opened once, below a directory that is open already, without
//! following a link, and read once, so that what is validated, hashed and packed are the same bytes.
//!
//! Writing stages everything beside the destination and moves it there in one step, so that the destination is the
//! former one or the new one, wherever it is stopped. With [`WriteOptions::force`] a directory is exchanged for the new
//! one, and what was in it is deleted, but only if nothing of it is lost: each file that is written carries a *mark*, an
//! extended attribute with a hash over its path and content. A file without one, or that was edited since, is somebody
//! else's, unless the new bundle has the same bytes under its path, and without [`WriteOptions::prune`] the call is
//! refused. The marks lie outside the contents, so no archive can bring them; where the file system keeps none, or they
//! got lost in a copy (`git clone`, `cp -r`), every file counts as somebody else's. Files that nobody can account for are never deleted.

mod ahead;
mod channels;
mod destination;
mod file;
mod link;
mod look;
#[cfg(target_os = "linux")]
mod many;
mod mark;
mod origins;
mod place;
mod read;
mod staging;
mod survey;
mod tree;
mod walk;
mod write;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::bundle::Files;
use crate::error::Error;
use crate::path::BundlePath;
use crate::progress::Progress;

pub use ahead::{
    Ahead, Present, in_the_way, look_ahead, look_ahead_at_channels, look_ahead_at_file,
};
pub use channels::{Channels, read_channels};
pub use look::{Standing, look};
pub use origins::Origins;
pub use read::read;
pub use write::{write, write_file, write_file_unless_same, write_file_with};

/// How a source is read.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
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
    /// Whether what cannot be carried is collected in [`Source::refused`] instead of being an error.
    pub collect_refused: bool,
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
            collect_refused: false,
        }
    }
}

/// What was read from a source.
#[derive(Debug)]
pub struct Source {
    /// The files by their paths in the bundle; never none, unless something was refused.
    pub files: Files,
    /// Where they come from.
    pub origins: Origins,
    /// Whether the source has the layout of a bundle; if not, it is a bare directory, or one file, of manifests.
    pub declared: bool,
    /// What was there and is not in `files`, in the order of the paths.
    pub left_out: Vec<LeftOut>,
    /// Which files got another path, with the path they had in the source.
    pub renamed: Vec<(String, BundlePath)>,
    /// What cannot be carried, where it is collected: links, special files, keys, names that not every system can hold.
    pub refused: Vec<Error>,
}

/// Something in a source that is not carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The path in the source, raw, with a final `/` if it is a directory.
    pub path: String,
    /// The rule that left it out, such as ``built-in rule `.DS_Store` ``.
    pub rule: String,
}

/// The rule that leaves out what lies beside the two directories of a bundle.
pub const OUTSIDE: &str = "outside manifests/ and metadata/";

/// How something is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Whether something that is there already may be replaced.
    pub force: bool,
    /// Whether replacing a directory may delete files that no bundle put there, or that were changed since.
    pub prune: bool,
    /// Set by the caller to stop between two files, or two pieces of one; nothing is left then.
    pub interrupted: Option<Arc<AtomicBool>>,
    /// Is told how many files of a directory are written.
    pub progress: Progress,
}

/// What writing a directory did to what was there before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Whether there was a directory with something in it.
    pub replaced: bool,
    /// What was there and is there no longer; paths in the directory, raw, with a final `/` if it is a directory.
    pub removed: Vec<String>,
    /// Files that a bundle did not put there, or that were changed since, and whose content is the new bundle's now.
    pub overwritten: Vec<String>,
    /// Whether the directory had these files and nothing else, so that nothing was done.
    pub unchanged: bool,
    /// Whether the files are marked, so that they can be replaced without `prune` later.
    pub marked: bool,
}
