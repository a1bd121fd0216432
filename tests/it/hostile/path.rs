//! Names that lead elsewhere, that some system cannot hold, or that are too long.

use super::{AT, Case, DATA, LIMIT, OUTSIDE, UNSAFE, here, named};
use crate::support::targen::{Head, TarGen, record};

/// A file whose name is in the header, as the bytes that it is given.
fn header(name: &[u8]) -> impl Fn(TarGen) -> TarGen {
    move |g| g.entry(Head::file("", DATA.len() as u64).name(name), DATA)
}

fn directory(name: &str) -> impl Fn(TarGen) -> TarGen {
    move |g| g.dir(name)
}

fn prefixed(prefix: &str, name: &str) -> impl Fn(TarGen) -> TarGen {
    move |g| g.entry(Head::file(name, DATA.len() as u64).prefix(prefix), DATA)
}

/// A file with a harmless name in the header and another one before it.
fn pax(name: &str) -> impl Fn(TarGen) -> TarGen {
    move |g| {
        g.pax(b'x', &[("path", name)])
            .file("manifests/x.yaml", DATA)
    }
}

fn gnu(name: &str) -> impl Fn(TarGen) -> TarGen {
    move |g| g.gnu_name(name).file("manifests/x.yaml", DATA)
}

/// Where the entry stands that has such a record before it.
fn behind(record: &[u8]) -> u64 {
    AT + 512 + (record.len() as u64).next_multiple_of(512)
}

fn case(id: &str, says: &str, bad: impl Fn(TarGen) -> TarGen) -> Case {
    Case::entries(id, UNSAFE, says, bad, header(b"manifests/x.yaml"))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = leading_up();
    cases.extend(absolute());
    cases.extend(prefixes());
    cases.extend(too_long());
    cases.extend(unreadable());
    cases.extend(reserved());
    cases
}

fn leading_up() -> Vec<Case> {
    let plain = [
        "../../evil.yaml",
        "manifests/../../evil.yaml",
        "..",
        "./..",
        "manifests/..",
        // It stays inside, and is refused all the same.
        "manifests/../manifests/x.yaml",
    ];
    let cases = plain.iter().enumerate().map(|(n, name)| {
        let bad = header(name.as_bytes());
        case(&format!("A1/{}", n + 1), &here(name), bad)
    });
    let up = "../../evil.yaml";
    let at = behind(&[0; 16]);
    let more = [
        case("A1/7", &here("manifests/../"), directory("manifests/../")),
        case("A1/8", &named(up, at), gnu(up)),
    ];
    cases.chain(more).collect()
}

fn absolute() -> Vec<Case> {
    let evil = format!("{OUTSIDE}/evil.yaml");
    let twice = format!("/{evil}");
    let plain = [
        &*evil,
        &*twice,
        // Without its slash it would be harmless, and another tree than to who keeps it.
        "/manifests/x.yaml",
        "C:\\x.yaml",
        "\\\\srv\\share\\x.yaml",
        "C:x.yaml",
    ];
    let cases = plain.iter().enumerate().map(|(n, name)| {
        let bad = header(name.as_bytes());
        case(&format!("A2/{}", n + 1), &here(name), bad)
    });
    let at = behind(&record("path", &evil));
    let more = [
        case("A2/7", &here("/"), directory("/")),
        case("A2/8", &named(&evil, at), pax(&evil)),
    ];
    cases.chain(more).collect()
}

fn prefixes() -> Vec<Case> {
    vec![
        case("A25/1", &here("../x.yaml"), prefixed("..", "x.yaml")),
        case(
            "A25/2",
            &here("manifests/../x.yaml"),
            prefixed("manifests/..", "x.yaml"),
        ),
        // The two parts have no one reading, so the message has the part that is the name.
        case("A25/3", &here("x.yaml"), prefixed("/", "x.yaml")),
        case("A25/4", &here("x.yaml"), prefixed("/manifests", "x.yaml")),
        case("A25/5", &here(""), prefixed("manifests", "")),
        case(
            "A25/6",
            &here("manifests/x.yaml/"),
            header(b"manifests/x.yaml/"),
        ),
        case(
            "A25/7",
            &here("manifests/x.yaml/."),
            header(b"manifests/x.yaml/."),
        ),
    ]
}

