//! `bundle diff`, as a user runs it.

use crate::support::{MockRegistry, Sandbox, bundle_dir};

mod laws;

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
    let wanted = "--- a\n+++ c\n  images\n-   reg.io/web:1\n+   reg.io/web:2\n~ Deployment.apps web  (all.yaml:8)\n\
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

#[test]
fn breaking_changes_are_marked_and_asked_for_alone() {
    let sandbox = Sandbox::new();
    let text = deployment(1, "reg.io/web:1");
    sandbox.write("a/d.yaml", &text);
    sandbox.write(
        "b/d.yaml",
        text.replace("matchLabels: {app: web}", "matchLabels: {app: other}"),
    );
    let wanted =
        "~ Deployment.apps web  (d.yaml:1)\n!   spec.selector: cannot change [immutable-field]\n";
    let ran = sandbox.run(["diff", "a", "b", "--breaking"]);
    assert_eq!(ran.assert_code(1).stdout(), wanted);
    ran.assert_stderr_has("0 added, 0 removed, 1 changed; 1 breaking change");
    let all = sandbox
        .run(["diff", "a", "b", "--format", "json"])
        .assert_code(1)
        .json();
    let one = &all["changes"][0]["breaking"][0];
    assert_eq!(
        (
            one["rule"].as_str(),
            one["certain"].as_bool(),
            one["line"].as_u64()
        ),
        (Some("immutable-field"), Some(true), Some(7))
    );
}

#[test]
fn schemas_that_are_described_otherwise_take_one_line() {
    let sandbox = Sandbox::new();
    let definition = |about: &str, limit: u32| {
        let source = format!(
            "{{type: object, description: {about}, properties: {{source: {{type: object, properties: {{description: {{type: string, maxLength: \
             {limit}}}}}}}}}}}"
        );
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: as.x.io}}\nspec:\n  group: x.io\n  scope: \
             Cluster\n  names: {{kind: A, plural: as}}\n  versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: \
             {{type: object, properties: {{a: {source}, b: {source}, c: {source}}}}}}}}}\n"
        )
    };
    sandbox.write("a/d.yaml", definition("one", 9));
    sandbox.write("b/d.yaml", definition("two", 8));
    let ran = sandbox.run(["diff", "a", "b"]);
    let path = "spec.versions[name=v1].schema.openAPIV3Schema.properties";
    let wanted = format!(
        "--- a\n+++ b\n~ CustomResourceDefinition.apiextensions.k8s.io as.x.io  (d.yaml:1)\n\
         !   v1: `a.source.description`: `maxLength` was 9 and is 8 [crd-bound], and at 2 other places\n\
         ~   {path}.a.properties.source.properties.description.maxLength: 9 → 8\n\
         ~     the same at 2 other places; --format json has them\n\
         ~   3 descriptions in the schema differ; --descriptions shows them\n"
    );
    assert_eq!(ran.assert_code(1).stdout(), wanted);
    ran.assert_stderr_has("; 3 breaking changes\n");
    let all = sandbox.run(["diff", "a", "b", "--descriptions"]);
    all.assert_code(1)
        .assert_stdout_has(&format!("~   {path}.b.description: one → two\n"));
    let value = sandbox.run(["diff", "a", "b", "--format", "json"]);
    let value = value.assert_code(1).json();
    assert_eq!(value["changes"][0]["fields"].as_array().unwrap().len(), 6);
}

#[test]
fn who_gets_a_role_is_said_before_all_else() {
    let sandbox = Sandbox::new();
    let binding = |subjects: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: admins}}\nroleRef: {{apiGroup: \
             rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}\nsubjects: [{subjects}]\n"
        )
    };
    let one = "{kind: ServiceAccount, name: x, namespace: y}";
    sandbox.write("a/b.yaml", binding(one));
    let all = format!(
        "{one}, {{kind: Group, apiGroup: rbac.authorization.k8s.io, name: 'system:authenticated'}}"
    );
    sandbox.write("b/b.yaml", binding(&all));
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(1).assert_stdout_has(
        "  by ClusterRoleBinding.rbac.authorization.k8s.io admins\n+   Group system:authenticated gets ClusterRole cluster-admin\n",
    );
    let value = sandbox.run(["diff", "a", "b", "--format", "json"]);
    let given = &value.assert_code(1).json()["bindings"][0]["gained"][0];
    assert_eq!(given["subject"], "system:authenticated");
    assert_eq!(given["role"], "cluster-admin");
}

