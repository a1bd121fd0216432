//! `bundle validate` as pipelines call it: what counts as an error, what is passed over, and findings for code hosts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Ran, Sandbox};

/// A workload with an error and two notes, in a file whose name is a warning.
const OBJECTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, namespace: elsewhere}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: b}}
    spec: {containers: [{name: a, image: nginx, args: ['8080']}]}
";

fn validate(sandbox: &Sandbox, flags: &[&str]) -> Ran {
    sandbox.run([&["validate", "in"], flags].concat())
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("in/a b.yaml", OBJECTS);
    sandbox
}

#[test]
fn codes_that_are_ignored_count_for_nothing_and_are_counted() {
    let sandbox = sandbox();
    let ran = validate(&sandbox, &[]);
    assert_eq!(ran.code(), 1);
    assert!(ran.stdout().contains("[selector-mismatch]"), "{ran:?}");
    let mismatch = ["--ignore", "selector-mismatch"];
    let ran = validate(&sandbox, &mismatch);
    assert_eq!(ran.code(), 0);
    assert!(!ran.stdout().contains("selector-mismatch"), "{ran:?}");
    let closing = "1 object: 0 errors, 1 warning, 2 notes; 1 finding ignored";
    assert!(ran.stderr().contains(closing), "{ran:?}");
    let unknown = validate(&sandbox, &["--ignore", "selector-mismach"]);
    assert_eq!(unknown.code(), 2);
    assert!(unknown.stderr().contains("`selector-mismatch` is near"));
    let list = validate(&sandbox, &["--ignore", "selector-mismatch,image-tag"]);
    assert!(list.stderr().contains("repeat the flag"), "{list:?}");
    let pattern = validate(&sandbox, &["--ignore", "*.md"]);
    assert!(pattern.stderr().contains("`--exclude`"), "{pattern:?}");
}

#[test]
fn warnings_are_errors_where_that_is_asked_for() {
    let sandbox = sandbox();
    let ignore = ["--ignore", "selector-mismatch"];
    let strict = [&ignore[..], &["--strict"]].concat();
    let lenient = validate(&sandbox, &ignore);
    assert_eq!(lenient.code(), 0);
    assert!(!lenient.stderr().contains("--strict"), "{lenient:?}");
    let ran = validate(&sandbox, &strict);
    assert_eq!(ran.code(), 1);
    let why =
        "0 errors, 1 warning, 2 notes; 1 finding ignored; --strict takes the warning for an error";
    assert!(ran.stderr().contains(why), "{ran:?}");
    // Notes are no warnings.
    let rest = ["--ignore", "layout-name"];
    let ran = validate(&sandbox, &[&strict[..], &rest].concat());
    assert_eq!(ran.code(), 0);
    assert!(ran.stdout().contains("note: "), "{ran:?}");
}

#[test]
fn the_version_of_the_cluster_makes_removed_apis_errors() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "in/a.yaml",
        "apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\n",
    );
    for (flags, code, word) in [
        (&[][..], 0, "warning: "),
        (&["--kubernetes-version", "1.24"], 0, "warning: "),
        (&["--kubernetes-version", "v1.25.3"], 1, "error: "),
    ] {
        // As objects alone, and as the bundle that they would be.
        for identity in [&[][..], &["--package", "a", "--version", "1.0.0"]] {
            let ran = validate(&sandbox, &[flags, identity].concat());
            assert_eq!(ran.code(), code, "{ran:?}");
            assert!(ran.stdout().contains(word), "{ran:?}");
        }
    }
    // A bundle is for many clusters: none is named when it is packed.
    let pack = [
        "pack",
        "in",
        "-o",
        "a.tar",
        "--package",
        "a",
        "--version",
        "1.0.0",
    ];
    sandbox.run(pack).ok();
    let ran = sandbox.run(["validate", "a.tar", "--kubernetes-version", "1.25"]);
    assert_eq!(ran.code(), 1);
}

#[test]
fn code_hosts_find_each_finding_at_its_file_and_line() {
    let sandbox = sandbox();
    let ran = validate(&sandbox, &["--format", "sarif"]);
    assert_eq!(ran.code(), 1);
    let log: Value = serde_json::from_str(ran.stdout()).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let schema = log["$schema"].as_str().unwrap();
    assert!(schema.ends_with("sarif-2.1.0.json"), "{schema}");
    let runs = log["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1);
    let driver = &runs[0]["tool"]["driver"];
    assert_eq!(driver["name"], "bundle");
    let rules = driver["rules"].as_array().unwrap();
    let mut places = BTreeSet::new();
    for result in runs[0]["results"].as_array().unwrap() {
        let code = result["ruleId"].as_str().unwrap();
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], code);
        assert!(rules[index]["shortDescription"]["text"].is_string());
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let level = result["level"].as_str().unwrap();
        let locations = result["locations"].as_array().unwrap();
        assert_eq!(locations.len(), 1);
        let place = &locations[0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert_eq!(uri, "in/a%20b.yaml");
        let line = &place["region"]["startLine"];
        places.insert(format!("{level} {code} {line}"));
    }
    let expected = [
        "error selector-mismatch 5",
        "note image-tag 8",
        "note namespace-not-found 1",
        "warning layout-name 1",
    ];
    assert_eq!(places, expected.map(str::to_owned).into());
    let file = sandbox.run(["validate", "in/a b.yaml", "--format", "sarif"]);
    assert!(file.stdout().contains("\"in/a%20b.yaml\""), "{file:?}");
}

#[test]
fn only_validate_writes_sarif() {
    let sandbox = sandbox();
    let ran = sandbox.run(["inspect", "in", "--format", "sarif"]);
    assert_eq!(ran.code(), 2);
    assert_eq!(ran.error_json()["kind"], "usage");
    let gone = sandbox.run(["validate", "gone", "--format", "sarif"]);
    assert_eq!(gone.code(), 3);
    assert_eq!(gone.error_json()["kind"], "not-found");
    let log: Value = serde_json::from_str(gone.stdout()).unwrap();
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false, "{log}");
    assert_eq!(invocation["exitCode"], 3, "{log}");
}

#[test]
fn every_code_is_listed_with_what_it_means() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(["validate", "--list"]);
    let codes = manifest_bundle::validate::CHECKS;
    assert_eq!(ran.ok().stdout().lines().count(), codes.len());
    let ran = sandbox.run(["validate", "--list", "--format", "json"]);
    let listed = ran.ok().json();
    let last = listed["codes"].as_array().unwrap().last().unwrap();
    assert_eq!(last["code"], codes.last().unwrap().code);
    assert_eq!(last["about"], "consumer");
    assert_eq!(sandbox.run(["validate"]).code(), 2);
    assert_eq!(sandbox.run(["validate", "in", "--list"]).code(), 2);
}
