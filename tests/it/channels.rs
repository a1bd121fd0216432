//! Channels and resolution, from the command line: what is chosen and why, how often the registry is asked, what is
//! believed, and that a channel is an image index like any other to everybody else.

mod changes;
mod tags;

use serde_json::{Value, json};

use crate::real::{answer, sha256};
use crate::support::{Act, DockerRegistry, MockRegistry, Ran, Response, Sandbox, bundle_dir, on};

const OPERATOR: [&str; 4] = [
    "--operator-id",
    "etcd-manager",
    "--operator-version",
    "1.4.0",
];
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Pushes a bundle of each version, with the lowest version of its operator; returns their digests.
fn push<const N: usize>(
    sandbox: &Sandbox,
    repository: &str,
    versions: [(&str, &str); N],
) -> [String; N] {
    versions.map(|(version, minimum)| {
        let directory = format!("in-{version}");
        bundle_dir(
            sandbox.path(&directory),
            "etcd",
            version,
            Some(("etcd-manager", minimum)),
        );
        let pushed = sandbox.run(["push", &directory, repository]);
        answer(&pushed).split_once('@').unwrap().1.to_owned()
    })
}

fn resolve(sandbox: &Sandbox, repository: &str, more: &[&str]) -> Ran {
    let arguments = ["resolve", repository]
        .into_iter()
        .chain(more.iter().copied());
    sandbox.run(arguments)
}

fn chosen(ran: &Ran) -> &str {
    answer(ran).split_once('@').unwrap().1
}

#[test]
fn an_operator_is_given_the_newest_bundle_that_it_can_run() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    let repository = registry.repository("newest");
    let [old, fits, needs_more, pre] = push(
        &sandbox,
        &repository,
        [
            ("3.5.0", "1.0.0"),
            ("3.6.0", "1.4.0"),
            ("3.10.0", "1.5.0"),
            ("4.0.0-rc.1", "1.0.0"),
        ],
    );
    let add = [
        "channel",
        "add",
        &repository,
        "stable",
        "3.5.0",
        "v3.6.0",
        &needs_more,
        "4.0.0-rc.1",
    ];
    let added = sandbox.run(add);
    added.assert_stderr_has("the tag `stable` now points at 3.10.0");
    assert!(answer(&added).starts_with(&format!("{repository}@sha256:")));

    for from in [&["--channel", "stable"][..], &[]] {
        let ask = |more: &[&str]| resolve(&sandbox, &repository, &[from, more].concat());
        let ran = ask(&[&OPERATOR[..], &["--explain"]].concat());
        assert_eq!(chosen(&ran), fits);
        ran.assert_stderr_has("4.0.0-rc.1: is a pre-release");
        ran.assert_stderr_has("3.10.0: needs version 1.5.0 of its operator");
        assert!(!ran.stderr().contains("3.5.0"), "older ones do not matter");
        assert_eq!(chosen(&ask(&[])), needs_more);
        assert_eq!(chosen(&ask(&["--pre"])), pre);
        assert_eq!(chosen(&ask(&["--version", "~3.5"])), old);
        assert_eq!(chosen(&ask(&["--version", ">=4.0.0-rc.0"])), pre);
        let none = ask(&["--operator-id", "prometheus"]);
        none.assert_code(1);
        assert_eq!(none.stdout(), "");
        none.assert_stderr_has("3.6.0: is meant for etcd-manager");
        none.assert_stderr_has("none of the 4 bundles");

        let ran = ask(&[&OPERATOR[..], &["--format", "json"]].concat());
        let value = ran.ok().json();
        assert_eq!(value["digest"], fits);
        assert_eq!(
            (&value["package"], &value["version"]),
            (&json!("etcd"), &json!("3.6.0"))
        );
        assert_eq!(value["minOperatorVersion"], "1.4.0");
        let codes = |value: &Value| {
            let list = value["passedOver"].as_array().unwrap().clone();
            list.into_iter()
                .map(|one| one["code"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(codes(&value), ["pre-release", "min-operator-version"]);
        let none = ask(&["--version", "^9", "--format", "json"]);
        none.assert_code(1);
        assert_eq!(none.json()["digest"], Value::Null);
        let keys = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&none.json()),
            keys(&value),
            "the same keys, fit or not"
        );
        assert_eq!(none.json()["repository"], repository);
        assert_eq!(codes(&none.json()).len(), 4);
    }

    // The commands that take a bundle choose in the same way.
    let channel = ["--channel", "stable"];
    let pulled = sandbox.run(
        ["pull", &repository, "-o", "out"]
            .into_iter()
            .chain(channel)
            .chain(OPERATOR),
    );
    assert_eq!(chosen(&pulled), fits);
    assert!(sandbox.path("out/manifests/configmap.yaml").exists());
    let verified = sandbox.run(
        ["verify", &repository]
            .into_iter()
            .chain(channel)
            .chain(OPERATOR),
    );
    assert_eq!(chosen(&verified), fits);
    let inspected = sandbox.run(
        ["inspect", &repository, "--format", "json"]
            .into_iter()
            .chain(channel),
    );
    assert_eq!(inspected.ok().json()["version"], "3.10.0");
    let inspected = sandbox.run(
        ["inspect", &repository, "--format", "json"]
            .into_iter()
            .chain(channel)
            .chain(OPERATOR),
    );
    assert_eq!(inspected.ok().json()["digest"], fits);
    let none = [
        "pull",
        &repository,
        "-o",
        "none",
        "--operator-id",
        "prometheus",
    ];
    sandbox.run(none.into_iter().chain(channel)).assert_code(10);
    assert!(!sandbox.path("none").exists());
    let tagged = format!("{repository}:stable");
    sandbox
        .run(["pull", &tagged].into_iter().chain(channel))
        .assert_code(2);
}