/// A definition with two versions whose field becomes another, and a pattern another too.
fn definition(kind: &str, pattern: &str) -> String {
    let version = |name: &str, storage: bool| {
        format!(
            "  - {{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object, properties: {{spec: \
             {{type: object, properties: {{keep: {{type: {kind}}}, at: {{type: string, pattern: {pattern}}}}}}}}}}}}}}}\n"
        )
    };
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: as.x.io}}\nspec:\n  group: x.io\n  scope: Cluster\n  \
         names: {{kind: A, plural: as}}\n  versions:\n{}{}",
        version("v1", false),
        version("v2", true)
    )
}

#[test]
fn what_breaks_for_sure_can_be_asked_for_alone_and_the_count_is_that_of_the_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("a/d.yaml", definition("integer", "a"));
    sandbox.write("b/d.yaml", definition("string", "a"));
    sandbox.write("c/d.yaml", definition("integer", "b"));
    sandbox.write("d/d.yaml", definition("string", "b"));
    for (new, flag, code, lines, counted, all) in [
        (
            "b",
            "--breaking",
            1,
            1,
            "; 1 breaking change (2 with each version",
            2,
        ),
        (
            "b",
            "--breaking=certain",
            1,
            1,
            "; 1 certain breaking change (2 with",
            2,
        ),
        (
            "c",
            "--breaking",
            1,
            1,
            "; 1 breaking change (2 with each",
            2,
        ),
        (
            "c",
            "--breaking=certain",
            0,
            0,
            "0 certain breaking changes\n",
            0,
        ),
        (
            "d",
            "--breaking=all",
            1,
            2,
            "; 2 breaking changes (4 with each",
            4,
        ),
        (
            "d",
            "--breaking=certain",
            1,
            1,
            "; 1 certain breaking change (2 with",
            2,
        ),
    ] {
        let ran = sandbox.run(["diff", "a", new, flag]);
        ran.assert_code(code).assert_stderr_has(counted);
        let marked = ran.stdout().lines().filter(|line| line.starts_with('!'));
        assert_eq!(marked.count(), lines, "{new} {flag}: {}", ran.stdout());
        let value = sandbox.run(["diff", "a", new, flag, "--format", "json"]);
        let value = value.assert_code(code).json();
        assert_eq!(value["breaking"], lines, "as many as the text has");
        assert_eq!(value["breakingInEachVersion"], all);
        // Nothing is there but what breaks.
        let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert!(
            !keys
                .iter()
                .any(|key| ["metadata", "images", "grants", "crds"].contains(&key.as_str())),
            "{keys:?}"
        );
        assert!(
            value["changes"]
                .as_array()
                .unwrap()
                .iter()
                .all(|one| one.get("fields").is_none())
        );
        assert_eq!(value["same"], false);
    }
    sandbox
        .run(["diff", "a", "a", "--breaking=most"])
        .assert_code(2);
}

#[test]
fn images_that_are_likely_only_are_shown_and_marked() {
    let sandbox = Sandbox::new();
    let text = |version: u32| {
        let args = format!("args: ['--agent-image=reg.io/agent:{version}']");
        deployment(1, &format!("reg.io/web:{version}\n        {args}"))
    };
    sandbox.write("a/d.yaml", text(1));
    sandbox.write("b/d.yaml", text(2));
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(1).assert_stdout_has(
        "  images\n-   reg.io/agent:1 (likely)\n-   reg.io/web:1\n+   reg.io/agent:2 (likely)\n+   reg.io/web:2\n",
    );
    let value = sandbox.run(["diff", "a", "b", "--format", "json"]);
    let value = value.assert_code(1).json();
    assert_eq!(
        value["images"]["added"],
        serde_json::json!([{ "image": "reg.io/agent:2", "grade": "likely" }, { "image": "reg.io/web:2", "grade": "certain" }])
    );
}

