//! Images as Docker and buildah build them from `bundle.Dockerfile`: several layers, labels and no annotations, both formats.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::{PREFIX, codes, csv, metadata};
use crate::cases::config_map;
use crate::real::{answer, sha256, tree};
use crate::support::targen::TarGen;
use crate::support::{Act, DockerRegistry, Http, MockRegistry, Ran, Sandbox, on};

const OCI: [&str; 3] = [
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip",
];
const DOCKER: [&str; 3] = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.container.image.v1+json",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

/// An image that one of OLM's tools would build.
struct Built {
    types: [&'static str; 3],
    labels: Value,
    /// The files of each layer.
    layers: Vec<Vec<(&'static str, String)>>,
    /// Whether the config says of the last layer what it is.
    is_honest: bool,
}

impl Built {
    /// One version, in three layers as the three `COPY` lines of the Dockerfile make them.
    fn of(version: &str, spec: &str) -> Self {
        let labels = json!({
            format!("{PREFIX}.mediatype.v1"): "registry+v1",
            format!("{PREFIX}.manifests.v1"): "manifests/",
            format!("{PREFIX}.metadata.v1"): "metadata/",
            format!("{PREFIX}.package.v1"): "sample",
            format!("{PREFIX}.channels.v1"): "stable,4.x",
            "operators.operatorframework.io.test.config.v1": "tests/scorecard/",
        });
        Self {
            types: OCI,
            labels,
            layers: vec![
                vec![
                    ("manifests/csv.yaml", csv(version, spec)),
                    ("manifests/map.yaml", config_map("map")),
                ],
                vec![(
                    "metadata/annotations.yaml",
                    metadata("sample", "stable,4.x"),
                )],
                vec![(
                    "tests/scorecard/config.yaml",
                    "kind: Configuration\n".to_owned(),
                )],
            ],
            is_honest: true,
        }
    }

    /// Puts it into a repository under a tag; returns its digest.
    fn put(&self, registry: &MockRegistry, tag: &str) -> String {
        let (blobs, manifest) = self.build();
        for blob in &blobs {
            registry.put_blob("sample", blob);
        }
        registry.put_manifest("sample", tag, self.types[0], &manifest)
    }

    /// Sends it to a repository of a real registry under a tag, as the builders do; returns its digest.
    fn send(&self, registry: &DockerRegistry, repository: &str, tag: &str) -> String {
        let (blobs, manifest) = self.build();
        let name = repository.split_once('/').unwrap().1;
        let http = Http::new(None);
        let send = |method: &str, url: &str, media_type: &str, bytes: &[u8]| {
            let headers = [("content-type", media_type)];
            let sent = http.send(method, url, &headers, bytes.to_vec()).unwrap();
            assert!(matches!(sent.status, 201 | 202), "{url}: {sent:?}");
            sent
        };
        for blob in &blobs {
            let bytes = "application/octet-stream";
            let begin = registry.url(&format!("/v2/{name}/blobs/uploads/"));
            let session = send("POST", &begin, bytes, b"")
                .header("location")
                .to_owned();
            let separator = if session.contains('?') { '&' } else { '?' };
            let digest = sha256(blob).replace(':', "%3A");
            send(
                "PUT",
                &format!("{session}{separator}digest={digest}"),
                bytes,
                blob,
            );
        }
        let url = registry.url(&format!("/v2/{name}/manifests/{tag}"));
        send("PUT", &url, self.types[0], &manifest);
        sha256(&manifest)
    }

    /// Makes its blobs and its manifest.
    fn build(&self) -> (Vec<Vec<u8>>, Vec<u8>) {
        let [manifest_type, config_type, layer_type] = self.types;
        let mut diff_ids = Vec::new();
        let mut layers = Vec::new();
        let mut blobs = Vec::new();
        for files in &self.layers {
            let mut archive = TarGen::new();
            let mut directories = Vec::new();
            for (path, text) in files {
                for (at, _) in path.match_indices('/') {
                    let directory = &path[..=at];
                    if !directories.contains(&directory) {
                        directories.push(directory);
                        archive = archive.dir(directory);
                    }
                }
                archive = archive.file(path, text.as_bytes());
            }
            let archive = archive.end();
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(&archive).unwrap();
            let blob = encoder.finish().unwrap();
            diff_ids.push(sha256(&archive));
            layers.push(
                json!({ "mediaType": layer_type, "digest": sha256(&blob), "size": blob.len() }),
            );
            blobs.push(blob);
        }
        if !self.is_honest {
            *diff_ids.last_mut().unwrap() = sha256(b"something else");
        }
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": { "Env": ["PATH=/bin"], "WorkingDir": "/", "Labels": self.labels },
            "created": "2026-01-02T03:04:05Z",
            "history": [{ "created_by": "COPY manifests /manifests/" }],
            "rootfs": { "type": "layers", "diff_ids": diff_ids },
        });
        let config = serde_json::to_vec(&config).unwrap();
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": manifest_type,
            "config": { "mediaType": config_type, "digest": sha256(&config), "size": config.len() },
            "layers": layers,
        });
        blobs.push(config);
        (blobs, serde_json::to_vec(&manifest).unwrap())
    }

    fn label(mut self, key: &str, value: &str) -> Self {
        self.labels[format!("{PREFIX}.{key}")] = value.into();
        self
    }

    fn file(mut self, layer: usize, path: &'static str, text: impl Into<String>) -> Self {
        self.layers[layer].retain(|(other, _)| *other != path);
        self.layers[layer].push((path, text.into()));
        self
    }
}

