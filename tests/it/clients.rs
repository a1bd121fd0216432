//! Programs that nobody here wrote read what we write, and we read what they wrote: skopeo, umoci, oci-client, oci-spec,
//! GNU tar, gzip and Python.

use std::path::Path;

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_spec::image::{ImageConfiguration, ImageIndex, ImageManifest, MediaType};
use serde_json::Value;

use crate::real::{Parts, answer, etcd, sha256, tree};
use crate::support::{DockerRegistry, Sandbox};

const VERSION: &str = "k8s.io.bundle.version.v1";

/// A sandbox with the usual bundle as a directory, in the layout `ours` and unpacked by us.
struct Ours {
    sandbox: Sandbox,
    parts: Parts,
}

impl Ours {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        etcd(&sandbox, "1.0.0");
        sandbox.run(["pack", "etcd", "-o", "oci:ours"]).ok();
        sandbox.run(["pack", "etcd", "-o", "ours.tar"]).ok();
        sandbox.run(["unpack", "ours.tar", "-o", "unpacked"]).ok();
        let parts = Parts::of(&sandbox, "etcd");
        Self { sandbox, parts }
    }

    /// Reads a blob of a layout.
    fn blob(&self, layout: &str, digest: &str) -> Vec<u8> {
        let path = self
            .sandbox
            .path(layout)
            .join("blobs")
            .join(digest.replace(':', "/"));
        std::fs::read(path).unwrap()
    }

    /// Asserts that the files below a directory are the bundle and what an image has beside it.
    #[track_caller]
    fn assert_same_tree(&self, directory: impl AsRef<Path>) {
        let mut found = tree(directory);
        let ignore = found.remove(".sourceignore");
        assert_eq!(ignore.as_deref(), Some(&b"/metadata/\n"[..]));
        let mut expected = tree(self.sandbox.path("unpacked"));
        // What marks a directory as ours is no part of the bundle.
        expected.retain(|path, _| path.starts_with("manifests/") || path.starts_with("metadata/"));
        assert_eq!(found, expected);
        let source = tree(self.sandbox.path("etcd/manifests"));
        assert_eq!(tree(self.sandbox.path("unpacked/manifests")), source);
    }
}

