//! What OLM's keys and ClusterServiceVersions say, row by row.

use super::*;

fn csv(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: {name}\nspec:\n{spec}"
    )
}

fn files(all: &[(&str, &str)]) -> Files {
    let all = all.iter();
    all.map(|(path, text)| (path.parse().unwrap(), text.as_bytes().to_vec().into()))
        .collect()
}

fn keys(pairs: &[(&str, &str)]) -> Annotations {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

const THEIRS: [(&str, &str); 3] = [
    (key::MEDIATYPE, REGISTRY_V1),
    (key::PACKAGE, "etcd"),
    (key::CHANNELS, "alpha, 1.13,alpha,,beta"),
];

fn codes(findings: &[Finding]) -> Vec<&'static str> {
    findings.iter().map(|finding| finding.code).collect()
}

fn metadata_of(
    csvs: &[(&str, &str)],
    annotations: &Annotations,
) -> (Option<Metadata>, Vec<Finding>) {
    metadata(&files(csvs), annotations, &|_| 7, &Limits::default()).unwrap()
}

#[test]
fn package_and_channels_come_from_the_keys_and_versions_from_the_service_version() {
    let text = csv(
        "etcdoperator.v9.9.9",
        "  version: 0.9.4\n  minKubeVersion: 1.19.0-0\n",
    );
    let (metadata, findings) = metadata_of(&[("manifests/a.yaml", &text)], &keys(&THEIRS));
    let metadata = metadata.unwrap();
    assert_eq!(metadata.package.as_str(), "etcd");
    assert_eq!(metadata.version.to_string(), "0.9.4");
    assert_eq!(
        metadata.min_kubernetes_version.unwrap().to_string(),
        "1.19.0"
    );
    assert_eq!(
        (&metadata.operator_id, &metadata.min_operator_version),
        (&None, &None)
    );
    let channels: Vec<&str> = metadata.channels.iter().map(ChannelName::as_str).collect();
    assert_eq!(channels, ["alpha", "beta"]);
    assert_eq!(metadata.annotations, keys(&THEIRS));
    assert_eq!(metadata.mediatype.name(), "registry+v1");
    assert_eq!(codes(&findings), ["metadata-channels"]);
    assert_eq!(findings[0].severity, finding::Severity::Note);
    assert!(findings[0].message.contains("`1.13`") && findings[0].line == 7);
}

#[test]
fn the_version_is_that_of_the_spec_or_the_end_of_the_name() {
    for (name, spec, want) in [
        ("x.v1.2.3", "  version: 2.0.0\n", Ok("2.0.0")),
        ("x.v1.2.3", "  version: null\n", Ok("1.2.3")),
        ("x.v1.2.3-rc.1", "  replaces: x\n", Ok("1.2.3-rc.1")),
        ("x.y.v1.2.3", "  replaces: x\n", Ok("1.2.3")),
        (
            "x.1.2.3",
            "  replaces: x\n",
            Err("does not end in `.vVERSION`"),
        ),
        ("x.v1.2", "  replaces: x\n", Err("the name: ")),
        ("x.v1.2.3", "  version: v2.0.0\n", Err("`spec.version`: ")),
        (
            "x.v1.2.3",
            "  version: 2.0\n",
            Err("`spec.version` is a number"),
        ),
        ("x.v1.2.3", "  version: \"\"\n", Err("is empty")),
    ] {
        let text = csv(name, spec);
        let all = [("manifests/a.yaml", &*text)];
        let (metadata, findings) = metadata_of(&all, &keys(&THEIRS[..2]));
        let found = metadata.map(|metadata| metadata.version.to_string());
        match want {
            Ok(version) => assert_eq!(found.as_deref(), Some(version), "{findings:?}"),
            Err(why) => {
                assert_eq!(found, None);
                assert_eq!(codes(&findings), ["metadata-version"]);
                assert!(findings[0].message.contains(why), "{findings:?}");
                assert_eq!(findings[0].file, "manifests/a.yaml");
            }
        }
    }
}

