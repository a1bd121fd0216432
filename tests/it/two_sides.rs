//! Flags and passwords of calls that reach two registries, and what else stdin may hold.

use super::support::{Auth, MockRegistry, Modes, PASSWORD, Ran, Sandbox, Tls, USER};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
const ASKED: [&str; 3] = ["-u", USER, "--password-stdin"];

fn etcd(sandbox: &Sandbox) {
    sandbox.write("etcd/manifests/a.yaml", CONFIG_MAP);
    sandbox.write(
        "etcd/metadata/annotations.yaml",
        "annotations:\n  k8s.io.bundle.package.v1: etcd\n  k8s.io.bundle.version.v1: \"3.5.0\"\n",
    );
}

fn closed(tls: Tls) -> MockRegistry {
    MockRegistry::start(Modes {
        tls,
        auth: Auth::Basic,
        ..Modes::default()
    })
}

fn with_password(sandbox: &Sandbox, words: &[&str], stdin: &[u8]) -> Ran {
    sandbox.secret(PASSWORD);
    let call = sandbox.bundle(words.iter().chain(&ASKED));
    call.stdin(stdin).run()
}

#[test]
fn one_password_is_for_both_sides() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let run = |words: &[&str]| with_password(&sandbox, words, PASSWORD.as_bytes());
    let (plain, tls) = (closed(Tls::Off), closed(Tls::On));
    let ca = sandbox.write("ca.pem", &tls.certs().ca);
    let ca = ca.to_str().unwrap();
    let from = plain.repository("a");
    run(&["push", "etcd", &from]).ok();
    let from = format!("{from}:3.5.0");
    // The same flags for both sides.
    run(&["diff", &from, &from]).ok();
    let here = plain.repository("b");
    run(&["copy", &from, &here]).ok();
    // Flags that differ, with one user.
    let to = tls.repository("c");
    let to_ca = ["--to-ca-file", ca];
    let call = [["copy", &from, &to].as_slice(), &to_ca].concat();
    run(&call).ok();
    let to = format!("{to}:3.5.0");
    let call = [["diff", &from, &to].as_slice(), &to_ca].concat();
    run(&call).ok();
    // Two users have two passwords.
    let two = ["--to-username", "other", "--to-password-stdin"];
    for command in ["copy", "diff"] {
        let call = [[command, &from, &to].as_slice(), &two].concat();
        run(&call)
            .assert_code(2)
            .assert_stderr_has("stdin holds one password, and two are asked for");
    }
}

#[test]
fn flags_for_both_sides_leave_each_its_scheme() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let (plain, tls) = (
        MockRegistry::plain(),
        MockRegistry::start(Modes {
            tls: Tls::On,
            ..Modes::default()
        }),
    );
    let ca = sandbox.write("ca.pem", &tls.certs().ca);
    let ca = ca.to_str().unwrap();
    let (from, to) = (plain.repository("a"), tls.repository("b"));
    sandbox.run(["push", "etcd", &from]).ok();
    sandbox.run(["push", "etcd", &to, "--ca-file", ca]).ok();
    let (from, to) = (format!("{from}:3.5.0"), format!("{to}:3.5.0"));
    let call = ["diff", &from, &to, "--ca-file", ca, "--to-plain-http=false"];
    sandbox.run(call).ok();
    sandbox.run(["diff", &from, &to, "--to-ca-file", ca]).ok();
}

#[test]
fn stdin_is_a_source_or_a_password() {
    let (sandbox, registry) = (Sandbox::new(), closed(Tls::Off));
    etcd(&sandbox);
    let there = registry.repository("a");
    let archive = sandbox.path("etcd.tar");
    sandbox.run(["pack", "etcd", "-o", "etcd.tar"]).ok();
    let archive = std::fs::read(archive).unwrap();
    for call in [
        ["push", "-", &there].as_slice(),
        &["copy", "-", &there],
        &["unpack", "-"],
        &["inspect", "-"],
        &["diff", &there, "-"],
        &["diff", "-", &there],
        &["images", "-"],
        &["validate", "-"],
        &["render", "-"],
        &["verify", "-"],
    ] {
        // Neither what looks like a password nor an archive is taken for it.
        for bytes in [PASSWORD.as_bytes(), &archive] {
            let ran = with_password(&sandbox, call, bytes);
            ran.assert_code(2)
                .assert_stderr_has("stdin holds the source `-`")
                .assert_stderr_has("BUNDLE_PASSWORD");
        }
    }
    assert!(registry.requests().is_empty(), "{:?}", registry.log());
    let push = sandbox.bundle(["push", "-", &there, "-u", USER]);
    push.env("BUNDLE_PASSWORD", PASSWORD)
        .stdin(archive)
        .run()
        .ok();
}
