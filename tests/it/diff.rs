//! `bundle diff`, as a user runs it.

use crate::support::{Sandbox, bundle_dir};

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: \"1\"\n";

fn deployment(replicas: u32, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  selector:\n    matchLabels: {{app: web}}\n  \
         template:\n    metadata:\n      labels: {{app: web}}\n    spec:\n      containers:\n      - name: main\n        image: {image}\n"
    )
}

#[test]
fn order_quotes_comments_and_files_make_no_difference() {
    let sandbox = Sandbox::new();
    let all = format!("{CONFIG_MAP}---\n{}", deployment(1, "reg.io/web:1"));
    sandbox.write("a/all.yaml", all);
    let moved = format!("# moved\n{}", deployment(1, "\"reg.io/web:1\""));
    sandbox.write("b/1-dep.yaml", moved);
    sandbox.write(
        "b/2-cm.yaml",
        "kind: ConfigMap\napiVersion: v1\ndata: {k: '1'}\nmetadata: {name: x}\n",
    );
    let ran = sandbox.run(["diff", "a", "b"]);
    assert_eq!((ran.ok().stdout(), ran.stderr()), ("", "no difference\n"));
}

#[test]
fn each_field_takes_one_line_and_the_exit_code_tells_whether_there_are_some() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a/all.yaml",
        format!("{CONFIG_MAP}---\n{}", deployment(1, "reg.io/web:1")),
    );
    sandbox.write(
        "c/all.yaml",
        format!("{CONFIG_MAP}---\n{}", deployment(3, "reg.io/web:2")),
    );
    let ran = sandbox.run(["diff", "a", "c"]);
    let wanted = "--- a\n+++ c\n  images\n-   reg.io/web:1\n+   reg.io/web:2\n~ Deployment.apps web  (manifests/all.yaml:8)\n\
        ~   spec.replicas: 1 → 3\n~   spec.template.spec.containers[name=main].image: reg.io/web:1 → reg.io/web:2\n";
    assert_eq!(ran.assert_code(1).stdout(), wanted);
    let quiet = sandbox.run(["diff", "a", "c", "--quiet"]);
    assert_eq!((quiet.assert_code(1).stdout(), quiet.stderr()), ("", ""));
    sandbox.run(["diff", "a", "c", "--breaking"]).ok();
    sandbox.run(["diff", "a", "nothing"]).assert_code(3);
    sandbox.run(["diff", "a"]).assert_code(2);
}

#[test]
fn a_directory_and_what_is_packed_of_it_are_the_same() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("etcd"), "etcd", "3.5.0", Some(("m", "1.0.0")));
    sandbox.run(["pack", "etcd", "-o", "etcd.tar"]).ok();
    sandbox.run(["diff", "etcd", "etcd.tar"]).ok();
    bundle_dir(sandbox.path("next"), "etcd", "3.6.0", Some(("m", "1.0.0")));
    let ran = sandbox.run(["diff", "etcd.tar", "next"]);
    let lines = "-   k8s.io.bundle.version.v1: 3.5.0\n+   k8s.io.bundle.version.v1: 3.6.0\n";
    ran.assert_code(1).assert_stdout_has(lines);
}

#[test]
fn what_a_secret_holds_is_never_shown() {
    let sandbox = Sandbox::new();
    for (side, value) in [("a", "c2VjcmV0LW9uZQ=="), ("b", "c2VjcmV0LXR3bw==")] {
        sandbox.secret(value);
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\ndata: {{password: {value}}}\n"
        );
        sandbox.write(format!("{side}/s.yaml"), text);
    }
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(1)
        .assert_stdout_has("~   data.password: differs (hidden)\n");
    for format in ["json", "yaml"] {
        sandbox
            .run(["diff", "a", "b", "--format", format])
            .assert_code(1);
    }
}

mod laws;
