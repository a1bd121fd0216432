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
        (None, None, Some("warning api-removed")),
        (None, Some("1.20"), Some("warning api-removed")),
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
    // Clusters that serve it are supported still.
    let late = "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata: {name: a}\n";
    assert_eq!(of_clusters(late, None, None), ["note api-removed"]);
}

#[test]
fn what_a_cluster_does_not_serve_yet_is_an_error_and_what_nobody_knows_a_warning() {
    let object =
        |api: &str, kind: &str| format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\n");
    for (api, kind, cluster, expected) in [
        (
            "policy/v1",
            "PodDisruptionBudget",
            Some("1.18"),
            Some("error api-not-served"),
        ),
        ("policy/v1", "PodDisruptionBudget", Some("1.21"), None),
        ("policy/v1", "PodDisruptionBudget", None, None),
        (
            "apps/v2",
            "DaemonSet",
            Some("1.18"),
            Some("warning api-not-served"),
        ),
        ("v1", "DaemonSet", None, Some("warning api-not-served")),
        (
            "networking.k8s.io/v1",
            "Ingres",
            None,
            Some("warning api-not-served"),
        ),
        ("example.com/v3", "Ingres", None, None),
        ("v1", "Secret", Some("1.37.9"), None),
        (
            "v1",
            "Secret",
            Some("1.40"),
            Some("note kubernetes-version"),
        ),
        ("v1", "Secret", Some("2.0"), Some("note kubernetes-version")),
    ] {
        let found = of_clusters(&object(api, kind), cluster, None);
        assert_eq!(found, Vec::from_iter(expected), "{api} {kind} {cluster:?}");
    }
}

#[test]
fn names_and_labels_are_what_every_api_server_takes() {
    let object = |kind: &str, name: &str, labels: &str| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n  labels: {labels}\n")
    };
    let long = "x".repeat(64);
    for (text, expected) in [
        (object("ConfigMap", "My_Config", "{}"), Some("a.yaml:4 object-name")),
        (object("ConfigMap", "a.b", "{a/b: c_D.e, empty: ''}"), None),
        (object("ConfigMap", "'${NAME}'", "{a: '${VALUE}'}"), None),
        (object("Service", "1a", "{}"), Some("a.yaml:4 object-name")),
        (object("ConfigMap", "a", &format!("{{a: {long}}}")), Some("a.yaml:5 object-label")),
        (object("ConfigMap", "a", "{a/b/c: d}"), Some("a.yaml:5 object-label")),
        (
            object("ConfigMap", "a", "{}").replace("labels: {}", "annotations: {Example.com/a: 'b c', a b: c}"),
            Some("a.yaml:5 object-label"),
        ),
        (
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:My_Role'}\n".to_owned(),
            None,
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n".to_owned(),
            Some("a.yaml:1 object-generate-name"),
        ),
    ] {
        let list = [("manifests/a.yaml", text.as_str())];
        assert_eq!(found(&list), Vec::from_iter(expected), "{text}");
        if expected.is_some_and(|found| !found.ends_with("generate-name")) {
            let kustomization = ("manifests/kustomization.yaml", "resources: [a.yaml]\n");
            assert_eq!(found_in_kustomize(&[list[0], kustomization]), [""; 0]);
        }
    }
}

#[test]
fn a_name_of_the_longest_cron_job_is_shorter() {
    let of = |length: usize| {
        let name = "a".repeat(length);
        let text = format!("apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\n");
        found(&[("manifests/a.yaml", &text)])
    };
    assert_eq!(of(52), [""; 0]);
    assert_eq!(of(53), ["a.yaml:3 object-name"]);
}

