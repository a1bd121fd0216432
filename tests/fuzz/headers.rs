//! Headers of answers. What is read out of one must have stood in it, and an address must lead nowhere new.

use std::time::{Duration, SystemTime};

use manifest_bundle::digest::Digest;
use manifest_bundle::store::registry::fuzzing;
use url::Url;

/// What a challenge was understood to say, written plainly, is understood in the same way.
pub(crate) fn challenge(data: &[u8]) {
    let Some(Ok(Some([Some(realm), service, scope]))) = fuzzing::challenge(data) else {
        return;
    };
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut plain = format!("Bearer realm=\"{}\"", quoted(&realm));
    for (name, value) in [("service", &service), ("scope", &scope)] {
        if let Some(value) = value {
            plain.extend([",", name, "=\"", &quoted(value), "\""]);
        }
    }
    let again = fuzzing::challenge(plain.as_bytes()).unwrap().unwrap();
    assert_eq!(again, Some([Some(realm), service, scope]), "{plain}");
}

/// The next page is an address that stands between `<` and `>`.
pub(crate) fn link(data: &[u8]) {
    let Some(Ok(Some(target))) = fuzzing::next_page(data) else {
        return;
    };
    let text = String::from_utf8(data.to_vec()).unwrap();
    assert!(
        text.contains(&format!("<{target}>")),
        "`{target}` is not in `{text}`"
    );
    assert!(!target.contains('>'));
    // Within quotes a backslash may stand before any character.
    let plain = text.replace('\\', "").to_ascii_lowercase();
    assert!(plain.contains("next"), "{text}");
}

/// A location is an address of a web server without credentials, stays what it is, and no step leads from TLS to plain
/// text or from a public registry into a private network.
pub(crate) fn location(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else {
        return;
    };
    for base in [
        "https://registry.example.com/v2/a/blobs/uploads/?x=1",
        "http://127.0.0.1:5000/v2/a/tags/list",
    ] {
        let base = Url::parse(base).unwrap();
        let Ok(url) = fuzzing::resolve(&base, value) else {
            continue;
        };
        assert!(matches!(url.scheme(), "http" | "https"), "{url}");
        assert!(
            url.has_host() && url.username().is_empty() && url.password().is_none(),
            "{url}"
        );
        assert_eq!(url.fragment(), None);
        assert_eq!(fuzzing::resolve(&base, url.as_str()).unwrap(), url);
        let digest = Digest::of(b"");
        let whole = fuzzing::with_digest(url.clone(), &digest);
        assert_eq!(whole.origin(), url.origin());
        assert_eq!(whole.path(), url.path());
        assert!(
            whole
                .query()
                .unwrap()
                .ends_with(&format!("digest={digest}"))
        );
        let allowed = fuzzing::check_step(&base, &url, true).is_ok();
        if base.scheme() == "https" && url.scheme() == "http" {
            assert!(!allowed, "{url}: from TLS to plain text");
        }
        if url.origin() != base.origin() && is_private(&url) {
            assert!(!allowed, "{url}: into a private network");
        }
    }
}

/// Looks at the host in another way than the library does: by what the standard library says of addresses.
fn is_private(url: &Url) -> bool {
    let host = url.host_str().unwrap().trim_matches(['[', ']']);
    match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => {
            ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified()
        }
        Ok(std::net::IpAddr::V6(ip)) => {
            ip.is_loopback()
                || ip.is_unspecified()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip
                    .to_ipv4_mapped()
                    .is_some_and(|ip| ip.is_private() || ip.is_loopback())
        }
        Err(_) => host == "localhost",
    }
}

/// Seconds are taken as they stand; a date is never more than the time from then to it.
pub(crate) fn retry_after(data: &[u8]) {
    let Ok(value) = std::str::from_utf8(data) else {
        return;
    };
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_750_000_000);
    let Some(wait) = fuzzing::retry_after(value, date) else {
        assert!(value.trim().parse::<u64>().is_err() || value.trim().starts_with('+'));
        return;
    };
    match value.trim().parse::<u64>() {
        Ok(seconds) => assert_eq!(wait, Duration::from_secs(seconds)),
        Err(_) if value.trim().bytes().all(|b| b.is_ascii_digit()) => {
            assert_eq!(wait, Duration::from_secs(u64::MAX));
        }
        // Years have four digits.
        Err(_) => assert!(wait < Duration::from_secs(8100 * 366 * 86_400)),
    }
}
