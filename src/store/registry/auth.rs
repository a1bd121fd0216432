//! Leave to do things: asked for when a registry wants it, kept for the same kind of request, renewed when it runs out.
//!
//! The first request of a kind finds out what the registry wants while the others of that kind wait, so that many
//! requests at once cost one challenge and one token. A request that is refused although it had leave renews it once; if
//! fresh leave lets nobody in, that is the answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::HeaderValue;

use crate::credential::{Credential, Found};
use crate::error::{Error, Kind, Result};
use crate::limits::Ceiling;
use crate::reference::Repository;

use super::body::Body;
use super::challenge::{Wanted, wanted};
use super::event::Event;
use super::http::{Live, Request};
use super::location::is_loopback;
use super::retry::Failure;
use super::session::Session;
use super::token;

/// How often a request is refused at most. Where tokens are good for a few requests only, others may use one up.
const ROUNDS: u32 = 6;

/// What a request needs leave for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Scope {
    pub(super) repository: Repository,
    pub(super) actions: Actions,
    /// The path of a repository that a blob is mounted from.
    pub(super) from: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Actions {
    /// Nothing but saying who is there.
    None,
    Pull,
    Push,
}

/// All the leave that was given by one registry.
#[derive(Debug, Default)]
pub(super) struct Auth {
    grants: Mutex<HashMap<Scope, Arc<tokio::sync::Mutex<Grant>>>>,
    /// What the registry asked for last: the next kind of request need not be refused first.
    wanted: Mutex<Option<Wanted>>,
    /// For each repository, what was tried.
    tried: Mutex<HashMap<Repository, Tried>>,
}

/// What was tried to get leave, in words.
#[derive(Debug, Clone)]
struct Tried {
    what: String,
    hint: String,
}

/// The leave for one kind of request.
#[derive(Debug, Default)]
struct Grant {
    /// Counts the times that the leave was renewed.
    generation: u64,
    /// Whether a request was let in with this leave.
    is_proven: bool,
    leave: Leave,
}

#[derive(Debug, Default, Clone)]
enum Leave {
    /// Nobody has asked yet.
    #[default]
    Unknown,
    /// None is needed, or there is none to be had.
    Open,
    /// This header, until then.
    Header(HeaderValue, Option<Duration>),
}

impl Leave {
    fn header(&self) -> Option<&HeaderValue> {
        match self {
            Self::Header(value, _) => Some(value),
            _ => None,
        }
    }
}

impl Auth {
    fn grant(&self, scope: &Scope) -> Arc<tokio::sync::Mutex<Grant>> {
        let mut grants = self.grants.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(grants.entry(scope.clone()).or_default())
    }

    fn wanted(&self) -> Option<Wanted> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.clone()
    }

    fn set_wanted(&self, new: &Wanted) {
        let mut wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        *wanted = Some(new.clone());
    }

    fn set_tried(&self, repository: &Repository, what: String, hint: String) {
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.insert(repository.clone(), Tried { what, hint });
    }

    /// Tells whether the registry asked for anything on behalf of a repository.
    pub(super) fn was_asked(&self, repository: &Repository) -> bool {
        self.tried(repository).is_some()
    }

    fn tried(&self, repository: &Repository) -> Option<Tried> {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.get(repository).cloned()
    }
}

impl Session {
    /// Sends a request once, with the leave that the registry wants for it.
    pub(super) async fn live(&self, request: &Request) -> Result<Live, Failure> {
        let slot = self.auth.grant(&request.scope);
        let mut rounds = 0_u32;
        let mut renewed = None;
        let mut kept = None;
        loop {
            let mut grant = match kept.take() {
                Some(grant) => grant,
                None => slot.lock().await,
            };
            self.prepare(&mut grant, &request.scope).await?;
            let (leave, generation) = (grant.leave.clone(), grant.generation);
            // The others wait for what the first request learns. Who has renewed the leave is the first to use it, unless
            // that would make them wait for a whole blob.
            let is_first = matches!(leave, Leave::Unknown)
                || renewed == Some(generation) && !matches!(request.body, Body::Content { .. });
            let live = if is_first {
                self.follow(request, &self.base, leave.header()).await?
            } else {
                drop(grant);
                let live = self.follow(request, &self.base, leave.header()).await?;
                grant = slot.lock().await;
                live
            };
            let is_let_in = live.head.status.is_success() || live.head.status.as_u16() == 404;
            if let (Leave::Unknown, true) = (&grant.leave, is_let_in) {
                grant.leave = Leave::Open;
                self.tell_once(Event::Open {
                    place: request.scope.repository.to_string(),
                });
            }
            // What another origin asks for is not for us to answer.
            if live.head.status != StatusCode::UNAUTHORIZED || live.head.away {
                grant.is_proven |= grant.generation == generation;
                return Ok(live);
            }
            rounds = rounds.saturating_add(1);
            if grant.generation != generation && rounds < ROUNDS {
                // Another request was refused, too, and has renewed the leave since.
                continue;
            }
            // Fresh leave that let nobody in is the second refusal in a row; if it did, others have used it up.
            let is_final = renewed == Some(generation) && !grant.is_proven || rounds >= ROUNDS;
            // A registry may forget the challenge when it refuses what it accepted before.
            let known = self.auth.wanted().filter(|_| leave.header().is_some());
            let wanted = wanted(&live.head.headers)?.or(known);
            let Some(wanted) = wanted.filter(|_| !is_final) else {
                return Err(self.denied(request, live).await);
            };
            self.auth.set_wanted(&wanted);
            self.renew(&mut grant, &wanted, &request.scope).await?;
            if grant.leave.header().is_none() {
                // Nothing to show: the answer would be the same.
                return Err(self.denied(request, live).await);
            }
            renewed = Some(grant.generation);
            kept = Some(grant);
        }
    }

