//! `WWW-Authenticate` (RFC 9110, 11.6.1): what a registry asks for.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::error::{Error, Kind, Result};
use crate::escape::shown;

/// What a registry asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// User name and password.
    Basic,
    /// A token.
    Bearer(Bearer),
}

/// Where a token is to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bearer {
    /// The token service, as it stands in the challenge.
    pub(super) realm: String,
    /// The name under which the token service knows the registry.
    pub(super) service: Option<String>,
    /// What the registry thinks the request needs.
    pub(super) scope: Option<String>,
}

/// One challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Challenge {
    /// In lower case.
    scheme: String,
    /// Names in lower case.
    parameters: Vec<(String, String)>,
}

/// Returns what an answer asks for, a token rather than a password; nothing if there is no challenge.
///
/// # Errors
///
/// [`Kind::Protocol`] for a malformed or ambiguous header, [`Kind::Denied`] if it asks for something that nobody here has.
pub(super) fn wanted(headers: &HeaderMap) -> Result<Option<Wanted>> {
    let mut challenges = Vec::new();
    for value in headers.get_all(WWW_AUTHENTICATE) {
        let parsed = value.to_str().ok().and_then(parse);
        let Some(parsed) = parsed else {
            return Err(Error::protocol(
                "the registry's challenge (`WWW-Authenticate`) is malformed",
            ));
        };
        challenges.extend(parsed);
    }
    challenges.dedup();
    let of = |scheme: &str| {
        let found = challenges.iter().filter(|c| c.scheme == scheme);
        found.cloned().collect::<Vec<_>>()
    };
    let bearers = of("bearer");
    let basics = of("basic");
    let ambiguous =
        || Error::protocol("the registry's challenge (`WWW-Authenticate`) can be read in two ways");
    if let Some(bearer) = bearers.first() {
        let [realm, service, scope] = ["realm", "service", "scope"].map(|name| bearer.get(name));
        let (realm, service, scope) = match (realm, service, scope) {
            (Ok(realm), Ok(service), Ok(scope)) if bearers.len() == 1 => (realm, service, scope),
            _ => return Err(ambiguous()),
        };
        match realm {
            Some(realm) => {
                return Ok(Some(Wanted::Bearer(Bearer {
                    realm,
                    service,
                    scope,
                })));
            }
            None if basics.is_empty() => {
                return Err(Error::protocol(
                    "the registry asks for a token but does not say where to get it (no `realm`)",
                ));
            }
            None => {}
        }
    }
    match basics.first() {
        Some(basic) => match basic.get("realm") {
            Ok(_) => Ok(Some(Wanted::Basic)),
            Err(()) => Err(ambiguous()),
        },
        None => match challenges.first() {
            None => Ok(None),
            Some(other) => Err(Error::new(
                Kind::Denied,
                format!(
                    "the registry asks for authentication of the kind `{}`, which is not supported",
                    shown(&other.scheme)
                ),
            )),
        },
    }
}

impl Challenge {
    /// Returns a parameter; an error if it is there twice.
    fn get(&self, name: &str) -> Result<Option<String>, ()> {
        let mut found = self.parameters.iter().filter(|(n, _)| n == name);
        let first = found.next().map(|(_, value)| value.clone());
        match found.next() {
            None => Ok(first),
            Some(_) => Err(()),
        }
    }
}

/// Reads a list of challenges; nothing if it is malformed.
///
/// Commas separate challenges as well as the parameters of one challenge: an element that begins with `name=` is a
/// parameter of the challenge before it, every other one begins a challenge.
fn parse(text: &str) -> Option<Vec<Challenge>> {
    let mut challenges: Vec<Challenge> = Vec::new();
    for element in elements(text)? {
        if element.is_empty() {
            continue;
        }
        if let Some(parameter) = parameter(element) {
            challenges.last_mut()?.parameters.push(parameter);
            continue;
        }
        let (scheme, rest) = match element.split_once(' ') {
            Some((scheme, rest)) => (scheme, rest.trim()),
            None => (element, ""),
        };
        if scheme.is_empty() || !scheme.bytes().all(is_token) {
            return None;
        }
        // What is neither a parameter nor nothing is a "token68", which no scheme of ours has.
        let first = parameter(rest);
        let is_token68 = rest
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b));
        if first.is_none() && !is_token68 {
            return None;
        }
        challenges.push(Challenge {
            scheme: scheme.to_ascii_lowercase(),
            parameters: first.into_iter().collect(),
        });
    }
    Some(challenges)
}

/// Splits at the commas outside of quoted strings; nothing if a quoted string does not end.
fn elements(text: &str) -> Option<Vec<&str>> {
    let mut elements = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' if !quoted => {
                elements.push(text.get(start..at)?.trim());
                start = at.checked_add(1)?;
            }
            _ => {}
        }
    }
    elements.push(text.get(start..)?.trim());
    (!quoted).then_some(elements)
}

/// Reads `name=value` or `name="value"`. Values without quotes may hold what a token may not: some registries send URLs so.
fn parameter(element: &str) -> Option<(String, String)> {
    let (name, value) = element.split_once('=')?;
    let (name, value) = (name.trim_end(), value.trim_start());
    if name.is_empty() || !name.bytes().all(is_token) {
        return None;
    }
    let value = match value.strip_prefix('"') {
        Some(quoted) => unquote(quoted)?,
        // `abc==` is the padding of a token68.
        None if value.is_empty() || value.starts_with('=') => return None,
        None if value.contains([' ', '\t', '"']) => return None,
        None => value.to_owned(),
    };
    Some((name.to_ascii_lowercase(), value))
}

