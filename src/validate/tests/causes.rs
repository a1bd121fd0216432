//! One cause gives one finding, in words that name it.

use super::*;

#[test]
fn one_cause_is_one_finding_that_names_it() {
    let all = |names: &str| -> String {
        let object = |name: char| CONFIG_MAP.replace("name: a", &format!("name: {name}"));
        names.chars().map(object).collect::<Vec<_>>().join("---\n")
    };
    let of = |list: &[(&str, &str)]| -> Vec<String> {
        let report = report_of(&files(list), &Limits::default(), Mediatype::Manifests);
        report
            .findings
            .into_iter()
            .map(|finding| finding.message)
            .collect()
    };
    let (five, six) = (all("abcde"), all("abcdef"));
    assert_eq!(
        of(&[("manifests/a.yaml", &five), ("manifests/b.yaml", &five)]),
        ["all 5 objects of this file are already in manifests/a.yaml"]
    );
    assert_eq!(
        of(&[("manifests/a.yaml", &five), ("manifests/b.yaml", &six)]),
        [
            "5 of the 6 objects of this file are already in manifests/a.yaml, the first is `ConfigMap a`"
        ]
    );
    let twice = format!("{five}---\n{five}");
    assert_eq!(of(&[("manifests/a.yaml", &twice)]).len(), 5);
    // What only changes a Deployment is told so, and once.
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {tolerations: []}}}\n";
    assert_eq!(
        of(&[("manifests/a.yaml", patch)]),
        [
            "`Deployment.apps a` has neither a `spec.selector` nor the image of a container: it looks like a patch of one"
        ]
    );
    // Several bundles in one directory.
    let metadata = "annotations: {}\n";
    assert_eq!(
        of(&[
            ("manifests/a.yaml", CONFIG_MAP),
            ("manifests/one/metadata/annotations.yaml", metadata)
        ])
        .last()
        .map(String::as_str),
        Some("this is the metadata of a bundle of its own: the directory holds several")
    );
}
