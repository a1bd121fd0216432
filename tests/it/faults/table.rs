//! Operation × fault: every row of `table.tsv` is met by a registry that does what it says, and every column is asserted.
//!
//! The columns: the operation; the request that the fault meets (`place.rs`); the fault (`shape.rs`); whether it happens
//! once or always; the exit code and the kind of the error; how many retries were told of; how long they waited (`backoff`,
//! seconds, or `none`); how many such requests the registry saw; what is there afterwards; and why, where that needs a word.
//! `-` is for what may vary, `1-2` for a range: the HTTP library repeats by itself what was certainly not answered on a
//! connection that was kept.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use manifest_bundle::error::{Error, Kind};
use manifest_bundle::store::registry::Event;

use super::operate::{Heard, Setting, fill};
use super::place::Place;
use super::shape;
use crate::support::{
    MockRegistry, Origin, PASSWORD, SIGNATURE, Sandbox, Tls, USER, bundle_dir, leaks,
};

const TABLE: &str = include_str!("table.tsv");
const HEAD: &str =
    "operation\tplace\tfault\ttimes\texit\tkind\tretries\twait\trequests\twritten\twhy";
/// More than there are cores: some cells are about silence.
const WORKERS: usize = 6;

/// One row.
struct Cell<'a> {
    line: usize,
    operation: &'a str,
    place: &'a str,
    fault: &'a str,
    times: &'a str,
    exit: &'a str,
    kind: &'a str,
    retries: &'a str,
    wait: &'a str,
    requests: &'a str,
    written: &'a str,
}

fn cells() -> Vec<Cell<'static>> {
    let mut lines = TABLE.lines().enumerate();
    assert_eq!(lines.next(), Some((0, HEAD)));
    let cell = |(at, line): (usize, &'static str)| {
        let columns: Vec<&str> = line.split('\t').collect();
        let Ok(columns) = <[&str; 11]>::try_from(columns) else {
            panic!("line {} has not 11 columns: {line}", at + 1);
        };
        let [
            operation,
            place,
            fault,
            times,
            exit,
            kind,
            retries,
            wait,
            requests,
            written,
            _,
        ] = columns;
        Cell {
            line: at + 1,
            operation,
            place,
            fault,
            times,
            exit,
            kind,
            retries,
            wait,
            requests,
            written,
        }
    };
    lines.map(cell).collect()
}

