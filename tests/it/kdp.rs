//! Directories of channels of kubebuilder-declarative-pattern: into a repository, resolved there as KDP would, and out of it
//! byte for byte; and what cannot be there is refused before anything is sent.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{MockRegistry, Ran, Sandbox, bundle_dir, corpus};

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// Writes a directory of channels: three versions, of which one is in no channel.
fn sample(sandbox: &Sandbox) {
    for version in ["1.9.0", "1.10.0", "2.0.0"] {
        let text = config_map(&format!("v{}", version.replace('.', "-")));
        let at = format!("channels/packages/etcd/{version}");
        sandbox.write(format!("{at}/manifest.yaml"), &text);
    }
    // Bytes that a writer of YAML would not keep.
    sandbox.write(
        "channels/packages/etcd/1.10.0/manifest.yaml",
        "# ours\r\nkind:  ConfigMap\r\napiVersion: v1\r\nmetadata: {name: a}",
    );
    sandbox.write(
        "channels/stable",
        "# of ours\nmanifests:\n- version: 1.9.0\n- version: '1.10.0'",
    );
    sandbox.write(
        "channels/beta",
        "manifests:\n- name: etcd\n  version: 2.0.0-rc.1\n- {name: etcd, version: 1.10.0}\n- version: 2.0.0\n",
    );
    sandbox.write(
        "channels/packages/etcd/2.0.0-rc.1/manifest.yaml",
        config_map("rc"),
    );
}

/// All files below a directory, by their paths in it.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

fn import(sandbox: &Sandbox, repository: &str, more: &[&str]) -> Ran {
    let arguments = ["channel", "import", "channels", repository];
    sandbox.run(arguments.iter().chain(more).copied())
}

fn export(sandbox: &Sandbox, repository: &str, to: &str, more: &[&str]) -> Ran {
    let arguments = ["channel", "export", repository, to];
    sandbox.run(arguments.iter().chain(more).copied())
}

/// The version that a channel resolves to.
fn resolved(sandbox: &Sandbox, repository: &str, channel: &str) -> String {
    let asked = [
        "resolve",
        repository,
        "--channel",
        channel,
        "--format",
        "json",
    ];
    let value = sandbox.run(asked).ok().json();
    value["version"].as_str().unwrap().to_owned()
}

#[test]
fn a_directory_of_channels_goes_in_and_comes_out_byte_for_byte() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    sample(&sandbox);
    let imported = import(&sandbox, &repository, &[]);
    assert_eq!(
        imported.ok().stdout(),
        "beta    1.10.0  2 bundles  written\nstable  1.10.0  2 bundles  written\n"
    );
    // As KDP: the highest version, and named ones before those without a name.
    assert_eq!(resolved(&sandbox, &repository, "stable"), "1.10.0");
    assert_eq!(resolved(&sandbox, &repository, "beta"), "1.10.0");
    let exported = export(&sandbox, &repository, "out", &[]);
    assert_eq!(exported.ok().stdout(), "out\n");
    let before = files(&sandbox.path("channels"));
    assert_eq!(files(&sandbox.path("out")), before);

    registry.mark();
    let again = import(&sandbox, &repository, &[]);
    again.ok().assert_stderr_has("is there already");
    assert_eq!(again.stdout().matches("as it was").count(), 2, "{again}");
    let log = registry.log();
    let asks = |line: &String| line.starts_with("GET") || line.starts_with("HEAD");
    assert!(log.iter().all(asks), "nothing is sent again: {log:?}");
    export(&sandbox, &repository, "out", &[]).ok();

    // One channel alone, with its bundles.
    export(&sandbox, &repository, "one", &["--channel", "stable"]).ok();
    let mut one = before;
    one.retain(|path, _| path != "beta" && !path.contains("/2.0.0"));
    assert_eq!(files(&sandbox.path("one")), one);
}

#[test]
fn an_export_that_may_not_be_written_asks_nothing() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    sample(&sandbox);
    let repository = registry.repository("etcd");
    import(&sandbox, &repository, &[]).ok();
    sandbox.write("file", "somebody's");
    sandbox.write("other/README.md", "somebody's");
    sandbox.write("deep/packages/etcd/README.md", "somebody's");
    sandbox.write("old/stable", "manifests: []\n");
    registry.mark();
    for (to, more, hint) in [
        ("file", &[][..], "exists and is a file"),
        ("file", &["--force"], "exists and is a file"),
        ("other", &[], "`other` exists already"),
        ("other", &["--force"], "would lose (1): `README.md`"),
        ("deep", &[], "`deep` exists already"),
        ("none/out", &[], "cannot open the directory"),
    ] {
        let ran = export(&sandbox, &repository, to, more);
        let code = if to == "none/out" { 12 } else { 13 };
        ran.assert_code(code).assert_stderr_has(hint);
        assert_eq!(registry.log(), Vec::<String>::new(), "{to}: {ran}");
    }
    // What it holds can only be compared once the channels are known.
    let ran = export(&sandbox, &repository, "old", &[]);
    ran.assert_code(13)
        .assert_stderr_has("`old` exists already");
    let empty = sandbox.path("empty");
    std::fs::create_dir(&empty).unwrap();
    export(&sandbox, &repository, "empty", &[]).ok();
    export(&sandbox, &repository, "empty", &["--force"]).ok();
}

