//! What a user writes and hands over as a source: `validate` and `pack` must see the same thing in it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use manifest_bundle::content::Spool;
use manifest_bundle::ops::pack::{PackRequest, pack};
use manifest_bundle::progress::Progress;

use crate::support::{Sandbox, bare_dir, bundle_dir};

/// Runs `validate` and `pack` with the same flags and asserts that they come to the same answer, which is returned as
/// `validate`'s exit code.
#[track_caller]
fn agreed(sandbox: &Sandbox, source: &str, flags: &[&str]) -> i32 {
    let validate = sandbox.run([&["validate", source], flags].concat());
    let pack = sandbox.run([&["pack", source, "--dry-run"], flags].concat());
    let expected = match pack.code() {
        // What `pack` refuses is what `validate` finds.
        8 | 11 => 1,
        code => code,
    };
    assert_eq!(validate.code(), expected, "{validate}{pack}");
    validate.code()
}

#[test]
fn validate_and_pack_agree_on_every_sample() {
    let sandbox = Sandbox::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut answers = [0; 3];
    for kind in ["good", "bad"] {
        for entry in root.join(kind).read_dir().unwrap() {
            let source = entry.unwrap().path();
            for flags in [
                &[][..],
                &["--operator-id", "o", "--placeholders", "go-template"],
            ] {
                let code = agreed(&sandbox, source.to_str().unwrap(), flags);
                answers[usize::try_from(code).unwrap()] += 1;
            }
        }
    }
    // Right, wrong, and contradicted by the flags: each was among them.
    assert!(answers.iter().all(|count| *count > 0), "{answers:?}");
}

