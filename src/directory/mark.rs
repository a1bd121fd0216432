//! Marks on files that a bundle put where they are: how the next run knows that they are nobody else's.
//!
//! A mark is an extended attribute with a SHA-256 over path and content. It is not a protection against somebody who
//! wants to lose files; it says that deleting this one loses nothing that the owner of the directory made.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};

use crate::content::{CHUNK, Content};
use crate::digest::{Digest, Hasher};

/// Short, and its value is raw bytes: on ext4 both fit into the inode and cost no block.
const NAME: &str = "user.manifest-bundle";

/// Computes the mark of a file while its content passes by.
#[derive(Debug)]
pub(super) struct Mark(Hasher);

impl Mark {
    /// Begins the mark of the file at a path of a bundle.
    pub(super) fn begin(path: &str) -> Self {
        let mut hasher = Hasher::sha256();
        hasher.update(path.as_bytes());
        // No path holds it, so path and content cannot run into each other.
        hasher.update(&[0]);
        Self(hasher)
    }

    /// Takes in the next bytes of the content.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self) -> [u8; 32] {
        match self.0.finish() {
            Digest::Sha256(bytes) => bytes,
            Digest::Sha512(_) => [0; 32],
        }
    }

    /// Puts the mark on a file.
    pub(super) fn put(self, file: &OwnedFd) -> io::Result<()> {
        Ok(fsetxattr(file, NAME, &self.finish(), XattrFlags::empty())?)
    }
}

/// Tells whether a file bears the mark of its path and present content. What cannot be read bears none.
pub(super) fn is_marked(path: &str, file: &OwnedFd) -> bool {
    let mut found = [0_u8; 33];
    let Ok(length) = fgetxattr(file, NAME, &mut found) else {
        return false;
    };
    let Some(found) = found.get(..length) else {
        return false;
    };
    let mut mark = Mark::begin(path);
    each_chunk(file, |bytes| mark.update(bytes)).is_ok() && mark.finish() == found
}

/// Tells whether a file holds the bytes of a content.
pub(super) fn holds(file: &OwnedFd, content: &Content) -> bool {
    let same = || -> io::Result<bool> {
        if rustix::fs::fstat(file)?.st_size != i64::try_from(content.len()).unwrap_or(-1) {
            return Ok(false);
        }
        let mut hasher = Hasher::sha256();
        each_chunk(file, |bytes| hasher.update(bytes))?;
        Ok(hasher.finish() == content.digest(Hasher::sha256())?)
    };
    same().unwrap_or(false)
}

/// Reads a file from its beginning to its end.
fn each_chunk(file: &OwnedFd, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut position = 0;
    loop {
        let n = match rustix::io::pread(file, &mut buffer, position) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if n == 0 {
            return Ok(());
        }
        take(buffer.get(..n).unwrap_or_default());
        position = position.saturating_add(n as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_for_one_path_and_one_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, "text").unwrap();
        let open = || -> OwnedFd { std::fs::File::open(&path).unwrap().into() };
        assert!(!is_marked("a/b", &open()));
        let mut mark = Mark::begin("a/b");
        mark.update(b"te");
        mark.update(b"xt");
        if mark.put(&open()).is_err() {
            // This file system keeps no attributes; nothing is marked then.
            return;
        }
        assert!(is_marked("a/b", &open()));
        assert!(!is_marked("a/c", &open()));
        std::fs::write(&path, "text ").unwrap();
        assert!(!is_marked("a/b", &open()), "edited in place");
        assert!(holds(&open(), &Content::from("text ")));
        assert!(!holds(&open(), &Content::from("text")));
        assert!(!holds(&open(), &Content::from("test ")));
    }
}
