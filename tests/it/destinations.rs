//! Where a user lets something be written: what is there, what its name says, and which tags it gets.

use std::os::unix::fs::PermissionsExt as _;

use crate::support::{MockRegistry, Ran, Sandbox, Snapshot, bundle_dir};

/// A registry with `demo:1.0.0` and `demo:2.0.0`.
fn registry(sandbox: &Sandbox) -> (MockRegistry, String) {
    let mock = MockRegistry::plain();
    let repository = mock.repository("demo");
    for version in ["1.0.0", "2.0.0"] {
        bundle_dir(sandbox.path(version), "demo", version, None);
        sandbox.run(["push", version, &repository]).ok();
    }
    (mock, repository)
}

/// Asserts that the registry was asked for a manifest since its mark, and for nothing else.
#[track_caller]
fn only_manifest(mock: &MockRegistry, ran: &Ran) {
    let log = mock.log();
    assert!(!log.is_empty(), "nothing was asked for{ran}");
    for line in log {
        assert!(line.contains("/manifests/"), "{line}{ran}");
    }
}

#[test]
fn a_destination_is_looked_at_before_a_blob_is_fetched() {
    let sandbox = Sandbox::new();
    let (mock, repository) = registry(&sandbox);
    let (one, two) = (format!("{repository}:1.0.0"), format!("{repository}:2.0.0"));
    sandbox.write("file", "x");
    sandbox.write("old.tar", "x");
    sandbox.write("other/notes.txt", "x");
    for name in ["old", "mine", "clone", "demo-2.0.0"] {
        sandbox.run(["pull", &one, "-o", name]).ok();
    }
    sandbox.write("mine/notes.txt", "mine");
    sandbox.program("cp", ["-r", "clone", "copied"]).run().ok();
    sandbox
        .run(["copy", &one, "oci:store:3.0.0-x"])
        .assert_code(2);
    sandbox.run(["copy", &one, "oci:store:1.0.0"]).ok();
    let before = Snapshot::of(sandbox.work());
    for (words, code) in [
        (&["pull", &two][..], 13),
        (&["pull", &two, "-o", "old"], 13),
        (&["unpack", &two, "-o", "old"], 13),
        (&["pull", &two, "-o", "other"], 13),
        (&["pull", &two, "-o", "file"], 13),
        (&["pull", &two, "-o", "old.tar"], 13),
        (&["pull", &two, "-o", "missing/new"], 12),
        (&["pull", &two, "-o", "missing/new.tar"], 12),
        (&["pull", &two, "-o", "mine", "--force"], 13),
        (&["pull", &two, "-o", "copied", "--force"], 13),
        (&["pull", &two, "-o", "file", "--force"], 13),
        (&["copy", &two, "old.tar"], 13),
        (&["copy", &two, "missing/new.tar"], 12),
    ] {
        mock.mark();
        let ran = sandbox.run(words);
        ran.assert_code(code);
        only_manifest(&mock, &ran);
    }
    before.assert_same(sandbox.work());
}

#[test]
fn what_is_there_already_is_left_as_it_is() {
    let sandbox = Sandbox::new();
    let (mock, repository) = registry(&sandbox);
    let one = format!("{repository}:1.0.0");
    sandbox.run(["pull", &one, "-o", "deploy"]).ok();
    sandbox.run(["copy", &one, "one.tar"]).ok();
    let before = Snapshot::of(sandbox.path("deploy"));
    mock.mark();
    let ran = sandbox.run(["pull", &one, "-o", "deploy"]);
    ran.ok().assert_stderr_has("`deploy` holds it already");
    let layers = mock
        .log()
        .iter()
        .filter(|line| line.contains("/blobs/"))
        .count();
    assert_eq!(layers, 1, "the config alone is fetched{ran}");
    sandbox.run(["unpack", "one.tar", "-o", "deploy"]).ok();
    // What was asked for still has to hold.
    sandbox
        .run(["pull", &one, "-o", "deploy", "--package", "other"])
        .assert_code(10);
    before.assert_same(sandbox.path("deploy"));

    let file = sandbox.path("deploy/manifests/configmap.yaml");
    let text = std::fs::read(&file).unwrap();
    let mode =
        |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    let conflict = |what: &str| {
        for words in [
            ["pull", &one, "-o", "deploy"],
            ["unpack", "one.tar", "-o", "deploy"],
        ] {
            let ran = sandbox.run(words);
            assert_eq!(ran.code(), 13, "{what}{ran}");
        }
    };
    mode(0o755);
    conflict("an executable bit");
    mode(0o644);
    std::fs::write(&file, [&text[..], b"\n"].concat()).unwrap();
    conflict("another content");
    std::fs::write(&file, &text).unwrap();
    std::fs::create_dir(sandbox.path("deploy/empty")).unwrap();
    conflict("a directory more");
    std::fs::remove_dir(sandbox.path("deploy/empty")).unwrap();
    sandbox.write("deploy/manifests/more.yaml", "x");
    conflict("a file more");
    std::fs::remove_file(sandbox.path("deploy/manifests/more.yaml")).unwrap();
    sandbox.run(["pull", &one, "-o", "deploy"]).ok();
    std::fs::remove_file(&file).unwrap();
    conflict("a file less");
}

