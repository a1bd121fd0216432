//! `metadata/annotations.yaml` as text: one mapping `annotations` of strings to strings.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{FILE, Metadata};
use crate::escape::{is_unsafe, shown};
use crate::finding::Finding;
use crate::limits::Limits;
use crate::oci::Annotations;
use crate::yaml::{self, Node, Value};

/// The first line of the file: Argo CD skips files that say so, and would otherwise take this one for a broken object.
pub const ARGO_CD_LINE: &str = "# +argocd:skip-file-rendering";

/// Reads the file's keys and values, without looking at their meaning; the line of each key comes with them.
///
/// # Errors
///
/// All findings at once, each with its line: codes `metadata-yaml`, `metadata-shape` and `metadata-string`.
pub fn parse(
    text: &[u8],
    limits: &Limits,
) -> Result<(Annotations, BTreeMap<String, u32>), Vec<Finding>> {
    let read = read(text, limits)?;
    if read.findings.is_empty() {
        Ok((read.annotations, read.lines))
    } else {
        Err(read.findings)
    }
}

/// The keys and values of a file in which some may be no strings.
pub(crate) struct Read {
    /// Keys and values, those that are no strings as they are written.
    pub(crate) annotations: Annotations,
    /// The line of each key.
    pub(crate) lines: BTreeMap<String, u32>,
    /// What is no string.
    pub(crate) findings: Vec<Finding>,
}

/// Reads the file as [`parse`] does, but takes numbers and the like for what they would be in quotes, so that what else is
/// wrong can be said as well.
///
/// # Errors
///
/// Findings, when the file or a value is nothing that quotes could mend.
pub(crate) fn read(text: &[u8], limits: &Limits) -> Result<Read, Vec<Finding>> {
    let document = yaml::metadata_document(text, limits).map_err(|fault| {
        vec![Finding::error("metadata-yaml", fault.message.clone()).at(FILE, fault.line)]
    })?;
    let shape = |node: &Node, message: String| {
        Finding::error("metadata-shape", message).at(FILE, node.line)
    };
    let root = &document.root;
    let mut findings = Vec::new();
    let Some(members) = root.as_mapping() else {
        return Err(vec![shape(
            root,
            format!(
                "the file is {}, not a mapping with the key `annotations`",
                root.value.kind_name()
            ),
        )]);
    };
    for (key, value) in members {
        if &*key.text != "annotations" {
            let message = format!(
                "the key `{}` is not known here; only `annotations` is",
                shown(&key.text)
            );
            findings.push(shape(value, message).at(FILE, key.line));
        }
    }
    let Some(node) = root.get("annotations") else {
        findings.push(shape(root, "the key `annotations` is missing".into()));
        return Err(findings);
    };
    let Some(entries) = node.as_mapping() else {
        findings.push(shape(
            node,
            format!("`annotations` is {}, not a mapping", node.value.kind_name()),
        ));
        return Err(findings);
    };
    let mut annotations = Annotations::new();
    let mut lines = BTreeMap::new();
    let mut are_words = findings.is_empty();
    for (key, value) in entries {
        let name = String::from(&*key.text);
        if let Some(written) = key.plain_text() {
            findings.push(
                Finding::error(
                    "metadata-string",
                    format!("the key `{}` is no string", shown(written)),
                )
                .at(FILE, key.line)
                .hint(format!("quote it: \"{}\"", shown(written))),
            );
        }
        match &value.value {
            Value::String(text) => {
                lines.insert(name.clone(), key.line);
                annotations.insert(name, text.clone());
            }
            other => {
                let finding = Finding::error(
                    "metadata-string",
                    format!(
                        "`{}` is {}, and every value must be a string",
                        shown(&name),
                        other.kind_name()
                    ),
                )
                .at(FILE, value.line);
                let text = value.plain_text().filter(|text| !text.is_empty());
                let Some(text) = text else {
                    are_words = false;
                    findings.push(finding);
                    continue;
                };
                let hint = format!("quote it: {}: \"{}\"", shown(&name), shown(text));
                findings.push(finding.hint(hint));
                lines.insert(name.clone(), key.line);
                annotations.insert(name, text.to_owned());
            }
        }
    }
    if are_words {
        Ok(Read {
            annotations,
            lines,
            findings,
        })
    } else {
        Err(findings)
    }
}

