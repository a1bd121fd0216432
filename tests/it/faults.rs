//! What the binary does about a registry that forgets, lies or is written to by somebody else at the same time.

mod operate;
mod place;
mod shape;
mod table;

use crate::real::{Parts, answer};
use crate::support::{Act, MockRegistry, Modes, Response, Sandbox, Snapshot, Tls, bundle_dir, on};

/// A digest that nothing has.
const OTHER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// A sandbox with a bundle and an archive of it, a registry, and its repository.
fn setting() -> (Sandbox, MockRegistry, String) {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    sandbox.run(["pack", "in", "-o", "demo.tar"]).ok();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    (sandbox, registry, there)
}

/// How many requests the log has that begin with a method and have a text in their path.
fn count(log: &[String], method: &str, path: &str) -> usize {
    let fits = |line: &&String| line.starts_with(method) && line.contains(path);
    log.iter().filter(fits).count()
}

#[test]
fn t_s17_a_blob_that_the_registry_lost_is_sent_once_more() {
    for (named, times, code) in [
        (true, 1, 0),
        (false, 1, 0),
        (true, usize::MAX, 3),
        (false, usize::MAX, 3),
    ] {
        for source in ["in", "demo.tar"] {
            let (sandbox, registry, there) = setting();
            let layer = Parts::of(&sandbox, "in").layer;
            let words = if named { &layer } else { "blob unknown" };
            registry.rule(
                on("PUT", "/manifests/").first(times),
                Act::Respond(Response::error(404, "MANIFEST_BLOB_UNKNOWN", words)),
            );
            let target = format!("{there}:1.0.0");
            let verb = if source == "in" { "push" } else { "copy" };
            let ran = sandbox.run([verb, source, &target]);
            ran.assert_code(code);
            let log = registry.log();
            assert_eq!(count(&log, "PUT", "/manifests/"), 2, "{log:?}");
            // Config and layer, and then what is named, or both.
            let sent = count(&log, "PUT", "/blobs/uploads/");
            assert_eq!(sent, if named { 3 } else { 4 }, "{log:?}");
            assert_eq!(registry.tag("demo", "1.0.0").is_some(), code == 0);
            if code != 0 {
                ran.assert_stderr_has("sent twice");
            }
        }
    }
}

#[test]
fn t_s18_a_tag_that_somebody_else_moved_meanwhile_is_a_conflict_with_both_digests() {
    let (sandbox, registry, there) = setting();
    let digest = Parts::of(&sandbox, "in").manifest;
    let moved = || Act::change(|r| r.set("docker-content-digest", OTHER));
    registry.rule(on("HEAD", "/manifests/stable").nth(2), moved());
    let ran = sandbox.run([
        "copy",
        "demo.tar",
        &format!("{there}:stable"),
        "--format",
        "json",
    ]);
    ran.assert_code(13);
    let error = ran.error_json();
    assert_eq!(error["expected"], digest.as_str());
    assert_eq!(error["found"], OTHER);
    // The same for a push that moves a tag, and for more tags.
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    registry.put_manifest("demo", "moves", media_type, b"{}");
    let (target, source) = (format!("{there}:moves"), format!("{there}@{digest}"));
    for call in [["push", "in", &target], ["tag", &source, "more"]] {
        let tag = call[2].rsplit(':').next().unwrap();
        let path = format!("/manifests/{tag}");
        registry.rule(on("HEAD", &path).nth(2), moved());
        sandbox.run(call).assert_code(13).assert_stderr_has(OTHER);
    }
}

#[test]
fn a_repeated_push_does_not_believe_the_tag_alone() {
    let (sandbox, registry, there) = setting();
    let first = sandbox.run(["push", "in", &there]);
    registry.mark();
    let again = sandbox.run(["push", "in", &there]);
    assert_eq!(answer(&again), answer(&first));
    let log = registry.log();
    assert_eq!(log.len(), 2, "{log:?}");
    // The tag outlived its manifest: it is written again.
    registry.rule(
        on("GET", "/manifests/").nth(1),
        Act::Respond(Response::error(404, "MANIFEST_UNKNOWN", "x")),
    );
    registry.mark();
    let repaired = sandbox.run(["push", "in", &there]);
    assert_eq!(answer(&repaired), answer(&first));
    repaired.assert_stderr_has("is written again");
    assert_eq!(count(&registry.log(), "PUT", "/manifests/1.0.0"), 1);
    // The registry's word for the digest was of other bytes.
    registry.rule(
        on("GET", "/manifests/"),
        Act::change(|r| {
            r.body.push(b'\n');
            r.remove("docker-content-digest");
        }),
    );
    sandbox.run(["push", "in", &there]).assert_code(13);
}

