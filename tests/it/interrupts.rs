//! Signals: heard at once whatever the command is at, told as such, and nothing is left half written.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{Act, MockRegistry, Running, Sandbox, bundle_dir, on};

/// How long a run may take to end; far less than any of the runs here would take by itself.
const SOON: Duration = Duration::from_secs(3);

/// Waits until a process listens for signals and has computed for some time.
fn working(run: &Running<'_>, ticks: u64) {
    let read = |name: &str| {
        std::fs::read_to_string(format!("/proc/{}/{name}", run.pid())).unwrap_or_default()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < deadline, "it does not begin to work");
        // The name first: the shell that starts the program may catch signals, too.
        let stat = read("stat");
        let caught = read("status")
            .lines()
            .find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok())
            .unwrap_or_default();
        // Behind the name in parentheses, times are the 12th and 13th fields.
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let used: u64 = (11..13)
            .filter_map(|n| fields.get(n)?.parse::<u64>().ok())
            .sum();
        if stat.contains("(bundle)") && caught & 0b10 != 0 && used >= ticks {
            return;
        }
        std::thread::yield_now();
    }
}

/// Stops a run and checks that it says so, soon, and leaves the working directory as it was.
#[track_caller]
fn stops(sandbox: &Sandbox, run: Running<'_>, ticks: u64, signal: Signal, name: &str, code: i32) {
    working(&run, ticks);
    let before = Instant::now();
    run.signal(signal);
    let ran = run.wait();
    let took = before.elapsed();
    assert_eq!(ran.signal(), None, "the signal was not handled{ran}");
    ran.assert_code(code);
    assert_eq!(ran.stderr(), format!("error: stopped by {name}\n"), "{ran}");
    assert!(took < SOON, "took {took:?}{ran}");
    for entry in std::fs::read_dir(sandbox.work()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(
            name == "etcd" || name == "pipe",
            "left: {}{ran}",
            name.display()
        );
    }
}

/// Writes a directory that takes long to pack; in seconds of computing, at least ten.
fn large(sandbox: &Sandbox) {
    let mut text = String::new();
    for n in 0..1500 {
        let _ = write!(
            text,
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{n}\ndata:\n"
        );
        for k in 0..40 {
            let _ = writeln!(text, "  k{k}: [\"v{n}\", 'w', {{a: b}}, 1, 2, 3]");
        }
    }
    for n in 0..16 {
        sandbox.write(
            format!("etcd/manifests/{n}.yaml"),
            text.replace("name: c", &format!("name: c{n}-")),
        );
    }
    sandbox.write(
        "etcd/metadata/annotations.yaml",
        include_str!("../../testdata/good/minimal/metadata/annotations.yaml"),
    );
}

#[test]
fn a_signal_is_heard_while_a_bundle_is_packed() {
    let sandbox = Sandbox::new();
    large(&sandbox);
    let mock = MockRegistry::plain();
    let reference = format!("{}/team/etcd", mock.host());
    for (args, signal, name, code) in [
        (&["pack", "etcd"] as &[_], Signal::INT, "SIGINT", 130),
        (&["push", "etcd", &reference], Signal::INT, "SIGINT", 130),
        (&["validate", "etcd"], Signal::TERM, "SIGTERM", 143),
        (&["pack", "etcd", "-o", "-"], Signal::TERM, "SIGTERM", 143),
    ] {
        let run = sandbox.bundle(args).spawn();
        stops(&sandbox, run, 30, signal, name, code);
    }
}

#[test]
fn a_signal_is_heard_while_stdin_is_read() {
    let sandbox = Sandbox::new();
    for args in [
        &["pack", "-", "--package", "a", "--version", "1.0.0"] as &[_],
        &["validate", "-"],
        &["unpack", "-"],
    ] {
        // A pipe that is open for writing, too, never ends.
        let run = sandbox
            .bundle(args)
            .prelude("test -p pipe || mkfifo pipe")
            .prelude("exec <>pipe")
            .spawn();
        stops(&sandbox, run, 0, Signal::INT, "SIGINT", 130);
    }
}

#[test]
fn a_command_whose_time_is_up_says_what_it_was_about() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .bundle(["validate", "-", "--timeout", "100ms"])
        .prelude("mkfifo pipe")
        .prelude("exec <>pipe")
        .run();
    ran.assert_code(5);
    assert_eq!(ran.stderr(), "error: -: not done after 0.1 s (--timeout)\n");
}

#[test]
fn an_upload_that_was_begun_is_ended_at_the_registry() {
    for (signal, arguments, code) in [
        (Some(Signal::INT), &[][..], 130),
        (Some(Signal::TERM), &[], 143),
        (None, &["--timeout", "2s"], 5),
    ] {
        let sandbox = Sandbox::new();
        bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
        let mock = MockRegistry::plain();
        mock.rule(on("PUT", "/uploads/"), Act::Stall);
        let there = mock.repository("demo");
        let call = ["push", "in", &there].into_iter();
        let run = sandbox
            .bundle(call.chain(arguments.iter().copied()))
            .spawn();
        mock.wait_for("PUT", "/uploads/");
        if let Some(signal) = signal {
            run.signal(signal);
        }
        let ran = run.wait();
        ran.assert_code(code);
        let log = mock.log();
        let ended = log
            .iter()
            .filter(|line| line.starts_with("DELETE /v2/demo/blobs/uploads/"))
            .count();
        assert!(ended > 0, "{log:#?}{ran}");
        assert_eq!(mock.open_uploads(), 0, "{log:#?}{ran}");
    }
}

#[test]
fn an_upload_that_begins_while_the_command_stops_is_ended() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    let mock = MockRegistry::plain();
    let late = Duration::from_millis(300);
    mock.rule(on("POST", "/uploads/"), Act::Delay(late));
    let run = sandbox
        .bundle(["push", "in", &mock.repository("demo")])
        .spawn();
    mock.wait_for("POST", "/uploads/");
    run.signal(Signal::TERM);
    let ran = run.wait();
    ran.assert_code(143);
    let log = mock.log();
    let is_begun = |line: &String| line.starts_with("POST ") && line.ends_with(" 202");
    assert!(log.iter().any(is_begun), "{log:#?}{ran}");
    assert_eq!(mock.open_uploads(), 0, "{log:#?}{ran}");
}