#[test]
fn validate_takes_the_flags_for_what_the_bundle_would_say() {
    let sandbox = Sandbox::new();
    let identity = ["--package", "ed", "--version", "0.22.0"];
    let with = |more: &[&'static str]| [&identity[..], more].concat();
    bare_dir(sandbox.path("bare"));
    bare_dir(sandbox.path("kustomize"));
    sandbox.write(
        "kustomize/kustomization.yaml",
        "resources: [configmap.yaml]\n",
    );
    bundle_dir(sandbox.path("whole"), "ed", "0.22.0", None);
    bare_dir(sandbox.path("unnamed/manifests"));
    sandbox.write(
        "template/service.yaml",
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: dns\nspec:\n  clusterIP: {{ .DNSIP }}\n",
    );
    let operator = ["--operator-id", "o", "--placeholders", "go-template"];
    for (source, flags, code) in [
        ("bare", with(&[]), 0),
        ("bare", vec!["--package", "ed"], 1),
        ("bare", with(&["--min-operator-version", "1.0.0"]), 1),
        ("kustomize", with(&[]), 1),
        ("kustomize", with(&["--mediatype", "kustomize"]), 0),
        ("template", with(&[]), 1),
        ("template", with(&operator), 0),
        ("unnamed", vec![], 1),
        ("unnamed", with(&[]), 0),
        ("whole", vec![], 0),
        ("whole", with(&[]), 0),
        ("whole", vec!["--version", "0.23.0"], 2),
        ("whole", vec!["-a", "quay.expires-after=1d"], 1),
    ] {
        let found = agreed(&sandbox, source, &flags);
        assert_eq!(found, code, "{source} {flags:?}");
    }
    // Objects alone are no bundle yet, and can be checked all the same.
    sandbox.run(["validate", "bare"]).ok();
    let ran = sandbox.run(["validate", "bare", "--package", "ed"]);
    ran.assert_stdout_has("`k8s.io.bundle.version.v1` is missing [metadata-required]")
        .assert_stdout_has("hint: add --version V, or write it into");
}

#[test]
fn a_directory_that_cannot_be_packed_is_inspected_as_far_as_it_can_be_read() {
    let sandbox = Sandbox::new();
    bare_dir(sandbox.path("bare"));
    bundle_dir(sandbox.path("broken"), "ed", "0.22.0", None);
    sandbox.write("broken/manifests/roles.yaml", BROKEN);
    bundle_dir(sandbox.path("right"), "ed", "0.22.0", None);
    let right = sandbox.run(["inspect", "right", "--format", "json"]);
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    for (source, flags, package, why) in [
        ("bare", &[][..], None, "metadata-missing"),
        (
            "bare",
            &["--package", "ed"],
            Some("ed"),
            "metadata-required",
        ),
        ("broken", &[], Some("ed"), "roles.yaml"),
    ] {
        let call = [&["inspect", source, "--format", "json"], flags].concat();
        let ran = sandbox.run(&call);
        let value = ran.ok().json();
        assert_eq!(value["package"].as_str(), package, "{ran}");
        assert!(value["digest"].is_null(), "{ran}");
        assert!(!value["objects"].as_array().unwrap().is_empty(), "{ran}");
        assert!(!value["files"].as_array().unwrap().is_empty(), "{ran}");
        assert_eq!(keys(&value), keys(&right.ok().json()), "{ran}");
        ran.assert_stderr_has(&format!("`{source}` is no bundle yet: "))
            .assert_stderr_has(why)
            .assert_stderr_has("`bundle validate`");
        let ran = sandbox.run([&["inspect", source], flags].concat());
        ran.ok().assert_stdout_has("reference: none");
        // What is expected of a bundle does not hold for what is none.
        let expected = [&call[..], &["--kubernetes-version", "1.30"]].concat();
        sandbox.run(expected).assert_code(11);
    }
    // A call that contradicts the file is wrong all the same.
    let ran = sandbox.run(["inspect", "broken", "--package", "other"]);
    ran.assert_code(2);
}

#[test]
fn what_is_packed_is_inspected_with_expectations() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "ed", "0.22.0", None);
    sandbox.run(["pack", "in", "-o", "ed.tar"]).ok();
    for (flags, code) in [
        (&["--package", "ed", "--version", "0.22.0"][..], 0),
        (&["--package", "other"], 10),
        (&["--version", "0.22.1"], 10),
        (&["--operator-id", "o"], 10),
        (&["--operator-id", "o", "--allow-unbound"], 0),
        (&["--min-operator-version", "1.0.0"], 2),
    ] {
        let more = if code == 10 {
            &["--metadata-only"][..]
        } else {
            &[]
        };
        for more in [&[][..], more] {
            let ran = sandbox.run([&["inspect", "ed.tar"], flags, more].concat());
            ran.assert_code(code);
        }
    }
}

const BROKEN: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels: {}\n";