#[test]
fn of_long_texts_the_lines_that_differ_are_shown() {
    let sandbox = Sandbox::new();
    let text = |lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("    {line}\n")).collect();
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n  k: |\n{}",
            lines.concat()
        )
    };
    let mut lines: Vec<String> = (1..=41).map(|n| format!("line {n}")).collect();
    sandbox.write("a/x.yaml", text(&lines));
    lines[40] = "another".to_owned();
    sandbox.write("b/x.yaml", text(&lines));
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(1).assert_stdout_has(
        "~   data.k:\n@@    -38,4 +38,4 @@\n      line 38\n      line 39\n      line 40\n-     line 41\n+     another\n",
    );
    assert!(!ran.stdout().contains("line 37"), "{}", ran.stdout());
    // Of a text that is another one altogether both sides are shown, each up to a bound.
    sandbox.write(
        "c/x.yaml",
        text(
            &lines
                .iter()
                .map(|line| format!("new {line}"))
                .collect::<Vec<_>>(),
        ),
    );
    let ran = sandbox.run(["diff", "a", "c"]);
    ran.assert_code(1)
        .assert_stdout_has("-     … 21 more lines; --format json has them\n+     new line 1\n")
        .assert_stdout_has("+     … 21 more lines; --format json has them\n");
    // The end of a line can be all that differs.
    sandbox.write("d/x.yaml", text(&lines).replace("k: |", "k: |-"));
    sandbox
        .run(["diff", "b", "d"])
        .assert_code(1)
        .assert_stdout_has("~     no line end at the end of the new text\n");
    // What a Secret holds is no text to compare.
    for (side, value) in [("e", "hunter-one"), ("f", "hunter-two")] {
        sandbox.secret(value);
        let text = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData:\n  k: |\n    a\n    {value}\n"
        );
        sandbox.write(format!("{side}/s.yaml"), text);
    }
    let ran = sandbox.run(["diff", "e", "f"]);
    ran.assert_code(1)
        .assert_stdout_has("~   stringData.k: differs (hidden)\n");
}

#[test]
fn files_are_compared_as_they_are_when_that_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.write("a/x.yaml", CONFIG_MAP);
    sandbox.write("a/same.yaml", deployment(1, "reg.io/web:1"));
    sandbox.write("b/x.yaml", format!("# said\n{CONFIG_MAP}"));
    sandbox.write("b/other.yaml", deployment(1, "reg.io/web:1"));
    sandbox.run(["diff", "a", "b"]).ok();
    let ran = sandbox.run(["diff", "a", "b", "--files"]);
    let wanted = "~ same.yaml → other.yaml\n--- a/x.yaml\n+++ b/x.yaml\n@@ -1,3 +1,4 @@\n+# said\n \
        apiVersion: v1\n kind: ConfigMap\n metadata:\n";
    assert_eq!(ran.assert_code(1).stdout(), wanted);
    sandbox.run(["diff", "a", "a", "--files"]).ok();
    sandbox
        .run(["diff", "a", "b", "--files", "--breaking"])
        .assert_code(2);
}

#[test]
fn sides_may_be_anywhere_and_one_may_come_on_stdin() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let reference = format!("{}:3.5.0", registry.repository("etcd"));
    bundle_dir(sandbox.path("etcd"), "etcd", "3.5.0", None);
    sandbox.run(["push", "etcd", &reference]).ok();
    sandbox.run(["pack", "etcd", "-o", "oci:lay"]).ok();
    sandbox.run(["diff", &reference, "oci:lay"]).ok();
    sandbox.run(["diff", "etcd", &reference]).ok();
    let ran = sandbox
        .bundle(["diff", &*reference, "-"])
        .stdin(CONFIG_MAP)
        .run();
    ran.assert_code(1)
        .assert_stderr_has("one side has no metadata");
    sandbox.run(["diff", "-", "-"]).assert_code(2);
}

#[test]
fn what_cannot_be_read_is_no_difference_but_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("a/x.yaml", CONFIG_MAP);
    sandbox.write("b/x.yaml", format!("{CONFIG_MAP}---\na: b: c\n"));
    let ran = sandbox.run(["diff", "a", "b", "--format", "json"]);
    assert_eq!(ran.assert_code(11).error_json()["file"], "b/x.yaml");
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(11).assert_stderr_has("error: b/x.yaml:8: ");
    sandbox
        .run(["diff", "b", "b"])
        .ok()
        .assert_stderr_has("b/x.yaml:8: note: not compared, the same on both sides");
    sandbox.run(["diff", "a", "b", "--files"]).assert_code(1);
}