/// The digest of the only manifest in a layout.
fn only_digest(sandbox: &Sandbox, layout: &str) -> String {
    let index = std::fs::read(sandbox.path(layout).join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    let manifests = index["manifests"].as_array().unwrap();
    assert_eq!(manifests.len(), 1, "{index}");
    manifests[0]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn skopeo_copies_our_push_and_the_digest_stays() {
    let registry = DockerRegistry::open();
    let ours = Ours::new();
    let repository = registry.repository("skopeo");
    ours.sandbox.run(["push", "etcd", &repository]).ok();
    let source = format!("docker://{repository}:1.0.0");
    let copy = |to: &str| {
        ours.sandbox
            .skopeo(["copy", "--src-tls-verify=false", &source, to])
    };

    copy("oci:theirs:1.0.0").ok();
    assert_eq!(only_digest(&ours.sandbox, "theirs"), ours.parts.manifest);
    copy("dir:files").ok();
    let manifest = std::fs::read(ours.sandbox.path("files/manifest.json")).unwrap();
    assert_eq!(sha256(&manifest), ours.parts.manifest);
    copy("oci-archive:theirs.tar:1.0.0").ok();
    for theirs in [
        "oci:theirs",
        "oci:theirs:1.0.0",
        "oci-archive:theirs.tar",
        "theirs.tar",
    ] {
        let verified = ours.sandbox.run(["verify", theirs, "--package", "etcd"]);
        assert!(
            answer(&verified).ends_with(&ours.parts.manifest),
            "{verified}"
        );
    }

    // This one is of another format; the layer goes into it as it is.
    copy("docker-archive:docker.tar:etcd:1.0.0").ok();
    ours.sandbox.write("image/x", "");
    ours.sandbox
        .tool("tar", ["-xf", "docker.tar", "-C", "image"])
        .ok();
    let list = std::fs::read(ours.sandbox.path("image/manifest.json")).unwrap();
    let list: Value = serde_json::from_slice(&list).unwrap();
    let layer = list[0]["Layers"][0].as_str().unwrap();
    std::fs::create_dir(ours.sandbox.path("layer")).unwrap();
    let layer = format!("image/{layer}");
    ours.sandbox
        .tool("tar", ["-xf", &layer, "-C", "layer"])
        .ok();
    ours.assert_same_tree(ours.sandbox.path("layer"));
}

#[test]
fn skopeo_shows_our_labels() {
    let registry = DockerRegistry::open();
    let ours = Ours::new();
    let repository = registry.repository("labels");
    ours.sandbox.run(["push", "etcd", &repository]).ok();
    let image = format!("docker://{repository}:1.0.0");
    let shown = ours
        .sandbox
        .skopeo(["inspect", "--tls-verify=false", &image]);
    let shown = shown.ok().json();
    assert_eq!(shown["Digest"], ours.parts.manifest);
    assert_eq!(shown["Labels"][VERSION], "1.0.0");
    assert_eq!(shown["Labels"]["k8s.io.bundle.package.v1"], "etcd");
    assert_eq!(
        shown["Labels"]["k8s.io.bundle.operator.id.v1"],
        "etcd-manager"
    );
    assert_eq!(
        shown["Layers"].as_array().unwrap(),
        &[Value::from(ours.parts.layer.as_str())]
    );
    assert_eq!(
        (&shown["Os"], &shown["Architecture"]),
        (&"linux".into(), &"amd64".into())
    );
    assert_eq!(shown["Created"], "1970-01-01T00:00:00Z");
}

#[test]
fn we_read_what_skopeo_pushed() {
    let registry = DockerRegistry::open();
    let ours = Ours::new();
    let same = registry.repository("same");
    let copy = ["copy", "--dest-tls-verify=false", "oci:ours:1.0.0"];
    let to = format!("docker://{same}:1.0.0");
    ours.sandbox.skopeo(copy.into_iter().chain([&*to])).ok();
    let verified = ours.sandbox.run(["verify", &format!("{same}:1.0.0")]);
    assert_eq!(answer(&verified), format!("{same}@{}", ours.parts.manifest));
    // What it pushed is what we would have: there is nothing left to send.
    let pushed = ours.sandbox.run(["push", "etcd", &same]);
    pushed.ok().assert_stderr_has("is there already");

    // Converted to docker's format, the annotations of the manifest are gone and the labels are left.
    let converted = registry.repository("converted");
    let to = format!("docker://{converted}:1.0.0");
    ours.sandbox
        .skopeo(copy.into_iter().chain([&*to, "--format", "v2s2"]))
        .ok();
    let raw = ours
        .sandbox
        .skopeo(["inspect", "--raw", "--tls-verify=false", &to]);
    let raw = raw.ok().json();
    assert_eq!(
        raw["mediaType"],
        "application/vnd.docker.distribution.manifest.v2+json"
    );
    assert!(raw.get("annotations").is_none(), "{raw}");
    let reference = format!("{converted}:1.0.0");
    let expected = [
        "--package",
        "etcd",
        "--operator-id",
        "etcd-manager",
        "--operator-version",
        "1.4.0",
    ];
    let verify = ["verify", &reference].into_iter().chain(expected);
    let verified = ours.sandbox.run(verify);
    assert!(!answer(&verified).contains(&ours.parts.manifest));
    let pulled = ours.sandbox.run(["pull", &reference, "-o", "pulled"]);
    pulled.ok();
    assert_eq!(
        tree(ours.sandbox.path("pulled")),
        tree(ours.sandbox.path("unpacked"))
    );
}

#[test]
fn skopeo_and_we_read_docker_images_that_we_pack() {
    let registry = DockerRegistry::open();
    let ours = Ours::new();
    let repository = registry.repository("docker");
    let format = ["--image-format", "docker"];
    let push = ["push", "etcd", &repository].into_iter().chain(format);
    let pushed = ours.sandbox.run(push);
    let image = format!("docker://{repository}:1.0.0");
    let shown = ours
        .sandbox
        .skopeo(["inspect", "--tls-verify=false", &image]);
    let shown = shown.ok().json();
    assert_eq!(shown["Labels"][VERSION], "1.0.0");
    assert!(answer(&pushed).ends_with(shown["Digest"].as_str().unwrap()));
    let raw = ours
        .sandbox
        .skopeo(["inspect", "--raw", "--tls-verify=false", &image]);
    let raw = raw.ok().json();
    assert_eq!(
        raw["mediaType"],
        "application/vnd.docker.distribution.manifest.v2+json"
    );
    // Only the wrapping is another one: the layer is the same.
    assert_eq!(raw["layers"][0]["digest"], ours.parts.layer);
    ours.sandbox
        .skopeo([
            "copy",
            "--src-tls-verify=false",
            &image,
            "docker-archive:docker.tar:etcd:1.0.0",
        ])
        .ok();

    let pull = ["pull", answer(&pushed), "-o", "pulled", "--package", "etcd"];
    assert_eq!(answer(&ours.sandbox.run(pull)), answer(&pushed));
    assert_eq!(
        tree(ours.sandbox.path("pulled")),
        tree(ours.sandbox.path("unpacked"))
    );
    let pack = ["pack", "etcd", "-o", "docker-format.tar"]
        .into_iter()
        .chain(format);
    let packed = ours.sandbox.run(pack);
    let digest = answer(&packed).split_once('@').unwrap().1;
    assert!(answer(&pushed).ends_with(digest));
    let verified = ours.sandbox.run(["verify", "docker-format.tar"]);
    assert!(answer(&verified).ends_with(digest));
}

#[test]
fn umoci_unpacks_our_layout() {
    let ours = Ours::new();
    let listed = ours.sandbox.umoci(["ls", "--layout", "ours"]);
    assert_eq!(listed.ok().stdout().trim(), "1.0.0");
    ours.sandbox
        .umoci(["unpack", "--rootless", "--image", "ours:1.0.0", "theirs"])
        .ok();
    ours.assert_same_tree(ours.sandbox.path("theirs/rootfs"));
}

#[test]
fn oci_client_pulls_our_push() {
    let registry = DockerRegistry::open();
    let ours = Ours::new();
    let repository = registry.repository("client");
    ours.sandbox.run(["push", "etcd", &repository]).ok();
    // It has no TLS provider of its own; another test may have been first to give it one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = oci_client::Client::new(ClientConfig {
        protocol: ClientProtocol::Http,
        ..ClientConfig::default()
    });
    let reference = format!("{repository}:1.0.0").parse().unwrap();
    let layer = "application/vnd.oci.image.layer.v1.tar+gzip";
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pull = client.pull(&reference, &RegistryAuth::Anonymous, vec![layer]);
    let image = runtime.block_on(pull).unwrap();
    assert_eq!(image.digest.as_deref(), Some(ours.parts.manifest.as_str()));
    let manifest = image.manifest.unwrap();
    assert_eq!(manifest.annotations.unwrap()[VERSION], "1.0.0");
    assert_eq!(manifest.artifact_type, None);
    assert_eq!(
        manifest.media_type.as_deref(),
        Some("application/vnd.oci.image.manifest.v1+json")
    );
    assert_eq!(image.layers.len(), 1);
    assert!(image.layers[0].data == ours.blob("ours", &ours.parts.layer));
    assert!(image.config.data == ours.blob("ours", &ours.parts.config));
}

