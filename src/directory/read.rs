//! Reading a source: a declared bundle, a bare directory of manifests, or one manifest.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, statat};

use super::file::{self, Snapshot, open_directory, snapshot};
use super::link::{Roots, special};
use super::walk::{Open, Total, Walk, sensitive};
use super::{LeftOut, Origins, ReadOptions, Source};
use crate::bundle::{Files, MANIFESTS, METADATA};
use crate::content::{Content, Spool};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::ignore::Ignore;
use crate::limits::Limits;
use crate::objects::is_manifest_name;
use crate::path::{BundlePath, Distinct};

/// Reads a directory or a file into contents that do not change any more.
///
/// `path` itself may be a link, since the caller named it; links below it are refused or followed as the options say.
/// The result depends on names and bytes alone, not on modes, times, owners or the order of the directory.
///
/// Fails with [`Kind::NotFound`](crate::Kind::NotFound) when there is nothing at `path`, with
/// [`Kind::Unsafe`](crate::Kind::Unsafe) on links, special files, names that not every system can hold, names that
/// collide, and private keys and kubeconfigs in a declared bundle; with [`Kind::Limit`](crate::Kind::Limit) over a
/// ceiling; with [`Kind::Invalid`](crate::Kind::Invalid) when there is nothing to carry; and with
/// [`Kind::Io`](crate::Kind::Io) on what cannot be read or changes meanwhile.
pub fn read(
    path: &Path,
    options: &ReadOptions,
    limits: &Limits,
    spool: &mut Spool,
) -> Result<Source> {
    let place = std::fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            let shown_path = shown(&path.to_string_lossy());
            Error::not_found(format!("no file or directory `{shown_path}`")).file(path.display())
        }
        _ => Error::io("cannot read", path, error),
    })?;
    let stat = statat(CWD, &place, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| Error::io("cannot read", path, error.into()))?;
    let ignore = Ignore::new(&options.include, &options.ignore, options.built_in_rules)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {}
        FileType::RegularFile => return read_file(path, &place, &ignore, limits, spool),
        other => return Err(special(path, other)),
    }
    let root = open_directory(CWD, place.as_os_str())
        .map_err(|error| Error::io("cannot read", path, error))?;
    let mut walk = Walk {
        source: path,
        declared: is_declared(&root),
        limits,
        ignore,
        roots: Roots::open(&place, options)?,
        spool,
        buffer: file::buffer(),
        files: Vec::new(),
        left_out: Vec::new(),
        refused: options.collect_refused.then(Vec::new),
        total: Total::default(),
    };
    walk.directory(&Open {
        fd: root,
        path: PathBuf::new(),
        place,
        parent: None,
    })?;
    let Walk {
        declared,
        files,
        left_out,
        mut refused,
        ..
    } = walk;
    if files.is_empty() && refused.as_ref().is_none_or(Vec::is_empty) {
        return Err(nothing(path, &left_out));
    }
    let mut renamed = Vec::new();
    let (files, origins) = arrange(files, options.flatten, &mut renamed, &mut refused)?;
    Ok(Source {
        files,
        origins: Origins::new(path, declared, origins),
        declared,
        left_out,
        renamed,
        refused: refused.unwrap_or_default(),
    })
}

