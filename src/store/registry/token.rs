//! Tokens: asking a token service (the protocol of docker's registries) for leave within a scope.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::credential::{Credential, Found, Secret};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Ceiling;

use super::auth::{Actions, Scope, secret_header};
use super::body::Body;
use super::challenge::Bearer;
use super::http::Request;
use super::location::{check_step, resolve, shown_origin};
use super::realm::may_see_password;
use super::retry::{Again, Failure};
use super::session::Session;

/// The shortest and longest time for which a token is used, whatever the service says.
const SHORTEST: u64 = 60;
const LONGEST: u64 = 3600;

/// A token, and for how long to use it.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) text: Secret,
    pub(super) lasts: Duration,
}

/// What a token service answers.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    access_token: Option<String>,
    #[serde(default)]
    expires_in: Value,
}

/// Asks for a token, with the credential if the service may see it.
pub(super) async fn fetch(
    session: &Session,
    bearer: &Bearer,
    scope: &Scope,
    found: Option<&Found>,
) -> Result<Token, Failure> {
    let realm = resolve(&session.base, &bearer.realm)
        .and_then(|realm| check_step(&session.base, &realm, session.is_public()).map(|()| realm))
        .map_err(|error| Error::protocol(format!("the registry's token service: {error}")))?;
    let host = shown(&realm[url::Position::BeforeHost..url::Position::AfterPort]);
    let allowed = may_see_password(&session.base, &realm, &session.settings.auth_realms);
    let credential = match found {
        Some(found) if !allowed => {
            session.withheld(&scope.repository, found, &host);
            None
        }
        found => found.map(|found| &found.credential),
    };
    let (request, authorization) = request(realm.clone(), bearer, scope, credential)?;
    let live = session
        .follow(&request, &realm, authorization.as_ref())
        .await?;
    let reply = session.read(live, Ceiling::Token).await?;
    if !reply.status().is_success() {
        let doing = format!("{} at {}", request.doing, shown_origin(&realm));
        let failure = reply.refused(&doing, &session.settings.time);
        // What the service has no answer for is no leave, whatever it calls it.
        if failure.again != Again::Never || failure.error.kind() == Kind::Unreachable {
            return Err(failure);
        }
        let error = Error::new(Kind::Denied, failure.error.to_string());
        return Err(session.explain(error, &scope.repository).into());
    }
    let answer: Answer = reply.json("a token")?;
    // Both may be there; the older name is the one that docker's clients use.
    let text = answer.token.filter(|token| !token.is_empty());
    let text = text.or(answer.access_token).unwrap_or_default();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(Error::protocol(format!(
            "the token service at {} answers without a usable token",
            shown_origin(&realm)
        ))
        .into());
    }
    Ok(Token {
        text: Secret::new(text),
        lasts: lasts(&answer.expires_in),
    })
}

/// Returns for how long a token is used: a tenth less than the service says, so that it does not run out on its way.
fn lasts(expires_in: &Value) -> Duration {
    let seconds = match expires_in {
        Value::Number(number) => number
            .as_u64()
            .or_else(|| number.as_f64().map(|f| if f > 0.0 { LONGEST } else { 0 })),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let seconds = seconds.unwrap_or(SHORTEST).clamp(SHORTEST, LONGEST);
    Duration::from_secs(seconds.saturating_sub(seconds / 10))
}

/// Makes the request: a GET with or without a password, or a POST with a refresh token.
fn request(
    mut realm: Url,
    bearer: &Bearer,
    scope: &Scope,
    credential: Option<&Credential>,
) -> Result<(Request, Option<HeaderValue>)> {
    let scopes = scopes(bearer, scope);
    let mut headers = HeaderMap::new();
    let mut body = Body::None;
    let mut method = Method::GET;
    let mut authorization = None;
    if let Some(Credential::IdentityToken(token)) = credential {
        method = Method::POST;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "refresh_token")
            .append_pair("client_id", "bundle")
            .append_pair("refresh_token", token.reveal());
        if let Some(service) = &bearer.service {
            form.append_pair("service", service);
        }
        if !scopes.is_empty() {
            form.append_pair("scope", &scopes.join(" "));
        }
        body = Body::Bytes(form.finish().into());
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
    } else {
        if let Some(Credential::Basic { username, password }) = credential {
            let pair = STANDARD.encode(format!("{username}:{}", password.reveal()));
            authorization = Some(secret_header("Basic", &pair)?);
        }
        let mut query = realm.query_pairs_mut();
        if let Some(service) = &bearer.service {
            query.append_pair("service", service);
        }
        for scope in &scopes {
            query.append_pair("scope", scope);
        }
        drop(query);
        if realm.query() == Some("") {
            realm.set_query(None);
        }
    }
    let request = Request {
        method,
        url: realm,
        headers,
        body,
        scope: scope.clone(),
        doing: "cannot get a token",
        ceiling: Ceiling::Token,
    };
    Ok((request, authorization))
}

