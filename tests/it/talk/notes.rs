//! What is said beside the answer: with `--verbose`, about proxies and time that is up, and to machines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::etcd;
use crate::support::{Auth, MockRegistry, Modes, PASSWORD, Sandbox, USER};

#[test]
fn verbose_says_who_is_asked_with_which_credentials_and_what_tags_name() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    sandbox.secret(PASSWORD);
    let open = MockRegistry::plain();
    let repository = open.repository("team/etcd");
    let reference = format!("{repository}:3.5.0");
    let pushed = sandbox.run(["push", "etcd", &repository, "-v"]);
    let digest = pushed.ok().stdout().trim_end().rsplit_once('@').unwrap().1;
    pushed.assert_stderr_has(&format!("{reference} is not there\n"));
    let asking = format!("asking http://{}\n", open.host());
    for (call, resolves) in [
        (vec!["list", &repository], false),
        (vec!["verify", &reference], true),
        (vec!["pull", &reference], true),
        (vec!["copy", &reference, "oci:lay"], true),
        (vec!["resolve", &repository], true),
    ] {
        let quiet = sandbox.run(
            call.iter()
                .chain(&["--force"][..usize::from(call[0] == "pull")]),
        );
        assert!(!quiet.ok().stderr().contains("asking"), "{quiet}");
        for flag in ["-v", "-vv"] {
            let words = call.iter().copied().chain([flag]);
            let ran = sandbox.run(words);
            ran.ok().assert_stderr_has(&asking);
            assert_eq!(ran.stderr().matches("asking").count(), 1, "{ran}");
            ran.assert_stderr_has(&format!("{repository} asks for no credentials\n"));
            let is_resolved = ran.stderr().contains(&format!("{reference} is {digest}\n"));
            assert_eq!(is_resolved, resolves, "{ran}");
            assert_eq!(ran.stderr().contains("GET http"), flag == "-vv", "{ran}");
        }
    }

    let closed = MockRegistry::start(Modes {
        auth: Auth::Basic,
        ..Modes::default()
    });
    let repository = closed.repository("team/etcd");
    let asked = format!("{repository} asks for credentials: ");
    let ran = sandbox.run(["list", &repository, "-v"]);
    ran.assert_code(4)
        .assert_stderr_has(&format!("{asked}none were found"));
    let flags = ["-v", "-u", USER, "--password-stdin"];
    let call = ["push", "etcd", &repository].into_iter().chain(flags);
    let ran = sandbox.bundle(call).stdin(PASSWORD).run();
    ran.ok()
        .assert_stderr_has(&format!("{asked}found in --username\n"));
    let pair = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let config = format!(
        r#"{{"auths": {{"{}": {{"auth": "{pair}"}}}}}}"#,
        closed.host()
    );
    sandbox.write("config.json", config);
    sandbox
        .run([
            "list",
            &repository,
            "-v",
            "--registry-config",
            "config.json",
        ])
        .ok()
        .assert_stderr_has(&format!("{asked}found in `config.json`, entry "));
}

#[test]
fn a_proxy_is_named_with_where_it_was_set_also_when_time_is_up() {
    let sandbox = Sandbox::new();
    sandbox.secret("hunter2");
    // Nobody listens there any more.
    let host = MockRegistry::plain().host().to_owned();
    for (name, call, scheme) in [
        ("HTTPS_PROXY", vec![], "https"),
        ("https_proxy", vec![], "https"),
        ("ALL_PROXY", vec![], "https"),
        ("HTTP_PROXY", vec!["--plain-http"], "http"),
    ] {
        let list = ["list", "registry.invalid/a", "--timeout", "1s"];
        let run = |more: &[&str]| {
            let words = list.iter().chain(&call).chain(more);
            let set = sandbox.bundle(words);
            let ran = set.env(name, format!("http://u:hunter2@{host}")).run();
            ran.assert_code(5);
            ran
        };
        let proxy = format!("the proxy http://{host} (from {name})");
        let failed = format!("{scheme}://registry.invalid: {proxy}: the connection is refused");
        let why = format!(
            "registry.invalid/a: not done after 1 s (--timeout); the last failure: registry.invalid/a: {failed}"
        );
        let ran = run(&["-q"]);
        assert_eq!(ran.stderr(), format!("error: {why}\n"), "{ran}");
        let ran = run(&["-v"]);
        ran.assert_stderr_has(&format!(
            "asking {scheme}://registry.invalid through {proxy}\n"
        ));
        let ran = run(&["--format", "json"]);
        let document: serde_json::Value = serde_json::from_str(ran.stderr()).unwrap();
        assert_eq!(document["error"]["message"], why, "{ran}");
        let notes = document["error"]["notes"].as_array().unwrap();
        let note = notes[0].as_str().unwrap();
        assert!(note.starts_with("retrying in "), "{ran}");
    }
}

#[test]
fn an_error_for_machines_is_all_there_is_and_has_what_was_said_before_it() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    sandbox.write("etcd/manifests/a.yaml~", "not carried");
    sandbox.write("etcd.tar", "something else");
    for format in ["json", "yaml"] {
        let call = ["pack", "etcd", "-o", "etcd.tar", "--format", format];
        let ran = sandbox.run(call);
        let document: serde_json::Value = serde_json::from_str(ran.stderr()).unwrap();
        let notes = document["error"]["notes"].to_string();
        assert!(notes.contains("a.yaml~"), "{ran}");
        // Whoever asks for more is watching.
        let ran = sandbox.run(call.into_iter().chain(["-v"]));
        assert!(ran.stderr().lines().count() > 1, "{ran}");
        assert!(ran.error_json()["notes"].is_null(), "{ran}");
        let ran = sandbox.run(call.into_iter().chain(["-q"]));
        assert!(ran.error_json()["notes"].is_null(), "{ran}");
    }
    let ran = sandbox.run(["pack", "etcd", "-o", "other.tar", "--format", "json"]);
    assert_eq!(ran.json()["package"], "etcd");
    ran.ok().assert_stderr_has("a.yaml~");
}
