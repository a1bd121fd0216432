//! What folders of samples cannot show: limits, sizes, many shapes of one fault.

use super::*;
use crate::content::Content;
use crate::finding::Severity;
use crate::limits::Ceiling;

mod causes;
mod objects;
mod scopes;
mod work;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

fn files(list: &[(&str, &str)]) -> Files {
    let file = |(path, text): &(&str, &str)| {
        let content = Content::from(text.as_bytes().to_vec());
        (path.parse().unwrap(), content)
    };
    list.iter().map(file).collect()
}

fn report_of(files: &Files, limits: &Limits, mediatype: Mediatype) -> Report {
    let options = Options {
        mediatype,
        ..Options::default()
    };
    validate(files, limits, &options).unwrap()
}

/// Returns the findings of some files of the mediatype `manifests` as `file:line: code`.
fn found(list: &[(&str, &str)]) -> Vec<String> {
    brief(&report_of(
        &files(list),
        &Limits::default(),
        Mediatype::Manifests,
    ))
}

fn found_in_kustomize(list: &[(&str, &str)]) -> Vec<String> {
    brief(&report_of(
        &files(list),
        &Limits::default(),
        Mediatype::Kustomize,
    ))
}

fn brief(report: &Report) -> Vec<String> {
    let line = |finding: &Finding| {
        let file = finding.file.strip_prefix("manifests/");
        let file = file.unwrap_or(&finding.file);
        format!("{file}:{} {}", finding.line, finding.code)
    };
    report.findings.iter().map(line).collect()
}

/// Returns the messages of the findings of one file.
fn messages(text: &str) -> Vec<String> {
    let files = files(&[("manifests/a.yaml", text)]);
    let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
    report.findings.into_iter().map(|f| f.message).collect()
}

#[test]
fn every_ceiling_of_a_document_has_its_code() {
    let other = CONFIG_MAP.replace("name: a", "name: b");
    let text = format!("{CONFIG_MAP}data: {{a: b, c: d}}\n---\n{other}");
    let files = files(&[("manifests/a.yaml", &text)]);
    for (ceiling, value, expected) in [
        (Ceiling::YamlNodes, 14, "a.yaml:4 yaml-too-many-nodes"),
        (Ceiling::Yaml, 69, "a.yaml:1 yaml-too-large"),
        (Ceiling::File, 80, "a.yaml:0 yaml-too-large"),
        (
            Ceiling::YamlDocuments,
            1,
            "a.yaml:6 yaml-too-many-documents",
        ),
        (Ceiling::Objects, 1, ":0 too-many-objects"),
    ] {
        let limits = Limits::default().with(ceiling, value);
        let found = brief(&report_of(&files, &limits, Mediatype::Manifests));
        assert_eq!(found, [expected], "{}", ceiling.name());
    }
}

#[test]
fn a_file_full_of_faults_gives_a_hundred_and_their_number() {
    let lines: Vec<_> = (0..250).map(|n| format!("  k{n}: {n}\n")).collect();
    let lines = lines.concat();
    let text = format!("{CONFIG_MAP}data:\n{lines}");
    let files = files(&[("manifests/a.yaml", &text)]);
    let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
    assert_eq!(report.findings.len(), 101);
    let first = report.findings.first().unwrap();
    assert_eq!(first.message, "150 more findings of this kind in this file");
    assert_eq!((first.line, first.severity), (0, Severity::Warning));
}

#[test]
fn paths_that_collide_are_reported_with_both_spellings() {
    let found = found(&[
        ("manifests/A.yaml", CONFIG_MAP),
        (
            "manifests/a.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
        ),
    ]);
    assert_eq!(found, ["a.yaml:0 layout-collision"]);
}

#[test]
fn keys_of_people_are_reported_wherever_they_are() {
    // Put together here, so that no scanner takes this file for a key.
    let key = format!("-----BEGIN {} KEY-----\nAAAA\n", "PRIVATE");
    let kubeconfig = "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\n";
    let found = found_in_kustomize(&[
        (
            "manifests/kustomization.yaml",
            "secretGenerator:\n- {name: a, files: [tls.key]}\n",
        ),
        ("manifests/tls.key", &key),
        ("manifests/me.yaml", kubeconfig),
    ]);
    assert_eq!(
        found,
        [
            "me.yaml:0 credentials",
            "me.yaml:1 object-incomplete",
            "tls.key:0 credentials",
        ]
    );
}

