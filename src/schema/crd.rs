//! Custom resource definitions, read the same way from both versions of their own API.

use crate::objects::Object;
use crate::yaml::{Node, Value};

/// What a definition says.
#[derive(Debug)]
pub struct Crd<'n> {
    /// The group of its resources.
    pub group: &'n str,
    /// Their kind.
    pub kind: &'n str,
    /// Their versions.
    pub versions: Vec<CrdVersion<'n>>,
}

/// What a definition says of one version.
#[derive(Debug)]
pub struct CrdVersion<'n> {
    /// The version, such as `v1beta1`.
    pub name: &'n str,
    /// Whether the API server answers for it.
    pub served: bool,
    /// The schema, where there is one.
    pub schema: Option<&'n Node>,
    /// Whether the status is a resource of its own, so that it does not count when an object is created.
    pub has_status: bool,
    /// Whether fields that the schema does not have are dropped, and defaults filled in.
    pub prunes: bool,
}

impl<'n> Crd<'n> {
    /// Reads a definition; none when it is none, or says nothing of its group, kind or versions.
    pub fn read(object: &'n Object) -> Option<Self> {
        let is_crd = object.id.group == "apiextensions.k8s.io"
            && object.id.kind == "CustomResourceDefinition";
        let spec = object.node.get("spec").filter(|_| is_crd)?;
        // The first version of the API keeps unknown fields unless it is told otherwise; the second one cannot.
        let keeps = spec.get("preserveUnknownFields").map(|node| &node.value);
        let prunes = match keeps {
            Some(Value::Bool(keeps)) => !keeps,
            _ => object.version != "v1beta1",
        };
        let common = spec.at(&["validation", "openAPIV3Schema"]);
        let has_common_status = spec.at(&["subresources", "status"]).is_some();
        let version = |name, node: &'n Node| CrdVersion {
            name,
            served: !matches!(
                node.get("served").map(|node| &node.value),
                Some(Value::Bool(false))
            ),
            schema: node.at(&["schema", "openAPIV3Schema"]).or(common),
            has_status: has_common_status || node.at(&["subresources", "status"]).is_some(),
            prunes,
        };
        let listed = spec.get("versions").and_then(Node::as_sequence);
        let mut versions: Vec<_> = listed
            .unwrap_or_default()
            .iter()
            .filter_map(|node| Some(version(node.get("name")?.as_str()?, node)))
            .collect();
        if versions.is_empty() {
            versions.push(version(spec.get("version")?.as_str()?, spec));
        }
        Some(Self {
            group: spec.get("group")?.as_str()?,
            kind: spec.at(&["names", "kind"])?.as_str()?,
            versions,
        })
    }
}
