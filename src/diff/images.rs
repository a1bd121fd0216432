//! The images that pods run.

use std::collections::BTreeSet;

use crate::objects::{Object, pod_spec};
use crate::yaml::Node;

/// Collects the images of an object of a built-in kind.
pub(super) fn of(object: &Object, images: &mut BTreeSet<String>) {
    let Some((_, spec)) = pod_spec(object) else {
        return;
    };
    let mut add = |node: Option<&Node>| {
        let text = node.and_then(Node::as_str).filter(|text| !text.is_empty());
        images.extend(text.map(str::to_owned));
    };
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec
            .get(list)
            .and_then(Node::as_sequence)
            .unwrap_or_default()
        {
            add(container.get("image"));
        }
    }
    for volume in spec
        .get("volumes")
        .and_then(Node::as_sequence)
        .unwrap_or_default()
    {
        add(volume.at(&["image", "reference"]));
    }
}
