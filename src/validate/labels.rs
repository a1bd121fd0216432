//! Labels and the keys of annotations, as every API server wants them for objects of all kinds.

use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::Node;

use super::context::Context;
use super::identity::is_subdomain;

/// How long a label's value, or the name in its key, may be.
const PART_MAX: usize = 63;
const WANTED: &str =
    "at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends";

/// Reports labels and keys of annotations that an API server refuses, of the object and of the pods that it makes.
pub(super) fn labels(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    // kustomize can replace a label.
    if context.is_kustomize() {
        return;
    }
    of_metadata("metadata", object.node.get("metadata"), path, findings);
    if let Some(([template @ .., _], _)) = pod_spec(object)
        && !template.is_empty()
    {
        let metadata = object
            .node
            .at(template)
            .and_then(|node| node.get("metadata"));
        let at = format!("{}.metadata", template.join("."));
        of_metadata(&at, metadata, path, findings);
    }
}

fn of_metadata(at: &str, metadata: Option<&Node>, path: &BundlePath, findings: &mut Vec<Finding>) {
    let members = |field| {
        let members = metadata.and_then(|metadata| metadata.get(field)?.as_mapping());
        members.unwrap_or_default()
    };
    let mut report = |line: u32, message: String| {
        findings.push(Finding::error("object-label", message).at(path, line));
    };
    for (key, value) in members("labels") {
        if let Some(wanted) = wrong_key(&key.text) {
            let key_shown = shown(&key.text);
            let message =
                format!("`{at}.labels` has the key `{key_shown}`, and a key has {wanted}");
            report(key.line, message);
        }
        let Some(text) = value.as_str() else { continue };
        if !text.is_empty() && !is_filled(text) && !is_part(text) {
            let message = format!(
                "`{at}.labels`, `{}` is `{}`, and a label's value has {WANTED}",
                shown(&key.text),
                shown(text)
            );
            report(value.line, message);
        }
    }
    for (key, _) in members("annotations") {
        if let Some(wanted) = wrong_key(&key.text.to_ascii_lowercase()) {
            let key_shown = shown(&key.text);
            let message =
                format!("`{at}.annotations` has the key `{key_shown}`, and a key has {wanted}");
            report(key.line, message);
        }
    }
}

/// Tells whether something fills a text before an API server sees it: a template, or whatever replaces variables.
pub(super) fn is_filled(text: &str) -> bool {
    ["{{", "${", "$("].iter().any(|open| text.contains(open))
}

/// Returns what a key must be, where it is not.
fn wrong_key(key: &str) -> Option<&'static str> {
    if is_filled(key) {
        return None;
    }
    let name = match key.split_once('/') {
        Some((prefix, _)) if !is_subdomain(prefix) => {
            return Some("a lower-case DNS name before its one `/`");
        }
        Some((_, name)) => name,
        None => key,
    };
    (!is_part(name)).then_some(WANTED)
}

fn is_part(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_alphanumeric();
    text.len() <= PART_MAX
        && text.starts_with(is_end)
        && text.ends_with(is_end)
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_name_and_perhaps_a_dns_name_before_it() {
        let long = "a".repeat(PART_MAX + 1);
        for good in ["app", "A_b.c-1", "example.com/App", "${key}", "{{ .Key }}"] {
            assert_eq!(wrong_key(good), None, "{good}");
        }
        for bad in [
            "", "-a", "a-", "a b", "ä", "/a", "a/", "Ex.com/a", "a/b/c", &long,
        ] {
            assert!(wrong_key(bad).is_some(), "{bad}");
        }
    }
}
