//! What the command says to people, on a terminal and elsewhere.

mod answers;
mod notes;

use std::fmt::Write as _;

use crate::support::{Auth, MockRegistry, Modes, PASSWORD, Sandbox, Tls, USER};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

fn etcd(sandbox: &Sandbox) {
    sandbox.write("etcd/manifests/a.yaml", CONFIG_MAP);
    sandbox.write(
        "etcd/metadata/annotations.yaml",
        "annotations:\n  k8s.io.bundle.package.v1: etcd\n  k8s.io.bundle.version.v1: \"3.5.0\"\n  \
        k8s.io.bundle.operator.id.v1: etcd-manager\n  k8s.io.bundle.operator.min-version.v1: \"1.4.0\"\n",
    );
}

#[test]
fn many_findings_end_with_their_number_and_give_each_hint_once() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: A_b\n---\n";
    sandbox.write("etcd/manifests/b.yaml", bad.repeat(3));
    let ran = sandbox.run(["pack", "etcd"]);
    ran.assert_code(11);
    let last = ran
        .stderr()
        .lines()
        .find(|line| line.starts_with("error: "))
        .unwrap();
    let errors = ran.stderr().matches(": error: ").count();
    assert!(errors > 1, "{ran}");
    assert_eq!(last, format!("error: {errors} errors; not packed"), "{ran}");
    let hints: Vec<&str> = ran
        .stderr()
        .lines()
        .filter(|line| line.starts_with("  hint: "))
        .collect();
    let mut unique = hints.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(hints.len(), unique.len(), "{ran}");

    sandbox.write(
        "etcd/manifests/b.yaml",
        "apiVersion: v1\nmetadata:\n  name: b\n",
    );
    let ran = sandbox.run(["pack", "etcd"]);
    ran.assert_code(11);
    let error = ran
        .stderr()
        .lines()
        .find(|line| line.starts_with("error: "))
        .unwrap();
    assert!(error.contains('[') && error.ends_with(']'), "no code{ran}");
    sandbox
        .run(["validate", "etcd"])
        .assert_code(1)
        .assert_stderr_has("1 error, 0 warnings, 0 notes");
}

#[test]
fn what_was_done_is_said_with_the_names_that_it_has_now() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let registry = MockRegistry::plain();
    let repository = registry.repository("team/etcd");
    let pushed = sandbox.run(["push", "etcd", &repository, "--tag", "latest"]);
    let pinned = pushed.ok().stdout().trim_end().to_owned();
    let digest = pinned.rsplit_once('@').unwrap().1.to_owned();
    pushed.assert_stderr_has(&format!(
        "pushed {repository}:3.5.0, {repository}:latest ({digest})"
    ));
    let reference = format!("{repository}:3.5.0");
    sandbox
        .run(["tag", &reference, "stable"])
        .ok()
        .assert_stderr_has(&format!("tagged {repository}:stable ({digest})"));
    let copied = sandbox.run(["copy", &reference, "oci:lay:foo"]);
    copied.ok().assert_stderr_has("written (");
    copied.assert_stderr_has(&format!("copied to oci:lay:foo ({digest})"));
    assert_eq!(copied.stdout(), format!("oci:lay:foo@{digest}\n"));
    sandbox.run(["verify", copied.stdout().trim_end()]).ok();

    let asked = sandbox.run(["verify", &reference, "--operator-id", "etcd-manager"]);
    asked
        .ok()
        .assert_stderr_has("not checked: the bundle needs its operator at version 1.4.0");
    let pull = ["pull", &reference, "--operator-id", "etcd-manager"];
    sandbox
        .run(pull)
        .ok()
        .assert_stderr_has("--operator-version");
    let told = [
        "verify",
        &reference,
        "--operator-id",
        "etcd-manager",
        "--operator-version",
        "1.4.0",
    ];
    assert!(!sandbox.run(told).ok().stderr().contains("not checked"));
}

#[test]
fn what_is_missing_is_named_whole_with_what_to_do() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let registry = MockRegistry::plain();
    let repository = registry.repository("team/etcd");
    sandbox.run(["push", "etcd", &repository]).ok();
    let missing = format!("{repository}:9.9.9");
    let ran = sandbox.run(["pull", &missing]);
    ran.assert_code(3)
        .assert_stderr_has(&format!("error: {missing}: there is no such tag"));
    ran.assert_stderr_has(&format!("bundle list {repository}"));
    let ran = sandbox.run(["pull", "etcd:3.5.0"]);
    ran.assert_code(2).assert_stderr_has("docker.io/etcd:3.5.0");
    assert!(!ran.stderr().contains("unpack"), "{ran}");
    sandbox.write("etcd.tar", "");
    sandbox
        .run(["pull", "etcd.tar"])
        .assert_code(2)
        .assert_stderr_has("bundle unpack etcd.tar");
}

