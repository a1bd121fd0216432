//! Replaces a credential file as a whole: a new one beside it, mode 0600, flushed, then renamed over it.
//!
//! A lock on the directory keeps two logins apart; it leaves no file behind and ends with the process. Whatever fails,
//! the file is the old one or the new one, and a file that is not strict JSON is never written to.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};

use super::{Tell, read};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::Ceiling;

/// How often a login looks whether another one has ended, and how long it waits in between: 10 s in all.
const LOCK_TRIES: u32 = 500;
const LOCK_STEP: Duration = Duration::from_millis(20);

/// Changes the text of a credential file under a lock and writes it if it became another one.
pub(super) fn replace(
    path: &Path,
    create: bool,
    tell: &Tell,
    change: impl FnOnce(&str) -> Option<String>,
) -> Result<()> {
    let target = target(path, tell)?;
    let directory = match target.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if create {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let mut made = builder.create(&directory);
        while matches!(&made, Err(error) if error.kind() == ErrorKind::Interrupted) {
            made = builder.create(&directory);
        }
        made.map_err(|error| Error::io("cannot make directory", &directory, error))?;
    }
    let lock = lock(&directory, LOCK_TRIES)?;
    let old = read::bytes(&target)?.unwrap_or_default();
    let place = format!("`{}`", shown(&target.to_string_lossy()));
    // Nothing is changed in what another reader may read differently.
    read::parse(&place, &old)?;
    let cannot = || Error::usage(format!("credential file {place}: cannot be changed safely"));
    let old = String::from_utf8(old).map_err(|_| cannot())?;
    let new = change(&old).ok_or_else(cannot)?;
    if new == old {
        return Ok(());
    }
    read::parse(&place, new.as_bytes()).map_err(|_| cannot())?;
    let max = Ceiling::CredentialFile.default_value();
    if new.len() as u64 > max {
        return Err(Error::limit(Ceiling::CredentialFile, max, new.len() as u64).at(&place));
    }
    write(&target, &directory, &new, tell)?;
    drop(lock);
    Ok(())
}

/// Returns the file to replace: what a link leads to, as docker does, with a warning where that is another directory.
fn target(path: &Path, tell: &Tell) -> Result<PathBuf> {
    let shown_path = || shown(&path.to_string_lossy());
    let regular = |path: &Path| match path.metadata() {
        // A device can be read as an empty file, but must not be replaced by one.
        Ok(data) if !data.is_file() => {
            let message = format!("credential file `{}` is not a regular file", shown_path());
            Err(Error::usage(message).file(path.display()))
        }
        _ => Ok(path.to_owned()),
    };
    let is_link = path
        .symlink_metadata()
        .is_ok_and(|data| data.file_type().is_symlink());
    if !is_link {
        return regular(path);
    }
    let target = path.canonicalize().map_err(|error| {
        let message = format!(
            "credential file `{}` is a link that leads nowhere",
            shown_path()
        );
        Error::usage(message).file(path.display()).source(error)
    })?;
    let target = regular(&target)?;
    let home = path.parent().and_then(|parent| parent.canonicalize().ok());
    if home.as_deref() != target.parent() {
        tell.warn(format!(
            "`{}` is a link: the credential is written to `{}`",
            shown_path(),
            shown(&target.to_string_lossy())
        ));
    }
    Ok(target)
}

/// Locks a directory against other logins of this program; the lock ends with the handle, or with the process.
fn lock(directory: &Path, tries: u32) -> Result<File> {
    let fault = |error| Error::io("cannot lock", directory, error);
    let handle = File::open(directory).map_err(fault)?;
    for _ in 0..tries {
        match handle.try_lock() {
            Ok(()) => return Ok(handle),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_STEP),
            // Some network file systems lock no directories. The rename still makes each write whole.
            Err(TryLockError::Error(error)) => {
                return match Errno::from_io_error(&error) {
                    Some(Errno::BADF | Errno::NOLCK | Errno::OPNOTSUPP | Errno::INVAL) => {
                        Ok(handle)
                    }
                    _ => Err(fault(error)),
                };
            }
        }
    }
    let message = format!(
        "another login is writing to `{}`",
        shown(&directory.to_string_lossy())
    );
    Err(Error::conflict(message).retryable())
}

/// Writes a file beside the target and renames it over the target, so that nobody sees a part of it.
fn write(target: &Path, directory: &Path, text: &str, tell: &Tell) -> Result<()> {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".bundle-new");
    let fresh = directory.join(name);
    let fault = |error| Error::io("cannot write", target, error);
    // What a killed login left behind; the lock says that nobody is writing it.
    match retry_on_intr(|| rustix::fs::unlink(&fresh)) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(fault(error.into())),
    }
    let old = target.metadata().ok();
    let written: std::io::Result<()> = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&fresh)?;
        // The mode above is cut by the umask.
        file.set_permissions(Permissions::from_mode(0o600))?;
        if let Some(old) = &old {
            keep_owner(&file, old);
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        Ok(retry_on_intr(|| rustix::fs::rename(&fresh, target))?)
    })();
    if let Err(error) = written {
        let _ = std::fs::remove_file(&fresh);
        return Err(fault(error));
    }
    if let Some(mode) = old.map(|old| old.mode() & 0o7777)
        && mode & 0o077 != 0
    {
        tell.warn(format!(
            "`{}` could be read by others (mode {mode:04o}): its mode is 0600 now",
            shown(&target.to_string_lossy())
        ));
    }
    // The rename itself must outlive a power cut; not every file system can flush a directory.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Gives a new file the owner of the old one: root may log in for somebody else, who must still be able to read it.
///
/// Nobody but root may do that, and for everybody else a file of their own is right as well: a failure is none.
fn keep_owner(file: &File, old: &Metadata) {
    let same = file
        .metadata()
        .is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
    if !same {
        let _ = fchown(file, Some(old.uid()), Some(old.gid()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_directory_is_locked_once_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let held = lock(directory.path(), 1).unwrap();
        let error = lock(directory.path(), 2).unwrap_err();
        assert_eq!(error.kind(), Kind::Conflict);
        assert!(error.detail().retryable);
        drop(held);
        lock(directory.path(), 1).unwrap();
    }

    #[test]
    fn a_device_is_not_replaced_by_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("config.json");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [Path::new("/dev/null"), &link, directory.path()] {
            let error = target(path, &Tell::nobody()).unwrap_err();
            assert_eq!(error.kind(), Kind::Usage);
        }
    }
}
