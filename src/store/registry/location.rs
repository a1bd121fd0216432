//! Where an answer sends us next: `Location` of uploads and redirects, and which origin that is.
//!
//! A registry may send a client anywhere; what must not happen is that a password goes with it (P7), that the way there
//! becomes plain text, or that a public registry makes us talk to a machine of our own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::escape::shown;

/// Resolves a `Location` against the URL of the request (RFC 3986, 5); the fragment is dropped.
///
/// # Errors
///
/// [`Kind::Protocol`](crate::error::Kind::Protocol) for what is no address of a web server, or carries credentials.
pub(super) fn resolve(base: &Url, location: &str) -> Result<Url> {
    let fail = |why: &str| {
        // An address may carry a token: only what stands before the query is repeated.
        let shown_part = location.split(['?', '#']).next().unwrap_or_default();
        let shown_part = shown_part.rsplit('@').next().unwrap_or_default();
        Err(Error::protocol(format!(
            "the answer's location `{}` {why}",
            shown(shown_part)
        )))
    };
    if location.is_empty() {
        return fail("is empty");
    }
    // Readers of URLs disagree about these, so nobody who means well sends them.
    if location
        .bytes()
        .any(|b| !b.is_ascii_graphic() || b == b'\\')
    {
        return fail("holds characters that no URL has");
    }
    let Ok(mut url) = base.join(location) else {
        return fail("is no URL");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return fail("is not of a web server");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return fail("carries credentials");
    }
    url.set_fragment(None);
    Ok(url)
}

/// Adds the digest to an upload's URL, leaving the state in its query as the registry wrote it.
pub(super) fn with_digest(mut url: Url, digest: &Digest) -> Url {
    let query = match url.query() {
        Some(query) if !query.is_empty() => format!("{query}&digest={digest}"),
        _ => format!("digest={digest}"),
    };
    url.set_query(Some(&query));
    url
}

/// Tells whether two URLs have one origin: scheme, host and port (RFC 6454).
pub(super) fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

/// Checks one step from the URL `from` to the URL `to`.
///
/// `public` says that the registry is on the public internet, from where no address of a private network makes sense.
/// Wherever it is, it does not lead to another host at which a cloud keeps secrets of its machines.
pub(super) fn check_step(from: &Url, to: &Url, public: bool) -> Result<()> {
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(Error::protocol(format!(
            "sends from https to plain http at `{}`",
            shown_origin(to)
        )));
    }
    if public && !same_origin(from, to) && is_private(to) {
        return Err(Error::protocol(format!(
            "sends to `{}`, an address of a private network",
            shown_origin(to)
        )));
    }
    if from.host() != to.host() && host_ip(to).is_some_and(is_secretive) {
        return Err(Error::protocol(format!(
            "sends to `{}`, where a cloud keeps secrets of its machines",
            shown_origin(to)
        )));
    }
    Ok(())
}

/// Checks where an upload is sent: on another origin only over https, unless both are this machine.
pub(super) fn check_upload(registry: &Url, to: &Url, public: bool) -> Result<()> {
    check_step(registry, to, public)?;
    if same_origin(registry, to)
        || to.scheme() == "https"
        || (is_loopback(registry) && is_loopback(to))
    {
        return Ok(());
    }
    Err(Error::protocol(format!(
        "wants the upload sent to `{}`, another server, over plain http",
        shown_origin(to)
    )))
}

/// Returns scheme, host and port for messages, never path, query or credentials.
pub(super) fn shown_origin(url: &Url) -> String {
    shown(&url.origin().ascii_serialization())
}

/// Tells whether the host is this machine: `localhost` or a loopback address.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Tells whether the host is written as an address that is not on the public internet, or is `localhost`.
pub(super) fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        _ => host_ip(url).is_some_and(is_private_ip),
    }
}

/// Returns the host if it is written as an address.
fn host_ip(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

/// Tells whether an address is not on the public internet.
pub(super) fn is_private_ip(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

/// Tells whether an address is one at which clouds tell a machine its secrets: a link-local one, or one of the two that
/// are not (of AWS over IPv6, and of Alibaba).
pub(super) fn is_secretive(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_link_local() || address == Ipv4Addr::new(100, 100, 100, 200)
        }
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
                || carried_v4(address).is_some_and(|v4| is_secretive(v4.into()))
        }
    }
}

