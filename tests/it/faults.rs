//! What the binary does about a registry that forgets, lies or is written to by somebody else at the same time.

use crate::real::{Parts, answer};
use crate::support::{Act, MockRegistry, Response, Sandbox, bundle_dir, on};

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
    ran.assert_stderr_has("package: failed: expected other, found demo");
}
