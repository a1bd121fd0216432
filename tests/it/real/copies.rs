//! Copies between registries, layouts and archives: the digest stays, nothing is left behind unnamed.

use serde_json::{Value, json};

use crate::support::{DockerRegistry, Ran, Sandbox, bundle_dir};

use super::{
    INDEX, MANIFEST, Parts, answer, asked, assert_pulled, etcd, manifest, path_of, put_blob,
    put_manifest, sha256, sorted, tagged, tree,
};

#[test]
fn a_bundle_is_pushed_looked_at_and_pulled() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("life");
    let reference = format!("{repository}:1.0.0");
    let pushed = sandbox.run(["push", "etcd", &repository]);
    let pinned = answer(&pushed).to_owned();
    let digest = pinned.strip_prefix(&format!("{repository}@")).unwrap();
    assert_eq!(tagged(&repository, "1.0.0").as_deref(), Some(digest));

    let verified = sandbox.run(["verify", &reference, "--package", "etcd"]);
    assert_eq!(answer(&verified), pinned);
    verified.assert_stderr_row(&format!("digest passed {digest}"));
    verified.assert_stderr_row("package passed");
    verified.assert_stderr_row("operator id not asked");
    sandbox
        .run(["verify", &reference, "--package", "redis"])
        .assert_code(10)
        .assert_stderr_row("package failed");

    let shown = sandbox.run(["inspect", &reference]);
    for line in [
        format!("reference: {pinned}").as_str(),
        "package: etcd",
        "version: 1.0.0",
        "operator id: etcd-manager",
        "minimum operator version: 1.4.0",
        "objects: 2",
    ] {
        shown.ok().assert_stdout_has(line);
    }
    sandbox.run(["validate", &reference]).ok();
    assert_eq!(answer(&sandbox.run(["list", &repository])), "1.0.0");
    assert_eq!(answer(&sandbox.run(["tag", &reference, "stable"])), pinned);
    let listed = sandbox.run(["list", &repository]);
    assert_eq!(listed.ok().stdout(), "1.0.0\nstable\n");
    assert_eq!(tagged(&repository, "stable").as_deref(), Some(digest));

    // Without an output it is named for the bundle; the same is left as it is, and another is not written over.
    assert_eq!(answer(&sandbox.run(["pull", &reference])), pinned);
    assert_pulled(&sandbox, "etcd-1.0.0");
    sandbox.run(["pull", &reference]).ok();
    sandbox.write("etcd-1.0.0/manifests/configmap.yaml", "");
    sandbox.run(["pull", &reference]).assert_code(13);
    sandbox.run(["pull", &reference, "--force", "--prune"]).ok();
    // What was pulled is the same bundle again.
    assert_eq!(Parts::of(&sandbox, "etcd-1.0.0").manifest, digest);
}

#[test]
fn within_one_registry_blobs_are_mounted() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    let (from, to) = (registry.repository("from"), registry.repository("to"));
    sandbox.run(["push", "etcd", &from]).ok();
    registry.mark();
    let source = format!("{from}:1.0.0");
    let copied = sandbox.run(["copy", &source, &to]);
    assert_eq!(answer(&copied), format!("{to}@{}", parts.manifest));
    copied.assert_stderr_has("2 mounted");
    let (path_from, path_to) = (path_of(&from), path_of(&to));
    let names = [
        (path_from, "FROM"),
        (path_to, "TO"),
        (parts.manifest.as_str(), "MANIFEST"),
        (parts.config.as_str(), "CONFIG"),
        (parts.layer.as_str(), "LAYER"),
    ];
    let seen = asked(&registry, &names);
    let at = |wanted: &str| seen.iter().position(|line| line == wanted);
    for blob in ["CONFIG", "LAYER"] {
        let mount = format!("POST /v2/TO/blobs/uploads/?mount={blob}&from=FROM 201");
        let mount = at(&mount).unwrap_or_else(|| panic!("{blob} is not mounted: {seen:?}"));
        assert!(
            mount < at("PUT /v2/TO/manifests/1.0.0 201").unwrap(),
            "{seen:?}"
        );
    }
    // No byte of a blob travels in either direction.
    let moved = seen
        .iter()
        .any(|line| line.starts_with("GET /v2/FROM/blobs/") || line.contains("/blobs/uploads/ID"));
    assert!(!moved, "{seen:?}");
    sandbox.run(["verify", &format!("{to}:1.0.0")]).ok();
}

