//! Cases 32 to 44: versions, their tags, and the texts that say where a bundle is.

use manifest_bundle::reference::{Location, Reference};
use manifest_bundle::tag::Tag;
use manifest_bundle::version::Version;

use crate::real::answer;
use crate::support::{MockRegistry, Ran, Sandbox, bundle_dir};

use super::{bundle, config_map, corpus_folder, table};

const DIGEST: &str = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// Packs, as a dry run, with a version and perhaps a minimum version of the operator.
fn dry(sandbox: &Sandbox, version: &str, minimum: Option<&str>) -> Ran {
    let mut words = vec!["pack", "in", "--dry-run", "--format", "json"];
    words.extend(["--package", "demo", "--operator-id", "demo-operator"]);
    words.extend(["--version", version]);
    words.extend(
        minimum
            .into_iter()
            .flat_map(|minimum| ["--min-operator-version", minimum]),
    );
    sandbox.run(words)
}

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

#[test]
fn case_32_versions_are_exact_and_errors_propose_the_near_one() {
    let sandbox = Sandbox::new();
    sandbox.write("in/map.yaml", config_map("map"));
    for (text, stored) in [
        ("4.5.6", "4.5.6"),
        ("v4.5.6", "4.5.6"),
        ("4.5.6-beta.2", "4.5.6-beta.2"),
        ("4.5.6+build9.1", "4.5.6+build9.1"),
    ] {
        let ran = dry(&sandbox, text, None);
        assert_eq!(ran.ok().json()["version"], stored, "{ran}");
        let tag = Tag::of_version(&version(stored)).unwrap();
        assert_eq!(tag.as_str(), stored.replace('+', "_"));
    }
    for (text, hint) in [
        ("4.5", "write `4.5.0`"),
        ("4", "write `4.0.0`"),
        ("04.5.6", "write `4.5.6`"),
        ("4.5.6_7", "write `4.5.6+7`"),
        ("4.5.6-07", "MAJOR.MINOR.PATCH"),
        ("stable", "MAJOR.MINOR.PATCH"),
        ("", "is empty"),
    ] {
        let ran = dry(&sandbox, text, None);
        ran.assert_code(2).assert_stderr_has(hint);
        ran.assert_stderr_has(&format!("`{text}`"));
    }
    let ran = dry(&sandbox, "1.0.0", Some("2.7.0-0"));
    assert_eq!(ran.ok().json()["minOperatorVersion"], "2.7.0-0");
    for (minimum, hint) in [("2.7", "write `2.7.0`"), (">=2.7.0", "MAJOR.MINOR.PATCH")] {
        dry(&sandbox, "1.0.0", Some(minimum))
            .assert_code(2)
            .assert_stderr_has(hint);
    }
    unquoted(&sandbox, "2.10");
    for (older, newer) in [
        ("0.8.3-2", "0.8.3"),
        ("0.8.3-namespaced", "0.8.3"),
        ("1.9.0", "1.10.0"),
    ] {
        assert!(version(older).precedence(&version(newer)).is_lt());
    }
}

/// Packs metadata in which the minimum version is a number, which must not lose its last digit.
#[track_caller]
fn unquoted(sandbox: &Sandbox, number: &str) {
    bundle(sandbox, "number", &[("map.yaml", &config_map("map"))]);
    let key = "k8s.io.bundle.operator.min-version.v1";
    let operator = "k8s.io.bundle.operator.id.v1: demo-operator";
    let text = format!("{}  {operator}\n  {key}: {number}\n", super::METADATA);
    sandbox.write("number/metadata/annotations.yaml", text);
    let ran = sandbox.run(["pack", "number", "--dry-run"]);
    ran.assert_code(11)
        .assert_stderr_has(&format!("{key}: \"{number}\""));
}

#[test]
fn case_32_the_table_of_the_corpus_is_followed() {
    let Some(folder) = corpus_folder("32-version-fields") else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.write("in/map.yaml", config_map("map"));
    for row in table(&folder.join("versions.tsv")) {
        let [field, value, right] = &row[..] else {
            panic!("{row:?}");
        };
        if let Some(number) = value.strip_suffix(" (unquoted in YAML)") {
            unquoted(&sandbox, number);
            continue;
        }
        let ran = match field.as_str() {
            "version" => dry(&sandbox, value, None),
            _ => dry(&sandbox, "1.0.0", Some(value)),
        };
        if let Some((_, newer)) = right.split_once("and older than ") {
            assert!(version(value).precedence(&version(newer)).is_lt());
        }
        if right.starts_with("ok") || right.starts_with("one documented rule") {
            ran.ok();
        } else {
            ran.assert_code(2);
        }
        if let Some((_, near)) = right.split_once("hint ") {
            ran.assert_stderr_has(&format!("write `{near}`"));
        }
    }
}