#[test]
fn a_finding_names_the_file_that_an_editor_can_open() {
    let sandbox = Sandbox::new();
    let identity = ["--package", "ed", "--version", "0.22.0"];
    sandbox.write("deep/operator/roles.yaml", BROKEN);
    sandbox.write("bare/roles.yaml", BROKEN);
    bundle_dir(sandbox.path("whole"), "ed", "0.22.0", None);
    sandbox.write("whole/manifests/roles.yaml", BROKEN);
    let flat = [&identity[..], &["--flatten"]].concat();
    for (source, flags, file, bundle_path) in [
        (
            "deep",
            &flat[..],
            "deep/operator/roles.yaml",
            "manifests/operator-roles.yaml",
        ),
        (
            "./bare",
            &identity,
            "./bare/roles.yaml",
            "manifests/roles.yaml",
        ),
        (
            "bare/roles.yaml",
            &identity,
            "bare/roles.yaml",
            "manifests/roles.yaml",
        ),
        (
            "whole",
            &[],
            "whole/manifests/roles.yaml",
            "manifests/roles.yaml",
        ),
    ] {
        assert!(sandbox.path(file).is_file());
        let place = format!("{file}:1: error: `metadata.name` is missing");
        let json = ["--format", "json"];
        let ran = sandbox.run([&["validate", source], flags].concat());
        ran.assert_code(1).assert_stdout_has(&place);
        let ran = sandbox.run([&["validate", source], flags, &json].concat());
        let finding = ran.assert_code(1).json()["findings"][0].clone();
        assert_eq!(finding["file"], file, "{ran}");
        assert_eq!(finding["bundlePath"], bundle_path, "{ran}");
        let ran = sandbox.run([&["pack", source, "--dry-run"], flags, &json].concat());
        let error = ran.assert_code(11).error_json();
        assert_eq!(error["file"], file, "{ran}");
        assert_eq!(error["findings"][0]["bundlePath"], bundle_path, "{ran}");
    }
    // In an archive there is no other path.
    let out = sandbox.path("whole.tar");
    let pack = [
        "pack",
        "whole",
        "--allow-invalid",
        "-o",
        out.to_str().unwrap(),
    ];
    sandbox.run(pack).ok();
    let ran = sandbox.run(["validate", "whole.tar", "--format", "json"]);
    let finding = ran.assert_code(1).json()["findings"][0].clone();
    assert_eq!(finding["file"], "manifests/roles.yaml", "{ran}");
    assert!(finding["bundlePath"].is_null(), "{ran}");

    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n";
    sandbox.write("twice/a/one.yaml", object);
    sandbox.write("twice/b/one.yaml", object);
    sandbox
        .run([&["validate", "twice"], &flat[..]].concat())
        .assert_code(1)
        .assert_stdout_has(
            "twice/b/one.yaml:1: error: `ConfigMap one` is already in twice/a/one.yaml, line 1",
        );
}

#[test]
fn what_cannot_be_carried_is_found_beside_everything_else() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    sandbox.write("etcd/manifests/roles.yaml", BROKEN);
    sandbox.write("etcd/manifests/con.yaml", "");
    std::os::unix::fs::symlink("roles.yaml", sandbox.path("etcd/manifests/link.yaml")).unwrap();
    sandbox
        .program("mkfifo", ["etcd/manifests/pipe.yaml"])
        .run()
        .ok();
    let ran = sandbox.run(["validate", "etcd"]);
    ran.assert_code(1)
        .assert_stdout_has("\netcd/manifests/link.yaml: error: ")
        .assert_stdout_has("is a link to `roles.yaml` [layout-refused]")
        .assert_stdout_has("hint: `--resolve-symlinks`")
        .assert_stdout_has("is a named pipe [layout-refused]")
        .assert_stdout_has("\netcd/manifests/roles.yaml:1: error: ");
    assert!(
        ran.stdout()
            .lines()
            .filter(|line| line.contains("[layout-refused]"))
            .count()
            >= 2
    );
    sandbox.run(["pack", "etcd", "--dry-run"]).assert_code(8);
    // Two that come to one name, in a source that has nothing else.
    sandbox.write("twice/a-b.yaml", "");
    sandbox.write("twice/a/b.yaml", "");
    let flags = ["--flatten", "--package", "x", "--version", "1.0.0"];
    assert_eq!(agreed(&sandbox, "twice", &flags), 1);
    std::fs::create_dir(sandbox.path("links")).unwrap();
    std::os::unix::fs::symlink("x", sandbox.path("links/x.yaml")).unwrap();
    assert_eq!(agreed(&sandbox, "links", &flags), 1);
}

