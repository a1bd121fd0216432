//! Which token service may see a registry's password (P7).
//!
//! A registry names its token service itself, so a registry that was taken over could name anybody. A password goes only
//! to the registry's own origin or host, to a host on the same registrable domain, to a service in the list of known
//! pairs, or where the caller says.
//!
//! What a registrable domain is, is decided by a small rule and not by the Public Suffix List: the last two labels, or
//! three where the last two belong to many (`co.uk`, `github.io`). Where the rule takes too much of a name, the
//! answer is "another domain" and a flag is needed; the list below is for the cases where it would take too little.

use url::{Host, Url};

/// Suffixes below which everybody can have a name.
const SHARED: &[&str] = &[
    "amazonaws.com",
    "appspot.com",
    "azurecontainer.io",
    "azurecr.io",
    "azureedge.net",
    "azurewebsites.net",
    "cloudapp.net",
    "cloudfront.net",
    "ddns.net",
    "duckdns.org",
    "dyndns.org",
    "firebaseapp.com",
    "fly.dev",
    "github.io",
    "gitlab.io",
    "googleapis.com",
    "googleusercontent.com",
    "herokuapp.com",
    "jfrog.io",
    "netlify.app",
    "ngrok-free.app",
    "ngrok.app",
    "ngrok.io",
    "nip.io",
    "no-ip.org",
    "oraclecloud.com",
    "ondigitalocean.app",
    "onrender.com",
    "pages.dev",
    "r2.dev",
    "run.app",
    "scw.cloud",
    "sslip.io",
    "trycloudflare.com",
    "up.railway.app",
    "vercel.app",
    "web.app",
    "windows.net",
    "workers.dev",
];

/// Labels that stand before a country code and under which names are given out.
const SECOND_LEVEL: &[&str] = &[
    "ac", "co", "com", "edu", "gob", "gov", "govt", "gv", "ltd", "mil", "ne", "net", "nom", "or",
    "org", "plc", "sch",
];

/// Registries (a host and everything below it) whose token service is on another domain of the same owner.
const PAIRS: &[(&str, &str)] = &[
    ("docker.io", "auth.docker.io"),
    ("scw.cloud", "api.scaleway.com"),
];

/// Tells whether a token service may see the password of a registry; `extra` are the hosts that the caller allows.
pub(super) fn may_see_password(registry: &Url, realm: &Url, extra: &[String]) -> bool {
    let (Some(from), Some(to)) = (registry.host(), realm.host()) else {
        return false;
    };
    if from == to || extra.iter().any(|allowed| names(allowed, realm)) {
        return true;
    }
    let (Host::Domain(from), Host::Domain(to)) = (from, to) else {
        return false;
    };
    let paired = PAIRS
        .iter()
        .any(|(registry, realm)| is_below(from, registry) && to == *realm);
    let domain = registrable(from);
    paired || (domain.is_some() && domain == registrable(to))
}

/// Tells whether `HOST[:PORT]` is where a URL leads.
fn names(allowed: &str, url: &Url) -> bool {
    let allowed = format!("{}://{}/", url.scheme(), allowed.trim());
    Url::parse(&allowed).is_ok_and(|allowed| allowed.origin() == url.origin())
}

