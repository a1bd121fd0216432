//! Opening whatever a location names: the only match on the kinds of places.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::content::Content;
use crate::directory::{Standing, look};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Limits;
use crate::objects::is_manifest_name;
use crate::oci::ManifestBlob;
use crate::reference::{Entry, Location, Reference};
use crate::store::layout::Layout;
use crate::store::registry::{Access, Registry};
use crate::store::{self, Name, Store, archive};
use crate::tag::Tag;

/// How places are reached.
#[derive(Debug, Clone)]
pub struct Reach {
    /// How registries are reached.
    pub access: Access,
    /// The ceilings.
    pub limits: Limits,
    /// Where large contents are kept for the moment.
    pub spool_directory: PathBuf,
    /// How many layers of a bundle are fetched at once.
    pub concurrency: usize,
}

/// A source that was opened.
#[derive(Debug, Clone)]
pub enum Place {
    /// A bundle directory, or a single file of objects.
    Directory(PathBuf),
    /// A store, and the name of what is meant in it.
    Store(Arc<dyn Store>, Name),
}

/// Opens a source.
///
/// # Errors
///
/// [`NotFound`](crate::Kind::NotFound) when nothing is there, [`Usage`](crate::Kind::Usage) for a registry reference without tag and digest or a
/// stream, which only the caller can read.
pub async fn open(location: &Location, reach: &Reach) -> Result<Place> {
    match location {
        Location::Stream => Err(Error::usage("`-` cannot be read here")),
        Location::Registry(reference) => open_registry(reference, reach).await,
        Location::Layout { path, entry } => {
            let layout = Layout::open(path, &reach.limits)?;
            let name = layout.select(entry)?;
            Ok(Place::Store(Arc::new(layout), name))
        }
        Location::Archive { path, entry } => open_archive(path, entry, &reach.limits),
        Location::Path(path) => open_path(path, &reach.limits),
    }
}

/// Opens a repository; a name is needed, and there is no default one.
async fn open_registry(reference: &Reference, reach: &Reach) -> Result<Place> {
    let registry = Registry::open(reference.repository.clone(), &reach.access)?;
    let name = match (&reference.digest, &reference.tag) {
        (Some(digest), _) => Name::Digest(*digest),
        (None, Some(tag)) => Name::Tag(tag.clone()),
        (None, None) => {
            let error = Error::usage(format!("`{reference}` names no tag and no digest"));
            // The newest version is a courtesy; a registry that does not answer must not hide what is wrong.
            let newest = registry.tags().await.ok().and_then(|tags| {
                // A pre-release is the newest only where there is nothing else.
                tags.into_iter()
                    .filter_map(|tag| Some((tag.version()?, tag)))
                    .max_by_key(|(version, tag)| {
                        // Of two spellings of a version, `push` sets the plain one.
                        let is_plain = !tag.as_str().starts_with('v');
                        (!version.is_prerelease(), version.clone(), is_plain)
                    })
            });
            return Err(match newest {
                Some((_, tag)) => error.hint(format!("the newest version is `{reference}:{tag}`")),
                None => error.hint(format!("`bundle list {reference}` lists the tags")),
            });
        }
    };
    Ok(Place::Store(Arc::new(registry), name))
}

/// Opens a path: what is there decides.
fn open_path(path: &Path, limits: &Limits) -> Result<Place> {
    let is_objects = is_manifest_name(path);
    let text = shown(&path.to_string_lossy());
    match look(path)? {
        Standing::Directory => Ok(Place::Directory(path.to_owned())),
        Standing::Layout => {
            Err(Error::usage(format!("`{text}` is an OCI layout"))
                .hint(format!("write `oci:{text}`")))
        }
        Standing::File(_) if is_objects => Ok(Place::Directory(path.to_owned())),
        Standing::File(content) => open_file(&content, path, &Entry::default(), limits),
        Standing::Nothing => {
            let error = Error::not_found(format!("nothing is at `{text}`"));
            Err(
                if text.contains(['/', ':']) && !text.starts_with(['.', '/']) {
                    error.hint(format!("if you mean Docker Hub, write `docker.io/{text}`"))
                } else {
                    error
                },
            )
        }
    }
}

fn open_archive(path: &Path, entry: &Entry, limits: &Limits) -> Result<Place> {
    let text = shown(&path.to_string_lossy());
    match look(path)? {
        Standing::File(content) => open_file(&content, path, entry, limits),
        Standing::Nothing => Err(Error::not_found(format!("no archive at `{text}`"))),
        Standing::Directory => Err(Error::usage(format!(
            "`{text}` is a directory, and an archive is a file"
        ))),
        Standing::Layout => Err(Error::usage(format!(
            "`{text}` is an OCI layout, and an archive is a file"
        ))
        .hint(format!("write `oci:{text}`"))),
    }
}

fn open_file(content: &Content, path: &Path, entry: &Entry, limits: &Limits) -> Result<Place> {
    let place = format!("oci-archive:{}", shown(&path.to_string_lossy()));
    open_content(content, &place, entry, limits)
}

/// Opens an archive that was read from a stream or opened from a file.
pub fn open_content(
    content: &Content,
    place: &str,
    entry: &Entry,
    limits: &Limits,
) -> Result<Place> {
    let mut magic = [0; 4];
    let n = content
        .read_at(&mut magic, 0)
        .map_err(|error| Error::io("cannot read", Path::new(place), error))?;
    if magic
        .get(..n)
        .is_some_and(|start| start.starts_with(&[0x1f, 0x8b]))
    {
        return Err(Error::invalid(format!(
            "{place} is compressed, and an archive is a plain tar"
        ))
        .hint("run gunzip on it first"));
    }
    let archive = archive::read(content, place, limits)?;
    let name = archive.select(entry)?;
    Ok(Place::Store(Arc::new(archive.memory), name))
}

/// Fetches the manifest that a caller named, and looks, where there is no such tag, for the same version written otherwise.
///
/// # Errors
///
/// What [`store::fetch_manifest`] refuses; a tag that is there in another spelling is the hint of a [`Kind::NotFound`].
pub async fn manifest(store: &dyn Store, name: &Name, limits: &Limits) -> Result<ManifestBlob> {
    let error = match store::fetch_manifest(store, name, limits).await {
        Err(error) if error.kind() == Kind::NotFound => error,
        fetched => return fetched,
    };
    let Name::Tag(tag) = name else {
        return Err(error);
    };
    let Some(other) = other_spelling(tag) else {
        return Err(error);
    };
    // What fails now says nothing about what was asked for.
    Err(match store.tagged(&other).await {
        Ok(Some(_)) => error.hint(format!(
            "the version is there with another tag: `{}:{other}`",
            store.place()
        )),
        _ => error,
    })
}

/// Returns the tag of the same version with a `v`, or without the one that it has.
fn other_spelling(tag: &Tag) -> Option<Tag> {
    tag.version()?;
    match tag.as_str().strip_prefix('v') {
        Some(plain) => plain.parse(),
        None => format!("v{tag}").parse(),
    }
    .ok()
}
