//! The harness proves itself: a harness that sees nothing would let every other test pass.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::{
    DockerRegistry, Http, PASSWORD, Sandbox, Snapshot, USER, bare_dir, bundle_dir, corpus, failure,
};

#[test]
fn a_run_sees_only_the_environment_of_its_sandbox() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .program("env", [] as [&str; 0])
        .env("TZ", "UTC")
        .run();
    let mut names: Vec<_> = ran
        .ok()
        .stdout()
        .lines()
        .filter_map(|l| l.split('=').next())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "PATH", "TMPDIR", "TZ"]);
    assert!(ran.stdout().contains(sandbox.home().to_str().unwrap()));
    let ran = sandbox
        .program("/usr/bin/env", [] as [&str; 0])
        .env_remove("HOME")
        .run();
    assert!(!ran.stdout().contains("HOME="));
}

#[test]
fn a_run_takes_stdin_umask_and_directory_from_the_test() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("below")).unwrap();
    let script = "cat; umask; pwd";
    let cmd = sandbox
        .program("sh", ["-c", script])
        .stdin("given\n")
        .umask(0o027);
    let ran = cmd.cwd(sandbox.path("below")).run();
    let below = sandbox.path("below");
    assert_eq!(ran.stdout(), format!("given\n0027\n{}\n", below.display()));
}

#[test]
fn a_wrong_exit_code_shows_the_session() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .program("sh", ["-c", "echo out; echo talk >&2; exit 3"])
        .run();
    ran.assert_code(3)
        .assert_stdout_has("out")
        .assert_stderr_has("talk");
    let said = failure(|| {
        ran.ok();
    });
    for part in ["expected exit 0", "$ sh -c", "out", "talk", "exit 3"] {
        assert!(said.contains(part), "`{part}` is missing in: {said}");
    }
}

#[test]
fn json_is_read_from_stdout_and_errors_from_stderr() {
    let sandbox = Sandbox::new();
    let script = r#"echo '{"a":1}'; echo talk >&2; echo '{"error":{"kind":"io"}}' >&2"#;
    let ran = sandbox.program("sh", ["-c", script]).run();
    assert_eq!(ran.json()["a"], 1);
    assert_eq!(ran.error_json()["kind"], "io");
}

#[test]
fn what_must_never_happen_in_a_run_is_caught() {
    let sandbox = Sandbox::new();
    sandbox.secret("hunter2:secret");
    for (script, said) in [
        (
            "echo aHVudGVyMjpzZWNyZXQ=",
            "stdout shows a secret, in base64",
        ),
        ("echo hunter2:secret >&2", "stderr shows a secret, as it is"),
        (r"printf 'red \033[31m'", "stdout holds U+001B"),
        (
            "echo \"thread 'main' panicked at x\" >&2; exit 101",
            "a panic",
        ),
        ("touch $TMPDIR/left", "left in TMPDIR"),
    ] {
        let found = failure(|| drop(sandbox.program("sh", ["-c", script]).run()));
        assert!(found.contains(said), "{script}: {found}");
    }
    let raw = sandbox.program("printf", [r"\033\000\377"]).raw_stdout();
    std::fs::remove_file(sandbox.tmp().join("left")).unwrap();
    assert_eq!(raw.run().stdout_bytes(), b"\x1b\0\xff");
}

#[test]
fn a_run_that_hangs_is_ended_and_reported() {
    let sandbox = Sandbox::new();
    let cmd = sandbox
        .program("sleep", ["1000"])
        .timeout(Duration::from_millis(100));
    assert!(failure(|| drop(cmd.run())).contains("still running after 100ms"));
}

#[test]
fn what_a_run_leaves_behind_does_not_outlive_it() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .program("sh", ["-c", "sleep 1000 & echo done"])
        .run();
    assert_eq!(ran.ok().stdout(), "done\n");
}

#[test]
fn a_run_can_be_ended_by_a_signal() {
    let sandbox = Sandbox::new();
    let running = sandbox.program("sleep", ["1000"]).spawn();
    running.signal(Signal::INT);
    let ran = running.wait();
    assert_eq!((ran.code(), ran.signal()), (130, Some(2)));
}

#[test]
fn the_peak_of_memory_is_that_of_the_run() {
    let sandbox = Sandbox::new();
    let mib = 1024 * 1024;
    let small = sandbox
        .program("true", [] as [&str; 0])
        .measured()
        .run()
        .peak_rss();
    let script = "import sys; data = b'x' * (100 << 20); sys.exit(7)";
    let large = sandbox
        .program("python3", ["-ISc", script])
        .measured()
        .run();
    let large = large.assert_code(7).peak_rss();
    assert!(small < 24 * mib, "{small}");
    assert!((100 * mib..150 * mib).contains(&large), "{large}");
}

