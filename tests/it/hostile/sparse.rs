//! Sparse files in the four forms that they have, with maps that lie.

use super::{Case, DATA, LIMIT, UNSAFE, here};
use crate::support::targen::{Head, TarGen, record};

const NAME: &str = "manifests/sparse.yaml";

fn octal(number: u64) -> Vec<u8> {
    format!("{number:011o}\0").into_bytes()
}

/// An old GNU header whose map has one region and whose real size is said apart.
fn old(region: (u64, u64), real: u64) -> Head {
    Head::file(NAME, 0)
        .gnu()
        .flag(b'S')
        .field(386, &octal(region.0))
        .field(398, &octal(region.1))
        .field(483, &octal(real))
}

pub(super) fn cases() -> Vec<Case> {
    let plain = |g: TarGen| g.file(NAME, DATA);
    let by_record = |id: &str, record: &str, records: Vec<(&'static str, &'static str)>| {
        Case::entries(
            id,
            UNSAFE,
            format!("{} has the PAX record `{record}`", here("PaxHeader")),
            |g| g.pax(b'x', &records).file(NAME, DATA),
            plain,
        )
    };
    // As much of a map of a million regions as one may say: the size alone is refused, nothing is reserved for it.
    let regions = record("GNU.sparse.map", &"1,1,".repeat(1_000_000));
    let many = Head::file("PaxHeader", regions.len() as u64).flag(b'x');
    let regions = &regions;
    vec![
        // Eight gibibytes of holes in no content.
        Case::entries(
            "A15/1",
            UNSAFE,
            format!("{} is a sparse file", here(NAME)),
            |g| g.entry(old((0, 0), 0o77_777_777_777), b""),
            plain,
        ),
        // A region whose end is beyond all numbers.
        Case::entries(
            "A15/2",
            UNSAFE,
            format!("{} is a sparse file", here(NAME)),
            |g| {
                let end = [0xff; 12];
                g.entry(old((0, 512), 512).field(386, &end), b"")
            },
            plain,
        ),
        by_record(
            "A15/3",
            "GNU.sparse.size",
            vec![
                ("GNU.sparse.size", "1099511627776"),
                ("GNU.sparse.numblocks", "1"),
                ("GNU.sparse.offset", "0"),
                ("GNU.sparse.numbytes", "0"),
            ],
        ),
        by_record(
            "A15/4",
            "GNU.sparse.map",
            vec![("GNU.sparse.map", "0,1,18446744073709551615,1")],
        ),
        by_record(
            "A15/5",
            "GNU.sparse.major",
            vec![
                ("GNU.sparse.major", "1"),
                ("GNU.sparse.minor", "0"),
                ("GNU.sparse.name", NAME),
                ("GNU.sparse.realsize", "1099511627776"),
            ],
        ),
        Case::entries(
            "A15/6",
            LIMIT,
            format!("{}: limit `archive-header`", here("PaxHeader")),
            |g| g.entry(many.clone(), regions).file(NAME, DATA),
            plain,
        ),
    ]
}
