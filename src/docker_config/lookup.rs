//! Finds the credential for a repository in one credential file.
//!
//! The order within a file:
//!
//! 1. the helper that `credHelpers` names for the registry (an empty name: no helper for it, `credsStore` included);
//! 2. entries of `auths` for a namespace, podman's way: `quay.io/org/repo`, then `quay.io/org`, whole components only;
//! 3. the helper that `credsStore` names;
//! 4. entries of `auths` for the registry, first as `docker login` writes the key, then `HOST[:PORT]`, then with
//!    `https://` or `http://` before it or `/v1/` or `/v2/` behind it.
//!
//! A helper that has nothing, and an entry that holds nothing, are passed over. A port must be equal, a host must be
//! equal as a whole: no key of another registry is ever taken. Docker Hub's names are one registry.

use std::cmp::Reverse;

use serde_json::Value;

use super::helper::{Answer, Helpers};
use super::read::{self, Config};
use crate::credential::Found;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::reference::{Registry, Repository};

/// The key under which Docker Hub's credential is kept, in files and in helpers.
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

/// What a file says about a repository.
#[derive(Debug)]
pub(super) enum Outcome {
    /// There is a credential.
    Found(Found),
    /// There is none.
    Nothing,
    /// There may be one, in a helper that is not installed.
    Missing {
        /// Which helper, and who names it.
        why: String,
        /// Whether the file says that the helper has this registry's credential: then no other place is asked.
        last: bool,
    },
}

/// Returns the key under which the credential of a registry is written, and what a helper is asked for.
pub(super) fn written_key(registry: &Registry) -> String {
    if registry.is_docker_hub() {
        DOCKER_HUB_KEY.to_owned()
    } else {
        registry.to_string()
    }
}

/// What a key of `auths` or `credHelpers` names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The registry.
    pub(super) registry: Registry,
    /// The namespace; empty for the whole registry.
    pub(super) path: String,
}

impl Key {
    /// Reads a key; none for one that names no registry.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bare = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"))
            .unwrap_or(text);
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
        let path = match path {
            "v1" | "v2" => "",
            path => path,
        };
        Some(Self {
            registry: host.to_ascii_lowercase().parse().ok()?,
            path: path.to_owned(),
        })
    }

    /// Tells whether the key covers a repository.
    fn covers(&self, repository: &Repository) -> bool {
        self.registry == *repository.registry()
            && (self.path.is_empty()
                || repository
                    .path()
                    .strip_prefix(&self.path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }
}

/// Returns the keys that cover a repository, the best first, each with whether it names a namespace.
fn covering<'k>(
    keys: impl Iterator<Item = &'k String>,
    repository: &Repository,
) -> Vec<(&'k str, bool)> {
    let registry = repository.registry();
    let written = written_key(registry);
    let plain = registry.to_string();
    let mut found: Vec<_> = keys
        .filter_map(|text| Some((text.as_str(), Key::parse(text)?)))
        .filter(|(_, key)| key.covers(repository))
        .map(|(text, key)| {
            let rank = if text == written {
                0
            } else if text.starts_with(&plain) {
                1
            } else {
                2
            };
            (Reverse(key.path.len()), rank, text, !key.path.is_empty())
        })
        .collect();
    found.sort_unstable();
    found
        .into_iter()
        .map(|(_, _, text, scoped)| (text, scoped))
        .collect()
}

/// Returns the helper that a file names for a registry, and whether it does so for that registry alone.
pub(super) fn helper_for<'c>(
    config: &'c Config,
    registry: &Registry,
) -> Result<Option<(&'c str, bool)>> {
    let written = written_key(registry);
    let mut named: Vec<_> = config
        .helpers
        .iter()
        .filter(|(key, _)| {
            Key::parse(key).is_some_and(|key| key.registry == *registry && key.path.is_empty())
        })
        .collect();
    named.sort_by_key(|(key, _)| (**key != written, key.as_str()));
    match named.first() {
        Some((_, Value::String(name))) if name.is_empty() => Ok(None),
        Some((_, Value::String(name))) => Ok(Some((name, true))),
        Some((key, _)) => Err(Error::new(
            Kind::Denied,
            format!(
                "{}: `credHelpers` names no helper for `{}`",
                config.place,
                shown(key)
            ),
        )),
        None => Ok(config.store.as_deref().map(|name| (name, false))),
    }
}

/// Finds the credential for a repository in a file, asking the helpers that it names.
pub(super) async fn find(
    config: &Config,
    repository: &Repository,
    helpers: &Helpers,
) -> Result<Outcome> {
    let registry = repository.registry();
    let (scoped, whole): (Vec<_>, Vec<_>) = covering(config.auths.keys(), repository)
        .into_iter()
        .partition(|(_, scoped)| *scoped);
    let helper = helper_for(config, registry)?;

    let ask = async |name: &str| {
        let answer = helpers.get(name, registry).await;
        let answer = answer.map_err(|error| error.at(&config.place))?;
        Ok::<_, Error>(match answer {
            Answer::Nothing => Outcome::Nothing,
            Answer::Credential(credential) => Outcome::Found(Found {
                credential,
                origin: format!(
                    "credential helper `docker-credential-{name}` ({})",
                    config.place
                ),
            }),
            Answer::Missing => Outcome::Missing {
                why: format!(
                    "credential helper `docker-credential-{name}`, which {} names for `{registry}`, is not on the PATH",
                    config.place
                ),
                last: true,
            },
        })
    };
    let first = |keys: &[(&str, bool)]| -> Result<Option<Outcome>> {
        for (key, _) in keys {
            if let Some(credential) = read::credential(config, key)? {
                let origin = format!("{}, entry `{}`", config.place, shown(key));
                return Ok(Some(Outcome::Found(Found { credential, origin })));
            }
        }
        Ok(None)
    };

    if let Some((name, true)) = helper {
        match ask(name).await? {
            Outcome::Nothing => {}
            answer => return Ok(answer),
        }
    }
    if let Some(found) = first(&scoped)? {
        return Ok(found);
    }
    let mut missing = None;
    if let Some((name, false)) = helper {
        match ask(name).await? {
            Outcome::Nothing => {}
            Outcome::Missing { why, .. } => missing = Some(why),
            found @ Outcome::Found(_) => return Ok(found),
        }
    }
    if let Some(found) = first(&whole)? {
        return Ok(found);
    }
    Ok(match missing {
        // An entry that is there and empty is docker's mark for "the store has it".
        Some(why) => Outcome::Missing {
            why,
            last: !whole.is_empty(),
        },
        None => Outcome::Nothing,
    })
}
