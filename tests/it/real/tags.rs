//! Tags: a version's stays where it is, others move and are told of.

use crate::support::{DockerRegistry, Sandbox, Snapshot};

use super::{Parts, answer, etcd, tagged};

/// Changes what is in the bundle, not what it says it is.
fn edit(sandbox: &Sandbox) {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  level: debug\n";
    sandbox.write("etcd/manifests/configmap.yaml", text);
}

#[test]
fn a_versions_tag_does_not_move_unless_it_is_forced() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("version");
    let old = Parts::of(&sandbox, "etcd");
    sandbox.run(["push", "etcd", &repository]).ok();
    edit(&sandbox);
    let new = Parts::of(&sandbox, "etcd");
    assert_ne!(old.manifest, new.manifest);

    registry.mark();
    let refused = sandbox.run(["push", "etcd", &repository]);
    refused.assert_code(13);
    for words in [
        old.manifest.as_str(),
        &format!("{repository}:1.0.0"),
        "--force",
    ] {
        refused.assert_stderr_has(words);
    }
    // It is known before anything is sent.
    assert_eq!(
        new.asked(&registry, &repository),
        ["HEAD manifests/1.0.0 200"]
    );
    assert_eq!(tagged(&repository, "1.0.0"), Some(old.manifest.clone()));

    // None of several tags is set when one of them cannot be.
    let several = [
        "push",
        "etcd",
        &format!("{repository}:latest"),
        "--tag",
        "1.0.0",
    ];
    sandbox.run(several).assert_code(13);
    assert_eq!(tagged(&repository, "latest"), None);

    let forced = sandbox.run(["push", "etcd", &repository, "--force"]);
    assert_eq!(answer(&forced), format!("{repository}@{}", new.manifest));
    forced.assert_stderr_has(&format!("{repository}:1.0.0 moves from {}", old.manifest));
    assert_eq!(tagged(&repository, "1.0.0"), Some(new.manifest.clone()));
    // What it left is still there for those who have its digest.
    sandbox
        .run(["verify", &format!("{repository}@{}", old.manifest)])
        .ok();

    for command in [
        ["tag", &format!("{repository}@{}", old.manifest), "1.0.0"],
        [
            "copy",
            &format!("{repository}@{}", old.manifest),
            &format!("{repository}:1.0.0"),
        ],
    ] {
        sandbox
            .run(command)
            .assert_code(13)
            .assert_stderr_has(&new.manifest);
    }
    assert_eq!(tagged(&repository, "1.0.0"), Some(new.manifest));
}

#[test]
fn other_tags_move_and_it_is_said_from_where() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("moving");
    let old = Parts::of(&sandbox, "etcd");
    let first = [
        "push",
        "etcd",
        &repository,
        "--tag",
        "stable",
        "--tag",
        "v1.0.0",
    ];
    let first = sandbox.run(first);
    assert!(!first.ok().stderr().contains("moves"), "{first}");
    for tag in ["1.0.0", "stable", "v1.0.0"] {
        assert_eq!(
            tagged(&repository, tag),
            Some(old.manifest.clone()),
            "{tag}"
        );
    }
    etcd(&sandbox, "1.1.0");
    let new = Parts::of(&sandbox, "etcd");
    let second = sandbox.run(["push", "etcd", &format!("{repository}:stable")]);
    assert_eq!(answer(&second), format!("{repository}@{}", new.manifest));
    second.assert_stderr_has(&format!("{repository}:stable moves from {}", old.manifest));
    assert_eq!(tagged(&repository, "stable"), Some(new.manifest.clone()));
    assert_eq!(tagged(&repository, "1.0.0"), Some(old.manifest.clone()));
    // A tag was named, so that of the version is not made beside it.
    assert_eq!(tagged(&repository, "1.1.0"), None);

    let back = sandbox.run(["tag", &format!("{repository}:1.0.0"), "stable"]);
    assert_eq!(answer(&back), format!("{repository}@{}", old.manifest));
    back.assert_stderr_has(&format!("{repository}:stable moves from {}", new.manifest));
    let again = sandbox.run(["tag", &format!("{repository}:1.0.0"), "stable"]);
    again.ok().assert_stderr_has("is there already");
}

#[test]
fn a_tag_that_names_another_version_is_refused() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("other");
    registry.mark();
    for words in [
        ["push", "etcd", &format!("{repository}:2.0.0"), "-q"],
        ["push", "etcd", &repository, "--tag=v1.0.1"],
        ["pack", "etcd", "-o", "oci:layout:2.0.0"],
        ["pack", "etcd", "-o", "oci-archive:a.tar:2.0.0"],
    ] {
        let ran = sandbox.run(words);
        ran.assert_code(2).assert_stderr_has("1.0.0");
    }
    assert!(registry.requests().is_empty());
    assert!(!sandbox.path("layout").exists() && !sandbox.path("a.tar").exists());
}