#[test]
fn what_one_consumer_refuses_is_a_warning_that_names_it() {
    // Incompressible enough for OLM's limit, and long enough for Argo CD's.
    let mut noise = String::new();
    let mut state = 1_u64;
    while noise.len() < 2_200_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        noise += &state.to_string();
    }
    let csv = format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {{name: a}}\nspec:\n  noise: {noise}\n"
    );
    let plain = csv.replace("operators.coreos.com", "example.org");
    for (text, expected) in [(&plain, None), (&csv, Some(":0 size-olm"))] {
        let found = found(&[("manifests/a.yaml", text)]);
        let found: Vec<_> = found
            .iter()
            .filter(|found| found.starts_with(":0"))
            .collect();
        assert_eq!(found, Vec::from_iter(expected));
    }
    let comment = format!("# {}\n", "x".repeat(5_000_000));
    let large = format!("{comment}{CONFIG_MAP}");
    let other = format!("{comment}{}", CONFIG_MAP.replace("name: a", "name: b"));
    let sample = [("manifests/a.yaml", &*large), ("manifests/b.yaml", &*other)];
    assert_eq!(found(&sample), [":0 size-argo-cd"]);
    assert_eq!(found(&sample[..1]), [""; 0]);
}

#[test]
fn templates_are_found_where_they_break_yaml_and_where_no_brace_can_be() {
    for (text, line) in [
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ .Name }}\n",
            4,
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: '{{ .Name }}'\n",
            4,
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  labels:\n    {{- include \"x\" . | nindent 4 }}\n",
            6,
        ),
        (
            "{{- if .Values.rbac }}\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n{{- end }}\n",
            1,
        ),
        (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {app: \"{{ .App }}\"}}\n",
            3,
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: \"x:{{ .Tag }}\"\n",
            6,
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - args:\n    - --region={{ .Region }}\n",
            7,
        ),
        // What stands in a block before the fault is no action.
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    {{ x }}\n  b: {{ y }}\n",
            7,
        ),
        (
            "a: b\n---\napiVersion: v1\nkind: Secret\nmetadata:\n- {{ x }}\n",
            6,
        ),
    ] {
        let found = found(&[("manifests/a.yaml", text)]);
        let expected = format!("a.yaml:{line} template");
        assert!(found.contains(&expected), "{text}\n{found:?}");
        assert!(!found.iter().any(|f| f.contains("yaml-")), "{found:?}");
    }
}

#[test]
fn the_branches_of_a_condition_are_no_duplicate_keys() {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
    for (text, expected) in [
        (
            "{{ if .A }}\n  a: x\n{{ else }}\n  a: y\n{{ end }}\n",
            "a.yaml:5 template",
        ),
        (
            "  # {{ if .A }}\n  a: x\n  # {{ else }}\n  a: y\n  # {{ end }}\n",
            "a.yaml:7 template",
        ),
        (
            "  a: x # {{- if .A }}\n  a: y # {{- end }}\n",
            "a.yaml:6 template",
        ),
        (
            "  a: '{{ if .A }}x'\n  a: '{{ else }}y{{ end }}'\n",
            "a.yaml:6 template",
        ),
        // A condition elsewhere, or one that ends where it began, explains nothing.
        (
            "  # {{ if .A }}\n  # {{ end }}\n  a: x\n  a: y\n",
            "a.yaml:8 yaml-duplicate-key",
        ),
        (
            "  a: '{{ if .A }}x{{ else }}y{{ end }}'\n  a: y\n",
            "a.yaml:6 yaml-duplicate-key",
        ),
        (
            "  a: |\n    {{ if .A }}\n  a: y\n",
            "a.yaml:7 yaml-duplicate-key",
        ),
        ("  a: '{{ .If }}'\n  a: y\n", "a.yaml:6 yaml-duplicate-key"),
    ] {
        let found = found(&[("manifests/a.yaml", &format!("{head}{text}"))]);
        assert_eq!(found, [expected], "{text}");
    }
}

