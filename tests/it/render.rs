//! `bundle render`: one stream in an order that a cluster accepts, with the text that the author wrote.

use std::path::Path;

use serde_json::Value;

use crate::support::{DockerRegistry, Sandbox, bundle_dir, corpus};

const WEB: &str = "# The workload comes first in the file.\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n";
const RENDERED: &str = "---\n# manifests/web.yaml:6\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\n# manifests/web.yaml:1\n# The workload comes first in the file.\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n";

/// Makes a bundle of the two objects.
fn web(sandbox: &Sandbox, directory: &str) {
    bundle_dir(
        sandbox.path(directory),
        "web",
        "1.0.0",
        Some(("web-manager", "1.4.0")),
    );
    let manifests = sandbox.path(directory).join("manifests");
    std::fs::remove_dir_all(&manifests).unwrap();
    sandbox.write(format!("{directory}/manifests/web.yaml"), WEB);
}

#[test]
fn a_bundle_is_the_same_stream_wherever_it_is() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    let repository = registry.repository("rendered");
    web(&sandbox, "web");
    sandbox.run(["pack", "web", "-o", "web.tar"]).ok();
    sandbox.run(["pack", "web", "-o", "oci:layout"]).ok();
    sandbox
        .run(["push", "web", &repository, "--channel", "stable"])
        .ok();
    let tagged = format!("{repository}:1.0.0");
    for source in [
        "web",
        "web/manifests/web.yaml",
        "web.tar",
        "oci:layout:1.0.0",
        &tagged,
    ] {
        let ran = sandbox.run(["render", source]);
        assert_eq!(
            ran.ok()
                .stdout()
                .replace("# web.yaml", "# manifests/web.yaml"),
            RENDERED,
            "{source}"
        );
        ran.assert_stderr_has("2 objects in 2 documents");
    }
    let asked = [
        "--channel",
        "stable",
        "--operator-id",
        "web-manager",
        "--operator-version",
    ];
    let render = |version| {
        sandbox.run(
            ["render", &repository]
                .into_iter()
                .chain(asked)
                .chain([version]),
        )
    };
    assert_eq!(render("1.4.0").ok().stdout(), RENDERED);
    assert_eq!(render("1.3.0").assert_code(10).stdout(), "");
    let stdin = sandbox.bundle(["render", "-"]).stdin(WEB).run();
    assert_eq!(
        stdin.ok().stdout().replace("# -:", "# manifests/web.yaml:"),
        RENDERED
    );
}

#[test]
fn nothing_is_written_of_what_is_not_expected_or_not_whole() {
    let sandbox = Sandbox::new();
    web(&sandbox, "web");
    let ran = sandbox.run(["render", "web", "--operator-id", "other"]);
    assert_eq!(ran.assert_code(10).stdout(), "");
    let ran = sandbox.run([
        "render",
        "web",
        "--operator-id",
        "web-manager",
        "--operator-version",
        "1.4.0",
    ]);
    ran.ok();
    sandbox.write("web/manifests/z.yaml", "replicas: 1\n");
    let ran = sandbox.run(["render", "web"]);
    ran.assert_code(11)
        .assert_stderr_has("manifests/z.yaml:1: ");
    assert_eq!(ran.stdout(), "");
    let bare = sandbox.run(["render", "web/manifests/web.yaml", "--package", "web"]);
    bare.assert_code(10)
        .assert_stderr_has("does not say what it is");
}

#[test]
fn kustomize_and_placeholders_say_what_to_do() {
    let sandbox = Sandbox::new();
    let good = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/good");
    sandbox
        .run(["pack", &format!("{good}/kustomize"), "-o", "oci:layout:k"])
        .ok();
    let ran = sandbox.run(["render", "oci:layout:k"]);
    ran.assert_code(2)
        .assert_stderr_has("`bundle pull oci:layout:k -o ");
    ran.assert_stderr_has("`kubectl apply -k ");
    let ran = sandbox.run(["render", &format!("{good}/placeholders")]);
    ran.assert_code(11)
        .assert_stderr_has("the operator fills the placeholders");
    assert_eq!(ran.stdout(), "");
}

#[test]
fn each_document_can_be_a_file() {
    let sandbox = Sandbox::new();
    web(&sandbox, "web");
    let ran = sandbox.run(["render", "web", "--output-dir", "out"]);
    assert_eq!(ran.ok().stdout(), "out\n");
    let read = |name: &str| std::fs::read_to_string(sandbox.path("out").join(name)).unwrap();
    assert_eq!(
        read("001-namespace-web.yaml"),
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
    );
    assert!(WEB.starts_with(&read("002-deployment-web.yaml")));
    assert_eq!(std::fs::read_dir(sandbox.path("out")).unwrap().count(), 2);
    sandbox.run(["render", "web", "--output-dir", "out"]).ok();
    sandbox.write(
        "web/manifests/more.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: more}",
    );
    sandbox
        .run(["render", "web", "--output-dir", "out"])
        .assert_code(13);
    sandbox
        .run(["render", "web", "--output-dir", "out", "--force"])
        .ok();
    assert_eq!(
        read("002-secret-more.yaml"),
        "apiVersion: v1\nkind: Secret\nmetadata: {name: more}"
    );
}