#[test]
fn a_login_asks_for_what_is_not_given_and_hides_the_password() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::start(Modes {
        auth: Auth::Basic,
        ..Modes::default()
    });
    let url = format!("http://{}", registry.host());
    let (user, password) = (format!("{USER}\n"), format!("{PASSWORD}\n"));
    let right = [("User name", user.as_str()), ("Password", &password)];
    sandbox.secret(PASSWORD);
    let wrong = [("User name", "user\n"), ("Password", "hunter2-wrong\n")];
    sandbox.secret("hunter2-wrong");
    let ran = sandbox.on_terminal(80, &["login", &url], &wrong);
    ran.assert_code(4)
        .assert_stdout_has("wrong user or password?");
    let ran = sandbox.on_terminal(80, &["login", &url], &right);
    ran.ok()
        .assert_stdout_has(&format!("logged in to {}", registry.host()));
    // A signal leaves a terminal on which typing is seen again.
    let ran = sandbox.on_terminal(
        80,
        &["login", &url],
        &[("User name", "user\n"), ("Password", "\u{3}")],
    );
    ran.assert_code(130)
        .assert_stdout_has("error: stopped by SIGINT");
    let path = format!("{}/team", registry.host());
    sandbox
        .run(["login", &path])
        .assert_code(2)
        .assert_stderr_has("has a path");
}

#[test]
fn pages_and_completion_are_about_every_command() {
    let sandbox = Sandbox::new();
    sandbox.run(["man", "man"]).ok();
    let page = |name: &str| std::fs::read_to_string(sandbox.path(format!("man/{name}.1"))).unwrap();
    for part in [
        "verbose",
        "format",
        "SH EXPECTATIONS",
        "SH NOTES\n.nf\nExamples:",
    ] {
        assert!(page("bundle-pull").contains(part), "{part}");
    }
    assert!(!page("bundle").contains("bundle\\-help(1)"));
    assert!(!page("bundle-pull").contains("max\\-"));
    assert!(page("bundle-limits").contains("max\\-unpacked"));
    assert!(page("bundle-channel-add").contains("no\\-head"));
    assert!(page("bundle-channel").contains("bundle\\-channel\\-add(1)"));

    let script = sandbox.run(["completion", "bash"]);
    sandbox.write("completion", script.ok().stdout());
    sandbox.write("some-file", "");
    let complete = |words: &str| {
        let script = format!(
            "source ./completion; COMP_WORDS=({words} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
            _bundle bundle '' \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[*]}}\""
        );
        let ran = sandbox.program("bash", ["--norc", "-c", &script]).run();
        ran.ok().stdout().trim_end().to_owned()
    };
    // Nothing of its own: bash completes files then.
    assert_eq!(complete("bundle pack"), "");
    assert_eq!(complete("bundle pack --package"), "");
    assert_eq!(complete("bundle pack --mediatype"), "manifests kustomize");
    assert!(complete("bundle pack -o").contains("some-file"));
    assert!(complete("bundle").contains("unpack"));
    assert!(complete("bundle help").contains("limits"));
    assert!(complete("bundle completion").contains("zsh"));
    assert!(complete("bundle channel").contains("remove"));
    assert_eq!(complete("bundle channel add"), "");
    let mut offered = script
        .stdout()
        .lines()
        .filter(|line| line.contains("opts="));
    assert!(!offered.any(|line| line.contains("--max-")));
}

#[test]
fn archives_do_not_go_to_a_terminal() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    for args in [["pack", "etcd", "-o", "-"], ["copy", "etcd.tar", "-", "-v"]] {
        let ran = sandbox.on_terminal(80, &args, &[]);
        ran.assert_code(2)
            .assert_stdout_has("an archive is not for a terminal");
    }
    let typed = format!("{CONFIG_MAP}\u{4}");
    let steps = [("reading from the terminal", typed.as_str())];
    let args = ["pack", "-", "--package", "a", "--version", "1.0.0"];
    sandbox.on_terminal(80, &args, &steps).ok();
}

#[test]
fn a_progress_line_leaves_room_and_goes_away() {
    let sandbox = Sandbox::new();
    // Seconds of work, so that it is stopped in the middle.
    let mut keys = String::new();
    for n in 0..40 {
        let _ = writeln!(keys, "  k{n}: [a, 'b', \"c\", {n}]");
    }
    let objects = format!("{CONFIG_MAP}data:\n{keys}---\n").repeat(1_500);
    for n in 0..16 {
        sandbox.write(format!("etcd/manifests/{n}.yaml"), &objects);
    }
    for columns in [20, 40, 80, 200] {
        let args = ["validate", "etcd"];
        let ran = sandbox.on_terminal(columns, &args, &[("validating", "\u{3}")]);
        ran.assert_code(130);
        let shown = ran.stdout();
        let (before, after) = shown.rsplit_once("\r\u{1b}[2K").unwrap();
        assert_eq!(after.trim_end(), "error: stopped by SIGINT", "{ran}");
        for line in before.split(['\r', '\n']) {
            let line = line.replace("\u{1b}[2K", "");
            let line = line.split("^C").next().unwrap().chars().count();
            assert!(line <= usize::from(columns) - 3, "{line} of {columns}{ran}");
        }
    }
}

