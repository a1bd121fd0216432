//! `bundle lock`: what it writes, what it refuses, and what the other commands make of it.

use std::fs;

use serde_json::Value;

use crate::support::{Act, MockRegistry, Ran, Response, Sandbox, bundle_dir, on};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LOCK: &str = "in/metadata/images.lock.yaml";

/// Puts an image that no client has to understand into a registry.
fn push(registry: &MockRegistry, repository: &str, tag: &str, text: &str) -> String {
    let bytes = format!("{{\"schemaVersion\":2,\"text\":\"{text}\"}}");
    let kind = if text.contains("index") {
        INDEX
    } else {
        MANIFEST
    };
    registry.put_manifest(repository, tag, kind, bytes.as_bytes())
}

/// A bundle with one pod that runs these images.
fn bundle(sandbox: &Sandbox, images: &[String]) {
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    fs::remove_dir_all(sandbox.path("in/manifests")).unwrap();
    let containers: Vec<String> = images
        .iter()
        .enumerate()
        .map(|(n, image)| format!("  - {{name: c{n}, image: '{image}'}}\n"))
        .collect();
    let head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n";
    sandbox.write(
        "in/manifests/pod.yaml",
        head.to_owned() + &containers.concat(),
    );
}

fn lock(sandbox: &Sandbox, more: &[&str]) -> Ran {
    sandbox.run([&["lock", "in"], more].concat())
}

#[test]
fn a_lock_on_stdout_is_no_file_and_says_whose_it_is() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    push(&registry, "app", "1", "app");
    bundle(&sandbox, &[format!("{}/app:1", registry.host())]);
    let ran = lock(&sandbox, &["-o", "-"]);
    ran.ok().assert_stdout_has("images:");
    assert!(!sandbox.path("-").exists() && !sandbox.path(LOCK).exists());
    for command in ["lock", "images"] {
        let ran = sandbox.run([command, "in", "--format", "json"]);
        let value = ran.ok().json();
        assert_eq!(value["package"], "demo", "{command}");
        assert_eq!(value["version"], "1.0.0", "{command}");
        assert_eq!(value["digest"], Value::Null, "{command}");
    }
}

#[test]
fn a_lock_pins_every_image_and_comes_out_the_same_again() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    let app = push(&registry, "team/app", "1", "index");
    let tool = push(&registry, "tool", "latest", "tool");
    bundle(
        &sandbox,
        &[format!("{host}/team/app:1"), format!("{host}/tool")],
    );
    let ran = lock(&sandbox, &[]);
    let pinned = format!("{host}/team/app:1@{app}\n{host}/tool:latest@{tool}\n");
    assert_eq!(ran.ok().stdout(), pinned);
    ran.assert_stderr_has("in/metadata/images.lock.yaml: written, 2 images");
    let first = fs::read(sandbox.path(LOCK)).unwrap();
    // No body was fetched: registries count that as a pull.
    assert!(
        registry
            .requests()
            .iter()
            .all(|request| request.method == "HEAD"),
        "{:?}",
        registry.log()
    );
    let again = lock(&sandbox, &["--concurrency", "1"]);
    assert_eq!(again.ok().stdout(), pinned);
    again.assert_stderr_has("unchanged");
    assert_eq!(fs::read(sandbox.path(LOCK)).unwrap(), first);
    lock(&sandbox, &["--check"])
        .ok()
        .assert_stderr_has("2 images: all as locked");
    // It travels, and says there what it says here.
    sandbox.run(["validate", "in"]).ok();
    sandbox.run(["pack", "in", "-o", "out.tar"]).ok();
    let shown = sandbox.run(["inspect", "out.tar"]);
    shown
        .ok()
        .assert_stdout_has("images: 2 pinned\n")
        .assert_stdout_has(&format!("  {host}/team/app:1@{app}\n"));
    let shown = sandbox
        .run(["inspect", "out.tar", "--format", "json"])
        .ok()
        .json();
    assert_eq!(shown["images"][0]["digest"], app.as_str());
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    assert_eq!(
        fs::read(sandbox.path("out/metadata/images.lock.yaml")).unwrap(),
        first
    );
    // From an archive it is printed, the same bytes.
    let printed = sandbox.run(["lock", "out.tar"]);
    assert_eq!(printed.ok().stdout_bytes(), first);
    sandbox.run(["lock", "out.tar", "-o", "own.yaml"]).ok();
    assert_eq!(fs::read(sandbox.path("own.yaml")).unwrap(), first);
    // A lock may be written over, and nothing else.
    sandbox.run(["lock", "out.tar", "-o", "own.yaml"]).ok();
    sandbox
        .run(["lock", "out.tar", "-o", "in/manifests/pod.yaml"])
        .assert_code(13);
}

