//! Credentials from docker's and podman's files and from credential helpers; `login` and `logout` write there.
//!
//! The order, first match wins (what the command line is given beats all of it and never gets here):
//!
//! 1. the explicit file (`--registry-config`, else `REGISTRY_AUTH_FILE`): when there is one, nothing else is looked at;
//! 2. the text of `DOCKER_AUTH_CONFIG`;
//! 3. `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`;
//! 4. `$XDG_RUNTIME_DIR/containers/auth.json`;
//! 5. `$XDG_CONFIG_HOME/containers/auth.json`, else `~/.config/containers/auth.json`.
//!
//! The first place that has a credential for the repository is used; an empty entry is none. The order within one place
//! is in `docker_config/lookup.rs`. A place that cannot be read or understood is an error, never "no credentials".
//! Nothing here prints, and no secret becomes part of a message.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod edit;
mod helper;
mod lookup;
mod read;
mod replace;
mod run;
mod sources;
mod write;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::credential::{Credentials, Found, Notes};
use crate::error::Result;
use crate::reference::Repository;

pub use helper::Helpers;
pub use sources::{Sources, helper_environment};
pub use write::{Kept, Logout, login, logout};

use lookup::Outcome;

/// Something that the user should know although the work goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A warning, to be shown unless the user asked for silence.
    Warning(String),
    /// What a credential helper said on stderr, escaped; to be shown with `--verbose` only.
    Detail(String),
}

/// The callback that takes a [`Notice`].
#[derive(Clone)]
pub struct Tell(Arc<dyn Fn(Notice) + Send + Sync>);

impl Tell {
    /// Takes a callback.
    pub fn new(tell: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    /// Drops every notice.
    pub fn nobody() -> Self {
        Self::new(|_| ())
    }

    /// Passes a notice on.
    pub fn tell(&self, notice: Notice) {
        (self.0)(notice);
    }

    fn warn(&self, text: impl Into<String>) {
        self.tell(Notice::Warning(text.into()));
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

/// Returns the look-up over these sources. Files are read and helpers asked anew each time, since tokens expire.
///
/// A helper that is named and not installed is a warning (once) and a note; the look-up then answers "anonymous".
///
/// # Errors
///
/// The look-up fails with [`Kind::Usage`] for an explicit file that is missing and for a place that is not strict JSON,
/// [`Kind::Denied`] for an entry that contradicts itself and for a helper that fails, [`Kind::Limit`] for a file over
/// the ceiling, and [`Kind::Io`] for one that cannot be read.
///
/// [`Kind::Usage`]: crate::error::Kind::Usage
/// [`Kind::Denied`]: crate::error::Kind::Denied
/// [`Kind::Limit`]: crate::error::Kind::Limit
/// [`Kind::Io`]: crate::error::Kind::Io
pub fn credentials(sources: Sources) -> Credentials {
    let notes = Notes::default();
    let shared = Arc::new(Shared {
        sources,
        notes: notes.clone(),
        warned: Mutex::default(),
    });
    Credentials::with_notes(notes, move |repository| {
        let shared = Arc::clone(&shared);
        Box::pin(async move { shared.find(&repository).await })
    })
}

/// What the look-ups of one [`Credentials`] share.
struct Shared {
    sources: Sources,
    notes: Notes,
    /// Warnings that were given already: a look-up runs once for each token.
    warned: Mutex<BTreeSet<String>>,
}

impl Shared {
    async fn find(&self, repository: &Repository) -> Result<Option<Found>> {
        let mut notes = Vec::new();
        let mut without = Vec::new();
        let mut answer = None;
        for place in self.sources.places() {
            let Some(config) = place.read()? else {
                without.push(format!("{place} (no such file)"));
                continue;
            };
            match lookup::find(&config, repository, &self.sources.helpers).await? {
                Outcome::Found(found) => {
                    answer = Some(found);
                    break;
                }
                Outcome::Nothing => without.push(format!("{place} (no entry)")),
                Outcome::Missing { why, last } => {
                    self.warn_once(&why);
                    notes.push(why);
                    if last {
                        break;
                    }
                    without.push(format!("{place} (no entry)"));
                }
            }
        }
        if answer.is_none() && !without.is_empty() {
            notes.push(format!(
                "credentials for `{}` were looked for in {}",
                repository.registry(),
                without.join(", ")
            ));
        }
        self.notes.set(repository, notes);
        Ok(answer)
    }

    fn warn_once(&self, why: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(why.to_owned()) {
            let tell = &self.sources.helpers.tell;
            tell.warn(format!("{why}; going on without it"));
        }
    }
}

#[cfg(test)]
mod tests;
