//! Every sample under `testdata`: good ones have nothing wrong, bad ones exactly the fault that their folder is named for.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use manifest_bundle::bundle::Files;
use manifest_bundle::finding::Finding;
use manifest_bundle::finding::Severity::{self, Error, Note, Warning};
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata::Mediatype;
use manifest_bundle::objects::{Entry, Summary, entries, is_kustomization};
use manifest_bundle::path::BundlePath;
use manifest_bundle::validate::{CHECKS, Options, Report, validate};

/// What each folder of `testdata/bad` must give: severity, file and line of its one finding.
const BAD: &[(&str, Severity, &str, u32)] = &[
    ("metadata-missing", Error, "metadata/annotations.yaml", 0),
    ("metadata-yaml", Error, "metadata/annotations.yaml", 1),
    ("metadata-shape", Error, "metadata/annotations.yaml", 7),
    ("metadata-string", Error, "metadata/annotations.yaml", 7),
    ("olm-csv", Error, "manifests", 0),
    ("metadata-key", Error, "metadata/annotations.yaml", 7),
    ("metadata-value", Error, "metadata/annotations.yaml", 7),
    ("metadata-required", Error, "metadata/annotations.yaml", 0),
    ("metadata-directory", Error, "metadata/annotations.yaml", 3),
    ("metadata-mediatype", Error, "metadata/annotations.yaml", 2),
    ("metadata-package", Error, "metadata/annotations.yaml", 5),
    ("metadata-version", Error, "metadata/annotations.yaml", 6),
    (
        "metadata-operator-id",
        Error,
        "metadata/annotations.yaml",
        7,
    ),
    (
        "metadata-min-operator-version",
        Error,
        "metadata/annotations.yaml",
        8,
    ),
    (
        "metadata-min-kubernetes-version",
        Error,
        "metadata/annotations.yaml",
        7,
    ),
    ("metadata-channels", Error, "metadata/annotations.yaml", 7),
    (
        "metadata-placeholders",
        Error,
        "metadata/annotations.yaml",
        8,
    ),
    ("metadata-unknown", Warning, "metadata/annotations.yaml", 7),
    (
        "min-operator-version",
        Error,
        "metadata/annotations.yaml",
        8,
    ),
    ("lock-malformed", Error, "metadata/images.lock.yaml", 4),
    ("lock-incomplete", Error, "manifests/pod.yaml", 8),
    ("lock-unused", Warning, "metadata/images.lock.yaml", 13),
    ("layout-root", Error, "README.md", 0),
    ("layout-nested", Error, "manifests/rbac", 0),
    ("layout-file-type", Error, "manifests/NOTES.txt", 0),
    (
        "layout-kustomization",
        Error,
        "manifests/kustomization.yaml",
        0,
    ),
    ("layout-chart", Error, "manifests/Chart.yaml", 0),
    ("layout-annotations", Error, "manifests/annotations.yaml", 0),
    ("layout-name", Warning, "manifests/my settings.yaml", 0),
    ("layout-same-name", Warning, "manifests/settings.yaml", 0),
    ("layout-leftover", Warning, "manifests/._settings.yaml", 0),
    ("layout-empty", Error, "manifests", 0),
    ("kustomize-missing", Error, "manifests", 0),
    ("kustomize-twice", Error, "manifests/kustomization.yml", 0),
    (
        "kustomize-not-found",
        Error,
        "manifests/kustomization.yaml",
        3,
    ),
    (
        "kustomize-outside",
        Warning,
        "manifests/kustomization.yaml",
        3,
    ),
    (
        "kustomize-remote",
        Warning,
        "manifests/kustomization.yaml",
        3,
    ),
    ("yaml-not-utf8", Error, "manifests/settings.yaml", 7),
    (
        "yaml-control-character",
        Error,
        "manifests/settings.yaml",
        7,
    ),
    ("yaml-line-break", Error, "manifests/settings.yaml", 7),
    ("yaml-syntax", Error, "manifests/settings.yaml", 7),
    ("yaml-duplicate-key", Error, "manifests/settings.yaml", 7),
    ("yaml-bad-key", Error, "manifests/settings.yaml", 7),
    ("yaml-bad-merge", Error, "manifests/settings.yaml", 7),
    ("yaml-bad-tag", Error, "manifests/settings.yaml", 7),
    ("yaml-not-finite", Error, "manifests/settings.yaml", 7),
    ("yaml-unknown-alias", Error, "manifests/settings.yaml", 7),
    ("yaml-self-alias", Error, "manifests/settings.yaml", 7),
    ("yaml-alias-expansion", Error, "manifests/settings.yaml", 11),
    ("yaml-too-deep", Error, "manifests/settings.yaml", 7),
    ("yaml-lost-document", Error, "manifests/settings.yaml", 7),
    ("json-syntax", Warning, "manifests/settings.json", 1),
    ("template", Error, "manifests/service.yaml", 6),
    ("not-object", Error, "manifests/patch.yaml", 1),
    ("object-incomplete", Error, "manifests/settings.yaml", 1),
    ("object-identity", Error, "manifests/settings.yaml", 1),
    (
        "object-generate-name",
        Warning,
        "manifests/settings.yaml",
        1,
    ),
    ("object-duplicate", Error, "manifests/settings.yaml", 1),
    (
        "object-min-operator-version",
        Error,
        "manifests/settings.yaml",
        6,
    ),
    ("unquoted", Warning, "manifests/settings.yaml", 7),
    ("api-not-served", Warning, "manifests/budget.yaml", 1),
    ("object-name", Error, "manifests/settings.yaml", 4),
    ("object-scope", Note, "manifests/role.yaml", 5),
    ("object-label", Error, "manifests/settings.yaml", 6),
    ("field-type", Error, "manifests/pod.yaml", 6),
    ("field-missing", Error, "manifests/pod.yaml", 6),
    ("field-unknown", Warning, "manifests/pod.yaml", 8),
    ("api-removed", Warning, "manifests/budget.yaml", 1),
    ("api-deprecated", Warning, "manifests/budget.yaml", 1),
    ("selector-mismatch", Error, "manifests/server.yaml", 7),
    ("selector-nothing", Note, "manifests/server.yaml", 7),
    ("service-not-found", Warning, "manifests/webhook.yaml", 11),
    ("custom-resource", Error, "manifests/a-thing.yaml", 6),
    (
        "custom-resource-version",
        Error,
        "manifests/a-thing.yaml",
        1,
    ),
    (
        "custom-resource-field",
        Warning,
        "manifests/a-thing.yaml",
        6,
    ),
    ("namespace-not-found", Note, "manifests/settings.yaml", 1),
    ("image-name", Warning, "manifests/pod.yaml", 8),
    ("image-tag", Note, "manifests/pod.yaml", 8),
];