#[test]
fn an_answer_costs_two_requests_and_an_unchanged_one_a_look_at_a_tag() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    let [_, fits, _] = push(
        &sandbox,
        &repository,
        [("1.0.0", "1.0.0"), ("2.0.0", "1.0.0"), ("3.0.0", "9.0.0")],
    );
    let add = ["channel", "add", &repository, "stable", "1.0.0", "2.0.0"];
    sandbox.run(add).ok();
    let counted = |more: &[&str]| {
        registry.mark();
        let ran = resolve(&sandbox, &repository, more);
        assert_eq!(chosen(&ran), fits);
        registry.quiet();
        let log = registry.log();
        log.iter()
            .map(|line| {
                line.split_whitespace()
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect::<Vec<_>>()
    };
    let channel = ["--channel", "stable"];
    let path = |rest: &str| format!("/v2/etcd/{rest}");
    assert_eq!(
        counted(&channel),
        [
            format!("GET {}", path("manifests/channel-stable")),
            format!("GET {}", path(&format!("manifests/{fits}")))
        ]
    );
    assert_eq!(
        counted(&[&channel[..], &["--known", &fits]].concat()),
        [format!("HEAD {}", path("manifests/stable"))]
    );
    // By tags: the list, the newest, and then the next ones at once, as many as were asked when one fits.
    let by_tags = counted(&OPERATOR);
    assert!((3..=4).contains(&by_tags.len()), "{by_tags:?}");
    assert!(by_tags[0].contains("tags/list") && by_tags[1].contains("manifests/3.0.0"));
    let known = counted(&["--version", "^2", "--known", &fits]);
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(known[0].contains("tags/list") && known[1].starts_with("HEAD"));
}

#[test]
fn who_asks_again_for_pre_releases_hears_of_the_next_one() {
    let sandbox = Sandbox::new();
    let all = [
        ("4.0.0", "1.0.0"),
        ("4.1.0-rc.1", "1.0.0"),
        ("4.0.1", "1.0.0"),
    ];
    let [release, pre, fix] = push(&sandbox, "oci:store", all);
    let change = |words: &[&str]| {
        let words = [&["channel"], words].concat();
        sandbox.run(&words)
    };
    change(&["add", "oci:store", "stable", "4.0.0"]).ok();
    change(&["add", "oci:store", "stable", "4.1.0-rc.1"]).ok();
    let again = |more: &[&str]| {
        let known = ["--channel", "stable", "--known", &release];
        resolve(&sandbox, "oci:store", &[&known[..], more].concat())
    };
    assert_eq!(chosen(&again(&[])), release);
    assert_eq!(chosen(&again(&["--pre"])), pre);
    assert_eq!(chosen(&again(&["--version", ">=4.1.0-rc.0"])), pre);
    // Whoever leaves the head decides for those who ask again with it, and is told so.
    let says = "channel `stable` has another newest bundle, and the tag `stable` still points at";
    change(&["add", "oci:store", "stable", "4.0.1", "--no-head"])
        .ok()
        .assert_stderr_has(says);
    assert_eq!(chosen(&again(&[])), release);
    assert_eq!(chosen(&again(&["--pre"])), pre);
    let first = resolve(&sandbox, "oci:store", &["--channel", "stable"]);
    assert_eq!(chosen(&first), fix);
    let moved = change(&["sync", "oci:store"]);
    assert!(!moved.ok().stderr().contains(says), "{moved}");
    assert_eq!(chosen(&again(&[])), fix);
}

#[test]
fn what_was_not_asked_is_said_to_be_unchecked() {
    let sandbox = Sandbox::new();
    push(&sandbox, "oci:store", [("1.0.0", "1.0.0")]);
    sandbox
        .run(["channel", "add", "oci:store", "stable", "1.0.0"])
        .ok();
    let id = "not checked: the bundle is meant for etcd-manager (--operator-id)";
    let minimum = "not checked: the bundle needs its operator at version 1.0.0 or later";
    for command in [
        &["resolve"][..],
        &["render"],
        &["pull", "--force", "-o", "out"],
        &["verify"],
    ] {
        let ask = |more: &[&str]| {
            let channel = ["oci:store", "--channel", "stable"];
            sandbox.run(command.iter().chain(&channel).chain(more).copied())
        };
        for (more, says_id, says_minimum) in [
            (&[][..], true, true),
            (&OPERATOR[..2], false, true),
            (&OPERATOR[2..], true, false),
            (&OPERATOR[..], false, false),
        ] {
            let ran = ask(more);
            let said = (
                ran.ok().stderr().contains(id),
                ran.stderr().contains(minimum),
            );
            assert_eq!(said, (says_id, says_minimum), "{command:?} {more:?} {ran}");
        }
    }
}

#[test]
fn the_reference_that_was_printed_is_known_and_one_of_another_repository_is_not() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    for place in [&*repository, "oci:store"] {
        push(&sandbox, place, [("1.0.0", "1.0.0")]);
        sandbox
            .run(["channel", "add", place, "stable", "1.0.0"])
            .ok();
        let channel = ["--channel", "stable", "--format", "json"];
        let first = resolve(&sandbox, place, &channel).ok().json();
        let printed = first["reference"].as_str().unwrap();
        let known = [&channel[..], &["--known", printed]].concat();
        let again = resolve(&sandbox, place, &known).ok().json();
        assert_eq!(again["isKnown"], true, "{again}");
        assert_eq!(again["reference"], printed);
        registry.mark();
        for (known, words) in [
            (
                printed
                    .replace("etcd@", "other@")
                    .replace("store@", "other@"),
                "of another repository",
            ),
            (printed.split('@').next().unwrap().to_owned(), "--known"),
            (format!("{place}@sha256:1"), "--known"),
        ] {
            let ran = resolve(&sandbox, place, &["--channel", "stable", "--known", &known]);
            ran.assert_code(2).assert_stderr_has(words);
            assert_eq!(registry.log(), Vec::<String>::new(), "{known}");
        }
    }
}