#[test]
fn a_tag_that_moved_is_told_and_nothing_is_written() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    let old = push(&registry, "app", "1", "old");
    bundle(&sandbox, &[format!("{host}/app:1")]);
    lock(&sandbox, &["--check"])
        .assert_code(3)
        .assert_stderr_has("`bundle lock in` writes it");
    lock(&sandbox, &[]).ok();
    let before = fs::read(sandbox.path(LOCK)).unwrap();
    let new = push(&registry, "app", "1", "new");
    let ran = lock(&sandbox, &["--check"]);
    ran.assert_code(1)
        .assert_stdout_has(&format!("{host}/app:1: locked {old}, now {new}"));
    let value = lock(&sandbox, &["--check", "--format", "json"]).json();
    assert_eq!(value["differences"][0]["why"], "moved");
    assert_eq!(fs::read(sandbox.path(LOCK)).unwrap(), before);
    lock(&sandbox, &[])
        .ok()
        .assert_stderr_has(&format!("{host}/app:1: was {old}, now {new}"));
    lock(&sandbox, &["--check"]).ok();
    // Another image is one that is not locked, and one that nobody names.
    push(&registry, "other", "1", "other");
    bundle(&sandbox, &[format!("{host}/other:1")]);
    let ran = lock(&sandbox, &["--check"]);
    ran.assert_code(1)
        .assert_stdout_has(&format!("{host}/other:1: not locked"))
        .assert_stdout_has(&format!(
            "{host}/app:1: locked {new}, and no manifest names it"
        ));
    sandbox
        .run(["pack", "in", "-o", "out.tar"])
        .assert_code(11)
        .assert_stderr_has("lock-incomplete");
}

#[test]
fn an_image_that_is_not_there_any_more_is_a_difference() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    let digest = push(&registry, "app", "1", "app");
    let images = |sandbox: &Sandbox, words: &[&str]| {
        let ran = sandbox.run(["images", "in"].iter().chain(words));
        ran.ok();
        ran
    };
    bundle(&sandbox, &[format!("{host}/app:1")]);
    let value = images(&sandbox, &["--format", "json"]).json();
    assert_eq!(value["images"][0]["locked"], Value::Null);
    lock(&sandbox, &[]).ok();
    bundle(
        &sandbox,
        &[format!("{host}/app:1"), format!("{host}/gone:1")],
    );
    let ran = images(&sandbox, &["--why"]);
    ran.assert_stdout_has(&format!("{host}/app:1, certain, locked {digest}\n"));
    ran.assert_stdout_has(&format!("{host}/gone:1, certain, not locked\n"));
    let value = images(&sandbox, &["--format", "json"]).json();
    assert_eq!(value["images"][0]["locked"], digest.as_str());
    assert_eq!(value["images"][1]["locked"], Value::Null);

    let ran = lock(&sandbox, &["--check"]);
    ran.assert_code(1).assert_stdout_has(&format!(
        "{host}/gone:1: locked nothing, and its registry has no such image"
    ));
    registry.rule(on("HEAD", "/v2/app/"), Act::Respond(Response::new(404)));
    let ran = lock(&sandbox, &["--check", "--format", "json"]);
    let value = ran.assert_code(1).json();
    let first = &value["differences"][0];
    assert_eq!(first["why"], "not there");
    assert_eq!(first["locked"], digest.as_str());
    assert_eq!(first["found"], Value::Null);
    assert_eq!(value["differences"].as_array().unwrap().len(), 2, "{ran}");
}