#[test]
fn places_are_those_of_the_sides_and_tell_apart_what_has_the_same_name() {
    let sandbox = Sandbox::new();
    let role = |verbs: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: r}}\nrules:\n- {{apiGroups: [''], resources: [pods], \
             verbs: [{verbs}]}}\n"
        )
    };
    for (side, verbs) in [("a", "get"), ("b", "list")] {
        for file in ["one.yaml", "two.yaml"] {
            sandbox.write(format!("{side}/{file}"), role(verbs));
        }
        sandbox.write(format!("{side}/Makefile"), "x");
    }
    let ran = sandbox.run(["diff", "a", "b"]);
    ran.assert_code(1)
        .assert_stdout_has("  ClusterRole.rbac.authorization.k8s.io r may  (one.yaml:1)\n")
        .assert_stdout_has("  ClusterRole.rbac.authorization.k8s.io r may  (two.yaml:1)\n")
        .assert_stdout_has("~ ClusterRole.rbac.authorization.k8s.io r  (two.yaml:1)\n")
        .assert_stderr_has("left out `Makefile` of `a`: ")
        .assert_stderr_has("left out `Makefile` of `b`: ")
        .assert_stderr_has("b/two.yaml:1: note: the new side has");
    let value = sandbox.run(["diff", "a", "b", "--format", "json"]);
    let value = value.assert_code(1).json();
    assert_eq!(value["grants"][1]["newPlace"]["file"], "b/two.yaml");
    assert_eq!(value["changes"][0]["old"]["file"], "a/one.yaml");
    assert_eq!(
        value["changes"][0]["old"]["bundlePath"],
        "manifests/one.yaml"
    );
    // Of two files the names are enough.
    let ran = sandbox.run(["diff", "a/one.yaml", "b/one.yaml"]);
    ran.assert_code(1).assert_stdout_has("r  (one.yaml:1)\n");
    // Of one, nothing needs to be told apart.
    assert!(ran.stdout().contains(" r may\n"), "{}", ran.stdout());
}

/// Two versions of a bundle, as the README shows them.
const OPERATED: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.etcd.example.com}
spec:
  group: etcd.example.com
  scope: Namespaced
  names: {kind: Backup, plural: backups}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              keep: {type: integer}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: etcd}
rules:
- {apiGroups: [''], resources: [secrets], verbs: [get]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: etcd}
spec:
  replicas: 3
  serviceName: etcd
  selector: {matchLabels: {app: etcd}}
  template:
    metadata: {labels: {app: etcd}}
    spec:
      containers: [{name: etcd, image: quay.io/coreos/etcd:v3.5.0}]
";

#[test]
fn the_comparison_in_the_readme_is_what_happens() {
    let sandbox = Sandbox::new();
    let next = OPERATED
        .replace("{type: integer}", "{type: integer, minimum: 1}")
        .replace("verbs: [get]", "verbs: [get, list]")
        .replace("serviceName: etcd", "serviceName: etcd-headless")
        .replace("etcd:v3.5.0", "etcd:v3.6.0");
    for (version, text) in [("3.5.0", OPERATED), ("3.6.0", &next)] {
        let directory = sandbox.path(format!("etcd-{version}"));
        bundle_dir(&directory, "etcd", version, Some(("etcd-manager", "1.4.0")));
        sandbox.write(directory.join("manifests/etcd.yaml"), text);
    }
    let ran = sandbox.run(["diff", "etcd-3.5.0", "etcd-3.6.0"]);
    let said = format!("{}{}", ran.assert_code(1).stdout(), ran.stderr());
    let shown: Vec<String> = said
        .lines()
        .map(|line| format!("    {line}").trim_end().to_owned())
        .collect();
    let shown = format!(
        "    $ bundle diff etcd-3.5.0 etcd-3.6.0\n{}\n",
        shown.join("\n")
    );
    assert!(
        include_str!("../../README.md").contains(&shown),
        "README.md shows another answer than:\n{shown}"
    );
}
