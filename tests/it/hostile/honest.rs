//! Archives that look odd and are right: a strict reader that refuses what honest writers write is wrong too.

use std::collections::BTreeMap;

use flate2::Crc;
use manifest_bundle::oci::media_type;

use super::doors::{Layer, gzip};
use super::gzip::zstd;
use super::size::{entry, is_file, large, many, mebibyte};
use super::{DATA, FIRST, annotations, honest};
use crate::support::targen::{Head, TarGen};

/// A layer and the files that must come of it.
pub(super) struct Honest {
    pub(super) name: &'static str,
    pub(super) layer: Layer,
    pub(super) tree: BTreeMap<String, Vec<u8>>,
}

const NAME: &str = "manifests/x.yaml";

/// The honest files and some more.
fn tree(files: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    let metadata = annotations();
    [
        ("metadata/annotations.yaml", metadata.as_bytes()),
        ("manifests/first.yaml", FIRST),
    ]
    .iter()
    .chain(files)
    .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
    .collect()
}

/// A case of one more file, of the usual content.
fn case(name: &'static str, file: &str, archive: TarGen) -> Honest {
    of(name, Layer::gzip(&archive.end()), file)
}

fn of(name: &'static str, layer: Layer, file: &str) -> Honest {
    Honest {
        name,
        layer,
        tree: tree(&[(file, DATA)]),
    }
}

fn head(name: &str) -> Head {
    Head::file(name, DATA.len() as u64)
}

pub(super) fn cases() -> Vec<Honest> {
    let mut cases = names();
    cases.extend(entries());
    cases.extend(streams());
    cases.extend(sizes());
    cases
}

fn names() -> Vec<Honest> {
    let long = format!("manifests/{}/{}.yaml", "d".repeat(200), "f".repeat(90));
    let kanji = "manifests/\u{6f22}\u{5b57}.yaml";
    let accent = "manifests/caf\u{e9}.yaml";
    let widest = format!("manifests/{}", "w".repeat(255));
    let deepest = format!("manifests{}", "/a".repeat(31));
    let mut longest = "manifests".to_owned();
    for _ in 0..4 {
        longest = format!("{longest}/{}", "l".repeat(200));
    }
    longest = format!("{longest}/{}", "r".repeat(1_023 - longest.len()));
    let at_the_limits = [&*widest, &*deepest, &*longest];
    let limits = at_the_limits.iter().fold(honest(), |g, name| {
        g.pax(b'x', &[("path", name)]).file(name, DATA)
    });
    vec![
        case(
            "a long name by PAX",
            &long,
            honest().pax(b'x', &[("path", &long)]).file(&long, DATA),
        ),
        case(
            "a long name of GNU's",
            &long,
            honest().gnu_name(&long).entry(head(&long).gnu(), DATA),
        ),
        Honest {
            name: "names in Unicode",
            layer: Layer::gzip(
                &honest()
                    .file(accent, DATA)
                    .pax(b'x', &[("path", kanji)])
                    .file("manifests/__.yaml", DATA)
                    .end(),
            ),
            tree: tree(&[(accent, DATA), (kanji, DATA)]),
        },
        case(
            "a name in two parts",
            "manifests/d/e/x.yaml",
            honest().entry(head("x.yaml").prefix("manifests/d/e"), DATA),
        ),
        Honest {
            name: "names as long, wide and deep as they may be",
            layer: Layer::gzip(&limits.end()),
            tree: tree(&at_the_limits.map(|name| (name, DATA))),
        },
        case(
            "names that begin with a dot and a slash",
            NAME,
            TarGen::new()
                .dir("./")
                .dir("./metadata/")
                .file("./metadata/annotations.yaml", annotations().as_bytes())
                .dir("./manifests/")
                .file("./manifests/first.yaml", FIRST)
                .file("./manifests/x.yaml", DATA),
        ),
    ]
}

