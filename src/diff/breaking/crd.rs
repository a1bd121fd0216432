//! What changes of a custom resource definition break its users.

use std::collections::HashMap;

use crate::crd::{Version, keeps_unknown_fields, versions};
use crate::escape::shown;
use crate::objects::Object;
use crate::yaml::Node;

use super::super::path::{FieldPath, Step};
use super::found::{Found, Part};
use super::{Breaking, schema};

/// Compares two states of a definition.
pub(super) fn compare(old: &Object, new: &Object, found: &mut Found<'_>) {
    let text = |object: &Object, path: &[&str]| {
        object
            .node
            .at(path)
            .and_then(Node::as_str)
            .map(str::to_owned)
    };
    for (rule, path) in [
        ("crd-scope", &["spec", "scope"][..]),
        ("crd-names", &["spec", "names", "kind"]),
        ("crd-names", &["spec", "names", "plural"]),
    ] {
        let (a, b) = (text(old, path), text(new, path));
        if a != b {
            let shown = |text: Option<String>| {
                text.map_or_else(
                    || "nothing".to_owned(),
                    |text| format!("`{}`", shown(&text)),
                )
            };
            let message = format!("was {} and is {}", shown(a), shown(b));
            let line = new.node.at(path).map_or(new.line, |node| node.line);
            let path = path
                .iter()
                .map(|key| Step::Key((*key).to_owned()))
                .collect();
            found.push(Breaking {
                rule,
                path: FieldPath(path),
                message,
                certain: true,
                line,
            });
        }
    }
    let (old_versions, new_versions) = (versions(old), versions(new));
    // The first of two of one name counts.
    let all = new_versions.iter().rev();
    let by_name: HashMap<&str, &Version<'_>> = all.map(|one| (one.name, one)).collect();
    let keeps = [keeps_unknown_fields(old), keeps_unknown_fields(new)];
    let mut known: HashMap<[*const Node; 2], Part> = HashMap::new();
    for before in old_versions.iter().filter(|one| one.served) {
        let name = before.name;
        let Some(after) = by_name.get(name) else {
            let message = format!("version `{}` is removed", shown(name));
            found.push(at(name, "crd-version-removed", message, 0));
            continue;
        };
        if after.served {
            subresources(before, after, found);
            schema::compare_versions(before, after, keeps, found);
            if let (Some(a), Some(b)) = (before.schema, after.schema) {
                // Versions may share their schema.
                let pair = [std::ptr::from_ref(a), std::ptr::from_ref(b)];
                if let Some(part) = known.get(&pair) {
                    found.repeat(part, &item(name));
                } else {
                    let search = |found: &mut Found<'_>| {
                        schema::compare(name, [a, b], keeps[1], found);
                    };
                    known.insert(pair, found.part(search));
                }
            }
        } else {
            let message = format!("version `{}` is no longer served", shown(name));
            found.push(at(name, "crd-version-not-served", message, after.line));
        }
    }
    if let (Some((before, _)), Some((after, line))) = (stored(&old_versions), stored(&new_versions))
        && before != after
    {
        let message = format!(
            "objects were stored as `{}` and are stored as `{}`",
            shown(before),
            shown(after)
        );
        found.push(at(after, "crd-storage-version", message, line));
    }
}

/// Returns the version in which objects are stored, and its line.
fn stored<'n>(versions: &[Version<'n>]) -> Option<(&'n str, u32)> {
    let version = versions.iter().find(|one| one.storage)?;
    Some((version.name, version.line))
}

fn subresources(old: &Version<'_>, new: &Version<'_>, found: &mut Found<'_>) {
    for name in ["status", "scale"] {
        if old.has_subresource(name) && !new.has_subresource(name) {
            let message = format!("sub-resource `{name}` is removed");
            found.push(at(new.name, "crd-subresource-removed", message, new.line));
        }
    }
}

/// Makes a finding about a version.
fn at(version: &str, rule: &'static str, message: String, line: u32) -> Breaking {
    Breaking {
        rule,
        path: FieldPath(path(version)),
        message,
        certain: true,
        line,
    }
}

/// Returns the path of a version.
pub(super) fn path(version: &str) -> Vec<Step> {
    vec![
        Step::Key("spec".to_owned()),
        Step::Key("versions".to_owned()),
        item(version),
    ]
}

/// Returns the step to a version.
fn item(version: &str) -> Step {
    Step::Item(vec![("name".to_owned(), version.to_owned())]).shortened()
}
