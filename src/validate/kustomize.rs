//! Bundles of the mediatype `kustomize`: there is a kustomization, and what it names is in the bundle.

use std::collections::BTreeMap;

use crate::bundle::MANIFESTS;
use crate::finding::Finding;
use crate::objects::is_kustomization;
use crate::path::BundlePath;

use super::context::Context;

/// Reports a bundle whose `manifests/` has no kustomization, and directories that have two.
pub(super) fn kustomization(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !context.is_kustomize() {
        return;
    }
    let mut by_directory: BTreeMap<Option<BundlePath>, Vec<&BundlePath>> = BTreeMap::new();
    for (path, _, _) in context.manifests() {
        if is_kustomization(path.file_name()) {
            by_directory.entry(path.parent()).or_default().push(path);
        }
    }
    let has_root = by_directory
        .keys()
        .flatten()
        .any(|directory| directory.as_str() == MANIFESTS);
    if !has_root {
        let message =
            format!("the mediatype is `kustomize`, and `{MANIFESTS}/` has no `kustomization.yaml`");
        findings.push(Finding::error("kustomize-missing", message).at(MANIFESTS, 0));
    }
    for paths in by_directory.values() {
        if let [_, others @ ..] = paths.as_slice() {
            for path in others {
                let message = "the directory has another kustomization: kustomize refuses two";
                let finding = Finding::error("kustomize-twice", message);
                findings.push(finding.at(path, 0).hint("remove one of them"));
            }
        }
    }
}