#[test]
fn a_command_that_finds_no_bundle_in_a_channel_says_why_once() {
    let sandbox = Sandbox::new();
    let versions: Vec<String> = (1..=12).map(|n| format!("1.{n}.0")).collect();
    for version in &versions {
        push(&sandbox, "oci:store", [(version.as_str(), "1.0.0")]);
    }
    let other = ["--operator-id", "prometheus"];
    let ask = |command: &str| {
        let channel = ["oci:store", "--channel", "stable"];
        sandbox.run([command].into_iter().chain(channel).chain(other))
    };
    let add = ["channel", "add", "oci:store", "stable"];
    sandbox.run(add.into_iter().chain(["1.1.0"])).ok();
    for command in ["render", "pull", "verify"] {
        let ran = ask(command);
        ran.assert_code(10)
            .assert_stderr_has("1.1.0: is meant for etcd-manager")
            .assert_stderr_has("the only bundle of channel `stable` of oci:store does not fit");
        assert!(!ran.stderr().contains("--explain"), "{ran}");
    }
    let all = versions.iter().map(String::as_str);
    sandbox.run(add.into_iter().chain(all)).ok();
    ask("render")
        .assert_code(10)
        .assert_stderr_has("and 2 more; `bundle resolve --explain` says all of them");
    ask("resolve")
        .assert_code(1)
        .assert_stderr_has("and 2 more; --explain says all of them");

    let named = sandbox.run(["pull", "oci:store:1.1.0", "--channel", "stable"]);
    named
        .assert_code(2)
        .assert_stderr_has("`oci:store:1.1.0` names a bundle already, and --channel chooses one");
    let none = sandbox.run(["verify", "store", "--channel", "stable"]);
    none.assert_code(2)
        .assert_stderr_has("`store` is no repository, and --channel chooses in one")
        .assert_stderr_has("HOST/REPOSITORY or oci:DIR");
    let registry = MockRegistry::plain();
    let absent = resolve(
        &sandbox,
        &registry.repository("none"),
        &["--channel", "stable"],
    );
    absent
        .assert_code(3)
        .assert_stderr_has("the repository is not there, or has no channel `stable`");
}

