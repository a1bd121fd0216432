//! Where a copy goes: a store, or a file that is written from a store in memory in the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::digest::Digest;
use crate::directory::{self, Standing, WriteOptions};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Limits;
use crate::reference::Location;
use crate::store::layout::Layout;
use crate::store::memory::Memory;
use crate::store::registry::Registry;
use crate::store::{Store, archive};
use crate::tag::Tag;

use super::open::Reach;

/// A destination that was opened.
#[derive(Debug)]
pub struct Destination {
    /// What is written into.
    pub store: Arc<dyn Store>,
    /// The tag that the location names.
    pub tag: Option<Tag>,
    /// The file that is written in the end, from the store in memory.
    archive: Option<(PathBuf, Arc<Memory>)>,
    /// The same for a stream, which the caller writes.
    stream: Option<Arc<Memory>>,
    limits: Limits,
}

impl Destination {
    /// Opens a destination; a layout is made where there is none, a file is written by [`Destination::finish`].
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`] for a location that cannot be written into under a name.
    pub fn open(location: &Location, reach: &Reach) -> Result<Self> {
        let with_digest = |text: &dyn std::fmt::Display| {
            Error::usage(format!(
                "`{text}` has a digest, and what is written has its own"
            ))
            .hint("leave out `@sha256:…`")
        };
        expect_archive_name(location)?;
        match location {
            Location::Registry(reference) => {
                if reference.digest.is_some() {
                    return Err(with_digest(reference));
                }
                let registry =
                    Registry::open(reference.repository.clone(), &reach.access)?.to_write();
                Ok(Self {
                    store: Arc::new(registry),
                    tag: reference.tag.clone(),
                    archive: None,
                    stream: None,
                    limits: reach.limits.clone(),
                })
            }
            Location::Layout { entry, .. } | Location::Archive { entry, .. }
                if entry.digest.is_some() =>
            {
                Err(with_digest(location))
            }
            Location::Layout { path, entry } => {
                let layout = Layout::open_or_create(path, &reach.limits)?;
                Ok(Self {
                    store: Arc::new(layout),
                    tag: entry.name.clone(),
                    archive: None,
                    stream: None,
                    limits: reach.limits.clone(),
                })
            }
            Location::Archive { path, entry } => {
                Ok(Self::file(path.clone(), entry.name.clone(), reach))
            }
            Location::Path(path) => Ok(Self::file(path.clone(), None, reach)),
            Location::Stream => {
                let memory = Arc::new(memory("oci-archive:-".to_owned(), reach));
                Ok(Self {
                    store: Arc::clone(&memory) as Arc<dyn Store>,
                    tag: None,
                    archive: None,
                    stream: Some(memory),
                    limits: reach.limits.clone(),
                })
            }
        }
    }

    fn file(path: PathBuf, tag: Option<Tag>, reach: &Reach) -> Self {
        let memory = Arc::new(memory(format!("oci-archive:{}", path.display()), reach));
        Self {
            store: Arc::clone(&memory) as Arc<dyn Store>,
            tag,
            archive: Some((path, memory)),
            stream: None,
            limits: reach.limits.clone(),
        }
    }

    /// Returns what is to be written as an archive to the stream that the destination is, once it is complete.
    pub fn stream(&self) -> Option<&Memory> {
        self.stream.as_deref()
    }

    /// Fails where [`Destination::finish`] would, before the manifest with the digest `coming` and its parts are fetched for it.
    ///
    /// # Errors
    ///
    /// As [`Destination::finish`], and [`Kind::Io`] where no file can be made.
    pub fn look_ahead(&self, force: bool, coming: &Digest) -> Result<()> {
        let Some((path, _)) = &self.archive else {
            return Ok(());
        };
        look_ahead_at_archive(path, force, coming, &self.limits)
    }

    /// Writes the file, where the destination is one, unless it has the same bytes already; says whether anything is other than
    /// it was, as far as a file decides it.
    ///
    /// # Errors
    ///
    /// What [`directory::write_file_unless_same`] fails with: [`Kind::Conflict`] when the file
    /// exists and may not be replaced.
    pub fn finish(self, options: &WriteOptions) -> Result<bool> {
        let Some((path, memory)) = self.archive else {
            return Ok(true);
        };
        directory::write_file_unless_same(&path, options, |out| archive::write(&memory, out))
    }
}

/// Looks whether an archive can be written at a path: nothing is there, or it may be replaced, or it is an archive of the
/// manifest that is `coming` already and may turn out to be the same.
///
/// # Errors
///
/// As [`directory::look_ahead_at_file`].
pub fn look_ahead_at_archive(
    path: &Path,
    force: bool,
    coming: &Digest,
    limits: &Limits,
) -> Result<()> {
    match directory::look_ahead_at_file(path, &options(force)) {
        Err(error) if error.kind() == Kind::Conflict && holds(path, coming, limits) => Ok(()),
        ahead => ahead,
    }
}

/// Tells whether an archive has a manifest under a name of its own.
fn holds(path: &Path, digest: &Digest, limits: &Limits) -> bool {
    let Ok(Standing::File(content)) = directory::look(path) else {
        return false;
    };
    let roots = archive::read(&content, "", limits).and_then(|archive| archive.memory.roots());
    roots.is_ok_and(|roots| roots.iter().any(|(_, root)| root.digest == *digest))
}

/// Makes a store for what becomes an archive.
fn memory(place: String, reach: &Reach) -> Memory {
    Memory::new(place)
        .with_limits(&reach.limits)
        .with_spool(&reach.spool_directory)
}

fn options(force: bool) -> WriteOptions {
    WriteOptions {
        force,
        ..WriteOptions::default()
    }
}

/// Refuses a path as the place of an archive unless it says that it is one: what was meant as a registry or a directory
/// must not become a file. Locations of other kinds pass.
///
/// # Errors
///
/// [`Kind::Usage`].
pub fn expect_archive_name(location: &Location) -> Result<()> {
    match location {
        Location::Archive { path, .. } => refuse_compressed(path),
        Location::Path(path) => {
            refuse_compressed(path)?;
            if path.extension().is_some_and(|kind| kind == "tar") {
                return Ok(());
            }
            let text = shown(&path.to_string_lossy());
            let bare = text.trim_end_matches('/');
            // A directory, which a `/` at the end says that it is, has no name that a file could have.
            let file = match path.file_name() {
                Some(_) if bare.len() < text.len() => format!("`{bare}.tar`"),
                Some(_) => format!("`{text}.tar` or `oci-archive:{text}`"),
                None => "`FILE.tar`".to_owned(),
            };
            Err(
                Error::usage(format!("`{text}` could be a file, a layout or a registry")).hint(
                    format!(
                        "write {file} for a file, `oci:{text}` for a layout, `HOST/REPOSITORY` for a registry"
                    ),
                ),
            )
        }
        _ => Ok(()),
    }
}

/// Refuses a name that promises a compressed archive; archives are written plain.
///
/// # Errors
///
/// [`Kind::Usage`].
pub fn refuse_compressed(path: &Path) -> Result<()> {
    let text = path.to_string_lossy();
    let ends = [
        ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2",
    ];
    let Some(stem) = ends.iter().find_map(|end| text.strip_suffix(end)) else {
        return Ok(());
    };
    Err(Error::usage(format!(
        "`{}` promises a compressed archive, and archives are plain tar",
        shown(&text)
    ))
    .hint(format!(
        "write `{}.tar`: the layer in it is compressed already",
        shown(stem)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_so_becomes_an_archive() {
        for (text, is_archive) in [
            ("etcd.tar", true),
            ("./etcd-3.5.0.bundle.tar", true),
            ("oci-archive:etcd", true),
            ("oci-archive:etcd:3.5.0", true),
            ("oci:store", true),
            ("reg.io/etcd", true),
            ("-", true),
            ("mirror", false),
            ("registry.internal", false),
            ("./dir/", false),
            ("etcd.tar.gz", false),
            ("etcd.tgz", false),
            ("oci-archive:etcd.tgz", false),
            (".tar", false),
        ] {
            // What is no location at all is refused before.
            let Ok(location) = text.parse::<Location>() else {
                continue;
            };
            assert_eq!(expect_archive_name(&location).is_ok(), is_archive, "{text}");
        }
    }
}