#[test]
fn metadata_in_the_wrong_place_is_one_finding() {
    let text = "annotations:\n  k8s.io.bundle.package.v1: a\n";
    for (path, name) in [
        ("manifests/annotations.yaml", "annotations.yaml"),
        ("annotations.yaml", "annotations.yaml"),
        ("more/annotations.yaml", "annotations.yaml"),
    ] {
        let found = found(&[("manifests/a.yaml", CONFIG_MAP), (path, text)]);
        assert_eq!(found.len(), 1, "{path}: {found:?}");
        assert!(
            found[0].ends_with(&format!("{name}:0 layout-annotations")),
            "{found:?}"
        );
    }
}

#[test]
fn braces_that_programs_in_the_cluster_read_are_no_finding() {
    for text in [
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |-\n    {{ range . }}\n    {{ end }}\n  b: '{{ x }}'\n",
        "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: a\n  annotations: {summary: 'about {{ $labels.pod }}'}\nspec:\n  groups:\n  - rules:\n    - annotations:\n        text: Pod {{ $labels.pod }} is down\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: a\n    args: ['--template={{ .X }}']\n",
        "# {{ x }}\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
    ] {
        assert_eq!(found(&[("manifests/a.yaml", text)]), [""; 0], "{text}");
    }
}

#[test]
fn a_broken_document_with_legal_braces_is_no_template() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    {{ x }}\n\n    - {{ y }}\n  # {{ z }}\n  b: 'open\n";
    assert_eq!(
        found(&[("manifests/a.yaml", text)]),
        ["a.yaml:10 yaml-syntax"]
    );
}

#[test]
fn unquoted_words_are_reported_in_fields_that_are_strings_and_only_there() {
    let text = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: s
  annotations:
    release: 1.10
    enabled: yes
    nothing:
spec:
  replicas: 2
  selector: {matchLabels: {app: 1}}
  template:
    metadata:
      labels: {app: 1}
    spec:
      nodeSelector: {gpu: true}
      containers:
      - name: c
        command: [sh, -c, exit 0, y]
        args:
        - 8080
        env:
        - {name: FLAG, value: on}
        - {name: ON}
        - {name: OCT, value: \"0644\"}
        - {name: SEXA, value: 1:30}
        - {name: BIG, value: 12345678901234567890123}
        ports: [{containerPort: 80}]
      volumes: [{name: v, secret: {secretName: x, defaultMode: 0400}}]
";
    let lines: Vec<_> = found(&[("manifests/a.yaml", text)])
        .into_iter()
        .map(|found| found.strip_suffix(" unquoted").map(str::to_owned).unwrap())
        .collect();
    let expected = [6, 7, 11, 14, 16, 19, 21, 23, 24, 27].map(|line| format!("a.yaml:{line}"));
    assert_eq!(lines, expected);
    assert_eq!(
        messages(text).get(1).map(String::as_str),
        Some("`metadata.annotations.enabled` is a boolean (`yes`), and Kubernetes wants a string")
    );
}

#[test]
fn words_that_no_api_server_takes_are_reported() {
    for (api_version, kind, name, namespace, is_right) in [
        ("v1", "ConfigMap", "a", "default", true),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "system:Node_x",
            "",
            true,
        ),
        (
            "example.org/v1alpha1",
            "Thing2",
            "a.b.c",
            "kube-system",
            true,
        ),
        ("example.org/v1/x", "Thing", "a", "", false),
        ("Example.org/v1", "Thing", "a", "", false),
        ("/v1", "Thing", "a", "", false),
        ("v1 ", "Thing", "a", "", false),
        ("v1", "Config-Map", "a", "", false),
        ("v1", "Config Map", "a", "", false),
        ("v1", "ConfigMap", "a/b", "", false),
        ("v1", "ConfigMap", "..", "", false),
        ("v1", "ConfigMap", "a", "Kube", false),
        ("v1", "ConfigMap", "a", "kube.system", false),
        ("v1", "ConfigMap", "a", "-a", false),
    ] {
        let text = format!(
            "apiVersion: \"{api_version}\"\nkind: \"{kind}\"\nmetadata: {{name: \"{name}\", namespace: \"{namespace}\"}}\n"
        );
        let found = found(&[("manifests/a.yaml", &text)]);
        let is_reported = found.iter().any(|f| f.ends_with("object-identity"));
        assert_eq!(
            is_reported,
            !is_right && !api_version.starts_with('/'),
            "{text}"
        );
    }
}