/// Returns the scopes to ask for: no more than the request needs.
fn scopes(bearer: &Bearer, scope: &Scope) -> Vec<String> {
    let path = scope.repository.path();
    let actions = match scope.actions {
        Actions::None => return Vec::new(),
        Actions::Pull => "pull",
        Actions::Push => "pull,push",
    };
    // Some registries know a repository under a longer name; the end of it must be ours.
    let theirs = bearer
        .scope
        .as_deref()
        .and_then(|scope| scope.strip_prefix("repository:"))
        .and_then(|scope| scope.rsplit_once(':'))
        .map(|(name, _)| name)
        .filter(|name| !name.contains([' ', ':']))
        .filter(|name| {
            name.strip_suffix(path)
                .is_some_and(|rest| rest.ends_with('/'))
        });
    let own = format!("repository:{}:{actions}", theirs.unwrap_or(path));
    let from = scope
        .from
        .iter()
        .map(|from| format!("repository:{from}:pull"));
    [own].into_iter().chain(from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(actions: Actions, from: Option<&str>) -> Scope {
        Scope {
            repository: "r.example/team/etcd".parse().unwrap(),
            actions,
            from: from.map(Into::into),
        }
    }

    fn bearer(scope: Option<&str>) -> Bearer {
        Bearer {
            realm: "https://r.example/token?a=b".into(),
            service: Some("r & s".into()),
            scope: scope.map(Into::into),
        }
    }

    #[test]
    fn the_least_scope_is_asked_for() {
        for (theirs, actions, from, want) in [
            (None, Actions::Pull, None, vec!["repository:team/etcd:pull"]),
            (
                Some("repository:team/etcd:pull,push,delete"),
                Actions::Pull,
                None,
                vec!["repository:team/etcd:pull"],
            ),
            (
                None,
                Actions::Push,
                Some("team/base"),
                vec![
                    "repository:team/etcd:pull,push",
                    "repository:team/base:pull",
                ],
            ),
            (
                Some("repository:virtual/team/etcd:pull"),
                Actions::Push,
                None,
                vec!["repository:virtual/team/etcd:pull,push"],
            ),
            (
                Some("repository:other/repo:pull"),
                Actions::Pull,
                None,
                vec!["repository:team/etcd:pull"],
            ),
            (
                Some("repository:evilteam/etcd:pull"),
                Actions::Pull,
                None,
                vec!["repository:team/etcd:pull"],
            ),
            (
                Some("repository:x:push repository:y/team/etcd:pull"),
                Actions::Pull,
                None,
                vec!["repository:team/etcd:pull"],
            ),
            (None, Actions::None, None, vec![]),
        ] {
            assert_eq!(
                scopes(&bearer(theirs), &scope(actions, from)),
                want,
                "{theirs:?}"
            );
        }
    }

    #[test]
    fn a_password_goes_into_a_header_and_a_refresh_token_into_the_body() {
        let scope = scope(Actions::Pull, None);
        let realm: Url = "https://r.example/token?a=b".parse().unwrap();
        let basic = Credential::Basic {
            username: "robot$acme+ci".into(),
            password: Secret::new("a:b\\%ä"),
        };
        let (sent, authorization) =
            request(realm.clone(), &bearer(None), &scope, Some(&basic)).unwrap();
        assert_eq!(
            sent.url.as_str(),
            "https://r.example/token?a=b&service=r+%26+s&scope=repository%3Ateam%2Fetcd%3Apull"
        );
        let authorization = authorization.unwrap();
        let pair = STANDARD.encode("robot$acme+ci:a:b\\%ä");
        assert_eq!(authorization.to_str().unwrap(), format!("Basic {pair}"));
        assert!(!format!("{authorization:?}").contains(&pair));

        let refresh = Credential::IdentityToken(Secret::new("hunter&2"));
        let (sent, authorization) =
            request(realm.clone(), &bearer(None), &scope, Some(&refresh)).unwrap();
        assert_eq!(sent.method, Method::POST);
        assert_eq!(sent.url, realm);
        assert!(authorization.is_none());
        let Body::Bytes(body) = sent.body else {
            panic!("no body")
        };
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("grant_type=refresh_token"), "{body}");
        assert!(body.contains("refresh_token=hunter%262"), "{body}");
        assert!(
            body.contains("scope=repository%3Ateam%2Fetcd%3Apull"),
            "{body}"
        );
    }

    #[test]
    fn the_age_of_a_token_is_bounded() {
        for (said, want) in [
            (Value::from(300), 270),
            (Value::from(0), 54),
            (Value::from(-1), 54),
            (Value::from(1e18), 3240),
            (Value::from(u64::MAX), 3240),
            (Value::from("600"), 540),
            (Value::from("soon"), 54),
            (Value::Null, 54),
        ] {
            assert_eq!(lasts(&said).as_secs(), want, "{said}");
        }
    }
}
