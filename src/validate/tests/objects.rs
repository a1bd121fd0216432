//! What API servers and `kubectl` make of objects, and what objects say of one another.

use super::*;

/// Returns the findings of one file for a version of the cluster, and with a version in the metadata.
fn of_clusters(text: &str, cluster: Option<&str>, minimum: Option<&str>) -> Vec<String> {
    let minimum = minimum
        .map(|minimum| format!("  k8s.io.bundle.kubernetes.min-version.v1: \"{minimum}\"\n"));
    let metadata = format!(
        "annotations:\n  k8s.io.bundle.mediatype.v1: manifests\n  k8s.io.bundle.package.v1: a\n  k8s.io.bundle.version.v1: \"1.0.0\"\n{}",
        minimum.unwrap_or_default()
    );
    let files = files(&[
        ("metadata/annotations.yaml", &metadata),
        ("manifests/a.yaml", text),
    ]);
    let options = Options {
        kubernetes_version: cluster.map(|version| version.parse().unwrap()),
        ..Options::default()
    };
    let report = validate(&files, &Limits::default(), &options).unwrap();
    let line = |finding: &Finding| format!("{} {}", finding.severity.name(), finding.code);
    report.findings.iter().map(line).collect()
}

#[test]
fn removed_apis_are_as_bad_as_it_is_certain_that_a_cluster_refuses_them() {
    let budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n";
    for (cluster, minimum, expected) in [
        (None, None, Some("note api-removed")),
        (None, Some("1.20"), Some("note api-removed")),
        (None, Some("1.21"), Some("warning api-deprecated")),
        (None, Some("1.24.9"), Some("warning api-deprecated")),
        (None, Some("1.25"), Some("warning api-removed")),
        (Some("1.20"), None, None),
        (Some("1.24"), None, Some("warning api-deprecated")),
        (Some("1.24"), Some("1.25"), Some("warning api-deprecated")),
        (Some("v1.25.0-gke.1"), None, Some("error api-removed")),
        (Some("1.33"), Some("1.20"), Some("error api-removed")),
    ] {
        let found = of_clusters(budget, cluster, minimum);
        assert_eq!(found, Vec::from_iter(expected), "{cluster:?} {minimum:?}");
    }
    let now = budget.replace("v1beta1", "v1");
    assert_eq!(of_clusters(&now, Some("1.33"), None), [""; 0]);
}

#[test]
fn workloads_that_do_not_select_their_own_pods_are_errors() {
    let workload = |api: &str, kind: &str, selector: &str| {
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  template: {{metadata: {{labels: {{app: x}}}}, spec: {{}}}}\n{selector}"
        )
    };
    let (right, wrong) = ("{matchLabels: {app: x}}", "{matchLabels: {app: z}}");
    for (api, kind, selector, line) in [
        ("apps/v1", "Deployment", Some(right), None),
        ("apps/v1", "DaemonSet", Some(wrong), Some(6)),
        ("apps/v1", "StatefulSet", Some("{}"), Some(6)),
        ("apps/v1", "ReplicaSet", None, Some(1)),
        ("apps/v1", "Deployment", Some("~"), Some(1)),
        ("apps/v1beta1", "Deployment", None, None),
        ("apps/v1beta1", "Deployment", Some(wrong), Some(6)),
        ("v1", "ReplicationController", None, None),
        ("v1", "ReplicationController", Some("{app: z}"), Some(6)),
        ("v1", "ReplicationController", Some("{app: x}"), None),
        ("batch/v1", "Job", Some(wrong), None),
        ("example.org/v1", "Deployment", Some(wrong), None),
    ] {
        let selector = selector.map(|text| format!("  selector: {text}\n"));
        let text = workload(api, kind, &selector.unwrap_or_default());
        let found: Vec<_> = found(&[("manifests/a.yaml", &text)])
            .into_iter()
            .filter(|found| !found.ends_with("api-removed"))
            .collect();
        let expected = line.map(|line| format!("a.yaml:{line} selector-mismatch"));
        assert_eq!(found, Vec::from_iter(expected), "{text}");
    }
    let patch = workload("apps/v1", "Deployment", "");
    let kustomization = (
        "manifests/kustomization.yaml",
        "patches: [{path: a.yaml}]\n",
    );
    let found = found_in_kustomize(&[kustomization, ("manifests/a.yaml", &patch)]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn what_leads_nowhere_is_reported_where_it_is_named() {
    let text = "\
apiVersion: v1
kind: Service
metadata: {name: here, namespace: kube-system}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: a, namespace: kube-system}
spec:
  defaultBackend: {service: {name: here}}
  rules:
  - http:
      paths:
      - backend: {service: {name: gone}}
---
apiVersion: networking.k8s.io/v1beta1
kind: Ingress
metadata: {name: b}
spec:
  backend: {serviceName: gone}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: c, namespace: kube-public}
spec:
  rules:
  - backendRefs:
    - {name: here}
    - {name: here, namespace: kube-system}
    - {name: gone, kind: Bucket, group: example.org}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.org}
