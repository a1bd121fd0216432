//! What is said on the way: lines on stderr, escaped, none with `--quiet`.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    bar: ProgressBar,
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
                bar: ProgressBar::hidden(),
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

    /// Says what was asked of a registry, with `--verbose` given twice.
    pub(crate) fn trace(&self, event: &Event) {
        if self.inner.verbose > 1 {
            self.write(&event.to_string());
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

    /// Shows how far a transfer of `bytes` is, on a terminal and when there is much to do, until the guard is dropped.
    pub(crate) fn progress(&self, what: &'static str, bytes: u64) -> Progress {
        const LONG: u64 = 4 * 1024 * 1024;
        let bar = &self.inner.bar;
        if !self.inner.quiet && self.inner.terminal && bytes >= LONG {
            let style = ProgressStyle::with_template(
                "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}",
            );
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.reset();
            bar.set_length(bytes);
            bar.set_prefix(what);
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        Progress(bar.clone())
    }
}

/// Takes the progress line away when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        self.0.set_draw_target(ProgressDrawTarget::hidden());
    }
}
