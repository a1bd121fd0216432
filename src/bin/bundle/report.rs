//! Errors as people and machines see them: two exhaustive matches, one for exit codes and one for retrying.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use manifest_bundle::check::Check;
use manifest_bundle::escape::{shown, shown_lines};
use manifest_bundle::finding::Finding;
use manifest_bundle::{Error, Kind};
use serde_json::{Map, Value, json};

use crate::args::Format;
use crate::habits;
use crate::output::{ascii_safe, not_written};
use crate::sarif;

/// Returns the exit code of a kind of error (README, "Exit codes").
pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Usage => 2,
        Kind::NotFound => 3,
        Kind::Denied => 4,
        Kind::Unreachable => 5,
        Kind::Protocol => 6,
        Kind::Mismatch => 7,
        Kind::Unsafe => 8,
        Kind::Limit => 9,
        Kind::Refused => 10,
        Kind::Invalid => 11,
        Kind::Io => 12,
        Kind::Conflict => 13,
        Kind::Interrupted => 130,
    }
}

/// Prints an error and returns its exit code; `notes` are what was said before and is not on stderr, for machines.
pub(crate) fn failure(error: &Error, format: Format, notes: &[String]) -> ExitCode {
    let code = if error.detail().found.as_deref() == Some("SIGTERM") {
        143
    } else {
        exit_code(error.kind())
    };
    let text = match format {
        Format::Text => shown_lines(&text(error)),
        Format::Json | Format::Yaml | Format::Sarif => {
            let mut value = value(error, code);
            if !notes.is_empty() {
                value.insert("notes".into(), notes.into());
            }
            ascii_safe(&json!({ "error": value }).to_string())
        }
    };
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
    // Whoever uploads the log finds one that says what happened, and no empty file.
    if format == Format::Sarif {
        let log = ascii_safe(&sarif::failed(error, code).to_string());
        let _ = writeln!(std::io::stdout().lock(), "{log}");
    }
    ExitCode::from(code)
}

/// Writes `error: message`, and the hint on a paragraph of its own.
///
/// Where there are several findings they come first, each with its own hint, and the error says how many are at fault.
fn text(error: &Error) -> String {
    let detail = error.detail();
    let mut lines = Vec::new();
    let mut hint = detail.hint.as_ref();
    if detail.findings.len() > 1 {
        lines = findings(&detail.findings);
        lines.push(format!("error: {}", count_of_faults(error)));
        let is_shown = |finding: &Finding| finding.hint.as_ref() == hint;
        if detail.findings.iter().any(is_shown) {
            hint = None;
        }
    } else {
        lines.push(format!("error: {}", error.message()));
    }
    if let Some(hint) = hint {
        lines.push(format!("\nhint: {hint}"));
    }
    lines.join("\n")
}

/// Says how many findings are at fault, what did not happen for them, and where, if the message says that.
fn count_of_faults(error: &Error) -> String {
    let detail = error.detail();
    let errors = counted(detail.at_fault, "error");
    let outcome = match detail.stage {
        Some("pack") => "; not packed",
        _ => "",
    };
    // The place is put before the sentence of the first.
    let place = detail
        .findings
        .iter()
        .find_map(|finding| error.message().split_once(&finding.sentence()))
        .map_or("", |(place, _)| place);
    format!("{place}{errors}{outcome}")
}

/// Writes findings, each hint once for all findings with the same code.
pub(crate) fn findings(findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut told = BTreeSet::new();
    for finding in findings {
        lines.push(finding.to_string());
        if let Some(hint) = &finding.hint
            && told.insert((finding.code, hint))
        {
            lines.push(format!("  hint: {}", shown(hint)));
        }
    }
    lines
}

/// Writes a number of things: `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// Returns the members of the JSON error; those that do not apply are absent.
fn value(error: &Error, code: u8) -> Map<String, Value> {
    let detail = error.detail();
    let mut members = Map::new();
    members.insert("kind".into(), error.kind().name().into());
    members.insert("code".into(), code.into());
    members.insert("message".into(), error.message().into());
    let mut optional = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            members.insert(name.into(), text.into());
        }
    };
    optional("stage", detail.stage.map(str::to_owned));
    optional("reference", detail.reference.clone());
    optional("digest", detail.digest.map(|digest| digest.to_string()));
    optional("file", detail.file.clone());
    optional("expected", detail.expected.clone());
    optional("found", detail.found.clone());
    optional("hint", detail.hint.clone());
    if let Some(line) = detail.line {
        members.insert("line".into(), line.into());
    }
    if !detail.findings.is_empty() {
        members.insert(
            "findings".into(),
            detail.findings.iter().map(finding).collect(),
        );
    }
    if !detail.checks.is_empty() {
        members.insert("checks".into(), detail.checks.iter().map(check).collect());
    }
    members.insert("retryable".into(), detail.retryable.into());
    members
}