#[test]
fn what_cannot_be_resolved_is_said_of_each_and_nothing_is_written() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    push(&registry, "app", "1", "app");
    push(&registry, "closed", "1", "closed");
    registry.rule(on("HEAD", "/v2/closed/"), Act::Respond(Response::new(403)));
    bundle(&sandbox, &[format!("{host}/app:1")]);
    lock(&sandbox, &[]).ok();
    let before = fs::read(sandbox.path(LOCK)).unwrap();
    bundle(
        &sandbox,
        &[
            format!("{host}/app:1"),
            format!("{host}/app:2"),
            format!("{host}/closed:1"),
        ],
    );
    let ran = lock(&sandbox, &[]);
    ran.assert_code(3)
        .assert_stderr_has(&format!(
            "in/manifests/pod.yaml:7: `{host}/app:2` (and 1 more image for another reason): the registry has no such image"
        ))
        .assert_stderr_has(&format!("`{host}/closed:1`: "));
    assert_eq!(ran.stdout(), "");
    assert_eq!(fs::read(sandbox.path(LOCK)).unwrap(), before);
    // One line for each reason.
    let mut images = ["a:1", "app:2", "closed:1", "closed:2"].map(|name| format!("{host}/{name}"));
    images.sort_unstable();
    bundle(&sandbox, &images);
    let ran = lock(&sandbox, &[]);
    ran.assert_code(3)
        .assert_stderr_has(&format!("warning: `{host}/closed:1` (and 1 more image): "))
        .assert_stderr_has(&format!(
            "`{host}/a:1` (and 1 more image, and 2 for other reasons): the registry has no such image"
        ));
    assert_eq!(ran.stderr().trim_end().lines().count(), 2, "{ran}");
    bundle(&sandbox, &[format!("{host}/closed:1")]);
    lock(&sandbox, &[]).assert_code(4);
    lock(&sandbox, &["--check"]).assert_code(4);
    let error = lock(&sandbox, &["--format", "json"]).error_json();
    assert_eq!(error["kind"], Value::from("denied"), "{error}");
    assert_eq!(fs::read(sandbox.path(LOCK)).unwrap(), before);
}

#[test]
fn a_password_is_for_one_registry_and_what_is_no_lock_is_kept() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    push(&registry, "app", "1", "app");
    bundle(
        &sandbox,
        &[format!("{host}/app:1"), "reg.example/app:1".to_owned()],
    );
    let call = sandbox.bundle(["lock", "in", "-u", "me", "--password-stdin"]);
    call.stdin("hunter2")
        .run()
        .assert_code(2)
        .assert_stderr_has("several registries");
    lock(&sandbox, &["--plain-http"]).assert_code(2);
    assert!(registry.requests().is_empty(), "{:?}", registry.log());
    bundle(&sandbox, &[format!("{host}/app:1")]);
    sandbox.write(LOCK, "mine: true\n");
    lock(&sandbox, &[])
        .assert_code(11)
        .assert_stderr_has("in/metadata/images.lock.yaml:1");
    assert_eq!(fs::read(sandbox.path(LOCK)).unwrap(), b"mine: true\n");
    sandbox
        .run(["validate", "in"])
        .assert_code(1)
        .assert_stdout_has("lock-malformed");
}

#[test]
fn fields_without_an_image_are_said_and_are_not_in_the_lock() {
    let sandbox = Sandbox::new();
    let images = ["Nginx:1", "", "{{ .X }}"].map(str::to_owned);
    bundle(&sandbox, &images);
    let wanted = [
        "in/manifests/pod.yaml:6 Pod p spec.containers[0].image: `Nginx:1` is no image",
        "in/manifests/pod.yaml:8 Pod p spec.containers[2].image: `{{ .X }}` is a template",
        "0 images; 2 fields for an image without one",
    ];
    let ran = lock(&sandbox, &[]);
    let ran = wanted
        .iter()
        .fold(ran.ok(), |ran, line| ran.assert_stderr_has(line));
    assert_eq!(ran.stdout(), "");
    let value = lock(&sandbox, &["--check", "--format", "json"]).ok().json();
    assert_eq!(value["unnamed"][1]["line"], 8, "{value}");
    lock(&sandbox, &["--check"])
        .ok()
        .assert_stderr_has(wanted[1]);
    // From an archive it is printed, and said all the same.
    sandbox
        .run(["pack", "in", "-o", "out.tar", "--allow-invalid"])
        .ok();
    sandbox
        .run(["lock", "out.tar"])
        .ok()
        .assert_stderr_has("2 fields for an image without one");
    sandbox
        .run(["validate", "in"])
        .assert_stdout_has("in/manifests/pod.yaml:6: warning: no registry takes the image: ")
        .assert_stdout_has("in/manifests/pod.yaml:7: warning: the image is empty [image-name]");
}

