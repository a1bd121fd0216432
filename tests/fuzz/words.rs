//! Words: references, requirements, paths, and texts that are shown.

use manifest_bundle::escape::{SHOWN_MAX, is_unsafe, shown, shown_lines};
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::Location;
use manifest_bundle::requirement::Requirement;
use manifest_bundle::version::Version;
use url::Url;

/// What is parsed prints as what parses to the same; a registry's parts make an address without surprises.
pub(crate) fn reference(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let location: Location = match text.parse() {
        Ok(location) => location,
        Err(refusal) => {
            assert!(!refusal.to_string().contains(is_unsafe), "{refusal:?}");
            return;
        }
    };
    let printed = location.to_string();
    assert_eq!(
        printed.parse::<Location>().as_ref(),
        Ok(&location),
        "{printed}"
    );
    let Location::Registry(reference) = location else {
        return;
    };
    let registry = reference.repository.registry();
    let path = reference.repository.path();
    let url = format!("https://{}/v2/{path}/tags/list", registry.endpoint());
    let url = Url::parse(&url).unwrap();
    assert_eq!(url.path(), format!("/v2/{path}/tags/list"));
    assert!(
        path.split('/').all(|part| !matches!(part, "" | "." | "..")),
        "{path}"
    );
    assert!(url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
    let host = url.host_str().unwrap();
    let is_one = |text: &str| text.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    let named = registry.endpoint();
    let named = registry.port().map_or(&*named, |port| {
        named.strip_suffix(&format!(":{port}")).unwrap()
    });
    assert!(
        host == named || is_one(host).is_ok() && is_one(host) == is_one(named),
        "{host} is not {named}"
    );
    assert_eq!(url.port_or_known_default(), registry.port().or(Some(443)));
}

/// An exact requirement takes its own version, and what is printed means the same.
pub(crate) fn requirement(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(version) = text.parse::<Version>() {
        let exact: Requirement = text.parse().unwrap();
        assert!(exact.matches(&version), "{text}");
    }
    let Ok(requirement) = text.parse::<Requirement>() else {
        return;
    };
    let again: Requirement = requirement.to_string().parse().unwrap();
    for version in [
        "0.0.0",
        "0.0.3",
        "0.2.9",
        "1.0.0-rc.1",
        "1.2.3",
        "1.2.3+b",
        "1.10.0",
        "2.0.0-0",
        "2.0.0",
    ] {
        let version: Version = version.parse().unwrap();
        assert_eq!(
            requirement.matches(&version),
            again.matches(&version),
            "{text} {version}"
        );
    }
}

/// A path is a plain relative one that reads back, and folding it twice is folding it once.
pub(crate) fn path(data: &[u8]) {
    let Ok(path) = BundlePath::admit(data) else {
        return;
    };
    assert_eq!(path.as_str().as_bytes(), data, "a path is never changed");
    let plain = std::path::Path::new(path.as_str());
    let is_normal =
        |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    assert!(
        plain.is_relative() && plain.components().all(is_normal),
        "{path}"
    );
    assert_eq!(plain.components().count(), path.components().count());
    assert!(!path.as_str().contains(['\\', ':', '\0']) && !path.as_str().contains(is_unsafe));
}

/// What is shown cannot steer a terminal, is no longer than it may be, and is not escaped twice.
pub(crate) fn text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let short = shown(&text);
    assert!(!short.contains(is_unsafe));
    // The last character may be an escape, and then comes the ellipsis.
    assert!(short.len() <= SHOWN_MAX + 16, "{} bytes", short.len());
    let lines = shown_lines(&text);
    assert!(!lines.replace('\n', "").contains(is_unsafe));
    assert_eq!(shown_lines(&lines), lines);
    assert_eq!(lines.matches('\n').count(), text.matches('\n').count());
}
