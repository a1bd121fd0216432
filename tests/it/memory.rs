//! How much memory a command takes when what it carries is large: bytes stream, so the size hardly shows.
//!
//! By itself the suite takes sizes that a few seconds are enough for, and ceilings below these, so that a command which
//! holds all of it fails. With `BUNDLE_TEST_FULL=1` the sizes and the ceilings are those of the promise: a blob of 1 GiB in
//! 32 MiB, 500 MB of manifests in 64 MiB and 1 KiB for each. `BUNDLE_TEST_BINARY` then names the binary as it is released.

mod bulk;

use std::time::Duration;

use crate::support::{DockerRegistry, Ran, Sandbox, bundle_dir};

const MIB: u64 = 1024 * 1024;

/// What a copy or pull of one blob may take.
const OF_A_BLOB: u64 = 32 * MIB;

/// What a build for tests takes beyond the one that is released: its code is five times as large, and resident while it runs.
fn for_tests() -> u64 {
    let is_released = std::env::var_os("BUNDLE_TEST_BINARY").is_some();
    if is_released { 0 } else { 8 * MIB }
}

/// What a command may take that packs or unpacks so many files of a bundle.
fn of_files(entries: u64) -> u64 {
    let floor = if full() { 64 * MIB } else { 40 * MIB };
    floor + entries * 1024
}

fn full() -> bool {
    std::env::var_os("BUNDLE_TEST_FULL").is_some()
}

/// Runs `bundle`, and fails if it took more than `most`.
#[track_caller]
fn takes_at_most(sandbox: &Sandbox, most: u64, args: &[&str]) -> Ran {
    let most = most + for_tests();
    let run = sandbox.bundle(args).timeout(Duration::from_secs(600));
    let ran = run.measured().run();
    let peak = ran.ok().peak_rss();
    assert!(
        peak <= most,
        "{peak} bytes at the peak, and {most} are allowed: bundle {}",
        args.join(" ")
    );
    eprintln!("{} MiB of {}: bundle {}", peak / MIB, most / MIB, args[0]);
    ran
}

#[test]
fn copying_a_large_blob_takes_little_memory() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::open();
    let size = if full() { 1024 * MIB } else { 64 * MIB };
    bulk::image(&sandbox.path("in"), |layer| {
        // A hole in a file, so that only the hashing costs time; a copy does not look into it.
        layer.set_len(size).unwrap();
        format!("sha256:{}", "0".repeat(64))
    });
    let there = format!("{}:1", registry.repository("blob"));
    let again = format!("{}:1", registry.repository("again"));
    for args in [
        ["copy", "oci:in:1", &there],
        ["copy", &there, &again],
        ["copy", &there, "oci:out:1"],
        ["copy", &there, "out.tar"],
        ["copy", "out.tar", "oci:back:1"],
    ] {
        takes_at_most(&sandbox, OF_A_BLOB, &args);
    }
    let index =
        |layout: &str| std::fs::read_to_string(sandbox.path(layout).join("index.json")).unwrap();
    assert_eq!(index("back"), index("out"));
}

#[test]
fn pulling_a_large_blob_takes_little_memory() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::open();
    // Just below the ceiling of a blob, whose packing adds a little.
    let files = if full() { 1020 } else { 64 };
    bulk::image(&sandbox.path("in"), |layer| bulk::stored(layer, files, MIB));
    let there = format!("{}:1.0.0", registry.repository("stored"));
    takes_at_most(&sandbox, OF_A_BLOB, &["copy", "oci:in:1", &there]);
    let most = (2048 * MIB).to_string();
    takes_at_most(
        &sandbox,
        OF_A_BLOB,
        &["pull", &there, "-o", "out", "--max-unpacked", &most],
    );
    let written = sandbox.path("out/manifests").read_dir().unwrap().count();
    assert_eq!(written as u64, files + 1);
}

#[test]
fn packing_pulling_and_unpacking_much_takes_little_memory() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::open();
    let files = if full() { 5_000 } else { 500 };
    let source = bundle_dir(sandbox.path("in"), "bulk", "1.0.0", None);
    bulk::manifests(&source.join("manifests"), files, 100_000);
    let most = of_files(files + 2);
    let there = format!("{}:1.0.0", registry.repository("bulk"));
    for args in [
        &["validate", "in"][..],
        &["pack", "in", "-o", "out.tar"],
        &["push", "out.tar", &there],
        &["pull", &there, "-o", "pulled"],
        &["unpack", "out.tar", "-o", "unpacked"],
    ] {
        takes_at_most(&sandbox, most, args);
    }
    for out in ["pulled", "unpacked"] {
        let written = sandbox
            .path(out)
            .join("manifests")
            .read_dir()
            .unwrap()
            .count();
        assert_eq!(written as u64, files + 2, "{out}");
    }
}