#[test]
fn a_directory_with_manifests_gets_its_lock_and_of_any_other_source_it_is_said_where_it_goes() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    push(&registry, "app", "1", "app");
    bundle(&sandbox, &[format!("{host}/app:1")]);
    sandbox.run(["pack", "in", "-o", "out.tar"]).ok();
    fs::remove_dir_all(sandbox.path("in/metadata")).unwrap();
    lock(&sandbox, &["--check"])
        .assert_code(3)
        .assert_stderr_has("`bundle lock in` writes it");
    lock(&sandbox, &[])
        .ok()
        .assert_stderr_has("in/metadata/images.lock.yaml: written, 1 image");
    lock(&sandbox, &["--check"]).ok();
    let written = fs::read(sandbox.path(LOCK)).unwrap();
    // A bare directory has no place for it.
    let bare = sandbox.run(["lock", "in/manifests"]);
    bare.ok()
        .assert_stderr_has("the lock is printed, because `in/manifests` is no bundle");
    assert_eq!(
        bare.stdout().lines().count(),
        String::from_utf8_lossy(&written).lines().count()
    );
    assert!(!sandbox.path("in/manifests/metadata").exists());
    for (source, hint) in [
        (
            "in/manifests",
            "put the files into `in/manifests/manifests/`",
        ),
        (
            "out.tar",
            "writes it into a bundle's directory, and `bundle pack` carries it",
        ),
        ("in/manifests/pod.yaml", "the lock is a part of a bundle"),
    ] {
        let ran = sandbox.run(["lock", source, "--check"]);
        ran.assert_code(3).assert_stderr_has(hint);
    }
    // Both commands that find a broken lock say the same about it.
    sandbox.write(LOCK, "mine: true\n");
    bundle(&sandbox, &[format!("{host}/app:1")]);
    sandbox.write(LOCK, "mine: true\n");
    lock(&sandbox, &[])
        .assert_code(11)
        .assert_stderr_has("remove `in/metadata/images.lock.yaml` and run `bundle lock` again");
    let ran = sandbox.run(["validate", "in"]);
    ran.assert_code(1).assert_stdout_has(
        "remove `metadata/images.lock.yaml` and run `bundle lock` on the directory again",
    );
}

#[test]
fn a_lock_of_what_is_certain_is_compared_with_what_is_certain() {
    let (registry, sandbox) = (MockRegistry::plain(), Sandbox::new());
    let host = registry.host();
    for name in ["app", "agent"] {
        push(&registry, name, "1", name);
    }
    bundle(
        &sandbox,
        &[format!(
            "{host}/app:1', args: ['--agent-image={host}/agent:1'], x: '"
        )],
    );
    lock(&sandbox, &["--certain"])
        .ok()
        .assert_stderr_has("written, 1 image; 1 likely image passed over");
    lock(&sandbox, &["--check"])
        .ok()
        .assert_stderr_has("1 image: all as locked; 1 likely image passed over");
    lock(&sandbox, &[])
        .ok()
        .assert_stderr_has("written, 2 images\n");
    lock(&sandbox, &["--check"])
        .ok()
        .assert_stderr_has("2 images: all as locked\n");
    // A lock with any likely image is held against all of them.
    let image = format!(
        "{host}/app:1', args: ['--agent-image={host}/agent:1', '--other-image={host}/other:1'], x: '"
    );
    push(&registry, "other", "1", "other");
    bundle(&sandbox, &[image]);
    lock(&sandbox, &[]).ok();
    let text = fs::read_to_string(sandbox.path(LOCK)).unwrap();
    let at = text.find(&format!("- image: \"{host}/other")).unwrap();
    sandbox.write(LOCK, &text[..at]);
    lock(&sandbox, &["--check"])
        .assert_code(1)
        .assert_stdout_has(&format!("{host}/other:1: not locked"));
}

#[test]
fn flags_that_mean_nothing_to_a_list_of_images_are_refused() {
    let sandbox = Sandbox::new();
    bundle(&sandbox, &["reg.example/app:1".to_owned()]);
    for command in ["images", "lock"] {
        for flags in [
            ["--created", "x"],
            ["--package", "p"],
            ["--image-format", "docker"],
        ] {
            sandbox
                .run([&[command, "in"][..], &flags].concat())
                .assert_code(2);
        }
    }
    sandbox
        .run(["images", "in", "--exclude", "*.json", "--allow-invalid"])
        .ok();
}

#[test]
fn a_file_that_is_no_lock_is_replaced_where_the_call_says_so() {
    let sandbox = Sandbox::new();
    bundle(&sandbox, &[]);
    sandbox.write("mine", "mine");
    lock(&sandbox, &["-o", "mine"])
        .assert_code(13)
        .assert_stderr_has("`--force` replaces it");
    assert_eq!(fs::read(sandbox.path("mine")).unwrap(), b"mine");
    lock(&sandbox, &["-o", "mine", "--force"]).ok();
    let text = fs::read_to_string(sandbox.path("mine")).unwrap();
    assert!(text.contains("images"), "{text}");
    lock(&sandbox, &["--force"]).assert_code(2);
}
