//! What a user writes and hands over as a source: `validate` and `pack` must see the same thing in it.

use std::path::Path;

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
