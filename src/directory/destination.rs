//! Where something is to be written: an open directory and a name in it, and what is there now.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, openat, statat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Error, Result};
use crate::escape::shown;

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) parent: OwnedFd,
    pub(super) parent_path: PathBuf,
    pub(super) name: OsString,
    /// As the caller gave it, for messages.
    pub(super) path: PathBuf,
}

impl Destination {
    /// Opens the directory that a path is in; that one may be reached through links, the path itself may be none.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let shown_path = shown(&path.to_string_lossy());
        let Some(name) = path.file_name() else {
            return Err(Error::usage(format!(
                "`{shown_path}` cannot be written as a whole: it has no name of its own"
            ))
            .hint("name a file or directory that does not exist yet"));
        };
        let parent_path = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent =
            retry_on_intr(|| openat(CWD, parent_path, flags, Mode::empty())).map_err(|errno| {
                let error = Error::io("cannot open the directory", parent_path, errno.into());
                let shown_parent = shown(&parent_path.to_string_lossy());
                match errno {
                    Errno::NOENT => error.hint(format!("`mkdir -p {shown_parent}` makes it")),
                    _ => error,
                }
            })?;
        Ok(Self {
            parent,
            parent_path: parent_path.to_owned(),
            name: name.to_owned(),
            path: path.to_owned(),
        })
    }

    /// Returns what is there now, without following a link.
    pub(super) fn kind(&self) -> Result<Option<FileType>> {
        match statat(&self.parent, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Error::io("cannot look at", &self.path, error.into())),
        }
    }

    /// Fails when something other than `expected` is there; says whether anything is.
    pub(super) fn expect(&self, expected: FileType) -> Result<bool> {
        let found = match self.kind()? {
            None => return Ok(false),
            Some(kind) if kind == expected => return Ok(true),
            Some(FileType::Directory) => "a directory",
            Some(FileType::RegularFile) => "a file",
            Some(FileType::Symlink) => "a link",
            Some(_) => "a special file",
        };
        // Not even `force` replaces it: the caller meant something else.
        Err(
            Error::conflict(format!("`{}` exists and is {found}", self.shown()))
                .file(self.path.display())
                .hint("choose another name, or remove it"),
        )
    }

    /// Fails when nothing can be made beside it.
    pub(super) fn expect_writable(&self) -> Result<()> {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        match accessat(&self.parent, ".", access, AtFlags::EACCESS) {
            // What cannot be asked is found when it is written.
            Ok(()) | Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
            Err(error) => Err(Error::io(
                "cannot write in",
                &self.parent_path,
                error.into(),
            )),
        }
    }

    /// The error about something that is there and may not be replaced.
    pub(super) fn exists(&self) -> Error {
        let hint = match self.kind() {
            Ok(Some(FileType::Directory)) => {
                "`--force` replaces it; what no bundle put there goes with `--prune` only"
            }
            _ => "`--force` replaces it",
        };
        Error::conflict(format!("`{}` exists already", self.shown()))
            .file(self.path.display())
            .hint(hint)
    }

    /// The error about a destination that another process changed meanwhile.
    pub(super) fn changed(&self) -> Error {
        Error::conflict(format!("`{}` was changed meanwhile", self.shown()))
            .file(self.path.display())
            .hint("nothing was replaced; run it again")
            .retryable()
    }

    /// Turns an error about something that was listed and is gone into the one about another process; others stay.
    pub(super) fn or_changed(&self, error: Error) -> Error {
        let source = std::error::Error::source(&error);
        let is_gone = source
            .and_then(|source| source.downcast_ref::<io::Error>())
            .is_some_and(|source| source.kind() == io::ErrorKind::NotFound);
        if is_gone { self.changed() } else { error }
    }

    /// Returns the path, escaped.
    pub(super) fn shown(&self) -> String {
        shown(&self.path.to_string_lossy())
    }

    /// Returns the name as far as it fits into the name of a staging directory.
    pub(super) fn short_name(&self) -> &OsStr {
        use std::os::unix::ffi::OsStrExt as _;
        let bytes = self.name.as_bytes();
        let end = self
            .name
            .to_string_lossy()
            .char_indices()
            .map(|(at, _)| at)
            .take_while(|at| *at <= 200)
            .last();
        match end {
            Some(end) if bytes.len() > 200 => OsStr::from_bytes(bytes.get(..end).unwrap_or(bytes)),
            _ => &self.name,
        }
    }
}