#[test]
fn the_digest_survives_a_journey_through_every_kind_of_place() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let start = registry.repository("start");
    let pushed = sandbox.run(["push", "etcd", &start]);
    let digest = answer(&pushed).split_once('@').unwrap().1;
    let end = registry.repository("end");
    let start = format!("{start}:1.0.0");
    for (from, to, place) in [
        (start.as_str(), "oci:layout", "oci:layout:1.0.0"),
        ("oci:layout:1.0.0", "first.tar", "oci-archive:first.tar"),
        (
            "first.tar",
            "oci-archive:second.tar:1.0.0",
            "oci-archive:second.tar",
        ),
        (
            "oci-archive:second.tar",
            "oci:other:stable",
            "oci:other:stable",
        ),
        ("oci:other", end.as_str(), end.as_str()),
    ] {
        let copied = sandbox.run(["copy", from, to]);
        assert_eq!(
            answer(&copied),
            format!("{place}@{digest}"),
            "{from} to {to}"
        );
    }
    // The last one took the name that it had in its source.
    assert_eq!(tagged(&end, "stable").as_deref(), Some(digest));
    sandbox
        .run(["pull", &format!("{end}:stable"), "-o", "out"])
        .ok();
    assert_pulled(&sandbox, "out");
    // Two archives of the same are the same.
    let archives =
        ["first.tar", "second.tar"].map(|name| std::fs::read(sandbox.path(name)).unwrap());
    assert!(archives[0] == archives[1]);
    // A file that is the same already stays, and any other is not replaced.
    sandbox.run(["copy", &start, "first.tar"]).ok();
    assert!(std::fs::read(sandbox.path("first.tar")).unwrap() == archives[0]);
    sandbox.write("other.tar", "mine");
    sandbox.run(["copy", &start, "other.tar"]).assert_code(13);
    assert_eq!(std::fs::read(sandbox.path("other.tar")).unwrap(), b"mine");
}

/// Makes a layout with an index of two images under `multi`; returns the digest of the index and of all below it.
fn layout_with_index(sandbox: &Sandbox, layout: &str) -> (String, Vec<String>) {
    let mut below = Vec::new();
    let mut children = Vec::new();
    for (version, architecture) in [("1.0.0", "amd64"), ("2.0.0", "arm64")] {
        let directory = format!("{layout}-{version}");
        bundle_dir(sandbox.path(&directory), "etcd", version, None);
        sandbox
            .run(["pack", &directory, "-o", &format!("oci:{layout}")])
            .ok();
        let parts = Parts::of(sandbox, &directory);
        let file = blob_path(sandbox, layout, &parts.manifest);
        let size = std::fs::metadata(file).unwrap().len();
        let platform = json!({"os": "linux", "architecture": architecture});
        children.push(json!({"mediaType": MANIFEST, "digest": parts.manifest, "size": size, "platform": platform}));
        below.extend([parts.manifest, parts.config, parts.layer]);
    }
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": children}).to_string();
    let digest = sha256(index.as_bytes());
    std::fs::write(blob_path(sandbox, layout, &digest), &index).unwrap();
    let names = sandbox.path(layout).join("index.json");
    let mut value: Value = serde_json::from_slice(&std::fs::read(&names).unwrap()).unwrap();
    value["manifests"].as_array_mut().unwrap().push(json!({
        "mediaType": INDEX, "digest": digest, "size": index.len(),
        "annotations": {"org.opencontainers.image.ref.name": "multi"},
    }));
    std::fs::write(&names, value.to_string()).unwrap();
    (digest, below)
}