/// Writes a changed index under the tag of a channel.
fn lie(registry: &MockRegistry, change: impl Fn(&str) -> String) {
    let index = registry.manifest("etcd", "channel-stable").unwrap();
    let changed = change(std::str::from_utf8(&index).unwrap());
    assert_ne!(changed.as_bytes(), index);
    registry.put_manifest("etcd", "channel-stable", INDEX, changed.as_bytes());
}

#[test]
fn t_f18_a_channel_that_lies_about_a_bundle_is_not_believed() {
    for (from, to, word) in [
        ("\"9.0.0\"", "\"1.0.0\"", "minimum operator version"),
        ("\"3.0.0\"", "\"3.1.0\"", "version"),
        ("\"etcd-manager\"", "\"other\"", "operator id"),
        ("\"etcd\"", "\"zookeeper\"", "package"),
    ] {
        let registry = MockRegistry::plain();
        let sandbox = Sandbox::new();
        let repository = registry.repository("etcd");
        let [_, newest] = push(
            &sandbox,
            &repository,
            [("2.0.0", "1.0.0"), ("3.0.0", "9.0.0")],
        );
        sandbox
            .run(["channel", "add", &repository, "stable", "2.0.0", "3.0.0"])
            .ok();
        lie(&registry, |index| {
            let (head, entries) = index.split_at(index.find("\"manifests\"").unwrap());
            match word {
                "package" => head.replacen(from, to, 1) + entries,
                _ => head.to_owned() + &entries.replacen(from, to, 1),
            }
        });
        // With what the lie is told for: an old operator.
        let asked = match word {
            "minimum operator version" => &OPERATOR[2..],
            _ => &[],
        };
        let ran = resolve(
            &sandbox,
            &repository,
            &[&["--channel", "stable", "--format", "json"], asked].concat(),
        );
        let passed = ran.json()["passedOver"].as_array().unwrap().clone();
        let about = passed
            .iter()
            .find(|one| one["digest"] == newest)
            .unwrap_or_else(|| panic!("{word}{ran}"));
        assert_eq!(about["code"], "contradiction", "{word}");
        assert!(about["reason"].as_str().unwrap().contains(word), "{about}");
        let shown = sandbox.run(["channel", "show", &repository, "stable"]);
        shown.ok().assert_stdout_has("FAULT");
    }
}

#[test]
fn t_s7_a_bundle_that_is_listed_and_gone_is_passed_over_and_a_failing_registry_is_not() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    let [old, newest] = push(
        &sandbox,
        &repository,
        [("2.0.0", "1.0.0"), ("3.0.0", "1.0.0")],
    );
    sandbox
        .run(["channel", "add", &repository, "stable", "2.0.0", "3.0.0"])
        .ok();
    for (status, code, want) in [
        (404, "MANIFEST_UNKNOWN", 0),
        (403, "DENIED", 4),
        (501, "UNSUPPORTED", 5),
    ] {
        registry.clear_rules();
        registry.rule(
            on("GET", &format!("manifests/{newest}")),
            Act::Respond(Response::error(status, code, "no")),
        );
        let ran = resolve(&sandbox, &repository, &["--channel", "stable", "--explain"]);
        ran.assert_code(want);
        if want == 0 {
            assert_eq!(chosen(&ran), old);
            ran.assert_stderr_has("3.0.0: is listed and not there");
        }
    }
    registry.clear_rules();
    // Other bytes under the digest are an error: a failing registry is no reason for an older bundle.
    registry.rule(
        on("GET", &format!("manifests/{newest}")),
        Act::Respond(
            Response::new(200)
                .header("content-type", "application/vnd.oci.image.manifest.v1+json")
                .body(b"{}".to_vec()),
        ),
    );
    resolve(&sandbox, &repository, &["--channel", "stable"]).assert_code(7);
}

