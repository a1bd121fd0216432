//! The environment, read once, and what follows from it and the flags. No other module reads the environment.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::time::SystemTime;

use manifest_bundle::credential::{Credential, Credentials, Secret};
use manifest_bundle::docker_config::{self, Notice, Sources, Tell};
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::reference::{self, Location};
use manifest_bundle::store::registry::{
    self, AccessSettings, ClientCertificate, Event, Events, Proxies, Proxy, Time,
};
use manifest_bundle::{Error, Result};

use crate::args::{Access, Common, Format};
use crate::interrupt::Stop;
use crate::stdin::Stdin;
use crate::talk::Talk;
use crate::terminal;

/// What every command works with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) limits: Limits,
    pub(crate) talk: Talk,
    /// How the answer is written.
    pub(crate) format: Format,
    /// Where large contents are kept for the moment.
    pub(crate) spool_directory: PathBuf,
    /// How many blobs travel at once.
    pub(crate) concurrency: usize,
    /// How many threads compress and check.
    pub(crate) threads: usize,
    /// What comes on standard input.
    pub(crate) stdin: Stdin,
    /// Set when the command is to stop.
    pub(crate) stop: Stop,
    /// Why the last attempt failed that another one follows.
    last_failure: Arc<Mutex<Option<String>>>,
    /// What registries were reached with, for whoever tidies up there.
    reached: Arc<Mutex<Vec<registry::Access>>>,
}

impl Settings {
    /// Takes the flags that every command has, what says things on the way, and whether a source of this one is `-`.
    pub(crate) fn new(common: &Common, talk: Talk, reads_stdin: bool) -> Self {
        Self {
            limits: common.limits.limits.clone(),
            talk,
            last_failure: Arc::default(),
            format: common.format,
            spool_directory: std::env::temp_dir(),
            concurrency: 1,
            threads: std::thread::available_parallelism().map_or(1, |n| n.get().min(16)),
            stdin: Stdin::new(reads_stdin),
            stop: Stop::default(),
            reached: Arc::default(),
        }
    }