#[test]
fn a_refusal_for_machines_is_one_document_with_every_check_in_it() {
    let (sandbox, _registry, there) = setting();
    sandbox.run(["push", "in", &there]).ok();
    let reference = format!("{there}:1.0.0");
    for call in [
        vec!["verify", "demo.tar"],
        vec!["verify", &reference],
        vec!["verify", &reference, "--metadata-only"],
        vec!["unpack", "demo.tar"],
        vec!["pull", &reference],
    ] {
        let asked = ["--package", "other", "--version", "^1", "--format", "json"];
        let ran = sandbox.run(call.iter().copied().chain(asked));
        ran.assert_code(10);
        assert_eq!(ran.stdout(), "");
        // The whole of stderr is the document.
        let document: serde_json::Value = serde_json::from_str(ran.stderr()).unwrap();
        let error = &document["error"];
        assert_eq!(error["kind"], "refused");
        let outcome = |name: &str| {
            let checks = error["checks"].as_array().unwrap();
            let check = checks.iter().find(|check| check["name"] == name);
            check.unwrap()["outcome"].as_str().unwrap().to_owned()
        };
        assert_eq!(outcome("package"), "failed", "{ran}");
        assert_eq!(outcome("version"), "passed", "{ran}");
        assert_eq!(outcome("operator id"), "not asked", "{ran}");
    }
    // People get a line for each.
    let ran = sandbox.run(["verify", "demo.tar", "--package", "other"]);
    ran.assert_stderr_row("package failed expected other, found demo");
}

/// Text that does not become small when it is packed.
fn noise(length: usize) -> String {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 24) % 26).unwrap())
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[test]
fn t_l2_a_file_that_may_not_grow_is_a_local_fault_that_leaves_nothing() {
    let (sandbox, _registry, there) = setting();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: large\ndata:\n  text: ";
    sandbox.write(
        "in/manifests/large.yaml",
        format!("{object}{}\n", noise(200_000)),
    );
    sandbox.run(["push", "in", &there]).ok();
    sandbox.run(["pack", "in", "-o", "large.tar"]).ok();
    let reference = format!("{there}:1.0.0");
    let before = Snapshot::of(sandbox.work());
    for call in [
        ["pack", "in", "-o", "out.tar"],
        ["pack", "in", "-o", "oci:out"],
        ["pull", &reference, "-o", "out"],
        ["unpack", "large.tar", "-o", "out"],
        ["copy", "large.tar", "oci:out", "--force"],
    ] {
        let ran = sandbox.bundle(call).prelude("ulimit -f 8").run();
        ran.assert_code(12)
            .assert_stderr_has("larger than this system lets it be");
        before.assert_same(sandbox.work());
    }
}