#[test]
fn tar_gzip_and_python_read_our_layer_alike() {
    let ours = Ours::new();
    let sandbox = &ours.sandbox;
    sandbox.write("layer.tar.gz", ours.blob("ours", &ours.parts.layer));
    sandbox.tool("gzip", ["-t", "layer.tar.gz"]).ok();
    let expected = [
        ".sourceignore",
        "manifests/",
        "manifests/configmap.yaml",
        "manifests/deployment.yaml",
        "metadata/",
        "metadata/annotations.yaml",
    ];
    let listed = sandbox.tool("tar", ["-tzf", "layer.tar.gz"]);
    let lines: Vec<&str> = listed.ok().stdout().lines().collect();
    assert_eq!(lines, expected);
    assert_eq!(listed.stderr(), "");
    let script = "import sys, tarfile
for m in tarfile.open(sys.argv[1], 'r:gz'):
    print(m.name + '/' * m.isdir(), oct(m.mode), m.uid, m.gid, repr(m.uname), repr(m.gname), int(m.mtime), m.isfile() or m.isdir())";
    let listed = sandbox.python(script, &["layer.tar.gz"]);
    let lines: Vec<&str> = listed.ok().stdout().lines().collect();
    let like = expected.map(|name| {
        let mode = if name.ends_with('/') {
            "0o755"
        } else {
            "0o644"
        };
        format!("{name} {mode} 0 0 '' '' 0 True")
    });
    assert_eq!(lines, like);
    std::fs::create_dir(sandbox.path("layer")).unwrap();
    sandbox
        .tool("tar", ["-xzf", "layer.tar.gz", "-C", "layer"])
        .ok();
    ours.assert_same_tree(sandbox.path("layer"));
}

