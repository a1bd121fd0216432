//! Images that no registry can have, and those that the same bundle may run with another content tomorrow.

use crate::escape::shown;
use crate::finding::Finding;
use crate::images::full_name;
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::Node;

use super::context::Context;

/// Reports images of containers that no registry takes: empty ones, and those that are no names.
pub(super) fn name(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    for (image, text) in images(context, object) {
        let message = match full_name(text) {
            _ if text.is_empty() => "the image is empty".to_owned(),
            Err(invalid) if is_name(text) => format!("no registry takes the image: {invalid}"),
            _ => continue,
        };
        findings.push(Finding::warning("image-name", message).at(path, image.line));
    }
}

/// Reports images of containers that have neither a digest nor a tag but `latest`.
pub(super) fn tag(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    for (image, text) in images(context, object) {
        let why = match moving_tag(text).filter(|_| is_name(text)) {
            Some("") => "has neither tag nor digest: it is whatever `latest` is",
            Some(_) => "has the tag `latest`, which moves with every release",
            None => continue,
        };
        let message = format!("the image `{}` {why}", shown(text));
        findings.push(
            Finding::note("image-tag", message)
                .at(path, image.line)
                .hint("name a version, or better a digest"),
        );
    }
}

/// Returns the texts that stand for images of containers; kustomize can replace them, so its bundles are left alone.
fn images<'o>(
    context: &Context<'_>,
    object: &'o Object,
) -> impl Iterator<Item = (&'o Node, &'o str)> {
    let spec = pod_spec(object).filter(|_| !context.is_kustomize());
    let lists = spec.into_iter().flat_map(|(_, spec)| {
        ["initContainers", "containers"].map(|list| spec.get(list).and_then(Node::as_sequence))
    });
    let containers = lists.flatten().flatten();
    containers.filter_map(|container| {
        let image = container.get("image")?;
        Some((image, image.as_str()?))
    })
}

/// Tells whether this is the name of an image, and not something that is replaced by one: a template, a variable, a
/// path of a program that a build tool turns into an image, or `auto`, which Istio replaces.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "auto" && !text.contains(['$', '{', ' ']) && !text.contains("://")
}

/// Returns `latest`, or nothing for no tag at all; none when the image stays what it is.
fn moving_tag(image: &str) -> Option<&str> {
    if image.contains('@') {
        return None;
    }
    // What comes before the last `/` may be a host with a port.
    let name = image.rsplit('/').next().unwrap_or(image);
    let tag = name.split_once(':').map_or("", |(_, tag)| tag);
    matches!(tag, "" | "latest").then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_that_move_by_themselves_are_told() {
        for (image, expected) in [
            ("nginx", Some("")),
            ("localhost:5000/nginx", Some("")),
            ("nginx:latest", Some("latest")),
            ("ghcr.io/a/b:latest", Some("latest")),
            ("nginx:1.27", None),
            ("localhost:5000/nginx:1", None),
            ("nginx@sha256:00", None),
            ("nginx:latest@sha256:00", None),
        ] {
            assert_eq!(moving_tag(image), expected, "{image}");
        }
        for text in ["", "auto", "$(IMAGE)", "{{ .Image }}", "a b", "ko://a/b"] {
            assert!(!is_name(text), "{text}");
        }
    }
}
