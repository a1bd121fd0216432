//! Which token service may see a registry's password (P7).
//!
//! A registry names its token service itself, so a registry that was taken over could name anybody. A password goes only
//! to the registry's own origin or host, to a host on the same registrable domain, to a service in the list of known
//! pairs, or where the caller says.
//!
//! What a registrable domain is, the Public Suffix List says. Names that it does not know as shared, and that vendors give to
//! many, are named here: below them a host is nobody's neighbour.

use url::{Host, Url};

/// Domains of vendors below which strangers have names; the Public Suffix List has them in part or not at all.
const SHARED: &[&str] = &[
    "amazonaws.com",
    "azure.com",
    "azurecontainer.io",
    "azurecr.io",
    "azureedge.net",
    "azurewebsites.net",
    "cloudapp.net",
    "cloudfront.net",
    "googleapis.com",
    "googleusercontent.com",
    "jfrog.io",
    "oraclecloud.com",
    "scw.cloud",
    "windows.net",
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

/// Returns the part of a host that one owner registered; nothing where no such part is known.
fn registrable(host: &str) -> Option<&str> {
    if SHARED.iter().any(|shared| is_below(host, shared)) {
        return None;
    }
    psl2::lookup(host)?.registrable_domain()
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
            ("registry.me.uk", Some("registry.me.uk")),
            ("x.tailnet.ts.net", Some("tailnet.ts.net")),
            ("x.up.railway.app", Some("x.up.railway.app")),
            ("registry.corp.internal", Some("corp.internal")),
            ("team.azurecr.io", None),
            ("reg.westeurope.cloudapp.azure.com", None),
            ("1.dkr.ecr.eu-west-1.amazonaws.com", None),
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
            ("https://reg.me.uk", "https://evil.me.uk/t", false),
            (
                "https://reg.tailnet.ts.net",
                "https://evil.other.ts.net/t",
                false,
            ),
            (
                "https://reg.eastus.cloudapp.azure.com",
                "https://evil.eastus.cloudapp.azure.com/t",
                false,
            ),
            ("https://r.corp.internal", "https://a.corp.internal/t", true),
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
