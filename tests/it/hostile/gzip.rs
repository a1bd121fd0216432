//! Streams that grow without end, go on after their end, are damaged, or are something else.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use manifest_bundle::oci::media_type;

use super::doors::{Layer, gzip};
use super::{AT, Case, DAMAGED, DATA, LIMIT, UNSAFE, here, honest};
use crate::support::targen::Head;

const MIB: usize = 1 << 20;

/// A member as small as it gets, or none smaller than its content.
pub(super) fn member(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An archive in a zstd frame that begins with this descriptor and window, or content size.
pub(super) fn zstd(header: &[u8], archive: &[u8]) -> Vec<u8> {
    let mut frame = [&[0x28, 0xb5, 0x2f, 0xfd], header].concat();
    let mut blocks = archive.chunks(64 * 1024).peekable();
    while let Some(block) = blocks.next() {
        let size = u32::try_from(block.len()).unwrap();
        let raw = size << 3 | u32::from(blocks.peek().is_none());
        frame.extend_from_slice(&raw.to_le_bytes()[..3]);
        frame.extend_from_slice(block);
    }
    frame
}

fn archive() -> Vec<u8> {
    honest().file("manifests/x.yaml", DATA).end()
}

/// A case of a stream over the same archive, which is right.
fn case(id: &str, exit: u8, says: impl Into<String>, blob: Vec<u8>) -> Case {
    let archive = archive();
    let layer = Layer::of(&archive, blob);
    Case::layer(id, exit, says, layer, Layer::gzip(&archive))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = bombs();
    cases.extend(windows());
    cases.extend(members());
    cases.extend(damaged());
    cases.extend(headers());
    cases.extend(others());
    cases
}

fn bombs() -> Vec<Case> {
    let zeros = |mib: usize| {
        let archive = honest()
            .file("manifests/zeros.yaml", &vec![0; mib * MIB])
            .end();
        Layer::of(&archive, member(&archive, Compression::best()))
    };
    // 10 MiB that become 10 GiB: 160 files of 64 MiB, each MiB in a member of its own.
    let mib = member(&vec![0; MIB], Compression::best());
    let mut blob = gzip(&honest().open_end());
    for n in 0..160 {
        let head = Head::file(&format!("manifests/zeros-{n:03}.yaml"), 64 * MIB as u64);
        blob.extend(gzip(&head.block()));
        blob.extend(mib.repeat(64));
    }
    blob.extend(gzip(&[0; 1024]));
    let endless = Layer {
        diff_id: None,
        ..Layer::of(b"", blob)
    };
    // What is in the stream is a stream: only one is ever opened, so the inner ones are no archive.
    let inner = member(&archive(), Compression::none());
    let nested = member(&inner, Compression::none());
    let nested = Layer::of(&nested, gzip(&nested));
    vec![
        Case::layer(
            "B1/1",
            LIMIT,
            format!("{}: limit `ratio` = 200", here("manifests/zeros.yaml")),
            zeros(60),
            zeros(4),
        ),
        Case::layer(
            "B1/2",
            LIMIT,
            format!("{}: limit `ratio` = 200", here("manifests/zeros-000.yaml")),
            endless,
            zeros(4),
        ),
        Case::layer("B1/3", UNSAFE, "at byte 0 has a", nested, zeros(4)),
    ]
}

fn windows() -> Vec<Case> {
    let archive = archive();
    let layer =
        |header: &[u8]| Layer::of(&archive, zstd(header, &archive)).typed(media_type::LAYER_ZSTD);
    let one_segment = [&[0xe0][..], &(1_u64 << 30).to_le_bytes()].concat();
    let case = |id: &str, window: u64, header: &[u8]| {
        let says =
            format!("the archive at byte 0: the zstd frame needs a window of {window} bytes");
        Case::layer(id, LIMIT, says, layer(header), layer(&[0, 0x68]))
    };
    vec![
        case("B2/1", 1 << 30, &one_segment),
        case("B2/2", 1 << 31, &[0, 0xa8]),
    ]
}

fn members() -> Vec<Case> {
    let archive = archive();
    let whole = gzip(&archive);
    let empty = gzip(b"").repeat(1_000_000);
    let more = honest().file("manifests/y.yaml", DATA).end();
    let both = [&archive[..], &more].concat();
    let end = archive.len();
    let after = format!(
        "something that is not gzip follows the gzip content at byte {}",
        whole.len()
    );
    vec![
        case(
            "B3",
            LIMIT,
            "the archive at byte 0: limit `gzip-header` = 65536",
            [&empty[..], &whole].concat(),
        ),
        // One digest, and to readers that stop at the first member another tree.
        Case::layer(
            "B4",
            UNSAFE,
            format!("the archive ended at byte {end}, and more than zeros"),
            Layer::of(&both, [&whole[..], &gzip(&more)].concat()),
            Layer::of(
                &archive,
                [gzip(&archive[..700]), gzip(&archive[700..])].concat(),
            ),
        ),
        case("B5/1", UNSAFE, &*after, [&whole[..], b"GARBAGE"].concat()),
        case("B5/2", UNSAFE, &*after, [&whole[..], &[0; 512]].concat()),
    ]
}

fn damaged() -> Vec<Case> {
    let whole = gzip(&archive());
    let length = whole.len();
    let changed = |at: usize| {
        let mut blob = whole.clone();
        blob[at] ^= 1;
        blob
    };
    let cut = "the gzip content is cut off";
    vec![
        case("B6/1", DAMAGED, cut, whole[..length / 2].to_vec()).and("at byte "),
        case("B6/2", DAMAGED, cut, whole[..length - 3].to_vec()).and("at byte "),
        case(
            "B6/3",
            DAMAGED,
            "checksum of the gzip content",
            changed(length - 8),
        )
        .and("at byte "),
        case(
            "B6/4",
            DAMAGED,
            "size of the gzip content",
            changed(length - 4),
        )
        .and("at byte "),
    ]
}

fn headers() -> Vec<Case> {
    let whole = gzip(&archive());
    let with = |method: u8, flags: u8, fields: &[u8]| {
        let start = [0x1f, 0x8b, method, flags, 0, 0, 0, 0, 0, 255];
        [&start[..], fields, &whole[10..]].concat()
    };
    let name = [&vec![b'n'; MIB][..], b"\0"].concat();
    let extra = [&[0xff, 0xff][..], &vec![b'e'; 65_535]].concat();
    let at = "the archive at byte 0: ";
    vec![
        // The plan says 8; it is the ceiling of these fields that they exceed.
        case(
            "B7/1",
            LIMIT,
            format!("{at}limit `gzip-header`"),
            with(8, 0b1000, &name),
        ),
        case(
            "B7/2",
            LIMIT,
            format!("{at}limit `gzip-header`"),
            with(8, 0b100, &extra),
        ),
        // Once a sign that the content is encrypted.
        case(
            "B7/3",
            UNSAFE,
            format!("{at}the gzip header has reserved flags: 0x20"),
            with(8, 0x20, b""),
        ),
        case(
            "B7/4",
            UNSAFE,
            format!("{at}the gzip content uses the unknown method 7"),
            with(7, 0, b""),
        ),
    ]
}

/// What the layer's type does not say is not tried. The fault is in no entry: the message has the type and what it looks like.
fn others() -> Vec<Case> {
    let starts: [(&[u8], &str); 5] = [
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"PK\x03\x04", "zip"),
        (b"", "an uncompressed tar archive"),
        (b"<!DOCTYPE html>", "HTML or XML"),
    ];
    let archive = archive();
    let cases = starts.iter().enumerate().map(|(n, (start, name))| {
        // Some of the archive behind it, but without its mark where that would stand.
        let rest = if start.is_empty() {
            &archive[..]
        } else {
            &archive[usize::try_from(AT).unwrap()..]
        };
        let says = format!(
            "the layer is not gzip, as its type `{}` says",
            media_type::LAYER_GZIP
        );
        case(
            &format!("B8/{}", n + 1),
            UNSAFE,
            says,
            [start, rest].concat(),
        )
        .and(format!("it looks like {name}"))
    });
    cases.collect()
}
