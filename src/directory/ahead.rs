//! Looking at a destination before anything is fetched for it.
//!
//! Nothing is decided for good: [`write`](super::write()) looks again when the content is there.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::WriteOptions;
use super::destination::Destination;
use super::file::open_directory;
use super::survey::{Coming, Survey, open_at};
use super::write::refuse_losses;
use crate::bundle::{Files, MANIFESTS, METADATA};
use crate::content::{Content, Spool};
use crate::error::{Error, Result};
use crate::kdp::PACKAGES;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{self, Metadata};
use crate::name::ChannelName;
use crate::path::BundlePath;

/// What is at a destination for a directory.
#[derive(Debug)]
pub enum Ahead {
    /// Nothing that would be in the way.
    Free,
    /// A directory with files that may be those of the bundle, and nothing else.
    Files(Present),
    /// A directory with something in it that no bundle holds.
    Other,
}

/// Files that are at a destination. None of them is open until they are read.
#[derive(Debug)]
pub struct Present {
    root: OwnedFd,
    place: PathBuf,
    paths: Vec<BundlePath>,
}

impl Present {
    /// Reads the files, one after the other, into contents; nothing when one may not be read or all together are more than a
    /// bundle may hold.
    ///
    /// # Errors
    ///
    /// [`Kind::Io`](crate::error::Kind::Io) for a file that cannot be read, or not be kept in the spool.
    pub fn read(&self, limits: &Limits, spool: &mut Spool) -> Result<Option<Files>> {
        let mut left = limits[Ceiling::Unpacked];
        let mut files = Files::new();
        if self.paths.len() as u64 > limits[Ceiling::Entries] {
            return Ok(None);
        }
        for path in &self.paths {
            let at = self.place.join(path.as_str());
            let Some(there) = readable(&self.root, Path::new(path.as_str()))
                .map_err(|error| Error::io("cannot read", &at, error))?
            else {
                return Ok(None);
            };
            let Some(rest) = left.checked_sub(there.len()) else {
                return Ok(None);
            };
            left = rest;
            let content = spool
                .store(&mut there.reader())
                .map_err(|error| Error::io("cannot make a copy of", &at, error))?;
            files.insert(path.clone(), content);
        }
        Ok(Some(files))
    }
}

/// Opens a file, unless this user may not read it.
fn readable(root: &OwnedFd, path: &Path) -> io::Result<Option<Content>> {
    match open_at(root, path) {
        Ok(file) => Content::of_file(File::from(file)).map(Some),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks at the destination of a directory; `metadata` is what is known of the bundle before it is there.
///
/// Fails as [`write`](super::write()) would fail whatever the files are: when there is no directory to write in, or
/// something is there that is no directory, or [`WriteOptions::force`] would lose what no bundle put there. Whether a
/// directory that is there is in the way is for the caller to find out, who may know what the bundle holds.
pub fn look_ahead(
    path: &Path,
    options: &WriteOptions,
    metadata: Option<&Metadata>,
    limits: &Limits,
) -> Result<Ahead> {
    let destination = Destination::open(path)?;
    let exists = destination.expect(FileType::Directory)?;
    if !exists {
        destination.expect_writable()?;
        return Ok(Ahead::Free);
    }
    let root = open_directory(&destination.parent, &destination.name)
        .map_err(|error| Error::io("cannot open", path, error))
        .map_err(|error| destination.or_changed(error))?;
    let survey = Survey::of(&root, path).map_err(|error| destination.or_changed(error))?;
    if survey.is_empty() {
        destination.expect_writable()?;
        return Ok(Ahead::Free);
    }
    let paths: Vec<BundlePath> = survey.plain_files().filter_map(bundle_path).collect();
    if options.force {
        destination.expect_writable()?;
        let is_other = metadata.is_some_and(|new| is_of_another(&root, new, limits));
        let losses = survey.losses(&root, path, &|path| {
            if path == Path::new(MANIFESTS) || path == Path::new(METADATA) {
                Coming::Directory
            } else if bundle_path(path).is_none() || (is_other && path == Path::new(metadata::FILE))
            {
                Coming::Nothing
            } else {
                Coming::Unknown
            }
        });
        let losses = losses.map_err(|error| destination.or_changed(error))?;
        refuse_losses(&destination, &losses, options)?;
    }
    Ok(if paths.len() == survey.len() {
        Ahead::Files(Present {
            root,
            place: path.to_owned(),
            paths,
        })
    } else {
        Ahead::Other
    })
}

/// Looks at the destination of a directory of channels, and fails as [`write`](super::write()) would whatever the channels
/// and versions are.
///
/// Without [`WriteOptions::force`] a directory is in the way that has something in it which no such directory has; one that
/// may be the same is for [`write`](super::write()) to compare.
pub fn look_ahead_at_channels(path: &Path, options: &WriteOptions) -> Result<()> {
    let destination = Destination::open(path)?;
    if !destination.expect(FileType::Directory)? {
        return destination.expect_writable();
    }
    let root = open_directory(&destination.parent, &destination.name)
        .map_err(|error| Error::io("cannot open", path, error))
        .map_err(|error| destination.or_changed(error))?;
    let survey = Survey::of(&root, path).map_err(|error| destination.or_changed(error))?;
    if options.force {
        let losses = survey.losses(&root, path, &|path| {
            if is_of_channels(path) {
                Coming::Unknown
            } else {
                Coming::Nothing
            }
        });
        let losses = losses.map_err(|error| destination.or_changed(error))?;
        refuse_losses(&destination, &losses, options)?;
    } else if !survey.is_empty() {
        let may_come = survey.plain_files().filter(|path| is_of_channels(path));
        if may_come.count() != survey.len() {
            return Err(destination.exists());
        }
        return Ok(());
    }
    destination.expect_writable()
}

/// Tells whether a path can be that of a channel file, or of a file of a version.
fn is_of_channels(path: &Path) -> bool {
    let Some(text) = path.to_str() else {
        return false;
    };
    match text.split_once('/') {
        None => text.parse::<ChannelName>().is_ok(),
        Some((first, below)) => first == PACKAGES && below.matches('/').count() >= 2,
    }
}

/// Looks at the destination of a file, and fails as [`write_file`](super::write_file) would.
pub fn look_ahead_at_file(path: &Path, options: &WriteOptions) -> Result<()> {
    let destination = Destination::open(path)?;
    if destination.expect(FileType::RegularFile)? && !options.force {
        return Err(destination.exists());
    }
    destination.expect_writable()
}

/// The error about a directory that is there and is not what shall be written.
pub fn in_the_way(path: &Path) -> Error {
    match Destination::open(path) {
        Ok(destination) => destination.exists(),
        Err(error) => error,
    }
}

/// Returns a path as that of a file in a bundle, if it can be one.
fn bundle_path(path: &Path) -> Option<BundlePath> {
    let path: BundlePath = path.to_str()?.parse().ok()?;
    let is_inside = |directory| path.strip_prefix(directory).is_some();
    (is_inside(MANIFESTS) || is_inside(METADATA)).then_some(path)
}

/// Tells whether the metadata that is there is another bundle's, so that it does not come again.
fn is_of_another(root: &OwnedFd, new: &Metadata, limits: &Limits) -> bool {
    let file = readable(root, Path::new(metadata::FILE)).ok().flatten();
    let there = file
        .filter(|content| content.len() <= limits[Ceiling::Yaml])
        .and_then(|content| content.to_bytes().ok())
        .and_then(|bytes| Metadata::parse(&bytes, limits).ok());
    there.is_none_or(|there| (&there.package, &there.version) != (&new.package, &new.version))
}
