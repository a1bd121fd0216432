//! Bundles of the Operator Lifecycle Manager: directories and images of its tools are read as bundles, ours are packed for it
//! too, and what is none of either says so.

mod corpus;
mod images;

use std::path::Path;

use serde_json::Value;

use crate::real::{answer, tree};
use crate::support::{Sandbox, bundle_dir};

const PREFIX: &str = "operators.operatorframework.io.bundle";

/// Copies `testdata/olm/sample` into the sandbox, with what operator-sdk and authors put beside it.
fn sample(sandbox: &Sandbox, at: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/olm/sample");
    for (path, bytes) in tree(root) {
        sandbox.write(format!("{at}/{path}"), bytes);
    }
    sandbox.write(
        format!("{at}/tests/scorecard/config.yaml"),
        "kind: Configuration\n",
    );
    sandbox.write(format!("{at}/bundle.Dockerfile"), "FROM scratch\n");
}

fn csv(version: &str, spec: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: sample-operator.v{version}\nspec:\n  version: {version}\n{spec}"
    )
}

/// The metadata of OLM's bundles that these tests make, with a package and channels.
fn metadata(package: &str, channels: &str) -> String {
    format!(
        "annotations:
  {PREFIX}.mediatype.v1: registry+v1
  {PREFIX}.manifests.v1: manifests/
  {PREFIX}.metadata.v1: metadata/
  {PREFIX}.package.v1: {package}
  {PREFIX}.channels.v1: {channels}
"
    )
}

/// The codes of the errors with which a call was refused.
fn codes(value: &Value) -> Vec<&str> {
    let findings = value["findings"].as_array().unwrap().iter();
    let errors = findings.filter(|finding| finding["severity"] == "error");
    errors
        .map(|finding| finding["code"].as_str().unwrap())
        .collect()
}