#[test]
fn a_channel_that_was_changed_is_written_anew_and_an_import_sets_it_right() {
    let sandbox = Sandbox::new();
    sample(&sandbox);
    import(&sandbox, "oci:store", &[]).ok();
    let add = ["channel", "add", "oci:store", "stable", "2.0.0"];
    sandbox.run(add).ok();
    export(&sandbox, "oci:store", "out", &[]).ok();
    let written = files(&sandbox.path("out"));
    assert_eq!(
        std::str::from_utf8(&written["stable"]).unwrap(),
        "manifests:\n- name: etcd\n  version: 2.0.0\n- name: etcd\n  version: 1.10.0\n- name: etcd\n  version: 1.9.0\n"
    );
    let before = files(&sandbox.path("channels"));
    assert_eq!(written["beta"], before["beta"]);
    let again = import(&sandbox, "oci:store", &[]);
    again
        .ok()
        .assert_stderr_has("removed 2.0.0, which its file does not list");
    assert_eq!(resolved(&sandbox, "oci:store", "stable"), "1.10.0");
    export(&sandbox, "oci:store", "out", &["--force"]).ok();
    assert_eq!(files(&sandbox.path("out")), before);

    // A version that changed is a conflict, and nothing else is sent either.
    sandbox.write(
        "channels/packages/etcd/2.0.0/manifest.yaml",
        config_map("other"),
    );
    sandbox.write("channels/packages/etcd/0.1.0/a.yaml", config_map("first"));
    import(&sandbox, "oci:store", &[]).assert_code(13);
    let list = sandbox.run(["list", "oci:store"]);
    assert!(!list.ok().stdout().contains("0.1.0"), "{list}");
}

#[test]
fn a_repository_of_another_package_is_refused_before_anything_is_sent() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("flannel");
    bundle_dir(sandbox.path("other"), "flannel", "0.10.0", None);
    sample(&sandbox);
    // A channel that the directory has as well, and one that it has not.
    for channel in ["stable", "nightly"] {
        let push = ["push", "other", &repository, "--channel", channel];
        sandbox.run(push).ok();
        registry.mark();
        let ran = import(&sandbox, &repository, &[]);
        ran.assert_code(13)
            .assert_stderr_has(&format!("{repository}: channel `"))
            .assert_stderr_has("holds bundles of another package")
            .assert_stderr_has("expected etcd, found flannel")
            .assert_stderr_has("a repository of its own");
        let log = registry.log();
        let asks = |line: &String| line.starts_with("GET") || line.starts_with("HEAD");
        assert!(log.iter().all(asks), "nothing is sent: {log:?}");
        let clear = ["channel", "remove", &repository, channel, "0.10.0"];
        sandbox.run(clear).ok();
        // An empty channel is one of its package still.
        import(&sandbox, &repository, &[]).assert_code(13);
    }
    let list = sandbox.run(["list", &repository]);
    assert!(!list.ok().stdout().contains("1.9.0"), "{list}");
}

