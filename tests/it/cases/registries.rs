//! Cases 54 to 70: ways to a registry, and registries that refuse types, keep their tags, or lie about bytes.

use serde_json::Value;

use crate::real::{answer, tree};
use crate::registry::tls::proxy;
use crate::support::{Act, Http, MockRegistry, Modes, Sandbox, Snapshot, Tls, bundle_dir, on};

use super::config_map;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const IMAGE: [&str; 3] = [
    MANIFEST,
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.oci.image.layer.v1.tar+gzip",
];
const DOCKER: [&str; 3] = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.container.image.v1+json",
    "application/vnd.docker.image.rootfs.diff.tar.gzip",
];

/// A sandbox with a bundle, and a registry with these habits.
fn with(modes: Modes) -> (Sandbox, MockRegistry, String) {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    let registry = MockRegistry::start(modes);
    let there = registry.repository("demo");
    (sandbox, registry, there)
}

/// Pulls 1.0.0, and asserts that it is what was pushed.
#[track_caller]
fn assert_there(sandbox: &Sandbox, there: &str, out: &str) {
    let reference = format!("{there}:1.0.0");
    sandbox.run(["pull", &reference, "-o", out]).ok();
    let pulled = tree(sandbox.path(out).join("manifests"));
    assert_eq!(pulled, tree(sandbox.path("in/manifests")));
    sandbox.run(["inspect", &reference]).ok();
}

#[test]
fn case_54_the_roots_that_the_environment_names_are_used() {
    let (sandbox, registry, there) = with(Modes {
        tls: Tls::ClientCertificate,
        ..Modes::default()
    });
    let ca = registry.certs().write(&sandbox.path("pki"));
    let certificate = [
        "--cert-file",
        "pki/client.crt",
        "--key-file",
        "pki/client.key",
    ];
    let reference = format!("{there}:1.0.0");
    for words in [
        &["push", "in", &there][..],
        &["pull", &reference, "-o", "out"],
        &["verify", &reference],
        &["list", &there],
        &["copy", &reference, "oci:copy"],
    ] {
        let words = [words, &certificate].concat();
        let stranger = sandbox.run(&words);
        stranger.assert_code(5).assert_stderr_has("SSL_CERT_FILE");
        sandbox.bundle(&words).env("SSL_CERT_FILE", &ca).run().ok();
    }
}

#[test]
fn case_55_the_proxy_that_the_environment_names_is_used_for_others() {
    for (tls, flag, variables) in [
        (Tls::Off, "--plain-http", ["HTTP_PROXY", "http_proxy"]),
        (Tls::On, "--insecure", ["HTTPS_PROXY", "https_proxy"]),
    ] {
        let (sandbox, registry, there) = with(Modes {
            tls,
            ..Modes::default()
        });
        sandbox.secret("turnip-soup");
        sandbox.run(["push", "in", &there, flag]).ok();
        let (host, asked) = proxy(registry.host());
        let url = format!("http://cook:turnip-soup@{host}");
        // No name server knows this name.
        let away = "registry.case-55.invalid/demo:1.0.0";
        for (n, variable) in variables.into_iter().enumerate() {
            let out = format!("out {n}");
            let words = ["pull", away, "-o", &out, flag, "--timeout", "20s"];
            sandbox.bundle(words).env(variable, &url).run().ok();
            let heads = std::mem::take(&mut *asked.lock().unwrap());
            assert!(!heads.is_empty(), "{variable}");
            for head in heads {
                assert_eq!(head.starts_with("CONNECT "), tls == Tls::On, "{head}");
                assert!(head.contains("registry.case-55.invalid"), "{head}");
                assert!(head.to_lowercase().contains("proxy-authorization: basic "));
            }
            // Neither for this machine nor for what is excepted.
            let here = format!("{there}:1.0.0");
            let words = ["verify", &here, flag];
            sandbox.bundle(words).env(variable, &url).run().ok();
            let words = ["verify", away, flag, "--timeout", "1s"];
            let run = sandbox.bundle(words).env(variable, &url);
            let excepted = run.env("NO_PROXY", ".case-55.invalid").run();
            assert_ne!(excepted.code(), 0);
            assert_eq!(asked.lock().unwrap().len(), 0);
        }
    }
}