#[test]
fn the_same_object_is_found_in_other_versions_files_and_lists() {
    let deployment =
        "apiVersion: x.org/v1\nkind: Deployment\nmetadata: {name: a, namespace: default}\n";
    let older = deployment.replace("x.org/v1", "x.org/v2");
    let elsewhere = deployment.replace("namespace: default", "namespace: kube-system");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {{apiVersion: x.org/v1, kind: Deployment, metadata: {{name: a, namespace: default}}}}\n---\n{elsewhere}"
    );
    let sample = [
        ("manifests/a.yaml", deployment),
        ("manifests/b.yaml", &older),
        ("manifests/c.yaml", &list),
    ];
    assert_eq!(
        found(&sample),
        ["b.yaml:1 object-duplicate", "c.yaml:4 object-duplicate"]
    );
    let kustomization = ("manifests/kustomization.yaml", "resources: [a.yaml]\n");
    let patches = [kustomization, sample[0], sample[1]];
    assert_eq!(found_in_kustomize(&patches), [""; 0]);
    let twice = format!("{deployment}---\n{older}");
    assert_eq!(
        found_in_kustomize(&[kustomization, ("manifests/a.yaml", &twice)]),
        ["a.yaml:5 object-duplicate"]
    );
    let generated = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n";
    assert_eq!(
        found(&[("manifests/a.yaml", &format!("{generated}---\n{generated}"))]),
        [
            "a.yaml:1 object-generate-name",
            "a.yaml:5 object-generate-name"
        ]
    );
}

#[test]
fn what_a_kustomization_names_is_looked_up_where_kustomize_looks() {
    let kustomization = "\
resources:
- base
- base/
- ./a.yaml
- ../manifests/a.yaml
- gone.yaml
- ../../etc/passwd
- /etc/passwd
- github.com/owner/repository?ref=v1
- https://files.example/a.yaml
patches:
- path: a.yaml
- patch: |-
    - op: remove
- {path: gone.yaml}
patchesStrategicMerge:
- |-
  kind: Inline
configMapGenerator:
- name: c
  files: [Corefile, key=Corefile, key=gone]
  envs: [gone.env]
openapi: {path: schema.json}
";
    let found = found_in_kustomize(&[
        ("manifests/kustomization.yaml", kustomization),
        ("manifests/a.yaml", CONFIG_MAP),
        ("manifests/Corefile", "."),
        (
            "manifests/base/kustomization.yaml",
            "resources: [../a.yaml]\n",
        ),
    ]);
    let found: Vec<_> = found
        .iter()
        .map(|found| found.strip_prefix("kustomization.yaml:").unwrap())
        .collect();
    assert_eq!(
        found,
        [
            "6 kustomize-not-found",
            "7 kustomize-outside",
            "8 kustomize-outside",
            "9 kustomize-remote",
            "10 kustomize-remote",
            "15 kustomize-not-found",
            "21 kustomize-not-found",
            "22 kustomize-not-found",
            "23 kustomize-not-found",
        ]
    );
}