#[test]
fn a_script_of_the_sandbox_comes_first_in_the_path() {
    let sandbox = Sandbox::new();
    sandbox.script("true", "echo mine; exit 5");
    assert_eq!(sandbox.program("sh", ["-c", "true"]).run().stdout(), "");
    let ran = sandbox
        .program("sh", ["-c", "command true; env true"])
        .run();
    assert_eq!(ran.assert_code(5).stdout(), "mine\n");
}

#[test]
fn the_binary_runs_in_the_sandbox() {
    let sandbox = Sandbox::new();
    let before = Snapshot::of(sandbox.root());
    sandbox.run(["--version"]).ok();
    before.assert_same(sandbox.root());
}

#[test]
fn a_snapshot_sees_every_change() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    sandbox.write("d/same", "1");
    sandbox.write("d/content", "1");
    sandbox.write("d/mode", "1");
    sandbox.write("d/gone", "1");
    symlink("same", sandbox.path("link")).unwrap();
    let before = Snapshot::of(sandbox.work());
    before.assert_same(sandbox.work());

    sandbox.write("d/content", "2");
    sandbox.write("d/new", "1");
    std::fs::set_permissions(sandbox.path("d/mode"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::remove_file(sandbox.path("d/gone")).unwrap();
    std::fs::remove_file(sandbox.path("link")).unwrap();
    symlink("gone", sandbox.path("link")).unwrap();
    let after = Snapshot::of(sandbox.work());
    let changes = before.diff(&after);
    let names: Vec<_> = changes
        .iter()
        .map(|line| line.split(':').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["~ d/content", "- d/gone", "~ d/mode", "~ link", "+ d/new"]
    );
    assert_eq!(
        after.paths(),
        ["d", "d/content", "d/mode", "d/new", "d/same", "link"]
    );
    let said = failure(|| before.assert_same(sandbox.work()));
    assert!(
        said.contains("~ link: link 0777 -> same  =>  link 0777 -> gone"),
        "{said}"
    );
    assert_eq!(
        Snapshot::of(sandbox.path("nothing")).paths(),
        [] as [&str; 0]
    );
}

#[test]
fn samples_are_what_they_say() {
    let sandbox = Sandbox::new();
    let dir = bundle_dir(
        sandbox.path("b"),
        "etcd",
        "3.5.0",
        Some(("etcd-manager", "1.4.0")),
    );
    let text = std::fs::read_to_string(dir.join("metadata/annotations.yaml")).unwrap();
    assert!(
        text.contains("operator.min-version.v1: \"1.4.0\""),
        "{text}"
    );
    let unbound = bundle_dir(sandbox.path("u"), "etcd", "3.5.0", None);
    let text = std::fs::read_to_string(unbound.join("metadata/annotations.yaml")).unwrap();
    assert!(!text.contains("operator"), "{text}");
    let bare = Snapshot::of(bare_dir(sandbox.path("bare")));
    assert_eq!(bare.paths(), ["configmap.yaml", "deployment.yaml"]);
}

#[test]
fn the_corpus_is_there_when_it_is_named() {
    if let Some(directory) = corpus() {
        for part in ["corpus/SOURCES.md", "cases/CASES.md", "malo/README.md"] {
            assert!(
                directory.join(part).is_file(),
                "{} holds no {part}",
                directory.display()
            );
        }
    }
}

#[test]
fn the_real_registry_answers_and_its_log_is_read_in_order() {
    let registry = DockerRegistry::local();
    let http = Http::new(None);
    assert_eq!(http.get(&registry.url("/v2/")).status, 200);
    registry.mark();
    let upload = http
        .send("POST", &registry.url("/v2/a/blobs/uploads/"), &[], vec![])
        .unwrap();
    let location = upload.header("location");
    let digest = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    let put = format!("{location}&digest={digest}");
    assert_eq!(
        http.send("PUT", &put, &[], b"hello".to_vec())
            .unwrap()
            .status,
        201
    );
    let blob = registry.url(&format!("/v2/a/blobs/{digest}"));
    assert_eq!(http.send("HEAD", &blob, &[], vec![]).unwrap().status, 200);
    assert_eq!(http.get(&blob).body, b"hello");
    assert_eq!(http.get(&registry.url("/v2/a/manifests/none")).status, 404);
    let seen = registry.requests();
    let seen: Vec<_> = seen.iter().map(|a| (a.method.as_str(), a.status)).collect();
    let expected = [
        ("POST", 202),
        ("PUT", 201),
        ("HEAD", 200),
        ("GET", 200),
        ("GET", 404),
    ];
    assert_eq!(seen, expected);
    assert_eq!(std::fs::read(registry.blob_file(digest)).unwrap(), b"hello");
}

#[test]
fn the_real_registry_asks_for_a_password_over_tls() {
    let registry = DockerRegistry::htpasswd_tls();
    let ca = std::fs::read_to_string(registry.ca_file()).unwrap();
    let http = Http::new(Some(&ca));
    let url = registry.url("/v2/");
    assert!(url.starts_with("https://127.0.0.1:"));
    let refused = http.get(&url);
    assert_eq!((refused.status, refused.text().is_empty()), (401, false));
    let auth = {
        use base64::{Engine, engine::general_purpose::STANDARD};
        format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")))
    };
    let headers = [("authorization", auth.as_str())];
    assert_eq!(
        http.send("GET", &url, &headers, vec![]).unwrap().status,
        200
    );
    let statuses: Vec<_> = registry.requests().iter().map(|a| a.status).collect();
    assert_eq!(statuses, [401, 200]);
    // Nobody trusts that authority without being told to.
    assert!(Http::new(None).send("GET", &url, &[], vec![]).is_err());
}

#[test]
fn the_other_registries_start_too() {
    assert_eq!(
        Http::new(None)
            .get(&DockerRegistry::htpasswd().url("/v2/"))
            .status,
        401
    );
    let tls = DockerRegistry::tls();
    let http = Http::new(Some(&std::fs::read_to_string(tls.ca_file()).unwrap()));
    assert_eq!(http.get(&tls.url("/v2/")).status, 200);
    let open = DockerRegistry::open();
    assert_eq!(Http::new(None).get(&open.url("/v2/")).status, 200);
    assert!(open.repository("a").starts_with(open.host()));
    assert_ne!(open.repository("a"), open.repository("a"));
}

#[test]
fn tools_that_nobody_here_wrote_run() {
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .skopeo(["--version"])
            .ok()
            .stdout()
            .starts_with("skopeo version")
    );
    assert!(
        sandbox
            .umoci(["--version"])
            .ok()
            .stdout()
            .starts_with("umoci version")
    );
    sandbox.write("f", "text");
    sandbox.tool("tar", ["-cf", "a.tar", "f"]).ok();
    sandbox.tool("gzip", ["-n", "a.tar"]).ok();
    let script = "import sys, tarfile; print(tarfile.open(sys.argv[1]).getnames())";
    assert_eq!(
        sandbox.python(script, &["a.tar.gz"]).ok().stdout(),
        "['f']\n"
    );
}

