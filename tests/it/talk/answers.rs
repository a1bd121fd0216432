//! What scripts read from answers, calls that find their work done, and hints for what is typed out of habit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use super::{CONFIG_MAP, etcd};
use crate::support::{Auth, MockRegistry, Modes, PASSWORD, Sandbox, USER};

fn answer(sandbox: &Sandbox, words: &[&str]) -> Value {
    let ran = sandbox.run(words.iter().chain(&["--format", "json"]));
    ran.ok().json()
}

#[test]
fn answers_say_where_it_is_and_whether_anything_changed() {
    let (sandbox, registry) = (Sandbox::new(), MockRegistry::plain());
    etcd(&sandbox);
    let repository = registry.repository("team/etcd");
    let reference = format!("{repository}:3.5.0");
    let file = sandbox.path("etcd.tar").to_str().unwrap().to_owned();
    let push: &[&str] = &[
        "push",
        "etcd",
        &repository,
        "--tag",
        "latest",
        "--channel",
        "stable",
    ];
    for (words, output) in [
        (&["pack", "etcd", "-o", &file][..], json!(file)),
        (&["pack", "etcd", "-o", "oci:lay"], json!("lay")),
        (push, json!(null)),
        (&["pull", &reference], json!("etcd-3.5.0")),
        (
            &["pull", &reference, "-o", "pulled.tar"],
            json!("pulled.tar"),
        ),
        (&["unpack", &file, "-o", "out"], json!("out")),
        (&["copy", &reference, "copy.tar"], json!("copy.tar")),
        (&["copy", &reference, "oci:other"], json!("other")),
        (&["tag", &reference, "newest"], json!(null)),
    ] {
        for changed in [true, false] {
            let value = answer(&sandbox, words);
            assert_eq!(value["output"], output, "{words:?}");
            assert_eq!(value["changed"], changed, "{words:?}");
            assert_eq!(value["package"], "etcd", "{words:?}");
            assert_eq!(value["version"], "3.5.0", "{words:?}");
        }
    }
    let value = answer(&sandbox, push);
    assert_eq!(value["tags"], json!(["3.5.0", "latest"]));
    assert_eq!(value["channels"], json!(["stable"]));
    let value = answer(&sandbox, &["copy", &reference, &registry.repository("b")]);
    assert_eq!(value["changed"], true);
    let pinned = answer(&sandbox, &["pull", &reference, "-o", "pinned"]);
    let pinned = pinned["reference"].as_str().unwrap();
    for changed in [true, false] {
        let value = answer(&sandbox, &["copy", pinned, "pinned.tar"]);
        assert_eq!(value["changed"], changed);
    }

    let resolve = ["resolve", &repository, "--channel", "stable"];
    let value = answer(&sandbox, &resolve);
    assert_eq!(value["changed"], Value::Null);
    let known = value["reference"].as_str().unwrap();
    let again = [&resolve[..], &["--known", known]].concat();
    assert_eq!(answer(&sandbox, &again)["changed"], false);
    sandbox
        .run(&again)
        .ok()
        .assert_stderr_has("unchanged: channel `stable`");
}

#[test]
fn the_keys_that_packing_adds_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("bare/a.yaml", CONFIG_MAP);
    let pack = ["--package", "etcd", "--version", "3.5.0"];
    let call = |words: &[&'static str]| [words, &pack].concat();
    for words in [
        call(&["pack", "bare", "-o", "a.tar"]),
        call(&["push", "bare", "oci:lay"]),
        call(&["inspect", "bare"]),
    ] {
        let ran = sandbox.run(&words);
        ran.ok()
            .assert_stderr_has(" to metadata/annotations.yaml: ");
        ran.assert_stderr_has("k8s.io.bundle.package.v1");
        let line = ran
            .stderr()
            .lines()
            .find(|line| line.starts_with("packing adds "));
        assert!(line.unwrap().len() < 220, "{ran}");
        let keys = answer(&sandbox, &words)["addedKeys"].clone();
        let keys = keys.as_array().unwrap().clone();
        let verbose = sandbox.run(words.iter().chain(&["-v"]));
        assert!(keys.len() > 1, "{keys:?}");
        for key in keys {
            verbose.assert_stderr_has(key.as_str().unwrap());
        }
    }
}

#[test]
fn a_file_that_is_the_same_archive_already_is_left_as_it_is() {
    let (sandbox, registry) = (Sandbox::new(), MockRegistry::plain());
    etcd(&sandbox);
    let repository = registry.repository("etcd");
    let reference = format!("{repository}:3.5.0");
    sandbox.run(["push", "etcd", &repository]).ok();
    for words in [
        ["pack", "etcd", "-o", "a.tar"].as_slice(),
        &["copy", &reference, "b.tar"],
        &["copy", &reference, "oci-archive:b.tar"],
        &["pull", &reference, "-o", "c.tar"],
        &["unpack", "a.tar", "-o", "d.tar"],
    ] {
        let file = words.last().unwrap().trim_start_matches("oci-archive:");
        sandbox.run(words).ok();
        let inode = |sandbox: &Sandbox| sandbox.path(file).metadata().unwrap().ino();
        let before = inode(&sandbox);
        sandbox
            .run(words)
            .ok()
            .assert_stderr_has(&format!("`{file}` holds it already"));
        assert_eq!(inode(&sandbox), before, "{words:?}");
        // One byte more, and it is another file.
        let mut bytes = std::fs::read(sandbox.path(file)).unwrap();
        bytes.push(0);
        std::fs::write(sandbox.path(file), &bytes).unwrap();
        sandbox.run(words).assert_code(13);
        assert_eq!(std::fs::read(sandbox.path(file)).unwrap(), bytes);
        std::fs::remove_file(sandbox.path(file)).unwrap();
        sandbox.run(words).ok();
    }
    let changed = CONFIG_MAP.replace("name: a", "name: b");
    sandbox.write("etcd/manifests/a.yaml", changed);
    sandbox.run(["pack", "etcd", "-o", "a.tar"]).assert_code(13);
}

