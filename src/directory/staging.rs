//! A private directory beside the destination, in which everything is made before it is moved into place.
//!
//! Its name is `.NAME.bundle-XXXXXXXX` and it is locked for as long as its process lives. One that nobody holds is what
//! a killed run left; the next run for the same destination removes it. Nothing else is ever removed by its name.

use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher as _, Hasher as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use super::destination::Destination;
use super::file::{list, open_directory};
use crate::error::{Error, Result};
use crate::escape::shown;

/// The name of what is being made, inside a staging directory.
pub(super) const MADE: &str = "made";

/// How many random characters a name ends with.
const RANDOM: usize = 8;

/// The staging directory of one write; removed with all it holds when it is dropped.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    destination: &'a Destination,
    name: OsString,
    /// Open and locked.
    pub(super) fd: OwnedFd,
}

impl<'a> Staging<'a> {
    /// Removes what killed runs left for this destination, and makes a new staging directory.
    pub(super) fn beside(destination: &'a Destination) -> Result<Self> {
        let prefix = prefix(destination);
        remove_leftovers(&destination.parent, &prefix);
        loop {
            let mut name = prefix.clone();
            name.push(random());
            match retry_on_intr(|| mkdirat(&destination.parent, &name, Mode::RWXU)) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(failed(destination, error)),
            }
            // Between making and locking it another run may have taken it for a leftover.
            match lock(&destination.parent, &name) {
                Ok(Some(fd)) => {
                    return Ok(Self {
                        destination,
                        name,
                        fd,
                    });
                }
                Ok(None) => {}
                Err(error) => {
                    let _ = unlinkat(&destination.parent, &name, AtFlags::REMOVEDIR);
                    return Err(failed(destination, error));
                }
            }
        }
    }

    /// Removes what killed runs left for a destination that needs no writing.
    pub(super) fn clear(destination: &Destination) {
        remove_leftovers(&destination.parent, &prefix(destination));
    }

    /// Moves what is in the directory out of it, where no later run removes it, and adds to an error where it is.
    ///
    /// For the one case in which something of the caller's is in here and cannot be put back.
    pub(super) fn keep(self, error: Error) -> Error {
        let parent = &self.destination.parent;
        let mut aside = self.destination.short_name().to_owned();
        aside.push(".former-");
        aside.push(random());
        let (place, rest) = if renameat(&self.fd, MADE, parent, &aside).is_ok() {
            (self.destination.parent_path.join(aside), "")
        } else {
            let place = self.destination.parent_path.join(&self.name).join(MADE);
            // Not dropped, so not removed; the next run for this destination would.
            std::mem::forget(self);
            (place, ": move it before the next run")
        };
        let place = shown(&place.to_string_lossy());
        error.hint(format!("what was there is in `{place}`{rest}"))
    }

    /// Removes the directory and all it holds now, and says when that fails.
    pub(super) fn remove(self) -> Result<()> {
        let place = self.destination.parent_path.join(&self.name);
        // What failed for a moment is worth a second try: the result is in its place already.
        remove_tree(&self.destination.parent, &self.name)
            .or_else(|_| remove_tree(&self.destination.parent, &self.name))
            .map_err(|error| Error::io("cannot remove", &place, error.into()))
        // Dropping it tries once more, which does no harm.
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is a leftover, and the next run's to remove.
        let _ = remove_tree(&self.destination.parent, &self.name);
    }
}

/// What the names of a destination's staging directories begin with.
fn prefix(destination: &Destination) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(destination.short_name());
    prefix.push(".bundle-");
    prefix
}

fn failed(destination: &Destination, error: Errno) -> Error {
    let parent = &destination.parent_path;
    Error::io("cannot make a directory in", parent, error.into())
}

/// Opens and locks a directory; nothing when another process holds it or has removed it.
fn lock(parent: &OwnedFd, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match retry_on_intr(|| openat(parent, name, flags, Mode::empty())) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    // Some network file systems do not lock directories. Then nothing counts as a leftover.
    let locked = retry_on_intr(|| flock(&fd, FlockOperation::NonBlockingLockExclusive));
    if let Err(Errno::WOULDBLOCK) = locked {
        return Ok(None);
    }
    Ok((fstat(&fd)?.st_nlink > 0).then_some(fd))
}