#[test]
fn skopeo_and_umoci_move_an_image_through_the_real_registry() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::open();
    let image = format!("docker://{}:1", registry.repository("image"));
    sandbox.umoci(["init", "--layout", "in"]).ok();
    sandbox.umoci(["new", "--image", "in:1"]).ok();
    sandbox.write("f", "text");
    sandbox
        .umoci(["insert", "--rootless", "--image", "in:1", "f", "/f"])
        .ok();
    sandbox
        .skopeo(["copy", "--dest-tls-verify=false", "oci:in:1", &image])
        .ok();
    sandbox
        .skopeo(["copy", "--src-tls-verify=false", &image, "oci:out:1"])
        .ok();
    sandbox
        .umoci(["unpack", "--rootless", "--image", "out:1", "unpacked"])
        .ok();
    let text = std::fs::read_to_string(sandbox.path("unpacked/rootfs/f")).unwrap();
    assert_eq!(text, "text");
}

#[test]
fn skopeo_gives_a_password_to_the_real_registry_over_tls() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::htpasswd_tls();
    let image = format!("docker://{}:1", registry.repository("image"));
    sandbox.umoci(["init", "--layout", "in"]).ok();
    sandbox.umoci(["new", "--image", "in:1"]).ok();
    let ca = registry.ca_file();
    let directory = format!("--dest-cert-dir={}", ca.parent().unwrap().display());
    let copy = ["copy", &directory, "oci:in:1", &image];
    sandbox.skopeo(copy).assert_code(1);
    let user = format!("--dest-creds={USER}:{PASSWORD}");
    sandbox.skopeo(copy.into_iter().chain([&*user])).ok();
}
