//! `login` and `logout`: one entry of a credential file changes, everything else in it stays as it is.
//!
//! A file that cannot be understood is not touched. Where a helper keeps the registry's credentials, the secret goes
//! there and the entry stays empty, as docker leaves it.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::helper::{Helpers, TOKEN_USER};
use super::lookup::{Key, helper_for, written_key};
use super::read::{self, Config};
use super::replace::replace;
use super::{Tell, edit};
use crate::credential::{Credential, Secret};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::reference::Registry;

/// The members of an entry that hold a credential; all others are left alone.
const CREDENTIAL_MEMBERS: [&str; 5] = [
    "auth",
    "username",
    "password",
    "identitytoken",
    "registrytoken",
];

/// What a logout came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logout {
    /// Whether there was a credential to remove.
    pub removed: bool,
    /// Keys of namespaces of the same registry whose credentials are still there.
    pub left: Vec<String>,
}

/// Where a credential is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// In this file.
    File(PathBuf),
    /// In the helper of this name, which is the program `docker-credential-NAME`.
    Helper(String),
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "`{}`", shown(&path.to_string_lossy())),
            Self::Helper(name) => {
                write!(f, "credential helper `docker-credential-{}`", shown(name))
            }
        }
    }
}

/// Keeps the credential of a registry in a file, or in the helper that the file names; returns where.
///
/// The caller has checked that the registry takes the credential.
///
/// # Errors
///
/// [`Kind::Usage`] for a file that is not strict JSON or no regular file, [`Kind::Limit`] for one over the ceiling,
/// [`Kind::Denied`] for a helper that is missing or fails, [`Kind::Conflict`] when another login does not end,
/// [`Kind::Io`] for everything that the disk refuses. The file is unchanged then.
pub async fn login(
    path: &Path,
    registry: &Registry,
    credential: &Credential,
    helpers: &Helpers,
) -> Result<Kept> {
    let key = written_key(registry);
    let place = format!("`{}`", shown(&path.to_string_lossy()));
    let mut members = Vec::new();
    let mut kept = Kept::File(path.to_owned());
    if let Some(name) = helper_name(path, registry)? {
        let (username, secret) = for_helper(credential)?;
        if !helpers.store(&name, registry, username, secret).await? {
            return Err(missing(&name, &place, registry));
        }
        kept = Kept::Helper(name);
    } else {
        members = entry(credential)?;
    }
    let change = move |text: &str| {
        let blank = text.trim_ascii().is_empty();
        let mut text = if blank { "{}\n" } else { text }.to_owned();
        text = with_object(&text, &[], "auths")?;
        // Docker finds this key as it is written here and in no other case.
        for name in edit::names(&text, &["auths"])? {
            if name != key && name.eq_ignore_ascii_case(&key) {
                text = edit::remove(&text, &["auths"], &name)?;
            }
        }
        text = with_object(&text, &["auths"], &key)?;
        let path = ["auths", key.as_str()];
        for (name, value) in &members {
            let value = serde_json::to_string(value).ok()?;
            text = edit::set(&text, &path, name, &value)?;
        }
        for name in CREDENTIAL_MEMBERS {
            if !members.iter().any(|(written, _)| *written == name) {
                text = edit::remove(&text, &path, name)?;
            }
        }
        Some(text)
    };
    update(path, true, helpers.tell.clone(), change).await?;
    Ok(kept)
}

