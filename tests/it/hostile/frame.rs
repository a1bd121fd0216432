//! Archives whose frame has two readings: entries twice, ends in the middle, fields that are no numbers, ends that are missing.

use super::{AT, Case, DAMAGED, DATA, LAST, LIMIT, UNSAFE, here, named};
use crate::support::targen::{Head, TarGen};

const NAME: &str = "manifests/x.yaml";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = twice();
    cases.extend(ends());
    cases.extend(fields());
    cases.extend(cut());
    cases
}

/// Where the second of two files begins.
const SECOND: u64 = AT + 1024;

fn twice() -> Vec<Case> {
    let case = |n: u8, says: String, bad: fn(TarGen) -> TarGen| {
        let good = |g: TarGen| g.file(NAME, DATA).file("manifests/y.yaml", DATA);
        Case::entries(format!("A17/{n}"), UNSAFE, says, bad, good)
    };
    let there_twice = |name: &str, at| format!("{}: `{NAME}` is there twice", named(name, at));
    let both = |name: &str, at| format!("{}: `{NAME}` is both", named(name, at));
    vec![
        case(1, there_twice(NAME, SECOND), |g| {
            g.file(NAME, DATA).file(NAME, DATA)
        }),
        case(2, there_twice(NAME, SECOND), |g| {
            g.file(NAME, DATA).file(NAME, LAST)
        }),
        case(3, there_twice("./manifests/x.yaml", SECOND), |g| {
            g.file(NAME, DATA).file("./manifests/x.yaml", DATA)
        }),
        case(4, both("manifests/x.yaml/", SECOND), |g| {
            g.file(NAME, DATA).dir("manifests/x.yaml/")
        }),
        case(5, both(NAME, AT + 512), |g| {
            g.dir("manifests/x.yaml/").file(NAME, DATA)
        }),
        case(6, both("manifests/x.yaml/y", SECOND), |g| {
            g.file(NAME, DATA).file("manifests/x.yaml/y", DATA)
        }),
        case(
            7,
            format!(
                "{}: `manifests/d` is there twice, with two modes",
                named("manifests/d/", AT + 512)
            ),
            |g| {
                g.dir("manifests/d/")
                    .entry(Head::dir("manifests/d/").mode(0o777), b"")
            },
        ),
        // The second time in other words.
        case(8, there_twice(NAME, SECOND + 1024), |g| {
            g.file(NAME, DATA)
                .gnu_name(NAME)
                .file("manifests/y.yaml", DATA)
        }),
    ]
}

/// The place is one of the archive here: there is no entry at fault.
fn ends() -> Vec<Case> {
    let whole = |g: TarGen| g.file(NAME, DATA).end();
    let case = |n: u8, words: &str, bad: fn(TarGen) -> Vec<u8>| {
        Case::archive(format!("A27/{n}"), UNSAFE, words, bad, whole)
    };
    let end = SECOND;
    vec![
        case(
            1,
            &format!(
                "at byte {}, data follows a single block of zeros",
                end + 512
            ),
            |g| {
                g.file(NAME, DATA)
                    .zeros(1)
                    .file("manifests/y.yaml", DATA)
                    .end()
            },
        ),
        // Two archives in a row.
        case(
            2,
            &format!(
                "the archive ended at byte {}, and more than zeros",
                end + 1024
            ),
            |g| {
                g.file(NAME, DATA)
                    .zeros(2)
                    .file("manifests/y.yaml", DATA)
                    .end()
            },
        ),
        case(
            3,
            &format!("the archive ends at byte {end} without the two blocks"),
            |g| g.file(NAME, DATA).open_end(),
        ),
        case(
            4,
            &format!("the archive ends at byte {} after one block", end + 512),
            |g| g.file(NAME, DATA).zeros(1).open_end(),
        ),
        case(
            5,
            &format!(
                "the archive ended at byte {}, and more than zeros",
                end + 1024
            ),
            |g| g.file(NAME, DATA).zeros(2).raw(b"garbage").open_end(),
        ),
        case(
            6,
            &format!(
                "the archive ended at byte {}, and more than zeros, or too many",
                end + 1024
            ),
            |g| g.file(NAME, DATA).zeros(2 + 2_049).open_end(),
        ),
    ]
}

