//! What is a bundle and what is none, from the manifest on to the files.

use super::*;
use crate::content::Content;
use crate::digest::Digest;
use crate::error::Kind;
use crate::image::{PackOptions, pack, pack_layer};
use crate::oci::{Annotations, Descriptor, ManifestBlob};

const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
const MEDIATYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
const CSV: &str = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: etcd.v1.0.0}\nspec: {version: 1.0.0}\n";

fn map(pairs: &[(&str, &str)]) -> Annotations {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn ours() -> Annotations {
    map(&[
        (key::MEDIATYPE, "manifests"),
        (key::PACKAGE, "etcd"),
        (key::VERSION, "1.0.0"),
    ])
}

fn files(annotations: &Annotations, more: &[(&str, &'static str)]) -> Files {
    let mut files: Files = more
        .iter()
        .map(|(path, text)| (path.parse().unwrap(), Content::from(*text)))
        .collect();
    files.insert(
        metadata::path().unwrap(),
        metadata::write(annotations).into(),
    );
    files
}

/// What is changed of an image before it is unpacked.
#[derive(Default)]
struct Change {
    labels: Option<Annotations>,
    annotations: Option<Annotations>,
    diff_ids: Option<Vec<Digest>>,
    config_type: Option<&'static str>,
    layer_type: Option<&'static str>,
    no_layer: bool,
}

/// Packs files as the image of a bundle, whatever they are, and changes it.
fn image(files: Files, change: Change) -> Image {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path());
    let limits = Limits::default();
    let metadata = Metadata::of(ours(), &|_| 0).unwrap();
    let layer = pack_layer(files.clone(), 1, &mut spool).unwrap();
    let bundle = Bundle { metadata, files };
    let packed = pack(&bundle, &PackOptions::default(), &mut spool).unwrap();
    let mut config = ImageConfig::parse(&packed.config.to_bytes().unwrap(), &limits).unwrap();
    if let Some(labels) = change.labels {
        config.config.labels = labels;
    }
    config.rootfs.diff_ids = change.diff_ids.unwrap_or(vec![layer.diff_id]);
    let config = config.write().unwrap();
    let mut manifest = packed.oci().unwrap().clone();
    manifest.config = Descriptor::of(change.config_type.unwrap_or(media_type::CONFIG), &config);
    if let Some(annotations) = change.annotations {
        manifest.annotations = annotations;
    }
    if let Some(kind) = change.layer_type {
        kind.clone_into(&mut manifest.layers[0].media_type);
    }
    if change.no_layer {
        manifest.layers.clear();
    }
    Image {
        manifest: ManifestBlob::new(manifest.write().unwrap(), &limits).unwrap(),
        config: config.into(),
        layers: vec![layer.content],
    }
}

fn unpack_with(image: &Image, limits: &Limits) -> Result<Unpacked> {
    let directory = tempfile::tempdir().unwrap();
    unpack(image, limits, &mut Spool::new(directory.path()))
}

fn unpacked(files: &Files, change: Change) -> Result<Unpacked> {
    unpack_with(&image(files.clone(), change), &Limits::default())
}

#[test]
fn a_bundle_comes_out_as_it_went_in() {
    let files = files(&ours(), &[("manifests/a.yaml", "kind: A\n")]);
    let unpacked = unpacked(&files, Change::default()).unwrap();
    let bytes = |files: &Files| -> Vec<_> {
        let all = files.iter();
        all.map(|(path, content)| (path.clone(), content.to_bytes().unwrap()))
            .collect()
    };
    assert_eq!(bytes(&unpacked.bundle.files), bytes(&files));
    assert_eq!(unpacked.bundle.metadata.package.as_str(), "etcd");
    assert_eq!(unpacked.copies.labels, ours());
    assert_eq!(unpacked.left_out, []);
}

#[test]
fn what_is_no_bundle_is_told_by_manifest_and_config() {
    let files = files(&ours(), &[]);
    let none = || Some(Annotations::new());
    for change in [
        Change {
            config_type: Some(media_type::DOCKER_CONFIG),
            ..Change::default()
        },
        Change {
            labels: none(),
            ..Change::default()
        },
        Change {
            annotations: none(),
            ..Change::default()
        },
    ] {
        assert!(unpacked(&files, change).is_ok());
    }
    for (change, words) in [
        (
            Change {
                config_type: Some("application/vnd.example"),
                ..Change::default()
            },
            "an artifact of type `application/vnd.example`",
        ),
        (
            Change {
                labels: none(),
                annotations: none(),
                ..Change::default()
            },
            "neither labels nor annotations have",
        ),
        (
            Change {
                no_layer: true,
                ..Change::default()
            },
            "the image has no layers",
        ),
        (
            Change {
                layer_type: Some("application/vnd.example"),
                ..Change::default()
            },
            "a layer has the type `application/vnd.example`",
        ),
    ] {
        let error = unpacked(&files, change).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
        assert!(error.message().contains(words), "{error}, not: {words}");
    }
    // Without its config it cannot be told yet.
    let image = image(
        files,
        Change {
            annotations: none(),
            ..Change::default()
        },
    );
    assert!(identify(image.oci().unwrap(), None).is_ok());
}

#[test]
fn layers_are_as_many_as_the_config_says_if_it_says_any() {
    let files = files(&ours(), &[]);
    let with = |diff_ids| {
        let change = Change {
            diff_ids: Some(diff_ids),
            ..Change::default()
        };
        unpacked(&files, change)
    };
    assert!(with(Vec::new()).is_ok());
    let other = Digest::of(b"other");
    for diff_ids in [vec![other], vec![other, other]] {
        assert_eq!(with(diff_ids).unwrap_err().kind(), Kind::Mismatch);
    }
}

#[test]
fn a_config_may_be_as_large_as_its_ceiling() {
    let image = image(files(&ours(), &[]), Change::default());
    let size = image.config.len();
    let with = |max| unpack_with(&image, &Limits::default().with(Ceiling::Config, max));
    assert!(with(size).is_ok());
    assert_eq!(with(size - 1).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn only_the_bundles_of_olm_have_files_beside() {
    let theirs = map(&[(MEDIATYPE, "registry+v1"), (PACKAGE, "etcd")]);
    let beside = [
        ("manifests/a.yaml", CSV),
        ("tests/scorecard/config.yaml", "x: 1\n"),
    ];
    let olm = |annotations: &Annotations, more: &[(&str, &'static str)]| {
        let change = Change {
            labels: Some(theirs.clone()),
            annotations: Some(Annotations::new()),
            ..Change::default()
        };
        unpacked(&files(annotations, more), change)
    };
    let left_out = olm(&theirs, &beside).unwrap().left_out;
    assert_eq!(left_out, ["tests/scorecard/config.yaml".parse().unwrap()]);
    // What the labels say does not make it one.
    let error = olm(&ours(), &beside).unwrap_err();
    assert!(error.message().contains("is neither in"), "{error}");
    let error = unpacked(&files(&ours(), &beside), Change::default()).unwrap_err();
    assert!(error.message().contains("is neither in"), "{error}");
    let missing = Files::from([("manifests/a.yaml".parse().unwrap(), Content::from(CSV))]);
    let error = unpacked(&missing, Change::default()).unwrap_err();
    assert!(error.message().contains("is missing"), "{error}");
}
