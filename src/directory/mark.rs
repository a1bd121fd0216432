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
        let mark = self.finish();
        Ok(rustix::io::retry_on_intr(|| {
            fsetxattr(file, NAME, &mark, XattrFlags::empty())
        })?)
    }
}

/// Who a file is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A bundle put it there, as it is now.
    Bundle,
    /// A bundle put something there, and it was changed since.
    Changed,
    /// Nothing tells.
    Unknown,
}

/// Reads files to tell whose they are.
#[derive(Debug)]
pub(super) struct Comparison {
    buffer: Vec<u8>,
    other: Vec<u8>,
}

impl Comparison {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; CHUNK],
            other: vec![0; CHUNK],
        }
    }

    /// Tells whether a file bears the mark of its path and present content.
    pub(super) fn owner(&mut self, path: &str, file: &OwnedFd) -> io::Result<Owner> {
        let mut found = [0_u8; 33];
        // No attribute, none on this file system, or a longer one that is not ours.
        let Ok(length) = fgetxattr(file, NAME, &mut found) else {
            return Ok(Owner::Unknown);
        };
        let mut mark = Mark::begin(path);
        let mut position = 0;
        loop {
            let bytes = read_at(file, &mut self.buffer, position)?;
            if bytes.is_empty() {
                let is_whole = found.get(..length) == Some(&mark.finish());
                return Ok(if is_whole {
                    Owner::Bundle
                } else {
                    Owner::Changed
                });
            }
            mark.update(bytes);
            position = position.saturating_add(bytes.len() as u64);
        }
    }

    /// Tells whether a file holds the bytes of a content.
    pub(super) fn holds(&mut self, file: &OwnedFd, content: &Content) -> io::Result<bool> {
        let mut position = 0;
        loop {
            let found = read_at(file, &mut self.buffer, position)?;
            let Some(wanted) = self.other.get_mut(..found.len().max(1)) else {
                return Ok(false);
            };
            let wanted_length = content.read_at(wanted, position)?;
            if wanted.get(..wanted_length) != Some(found) {
                return Ok(false);
            }
            if found.is_empty() {
                return Ok(true);
            }
            position = position.saturating_add(found.len() as u64);
        }
    }
}

/// Reads at a position until the buffer is full or the file ends.
fn read_at<'a>(file: &OwnedFd, buffer: &'a mut [u8], position: u64) -> io::Result<&'a [u8]> {
    let mut filled = 0_usize;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(file, rest, position.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(n) => filled = filled.saturating_add(n),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(buffer.get(..filled).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_for_one_path_and_one_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        let mut comparison = Comparison::new();
        std::fs::write(&path, "text").unwrap();
        let open = || -> OwnedFd { std::fs::File::open(&path).unwrap().into() };
        let owner = |path, comparison: &mut Comparison| comparison.owner(path, &open()).unwrap();
        assert_eq!(owner("a/b", &mut comparison), Owner::Unknown);
        let mut mark = Mark::begin("a/b");
        mark.update(b"te");
        mark.update(b"xt");
        if mark.put(&open()).is_err() {
            // This file system keeps no attributes; nothing is marked then.
            return;
        }
        assert_eq!(owner("a/b", &mut comparison), Owner::Bundle);
        assert_eq!(owner("a/c", &mut comparison), Owner::Changed);
        std::fs::write(&path, "text ").unwrap();
        let edited = owner("a/b", &mut comparison);
        assert_eq!(edited, Owner::Changed, "edited in place");
        assert!(comparison.holds(&open(), &Content::from("text ")).unwrap());
        assert!(!comparison.holds(&open(), &Content::from("text")).unwrap());
        assert!(!comparison.holds(&open(), &Content::from("test ")).unwrap());
        let large: Vec<u8> = (0..=250).cycle().take(CHUNK * 2 + 5).collect();
        std::fs::write(&path, &large).unwrap();
        assert!(
            comparison
                .holds(&open(), &Content::from(large.clone()))
                .unwrap()
        );
        for change in [0, CHUNK, CHUNK * 2 + 4] {
            let mut other = large.clone();
            other[change] ^= 1;
            assert!(!comparison.holds(&open(), &Content::from(other)).unwrap());
        }
        assert!(
            !comparison
                .holds(&open(), &Content::from(large[..CHUNK].to_vec()))
                .unwrap()
        );
    }
}
