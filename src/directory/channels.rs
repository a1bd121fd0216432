//! A directory of channels (kubebuilder-declarative-pattern): which channel files and which versions of which packages it
//! has. What the files say is `kdp`'s; the versions are read one by one, as sources.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::LeftOut;
use super::file::{self, Snapshot, list, open_directory, open_file, snapshot};
use crate::content::Spool;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::kdp::{self, PACKAGES};
use crate::limits::{Ceiling, Limits};
use crate::name::{ChannelName, PackageName};
use crate::version::Version;

/// What is in a directory of channels.
#[derive(Debug)]
pub struct Channels {
    /// The channel files, in the order of their names.
    pub files: Vec<(ChannelName, bytes::Bytes)>,
    /// The versions of the packages, with the places of their directories.
    pub versions: Vec<(PackageName, Version, PathBuf)>,
    /// What is neither a channel file nor a version.
    pub left_out: Vec<LeftOut>,
}

/// Looks at a directory of channels; the channel files are read, the versions are not.
///
/// `path` itself may be a link, since the caller named it.
///
/// # Errors
///
/// [`Kind::NotFound`] when nothing is there, [`Kind::Invalid`] when it is no such directory or has a directory that no version
/// can be named after, [`Kind::Unsafe`] for links and special files, [`Kind::Limit`] over a ceiling.
pub fn read_channels(path: &Path, limits: &Limits, spool: &mut Spool) -> Result<Channels> {
    let place = std::fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            let path = shown(&path.to_string_lossy());
            Error::not_found(format!("there is no directory `{path}`"))
        }
        _ => Error::io("cannot read", path, error),
    })?;
    let root = open_directory(CWD, place.as_os_str())
        .map_err(|error| Error::io("cannot open the directory", path, error))?;
    let mut found = Channels {
        files: Vec::new(),
        versions: Vec::new(),
        left_out: Vec::new(),
    };
    for (name, kind) in entries(&root, path, limits)? {
        let at = path.join(&name);
        let text = name.to_string_lossy().into_owned();
        let channel = text.parse::<ChannelName>();
        match (kind, channel) {
            (FileType::Directory, _) if text == PACKAGES => {
                let fd = open(&root, &name, &at)?;
                read_packages(&fd, &at, &mut found, limits)?;
            }
            (FileType::RegularFile, Ok(channel)) => {
                let text = read_file(&root, &name, &at, limits, spool)?;
                found.files.push((channel, text));
            }
            (FileType::Directory | FileType::RegularFile, _) => {
                leave_out(&mut found, &name, kind, "is no channel file");
            }
            (other, _) => return Err(refused(&at, other)),
        }
    }
    if found.files.is_empty() {
        let path = shown(&path.to_string_lossy());
        return Err(Error::invalid(format!("`{path}` has no channel file"))
            .hint(if found.versions.is_empty() {
                "it is the directory that has the file `stable` and the directory `packages`"
            } else {
                "write one beside `packages`, such as `stable` with `manifests:` and a line `- version: VERSION` for each version in it"
            }));
    }
    Ok(found)
}

/// Finds `NAME/VERSION` below `packages`.
fn read_packages(
    packages: &OwnedFd,
    path: &Path,
    found: &mut Channels,
    limits: &Limits,
) -> Result<()> {
    for (name, kind) in entries(packages, path, limits)? {
        let (at, below) = (path.join(&name), Path::new(PACKAGES).join(&name));
        if !is_directory(kind, &at)? {
            leave_out(found, below.as_os_str(), kind, "is no package");
            continue;
        }
        let in_place = |error: Error| error.at(at.display()).file(at.display());
        let package = kdp::parse_package(&name.to_string_lossy()).map_err(in_place)?;
        let fd = open(packages, &name, &at)?;
        for (name, kind) in entries(&fd, &at, limits)? {
            let (at, below) = (at.join(&name), below.join(&name));
            if !is_directory(kind, &at)? {
                leave_out(found, below.as_os_str(), kind, "is no version");
                continue;
            }
            let in_place = |error: Error| error.at(at.display()).file(at.display());
            let version = kdp::parse_version(&name.to_string_lossy()).map_err(in_place)?;
            found.versions.push((package.clone(), version, at));
            expect_few(found.versions.len(), limits).map_err(|error| error.file(path.display()))?;
        }
    }
    Ok(())
}

/// The error about what is no file and no directory; nothing could name what a link leads to the same way on another machine.
fn refused(at: &Path, kind: FileType) -> Error {
    let what = if kind == FileType::Symlink {
        "a link, and a directory of channels has none"
    } else {
        "no regular file"
    };
    let path = shown(&at.to_string_lossy());
    Error::new(Kind::Unsafe, format!("`{path}` is {what}")).file(at.display())
}

fn is_directory(kind: FileType, at: &Path) -> Result<bool> {
    match kind {
        FileType::Directory => Ok(true),
        FileType::RegularFile => Ok(false),
        other => Err(refused(at, other)),
    }
}

fn leave_out(found: &mut Channels, name: &std::ffi::OsStr, kind: FileType, rule: &str) {
    let end = if kind == FileType::Directory { "/" } else { "" };
    found.left_out.push(LeftOut {
        path: format!("{}{end}", name.to_string_lossy()),
        rule: rule.to_owned(),
    });
}

fn open(parent: &OwnedFd, name: &OsString, at: &Path) -> Result<OwnedFd> {
    open_directory(parent, name).map_err(|error| Error::io("cannot open", at, error))
}

fn expect_few(count: usize, limits: &Limits) -> Result<()> {
    let (max, count) = (limits[Ceiling::Entries], count as u64);
    if count > max {
        return Err(Error::limit(Ceiling::Entries, max, count));
    }
    Ok(())
}

/// Returns names and kinds of what is in a directory, in the order of the names.
fn entries(
    directory: impl AsFd,
    path: &Path,
    limits: &Limits,
) -> Result<Vec<(OsString, FileType)>> {
    let cannot = |error: rustix::io::Errno| Error::io("cannot read", path, error.into());
    let mut all = Vec::new();
    for entry in list(&directory).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let name = OsString::from_vec(name.to_vec());
        let stat = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(cannot)?;
        all.push((name, FileType::from_raw_mode(stat.st_mode)));
        expect_few(all.len(), limits).map_err(|error| error.file(path.display()))?;
    }
    all.sort_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
    Ok(all)
}

/// Reads a channel file, which is small.
fn read_file(
    root: &OwnedFd,
    name: &OsString,
    at: &Path,
    limits: &Limits,
    spool: &mut Spool,
) -> Result<bytes::Bytes> {
    let cannot = |error| Error::io("cannot read", at, error);
    let fd = open_file(root, name).map_err(cannot)?;
    let read = snapshot(fd, at, &mut file::buffer(), limits, spool, true)?;
    match read {
        Snapshot::Content(content) if content.len() <= kdp::FILE_MAX => {
            content.to_bytes().map_err(cannot)
        }
        _ => Err(Error::new(
            Kind::Limit,
            format!("a channel file has at most {} bytes", kdp::FILE_MAX),
        )
        .file(at.display())),
    }
}