/// Removes the directories with this prefix that no process holds. What fails stays: it is in nobody's way.
fn remove_leftovers(parent: &OwnedFd, prefix: &OsStr) {
    let Ok(entries) = list(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        let is_one = name
            .strip_prefix(prefix.as_bytes())
            .is_some_and(|rest| rest.len() == RANDOM && rest.iter().all(u8::is_ascii_alphanumeric));
        if !is_one {
            continue;
        }
        let name = OsString::from_vec(name.to_vec());
        let Ok(fd) = open_directory(parent, &name) else {
            continue;
        };
        let ours = fstat(&fd).is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw());
        if ours && flock(&fd, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = remove_tree(parent, &name);
        }
    }
}

/// Removes a directory and everything in it, following no link.
fn remove_tree(parent: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match retry_on_intr(|| openat(&parent, name, flags, Mode::empty())) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    // The names first: removing while listing may skip some.
    let names: Vec<OsString> = list(&fd)?
        .map(|entry| entry.map(|entry| OsString::from_vec(entry.file_name().to_bytes().to_vec())))
        .collect::<Result<_, Errno>>()?;
    for name in names {
        if name == "." || name == ".." {
            continue;
        }
        match retry_on_intr(|| unlinkat(&fd, &name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Linux says the first of a directory, POSIX the second.
            Err(Errno::ISDIR | Errno::PERM) => remove_tree(&fd, &name)?,
            Err(error) => return Err(error),
        }
    }
    match retry_on_intr(|| unlinkat(&parent, name, AtFlags::REMOVEDIR)) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns characters that no other run picks; the standard library seeds its hash tables from the system.
fn random() -> String {
    const ALPHABET: &[u8] = b"0123456789abcdefghijklmnopqrstuv";
    let mut bits = RandomState::new().build_hasher().finish();
    let mut text = String::with_capacity(RANDOM);
    for _ in 0..RANDOM {
        let index = usize::try_from(bits & 31).unwrap_or(0);
        text.push(char::from(*ALPHABET.get(index).unwrap_or(&b'0')));
        bits >>= 5;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn leftovers_are_removed_unless_somebody_holds_them() {
        let directory = tempfile::tempdir().unwrap();
        for path in [
            ".out.bundle-00000000/tree/manifests",
            ".out.bundle-held0000/tree",
            ".out.bundle-short",
            ".out.bundle-00000-00",
            ".outer.bundle-00000000",
            "out.bundle-00000000",
        ] {
            fs::create_dir_all(directory.path().join(path)).unwrap();
        }
        let left = directory.path().join(".out.bundle-00000000/tree");
        fs::write(left.join("f"), "x").unwrap();
        std::os::unix::fs::symlink(directory.path(), left.join("link")).unwrap();
        let destination = Destination::open(&directory.path().join("out")).unwrap();
        let held = lock(&destination.parent, OsStr::new(".out.bundle-held0000"))
            .unwrap()
            .unwrap();
        let staging = Staging::beside(&destination).unwrap();
        let own = staging.name.clone().into_string().unwrap();
        let mut want = vec![
            ".out.bundle-00000-00".to_owned(),
            ".out.bundle-held0000".into(),
            ".out.bundle-short".into(),
            ".outer.bundle-00000000".into(),
            own.clone(),
            "out.bundle-00000000".into(),
        ];
        want.sort();
        assert_eq!(names(directory.path()), want);
        // A second run for the same destination leaves the first one's alone.
        drop(Staging::beside(&destination).unwrap());
        assert_eq!(names(directory.path()), want);
        drop((staging, held));
        want.retain(|name| *name != own);
        assert_eq!(names(directory.path()), want);
    }

    #[test]
    fn a_long_name_still_has_room_for_its_staging_directory() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "\u{e4}".repeat(127)] {
            let destination = Destination::open(&directory.path().join(name)).unwrap();
            drop(Staging::beside(&destination).unwrap());
        }
        assert!(names(directory.path()).is_empty());
    }
}