fn blob_path(sandbox: &Sandbox, layout: &str, digest: &str) -> std::path::PathBuf {
    sandbox
        .path(layout)
        .join("blobs")
        .join(digest.replace(':', "/"))
}

#[test]
fn an_index_is_copied_with_all_its_platforms() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    let (digest, mut below) = layout_with_index(&sandbox, "in");
    let repository = registry.repository("multi");
    registry.mark();
    let copied = sandbox.run(["copy", "oci:in:multi", &repository]);
    assert_eq!(answer(&copied), format!("{repository}@{digest}"));
    assert_eq!(
        tagged(&repository, "multi").as_deref(),
        Some(digest.as_str())
    );
    for child in [&below[0], &below[3]] {
        assert!(manifest(&repository, child).is_some(), "{child} is missing");
    }
    // The index comes after both of its images, and each of these after its blobs.
    let names = [
        (path_of(&repository), "R"),
        (&*digest, "INDEX"),
        (&*below[0], "A"),
        (&*below[3], "B"),
    ];
    let seen = asked(&registry, &names);
    let manifests = seen
        .iter()
        .filter(|line| line.starts_with("PUT /v2/R/manifests/"));
    let manifests: Vec<_> = manifests.map(String::as_str).collect();
    assert_eq!(
        manifests,
        [
            "PUT /v2/R/manifests/A 201",
            "PUT /v2/R/manifests/B 201",
            "PUT /v2/R/manifests/multi 201"
        ]
    );

    let reference = format!("{repository}:multi");
    for (from, to) in [(reference.as_str(), "multi.tar"), ("multi.tar", "oci:out")] {
        assert!(answer(&sandbox.run(["copy", from, to])).ends_with(&digest));
    }
    // Exactly the index and what is below it arrived, whole.
    let blobs = tree(sandbox.path("out/blobs/sha256"));
    let mut found: Vec<String> = blobs.values().map(|bytes| sha256(bytes)).collect();
    let named: Vec<String> = blobs.keys().map(|name| format!("sha256:{name}")).collect();
    found.sort_unstable();
    assert_eq!(found, named);
    below.push(digest);
    below.sort_unstable();
    below.dedup();
    assert_eq!(found, below);
    let index = std::fs::read(sandbox.path("out/index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(index["manifests"].as_array().unwrap().len(), 1, "{index}");
    // An index is no bundle, and nothing picks one of the two in silence.
    sandbox.run(["pull", &reference]).assert_code(11);
}

/// Puts a manifest with a subject, its entry under the fallback tag, and an older signature beside them.
fn put_referrers(repository: &str, digest: &str) -> (String, String) {
    let subject = manifest(repository, digest).unwrap();
    let config = put_blob(repository, b"{}");
    let layer = put_blob(repository, b"a list of what is in it");
    let config =
        json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": config, "size": 2});
    let layer = json!({"mediaType": "text/plain", "digest": layer, "size": 23});
    let sbom = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "artifactType": "application/vnd.example.sbom",
        "config": config, "layers": [layer],
        "subject": {"mediaType": MANIFEST, "digest": digest, "size": subject.len()},
    })
    .to_string();
    let referrer = put_manifest(
        repository,
        &sha256(sbom.as_bytes()),
        MANIFEST,
        sbom.as_bytes(),
    );
    let list = json!({
        "schemaVersion": 2, "mediaType": INDEX,
        "manifests": [{
            "mediaType": MANIFEST, "digest": referrer, "size": sbom.len(),
            "artifactType": "application/vnd.example.sbom",
        }],
    })
    .to_string();
    put_manifest(
        repository,
        &digest.replace(':', "-"),
        INDEX,
        list.as_bytes(),
    );
    let signature = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        "annotations": {"of": digest},
    })
    .to_string();
    let tag = format!("{}.sig", digest.replace(':', "-"));
    let signature = put_manifest(repository, &tag, MANIFEST, signature.as_bytes());
    (referrer, signature)
}