/// Returns a finding with all its keys.
pub(crate) fn finding(finding: &Finding) -> Value {
    json!({
        "code": finding.code,
        "severity": finding.severity.name(),
        "file": (!finding.file.is_empty()).then_some(&finding.file),
        "bundlePath": finding.bundle_path,
        "line": (finding.line > 0).then_some(finding.line),
        "message": finding.message,
        "hint": finding.hint,
    })
}

/// Returns a check with all its keys.
pub(crate) fn check(check: &Check) -> Value {
    json!({
        "name": check.name,
        "outcome": check.outcome.name(),
        "expected": check.expected,
        "found": check.found,
    })
}

/// Takes passwords and line breaks out of what the argument parser would repeat of the call.
fn make_safe(error: &mut clap::Error) {
    for kind in [
        ContextKind::InvalidValue,
        ContextKind::InvalidArg,
        ContextKind::InvalidSubcommand,
    ] {
        let Some(ContextValue::String(text)) = error.get(kind) else {
            continue;
        };
        let text = without_credentials(text).unwrap_or_else(|| text.clone());
        error.insert(kind, ContextValue::String(shown(&text)));
    }
}

/// Returns a reference such as `user:password@host/…` with `…` for what stands before the `@`, if it is one.
fn without_credentials(text: &str) -> Option<String> {
    let start = text.find("://").map_or(0, |at| at.saturating_add(3));
    let (scheme, rest) = text.split_at_checked(start)?;
    let (before, after) = rest.rsplit_once('@')?;
    // What follows the `@` of a path or of a reference is a digest.
    let is_digest = ["sha256:", "sha512:"]
        .iter()
        .any(|algorithm| after.starts_with(algorithm));
    if is_digest {
        let bare = without_credentials(&format!("{scheme}{before}"))?;
        return Some(format!("{bare}@{after}"));
    }
    // A registry in front of a `/` has at most a port; anything else with a `:` there may be a password with a `/` in it.
    let (first, is_whole) = match before.split_once('/') {
        Some((first, _)) => (first, false),
        None => (before, true),
    };
    let (_, port) = first.rsplit_once(':')?;
    let is_port = port.bytes().all(|b| b.is_ascii_digit());
    let is_registry = !is_whole && (is_port || first.starts_with('['));
    (!is_registry).then(|| format!("{scheme}…@{after}"))
}

/// Prints what the argument parser says: help on stdout with 0, anything else on stderr with 2, as JSON for machines.
pub(crate) fn usage(mut error: clap::Error, for_machines: bool) -> ExitCode {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let format = if for_machines {
            Format::Json
        } else {
            Format::Text
        };
        return failure(&not_utf8(), format, &[]);
    }
    let hint = habit(&error);
    suggest_less(&mut error);
    make_safe(&mut error);
    let is_help = !error.use_stderr();
    let rendered = error.render();
    if is_help {
        // Help is this tool's own text and may be coloured.
        let mut stdout = anstream::stdout();
        let written = write!(stdout, "{}", rendered.ansi()).and_then(|()| stdout.flush());
        return match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => not_written(&error),
        };
    }
    if for_machines {
        let text = rendered.to_string();
        // The usage line and the way to the help are for people.
        let end = end_of_message(&text);
        let message = end.and_then(|end| text.get(..end)).unwrap_or(&text);
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let error = Error::usage(message.trim_end());
        let error = match hint {
            Some(hint) => error.hint(hint),
            None => error,
        };
        return failure(&error, Format::Json, &[]);
    }
    // What the caller typed is in the message: it is escaped, and so comes without colour.
    let mut text = rendered.to_string();
    if let Some(hint) = hint {
        let at = end_of_message(&text).unwrap_or(text.trim_end().len());
        text.insert_str(at, &format!("\n\nhint: {hint}"));
    }
    let _ = write!(std::io::stderr(), "{}", shown_lines(&text));
    ExitCode::from(2)
}