#[test]
fn streams_are_taken_where_the_help_says_so() {
    let sandbox = Sandbox::new();
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n";
    let pack = [
        "pack",
        "-",
        "--package",
        "etcd",
        "--version",
        "1.0.0",
        "-o",
        "etcd.tar",
    ];
    sandbox.bundle(pack).stdin(objects).run().ok();
    let archive = std::fs::read(sandbox.path("etcd.tar")).unwrap();
    let with = |words: &[&str], stdin: &[u8]| sandbox.bundle(words).stdin(stdin).run();
    with(&["validate", "-"], objects.as_bytes()).ok();
    let ran = with(&["validate", "-"], BROKEN.as_bytes());
    ran.assert_code(1).assert_stdout_has("-:1: error: ");
    with(&["validate", "-"], &archive).ok();
    with(&["copy", "-", "oci:store"], &archive).ok();
    with(&["inspect", "-"], &archive).ok();
    let ran = sandbox
        .bundle(["copy", "oci:store:1.0.0", "-"])
        .raw_stdout()
        .run();
    ran.ok().assert_stderr_has("oci-archive:-@sha256:");
    assert_eq!(ran.stdout_bytes(), archive);
    for words in [
        &["copy", "-", "oci:x"][..],
        &["push", "-", "oci:x"],
        &["pack", "-", "--dry-run"],
        &["validate", "-"],
        &["unpack", "-"],
    ] {
        with(words, b"")
            .assert_code(11)
            .assert_stderr_has("standard input is empty");
    }
    for (words, stdin, hint) in [
        (
            &["copy", "-", "oci:x"][..],
            objects.as_bytes(),
            "`bundle push - REF`",
        ),
        (&["pack", "-", "--dry-run"], &archive, "`bundle copy - OUT`"),
        (&["pull", "etcd.tar"], b"", "`bundle unpack etcd.tar`"),
    ] {
        with(words, stdin).assert_code(2).assert_stderr_has(hint);
    }
}

#[test]
fn flags_for_packing_are_refused_for_what_is_packed() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    sandbox.run(["push", "in", "oci:store"]).ok();
    for flags in [
        &["--exclude", "*.md"][..],
        &["--include", "*.md"],
        &["--no-default-ignores"],
        &["--resolve-symlinks"],
        &["--symlink-root", "in"],
        &["--flatten"],
        &["--allow-invalid"],
        &["--olm"],
        &["--created", "2026-01-01T00:00:00Z"],
        &["--image-format", "docker"],
        &["--package", "demo"],
        &["--version", "1.0.0"],
        &["--annotation", "a=b"],
    ] {
        for call in [
            &["push", "oci:store:1.0.0", "oci:other"][..],
            &["validate", "oci:store:1.0.0"],
        ] {
            sandbox
                .run([call, flags].concat())
                .assert_code(2)
                .assert_stderr_has("is packed already");
        }
    }
}

#[test]
fn a_hint_about_a_file_that_is_not_carried_names_flags_that_leave_it_out() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    sandbox.write(
        "in/manifests/id_rsa",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n",
    );
    for call in [&["pack", "in", "--dry-run"][..], &["validate", "in"]] {
        let ran = sandbox.run(call);
        assert_ne!(ran.code(), 0, "{ran}");
        let said = format!("{}{}", ran.stdout(), ran.stderr());
        assert!(said.contains("`--exclude PATTERN`"), "{ran}");
        sandbox.run([call, &["--exclude", "id_rsa"]].concat()).ok();
    }
}

#[test]
fn what_objects_ask_of_their_operator_is_taken_up_and_each_file_is_checked_once() {
    let sandbox = Sandbox::new();
    for n in 0..3 {
        let object = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{n}\n  annotations:\n    \
            addons.k8s.io/min-operator-version: 1.{n}.0\n"
        );
        sandbox.write(format!("in/{n}.yaml"), object);
    }
    let ends = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&ends);
    let mut request = PackRequest {
        progress: Progress::new(move |done, all| {
            if done == all {
                seen.fetch_add(1, Ordering::Relaxed);
            }
        }),
        ..PackRequest::default()
    };
    request.identity.package = Some("demo".parse().unwrap());
    request.identity.version = Some("1.0.0".parse().unwrap());
    request.identity.operator_id = Some("op".parse().unwrap());
    let mut spool = Spool::new(sandbox.tmp());
    let packed = pack(&sandbox.path("in"), &request, &mut spool).unwrap();
    let minimum = packed.bundle.metadata.min_operator_version.unwrap();
    assert_eq!(minimum.to_string(), "1.2.0");
    assert_eq!(packed.findings, []);
    assert_eq!(ends.load(Ordering::Relaxed), 1);
}