/// Tells whether a host is a domain or below it.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the part of a host that one owner registered; nothing for a host without a dot.
fn registrable(host: &str) -> Option<&str> {
    let mut suffix_labels = 1_usize;
    if let Some(shared) = SHARED.iter().find(|shared| is_below(host, shared)) {
        suffix_labels = shared.split('.').count();
    } else {
        let mut labels = host.rsplit('.');
        let (last, second) = (labels.next()?, labels.next()?);
        if last.len() == 2 && SECOND_LEVEL.contains(&second) {
            suffix_labels = 2;
        }
    }
    // The cloud vendors put a region and a service before the shared part; all of it is theirs, none of it an owner's.
    if is_below(host, "amazonaws.com") || is_below(host, "windows.net") {
        return Some(host);
    }
    let wanted = suffix_labels.checked_add(1)?;
    let mut at = host.len();
    for _ in 0..wanted {
        if at == 0 {
            return None;
        }
        let before = host.get(..at)?;
        at = before.rfind('.').unwrap_or_default();
    }
    let domain = host.get(at..)?;
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    (domain.split('.').count() == wanted).then_some(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registrable_domain_is_what_one_owner_has() {
        for (host, want) in [
            ("registry.example.com", Some("example.com")),
            ("example.com", Some("example.com")),
            ("a.b.c.example.com", Some("example.com")),
            ("registry.example.co.uk", Some("example.co.uk")),
            ("co.uk", None),
            ("example.de", Some("example.de")),
            ("a.com.de", Some("a.com.de")),
            ("me.github.io", Some("me.github.io")),
            ("x.me.github.io", Some("me.github.io")),
            ("github.io", None),
            ("team.azurecr.io", Some("team.azurecr.io")),
            ("x.up.railway.app", Some("x.up.railway.app")),
            (
                "1.dkr.ecr.eu-west-1.amazonaws.com",
                Some("1.dkr.ecr.eu-west-1.amazonaws.com"),
            ),
            ("registry", None),
        ] {
            assert_eq!(registrable(host), want, "{host}");
        }
    }

    #[test]
    fn passwords_go_to_the_owner_of_the_registry_only() {
        let extra = ["auth.other.example".to_owned(), "t.example:5001".to_owned()];
        for (registry, realm, may) in [
            (
                "https://registry-1.docker.io",
                "https://auth.docker.io/token",
                true,
            ),
            ("https://docker.io", "https://auth.docker.io/token", true),
            ("https://ghcr.io", "https://ghcr.io/token", true),
            (
                "https://registry.gitlab.com",
                "https://gitlab.com/jwt/auth",
                true,
            ),
            (
                "https://rg.fr-par.scw.cloud",
                "https://api.scaleway.com/x",
                true,
            ),
            (
                "https://rg.fr-par.scw.cloud",
                "https://evil.scaleway.com/x",
                false,
            ),
            (
                "https://r.example.com",
                "https://r.example.com:5001/auth",
                true,
            ),
            ("https://r.example.com", "https://auth.example.com/t", true),
            ("http://127.0.0.1:1", "http://127.0.0.1:2/t", true),
            ("http://[::1]:1", "http://[::1]:2/t", true),
            ("http://127.0.0.1:1", "http://127.0.0.2:1/t", false),
            ("http://10.0.0.1", "http://10.0.0.2/t", false),
            ("https://r.example.com", "https://evil.com/t", false),
            (
                "https://r.example.com",
                "https://example.com.evil.com/t",
                false,
            ),
            ("https://r.example.com", "https://notexample.com/t", false),
            ("https://r.example.co.uk", "https://evil.co.uk/t", false),
            ("https://me.github.io", "https://you.github.io/t", false),
            ("https://a.azurecr.io", "https://b.azurecr.io/t", false),
            (
                "https://1.dkr.ecr.eu-west-1.amazonaws.com",
                "https://evil.s3.amazonaws.com/t",
                false,
            ),
            ("http://registry", "http://auth/t", false),
            (
                "https://r.example.com",
                "https://auth.other.example/t",
                true,
            ),
            (
                "https://r.example.com",
                "https://auth.other.example:444/t",
                false,
            ),
            ("https://r.example.com", "https://t.example:5001/t", true),
            ("https://r.example.com", "https://t.example/t", false),
            (
                "https://evil-docker.io",
                "https://auth.docker.io/token",
                false,
            ),
        ] {
            let (from, to) = (registry.parse().unwrap(), realm.parse().unwrap());
            assert_eq!(
                may_see_password(&from, &to, &extra),
                may,
                "{registry} {realm}"
            );
        }
    }
}
