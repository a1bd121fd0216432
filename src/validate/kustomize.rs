//! Bundles of the mediatype `kustomize`: there is a kustomization, and what it names is in the bundle.

use std::collections::BTreeMap;

use crate::bundle::MANIFESTS;
use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::{Other, What, is_kustomization};
use crate::path::BundlePath;
use crate::yaml::Node;

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

/// The fields of a kustomization whose items are paths, or whole documents where they have several lines.
const PATHS: &[&str] = &[
    "bases",
    "components",
    "configurations",
    "crds",
    "generators",
    "patchesStrategicMerge",
    "resources",
    "transformers",
    "validators",
];

/// Reports what a kustomization names and the bundle does not hold. Nothing is followed or fetched.
pub(super) fn references(
    context: &Context<'_>,
    path: &BundlePath,
    other: &Other,
    findings: &mut Vec<Finding>,
) {
    if other.what != What::Kustomization || !context.is_kustomize() {
        return;
    }
    let root = &other.node;
    let items = |field: &str| {
        root.get(field)
            .and_then(Node::as_sequence)
            .unwrap_or_default()
    };
    let mut look = |node: Option<&Node>| {
        if let Some((node, text)) = node.and_then(|node| Some((node, node.as_str()?))) {
            // `files` may give another name to what it takes: `key=path`.
            let named = text.split_once('=').filter(|_| !is_remote(text));
            let text = named.map_or(text, |(_, path)| path);
            let is_inline = text.contains(['\n', '{']) || text.contains(": ");
            if !is_inline {
                findings.extend(reference(context, path, text, node.line));
            }
        }
    };
    for field in PATHS {
        for item in items(field) {
            look(Some(item));
        }
    }
    for field in ["patches", "patchesJson6902", "replacements"] {
        for item in items(field) {
            look(item.get("path"));
        }
    }
    for field in ["configMapGenerator", "secretGenerator"] {
        for generator in items(field) {
            look(generator.get("env"));
            for list in ["files", "envs"] {
                let items = generator.get(list).and_then(Node::as_sequence);
                for item in items.unwrap_or_default() {
                    look(Some(item));
                }
            }
        }
    }
    look(root.at(&["openapi", "path"]));
}

/// Says what is wrong with one thing that a kustomization names.
fn reference(context: &Context<'_>, path: &BundlePath, text: &str, line: u32) -> Option<Finding> {
    let named = shown(text);
    if is_remote(text) {
        let message = format!("`{named}` is not in the bundle: whoever applies it fetches it");
        let finding = Finding::warning("kustomize-remote", message).at(path, line);
        return Some(finding.hint("copy it into the bundle, so that the digest covers it"));
    }
    let Some(target) = resolve(path, text) else {
        let message = format!("`{named}` leads out of `{MANIFESTS}/`");
        return Some(Finding::warning("kustomize-outside", message).at(path, line));
    };
    let is_there = target.parse::<BundlePath>().is_ok_and(|target| {
        // A directory is in the bundle if it holds a file.
        let from = context
            .files
            .range::<BundlePath, _>(&target..)
            .map(|(file, _)| file);
        from.take_while(|file| file.as_str().starts_with(target.as_str()))
            .any(|file| *file == target || file.strip_prefix(target.as_str()).is_some())
    });
    (!is_there).then(|| {
        Finding::error(
            "kustomize-not-found",
            format!("`{named}` is not in the bundle"),
        )
        .at(path, line)
        .hint("kustomize fails without it; add it, or take the line out")
    })
}

/// Returns the path in the bundle that a kustomization means, unless it is outside.
fn resolve(kustomization: &BundlePath, text: &str) -> Option<String> {
    if text.starts_with('/') {
        return None;
    }
    let parent = kustomization.parent()?;
    let mut components: Vec<&str> = parent.components().collect();
    for component in text.split('/') {
        match component {
            "" | "." => {}
            ".." => drop(components.pop()?),
            name => components.push(name),
        }
    }
    (components.first() == Some(&MANIFESTS)).then(|| components.join("/"))
}

/// Tells whether kustomize would fetch something: a URL, or a repository in one of git's short forms.
fn is_remote(text: &str) -> bool {
    text.contains("://")
        || text.contains("?ref=")
        || text.starts_with("git@")
        || ["github.com/", "gitlab.com/", "bitbucket.org/"]
            .iter()
            .any(|host| text.starts_with(host))
}
