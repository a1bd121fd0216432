//! Findings as SARIF 2.1.0, which code hosts show beside the lines that they are about.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use manifest_bundle::Error;
use manifest_bundle::finding::{Finding, Severity};
use manifest_bundle::validate::check;
use serde_json::{Map, Value, json};

/// Makes the log of one run.
///
/// Code hosts look for files from the root of the repository, which is where their runners call the tool; and so findings
/// of a source name it. With `strict` a warning has the level of an error, since the run fails by it.
pub(crate) fn log(findings: &[Finding], strict: bool) -> Value {
    let mut rules = Vec::new();
    let mut indices = BTreeMap::new();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let index = *indices.entry(finding.code).or_insert_with(|| {
                rules.push(rule(finding.code));
                rules.len().saturating_sub(1)
            });
            result(finding, index, strict)
        })
        .collect();
    run(&rules, &json!({ "executionSuccessful": true }), &results)
}

/// Makes the log of a run that could not look at what it was to look at.
pub(crate) fn failed(error: &Error, code: u8) -> Value {
    let message = error.to_string();
    let invocation = json!({
        "executionSuccessful": false,
        "exitCode": code,
        "toolExecutionNotifications": [{ "level": "error", "message": { "text": message } }],
    });
    run(&[], &invocation, &[])
}

fn run(rules: &[Value], invocation: &Value, results: &[Value]) -> Value {
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bundle",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [invocation],
            "results": results,
        }],
    })
}

fn rule(code: &str) -> Value {
    let check = check(code);
    let about = check.map_or(code, |check| check.about);
    let mut rule = json!({
        "id": code,
        "shortDescription": { "text": about },
    });
    if let (Some(check), Some(members)) = (check, rule.as_object_mut()) {
        let tags = json!({ "tags": [check.family.name()] });
        members.insert("properties".into(), tags);
    }
    rule
}

fn result(finding: &Finding, index: usize, strict: bool) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning if strict => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let text = match &finding.hint {
        Some(hint) => format!("{}\n{hint}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = Map::new();
    result.insert("ruleId".into(), finding.code.into());
    result.insert("ruleIndex".into(), index.into());
    result.insert("level".into(), level.into());
    result.insert("message".into(), json!({ "text": text }));
    // A finding about the bundle as a whole has no place.
    if !finding.file.is_empty() {
        let mut place = Map::new();
        let uri = uri(&finding.file);
        place.insert("artifactLocation".into(), json!({ "uri": uri }));
        // Code hosts show nothing without a line; what is about a whole file stands at its beginning.
        let line = finding.line.max(1);
        place.insert("region".into(), json!({ "startLine": line }));
        let locations = json!([{ "physicalLocation": place }]);
        result.insert("locations".into(), locations);
    }
    Value::Object(result)
}

/// Returns the place of a file as a relative URI, or as one with `file://` where it is absolute.
fn uri(file: &str) -> String {
    let mut rest = file;
    while let Some(after) = rest.strip_prefix("./") {
        rest = after.trim_start_matches('/');
    }
    let mut uri = String::with_capacity(rest.len());
    if rest.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in rest.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_uris_from_where_the_tool_was_called() {
        for (file, expected) in [
            ("manifests/a.yaml", "manifests/a.yaml"),
            ("./deploy/a.yaml", "deploy/a.yaml"),
            (".//a.yaml", "a.yaml"),
            ("../x/a.yaml", "../x/a.yaml"),
            ("/tmp/x/a.yaml", "file:///tmp/x/a.yaml"),
            ("a b:ä%.yaml", "a%20b%3A%C3%A4%25.yaml"),
        ] {
            assert_eq!(uri(file), expected);
        }
    }

    #[test]
    fn a_run_that_failed_says_so_and_why() {
        let log = failed(&Error::not_found("nothing is there"), 3);
        let invocation = &log["runs"][0]["invocations"][0];
        assert_eq!(invocation["executionSuccessful"], false);
        assert_eq!(invocation["exitCode"], 3);
        let told = &invocation["toolExecutionNotifications"][0]["message"]["text"];
        assert_eq!(told, "nothing is there");
        assert_eq!(log["runs"][0]["results"], json!([]));
    }

    #[test]
    fn a_rule_comes_once_and_results_point_at_it() {
        let findings = [
            Finding::error("template", "one")
                .at("a.yaml", 3)
                .hint("do so"),
            Finding::note("image-tag", "two").at("b.yaml", 0),
            Finding::warning("template", "three"),
        ];
        let strict = log(&findings, true);
        assert_eq!(strict["runs"][0]["results"][2]["level"], "error");
        assert_eq!(strict["runs"][0]["results"][1]["level"], "note");
        let log = log(&findings, false);
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let ids: Vec<_> = rules
            .iter()
            .map(|rule| rule["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["template", "image-tag"]);
        assert_eq!(rules[0]["properties"]["tags"], json!(["object"]));
        let results = run["results"].as_array().unwrap();
        let indices: Vec<_> = results
            .iter()
            .map(|one| one["ruleIndex"].as_u64())
            .collect();
        assert_eq!(indices, [Some(0), Some(1), Some(0)]);
        assert_eq!(results[0]["message"]["text"], "one\ndo so");
        let place = &results[0]["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 3);
        let place = &results[1]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "b.yaml");
        assert_eq!(place["region"]["startLine"], 1);
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
        assert!(results[2]["locations"].is_null());
        let levels: Vec<_> = results
            .iter()
            .map(|one| one["level"].as_str().unwrap())
            .collect();
        assert_eq!(levels, ["error", "note", "warning"]);
    }
}
