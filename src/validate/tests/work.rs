//! What is large is looked at in no more time than it deserves.

use super::*;

#[test]
fn of_many_versions_some_are_named_and_the_first_of_a_name_counts() {
    let versions: Vec<String> = (0..20)
        .map(|n| format!("{{name: v{n}, served: true}}"))
        .collect();
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.org}}\nspec:\n  group: example.org\n  names: {{kind: Thing, plural: things}}\n  versions: [{{name: v1, served: false}}, {}]\n",
        versions.join(", ")
    );
    let thing = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\n";
    let files = files(&[
        ("manifests/crd.yaml", &definition),
        ("manifests/thing.yaml", thing),
    ]);
    let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
    let found = report.findings.iter();
    let hints: Vec<_> = found
        .filter(|finding| finding.code == "custom-resource-version")
        .map(|finding| finding.hint.clone().unwrap_or_default())
        .collect();
    assert_eq!(
        hints,
        ["it serves `v0`, `v1`, `v2`, `v3`, `v4`, `v5`, `v6`, `v7`, 12 more"]
    );
}

#[test]
fn large_selectors_are_not_held_against_many_pods() {
    let labels = |count: usize| -> String {
        let labels: Vec<String> = (0..count).map(|n| format!("k{n}: a")).collect();
        labels.join(", ")
    };
    let pod = |name: usize, labels: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{name}, labels: {{{labels}}}}}\nspec: {{containers: [{{name: a, image: \"r.io/a:1\"}}]}}\n"
        )
    };
    let service = |labels: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{selector: {{{labels}, x: y}}}}\n"
        )
    };
    let is_told = |count: usize, pods: usize| {
        let own = labels(count);
        let pods: String = (0..pods).map(|name| pod(name, "k0: a")).collect();
        let text = service(&own) + &pods;
        let found = found(&[("manifests/a.yaml", &text)]);
        found.iter().any(|line| line.ends_with("selector-nothing"))
    };
    assert!(is_told(1_000, 10));
    // Two selector texts for each label, against each of the pods.
    assert!(!is_told(50_000, 101));
}
