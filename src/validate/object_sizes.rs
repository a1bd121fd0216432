//! Objects that an API server, etcd behind it, or `kubectl apply` finds too large.

use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::objects::Object;
use crate::path::BundlePath;
use crate::yaml::{Node, Value};

use super::context::Context;

/// Bytes of all values of a ConfigMap or a Secret, which the API server counts.
const DATA_MAX: u64 = 1 << 20;
/// Bytes of all annotations of an object, keys and values.
const ANNOTATIONS_MAX: u64 = 256 << 10;
/// Bytes of a request that an API server reads; no flag changes it.
const REQUEST_MAX: u64 = 3 << 20;
/// Bytes of a request that etcd takes by default (`--max-request-bytes`).
const ETCD_MAX: u64 = 3 << 19;
/// What the annotation by which `kubectl apply` remembers an object takes beside it.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Reports ConfigMaps and Secrets that hold more than the API server allows.
pub(super) fn data(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let kind = object.id.kind.as_str();
    if !object.id.group.is_empty() || !["ConfigMap", "Secret"].contains(&kind) {
        return;
    }
    let plain = |field| members(object.node.get(field)).map(|(_, text)| text.len() as u64);
    let decoded = |field| members(object.node.get(field)).map(|(_, text)| base64_len(text));
    let found: u64 = if kind == "Secret" {
        decoded("data").chain(plain("stringData")).sum()
    } else {
        plain("data").chain(decoded("binaryData")).sum()
    };
    if found > DATA_MAX {
        let message = format!(
            "`{}` holds {found} bytes, and an API server takes {DATA_MAX} in a {kind}",
            shown(&object.id.to_string())
        );
        findings.push(
            Finding::error("size-data", message)
                .at(path, object.line)
                .hint("split it, or carry the files in an image"),
        );
    }
}

/// Reports objects whose annotations are more than the API server allows.
pub(super) fn annotations(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let found = annotations_len(object);
    if found > ANNOTATIONS_MAX {
        let message = format!(
            "the annotations of `{}` have {found} bytes, and an API server takes {ANNOTATIONS_MAX}",
            shown(&object.id.to_string())
        );
        findings.push(Finding::error("size-annotations", message).at(path, object.line));
    }
}

/// Reports objects that are too large for an API server, or for etcd as it comes.
pub(super) fn request(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let found = json_len(&object.node);
    let (severity, limit, who) = if found > REQUEST_MAX {
        (Severity::Error, REQUEST_MAX, "an API server takes")
    } else if found > ETCD_MAX {
        (Severity::Warning, ETCD_MAX, "etcd takes by default")
    } else {
        return;
    };
    let message = format!(
        "`{}` has {found} bytes as JSON, and {who} {limit}",
        shown(&object.id.to_string())
    );
    findings.push(Finding::new(severity, "size-object", message).at(path, object.line));
}

/// Reports objects that `kubectl apply` cannot remember in an annotation of the object itself.
pub(super) fn last_applied(
    _: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let found = json_len(&object.node)
        .saturating_add(LAST_APPLIED.len() as u64)
        .saturating_add(annotations_len(object));
    if found > ANNOTATIONS_MAX {
        let message = format!(
            "`{}` is too large for `kubectl apply`, which writes it into an annotation as well: {found} bytes of {ANNOTATIONS_MAX}",
            shown(&object.id.to_string())
        );
        findings.push(
            Finding::warning("size-kubectl-apply", message)
                .at(path, object.line)
                .hint("apply it with `kubectl apply --server-side`"),
        );
    }
}

fn annotations_len(object: &Object) -> u64 {
    members(object.node.at(&["metadata", "annotations"]))
        .map(|(key, text)| (key.len() as u64).saturating_add(text.len() as u64))
        .sum()
}

/// Returns the keys and texts of a mapping of strings.
fn members(node: Option<&Node>) -> impl Iterator<Item = (&str, &str)> {
    let members = node.and_then(Node::as_mapping);
    members
        .unwrap_or_default()
        .iter()
        .filter_map(|(key, value)| Some((&*key.text, value.as_str()?)))
}

/// Returns how many bytes a text in base64 stands for, which may hold line breaks.
fn base64_len(text: &str) -> u64 {
    let digits = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'=');
    (digits.count() as u64).saturating_mul(3) / 4
}

/// Returns how long a node is as JSON without blanks, as Go writes it.
fn json_len(node: &Node) -> u64 {
    /// All lengths are of what is in memory: their sum does not overflow.
    fn add(a: u64, b: u64) -> u64 {
        a.saturating_add(b)
    }
    match &node.value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Int(n) => n.to_string().len() as u64,
        Value::UInt(n) => n.to_string().len() as u64,
        Value::Float(n) => n.to_string().len() as u64,
        Value::String(text) => string_len(text),
        // One byte for each comma or bracket: n items have n - 1 commas and 2 brackets.
        Value::Sequence(items) => items
            .iter()
            .map(|item| add(json_len(item), 1))
            .fold(1, add)
            .max(2),
        Value::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| add(add(string_len(&key.text), json_len(value)), 2))
            .fold(1, add)
            .max(2),
    }
}

/// How many bytes more than itself each byte of a string takes in JSON as Go writes it: `<`, `>`, `&` and most control
/// characters become `\u003c`.
static ESCAPES: [u8; 256] = escapes();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated when this is compiled, with indices of one byte"
)]
const fn escapes() -> [u8; 256] {
    let mut more = [0; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        more[byte as usize] = match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
            b'<' | b'>' | b'&' | 0..32 => 5,
            _ => 0,
        };
        byte += 1;
    }
    more
}

/// Returns how long a string is as JSON with its quotes.
fn string_len(text: &str) -> u64 {
    let more = |byte: u8| ESCAPES.get(usize::from(byte)).copied().unwrap_or(0);
    let more: u64 = text.bytes().map(|byte| u64::from(more(byte))).sum();
    // Two line separators become six bytes each, where they were three.
    let separators = if text.is_ascii() {
        0
    } else {
        text.matches(['\u{2028}', '\u{2029}']).count()
    };
    (text.len() as u64)
        .saturating_add(more)
        .saturating_add(separators.saturating_mul(3) as u64)
        .saturating_add(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::yaml::documents;

    #[test]
    fn lengths_are_those_of_gos_json() {
        for (yaml, json) in [
            ("{}", "{}"),
            ("[]", "[]"),
            ("[1, yes, no, ~, -2]", "[1,true,false,null,-2]"),
            ("{a: b, c: [d, {e: f}]}", r#"{"a":"b","c":["d",{"e":"f"}]}"#),
            (
                "a: \"<\\n\\t\\\\\\\"&\\x01ä\\u2028\"",
                "{\"a\":\"\\u003c\\n\\t\\\\\\\"\\u0026\\u0001ä\\u2028\"}",
            ),
            ("18446744073709551615", "18446744073709551615"),
            ("1.5", "1.5"),
        ] {
            let limits = Limits::default();
            let document = documents(yaml.as_bytes(), &limits).next().unwrap();
            assert_eq!(
                json_len(&document.unwrap().root),
                json.len() as u64,
                "{yaml}"
            );
        }
        for (text, length) in [("", 0), ("YQ==", 1), ("YWI=", 2), ("YW\nJj", 3)] {
            assert_eq!(base64_len(text), length);
        }
    }
}