#[test]
fn the_highest_version_of_the_operator_that_an_object_asks_for_is_a_requirement() {
    let object = |name: &str, version: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  annotations: {{addons.k8s.io/min-operator-version: {version}}}\n"
        )
    };
    let objects =
        object("a", "1.9.0") + &object("b", "\"1.10.0-rc.1\"") + &object("c", "1.10.0-beta");
    let metadata = |rest: &str| {
        format!(
            "annotations:\n  k8s.io.bundle.mediatype.v1: manifests\n  k8s.io.bundle.package.v1: a\n  k8s.io.bundle.version.v1: \"1.0.0\"\n{rest}"
        )
    };
    let operator = "  k8s.io.bundle.operator.id.v1: op\n";
    let minimum = |version: &str| {
        format!("{operator}  k8s.io.bundle.operator.min-version.v1: \"{version}\"\n")
    };
    for (rest, expected) in [
        (String::new(), Some((Severity::Warning, 0))),
        (operator.to_owned(), Some((Severity::Note, 0))),
        (minimum("1.9.9"), Some((Severity::Error, 6))),
        (minimum("1.10.0-rc.1"), None),
        (minimum("2.0.0"), None),
    ] {
        let metadata = metadata(&rest);
        let files = files(&[
            ("metadata/annotations.yaml", &metadata),
            ("manifests/a.yaml", &objects),
        ]);
        let report = report_of(&files, &Limits::default(), Mediatype::Manifests);
        let asked = report.min_operator_version.as_ref().unwrap();
        assert_eq!(asked.version.to_string(), "1.10.0-rc.1");
        assert_eq!(asked.line, 12);
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.code == "min-operator-version")
            .map(|finding| (finding.severity, finding.line))
            .collect();
        assert_eq!(found, Vec::from_iter(expected), "{rest}");
    }
    for (version, is_right) in [
        ("'1.2'", false),
        ("v1.2.0", false),
        ("1.10", false),
        ("1.2.0", true),
    ] {
        let found = found(&[("manifests/a.yaml", &object("a", version))]);
        let is_reported = found.contains(&"a.yaml:6 object-min-operator-version".into());
        assert_eq!(is_reported, !is_right, "{version}: {found:?}");
    }
}

#[test]
fn a_directory_that_is_a_chart_is_called_one() {
    let found = found(&[
        (
            "manifests/Chart.yaml",
            "apiVersion: v2\nname: c\nversion: 0.1.0\n",
        ),
        ("manifests/values.yaml", "replicas: 1\n"),
        (
            "manifests/templates/a.yaml",
            "{{- if .Values.a }}\nkind: Secret\n{{- end }}\n",
        ),
    ]);
    assert_eq!(
        found,
        [
            "Chart.yaml:0 layout-chart",
            "templates:0 layout-nested",
            "templates/a.yaml:1 template",
            "values.yaml:1 not-object",
        ]
    );
}

#[test]
fn empty_bundles_say_what_is_missing() {
    for (list, code) in [
        (&[][..], "manifests:0 layout-empty"),
        (&[("manifests/a.yaml", "")], "manifests:0 layout-empty"),
        (
            &[("manifests/a.yaml", "# nothing\n---\n---\nnull\n")],
            "manifests:0 layout-empty",
        ),
        (
            &[(
                "manifests/a.yaml",
                "apiVersion: v1\nkind: List\nitems: []\n",
            )],
            "manifests:0 layout-empty",
        ),
    ] {
        let found: Vec<_> = found(list)
            .iter()
            .map(|f| f.replace("manifests", ""))
            .collect();
        assert_eq!(found, [code.replace("manifests", "")], "{list:?}");
    }
    // Without objects in some files only.
    let sample = [
        ("manifests/a.yaml", CONFIG_MAP),
        ("manifests/b.yaml", "null\n"),
    ];
    assert_eq!(found(&sample), [""; 0]);
}

#[test]
fn names_that_make_trouble_are_warnings() {
    let file = |name: &'static str| [(name, CONFIG_MAP)];
    for (name, code) in [
        ("manifests/-a.yaml", Some("layout-name")),
        ("manifests/.a.yaml", Some("layout-name")),
        ("manifests/a b.yaml", Some("layout-name")),
        ("manifests/ä.yaml", Some("layout-name")),
        ("manifests/A_b-1.2.yaml", None),
    ] {
        let found = found(&file(name));
        let found: Vec<_> = found.iter().filter_map(|f| f.rsplit(' ').next()).collect();
        assert_eq!(found, Vec::from_iter(code), "{name}");
    }
    assert_eq!(
        found(&file("manifests/a.YAML")),
        ["a.YAML:0 layout-file-type"]
    );
}

#[test]
fn codes_of_what_stands_in_files_are_told_from_the_others() {
    for (code, is_object) in [
        ("template", true),
        ("yaml-syntax", true),
        ("object-duplicate", true),
        ("layout-nested", false),
        ("metadata-version", false),
        ("min-operator-version", false),
        ("size-olm", false),
        ("no-such-code", false),
    ] {
        assert_eq!(is_object_code(code), is_object, "{code}");
    }
}
