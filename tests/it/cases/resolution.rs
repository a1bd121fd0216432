//! Cases 40 and 42 as an operator meets them: which of the versions in a repository it is given.

use serde_json::Value;

use crate::real::answer;
use crate::support::{MockRegistry, Ran, Sandbox, bundle_dir};

use super::{corpus_folder, table};

/// Pushes a version for an operator with its minimum; returns the digest.
fn push(sandbox: &Sandbox, there: &str, version: &str, operator: (&str, &str)) -> String {
    let directory = format!("in {version}");
    bundle_dir(sandbox.path(&directory), "demo", version, Some(operator));
    let pushed = sandbox.run(["push", &directory, there]);
    answer(&pushed).split_once('@').unwrap().1.to_owned()
}

fn resolve(sandbox: &Sandbox, there: &str, more: &[&str]) -> Ran {
    let call = ["resolve", there, "--format", "json"].into_iter();
    sandbox.run(call.chain(more.iter().copied()))
}

/// The version and the code of each bundle that was passed over.
fn passed_over(ran: &Ran) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let value = ran.json();
    let all = value["passedOver"].as_array().unwrap().iter();
    all.map(|one| (text(&one["version"]), text(&one["code"])))
        .collect()
}

/// Asks as an operator with a version; checks what it is given and why it is not given what is newer.
#[track_caller]
fn check(
    (sandbox, there): (&Sandbox, &str),
    operator: &str,
    version: &str,
    given: Option<&str>,
    reasons: &[(&str, &str)],
) {
    let asked = ["--operator-id", operator, "--operator-version", version];
    let ran = resolve(sandbox, there, &asked);
    ran.assert_code(i32::from(given.is_none()));
    assert_eq!(ran.json()["version"].as_str(), given, "{ran}");
    let found = passed_over(&ran);
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(v, c)| (v.as_str(), c.as_str()))
        .collect();
    assert_eq!(found, reasons, "{ran}");
}

#[test]
fn case_42_the_lowest_version_of_the_operator_decides() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    for (version, minimum) in [
        ("0.9.0", "0.9.0"),
        ("1.1.0", "1.3.0"),
        ("1.5.0", "1.4.0-rc.1"),
        ("2.0.0", "1.10.0"),
    ] {
        push(&sandbox, &there, version, ("our-operator", minimum));
    }
    let all = (&sandbox, there.as_str());
    let old = "min-operator-version";
    check(all, "our-operator", "1.10.0", Some("2.0.0"), &[]);
    // As numbers, not as texts.
    check(
        all,
        "our-operator",
        "1.9.0",
        Some("1.5.0"),
        &[("2.0.0", old)],
    );
    check(
        all,
        "our-operator",
        "1.4.0",
        Some("1.5.0"),
        &[("2.0.0", old)],
    );
    check(
        all,
        "our-operator",
        "1.3.9",
        Some("1.1.0"),
        &[("2.0.0", old), ("1.5.0", old)],
    );
    let each = |code| ["2.0.0", "1.5.0", "1.1.0", "0.9.0"].map(|version| (version, code));
    check(all, "our-operator", "0.2.0", None, &each(old));
    check(all, "their-operator", "9.9.9", None, &each("operator-id"));
}

#[test]
fn case_42_the_versions_of_the_corpus_resolve_as_it_says() {
    let Some(folder) = corpus_folder("42-minimum-operator-decides") else {
        return;
    };
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    for row in table(&folder.join("bundles.tsv")) {
        let [version, operator, minimum] = &row[..] else {
            panic!("{row:?}");
        };
        let source = folder.join("in");
        sandbox
            .run([
                "push",
                source.to_str().unwrap(),
                &there,
                "--package",
                "demo",
                "--version",
                version,
                "--operator-id",
                operator,
                "--min-operator-version",
                minimum,
            ])
            .ok();
    }
    let all = (&sandbox, there.as_str());
    let old = "min-operator-version";
    check(
        all,
        "demo-operator",
        "1.4.0",
        Some("1.2.0"),
        &[("3.0.0", old), ("2.0.0", old)],
    );
    check(
        all,
        "demo-operator",
        "1.6.0",
        Some("2.0.0"),
        &[("3.0.0", old)],
    );
    check(
        all,
        "demo-operator",
        "1.9.0",
        Some("2.0.0"),
        &[("3.0.0", old)],
    );
    check(all, "demo-operator", "1.10.0", Some("3.0.0"), &[]);
    let each = |code| ["3.0.0", "2.0.0", "1.2.0", "1.0.0"].map(|version| (version, code));
    check(all, "demo-operator", "0.1.0", None, &each(old));
    check(all, "other-operator", "1.6.0", None, &each("operator-id"));
}

#[test]
fn case_40_a_version_with_a_plus_is_what_its_tag_resolves_to() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    let operator = ("demo-operator", "0.9.0");
    let older = push(&sandbox, &there, "2.1.0-beta2+exp.77", operator);
    let newer = push(&sandbox, &there, "2.1.0-beta2+exp.101", operator);
    let release = push(&sandbox, &there, "2.0.0+exp.9", operator);
    for (more, digest, version) in [
        (&[][..], &release, "2.0.0+exp.9"),
        (&["--pre"], &newer, "2.1.0-beta2+exp.101"),
        (
            &["--version", "2.1.0-beta2+exp.77"],
            &older,
            "2.1.0-beta2+exp.77",
        ),
        (
            &["--version", ">=2.1.0-beta1"],
            &newer,
            "2.1.0-beta2+exp.101",
        ),
    ] {
        let ran = resolve(&sandbox, &there, more);
        let value = ran.ok().json();
        assert_eq!(value["digest"], digest.as_str(), "{more:?}");
        assert_eq!(value["version"], version, "the `+` is back");
        assert_eq!(value["tag"], version.replace('+', "_"));
    }
    // In a channel there is no tag to be read.
    let add = [
        "channel",
        "add",
        &there,
        "beta",
        "2.1.0-beta2+exp.77",
        "2.0.0+exp.9",
    ];
    sandbox.run(add).ok();
    let ran = resolve(&sandbox, &there, &["--channel", "beta", "--pre"]);
    assert_eq!(ran.ok().json()["digest"], older.as_str());
}