/// Writes the file: keys sorted, values as double-quoted strings, Argo CD's line first. Equal metadata has equal bytes.
pub fn write(annotations: &Annotations) -> Vec<u8> {
    let mut text = format!("{ARGO_CD_LINE}\nannotations:\n");
    for (key, value) in annotations {
        text.push_str("  ");
        if is_plain_key(key) {
            text.push_str(key);
        } else {
            quote(key, &mut text);
        }
        text.push_str(": ");
        quote(value, &mut text);
        text.push('\n');
    }
    text.into_bytes()
}

/// Writes a double-quoted YAML string; characters that end a line or hide for some reader are escaped.
fn quote(value: &str, text: &mut String) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            // Writing to a string cannot fail.
            c if is_unsafe(c) => match u32::from(c) {
                code @ 0..=0xffff => drop(write!(text, "\\u{code:04x}")),
                code => drop(write!(text, "\\U{code:08x}")),
            },
            c => text.push(c),
        }
    }
    text.push('"');
}

/// Tells whether a key can be written without quotes: no other type, no indicator, in any YAML reader.
fn is_plain_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.contains('.')
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/'))
}

impl Metadata {
    /// Reads `metadata/annotations.yaml`.
    ///
    /// # Errors
    ///
    /// All findings at once, with their lines.
    pub fn parse(text: &[u8], limits: &Limits) -> Result<Self, Vec<Finding>> {
        let (annotations, lines) = parse(text, limits)?;
        Self::of(annotations, &|key| lines.get(key).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::key;

    const GOOD: &str = r#"annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.manifests.v1: manifests/
  k8s.io.bundle.metadata.v1: metadata/
  k8s.io.bundle.package.v1: etcd
  k8s.io.bundle.version.v1: "3.5.0"
"#;

    #[test]
    fn the_file_is_read_and_what_is_written_reads_back() {
        let metadata = Metadata::parse(GOOD.as_bytes(), &Limits::default()).unwrap();
        assert_eq!(metadata.version.to_string(), "3.5.0");
        let mut annotations = metadata.annotations;
        annotations.insert("on".into(), "yes: \"\\\n\u{85}\u{e0001}\u{202e}ä".into());
        annotations.insert("1.5".into(), "1.10".into());
        let text = write(&annotations);
        assert!(text.starts_with(b"# +argocd:skip-file-rendering\nannotations:\n"));
        let (again, lines) = parse(&text, &Limits::default()).unwrap();
        assert_eq!(again, annotations);
        assert_eq!(lines["1.5"], 3);
    }

    #[test]
    fn values_that_are_no_strings_are_refused_with_the_line_and_what_to_write() {
        let text = GOOD.replace("\"3.5.0\"", "1.10");
        let findings = Metadata::parse(text.as_bytes(), &Limits::default()).unwrap_err();
        assert_eq!(findings.len(), 1);
        assert_eq!((findings[0].code, findings[0].line), ("metadata-string", 6));
        assert_eq!(
            findings[0].hint.as_deref(),
            Some("quote it: k8s.io.bundle.version.v1: \"1.10\"")
        );
        for value in ["no", "1e3", "~", "0644", "[a]", "{a: b}", "", "1_000"] {
            let text = GOOD.replace("\"3.5.0\"", value);
            let findings = Metadata::parse(text.as_bytes(), &Limits::default()).unwrap_err();
            assert_eq!(findings[0].code, "metadata-string", "{value}");
        }
        // A date and a time are strings to Kubernetes, so they are refused for not being versions.
        let findings = Metadata::parse(
            GOOD.replace("\"3.5.0\"", "2024-01-01").as_bytes(),
            &Limits::default(),
        )
        .unwrap_err();
        assert_eq!(findings[0].code, "metadata-version");
    }

    #[test]
    fn other_shapes_are_refused() {
        for (text, code) in [
            ("", "metadata-yaml"),
            ("null", "metadata-shape"),
            ("- a", "metadata-shape"),
            ("labels: {}", "metadata-shape"),
            ("annotations: []", "metadata-shape"),
            ("annotations: {}\n---\nannotations: {}", "metadata-yaml"),
            ("annotations: &a {x: y}", "metadata-yaml"),
            ("annotations:\n  a: b\n  a: c", "metadata-yaml"),
            ("annotations: {a: !!binary aGk=}", "metadata-yaml"),
            ("a: [", "metadata-yaml"),
        ] {
            let findings = parse(text.as_bytes(), &Limits::default()).unwrap_err();
            assert_eq!(findings[0].code, code, "{text}");
        }
        assert_eq!(key::PREFIX, "k8s.io.bundle.");
    }
}