#[test]
fn what_is_under_the_tag_of_a_channel_and_is_none_is_in_nobodys_way() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    sample(&sandbox);
    let index = "application/vnd.oci.image.index.v1+json";
    let name = "k8s.io.bundle.channel.v1";
    let many: Vec<String> = (0..1001).map(|key| format!(r#""{key}":"""#)).collect();
    for (tag, text) in [
        (
            "channel-twice",
            r#"{"schemaVersion":2,"schemaVersion":2}"#.to_owned(),
        ),
        (
            "channel-none",
            r#"{"schemaVersion":2,"manifests":[]}"#.to_owned(),
        ),
        (
            "channel-other",
            format!(r#"{{"schemaVersion":2,"manifests":[],"annotations":{{"{name}":"x"}}}}"#),
        ),
        (
            "channel-many",
            format!(
                r#"{{"schemaVersion":2,"manifests":[],"annotations":{{{}}}}}"#,
                many.join(",")
            ),
        ),
    ] {
        registry.put_manifest("etcd", tag, index, text.as_bytes());
    }
    import(&sandbox, &repository, &[]).ok();
}

#[test]
fn what_no_repository_or_no_directory_can_say_is_refused_and_nothing_is_written() {
    let good = config_map("a");
    let map = good.as_str();
    let stable = "manifests:\n- version: 1.0.0\n";
    let one = "packages/etcd/1.0.0/manifest.yaml";
    for (files, code, words) in [
        (
            &[("stable", stable)][..],
            11,
            "there is no `packages/NAME/1.0.0`",
        ),
        (&[(one, map)], 11, "no channel file"),
        (
            &[
                (one, map),
                ("stable", "manifests:\n- version: 1.0.0\n- version: 2.0.0\n"),
            ],
            11,
            "stable:3: the channel lists version 2.0.0, and there is no `packages/etcd/2.0.0`",
        ),
        (
            &[
                (one, map),
                ("stable", "manifests:\n- name: other\n  version: 1.0.0\n"),
            ],
            11,
            "packages/other/1.0.0",
        ),
        (
            &[(one, map), ("stable", "versions: []\n")],
            11,
            "`versions`",
        ),
        (&[(one, map), ("v2", "manifests: []\n")], 11, "a-z only"),
        (
            &[("packages/etcd/v1.0.0/a.yaml", map), ("stable", stable)],
            11,
            "v1.0.0",
        ),
        (
            &[("packages/etcd/1.0.0+b/a.yaml", map), ("stable", stable)],
            11,
            "`+`",
        ),
        (
            &[("packages/a.b/1.0.0/a.yaml", map), ("stable", stable)],
            11,
            "a.b",
        ),
        (
            &[
                (one, map),
                ("packages/other/1.0.0/a.yaml", map),
                ("stable", stable),
            ],
            2,
            "--package NAME",
        ),
        (
            &[
                ("packages/etcd/1.0.0/manifests/a.yaml", map),
                ("stable", stable),
            ],
            11,
            "the directory of a bundle",
        ),
        (
            &[(one, "no: object\n"), ("stable", stable)],
            11,
            "manifest.yaml",
        ),
        (
            &[
                (one, map),
                ("packages/etcd/1.1.0/a.txt", ""),
                ("stable", stable),
            ],
            11,
            "1.1.0",
        ),
    ] {
        let sandbox = Sandbox::new();
        for (name, text) in files {
            sandbox.write(format!("channels/{name}"), text);
        }
        let ran = import(&sandbox, "oci:store", &[]);
        ran.assert_code(code);
        ran.assert_stderr_has(words);
        assert!(!sandbox.path("store").exists(), "{ran}");
    }
    let sandbox = Sandbox::new();
    import(&sandbox, "oci:store", &[]).assert_code(3);
    sample(&sandbox);
    import(&sandbox, "oci:store", &["--version", "1.0.0"]).assert_code(2);
    import(&sandbox, "oci:store", &["--package", "other"]).assert_code(3);
    std::os::unix::fs::symlink("stable", sandbox.path("channels/alpha")).unwrap();
    import(&sandbox, "oci:store", &[]).assert_code(8);

    // The other way: names that KDP does not look for.
    let sandbox = Sandbox::new();
    sandbox.write("in/a.yaml", map);
    for version in ["1.0.0", "2.0.0+b"] {
        let push = [
            "push",
            "in",
            "oci:store",
            "--package",
            "etcd",
            "--version",
            version,
        ];
        sandbox.run(push).ok();
    }
    export(&sandbox, "oci:store", "out", &[]).assert_code(11);
    for channel in ["stable", "v1"] {
        sandbox
            .run(["channel", "add", "oci:store", channel, "1.0.0"])
            .ok();
    }
    let ran = export(&sandbox, "oci:store", "out", &[]);
    ran.assert_code(11).assert_stderr_has("--channel NAME");
    assert!(!sandbox.path("out").exists());
    export(&sandbox, "oci:store", "out", &["--channel", "stable"]).ok();
    assert_eq!(files(&sandbox.path("out")).len(), 2);
    export(&sandbox, "oci:store", "out", &["--channel", "none"]).assert_code(3);
}

#[test]
fn one_of_several_packages_is_chosen_and_the_rest_is_said_to_be_left_out() {
    let sandbox = Sandbox::new();
    sample(&sandbox);
    sandbox.write("channels/README.md", "text");
    sandbox.write("channels/packages/README.md", "text");
    sandbox.write("channels/packages/other/1.0.0/a.yaml", config_map("other"));
    sandbox.write(
        "channels/stable",
        "manifests:\n- version: 1.9.0\n- name: other\n  version: 1.0.0\n",
    );
    sandbox.write(
        "channels/alpha",
        "manifests:\n- name: other\n  version: 1.0.0\n",
    );
    let ran = import(&sandbox, "oci:store", &["--package", "etcd"]);
    for words in [
        "left out `README.md`",
        "left out `packages/README.md`",
        "left out `packages/other/1.0.0/`: is another package",
        "left out `alpha`: lists other packages",
    ] {
        ran.ok().assert_stderr_has(words);
    }
    export(&sandbox, "oci:store", "out", &[]).ok();
    let out = files(&sandbox.path("out"));
    let text = std::str::from_utf8(&out["stable"]).unwrap();
    assert_eq!(text, "manifests:\n- name: etcd\n  version: 1.9.0\n");
    assert!(out.keys().all(|path| !path.contains("other")));
}

#[test]
fn files_of_a_version_are_joined_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.yaml", config_map("a").trim_end());
    sandbox.write("in/b.yaml", config_map("b"));
    let identity = [
        "--package",
        "etcd",
        "--version",
        "1.0.0",
        "--operator-id",
        "etcd-manager",
    ];
    let push = ["push", "in", "oci:store", "--channel", "stable"];
    sandbox.run(push.iter().chain(&identity).copied()).ok();
    let ran = export(&sandbox, "oci:store", "out", &[]);
    ran.ok().assert_stderr_has("--join");
    ran.assert_stderr_has("what 1 bundle says about operator");
    let ran = export(&sandbox, "oci:store", "joined", &["--join"]);
    assert!(!ran.ok().stderr().contains("--join"), "{ran}");
    let joined = files(&sandbox.path("joined"));
    let text = &joined["packages/etcd/1.0.0/manifest.yaml"];
    let want = format!("{}---\n{}", config_map("a"), config_map("b"));
    assert_eq!(std::str::from_utf8(text).unwrap(), want);
    assert_eq!(joined.len(), 2);
    // What comes out goes in.
    std::fs::rename(sandbox.path("joined"), sandbox.path("channels")).unwrap();
    import(&sandbox, "oci:again", &[]).ok();
    assert_eq!(resolved(&sandbox, "oci:again", "stable"), "1.0.0");
}

#[test]
fn an_export_without_channels_says_what_an_import_wants() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "etcd", "1.0.0", None);
    sandbox.run(["push", "in", "oci:store"]).ok();
    let ran = export(&sandbox, "oci:store", "channels", &[]);
    ran.ok().assert_stderr_has("has no channel file");
    let ran = import(&sandbox, "oci:again", &[]);
    ran.assert_code(11)
        .assert_stderr_has("has no channel file")
        .assert_stderr_has("write one beside `packages`");
    // What the hint says works.
    sandbox.write("channels/stable", "manifests:\n- version: 1.0.0\n");
    import(&sandbox, "oci:again", &[]).ok();
    assert_eq!(resolved(&sandbox, "oci:again", "stable"), "1.0.0");
}

