//! The tags beside channels and of versions: who may move them, how they are copied, spelled and hinted at.

use serde_json::json;

use super::{chosen, push, resolve};
use crate::real::answer;
use crate::support::{MockRegistry, Sandbox, bundle_dir};

#[test]
fn the_tag_of_a_channel_is_the_channels_to_move() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    for place in [&*registry.repository("etcd"), "oci:store"] {
        let versions = [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0"), ("1.2.0", "1.0.0")];
        let [first, second, other] = push(&sandbox, place, versions);
        sandbox
            .run(["channel", "add", place, "stable", "1.0.0", "1.1.0"])
            .ok();
        let at = |version: &str| format!("{place}:{version}");
        let stable = at("stable");
        let head = || {
            let ran = sandbox.run(["verify", &stable, "--format", "json"]);
            ran.ok().json()["digest"].as_str().unwrap().to_owned()
        };
        let add = format!("`bundle channel add {place} stable {other}`");
        let words = "`stable` is the tag of a channel, and points at its newest bundle, 1.1.0";
        for attempt in [
            &["tag", &at("1.2.0"), "stable"][..],
            &["push", "in-1.2.0", place, "--tag", "stable"],
            &["push", "in-1.2.0", &stable],
            &["copy", &at("1.2.0"), &stable],
        ] {
            let ran = sandbox.run(attempt.iter().copied());
            ran.assert_code(13)
                .assert_stderr_has(words)
                .assert_stderr_has(&add)
                .assert_stderr_has("--force");
            assert_eq!(head(), second, "{ran}");
        }
        sandbox
            .run(["tag", &at("1.0.0"), "stable"])
            .assert_code(13)
            .assert_stderr_has(&format!("`bundle channel remove {place} stable VERSION…`"));
        // What the channel itself would do is no conflict, and neither is another name.
        sandbox.run(["tag", &at("1.1.0"), "stable"]).ok();
        sandbox.run(["tag", &at("1.2.0"), "tested"]).ok();
        let forced = ["tag", &at("1.0.0"), "stable", "--force"];
        sandbox.run(forced).ok();
        assert_eq!(head(), first);
        sandbox.run(["tag", &at("1.0.0"), "stable"]).ok();
        let joined = [
            "push",
            "in-1.2.0",
            place,
            "--tag",
            "stable",
            "--channel",
            "stable",
        ];
        sandbox.run(joined).ok();
        assert_eq!(head(), other);
    }
    // A layout is written by other commands too.
    let from = format!("{}:1.0.0", registry.repository("etcd"));
    for attempt in [
        &["pack", "in-1.0.0", "-o", "oci:store:stable"][..],
        &["pull", &from, "-o", "oci:store:stable"],
    ] {
        sandbox.run(attempt.iter().copied()).assert_code(13);
    }
}

#[test]
fn only_a_tag_that_could_be_a_channels_costs_a_look() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let repository = registry.repository("etcd");
    bundle_dir(sandbox.path("in"), "etcd", "1.0.0", None);
    let looks = |arguments: &[&str]| {
        registry.mark();
        sandbox.run(arguments.iter().copied()).ok();
        let log = registry.log();
        log.iter().filter(|line| line.contains("channel-")).count()
    };
    assert_eq!(looks(&["push", "in", &repository]), 0);
    let tagged = format!("{repository}:1.0.0");
    assert_eq!(looks(&["tag", &tagged, "v1.0.0", "Other", "a.b"]), 0);
    assert_eq!(looks(&["tag", &tagged, "latest"]), 1);
}

#[test]
fn what_only_pre_releases_would_answer_is_hinted_at() {
    let sandbox = Sandbox::new();
    let versions = [("1.3.0-rc.1", "1.0.0"), ("1.3.0-rc.2", "1.0.0")];
    push(&sandbox, "oci:store", versions);
    sandbox
        .run(["channel", "add", "oci:store", "alpha", "1.3.0-rc.1"])
        .ok();
    let hint = "hint: --pre takes the pre-release into account";
    let alpha = ["--channel", "alpha"];
    let ran = resolve(&sandbox, "oci:store", &alpha);
    ran.assert_code(1).assert_stderr_has(hint);
    resolve(&sandbox, "oci:store", &[])
        .assert_code(1)
        .assert_stderr_has("hint: --pre takes the 2 pre-releases into account");
    for command in ["render", "verify", "inspect"] {
        let ran = sandbox.run([command, "oci:store"].into_iter().chain(alpha));
        ran.assert_code(10).assert_stderr_has(hint);
    }
    resolve(&sandbox, "oci:store", &["--channel", "alpha", "--pre"]).ok();
    let other = ["--channel", "alpha", "--pre", "--operator-id", "other"];
    let ran = resolve(&sandbox, "oci:store", &other);
    ran.assert_code(1);
    assert!(!ran.stderr().contains("hint"), "{ran}");
}

