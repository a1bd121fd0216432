//! 208 archives that mean harm, each a valid bundle but for its one fault, through every door; and 20 odd but honest ones.
//!
//! A *door* is a way on which an image comes in from outside:
//!
//! | door | as a command | by which way the bytes come |
//! |---|---|---|
//! | registry | `pull HOST/REPOSITORY:TAG` | the network, into the spool |
//! | file | `unpack FILE.tar` | slices of an archive that somebody carried here |
//! | layout | `unpack oci:DIR:NAME` | files of a directory |
//! | stream | `unpack -` | a pipe, into the spool and then as an archive |
//!
//! `oci-archive:FILE` and `FILE` are one function, so the archive comes as a file and as a stream.
//! The file door is the binary itself, in a sandbox with 512 MiB of address space and ten seconds of processor time,
//! which are twice what the worst may take, since tests run a build that is not optimised. The
//! other three call what the commands call, in this process, because 832 starts of a binary are slow; for the first
//! archive of each group the binary opens all four.
//!
//! Where the fault is one of an archive and not of a layer, it is also put into the archive around the image, which goes
//! through the same reader: for those the reader has five ways in.
//!
//! Every case is asked: is the same bundle without the fault accepted; is the exit code exact; does the message say which
//! entry at which byte; is nothing written, changed or left anywhere.

mod collision;
mod doors;
mod frame;
mod gzip;
mod honest;
mod kind;
mod link;
mod path;
mod pax;
mod size;
mod sparse;
mod white;

use std::fmt::Write as _;

use crate::support::targen::TarGen;
use crate::support::{Sandbox, failure};

use doors::{Doors, Layer};

/// Exit codes that these tests speak of.
const DAMAGED: u8 = 7;
const UNSAFE: u8 = 8;
const LIMIT: u8 = 9;
const NO_BUNDLE: u8 = 11;
const CONFLICT: u8 = 13;

/// Where an absolute path of a hostile archive leads. Nothing may ever be there.
const OUTSIDE: &str = "/var/tmp/bundle-hostile";

/// Where the first entry behind the honest ones begins.
const AT: u64 = 2048;

const FIRST: &[u8] = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\n";
const LAST: &[u8] = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: last\n";
const DATA: &[u8] = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";

/// What the bundles say of themselves.
const METADATA: [(&str, &str); 5] = [
    ("k8s.io.bundle.manifests.v1", "manifests/"),
    ("k8s.io.bundle.mediatype.v1", "manifests"),
    ("k8s.io.bundle.metadata.v1", "metadata/"),
    ("k8s.io.bundle.package.v1", "demo"),
    ("k8s.io.bundle.version.v1", "1.0.0"),
];

fn annotations() -> String {
    METADATA
        .iter()
        .fold("annotations:\n".to_owned(), |mut text, (key, value)| {
            writeln!(text, "  {key}: \"{value}\"").unwrap();
            text
        })
}

/// What makes an archive a bundle; the fault comes behind it, at [`AT`].
fn honest() -> TarGen {
    TarGen::new()
        .file("metadata/annotations.yaml", annotations().as_bytes())
        .file("manifests/first.yaml", FIRST)
}

/// One archive with one fault.
struct Case {
    /// The row of the catalogue of threats, and a number.
    id: String,
    layer: Layer,
    /// The same without the fault.
    control: Layer,
    exit: u8,
    /// What the message must have in it: the entry as it is shown, and where it is.
    says: Vec<String>,
    /// What is done to the destination before; without it the same layer is accepted.
    seed: Option<fn(&Sandbox)>,
    /// The archive around an image, with the same fault in it and without.
    around: Option<(Vec<u8>, Vec<u8>)>,
    /// Ceilings that are lower than usual in this process, so that a large archive need not be read to its end four times.
    unpacked: Option<u64>,
}

impl Case {
    /// A case whose fault is in entries behind the honest ones; an honest one follows them.
    fn entries(
        id: impl Into<String>,
        exit: u8,
        says: impl Into<String>,
        bad: impl Fn(TarGen) -> TarGen,
        good: impl Fn(TarGen) -> TarGen,
    ) -> Self {
        let end = |archive: TarGen| archive.file("manifests/last.yaml", LAST).end();
        Self::archive(id, exit, says, |g| end(bad(g)), |g| end(good(g)))
    }

    /// A case whose fault is somewhere in an archive that begins with honest entries.
    fn archive(
        id: impl Into<String>,
        exit: u8,
        says: impl Into<String>,
        bad: impl Fn(TarGen) -> Vec<u8>,
        good: impl Fn(TarGen) -> Vec<u8>,
    ) -> Self {
        let layout = || doors::layout_archive(&Layer::gzip(&honest().end()));
        Self {
            around: Some((bad(layout()), good(layout()))),
            ..Self::layer(
                id,
                exit,
                says,
                Layer::gzip(&bad(honest())),
                Layer::gzip(&good(honest())),
            )
        }
    }

