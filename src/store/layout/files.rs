//! The files of a layout: opened below its directory without following links, written beside and renamed.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::retry_on_intr;
use tempfile::NamedTempFile;

use crate::content::Content;
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Ceiling;

/// What the names of temporary files in a layout begin with.
const TEMPORARY: &str = ".bundle-";

/// How often a directory that vanishes is made anew.
const ROUNDS: usize = 8;

/// What a process wrote into a layout that has no index yet.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// The blobs that nobody else had put there.
    pub(super) blobs: BTreeSet<Digest>,
    /// Whether it wrote the file that says that this is a layout.
    pub(super) is_marked: bool,
}

/// The directory of a layout.
#[derive(Debug)]
pub(super) struct Files {
    path: PathBuf,
    directory: OwnedFd,
}

impl Files {
    /// Opens the directory.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())) {
            Ok(directory) => Ok(Self {
                path: path.to_owned(),
                directory,
            }),
            Err(rustix::io::Errno::NOENT) => Err(Error::not_found(format!(
                "no OCI layout at `{}`",
                shown(&path.to_string_lossy())
            ))),
            Err(error) => Err(Error::io("cannot open the OCI layout", path, error.into())),
        }
    }

    /// Opens the directory to write into it, or makes it; tells whether it was made.
    ///
    /// As long as it is open, nobody who keeps to [`Files::remove_unfinished`] takes away what is in it.
    pub(super) fn open_or_create(path: &Path) -> Result<(Self, bool)> {
        for _ in 0..ROUNDS {
            let made = match again(|| std::fs::create_dir(path)) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(Error::io("cannot make the directory", path, error)),
            };
            let files = match Self::open(path) {
                // Somebody took it away, or it is a link to nowhere.
                Err(error) if error.kind() == Kind::NotFound => continue,
                files => files?,
            };
            // Some network file systems have no locks. Then nobody can remove anything either.
            let _ =
                retry_on_intr(|| rustix::fs::flock(&files.directory, FlockOperation::LockShared));
            // Between opening and locking it whoever had begun it may have taken it away.
            if files.is_at(path) {
                return Ok((files, made));
            }
        }
        Err(Error::conflict(format!(
            "`{}` is a link to nowhere, or somebody keeps removing it",
            shown(&path.to_string_lossy())
        )))
    }

    /// Tells whether the directory is still what its path names.
    fn is_at(&self, path: &Path) -> bool {
        let own = rustix::fs::fstat(&self.directory);
        let there = rustix::fs::stat(path);
        match (own, there) {
            (Ok(own), Ok(there)) => (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino),
            _ => false,
        }
    }

    /// Returns the path for messages.
    pub(super) fn shown(&self) -> String {
        shown(&self.path.to_string_lossy())
    }

    /// Tells whether the directory holds nothing but what an unfinished write of this tool leaves.
    pub(super) fn is_empty_or_ours(&self) -> Result<bool> {
        let fail = |error| Error::io("cannot list", &self.path, error);
        for entry in again(|| std::fs::read_dir(&self.path)).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            if name != "blobs" && !name.to_string_lossy().starts_with(TEMPORARY) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a regular file below the directory, component by component, or nothing when it is not there.
    fn open_file(&self, parts: &[&str]) -> Result<Option<File>> {
        let path = self.path_of(parts);
        let (name, directories) = parts.split_last().unwrap_or((&"", &[]));
        let common = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let refused = |error: rustix::io::Errno| match error {
            rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR => Error::unsafe_content(format!(
                "`{}` goes through a link",
                shown(&path.to_string_lossy())
            )),
            error => Error::io("cannot open", &path, error.into()),
        };
        let mut at: Option<OwnedFd> = None;
        for part in directories {
            let parent = at
                .as_ref()
                .map_or(self.directory.as_fd(), std::os::fd::AsFd::as_fd);
            match retry_on_intr(|| {
                rustix::fs::openat(parent, *part, common | OFlags::DIRECTORY, Mode::empty())
            }) {
                Ok(next) => at = Some(next),
                Err(rustix::io::Errno::NOENT) => return Ok(None),
                Err(error) => return Err(refused(error)),
            }
        }
        let parent = at
            .as_ref()
            .map_or(self.directory.as_fd(), std::os::fd::AsFd::as_fd);
        // Without O_NONBLOCK a named pipe would wait for a writer.
        let file = match retry_on_intr(|| {
            rustix::fs::openat(parent, *name, common | OFlags::NONBLOCK, Mode::empty())
        }) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        let kind = file
            .metadata()
            .map_err(|error| Error::io("cannot read", &path, error))?;
        if !kind.is_file() {
            return Err(Error::unsafe_content(format!(
                "`{}` is no regular file",
                shown(&path.to_string_lossy())
            )));
        }
        Ok(Some(file))
    }

    fn path_of(&self, parts: &[&str]) -> PathBuf {
        parts
            .iter()
            .fold(self.path.clone(), |path, part| path.join(part))
    }

    /// Returns a file as content, or nothing when it is not there.
    pub(super) fn content(&self, parts: &[&str]) -> Result<Option<Content>> {
        let Some(file) = self.open_file(parts)? else {
            return Ok(None);
        };
        Content::of_file(file)
            .map(Some)
            .map_err(|error| Error::io("cannot read", &self.path_of(parts), error))
    }

    /// Reads a small file, or nothing when it is not there.
    pub(super) fn read(&self, parts: &[&str], max: u64) -> Result<Option<Vec<u8>>> {
        let Some(file) = self.open_file(parts)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| Error::io("cannot read", &self.path_of(parts), error))?;
        let size = bytes.len() as u64;
        if size > max {
            return Err(
                Error::limit(Ceiling::Manifest, max, size).at(self.path_of(parts).display())
            );
        }
        Ok(Some(bytes))
    }

    /// Takes the lock that writers of the index hold; it ends with the process at the latest.
    pub(super) fn lock(&self, name: &str) -> Result<File> {
        let path = self.path.join(name);
        let fail = |error| Error::io("cannot lock", &path, error);
        let file = self
            .open_file(&[name])?
            .ok_or_else(|| fail(io::ErrorKind::NotFound.into()))?;
        again(|| file.lock()).map_err(fail)?;
        Ok(file)
    }

    /// Writes a blob under its digest, if it is not there, and checks that it has it; tells whether there was nothing before.
    pub(super) fn push(&self, digest: &Digest, content: &Content) -> Result<bool> {
        let hex = digest.hex();
        let present = self.content(&["blobs", digest.algorithm(), &hex])?;
        let is_new = present.is_none();
        if let Some(present) = present
            && present.len() == content.len()
            && present
                .digest(digest.hasher())
                .is_ok_and(|found| found == *digest)
        {
            return Ok(false);
        }
        for directory in ["blobs".to_owned(), format!("blobs/{}", digest.algorithm())] {
            let mode = Mode::from_raw_mode(0o755);
            match retry_on_intr(|| rustix::fs::mkdirat(&self.directory, &directory, mode)) {
                Ok(()) => {
                    // On disk before a name in it is.
                    let above = self.path.join(&directory);
                    Self::sync(above.parent().unwrap_or(&self.path))?;
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => {
                    return Err(Error::io(
                        "cannot make the directory",
                        &self.path.join(&directory),
                        error.into(),
                    ));
                }
            }
        }
        let target = self.path_of(&["blobs", digest.algorithm(), &hex]);
        let fail = |error| Error::io("cannot write", &target, error);
        let mut temporary = self.temporary()?;
        let mut hasher = digest.hasher();
        let mut reader = content.reader();
        let mut buffer = vec![0; crate::content::CHUNK];
        loop {
            let n = reader.read(&mut buffer).map_err(fail)?;
            let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else {
                break;
            };
            hasher.update(piece);
            temporary.write_all(piece).map_err(fail)?;
        }
        let found = hasher.finish();
        if found != *digest {
            return Err(
                Error::mismatch("digest of a blob that is written", digest, found).digest(*digest),
            );
        }
        Self::settle(temporary, &target)?;
        Self::sync(target.parent().unwrap_or(&self.path)).inspect_err(|_| {
            if is_new {
                let _ = std::fs::remove_file(&target);
            }
        })?;
        Ok(is_new)
    }

    /// Writes a file that is the same for everybody, unless it is there; tells whether it did.
    ///
    /// It is never replaced: others may hold a lock on it by now, and a lock on another file keeps nobody apart.
    pub(super) fn write_once(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        if self.open_file(&[name])?.is_some() {
            return Ok(false);
        }
        let target = self.path.join(name);
        let fail = |error| Error::io("cannot write", &target, error);
        let mut temporary = self.temporary()?;
        temporary.write_all(bytes).map_err(fail)?;
        temporary.as_file().sync_all().map_err(fail)?;
        loop {
            match temporary.persist_noclobber(&target) {
                Ok(_) => break,
                Err(error) => match error.error.kind() {
                    io::ErrorKind::Interrupted => temporary = error.file,
                    io::ErrorKind::AlreadyExists => return Ok(false),
                    _ => return Err(fail(error.error)),
                },
            }
        }
        Self::sync(&self.path)?;
        Ok(true)
    }

    /// Replaces a file: the old one or the new one is there at any moment.
    ///
    /// `former` is what the file holds, for the case that the new one cannot be put on disk.
    pub(super) fn replace(&self, name: &str, bytes: &[u8], former: Option<&[u8]>) -> Result<()> {
        let target = self.path.join(name);
        self.put(&target, bytes)?;
        Self::sync(&self.path).inspect_err(|_| {
            // Nobody knows what a power cut would leave; what was there is known to be on disk.
            let _ = match former {
                Some(former) => self.put(&target, former),
                None => std::fs::remove_file(&target)
                    .map_err(|error| Error::io("cannot remove", &target, error)),
            };
        })
    }

    /// Writes a file beside its place and moves it there.
    fn put(&self, target: &Path, bytes: &[u8]) -> Result<()> {
        let mut temporary = self.temporary()?;
        temporary
            .write_all(bytes)
            .map_err(|error| Error::io("cannot write", target, error))?;
        Self::settle(temporary, target)
    }

    /// Makes a temporary file and locks it, so that nobody takes it for one that a killed run left.
    fn temporary(&self) -> Result<NamedTempFile> {
        let fail = |error| Error::io("cannot write into", &self.path, error);
        loop {
            let temporary = tempfile::Builder::new()
                .prefix(TEMPORARY)
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
                .tempfile_in(&self.path)
                .map_err(fail)?;
            match try_lock(temporary.as_file()) {
                // Between making and locking it another run may have found it.
                Ok(true) if temporary.as_file().metadata().map_err(fail)?.nlink() > 0 => {
                    return Ok(temporary);
                }
                Ok(_) => {}
                // Some network file systems have no locks. Then nothing counts as left.
                Err(_) => return Ok(temporary),
            }
        }
    }

    /// Removes the temporary files that killed runs left. What fails stays: it is in nobody's way.
    pub(super) fn remove_leftovers(&self) {
        let Ok(entries) = again(|| std::fs::read_dir(&self.path)) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(text) = name.to_str().filter(|name| name.starts_with(TEMPORARY)) else {
                continue;
            };
            if let Ok(Some(file)) = self.open_file(&[text])
                && matches!(try_lock(&file), Ok(true))
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Makes a temporary file durable and gives it its name, which itself is not on disk yet.
    fn settle(temporary: NamedTempFile, target: &Path) -> Result<()> {
        let fail = |error| Error::io("cannot write", target, error);
        temporary.as_file().sync_all().map_err(fail)?;
        let mut temporary = temporary;
        loop {
            match temporary.persist(target) {
                Ok(_) => return Ok(()),
                Err(error) if error.error.kind() == io::ErrorKind::Interrupted => {
                    temporary = error.file;
                }
                Err(error) => return Err(fail(error.error)),
            }
        }
    }

    /// Puts the names in a directory on disk.
    fn sync(directory: &Path) -> Result<()> {
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(|error| Error::io("cannot write", directory, error))
    }

    /// Removes a layout that was begun and never got an index: the blobs that were written for it and the directories, as far
    /// as nothing else is in them. While another process writes into it, all of it stays.
    pub(super) fn remove_unfinished(&self, unfinished: &Unfinished) {
        let lock = FlockOperation::NonBlockingLockExclusive;
        if retry_on_intr(|| rustix::fs::flock(&self.directory, lock)).is_err()
            || !matches!(self.open_file(&[super::LayoutIndex::FILE]), Ok(None))
        {
            return;
        }
        // Nobody can do anything about a failure here, and the directory is no layout without its index.
        let remove = |name: &str, flags| {
            let _ = retry_on_intr(|| rustix::fs::unlinkat(&self.directory, name, flags));
        };
        for digest in &unfinished.blobs {
            let name = format!("blobs/{}/{}", digest.algorithm(), digest.hex());
            remove(&name, AtFlags::empty());
        }
        if unfinished.is_marked {
            remove(super::LAYOUT_FILE, AtFlags::empty());
        }
        for directory in ["blobs/sha256", "blobs/sha512", "blobs"] {
            remove(directory, AtFlags::REMOVEDIR);
        }
        if self.is_at(&self.path) {
            let _ = again(|| std::fs::remove_dir(&self.path));
        }
    }
}

/// Calls until no signal comes in between.
fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Locks a file; says no when another process holds it.
fn try_lock(file: &File) -> io::Result<bool> {
    again(|| match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    })
}
