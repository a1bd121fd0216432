//! Making the files of a bundle in a staging directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fstatvfs, fsync, mkdirat, openat};
use rustix::io::retry_on_intr;

use super::destination::Destination;
use super::file::open_directory;
#[cfg(target_os = "linux")]
use super::many;
use super::mark::Mark;
use super::staging::{MADE, Staging};
use crate::bundle::Files;
use crate::content::{CHUNK, Content};
use crate::error::{Error, Result};
use crate::path::BundlePath;

/// Up to how many files are put on disk one by one.
///
/// Measured on ext4 with a busy disk: an `fsync` for each of 2,100 files takes 10 to 17 s, one `syncfs` 0.2 s. But `syncfs`
/// writes out what everybody else on the file system has pending too, so a few files are better served alone.
const SYNCED_ALONE: usize = 32;

/// Makes the whole directory in the staging directory and puts it on disk; says whether all files are marked.
///
/// `go_on` is asked before each file and stops the work with its error.
pub(super) fn make(
    files: &Files,
    destination: &Destination,
    staging: &Staging<'_>,
    go_on: impl Fn() -> Result<()>,
) -> Result<bool> {
    let failed = |name: &str, error| failed(files, destination, name, error);
    #[cfg(target_os = "linux")]
    if files.len() > SYNCED_ALONE {
        return many::make(files, staging, go_on, &failed);
    }
    let mut tree = Tree::new(true);
    let mut filling = Filling::new(true);
    tree.enter(&staging.fd, OsStr::new(MADE))
        .map_err(|error| failed("", error))?;
    for (path, content) in files {
        go_on()?;
        tree.file(path)
            .and_then(|file| filling.fill(file, path, content))
            .map_err(|error| failed(path.as_str(), error))?;
    }
    tree.leave_to(0).map_err(|error| failed("", error))?;
    Ok(filling.marked)
}

/// The directory that is being made, open from its root to where the last file was made.
pub(super) struct Tree {
    open: Vec<(String, OwnedFd)>,
    /// Whether each directory is put on disk when it is left.
    alone: bool,
}

impl Tree {
    pub(super) fn new(alone: bool) -> Self {
        Self {
            open: Vec::new(),
            alone,
        }
    }

    /// Makes a directory and goes into it.
    pub(super) fn enter(&mut self, parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
        let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        retry_on_intr(|| mkdirat(parent, name, mode))?;
        let fd = open_directory(parent, name)?;
        self.open.push((name.to_string_lossy().into_owned(), fd));
        Ok(())
    }

    /// Closes directories until `count` are open, the root among them; nothing more is made in the others.
    fn leave_to(&mut self, count: usize) -> io::Result<()> {
        while self.open.len() > count {
            let Some((_, fd)) = self.open.pop() else {
                break;
            };
            if self.alone {
                retry_on_intr(|| fsync(&fd))?;
            }
        }
        Ok(())
    }

    /// Makes a file, empty, and the directories that it is in. Paths come in their order.
    pub(super) fn file(&mut self, path: &BundlePath) -> io::Result<OwnedFd> {
        let directories: Vec<&str> = match path.as_str().rsplit_once('/') {
            Some((directories, _)) => directories.split('/').collect(),
            None => Vec::new(),
        };
        let common = directories
            .iter()
            .zip(self.open.iter().skip(1))
            .take_while(|(wanted, (open, _))| *wanted == open)
            .count();
        // Paths come in order, so a directory that is left is never wanted again.
        self.leave_to(common.saturating_add(1))?;
        for name in directories.iter().skip(common) {
            let Some((_, parent)) = self.open.last() else {
                break;
            };
            let parent = parent.try_clone()?;
            self.enter(&parent, OsStr::new(name))?;
        }
        let (_, directory) = self.open.last().ok_or(io::ErrorKind::NotFound)?;
        create(directory, OsStr::new(path.file_name()))
    }
}

/// Gives files their content and their mark.
pub(super) struct Filling {
    buffer: Vec<u8>,
    /// Whether each file is put on disk.
    alone: bool,
    /// Whether all files have their mark so far.
    pub(super) marked: bool,
}

impl Filling {
    pub(super) fn new(alone: bool) -> Self {
        Self {
            buffer: vec![0; CHUNK],
            alone,
            marked: true,
        }
    }

    pub(super) fn fill(
        &mut self,
        fd: OwnedFd,
        path: &BundlePath,
        content: &Content,
    ) -> io::Result<()> {
        let mut file = File::from(fd);
        let mut mark = Mark::begin(path.as_str());
        if let Content::Bytes(bytes) = content {
            mark.update(bytes);
            file.write_all(bytes)?;
        } else {
            let mut position = 0_u64;
            while position < content.len() {
                let n = content.read_at(&mut self.buffer, position)?;
                let bytes = self.buffer.get(..n).unwrap_or_default();
                mark.update(bytes);
                file.write_all(bytes)?;
                position = position.saturating_add(n as u64);
            }
        }
        let fd = OwnedFd::from(file);
        // Where the file system keeps no attributes, the first file says so for all.
        self.marked = self.marked && mark.put(&fd).is_ok();
        if self.alone {
            retry_on_intr(|| fsync(&fd))?;
        }
        Ok(())
    }
}

/// The error about a file or directory that cannot be made.
fn failed(files: &Files, destination: &Destination, name: &str, error: io::Error) -> Error {
    let full = error.kind() == io::ErrorKind::StorageFull;
    let failure = Error::io("cannot write", &destination.path.join(name), error);
    let free = full.then(|| fstatvfs(&destination.parent).ok()).flatten();
    match free {
        Some(free) => {
            let needed = files
                .values()
                .fold(0_u64, |sum, content| sum.saturating_add(content.len()));
            let free = free.f_bavail.saturating_mul(free.f_frsize);
            failure
                .expected(format!("{needed} bytes for all files"))
                .found(format!("{free} bytes free"))
        }
        None => failure,
    }
}

/// Makes a file in an open directory, where there must be none.
pub(super) fn create(directory: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    Ok(retry_on_intr(|| openat(directory, name, flags, mode))?)
}