#[test]
fn a_bundle_of_many_files_is_looked_at_with_few_of_them_open() {
    let sandbox = Sandbox::new();
    let mock = MockRegistry::plain();
    let many = format!("{}:1.0.0", mock.repository("many"));
    bundle_dir(sandbox.path("many"), "many", "1.0.0", None);
    for number in 0..300 {
        let name = format!("many/manifests/{number}.yaml");
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-{number}\n");
        sandbox.write(name, text);
    }
    sandbox.run(["push", "many", &many]).ok();
    let pull = |more: &[&str]| {
        let words = [&["pull", &many, "-o", "deploy"][..], more].concat();
        sandbox.bundle(words).prelude("ulimit -n 64").run()
    };
    pull(&[]).ok();
    pull(&[])
        .ok()
        .assert_stderr_has("`deploy` holds it already");
    pull(&["--force"]).ok();
    sandbox.write("deploy/manifests/7.yaml", "x");
    pull(&[]).assert_code(13);
}

#[test]
fn many_bundles_become_an_archive_with_few_files_open() {
    let sandbox = Sandbox::new();
    let mut add: Vec<String> = ["channel", "add", "oci:store", "stable"]
        .map(Into::into)
        .into();
    for minor in 0..20 {
        let version = format!("1.{minor}.0");
        bundle_dir(sandbox.path(&version), "demo", &version, None);
        sandbox.run(["push", &version, "oci:store"]).ok();
        add.push(version);
    }
    sandbox.run(&add).ok();
    let copy = ["copy", "oci:store:channel-stable"];
    let ran = sandbox
        .bundle(copy.into_iter().chain(["all.tar"]))
        .prelude("ulimit -n 40");
    ran.run().ok();
    let back = sandbox.run(["copy", "oci-archive:all.tar:channel-stable", "oci:again"]);
    back.ok();
    let ran = sandbox.run(["verify", "oci:again", "--channel", "stable"]);
    ran.ok();
}

#[test]
fn a_directory_without_a_record_is_explained_and_gets_one() {
    let sandbox = Sandbox::new();
    let (_mock, repository) = registry(&sandbox);
    let (one, two) = (format!("{repository}:1.0.0"), format!("{repository}:2.0.0"));
    sandbox.run(["pull", &one, "-o", "deploy"]).ok();
    sandbox.program("cp", ["-r", "deploy", "copied"]).run().ok();
    for source in [&two, "2.tar"] {
        sandbox.run(["copy", &two, "2.tar", "--force"]).ok();
        let ran = sandbox.run(["unpack", source, "-o", "copied", "--force"]);
        ran.assert_code(13)
            .assert_stderr_has("`copied` has no record of who wrote it (copied or cloned?)")
            .assert_stderr_has("`metadata/annotations.yaml`")
            .assert_stderr_has("hint: write to a new name, or add `--prune`, which also removes");
    }
    // The same bundle loses nothing, and its record is there again.
    sandbox.run(["pull", &one, "-o", "copied", "--force"]).ok();
    sandbox.run(["pull", &two, "-o", "copied", "--force"]).ok();
    sandbox.write("copied/manifests/configmap.yaml", "mine");
    sandbox
        .run(["pull", &one, "-o", "copied", "--force"])
        .assert_code(13)
        .assert_stderr_has("holds what no bundle put there or what was changed since");
}

