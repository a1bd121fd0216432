//! Cases 20 to 30: what is a document, what is an object, and what a file of YAML says.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::real::tree;
use crate::support::{Ran, Sandbox};

use super::{bundle, config_map, corpus_folder, pack};

/// The names of the objects in a bundle directory, in order.
#[track_caller]
fn objects(sandbox: &Sandbox, directory: &str) -> Vec<String> {
    let shown = sandbox.run(["inspect", directory, "--format", "json"]);
    let value = shown.ok().json();
    let objects = value["objects"].as_array().unwrap().iter();
    let name = |object: &Value| object["name"].as_str().unwrap().to_owned();
    objects.map(name).collect()
}

/// The findings about a directory as `FILE:LINE CODE`, with the paths that the files have in the bundle.
fn findings(sandbox: &Sandbox, directory: &str) -> Vec<String> {
    let ran = sandbox.run(["validate", directory, "--format", "json"]);
    let value = ran.json();
    let line = |finding: &Value| {
        let line = finding["line"].as_u64();
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        let text = |key: &str| finding[key].as_str().unwrap().to_owned();
        let file = finding["bundlePath"].as_str().map(str::to_owned);
        format!(
            "{}{line} {}",
            file.unwrap_or_else(|| text("file")),
            text("code")
        )
    };
    let findings = value["findings"].as_array().unwrap().iter();
    findings.map(line).collect()
}

/// Validates `in` of a folder of the cases.
fn validated(case: &str) -> Option<Ran> {
    let source = corpus_folder(case)?.join("in");
    let sandbox = Sandbox::new();
    let source = source.to_str().unwrap();
    Some(sandbox.run(["validate", source, "--format", "json"]))
}

#[test]
fn case_20_a_separator_with_a_comment_separates() {
    let sandbox = Sandbox::new();
    let text = format!(
        "{}--- # the next one\n{}---\t \n{}...\n",
        config_map("red"),
        config_map("green"),
        config_map("blue")
    );
    bundle(&sandbox, "in", &[("all.yaml", &text)]);
    assert_eq!(objects(&sandbox, "in"), ["red", "green", "blue"]);
    // Anything else behind the dashes is an error with its line: the document is never lost.
    let text = format!("{}--- oops\n{}", config_map("red"), config_map("green"));
    bundle(&sandbox, "in", &[("all.yaml", &text)]);
    assert_eq!(
        findings(&sandbox, "in"),
        ["manifests/all.yaml:5 yaml-lost-document"]
    );
    sandbox
        .run(["pack", "in", "-o", "out.tar"])
        .assert_code(11)
        .assert_stderr_has("manifests/all.yaml:5");
}

#[test]
fn case_20_the_file_of_the_corpus_has_three_objects() {
    if let Some(ran) = validated("20-separator-with-a-comment") {
        assert_eq!(ran.ok().json()["objects"], 3, "{ran}");
    }
}

#[test]
fn case_22_a_separator_inside_a_text_is_text() {
    let sandbox = Sandbox::new();
    let text = format!(
        "{}data:\n  script: |\n    ---\n    a: b\n    ...\n    ---\n  folded: \"x\n    ---\n    y\"\n---\n{}",
        config_map("left---right"),
        config_map("second")
    );
    bundle(&sandbox, "in", &[("text.yaml", &text)]);
    assert_eq!(objects(&sandbox, "in"), ["left---right", "second"]);
    sandbox.run(["pack", "in", "-o", "out.tar"]).ok();
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let carried = fs::read_to_string(sandbox.path("out/manifests/text.yaml"));
    assert_eq!(carried.unwrap(), text);
}

#[test]
fn case_22_the_file_of_the_corpus_has_two_objects() {
    if let Some(ran) = validated("22-separator-inside-text") {
        assert_eq!(ran.ok().json()["objects"], 2, "{ran}");
    }
}