    /// Renews leave that has run out, and gets it at once where it is known what the registry wants.
    async fn prepare(&self, grant: &mut Grant, scope: &Scope) -> Result<(), Failure> {
        if let Leave::Header(_, Some(until)) = grant.leave
            && self.settings.time.now() >= until
        {
            grant.leave = Leave::Unknown;
        }
        match (&grant.leave, self.auth.wanted()) {
            (Leave::Unknown, Some(wanted)) => self.renew(grant, &wanted, scope).await,
            _ => Ok(()),
        }
    }

    /// Gets leave in the way that the registry wants.
    async fn renew(
        &self,
        grant: &mut Grant,
        wanted: &Wanted,
        scope: &Scope,
    ) -> Result<(), Failure> {
        grant.leave = Leave::Unknown;
        let credentials = &self.settings.credentials;
        let found = credentials.find(&scope.repository).await?;
        let place = scope.repository.to_string();
        self.tell_once(Event::Credentials {
            found: found.as_ref().map(|found| found.origin.clone()),
            notes: match found {
                Some(_) => Vec::new(),
                None => credentials.notes(&scope.repository),
            },
            place,
        });
        let tried = match &found {
            Some(found) => format!("tried the credentials from {}", found.origin),
            None => "no credentials were found".to_owned(),
        };
        let hint = format!("run `bundle login {}`", self.registry);
        self.auth.set_tried(&scope.repository, tried, hint);
        if found.is_some() && self.base.scheme() == "http" && !is_loopback(&self.base) {
            self.warn_once(format!(
                "{}: the credentials travel over plain HTTP, where everybody on the way can read them",
                self.registry
            ));
        }
        grant.leave = match (wanted, found.as_ref().map(|found| &found.credential)) {
            (_, Some(Credential::RegistryToken(token))) => {
                Leave::Header(secret_header("Bearer", token.reveal())?, None)
            }
            (Wanted::Basic, Some(Credential::Basic { username, password })) => {
                let pair = STANDARD.encode(format!("{username}:{}", password.reveal()));
                Leave::Header(secret_header("Basic", &pair)?, None)
            }
            (Wanted::Basic, Some(Credential::IdentityToken(_))) => {
                return Err(Error::new(
                    Kind::Denied,
                    format!(
                        "{} asks for a password, and there is an identity token only",
                        self.registry
                    ),
                )
                .hint(format!("run `bundle login {}`", self.registry))
                .into());
            }
            (Wanted::Basic, None) => Leave::Open,
            (Wanted::Bearer(bearer), _) => {
                let token = token::fetch(self, bearer, scope, found.as_ref()).await?;
                let until = self.settings.time.now().saturating_add(token.lasts);
                Leave::Header(secret_header("Bearer", token.text.reveal())?, Some(until))
            }
        };
        grant.generation = grant.generation.saturating_add(1);
        grant.is_proven = false;
        Ok(())
    }

    /// Says that the registry lets nobody in, or not with what was tried.
    async fn denied(&self, request: &Request, live: Live) -> Failure {
        match self.read(live, Ceiling::ErrorBody).await {
            Ok(reply) => {
                let failure = reply.refused(request.doing, &self.settings.time);
                self.explain(failure.error, &request.scope.repository)
                    .into()
            }
            Err(failure) => failure,
        }
    }

    /// Adds to a refusal which credentials were tried, where they were looked for, and what else may be the reason.
    pub(super) fn explain(&self, error: Error, repository: &Repository) -> Error {
        let is_denied = error.kind() == Kind::Denied;
        if error.detail().hint.is_some() || !(is_denied || error.message().contains("NAME_INVALID"))
        {
            return error;
        }
        let mut hints = Vec::new();
        // Docker Hub and others say "not authorised" to a name that they could never have.
        let parts = repository.path().split('/').count();
        if parts > 2 {
            hints.push(format!(
                "some registries take only NAMESPACE/NAME, and `{}` has {parts} parts",
                repository.path()
            ));
        }
        // Where nothing was asked for, no other credentials would help.
        let mut error = error;
        if let (true, Some(tried)) = (is_denied, self.auth.tried(repository)) {
            error = Error::new(Kind::Denied, format!("{error} ({})", tried.what));
            hints.push(tried.hint);
            hints.extend(self.settings.credentials.notes(repository));
        }
        if hints.is_empty() {
            return error;
        }
        error.hint(hints.join("; "))
    }

    /// Says which credentials would have gone to a token service on a foreign domain.
    pub(super) fn withheld(&self, repository: &Repository, found: &Found, host: &str) {
        let what = format!(
            "the credentials from {} were not sent to `{host}`, which is on another domain",
            found.origin
        );
        let hint = format!(
            "if `{host}` is the token service of {}, say --auth-realm {host}",
            self.registry
        );
        self.auth.set_tried(repository, what, hint);
    }
}

/// Makes the value of an `Authorization` header, which debug output does not show.
pub(super) fn secret_header(scheme: &str, secret: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("{scheme} {secret}")).map_err(|_| {
        Error::protocol("a token or password holds characters that no header may have")
    })?;
    value.set_sensitive(true);
    Ok(value)
}
