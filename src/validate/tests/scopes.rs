//! Namespaces of what has none.

use super::*;

#[test]
fn what_is_there_for_the_whole_cluster_has_no_namespace() {
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\n";
    let in_one = role.replace("name: a", "name: a, namespace: b");
    let text = format!("{role}---\n{in_one}");
    assert_eq!(
        found(&[("manifests/a.yaml", &text)]),
        ["a.yaml:5 object-duplicate", "a.yaml:7 object-scope"]
    );
    let definition = |scope: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.org}}\nspec: \
             {{group: example.org, scope: {scope}, names: {{kind: Thing}}, versions: [{{name: v1, served: true, storage: true}}]}}\n"
        )
    };
    let things = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a, namespace: b}\n---\n\
        apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a, namespace: default}\n";
    for (scope, expected) in [
        (
            "Cluster",
            &[
                "b.yaml:1 object-scope",
                "b.yaml:5 object-duplicate",
                "b.yaml:5 object-scope",
            ][..],
        ),
        ("Namespaced", &["b.yaml:1 namespace-not-found"]),
    ] {
        let definition = definition(scope);
        let found = found(&[
            ("manifests/a.yaml", &definition),
            ("manifests/b.yaml", things),
        ]);
        assert_eq!(found, expected, "{scope}");
    }
}