/// Codes that no folder can show: names that not every system can hold side by side, links, sizes, and keys that scanners of
/// secrets would find; a note has none either. Tests beside the code show them.
const WITHOUT_FOLDER: &[&str] = &[
    "metadata-olm",
    "kubernetes-version",
    "layout-collision",
    "layout-refused",
    "credentials",
    "yaml-too-large",
    "yaml-too-many-nodes",
    "yaml-too-many-documents",
    "too-many-objects",
    "size-data",
    "size-annotations",
    "size-object",
    "size-kubectl-apply",
    "size-argo-cd",
    "size-olm",
];

fn testdata(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(below)
}

/// Reads all files below a directory, by their paths in it.
fn files(root: &Path) -> Files {
    let mut files = Files::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                files.insert(name.parse().unwrap(), std::fs::read(&path).unwrap().into());
            }
        }
    }
    files
}

fn folders(root: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn report(root: &Path) -> Report {
    let options = Options {
        needs_metadata: true,
        ..Options::default()
    };
    validate(&files(root), &Limits::default(), &options).unwrap()
}

#[test]
fn each_bad_sample_has_its_one_fault_at_its_place() {
    let mut wrong = Vec::new();
    for (code, severity, file, line) in BAD {
        let report = report(&testdata("bad").join(code));
        let found: Vec<_> = report
            .findings
            .iter()
            .filter(|finding| finding.severity > Note || finding.code == *code)
            .map(|f| (f.code, f.severity, f.file.as_str(), f.line))
            .collect();
        if found != [(*code, *severity, *file, *line)] {
            let all: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            wrong.push(format!("{code}:\n  {}", all.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_no_string_does_not_hide_what_else_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "manifests/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
    );
    write(
        "metadata/annotations.yaml",
        "annotations:\n  k8s.io.bundle.mediatype.v1: manifests\n  k8s.io.bundle.package.v1: Bad_Name\n  k8s.io.bundle.version.v1: 3.5\n  \
         k8s.io.bundle.operator.min-version.v1: x\n",
    );
    let report = report(directory.path());
    let found: Vec<(&str, u32)> = report.findings.iter().map(|f| (f.code, f.line)).collect();
    assert!(report.metadata.is_none());
    assert_eq!(
        found,
        [
            ("metadata-package", 3),
            ("metadata-string", 4),
            ("metadata-version", 4),
            ("metadata-min-operator-version", 5),
            ("metadata-operator-id", 5),
        ]
    );
}

#[test]
fn each_code_has_a_sample_and_each_sample_a_code() {
    let listed: BTreeSet<String> = BAD.iter().map(|(code, ..)| (*code).to_owned()).collect();
    assert_eq!(folders(&testdata("bad")), listed);
    let shown = BAD.iter().map(|(code, ..)| *code);
    let shown: BTreeSet<&str> = shown.chain(WITHOUT_FOLDER.iter().copied()).collect();
    let codes: BTreeSet<&str> = CHECKS.iter().map(|check| check.code).collect();
    assert_eq!(codes, shown);
    assert_eq!(codes.len(), CHECKS.len(), "a code has two rows");
}

#[test]
fn good_samples_have_nothing_wrong() {
    for (name, objects, notes) in [
        ("minimal", 1, 0),
        ("operator", 8, 0),
        ("kustomize", 3, 0),
        ("placeholders", 3, 1),
        ("everything", 1, 0),
        ("../olm/sample", 2, 1),
    ] {
        let report = report(&testdata("good").join(name));
        assert!(report.metadata.is_some(), "{name}");
        let (found_notes, wrong): (Vec<_>, Vec<_>) = report
            .findings
            .iter()
            .partition(|finding| finding.severity == Note);
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        assert_eq!(found_notes.len(), notes, "{name}: {found_notes:#?}");
        assert_eq!(
            report.objects.len(),
            objects,
            "{name}: {:#?}",
            report.objects
        );
    }
    let report = report(&testdata("good/operator"));
    let minimum = report.min_operator_version.unwrap();
    assert_eq!(minimum.version.to_string(), "1.3.2");
    assert_eq!(minimum.file.as_str(), "manifests/server.yaml");
}

#[test]
fn every_finding_is_a_sentence_of_one_line() {
    for (code, ..) in BAD {
        for finding in report(&testdata("bad").join(code)).findings {
            let message = &finding.message;
            assert!(!message.ends_with('.'), "{code}: {message}");
            assert!(
                !message.contains('\n') && message.len() < 300,
                "{code}: {message}"
            );
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_the_answer() {
    let files = files(&testdata("good/operator"));
    let with = |threads| {
        let options = Options {
            threads: NonZeroUsize::new(threads).unwrap(),
            ..Options::default()
        };
        validate(&files, &Limits::default(), &options).unwrap()
    };
    let (one, many) = (with(1), with(5));
    assert_eq!(one.findings, many.findings);
    assert_eq!(one.objects, many.objects);
}

/// Takes every directory of the public corpus that holds YAML or JSON for a bundle of its own, as `pack` would do with a
/// bare directory, and every release that has kustomizations for one of the mediatype `kustomize`: what other people
/// released must not have errors but true ones.
#[test]
fn the_corpus_of_released_manifests_has_no_errors_but_true_ones() {
    let Some(corpus) = crate::support::corpus() else {
        return;
    };
    let mut bundles = BTreeMap::<String, Files>::new();
    for (path, content) in files(&corpus.join("corpus")) {
        let (parent, name) = path
            .as_str()
            .rsplit_once('/')
            .unwrap_or(("", path.as_str()));
        let is_manifest = [".yaml", ".yml", ".json"].iter().any(|e| name.ends_with(e));
        let release = release(&path);
        let below = path.strip_prefix(&release).unwrap_or(name);
        for (bundle, path) in [
            (format!("{parent} (directory)"), format!("manifests/{name}")),
            (release.clone(), format!("manifests/{below}")),
        ] {
            if is_manifest || is_kustomization(name) || !bundle.ends_with(')') {
                let files = bundles.entry(bundle).or_default();
                files.insert(path.parse().unwrap(), content.clone());
            }
        }
    }
    let mut counts = BTreeMap::new();
    let mut untrue = Vec::new();
    for (bundle, files) in &bundles {
        let is_kustomize = files.keys().any(|path| is_kustomization(path.file_name()));
        if !is_kustomize && !bundle.ends_with(')') {
            continue;
        }
        let options = Options {
            mediatype: if is_kustomize {
                Mediatype::Kustomize
            } else {
                Mediatype::Manifests
            },
            ..Options::default()
        };
        let report = validate(files, &Limits::default(), &options).unwrap();
        for finding in &report.findings {
            let counts = counts
                .entry((finding.severity, finding.code))
                .or_insert([0, 0]);
            counts[usize::from(is_kustomize)] += 1;
            if finding.severity == Error && !is_true(bundle, finding) {
                untrue.push(format!("{bundle}: {finding}"));
            }
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{bundle}: {finding}");
            }
        }
    }
    for ((severity, code), [flat, kustomize]) in counts.iter().rev() {
        eprintln!("{:8} {code:32} {flat:6} {kustomize:6}", severity.name());
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

/// Holds the custom resources of every release against the definitions of the same release, in whatever directories both are.
///
/// Of several definitions of a kind (variants, of which one is installed) the first counts.
#[test]
fn the_custom_resources_of_the_corpus_fit_their_definitions_but_where_they_do_not() {
    let Some(corpus) = crate::support::corpus() else {
        return;
    };
    let limits = Limits::default();
    let mut releases = BTreeMap::<String, (Files, BTreeSet<String>)>::new();
    for (path, content) in files(&corpus.join("corpus")) {
        if ![".yaml", ".yml"]
            .iter()
            .any(|end| path.as_str().ends_with(end))
        {
            continue;
        }
        let bytes = content.to_bytes().unwrap();
        let mut defined = BTreeSet::new();
        for entry in entries(path.file_name(), &bytes, &limits) {
            if let Entry::Object(object) = entry
                && object.id.kind == "CustomResourceDefinition"
            {
                defined.insert(object.id.name);
            }
        }
        let (files, known) = releases.entry(release(&path)).or_default();
        if defined.is_disjoint(known) {
            known.append(&mut defined);
            let name = path.as_str().replace('/', "-");
            let path = format!("manifests/{name}").parse().unwrap();
            files.insert(path, content);
        }
    }
    let (mut checked, mut counts) = (0, BTreeMap::new());
    let mut untrue = Vec::new();
    for (release, (files, defined)) in &releases {
        let report = validate(files, &limits, &Options::default()).unwrap();
        let kinds: BTreeSet<&str> = defined
            .iter()
            .filter_map(|name| name.split_once('.'))
            .map(|(_, group)| group)
            .collect();
        let of_group = |object: &&Summary| kinds.contains(object.id.group.as_str());
        checked += report.objects.iter().filter(of_group).count();
        let is_custom = |finding: &&Finding| finding.code.starts_with("custom-resource");
        for finding in report.findings.iter().filter(is_custom) {
            *counts.entry((finding.severity, finding.code)).or_insert(0) += 1;
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{release}: {finding}");
            }
            if finding.severity == Error && !is_true_of_custom_resources(finding) {
                untrue.push(format!("{release}: {finding}"));
            }
        }
    }
    eprintln!("{checked} custom resources with definitions: {counts:?}");
    assert!(
        checked > 100,
        "only {checked} custom resources were checked"
    );
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

/// Tells whether an error about a released custom resource has been looked at and is one.
fn is_true_of_custom_resources(finding: &Finding) -> bool {
    // The reader is to put an address where it says `<endpoint>`.
    finding
        .file
        .contains("rook-v1.20.6-object-multisite-pull-realm")
        && finding.message.contains("`spec.pull.endpoint`")
}

/// Returns the directory of the corpus that holds one release: `PROJECT/VERSION`, or one level more.
fn release(path: &BundlePath) -> String {
    let depth = if path.as_str().starts_with("olm-bundles/") {
        3
    } else {
        2
    };
    path.components().take(depth).collect::<Vec<_>>().join("/")
}

/// Tells whether an error on a released file has been looked at and is one.
fn is_true(bundle: &str, finding: &Finding) -> bool {
    let place = format!("{bundle}/{}", finding.file);
    let is_one_of = |parts: &[&str]| parts.iter().any(|part| place.contains(part));
    match finding.code {
        // Whoever released these directories meant one of their files to be applied, or parts of them by kustomize.
        "object-duplicate" | "kustomize-missing" => true,
        // The corpus has these releases without some of their files.
        "kustomize-not-found" => bundle.ends_with(')') || is_one_of(&["/webhook/", "metallb"]),
        "template" => is_one_of(&["cert-manager", "coredns/channels", "kubeproxy/channels"]),
        // The key `hostNetwork` is there twice.
        "yaml-duplicate-key" => is_one_of(&["metadata-proxy.addons.k8s.io"]),
        // Patches of a Deployment.
        "selector-mismatch" => is_one_of(&["kubeproxy/config/manager/patches"]),
        "layout-annotations" => is_one_of(&["/metadata (directory)"]),
        "not-object" => is_one_of(&[
            "/metadata (directory)",
            "_package (directory)/manifests/ci.yaml",
            "istio-inject-configmap",
            "manifests/values.yaml",
            "cloudbuild.yaml",
            "command.yaml",
            "knative-serving-symlinks",
            "prometheus-alerting-rules",
            "grafana-dashboard",
        ]),
        "object-incomplete" => is_one_of(&[
            "Chart.template.yaml",
            "controller_manager_config.yaml",
            "installer/demo",
        ]),
        _ => false,
    }
}
