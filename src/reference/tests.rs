//! References, and what is none.

use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn a_port_is_never_passed_over() {
    let endpoint = |text: &str| text.parse::<Registry>().unwrap().endpoint();
    assert_eq!(endpoint("docker.io"), "registry-1.docker.io");
    assert_eq!(endpoint("docker.io:2"), "docker.io:2");
    assert_eq!(endpoint("reg.io:5000"), "reg.io:5000");
}

#[test]
fn a_repository_may_be_as_long_as_what_is_asked_for() {
    for (registry, longest) in [("reg.io", 255), ("docker.io", 247), ("docker.io/a", 253)] {
        let of = |length: usize| format!("{registry}/{}", "a".repeat(length));
        let whole = of(longest).parse::<Location>().unwrap();
        assert_eq!(whole.to_string().parse::<Location>().unwrap(), whole);
        assert!(of(longest + 1).parse::<Location>().is_err(), "{registry}");
    }
}

#[test]
fn references_are_split_into_registry_repository_tag_and_digest() {
    let tagged = format!("reg.io/a:v1@{DIGEST}");
    for (text, registry, path, tag, digest) in [
        ("localhost:5000/demo", "localhost:5000", "demo", None, None),
        ("localhost/demo:1", "localhost", "demo", Some("1"), None),
        (
            "oci://demo:13546",
            "docker.io",
            "library/demo",
            Some("13546"),
            None,
        ),
        ("oci://team/demo", "docker.io", "team/demo", None, None),
        ("reg.io/app:13546", "reg.io", "app", Some("13546"), None),
        ("[::1]:5000/demo:1", "[::1]:5000", "demo", Some("1"), None),
        ("[0:0::1]/demo", "[::1]", "demo", None, None),
        ("reg.io/a/b/c/d:v1", "reg.io", "a/b/c/d", Some("v1"), None),
        (tagged.as_str(), "reg.io", "a", Some("v1"), Some(DIGEST)),
        ("oci://reg.io/a:1", "reg.io", "a", Some("1"), None),
        ("reg.io/a:1.0.0+b", "reg.io", "a", Some("1.0.0_b"), None),
        (
            "reg.io/a__b/c.d-e:_x",
            "reg.io",
            "a__b/c.d-e",
            Some("_x"),
            None,
        ),
        ("index.docker.io/x/y", "docker.io", "x/y", None, None),
        ("127.0.0.1:5000/a--b", "127.0.0.1:5000", "a--b", None, None),
    ] {
        let reference: Reference = text.parse().unwrap();
        assert_eq!(
            reference.repository.registry().to_string(),
            registry,
            "{text}"
        );
        assert_eq!(reference.repository.path(), path, "{text}");
        assert_eq!(reference.tag.as_ref().map(Tag::as_str), tag, "{text}");
        assert_eq!(
            reference.digest.map(|d| d.to_string()).as_deref(),
            digest,
            "{text}"
        );
        let again: Reference = reference.to_string().parse().unwrap();
        assert_eq!(again, reference, "what is printed is read back");
    }
}

#[test]
fn anything_else_is_refused_with_a_hint_where_there_is_one() {
    let long_tag = format!("reg.io/a:{}", "t".repeat(129));
    let long_name = format!("reg.io/{}", "a".repeat(256));
    for (text, hint) in [
        ("reg.io/a@sha256:abc", None),
        ("oci://reg.io/a:1/", None),
        ("https://reg.io/a:1", Some("write `reg.io/a:1`")),
        ("ghcr.io/Acme-Org/demo:1", Some("write `acme-org/demo`")),
        ("Reg.io/a", Some("write `reg.io`")),
        (
            "reg.io/a:1.0+b",
            Some("a `+` is written `_` in a tag: `1.0_b`"),
        ),
        ("reg.io/a: 1", None),
        ("reg.io//a:1", None),
        (long_tag.as_str(), None),
        (long_name.as_str(), None),
        ("reg.io/a/../b", None),
        ("reg.io/a/%2e%2e/b", None),
        ("reg.io/a?x", None),
        ("reg.io/a#x", None),
        ("reg.io/a_-b", None),
        ("reg.io/-a", None),
        ("reg.io:0/a", None),
        ("reg.io:65536/a", None),
        ("reg.io:x/a", None),
        ("1.2.3/a", None),
        ("1.2.3.256/a", None),
        ("[fe80::1%25eth0]/b", None),
        ("[::1/b", None),
        ("xn--/b.", None),
        ("ｒｅｇ.io/a", None),
        ("reg.io/a@sha256:", None),
        (
            "team/demo",
            Some("for Docker Hub write `docker.io/team/demo`"),
        ),
    ] {
        let invalid = text.parse::<Reference>().unwrap_err();
        if hint.is_some() {
            assert_eq!(invalid.hint.as_deref(), hint, "{text}");
        }
    }
}