#[test]
fn workloads_that_do_not_select_their_own_pods_are_errors() {
    let workload = |api: &str, kind: &str, selector: &str| {
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  template: {{metadata: {{labels: {{app: x}}}}, spec: {{containers: [{{name: a}}]}}}}\n{selector}"
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
    // OLM puts all of them into the namespace that it is told.
    let olm = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\n";
    assert_eq!(found(&[sample[0], ("manifests/c.yaml", olm)]), [""; 0]);
    assert_eq!(
        messages(&text).first().map(String::as_str),
        Some("2 objects are in namespace `x`, which the bundle does not create; this is the first")
    );
    assert_eq!(
        messages(&object("a", "x")).first().map(String::as_str),
        Some("the object is in namespace `x`, which the bundle does not create")
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
            map("binaryData", (1 << 20) + 100),
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

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}
  - {name: v1beta1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
";

#[test]
fn custom_resources_are_held_against_the_definition_wherever_it_is() {
    let thing = |version: &str, spec: &str| {
        format!(
            "---\napiVersion: example.org/{version}\nkind: Thing\nmetadata: {{name: {version}}}\nspec: {spec}\n"
        )
    };
    let wrong = thing("v1", "{size: large}");
    let expected = ["a.yaml:5 custom-resource"];
    // Before it, behind it, and in the same file.
    for definition in ["manifests/0.yaml", "manifests/b.yaml"] {
        let sample = [("manifests/a.yaml", &*wrong), (definition, DEFINITION)];
        assert_eq!(found(&sample), expected, "{definition}");
    }
    let both = format!("{DEFINITION}{wrong}");
    assert_eq!(
        found(&[("manifests/a.yaml", &both)]),
        ["a.yaml:14 custom-resource"]
    );
    let others = thing("v1beta1", "{size: large}") + &thing("v2", "{}") + &thing("v1", "{sice: 1}");
    let sample = [
        ("manifests/a.yaml", &*others),
        ("manifests/b.yaml", DEFINITION),
    ];
    assert_eq!(
        found(&sample),
        [
            "a.yaml:2 custom-resource-version",
            "a.yaml:7 custom-resource-version",
            "a.yaml:15 custom-resource-field",
        ]
    );
    // Without the definition, and with two of them, nothing is known.
    assert_eq!(found(&[("manifests/a.yaml", &wrong)]), [""; 0]);
    let twice = [
        ("manifests/a.yaml", &*wrong),
        ("manifests/b.yaml", DEFINITION),
        ("manifests/c.yaml", DEFINITION),
    ];
    assert_eq!(found(&twice), ["c.yaml:1 object-duplicate"]);
    let kustomize = [
        ("manifests/kustomization.yaml", "resources: [b.yaml]\n"),
        ("manifests/a.yaml", &*wrong),
        ("manifests/b.yaml", DEFINITION),
    ];
    assert_eq!(found_in_kustomize(&kustomize), [""; 0]);
}

#[test]
fn the_definitions_of_old_keep_what_they_do_not_know() {
    let old = "\
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  names: {kind: Thing, plural: things}
  version: v1
  validation: {openAPIV3Schema: {properties: {spec: {properties: {size: {type: integer}}}}}}
";
    let thing = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nspec:\n  other: x\n  size: large\n";
    let sample = [("manifests/a.yaml", thing), ("manifests/b.yaml", old)];
    assert_eq!(
        found(&sample),
        ["a.yaml:6 custom-resource", "b.yaml:1 api-removed"]
    );
}

#[test]
fn a_template_is_not_held_against_a_schema_before_it_is_filled() {
    let metadata = "annotations:\n  k8s.io.bundle.mediatype.v1: manifests\n  k8s.io.bundle.package.v1: a\n  k8s.io.bundle.version.v1: \"1.0.0\"\n  k8s.io.bundle.operator.id.v1: o\n  k8s.io.bundle.placeholders.v1: go-template\n";
    let thing = |size: &str| {
        format!(
            "apiVersion: example.org/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {{size: {size}}}\n"
        )
    };
    for (size, expected) in [("'{{ .Size }}'", None), ("large", Some("custom-resource"))] {
        let files = files(&[
            ("metadata/annotations.yaml", metadata),
            ("manifests/a.yaml", &thing(size)),
            ("manifests/b.yaml", DEFINITION),
        ]);
        let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
        let found = report.findings.iter().map(|finding| finding.code);
        let found: Vec<_> = found.filter(|code| *code != "template").collect();
        assert_eq!(found, Vec::from_iter(expected), "{size}");
    }
}

#[test]
fn a_bundle_of_schemas_that_ask_for_too_much_is_not_waited_for() {
    let mut schema = "{type: string, enum: [a]}".to_owned();
    for _ in 0..12 {
        schema = format!("{{anyOf: [{schema}, {schema}]}}");
    }
    let definition = DEFINITION.replace(
        "{type: integer}",
        &format!("{{type: array, items: {schema}}}"),
    );
    let thing = format!(
        "apiVersion: example.org/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {{size: [{}]}}\n",
        "b, ".repeat(1_000)
    );
    let sample = [
        ("manifests/a.yaml", &*thing),
        ("manifests/b.yaml", &*definition),
    ];
    let found = found(&sample);
    assert_eq!(
        found.first().map(String::as_str),
        Some(":0 custom-resource")
    );
}
