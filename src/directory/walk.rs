//! The walk through a source directory, in the order of the names, with the ignore rules and ceilings in force.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, fstat, statat};

use super::file::{Snapshot, changed, list, open_directory, open_file, snapshot};
use super::link::{Roots, Target, special};
use super::{LeftOut, OUTSIDE};
use crate::bundle::{MANIFESTS, METADATA};
use crate::content::{Content, Spool};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::ignore::{self, Ignore};
use crate::limits::{Ceiling, Limits};
use crate::objects::is_manifest_name;
use crate::path::BundlePath;
use crate::sensitive::Sensitive;

/// A walk, and what it found.
pub(super) struct Walk<'a> {
    /// The source as the caller named it, for messages.
    pub(super) source: &'a Path,
    /// Whether the source has the layout of a bundle.
    pub(super) declared: bool,
    pub(super) limits: &'a Limits,
    pub(super) ignore: Ignore,
    pub(super) roots: Roots,
    pub(super) spool: &'a mut Spool,
    pub(super) buffer: Vec<u8>,
    /// The files with their paths in the source.
    pub(super) files: Vec<(PathBuf, BundlePath, Content)>,
    pub(super) left_out: Vec<LeftOut>,
    /// What was refused, where that is collected.
    pub(super) refused: Option<Vec<Error>>,
    pub(super) total: Total,
}

/// How much was taken so far.
#[derive(Debug, Default)]
pub(super) struct Total {
    entries: u64,
    bytes: u64,
    ignore_bytes: u64,
}

/// A directory that is being walked.
pub(super) struct Open<'a> {
    pub(super) fd: OwnedFd,
    /// Its path in the source, without links as the bundle will have it.
    pub(super) path: PathBuf,
    /// Where it is on the disk; another place once a link was followed.
    pub(super) place: PathBuf,
    /// The directory in which it was found.
    pub(super) parent: Option<&'a Open<'a>>,
}