#[test]
fn case_24_keys_that_are_there_twice_are_errors_and_merge_keys_are_not() {
    let sandbox = Sandbox::new();
    let flat = format!(
        "{}immutable: true\ndata: {{}}\nimmutable: false\n",
        config_map("flat")
    );
    let deep = format!(
        "{}data:\n  level: a\n  other: x\n  level: b\n",
        config_map("deep")
    );
    let merged = "apiVersion: v1
kind: Pod
metadata: {name: merged}
spec:
  containers:
  - &base
    name: main
    image: reg.example/main:1
    args: [\"5\"]
  - <<: *base
    name: side
    image: reg.example/side:2
";
    let files = [
        ("deep.yaml", deep.as_str()),
        ("flat.yaml", &flat),
        ("merged.yaml", merged),
    ];
    bundle(&sandbox, "in", &files);
    assert_eq!(
        findings(&sandbox, "in"),
        [
            "manifests/deep.yaml:8 yaml-duplicate-key",
            "manifests/flat.yaml:7 yaml-duplicate-key"
        ]
    );
    let ran = sandbox.run(["validate", "in"]);
    ran.assert_code(1);
    for said in [
        "`level` is there twice, first on line 6",
        "`immutable` is there twice, first on line 5",
    ] {
        ran.assert_stdout_has(said);
    }
}

#[test]
fn case_24_the_files_of_the_corpus_have_two_errors() {
    if let Some(ran) = validated("24-duplicate-keys-and-merge") {
        assert_eq!(ran.assert_code(1).json()["errors"], 2, "{ran}");
        for file in ["manifests/dup.yaml", "manifests/nested.yaml"] {
            ran.assert_stdout_has(file);
        }
    }
}

#[test]
fn case_25_scalars_are_read_as_kubernetes_reads_them_and_never_rewritten() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: v1
kind: Pod
metadata:
  name: scalars
  labels: {release: 2.10, canary: no}
spec:
  containers:
  - name: main
    image: 'reg.example/main:2.10'
    env:
    - {name: FLAGGED, value: yes}
    - {name: MODE, value: '0755'}
  volumes:
  - name: keys
    secret: {secretName: keys, defaultMode: 0440}
";
    bundle(&sandbox, "in", &[("pod.yaml", text)]);
    assert_eq!(
        findings(&sandbox, "in"),
        [
            "manifests/pod.yaml:5 unquoted",
            "manifests/pod.yaml:5 unquoted",
            "manifests/pod.yaml:11 unquoted"
        ]
    );
    let ran = sandbox.run(["validate", "in"]);
    // A warning is no error.
    for said in ["2.10", "`no`", "FLAGGED"] {
        ran.ok().assert_stdout_has(said);
    }
    sandbox.run(["pack", "in", "-o", "out.tar"]).ok();
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let carried = tree(sandbox.path("out/manifests"));
    assert_eq!(carried, tree(sandbox.path("in/manifests")));
}

#[test]
fn case_25_the_file_of_the_corpus_has_warnings_only() {
    if let Some(ran) = validated("25-yaml-1.1-scalars") {
        let value = ran.ok().json();
        assert_eq!(value["errors"], 0, "{ran}");
        for said in ["1.10", "yes", "FLAG"] {
            ran.assert_stdout_has(said);
        }
    }
}

#[test]
fn case_27_aliases_that_multiply_are_an_error_and_cost_nothing() {
    let sandbox = Sandbox::new();
    let mut text = config_map("bomb");
    text.push_str("x0: &x0 [0, 1, 2, 3, 4, 5, 6, 7]\n");
    for level in 1..12 {
        let eight = vec![format!("*x{}", level - 1); 8].join(", ");
        writeln!(text, "x{level}: &x{level} [{eight}]").unwrap();
    }
    bundle(&sandbox, "in", &[("bomb.yaml", &text)]);
    let run = sandbox.bundle(["validate", "in", "--format", "json"]);
    let ran = run.measured().run();
    ran.assert_code(1)
        .assert_stdout_has("aliases expand too far");
    ran.assert_stdout_has("manifests/bomb.yaml");
    assert!(ran.peak_rss() < 64 << 20, "{} bytes{ran}", ran.peak_rss());

    let real =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: &n real\n  labels: {a: *n, b: *n}\n";
    bundle(&sandbox, "in", &[("bomb.yaml", real)]);
    assert_eq!(objects(&sandbox, "in"), ["real"]);
}

