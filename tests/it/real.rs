//! The binary against CNCF distribution's registry: what it asks, what it writes and what it answers.
//!
//! Requests are read from the server's own access log, so that no word of the client about itself is believed.

mod answers;
mod copies;
mod counts;
mod logins;
mod tags;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{DockerRegistry, Http, Ran, Sandbox, bundle_dir, hex};

/// Everything that a registry may be asked to answer with.
const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The digests of a directory's image, as a dry run tells them.
pub(crate) struct Parts {
    pub(crate) manifest: String,
    pub(crate) config: String,
    pub(crate) layer: String,
}

impl Parts {
    pub(crate) fn of(sandbox: &Sandbox, directory: &str) -> Self {
        let ran = sandbox.run(["pack", directory, "--dry-run", "--format", "json"]);
        let value = ran.ok().json();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            manifest: text(&value["digest"]),
            config: text(&value["manifest"]["config"]["digest"]),
            layer: text(&value["manifest"]["layers"][0]["digest"]),
        }
    }

    /// What the registry was asked since the mark: method, path below the repository and status, digests by name.
    fn asked(&self, registry: &DockerRegistry, repository: &str) -> Vec<String> {
        let below = format!("/v2/{}/", path_of(repository));
        let names = [
            (below.as_str(), ""),
            (self.manifest.as_str(), "MANIFEST"),
            (self.config.as_str(), "CONFIG"),
            (self.layer.as_str(), "LAYER"),
        ];
        asked(registry, &names)
    }
}

/// The requests since the mark as lines, with some texts replaced; of queries only what says which blob is meant.
fn asked(registry: &DockerRegistry, names: &[(&str, &str)]) -> Vec<String> {
    let requests = registry.requests();
    let line = |path: &str| {
        let path = path.replace("%3A", ":");
        let (path, query) = path.split_once('?').unwrap_or((&path, ""));
        let path = match path.split_once("/blobs/uploads/") {
            Some((before, upload)) if !upload.is_empty() => format!("{before}/blobs/uploads/ID"),
            _ => path.to_owned(),
        };
        let kept = ["digest=", "mount=", "from="];
        let query = query
            .split('&')
            .filter(|part| kept.iter().any(|key| part.starts_with(key)));
        let query: Vec<_> = query.collect();
        let mark = if query.is_empty() { "" } else { "?" };
        let line = format!("{path}{mark}{}", query.join("&"));
        names
            .iter()
            .fold(line, |line, (from, to)| line.replace(from, to))
    };
    let lines = requests
        .iter()
        .map(|access| format!("{} {} {}", access.method, line(&access.path), access.status));
    lines.collect()
}

fn sorted(lines: &[String]) -> Vec<&str> {
    let mut lines: Vec<_> = lines.iter().map(String::as_str).collect();
    lines.sort_unstable();
    lines
}

/// The repository without the host.
fn path_of(repository: &str) -> &str {
    repository.split_once('/').unwrap().1
}

/// The one line that a command answered.
#[track_caller]
pub(crate) fn answer(ran: &Ran) -> &str {
    let text = ran.ok().stdout();
    let line = text
        .strip_suffix('\n')
        .unwrap_or_else(|| panic!("no line{ran}"));
    assert!(!line.contains('\n'), "more than one line{ran}");
    line
}

/// Writes the usual bundle into `etcd` in the sandbox.
pub(crate) fn etcd(sandbox: &Sandbox, version: &str) {
    bundle_dir(
        sandbox.path("etcd"),
        "etcd",
        version,
        Some(("etcd-manager", "1.4.0")),
    );
}

/// The files below a directory, by path.
pub(crate) fn tree(directory: impl AsRef<Path>) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, at: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in at.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(directory.as_ref(), directory.as_ref(), &mut files);
    files
}

/// Asserts that what was pulled is what the author wrote, with metadata that says at least as much.
#[track_caller]
fn assert_pulled(sandbox: &Sandbox, directory: &str) {
    let source = tree(sandbox.path("etcd/manifests"));
    assert_eq!(tree(sandbox.path(directory).join("manifests")), source);
    let metadata = sandbox.path(directory).join("metadata/annotations.yaml");
    let metadata = std::fs::read_to_string(metadata).unwrap();
    assert!(metadata.contains("package.v1: etcd"), "{metadata}");
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// The manifest under a tag or digest, asked for without the client that is tested.
fn manifest(repository: &str, reference: &str) -> Option<Vec<u8>> {
    let (host, path) = repository.split_once('/').unwrap();
    let url = format!("http://{host}/v2/{path}/manifests/{reference}");
    let answer = Http::new(None).send("GET", &url, &[("accept", ACCEPT)], vec![]);
    let answer = answer.unwrap();
    (answer.status == 200).then_some(answer.body)
}

/// The digest under a tag.
fn tagged(repository: &str, tag: &str) -> Option<String> {
    manifest(repository, tag).map(|bytes| sha256(&bytes))
}

/// Puts a manifest in by hand.
#[track_caller]
fn put_manifest(repository: &str, reference: &str, media_type: &str, bytes: &[u8]) -> String {
    let (host, path) = repository.split_once('/').unwrap();
    let url = format!("http://{host}/v2/{path}/manifests/{reference}");
    let headers = [("content-type", media_type)];
    let answer = Http::new(None).send("PUT", &url, &headers, bytes.to_vec());
    let answer = answer.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    sha256(bytes)
}

/// Puts a blob in by hand.
#[track_caller]
fn put_blob(repository: &str, bytes: &[u8]) -> String {
    let (host, path) = repository.split_once('/').unwrap();
    let http = Http::new(None);
    let url = format!("http://{host}/v2/{path}/blobs/uploads/");
    let begun = http.send("POST", &url, &[], vec![]).unwrap();
    let digest = sha256(bytes);
    let url = format!("{}&digest={digest}", begun.header("location"));
    let answer = http.send("PUT", &url, &[], bytes.to_vec()).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    digest
}