/// Removes the credential of a registry from a file, under each of its names, and from the helper that the file names.
///
/// # Errors
///
/// As [`login`]; a helper that is missing or fails is an error after the file was changed.
pub async fn logout(path: &Path, registry: &Registry, helpers: &Helpers) -> Result<Logout> {
    let place = format!("`{}`", shown(&path.to_string_lossy()));
    let Some(config) = read::file(path)? else {
        return Ok(Logout {
            removed: false,
            left: Vec::new(),
        });
    };
    let helper = helper_name(path, registry)?;
    let (mut removed, mut left) = (false, Vec::new());
    for key in config.auths.keys() {
        match Key::parse(key) {
            Some(parsed) if parsed.registry != *registry => {}
            Some(parsed) if parsed.path.is_empty() => {
                // Beside a helper, an empty entry only says that the helper has it.
                removed = removed || helper.is_none() || holds_credential(&config, key);
            }
            Some(_) => left.push(key.clone()),
            None => {}
        }
    }
    let wanted = registry.clone();
    let change = move |text: &str| {
        let mut text = text.to_owned();
        for name in edit::names(&text, &["auths"]).unwrap_or_default() {
            let parsed = Key::parse(&name);
            if parsed.is_some_and(|key| key.registry == wanted && key.path.is_empty()) {
                text = edit::remove(&text, &["auths"], &name)?;
            }
        }
        Some(text)
    };
    update(path, false, helpers.tell.clone(), change).await?;
    if let Some(name) = helper {
        match helpers.erase(&name, registry).await? {
            Some(erased) => removed = removed || erased,
            None => return Err(missing(&name, &place, registry)),
        }
    }
    Ok(Logout { removed, left })
}

/// Tells whether an entry holds anything secret, whether or not it could be used.
fn holds_credential(config: &Config, key: &str) -> bool {
    let entry = config.auths.get(key).and_then(Value::as_object);
    entry.is_some_and(|entry| {
        CREDENTIAL_MEMBERS.iter().any(|name| {
            read::member(entry, name).is_some_and(|value| *value != Value::Null && *value != "")
        })
    })
}

/// Returns the helper that a file names for a registry, if the file exists.
fn helper_name(path: &Path, registry: &Registry) -> Result<Option<String>> {
    let Some(config) = read::file(path)? else {
        return Ok(None);
    };
    let helper = helper_for(&config, registry)?;
    Ok(helper.map(|(name, _)| name.to_owned()))
}

fn missing(name: &str, place: &str, registry: &Registry) -> Error {
    Error::new(
        Kind::Denied,
        format!(
            "credential helper `docker-credential-{name}`, which {place} names for `{registry}`, is not on the PATH"
        ),
    )
    .hint(format!("install it, or take `credsStore` and `credHelpers` out of {place}"))
}

/// Returns the user name and secret that a helper is given.
fn for_helper(credential: &Credential) -> Result<(&str, &Secret)> {
    match credential {
        Credential::Basic { username, password } => Ok((username, password)),
        Credential::IdentityToken(token) => Ok((TOKEN_USER, token)),
        Credential::RegistryToken(_) => Err(Error::usage(
            "a credential helper cannot keep a registry token",
        )),
    }
}

/// Returns the members of an entry of `auths`.
fn entry(credential: &Credential) -> Result<Vec<(&'static str, String)>> {
    let auth = |username: &str, password: &str| {
        let pair = format!("{username}:{password}");
        ("auth", STANDARD.encode(pair))
    };
    match credential {
        Credential::Basic { username, .. } if username.is_empty() || username.contains(':') => Err(
            Error::usage("a user name must not be empty and must not hold a `:`"),
        ),
        Credential::Basic { username, password } => Ok(vec![auth(username, password.reveal())]),
        // Podman reads no identity token from an entry without a user.
        Credential::IdentityToken(token) => Ok(vec![
            auth(TOKEN_USER, ""),
            ("identitytoken", token.reveal().to_owned()),
        ]),
        Credential::RegistryToken(token) => Ok(vec![("registrytoken", token.reveal().to_owned())]),
    }
}

/// Returns the text with an object as a member, the one that is there or an empty one.
fn with_object(text: &str, path: &[&str], name: &str) -> Option<String> {
    let inner: Vec<&str> = path.iter().copied().chain([name]).collect();
    if edit::names(text, &inner).is_some() {
        Some(text.to_owned())
    } else {
        edit::set(text, path, name, "{}")
    }
}

/// Changes a credential file; see [`replace`].
async fn update(
    path: &Path,
    create: bool,
    tell: Tell,
    change: impl FnOnce(&str) -> Option<String> + Send + 'static,
) -> Result<()> {
    let path = path.to_owned();
    // The lock may have to be waited for.
    tokio::task::spawn_blocking(move || replace(&path, create, &tell, change))
        .await
        .map_err(|error| Error::new(Kind::Interrupted, "was stopped").source(error))?
}
