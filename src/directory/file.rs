//! Opening what is in a directory, and reading a file once and whole.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::retry_on_intr;

use crate::content::{Content, Spool};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::{Ceiling, Limits};
use crate::sensitive::{LOOKED_AT, Sensitive, recognise};

/// Makes the buffer that [`snapshot`] needs; its size lets one read take in most files.
pub(super) fn buffer() -> Vec<u8> {
    vec![0; LOOKED_AT]
}

/// Opens a directory in an open directory; a link is no directory.
pub(super) fn open_directory(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| {
        openat(&parent, name, flags, Mode::empty())
    })?)
}

/// Opens a file in an open directory for reading, without following a link and without waiting for a writer.
pub(super) fn open_file(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| {
        openat(&parent, name, flags, Mode::empty())
    })?)
}

/// Returns the entries of an open directory, from the first.
pub(super) fn list(directory: impl AsFd) -> rustix::io::Result<Dir> {
    retry_on_intr(|| Dir::read_from(&directory))
}

/// What [`snapshot`] made of a file.
pub(super) enum Snapshot {
    Content(Content),
    Sensitive(Sensitive),
}

/// Reads an open file into the spool; a private key or kubeconfig only if `carries_sensitive`.
///
/// Fails when the file is not the same, by size and time, before the first byte and after the last.
pub(super) fn snapshot(
    file: OwnedFd,
    path: &Path,
    buffer: &mut [u8],
    limits: &Limits,
    spool: &mut Spool,
    carries_sensitive: bool,
) -> Result<Snapshot> {
    let cannot_read = |error: io::Error| Error::io("cannot read", path, error);
    let before = fstat(&file).map_err(|error| cannot_read(error.into()))?;
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Err(changed(path));
    }
    let size = u64::try_from(before.st_size).unwrap_or(u64::MAX);
    if size > limits[Ceiling::File] {
        return Err(Error::limit(Ceiling::File, limits[Ceiling::File], size)
            .at(path.display())
            .file(path.display()));
    }
    let mut file = File::from(file);
    let mut length = fill(&mut file, buffer).map_err(cannot_read)?;
    if !carries_sensitive && let Some(kind) = recognise(buffer.get(..length).unwrap_or_default()) {
        return Ok(Snapshot::Sensitive(kind));
    }
    let directory = spool.directory().to_owned();
    let cannot_spool = |error| Error::io("cannot write a temporary file in", &directory, error);
    let mut writer = spool.begin();
    while length > 0 {
        writer
            .write_all(buffer.get(..length).unwrap_or_default())
            .map_err(cannot_spool)?;
        if writer.len() > size {
            return Err(changed(path));
        }
        // A buffer that was not filled has met the end, or a file that shrank.
        length = if length == buffer.len() {
            fill(&mut file, buffer).map_err(cannot_read)?
        } else {
            0
        };
    }
    let after = fstat(&file).map_err(|error| cannot_read(error.into()))?;
    if writer.len() != size || !same(&before, &after) {
        return Err(changed(path));
    }
    writer.finish().map(Snapshot::Content).map_err(cannot_spool)
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0_usize;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(n) => filled = filled.saturating_add(n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Tells whether a file was left alone between two looks. Its mode and links may change: they are not carried.
fn same(before: &Stat, after: &Stat) -> bool {
    before.st_size == after.st_size
        && before.st_mtime == after.st_mtime
        && before.st_mtime_nsec == after.st_mtime_nsec
}

/// The error about a file that was not the same from the first look at it to the last.
pub(super) fn changed(path: &Path) -> Error {
    let shown_path = shown(&path.to_string_lossy());
    Error::new(Kind::Io, format!("`{shown_path}` changed while packing"))
        .file(path.display())
        .hint("run it again when nothing writes to the source")
        .retryable()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot_of(path: &str) -> Result<Snapshot> {
        let path = Path::new(path);
        let fd = open_file(rustix::fs::CWD, path.as_os_str()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(directory.path());
        snapshot(
            fd,
            path,
            &mut buffer(),
            &Limits::default(),
            &mut spool,
            true,
        )
    }

    #[test]
    fn a_file_that_is_longer_or_shorter_than_it_said_is_an_error() {
        // The kernel's own files say 0 and have text, or say one page and have less.
        for path in [
            "/proc/self/status",
            "/sys/kernel/profiling",
            "/sys/kernel/uevent_seqnum",
        ] {
            if !Path::new(path).exists() {
                continue;
            }
            let Err(error) = snapshot_of(path) else {
                panic!("{path} was read");
            };
            assert_eq!(error.kind(), Kind::Io);
            assert!(error.message().contains("changed while packing"), "{error}");
            assert!(error.detail().retryable);
        }
    }

    #[test]
    fn a_file_that_was_written_between_two_looks_is_not_the_same() {
        let file = tempfile::tempfile().unwrap();
        let before = fstat(&file).unwrap();
        assert!(same(&before, &fstat(&file).unwrap()));
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(!same(&before, &fstat(&file).unwrap()));
    }

    #[test]
    fn a_link_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert!(open_file(rustix::fs::CWD, link.as_os_str()).is_err());
        assert!(open_directory(rustix::fs::CWD, link.as_os_str()).is_err());
    }
}