#[test]
fn case_64_no_artifact_type_is_needed_and_one_is_read() {
    let (sandbox, registry, there) = with(Modes {
        refuse_artifact_type: true,
        ..Modes::default()
    });
    sandbox.run(["push", "in", &there]).ok();
    assert_there(&sandbox, &there, "out");
    let manifest = registry.manifest("demo", "1.0.0").unwrap();
    let mut manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert!(manifest.get("artifactType").is_none());
    assert!(manifest["config"]["size"].as_u64().unwrap() > 2);
    // What another tool wrote in the newer form is the same bundle.
    manifest["artifactType"] = "application/vnd.example.bundle".into();
    let bytes = manifest.to_string();
    let digest = registry.put_manifest("demo", "typed", MANIFEST, bytes.as_bytes());
    let pulled = sandbox.run(["pull", &format!("{there}:typed"), "-o", "typed"]);
    assert_eq!(answer(&pulled), format!("{there}@{digest}"));
    assert_eq!(tree(sandbox.path("typed")), tree(sandbox.path("out")));
}

#[test]
fn case_65_a_registry_that_takes_images_only_takes_bundles() {
    let (sandbox, _registry, there) = with(Modes {
        media_types: Some(&IMAGE),
        ..Modes::default()
    });
    sandbox.run(["push", "in", &there]).ok();
    assert_there(&sandbox, &there, "out");
    // One that takes Docker's types only says so, and the hint works.
    let (sandbox, registry, there) = with(Modes {
        media_types: Some(&DOCKER),
        ..Modes::default()
    });
    let refused = sandbox.run(["push", "in", &there]);
    refused.assert_code(6).assert_stderr_has(MANIFEST);
    refused.assert_stderr_has("--image-format docker");
    assert_eq!(registry.tags("demo"), []);
    sandbox
        .run(["push", "in", &there, "--image-format", "docker"])
        .ok();
    assert_there(&sandbox, &there, "out");
}

#[test]
fn case_67_an_immutable_tag_takes_the_same_again_and_nothing_else() {
    let (sandbox, registry, there) = with(Modes {
        immutable_tags: true,
        ..Modes::default()
    });
    let first = sandbox.run(["push", "in", &there]);
    let again = sandbox.run(["push", "in", &there]);
    assert_eq!(answer(&again), answer(&first));
    again.assert_stderr_has("is there already");
    let old = registry.tag("demo", "1.0.0").unwrap();
    sandbox.write("in/manifests/configmap.yaml", config_map("other"));
    let new = crate::real::Parts::of(&sandbox, "in").manifest;
    // By our own rule, and by the registry's, where ours is switched off.
    let ours = sandbox.run(["push", "in", &there, "--format", "json"]);
    let error = ours.assert_code(13).error_json();
    assert_eq!(
        (&error["expected"], &error["found"]),
        (&new.clone().into(), &old.clone().into())
    );
    let theirs = sandbox.run(["push", "in", &there, "--force"]);
    theirs.assert_code(13).assert_stderr_has("immutable");
    theirs.assert_stderr_has(&old).assert_stderr_has(&new);
    assert_eq!(registry.tag("demo", "1.0.0"), Some(old));
}

#[test]
fn case_70_bytes_that_do_not_match_are_refused_and_leave_the_target_alone() {
    let (sandbox, registry, there) = with(Modes::default());
    let reference = format!("{there}:1.0.0");
    let pinned = answer(&sandbox.run(["push", "in", &there])).to_owned();
    assert_there(&sandbox, &there, "out");
    let before = Snapshot::of(sandbox.work());
    let flip = |part: &'static str| {
        let act = Act::change(|answer| {
            if let Some(byte) = answer.body.last_mut() {
                *byte ^= 1;
            }
        });
        (on("GET", part), act)
    };
    let cut = Act::change(|answer| {
        answer.body.pop();
        let length = answer.body.len().to_string();
        answer.set("content-length", &length);
    });
    for ((when, act), from) in [
        (flip("/blobs/"), reference.as_str()),
        ((on("GET", "/blobs/"), cut), &reference),
        (flip("/manifests/sha256"), &pinned),
    ] {
        registry.clear_rules();
        registry.rule(when, act);
        let ran = sandbox.run(["pull", from, "-o", "out", "--force", "--format", "json"]);
        let error = ran.assert_code(7).error_json();
        assert!(
            !error["expected"].is_null() && !error["found"].is_null(),
            "{ran}"
        );
        before.assert_same(sandbox.work());
    }
    registry.clear_rules();
    // Deleted and pushed again, it is there again.
    let digest = pinned.split_once('@').unwrap().1;
    let url = format!("http://{}/v2/demo/manifests/{digest}", registry.host());
    let deleted = Http::new(None).send("DELETE", &url, &[], vec![]).unwrap();
    assert_eq!(deleted.status, 202);
    sandbox.run(["pull", &reference]).assert_code(3);
    assert_eq!(answer(&sandbox.run(["push", "in", &there])), pinned);
    assert_there(&sandbox, &there, "again");
}
