//! Who is let in: Basic, or Bearer with a token service at an origin of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use url::form_urlencoded;

use super::registry::route;
use super::state::{State, Token};
use super::{Auth, Origin, Request, Response, Shared};
use crate::support::{PASSWORD, USER};

/// The 401 with its challenge, if the registry does not let the request in.
pub(super) fn refusal(shared: &Shared, request: &Request) -> Option<Response> {
    let modes = &shared.modes;
    if request.route() == "/v2/" && modes.open_ping {
        return None;
    }
    let given = request.header("authorization").unwrap_or_default();
    match modes.auth {
        Auth::Off => None,
        Auth::Basic if is_user(given) => None,
        Auth::Basic => Some(unauthorized("Basic realm=\"mock\"")),
        Auth::Bearer => {
            let mut state = shared.state.lock().unwrap();
            let scope = needed(request);
            let error = spend(&mut state, given, scope.as_deref()).err()?;
            let mut challenge = format!(
                "Bearer realm=\"{}/token\",service=\"mock\"",
                shared.base(Origin::Token)
            );
            if let Some(scope) = scope {
                challenge += &[",scope=\"", &scope, "\""].concat();
            }
            if !error.is_empty() {
                challenge += &[",error=\"", error, "\""].concat();
            }
            Some(unauthorized(&challenge))
        }
    }
}

fn unauthorized(challenge: &str) -> Response {
    Response::error(401, "UNAUTHORIZED", "authentication required")
        .header("www-authenticate", challenge)
}

/// Whether these are the credentials of the one user.
fn is_user(authorization: &str) -> bool {
    let pair = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    authorization.strip_prefix("Basic ") == Some(&pair)
}

/// The scope that a request needs; none for `/v2/`.
fn needed(request: &Request) -> Option<String> {
    let (name, ..) = route(request.route())?;
    let actions = match request.method.as_str() {
        "GET" | "HEAD" => "pull",
        "DELETE" => "delete",
        _ => "pull,push",
    };
    Some(format!("repository:{name}:{actions}"))
}

/// Uses up one request of the token in the header, or says what is wrong with it.
fn spend(state: &mut State, given: &str, scope: Option<&str>) -> Result<(), &'static str> {
    let Some(text) = given.strip_prefix("Bearer ") else {
        return Err("");
    };
    let mut tokens = state.tokens.iter_mut();
    let token = tokens.find(|token| token.text == text && token.left > 0);
    let Some(token) = token else {
        return Err("invalid_token");
    };
    if scope.is_some_and(|scope| !token.scopes.iter().any(|granted| covers(granted, scope))) {
        return Err("insufficient_scope");
    }
    token.left -= 1;
    Ok(())
}

/// Whether a granted scope has all that another asks for.
fn covers(granted: &str, asked: &str) -> bool {
    let parts = granted.rsplit_once(':').zip(asked.rsplit_once(':'));
    parts.is_some_and(|((resource, has), (wanted, asks))| {
        let has: Vec<_> = has.split(',').collect();
        resource == wanted && asks.split(',').all(|action| has.contains(&action))
    })
}

/// The token service: GET with Basic, or POST with a password or a refresh token.
pub(super) fn token(shared: &Shared, request: &Request, body: &[u8]) -> Response {
    if request.route() != "/token" {
        return Response::error(404, "NOT_FOUND", "page not found");
    }
    let modes = &shared.modes;
    let form: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
    let field = |name: &str| {
        let found = form.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    };
    let by_post = request.method == "POST";
    let known = if by_post {
        let refresh = field("refresh_token");
        (refresh.is_some() && refresh == modes.identity_token.as_deref())
            || (field("username") == Some(USER) && field("password") == Some(PASSWORD))
    } else {
        is_user(request.header("authorization").unwrap_or_default())
    };
    let nobody = !by_post && request.header("authorization").is_none();
    if !(known || nobody && modes.anonymous_pull) {
        return unauthorized("Basic realm=\"tokens\"");
    }
    let asked = if by_post {
        field("scope").map(str::to_owned).into_iter().collect()
    } else {
        request.query("scope")
    };
    let asked = asked
        .iter()
        .flat_map(|scopes| scopes.split(' '))
        .map(str::to_owned);
    // Nobody gets no more than pulling; a scope is cut down, not refused.
    let scopes = asked.map(|scope| match scope.rsplit_once(':') {
        Some((resource, _)) if !known => format!("{resource}:pull"),
        _ => scope,
    });
    let mut state = shared.state.lock().unwrap();
    let text = format!("token-{}-opaque", state.next());
    let scopes = scopes.collect();
    let left = modes.token_requests.unwrap_or(u32::MAX);
    state.tokens.push(Token {
        text: text.clone(),
        scopes,
        left,
    });
    Response::json(
        200,
        &json!({"token": text, "access_token": text, "expires_in": 300}),
    )
}