fn fields() -> Vec<Case> {
    let head = || Head::file(NAME, DATA.len() as u64);
    let plain = move |g: TarGen| g.entry(head(), DATA);
    let case = |n: u8, exit: u8, words: &str, head: Head| {
        let says = format!("{}{words}", here(NAME));
        Case::entries(
            format!("A28/{n}"),
            exit,
            says,
            move |g| g.entry(head.clone(), DATA),
            plain,
        )
    };
    let no_number = |what: &str| format!(" has a {what} that is no octal number");
    let negative = [0xff; 12];
    let mut large = [0; 12];
    large[0] = 0x80;
    large[4] = 0x80;
    let accent = "manifests/\u{e9}.yaml";
    let signed = Head::file(accent, DATA.len() as u64);
    let signed = signed.clone().checksum(signed_sum(&signed.block()));
    vec![
        case(
            1,
            UNSAFE,
            " has a header with a wrong checksum",
            head().checksum(*b"000000\0 "),
        ),
        // The sum that readers take too which add up the bytes as signed ones.
        Case::entries(
            "A28/2",
            UNSAFE,
            format!("{} has a header with a wrong checksum", here(accent)),
            move |g| g.entry(signed.clone(), DATA),
            |g| g.file(accent, DATA),
        ),
        case(
            3,
            UNSAFE,
            &no_number("size"),
            head().field(124, b"00000000069\0"),
        ),
        case(4, UNSAFE, &no_number("size"), head().field(124, &negative)),
        case(5, UNSAFE, &no_number("size"), head().field(124, &large)),
        case(
            6,
            UNSAFE,
            &no_number("size"),
            head().field(124, b"-0000000001\0"),
        ),
        // The largest that there is; the plan says 8, but there is nothing wrong with it except that it is too much.
        case(7, LIMIT, ": limit `", head().field(124, b"777777777777")),
        case(
            8,
            UNSAFE,
            &no_number("time"),
            head().field(136, &{
                let mut least = [0xff; 12];
                least[4] = 0x80;
                least[5..].fill(0);
                least
            }),
        ),
        case(
            9,
            UNSAFE,
            " has a time that is too large",
            head().field(136, &large),
        ),
        case(
            10,
            UNSAFE,
            &no_number("mode"),
            head().field(100, b"rw-r--r-"),
        ),
        case(
            11,
            UNSAFE,
            " has a header that is neither POSIX nor GNU",
            head().field(257, &[0; 8]),
        ),
        Case::entries(
            "A28/12",
            UNSAFE,
            format!("{} has padding that is not zero", here(NAME)),
            move |g| g.entry(head(), &[b'#'; 512]),
            plain,
        ),
    ]
}

fn signed_sum(block: &[u8; 512]) -> [u8; 8] {
    let sum: i64 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => 32,
            _ => i64::from(byte.cast_signed()),
        })
        .sum();
    format!("{sum:06o}\0 ").as_bytes().try_into().unwrap()
}

/// Archives that are not there to their ends, in streams that are.
fn cut() -> Vec<Case> {
    let whole = |g: TarGen| {
        g.pax(b'x', &[("path", "manifests/caf\u{e9}.yaml")])
            .file("manifests/cafe.yaml", DATA)
            .end()
    };
    let case = |n: u8, length: u64, words: String| {
        Case::archive(
            format!("cut/{n}"),
            DAMAGED,
            words,
            move |g| {
                let length = g.at() + length;
                let mut archive = whole(g);
                archive.truncate(length.try_into().unwrap());
                archive
            },
            whole,
        )
    };
    let in_block = |at: u64| format!("the archive is cut off in the block at byte {}", AT + at);
    let in_entry = |name: &str, at: u64| {
        let entry = named(name, AT + at);
        format!("the archive is cut off in {entry}")
    };
    let name = "manifests/caf\u{e9}.yaml";
    vec![
        case(1, 100, in_block(0)),
        case(2, 530, in_entry("PaxHeader", 0)),
        case(3, 1024 + 511, in_block(1024)),
        case(4, 1024 + 512, in_entry(name, 1024)),
        case(5, 1024 + 512 + 20, in_entry(name, 1024)),
        // In the padding, and in the second of the two blocks at the end.
        case(6, 1024 + 512 + 500, in_entry(name, 1024)),
        case(7, 2048 + 512 + 1, in_block(2048 + 512)),
    ]
}
