//! Changes of channels: what was withdrawn, what synchronising says, dry runs, and where the tag of a channel points.

use serde_json::{Value, json};

use super::{chosen, push, resolve};
use crate::real::answer;
use crate::support::{MockRegistry, Sandbox, bundle_dir};

/// Pushes bundles of some versions that name channels themselves; returns their digests.
fn push_naming<const N: usize>(
    sandbox: &Sandbox,
    repository: &str,
    versions: [(&str, &str); N],
) -> [String; N] {
    versions.map(|(version, channels)| {
        bundle_dir(sandbox.path(version), "etcd", version, None);
        let push = ["push", version, repository, "--channels", channels];
        let pushed = sandbox.run(push);
        answer(&pushed).split_once('@').unwrap().1.to_owned()
    })
}

#[test]
fn what_was_withdrawn_stays_withdrawn() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    for place in [&*registry.repository("etcd"), "oci:store"] {
        let channel = |arguments: &[&str]| {
            let (action, rest) = arguments.split_first().unwrap();
            sandbox.run(["channel", action, place].iter().chain(rest).copied())
        };
        let json = |arguments: &[&str]| {
            let json = ["--format", "json"];
            channel(&[arguments, &json].concat()).ok().json()
        };
        let versions = [("1.0.0", "beta"), ("1.1.0", "beta"), ("1.2.0", "beta")];
        let [_, second, third] = push_naming(&sandbox, place, versions);
        channel(&["sync"]).ok();
        let removed = json(&["remove", "beta", "1.2.0"]);
        let gone = json!([{ "version": "1.2.0", "digest": third }]);
        assert_eq!((&removed["removed"], &removed["withdrawn"]), (&gone, &gone));
        assert_eq!(removed["written"], true);

        let synced = channel(&["sync"]);
        assert_eq!(
            synced.ok().stdout(),
            "beta  2 bundles  as it was  left out, since withdrawn, 1.2.0\n"
        );
        let synced = json(&["sync"]);
        let beta = &synced["channels"][0];
        assert_eq!(
            (&beta["withdrawn"], &beta["written"]),
            (&gone, &json!(false))
        );
        assert_eq!(beta["added"], json!([]));
        let shown = channel(&["show", "beta"]);
        shown
            .ok()
            .assert_stdout_has(&format!("1.2.0  {third}  withdrawn"));
        assert!(!shown.stderr().contains("warning"), "{shown}");
        let shown = json(&["show", "beta"]);
        assert_eq!(
            (&shown["withdrawn"], &shown["unlisted"]),
            (&gone, &json!([]))
        );
        assert_eq!(shown["headTag"], second);
        let unchecked = json(&["show", "beta", "--no-check"]);
        assert_eq!(unchecked["withdrawn"][0]["digest"], third);
        let resolved = resolve(&sandbox, place, &["--channel", "beta"]);
        assert_eq!(chosen(&resolved), second);

        // A pipeline that runs once more does not bring it back; a maintainer does.
        let again = [
            "push",
            "1.2.0",
            place,
            "--channels",
            "beta",
            "--channel",
            "beta",
        ];
        sandbox
            .run(again)
            .assert_code(13)
            .assert_stderr_has("1.2.0 was withdrawn from channel `beta`")
            .assert_stderr_has(&format!("`bundle channel add {place} beta {third}`"));
        channel(&["remove", "beta", &third])
            .ok()
            .assert_stderr_has("was withdrawn already");
        channel(&["remove", "beta", "1.2.0"]).assert_code(3);
        // One after the other, also when nothing is left.
        channel(&["remove", "beta", "1.0.0", "1.1.0"]).ok();
        let emptied = json(&["sync"]);
        assert_eq!(emptied["channels"][0]["bundles"], 0);
        assert_eq!(
            emptied["channels"][0]["withdrawn"]
                .as_array()
                .unwrap()
                .len(),
            3
        );
        channel(&["add", "beta", "1.2.0"])
            .ok()
            .assert_stderr_has("channel `beta`: withdrawn no longer: 1.2.0");
        // Forgotten is neither in it nor recorded.
        channel(&["remove", "beta", "--forget", "1.1.0"]).ok();
        channel(&["remove", "beta", "--forget", "1.2.0"])
            .ok()
            .assert_stderr_has("without a record");
        let synced = json(&["sync"]);
        let versions: Vec<&Value> = synced["channels"][0]["added"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["version"])
            .collect();
        assert_eq!(versions, ["1.2.0", "1.1.0"]);
    }
}