#[test]
fn no_bundle_gets_the_tag_of_another_version() {
    let sandbox = Sandbox::new();
    let (mock, repository) = registry(&sandbox);
    let one = format!("{repository}:1.0.0");
    sandbox
        .run([
            "push",
            "1.0.0",
            &repository,
            "--image-format",
            "docker",
            "-t",
            "docker",
            "--force",
        ])
        .ok();
    let docker = format!("{repository}:docker");
    sandbox.run(["copy", &one, "oci:store:1.0.0"]).ok();
    let (elsewhere, same) = (
        format!("{repository}:7.0.0"),
        format!("{repository}:v1.0.0"),
    );
    let before = mock.tags("demo");
    for words in [
        &["tag", &one, "7.0.0"][..],
        &["tag", &one, "stable", "7.0.0"],
        &["tag", &docker, "v7.0.0", "--force"],
        &["tag", "oci:store:1.0.0", "7.0.0"],
        &["copy", &one, &elsewhere],
        &["copy", &one, "oci:store:7.0.0"],
        &["copy", &one, "oci-archive:new.tar:7.0.0"],
        &["push", "1.0.0", &elsewhere],
    ] {
        let ran = sandbox.run(words);
        ran.assert_code(2)
            .assert_stderr_has("names another version than the bundle's, which is `1.0.0`");
    }
    assert_eq!(mock.tags("demo"), before);
    sandbox.run(["tag", &one, "v1.0.0", "stable"]).ok();
    sandbox.run(["copy", &docker, &same, "--force"]).ok();
    // What is no bundle has versions of its own.
    let config = mock.put_blob("tool", b"{}");
    let manifest = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{{"mediaType":"application/vnd.oci.empty.v1+json","digest":"{config}","size":2}},"layers":[]}}"#
    );
    mock.put_manifest(
        "tool",
        "nightly",
        "application/vnd.oci.image.manifest.v1+json",
        manifest.as_bytes(),
    );
    let tool = format!("{}:nightly", mock.repository("tool"));
    sandbox.run(["tag", &tool, "7.0.0"]).ok();
    sandbox.run(["copy", &tool, "oci:store:8.0.0"]).ok();
}

#[test]
fn a_name_that_does_not_say_so_becomes_no_archive() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    sandbox.run(["pack", "etcd", "-o", "etcd.tar"]).ok();
    let before = Snapshot::of(sandbox.work());
    for (words, hint) in [
        (
            &["copy", "etcd.tar", "registry.internal"][..],
            "`registry.internal.tar`",
        ),
        (&["copy", "etcd.tar", "mirror"], "`oci:mirror`"),
        (&["pack", "etcd", "-o", "kdout"], "`oci-archive:kdout`"),
        (
            &["pack", "etcd", "-o", "kdout", "--dry-run"],
            "`oci-archive:kdout`",
        ),
        (&["pack", "etcd", "-o", "etcd.tar.gz"], "write `etcd.tar`"),
        (&["copy", "etcd.tar", "new.tgz"], "write `new.tar`"),
        (
            &["copy", "etcd.tar", "oci-archive:new.tgz:1.0.0"],
            "write `new.tar`",
        ),
        (
            &["unpack", "etcd.tar", "-o", "new.tar.gz"],
            "write `new.tar`",
        ),
        (&["pull", "oci:store", "-o", "new.tgz"], "write `new.tar`"),
    ] {
        sandbox.run(words).assert_code(2).assert_stderr_has(hint);
    }
    before.assert_same(sandbox.work());
    sandbox
        .run(["pack", "etcd", "-o", "oci-archive:kdout"])
        .ok();
    sandbox.run(["copy", "etcd.tar", "oci-archive:mirror"]).ok();
}

#[test]
fn a_dry_run_answers_with_the_reference_and_says_the_tags() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let push = [
        "push",
        "etcd",
        "localhost:1/team/etcd",
        "-t",
        "latest",
        "--dry-run",
    ];
    for (words, place, tags) in [
        (
            &push[..],
            "localhost:1/team/etcd@sha256:",
            "would set the tags 1.0.0, latest",
        ),
        (
            &["pack", "etcd", "--dry-run"],
            "oci-archive:etcd-1.0.0.bundle.tar@sha256:",
            "would set the tag 1.0.0",
        ),
        (
            &["pack", "etcd", "-o", "oci:s:new", "--dry-run"],
            "oci:s@sha256:",
            "would set the tag new",
        ),
    ] {
        let ran = sandbox.run(words);
        ran.ok()
            .assert_stderr_has(tags)
            .assert_stderr_has("\"schemaVersion\": 2");
        assert!(ran.stdout().starts_with(place), "{ran}");
        assert_eq!(ran.stdout().lines().count(), 1, "{ran}");
        let ran = sandbox.run([words, &["--format", "json"]].concat());
        let answer = ran.ok().json();
        assert_eq!(answer["manifest"]["schemaVersion"], 2, "{ran}");
        assert!(!answer["tags"].as_array().unwrap().is_empty(), "{ran}");
        assert!(!ran.stderr().contains("schemaVersion"), "{ran}");
    }
    // No push would be allowed to do this.
    sandbox
        .run(["pack", "etcd", "-o", "oci:s:7.0.0", "--dry-run"])
        .assert_code(2);
}