/// Every directory of channels of the corpus; none is named that is left out.
#[test]
fn corpus_directories_of_channels_go_in_and_come_out_byte_for_byte() {
    let Some(root) = corpus() else { return };
    let addons = root.join("corpus/cluster-addons/master");
    let mut directories = vec![root.join(
        "corpus/kubebuilder-declarative-pattern/master/examples/guestbook-operator/channels",
    )];
    for entry in addons.read_dir().unwrap() {
        let channels = entry.unwrap().path().join("channels");
        if channels.is_dir() {
            directories.push(channels);
        }
    }
    assert!(directories.len() >= 8, "{directories:?}");
    // By addon: the highest version of `stable`, or what is refused.
    let mut stable = BTreeMap::new();
    for directory in directories {
        let sandbox = Sandbox::new();
        let from = directory.to_str().unwrap();
        // The manifests of two have placeholders for their operators.
        let flags = ["--placeholders", "go-template", "--operator-id", "addon"];
        let ran = sandbox.run(
            ["channel", "import", from, "oci:store"]
                .into_iter()
                .chain(flags),
        );
        let name = directory.parent().unwrap().file_name().unwrap();
        let name = name.to_str().unwrap().to_owned();
        if ran.code() != 0 {
            ran.assert_code(11)
                .assert_stderr_has("the channel lists version");
            assert!(!sandbox.path("store").exists(), "{ran}");
            stable.insert(name, "refused".to_owned());
            continue;
        }
        stable.insert(name, resolved(&sandbox, "oci:store", "stable"));
        export(&sandbox, "oci:store", "out", &[]).ok();
        assert_eq!(files(&sandbox.path("out")), files(&directory), "{from}");
    }
    let stable: Vec<(&str, &str)> = stable.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(
        stable,
        [
            ("coredns", "1.8.4"),
            ("dashboard", "2.0.0"),
            ("flannel", "0.10.0"),
            ("generic", "refused"),
            ("guestbook-operator", "0.1.0"),
            ("kubeproxy", "1.15.0"),
            ("metrics-server", "0.3.6"),
            ("nodelocaldns", "1.15.0"),
        ]
    );
}
