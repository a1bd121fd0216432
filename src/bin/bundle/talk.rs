//! What is said on the way: lines on stderr, escaped, none with `--quiet`.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use manifest_bundle::escape::shown_lines;
use manifest_bundle::store::registry::Event;

/// How much is said.
#[derive(Debug, Clone)]
pub(crate) struct Talk {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    quiet: bool,
    verbose: u8,
    terminal: bool,
    bar: indicatif::ProgressBar,
}

impl Talk {
    /// Takes `--quiet` and the number of `--verbose`.
    pub(crate) fn new(quiet: bool, verbose: u8) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self {
            inner: Arc::new(Inner {
                quiet,
                verbose,
                terminal,
                bar: indicatif::ProgressBar::hidden(),
            }),
        }
    }

    /// Says a line, unless nothing shall be said.
    pub(crate) fn say(&self, line: impl AsRef<str>) {
        if !self.inner.quiet {
            self.write(line.as_ref());
        }
    }

    /// Says a warning, unless nothing shall be said.
    pub(crate) fn warn(&self, line: impl AsRef<str>) {
        self.say(format!("warning: {}", line.as_ref()));
    }

    /// Says a line with `--verbose`.
    pub(crate) fn detail(&self, line: impl AsRef<str>) {
        if self.inner.verbose > 0 {
            self.write(line.as_ref());
        }
    }

    /// Takes note of bytes that travelled.
    pub(crate) fn moved(&self, event: &Event) {
        if let Event::Sent { bytes, .. } | Event::Received { bytes, .. } = event {
            self.inner.bar.inc(*bytes);
        }
    }

    fn write(&self, line: &str) {
        self.inner.bar.suspend(|| {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(std::io::stderr().lock(), "{}", shown_lines(line));
        });
    }

    /// Shows progress of `bytes` in all, on a terminal and when there is much to do; drop it to clear the line.
    pub(crate) fn progress(&self, what: &str, bytes: u64) -> indicatif::ProgressBar {
        const LONG: u64 = 4 * 1024 * 1024;
        if self.inner.quiet || !self.inner.terminal || bytes < LONG {
            return indicatif::ProgressBar::hidden();
        }
        let bar = indicatif::ProgressBar::new(bytes);
        if let Ok(style) = indicatif::ProgressStyle::with_template(
            "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}",
        ) {
            bar.set_style(style);
        }
        bar.set_prefix(what.to_owned());
        bar
    }
}
