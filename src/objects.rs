//! The Kubernetes objects in the files of a bundle: which there are, where they stand, and what else is in the files.
//!
//! A file is read once, document by document; the items of a list count as objects. What is no object is named for what
//! it is, so that a check can say more than "kind is missing". Nothing here judges: that is `validate`'s part.

mod other;
mod pods;
mod template;

use std::collections::VecDeque;
use std::fmt;

use crate::limits::Limits;
use crate::path::BundlePath;
use crate::scope::is_cluster_wide;
use crate::yaml::{self, Documents, Fault, Node, Value};

pub use other::{Lack, Other, What, is_chart, is_kustomization, is_manifest_name};
pub use pods::pod_spec;
pub use template::read_template;

/// What makes an object the same object: two of them with one id cannot both be applied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The API group, empty for the core group. The version is no part of the identity.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace that the object names; none for built-in kinds without namespaces, even where one is written.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl fmt::Display for ObjectId {
    /// Writes `Kind.group namespace/name`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " {namespace}/{}", self.name),
            None => write!(f, " {}", self.name),
        }
    }
}

/// An object: it has an apiVersion, a kind and a name, and all three are strings that are not empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// What it is.
    pub id: ObjectId,
    /// The version of its API, such as `v1`.
    pub version: String,
    /// Whether the name is only the beginning of one (`generateName`); such an object is new each time it is created.
    pub has_generated_name: bool,
    /// Whether template actions stand in it: see [`read_template`].
    pub is_template: bool,
    /// The line on which it begins, from 1.
    pub line: u32,
    /// All of it.
    pub node: Node,
}

impl Object {
    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.id.group, &self.version)
    }

    /// Returns the value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&Node> {
        self.node.at(&["metadata", "annotations", key])
    }

    /// Returns what a listing says about it.
    pub fn summary(&self, file: &BundlePath) -> Summary {
        Summary {
            id: self.id.clone(),
            version: self.version.clone(),
            has_generated_name: self.has_generated_name,
            is_template: self.is_template,
            file: file.clone(),
            line: self.line,
        }
    }
}

/// An object without its content: what it is and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// What it is.
    pub id: ObjectId,
    /// The version of its API, such as `v1`.
    pub version: String,
    /// Whether the name is only the beginning of one.
    pub has_generated_name: bool,
    /// Whether template actions stand in it.
    pub is_template: bool,
    /// The file, as a path in the bundle.
    pub file: BundlePath,
    /// The line on which it begins, from 1.
    pub line: u32,
}

impl Summary {
    /// Returns `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        api_version(&self.id.group, &self.version)
    }
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Something that stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// An object.
    Object(Object),
    /// A document, or an item of a list, that is no object.
    Other(Other),
    /// A document that cannot be read.
    Fault(Fault),
}

/// Reads what stands in a YAML or JSON file, in order; documents that are null or hold only comments are passed over.
///
/// `file_name` is the last component of the path: some files are known by their names. Bounded as [`yaml::documents`] is;
/// one document is held at a time.
pub fn entries<'t, 'l>(file_name: &'t str, text: &'t [u8], limits: &'l Limits) -> Entries<'t, 'l> {
    Entries {
        file_name,
        documents: yaml::documents(text, limits),
        items: VecDeque::new(),
    }
}

/// Returns what stands in one document: an object, the items of a list, or what else it is.
pub fn in_document(root: Node, file_name: &str) -> VecDeque<Entry> {
    let mut items = VecDeque::new();
    if !root.is_null() {
        collect(root, None, file_name, &mut items);
    }
    items
}

/// What stands in a file, read one by one: see [`entries`].
#[derive(Debug)]
pub struct Entries<'t, 'l> {
    file_name: &'t str,
    documents: Documents<'t, 'l>,
    /// Items of the lists in the last document.
    items: VecDeque<Entry>,
}

impl Iterator for Entries<'_, '_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(item) = self.items.pop_front() {
                return Some(item);
            }
            match self.documents.next()? {
                Err(fault) => return Some(Entry::Fault(fault)),
                Ok(document) => self.items = in_document(document.root, self.file_name),
            }
        }
    }
}

