//! Links in a source: refused, or followed to something inside a root that is allowed.
//!
//! The target is resolved to a path without links and opened from the open root downwards, each component without
//! following a link: what is exchanged for a link in between is an error, never a way out.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, readlinkat, statat};

use super::ReadOptions;
use super::file::{changed, open_directory, open_file};
use crate::error::{Error, Kind, Result};
use crate::escape::{shown, shown_bytes};

/// The directories to which links may lead, open.
#[derive(Debug)]
pub(super) struct Roots {
    follow: bool,
    /// The source, without links in its path.
    source: PathBuf,
    list: Vec<(PathBuf, OwnedFd)>,
}

/// What a link leads to.
pub(super) enum Target {
    File(OwnedFd),
    /// A directory, and where it is on the disk.
    Directory(OwnedFd, PathBuf),
}

impl Roots {
    /// Opens the roots: the source, whose canonical path is given, and those that the options name.
    pub(super) fn open(source: &Path, options: &ReadOptions) -> Result<Self> {
        let mut roots = Self {
            follow: options.resolve_symlinks || !options.symlink_roots.is_empty(),
            source: source.to_owned(),
            list: Vec::new(),
        };
        if !roots.follow {
            return Ok(roots);
        }
        roots.add(source, source)?;
        for root in &options.symlink_roots {
            let canonical = std::fs::canonicalize(root)
                .map_err(|error| Error::io("cannot open the symlink root", root, error))?;
            roots.add(root, &canonical)?;
        }
        Ok(roots)
    }

    fn add(&mut self, given: &Path, canonical: &Path) -> Result<()> {
        let fd = open_directory(CWD, canonical.as_os_str())
            .map_err(|error| Error::io("cannot open the symlink root", given, error))?;
        self.list.push((canonical.to_owned(), fd));
        Ok(())
    }

    /// Opens what a link leads to; `path` names the link in messages, `place` is where it is on the disk.
    pub(super) fn follow(
        &self,
        parent: &OwnedFd,
        name: &OsStr,
        path: &Path,
        place: &Path,
    ) -> Result<Target> {
        let text = match readlinkat(parent, name, Vec::new()) {
            Ok(text) => shown_bytes(text.as_bytes()),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => return Err(changed(path)),
            Err(error) => return Err(Error::io("cannot read the link", path, error.into())),
        };
        let refuse = |why: &str| {
            let link = shown(&path.to_string_lossy());
            Error::unsafe_content(format!("`{link}` is a link to `{text}`{why}"))
                .file(path.display())
        };
        if !self.follow {
            let target = std::fs::canonicalize(place).ok();
            let is_outside = |target: &PathBuf| !target.starts_with(&self.source);
            return Err(if target.as_ref().is_some_and(is_outside) {
                refuse(", outside the source")
                    .hint("`--symlink-root DIR` allows links that lead into DIR")
            } else {
                refuse("")
                    .hint("`--resolve-symlinks` carries what a link inside the source leads to")
            });
        }
        let target = std::fs::canonicalize(place).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                refuse(", which is not there")
            }
            io::ErrorKind::PermissionDenied => Error::io("cannot follow the link", path, error),
            // The system's word for too many links has no stable kind.
            _ => refuse(", which leads nowhere"),
        })?;
        let inside = self
            .list
            .iter()
            .find_map(|(root, fd)| Some((fd, target.strip_prefix(root).ok()?)));
        let Some((root, below)) = inside else {
            return Err(refuse(", outside the source")
                .hint("`--symlink-root DIR` allows links that lead into DIR"));
        };
        open_below(root, below, target.clone()).map_err(|error| match error {
            OpenBelow::Special => refuse(", which is no file and no directory"),
            OpenBelow::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Error::io("cannot read", path, error)
            }
            OpenBelow::Io(_) => changed(path),
        })
    }
}

enum OpenBelow {
    Special,
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for OpenBelow {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

/// Opens a path without links below an open root.
fn open_below(root: &OwnedFd, below: &Path, place: PathBuf) -> Result<Target, OpenBelow> {
    let mut directory = root.as_fd().try_clone_to_owned()?;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_some() {
            directory = open_directory(&directory, name)?;
            continue;
        }
        let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        return match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Ok(Target::Directory(open_directory(&directory, name)?, place)),
            FileType::RegularFile => Ok(Target::File(open_file(&directory, name)?)),
            _ => Err(OpenBelow::Special),
        };
    }
    Ok(Target::Directory(directory, place))
}

/// The error about something that is neither file nor directory nor link.
pub(super) fn special(path: &Path, kind: FileType) -> Error {
    let what = match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no regular file",
    };
    let shown_path = shown(&path.to_string_lossy());
    Error::new(Kind::Unsafe, format!("`{shown_path}` is {what}"))
        .file(path.display())
        .hint("`--exclude PATTERN` leaves it out")
}
