//! Cases 111 to 114: much at once, sources named in every way, and what must not be printed.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::real::{answer, tree};
use crate::support::{
    Act, Auth, MockRegistry, Modes, Origin, PASSWORD, Response, Sandbox, Snapshot, USER,
    bundle_dir, on,
};

use super::{IDENTITY, config_map, pack};

#[test]
fn case_111_many_objects_and_a_large_one_pass() {
    let sandbox = Sandbox::new();
    let many: Vec<_> = (0..20_000)
        .map(|n| config_map(&format!("many-{n}")))
        .collect();
    sandbox.write("in/many.yaml", many.join("---\n"));
    let mut large = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: wides.example.com
spec:
  names:
"
    .to_owned();
    for n in 0..40_000 {
        let field =
            "words that a generator copied from a comment, and that fill a line of a hundred";
        writeln!(large, "    field{n}: {{description: {field}}}").unwrap();
    }
    assert!(large.len() > 4_000_000);
    sandbox.write("in/wide.yaml", large);
    let begun = Instant::now();
    let checked = sandbox.run(["validate", "in", "--format", "json"]);
    assert_eq!(checked.json()["objects"], 20_001, "{checked}");
    let allowed = ["-o", "out.tar", "--allow-invalid"];
    sandbox.run(pack("in", &allowed)).ok();
    // Seconds, and a minute where ten others are at work.
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    // A limit says its number.
    let limited = ["validate", "in", "--max-yaml-documents", "19999"];
    let ran = sandbox.run(limited);
    assert_ne!(ran.code(), 0);
    let said = format!("{}{}", ran.stdout(), ran.stderr());
    assert!(said.contains("19999"), "{ran}");
}

#[test]
fn case_113_a_source_is_the_same_however_it_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("in/one.yaml", config_map("one"));
    sandbox.write("other/two.yaml", config_map("two"));
    fs::create_dir(sandbox.path("empty")).unwrap();
    let absolute = sandbox.path("in");
    let dry = |source: &str| {
        let ran = sandbox.run(pack(source, &["--dry-run", "--format", "json"]));
        ran.ok().json()["digest"].as_str().unwrap().to_owned()
    };
    let digest = dry("in");
    for source in [
        "./in",
        "in/",
        absolute.to_str().unwrap(),
        "in/../in",
        // A file is the bundle of that one manifest.
        "in/one.yaml",
        "./in/one.yaml",
    ] {
        assert_eq!(dry(source), digest, "{source}");
    }
    sandbox.run(pack("in/one.yaml", &["-o", "one.tar"])).ok();
    sandbox.run(["unpack", "one.tar", "-o", "one"]).ok();
    let files: Vec<_> = tree(sandbox.path("one/manifests")).into_keys().collect();
    assert_eq!(files, ["one.yaml"]);

    let stream = sandbox.bundle(pack("-", &["-o", "stream.tar"]));
    stream.stdin(config_map("one")).run().ok();
    sandbox.run(["unpack", "stream.tar", "-o", "stream"]).ok();
    let files = tree(sandbox.path("stream/manifests"));
    assert_eq!(
        files.into_values().collect::<Vec<_>>(),
        [config_map("one").into_bytes()]
    );

    let before = Snapshot::of(sandbox.work());
    let none = ["-o", "none.tar"];
    sandbox
        .run(pack("gone", &none))
        .assert_code(3)
        .assert_stderr_has("`gone`");
    sandbox
        .run(pack("empty", &none))
        .assert_code(11)
        .assert_stderr_has("no manifests in `empty`");
    sandbox
        .run(pack("in", &["other", "-o", "none.tar"]))
        .assert_code(2)
        .assert_stderr_has("other");
    before.assert_same(sandbox.work());
}

