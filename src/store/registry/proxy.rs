//! Which proxy a request goes through, decided here and not by the HTTP library, from values and not from the environment.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use crate::error::{Error, Result};
use crate::escape::shown;

use super::location::{is_loopback, shown_origin};

/// The proxies as users write them into `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`.
///
/// A proxy is a URL of the scheme `http` or `https`, with user name and password where it asks for them; `http://` may
/// be left out. This machine (`localhost`, loopback addresses) is never reached through a proxy.
#[derive(Clone, Default)]
pub struct Proxies {
    /// For registries over plain HTTP.
    pub http: Option<Proxy>,
    /// For registries over HTTPS.
    pub https: Option<Proxy>,
    /// Hosts that are reached directly, separated by commas: `*`, names (with everything below them, a leading `.` or
    /// `*.` makes no difference), addresses, and networks such as `10.0.0.0/8`; each name or address may have a port.
    pub no_proxy: String,
}

/// A proxy, and where it was set.
#[derive(Clone)]
pub struct Proxy {
    /// The URL.
    pub url: String,
    /// Where it was set, for messages: `HTTPS_PROXY`, `all_proxy`; never the URL itself.
    pub origin: String,
}

impl Proxy {
    /// Takes a URL, and where it was set.
    pub fn new(url: impl Into<String>, origin: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            origin: origin.into(),
        }
    }
}

/// Hides the URL: it may hold a password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.origin)
    }
}

/// Hides the URLs: they may hold passwords.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

/// [`Proxies`] whose URLs were read.
#[derive(Clone)]
pub(super) struct Routes {
    http: Option<Via>,
    https: Option<Via>,
    no_proxy: String,
}

/// A proxy whose URL was read; shown without its password, and with where it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Via {
    url: Url,
    origin: String,
}

impl Via {
    /// Returns the URL, which may hold a password.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (url, origin) = (shown_origin(&self.url), shown(&self.origin));
        write!(f, "{url} (from {origin})")
    }
}

impl Routes {
    /// Reads the URLs; empty ones mean no proxy.
    pub(super) fn new(proxies: &Proxies) -> Result<Self> {
        Ok(Self {
            http: read(proxies.http.as_ref())?,
            https: read(proxies.https.as_ref())?,
            no_proxy: proxies.no_proxy.clone(),
        })
    }

    /// Returns the proxy for a URL, or nothing when it is reached directly.
    pub(super) fn of(&self, url: &Url) -> Option<&Via> {
        let proxy = match url.scheme() {
            "https" => self.https.as_ref(),
            _ => self.http.as_ref(),
        }?;
        (!is_loopback(url) && !excepted(&self.no_proxy, url)).then_some(proxy)
    }

    /// Returns the hosts of the proxies.
    pub(super) fn hosts(&self) -> Vec<String> {
        let proxies = [&self.http, &self.https].into_iter().flatten();
        let hosts = proxies.filter_map(|proxy| proxy.url.host_str());
        hosts.map(str::to_owned).collect()
    }

    /// Tells whether a proxy is itself reached over TLS.
    pub(super) fn any_over_tls(&self) -> bool {
        [&self.http, &self.https]
            .into_iter()
            .flatten()
            .any(|proxy| proxy.url.scheme() == "https")
    }
}

/// Reads the URL of a proxy; the message never repeats it, because it may hold a password.
fn read(proxy: Option<&Proxy>) -> Result<Option<Via>> {
    let Some(proxy) = proxy else { return Ok(None) };
    let (text, name) = (proxy.url.trim(), shown(&proxy.origin));
    if text.is_empty() {
        return Ok(None);
    }
    let with_scheme = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    match Url::parse(&with_scheme) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.host().is_some() => {
            Ok(Some(Via {
                url,
                origin: proxy.origin.clone(),
            }))
        }
        Ok(url) if url.host().is_some() => Err(Error::usage(format!(
            "the proxy in `{name}` is of the scheme `{}`; only `http` and `https` are supported",
            shown(url.scheme())
        ))),
        _ => Err(Error::usage(format!("the proxy in `{name}` is no URL"))),
    }
}