spec: {service: {name: gone, namespace: kube-system}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v2.example.org}
spec: {service: {name: kubernetes, namespace: default}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  conversion:
    webhook: {clientConfig: {service: {name: gone, namespace: kube-system}}}
";
    let expected =
        ["13", "19", "27", "34", "46"].map(|line| format!("a.yaml:{line} service-not-found"));
    let sample = ("manifests/a.yaml", text);
    let not_found: Vec<_> = found(&[sample])
        .into_iter()
        .filter(|found| found.ends_with("not-found"))
        .collect();
    assert_eq!(not_found, expected);
    // What OLM installs, it also wires.
    let csv = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\n";
    let with_csv = found(&[sample, ("manifests/b.yaml", csv)]);
    assert!(!with_csv.iter().any(|found| found.ends_with("not-found")));
}

#[test]
fn selectors_are_held_against_the_pods_of_their_namespace() {
    let service = |namespace: &str, app: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: a, namespace: {namespace}}}\nspec: {{selector: {{app: {app}}}}}\n"
        )
    };
    let job = |labels: &str| {
        format!(
            "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: a, namespace: kube-system}}\nspec:\n  jobTemplate: {{spec: {{template: {{metadata: {{labels: {labels}}}, spec: {{}}}}}}}}\n"
        )
    };
    for (namespace, labels, is_found) in [
        ("kube-system", "{app: x}", true),
        ("kube-system", "{app: z}", false),
        ("kube-public", "{app: x}", false),
        ("''", "{app: x}", true),
        ("kube-system", "{app: '{{ .X }}'}", true),
    ] {
        let text = service(namespace, "x") + &job(labels);
        let found = found(&[("manifests/a.yaml", &text)]);
        let is_reported = found.contains(&"a.yaml:4 selector-nothing".into());
        assert_eq!(is_reported, !is_found, "{text}");
    }
    let olm = "---\napiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {install: {spec: {deployments: [{spec: {template: {metadata: {labels: {app: x}}}}}]}}}\n";
    let text = service("kube-system", "x") + olm;
    assert_eq!(found(&[("manifests/a.yaml", &text)]), [""; 0]);
    let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {selector: {matchExpressions: [{key: app, operator: Exists}]}}\n";
    assert_eq!(
        found(&[("manifests/a.yaml", budget)]),
        ["a.yaml:4 selector-nothing"]
    );
}

#[test]
fn a_namespace_that_nobody_creates_is_noted_once() {
    let object = |name: &str, namespace: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        )
    };
    let text =
        object("a", "x") + &object("b", "x") + &object("c", "kube-system") + &object("d", "other");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n";
    let sample = [
        ("manifests/a.yaml", text.as_str()),
        ("manifests/b.yaml", namespace),
    ];
    assert_eq!(found(&sample), ["a.yaml:2 namespace-not-found"]);
    assert_eq!(
        messages(&text).first().map(String::as_str),
        Some("the namespace `x`, in which 2 of the objects are, is not in the bundle")
    );
}

#[test]
fn objects_that_no_cluster_can_hold_are_errors_and_those_that_some_cannot_are_warnings() {
    let map = |field: &str, length: usize| {
        format!("{CONFIG_MAP}{field}: {{a: {}}}\n", "x".repeat(length))
    };
    let secret = |text: String| text.replace("ConfigMap", "Secret");
    let annotated = |length: usize| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  annotations: {{a: {}}}\n",
            "x".repeat(length)
        )
    };
    let other = |length: usize| map("data", length).replace("v1", "example.org/v1");
    for (text, expected) in [
        (map("data", 200_000), &[][..]),
        (map("data", 262_144), &["warning size-kubectl-apply"]),
        (map("data", 1 << 20), &["warning size-kubectl-apply"]),
        (
            map("data", (1 << 20) + 1),
            &["error size-data", "warning size-kubectl-apply"],
        ),
        (
            map("binaryData", (1 << 20) + 99),
            &["warning size-kubectl-apply"],
        ),
        (
            map("binaryData", 1_400_000),
            &["error size-data", "warning size-kubectl-apply"],
        ),
        (
            secret(map("data", 1_390_000)),
            &["warning size-kubectl-apply"],
        ),
        (
            secret(map("stringData", 1_390_000)),
            &["error size-data", "warning size-kubectl-apply"],
        ),
        (annotated(120_000), &[]),
        (annotated(140_000), &["warning size-kubectl-apply"]),
        (
            annotated(262_144),
            &["error size-annotations", "warning size-kubectl-apply"],
        ),
        (
            other(1_600_000),
            &["warning size-kubectl-apply", "warning size-object"],
        ),
        (
            other(3_200_000),
            &["error size-object", "warning size-kubectl-apply"],
        ),
    ] {
        let files = files(&[("manifests/a.yaml", &text)]);
        let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
        let found: Vec<_> = report
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.severity.name(), finding.code))
            .collect();
        assert_eq!(found, expected, "{} bytes", text.len());
    }
}