#[test]
fn a_directory_of_olm_is_read_as_a_bundle_and_packed_with_the_keys_of_both() {
    let sandbox = Sandbox::new();
    sample(&sandbox, "in");
    let inspected = sandbox
        .run(["inspect", "in", "--format", "json"])
        .ok()
        .json();
    for (key, value) in [
        ("package", "sample"),
        ("version", "1.2.0"),
        ("operatorId", ""),
        ("minOperatorVersion", ""),
    ] {
        assert_eq!(inspected[key].as_str().unwrap_or_default(), value, "{key}");
    }
    let annotations = &inspected["annotations"];
    assert_eq!(
        annotations["k8s.io.bundle.kubernetes.min-version.v1"],
        "1.28.0"
    );
    assert_eq!(annotations["k8s.io.bundle.channels.v1"], "stable");
    assert_eq!(inspected["objects"].as_array().unwrap().len(), 2);
    let left_out = inspected["leftOut"].as_array().unwrap();
    let left_out: Vec<&str> = left_out
        .iter()
        .map(|one| one["path"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, ["bundle.Dockerfile", "tests/"]);

    let valid = sandbox.run(["validate", "in", "--format", "json"]);
    assert_eq!(valid.ok().json()["errors"], 0);
    assert_eq!(valid.json()["findings"][0]["code"], "metadata-olm");
    valid.assert_stderr_has("left out `tests/`: outside manifests/ and metadata/");

    // It says what it is to both, so that nothing else needs to be said.
    let plain = sandbox.run(["pack", "in", "-o", "plain.tar"]);
    let packed = sandbox.run(["pack", "in", "--olm", "-o", "sample.tar"]);
    let digest = |ran| answer(ran).split_once('@').unwrap().1.to_owned();
    assert_eq!(digest(&plain), digest(&packed));
    assert_eq!(digest(&packed), inspected["digest"]);
    packed.assert_stderr_has(" to metadata/annotations.yaml: ");

    sandbox.run(["unpack", "sample.tar", "-o", "out"]).ok();
    let found = tree(sandbox.path("out"));
    let mut wanted = tree(sandbox.path("in"));
    wanted.retain(|path, _| path.starts_with("manifests/"));
    for (path, bytes) in &wanted {
        assert_eq!(&found[path], bytes, "{path}");
    }
    assert_eq!(found.len(), wanted.len() + 1);
    let text = std::str::from_utf8(&found["metadata/annotations.yaml"]).unwrap();
    for line in [
        "k8s.io.bundle.package.v1: \"sample\"",
        "k8s.io.bundle.version.v1: \"1.2.0\"",
        "operators.operatorframework.io.bundle.mediatype.v1: \"registry+v1\"",
        "operators.operatorframework.io.bundle.channels.v1: \"stable\"",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let again = sandbox.run(["pack", "out", "-o", "again.tar"]);
    assert_eq!(digest(&again), digest(&packed));
    // It names no operator.
    let verify = |more: &[&str]| {
        let call = ["verify", "sample.tar", "--operator-id", "sample"];
        sandbox.run(call.iter().chain(more).copied()).code()
    };
    assert_eq!((verify(&[]), verify(&["--allow-unbound"])), (10, 0));
}

#[test]
fn a_bundle_of_ours_is_packed_for_olm_too_and_keeps_its_digest_without_the_flag() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "sample", "1.2.0", None);
    sandbox.write(
        "in/manifests/csv.yaml",
        csv("1.2.0", "  minKubeVersion: 1.28.0\n"),
    );
    let call = [
        "pack",
        "in",
        "--channels",
        "stable,beta",
        "--dry-run",
        "--format",
        "json",
    ];
    let before = sandbox.run(call).ok().json();
    let ran = sandbox.run(call.iter().chain(&["--olm"]).copied());
    let after = ran.ok().json();
    assert_ne!(before["digest"], after["digest"]);
    let keys = |value: &Value| {
        value["manifest"]["annotations"]
            .as_object()
            .unwrap()
            .clone()
    };
    let (before, mut after) = (keys(&before), keys(&after));
    for (key, value) in [
        ("mediatype.v1", "registry+v1"),
        ("manifests.v1", "manifests/"),
        ("metadata.v1", "metadata/"),
        ("package.v1", "sample"),
        ("channels.v1", "stable,beta"),
        ("channel.default.v1", "stable"),
    ] {
        let found = after.remove(&format!("{PREFIX}.{key}"));
        assert_eq!(found.unwrap(), value, "{key}");
    }
    let kubernetes = after.remove("k8s.io.bundle.kubernetes.min-version.v1");
    assert_eq!(kubernetes.unwrap(), "1.28.0");
    assert_eq!(before, after, "nothing else is different");

    // `push` packs on the way; opm reads the labels.
    let push = ["push", "in", "oci:store", "--olm", "--channels", "stable"];
    sandbox.run(push).ok();
    let inspected = sandbox
        .run(["inspect", "oci:store:1.2.0", "--format", "json"])
        .ok()
        .json();
    assert_eq!(inspected["differences"], Value::Array(Vec::new()));
    assert_eq!(
        inspected["annotations"][format!("{PREFIX}.package.v1")],
        "sample"
    );
    let repeated = ["push", "oci:store:1.2.0", "oci:other", "--olm"];
    sandbox
        .run(repeated)
        .assert_code(2)
        .assert_stderr_has("is packed already");
}

