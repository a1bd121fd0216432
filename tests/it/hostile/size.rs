//! Too many entries, too large a file, too much together, too much from too little.

use flate2::Compression;

use super::doors::{Layer, gzip};
use super::gzip::member;
use super::{AT, Case, LIMIT, here, honest, named};
use crate::support::targen::{Head, TarGen};

const MIB: u64 = 1 << 20;

/// Honest entries and so many more. Few of them are files: each costs a millisecond on disk, once for every door.
pub(super) fn many(entries: usize) -> TarGen {
    (0..entries).fold(honest(), |g, n| {
        if is_file(n) {
            g.file(&entry(n), b"")
        } else {
            g.dir(&entry(n))
        }
    })
}

pub(super) fn is_file(n: usize) -> bool {
    n.is_multiple_of(20)
}

pub(super) fn entry(n: usize) -> String {
    format!("manifests/e{n:05}")
}

/// The MiB of which large files are made. It packs to a hundredth: less than what is called a bomb.
pub(super) fn mebibyte() -> Vec<u8> {
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(|| {
        // Xorshift: the same on every machine.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()
    });
    let mut bytes: Vec<u8> = noise.take(2_560).flatten().collect();
    bytes.resize(1 << 20, b'#');
    bytes
}

/// A layer of files of so many MiB each, made without ever having one in memory.
pub(super) fn large(sizes: &[u64]) -> Layer {
    let mib = member(&mebibyte(), Compression::best());
    let mut blob = gzip(&honest().open_end());
    for (n, size) in sizes.iter().enumerate() {
        let name = format!("manifests/large-{n}.yaml");
        blob.extend(gzip(&Head::file(&name, size * MIB).block()));
        blob.extend(mib.repeat(usize::try_from(*size).unwrap()));
    }
    blob.extend(gzip(&[0; 1024]));
    Layer {
        diff_id: None,
        ..Layer::of(b"", blob)
    }
}

pub(super) fn cases() -> Vec<Case> {
    // Two entries are there before.
    let last = 9_998;
    let too_many = format!(
        "{}: limit `entries` = 10000, got at least 10001",
        named(&entry(last), AT + 512 * last as u64)
    );
    let most = Layer::gzip(&many(last).end());
    // Two million: what comes after the first ones is never read.
    let chunk = (0..10_000).fold(TarGen::new(), |g, _| g.file("manifests/more.yaml", b""));
    let chunk = member(&chunk.open_end(), Compression::best());
    let mut blob = gzip(&many(last + 100).open_end());
    blob.extend(chunk.repeat(199));
    blob.extend(gzip(&[0; 1024]));
    let millions = Layer {
        diff_id: None,
        ..Layer::of(b"", blob)
    };
    let zeros = |files: usize| {
        let archive = (0..files).fold(honest(), |g, n| {
            g.file(&format!("manifests/zeros-{n:02}.yaml"), &vec![0; 1 << 20])
        });
        let archive = archive.end();
        Layer::of(&archive, member(&archive, Compression::best()))
    };
    vec![
        Case::layer("A29/1", LIMIT, &*too_many, millions, most.clone()),
        Case::layer(
            "A29/2",
            LIMIT,
            &*too_many,
            Layer::gzip(&many(last + 1).end()),
            most,
        ),
        Case::layer(
            "size/1",
            LIMIT,
            format!(
                "{}: limit `file` = 67108864, got at least 68157440",
                here("manifests/large-0.yaml")
            ),
            large(&[65]),
            large(&[64]),
        ),
        // The binary reads 448 MiB of it before it has seen too much; in this process the ceiling is lower.
        Case {
            unpacked: Some(16 * MIB),
            ..Case::layer(
                "size/2",
                LIMIT,
                "entry `manifests/large-",
                large(&[64, 64, 64, 64, 64, 64, 64, 64, 1]),
                large(&[15]),
            )
        }
        .and("limit `unpacked` = "),
        Case::layer(
            "size/3",
            LIMIT,
            "entry `manifests/zeros-",
            zeros(20),
            zeros(7),
        )
        .and("limit `ratio` = 200, got at least "),
    ]
}