#[test]
fn what_is_no_channel_is_refused_by_name() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    push(&sandbox, &repository, [("1.0.0", "1.0.0")]);
    let missing = resolve(&sandbox, &repository, &["--channel", "beta"]);
    missing.assert_code(3);
    missing.assert_stderr_has("channel list");
    let manifest = registry.manifest("etcd", "1.0.0").unwrap();
    registry.put_manifest(
        "etcd",
        "channel-beta",
        "application/vnd.oci.image.manifest.v1+json",
        &manifest,
    );
    resolve(&sandbox, &repository, &["--channel", "beta"]).assert_code(11);
    sandbox
        .run(["channel", "add", &repository, "stable", "1.0.0"])
        .ok();
    let index = registry.manifest("etcd", "channel-stable").unwrap();
    registry.put_manifest("etcd", "channel-beta", INDEX, &index);
    let other = resolve(&sandbox, &repository, &["--channel", "beta"]);
    other.assert_code(11);
    other.assert_stderr_has("another channel");
}

#[test]
fn a_maintainer_moves_a_channel_without_packing_again() {
    let sandbox = Sandbox::new();
    let [first, second] = push(
        &sandbox,
        "oci:store",
        [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0")],
    );
    let channel = |arguments: &[&str]| sandbox.run(["channel"].iter().chain(arguments).copied());
    let head = || {
        let value = sandbox.run(["verify", "oci:store:stable", "--format", "json"]);
        value.ok().json()["digest"].as_str().unwrap().to_owned()
    };
    channel(&["add", "oci:store", "stable", "1.0.0"]).ok();
    let before = channel(&["list", "oci:store", "--format", "json"])
        .ok()
        .json();
    assert_eq!(before["channels"][0]["head"]["digest"], first);
    channel(&["add", "oci:store", "stable", "1.0.0"])
        .ok()
        .assert_stderr_has("already");
    channel(&["add", "oci:store", "stable", "1.1.0", "--no-head"]).ok();
    assert_eq!(head(), first, "the head was left where it was");
    channel(&["add", "oci:store", "stable", "1.1.0"]).ok();
    assert_eq!(head(), second);
    let shown = channel(&["show", "oci:store", "stable", "--format", "json"])
        .ok()
        .json();
    let versions: Vec<&Value> = shown["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["version"])
        .collect();
    assert_eq!(versions, ["1.1.0", "1.0.0"]);
    channel(&["remove", "oci:store", "stable", "1.1.0"]).ok();
    assert_eq!(head(), first);
    channel(&["remove", "oci:store", "stable", "9.9.9"]).assert_code(3);
    // The tag outlives what is in the channel, and whoever follows it is to know.
    let emptied = channel(&["remove", "oci:store", "stable", "1.0.0"]);
    emptied.ok().assert_stderr_has(&format!(
        "warning: channel `stable` is empty, and the tag `stable` still points at {first}"
    ));
    emptied.assert_stderr_has("resolve --known");
    channel(&["add", "oci:store", "stable", "1.0.0"]).ok();
    channel(&["add", "oci:store", "stable", "9.9.9"]).assert_code(3);
    channel(&["add", "oci:store", "Stable", "1.0.0"]).assert_code(2);
    bundle_dir(sandbox.path("other"), "zookeeper", "5.0.0", None);
    sandbox.run(["push", "other", "oci:store"]).ok();
    channel(&["add", "oci:store", "stable", "5.0.0"]).assert_code(13);
    // A push can do it on the way.
    bundle_dir(sandbox.path("next"), "etcd", "1.2.0", None);
    let pushed = sandbox.run([
        "push",
        "next",
        "oci:store",
        "--channel",
        "stable",
        "--channel",
        "beta",
    ]);
    let next = answer(&pushed).split_once('@').unwrap().1;
    assert_eq!(head(), next);
    let listed = channel(&["list", "oci:store"]);
    assert_eq!(
        listed.ok().stdout(),
        "beta    1.2.0  1 bundle\nstable  1.2.0  2 bundles\n"
    );
}

#[test]
fn a_push_into_a_channel_that_cannot_take_it_sends_nothing() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    push(&sandbox, &repository, [("1.0.0", "1.0.0")]);
    sandbox
        .run(["channel", "add", &repository, "stable", "1.0.0"])
        .ok();
    bundle_dir(sandbox.path("other"), "zookeeper", "5.0.0", None);
    registry.mark();
    let push = ["push", "other", &repository, "--channel", "stable"];
    let ran = sandbox.run(push);
    ran.assert_code(13)
        .assert_stderr_has(&format!(
            "{repository}: channel `stable` holds bundles of another package: expected etcd, found zookeeper"
        ))
        .assert_stderr_has("hint: use a repository of its own");
    let log = registry.log();
    let asks = |line: &String| line.starts_with("GET") || line.starts_with("HEAD");
    assert!(log.iter().all(asks), "nothing is sent: {log:?}");

    // A dry run asks nothing, and says so.
    registry.mark();
    let dry = sandbox.run(push.iter().chain(&["--dry-run"]).copied());
    dry.ok()
        .assert_stderr_has("would set the tag 5.0.0")
        .assert_stderr_has(
            "move the tag channel-stable and, for the newest release, the tag stable",
        )
        .assert_stderr_has(&format!("{repository} was not asked"));
    assert_eq!(registry.log(), Vec::<String>::new());

    // A channel that is named twice is changed once.
    bundle_dir(sandbox.path("next"), "etcd", "2.0.0", None);
    let twice = ["--channel", "stable", "--channel", "stable"];
    let ran = sandbox.run(["push", "next", &repository].into_iter().chain(twice));
    assert_eq!(ran.ok().stderr().matches("added 2.0.0").count(), 1, "{ran}");
}

#[test]
fn a_push_says_how_a_bundle_gets_into_the_channels_that_it_names() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "etcd", "1.0.0", None);
    let push = ["push", "in", "oci:store", "--channels", "beta,stable"];
    let says = "its metadata name the channels beta, stable, and a push alone changes no channel: `bundle channel sync oci:store` puts it in";
    for more in [&["--dry-run"][..], &[]] {
        let ran = sandbox.run(push.iter().chain(more).copied());
        ran.ok().assert_stderr_has(says);
    }
    for more in [&[][..], &["--channel", "beta"], &["--tag", "other"]] {
        let again = sandbox.run(push.iter().chain(more).copied());
        assert!(!again.ok().stderr().contains("channel sync"), "{again}");
    }
    let next = ["push", "in", "oci:next", "--channels", "beta,stable"];
    let ran = sandbox.run(next.iter().chain(&["--channel", "beta"]).copied());
    ran.ok()
        .assert_stderr_has("its metadata name the channel stable, and a push alone");
}