#[test]
fn tar_reads_our_archive() {
    let ours = Ours::new();
    let sandbox = &ours.sandbox;
    std::fs::create_dir(sandbox.path("archive")).unwrap();
    let unpacked = sandbox.tool("tar", ["-xf", "ours.tar", "-C", "archive"]);
    assert_eq!(unpacked.ok().stderr(), "");
    // It is a layout: the one that we write, and one that others read.
    assert_eq!(tree(sandbox.path("archive")), tree(sandbox.path("ours")));
    sandbox
        .skopeo(["copy", "oci:archive:1.0.0", "oci:copied:1.0.0"])
        .ok();
    assert_eq!(only_digest(sandbox, "copied"), ours.parts.manifest);
    sandbox
        .skopeo(["copy", "oci-archive:ours.tar:1.0.0", "oci:again:1.0.0"])
        .ok();
    assert_eq!(only_digest(sandbox, "again"), ours.parts.manifest);
}

#[test]
fn oci_spec_parses_our_documents() {
    let ours = Ours::new();
    let index = ImageIndex::from_file(ours.sandbox.path("ours/index.json")).unwrap();
    assert_eq!(index.schema_version(), 2);
    assert_eq!(index.media_type(), &Some(MediaType::ImageIndex));
    let entry = &index.manifests()[0];
    assert_eq!(entry.digest().to_string(), ours.parts.manifest);
    assert_eq!(entry.media_type(), &MediaType::ImageManifest);
    let names = entry.annotations().as_ref().unwrap();
    assert_eq!(names["org.opencontainers.image.ref.name"], "1.0.0");

    let bytes = ours.blob("ours", &ours.parts.manifest);
    assert_eq!(bytes.len() as u64, entry.size());
    let manifest = ImageManifest::from_reader(&*bytes).unwrap();
    assert_eq!(manifest.media_type(), &Some(MediaType::ImageManifest));
    assert_eq!(manifest.artifact_type(), &None);
    assert_eq!(manifest.subject(), &None);
    assert_eq!(manifest.config().media_type(), &MediaType::ImageConfig);
    assert_eq!(manifest.config().digest().to_string(), ours.parts.config);
    assert_eq!(manifest.layers().len(), 1);
    assert_eq!(
        manifest.layers()[0].media_type(),
        &MediaType::ImageLayerGzip
    );
    assert_eq!(manifest.annotations().as_ref().unwrap()[VERSION], "1.0.0");

    let bytes = ours.blob("ours", &ours.parts.config);
    let config = ImageConfiguration::from_reader(&*bytes).unwrap();
    assert_eq!(config.created().as_deref(), Some("1970-01-01T00:00:00Z"));
    assert_eq!(config.architecture().to_string(), "amd64");
    assert_eq!(config.os().to_string(), "linux");
    let inner = config.config().as_ref().unwrap();
    assert_eq!(inner.labels().as_ref().unwrap()[VERSION], "1.0.0");
    assert_eq!(
        (inner.cmd(), inner.env(), inner.user()),
        (&None, &None, &None)
    );
    // The config names the layer as it is once it is unpacked.
    ours.sandbox
        .write("layer.tar.gz", ours.blob("ours", &ours.parts.layer));
    ours.sandbox.tool("gzip", ["-d", "layer.tar.gz"]).ok();
    let layer = std::fs::read(ours.sandbox.path("layer.tar")).unwrap();
    assert_eq!(config.rootfs().diff_ids(), &[sha256(&layer)]);
}