/// Puts an object, or the items of a list, into `entries`; `list` gives the type that items may leave unsaid.
///
/// Lists in lists are looked into as well; the depth of a document bounds it.
fn collect(node: Node, list: Option<(&str, &str)>, file_name: &str, entries: &mut VecDeque<Entry>) {
    if !is_list(&node) {
        entries.push_back(classify(node, list, file_name));
        return;
    }
    // `List` holds anything; the items of a `RoleList` are roles even where they do not say so.
    let text = |key| node.get(key).and_then(Node::as_str).map(str::to_owned);
    let inherited = text("kind")
        .as_deref()
        .and_then(|kind| kind.strip_suffix("List"))
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
        .zip(text("apiVersion"));
    let Value::Mapping(members) = node.value else {
        return;
    };
    let items = members.into_iter().find(|(key, _)| &*key.text == "items");
    if let Some((
        _,
        Node {
            value: Value::Sequence(items),
            ..
        },
    )) = items
    {
        let inherited = inherited.as_ref().map(|(k, v)| (k.as_str(), v.as_str()));
        for item in items {
            collect(item, inherited, file_name, entries);
        }
    }
}

/// Tells whether a node is a list of objects: `List`, `RoleList`, with `items`, which may be empty.
fn is_list(node: &Node) -> bool {
    let is_named = node
        .get("kind")
        .and_then(Node::as_str)
        .is_some_and(|kind| kind.ends_with("List"));
    is_named
        && node.get("apiVersion").is_some()
        && node
            .get("items")
            .is_some_and(|items| items.is_null() || items.as_sequence().is_some())
}

fn classify(node: Node, list: Option<(&str, &str)>, file_name: &str) -> Entry {
    let line = node.line;
    if let Some(what) = other::known(&node, file_name) {
        return Entry::Other(Other { what, line, node });
    }
    match identify(&node, list) {
        Ok((id, version, has_generated_name)) => Entry::Object(Object {
            id,
            version,
            has_generated_name,
            is_template: false,
            line,
            node,
        }),
        Err(lacks) => Entry::Other(Other {
            what: other::by_what_it_lacks(&node, lacks, file_name),
            line,
            node,
        }),
    }
}

/// Reads who an object is, or all that it lacks.
fn identify(
    node: &Node,
    list: Option<(&str, &str)>,
) -> Result<(ObjectId, String, bool), Vec<Lack>> {
    let mut lacks = Vec::new();
    let is_untyped = node.get("kind").is_none() && node.get("apiVersion").is_none();
    let (inherited_kind, inherited_version) = list.filter(|_| is_untyped).unzip();
    let api_version = required(node, &["apiVersion"], inherited_version, &mut lacks);
    let kind = required(node, &["kind"], inherited_kind, &mut lacks);
    let generated = node
        .at(&["metadata", "generateName"])
        .and_then(Node::as_str)
        .filter(|_| node.at(&["metadata", "name"]).is_none());
    let name = match generated {
        Some(beginning) => Some(beginning.to_owned()),
        None => required(node, &["metadata", "name"], None, &mut lacks),
    };
    let namespace = match node.at(&["metadata", "namespace"]) {
        None => None,
        Some(found) if found.is_null() || found.as_str() == Some("") => None,
        Some(_) => required(node, &["metadata", "namespace"], None, &mut lacks),
    };
    match (api_version, kind, name) {
        (Some(api_version), Some(kind), Some(name)) if lacks.is_empty() => {
            let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
            let namespace = namespace.filter(|_| !is_cluster_wide(group, &kind));
            let id = ObjectId {
                group: group.to_owned(),
                kind,
                namespace,
                name,
            };
            Ok((id, version.to_owned(), generated.is_some()))
        }
        _ => Err(lacks),
    }
}

/// Returns a string that must be there; notes what is missing or is something else.
fn required(
    node: &Node,
    path: &'static [&'static str],
    inherited: Option<&str>,
    lacks: &mut Vec<Lack>,
) -> Option<String> {
    if let Some(text) = inherited {
        return Some(text.to_owned());
    }
    let found = node.at(path).filter(|found| !found.is_null());
    match found.map(|found| (found, found.as_str())) {
        Some((_, Some(text))) if !text.is_empty() => return Some(text.to_owned()),
        Some((found, None)) => lacks.push(Lack::wrong(path, found)),
        _ => lacks.push(Lack::missing(path, node.line)),
    }
    None
}

#[cfg(test)]
mod tests;
