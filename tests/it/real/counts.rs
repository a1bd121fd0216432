//! How much the registry is asked, and in which order.

use crate::support::{DockerRegistry, PASSWORD, Sandbox, Snapshot, USER};

use super::{Parts, answer, assert_pulled, etcd, sorted, tree};

#[test]
fn a_first_push_takes_eight_requests_and_the_tag_comes_last() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("first");
    registry.mark();
    let pushed = sandbox.run(["push", "etcd", &repository]);
    assert_eq!(answer(&pushed), format!("{repository}@{}", parts.manifest));
    let seen = parts.asked(&registry, &repository);
    assert_eq!(seen.first().unwrap(), "HEAD manifests/1.0.0 404");
    assert_eq!(seen.last().unwrap(), "PUT manifests/1.0.0 201");
    // Config and layer travel together, so that nothing is said about their order.
    assert_eq!(
        sorted(&seen[1..seen.len() - 1]),
        [
            "HEAD blobs/CONFIG 404",
            "HEAD blobs/LAYER 404",
            "POST blobs/uploads/ 202",
            "POST blobs/uploads/ 202",
            "PUT blobs/uploads/ID?digest=CONFIG 201",
            "PUT blobs/uploads/ID?digest=LAYER 201",
        ]
    );
}

#[test]
fn one_at_a_time_is_an_order() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("order");
    registry.mark();
    sandbox
        .run(["push", "etcd", &repository, "--concurrency", "1"])
        .ok();
    assert_eq!(
        parts.asked(&registry, &repository),
        [
            "HEAD manifests/1.0.0 404",
            "HEAD blobs/CONFIG 404",
            "POST blobs/uploads/ 202",
            "PUT blobs/uploads/ID?digest=CONFIG 201",
            "HEAD blobs/LAYER 404",
            "POST blobs/uploads/ 202",
            "PUT blobs/uploads/ID?digest=LAYER 201",
            "PUT manifests/1.0.0 201",
        ]
    );
}

#[test]
fn a_repeated_push_asks_twice_and_says_that_it_is_there() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("again");
    let first = sandbox.run(["push", "etcd", &repository]);
    registry.mark();
    let again = sandbox.run(["push", "etcd", &repository]);
    assert_eq!(answer(&again), answer(&first));
    again.assert_stderr_has(&format!("{repository}:1.0.0 is there already"));
    assert_eq!(
        parts.asked(&registry, &repository),
        ["HEAD manifests/1.0.0 200", "GET manifests/1.0.0 200"]
    );
    // Under another name nothing is sent but the manifest; a name that a channel could have costs a look at that.
    registry.mark();
    sandbox
        .run(["push", "etcd", &format!("{repository}:stable")])
        .ok();
    let seen = parts.asked(&registry, &repository);
    assert_eq!(
        sorted(&seen),
        [
            "HEAD blobs/CONFIG 200",
            "HEAD blobs/LAYER 200",
            "HEAD manifests/channel-stable 404",
            "HEAD manifests/stable 404",
            "PUT manifests/stable 201",
        ]
    );
}

#[test]
fn a_pull_takes_three_requests_and_looks_a_tag_up_once() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("pull");
    let pushed = sandbox.run(["push", "etcd", &repository]);
    let rest = ["GET blobs/CONFIG 200", "GET blobs/LAYER 200"];

    registry.mark();
    sandbox
        .run(["pull", answer(&pushed), "-o", "by-digest"])
        .ok();
    let seen = parts.asked(&registry, &repository);
    assert_eq!(seen[0], "GET manifests/MANIFEST 200");
    assert_eq!(seen[1..], rest);
    assert_pulled(&sandbox, "by-digest");

    registry.mark();
    let by_tag = sandbox.run(["pull", &format!("{repository}:1.0.0"), "-o", "by-tag"]);
    assert_eq!(answer(&by_tag), answer(&pushed));
    let seen = parts.asked(&registry, &repository);
    assert_eq!(seen[0], "GET manifests/1.0.0 200");
    assert_eq!(seen[1..], rest);
    assert_eq!(
        tree(sandbox.path("by-tag")),
        tree(sandbox.path("by-digest"))
    );
}