/// Tells whether `NO_PROXY` names the host of a URL.
fn excepted(no_proxy: &str, url: &Url) -> bool {
    let Some(host) = url.host() else { return false };
    let port = url.port_or_known_default();
    no_proxy
        .split([',', ' ', '\t'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .any(|entry| entry == "*" || matches(&entry.to_ascii_lowercase(), &host, port))
}

/// Tells whether one entry of `NO_PROXY` names a host and port.
fn matches(entry: &str, host: &Host<&str>, port: Option<u16>) -> bool {
    let (name, wanted_port) = split_port(entry);
    // An entry whose port is none names nothing.
    if wanted_port.is_some_and(|wanted| wanted.parse().ok() != port) {
        return false;
    }
    let address = match host {
        Host::Domain(domain) => {
            let name = name.strip_prefix('*').unwrap_or(name);
            let name = name.strip_prefix('.').unwrap_or(name);
            let name = name.strip_suffix('.').unwrap_or(name);
            let domain = domain.strip_suffix('.').unwrap_or(domain);
            return !name.is_empty()
                && domain
                    .strip_suffix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        }
        Host::Ipv4(address) => IpAddr::V4(*address),
        Host::Ipv6(address) => IpAddr::V6(*address),
    };
    match name.split_once('/') {
        Some((network, length)) => within(network, length, address),
        None => name.parse::<IpAddr>().is_ok_and(|named| named == address),
    }
}

/// Takes a port off an entry: `host:1`, `[::1]:1`, `[::1]`; a bare IPv6 address has none.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    if let Some(rest) = entry.strip_prefix('[') {
        // Whatever else stands behind the bracket is a port that cannot be.
        return match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, rest)) => (address, Some(rest.strip_prefix(':').unwrap_or(""))),
            None => (rest, Some("")),
        };
    }
    match entry.split_once(':') {
        Some((name, port)) if !port.contains(':') => (name, Some(port)),
        _ => (entry, None),
    }
}