#[test]
fn an_image_of_olm_is_inspected_verified_validated_pulled_and_copied() {
    let registry = MockRegistry::plain();
    let repository = registry.repository("sample");
    for types in [OCI, DOCKER] {
        let sandbox = Sandbox::new();
        let built = Built {
            types,
            ..Built::of("1.2.0", "  minKubeVersion: 1.28.0\n")
        };
        let digest = built.put(&registry, "v1.2.0");
        let reference = format!("{repository}:v1.2.0");
        let inspected = sandbox.run(["inspect", &reference, "--format", "json"]);
        let value = inspected.ok().json();
        assert_eq!(value["digest"], digest);
        assert_eq!(
            (&value["package"], &value["version"]),
            (&json!("sample"), &json!("1.2.0"))
        );
        assert_eq!(value["operatorId"], Value::Null);
        assert_eq!(value["differences"], json!([]));
        assert_eq!(value["objects"].as_array().unwrap().len(), 2);
        assert_eq!(value["leftOut"][0]["path"], "tests/scorecard/config.yaml");
        let text = sandbox.run(["inspect", &reference]);
        text.ok()
            .assert_stdout_has("minimum Kubernetes version: 1.28.0");
        text.assert_stdout_has("mediatype: registry+v1");
        text.assert_stdout_has("channels: stable\n");

        let validated = sandbox.run(["validate", &reference, "--format", "json"]);
        assert_eq!(validated.ok().json()["errors"], 0);
        validated.assert_stdout_has("OLM's channel `4.x`");

        let verify = |more: &[&str]| {
            let call = ["verify", &reference]
                .into_iter()
                .chain(more.iter().copied());
            sandbox.run(call).code()
        };
        assert_eq!(verify(&["--package", "sample", "--version", "^1.2"]), 0);
        assert_eq!(verify(&["--version", "^2"]), 10);
        assert_eq!(verify(&["--kubernetes-version", "1.27"]), 10);
        assert_eq!(verify(&["--operator-id", "sample"]), 10);
        assert_eq!(verify(&["--operator-id", "sample", "--allow-unbound"]), 0);

        // What is pulled is what OLM would find, and can be packed again for everybody.
        sandbox.run(["pull", &reference, "-o", "out"]).ok();
        let files = tree(sandbox.path("out"));
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "manifests/csv.yaml",
                "manifests/map.yaml",
                "metadata/annotations.yaml"
            ]
        );
        sandbox.run(["push", "out", "oci:ours"]).ok();
        sandbox.run(["copy", &reference, "oci:store:v1.2.0"]).ok();
        let pushed = sandbox.run(["push", "oci:store:v1.2.0", "oci:again"]);
        assert!(
            answer(&pushed).ends_with(&format!("1.2.0@{digest}")),
            "{pushed}"
        );
    }
}

