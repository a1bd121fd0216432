//! Credentials as values: what a registry may ask for, and the callback that finds it.
//!
//! A [`Secret`] cannot be printed, compared or serialised by accident. Where credentials come from is the caller's
//! affair: [`Credentials`] is an async callback, asked again each time a token must be renewed. What a look-up has to
//! say beside its answer goes to its [`Notes`], so that a refusal can name the places that were looked in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::error::Result;
use crate::reference::Repository;

/// A password or token. Its `Debug` form is `…`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// Returns the secret, to be sent to its owner and to nobody else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What a registry, or its token service, accepts as proof of who is calling.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A user name and a password (or what a registry uses as one).
    Basic {
        /// The user name, sent as it is.
        username: String,
        /// The password.
        password: Secret,
    },
    /// A refresh token of the token service, as `docker login` stores it (`identitytoken`).
    IdentityToken(Secret),
    /// A bearer token for the registry itself (`registrytoken`).
    RegistryToken(Secret),
}

/// A credential, and where it was found, for messages: `~/.docker/config.json`, `--username`.
#[derive(Debug, Clone)]
pub struct Found {
    /// The credential.
    pub credential: Credential,
    /// Where it came from, in words; never the secret itself.
    pub origin: String,
}

/// The type of the callback in [`Credentials`].
type Find = dyn Fn(Repository) -> BoxFuture<'static, Result<Option<Found>>> + Send + Sync;

/// Finds the credential for a repository; none means anonymous.
#[derive(Clone)]
pub struct Credentials {
    find: Arc<Find>,
    notes: Notes,
}

/// What the last look-up for each repository had to say: where it looked, which credential helper is missing.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<BTreeMap<Repository, Vec<String>>>>);

impl Notes {
    /// Replaces the notes on a repository; each is a fragment without secrets, fit for a message.
    pub fn set(&self, repository: &Repository, notes: Vec<String>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(repository.clone(), notes);
    }

    /// Returns the notes on a repository.
    pub fn of(&self, repository: &Repository) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(repository).cloned().unwrap_or_default()
    }
}

impl Credentials {
    /// Takes a callback.
    pub fn new<F>(find: F) -> Self
    where
        F: Fn(Repository) -> BoxFuture<'static, Result<Option<Found>>> + Send + Sync + 'static,
    {
        Self::with_notes(Notes::default(), find)
    }

    /// Takes a callback that writes what it has to say to `notes`.
    pub fn with_notes<F>(notes: Notes, find: F) -> Self
    where
        F: Fn(Repository) -> BoxFuture<'static, Result<Option<Found>>> + Send + Sync + 'static,
    {
        Self {
            find: Arc::new(find),
            notes,
        }
    }

    /// Has no credentials for anybody.
    pub fn anonymous() -> Self {
        Self::new(|_| Box::pin(async { Ok(None) }))
    }

    /// Gives one credential to every repository that asks; for callers that talk to one registry.
    pub fn fixed(credential: Credential, origin: &str) -> Self {
        let found = Found {
            credential,
            origin: origin.to_owned(),
        };
        Self::new(move |_| {
            let found = found.clone();
            Box::pin(async move { Ok(Some(found)) })
        })
    }

    /// Finds the credential for a repository.
    pub async fn find(&self, repository: &Repository) -> Result<Option<Found>> {
        (self.find)(repository.clone()).await
    }

    /// Returns what the last look-up for a repository had to say, for the message when the registry refuses.
    pub fn notes(&self, repository: &Repository) -> Vec<String> {
        self.notes.of(repository)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let credential = Credential::Basic {
            username: "me".into(),
            password: Secret::new("hunter2"),
        };
        assert!(!format!("{credential:?}").contains("hunter2"));
    }

    #[tokio::test]
    async fn a_look_up_leaves_notes_for_its_repository_only() {
        let notes = Notes::default();
        let written = notes.clone();
        let credentials = Credentials::with_notes(notes, move |repository| {
            written.set(&repository, vec!["no entry in `a`".into()]);
            Box::pin(async { Ok(None) })
        });
        let repository: Repository = "reg.io/a".parse().unwrap();
        assert!(credentials.notes(&repository).is_empty());
        assert!(credentials.find(&repository).await.unwrap().is_none());
        assert_eq!(credentials.notes(&repository), ["no entry in `a`"]);
        assert!(credentials.notes(&"reg.io/b".parse().unwrap()).is_empty());
    }
}