#[test]
fn case_27_the_bomb_of_the_corpus_is_refused() {
    if let Some(ran) = validated("27-alias-bomb") {
        assert_eq!(ran.assert_code(1).json()["objects"], 1, "{ran}");
        ran.assert_stdout_has("aliases expand too far");
    }
}

#[test]
fn case_29_every_document_of_every_kind_of_file_counts() {
    let sandbox = Sandbox::new();
    let role = |kind: &str| {
        format!(
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata: {{name: \"\"}}\n"
        )
    };
    let many = format!(
        "{}{}{}",
        config_map("one"),
        role("Role"),
        role("RoleBinding")
    );
    let json = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "four"}}"#;
    let yml = config_map("five");
    bundle(
        &sandbox,
        "in",
        &[("a.yaml", &many), ("b.json", json), ("c.yml", &yml)],
    );
    sandbox.write("in/manifests/deep/d.yaml", config_map("six"));
    // The second and the third document are looked at: they have no names.
    assert_eq!(
        findings(&sandbox, "in"),
        [
            "manifests/a.yaml:6 object-incomplete",
            "manifests/a.yaml:10 object-incomplete",
            "manifests/deep layout-nested"
        ]
    );
    let named = many.replace("\"\"", "named");
    bundle(
        &sandbox,
        "flat",
        &[("a.yaml", &named), ("b.json", json), ("c.yml", &yml)],
    );
    assert_eq!(
        objects(&sandbox, "flat"),
        ["one", "named", "named", "four", "five"]
    );
}

#[test]
fn case_29_the_files_of_the_corpus_have_five_objects() {
    if let Some(ran) = validated("29-all-documents-count") {
        assert_eq!(ran.assert_code(1).json()["objects"], 5, "{ran}");
        ran.assert_stdout_has("manifests/sub");
    }
}

#[test]
fn case_30_files_that_are_no_objects_are_named_with_what_is_missing() {
    let sandbox = Sandbox::new();
    let good = config_map("good");
    let files = [
        (
            "Chart.yaml",
            "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
        ),
        ("good.yaml", good.as_str()),
        ("kustomization.yaml", "resources: [good.yaml]\n"),
        ("list.yaml", "- a\n- b\n"),
        (
            "nameless.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {}\n",
        ),
        ("values.yaml", "image: {tag: x}\n"),
    ];
    for (name, text) in files {
        sandbox.write(format!("in/{name}"), text);
    }
    assert_eq!(
        findings(&sandbox, "in"),
        [
            "manifests/Chart.yaml layout-chart",
            "manifests/kustomization.yaml layout-kustomization",
            "manifests/list.yaml:1 not-object",
            "manifests/nameless.yaml:1 object-incomplete",
            "manifests/values.yaml:1 not-object"
        ]
    );
    // One rule and one switch: faults of objects can be packed, those of the layout never.
    sandbox.run(pack("in", &["-o", "out.tar"])).assert_code(11);
    let allowed = ["-o", "out.tar", "--allow-invalid"];
    sandbox.run(pack("in", &allowed)).assert_code(11);
    for name in ["Chart.yaml", "kustomization.yaml"] {
        fs::remove_file(sandbox.path("in").join(name)).unwrap();
    }
    let refused = sandbox.run(pack("in", &["-o", "out.tar"]));
    refused.assert_code(11).assert_stderr_has("--allow-invalid");
    let packed = sandbox.run(pack("in", &allowed));
    for name in ["list.yaml", "nameless.yaml", "values.yaml"] {
        packed.ok().assert_stderr_has(&format!("in/{name}:1"));
    }
}

#[test]
fn case_30_the_files_of_the_corpus_are_named() {
    if let Some(ran) = validated("30-files-that-are-not-objects") {
        ran.assert_code(1);
        for name in [
            "Chart",
            "values",
            "kustomizeconfig",
            "notes",
            "noname",
            "kustomization",
        ] {
            ran.assert_stdout_has(&format!("manifests/{name}.yaml"));
        }
    }
}