    /// Returns why the last attempt failed that another one followed, with its place.
    pub(crate) fn last_failure(&self) -> Option<String> {
        let last = self.last_failure.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits, but no longer than that, until uploads that came to nothing are ended at their registries.
    pub(crate) async fn settle(&self, at_most: Duration) {
        let reached = {
            let reached = self.reached.lock();
            reached.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let all = reached.iter().map(|access| access.settle(at_most));
        futures_util::future::join_all(all).await;
    }

    /// Returns how places are reached with some flags.
    pub(crate) fn reach(&self, access: &Access) -> Result<Reach> {
        Ok(Reach {
            access: self.access_with(access, self.credentials(access)?)?,
            limits: self.limits.clone(),
            spool_directory: self.spool_directory.clone(),
            concurrency: self.concurrency,
        })
    }

    /// Returns how the two sides of a call are reached, each with its own flags and those for both. The same flags are
    /// one way, so that the two share tokens.
    pub(crate) fn reach_both(&self, both: &Access, sides: [Side<'_>; 2]) -> Result<[Reach; 2]> {
        let [one, other] = access_of_both(both, sides);
        if one.password_stdin && other.password_stdin && one.username != other.username {
            return Err(
                Error::usage("stdin holds one password, and two are asked for")
                    .hint("use `bundle login` for one of the registries"),
            );
        }
        let reach = self.reach(&one)?;
        if one == other {
            return Ok([reach.clone(), reach]);
        }
        Ok([reach, self.reach(&other)?])
    }

    /// Returns how registries are reached with some flags and credentials.
    pub(crate) fn access_with(
        &self,
        flags: &Access,
        credentials: Credentials,
    ) -> Result<registry::Access> {
        if flags.insecure {
            self.talk
                .warn("the registry's certificate is not verified (--insecure)");
        }
        let client_certificate = match (&flags.cert_file, &flags.key_file) {
            (Some(certificate), Some(key)) => Some(ClientCertificate {
                certificate: read_pem(certificate)?,
                key: Secret::new(String::from_utf8_lossy(&read_pem(key)?)),
            }),
            (None, None) => None,
            _ => {
                return Err(Error::usage(
                    "--cert-file and --key-file are given together",
                ));
            }
        };
        let access = registry::Access::new(AccessSettings {
            credentials,
            plain_http: flags.plain_http,
            insecure: flags.insecure,
            ca_certificates: flags.ca_file.iter().map(read_pem).collect::<Result<_>>()?,
            client_certificate,
            proxies: proxies(),
            auth_realms: flags.auth_realm.clone(),
            events: self.events(),
            time: Time::default().with_wall(SystemTime::now),
            limits: self.limits.clone(),
            ..AccessSettings::default()
        })?;
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        reached.push(access.clone());
        Ok(access)
    }

    /// Returns where credentials are looked for: flags win over files.
    fn credentials(&self, flags: &Access) -> Result<Credentials> {
        if let Some(credential) = self.given_credential(flags)? {
            return Ok(Credentials::fixed(credential, "--username"));
        }
        Ok(docker_config::credentials(self.sources(flags)?))
    }

    /// Returns the places of credential files and helpers.
    pub(crate) fn sources(&self, flags: &Access) -> Result<Sources> {
        let talk = self.talk.clone();
        let tell = Tell::new(move |notice: Notice| match notice {
            Notice::Warning(text) => talk.warn(text),
            Notice::Detail(text) => talk.detail(text),
        });
        let mut sources = Sources::from_environment(std::env::vars_os(), tell)?;
        if let Some(file) = &flags.registry_config {
            sources.explicit_file = Some(file.clone());
        }
        Ok(sources)
    }

    /// Returns the credential for a login; what flags and environment do not give is asked for, if there is somebody to ask.
    pub(crate) fn login_credential(
        &self,
        flags: &Access,
        registry: &reference::Registry,
    ) -> Result<Option<Credential>> {
        if flags.password_stdin || !std::io::stdin().is_terminal() {
            return self.given_credential(flags);
        }
        let username = match &flags.username {
            Some(username) => username.clone(),
            None => terminal::ask(&format!("User name for {registry}"))?,
        };
        if std::env::var_os("BUNDLE_PASSWORD").is_some() {
            let username = Some(username);
            return self.given_credential(&Access {
                username,
                ..flags.clone()
            });
        }
        let password = Secret::new(terminal::ask_hidden("Password or token")?);
        Ok(Some(Credential::Basic { username, password }))
    }

    /// Returns the credential that flags and environment give, if a user name was given.
    fn given_credential(&self, flags: &Access) -> Result<Option<Credential>> {
        let Some(username) = &flags.username else {
            return if flags.password_stdin {
                Err(Error::usage("--password-stdin needs --username"))
            } else {
                Ok(None)
            };
        };
        let password = if flags.password_stdin {
            self.stdin.password()?
        } else if let Some(password) = std::env::var_os("BUNDLE_PASSWORD") {
            Secret::new(
                password
                    .into_string()
                    .map_err(|_| Error::usage("`BUNDLE_PASSWORD` is not UTF-8"))?,
            )
        } else {
            return Err(Error::usage("--username is given without a password")
                .hint("pipe it in with --password-stdin, or set BUNDLE_PASSWORD"));
        };
        Ok(Some(Credential::Basic {
            username: username.clone(),
            password,
        }))
    }

    fn events(&self) -> Events {
        let (talk, last) = (self.talk.clone(), Arc::clone(&self.last_failure));
        Events::new(move |event| match &event {
            Event::Retry { place, why, .. } => {
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                *last = Some(format!("{place}: {why}"));
                drop(last);
                talk.say(event.to_string());
            }
            Event::Request { .. } => talk.trace(&event),
            Event::Reached { .. }
            | Event::Credentials { .. }
            | Event::Open { .. }
            | Event::Resolved { .. } => talk.detail(event.to_string()),
            Event::Warning(text) => talk.warn(text),
            Event::Sent { .. } | Event::Received { .. } => talk.moved(&event),
        })
    }
}

/// One side of a call that has two: the flags for it alone, and where it is.
pub(crate) type Side<'a> = (Access, &'a Location);

/// Completes the flags of each side with those for both.
fn access_of_both(both: &Access, sides: [Side<'_>; 2]) -> [Access; 2] {
    let registry = |location: &Location| match location {
        Location::Registry(reference) => Some(reference.repository.registry().clone()),
        _ => None,
    };
    let [(_, one), (_, other)] = &sides;
    let are_two = match (registry(one), registry(other)) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    sides.map(|(mut own, location)| {
        // Flags for both sides say which authorities are trusted, not that both of two registries speak TLS.
        if are_two && both.plain_http.is_none() {
            own.keep_plain_on_this_machine(location);
        }
        own.or(both)
    })
}

/// Reads a PEM file; what is in it is checked by whoever uses it.
fn read_pem(path: &PathBuf) -> Result<Vec<u8>> {
    let max = Ceiling::CredentialFile.default_value();
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(max.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(|error| Error::io("cannot read", path, error))?;
    if bytes.len() as u64 > max {
        return Err(
            Error::limit(Ceiling::CredentialFile, max, bytes.len() as u64).at(path.display()),
        );
    }
    Ok(bytes)
}

/// Reads the proxy variables, in both cases of letters; the lower case wins, as in curl.
fn proxies() -> Proxies {
    let get = |name: &str| {
        let names = [name.to_ascii_lowercase(), name.to_owned()];
        let set = names
            .into_iter()
            .find_map(|name| Some((std::env::var_os(&name)?, name)));
        set.and_then(|(value, name)| Some((value.into_string().ok()?, name)))
            .filter(|(value, _)| !value.is_empty())
    };
    let proxy = |name: &str| get(name).map(|(url, name)| Proxy::new(url, name));
    Proxies {
        http: proxy("HTTP_PROXY").or_else(|| proxy("ALL_PROXY")),
        https: proxy("HTTPS_PROXY").or_else(|| proxy("ALL_PROXY")),
        no_proxy: get("NO_PROXY").map(|(hosts, _)| hosts).unwrap_or_default(),
    }
}

/// Returns `SOURCE_DATE_EPOCH`, for `--created env` alone.
pub(crate) fn source_date_epoch() -> Option<String> {
    std::env::var("SOURCE_DATE_EPOCH").ok()
}

/// Tells whether a test asks for all work on one thread, whose system calls it counts.
pub(crate) fn one_thread() -> bool {
    std::env::var_os("BUNDLE_TEST_THREADS").is_some_and(|count| count == "1")
}
