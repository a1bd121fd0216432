//! Small bundles on disk for tests to start from, and the way to the big public corpus.

use std::path::{Path, PathBuf};

const CONFIG_MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  level: info
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: server
spec:
  selector:
    matchLabels: {app: server}
  template:
    metadata:
      labels: {app: server}
    spec:
      containers:
      - name: server
        image: registry.example/server:1.0.0
";

/// Writes a bundle directory with metadata and two good manifests; returns its path.
///
/// The operator is its id and the minimum version; without one the bundle is unbound.
pub(crate) fn bundle_dir(
    at: impl AsRef<Path>,
    package: &str,
    version: &str,
    operator: Option<(&str, &str)>,
) -> PathBuf {
    let at = at.as_ref();
    bare_dir(at.join("manifests"));
    let operator = operator.map_or_else(String::new, |(id, minimum)| {
        format!(
            "  k8s.io.bundle.operator.id.v1: {id}
  k8s.io.bundle.operator.min-version.v1: \"{minimum}\"\n"
        )
    });
    let text = format!(
        "annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.manifests.v1: manifests/
  k8s.io.bundle.metadata.v1: metadata/
  k8s.io.bundle.package.v1: {package}
  k8s.io.bundle.version.v1: \"{version}\"
{operator}"
    );
    write(&at.join("metadata/annotations.yaml"), &text);
    at.to_owned()
}

/// Writes the same two manifests without metadata; returns the path.
pub(crate) fn bare_dir(at: impl AsRef<Path>) -> PathBuf {
    let at = at.as_ref();
    write(&at.join("configmap.yaml"), CONFIG_MAP);
    write(&at.join("deployment.yaml"), DEPLOYMENT);
    at.to_owned()
}

/// The directory that `BUNDLE_CORPUS` names, with `corpus`, `cases` and `malo` in it; tests over the corpus do nothing
/// without it, and have `corpus` in their names, so that one filter finds them all.
pub(crate) fn corpus() -> Option<PathBuf> {
    std::env::var_os("BUNDLE_CORPUS").map(PathBuf::from)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