/// Returns where a message of the argument parser ends, and the usage line or the way to the help begins.
fn end_of_message(text: &str) -> Option<usize> {
    ["\n\nUsage:", "\n\nFor more information"]
        .iter()
        .filter_map(|after| text.find(after))
        .min()
}

/// Returns what to write instead of a flag that another tool has.
fn habit(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut words = std::env::args_os().skip(1);
    let command = words.find(|word| !word.to_string_lossy().starts_with('-'));
    let command = command.unwrap_or_default();
    (error.kind() == ErrorKind::UnknownArgument)
        .then(|| habits::hint(&command.to_string_lossy(), flag))?
}

/// Takes away the suggestion of a flag that has little in common with what was typed, and how it would be a value.
fn suggest_less(error: &mut clap::Error) {
    if error.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => flag.clone(),
        _ => return,
    };
    let is_far = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(known)) => !habits::is_near(&flag, known),
        _ => false,
    };
    if is_far {
        error.remove(ContextKind::SuggestedArg);
        // It would have the flag in it.
        error.remove(ContextKind::Usage);
    }
    let tips = match error.get(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips.clone(),
        _ => return,
    };
    let of_use = tips
        .into_iter()
        .filter(|tip| !tip.to_string().contains("as a value"));
    let of_use: Vec<_> = of_use.collect();
    if of_use.is_empty() {
        error.remove(ContextKind::Suggested);
    } else {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(of_use));
    }
}

/// Says which argument is not UTF-8: names of files may be, but not where a name may be that of a registry too.
fn not_utf8() -> Error {
    let bad = std::env::args_os()
        .enumerate()
        .skip(1)
        .find(|(_, word)| word.to_str().is_none());
    let (at, word) = bad.unwrap_or_default();
    let word = shown(&word.to_string_lossy());
    Error::usage(format!("argument {at} is not UTF-8: `{word}`"))
        .hint("rename it, or go into its directory and give a path from there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_findings_are_counted_and_each_hint_is_given_once() {
        let finding =
            |file: &str, hint: &str| Finding::error("a-code", "wrong").at(file, 1).hint(hint);
        let found = vec![
            Finding::error("allowed", "fine").at("a", 0),
            finding("b", "mend it"),
            finding("c", "mend it"),
            finding("d", "or this"),
        ];
        let error = Error::of_refused(found, |finding| finding.code == "a-code")
            .stage("pack")
            .at("R");
        assert_eq!(error.message(), "R: b:1: wrong [a-code] (and 2 more)");
        let lines = text(&error);
        let want = "a: error: fine [allowed]\nb:1: error: wrong [a-code]\n  hint: mend it\n\
            c:1: error: wrong [a-code]\nd:1: error: wrong [a-code]\n  hint: or this\n\
            error: R: 3 errors; not packed";
        assert_eq!(lines, want);
        let one = Error::of_findings(vec![finding("b", "mend it")]);
        assert_eq!(text(&one), "error: b:1: wrong [a-code]\n\nhint: mend it");
        let with_note = vec![Finding::note("n", "look"), finding("b", "mend it")];
        let error = Error::of_findings(with_note).hint("another way");
        assert!(text(&error).ends_with("\nerror: 1 error\n\nhint: another way"));
    }

    #[test]
    fn passwords_are_not_repeated_and_references_are() {
        for (text, shown) in [
            ("user:pw@reg.io/a", Some("…@reg.io/a")),
            ("oci://user:pw@reg.io/a:1", Some("oci://…@reg.io/a:1")),
            ("https://user:p@w@reg.io/a", Some("https://…@reg.io/a")),
            ("user:p/w@reg.io/a", Some("…@reg.io/a")),
            ("user:1234@reg.io/a@sha256:x", Some("…@reg.io/a@sha256:x")),
            ("reg.io/a:1@sha256:x", None),
            ("reg.io:5000/a@b", None),
            ("[::1]/a@b", None),
            ("oci:directory@sha256:x", None),
            ("plain words", None),
        ] {
            assert_eq!(without_credentials(text).as_deref(), shown, "{text}");
        }
    }
}
