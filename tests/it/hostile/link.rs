//! Links, what is written through them, and what archives could make of this tool's own files.

use std::fs;
use std::os::unix::fs::symlink;

use super::{CONFLICT, Case, DATA, NO_BUNDLE, OUTSIDE, UNSAFE, here, honest};
use crate::hostile::doors::Layer;
use crate::support::targen::{Head, TarGen};

const SYMBOLIC: u8 = b'2';
const HARD: u8 = b'1';

/// What is put behind the honest entries, piece by piece.
#[derive(Clone, Copy)]
enum Piece<'a> {
    Link(u8, &'a str, &'a str),
    File(&'a str),
    Directory(&'a str, u32),
}

fn put(archive: TarGen, pieces: &[Piece<'_>], links: bool) -> TarGen {
    pieces.iter().fold(archive, |g, piece| match *piece {
        Piece::Link(flag, name, target) if links => {
            g.entry(Head::file(name, 0).flag(flag).link(target), b"")
        }
        Piece::Link(..) => g,
        Piece::File(name) => g.file(name, DATA),
        Piece::Directory(name, mode) => g.entry(Head::dir(name).mode(mode), b""),
    })
}

/// A case whose control has everything but the links. The first piece is the link that is refused.
fn case(id: &str, pieces: &[Piece<'_>]) -> Case {
    let Some(Piece::Link(flag, name, _)) = pieces.first() else {
        panic!("{id} does not begin with a link");
    };
    let kind = if *flag == HARD {
        "a hard link"
    } else {
        "a symbolic link"
    };
    Case::entries(
        id,
        UNSAFE,
        format!("{} is {kind}", here(name)),
        |g| put(g, pieces, true),
        |g| put(g, pieces, false),
    )
}

pub(super) fn cases() -> Vec<Case> {
    use Piece::{Directory, File, Link};
    let outside = OUTSIDE;
    let soft = |name, target| Link(SYMBOLIC, name, target);
    let hard = |name, target| Link(HARD, name, target);
    let mut cases = vec![
        case(
            "A3/1",
            &[soft("manifests/d", outside), File("manifests/d/x.yaml")],
        ),
        case(
            "A3/2",
            &[soft("manifests/d", "../.."), File("manifests/d/evil.yaml")],
        ),
        case(
            "A3/3",
            &[
                soft("manifests/l.yaml", "../../victim.secret"),
                File("manifests/l.yaml"),
            ],
        ),
        // It stays inside and nothing is written through it.
        case("A3/4", &[soft("manifests/l.yaml", "first.yaml")]),
        case(
            "A4/1",
            &[
                soft("manifests/foo", "../../../victim-dir"),
                Directory("manifests/foo/", 0o777),
            ],
        ),
        case(
            "A4/2",
            &[
                soft("manifests/foo", "../../elsewhere"),
                Directory("manifests/foo", 0o700),
            ],
        ),
        case(
            "A5/1",
            &[
                soft("manifests/a", "."),
                soft("manifests/a/b", ".."),
                File("manifests/a/b/evil.yaml"),
            ],
        ),
        case(
            "A5/2",
            &[
                soft("manifests/x", "y"),
                soft("manifests/y", "../../evil.yaml"),
                File("manifests/x"),
            ],
        ),
        case(
            "A5/3",
            &[
                soft("manifests/a", "b"),
                soft("manifests/b", "a"),
                File("manifests/a"),
            ],
        ),
        // In the working directory of whoever unpacks.
        case("A6/1", &[hard("manifests/x.yaml", "secret.txt")]),
        case(
            "A6/2",
            &[
                hard("manifests/x.yaml", "../victim.secret"),
                File("manifests/x.yaml"),
            ],
        ),
        case("A7/1", &[hard("manifests/x.yaml", "manifests/x.yaml")]),
        case("A7/2", &[hard("manifests/x.yaml", "manifests/last.yaml")]),
        case("A7/3", &[hard("manifests/x.yaml", "manifests/first.yaml")]),
        case("A7/4", &[hard("manifests/x.yaml", "/etc/hostname")]),
    ];
    cases.extend(said_otherwise());
    cases.extend(own_files());
    cases.extend(seeded());
    cases
}

/// Links whose targets stand before them, and one that has a content.
fn said_otherwise() -> Vec<Case> {
    let plain = |g: TarGen| g.file("manifests/l.yaml", DATA);
    let soft = Head::file("manifests/l.yaml", 0).flag(SYMBOLIC);
    let target = b"../../victim.secret\0";
    let long = Head::file("././@LongLink", target.len() as u64)
        .flag(b'K')
        .gnu();
    let inner = Head::file("inner.yaml", 0).block();
    let hard = Head::file("manifests/x.yaml", 512)
        .flag(HARD)
        .link("manifests/first.yaml");
    vec![
        Case::entries(
            "A5/4",
            UNSAFE,
            format!("{} is the long target of a link", here("././@LongLink")),
            |g| g.entry(long.clone(), target).entry(soft.clone(), b""),
            plain,
        ),
        Case::entries(
            "A5/5",
            UNSAFE,
            format!("{} has the PAX record `linkpath`", here("PaxHeader")),
            |g| {
                g.pax(b'x', &[("linkpath", "../../victim.secret")])
                    .entry(soft.clone(), b"")
            },
            plain,
        ),
        Case::entries(
            "A7/5",
            UNSAFE,
            format!("{} is a hard link", here("manifests/x.yaml")),
            |g| g.entry(hard.clone(), &inner),
            |g| g.entry(hard.clone().flag(b'0').field(157, &[0; 100]), &inner),
        ),
    ]
}

/// This tool's marks are attributes of files and its staging directory stands beside the destination, so nothing in an
/// archive can be one of them. What is in the root of a bundle and is neither of its directories makes it no bundle:
/// 11 and not 8, and the message names the path in the tree, which has no byte any more.
fn own_files() -> Vec<Case> {
    let plain = |g: TarGen| g.file("manifests/x.yaml", DATA);
    let beside = "../.out.bundle-00000000/made/x.yaml";
    let inside = ".out.bundle-00000000/made";
    let ignore = ".sourceignore/x.yaml";
    vec![
        Case::entries(
            "A20/1",
            UNSAFE,
            here(beside),
            |g| g.file(beside, DATA),
            plain,
        ),
        Case::entries(
            "A20/2",
            NO_BUNDLE,
            format!("`{inside}` is neither in"),
            |g| g.file(inside, DATA),
            plain,
        )
        .in_layers_only(),
        Case::entries(
            "A20/3",
            NO_BUNDLE,
            format!("`{ignore}` is neither in"),
            |g| g.file(ignore, DATA),
            plain,
        )
        .in_layers_only(),
    ]
}

/// A destination that was prepared, for a bundle that is right.
fn seeded() -> Vec<Case> {
    let layer = Layer::gzip(&honest().file("manifests/x.yaml", DATA).end());
    let case = |id: &str, seed: fn(&crate::support::Sandbox)| Case {
        seed: Some(seed),
        ..Case::layer(id, CONFLICT, "out` ", layer.clone(), layer.clone())
    };
    vec![
        case("A23/1", |sandbox| {
            fs::create_dir_all(sandbox.path("out/manifests")).unwrap();
            symlink("../../victim.secret", sandbox.path("out/manifests/x.yaml")).unwrap();
        }),
        case("A23/2", |sandbox| {
            fs::create_dir(sandbox.path("out")).unwrap();
            symlink("../elsewhere", sandbox.path("out/manifests")).unwrap();
        }),
        case("A23/3", |sandbox| {
            symlink("elsewhere", sandbox.path("out")).unwrap();
        }),
    ]
}