#[test]
fn a_v_that_is_taken_off_is_said() {
    let (sandbox, _registry, _) = setting();
    sandbox.write(
        "bare/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    let identity = ["--package", "p", "--operator-id", "o", "--dry-run"];
    for (call, flag, text) in [
        (
            vec!["pack", "bare", "--version", "v1.2.3"],
            "--version",
            "v1.2.3",
        ),
        (
            vec![
                "pack",
                "bare",
                "--version",
                "1.2.3",
                "--min-operator-version",
                "V2.0.0",
            ],
            "--min-operator-version",
            "V2.0.0",
        ),
    ] {
        let ran = sandbox.run(call.iter().copied().chain(identity));
        ran.ok();
        let said = format!("{flag}: `{text}` is read as `{}`", &text[1..]);
        ran.assert_stderr_has(&said);
    }
    let asked = [
        "verify",
        "demo.tar",
        "--version",
        ">=v1.0.0",
        "--operator-version",
        "v3.0.0",
    ];
    let ran = sandbox.run(asked);
    ran.ok();
    ran.assert_stderr_has("--version: `v1.0.0` is read as `1.0.0`");
    ran.assert_stderr_has("--operator-version: `v3.0.0` is read as `3.0.0`");
    let ran = sandbox.run(["verify", "demo.tar", "--version", "1.0.0"]);
    assert!(!ran.stderr().contains("is read as"), "{ran}");
}

#[test]
fn the_newest_version_is_a_release_where_there_is_one() {
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    for (tags, newest) in [
        (&["1.0.0", "2.0.0-rc.1", "0.9.0", "latest"][..], "1.0.0"),
        (&["1.0.0-rc.2", "1.0.0-rc.10"], "1.0.0-rc.10"),
        (&["v1.0.0", "1.0.0"], "1.0.0"),
    ] {
        let (sandbox, registry, there) = setting();
        for tag in tags {
            registry.put_manifest("demo", tag, media_type, b"{}");
        }
        let ran = sandbox.run(["pull", &there]);
        ran.assert_code(2);
        ran.assert_stderr_has(&format!("the newest version is `{there}:{newest}`"));
    }
}

#[test]
fn a_registry_on_this_machine_may_speak_https() {
    let registry = MockRegistry::start(Modes {
        tls: Tls::On,
        ..Modes::default()
    });
    let (sandbox, plain, there_plain) = setting();
    sandbox.write("ca.pem", &registry.certs().ca);
    let there = registry.repository("demo");
    let authority = sandbox.path("ca.pem");
    let run = |call: &[&str]| {
        let cmd = sandbox.bundle(call.iter().copied());
        cmd.env("SSL_CERT_FILE", &authority).run()
    };
    answer(&run(&["push", "in", &there, "--plain-http=false"]));
    let reference = format!("{there}:1.0.0");
    answer(&run(&[
        "copy",
        &reference,
        &there_plain,
        "--from-plain-http=false",
    ]));
    assert!(plain.tag("demo", "1.0.0").is_some());
    // By itself it is spoken to in plain text, and the hint says how not to.
    let ran = run(&["push", "in", &there, "--timeout", "20s"]);
    assert_ne!(ran.code(), 0);
    ran.assert_stderr_has("--plain-http=false");
    for flag in ["--plain-http", "--plain-http=true"] {
        answer(&run(&["push", "in", &there_plain, flag]));
    }
    run(&["push", "in", &there_plain, "--plain-http=no"]).assert_code(2);
}

#[test]
fn a_time_limit_holds_for_unpack_and_logout_too() {
    let (sandbox, registry, there) = setting();
    registry.rule(on("GET", "/manifests/"), Act::Stall);
    let reference = format!("{there}:1.0.0");
    let ran = sandbox.run(["unpack", &reference, "--timeout", "100ms"]);
    ran.assert_code(5).assert_stderr_has("--timeout");
    sandbox
        .run(["logout", registry.host(), "--timeout", "20s"])
        .ok();
}

#[test]
fn a_tag_of_a_channel_is_not_for_bundles() {
    let (sandbox, registry, there) = setting();
    sandbox.run(["push", "in", &there]).ok();
    let reserved = format!("{there}:channel-stable");
    let reference = format!("{there}:1.0.0");
    let tags = registry.tags("demo");
    for call in [
        vec!["push", "in", &reserved],
        vec!["push", "in", &there, "--tag", "channel-stable"],
        vec!["push", "in", &reserved, "--dry-run"],
        vec!["copy", "demo.tar", &reserved],
        vec!["copy", "demo.tar", "oci:layout:channel-stable"],
        vec!["tag", &reference, "channel-stable"],
        vec!["pull", &reference, "-o", "oci:layout:channel-stable"],
    ] {
        let ran = sandbox.run(call);
        ran.assert_code(2).assert_stderr_has("such as `stable`");
        assert_eq!(registry.tags("demo"), tags);
    }
    sandbox.run(["tag", &reference, "channels"]).ok();
}

#[test]
fn pack_makes_no_image_that_has_more_annotations_than_a_reader_takes() {
    let (sandbox, _registry, _) = setting();
    let file = "in/metadata/annotations.yaml";
    let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
    let own = text.lines().filter(|line| line.starts_with("  ")).count();
    let with = |count: usize| {
        let more = (own..count).map(|n| format!("  example.org/{n}: x\n"));
        more.fold(text.clone(), |all, line| all + &line)
    };
    sandbox.write(file, with(997));
    let time = ["--created", "2024-01-01T00:00:00Z"];
    sandbox.run(["validate", "in"]).ok();
    sandbox
        .run(["pack", "in", "-o", "full.tar"].into_iter().chain(time))
        .ok();
    sandbox.run(["unpack", "full.tar", "-o", "out"]).ok();
    sandbox.write(file, with(998));
    let words = "there are 998 keys, and an image carries 997";
    let ran = sandbox.run(["validate", "in"]);
    ran.assert_code(1);
    assert!(
        format!("{}{}", ran.stdout(), ran.stderr()).contains(words),
        "{ran}"
    );
    sandbox
        .run(["pack", "in", "-o", "over.tar"])
        .assert_code(11)
        .assert_stderr_has(words);
}

#[test]
fn a_date_to_wait_for_counts_from_now_where_the_answer_has_no_date() {
    let (sandbox, registry, there) = setting();
    let far = "Fri, 31 Dec 9999 23:59:59 GMT";
    let busy = Response::new(503).header("retry-after", far);
    registry.rule(on("GET", "/tags/"), Act::Respond(busy));
    // It is too long to wait for, and nothing is asked before it.
    sandbox.run(["list", &there]).assert_code(5);
    assert_eq!(count(&registry.log(), "GET", "/tags/"), 1);
}
