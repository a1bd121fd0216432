//! Making the files of a bundle in a staging directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, fstatvfs, fsync, mkdirat, openat};
use rustix::io::retry_on_intr;

use super::destination::Destination;
use super::file::open_directory;
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
    let alone = files.len() <= SYNCED_ALONE || !cfg!(target_os = "linux");
    let mut tree = Tree {
        destination,
        open: Vec::new(),
        needed: files
            .values()
            .fold(0, |sum, content| sum.saturating_add(content.len())),
        alone,
        marked: true,
        buffer: vec![0; CHUNK],
    };
    tree.enter(&staging.fd, OsStr::new(MADE))?;
    for (path, content) in files {
        go_on()?;
        tree.file(path, content)?;
    }
    tree.leave_to(0)?;
    #[cfg(target_os = "linux")]
    if !alone {
        retry_on_intr(|| rustix::fs::syncfs(&staging.fd))
            .map_err(|error| tree.failed("", error.into()))?;
    }
    Ok(tree.marked)
}

/// The directory that is being made, open from its root to where the last file was written.
struct Tree<'a> {
    destination: &'a Destination,
    open: Vec<(String, OwnedFd)>,
    needed: u64,
    alone: bool,
    marked: bool,
    buffer: Vec<u8>,
}

impl Tree<'_> {
    /// Makes a directory and goes into it.
    fn enter(&mut self, parent: &OwnedFd, name: &OsStr) -> Result<()> {
        let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        let made = retry_on_intr(|| mkdirat(parent, name, mode))
            .map_err(io::Error::from)
            .and_then(|()| open_directory(parent, name));
        let text = name.to_string_lossy().into_owned();
        let fd = made.map_err(|error| {
            let above = self.open.iter().skip(1).map(|(name, _)| name.as_str());
            // The root has a name in the staging directory only.
            let own = Some(text.as_str()).filter(|_| !self.open.is_empty());
            self.failed(&above.chain(own).collect::<Vec<_>>().join("/"), error)
        })?;
        self.open.push((text, fd));
        Ok(())
    }

    /// Closes directories until `count` are open, the root among them; nothing more is written into the others.
    fn leave_to(&mut self, count: usize) -> Result<()> {
        while self.open.len() > count {
            let Some((name, fd)) = self.open.pop() else {
                break;
            };
            if self.alone {
                retry_on_intr(|| fsync(&fd)).map_err(|error| self.failed(&name, error.into()))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &BundlePath, content: &Content) -> Result<()> {
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
            let Some(parent) = self.open.last().map(|(_, fd)| fd.try_clone()) else {
                break;
            };
            let parent = parent.map_err(|error| self.failed(path.as_str(), error))?;
            self.enter(&parent, OsStr::new(name))?;
        }
        let Some((_, directory)) = self.open.last() else {
            return Ok(());
        };
        let written = create(directory, OsStr::new(path.file_name()))
            .and_then(|fd| self.fill(fd, path, content));
        written.map_err(|error| self.failed(path.as_str(), error))
    }

    fn fill(&mut self, fd: OwnedFd, path: &BundlePath, content: &Content) -> io::Result<()> {
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

    /// The error about a file or directory of the tree.
    fn failed(&self, name: &str, error: io::Error) -> Error {
        let full = error.kind() == io::ErrorKind::StorageFull;
        let failure = Error::io("cannot write", &self.destination.path.join(name), error);
        let free = full
            .then(|| fstatvfs(&self.destination.parent).ok())
            .flatten();
        match free {
            Some(free) => {
                let free = free.f_bavail.saturating_mul(free.f_frsize);
                failure
                    .expected(format!("{} bytes for all files", self.needed))
                    .found(format!("{free} bytes free"))
            }
            None => failure,
        }
    }
}

/// Makes a file in an open directory, where there must be none.
pub(super) fn create(directory: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    Ok(retry_on_intr(|| openat(directory, name, flags, mode))?)
}