#[test]
fn case_114_no_password_and_no_token_is_printed() {
    let broken = || Response::error(500, "UNKNOWN", "no disk");
    let refused = || Response::error(401, "UNAUTHORIZED", "who are you?");
    for (when, answer_with, code) in [
        (on("PUT", "/manifests/").nth(1), broken(), 0),
        (on("POST", "/blobs/uploads/"), refused(), 4),
        (on("PUT", "/manifests/"), refused(), 4),
    ] {
        let sandbox = Sandbox::new();
        let registry = MockRegistry::start(Modes {
            auth: Auth::Bearer,
            ..Modes::default()
        });
        // Neither of these, in any encoding, may be on stdout or stderr of a run.
        sandbox.secret(PASSWORD);
        sandbox.secret(STANDARD.encode(format!("{USER}:{PASSWORD}")));
        bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
        registry.rule(when, Act::Respond(answer_with));
        let there = registry.repository("demo");
        // One at a time: of two at once, the second is given up when the first is refused.
        let one = ["--concurrency", "1"];
        let words = ["push", "in", &there, "-vv", "-u", USER, "--password-stdin"];
        let words = words.into_iter().chain(one);
        let ran = sandbox.bundle(words).stdin(PASSWORD).run();
        ran.assert_code(code);
        // It did use the password.
        let tokens = registry.tokens();
        assert!(!tokens.is_empty());
        // Every request is told of, those for tokens too, with its status.
        for request in registry.requests() {
            let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
            let base = registry.base(request.origin);
            let told = format!("{} {base}{path}", request.method);
            let status = format!(": {}, ", request.status.unwrap());
            let mut lines = ran.stderr().lines();
            assert!(
                lines.any(|line| line.starts_with(&told) && line.contains(&status)),
                "not told: {told}{status}{ran}"
            );
        }
        for token in tokens {
            let said = format!("{}{}", ran.stdout(), ran.stderr());
            assert!(!said.contains(&token), "a token is shown{ran}");
        }
    }
}

#[test]
fn case_114_a_signed_address_is_told_without_its_signature() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::start(Modes {
        redirect_blobs: true,
        location_state: true,
        ..Modes::default()
    });
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    let there = registry.repository("demo");
    let pushed = sandbox.run(["push", "in", &there, "-vv"]);
    answer(&pushed);
    let has_state = |ran: &str| ran.contains("_state=n");
    assert!(registry.requests().iter().any(|r| has_state(&r.path)));
    assert!(!has_state(pushed.stderr()), "{pushed}");
    registry.mark();
    let pulled = sandbox.run(["pull", &format!("{there}:1.0.0"), "-o", "out", "-vv"]);
    answer(&pulled);
    let store = registry.base(Origin::Store);
    let is_told = |line: &str| line.contains(store) && line.contains("X-Amz-Signature=…");
    assert!(pulled.stderr().lines().any(is_told), "{pulled}");
    for request in registry.requests() {
        let Some((_, query)) = request.path.split_once('?') else {
            continue;
        };
        for (_, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            assert!(!pulled.stderr().contains(value), "{value}{pulled}");
        }
    }
    // One `-v` is not for this.
    let pulled = sandbox.run(["pull", &format!("{there}:1.0.0"), "-o", "two", "-v"]);
    assert!(!pulled.stderr().contains("GET "), "{pulled}");
}

#[test]
fn case_114_a_password_in_a_reference_is_refused_and_not_repeated() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    sandbox.write("in/one.yaml", config_map("one"));
    sandbox.secret("correct-horse");
    let at = format!("user:correct-horse@{}", registry.repository("demo"));
    for reference in [at.clone(), format!("oci://{at}"), format!("https://{at}")] {
        let words = [&["push", "in", reference.as_str()][..], &IDENTITY].concat();
        let ran = sandbox.run(words);
        ran.assert_code(2);
        assert_eq!(ran.stdout(), "");
    }
    assert_eq!(registry.log(), [""; 0]);
    // The same without them is a push.
    let there = registry.repository("demo");
    let words = [&["push", "in", there.as_str()][..], &IDENTITY].concat();
    answer(&sandbox.run(words));
}
