//! Whatever a stranger writes, the terminal gets no character that it obeys, and machines get JSON that parses.
//!
//! Every field that we print is filled with every payload, and shown by the commands that print it, in each format.

mod fields;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use manifest_bundle::escape::is_unsafe;

use crate::support::{MockRegistry, Ran, Sandbox, failure};

/// What a stranger writes; those of one group stand in a field together, within what is shown of a text.
const PAYLOADS: &[&[&str]] = &[
    &[
        "\u{1b}[2J",
        "\u{1b}]0;t\u{7}",
        "\u{1b}]8;;e\u{1b}\\",
        "\u{1b}]52;c;eA\u{7}",
        "\u{1b}[31m",
        "\u{1b}c",
        "\rb",
        "\u{8}",
        "\u{7f}",
        "\u{7}",
        "\u{b}",
        "\u{c}",
        "\t",
    ],
    // A header of HTTP may hold these.
    &[
        "\u{9b}2J",
        "\u{90}q\u{9c}",
        "\u{9d}0;t\u{9c}",
        "\u{85}",
        "\u{202e}fdp",
        "\u{202a}a",
        "\u{2066}b\u{2069}",
        "\u{200f}",
        "\u{61c}",
        "\u{200b}",
        "\u{200d}",
        "\u{2060}",
        "\u{feff}",
        "\u{ad}",
        "\u{e0041}",
        "\u{2028}",
        "\u{2029}",
    ],
    &["\0b", "\nFAKE: all is well"],
    &[LONG],
];

/// Stands for a line of a MiB, which would be unhandy in this table.
const LONG: &str = "LONG";

const FORMATS: [&str; 3] = ["text", "json", "yaml"];

/// A sandbox, a registry, and the flags of the format under test.
struct Scene {
    sandbox: Sandbox,
    mock: MockRegistry,
    format: &'static str,
}

impl Scene {
    fn run(&self, words: &[&str]) -> Ran {
        let config = self.sandbox.path("config.json");
        if !config.exists() {
            std::fs::write(&config, "{}").unwrap();
        }
        let mut all = words.to_vec();
        all.extend(["--format", self.format, "-vv"]);
        let cmd = self.sandbox.bundle(all);
        cmd.env("DOCKER_CONFIG", self.sandbox.work()).run()
    }
}

/// Names what is wrong with what a run printed.
fn wrong(ran: &Ran, format: &str, payload: &str) -> Option<String> {
    for (name, bytes) in [
        ("stdout", ran.stdout_bytes()),
        ("stderr", ran.stderr_bytes()),
    ] {
        let text = String::from_utf8_lossy(bytes);
        if let Some(c) = text.chars().find(|c| *c != '\n' && is_unsafe(*c)) {
            return Some(format!("{name} holds U+{:04X}", u32::from(c)));
        }
        if text.lines().any(|line| line.starts_with("FAKE:")) {
            return Some(format!("{name} has a line of somebody else"));
        }
        let is_answer = name == "stdout" && format != "text";
        if payload.len() > 10_000 && text.len() > 100_000 && !is_answer {
            return Some(format!("{name} has {} bytes", text.len()));
        }
    }
    if format == "json" {
        let stdout = ran.stdout_bytes();
        if !stdout.is_empty() && serde_json::from_slice::<serde_json::Value>(stdout).is_err() {
            return Some("stdout is not JSON".into());
        }
        let failed = ran.stderr().lines().filter(|line| line.starts_with("{\""));
        let mut errors = failed.map(serde_json::from_str::<serde_json::Value>);
        if let Some(error) = errors.find_map(Result::err) {
            return Some(format!("the error on stderr is not JSON: {error}"));
        }
        if ran.code() > 1 && !ran.stderr().contains("{\"error\":{") {
            return Some("there is no error in JSON".into());
        }
    }
    None
}

#[test]
fn no_field_that_a_stranger_writes_steers_the_terminal() {
    let groups: Vec<String> = PAYLOADS
        .iter()
        .map(|group| {
            if *group == [LONG] {
                "x".repeat(1 << 20)
            } else {
                group.concat()
            }
        })
        .collect();
    let mut cells = Vec::new();
    for field in fields::FIELDS {
        for (n, _) in groups.iter().enumerate() {
            for format in FORMATS {
                // YAML differs from JSON in its punctuation only, and both carry long values whole.
                let is_needed = match format {
                    "text" => true,
                    "json" => n < 3,
                    _ => n == 1,
                };
                if is_needed {
                    cells.push((field, n, format));
                }
            }
        }
    }
    let (next, runs, count) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicUsize::new(0),
    );
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some((field, n, format)) = cells.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let payload = &groups[*n];
                    let ended = catch_unwind(AssertUnwindSafe(|| {
                        let scene = Scene {
                            sandbox: Sandbox::new(),
                            mock: MockRegistry::plain(),
                            format,
                        };
                        let all = (field.show)(&scene, payload);
                        runs.fetch_add(all.len(), Ordering::Relaxed);
                        count.fetch_add(all.len() * PAYLOADS[*n].len(), Ordering::Relaxed);
                        for ran in all {
                            let found = wrong(&ran, format, payload);
                            assert!(
                                found.is_none(),
                                "{}{}",
                                found.unwrap(),
                                cut(&ran.to_string())
                            );
                        }
                    }));
                    if let Err(cause) = ended {
                        let text = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                        let text = format!("## {} group {n} {format}\n{}", field.id, cut(&text));
                        failed.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let (count, runs) = (count.into_inner(), runs.into_inner());
    eprintln!(
        "payloads on the terminal: {count} cells in {runs} runs, {} fields",
        fields::FIELDS.len()
    );
    let failed = failed.into_inner().unwrap();
    let mut report = String::new();
    for text in &failed {
        let _ = writeln!(report, "{text}");
    }
    assert!(
        failed.is_empty(),
        "{} of {} failed\n{report}",
        failed.len(),
        cells.len()
    );
    assert!(count >= 24 * 14 * 6, "{count} cells");
}

fn cut(text: &str) -> String {
    text.escape_debug()
        .to_string()
        .replace("\\n", "\n")
        .chars()
        .take(2_000)
        .collect()
}

#[test]
fn a_payload_that_gets_through_is_noticed() {
    let sandbox = Sandbox::new();
    for group in PAYLOADS.iter().filter(|group| **group != [LONG]) {
        for payload in *group {
            let escaped: Vec<String> = payload.bytes().map(|b| format!("\\{b:03o}")).collect();
            let run = || sandbox.program("printf", [format!("{}\\n", escaped.concat())]);
            let ran = match catch_unwind(AssertUnwindSafe(|| run().run())) {
                Ok(ran) => wrong(&ran, "text", payload),
                Err(_) => Some(String::new()),
            };
            assert!(ran.is_some(), "{payload:?}");
        }
    }
    let text = failure(|| drop(sandbox.program("printf", ["\\033[2J"]).run()));
    assert!(text.contains("U+001B"), "{text}");
}
