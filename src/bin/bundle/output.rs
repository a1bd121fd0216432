//! Answers, and the only place that writes to stdout.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use manifest_bundle::escape::shown_lines;
use serde_json::Value;

use crate::args::Format;

/// What a command answers.
#[derive(Debug)]
pub(crate) struct Answer {
    /// For people: lines without a final newline. Nothing is printed when it is empty.
    pub(crate) text: String,
    /// For people, on stderr before the answer: what goes with it and is not what a script reads.
    pub(crate) aside: String,
    /// For machines: one object with all its keys.
    pub(crate) value: Value,
    /// The exit code: 0, or 1 where the answer is no.
    pub(crate) code: u8,
    /// A line for people that comes on stderr after the text.
    pub(crate) closing: Option<String>,
    /// Whether stdout carries an archive, so that the answer goes to stderr.
    pub(crate) on_stderr: bool,
    /// Whether the text is this tool's own (a completion script, a manual page) and goes out as it is.
    pub(crate) verbatim: bool,
}

impl Answer {
    /// Makes the answer of a command that did what it was asked.
    pub(crate) fn new(text: impl Into<String>, value: Value) -> Self {
        Self {
            text: text.into(),
            aside: String::new(),
            value,
            code: 0,
            closing: None,
            on_stderr: false,
            verbatim: false,
        }
    }
}

/// Prints an answer and returns the exit code.
pub(crate) fn print(answer: &Answer, format: Format) -> ExitCode {
    let text = match format {
        Format::Text if answer.verbatim => answer.text.clone(),
        Format::Text => shown_lines(&answer.text),
        // A JSON string escapes control characters itself; what hides or turns text is escaped here.
        Format::Json | Format::Sarif => ascii_safe(&answer.value.to_string()),
        Format::Yaml => ascii_safe(yaml(&answer.value, 0).trim_start_matches('\n')),
    };
    if format == Format::Text && !answer.aside.is_empty() {
        // Nobody is left to tell when stderr is gone.
        let _ = writeln!(io::stderr().lock(), "{}", shown_lines(&answer.aside));
    }
    let closing = |code| {
        if let Some(line) = &answer.closing {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(io::stderr().lock(), "{}", shown_lines(line));
        }
        ExitCode::from(code)
    };
    if text.is_empty() {
        return closing(answer.code);
    }
    let written = if answer.on_stderr {
        writeln!(io::stderr().lock(), "{text}")
    } else {
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{text}").and_then(|()| stdout.flush())
    };
    match written {
        Ok(()) => closing(answer.code),
        Err(error) => not_written(&error),
    }
}

/// Ends a command whose answer could not be written.
pub(crate) fn not_written(error: &io::Error) -> ExitCode {
    // The reader went away (`bundle list … | head -1`): that is its right, and no fault of ours.
    if error.kind() == io::ErrorKind::BrokenPipe {
        return ExitCode::from(141);
    }
    let _ = writeln!(io::stderr(), "error: cannot write to stdout: {error}");
    ExitCode::from(12)
}

/// Writes characters that a terminal could be misled by as JSON escapes; valid inside JSON and YAML strings only,
/// and they occur nowhere else.
pub(crate) fn ascii_safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && manifest_bundle::escape::is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes a value as block YAML; every string is double-quoted, which is what JSON strings are in YAML.
pub(crate) fn yaml(value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let lines: Vec<String> = match value {
        Value::Object(members) if !members.is_empty() => members
            .iter()
            .map(|(key, member)| {
                format!(
                    "\n{pad}{}:{}",
                    Value::from(key.as_str()),
                    nested(member, indent)
                )
            })
            .collect(),
        Value::Array(items) if !items.is_empty() => items
            .iter()
            .map(|item| format!("\n{pad}-{}", nested(item, indent)))
            .collect(),
        other => return other.to_string(),
    };
    lines.concat()
}

/// Writes a member's or item's value behind its `:` or `-`.
fn nested(value: &Value, indent: usize) -> String {
    let text = yaml(value, indent.saturating_add(2));
    if text.starts_with('\n') {
        text
    } else {
        format!(" {text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_answers_hold_what_the_json_ones_hold() {
        let value = json!({"a": [1, {"b": "x: y", "c": []}], "d": {}, "e": null, "f": "ä\u{202e}\u{e0001}\n"});
        let text = ascii_safe(yaml(&value, 0).trim_start_matches('\n'));
        let limits = manifest_bundle::limits::Limits::default();
        let document = manifest_bundle::yaml::documents(text.as_bytes(), &limits)
            .next()
            .unwrap()
            .unwrap();
        assert_eq!(document.root.to_json(), value);
        let json: Value = serde_json::from_str(&ascii_safe(&value.to_string())).unwrap();
        assert_eq!(json, value);
    }
}