#[test]
fn case_40_a_version_with_a_plus_is_pushed_listed_and_pulled_in_both_spellings() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    let (text, tag) = ("2.1.0-beta2+exp.77", "2.1.0-beta2_exp.77");
    bundle_dir(
        sandbox.path("in"),
        "demo",
        text,
        Some(("demo-operator", "0.9.0")),
    );
    let pushed = sandbox.run(["push", "in", &there]);
    let pinned = answer(&pushed).to_owned();
    let digest = pinned.split_once('@').unwrap().1;
    assert_eq!(registry.tags("demo"), [(tag.to_owned(), digest.to_owned())]);
    let manifest = registry.manifest("demo", tag).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["annotations"]["k8s.io.bundle.version.v1"], text);
    assert_eq!(answer(&sandbox.run(["list", &there])), text);

    for spelled in [text, tag] {
        let reference = format!("{there}:{spelled}");
        let out = format!("out {spelled}");
        let pulled = sandbox.run(["pull", &reference, "-o", &out]);
        assert_eq!(answer(&pulled), pinned);
        let metadata = sandbox.path(&out).join("metadata/annotations.yaml");
        let metadata = std::fs::read_to_string(metadata).unwrap();
        assert!(metadata.contains(text), "{metadata}");
        // Also where it is written, as a tag of its own and in a layout.
        sandbox.run(["push", "in", &reference]).ok();
        sandbox
            .run(["tag", &format!("{there}@{digest}"), spelled])
            .ok();
        sandbox
            .run(["pack", "in", "-o", &format!("oci:store:{spelled}")])
            .ok();
        sandbox
            .run(["verify", &format!("oci:store:{spelled}")])
            .ok();
    }
    assert_eq!(registry.tags("demo").len(), 1);

    // A tag that no registry takes is refused before anything is sent.
    registry.mark();
    let long = format!("1.0.0+{}", "b".repeat(123));
    for words in [
        vec!["push", "number", &there, "--version", &long],
        vec!["push", "in", &there, "--tag", &long],
    ] {
        sandbox
            .run(words)
            .assert_code(2)
            .assert_stderr_has("128 bytes");
    }
    assert_eq!(registry.log(), [""; 0]);
}

/// A reference as the columns of the table of case 44.
fn columns(reference: &Reference) -> [String; 4] {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        reference.repository.registry().to_string(),
        reference.repository.path().to_owned(),
        or_none(reference.tag.as_ref().map(ToString::to_string)),
        or_none(reference.digest.map(|digest| digest.to_string())),
    ]
}

#[test]
fn case_44_references_are_split_as_people_mean_them() {
    let both = format!("reg.example/team/app:v2@{DIGEST}");
    for (text, expected) in [
        ("localhost:7000/app", ["localhost:7000", "app", "-", "-"]),
        ("localhost/app:2", ["localhost", "app", "2", "-"]),
        (
            "reg.example/app:20240",
            ["reg.example", "app", "20240", "-"],
        ),
        ("[::1]:7000/app:2", ["[::1]:7000", "app", "2", "-"]),
        (
            "reg.example/a/b/c/d/e:x",
            ["reg.example", "a/b/c/d/e", "x", "-"],
        ),
        (&both, ["reg.example", "team/app", "v2", DIGEST]),
        ("oci://reg.example/app:2", ["reg.example", "app", "2", "-"]),
        (
            "oci://app:20240",
            ["docker.io", "library/app", "20240", "-"],
        ),
        (
            "reg.example/x__y/z.q-r:_1",
            ["reg.example", "x__y/z.q-r", "_1", "-"],
        ),
        (
            "index.docker.io/team/app",
            ["docker.io", "team/app", "-", "-"],
        ),
        (
            "reg.example/app:1.0.0+b",
            ["reg.example", "app", "1.0.0_b", "-"],
        ),
    ] {
        let reference: Reference = text.parse().unwrap();
        assert_eq!(columns(&reference), expected, "{text}");
    }
    // Without a registry it is a path, and nothing on Docker Hub that nobody meant.
    for text in ["app:20240", "registry:7000", "team/app"] {
        let location: Location = text.parse().unwrap();
        assert!(
            matches!(location, Location::Path(_)),
            "{text}: {location:?}"
        );
    }
    let sandbox = Sandbox::new();
    for (text, hint) in [
        (
            "reg.example/app@sha256:12ab",
            "64 lower-case hexadecimal digits",
        ),
        ("oci://reg.example/app:2/", "may hold only"),
        ("https://reg.example/app:2", "write `reg.example/app:2`"),
        ("reg.example/My-Team/app:2", "write `my-team/app`"),
        (
            "reg.example/app:1.0+b",
            "a `+` is written `_` in a tag: `1.0_b`",
        ),
        ("reg.example/app: 2", "may hold only"),
        ("reg.example//app:2", "empty component"),
        (&format!("reg.example/app:{}", "t".repeat(129)), "128 bytes"),
        ("registry:7000", "docker.io/registry:7000"),
    ] {
        let ran = sandbox.run(["pull", text]);
        ran.assert_code(2).assert_stderr_has(hint);
    }
}

#[test]
fn case_44_the_table_of_the_corpus_is_followed() {
    let Some(folder) = corpus_folder("44-references") else {
        return;
    };
    for row in table(&folder.join("refs.tsv")) {
        let (text, expected) = (row[0].as_str(), &row[1..]);
        if expected[0].starts_with("error") {
            let invalid = text.parse::<Reference>();
            assert!(invalid.is_err(), "{text}: {invalid:?}");
            continue;
        }
        // A short name of Docker Hub needs the scheme, or it is a path.
        let long = match text.parse::<Location>().unwrap() {
            Location::Path(_) => format!("oci://{text}"),
            _ => text.to_owned(),
        };
        let reference: Reference = long.parse().unwrap();
        assert_eq!(columns(&reference), expected[..4], "{text}");
    }
}
