//! What changes of a custom resource definition break its users.

use crate::crd::{Version, keeps_unknown_fields, versions};
use crate::escape::shown;
use crate::objects::Object;
use crate::yaml::Node;

use super::super::path::{FieldPath, Step};
use super::{Breaking, schema};

/// Compares two states of a definition.
pub(super) fn compare(old: &Object, new: &Object, found: &mut Vec<Breaking>) {
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
    for before in old_versions.iter().filter(|one| one.served) {
        let name = before.name;
        let Some(after) = new_versions.iter().find(|one| one.name == name) else {
            let message = format!("version `{}` is removed", shown(name));
            found.push(at(name, "crd-version-removed", message, 0));
            continue;
        };
        if after.served {
            subresources(before, after, found);
            schema::compare(
                before,
                after,
                [keeps_unknown_fields(old), keeps_unknown_fields(new)],
                found,
            );
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

fn subresources(old: &Version<'_>, new: &Version<'_>, found: &mut Vec<Breaking>) {
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
        Step::Item(vec![("name".to_owned(), version.to_owned())]),
    ]
}
