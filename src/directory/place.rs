//! Moving what was made into its place, in one step of the file system.

use rustix::fs::{AtFlags, RenameFlags, fsync, linkat, renameat, renameat_with};
use rustix::io::{Errno, retry_on_intr};

use super::destination::Destination;
use super::staging::{MADE, Staging};
use crate::error::{Error, Kind, Result};

/// The name of a file that is being replaced, inside a staging directory.
const FORMER: &str = "former";

/// Moves the new directory to its place, where nothing or an empty directory is.
pub(super) fn settle_directory(destination: &Destination, staging: &Staging<'_>) -> Result<()> {
    // A directory replaces nothing by a rename but an empty one, so no flag is needed that some file systems lack.
    match retry_on_intr(|| renameat(&staging.fd, MADE, &destination.parent, &destination.name)) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => Err(destination.exists()),
        Err(Errno::BUSY) => Err(mounted(destination)),
        Err(error) => Err(Error::io("cannot write", &destination.path, error.into())),
    }
}

/// Exchanges the directory in the staging directory and the one at the destination.
pub(super) fn exchange(destination: &Destination, staging: &Staging<'_>) -> Result<()> {
    let (parent, name) = (&destination.parent, &destination.name);
    match retry_on_intr(|| renameat_with(&staging.fd, MADE, parent, name, RenameFlags::EXCHANGE)) {
        Ok(()) => Ok(()),
        // Two renames would leave a moment with no directory at all.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::XDEV) => Err(Error::new(
            Kind::Io,
            format!(
                "`{}` cannot be replaced in one step on this file system",
                destination.shown()
            ),
        )
        .file(destination.path.display())
        .hint("remove it, or write to a new name")),
        Err(Errno::NOENT) => Err(destination.changed()),
        Err(Errno::BUSY) => Err(mounted(destination)),
        Err(error) => Err(Error::io("cannot replace", &destination.path, error.into())),
    }
}

fn mounted(destination: &Destination) -> Error {
    let place = destination.shown();
    Error::conflict(format!("`{place}` is a mount point and cannot be replaced"))
        .file(destination.path.display())
        .hint("name a directory inside it that does not exist yet")
}

/// Moves the new file to its place, where nothing may be.
pub(super) fn settle_file(destination: &Destination, staging: &Staging<'_>) -> Result<()> {
    let (parent, name) = (&destination.parent, &destination.name);
    let mut moved =
        retry_on_intr(|| renameat_with(&staging.fd, MADE, parent, name, RenameFlags::NOREPLACE));
    if let Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) = moved {
        // A second name for the file does the same; the first goes with the staging directory.
        moved = linkat(&staging.fd, MADE, parent, name, AtFlags::empty());
        if let Err(Errno::PERM | Errno::NOSYS | Errno::NOTSUP) = moved {
            // No links either: what is made between the look and the rename is replaced, and nothing can help it.
            moved = match destination.kind()? {
                None => renameat(&staging.fd, MADE, parent, name),
                Some(_) => Err(Errno::EXIST),
            };
        }
    }
    match moved {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(destination.exists()),
        Err(error) => Err(Error::io("cannot write", &destination.path, error.into())),
    }
}

/// Moves the new file to its place, where a file is.
pub(super) fn replace_file(destination: &Destination, staging: &Staging<'_>) -> Result<()> {
    // A second name for the former file, should it have to come back; where there are no links, it cannot.
    let (parent, name) = (&destination.parent, &destination.name);
    let _ = linkat(parent, name, &staging.fd, FORMER, AtFlags::empty());
    retry_on_intr(|| renameat(&staging.fd, MADE, parent, name))
        .map_err(|error| Error::io("cannot write", &destination.path, error.into()))
}

/// Takes the new directory or file back out of its place, where nothing was before.
///
/// What cannot be undone stays: it is whole, and the error that led here is told anyway.
pub(super) fn unsettle(destination: &Destination, staging: &Staging<'_>) {
    let (parent, name) = (&destination.parent, &destination.name);
    let _ = retry_on_intr(|| renameat(parent, name, &staging.fd, MADE));
}

/// Gives the former file its place back.
pub(super) fn restore_file(destination: &Destination, staging: &Staging<'_>) {
    let (parent, name) = (&destination.parent, &destination.name);
    let _ = retry_on_intr(|| renameat(&staging.fd, FORMER, parent, name));
}

/// Puts the new name on disk.
pub(super) fn sync_parent(destination: &Destination) -> Result<()> {
    match retry_on_intr(|| fsync(&destination.parent)) {
        // Some file systems have nothing to do for a directory and say so.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(Error::io(
            "cannot write",
            &destination.parent_path,
            error.into(),
        )),
    }
}