#[test]
fn a_record_of_what_was_withdrawn_travels_and_is_kept() {
    let sandbox = Sandbox::new();
    let versions = [("1.0.0", "beta"), ("1.1.0", "beta")];
    let [first, _] = push_naming(&sandbox, "oci:store", versions);
    sandbox.run(["channel", "sync", "oci:store"]).ok();
    sandbox
        .run(["channel", "remove", "oci:store", "beta", "1.1.0"])
        .ok();
    for version in ["1.0.0", "1.1.0"] {
        let (from, to) = (
            format!("oci:store:{version}"),
            format!("oci:copy:{version}"),
        );
        sandbox.run(["copy", &from, &to]).ok();
    }
    sandbox
        .run(["copy", "oci:store:channel-beta", "oci:copy"])
        .ok();
    let synced = sandbox.run(["channel", "sync", "oci:copy"]);
    synced
        .ok()
        .assert_stdout_has("left out, since withdrawn, 1.1.0");
    let resolved = resolve(&sandbox, "oci:copy", &["--channel", "beta"]);
    assert_eq!(chosen(&resolved), first);
    // A directory of channels has what is in the channel.
    let export = ["channel", "export", "oci:copy", "out", "--channel", "beta"];
    sandbox.run(export).ok();
    let file = std::fs::read_to_string(sandbox.path("out/beta")).unwrap();
    assert!(file.contains("1.0.0") && !file.contains("1.1.0"), "{file}");
}

#[test]
fn a_dry_run_of_a_change_says_it_and_writes_nothing() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    push_naming(
        &sandbox,
        &repository,
        [("1.0.0", "beta"), ("1.1.0", "beta")],
    );
    let run = |arguments: &[&str], says: &str| {
        registry.mark();
        let channel = |more: &[&str]| {
            let (action, rest) = arguments.split_first().unwrap();
            let start = ["channel", action, &repository];
            sandbox.run(start.iter().chain(rest).chain(more).copied())
        };
        let dry = channel(&["--dry-run"]);
        assert!(
            format!("{}{}", dry.ok().stdout(), dry.stderr()).contains(says),
            "{dry}"
        );
        dry.assert_stderr_has("the tag `beta` would now point at");
        assert!(
            registry.log().iter().all(|line| !line.starts_with("PUT")),
            "{dry}"
        );
        let dry = channel(&["--dry-run", "--format", "json"]).ok().json();
        assert!(dry.to_string().contains("\"dryRun\":true"), "{dry}");
        assert!(dry.to_string().contains("\"written\":false"), "{dry}");
        channel(&[]).ok();
    };
    run(&["add", "beta", "1.0.0"], "would add 1.0.0");
    run(&["sync"], "beta  2 bundles  would be written  added 1.1.0");
    run(&["remove", "beta", "1.1.0"], "would remove 1.1.0");
}