    /// A case of two layers.
    fn layer(
        id: impl Into<String>,
        exit: u8,
        says: impl Into<String>,
        layer: Layer,
        control: Layer,
    ) -> Self {
        Self {
            id: id.into(),
            layer,
            control,
            exit,
            says: vec![says.into()],
            seed: None,
            around: None,
            unpacked: None,
        }
    }

    /// Says more of the message.
    fn and(mut self, words: impl Into<String>) -> Self {
        self.says.push(words.into());
        self
    }

    /// Leaves the archive around the image out: there the fault is none, or another one.
    fn in_layers_only(mut self) -> Self {
        self.around = None;
        self
    }
}

/// How a message names an entry; `name` as it is shown.
fn named(name: &str, at: u64) -> String {
    format!("entry `{name}` at byte {at}")
}

/// How a message names what begins behind the honest entries.
fn here(name: &str) -> String {
    named(name, AT)
}

/// A group of the plan: its name, its cases, and whether each is measured for its memory.
type Group = (&'static str, fn() -> Vec<Case>, bool);

/// The groups with the numbers of the plan, 208 together.
const GROUPS: [(Group, usize); 10] = [
    (("path", path::cases, false), 54),
    (("link", link::cases, false), 24),
    (("kind", kind::cases, false), 28),
    (("pax", pax::cases, false), 22),
    (("sparse", sparse::cases, true), 6),
    (("frame", frame::cases, false), 33),
    (("collision", collision::cases, false), 8),
    (("white", white::cases, false), 6),
    (("gzip", gzip::cases, true), 22),
    (("size", size::cases, true), 5),
];

#[test]
fn the_plan_is_kept() {
    let numbers = GROUPS.map(|(_, number)| number);
    assert_eq!(numbers, [54, 24, 28, 22, 6, 33, 8, 6, 22, 5]);
    assert_eq!(numbers.iter().sum::<usize>(), 208);
}

/// Runs a group through all doors.
#[track_caller]
fn refused(group: &str) {
    let ((_, cases, measured), number) = GROUPS
        .iter()
        .find(|((name, ..), _)| *name == group)
        .unwrap();
    let cases = cases();
    let mut ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), cases.len()), (*number, *number), "{ids:?}");
    let mut doors = Doors::new();
    for case in &cases {
        doors.refuse(case, *measured);
    }
    doors.refuse_by_binary(&cases[0]);
}

#[test]
fn paths_are_refused() {
    refused("path");
}

#[test]
fn links_are_refused() {
    refused("link");
}

#[test]
fn other_kinds_are_refused() {
    refused("kind");
}

#[test]
fn records_that_disagree_are_refused() {
    refused("pax");
}

#[test]
fn sparse_files_are_refused() {
    refused("sparse");
}

#[test]
fn broken_frames_are_refused() {
    refused("frame");
}

#[test]
fn colliding_names_are_refused() {
    refused("collision");
}

#[test]
fn whiteouts_of_nothing_are_refused() {
    refused("white");
}

#[test]
fn other_compression_is_refused() {
    refused("gzip");
}

#[test]
fn what_is_too_large_is_refused() {
    refused("size");
}

#[test]
fn a_door_that_lets_harm_through_is_noticed() {
    let good = || Layer::gzip(&honest().end());
    let bad = || Layer::gzip(&honest().file("../up.yaml", DATA).end());
    let case = |layer, control, exit, says: &str| Case::layer("A0", exit, says, layer, control);
    for (case, words) in [
        (case(good(), good(), UNSAFE, ""), "A0 Registry: "),
        (case(bad(), good(), LIMIT, ""), "A0 Registry: "),
        (
            case(bad(), good(), UNSAFE, "elsewhere"),
            "no \"elsewhere\" in",
        ),
        (case(bad(), bad(), UNSAFE, ""), "the control is refused"),
    ] {
        let noticed = failure(|| Doors::new().refuse(&case, false));
        assert!(noticed.contains(words), "{noticed}");
    }
    let noticed = failure(|| Doors::new().write_beside(&case(bad(), good(), UNSAFE, "")));
    assert!(noticed.contains("A0 wrote:\n+ work/evil.yaml"), "{noticed}");
}

#[test]
fn odd_but_honest_archives_pass() {
    let cases = honest::cases();
    assert_eq!(cases.len(), 20);
    let mut doors = Doors::new();
    for case in &cases {
        doors.accept(case);
    }
}
