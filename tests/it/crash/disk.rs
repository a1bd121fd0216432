//! Disks that are full or read-only, in a mount namespace of the test's own, and processes that may open few files.

use super::scene::sources;
use crate::support::{Ran, Sandbox, Snapshot};

/// Runs `bundle` in a directory `d` with a file system of its own; what is there at the end is listed after the answer.
fn mounted(sandbox: &Sandbox, options: &str, args: &str) -> (Ran, String) {
    let binary = Sandbox::binary();
    let script = format!(
        "mkdir -p d && mount -t tmpfs -o {} tmpfs d && \"$0\" {args}; code=$?; find d -mindepth 1 >../listed; exit $code",
        options.replace(" ro", "")
    );
    let script = match options.strip_suffix(" ro") {
        Some(_) => script.replace("&& \"$0\"", "&& mount -o remount,ro d && \"$0\""),
        None => script,
    };
    let words = ["-rm", "sh", "-c", &script, binary.to_str().unwrap()];
    let ran = sandbox.program("unshare", words).run();
    let listed = std::fs::read_to_string(sandbox.root().join("listed"));
    (ran, listed.unwrap_or_default())
}

#[test]
fn a_disk_that_is_full_or_read_only_gets_nothing_or_all() {
    let sandbox = sources();
    // Blocks of its own for each of the files and the blobs.
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: big\ndata:\n  a: {}\n",
        "x".repeat(9000)
    );
    sandbox.write("2.0.0/manifests/own.yaml", text);
    sandbox
        .run(["pack", "2.0.0", "-o", "2.tar", "--force"])
        .ok();
    for args in [
        "unpack 2.tar -o d/out",
        "pack 2.0.0 -o d/out.tar",
        "copy 2.tar oci:d/out:stable",
        "copy 2.tar d/out.tar",
    ] {
        let mut wholes = 0;
        for options in [
            "size=1m,nr_inodes=1",
            "size=1m,nr_inodes=2",
            "size=1m,nr_inodes=3",
            "size=1m,nr_inodes=5",
            "size=1m,nr_inodes=7",
            "size=4k",
            "size=8k",
            "size=12k",
            "size=16k",
            "size=20k",
            "size=64k",
            "size=1m ro",
        ] {
            let (ran, listed) = mounted(&sandbox, options, args);
            match ran.code() {
                0 => {
                    wholes += 1;
                    assert!(listed.contains("d/out"), "{options}{ran}");
                }
                12 => assert_eq!(listed, "", "{options}{ran}"),
                _ => panic!("{options}: neither 0 nor 12{ran}"),
            }
            assert!(options != "size=64k" || ran.code() == 0, "{options}{ran}");
            assert!(
                !options.ends_with("ro") && options != "size=1m,nr_inodes=1" || ran.code() == 12,
                "{options}{ran}"
            );
            assert!(!listed.contains(".bundle-"), "{options}: {listed}{ran}");
        }
        assert!((1..11).contains(&wholes), "{args}: {wholes}");
    }
}

#[test]
fn few_open_files_are_enough_or_an_error() {
    let sandbox = sources();
    let before = Snapshot::of(sandbox.work());
    let mut codes = Vec::new();
    for count in 4..24 {
        let run = sandbox.bundle(["unpack", "2.tar", "-o", "out"]);
        let ran = run.prelude(format!("ulimit -n {count}")).run();
        codes.push(ran.code());
        match ran.code() {
            0 => {}
            12 => {
                assert!(!sandbox.path("out").exists(), "{count} files{ran}");
                // To remove what was begun takes open files, too: the next run may have to do it.
                sandbox.run(["unpack", "2.tar", "-o", "out"]).ok();
            }
            _ => panic!("{count} files: neither 0 nor 12{ran}"),
        }
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
        before.assert_same(sandbox.work());
    }
    assert!(codes[0] == 12 && codes[19] == 0, "{codes:?}");
}