/// Reads a source that is one manifest.
fn read_file(
    path: &Path,
    place: &Path,
    ignore: &Ignore,
    limits: &Limits,
    spool: &mut Spool,
) -> Result<Source> {
    use std::os::unix::ffi::OsStrExt as _;
    let shown_path = shown(&path.to_string_lossy());
    // The name is the one that the caller gave, also when it is a link.
    let name = path.file_name().unwrap_or(place.as_os_str());
    if !is_manifest_name(name) {
        return Err(
            Error::invalid(format!("`{shown_path}` is not *.yaml, *.yml or *.json"))
                .file(path.display()),
        );
    }
    let bundle_path = BundlePath::admit(&[MANIFESTS.as_bytes(), b"/", name.as_bytes()].concat())
        .map_err(|error| error.file(path.display()))?;
    let fd = file::open_file(CWD, place.as_os_str())
        .map_err(|error| Error::io("cannot read", path, error))?;
    let included = ignore.includes(Path::new(name), false);
    match snapshot(fd, path, &mut file::buffer(), limits, spool, included)? {
        Snapshot::Content(content) => Ok(Source {
            files: Files::from([(bundle_path.clone(), content)]),
            origins: Origins::of_file(bundle_path, path),
            declared: false,
            left_out: Vec::new(),
            renamed: Vec::new(),
            refused: Vec::new(),
        }),
        Snapshot::Sensitive(kind) => Err(sensitive(path, kind)),
    }
}

/// Tells whether a directory has the layout of a bundle.
fn is_declared(root: &OwnedFd) -> bool {
    [MANIFESTS, METADATA].iter().any(|name| {
        statat(root, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| {
            matches!(
                FileType::from_raw_mode(stat.st_mode),
                FileType::Directory | FileType::Symlink
            )
        })
    })
}

/// Puts the files under their final paths, and refuses two that come to one.
fn arrange(
    files: Vec<(PathBuf, BundlePath, Content)>,
    flatten: bool,
    renamed: &mut Vec<(String, BundlePath)>,
    refused: &mut Option<Vec<Error>>,
) -> Result<(Files, BTreeMap<BundlePath, PathBuf>)> {
    let mut refuse = |error: Error| match refused {
        Some(refused) => {
            refused.push(error);
            Ok(())
        }
        None => Err(error),
    };
    let mut arranged = Files::new();
    let mut origins: BTreeMap<BundlePath, PathBuf> = BTreeMap::new();
    let mut distinct = Distinct::default();
    for (path, bundle_path, content) in files {
        let flat = match flattened(&bundle_path) {
            Ok(flat) => flat.filter(|_| flatten),
            Err(_) if !flatten => None,
            Err(error) => {
                refuse(error.file(path.display()))?;
                continue;
            }
        };
        let final_path = flat.unwrap_or_else(|| bundle_path.clone());
        if let Some(other) = origins.get(&final_path) {
            let [one, two] = [other, &path].map(|path| shown(&path.to_string_lossy()));
            refuse(
                Error::invalid(format!("`{one}` and `{two}` would both be `{final_path}`"))
                    .file(path.display())
                    .hint("rename one of them"),
            )?;
            continue;
        }
        if let Err(error) = distinct.add(&final_path) {
            refuse(error)?;
            continue;
        }
        if final_path != bundle_path {
            renamed.push((path.to_string_lossy().into_owned(), final_path.clone()));
        }
        origins.insert(final_path.clone(), path);
        arranged.insert(final_path, content);
    }
    Ok((arranged, origins))
}

/// Returns the path of a manifest in a sub-directory without the sub-directory, if it is one.
fn flattened(path: &BundlePath) -> Result<Option<BundlePath>> {
    match path.strip_prefix(MANIFESTS) {
        Some(below) if below.contains('/') => {
            let flat = format!("{MANIFESTS}/{}", below.replace('/', "-"));
            BundlePath::admit(flat.as_bytes()).map(Some)
        }
        _ => Ok(None),
    }
}

/// The error about a source in which nothing belongs to a bundle.
fn nothing(path: &Path, left_out: &[LeftOut]) -> Error {
    let shown_path = shown(&path.to_string_lossy());
    let mut message = format!("no manifests in `{shown_path}`");
    if let Some(first) = left_out.first() {
        let (count, file, rule) = (left_out.len(), shown(&first.path), shown(&first.rule));
        message = format!("{message}: {count} left out, the first `{file}` ({rule})");
    }
    Error::invalid(message).file(path.display())
}

#[cfg(test)]
mod tests;