#[test]
fn a_refused_pull_fetches_no_layer_and_writes_nothing() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("refused");
    sandbox.run(["push", "etcd", &repository]).ok();
    let reference = format!("{repository}:1.0.0");
    let before = Snapshot::of(sandbox.root());
    for (flags, expected, found) in [
        (&["--package", "redis"][..], "redis", "etcd"),
        (&["--version", "^2"][..], "^2", "1.0.0"),
        (&["--operator-id", "other"][..], "other", "etcd-manager"),
        (
            &[
                "--operator-id",
                "etcd-manager",
                "--operator-version",
                "1.3.9",
            ][..],
            "1.3.9",
            "1.4.0",
        ),
    ] {
        registry.mark();
        let words = ["pull", &reference, "-o", "out"]
            .into_iter()
            .chain(flags.iter().copied());
        let ran = sandbox.run(words);
        ran.assert_code(10);
        ran.assert_stderr_has(expected).assert_stderr_has(found);
        assert_eq!(ran.stdout(), "");
        before.assert_same(sandbox.root());
        assert_eq!(
            parts.asked(&registry, &repository),
            ["GET manifests/1.0.0 200", "GET blobs/CONFIG 200"],
            "{flags:?}"
        );
    }
    registry.mark();
    let fits = [
        "--package",
        "etcd",
        "--version",
        "^1",
        "--operator-id",
        "etcd-manager",
        "--operator-version",
        "1.4.0",
    ];
    sandbox
        .run(["pull", &reference, "-o", "out"].into_iter().chain(fits))
        .ok();
    assert_pulled(&sandbox, "out");
    let seen = parts.asked(&registry, &repository);
    let by_tag = seen.iter().filter(|line| line.contains("manifests/1.0.0"));
    assert_eq!(by_tag.count(), 1, "{seen:?}");
}

#[test]
fn looking_costs_one_request() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("look");
    sandbox.run(["push", "etcd", &repository]).ok();
    let reference = format!("{repository}:1.0.0");
    for command in ["verify", "inspect"] {
        registry.mark();
        sandbox.run([command, &reference, "--metadata-only"]).ok();
        assert_eq!(
            parts.asked(&registry, &repository),
            ["GET manifests/1.0.0 200"],
            "{command}"
        );
    }
    registry.mark();
    assert_eq!(answer(&sandbox.run(["list", &repository])), "1.0.0");
    assert_eq!(parts.asked(&registry, &repository), ["GET tags/list 200"]);
}

#[test]
fn there_is_one_challenge_and_it_comes_before_all_that_is_parallel() {
    let registry = DockerRegistry::htpasswd_tls();
    let sandbox = Sandbox::new();
    sandbox.secret(PASSWORD);
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let repository = registry.repository("challenge");
    let ca = registry.ca_file();
    let access = [
        "--ca-file",
        ca.to_str().unwrap(),
        "-u",
        USER,
        "--password-stdin",
    ];
    registry.mark();
    let push = ["push", "etcd", &repository].into_iter().chain(access);
    sandbox.bundle(push).stdin(PASSWORD).run().ok();
    let seen = parts.asked(&registry, &repository);
    assert_eq!(
        seen[..2],
        ["HEAD manifests/1.0.0 401", "HEAD manifests/1.0.0 404"]
    );
    let refused = seen.iter().filter(|line| line.ends_with(" 401"));
    assert_eq!(refused.count(), 1, "{seen:?}");
    assert_eq!(seen.len(), 9, "{seen:?}");

    registry.mark();
    let reference = format!("{repository}:1.0.0");
    let pull = ["pull", &reference, "-o", "out"].into_iter().chain(access);
    sandbox.bundle(pull).stdin(PASSWORD).run().ok();
    assert_eq!(
        parts.asked(&registry, &repository),
        [
            "GET manifests/1.0.0 401",
            "GET manifests/1.0.0 200",
            "GET blobs/CONFIG 200",
            "GET blobs/LAYER 200",
        ]
    );
    assert_pulled(&sandbox, "out");
}
