//! What is in a directory that is about to be replaced, and what of it would be lost.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};

use super::file::{list, open_directory, open_file};
use super::mark::{Comparison, Owner};
use crate::bundle::Files;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::escape::shown;

/// What tells a file from the one that it was, without reading it.
type Trace = (u64, i64, i64, u64, u32);

/// Everything in a directory but the directories that hold something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    entries: BTreeMap<PathBuf, Trace>,
}

/// What replacing a directory means for what is in it.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// What the new files do not have.
    pub(super) removed: Vec<String>,
    /// What somebody else put there or changed, among the removed or not.
    pub(super) foreign: Vec<String>,
    /// What somebody else put there or changed and the new files have with another content.
    pub(super) overwritten: Vec<String>,
    /// Whether no file in the directory says that a bundle put it there, as after a copy.
    pub(super) unrecorded: bool,
}

/// What the new files have under a path.
pub(super) enum Coming<'a> {
    Content(&'a Content),
    Nothing,
    /// A directory with something in it.
    Directory,
    /// Something or nothing; that is not known yet.
    Unknown,
}

impl Survey {
    /// Lists a directory, following no link. Fails with a conflict when another file system is mounted in it.
    pub(super) fn of(root: &OwnedFd, path: &Path) -> Result<Self> {
        let mut survey = Self::default();
        let device = fstat(root)
            .map_err(|error| Error::io("cannot look at", path, error.into()))?
            .st_dev;
        survey.list(root, Path::new(""), path, device)?;
        Ok(survey)
    }

    fn list(&mut self, fd: &OwnedFd, at: &Path, shown_at: &Path, device: u64) -> Result<()> {
        let cannot = |error: rustix::io::Errno| Error::io("cannot list", shown_at, error.into());
        let mut is_empty = true;
        for entry in list(fd).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            is_empty = false;
            let name = std::ffi::OsString::from_vec(name.to_vec());
            let (path, shown_path) = (at.join(&name), shown_at.join(&name));
            let cannot = |error: std::io::Error| Error::io("cannot look at", &shown_path, error);
            let stat = statat(fd, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| cannot(error.into()))?;
            if stat.st_dev != device {
                let place = shown(&shown_path.to_string_lossy());
                return Err(Error::conflict(format!(
                    "another file system is mounted at `{place}`"
                ))
                .file(shown_path.display()));
            }
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                let below = open_directory(fd, &name).map_err(cannot)?;
                self.list(&below, &path, &shown_path, device)?;
            } else {
                self.entries.insert(path, trace(&stat));
            }
        }
        if is_empty {
            let stat = fstat(fd).map_err(cannot)?;
            self.entries.insert(at.to_owned(), trace(&stat));
        }
        Ok(())
    }

    /// Tells whether there is nothing in the directory, not even an empty directory.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.keys().all(|path| path.as_os_str().is_empty())
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the paths of the regular files that nobody may execute: all that a bundle writes is such.
    pub(super) fn plain_files(&self) -> impl Iterator<Item = &Path> {
        self.entries.iter().filter_map(|(path, trace)| {
            let is_plain = kind(trace) == FileType::RegularFile && trace.4 & 0o111 == 0;
            is_plain.then_some(path.as_path())
        })
    }

    /// Tells whether there are these files, with this content, and nothing else.
    ///
    /// A file that cannot be read is not the same.
    pub(super) fn is(&self, root: &OwnedFd, files: &Files) -> bool {
        let mut comparison = Comparison::new();
        self.len() == files.len()
            && self.plain_files().count() == files.len()
            && files.iter().all(|(path, content)| {
                open_at(root, Path::new(path.as_str()))
                    .and_then(|file| comparison.holds(&file, content))
                    .unwrap_or(false)
            })
    }

    /// Compares what is there with what is to stand there, reading what has to be compared.
    ///
    /// A file that may not be read is somebody else's; one that cannot be read is an error.
    pub(super) fn losses<'a>(
        &self,
        root: &OwnedFd,
        shown_root: &Path,
        coming: &dyn Fn(&Path) -> Coming<'a>,
    ) -> Result<Losses> {
        let mut losses = Losses::default();
        let mut comparison = Comparison::new();
        let (mut unknown, mut known) = (false, false);
        for (path, trace) in &self.entries {
            let text = path.to_string_lossy().into_owned();
            let is_directory = kind(trace) == FileType::Directory;
            let new = match coming(path) {
                // A file is lost where a directory comes.
                Coming::Directory if !is_directory => Coming::Nothing,
                other => other,
            };
            let name = if is_directory {
                format!("{text}/")
            } else {
                text.clone()
            };
            let mut accounted = false;
            if kind(trace) == FileType::RegularFile {
                let owner = owner(root, path, &text, &mut comparison)
                    .map_err(|error| Error::io("cannot read", &shown_root.join(path), error))?;
                unknown |= owner == Owner::Unknown;
                known |= owner != Owner::Unknown;
                accounted = owner == Owner::Bundle
                    || comes_again(root, path, &new, &mut comparison)
                        .map_err(|error| Error::io("cannot read", &shown_root.join(path), error))?;
            }
            match (new, accounted) {
                (Coming::Unknown | Coming::Directory, _) | (Coming::Content(_), true) => {}
                (Coming::Nothing, true) => losses.removed.push(name),
                (Coming::Nothing, false) => {
                    losses.foreign.push(name.clone());
                    losses.removed.push(name);
                }
                (Coming::Content(_), false) => {
                    losses.foreign.push(name.clone());
                    losses.overwritten.push(name);
                }
            }
        }
        losses.unrecorded = unknown && !known;
        Ok(losses)
    }
}

/// Tells who put a file there; of one that may not be read nothing is known.
fn owner(
    root: &OwnedFd,
    path: &Path,
    text: &str,
    comparison: &mut Comparison,
) -> io::Result<Owner> {
    match open_at(root, path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Owner::Unknown),
        Err(error) => Err(error),
        Ok(file) => comparison.owner(text, &file),
    }
}

/// Tells whether a file comes again with the same bytes.
fn comes_again(
    root: &OwnedFd,
    path: &Path,
    new: &Coming<'_>,
    comparison: &mut Comparison,
) -> io::Result<bool> {
    let Coming::Content(content) = new else {
        return Ok(false);
    };
    match open_at(root, path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
        Ok(file) => comparison.holds(&file, content),
    }
}

fn trace(stat: &Stat) -> Trace {
    (
        stat.st_ino,
        stat.st_size,
        stat.st_mtime,
        stat.st_mtime_nsec,
        stat.st_mode,
    )
}

fn kind(trace: &Trace) -> FileType {
    FileType::from_raw_mode(trace.4)
}

/// Opens a file below an open directory, each component without following a link.
pub(super) fn open_at(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let mut directory: Option<OwnedFd> = None;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let at = directory.as_ref().unwrap_or(root);
        if names.peek().is_none() {
            return open_file(at, name);
        }
        directory = Some(open_directory(at, name)?);
    }
    Err(io::ErrorKind::NotFound.into())
}
