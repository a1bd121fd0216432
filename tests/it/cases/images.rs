//! Cases 24, 90 and 93: images in every place where a pod may be, and their digests.

use serde_json::Value;

use crate::support::{DockerRegistry, Ran, Sandbox, bundle_dir};

use super::{bundle, corpus_folder};

/// Images in all the places of case 90, with names of our own.
const EVERYWHERE: &str = "apiVersion: v1
kind: Pod
metadata: {name: lone}
spec:
  initContainers:
  - {name: prepare, image: 'reg.example:5000/prepare:7'}
  containers:
  - {name: run, image: 'reg.example:5000/run:7@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'}
  ephemeralContainers:
  - {name: look, image: alpine}
  volumes:
  - {name: data, image: {reference: 'reg.example:5000/data:7'}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: '0 3 * * *'
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, initContainers: [{name: a, image: 'reg.example:5000/before:7'}], containers: [{name: b, image: 'reg.example:5000/night:7'}]}}}}
---
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: kept}
  spec: {serviceName: kept, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'reg.example:5000/kept:7'}]}}}
- apiVersion: v1
  kind: PodTemplate
  metadata: {name: mould}
  template: {spec: {containers: [{name: c, image: 'reg.example:5000/mould:7'}]}}
---
apiVersion: apps/v1
kind: ReplicaSetList
items:
- metadata: {name: bare}
  spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'reg.example:5000/bare:7'}]}}}
";

fn listed(ran: &Ran) -> Vec<String> {
    ran.ok().stdout().lines().map(str::to_owned).collect()
}

#[test]
fn case_90_images_are_listed_from_every_pod() {
    let sandbox = Sandbox::new();
    bundle(&sandbox, "in", &[("all.yaml", EVERYWHERE)]);
    let wanted = [
        "alpine",
        "reg.example:5000/bare:7",
        "reg.example:5000/before:7",
        "reg.example:5000/data:7",
        "reg.example:5000/kept:7",
        "reg.example:5000/mould:7",
        "reg.example:5000/night:7",
        "reg.example:5000/prepare:7",
        "reg.example:5000/run:7@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ];
    assert_eq!(listed(&sandbox.run(["images", "in"])), wanted);
    let value = sandbox
        .run(["images", "in", "--format", "json"])
        .ok()
        .json();
    assert_eq!(
        (&value["certain"], &value["likely"]),
        (&9.into(), &0.into())
    );
    let first = &value["images"][0];
    assert_eq!(first["image"], "alpine");
    assert_eq!(first["reference"], "docker.io/library/alpine:latest");
    let place = &first["places"][0];
    assert_eq!(place["file"], "in/manifests/all.yaml");
    assert_eq!(
        (&place["line"], &place["kind"], &place["name"]),
        (&10.into(), &"Pod".into(), &"lone".into())
    );
    assert_eq!(place["path"], "spec.ephemeralContainers[0].image");
    let why = sandbox.run(["images", "in", "--why"]);
    why.ok()
        .assert_stdout_has("  docker.io/library/alpine:latest, certain")
        .assert_stdout_has(
            "in/manifests/all.yaml:37 ReplicaSet.apps bare spec.template.spec.containers[0].image",
        );
    // A list has no name of its own, and its items count as objects.
    let value = sandbox
        .run(["validate", "in", "--format", "json"])
        .ok()
        .json();
    assert_eq!(
        (&value["objects"], &value["errors"]),
        (&5.into(), &0.into())
    );
    let findings = value["findings"].as_array().unwrap();
    let is_about_names = |finding: &Value| {
        let code = finding["code"].as_str().unwrap();
        code.starts_with("object-") || code == "not-object"
    };
    assert!(!findings.iter().any(is_about_names), "{value}");
}

#[test]
fn case_90_the_list_of_the_corpus_comes_out() {
    let Some(folder) = corpus_folder("90-images-in-every-pod-spec") else {
        return;
    };
    let sandbox = Sandbox::new();
    let found = listed(&sandbox.run(["images", folder.join("in").to_str().unwrap()]));
    let expected = std::fs::read_to_string(folder.join("EXPECT")).unwrap();
    let mut expected: Vec<&str> = expected.lines().collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn case_24_the_images_of_anchors_and_merges_are_listed() {
    let sandbox = Sandbox::new();
    let merged = "apiVersion: v1
kind: Pod
metadata: {name: merged}
spec:
  containers:
  - &base {name: main, image: 'reg.example/main:1'}
  - {<<: *base, name: side, image: 'reg.example/side:2'}
";
    bundle(&sandbox, "in", &[("merged.yaml", merged)]);
    let images = listed(&sandbox.run(["images", "in"]));
    assert_eq!(images, ["reg.example/main:1", "reg.example/side:2"]);
    if let Some(folder) = corpus_folder("24-duplicate-keys-and-merge") {
        sandbox
            .run(["images", folder.join("in").to_str().unwrap()])
            .assert_code(11);
        let images = sandbox.run(["images", folder.join("in/merge.yaml").to_str().unwrap()]);
        assert_eq!(listed(&images), ["base:1", "other:2"]);
    }
}

/// Two deployments, of which the second has a digest beside its tag.
fn two(host: &str, digest: &str) -> String {
    let deployment = |name: &str, image: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{a: {name}}}}}\n  template:\n    metadata: {{labels: {{a: {name}}}}}\n    spec:\n      containers:\n      - {{name: main, image: '{image}'}}\n"
        )
    };
    let (left, right) = (format!("{host}/left:7"), format!("{host}/left:7@{digest}"));
    format!(
        "{}---\n{}",
        deployment("left", &left),
        deployment("right", &right)
    )
}

