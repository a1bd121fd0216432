//! Archives nobody wrote: thrown together from parts that are all right somewhere, or right ones that were damaged.

use super::random::Random;
use crate::support::targen::{Head, TarGen, checksum, record};

const NAMES: &[&str] = &[
    "a",
    "./a",
    "a/b",
    "./a/c",
    "a/",
    "./",
    "d/",
    "d/e",
    "ä",
    "a\u{308}",
    "A",
    "x.yaml",
    "x.yaml/",
    ".",
    "",
    "a b",
    "café/x",
    "z/y/x/w",
    "../a",
    "/a",
    "a\\b",
    "a-name-of-more-than-one-hundred-bytes-which-does-not-fit-where-names-are-in-a-header-and-needs-a-longer-place/f",
];

const KEYS: &[&str] = &[
    "mtime",
    "atime",
    "ctime",
    "uid",
    "gid",
    "uname",
    "gname",
    "size",
    "comment",
    "linkpath",
    "SCHILY.dev",
    "SCHILY.xattr.user.a",
    "SCHILY.acl.access",
    "LIBARCHIVE.creationtime",
    "LIBARCHIVE.xattr.user.a",
    "MSWINDOWS.rawsd",
    "RHT.security.selinux",
];

/// Throws an archive together.
pub(super) fn archive(random: &mut Random) -> Vec<u8> {
    let mut archive = TarGen::new();
    for n in 0..=random.below(3) {
        let name = if random.rarely(3) {
            random.one_of(NAMES).to_owned()
        } else {
            format!("{}{n}", random.one_of(&["a", "ä", "./b", "d/c", "./d/ö"]))
        };
        let directory = random.rarely(4);
        let size = [0, 1, 5, 511, 512, 513][random.below(6)];
        let fill = random.one_of(&[b"x", b"y", b"z"])[0];
        let data = vec![fill; if directory { 0 } else { size }];
        archive = extension(archive, random, &name, data.len());
        let short = if random.rarely(4) {
            random.one_of(NAMES)
        } else {
            &name
        };
        let head = if directory {
            Head::dir(short)
        } else {
            Head::file(short, data.len() as u64)
        };
        archive = archive.entry(vary(head, random, data.len()), &data);
    }
    if !random.rarely(15) {
        archive = archive.zeros(2);
    }
    if random.rarely(6) {
        archive = archive.zeros(random.below(20));
    }
    archive.open_end()
}

/// Adds what may stand before an entry.
fn extension(archive: TarGen, random: &mut Random, name: &str, size: usize) -> TarGen {
    match random.below(8) {
        0 | 1 => {
            let mut data = Vec::new();
            if !random.rarely(4) {
                data.extend(record("path", name));
            }
            for _ in 0..random.below(3) {
                let key = random.one_of(KEYS);
                let value = match key {
                    "size" if !random.rarely(4) => size.to_string(),
                    _ => random
                        .one_of(&["1", "1.5", "-3", "x", "0", "12345678901", "a=b\nc", "a\0"])
                        .to_owned(),
                };
                data.extend(record(key, &value));
            }
            archive.pax_raw(if random.rarely(6) { b'g' } else { b'x' }, &data)
        }
        2 => archive.gnu_name(name),
        _ => archive,
    }
}

/// Changes a header into another one that somebody writes, or that nobody should.
fn vary(head: Head, random: &mut Random, size: usize) -> Head {
    match random.below(12) {
        0 => head.prefix(random.one_of(&["p", "p/q", ".", "/", "..", "a", "./p"])),
        1 | 2 => head.gnu(),
        3 => {
            let field = [100, 108, 116, 329, 337][random.below(5)];
            head.field(
                field,
                random.one_of(&[
                    b"0000644\0",
                    b"000644 \0",
                    b"   644 \0",
                    b"0100644\0",
                    b"\x80\0\0\0\0\0\x01\xa4",
                    b"644\0\0\0\0\0",
                    b"\0\0\0\0\0\0\0\0",
                    b" 644    ",
                    b"00000644",
                    b"\x80\0\0\xff\0\0\0\0",
                ]),
            )
        }
        4 => {
            let ways = [
                format!("{size:012o}"),
                format!("{size:>11o} "),
                format!("{size:010o} \0"),
                format!("{size:011o} "),
            ];
            head.field(124, ways[random.below(4)].as_bytes())
        }
        5 => head.field(
            136,
            random.one_of(&[
                b"\x80\0\0\0\0\0\0\0\x7f\0\0\0",
                b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                b"77777777777\0",
                b"777777777777",
                b"\0\0\0\0\0\0\0\0\0\0\0\0",
            ]),
        ),
        6 => head.field(
            [265, 297][random.below(2)],
            &[[b'x', 0xff, b'/', 0][random.below(4)]; 32],
        ),
        7 => head.flag(random.one_of(&[b"0", b"5", b"\0", b"1", b"7"])[0]),
        _ => head,
    }
}

type Block = [u8; 512];

/// The fields of a header, but for its checksum: offset and width.
const FIELDS: &[(usize, usize)] = &[
    (0, 100),
    (100, 8),
    (108, 8),
    (116, 8),
    (124, 12),
    (136, 12),
    (156, 1),
    (157, 100),
    (257, 8),
    (265, 32),
    (297, 32),
    (329, 16),
    (345, 155),
    (500, 12),
];

/// Splits an archive into blocks and tells of each whether it is a header.
fn blocks(archive: &[u8]) -> Vec<(Block, bool)> {
    let (blocks, _) = archive.as_chunks();
    let with_kind = |block: &Block| (*block, block[148..154] == checksum(block)[..6]);
    blocks.iter().map(with_kind).collect()
}

/// Damages one of the archives: bits turned over, fields of other headers, blocks of other archives, blocks that moved.
///
/// Nearly always the checksums are right again in the end, because otherwise nobody reads any further.
pub(super) fn mutant(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut found = blocks(&seeds[random.below(seeds.len())]);
    let others = blocks(&seeds[random.below(seeds.len())]);
    let headers: Vec<&Block> = others
        .iter()
        .filter_map(|(block, is_header)| is_header.then_some(block))
        .collect();
    for _ in 0..=random.below(2) {
        if found.is_empty() || headers.is_empty() {
            break;
        }
        let at = random.below(found.len());
        match random.below(8) {
            0..3 => found[at].0[random.below(512)] ^= 1 << random.below(8),
            3..6 => {
                let (offset, width) = FIELDS[random.below(FIELDS.len())];
                let field = &headers[random.below(headers.len())][offset..][..width];
                found[at].0[offset..][..width].copy_from_slice(field);
            }
            6 => {
                let range = at..at + random.below(2);
                found.splice(range, [others[random.below(others.len())]]);
            }
            _ if random.rarely(2) => drop(found.remove(at)),
            _ => {
                let other = random.below(found.len());
                found.swap(at, other);
            }
        }
    }
    for (block, is_header) in &mut found {
        if *is_header && !random.rarely(20) {
            let sum = checksum(block);
            block[148..156].copy_from_slice(&sum);
        }
    }
    found.into_iter().flat_map(|(block, _)| block).collect()
}