#[test]
fn a_layouts_version_does_not_move_either() {
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    sandbox.run(["pack", "etcd", "-o", "oci:layout"]).ok();
    sandbox
        .run(["pack", "etcd", "-o", "oci:layout"])
        .ok()
        .assert_stderr_has("is there already");
    edit(&sandbox);
    let before = Snapshot::of(sandbox.path("layout"));
    for command in ["pack", "push"] {
        let words = match command {
            "pack" => ["pack", "etcd", "-o", "oci:layout"],
            _ => ["push", "etcd", "oci:layout", "-q"],
        };
        sandbox
            .run(words)
            .assert_code(13)
            .assert_stderr_has("--force");
        before.assert_same(sandbox.path("layout"));
    }
    let new = Parts::of(&sandbox, "etcd").manifest;
    let forced = sandbox.run(["pack", "etcd", "-o", "oci:layout", "--force"]);
    assert!(answer(&forced).ends_with(&new));
    assert!(answer(&sandbox.run(["verify", "oci:layout:1.0.0"])).ends_with(&new));
}

#[test]
fn a_plus_is_written_as_an_underscore_and_read_back() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0+build.5");
    let repository = registry.repository("plus");
    let pushed = sandbox.run(["push", "etcd", &repository]);
    let digest = answer(&pushed).split_once('@').unwrap().1.to_owned();
    assert_eq!(tagged(&repository, "1.0.0_build.5"), Some(digest));
    assert_eq!(answer(&sandbox.run(["list", &repository])), "1.0.0+build.5");
    let pulled = sandbox.run(["pull", &format!("{repository}:1.0.0_build.5")]);
    assert_eq!(answer(&pulled), answer(&pushed));
    // Build metadata is part of what a version's tag names.
    etcd(&sandbox, "1.0.0+build.6");
    sandbox.run(["push", "etcd", &repository]).ok();
    let listed = sandbox.run(["list", &repository]);
    assert_eq!(listed.ok().stdout(), "1.0.0+build.6\n1.0.0+build.5\n");
}

#[test]
fn a_read_without_a_tag_names_the_newest_version() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    let repository = registry.repository("newest");
    for version in ["1.9.0", "1.10.0", "1.10.1-rc.1"] {
        etcd(&sandbox, version);
        sandbox.run(["push", "etcd", &repository]).ok();
    }
    sandbox
        .run(["tag", &format!("{repository}:1.9.0"), "latest"])
        .ok();
    let before = Snapshot::of(sandbox.work());
    for command in ["pull", "verify", "inspect", "validate"] {
        let ran = sandbox.run([command, &repository]);
        ran.assert_code(2);
        // A pre-release is not what somebody is looking for who has not said so.
        ran.assert_stderr_has(&format!("{repository}:1.10.0`"));
    }
    before.assert_same(sandbox.work());
    let listed = sandbox.run(["list", &repository]);
    assert_eq!(listed.ok().stdout(), "1.10.1-rc.1\n1.10.0\n1.9.0\nlatest\n");
    // Nothing is there: that is another answer than "which one?".
    let none = registry.repository("none");
    sandbox
        .run(["pull", &format!("{none}:1.0.0")])
        .assert_code(3);
    sandbox.run(["list", &none]).assert_code(3);
    sandbox
        .run(["pull", &format!("{repository}:9.9.9")])
        .assert_code(3);
}

#[test]
fn a_digest_beside_a_tag_decides_and_verify_compares_them() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    let repository = registry.repository("both");
    etcd(&sandbox, "1.0.0");
    let one = sandbox.run(["push", "etcd", &format!("{repository}:stable")]);
    let digest = answer(&one).split_once('@').unwrap().1.to_owned();
    let both = format!("{repository}:stable@{digest}");
    sandbox
        .run(["verify", &both])
        .ok()
        .assert_stderr_row("tag against digest passed");
    etcd(&sandbox, "1.1.0");
    sandbox
        .run(["push", "etcd", &format!("{repository}:stable")])
        .ok();
    sandbox
        .run(["verify", &both])
        .assert_code(10)
        .assert_stderr_row("tag against digest failed");
    assert_eq!(answer(&sandbox.run(["pull", &both])), answer(&one));
    assert!(sandbox.path("etcd-1.0.0").is_dir());
}