#[test]
fn the_order_is_data_for_machines() {
    let sandbox = Sandbox::new();
    web(&sandbox, "web");
    let ran = sandbox.run(["render", "web", "--format", "json"]);
    let value: Value = serde_json::from_str(ran.ok().stdout()).unwrap();
    let documents = value["documents"].as_array().unwrap();
    let phases: Vec<&str> = documents
        .iter()
        .map(|d| d["phase"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["namespaces", "workloads"]);
    assert_eq!(documents[1]["objects"][0]["name"], "web");
    assert_eq!(
        (&documents[1]["file"], &documents[0]["line"]),
        (&"web/manifests/web.yaml".into(), &6.into())
    );
}

#[test]
fn what_a_person_looks_at_is_escaped_and_what_a_program_reads_is_not() {
    let sandbox = Sandbox::new();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: \"\u{202e}x\"}\n";
    sandbox.write("a.yaml", text);
    let piped = sandbox.bundle(["render", "a.yaml"]).raw_stdout().run();
    assert!(piped.ok().stdout().ends_with(text));
    let seen = sandbox.on_terminal(80, &["render", "a.yaml"], &[]);
    seen.ok().assert_stdout_has("data: {b: \"\\u{202e}x\"}");
}

#[test]
fn a_text_that_gets_a_line_end_is_told() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: |\n    c",
    );
    let ran = sandbox.run(["render", "a.yaml"]);
    assert!(ran.ok().stdout().ends_with("    c\n"));
    ran.assert_stderr_has("ends inside a text without a line end");
}

/// Returns the documents of all files below a directory, as a set that does not know their order.
fn documents(files: impl Iterator<Item = String>) -> Vec<String> {
    let mut all: Vec<String> = files
        .flat_map(|text| {
            let text = format!("\n{text}").replace("\r\n", "\n");
            text.split("\n---\n")
                .map(|d| d.trim().to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|document| {
            document
                .lines()
                .any(|line| !line.is_empty() && !line.starts_with('#'))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn corpus_releases_are_rendered_whole() {
    let Some(root) = corpus() else { return };
    let sandbox = Sandbox::new();
    for name in [
        "metallb/v0.15.3/manifests/metallb-native.yaml",
        "cert-manager-crds/v1.21.1",
        "longhorn/v1.12.1",
        "calico/v3.32.1",
    ] {
        let path = root.join("corpus").join(name);
        let ran = sandbox
            .bundle(["render".as_ref(), path.as_os_str()])
            .raw_stdout()
            .run();
        let stream = String::from_utf8(ran.ok().stdout_bytes().to_vec()).unwrap();
        let without_places = stream.lines().map(|line| {
            let place = line
                .strip_prefix("# ")
                .and_then(|rest| rest.rsplit_once(".yaml:"));
            let is_place = place
                .is_some_and(|(file, line)| !file.contains(' ') && line.parse::<u32>().is_ok());
            if is_place { "" } else { line }
        });
        let found = documents([without_places.collect::<Vec<_>>().join("\n")].into_iter());
        let same = found == documents(files(&path).into_iter());
        assert!(same, "{name} is not what is in its files");
    }
}

fn files(path: &Path) -> Vec<String> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        return entries.flat_map(|entry| files(&entry)).collect();
    }
    let is_manifest = path.extension().is_some_and(|kind| kind == "yaml");
    let text = is_manifest.then(|| std::fs::read_to_string(path).unwrap());
    text.into_iter().collect()
}

#[test]
fn what_cannot_be_ordered_is_named_by_where_it_stands() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "bare/x.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n",
    );
    let ran = sandbox.run(["render", "bare"]);
    assert!(
        ran.ok().stdout().starts_with("---\n# x.yaml:1\n"),
        "{}",
        ran.stdout()
    );
    let value = sandbox
        .run(["render", "bare", "--format", "json"])
        .ok()
        .json();
    let document = &value["documents"][0];
    assert_eq!(
        (&document["file"], &document["bundlePath"]),
        (&"bare/x.yaml".into(), &"manifests/x.yaml".into())
    );
    sandbox.write("bare/x.yaml", "a: b: c\n");
    let ran = sandbox.run(["render", "bare", "--format", "json"]);
    assert_eq!(ran.assert_code(11).error_json()["file"], "bare/x.yaml");
    sandbox
        .run(["render", "bare"])
        .assert_code(11)
        .assert_stderr_has("error: bare/x.yaml:1: ");
}

#[test]
fn a_hint_of_a_directory_that_is_kept_names_a_flag_of_the_command() {
    let sandbox = Sandbox::new();
    sandbox.write("bare/x.yaml", WEB);
    sandbox.write("out/mine", "mine");
    let render = ["render", "bare", "--output-dir", "out"];
    sandbox
        .run(render)
        .assert_code(13)
        .assert_stderr_has("`--force`");
    let force = [&render[..], &["--force"]].concat();
    sandbox
        .run(&force)
        .assert_code(13)
        .assert_stderr_has("`--prune`");
    sandbox.run([&force[..], &["--prune"]].concat()).ok();
    assert!(!sandbox.path("out/mine").exists());
}
