//! Layouts that somebody else prepared, and graphs of manifests: what is no regular file, too large, untrue or too deep.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::real::{Parts, etcd, sha256};
use crate::support::{MockRegistry, Origin, Sandbox};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A sandbox with a bundle in `oci:store`, and the digests of its parts.
fn setting() -> (Sandbox, Parts) {
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let parts = Parts::of(&sandbox, "etcd");
    sandbox.run(["push", "etcd", "oci:store"]).ok();
    (sandbox, parts)
}

fn blob(digest: &str) -> PathBuf {
    Path::new("store/blobs").join(digest.replace(':', "/"))
}

#[test]
fn t_j1_what_is_no_regular_file_in_a_layout_is_refused_and_not_waited_for() {
    let (sandbox, parts) = setting();
    let files = [
        PathBuf::from("store/oci-layout"),
        PathBuf::from("store/index.json"),
        blob(&parts.manifest),
        blob(&parts.config),
        blob(&parts.layer),
    ];
    for file in files.map(|file| sandbox.path(file)) {
        let bytes = std::fs::read(&file).unwrap();
        let outside = sandbox.write("outside", &bytes);
        for kind in ["link", "pipe", "directory"] {
            std::fs::remove_file(&file).unwrap();
            match kind {
                "link" => symlink(&outside, &file).unwrap(),
                "pipe" => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &file,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                    0,
                )
                .unwrap(),
                _ => std::fs::create_dir(&file).unwrap(),
            }
            let ran = sandbox.run(["pull", "oci:store:1.0.0", "-o", "out"]);
            ran.assert_code(8);
            assert!(!sandbox.path("out").exists(), "{kind} {}", file.display());
            if kind == "directory" {
                std::fs::remove_dir(&file).unwrap();
            } else {
                std::fs::remove_file(&file).unwrap();
            }
            std::fs::write(&file, &bytes).unwrap();
        }
    }
    sandbox.run(["pull", "oci:store:1.0.0", "-o", "out"]).ok();
}

#[test]
fn t_j2_files_of_a_layout_have_ceilings() {
    let (sandbox, _) = setting();
    for name in ["store/index.json", "store/oci-layout"] {
        let path = sandbox.path(name);
        let bytes = std::fs::read(&path).unwrap();
        let mut long = bytes.clone();
        long.resize(5 << 20, b' ');
        std::fs::write(&path, long).unwrap();
        sandbox.run(["verify", "oci:store:1.0.0"]).assert_code(9);
        std::fs::write(&path, bytes).unwrap();
    }
    sandbox.run(["verify", "oci:store:1.0.0"]).ok();
}

#[test]
fn t_j3_a_layout_that_is_not_as_it_says_is_refused() {
    let (sandbox, parts) = setting();
    let whole = std::fs::read(sandbox.path("store/index.json")).unwrap();
    let index: Value = serde_json::from_slice(&whole).unwrap();
    let no_manifests = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [] });
    let mut twice = index.clone();
    let entry = twice["manifests"][0].clone();
    twice["manifests"].as_array_mut().unwrap().push(entry);
    twice["manifests"][1]["digest"] = json!(sha256(b"other"));
    for (file, bytes, code) in [
        (blob(&parts.manifest), Some(b"{}".to_vec()), 7),
        (blob(&parts.config), Some(b"{}".to_vec()), 7),
        (blob(&parts.layer), Some(b"{}".to_vec()), 7),
        (blob(&parts.manifest), None, 3),
        (blob(&parts.config), None, 3),
        (blob(&parts.layer), None, 3),
        (
            "store/oci-layout".into(),
            Some(b"{\"imageLayoutVersion\":\"2.0.0\"}".to_vec()),
            11,
        ),
        ("store/oci-layout".into(), Some(b"{}".to_vec()), 11),
        ("store/oci-layout".into(), Some(b"{".to_vec()), 8),
        ("store/oci-layout".into(), None, 11),
        (
            "store/index.json".into(),
            Some(no_manifests.to_string().into_bytes()),
            3,
        ),
        ("store/index.json".into(), Some(b"[]".to_vec()), 8),
    ] {
        let path = sandbox.path(&file);
        let good = std::fs::read(&path).unwrap();
        match bytes {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let ran = sandbox.run(["pull", "oci:store:1.0.0", "-o", "out"]);
        assert_eq!(ran.code(), code, "{}{ran}", file.display());
        assert!(!sandbox.path("out").exists());
        std::fs::write(&path, good).unwrap();
    }
    // Two entries with one name: nobody can say which is meant.
    std::fs::write(sandbox.path("store/index.json"), twice.to_string()).unwrap();
    let ran = sandbox.run(["pull", "oci:store:1.0.0", "-o", "out"]);
    ran.assert_code(11);
    ran.assert_stderr_has("two images the name `1.0.0`");
    let pinned = format!("oci:store@{}", parts.manifest);
    sandbox.run(["pull", &pinned, "-o", "out"]).ok();
}