#[test]
fn init_does_not_promise_a_flag_that_it_lacks() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let before = Snapshot::of(sandbox.work());
    let ran = sandbox.run(["init", "etcd", "--package", "etcd", "--version", "2.0.0"]);
    ran.assert_code(13)
        .assert_stderr_has("remove it and run this again");
    assert!(!ran.stderr().contains("--force"), "{ran}");
    before.assert_same(sandbox.work());
}

#[test]
fn init_says_what_it_needs_and_leaves_what_is_said_already() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(["init", "etcd", "--version", "1.0.0"]);
    ran.assert_code(2)
        .assert_stderr_has("hint: add --package P\n");
    let ran = sandbox.run(["init", "etcd"]);
    ran.assert_code(2)
        .assert_stderr_has("hint: add --package P --version V\n");
    sandbox.write("etcd/metadata/annotations.yaml", "annotations: {}\n");
    let ran = sandbox.run(["init", "etcd"]);
    ran.assert_code(13)
        .assert_stderr_has("`etcd/metadata/annotations.yaml` exists already")
        .assert_stderr_has("`bundle validate etcd` checks it");
}

#[test]
fn files_without_metadata_are_told_from_a_bundle() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "bare/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    sandbox
        .run(["validate", "bare"])
        .ok()
        .assert_stderr_has("there is no metadata, so the objects alone are checked");
    let ran = sandbox.run([
        "validate",
        "bare",
        "--package",
        "demo",
        "--version",
        "1.0.0",
    ]);
    assert!(!ran.ok().stderr().contains("no metadata"), "{ran}");
    let ran = sandbox.run(["verify", "bare"]);
    ran.assert_code(11).assert_stderr_has(
        "`bundle init` writes it, and `bundle pack` takes --package P --version V",
    );
    let ran = sandbox.run(["render", "bare", "--package", "demo"]);
    ran.assert_code(10).assert_stderr_has(
        "writes the metadata of a directory with `manifests/`, and `bundle pack` that of any",
    );
}

#[test]
fn a_registry_without_a_repository_is_told_from_a_name() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    for words in [
        &["list", "localhost:5000"][..],
        &["push", "etcd", "localhost:5000"],
    ] {
        let ran = sandbox.run(words);
        ran.assert_code(2)
            .assert_stderr_has("write the repository, too: `localhost:5000/REPOSITORY`");
    }
    let ran = sandbox.run(["list", "etcd"]);
    ran.assert_code(2)
        .assert_stderr_has("for Docker Hub write `docker.io/etcd`");
}

#[test]
fn init_begins_where_nothing_but_hidden_names_are() {
    let sandbox = Sandbox::new();
    sandbox.write("here/.git/HEAD", "ref: refs/heads/main\n");
    let init = ["init", "here", "--package", "etcd", "--version", "1.0.0"];
    sandbox.run(init).ok();
    sandbox.run(["validate", "here"]).ok();
    assert!(sandbox.path("here/manifests/etcd.yaml").is_file());
    sandbox.write("full/README.md", "text\n");
    let before = Snapshot::of(sandbox.work());
    let ran = sandbox.run(["init", "full", "--package", "etcd", "--version", "1.0.0"]);
    ran.assert_code(13).assert_stderr_has("has no `manifests/`");
    before.assert_same(sandbox.work());
}

#[test]
fn ceilings_are_written_as_kubernetes_writes_sizes() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "1.0.0", None);
    let run = |value: &str| sandbox.run(["pack", "etcd", "--dry-run", "--max-unpacked", value]);
    for (value, code) in [
        ("1Ki", 0),
        ("1Mi", 0),
        ("1Gi", 0),
        ("1024", 0),
        ("0Gi", 9),
        ("9", 9),
    ] {
        let ran = run(value);
        assert_eq!(ran.code(), code, "{value}{ran}");
    }
    for value in ["1M", "Ki", "1ki", "1Ti", "1 Ki", ""] {
        run(value)
            .assert_code(2)
            .assert_stderr_has("one of `64Ki`, `16Mi`, `1Gi`");
    }
    run("99999999999999999Gi")
        .assert_code(2)
        .assert_stderr_has("is too large");
}
