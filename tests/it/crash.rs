//! What is left when a run is killed, or when the system fails, at any system call that changes a file (P6).
//!
//! `strace` counts these calls in a run on one thread (`BUNDLE_TEST_THREADS=1`), then kills later runs before each of them or
//! lets one of them fail. After each: the destination is the old or the new one, and the next run succeeds, gives the
//! reference and takes away what was left. A test tries some points of each operation, by a seed that it prints and that
//! `BUNDLE_TEST_SEED` sets; all of them:
//!
//! ```text
//! BUNDLE_TEST_FULL=1 cargo test --test it crash
//! ```

mod disk;
mod many;
mod scene;
mod threads;
mod trace;

use std::collections::BTreeSet;

use scene::{Kind, Scene};
use trace::{Point, points, points_with_lines};

/// What is made to fail: what a full disk, a broken one, rights, too many open files and a signal say.
const ERRORS: [&str; 5] = ["ENOSPC", "EIO", "EACCES", "EMFILE", "EINTR"];

/// How many points of an operation are tried, unless all are.
const SAMPLE: usize = 6;

fn full() -> bool {
    std::env::var_os("BUNDLE_TEST_FULL").is_some()
}

fn seed() -> u64 {
    let given = std::env::var("BUNDLE_TEST_SEED").ok();
    given.map_or_else(
        || u64::from(std::process::id()),
        |text| text.parse().expect("BUNDLE_TEST_SEED is a number"),
    )
}

/// Takes some of all, others for every seed.
fn sample<T>(all: Vec<T>, seed: u64) -> Vec<T> {
    if full() || all.len() <= SAMPLE {
        return all;
    }
    let step = all.len().div_ceil(SAMPLE);
    let first = usize::try_from(seed % step as u64).unwrap();
    all.into_iter().skip(first).step_by(step).collect()
}

/// Kills an operation at its points.
fn killed(scene: &Scene) {
    let seed = seed();
    let points = points(&scene.trace()).collect::<Vec<_>>();
    let points: Vec<Point> = points.into_iter().filter(|p| p.changes).collect();
    let all = points.len();
    let chosen = sample(points, seed);
    let (tried, mut missed) = (chosen.len(), 0);
    for point in chosen {
        scene.reset();
        let what = format!("{} killed at {point} (seed {seed})", scene.name);
        let ran = scene.disturbed(&format!("{}:signal=KILL:when={}", point.call, point.nth));
        if ran.signal().is_none() {
            missed += 1;
            continue;
        }
        let state = scene.state(&what);
        scene.run_again(state, &what);
    }
    assert!(
        missed * 10 <= tried,
        "{}: {missed} of {tried} not reached",
        scene.name
    );
    eprintln!(
        "{}: killed at {tried} of {all} calls, seed {seed}",
        scene.name
    );
}

/// Reads from the calls of an operation that nothing is put in its place before its bytes are on disk, and that the place
/// itself is on disk in the end: a power cut finds the old or the new one too.
fn settled(scene: &Scene) {
    let trace = scene.trace();
    let (mut unwritten, mut unsettled, mut placed) = (BTreeSet::new(), None, 0);
    for (point, line) in points_with_lines(&trace) {
        match &*point.call {
            "syncfs" => {
                unwritten.clear();
                unsettled = None;
            }
            "fsync" | "fdatasync" => {
                unwritten.remove(file(line));
                unsettled = None;
            }
            "rename" | "renameat" | "renameat2" | "link" | "linkat" => {
                let what = format!("{}: {line}\nis not on disk:", scene.name);
                assert_eq!(unwritten, BTreeSet::new(), "{what}");
                unsettled = Some(line);
                placed += 1;
            }
            "openat" | "write" | "pwrite64" | "ftruncate" | "fsetxattr" if point.changes => {
                unwritten.insert(file(line));
            }
            _ => {}
        }
    }
    assert!(
        placed > 0,
        "{}: nothing took its place\n{trace}",
        scene.name
    );
    assert_eq!(unsettled, None, "{}: may be lost", scene.name);
}

/// Returns the file that a call is about: what it opens, or the first that it names.
fn file(line: &str) -> &str {
    let from = if line.contains("openat(") {
        line.rsplit_once(" = ").unwrap().1
    } else {
        line
    };
    from.split_once('<').unwrap().1.split_once('>').unwrap().0
}

/// Lets the calls of an operation fail.
fn failed(scene: &Scene) {
    let seed = seed();
    let points: Vec<Point> = points(&scene.trace()).collect();
    let cases: Vec<(Point, &str)> = points
        .iter()
        .flat_map(|point| ERRORS.map(|error| (point.clone(), error)))
        .collect();
    let all = cases.len();
    let chosen = sample(cases, seed.wrapping_mul(7));
    let (tried, mut missed) = (chosen.len(), 0);
    for (point, error) in chosen {
        scene.reset();
        let what = format!("{}: {error} of {point} (seed {seed})", scene.name);
        let ran = scene.disturbed(&format!("{}:error={error}:when={}", point.call, point.nth));
        if !scene.was_injected() {
            missed += 1;
            continue;
        }
        let state = scene.state(&what);
        match ran.code() {
            0 => {
                let may = error == "EINTR" || point.may_fail(scene);
                assert!(may, "{what}: was not noticed{ran}");
                assert!(state.is(true), "{what}: not written{ran}");
            }
            12 => {
                assert!(error != "EINTR", "{what}: must be tried again{ran}");
                // A layout is asked, once it is written, whether the tag is there.
                let confirms = scene.kind == Kind::Layout && point.reads();
                assert!(state.is(false) || confirms, "{what}: written{ran}");
            }
            // What cannot be read may be somebody's own, and is kept.
            13 if point.reads() => assert!(state.is(false), "{what}: written{ran}"),
            _ => panic!("{what}: neither 0 nor 12{ran}"),
        }
        assert!(
            state.left == 0 || point.removes(),
            "{what}: left something{ran}"
        );
        scene.run_again(state, &what);
    }
    assert!(
        missed * 10 <= tried,
        "{}: {missed} of {tried} not reached",
        scene.name
    );
    eprintln!("{}: {tried} of {all} failures, seed {seed}", scene.name);
}

macro_rules! operations {
    ($($name:ident: $scene:expr;)*) => {$(
        mod $name {
            #[test]
            fn killed_at_any_call_leaves_the_old_or_the_new() {
                super::killed(&$scene);
            }

            #[test]
            fn nothing_takes_its_place_before_it_is_on_disk() {
                super::settled(&$scene);
            }

            #[test]
            fn a_call_that_fails_leaves_the_old() {
                super::failed(&$scene);
            }
        }
    )*};
}

operations! {
    pack: super::Scene::pack(false);
    pack_force: super::Scene::pack(true);
    unpack: super::Scene::unpack(false);
    unpack_force: super::Scene::unpack(true);
    pull: super::Scene::pull(false);
    pull_force: super::Scene::pull(true);
    layout_new: super::Scene::layout(false);
    layout_more: super::Scene::layout(true);
    login: super::Scene::login();
}