#[test]
fn every_fault_has_the_outcome_that_the_table_says() {
    let cells = cells();
    let only = std::env::var("BUNDLE_FAULT").unwrap_or_default();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !cell.name().contains(&only) {
                        continue;
                    }
                    let met = catch_unwind(AssertUnwindSafe(|| runtime.block_on(cell.meet())));
                    let faults = met.unwrap_or_else(|_| vec!["a panic".into()]);
                    if !faults.is_empty() {
                        let text = format!("{}: {}", cell.name(), faults.join("; "));
                        failed.lock().unwrap().push((cell.line, text));
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    eprintln!(
        "{} cells of operation × fault in {:.1?}",
        cells.len(),
        began.elapsed()
    );
    let lines: Vec<String> = failed
        .iter()
        .map(|(line, text)| format!("line {line}: {text}"))
        .collect();
    assert!(
        failed.is_empty(),
        "{} of {} cells are otherwise:\n{}",
        failed.len(),
        cells.len(),
        lines.join("\n")
    );
}

#[test]
fn the_table_is_large_and_says_nothing_twice() {
    let cells = cells();
    assert!(cells.len() >= 500, "{}", cells.len());
    let mut names: Vec<String> = cells.iter().map(Cell::name).collect();
    names.sort();
    for pair in names.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    for operation in [
        "pack", "push", "pull", "verify", "list", "tag", "login", "copy",
    ] {
        assert!(cells.iter().any(|cell| cell.operation == operation));
    }
}

/// Puts a wrong value into a row.
type Change = fn(&mut Cell<'static>);

#[test]
fn each_column_that_is_wrong_is_noticed() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let meet = |change: Change| {
        let mut cells = cells();
        let fits = |cell: &Cell<'_>| cell.name() == "push name 503 retry-after=7 once";
        let at = cells.iter().position(fits).unwrap();
        change(&mut cells[at]);
        let faults = runtime.block_on(cells[at].meet());
        faults
            .first()
            .map(|fault| fault.split(':').next().unwrap().to_owned())
    };
    assert_eq!(meet(|_| ()), None);
    let changes: [(&str, Change); 6] = [
        ("exit", |cell| cell.exit = "5"),
        ("kind", |cell| cell.kind = "unreachable"),
        ("retries", |cell| cell.retries = "2-4"),
        ("wait", |cell| cell.wait = "backoff"),
        ("requests", |cell| cell.requests = "1"),
        ("written", |cell| cell.written = "old"),
    ];
    for (column, change) in changes {
        assert_eq!(meet(change).as_deref(), Some(column));
    }
    let registry = MockRegistry::plain();
    assert_eq!(secrets(PASSWORD, &registry).len(), 1);
    assert_eq!(secrets("\u{1b}[31m", &registry).len(), 1);
}

/// The real program, in real time, for some of those that wait for nothing.
#[test]
fn the_program_ends_as_the_library_does() {
    let cells = cells();
    let waits_not =
        |cell: &&Cell<'_>| cell.wait == "none" && cell.retries == "0" && cell.place != "any";
    let mut per_exit = BTreeMap::<_, usize>::new();
    for cell in cells.iter().filter(waits_not) {
        // A few for each operation and each way to end.
        let met = per_exit.entry((cell.operation, cell.exit)).or_default();
        *met += 1;
        if !matches!(*met, 1 | 20 | 60) || cell.operation == "pack" {
            continue;
        }
        let place = Place::of(cell.operation, cell.place);
        let registry = MockRegistry::start(place.modes.clone());
        let first = place.before + 1;
        let rule = match cell.times {
            "once" => place.when.clone().nth(first),
            _ => place.when.clone().from(first),
        };
        registry.rule(rule, shape::act(cell.fault, &place, &registry));
        fill(&registry);
        let sandbox = Sandbox::new();
        sandbox.secret(PASSWORD);
        sandbox.secret(SIGNATURE);
        bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
        let source = format!("{}:1.0.0", registry.repository("demo"));
        let to = |repository| format!("{}:Stable", registry.repository(repository));
        let words = match cell.operation {
            "push" => vec!["push".into(), "in".into(), to("new")],
            "pull" => vec!["pull".into(), source, "-o".into(), "out".into()],
            "tag" => vec!["tag".into(), source, "Stable".into()],
            "copy" => vec!["copy".into(), "-r".into(), source, to("to")],
            "verify" => vec!["verify".into(), source],
            "list" => vec!["list".into(), registry.repository("demo")],
            "login" => vec!["login".into(), registry.host().into()],
            other => panic!("`{other}` is no command"),
        };
        let flags = ["--username", USER, "--format", "json"].map(str::to_owned);
        let mut all: Vec<String> = words.into_iter().chain(flags).collect();
        if matches!(cell.operation, "push" | "copy") {
            all.extend(["--concurrency", "1"].map(str::to_owned));
        }
        let ran = sandbox.bundle(all).env("BUNDLE_PASSWORD", PASSWORD).run();
        let exit: i32 = cell.exit.parse().unwrap();
        assert!(ran.code() == exit, "{}: {}{ran}", cell.name(), cell.exit);
        if exit != 0 {
            assert_eq!(ran.error_json()["kind"], cell.kind, "{}", cell.name());
            assert!(!sandbox.path("out").exists());
        }
    }
    assert!(per_exit.len() > 30, "{per_exit:?}");
}

impl Cell<'_> {
    fn name(&self) -> String {
        let Self {
            operation,
            place,
            fault,
            times,
            ..
        } = self;
        format!("{operation} {place} {fault} {times}")
    }

    /// Runs it and says what is otherwise than it should be.
    async fn meet(&self) -> Vec<String> {
        let mut place = Place::of(
            self.operation,
            if self.place == "any" {
                "ping"
            } else {
                self.place
            },
        );
        if self.fault == "untrusted-certificate" {
            place.modes.tls = Tls::On;
        }
        let registry = MockRegistry::start(place.modes.clone());
        let first = place.before + 1;
        let when = place.when.clone();
        let (when, rule) = match (self.place, self.times) {
            ("any", _) => (crate::support::on("", "/"), crate::support::on("", "/")),
            (_, "once") => (when.clone(), when.nth(first)),
            (_, "always") => (when.clone(), when.from(first)),
            (_, other) => panic!("line {}: `{other}` is no number of times", self.line),
        };
        if self.fault != "untrusted-certificate" {
            registry.rule(rule, shape::act(self.fault, &place, &registry));
        }
        let idle = self
            .fault
            .starts_with("stall")
            .then_some(Duration::from_millis(300));
        let setting = Setting::new(registry, idle);
        let outcome = setting.run(self.operation).await;
        let heard = setting.take_heard();
        let requests = setting.registry.requests();
        let seen = requests.iter().filter(|request| when.fits(request)).count();
        let mut faults = self.compare(
            outcome.as_ref().err(),
            &heard,
            seen - place.before.min(seen),
        );
        let written = setting.written(self.operation);
        if written != self.written {
            faults.push(format!("written: {written}, not {}", self.written));
        }
        let output = said(outcome.as_ref().err(), &heard);
        faults.extend(secrets(&output, &setting.registry));
        if !faults.is_empty() {
            faults.push(output);
            faults.push(setting.registry.log().join(", "));
        }
        setting.settle().await;
        faults
    }

    fn compare(&self, error: Option<&Error>, heard: &Heard, seen: usize) -> Vec<String> {
        let mut faults = Vec::new();
        let mut column = |name: &str, expected: &str, found: String, fits: bool| {
            if !fits {
                faults.push(format!("{name}: {found}, not {expected}"));
            }
        };
        let exit = error.map_or(0, |error| exit(error.kind())).to_string();
        column("exit", self.exit, exit.clone(), self.exit == exit);
        let kind = error.map_or("-", |error| error.kind().name());
        column("kind", self.kind, kind.into(), self.kind == kind);
        let events = heard.events.iter();
        let retries = events
            .filter(|event| matches!(event, Event::Retry { .. }))
            .count();
        let fits = is_in(self.retries, retries);
        column("retries", self.retries, retries.to_string(), fits);
        let fits = waits_fit(self.wait, &heard.waits);
        column("wait", self.wait, format!("{:?}", heard.waits), fits);
        let fits = is_in(self.requests, seen);
        column("requests", self.requests, seen.to_string(), fits);
        faults
    }
}