/// The plan says 8; a path over a ceiling is 9 (design, "Exit codes"). The controls are as long as may be.
fn too_long() -> Vec<Case> {
    let component = "c".repeat(200);
    let long = |length: usize| {
        let mut name = "manifests".to_owned();
        while name.len() + 201 < length {
            name = format!("{name}/{component}");
        }
        let rest = length - name.len() - 1;
        format!("{name}/{}", "r".repeat(rest))
    };
    let deep = |levels: usize| format!("manifests{}", "/a".repeat(levels - 1));
    let wide = |width: usize| format!("manifests/{}", "w".repeat(width));
    let case = |n: u8, ceiling: &str, bad: String, good: String, by_gnu: bool| {
        let put = |name: String| {
            move |g: TarGen| {
                if by_gnu { gnu(&name)(g) } else { pax(&name)(g) }
            }
        };
        let shown = format!("entry `{}", &bad[..20]);
        let at = if by_gnu {
            behind(&vec![0; bad.len() + 1])
        } else {
            behind(&record("path", &bad))
        };
        Case::entries(format!("A30/{n}"), LIMIT, shown, put(bad), put(good))
            .and(format!("at byte {at}: "))
            .and(format!("limit `{ceiling}`"))
    };
    vec![
        case(1, "path", long(4_097), long(1_024), false),
        case(2, "path", long(1_025), long(1_024), true),
        case(3, "path-component", wide(256), wide(255), false),
        case(4, "path", deep(2_000), deep(32), false),
        case(5, "path-depth", deep(33), deep(32), true),
    ]
}

fn unreadable() -> Vec<Case> {
    let names: [(&[u8], &str); 16] = [
        (b"", ""),
        (b"manifests/a\0b.yaml", "manifests/a"),
        (b"manifests/\xff.yaml", "manifests/\u{fffd}.yaml"),
        // A slash and a dot in more bytes than they need, and half a pair.
        (b"manifests/\xc0\xae\xc0\xae/x", "manifests/"),
        (b"manifests/\xed\xa0\x80", "manifests/"),
        (b"manifests/\xef\xbb\xbfx.yaml", "manifests/\\u{feff}x.yaml"),
        (b"manifests/\xe2\x80\xaex", "manifests/\\u{202e}x"),
        (b"manifests/\xe2\x80\x8bx", "manifests/\\u{200b}x"),
        (b"manifests/a\rb", "manifests/a\\u{d}b"),
        (b"manifests/a\nb", "manifests/a\\u{a}b"),
        (b"manifests/a\tb", "manifests/a\\u{9}b"),
        (b"manifests/\x1b[2Jx", "manifests/\\u{1b}[2Jx"),
        (b"manifests/\x7fx", "manifests/\\u{7f}x"),
        (b"manifests/\xc2\x9b2Jx", "manifests/\\u{9b}2Jx"),
        (b"manifests/ x.yaml", "manifests/ x.yaml"),
        (b"manifests/x.yaml ", "manifests/x.yaml "),
    ];
    let cases = names.iter().enumerate().map(|(n, (name, shown))| {
        let says = format!("entry `{shown}");
        case(&format!("A31/{}", n + 1), &says, header(name)).and(format!("at byte {AT}"))
    });
    cases.collect()
}

fn reserved() -> Vec<Case> {
    let names = [
        "manifests/a\\b.yaml",
        "manifests/a:b.yaml",
        "manifests/CON",
        "manifests/nul.yaml",
        "manifests/COM\u{b9}.yaml",
        "manifests/lpt1.tar.gz",
        "manifests/.git/config",
        "manifests/GIT~1",
        "manifests/a*.yaml",
        "manifests/\u{2025}/x.yaml",
    ];
    let cases = names.iter().enumerate().map(|(n, name)| {
        let bad = header(name.as_bytes());
        case(&format!("A19/{}", n + 1), &here(name), bad)
    });
    cases.collect()
}
