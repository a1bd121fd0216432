//! `--format json`: which keys an answer has, whatever applies, and that an error is one line.

use serde_json::{Value, json};

use crate::support::{DockerRegistry, Ran, Sandbox, bundle_dir};

use super::{Parts, etcd};

const KEYS: [&str; 13] = [
    "reference",
    "repository",
    "tag",
    "digest",
    "size",
    "package",
    "version",
    "operatorId",
    "minOperatorVersion",
    "leftOut",
    "addedKeys",
    "output",
    "changed",
];

/// Asserts that an answer has the keys of all answers and some more, and no others.
#[track_caller]
fn record(ran: &Ran, more: &[&str]) -> Value {
    let value = ran.ok().json();
    let mut found: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = [&KEYS[..], more].concat();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{ran}");
    value
}

/// Asserts some members of an answer.
#[track_caller]
fn assert_members(value: &Value, expected: &Value) {
    for (key, expected) in expected.as_object().unwrap() {
        assert_eq!(&value[key], expected, "{key} in {value:#}");
    }
}

#[test]
fn every_answer_has_all_keys() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    sandbox.write("etcd/manifests/.DS_Store", "x");
    let digest = Parts::of(&sandbox, "etcd").manifest;
    let repository = registry.repository("answers");
    let reference = format!("{repository}:1.0.0");
    let json = |words: &[&str]| sandbox.run(words.iter().copied().chain(["--format", "json"]));
    let is = json!({
        "digest": digest, "package": "etcd", "version": "1.0.0", "operatorId": "etcd-manager",
        "minOperatorVersion": "1.4.0",
    });

    let packed = record(&json(&["pack", "etcd", "-o", "etcd.tar"]), &[]);
    assert_members(&packed, &is);
    let here = json!({"reference": format!("oci-archive:etcd.tar@{digest}"), "repository": null, "tag": "1.0.0"});
    assert_members(&packed, &here);
    assert_eq!(packed["leftOut"][0]["path"], "manifests/.DS_Store");
    assert_eq!(packed["leftOut"].as_array().unwrap().len(), 1);
    let size = packed["size"].as_u64().unwrap();
    assert!(size > 1000, "{packed}");

    let there = json!({"reference": format!("{repository}@{digest}"), "repository": repository, "tag": "1.0.0"});
    let pushed = record(&json(&["push", "etcd", &repository]), &["tags", "channels"]);
    for expected in [
        &is,
        &there,
        &json!({"size": size, "leftOut": packed["leftOut"]}),
    ] {
        assert_members(&pushed, expected);
    }
    let pulled = record(&json(&["pull", &reference, "-o", "out"]), &[]);
    for expected in [
        &is,
        &there,
        &json!({"size": size, "leftOut": null, "output": "out", "changed": true}),
    ] {
        assert_members(&pulled, expected);
    }
    // What is packed already has nothing left out; by digest there is no tag.
    let again = record(
        &json(&["push", "etcd.tar", &repository]),
        &["tags", "channels"],
    );
    for expected in [
        &is,
        &there,
        &json!({"size": size, "leftOut": null, "changed": false}),
    ] {
        assert_members(&again, expected);
    }
    let verified = record(
        &json(&["verify", &format!("{repository}@{digest}")]),
        &["checks"],
    );
    for expected in [
        &is,
        &json!({"repository": repository, "tag": null, "size": size, "leftOut": null}),
    ] {
        assert_members(&verified, expected);
    }
    let first = json!({"name": "digest", "outcome": "passed", "expected": null, "found": digest});
    assert_eq!(verified["checks"][0], first);

    let copied = record(&json(&["copy", &reference, "oci:layout"]), &["referrers"]);
    assert_members(
        &copied,
        &json!({
            "reference": format!("oci:layout:1.0.0@{digest}"), "repository": null, "tag": "1.0.0", "digest": digest,
            "size": size, "package": "etcd", "version": "1.0.0", "operatorId": "etcd-manager", "minOperatorVersion": "1.4.0",
            "leftOut": null, "referrers": [],
        }),
    );
    let unpacked = record(&json(&["unpack", "etcd.tar", "-o", "unpacked"]), &[]);
    assert_members(&unpacked, &is);
    let tagged = record(&json(&["tag", &reference, "stable"]), &["tags"]);
    assert_members(
        &tagged,
        &json!({"tag": "stable", "tags": ["stable"], "digest": digest}),
    );
}

#[test]
fn a_bundle_for_nobody_in_particular_has_null_for_its_operator() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let ran = sandbox.run(["pack", "etcd", "-o", "a.tar", "--format", "json"]);
    let expected = json!({"operatorId": null, "minOperatorVersion": null, "leftOut": []});
    assert_members(&record(&ran, &[]), &expected);
}

#[test]
fn an_error_is_one_line_of_json_on_stderr() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("errors");
    let reference = format!("{repository}:1.0.0");
    sandbox.run(["push", "etcd", &repository]).ok();
    sandbox.run(["pack", "etcd", "-o", "etcd.tar"]).ok();
    let manifest = sandbox.path("etcd/manifests/configmap.yaml");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("info", "debug")).unwrap();
    let absent = format!("{repository}:2.0.0");
    let cases: [(&[&str], i32, &str); 8] = [
        (&["pull", &repository], 2, "usage"),
        (&["pull", "REGISTRY.example/Upper:x"], 2, "usage"),
        (&["pull", &reference, "--no-such-flag"], 2, "usage"),
        (&["verify", &absent], 3, "not-found"),
        (&["pull", &reference, "--package", "redis"], 10, "refused"),
        (&["verify", "etcd.tar", "--version", "2.0.0"], 10, "refused"),
        (&["push", "etcd", &repository], 13, "conflict"),
        (&["pack", "etcd", "-o", "etcd.tar"], 13, "conflict"),
    ];
    for (words, code, kind) in cases {
        let ran = sandbox.run(words.iter().copied().chain(["-q", "--format", "json"]));
        ran.assert_code(code);
        assert_eq!(ran.stdout(), "", "{ran}");
        assert_eq!(ran.stderr().lines().count(), 1, "{ran}");
        let error = ran.error_json();
        assert_members(
            &error,
            &json!({"kind": kind, "code": code, "retryable": false}),
        );
        assert!(!error["message"].as_str().unwrap().is_empty());
        let mut allowed = vec![
            "kind",
            "code",
            "message",
            "stage",
            "reference",
            "digest",
            "file",
            "line",
        ];
        allowed.extend([
            "expected",
            "found",
            "retryable",
            "hint",
            "findings",
            "checks",
        ]);
        assert_eq!(error.get("checks").is_some(), kind == "refused", "{ran}");
        for (key, value) in error.as_object().unwrap() {
            assert!(
                allowed.contains(&key.as_str()) && !value.is_null(),
                "{key}{ran}"
            );
        }
    }
}
