//! The order of kinds, and what becomes of the text of a document.

use super::*;
use crate::bundle::Files;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| {
            let content = Content::from(bytes::Bytes::copy_from_slice(text.as_bytes()));
            (path.parse().unwrap(), content)
        })
        .collect()
}

fn object(kind: &str, api: &str, name: &str) -> String {
    format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

fn names(documents: &[Document]) -> Vec<String> {
    let all = documents.iter().flat_map(|document| &document.objects);
    all.map(|object| object.id.name.clone()).collect()
}

#[test]
fn whatever_needs_another_kind_comes_after_it() {
    let reversed = [
        (
            "ValidatingWebhookConfiguration",
            "admissionregistration.k8s.io/v1",
        ),
        ("Certificate", "cert-manager.io/v1"),
        ("APIService", "apiregistration.k8s.io/v1"),
        ("Lease", "coordination.k8s.io/v1"),
        ("Job", "batch/v1"),
        ("Deployment", "apps/v1"),
        ("Service", "v1"),
        ("ConfigMap", "v1"),
        ("RoleBinding", "rbac.authorization.k8s.io/v1"),
        ("Role", "rbac.authorization.k8s.io/v1"),
        ("ServiceAccount", "v1"),
        ("StorageClass", "storage.k8s.io/v1"),
        ("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        ("Namespace", "v1"),
    ];
    let text: Vec<String> = reversed
        .iter()
        .map(|(kind, api)| object(kind, api, &kind.to_lowercase()))
        .collect();
    let found = order(
        &files(&[("manifests/a.yaml", &text.join("---\n"))]),
        &Limits::default(),
    )
    .unwrap();
    let want = [
        "namespace",
        "customresourcedefinition",
        "storageclass",
        "serviceaccount",
        "role",
        "rolebinding",
        "configmap",
        "service",
        "deployment",
        "job",
        "apiservice",
        "lease",
        "certificate",
        "validatingwebhookconfiguration",
    ];
    assert_eq!(names(&found), want);
    assert!(found.is_sorted_by_key(|document| document.phase));
}

#[test]
fn a_kind_of_another_group_is_a_custom_resource() {
    // Knative's services are none of Kubernetes' services.
    let text = [
        object("Service", "serving.knative.dev/v1", "custom"),
        object("Pod", "v1", "pod"),
    ]
    .join("---\n");
    let found = order(&files(&[("manifests/a.yaml", &text)]), &Limits::default()).unwrap();
    assert_eq!(names(&found), ["pod", "custom"]);
    assert_eq!(found[1].phase, Phase::CustomResources);
}

#[test]
fn documents_of_one_kind_keep_the_order_of_paths_and_places() {
    let two = [
        object("ConfigMap", "v1", "b-1"),
        object("ConfigMap", "v1", "a-2"),
    ]
    .join("---\n");
    let all = files(&[
        ("manifests/2.yaml", &object("ConfigMap", "v1", "z")),
        ("manifests/1.yaml", &two),
        ("metadata/annotations.yaml", "annotations: {}\n"),
    ]);
    let found = order(&all, &Limits::default()).unwrap();
    assert_eq!(names(&found), ["b-1", "a-2", "z"]);
    assert_eq!(found.iter().map(|d| d.line).collect::<Vec<_>>(), [1, 6, 1]);
}

#[test]
fn the_text_of_a_document_is_what_stands_in_the_file() {
    let text = "\u{feff}# why\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n--- # next\n# only a comment\n---\r\napiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: b}";
    let found = order(&files(&[("manifests/a.yaml", text)]), &Limits::default()).unwrap();
    let texts: Vec<_> = found.iter().map(|d| d.text.to_bytes().unwrap()).collect();
    assert_eq!(
        texts[0],
        "apiVersion: v1\r\nkind: Namespace\r\nmetadata: {name: b}"
    );
    assert_eq!(
        texts[1],
        "# why\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    );
    assert_eq!(texts.len(), 2);
}

#[test]
fn a_list_stays_whole_and_comes_when_its_first_item_must() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n- {apiVersion: v1, kind: Namespace, metadata: {name: ns}}\n";
    let text = [object("ConfigMap", "v1", "c"), list.to_owned()].join("---\n");
    let found = order(&files(&[("manifests/a.yaml", &text)]), &Limits::default()).unwrap();
    assert_eq!(names(&found), ["p", "ns", "c"]);
    assert_eq!(found[0].phase, Phase::Namespaces);
}

#[test]
fn a_line_end_that_would_be_part_of_a_text_is_known() {
    for (end, changes) in [
        ("data: {a: b}", false),
        ("data:\n  a: |\n    b", true),
        ("data:\n  a: |-\n    b", false),
    ] {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{end}");
        let found = order(&files(&[("manifests/a.yaml", &text)]), &Limits::default()).unwrap();
        assert_eq!(found[0].ends_inside_a_text, changes, "{end}");
    }
}

#[test]
fn what_no_cluster_takes_is_refused_with_its_place() {
    for (text, place) in [
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: {{ .B }}\n",
            "manifests/a.yaml:5",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nreplicas: 1\n",
            "manifests/a.yaml:5",
        ),
    ] {
        let error = order(&files(&[("manifests/a.yaml", text)]), &Limits::default()).unwrap_err();
        assert_eq!(error.kind(), crate::Kind::Invalid);
        assert!(error.message().contains(place), "{error}");
    }
}

#[test]
fn more_objects_than_the_ceiling_are_refused() {
    let text: String = (0..3)
        .map(|n| object("Pod", "v1", &format!("p{n}")) + "---\n")
        .collect();
    let all = files(&[("manifests/a.yaml", &text), ("manifests/b.yaml", &text)]);
    let limits = Limits::default();
    assert_eq!(order(&all, &limits).unwrap().len(), 6);
    let error = order(&all, &limits.with(Ceiling::Objects, 5)).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Limit);
}
