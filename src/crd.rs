//! Custom resource definitions, read the same way from both versions of their own API.

use crate::objects::{Object, ObjectId};
use crate::yaml::Node;

/// What a definition says of one version.
#[derive(Debug, Clone, Copy)]
pub struct Version<'n> {
    /// The version, such as `v1beta1`.
    pub name: &'n str,
    /// Whether the API server answers for it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// The schema, where there is one.
    pub schema: Option<&'n Node>,
    /// The sub-resources, where there are some.
    pub subresources: Option<&'n Node>,
    /// The line on which it begins.
    pub line: u32,
}

impl Version<'_> {
    /// Tells whether a sub-resource, `status` or `scale`, is there.
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.is_some_and(|all| all.get(name).is_some())
    }
}

/// Tells whether an object is a custom resource definition.
pub fn is_crd(id: &ObjectId) -> bool {
    id.group == "apiextensions.k8s.io" && id.kind == "CustomResourceDefinition"
}

/// Returns the group and the kind that a definition defines; none when the object is no definition, or says neither.
pub fn defines(object: &Object) -> Option<(&str, &str)> {
    let spec = object.node.get("spec").filter(|_| is_crd(&object.id))?;
    let group = spec.get("group")?.as_str()?;
    Some((group, spec.at(&["names", "kind"])?.as_str()?))
}

/// Tells whether the resources of a definition have no namespaces.
pub fn is_cluster_wide(object: &Object) -> bool {
    let scope = object.node.at(&["spec", "scope"]);
    is_crd(&object.id) && scope.and_then(Node::as_str) == Some("Cluster")
}

/// Returns the versions of a definition, in its order.
pub fn versions(object: &Object) -> Vec<Version<'_>> {
    let Some(spec) = object.node.get("spec") else {
        return Vec::new();
    };
    // `v1beta1` may say once what holds for all versions, and name the only version by itself.
    let common = spec.at(&["validation", "openAPIV3Schema"]);
    let common_subresources = spec.get("subresources");
    let listed = spec.get("versions").and_then(Node::as_sequence);
    let versions: Vec<_> = listed
        .unwrap_or_default()
        .iter()
        .filter_map(|node| {
            Some(Version {
                name: node.get("name")?.as_str()?,
                served: node.has_true("served"),
                storage: node.has_true("storage"),
                schema: node.at(&["schema", "openAPIV3Schema"]).or(common),
                subresources: node.get("subresources").or(common_subresources),
                line: node.line,
            })
        })
        .collect();
    if !versions.is_empty() {
        return versions;
    }
    let only = spec.get("version").and_then(|node| {
        Some(Version {
            name: node.as_str()?,
            served: true,
            storage: true,
            schema: common,
            subresources: common_subresources,
            line: node.line,
        })
    });
    only.into_iter().collect()
}

/// Tells whether fields that no schema of a definition names are kept.
///
/// The first version of the API keeps them unless it is told otherwise.
pub fn keeps_unknown_fields(object: &Object) -> bool {
    const KEY: &str = "preserveUnknownFields";
    let spec = object.node.get("spec");
    match spec.filter(|spec| spec.get(KEY).is_some()) {
        Some(spec) => spec.has_true(KEY),
        None => object.version == "v1beta1",
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::objects::{Entry, entries};

    /// Reads a definition from what follows its kind and name.
    pub(crate) fn definition(text: &str) -> Object {
        let limits = Limits::default();
        let text = format!(
            "kind: CustomResourceDefinition\nmetadata: {{name: things.example.org}}\n{text}"
        );
        let entry = entries("a.yaml", text.as_bytes(), &limits).next();
        match entry {
            Some(Entry::Object(object)) => object,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_versions_of_definitions_are_read() {
        let now = definition("apiVersion: apiextensions.k8s.io/v1
spec:
  group: example.org
  names: {kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: false, storage: false}
");
        assert_eq!(defines(&now), Some(("example.org", "Thing")));
        assert!(!keeps_unknown_fields(&now));
        let read: Vec<_> = versions(&now)
            .iter()
            .map(|v| {
                (
                    v.name,
                    v.served,
                    v.storage,
                    v.schema.is_some(),
                    v.has_subresource("status"),
                )
            })
            .collect();
        assert_eq!(
            read,
            [
                ("v1", true, true, true, true),
                ("v1beta1", false, false, false, false)
            ]
        );
        let old = definition(
            "apiVersion: apiextensions.k8s.io/v1beta1
spec:
  group: example.org
  names: {kind: Thing}
  version: v1
  subresources: {status: {}}
  validation: {openAPIV3Schema: {type: object}}
",
        );
        assert!(keeps_unknown_fields(&old));
        let read = versions(&old);
        let [version] = &read[..] else {
            panic!("{read:?}");
        };
        assert_eq!(
            (version.name, version.served, version.storage),
            ("v1", true, true)
        );
        assert!(version.schema.is_some() && version.has_subresource("status"));
        let other = definition("apiVersion: apiextensions.k8s.io/v1\nspec: {group: example.org}\n");
        assert_eq!(defines(&other), None);
    }
}