/// The exit code of a kind, as the design says.
fn exit(kind: Kind) -> u8 {
    match kind {
        Kind::Usage => 2,
        Kind::NotFound => 3,
        Kind::Denied => 4,
        Kind::Unreachable => 5,
        Kind::Protocol => 6,
        Kind::Mismatch => 7,
        Kind::Unsafe => 8,
        Kind::Limit => 9,
        Kind::Refused => 10,
        Kind::Invalid => 11,
        Kind::Io => 12,
        Kind::Conflict => 13,
        Kind::Interrupted => 130,
    }
}

/// Whether a number is the one of a column, or in its range.
fn is_in(column: &str, number: usize) -> bool {
    if column == "-" {
        return true;
    }
    let (from, to) = column.split_once('-').unwrap_or((column, column));
    (from.parse().unwrap()..=to.parse().unwrap()).contains(&number)
}

/// Whether the waits are the ones of a column.
fn waits_fit(column: &str, waits: &[Duration]) -> bool {
    match column {
        "-" => true,
        "none" => waits.is_empty(),
        "backoff" => {
            let bound =
                |n: u32| Duration::from_millis(500 << n.min(5)).min(Duration::from_secs(10));
            let fits = |(n, wait): (u32, &Duration)| *wait <= bound(n) && *wait >= bound(n) / 2;
            (0..).zip(waits).all(fits) && !waits.is_empty()
        }
        seconds => {
            let wanted = Duration::from_secs(seconds.parse().unwrap());
            !waits.is_empty() && waits.iter().all(|wait| *wait == wanted)
        }
    }
}

/// Everything that a caller can print of a run.
fn said(error: Option<&Error>, heard: &Heard) -> String {
    let mut lines: Vec<String> = heard.events.iter().map(ToString::to_string).collect();
    let mut next: Option<&dyn std::error::Error> = error.map(|error| error as _);
    if let Some(error) = error {
        lines.extend(error.detail().hint.clone());
        lines.extend(error.detail().found.clone());
        lines.extend(error.detail().expected.clone());
    }
    while let Some(cause) = next {
        lines.push(cause.to_string());
        next = cause.source();
    }
    lines.join("\n")
}

/// Says which secret was told to whom, or would be printed, and what a terminal would obey.
fn secrets(output: &str, registry: &MockRegistry) -> Vec<String> {
    let mut faults = Vec::new();
    let mut all = registry.tokens();
    all.extend([PASSWORD, SIGNATURE, "hunter2"].map(str::to_owned));
    for secret in &all {
        faults.extend(
            leaks::secret(secret, output.as_bytes()).map(|form| format!("a secret, {form}")),
        );
    }
    faults.extend(leaks::control(output.as_bytes()).map(|c| format!("the output holds {c}")));
    for request in registry.requests() {
        let is_ours = matches!(request.origin, Origin::Registry | Origin::Token);
        if !is_ours && request.header("authorization").is_some() {
            faults.push(format!("{:?} was told a secret", request.origin));
        }
    }
    faults
}
