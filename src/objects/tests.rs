//! Objects of every shape, and what is read of them.

use super::*;
use crate::limits::{Ceiling, Limits};
use crate::yaml::FaultKind;

fn read(file_name: &str, text: &str) -> Vec<Entry> {
    entries(file_name, text.as_bytes(), &Limits::default()).collect()
}

/// Writes entries in a few words.
fn brief(file_name: &str, text: &str) -> Vec<String> {
    read(file_name, text)
        .iter()
        .map(|entry| match entry {
            Entry::Object(object) => format!("{} {}", object.line, object.id),
            Entry::Other(other) => format!("{} {}", other.line, other.what),
            Entry::Fault(fault) => format!("{} {}", fault.line, fault.kind.name()),
        })
        .collect()
}

#[test]
fn every_document_and_every_item_of_a_list_counts() {
    let text = "\
# nothing
---
apiVersion: v1
kind: Namespace
metadata: {name: one}
--- # comment
null
---
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: two, namespace: x}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleList
  items:
  - metadata: {name: three}
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: four}
---
a: [
---
kind: ConfigMapList
apiVersion: v1
items:
---
{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"generateName\": \"five-\"}}
";
    assert_eq!(
        brief("a.yaml", text),
        [
            "3 Namespace one",
            "12 Deployment.apps x/two",
            "18 Role.rbac.authorization.k8s.io three",
            "19 ConfigMap four",
            "23 syntax",
            "29 Secret five-",
        ]
    );
    let [Entry::Object(object)] = &read("a.json", text.lines().last().unwrap())[..] else {
        panic!();
    };
    assert!(object.has_generated_name);
    assert_eq!(object.api_version(), "v1");
}

#[test]
fn a_kind_that_ends_like_a_list_is_one_only_with_items() {
    let text = "apiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: a}\n";
    assert_eq!(brief("a.yaml", text), ["1 AllowList.example.org a"]);
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: []\n";
    assert_eq!(brief("a.yaml", text), ["1 ConfigMap a"]);
}

#[test]
fn what_is_no_object_is_named() {
    for (file_name, text, what) in [
        ("a.yaml", "- just\n- a list", "a list"),
        ("a.yaml", "text", "a string"),
        ("a.yaml", "7", "a number"),
        ("a.yaml", "- {op: add, path: /a, value: 1}", "a JSON patch"),
        ("a.yaml", "replicas: 1", "a mapping"),
        ("a.yaml", "{}", "a mapping"),
        ("values.yaml", "replicas: 1", "the values of a Helm chart"),
        (
            "Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 0.1.0",
            "the `Chart.yaml` of a Helm chart",
        ),
        (
            "kustomization.yaml",
            "resources: [a.yaml]",
            "a kustomization",
        ),
        (
            "a.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component",
            "a kustomization",
        ),
        (
            "a.yaml",
            "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: a}",
            "a transformer or generator of kustomize",
        ),
        (
            "a.yaml",
            "images:\n- {path: spec/image, kind: Thing}\nnameReference:\n- kind: Secret\n  fieldSpecs: []",
            "settings for kustomize's transformers",
        ),
        (
            "a.yaml",
            "apiVersion: v1\nkind: ConfigMap",
            "an incomplete object",
        ),
        (
            "a.yaml",
            "metadata: {name: a}\nkind: ConfigMap",
            "an incomplete object",
        ),
    ] {
        assert_eq!(brief(file_name, text), [format!("1 {what}")], "{text}");
    }
}

#[test]
fn an_incomplete_object_says_all_that_it_lacks() {
    let lacks = |text: &str| match &read("a.yaml", text)[..] {
        [
            Entry::Other(Other {
                what: What::Incomplete(lacks),
                ..
            }),
        ] => lacks
            .iter()
            .map(|lack| format!("{} {lack}", lack.line))
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        lacks("apiVersion: 1\nkind: ''\nmetadata:\n  name: 007\n  namespace: [x]\n"),
        [
            "1 `apiVersion` is a number (`1`), not a string",
            "1 `kind` is missing",
            "4 `metadata.name` is a number (`007`), not a string",
            "5 `metadata.namespace` is a list, not a string",
        ]
    );
    assert_eq!(
        lacks("kind: Pod\nmetadata: text\n"),
        ["1 `apiVersion` is missing", "1 `metadata.name` is missing"]
    );
}

#[test]
fn pods_are_found_where_built_in_kinds_keep_them() {
    let find = |text: &str| match &read("a.yaml", text)[..] {
        [Entry::Object(object)] => pod_spec(object).map(|(path, _)| path.join(".")),
        other => panic!("{other:?}"),
    };
    let text = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {template: {spec: {}}}}}\n";
    assert_eq!(
        find(text).as_deref(),
        Some("spec.jobTemplate.spec.template.spec")
    );
    assert_eq!(find(&text.replace("batch/v1", "example.org/v1")), None);
}

#[test]
fn templates_are_read_with_their_actions_as_words() {
    let text = "\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Name }}-dns
  namespace: {{.Namespace}}
  {{- with .Labels }}
  labels:
    {{- range $key, $value := . }}
    {{ $key }}: {{ $value }}
    {{- end }}
  {{- end }}
spec:
  clusterIP: {{ .DNSIP }}
  ports: {{/* over
    two lines */}}
---
apiVersion: v1
kind: Secret
metadata: {name: plain}
---
{{ if .Broken }}
a: [
{{ end }}
";
    let mut entries = Vec::new();
    read_template("a.yaml", text.as_bytes(), &Limits::default(), |entry| {
        entries.push(entry);
    });
    let faults = entries.extract_if(.., |entry| matches!(entry, Entry::Fault(_)));
    assert_eq!(faults.count(), 1, "what is no YAML before it is filled");
    let objects: Vec<_> = entries
        .iter()
        .map(|entry| match entry {
            Entry::Object(object) => (object.id.to_string(), object.line, object.is_template),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        objects,
        [
            ("Service {{.Namespace}}/{{ .Name }}-dns".into(), 1, true),
            ("Secret plain".into(), 17, false),
        ]
    );
    let Some(Entry::Object(service)) = entries.first() else {
        panic!()
    };
    let node = &service.node;
    assert_eq!(
        node.at(&["spec", "clusterIP"]).unwrap().as_str(),
        Some("{{ .DNSIP }}")
    );
    assert!(node.at(&["metadata", "labels", "{{ $key }}"]).is_some());
}

#[test]
fn placeholders_that_aliases_repeat_are_bounded() {
    let limits = Limits::default().with(Ceiling::Yaml, 100_000);
    let read = |text: &str| {
        let mut found = Vec::new();
        read_template("a.yaml", text.as_bytes(), &limits, |entry| {
            found.push(entry);
        });
        found
    };
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let action = format!("{{{{ {} }}}}", "x".repeat(1_000));
    let text = format!("{object}a: &a \"{action}\"\nb: [{}]\n", "*a,".repeat(200));
    let [Entry::Fault(fault)] = &read(&text)[..] else {
        panic!("200 KB of placeholders were put back");
    };
    assert_eq!((&fault.kind, fault.line), (&FaultKind::AliasExpansion, 1));
    let text = format!("{object}a: &a \"{action}\"\nb: [*a, *a]\n");
    assert!(matches!(&read(&text)[..], [Entry::Object(o)] if o.is_template));
    // Without aliases nothing is too much.
    let all: Vec<String> = (0..90).map(|n| format!("a{n}: \"{action}\"\n")).collect();
    assert!(matches!(
        &read(&format!("{object}{}", all.concat()))[..],
        [Entry::Object(_)]
    ));
}
