//! Extension headers that say what the header does not, say it twice, or are no records.

use super::{AT, Case, DATA, LIMIT, UNSAFE, here, named};
use crate::support::targen::{Head, TarGen, record};

const NAME: &str = "manifests/x.yaml";
const EXTENSION: &str = "PaxHeader";

fn plain(g: TarGen) -> TarGen {
    g.file(NAME, DATA)
}

/// A header that is refused for its own data.
fn records(id: &str, words: &str, data: &[u8]) -> Case {
    Case::entries(
        id,
        UNSAFE,
        format!("{} {words}", here(EXTENSION)),
        |g| plain(g.pax_raw(b'x', data)),
        plain,
    )
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sizes();
    cases.extend(orders());
    cases.extend(malformed());
    cases.extend(globals());
    cases.extend(huge());
    cases
}

fn sizes() -> Vec<Case> {
    let inner = Head::file("../../evil.yaml", 0).block();
    // Of which one reader sees the link behind the file and another one sees it in the file.
    let hidden = Head::file("manifests/secret", 0)
        .flag(b'2')
        .link("/etc/shadow")
        .block();
    let behind = AT + 1024;
    let case = |id: &str, field: u64, size: &str, data: &[u8]| {
        Case::entries(
            id,
            UNSAFE,
            format!("{} has two sizes, {field} and {size}", named(NAME, behind)),
            |g| {
                g.pax(b'x', &[("size", size)])
                    .entry(Head::file(NAME, field), data)
            },
            |g| g.file(NAME, data),
        )
    };
    let smuggled = [&DATA[..8], &[0; 504], &hidden].concat();
    vec![
        case("A9/1", 0, "512", &inner),
        case("A9/2", 512, "0", &inner),
        case("A9/3", 52, "9223372036854775808", &[b'#'; 52]),
        case("A10/1", 8, "2048", &smuggled),
        case("A10/2", 1024, "8", &smuggled),
    ]
}

fn orders() -> Vec<Case> {
    let second = "is a second extension header for one entry";
    let case = |id: &str, says: String, bad: fn(TarGen) -> TarGen| {
        Case::entries(id, UNSAFE, says, move |g| plain(bad(g)), plain)
    };
    let at = AT + 1024;
    vec![
        case(
            "A11/1",
            format!("{} {second}", named("././@LongLink", at)),
            |g| g.pax(b'x', &[("size", "2048")]).gnu_name("manifests/y"),
        ),
        case("A11/2", format!("{} {second}", named(EXTENSION, at)), |g| {
            g.gnu_name("manifests/y").pax(b'x', &[("size", "2048")])
        }),
        case("A11/3", format!("{} {second}", named(EXTENSION, at)), |g| {
            g.pax(b'x', &[("path", "manifests/y")])
                .pax(b'x', &[("path", "manifests/z")])
        }),
    ]
}

fn malformed() -> Vec<Case> {
    let malformed = "has a malformed PAX record";
    let right = record("path", "manifests/y.yaml");
    let after = [&right[..], b"\0\0\0\0"].concat();
    let utf16 = record("hdrcharset", "BINARY");
    let nul = record("path", "manifests/y\0.yaml");
    let twice = [
        record("path", "manifests/safe.yaml"),
        record("path", "../../evil.yaml"),
    ]
    .concat();
    let sizes = [record("size", "52"), record("size", "52")].concat();
    vec![
        // Its length is one too few, it has no value, its length begins with a zero.
        records("A12/1", malformed, b"24 path=manifests/y.yaml\n"),
        records("A12/2", malformed, b"20 path manifests/y\n"),
        records("A12/3", malformed, b"025 path=manifests/y.yaml\n"),
        records("A12/4", malformed, &after),
        records("A12/5", "has a PAX record with a NUL in it", &nul),
        records("A12/6", "has the PAX record `hdrcharset`", &utf16),
        records("A13/1", "has the PAX record `path` twice", &twice),
        // Even where both are the same, and right.
        records("A13/2", "has the PAX record `size` twice", &sizes),
    ]
}

fn globals() -> Vec<Case> {
    let case = |id: &str, says: String, bad: fn(TarGen) -> TarGen| {
        let good = |g: TarGen| plain(g.pax(b'g', &[("comment", "0123456789abcdef")]));
        Case::entries(id, UNSAFE, says, move |g| plain(bad(g)), good)
    };
    let global = |key: &str| format!("{} has the global PAX record `{key}`", here(EXTENSION));
    vec![
        case("A14/1", global("path"), |g| {
            g.pax(b'g', &[("path", "../../evil.yaml")])
        }),
        case("A14/2", global("linkpath"), |g| {
            g.pax(b'g', &[("linkpath", "/etc"), ("size", "0")])
        }),
        // To some readers the second header makes an end of the first one.
        case(
            "A14/3",
            format!("{} is a second extension", named(EXTENSION, AT + 1024)),
            |g| {
                g.pax(b'x', &[("path", "manifests/safe.yaml")])
                    .pax(b'g', &[("comment", "x")])
            },
        ),
    ]
}

/// What is announced is refused before anything is read or reserved.
fn huge() -> Vec<Case> {
    const GIB: u64 = 1 << 30;
    let case = |id: &str, says: String, words: &str, bad: &dyn Fn(TarGen) -> TarGen| {
        Case::entries(id, LIMIT, says, |g| plain(bad(g)), plain).and(words)
    };
    let record = record("path", NAME);
    // As many as make the row too long, if each counts with its header.
    let row = |g: TarGen| (0..2_100).fold(g, |g, _| g.pax(b'g', &[("comment", "x")]));
    vec![
        case(
            "A16/1",
            here(EXTENSION),
            "limit `archive-header` = 65536, got at least 1073741824",
            &|g| g.entry(Head::file(EXTENSION, GIB).flag(b'x'), &record),
        ),
        case(
            "A16/2",
            here("././@LongLink"),
            "limit `archive-header` = 65536, got at least 1073741824",
            &|g| g.entry(Head::file("././@LongLink", GIB).flag(b'L').gnu(), &record),
        ),
        case(
            "A16/3",
            "entry `PaxHeader` at byte ".to_owned(),
            "limit `archive-headers` = 1048576",
            &row,
        ),
    ]
}