#[test]
fn t_j4_names_in_a_layout_are_shown_and_never_used_as_paths() {
    let (sandbox, parts) = setting();
    let path = sandbox.path("store/index.json");
    let whole = std::fs::read(&path).unwrap();
    for name in ["../../x", "other/repository:tag", "\u{1b}[2J", ""] {
        let mut index: Value = serde_json::from_slice(&whole).unwrap();
        index["manifests"][0]["annotations"] = json!({ "org.opencontainers.image.ref.name": name });
        std::fs::write(&path, index.to_string()).unwrap();
        let pinned = format!("oci:store@{}", parts.manifest);
        sandbox.run(["verify", &pinned]).ok();
        // The only image needs no name.
        sandbox.run(["verify", "oci:store"]).ok();
        sandbox.run(["list", "oci:store"]).ok();
    }
}

/// Puts an index over another manifest into a registry; returns its digest and size.
fn index_over(
    registry: &MockRegistry,
    media_type: &str,
    digest: &str,
    size: usize,
) -> (String, usize) {
    let index = json!({
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [{ "mediaType": media_type, "digest": digest, "size": size }],
    })
    .to_string();
    let digest = registry.put_manifest("graph", "deep", INDEX, index.as_bytes());
    (digest, index.len())
}

#[test]
fn t_d12_indexes_of_indexes_end_at_a_depth() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("graph");
    sandbox.run(["push", "etcd", &repository]).ok();
    let manifest = registry.manifest("graph", "1.0.0").unwrap();
    let (mut digest, mut size) = (sha256(&manifest), manifest.len());
    let mut media_type = MANIFEST;
    let deep = format!("{repository}:deep");
    for level in 1..=6 {
        (digest, size) = index_over(&registry, media_type, &digest, size);
        media_type = INDEX;
        let target = format!("oci:depth-{level}:deep");
        let ran = sandbox.run(["copy", &deep, &target]);
        let want = if level <= 4 { 0 } else { 9 };
        assert_eq!(ran.code(), want, "{level} levels{ran}");
    }
}

#[test]
fn t_d9_addresses_in_a_descriptor_are_never_asked() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("foreign");
    sandbox.run(["push", "etcd", &repository]).ok();
    let manifest = registry.manifest("foreign", "1.0.0").unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let missing = sha256(b"elsewhere");
    manifest["layers"][0]["digest"] = json!(missing);
    manifest["layers"][0]["urls"] = json!([
        format!("{}/layer", registry.base(Origin::Stranger)),
        "http://169.254.169.254/latest/",
        "file:///etc/passwd",
    ]);
    let bytes = manifest.to_string();
    registry.put_manifest("foreign", "other", MANIFEST, bytes.as_bytes());
    let other = format!("{repository}:other");
    let ran = sandbox.run(["pull", &other, "-o", "out"]);
    ran.assert_code(3);
    ran.assert_stderr_has(&missing);
    let strangers = registry
        .requests()
        .into_iter()
        .filter(|r| r.origin == Origin::Stranger);
    assert_eq!(strangers.count(), 0);
    assert!(!sandbox.path("out").exists());
}
