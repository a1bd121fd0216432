//! Kustomizations: the images that they put in the place of others.

use super::collect::{Collector, Replacement};
use super::walk::Walk;
use super::{Grade, Place};
use crate::bundle::MANIFESTS;
use crate::limits::Limits;
use crate::path::BundlePath;
use crate::yaml::Node;

/// Looks at a kustomization: its `images`, and everything else as what may name one.
pub(super) fn look(node: &Node, file: &BundlePath, limits: &Limits, collector: &mut Collector) {
    let images = node.get("images").and_then(Node::as_sequence);
    // Which of several is built is not known, but the one at the top is.
    let is_top = file.strip_prefix(MANIFESTS) == Some(file.file_name());
    let is_component = node.get("kind").and_then(Node::as_str) == Some("Component");
    let grade = if is_top && !is_component {
        Grade::Certain
    } else {
        Grade::Likely
    };
    for (index, item) in images.unwrap_or_default().iter().enumerate() {
        let text = |key| {
            let value: &Node = item.get(key)?;
            let text = value.as_str().or_else(|| value.plain_text())?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        let Some(name) = text("name") else { continue };
        let digest = text("digest").map(|digest| format!("@{digest}"));
        let place = Place {
            file: file.clone(),
            line: item.line,
            object: None,
            path: format!("images[{index}]"),
            written: String::new(),
            grade,
        };
        collector.replacement(Replacement {
            name,
            new_name: text("newName"),
            suffix: digest.or_else(|| text("newTag").map(|tag| format!(":{tag}"))),
            place,
        });
    }
    Walk::new(file, None, Grade::Likely, limits, collector).members_but(node, "images");
}