#[test]
fn packing_counts_files() {
    let sandbox = Sandbox::new();
    for n in 0..4 {
        let objects = format!("{CONFIG_MAP}---\n").repeat(2_000);
        sandbox.write(format!("etcd/manifests/{n}.yaml"), objects);
    }
    let ran = sandbox.on_terminal(80, &["validate", "etcd"], &[("/4 files", "")]);
    assert_ne!(ran.code(), 99, "no count{ran}");
    let narrow = sandbox.on_terminal(30, &["validate", "etcd"], &[]);
    assert!(!narrow.stdout().contains("/4 files"), "{narrow}");
}

#[test]
fn flags_for_both_sides_of_a_copy_leave_each_its_scheme() {
    let sandbox = Sandbox::new();
    etcd(&sandbox);
    let plain = MockRegistry::plain();
    let tls = MockRegistry::start(Modes {
        tls: Tls::On,
        ..Modes::default()
    });
    let ca = sandbox.write("ca.pem", &tls.certs().ca);
    let ca = ca.to_str().unwrap();
    let from = plain.repository("a");
    sandbox.run(["push", "etcd", &from]).ok();
    let from = format!("{from}:3.5.0");
    let to = tls.repository("b");
    let copy = ["copy", &from, &to, "--ca-file", ca];
    sandbox
        .run(copy.iter().chain(&["--to-plain-http=false"]))
        .ok();
    sandbox.run(["copy", &from, &to, "--to-ca-file", ca]).ok();
    // Without it the destination is asked over HTTP, and says what it speaks.
    let ran = sandbox.run(copy);
    assert_ne!(ran.code(), 0, "{ran}");
    let within = [
        "copy",
        &format!("{to}:3.5.0"),
        &tls.repository("c"),
        "--ca-file",
        ca,
    ];
    sandbox.run(within).ok();
}

/// Cuts digests short, as the README does.
fn shortened(text: &str) -> String {
    let mut pieces = text.split("sha256:");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_hexdigit());
        format!("{text}sha256:{}…{rest}", &piece[..8])
    })
}

/// Runs the commands of a section of the README against a registry, and compares what they say.
fn replay(section: &str, sandbox: &Sandbox, registry: &MockRegistry, digests: &mut Vec<String>) {
    let readme = include_str!("../../README.md");
    let (_, session) = readme.split_once(&format!("## {section}\n")).unwrap();
    let (session, _) = session.split_once("\n## ").unwrap();
    let lines = session.lines().filter_map(|line| match line {
        "" => Some(""),
        line => line.strip_prefix("    "),
    });
    let block = lines.collect::<Vec<_>>().join("\n");
    let block = block.replace("localhost:5000", registry.host());
    let mut steps = block.split("$ bundle ").skip(1).peekable();
    assert!(steps.peek().is_some(), "no session in the README");
    for step in steps {
        let (command, shown) = step.split_once('\n').unwrap();
        let mut command = command.to_owned();
        for digest in &*digests {
            command = command.replace(&shortened(digest), digest);
        }
        let ran = sandbox.run(command.split(' '));
        let said = format!("{}{}", ran.stderr(), ran.stdout());
        let words = said.split(|c: char| !c.is_ascii_alphanumeric() && c != ':');
        digests.extend(
            words
                .filter(|w| w.starts_with("sha256:"))
                .map(str::to_owned),
        );
        assert_eq!(shortened(&said).trim_end(), shown.trim_end(), "{ran}");
    }
}

#[test]
fn the_session_in_the_readme_is_what_happens() {
    let (sandbox, registry) = (Sandbox::new(), MockRegistry::plain());
    replay("What it looks like", &sandbox, &registry, &mut Vec::new());
}

#[test]
fn what_the_readme_shows_to_maintainers_and_operators_is_what_happens() {
    let (sandbox, registry) = (Sandbox::new(), MockRegistry::plain());
    for (version, minimum) in [("3.5.0", "1.4.0"), ("3.6.0", "1.5.0")] {
        let at = format!("channels/packages/etcd/{version}/manifest.yaml");
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: etcd\n  annotations:\n    \
            addons.k8s.io/min-operator-version: \"{minimum}\"\n"
        );
        sandbox.write(at, text);
    }
    sandbox.write("channels/stable", "manifests:\n- version: 3.5.0\n");
    let mut digests = Vec::new();
    for section in ["For maintainers", "For operators"] {
        replay(section, &sandbox, &registry, &mut digests);
    }
}
