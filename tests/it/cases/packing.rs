//! Cases 01 to 12: what gets into a bundle, and that nothing else shows in its digest.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use crate::real::{Parts, answer, tree};
use crate::support::{MockRegistry, Ran, Sandbox, Snapshot, bundle_dir};

use super::{IDENTITY, config_map, corpus_folder, pack};

/// The requests that would change something.
fn writes(registry: &MockRegistry) -> Vec<String> {
    let reads = |line: &String| line.starts_with("GET ") || line.starts_with("HEAD ");
    let log = registry.log().into_iter();
    log.filter(|line| !reads(line)).collect()
}

#[test]
fn case_01_a_link_that_leaves_the_source_is_refused_by_name() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: far}\n";
    sandbox.write("elsewhere/role.yaml", role);
    sandbox.write("in/near.yaml", config_map("near"));
    symlink("../elsewhere/role.yaml", sandbox.path("in/role.yaml")).unwrap();
    let before = Snapshot::of(sandbox.work());
    let push = [&["push", "in", &there][..], &IDENTITY].concat();
    for refused in [
        pack("in", &["-o", "out.tar"]),
        pack("in", &["-o", "out.tar", "--resolve-symlinks"]),
        push,
    ] {
        let ran = sandbox.run(refused);
        ran.assert_code(8).assert_stderr_has("in/role.yaml");
        ran.assert_stderr_has("../elsewhere/role.yaml");
    }
    before.assert_same(sandbox.work());
    assert_eq!(writes(&registry), [""; 0]);

    // Allowed in so many words, it becomes a file.
    sandbox
        .run(pack(
            "in",
            &["-o", "out.tar", "--symlink-root", "elsewhere"],
        ))
        .ok();
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let file = sandbox.path("out/manifests/role.yaml");
    assert!(file.symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(file).unwrap(), role);
}

#[test]
fn case_03_the_same_bytes_have_the_same_digest() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("first"), "demo", "1.0.0", None);
    let first = Parts::of(&sandbox, "first").manifest;
    // Made the other way round, later, readable for more people, and one file even executable.
    let late = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    for path in [
        "metadata/annotations.yaml",
        "manifests/deployment.yaml",
        "manifests/configmap.yaml",
    ] {
        let bytes = fs::read(sandbox.path("first").join(path)).unwrap();
        let copy = sandbox.write(format!("the other/{path}"), bytes);
        File::options()
            .write(true)
            .open(&copy)
            .unwrap()
            .set_modified(late)
            .unwrap();
        fs::set_permissions(copy, Permissions::from_mode(0o664)).unwrap();
    }
    let mode = |path: &str, mode| {
        fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
    };
    mode("the other/manifests", 0o775);
    mode("the other/manifests/configmap.yaml", 0o775);
    assert_eq!(Parts::of(&sandbox, "the other").manifest, first);
    let dry = ["pack", "the other", "--dry-run", "--format", "json"];
    let strict = sandbox.bundle(dry).umask(0o077).run();
    assert_eq!(strict.ok().json()["digest"], first.as_str());
    // A digest that never changed would pass all this too.
    sandbox.write("the other/manifests/configmap.yaml", config_map("x"));
    assert_ne!(Parts::of(&sandbox, "the other").manifest, first);
}

#[test]
fn case_04_neither_time_zone_nor_locale_shows() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    let digest = |created: &[&str], variables: &[(&str, &str)]| {
        let words = [
            &["pack", "in", "--dry-run", "--format", "json"][..],
            created,
        ]
        .concat();
        let run = variables
            .iter()
            .fold(sandbox.bundle(words), |run, (name, value)| {
                run.env(name, value)
            });
        run.run().ok().json()["digest"].as_str().unwrap().to_owned()
    };
    let plain = digest(&[], &[]);
    let epoch = ("SOURCE_DATE_EPOCH", "1700000000");
    let timed = digest(&["--created", "env"], &[epoch]);
    assert_ne!(plain, timed);
    for (name, value) in [
        ("TZ", "UTC"),
        ("TZ", "Pacific/Chatham"),
        ("TZ", "America/Caracas"),
        ("LC_ALL", "C"),
        ("LC_ALL", "tr_TR.UTF-8"),
    ] {
        assert_eq!(digest(&[], &[(name, value)]), plain, "{name}={value}");
        // The variable alone moves nothing: it must be asked for.
        assert_eq!(digest(&[], &[(name, value), epoch]), plain);
        let again = digest(&["--created", "env"], &[(name, value), epoch]);
        assert_eq!(again, timed, "{name}={value}");
    }
    let written = ["--created", "2023-11-14T22:13:20Z"];
    assert_eq!(digest(&written, &[]), timed, "the same moment");
}