#[test]
fn case_93_a_lock_keeps_the_tag_beside_the_digest() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    let host = registry.host();
    // Any image will do, and a bundle is one.
    let pushed = |version: &str| {
        let source = format!("src-{version}");
        bundle_dir(sandbox.path(&source), "left", version, None);
        let call = [
            "push",
            &source,
            &format!("{host}/left:{version}"),
            "--format",
            "json",
        ];
        let digest = sandbox.run(call).ok().json()["digest"]
            .as_str()
            .unwrap()
            .to_owned();
        let call = ["tag", &format!("{host}/left:{version}"), "7", "--force"];
        sandbox.run(call).ok();
        digest
    };
    let first = pushed("1.0.0");
    bundle(&sandbox, "in", &[("d.yaml", &two(host, &first))]);
    let value = sandbox.run(["lock", "in", "--format", "json"]).ok().json();
    let images = value["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    for image in images {
        assert_eq!(
            (&image["tag"], &image["digest"]),
            (&"7".into(), &first.as_str().into()),
            "{image}"
        );
        assert_eq!(image["pinned"], format!("{host}/left:7@{first}"));
        assert_eq!(image["places"][0]["file"], "manifests/d.yaml");
    }
    assert_eq!(images[0]["written"][0], format!("{host}/left:7"));
    let file = sandbox.path("in/metadata/images.lock.yaml");
    let lock = std::fs::read(&file).unwrap();
    sandbox.run(["lock", "in"]).ok();
    assert_eq!(
        std::fs::read(&file).unwrap(),
        lock,
        "the second run gives the same bytes"
    );
    let second = pushed("2.0.0");
    let ran = sandbox.run(["lock", "in", "--check"]);
    ran.assert_code(1)
        .assert_stdout_has(&format!("{host}/left:7: locked {first}, now {second}"))
        .assert_stdout_has(&format!(
            "{host}/left:7@{first}: locked {first}, now {second}"
        ));
    assert_eq!(std::fs::read(&file).unwrap(), lock);
    // A digest that the registry does not have is an error.
    let absent = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    bundle(&sandbox, "in", &[("d.yaml", &two(host, absent))]);
    sandbox
        .run(["lock", "in"])
        .assert_code(3)
        .assert_stderr_has(absent);
    assert_eq!(std::fs::read(&file).unwrap(), lock);
}