#[test]
fn layers_are_fetched_as_many_at_a_time_as_was_said() {
    let registry = MockRegistry::plain();
    Built::of("1.2.0", "  minKubeVersion: 1.28.0\n").put(&registry, "v1.2.0");
    let reference = format!("{}:v1.2.0", registry.repository("sample"));
    for (more, layers) in [(&["--concurrency", "1"][..], 1), (&[], 3)] {
        registry.clear_rules();
        registry.mark();
        // The config comes first and alone.
        registry.rule(on("GET", "/blobs/").from(2), Act::Stall);
        let call = ["pull", &reference, "--timeout", "2s"];
        let sandbox = Sandbox::new();
        let ran = sandbox.run(call.iter().chain(more).copied());
        ran.assert_code(5);
        let log = registry.log();
        let asked = log.iter().filter(|line| line.contains("/blobs/")).count();
        assert_eq!(asked, 1 + layers, "{log:?}{ran}");
    }
}

#[test]
fn a_real_registry_takes_and_gives_images_of_olm_and_their_tags_with_a_v_are_found() {
    let registry = DockerRegistry::local();
    for types in [OCI, DOCKER] {
        let sandbox = Sandbox::new();
        let repository = registry.repository("sample");
        let built = |version: &str| Built {
            types,
            ..Built::of(version, "  minKubeVersion: 1.28.0\n")
        };
        let old = built("1.1.0").send(&registry, &repository, "v1.1.0");
        let new = built("1.2.0").send(&registry, &repository, "v1.2.0");
        let reference = format!("{repository}:v1.2.0");
        let call = ["inspect", &reference, "--format", "json"];
        let value = sandbox.run(call).ok().json();
        assert_eq!(
            (&value["digest"], &value["version"]),
            (&json!(new), &json!("1.2.0"))
        );
        let ran = resolve(&sandbox, &repository, &["--version", "^1.1"]);
        assert_eq!(answer(&ran), format!("{repository}@{new}"));
        // A copy is the same image, in its format.
        let copied = registry.repository("copied");
        sandbox
            .run(["copy", &reference, &format!("{copied}:v1.2.0")])
            .ok();
        let call = ["inspect", &format!("{copied}:v1.2.0"), "--format", "json"];
        assert_eq!(sandbox.run(call).ok().json()["digest"], new);

        // A channel finds them by their versions, with the `v` or without; what is tagged plainly goes first.
        let add = |version: &str| {
            sandbox.run([
                "channel",
                "add",
                &repository,
                "stable",
                version,
                "--no-head",
            ])
        };
        add("1.1.0").ok();
        add("v1.2.0").ok();
        let shown = sandbox.run(["channel", "show", &repository, "stable"]);
        for digest in [&old, &new] {
            shown.ok().assert_stdout_has(digest);
        }
        built("2.0.0").send(&registry, &repository, "v2.0.0");
        built("2.0.1").send(&registry, &repository, "2.0.0");
        let ran = add("2.0.0");
        ran.assert_code(10)
            .assert_stderr_has(&format!("{repository}:2.0.0"));
        built("2.0.1").send(&registry, &repository, "v3.0.0");
        let ran = add("3.0.0");
        ran.assert_code(10)
            .assert_stderr_has(&format!("{repository}:v3.0.0"));
        let ran = add("4.0.0");
        ran.assert_code(3)
            .assert_stderr_has(&format!("{repository}:4.0.0"));
    }
}

fn resolve(sandbox: &Sandbox, repository: &str, more: &[&str]) -> Ran {
    let call = ["resolve", repository].into_iter();
    sandbox.run(call.chain(more.iter().copied()))
}