#[test]
fn case_06_an_unreadable_file_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    sandbox.write("in/fine.yaml", config_map("fine"));
    let file = sandbox.write("in/locked.yaml", config_map("locked"));
    fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
    // Root reads everything until it gives up its capabilities.
    let root = fs::read(&file).is_ok();
    let run = |args: Vec<&str>| {
        if !root {
            return sandbox.run(args);
        }
        let binary = env!("CARGO_BIN_EXE_bundle");
        let words = ["--bounding-set=-all", "--inh-caps=-all", "--", binary];
        sandbox
            .program("setpriv", words.into_iter().chain(args))
            .run()
    };
    for args in [
        pack("in", &["-o", "out.tar"]),
        pack("in", &["-o", "oci:out"]),
        [&["push", "in", &there][..], &IDENTITY].concat(),
    ] {
        let ran = run(args);
        ran.assert_code(12).assert_stderr_has("in/locked.yaml");
        ran.assert_stderr_has("permission denied");
    }
    assert_eq!(
        Snapshot::of(sandbox.work()).paths(),
        ["in", "in/fine.yaml", "in/locked.yaml"]
    );
    assert_eq!(writes(&registry), [""; 0]);
}

/// The names that another reader finds in a layer, without directories.
fn names(ran: &Ran) -> Vec<String> {
    let lines = ran.ok().stdout().lines();
    let files = lines.filter(|line| line.contains("manifests/") && !line.ends_with('/'));
    let mut names: Vec<String> = files.map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn case_07_long_paths_come_back_whole() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = format!("{}:1.0.0", registry.repository("demo"));
    let part = "p".repeat(70);
    let mut files = Vec::new();
    // With `manifests/` before them: the last that fits the old field, the first that does not, and far beyond.
    for length in [100, 101, 256, 300] {
        let below = length - "manifests/".len() - ".yaml".len();
        let mut path = String::new();
        while below - path.len() > 80 {
            path = format!("{path}{part}/");
        }
        let name = "q".repeat(below - path.len());
        files.push(format!("{path}{name}.yaml"));
    }
    files.push(format!("{part}/Größe-{}.yaml", "é".repeat(60)));
    let mut resources = "resources:\n".to_owned();
    for (index, path) in files.iter().enumerate() {
        sandbox.write(format!("in/{path}"), config_map(&format!("long-{index}")));
        writeln!(resources, "- {path}").unwrap();
    }
    sandbox.write("in/kustomization.yaml", resources);
    files.push("kustomization.yaml".to_owned());
    let kustomize = ["--mediatype", "kustomize"];
    let push = [&["push", "in", &there][..], &IDENTITY, &kustomize].concat();
    sandbox.run(push).ok();
    sandbox.run(["pull", &there, "-o", "out"]).ok();
    assert_eq!(
        tree(sandbox.path("out/manifests")),
        tree(sandbox.path("in"))
    );

    let shown = sandbox.run(["inspect", &there, "--format", "json"]);
    let parts = shown.ok().json()["parts"].clone();
    let mut parts = parts.as_array().unwrap().iter();
    let layer = parts.find(|part| part["part"] == "layer").unwrap();
    let layer = registry
        .blob("demo", layer["digest"].as_str().unwrap())
        .unwrap();
    sandbox.write("layer.tgz", layer);
    let mut expected: Vec<_> = files
        .iter()
        .map(|path| format!("manifests/{path}"))
        .collect();
    expected.sort();
    let gnu = ["--quoting-style=literal", "-tzf", "layer.tgz"];
    assert_eq!(names(&sandbox.tool("tar", gnu)), expected);
    let script = "import sys, tarfile
for member in tarfile.open(sys.argv[1]):
    sys.stdout.buffer.write((member.name + '/' * member.isdir() + '\\n').encode())";
    assert_eq!(names(&sandbox.python(script, &["layer.tgz"])), expected);
}