fn entries() -> Vec<Honest> {
    let gnu =
        |name: &str, bytes: &[u8]| (Head::file(name, bytes.len() as u64).gnu(), bytes.to_vec());
    let all_gnu = [
        gnu("metadata/annotations.yaml", annotations().as_bytes()),
        gnu("manifests/first.yaml", FIRST),
        gnu(NAME, DATA),
    ];
    let all_gnu = all_gnu.iter().fold(TarGen::new(), |g, (head, bytes)| {
        g.entry(head.clone(), bytes)
    });
    let forged = "\u{1}".repeat(32);
    let mut time = [0; 12];
    time[0] = 0x80;
    time[11] = 1;
    vec![
        // A bundle is its files: directories without any are not made.
        case(
            "empty directories, and some after their files",
            NAME,
            honest()
                .file(NAME, DATA)
                .dir("manifests/")
                .dir("manifests/empty/")
                .dir("manifests/"),
        ),
        case(
            "a file that may be executed",
            NAME,
            honest().entry(head(NAME).mode(0o755), DATA),
        ),
        case(
            "modes, owners and times of all kinds",
            NAME,
            honest()
                .entry(Head::dir("manifests").mode(0o555), b"")
                .entry(
                    head(NAME)
                        .mode(0o6444)
                        .field(108, b"\x80\0\0\0\x3b\x9a\xca\0")
                        .field(136, &time)
                        .field(265, b"root")
                        .field(297, b"wheel"),
                    DATA,
                ),
        ),
        // The last is the attribute by which this tool knows its own files again. It is not taken from an archive.
        case(
            "times, owners and attributes by PAX",
            NAME,
            honest()
                .pax(
                    b'x',
                    &[
                        ("mtime", "1700000000.123456789"),
                        ("uname", "j\u{f6}rg"),
                        ("SCHILY.xattr.security.selinux", "a:b:c\0"),
                        ("SCHILY.xattr.user.manifest-bundle", &forged),
                    ],
                )
                .file(NAME, DATA),
        ),
        case(
            "the comment of git archive",
            NAME,
            TarGen::new()
                .pax(
                    b'g',
                    &[("comment", "0123456789abcdef0123456789abcdef01234567")],
                )
                .raw(&honest().file(NAME, DATA).open_end()),
        ),
        case("GNU's own headers", NAME, all_gnu),
    ]
}

fn streams() -> Vec<Honest> {
    let open = honest().file(NAME, DATA);
    let archive = open.clone().end();
    let padded = {
        let at = usize::try_from(open.at()).unwrap();
        open.zeros((10_240 - at) / 512).open_end()
    };
    let members = [
        &archive[..0],
        &archive[..700],
        &[],
        &archive[700..2_600],
        &archive[2_600..],
    ];
    let members: Vec<u8> = members.iter().flat_map(|part| gzip(part)).collect();
    let fields = {
        let whole = gzip(&archive);
        let mut header = vec![0x1f, 0x8b, 8, 0b1_1110, 0, 0, 0, 0, 0, 3];
        header.extend(b"\x04\0ex\0\0layer.tar\0no comment\0");
        let mut crc = Crc::new();
        crc.update(&header);
        header.extend(&crc.sum().to_le_bytes()[..2]);
        [&header[..], &whole[10..]].concat()
    };
    let plain = Layer::gzip(&archive);
    let stream = |name, blob| of(name, Layer::of(&archive, blob), NAME);
    vec![
        stream("one archive in several members", members),
        stream("a gzip header with all fields", fields),
        of("zeros up to 10 KiB", Layer::gzip(&padded), NAME),
        of(
            "zstd",
            Layer::of(&archive, zstd(&[0, 0x68], &archive)).typed(media_type::LAYER_ZSTD),
            NAME,
        ),
        of(
            "no compression",
            Layer::of(&archive, archive.clone()).typed(media_type::LAYER),
            NAME,
        ),
        of(
            "a layer of Docker's type",
            plain.typed(media_type::DOCKER_LAYER),
            NAME,
        ),
    ]
}

fn sizes() -> Vec<Honest> {
    let mut empty: BTreeMap<_, _> = tree(&[]);
    for n in (0..9_998).filter(|n| is_file(*n)) {
        empty.insert(entry(n), Vec::new());
    }
    let large_file = mebibyte().repeat(64);
    vec![
        Honest {
            name: "10,000 entries",
            layer: Layer::gzip(&many(9_998).end()),
            tree: empty,
        },
        Honest {
            name: "a file of 64 MiB",
            layer: large(&[64]),
            tree: tree(&[("manifests/large-0.yaml", &large_file)]),
        },
    ]
}