#[test]
fn a_tag_is_where_to_look_and_the_service_version_is_what_counts() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("sample");
    let old = Built::of("1.1.0", "  minKubeVersion: 1.26.0\n").put(&registry, "v1.1.0");
    let new = Built::of("1.2.0", "  minKubeVersion: 1.28.0\n").put(&registry, "v1.2.0");
    Built::of("1.2.0", "").put(&registry, "v9.0.0");
    Built {
        is_honest: false,
        ..Built::of("8.0.0", "")
    }
    .put(&registry, "8.0.0");
    Built::of("7.0.0", "")
        .file(0, "manifests/more.yaml", csv("7.0.0", ""))
        .put(&registry, "7.0.0");
    let explained =
        |more: &[&str]| resolve(&sandbox, &repository, &[&["--explain"], more].concat());
    let ran = explained(&[]);
    assert_eq!(answer(&ran), format!("{repository}@{new}"));
    ran.assert_stderr_has("9.0.0: the tag gives its version as 9.0.0, and it is 1.2.0");
    ran.assert_stderr_has("8.0.0: cannot be used: ");
    ran.assert_stderr_has("7.0.0: cannot be used: ");
    ran.assert_stderr_has("olm-csv");
    // The labels do not have it either.
    let ran = explained(&["--kubernetes-version", "1.27.3"]);
    assert_eq!(answer(&ran), format!("{repository}@{old}"));
    ran.assert_stderr_has("1.2.0: needs Kubernetes 1.28.0");
    let ran = explained(&["--operator-id", "sample"]);
    ran.assert_code(1)
        .assert_stderr_has("1.2.0: names no operator");
    let unbound = [
        "--operator-id",
        "sample",
        "--operator-version",
        "1.0.0",
        "--allow-unbound",
    ];
    assert_eq!(
        answer(&resolve(&sandbox, &repository, &unbound)),
        format!("{repository}@{new}")
    );
    resolve(&sandbox, &repository, &["--package", "other"]).assert_code(1);

    // In a channel the index says what the labels do not; it is checked against the bundle all the same.
    sandbox
        .run(["channel", "add", &repository, "stable", &new, &old])
        .ok();
    registry.mark();
    let ran = resolve(&sandbox, &repository, &["--channel", "stable"]);
    assert_eq!(answer(&ran), format!("{repository}@{new}"));
    let log = registry.log();
    assert_eq!(
        log.len(),
        6,
        "index, manifest, config and three layers: {log:?}"
    );
    let shown = sandbox.run(["channel", "show", &repository, "stable"]);
    shown.ok().assert_stdout_has("1.2.0");
}

#[test]
fn images_that_olm_would_not_read_say_why() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("sample");
    let good = || Built::of("1.2.0", "");
    let file = "metadata/annotations.yaml";
    let mut without = good();
    without.layers[0].remove(0);
    for (built, want) in [
        (without, "olm-csv"),
        (
            good().file(2, "manifests/csv.json", csv("1.2.0", "")),
            "olm-csv",
        ),
        (
            good().file(1, file, metadata("a/b", "stable")),
            "metadata-package",
        ),
        (
            good().file(
                1,
                file,
                metadata("sample", "stable").replace("registry+v1", "plain"),
            ),
            "metadata-mediatype",
        ),
        (
            good().file(0, "manifests/csv.yaml", csv("1.2", "")),
            "metadata-version",
        ),
    ] {
        built.put(&registry, "bad");
        let reference = format!("{repository}:bad");
        let validated = sandbox.run(["validate", &reference, "--format", "json"]);
        validated.assert_code(1);
        assert_eq!(codes(&validated.json()), [want], "{validated}");
        let pulled = sandbox.run(["pull", &reference, "-o", "out", "--format", "json"]);
        pulled.assert_code(11).assert_stderr_has(want);
        // A copy moves what it is.
        sandbox
            .run(["copy", &reference, "oci:store:bad", "--force"])
            .ok();
    }
    // The labels are what opm believes, and the file what OLM believes.
    good().label("package.v1", "other").put(&registry, "1.2.0");
    let reference = format!("{repository}:1.2.0");
    sandbox
        .run(["verify", &reference])
        .assert_code(10)
        .assert_stderr_has("differ in operators.operatorframework.io.bundle.package.v1");
    sandbox
        .run(["inspect", &reference])
        .ok()
        .assert_stdout_has("file sample, label other, annotation absent");
    // An image without OLM's labels is not OLM's, whatever is in it.
    let mut plain = good();
    plain.labels = json!({});
    plain.put(&registry, "plain");
    let ran = sandbox.run(["inspect", &format!("{repository}:plain")]);
    ran.assert_code(11)
        .assert_stderr_has("not a bundle: neither labels nor annotations");
    // With our label alone it is one of ours, and then nothing lies beside the two directories.
    let mut ours = good();
    ours.labels = json!({ "k8s.io.bundle.mediatype.v1": "manifests" });
    ours.put(&registry, "ours");
    let ran = sandbox.run(["inspect", &format!("{repository}:ours")]);
    ran.assert_code(11)
        .assert_stderr_has("`tests/scorecard/config.yaml` is neither in");
}