#[test]
fn a_channel_in_conflict_does_not_keep_the_others_from_being_made() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    push_naming(&sandbox, &repository, [("1.0.0", "alpha,gamma")]);
    sandbox.run(["channel", "sync", &repository]).ok();
    // The version is pushed once more with other content, and names one channel more.
    sandbox.write(
        "1.0.0/manifests/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n",
    );
    let again = [
        "push",
        "1.0.0",
        &repository,
        "--channels",
        "alpha,beta,gamma",
    ];
    sandbox.run(again.iter().chain(&["--force"]).copied()).ok();
    let shown = sandbox.run(["channel", "show", &repository, "alpha"]);
    let remove = format!("`bundle channel remove {repository} alpha 1.0.0` first");
    let sync = format!("and `bundle channel sync {repository}` puts it there");
    shown
        .ok()
        .assert_stderr_has(&remove)
        .assert_stderr_has(&sync);
    let synced = sandbox.run(["channel", "sync", &repository]);
    synced
        .assert_code(13)
        .assert_stderr_has("beta  1 bundle  written  added 1.0.0")
        .assert_stderr_has("2 channels stay as they were")
        .assert_stderr_has("channel `alpha` has another bundle of version 1.0.0")
        .assert_stderr_has("channel `gamma` has another bundle of version 1.0.0")
        .assert_stderr_has(&remove);
    // What is advised works.
    for name in ["alpha", "gamma"] {
        let remove = ["channel", "remove", &repository, name, "1.0.0"];
        sandbox.run(remove).ok();
    }
    let synced = sandbox.run(["channel", "sync", &repository]);
    synced
        .ok()
        .assert_stdout_has("alpha  1 bundle  written    added 1.0.0")
        .assert_stdout_has("beta   1 bundle  as it was");
}

#[test]
fn of_two_tags_of_a_version_sync_takes_the_one_that_resolution_takes() {
    let sandbox = Sandbox::new();
    let [plain] = push_naming(&sandbox, "oci:store", [("1.0.0", "beta")]);
    sandbox.write(
        "1.0.0/manifests/more.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n",
    );
    let other = ["push", "1.0.0", "oci:store:v1.0.0", "--channels", "beta"];
    sandbox.run(other).ok();
    sandbox.run(["channel", "sync", "oci:store"]).ok();
    let resolved = resolve(&sandbox, "oci:store", &["--channel", "beta"]);
    assert_eq!(chosen(&resolved), plain);
}

#[test]
fn show_says_where_the_tag_of_a_channel_points_if_not_at_its_newest_bundle() {
    let sandbox = Sandbox::new();
    let versions = [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0"), ("1.2.0", "1.0.0")];
    let [_, _, other] = push(&sandbox, "oci:store", versions);
    let channel = |arguments: &[&str]| {
        let (action, rest) = arguments.split_first().unwrap();
        let start = ["channel", action, "oci:store", "stable"];
        sandbox.run(start.iter().chain(rest).copied())
    };
    let add = "and the newest bundle is 1.1.0: `bundle channel add oci:store stable 1.1.0`";
    let shows = |words: &str| {
        let shown = channel(&["show"]);
        shown
            .ok()
            .assert_stderr_has(&format!("warning: the tag `stable` {words}, {add}"));
        assert!(
            !channel(&["show", "--no-check"])
                .stderr()
                .contains("warning")
        );
    };
    channel(&["add", "1.0.0", "1.1.0", "--no-head"]).ok();
    shows("is not there");
    channel(&["add", "1.1.0"]).ok();
    assert!(!channel(&["show"]).stderr().contains("warning"));
    sandbox
        .run(["tag", "oci:store:1.2.0", "stable", "--force"])
        .ok();
    shows(&format!("points at {other}, which is not in the channel"));
    sandbox
        .run(["tag", "oci:store:1.0.0", "stable", "--force"])
        .ok();
    shows("points at 1.0.0");
    channel(&["add", "1.1.0"]).ok();
    assert!(!channel(&["show"]).stderr().contains("warning"));
    // Who leaves the tag where it is when the bundle leaves is told so.
    channel(&["remove", "1.1.0", "--no-head"])
        .ok()
        .assert_stderr_has(
            "has another newest bundle, and the tag `stable` still points at sha256:",
        )
        .assert_stderr_has("(1.1.0), which left it");
}