/// Tells whether an address is in a network given as address and prefix length.
fn within(network: &str, length: &str, address: IpAddr) -> bool {
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else {
        return false;
    };
    let (network, address, bits): (u128, u128, u32) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (network.to_bits().into(), address.to_bits().into(), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    let differing = network ^ address;
    match bits.checked_sub(length) {
        Some(free) => differing.checked_shr(free).unwrap_or(0) == 0,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_known_by_host_and_scheme() {
        let routes = |http: &str, https: &str| {
            Routes::new(&Proxies {
                http: Some(Proxy::new(http, "HTTP_PROXY")),
                https: Some(Proxy::new(https, "HTTPS_PROXY")),
                no_proxy: String::new(),
            })
        };
        let two = routes("http://a:1", "https://b:2").unwrap();
        assert_eq!(two.hosts(), ["a", "b"]);
        assert!(two.any_over_tls());
        let one = routes("c", " ").unwrap();
        assert_eq!(one.hosts(), ["c"]);
        assert!(!one.any_over_tls());
        for (bad, words) in [
            ("socks5://p:1", "of the scheme `socks5`"),
            ("mailto:p", "is no URL"),
            ("data://", "is no URL"),
            ("http://", "is no URL"),
            ("http://a b", "is no URL"),
        ] {
            let error = routes(bad, "").err().unwrap();
            assert!(error.message().contains(words), "{bad}: {error}");
        }
    }

    #[test]
    fn no_password_of_a_proxy_is_in_what_debugging_prints() {
        let proxies = Proxies {
            http: Some(Proxy::new("http://u:hunter2@p:1", "HTTP_PROXY")),
            https: None,
            no_proxy: "example".into(),
        };
        assert_eq!(
            format!("{proxies:?}"),
            r#"Proxies { http: true, https: false, no_proxy: "example" }"#
        );
        assert_eq!(format!("{:?}", proxies.http.unwrap()), "Proxy(HTTP_PROXY)");
    }

    #[test]
    fn no_proxy_names_hosts_domains_addresses_and_networks() {
        for (entry, url, direct) in [
            ("", "https://r.example/", false),
            ("*", "https://r.example/", true),
            ("r.example", "https://r.example/", true),
            ("R.Example", "https://r.example/", true),
            ("r.example", "https://r.example./", true),
            ("example", "https://r.example/", true),
            (".example", "https://r.example/", true),
            ("*.example", "https://r.example/", true),
            (".r.example", "https://r.example/", true),
            ("ample", "https://r.example/", false),
            ("example", "https://notexample/", false),
            ("a.r.example", "https://r.example/", false),
            ("x.example, r.example", "https://r.example/", true),
            ("x.example r.example", "https://r.example/", true),
            ("r.example:443", "https://r.example/", true),
            ("r.example:5000", "https://r.example/", false),
            ("r.example:5000", "https://r.example:5000/", true),
            ("10.1.2.3", "https://10.1.2.3/", true),
            ("10.1.2.3:1", "https://10.1.2.3/", false),
            ("10.0.0.0/8", "https://10.1.2.3/", true),
            ("10.1.2.0/31", "https://10.1.2.3/", false),
            ("0.0.0.0/0", "https://10.1.2.3/", true),
            ("10.0.0.0/33", "https://10.1.2.3/", false),
            ("10.0.0.0/x", "https://10.1.2.3/", false),
            ("fd00::1", "https://[fd00::1]/", true),
            ("[fd00::1]", "https://[fd00::1]/", true),
            ("[fd00::1]:5000", "https://[fd00::1]:5000/", true),
            ("[fd00::1]:5000", "https://[fd00::1]/", false),
            ("fd00::/8", "https://[fd00::1]/", true),
            ("fe00::/8", "https://[fd00::1]/", false),
            ("fd00::%eth0", "https://[fd00::1]/", false),
            ("10.0.0.0/8", "https://[fd00::1]/", false),
            (".", "https://r.example/", false),
            ("r.example.", "https://r.example/", true),
            (".r.example.", "https://a.r.example/", true),
            ("r.example:", "https://r.example/", false),
            ("r.example:x", "https://r.example/", false),
            ("r.example:65536", "https://r.example/", false),
            ("[fd00::1]x", "https://[fd00::1]/", false),
            ("[fd00::1", "https://[fd00::1]/", false),
            ("https://r.example", "https://r.example/", false),
            ("x.example\tr.example", "https://r.example/", true),
            (",,r.example,", "https://r.example/", true),
            ("*.r.example", "https://r.example/", true),
            ("r.*", "https://r.example/", false),
            ("10.*", "https://10.1.2.3/", false),
            ("10.1.2.3/32", "https://10.1.2.3/", true),
            ("::/0", "https://[fd00::1]/", true),
            ("10.1.2.3", "https://10.1.2.3.example/", false),
            ("r.example:80", "http://r.example/", true),
        ] {
            let url: Url = url.parse().unwrap();
            assert_eq!(excepted(entry, &url), direct, "{entry:?} {url}");
        }
    }

    #[test]
    fn each_scheme_has_its_proxy_and_this_machine_none() {
        let routes = Routes::new(&Proxies {
            http: Some(Proxy::new("plain.example:3128", "HTTP_PROXY")),
            https: Some(Proxy::new(
                " https://user:pass%2F@tls.example ",
                "all_proxy",
            )),
            no_proxy: "direct.example".into(),
        })
        .unwrap();
        let of = |url: &str| {
            let via = routes.of(&url.parse().unwrap());
            via.map(|via| via.url().as_str())
        };
        assert_eq!(of("http://r.example/"), Some("http://plain.example:3128/"));
        assert_eq!(
            of("https://r.example/"),
            Some("https://user:pass%2F@tls.example/")
        );
        for direct in [
            "http://localhost:1/",
            "http://127.9.9.9/",
            "https://[::1]/",
            "https://direct.example/",
        ] {
            assert_eq!(of(direct), None, "{direct}");
        }
        assert!(routes.any_over_tls());
        let shown = |url: &str| routes.of(&url.parse().unwrap()).unwrap().to_string();
        assert_eq!(
            shown("http://r.example/"),
            "http://plain.example:3128 (from HTTP_PROXY)"
        );
        assert_eq!(
            shown("https://r.example/"),
            "https://tls.example (from all_proxy)"
        );
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_without_its_password() {
        for bad in ["socks5://u:hunter2@p", "http://u:hunter2@", "http://", "::"] {
            let error = Routes::new(&Proxies {
                https: Some(Proxy::new(bad, "HTTPS_PROXY")),
                ..Proxies::default()
            });
            let error = error.err().unwrap();
            assert!(error.message().contains("HTTPS_PROXY"), "{error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let none = Routes::new(&Proxies {
            http: Some(Proxy::new("  ", "HTTP_PROXY")),
            ..Proxies::default()
        });
        assert!(none.unwrap().http.is_none());
        let shown = Proxies {
            http: Some(Proxy::new("http://u:hunter2@p", "HTTP_PROXY")),
            ..Proxies::default()
        };
        assert!(!format!("{shown:?}").contains("hunter2"));
    }
}
