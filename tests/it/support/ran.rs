//! What a run printed and how it ended, with assertions that show the whole session when they fail.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde_json::Value;

/// A finished run.
pub(crate) struct Ran {
    pub(super) command: String,
    /// Absent when the run was cut off by its timeout.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) peak_rss: Option<u64>,
}

impl Ran {
    /// The exit code; death by a signal is 128 and its number, as a shell says it.
    pub(crate) fn code(&self) -> i32 {
        let code = self.status.and_then(|status| status.code());
        code.or(self.signal().map(|signal| 128 + signal))
            .unwrap_or(-1)
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.and_then(|status| status.signal())
    }

    #[track_caller]
    pub(crate) fn assert_code(&self, expected: i32) -> &Self {
        assert!(self.code() == expected, "expected exit {expected}{self}");
        self
    }

    /// Asserts exit 0.
    #[track_caller]
    pub(crate) fn ok(&self) -> &Self {
        self.assert_code(0)
    }

    #[track_caller]
    pub(crate) fn stdout(&self) -> &str {
        self.text("stdout", &self.stdout)
    }

    #[track_caller]
    pub(crate) fn stderr(&self) -> &str {
        self.text("stderr", &self.stderr)
    }

    pub(crate) fn stdout_bytes(&self) -> &[u8] {
        &self.stdout
    }

    pub(crate) fn stderr_bytes(&self) -> &[u8] {
        &self.stderr
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(self.stdout())
            .unwrap_or_else(|e| panic!("stdout is not one JSON value: {e}{self}"))
    }

    /// The `error` object of `--format json`, on a line of its own on stderr.
    #[track_caller]
    pub(crate) fn error_json(&self) -> Value {
        let mut found = self
            .stderr()
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|value| value.get("error").cloned());
        let error = found.next();
        assert!(error.is_some(), "no JSON error on stderr{self}");
        assert!(
            found.next().is_none(),
            "more than one JSON error on stderr{self}"
        );
        error.unwrap()
    }

    /// Asserts that stderr has this text in it.
    #[track_caller]
    pub(crate) fn assert_stderr_has(&self, part: &str) -> &Self {
        assert!(self.stderr().contains(part), "stderr lacks `{part}`{self}");
        self
    }

    /// Asserts that a line of stderr begins with these words, however far apart they stand.
    #[track_caller]
    pub(crate) fn assert_stderr_row(&self, words: &str) -> &Self {
        let row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let found = self
            .stderr()
            .lines()
            .any(|line| row(line).starts_with(words));
        assert!(found, "stderr lacks a line with `{words}`{self}");
        self
    }

    /// Asserts that stdout has this text in it.
    #[track_caller]
    pub(crate) fn assert_stdout_has(&self, part: &str) -> &Self {
        assert!(self.stdout().contains(part), "stdout lacks `{part}`{self}");
        self
    }

    /// The largest resident size in bytes, of a run that was `measured`.
    #[track_caller]
    pub(crate) fn peak_rss(&self) -> u64 {
        self.peak_rss
            .unwrap_or_else(|| panic!("the run was not measured{self}"))
    }

    #[track_caller]
    fn text<'b>(&self, name: &str, bytes: &'b [u8]) -> &'b str {
        std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("{name} is not UTF-8: {e}{self}"))
    }
}

/// The whole session, on lines of its own.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n$ {}", self.command)?;
        for (name, bytes) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !bytes.is_empty() {
                writeln!(
                    f,
                    "--- {name}\n{}",
                    String::from_utf8_lossy(bytes).trim_end()
                )?;
            }
        }
        match self.status {
            Some(_) => writeln!(f, "--- exit {}", self.code()),
            None => writeln!(f, "--- no exit"),
        }
    }
}

impl fmt::Debug for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