#[test]
fn what_is_missing_twice_or_wrong_has_a_code() {
    let good = csv("x.v1.2.3", "  version: 1.2.3\n");
    let bad = csv("x.v1.2.3", "  version: 1.2.3\n  minKubeVersion: new\n");
    let number = csv("x.v1.2.3", "  version: 1.2.3\n  minKubeVersion: 1.2\n");
    let empty = csv("x.v1.2.3", "  version: 1.2.3\n  minKubeVersion: \"\"\n");
    // The same words of another group are another thing.
    let other = good.replace("operators.coreos.com", "example.org");
    let two = format!("{good}---\n{}", good.replace("x.v", "y.v"));
    let base = keys(&THEIRS[..2]);
    let with = |key: &str, value: &str| {
        let mut all = base.clone();
        all.insert(key.to_owned(), value.to_owned());
        all
    };
    let mut unnamed = base.clone();
    unnamed.remove(key::PACKAGE);
    let kubernetes = "metadata-min-kubernetes-version";
    for (texts, annotations, want) in [
        (&[&good][..], base.clone(), &[][..]),
        (&[&good, &other], base.clone(), &[]),
        (&[&empty], base.clone(), &[]),
        (&[], base.clone(), &["olm-csv"]),
        (&[&other], base.clone(), &["olm-csv"]),
        (&[&good, &good], base.clone(), &["olm-csv"]),
        (&[&two], base.clone(), &["olm-csv"]),
        (&[&bad], base.clone(), &[kubernetes]),
        (&[&number], base.clone(), &[kubernetes]),
        (&[&good], unnamed, &["metadata-required"]),
        (&[&good], with(key::PACKAGE, "a/b"), &["metadata-package"]),
        (
            &[&good],
            with(key::MEDIATYPE, "helm"),
            &["metadata-mediatype"],
        ),
        (
            &[&good],
            with(key::MANIFESTS, "objects/"),
            &["metadata-directory"],
        ),
        (
            &[&good],
            with(key::METADATA, "manifests/"),
            &["metadata-directory"],
        ),
        (&[&good], with(key::METADATA, "metadata"), &[]),
        (
            &[&good],
            with("quay.expires-after", "1d"),
            &["metadata-key"],
        ),
    ] {
        let names = ["manifests/a.yaml", "manifests/b.yaml"];
        let all: Vec<(&str, &str)> = names
            .into_iter()
            .zip(texts.iter().map(|t| t.as_str()))
            .collect();
        let (metadata, findings) = metadata_of(&all, &annotations);
        assert_eq!(codes(&findings), want, "{annotations:?}");
        assert_eq!(metadata.is_some(), want.is_empty());
    }
}

#[test]
fn channels_that_the_call_names_do_not_change_olm_s_and_that_is_said() {
    let text = csv("x.v1.2.3", "  version: 1.2.3\n");
    let all = files(&[("manifests/a.yaml", &text)]);
    for (theirs, ours, is_same) in [
        ("alpha", "stable", false),
        ("alpha, beta", "beta,alpha", true),
    ] {
        let annotations = keys(&[
            (key::PACKAGE, "etcd"),
            (key::CHANNELS, theirs),
            (ours::CHANNELS, ours),
        ]);
        let said = read(&all, &annotations, &|_| 0, &Limits::default()).unwrap();
        let (added, findings) = complete(&annotations, &|_| 0, said);
        assert!(!added.contains_key(key::CHANNELS));
        let wanted: &[&str] = if is_same { &[] } else { &["metadata-channels"] };
        assert_eq!(codes(&findings), wanted);
        assert!(is_same || findings[0].message.contains("`alpha`"));
    }
}

#[test]
fn each_of_the_two_completes_the_other_and_contradicts_it_nowhere() {
    let text = csv("x.v1.2.3", "  version: 1.2.3\n  minKubeVersion: 1.20.0\n");
    let all = files(&[("manifests/a.yaml", &text)]);
    let complete_of = |annotations: &Annotations| {
        let said = read(&all, annotations, &|_| 0, &Limits::default()).unwrap();
        complete(annotations, &|_| 0, said)
    };
    let (added, findings) = complete_of(&keys(&THEIRS));
    assert_eq!(codes(&findings), ["metadata-channels"]);
    assert_eq!(
        added,
        keys(&[
            (ours::PACKAGE, "etcd"),
            (ours::VERSION, "1.2.3"),
            (ours::MIN_KUBERNETES_VERSION, "1.20.0"),
            (ours::CHANNELS, "alpha,beta"),
            (key::MANIFESTS, "manifests/"),
            (key::METADATA, "metadata/"),
        ])
    );
    let mine = [
        (ours::PACKAGE, "etcd"),
        (ours::VERSION, "1.2.3"),
        (ours::CHANNELS, "stable, beta"),
    ];
    let (added, findings) = complete_of(&keys(&mine));
    assert_eq!(codes(&findings), Vec::<&str>::new());
    assert_eq!(
        added,
        keys(&[
            (ours::MIN_KUBERNETES_VERSION, "1.20.0"),
            (key::MEDIATYPE, REGISTRY_V1),
            (key::MANIFESTS, "manifests/"),
            (key::METADATA, "metadata/"),
            (key::PACKAGE, "etcd"),
            (key::CHANNELS, "stable,beta"),
            (key::DEFAULT_CHANNEL, "stable"),
        ])
    );
    for (more, code) in [
        ((ours::VERSION, "1.2.4"), "metadata-version"),
        ((key::PACKAGE, "zookeeper"), "metadata-package"),
        ((ours::MEDIATYPE, "kustomize"), "metadata-mediatype"),
    ] {
        let mut annotations = keys(&mine);
        annotations.insert(more.0.to_owned(), more.1.to_owned());
        assert_eq!(codes(&complete_of(&annotations).1), [code]);
    }
    // Without a channel OLM offers the bundle to nobody.
    let (_, findings) = complete_of(&keys(&mine[..2]));
    assert_eq!(codes(&findings), ["metadata-channels"]);
    assert_eq!(
        findings[0].hint.as_deref(),
        Some("name it: `--channels stable`")
    );
}