#[test]
fn case_09_what_a_mac_leaves_behind_is_left_out_and_named() {
    let sandbox = Sandbox::new();
    let fork = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        \xff\xfe";
    sandbox.write("in/app.yaml", config_map("app"));
    sandbox.write("in/._app.yaml", fork);
    sandbox.write("in/.DS_Store", b"\0\0\0\x01Bud1");
    sandbox.write("in/__MACOSX/._app.yaml", fork);
    let checked = sandbox.run(["validate", "in", "--format", "json"]);
    let value = checked.ok().json();
    assert_eq!(
        (&value["objects"], &value["errors"]),
        (&1.into(), &0.into())
    );
    let packed = sandbox.run(pack("in", &["-o", "out.tar"]));
    for ran in [&checked, &packed] {
        for name in ["._app.yaml", ".DS_Store", "__MACOSX/"] {
            ran.ok().assert_stderr_has(&format!("left out `{name}`"));
        }
    }
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let carried = tree(sandbox.path("out/manifests"));
    assert_eq!(carried.keys().collect::<Vec<_>>(), ["app.yaml"]);
}

#[test]
fn case_10_one_more_pattern_keeps_the_built_in_ones() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        ("in/.git/config", "x"),
        ("in/lib/.git/config", "x"),
        ("in/notes/a.yaml", "x"),
        ("in/picture.svg", "<svg/>"),
    ] {
        sandbox.write(path, text);
    }
    sandbox.write("in/lib/map.yaml", config_map("map"));
    let more = ["--flatten", "--ignore", "notes/", "-o", "out.tar"];
    let packed = sandbox.run(pack("in", &more));
    for name in [".git/", "lib/.git/", "notes/", "picture.svg"] {
        packed.ok().assert_stderr_has(&format!("left out `{name}`"));
    }
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let carried = tree(sandbox.path("out/manifests"));
    assert_eq!(carried.keys().collect::<Vec<_>>(), ["lib-map.yaml"]);
    // Without the rules, that is with an option of its own, a repository would be carried.
    let all = [&more[..], &["--no-default-ignores", "--force"]].concat();
    let packed = sandbox.run(pack("in", &all));
    assert!(!packed.stderr().contains("built-in rule"), "{packed}");
}

/// What is left of a directory after its ignore file, as paths in the source.
fn left(sandbox: &Sandbox, directory: &str) -> Vec<String> {
    let ran = sandbox.run(pack(
        directory,
        &["--flatten", "-o", "out.tar", "--format", "json"],
    ));
    answer(&ran);
    sandbox.run(["unpack", "out.tar", "-o", "out"]).ok();
    let carried = tree(sandbox.path("out/manifests"));
    carried.into_keys().collect()
}

#[test]
fn case_12_the_order_of_patterns_and_lost_parents_are_as_in_git() {
    let sandbox = Sandbox::new();
    for path in [
        "first/one.yaml",
        "gone/one.yaml",
        "some/one.yaml",
        "some/two.yaml",
        "#odd.yaml",
        "blank.yaml",
        "whole.yaml",
    ] {
        let name = path.replace(['/', '.', '#'], "-");
        sandbox.write(format!("in/{path}"), config_map(name.trim_matches('-')));
    }
    sandbox.write(
        "in/.bundleignore",
        "!first/*.yaml\nfirst/*\ngone/\n!gone/one.yaml\nsome/*\n!some/two.yaml\n\\#odd.yaml\nblank.yaml  \n",
    );
    assert_eq!(left(&sandbox, "in"), ["some-two.yaml", "whole.yaml"]);
}

#[test]
fn case_12_the_tree_of_the_corpus_is_left_as_its_list_says() {
    let Some(folder) = corpus_folder("12-ignore-order-and-parents") else {
        return;
    };
    let sandbox = Sandbox::new();
    for (path, bytes) in tree(folder.join("in")) {
        sandbox.write(format!("in/{path}"), bytes);
    }
    let patterns = fs::read(folder.join("IGNORE")).unwrap();
    sandbox.write("in/.bundleignore", patterns);
    let expected = fs::read_to_string(folder.join("EXPECT")).unwrap();
    let expected: Vec<_> = expected
        .lines()
        .map(|path| path.replace('/', "-"))
        .collect();
    assert_eq!(left(&sandbox, "in"), expected);
}