#[test]
fn sync_makes_channels_from_what_bundles_say_and_then_changes_nothing() {
    let sandbox = Sandbox::new();
    for (version, channels) in [("1.0.0", "stable,beta"), ("1.1.0", "beta"), ("1.2.0", "")] {
        bundle_dir(sandbox.path(version), "etcd", version, None);
        let arguments = ["push", version, "oci:store"];
        let more = if channels.is_empty() {
            vec![]
        } else {
            vec!["--channels", channels]
        };
        sandbox.run(arguments.into_iter().chain(more)).ok();
    }
    sandbox
        .run(["channel", "add", "oci:store", "stable", "1.2.0"])
        .ok();
    let shown = sandbox.run(["channel", "show", "oci:store", "stable"]);
    shown.ok().assert_stderr_has("channel sync");
    let first = sandbox
        .run(["channel", "sync", "oci:store", "--format", "json"])
        .ok()
        .json();
    let versions = |value: &Value| {
        let all = value.as_array().unwrap().iter();
        all.map(|one| one["version"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(versions(&first["channels"][0]["added"]), ["1.1.0", "1.0.0"]);
    assert_eq!(versions(&first["channels"][1]["added"]), ["1.0.0"]);
    let count = |value: &Value| {
        let channels = value["channels"].as_array().unwrap();
        channels
            .iter()
            .map(|c| (c["name"].clone(), c["bundles"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        count(&first),
        [(json!("beta"), json!(2)), (json!("stable"), json!(2))]
    );
    let again = sandbox
        .run(["channel", "sync", "oci:store", "--format", "json"])
        .ok()
        .json();
    let digests = |value: &Value| {
        let all = value["channels"].as_array().unwrap().iter();
        all.map(|one| one["digest"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(digests(&again), digests(&first));
    assert_eq!(count(&again), count(&first));
    for one in again["channels"].as_array().unwrap() {
        assert_eq!(one["written"], false);
        assert_eq!(one["added"], json!([]));
    }
}

#[test]
fn a_writer_that_comes_between_is_a_conflict() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    let [first, _] = push(
        &sandbox,
        &repository,
        [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0")],
    );
    sandbox
        .run(["channel", "add", &repository, "stable", "1.0.0"])
        .ok();
    // Before the write, somebody else's index is under the tag.
    registry.rule(
        on("HEAD", "manifests/channel-stable"),
        Act::Respond(
            Response::new(200)
                .header("docker-content-digest", &first)
                .header("content-type", INDEX),
        ),
    );
    registry.mark();
    let ran = sandbox.run(["channel", "add", &repository, "stable", "1.1.0"]);
    ran.assert_code(13);
    ran.assert_stderr_has("run the command again");
    assert!(
        registry.log().iter().all(|line| !line.starts_with("PUT")),
        "nothing was written"
    );
}

#[test]
fn to_others_a_channel_is_an_index_of_images_and_its_head_an_image() {
    let registry = DockerRegistry::local();
    let sandbox = Sandbox::new();
    let repository = registry.repository("others");
    let [_, newest] = push(
        &sandbox,
        &repository,
        [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0")],
    );
    let added = sandbox.run(["channel", "add", &repository, "stable", "1.0.0", "1.1.0"]);
    let index = chosen(&added).to_owned();
    let from = format!("docker://{repository}:channel-stable");
    let mirror = registry.repository("mirror");
    let to = format!("docker://{mirror}:channel-stable");
    let copy = [
        "copy",
        "--all",
        "--preserve-digests",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
    ];
    sandbox.skopeo(copy.into_iter().chain([&*from, &*to])).ok();
    let resolved = resolve(
        &sandbox,
        &mirror,
        &["--channel", "stable", "--format", "json"],
    );
    assert_eq!(resolved.ok().json()["digest"], newest);
    let raw = sandbox.skopeo(["inspect", "--raw", "--tls-verify=false", &*to]);
    assert_eq!(sha256(raw.ok().stdout_bytes()), index);
    // Clients that cannot choose take the head.
    let head = format!("docker://{repository}:stable");
    let raw = sandbox.skopeo(["inspect", "--raw", "--tls-verify=false", &*head]);
    assert_eq!(sha256(raw.ok().stdout_bytes()), newest);
    // Our own copy takes the channel with its bundles along.
    let ours = registry.repository("ours");
    let (from, to) = (
        format!("{repository}:channel-stable"),
        format!("{ours}:channel-stable"),
    );
    assert_eq!(chosen(&sandbox.run(["copy", &from, &to])), index);
    let resolved = resolve(
        &sandbox,
        &ours,
        &["--channel", "stable", "--version", "1.0.0"],
    );
    resolved.ok();
}

#[test]
fn a_manifest_that_says_a_wrong_size_stops_nobody() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    let [_, newest] = push(
        &sandbox,
        &repository,
        [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0")],
    );
    let manifest = registry.manifest("etcd", "1.1.0").unwrap();
    let mut lying: Value = serde_json::from_slice(&manifest).unwrap();
    // Without annotations the labels are asked for, and so the config.
    lying.as_object_mut().unwrap().remove("annotations");
    let size = lying["config"]["size"].as_u64().unwrap();
    lying["config"]["size"] = json!(size + 1);
    let media_type = lying["mediaType"].as_str().unwrap().to_owned();
    registry.put_manifest("etcd", "99.0.0", &media_type, lying.to_string().as_bytes());
    let asked = [&OPERATOR[..], &["--explain"]].concat();
    let ran = resolve(&sandbox, &repository, &asked);
    assert_eq!(chosen(&ran), newest);
    ran.assert_stderr_has("99.0.0: ")
        .assert_stderr_has("size of the blob");
    sandbox.run(["channel", "sync", &repository]).ok();
}