#[test]
fn an_image_that_loses_its_name_in_a_layout_is_told_of() {
    let (sandbox, registry) = (Sandbox::new(), MockRegistry::plain());
    for name in ["side", "zz"] {
        let pack = ["--package", name, "--version", "1.0.0", "--tag", "2"];
        sandbox.write(
            format!("{name}/a.yaml"),
            CONFIG_MAP.replace("name: a", &format!("name: {name}")),
        );
        let repository = registry.repository(&format!("img/{name}"));
        let push = ["push", name, &repository];
        sandbox.run(push.iter().chain(&pack)).ok();
    }
    let from = |name: &str| format!("{}:2", registry.repository(&format!("img/{name}")));
    sandbox.run(["copy", &from("side"), "oci:lx"]).ok();
    let ran = sandbox.run(["copy", &from("zz"), "oci:lx"]);
    ran.ok().assert_stderr_has(
        "warning: in `oci:lx` another image had the name `2`; to keep both, give each a name of its own: `oci:lx:zz-2`",
    );
    for words in [
        ["copy", &from("zz"), "oci:lx"],
        ["copy", &from("side"), "oci:lx:2"],
    ] {
        let ran = sandbox.run(words);
        assert!(!ran.ok().stderr().contains("warning"), "{ran}");
    }
}

#[test]
fn what_other_tools_have_is_answered_with_what_to_write_here() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    sandbox.run(["pack", "etcd", "-o", "etcd.tar"]).ok();
    for (words, code, hint) in [
        (
            ["verify", "etcd.tar", "--digest", "sha256:0"].as_slice(),
            2,
            "hint: a digest is a part of the reference: ",
        ),
        (&["login", "r.example", "-p", "x"], 2, "--password-stdin"),
        (&["render", "etcd", "-o", "x"], 2, "--output-dir DIR"),
        (
            &["pack", "etcd", "-o", "foo/"],
            2,
            "write `foo.tar` for a file",
        ),
        (
            &["pack", "etcd", "-o", "./"],
            2,
            "write `FILE.tar` for a file",
        ),
        (
            &["pull", "127.0.0.1:39033"],
            2,
            "`127.0.0.1:39033/REPOSITORY:TAG`",
        ),
        (&["pull", "etcd:3.5.0"], 2, "docker.io/etcd:3.5.0"),
        (
            &["unpack", "etcd.tar", "-o", "none/x/y"],
            12,
            "`mkdir -p none/x` makes it",
        ),
        (&["list", "r.example/a", "--al"], 2, "'--all'"),
    ] {
        let ran = sandbox.run(words);
        ran.assert_code(code).assert_stderr_has(hint);
        let json = sandbox.run(words.iter().chain(&["--format", "json"]));
        let error = json.error_json();
        let said = format!("{} {}", error["message"], error["hint"]);
        assert!(said.contains(hint.trim_start_matches("hint: ")), "{json}");
    }
    let ran = sandbox.run(["verify", "etcd.tar", "--digest", "sha256:0"]);
    for noise in ["--quiet", "as a value"] {
        assert!(!ran.stderr().contains(noise), "{ran}");
    }
    let words = ["inspect", "-q"].map(OsStr::new);
    let bad = [OsStr::from_bytes(b"dir\xff")];
    let ran = sandbox.run(words.iter().chain(&bad));
    ran.assert_code(2)
        .assert_stderr_has("argument 3 is not UTF-8: `dir");
    let json = ["--format", "json"].map(OsStr::new);
    let ran = sandbox.run(words.iter().chain(&bad).chain(&json));
    assert_eq!(ran.error_json()["kind"], "usage");
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let sandbox = Sandbox::new();
    for words in [&["version"][..], &["--help"], &["help", "pull"], &["-V"]] {
        let run = sandbox.bundle(words).prelude("exec >/dev/full".to_owned());
        run.run()
            .assert_code(12)
            .assert_stderr_has("cannot write to stdout");
    }
}

#[test]
fn a_login_says_where_the_credential_is_kept() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::start(Modes {
        auth: Auth::Basic,
        ..Modes::default()
    });
    let host = registry.host();
    sandbox.secret(PASSWORD);
    let file = ["--registry-config", "a`b.json", "--format", "json"];
    let login = ["login", host, "-u", USER, "--password-stdin"];
    let ran = sandbox
        .bundle(login.iter().chain(&file))
        .stdin(PASSWORD)
        .run();
    let value = ran.ok().json();
    assert_eq!(value, json!({ "registry": host, "keptIn": "a`b.json" }));
}