#[test]
fn what_olm_cannot_read_is_refused_with_a_code_and_a_hint() {
    let sandbox = Sandbox::new();
    let ours = |at: &str, version: &str, csvs: &[String]| {
        bundle_dir(sandbox.path(at), "sample", version, None);
        for (number, text) in csvs.iter().enumerate() {
            sandbox.write(format!("{at}/manifests/csv-{number}.yaml"), text);
        }
    };
    let theirs = |at: &str, metadata: &str, csvs: &[String]| {
        sandbox.write(format!("{at}/metadata/annotations.yaml"), metadata);
        sandbox.write(
            format!("{at}/manifests/a.yaml"),
            crate::cases::config_map("a"),
        );
        for (number, text) in csvs.iter().enumerate() {
            sandbox.write(format!("{at}/manifests/csv-{number}.yaml"), text);
        }
    };
    let good = csv("1.2.0", "");
    let one = [good.clone()];
    let unnamed = metadata("sample", "stable").replace("package.v1", "packages.v1");
    let versionless = good
        .replace("  version: 1.2.0\n", "  replaces: x\n")
        .replace(".v1.2.0", "");
    ours("none", "1.2.0", &[]);
    ours("two", "1.2.0", &[good.clone(), csv("1.1.0", "")]);
    ours("other", "1.3.0", &one);
    ours("channelless", "1.2.0", &one);
    theirs("their-none", &metadata("sample", "stable"), &[]);
    theirs(
        "their-two",
        &metadata("sample", "stable"),
        &[good.clone(), csv("1.1.0", "")],
    );
    theirs("their-unnamed", &unnamed, &one);
    theirs(
        "their-helm",
        &metadata("sample", "stable").replace("registry+v1", "helm"),
        &one,
    );
    theirs(
        "their-versionless",
        &metadata("sample", "stable"),
        &[versionless],
    );
    for (at, more, code, hint) in [
        (
            "none",
            &["--olm", "--channels", "stable"][..],
            "olm-csv",
            "leave out --olm",
        ),
        (
            "two",
            &["--olm", "--channels", "stable"],
            "olm-csv",
            "a bundle of its own",
        ),
        (
            "other",
            &["--olm", "--channels", "stable"],
            "metadata-version",
            "csv-0.yaml:6 says `1.2.0`",
        ),
        (
            "channelless",
            &["--olm"],
            "metadata-channels",
            "--channels stable",
        ),
        (
            "channelless",
            &["--olm", "--channels", "stable", "--mediatype", "kustomize"],
            "",
            "says `manifests`",
        ),
        (
            "their-none",
            &[],
            "olm-csv",
            "there is no ClusterServiceVersion",
        ),
        ("their-two", &[], "olm-csv", "one of 2 objects"),
        (
            "their-unnamed",
            &[],
            "metadata-required",
            "k8s.io.bundle.package.v1",
        ),
        (
            "their-helm",
            &[],
            "metadata-mediatype",
            "only `registry+v1` is read",
        ),
        (
            "their-versionless",
            &[],
            "metadata-version",
            "does not end in `.vVERSION`",
        ),
    ] {
        let call = |verb: &'static str| {
            let mut words = vec![verb, at, "--format", "json"];
            words.extend(more);
            sandbox.run(words)
        };
        let packed = call("pack");
        packed.assert_stderr_has(hint);
        if code.is_empty() {
            packed.assert_code(2);
            continue;
        }
        packed.assert_code(11);
        assert_eq!(codes(&packed.error_json()), [code], "{packed}");
        let validated = call("validate");
        validated.assert_code(1);
        assert_eq!(codes(&validated.json()), [code], "{validated}");
    }
    // Who names the bundle says that it is none of OLM's.
    let named = [
        "pack",
        "their-none",
        "--package",
        "sample",
        "--version",
        "1.2.0",
    ];
    sandbox.run(named).ok();
}

#[test]
fn commands_that_look_into_a_directory_of_olm_read_its_metadata_too() {
    let sandbox = Sandbox::new();
    sample(&sandbox, "old");
    sample(&sandbox, "new");
    let path = "new/manifests/sample.clusterserviceversion.yaml";
    let text = std::fs::read_to_string(sandbox.path(path)).unwrap();
    let image = "  relatedImages:\n  - {name: x, image: reg.example/x:1}\n";
    let text = text.replace("1.2.0", "1.3.0");
    sandbox.write(path, text.trim_end().to_owned() + "\n" + image);
    // `diff`: what packing would say of them.
    let ran = sandbox.run(["diff", "old", "new"]);
    ran.assert_code(1).assert_stdout_has(
        "-   k8s.io.bundle.version.v1: 1.2.0\n+   k8s.io.bundle.version.v1: 1.3.0\n",
    );
    assert!(!ran.stderr().contains("missing"), "{ran}");
    sandbox.run(["pack", "old", "-o", "old.tar"]).ok();
    sandbox.run(["diff", "old", "old.tar"]).ok();
    // `render`: what is expected of a bundle is found out about it.
    let render = |more: &[&str]| sandbox.run(["render", "new"].iter().chain(more).copied());
    let ran = render(&["--package", "sample", "--version", "^1.3"]);
    ran.ok().assert_stdout_has("kind: ClusterServiceVersion");
    assert!(!ran.stderr().contains("warning"), "{ran}");
    render(&["--version", "^2"]).assert_code(10);
    render(&["--kubernetes-version", "1.27"]).assert_code(10);
    render(&["--operator-id", "sample"]).assert_code(10);
    // `images`: they name no version, so that nothing is said of one.
    let ran = sandbox.run(["images", "new", "--certain"]);
    ran.ok().assert_stdout_has("reg.example/x:1\n");
    assert!(!ran.stderr().contains("warning"), "{ran}");
    // What is wrong with it is said as packing says it, and it is looked at all the same.
    sandbox.write("new/metadata/annotations.yaml", metadata("a/b", "stable"));
    render(&[])
        .ok()
        .assert_stderr_has(&format!("{PREFIX}.package.v1"));
    render(&["--package", "sample"]).assert_code(11);
}