/// The digests that the fallback tag of a manifest lists.
fn listed(repository: &str, digest: &str) -> Vec<String> {
    let Some(bytes) = manifest(repository, &digest.replace(':', "-")) else {
        return Vec::new();
    };
    let index: Value = serde_json::from_slice(&bytes).unwrap();
    let manifests = index["manifests"].as_array().unwrap().iter();
    manifests
        .map(|entry| entry["digest"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn referrers_are_named_or_taken_along() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let source = registry.repository("signed");
    let pushed = sandbox.run(["push", "etcd", &source]);
    let digest = answer(&pushed).split_once('@').unwrap().1;
    let (referrer, signature) = put_referrers(&source, digest);
    let sig = format!("{}.sig", digest.replace(':', "-"));
    let source = format!("{source}:1.0.0");

    // Without -r both are counted and named, and stay.
    let bare = registry.repository("bare");
    let copied = sandbox.run(["copy", &source, &bare, "--format", "json"]);
    copied.ok();
    for words in [
        "referrers: 2",
        "-r",
        &referrer,
        &sig,
        "application/vnd.example.sbom",
    ] {
        copied.assert_stderr_has(words);
    }
    let told = copied.json()["referrers"].clone();
    assert_eq!(
        told,
        json!([
            {"digest": referrer, "artifactType": "application/vnd.example.sbom", "tag": null, "copied": false},
            {"digest": signature, "artifactType": null, "tag": sig, "copied": false},
        ])
    );
    assert_eq!(manifest(&bare, &referrer), None);
    assert_eq!(manifest(&bare, &sig), None);
    assert_eq!(listed(&bare, digest), [] as [&str; 0]);

    // With -r they arrive, also where the image is already, and by way of a layout and an archive.
    let other = registry.repository("other");
    for (from, to) in [
        (source.as_str(), bare.as_str()),
        (source.as_str(), "oci:layout"),
        ("oci:layout:1.0.0", "archive.tar"),
        ("oci-archive:archive.tar:1.0.0", other.as_str()),
    ] {
        let copied = sandbox.run(["copy", "-r", from, to]);
        assert!(answer(&copied).ends_with(digest), "{copied}");
        copied.assert_stderr_has("referrers: 2 copied");
    }
    for repository in [&bare, &other] {
        assert_eq!(listed(repository, digest), [referrer.as_str()]);
        assert!(manifest(repository, &referrer).is_some());
        assert_eq!(
            tagged(repository, &sig).as_deref(),
            Some(signature.as_str())
        );
    }
    // Their tags are no versions: they are shown to those who ask.
    assert_eq!(answer(&sandbox.run(["list", &other])), "1.0.0");
    let all = sandbox.run(["list", &other, "--all"]);
    let mut lines: Vec<String> = all.ok().stdout().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    assert_eq!(sorted(&lines), ["1.0.0", &digest.replace(':', "-"), &sig]);
}

#[test]
fn a_referrer_of_something_else_is_not_taken_along() {
    let registry = DockerRegistry::open();
    let sandbox = Sandbox::new();
    let repository = registry.repository("wrong");
    etcd(&sandbox, "1.0.0");
    let one = sandbox.run(["push", "etcd", &repository]);
    etcd(&sandbox, "2.0.0");
    let two = sandbox.run(["push", "etcd", &repository]);
    fn digest(ran: &Ran) -> &str {
        answer(ran).split_once('@').unwrap().1
    }
    put_referrers(&repository, digest(&one));
    // The list of the first is put under the tag of the second: its entry has another subject.
    let list = manifest(&repository, &digest(&one).replace(':', "-")).unwrap();
    put_manifest(&repository, &digest(&two).replace(':', "-"), INDEX, &list);
    let ran = sandbox.run(["copy", "-r", &format!("{repository}:2.0.0"), "out.tar"]);
    ran.assert_code(7).assert_stderr_has(digest(&one));
    assert!(!sandbox.path("out.tar").exists());
}