/// Reads the rest of a quoted string; there must be nothing after it.
fn unquote(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut chars = text.chars();
    loop {
        match chars.next()? {
            '"' => return chars.as_str().trim().is_empty().then_some(value),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn of(values: &[&str]) -> Result<Option<Wanted>> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap());
        }
        wanted(&headers)
    }

    fn token(realm: &str, service: Option<&str>, scope: Option<&str>) -> Wanted {
        Wanted::Bearer(Bearer {
            realm: realm.into(),
            service: service.map(Into::into),
            scope: scope.map(Into::into),
        })
    }

    #[test]
    fn padding_is_no_parameter() {
        for (element, value) in [
            ("a=b", Some("b")),
            ("A = b=c", Some("b=c")),
            (r#"a="b c""#, Some("b c")),
            (r#"a="""#, Some("")),
            ("abc=", None),
            ("abc==", None),
            ("=b", None),
            ("a=b c", None),
            ("a b=c", None),
            (r#"a="b" c"#, None),
        ] {
            let found = parameter(element).map(|(_, value)| value);
            assert_eq!(found.as_deref(), value, "{element}");
        }
    }

    #[test]
    fn challenges_of_real_registries_are_read() {
        let hub = r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull,push""#;
        for (value, want) in [
            (
                hub,
                token(
                    "https://auth.docker.io/token",
                    Some("registry.docker.io"),
                    Some("repository:a/b:pull,push"),
                ),
            ),
            (r#"Basic realm="Registry Realm""#, Wanted::Basic),
            ("Basic", Wanted::Basic),
            ("BASIC realm=x", Wanted::Basic),
            (
                r#"bearer REALM = "https://r/t""#,
                token("https://r/t", None, None),
            ),
            (
                "Bearer realm=https://r/t,service=r",
                token("https://r/t", Some("r"), None),
            ),
            // Outside of quotes a backslash is itself.
            (
                r"Bearer realm=https://r/t\,service=r",
                token(r"https://r/t\", Some("r"), None),
            ),
            (
                r#"Bearer realm="https://r/t?a=b&c=d""#,
                token("https://r/t?a=b&c=d", None, None),
            ),
            (
                r#"Bearer realm="a\"b,c\\d""#,
                token(r#"a"b,c\d"#, None, None),
            ),
            (
                r#"Bearer realm="https://r/t", error="invalid_token""#,
                token("https://r/t", None, None),
            ),
            (
                r#"Basic realm="x", Bearer realm="https://r/t",service="s""#,
                token("https://r/t", Some("s"), None),
            ),
            (
                r#"Bearer realm="https://r/t",service="s", Basic realm="x""#,
                token("https://r/t", Some("s"), None),
            ),
            (r#"Negotiate abc==, Basic realm="x""#, Wanted::Basic),
            ("Negotiate, Basic", Wanted::Basic),
            (
                r#"Digest realm="d", nonce="n,1", Basic realm="b""#,
                Wanted::Basic,
            ),
            (r#"Bearer error="x", Basic realm="b""#, Wanted::Basic),
            (r#",, Basic realm="b",,"#, Wanted::Basic),
        ] {
            assert_eq!(of(&[value]).unwrap(), Some(want), "{value}");
        }
        let two = of(&[r#"Basic realm="x""#, r#"Bearer realm="https://r/t""#]).unwrap();
        assert_eq!(two, Some(token("https://r/t", None, None)));
        let same = of(&[hub, hub]).unwrap();
        assert!(same.is_some());
        assert_eq!(of(&[]).unwrap(), None);
        assert_eq!(of(&[""]).unwrap(), None);
    }

    #[test]
    fn what_is_ambiguous_or_malformed_is_refused() {
        for bad in [
            r#"Bearer realm="https://a/t",realm="https://b/t""#,
            r#"Bearer realm="https://a/t", Bearer realm="https://b/t""#,
            r#"Bearer realm="https://a/t",REALM="https://b/t""#,
            r#"Bearer realm="https://a/t",scope="a",scope="b""#,
            r#"Bearer realm="https://a/t"#,
            r#"Bearer realm="https://a/t"x"#,
            "Bearer",
            r#"Bearer service="s""#,
            r#"realm="https://a/t""#,
            r#"Basic realm="a",realm="b""#,
            "Bea(rer realm=x",
            "Bearer realm=a b",
        ] {
            let error = of(&[bad]).unwrap_err();
            assert_eq!(error.kind(), Kind::Protocol, "{bad}");
        }
        let error = of(&["Negotiate"]).unwrap_err();
        assert_eq!(error.kind(), Kind::Denied);
        assert!(error.message().contains("negotiate"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_a_registry_sends_is_too_much(text in "[ -~]{0,80}") {
            let _ = parse(&text);
        }

        #[test]
        fn a_quoted_value_comes_back_as_it_was(value in "[ -~]{0,40}") {
            let quoted = value.replace('\\', "\\\\").replace('"', "\\\"");
            let text = format!("Basic, Bearer realm=\"{quoted}\" , x=y,Other");
            let challenges = parse(&text).unwrap();
            proptest::prop_assert_eq!(challenges.len(), 3);
            proptest::prop_assert_eq!(challenges[1].get("realm").unwrap(), Some(value));
        }
    }
}