impl Walk<'_> {
    /// Walks a directory and everything in it that belongs to the bundle.
    pub(super) fn directory(&mut self, open: &Open<'_>) -> Result<()> {
        self.refuse_cycle(open)?;
        self.count_entry()?;
        let depth = open.path.iter().count() as u64;
        if depth > self.limits[Ceiling::PathDepth] {
            let most = self.limits[Ceiling::PathDepth];
            return Err(
                Error::limit(Ceiling::PathDepth, most, depth).at(self.shown(&open.path).display())
            );
        }
        let entries = self.list(open)?;
        if entries.is_empty() && !open.path.as_os_str().is_empty() {
            self.leave_out(&open.path, true, "empty directory".into());
        }
        let has_ignore_file = entries
            .iter()
            .any(|(name, kind)| name == ignore::FILE_NAME && *kind != FileType::Directory);
        if has_ignore_file {
            self.enter_ignore_file(open)?;
        }
        for (name, kind) in entries {
            match (self.entry(open, &name, kind), &mut self.refused) {
                (Err(error), Some(refused))
                    if matches!(error.kind(), Kind::Unsafe | Kind::Invalid) =>
                {
                    refused.push(error.file(self.source.join(open.path.join(&name)).display()));
                }
                (done, _) => done?,
            }
        }
        if has_ignore_file {
            self.ignore.leave();
        }
        Ok(())
    }

    fn entry(&mut self, open: &Open<'_>, name: &OsStr, kind: FileType) -> Result<()> {
        let path = open.path.join(name);
        let is_directory = kind == FileType::Directory;
        if name == ignore::FILE_NAME && !is_directory {
            self.leave_out(&path, false, "ignore file".into());
            return Ok(());
        }
        let at_root = open.path.as_os_str().is_empty();
        if self.declared && at_root && name != MANIFESTS && name != METADATA {
            self.leave_out(&path, is_directory, OUTSIDE.to_owned());
            return Ok(());
        }
        if let Some(rule) = self.ignore.rule(&path, is_directory) {
            self.leave_out(&path, is_directory, rule);
            return Ok(());
        }
        match kind {
            FileType::Directory => {
                let fd = open_directory(&open.fd, name)
                    .map_err(|error| self.cannot_open(&path, error))?;
                let place = open.place.join(name);
                self.below(open, fd, path, place)
            }
            FileType::RegularFile => {
                if self.is_wanted(&path) {
                    let fd = open_file(&open.fd, name)
                        .map_err(|error| self.cannot_open(&path, error))?;
                    self.file(path, fd)?;
                }
                Ok(())
            }
            FileType::Symlink => self.link(open, name, path),
            other => Err(special(&self.shown(&path), other)),
        }
    }

    fn below(&mut self, open: &Open<'_>, fd: OwnedFd, path: PathBuf, place: PathBuf) -> Result<()> {
        self.directory(&Open {
            fd,
            path,
            place,
            parent: Some(open),
        })
    }

    /// Follows a link; what it leads to stands in its place, under the rules for such a thing.
    fn link(&mut self, open: &Open<'_>, name: &OsStr, path: PathBuf) -> Result<()> {
        let place = open.place.join(name);
        let target = self
            .roots
            .follow(&open.fd, name, &self.shown(&path), &place)?;
        match target {
            Target::Directory(fd, place) => match self.ignore.rule(&path, true) {
                Some(rule) => {
                    self.leave_out(&path, true, rule);
                    Ok(())
                }
                None => self.below(open, fd, path, place),
            },
            Target::File(fd) if self.is_wanted(&path) => self.file(path, fd),
            Target::File(_) => Ok(()),
        }
    }

    /// Tells whether a file is of a kind that the source may hold, and lists it if not.
    fn is_wanted(&mut self, path: &Path) -> bool {
        let wanted = self.declared || is_manifest_name(path) || self.ignore.includes(path, false);
        if !wanted {
            self.leave_out(path, false, "not *.yaml, *.yml or *.json".into());
        }
        wanted
    }

    /// Reads a file that belongs to the bundle.
    pub(super) fn file(&mut self, path: PathBuf, fd: OwnedFd) -> Result<()> {
        let shown_path = self.shown(&path);
        if self.declared && path.iter().nth(1).is_none() {
            let name = shown(&shown_path.to_string_lossy());
            return Err(
                Error::invalid(format!("`{name}` is not a directory")).file(shown_path.display())
            );
        }
        let bundle_path = self.bundle_path(&path)?;
        let included = self.ignore.includes(&path, false);
        let buffer = &mut self.buffer;
        match snapshot(fd, &shown_path, buffer, self.limits, self.spool, included)? {
            Snapshot::Content(content) => {
                self.count_entry()?;
                self.total.bytes = self.total.bytes.saturating_add(content.len());
                self.check(Ceiling::Unpacked, self.total.bytes)?;
                self.files.push((path, bundle_path, content));
            }
            Snapshot::Sensitive(kind) if self.declared => {
                return Err(sensitive(&shown_path, kind));
            }
            Snapshot::Sensitive(kind) => self.leave_out(&path, false, format!("{kind} (content)")),
        }
        Ok(())
    }

    /// Reads the ignore file of a directory and puts it in force.
    fn enter_ignore_file(&mut self, open: &Open<'_>) -> Result<()> {
        let name = OsStr::new(ignore::FILE_NAME);
        let path = open.path.join(name);
        let stat = statat(&open.fd, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| self.cannot_open(&path, error.into()))?;
        let fd = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                open_file(&open.fd, name).map_err(|error| self.cannot_open(&path, error))?
            }
            FileType::Symlink => {
                let place = open.place.join(name);
                let shown_path = self.shown(&path);
                match self.roots.follow(&open.fd, name, &shown_path, &place)? {
                    Target::File(fd) => fd,
                    Target::Directory(..) => return Err(special(&shown_path, FileType::Unknown)),
                }
            }
            other => return Err(special(&self.shown(&path), other)),
        };
        let size = fstat(&fd).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        self.total.ignore_bytes = self.total.ignore_bytes.saturating_add(size);
        self.check(Ceiling::IgnoreFile, self.total.ignore_bytes)?;
        // Its own spool: the text is not part of the bundle.
        let mut spool = Spool::with_memory(self.spool.directory(), u64::MAX);
        let shown_path = self.shown(&path);
        let buffer = &mut self.buffer;
        let text = match snapshot(fd, &shown_path, buffer, self.limits, &mut spool, true)? {
            Snapshot::Content(content) => content
                .to_bytes()
                .map_err(|error| Error::io("cannot read", &shown_path, error))?,
            Snapshot::Sensitive(kind) => return Err(sensitive(&shown_path, kind)),
        };
        self.ignore.enter(&open.path.to_string_lossy(), &text)
    }

    /// Returns the names in a directory with their kinds, in the order of their bytes.
    fn list(&self, open: &Open<'_>) -> Result<Vec<(OsString, FileType)>> {
        let cannot_list = |error: rustix::io::Errno| {
            Error::io("cannot list", &self.shown(&open.path), error.into())
        };
        let mut entries = Vec::new();
        for entry in list(&open.fd).map_err(cannot_list)? {
            let entry = entry.map_err(cannot_list)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let name = OsString::from_vec(name.to_vec());
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => statat(&open.fd, &name, AtFlags::SYMLINK_NOFOLLOW)
                    .map(|stat| FileType::from_raw_mode(stat.st_mode))
                    .map_err(|error| self.cannot_open(&open.path.join(&name), error.into()))?,
                kind => kind,
            };
            entries.push((name, kind));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        Ok(entries)
    }

    /// Fails when a directory is one of those in which it was found: only links make such a circle.
    fn refuse_cycle(&self, open: &Open<'_>) -> Result<()> {
        let identity = |fd: &OwnedFd| fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino));
        let own = identity(&open.fd);
        let mut above = open.parent;
        while let Some(parent) = above {
            if identity(&parent.fd) == own {
                let path = self.shown(&open.path);
                let shown_path = shown(&path.to_string_lossy());
                return Err(Error::unsafe_content(format!(
                    "`{shown_path}` is a link to a directory that it is in"
                ))
                .file(path.display()));
            }
            above = parent.parent;
        }
        Ok(())
    }

    fn bundle_path(&self, path: &Path) -> Result<BundlePath> {
        let bytes = path.as_os_str().as_bytes();
        let admitted = if self.declared {
            BundlePath::admit(bytes)
        } else {
            BundlePath::admit(&[MANIFESTS.as_bytes(), b"/", bytes].concat())
        };
        admitted.map_err(|error| error.file(self.shown(path).display()))
    }

    fn count_entry(&mut self) -> Result<()> {
        self.total.entries = self.total.entries.saturating_add(1);
        self.check(Ceiling::Entries, self.total.entries)
    }

    fn check(&self, ceiling: Ceiling, found: u64) -> Result<()> {
        let most = self.limits[ceiling];
        if found > most {
            return Err(Error::limit(ceiling, most, found).at(self.source.display()));
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, is_directory: bool, rule: String) {
        let mut path = path.to_string_lossy().into_owned();
        if is_directory {
            path.push('/');
        }
        self.left_out.push(LeftOut { path, rule });
    }

    fn cannot_open(&self, path: &Path, error: std::io::Error) -> Error {
        let path = self.shown(path);
        // It was there when the directory was listed, and was no link then.
        let gone = [
            rustix::io::Errno::NOENT,
            rustix::io::Errno::LOOP,
            rustix::io::Errno::NOTDIR,
            rustix::io::Errno::NXIO,
        ];
        match rustix::io::Errno::from_io_error(&error) {
            Some(errno) if gone.contains(&errno) => changed(&path),
            _ => Error::io("cannot read", &path, error),
        }
    }

    fn shown(&self, path: &Path) -> PathBuf {
        if path.as_os_str().is_empty() {
            return self.source.to_owned();
        }
        self.source.join(path)
    }
}

/// The error about a file that must not be carried and cannot be left out in silence.
pub(super) fn sensitive(path: &Path, kind: Sensitive) -> Error {
    let shown_path = shown(&path.to_string_lossy());
    Error::unsafe_content(format!("`{shown_path}` is a {kind}"))
        .file(path.display())
        .hint("leave it out with `--exclude PATTERN`, or carry it with `--include PATTERN`")
}