#[test]
fn plain_http_is_for_the_machine_itself_only() {
    for (text, local) in [
        ("localhost", true),
        ("localhost:5000", true),
        ("127.0.0.1", true),
        ("127.9.9.9:1", true),
        ("[::1]:5", true),
        ("foo.local", false),
        ("127.0.0.1.evil.com", false),
        ("localhost.evil.com", false),
        ("[::2]", false),
        ("10.0.0.1", false),
    ] {
        assert_eq!(
            text.parse::<Registry>().unwrap().is_loopback(),
            local,
            "{text}"
        );
    }
}

#[test]
fn a_port_is_a_number_or_nothing() {
    let of = |text: &str| text.parse::<Registry>().map(|registry| registry.port());
    assert_eq!(of("reg.io").unwrap(), None);
    assert_eq!(of("reg.io:5000").unwrap(), Some(5000));
    assert_eq!(of("[::1]:65535").unwrap(), Some(65535));
    for (bad, words) in [
        ("reg.io:", "between 1 and 65535"),
        ("reg.io:0", "between 1 and 65535"),
        ("reg.io:65536", "between 1 and 65535"),
        ("reg.io:5000x", "not a number"),
        ("reg.io:+1", "not a number"),
        ("reg.io:1:2", "not a number"),
    ] {
        let invalid = of(bad).unwrap_err().to_string();
        assert!(invalid.contains(words), "{bad}: {invalid}");
    }
    // Docker Hub's other names are other names with the usual port only.
    for (text, host) in [
        ("index.docker.io", "docker.io"),
        ("registry-1.docker.io", "docker.io"),
        ("index.docker.io:443", "index.docker.io"),
    ] {
        assert_eq!(text.parse::<Registry>().unwrap().host(), host);
    }
}

#[test]
fn a_host_is_a_dns_name() {
    let label = "a".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
    for good in [&longest, &label, "a-b.c", "0.a", "1.2.3.4"] {
        assert_eq!(good.parse::<Registry>().unwrap().host(), good);
    }
    let longer = format!("{longest}a");
    let far_longer = format!("{longest}.{longest}");
    let wide = format!("{label}a");
    let far_wider = label.repeat(2);
    for bad in [
        &longer,
        &far_longer,
        &wide,
        &far_wider,
        "",
        "a..b",
        ".a",
        "a.",
        "-a.b",
        "a.b-",
        "a_b.c",
        "1.2.3",
    ] {
        let invalid = bad.parse::<Registry>().unwrap_err();
        assert_eq!(invalid.hint, None, "{bad}");
    }
    let hint = |text: &str| text.parse::<Registry>().unwrap_err().hint;
    assert_eq!(hint("Reg.IO").as_deref(), Some("write `reg.io`"));
    // Small letters would not help.
    assert_eq!(hint("Reg_x.io"), None);
}

#[test]
fn what_stands_before_an_at_sign_is_a_repository_or_is_not_repeated() {
    for text in [
        "user:secret@reg.io/a",
        "etcd@sha256:abc",
        "oci://user:secret@reg.io/a",
    ] {
        let invalid = text.parse::<Reference>().unwrap_err().to_string();
        assert!(invalid.contains("holds credentials"), "{invalid}");
        assert!(!invalid.contains("secret"), "{invalid}");
    }
    let pinned: Reference = format!("oci://etcd:3.5.0@{DIGEST}").parse().unwrap();
    assert_eq!(
        pinned.to_string(),
        format!("docker.io/library/etcd:3.5.0@{DIGEST}")
    );
    assert!(format!("etcd@{DIGEST}").parse::<Reference>().is_err());
}
