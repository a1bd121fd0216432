//! A directory with so many files that threads name them, fill them and put them on disk; `strace` counts the calls of each thread.

use super::scene::Scene;

#[test]
fn killed_at_any_call_leaves_the_old_or_the_new() {
    for force in [false, true] {
        let scene = Scene::unpack_many(force);
        for (call, nth) in [
            ("mkdirat", 2),
            ("openat", 40),
            ("write", 9),
            ("fsetxattr", 1),
            ("fsetxattr", 15),
            ("syncfs", 1),
            ("unlinkat", 1),
        ] {
            scene.reset();
            let what = format!("{} killed at {call} {nth}, force {force}", scene.name);
            let ran = scene.disturbed(&format!("{call}:signal=KILL:when={nth}"));
            assert!(ran.signal().is_some(), "{what}: not reached{ran}");
            let state = scene.state(&what);
            scene.run_again(state, &what);
        }
    }
}

#[test]
fn a_call_that_fails_leaves_the_old() {
    for force in [false, true] {
        let scene = Scene::unpack_many(force);
        for (call, error, nth) in [
            ("mkdirat", "ENOSPC", "2"),
            ("openat", "EMFILE", "60"),
            // The first hundred of the thread beside the main one mean nothing, and the main one has no so many.
            ("write", "ENOSPC", "9..20"),
            ("write", "EIO", "12..25"),
            ("syncfs", "EIO", "1"),
        ] {
            scene.reset();
            let what = format!("{}: {error} of {call} {nth}, force {force}", scene.name);
            let ran = scene.disturbed(&format!("{call}:error={error}:when={nth}"));
            assert!(scene.was_injected(), "{what}: not reached{ran}");
            assert_eq!(ran.code(), 12, "{what}{ran}");
            let state = scene.state(&what);
            assert!(state.is(false) && state.left == 0, "{what}: written{ran}");
            scene.run_again(state, &what);
        }
    }
}

#[test]
fn an_interrupted_call_is_tried_again() {
    let scene = Scene::unpack_many(false);
    for (call, nth) in [
        ("openat", "50"),
        ("write", "9"),
        ("fsetxattr", "9"),
        ("syncfs", "1"),
    ] {
        scene.reset();
        let what = format!("{}: EINTR of {call} {nth}", scene.name);
        let ran = scene.disturbed(&format!("{call}:error=EINTR:when={nth}"));
        assert!(scene.was_injected(), "{what}: not reached{ran}");
        assert_eq!(ran.code(), 0, "{what}{ran}");
        assert!(scene.state(&what).is(true), "{what}{ran}");
    }
}

#[test]
fn nothing_takes_its_place_before_it_is_on_disk() {
    for force in [false, true] {
        let scene = Scene::unpack_many(force);
        let trace = scene.trace();
        let place = |name: &str| {
            let found = trace.lines().position(|line| line.contains(name));
            found.unwrap_or_else(|| panic!("no {name}: {trace}"))
        };
        let last = |name: &str| {
            trace.lines().count()
                - trace
                    .lines()
                    .rev()
                    .position(|line| line.contains(name))
                    .unwrap()
        };
        let moved = place("renameat");
        assert!(
            last("fsetxattr(") <= last("syncfs(") && last("syncfs(") <= moved,
            "{trace}"
        );
        assert!(last("fsync(") > moved, "{trace}");
    }
}
