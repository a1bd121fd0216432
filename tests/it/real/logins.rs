//! Passwords and certificates, as a user meets them.

use crate::support::{Certs, DockerRegistry, PASSWORD, Sandbox, Snapshot, USER};

use super::{answer, assert_pulled, etcd};

/// A registry that wants both, and a sandbox that must not tell the password.
fn guarded() -> (DockerRegistry, Sandbox, String) {
    let registry = DockerRegistry::htpasswd_tls();
    let sandbox = Sandbox::new();
    sandbox.secret(PASSWORD);
    etcd(&sandbox, "1.0.0");
    let ca = registry.ca_file().to_str().unwrap().to_owned();
    (registry, sandbox, ca)
}

#[test]
fn a_login_is_kept_used_and_forgotten() {
    let (registry, sandbox, ca) = guarded();
    let host = registry.host();
    let repository = registry.repository("login");
    let push = ["push", "etcd", &repository, "--ca-file", &ca];
    let before = Snapshot::of(sandbox.home());
    let anonymous = sandbox.run(push);
    anonymous.assert_code(4);
    anonymous.assert_stderr_has(&format!("bundle login {host}"));

    let login = [
        "login",
        host,
        "-u",
        USER,
        "--password-stdin",
        "--ca-file",
        &ca,
    ];
    let wrong = sandbox.bundle(login).stdin("not the password").run();
    wrong.assert_code(4);
    before.assert_same(sandbox.home());

    // One newline at the end is `echo`'s, not the password's.
    let right = sandbox.bundle(login).stdin(format!("{PASSWORD}\n")).run();
    right.ok().assert_stderr_has(host);
    assert_eq!(right.stdout(), "");
    let pushed = sandbox.run(push);
    assert!(answer(&pushed).starts_with(&repository));
    let reference = format!("{repository}:1.0.0");
    sandbox
        .run(["pull", &reference, "-o", "out", "--ca-file", &ca])
        .ok();
    assert_pulled(&sandbox, "out");

    sandbox.run(["logout", host]).ok();
    let config = std::fs::read_to_string(sandbox.home().join(".docker/config.json"));
    assert!(!config.unwrap().contains(host));
    sandbox
        .run(["verify", &reference, "--ca-file", &ca])
        .assert_code(4);
    // Twice is no fault, but it is said.
    sandbox
        .run(["logout", host])
        .ok()
        .assert_stderr_has("no login");
}

#[test]
fn flags_win_over_what_is_stored() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let (registry, sandbox, ca) = guarded();
    let repository = registry.repository("flags");
    let auth = STANDARD.encode(format!("{USER}:out of date"));
    let config = format!(
        r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#,
        registry.host()
    );
    let file = sandbox.home().join(".docker/config.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, &config).unwrap();
    let push = ["push", "etcd", &repository, "--ca-file", &ca];
    let stored = sandbox.run(push);
    // It is said where the wrong one came from.
    stored.assert_code(4).assert_stderr_has("config.json");
    let with_flags = push.into_iter().chain(["-u", USER, "--password-stdin"]);
    sandbox.bundle(with_flags).stdin(PASSWORD).run().ok();
    let by_environment = [
        "verify",
        &format!("{repository}:1.0.0"),
        "--ca-file",
        &ca,
        "-u",
        USER,
    ];
    sandbox
        .bundle(by_environment)
        .env("BUNDLE_PASSWORD", PASSWORD)
        .run()
        .ok();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), config);
}

#[test]
fn a_certificate_of_a_stranger_is_refused() {
    let registry = DockerRegistry::tls();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("tls");
    let reference = format!("{repository}:1.0.0");
    let stranger = sandbox.write("stranger.crt", Certs::new().ca);
    let stranger = stranger.to_str().unwrap();
    registry.mark();
    for words in [
        ["push", "etcd", &repository, "--ca-file", stranger],
        ["verify", &reference, "-q", "--ca-file", stranger],
        ["list", &repository, "-q", "--ca-file", stranger],
    ] {
        let ran = sandbox.run(words);
        ran.assert_code(5)
            .assert_stderr_has("hint: ")
            .assert_stderr_has("--ca-file");
    }
    assert!(registry.requests().is_empty());

    let insecure = sandbox.run(["push", "etcd", &repository, "--insecure"]);
    insecure.ok().assert_stderr_has("not verified");
    let ca = registry.ca_file();
    sandbox
        .run(["verify", &reference, "--ca-file", ca.to_str().unwrap()])
        .ok();
}

#[test]
fn a_registry_that_speaks_tls_is_recognised_on_a_plain_connection() {
    let registry = DockerRegistry::tls();
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    // This machine's registries are spoken to in plain HTTP unless a flag makes sense with TLS only.
    let ran = sandbox.run(["push", "etcd", &registry.repository("plain")]);
    ran.assert_code(6)
        .assert_stderr_has("HTTPS")
        .assert_stderr_has("--ca-file");
}

#[test]
fn a_registry_is_reached_over_ipv6() {
    let Some(registry) = DockerRegistry::ipv6() else {
        eprintln!("this machine has no [::1], so that nothing can be reached there");
        return;
    };
    let sandbox = Sandbox::new();
    etcd(&sandbox, "1.0.0");
    let repository = registry.repository("six");
    assert!(repository.starts_with("[::1]:"));
    let pushed = sandbox.run(["push", "etcd", &repository]);
    assert!(answer(&pushed).starts_with(&format!("{repository}@sha256:")));
    // The pinned reference is one that is read again.
    assert_eq!(
        answer(&sandbox.run(["pull", answer(&pushed), "-o", "out"])),
        answer(&pushed)
    );
    assert_pulled(&sandbox, "out");
    let copy = registry.repository("copy");
    let copied = sandbox.run(["copy", &format!("{repository}:1.0.0"), &copy]);
    copied.ok().assert_stderr_has("2 mounted");
}