#[test]
fn a_version_is_listed_as_it_is_had_and_hinted_at_where_it_is_written_otherwise() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    for place in [&*registry.repository("etcd"), "oci:store"] {
        for (version, tag) in [("0.15.3", ":v0.15.3"), ("0.16.0+b.1", ""), ("0.17.0", "")] {
            let directory = format!("in-{version}");
            bundle_dir(sandbox.path(&directory), "etcd", version, None);
            let to = format!("{place}{tag}");
            sandbox.run(["push", &directory, &to]).ok();
        }
        let listed = sandbox.run(["list", place]);
        assert_eq!(listed.ok().stdout(), "0.17.0\n0.16.0+b.1\nv0.15.3\n");
        for line in listed.stdout().lines() {
            let there = format!("{place}:{line}");
            sandbox.run(["verify", &there]).ok();
        }
        for (asked, there) in [
            ("0.15.3", "v0.15.3"),
            ("v0.16.0+b.1", "0.16.0_b.1"),
            ("v0.17.0", "0.17.0"),
        ] {
            let hint = format!("the version is there with another tag: `{place}:{there}`");
            let asked = format!("{place}:{asked}");
            for command in [
                &["pull", &asked][..],
                &["inspect", &asked],
                &["tag", &asked, "other"],
                &["copy", &asked, "oci:other"],
            ] {
                let ran = sandbox.run(command.iter().copied());
                ran.assert_code(3).assert_stderr_has(&hint);
            }
        }
    }
    registry.mark();
    let missing = format!("{}:9.9.9", registry.repository("etcd"));
    sandbox.run(["inspect", &missing]).assert_code(3);
    let log = registry.log();
    assert_eq!(log.len(), 2, "one look more after the 404: {log:?}");
    assert!(log[1].starts_with("HEAD") && log[1].contains("v9.9.9"));
}

#[test]
fn a_channel_is_copied_with_its_tags_and_inspected() {
    let registry = MockRegistry::plain();
    let sandbox = Sandbox::new();
    let (from, to) = (registry.repository("etcd"), registry.repository("mirror"));
    let versions = [("1.0.0", "1.0.0"), ("1.1.0", "1.0.0"), ("1.2.0", "1.0.0")];
    let [first, second, _] = push(&sandbox, &from, versions);
    let add = ["channel", "add", &from, "stable", "1.0.0", "1.1.0"];
    let index = chosen(&sandbox.run(add)).to_owned();
    let tagged = format!("{from}:channel-stable");
    let plain = sandbox.run(["copy", &tagged, "one.tar"]);
    plain.ok().assert_stderr_has("--channel-tags sets them");
    let copied = sandbox.run(["copy", "one.tar", &to, "--channel-tags"]);
    assert_eq!(chosen(&copied), index);
    let list = sandbox.run(["list", &to]);
    assert_eq!(list.ok().stdout(), "1.1.0\n1.0.0\nchannel-stable\nstable\n");
    for (tag, digest) in [("1.0.0", &first), ("1.1.0", &second), ("stable", &second)] {
        let tagged = format!("{to}:{tag}");
        assert_eq!(chosen(&sandbox.run(["verify", &tagged])), digest);
    }
    sandbox.run(["copy", &tagged, &to, "--channel-tags"]).ok();
    // A version that is another bundle there is known before anything is sent.
    bundle_dir(sandbox.path("other"), "etcd", "1.0.0", None);
    let pushed = sandbox.run(["push", "other", "oci:third"]);
    answer(&pushed);
    let conflict = sandbox.run(["copy", &tagged, "oci:third", "--channel-tags"]);
    conflict.assert_code(13);
    let list = sandbox.run(["list", "oci:third"]);
    assert_eq!(list.ok().stdout(), "1.0.0\n");
    sandbox
        .run(["copy", &tagged, "oci:third", "--channel-tags", "--force"])
        .ok();
    let no_channel = format!("{from}:1.0.0");
    sandbox
        .run(["copy", &no_channel, "oci:third", "--channel-tags"])
        .assert_code(2);

    let inspected = sandbox.run(["inspect", &tagged]);
    inspected
        .ok()
        .assert_stdout_has("channel stable of the package etcd\n1.1.0  sha256:");
    let inspected = sandbox.run(["inspect", &tagged, "--format", "json"]);
    let value = inspected.ok().json();
    assert_eq!(
        (&value["name"], &value["digest"]),
        (&json!("stable"), &json!(index))
    );
    assert_eq!(value["entries"][1]["digest"], first);
    sandbox
        .run(["verify", &tagged])
        .assert_code(11)
        .assert_stderr_has(
            "it is a channel: `bundle resolve REPOSITORY --channel stable` chooses a bundle in it",
        );
}

#[test]
fn what_a_channel_flag_takes_and_an_export_cannot_is_said() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "etcd", "1.0.0", None);
    bundle_dir(sandbox.path("next"), "etcd", "1.1.0+b.1", None);
    for command in [
        &["push", "in", "oci:store"][..],
        &["channel", "export", "oci:store", "out"],
    ] {
        let ran = sandbox.run(command.iter().chain(&["--channel", "beta,stable"]).copied());
        ran.assert_code(2)
            .assert_stderr_has("give the flag once for each: `--channel beta --channel stable`");
    }
    for (directory, channel) in [("in", "beta"), ("next", "gamma")] {
        let push = ["push", directory, "oci:store", "--channel", channel];
        sandbox.run(push).ok();
    }
    let export = |more: &[&str]| {
        let export = ["channel", "export", "oci:store", "out"];
        sandbox.run(export.iter().chain(more).copied())
    };
    export(&[])
        .assert_code(11)
        .assert_stderr_has("version 1.1.0+b.1 has `+`")
        .assert_stderr_has("`bundle channel remove oci:store gamma 1.1.0+b.1`");
    sandbox
        .run(["channel", "remove", "oci:store", "gamma", "1.1.0+b.1"])
        .ok();
    export(&[])
        .assert_code(11)
        .assert_stderr_has("version 1.1.0+b.1 has `+`")
        .assert_stderr_has("`--channel beta` exports that channel");
    export(&["--channel", "beta"]).ok();
}