/// Tells whether an IPv4 address is for special use (RFC 6890): this machine, its network, or nobody.
fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 198 && (b == 18 || b == 19))
}

/// Tells whether an IPv6 address is for special use, or stands for such an IPv4 address.
fn is_private_v6(address: Ipv6Addr) -> bool {
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || carried_v4(address).is_some_and(is_private_v4)
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, or, of NAT64 and of the old "IPv4-compatible" form, at
/// its end.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, .., high, low] = address.segments();
    let is_carrier = address.to_ipv4_mapped().is_some()
        || (first == 0x64 && second == 0xff9b)
        || address.segments().iter().take(6).all(|s| *s == 0);
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    is_carrier.then_some(Ipv4Addr::new(a, b, c, d))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn locations_are_resolved_against_the_request() {
        let base = url("https://r.example:5000/v2/team/etcd/blobs/uploads/");
        for (location, want) in [
            ("https://r.example:5000/u/1", "https://r.example:5000/u/1"),
            (
                "/v2/x?_state=a%2Bb%3D",
                "https://r.example:5000/v2/x?_state=a%2Bb%3D",
            ),
            (
                "upload/uuid-1",
                "https://r.example:5000/v2/team/etcd/blobs/uploads/upload/uuid-1",
            ),
            (
                "?x=1",
                "https://r.example:5000/v2/team/etcd/blobs/uploads/?x=1",
            ),
            ("//other.example/u?a=1#frag", "https://other.example/u?a=1"),
            ("../../x", "https://r.example:5000/v2/team/etcd/x"),
            ("http://r.example/u", "http://r.example/u"),
            ("https://R.EXAMPLE:443/u", "https://r.example/u"),
        ] {
            assert_eq!(
                resolve(&base, location).unwrap().as_str(),
                want,
                "{location}"
            );
        }
    }

    #[test]
    fn locations_that_are_none_are_refused() {
        let base = url("https://r.example/v2/");
        for bad in [
            "",
            "data:text/plain,x",
            "file:///etc/passwd",
            "ftp://r.example/x",
            "https://user:secret@r.example/x",
            "https://user@r.example/x",
            "https:\\\\evil.example",
            "/\\evil.example",
            "/a b",
            "/ä",
            "/a\u{1b}",
            "https://",
            "https://[::1/x",
            "https://r.example:99999/",
        ] {
            let error = resolve(&base, bad).unwrap_err();
            assert_eq!(error.kind(), Kind::Protocol, "{bad}");
            assert!(!error.message().contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_digest_is_added_and_the_state_stays_as_it_is() {
        let digest = Digest::of(b"");
        for (before, joint) in [
            ("https://r.example/u/1", "?"),
            ("https://r.example/u/1?_state=a%2Bb+c%3D%3D&x=%7e'", "&"),
        ] {
            let before = url(before);
            let after = with_digest(before.clone(), &digest);
            assert_eq!(after.as_str(), format!("{before}{joint}digest={digest}"));
        }
        let after = with_digest(url("https://r.example/u?"), &digest);
        assert_eq!(
            after.as_str(),
            format!("https://r.example/u?digest={digest}")
        );
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let base = url("https://r.example/v2/");
        for (other, same) in [
            ("https://r.example:443/x", true),
            ("https://r.example/other?q", true),
            ("https://r.example:444/", false),
            ("http://r.example/", false),
            ("https://s.example/", false),
            ("https://r.example./", false),
            ("https://x.r.example/", false),
        ] {
            assert_eq!(same_origin(&base, &url(other)), same, "{other}");
        }
    }

    #[test]
    fn addresses_for_special_use_are_private_up_to_their_bounds() {
        let is_private = |text: &str| is_private_ip(text.parse().unwrap());
        for private in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::10.0.0.1",
        ] {
            assert!(is_private(private), "{private}");
        }
        for public in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "100.18.0.1",
            "101.64.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "197.18.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "fec0::1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::8.8.8.8",
            // What looks like a private address at the end of one that carries none.
            "64:1::10.0.0.1",
            "1:ff9b::10.0.0.1",
            "2606:4700::10.0.0.1",
        ] {
            assert!(!is_private(public), "{public}");
        }
    }

    #[test]
    fn steps_to_plain_http_and_into_private_networks_are_refused() {
        for (from, to, public, good) in [
            ("https://r.example/", "https://cdn.example/x", true, true),
            ("https://r.example/", "http://r.example/", true, false),
            ("https://r.example/", "http://127.0.0.1/", false, false),
            ("http://127.0.0.1:1/", "http://127.0.0.1:2/", false, true),
            (
                "https://r.example/",
                "https://169.254.169.254/",
                true,
                false,
            ),
            ("https://r.example/", "https://10.0.0.1/", true, false),
            ("https://r.example/", "https://10.0.0.1/", false, true),
            // A private registry may lead to its neighbours, but not to where a cloud keeps secrets.
            ("http://10.0.0.2/", "http://169.254.169.254/", false, false),
            ("http://10.0.0.2/", "http://100.100.100.200/", false, false),
            ("http://10.0.0.2/", "http://100.100.100.201/", false, true),
            ("http://[fd00::2]/", "http://[fd00:ec2::254]/", false, false),
            ("http://[fd00::2]/", "http://[fe80::1]/", false, false),
            (
                "http://[fd00::2]/",
                "http://[::ffff:169.254.169.254]/",
                false,
                false,
            ),
            (
                "http://169.254.1.1:1/",
                "http://169.254.1.1:2/",
                false,
                true,
            ),
            ("https://r.example/", "https://localhost/", true, false),
            (
                "https://r.example/",
                "https://[::ffff:7f00:1]/",
                true,
                false,
            ),
            (
                "https://r.example/",
                "https://[64:ff9b::a9fe:a9fe]/",
                true,
                false,
            ),
            ("https://r.example/", "https://[::]/", true, false),
            ("https://r.example/", "https://[fd00::1]/", true, false),
            ("https://r.example/", "https://0.0.0.0/", true, false),
            ("https://r.example/", "https://2130706433/", true, false),
            ("https://r.example/", "https://8.8.8.8/", true, true),
            (
                "https://r.example/",
                "https://[2606:4700::1111]/",
                true,
                true,
            ),
        ] {
            let checked = check_step(&url(from), &url(to), public);
            assert_eq!(checked.is_ok(), good, "{from} {to} {public}");
        }
    }

    #[test]
    fn uploads_go_elsewhere_only_over_https_or_on_this_machine() {
        for (registry, to, good) in [
            ("https://r.example/", "https://store.example/u", true),
            ("https://r.example/", "http://r.example/u", false),
            ("http://r.example/", "http://r.example/u", true),
            ("http://r.example/", "http://store.example/u", false),
            ("http://r.example/", "https://store.example/u", true),
            ("http://127.0.0.1:1/", "http://127.0.0.1:2/u", true),
            ("http://127.0.0.1:1/", "http://10.0.0.1/u", false),
            ("http://localhost/", "http://[::1]:2/u", true),
        ] {
            let checked = check_upload(&url(registry), &url(to), false);
            assert_eq!(checked.is_ok(), good, "{registry} {to}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_a_location_is_it_is_a_web_server_without_credentials(text in "[ -~]{0,60}") {
            let base = url("https://r.example/v2/a/");
            if let Ok(found) = resolve(&base, &text) {
                proptest::prop_assert!(found.has_host() && found.fragment().is_none());
                proptest::prop_assert!(found.username().is_empty() && found.password().is_none());
                let state = found.query().unwrap_or_default().to_owned();
                let digest = Digest::of(b"");
                let query = with_digest(found, &digest).query().unwrap().to_owned();
                proptest::prop_assert!(query.starts_with(&state));
                let end = format!("digest={digest}");
                proptest::prop_assert!(query.ends_with(&end));
            }
        }
    }
}
