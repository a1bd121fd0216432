//! The versions of custom resource definitions, read the same way from both versions of their own API.

use crate::objects::{Object, ObjectId};
use crate::yaml::{Node, Value};

use super::Place;

/// What a definition says of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdVersion {
    /// The version, such as `v1beta1`.
    pub name: String,
    /// Whether the API server answers for it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
}

/// A definition whose versions differ between two sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdVersions {
    /// The definition.
    pub name: String,
    /// Where it is on the old side and on the new one.
    pub places: [Option<Place>; 2],
    /// Its versions on the old side; none when it was added.
    pub old: Vec<CrdVersion>,
    /// Its versions on the new side; none when it was removed.
    pub new: Vec<CrdVersion>,
}

/// Tells whether an object is a custom resource definition.
pub(super) fn is_crd(id: &ObjectId) -> bool {
    id.group == "apiextensions.k8s.io" && id.kind == "CustomResourceDefinition"
}

/// A version of a definition and what holds for it.
pub(super) struct Version<'n> {
    pub(super) says: CrdVersion,
    /// The schema, where there is one.
    pub(super) schema: Option<&'n Node>,
    /// The sub-resources, where there are some.
    pub(super) subresources: Option<&'n Node>,
    pub(super) line: u32,
}

/// Returns the versions of a definition.
pub(super) fn versions(object: &Object) -> Vec<Version<'_>> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    // `v1beta1` may say once what holds for all versions, and name the only version by itself.
    let common = spec.at(&["validation", "openAPIV3Schema"]);
    let common_subresources = spec.get("subresources");
    let listed = spec
        .get("versions")
        .and_then(Node::as_sequence)
        .unwrap_or_default();
    let mut versions: Vec<Version<'_>> = listed
        .iter()
        .filter_map(|node| {
            Some(Version {
                says: CrdVersion {
                    name: node.get("name")?.as_str()?.to_owned(),
                    served: is_true(node.get("served")),
                    storage: is_true(node.get("storage")),
                },
                schema: node.at(&["schema", "openAPIV3Schema"]).or(common),
                subresources: node.get("subresources").or(common_subresources),
                line: node.line,
            })
        })
        .collect();
    if let (true, Some(node)) = (versions.is_empty(), spec.get("version")) {
        versions.extend(node.as_str().map(|name| Version {
            says: CrdVersion {
                name: name.to_owned(),
                served: true,
                storage: true,
            },
            schema: common,
            subresources: common_subresources,
            line: node.line,
        }));
    }
    versions
}

/// Returns what is to be said of the versions of two states of a definition, if they differ.
pub(super) fn compare(
    old: Option<&Object>,
    new: Option<&Object>,
    places: &[Option<Place>; 2],
) -> Option<CrdVersions> {
    let list = |object: Option<&Object>| -> Vec<CrdVersion> {
        let all = object.map(versions).unwrap_or_default();
        all.into_iter().map(|one| one.says).collect()
    };
    let name = old.or(new)?.id.name.clone();
    let (old, new) = (list(old), list(new));
    // Their order is the author's affair.
    let sorted = |versions: &[CrdVersion]| {
        let mut sorted = versions.to_vec();
        sorted.sort_by(|a, b| a.name.cmp(&b.name));
        sorted
    };
    (sorted(&old) != sorted(&new)).then_some(CrdVersions {
        name,
        places: places.clone(),
        old,
        new,
    })
}

pub(super) fn is_true(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.value == Value::Bool(true))
}
