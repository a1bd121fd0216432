//! Where a copy goes: a store, or a file that is written from a store in memory in the end.

use std::path::PathBuf;
use std::sync::Arc;

use crate::directory::{self, WriteOptions};
use crate::error::{Error, Result};
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
}

impl Destination {
    /// Opens a destination; a layout is made where there is none, a file is written by [`Destination::finish`].
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a location that cannot be written into under a name.
    pub fn open(location: &Location, reach: &Reach) -> Result<Self> {
        let with_digest = |text: &dyn std::fmt::Display| {
            Error::usage(format!(
                "`{text}` has a digest, and what is written has its own"
            ))
            .hint("leave out `@sha256:…`")
        };
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
                })
            }
            Location::Archive { path, entry } => Ok(Self::file(path.clone(), entry.name.clone())),
            Location::Path(path) => Ok(Self::file(path.clone(), None)),
            Location::Stream => Err(Error::usage("`-` is no destination here")),
        }
    }

    fn file(path: PathBuf, tag: Option<Tag>) -> Self {
        let memory = Arc::new(Memory::new(format!("oci-archive:{}", path.display())));
        Self {
            store: Arc::clone(&memory) as Arc<dyn Store>,
            tag,
            archive: Some((path, memory)),
        }
    }

    /// Writes the file, where the destination is one.
    ///
    /// # Errors
    ///
    /// What [`directory::write_file_with`] fails with: [`Kind::Conflict`](crate::error::Kind::Conflict) when the file
    /// exists and may not be replaced.
    pub fn finish(self, options: &WriteOptions) -> Result<()> {
        let Some((path, memory)) = self.archive else {
            return Ok(());
        };
        directory::write_file_with(&path, options, |out| archive::write(&memory, out))?;
        Ok(())
    }
}
