//! Asking a registry whether it accepts some credentials.

use reqwest::Method;
use reqwest::header::HeaderMap;

use crate::error::{Error, Result};
use crate::limits::Ceiling;
use crate::reference::{self, Repository};

use super::access::Access;
use super::auth::{Actions, Scope};
use super::body::Body;
use super::http::Request;

/// What a registry says to credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// It, or its token service, accepts them.
    Accepted,
    /// It asks for none, at least not for its front page, so they could not be tried.
    NotAsked,
}

/// Asks a registry whether it accepts the credentials of `access`.
///
/// # Errors
///
/// [`Kind::Denied`](crate::error::Kind::Denied) if it does not; everything that keeps a request from being answered.
pub async fn check_login(registry: &reference::Registry, access: &Access) -> Result<Login> {
    let session = access.session(registry)?;
    // Credentials are found for a repository; a registry's own have no narrower one.
    let repository = Repository::new(registry.clone(), "login")
        .map_err(|invalid| invalid.of_kind(crate::error::Kind::Usage))?;
    let request = Request {
        method: Method::GET,
        url: session.base.clone(),
        headers: HeaderMap::new(),
        body: Body::None,
        scope: Scope {
            repository: repository.clone(),
            actions: Actions::None,
            from: None,
        },
        doing: "cannot log in",
        ceiling: Ceiling::ErrorBody,
    };
    let place = |error: Error| error.at(registry);
    let mut attempts = session.attempts(registry.to_string());
    let reply = session
        .exchange(&request, &mut attempts)
        .await
        .map_err(place)?;
    if !reply.status().is_success() {
        let failure = reply.refused(request.doing, &session.settings.time);
        return Err(place(session.explain(failure.error, &repository)));
    }
    reply.check_no_html("a registry").map_err(place)?;
    Ok(if session.auth.was_asked(&repository) {
        Login::Accepted
    } else {
        Login::NotAsked
    })
}
