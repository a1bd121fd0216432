//! What is said on the way: lines on stderr, escaped, none with `--quiet`.
//!
//! With a format for machines, a failed run has nothing on stderr but the error (spec/README.md, "What machines read"): lines
//! are held until it is known how the run ends, and are a part of the error then. With `--verbose` somebody is watching.

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use manifest_bundle::escape::shown_lines;
use manifest_bundle::progress::Progress as Steps;
use manifest_bundle::store::Store;
use manifest_bundle::store::registry::Event;

use crate::args::{Common, Format};
use crate::terminal::{self, Screen};

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
    /// How many bytes travelled, and how often each one does.
    travelled: AtomicU64,
    registries: AtomicU64,
    /// Set when nothing is to be drawn any more.
    over: AtomicBool,
    /// What was said and is not on stderr yet; none where it goes there at once.
    held: Option<Mutex<Vec<String>>>,
}

impl Talk {
    /// Takes `--quiet`, `--verbose` and `--format`.
    pub(crate) fn new(common: &Common) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let (quiet, verbose) = (common.quiet, common.verbose);
        let is_held = common.format != Format::Text && verbose == 0;
        Self {
            inner: Arc::new(Inner {
                held: is_held.then(Mutex::default),
                quiet,
                verbose,
                terminal,
                bar: ProgressBar::hidden(),
                travelled: AtomicU64::new(0),
                registries: AtomicU64::new(1),
                over: AtomicBool::new(false),
            }),
        }
    }

    /// Tells whether nothing shall be said.
    pub(crate) fn is_quiet(&self) -> bool {
        self.inner.quiet
    }

    /// Tells whether more than usual shall be said.
    pub(crate) fn is_verbose(&self) -> bool {
        self.inner.verbose > 0
    }

    /// Says a line, unless nothing shall be said.
    pub(crate) fn say(&self, line: impl AsRef<str>) {
        if !self.inner.quiet {
            self.write(line.as_ref());
        }
    }

    /// Returns a line that is to be said after the answer, unless nothing shall be said.
    pub(crate) fn closing(&self, line: impl Into<String>) -> Option<String> {
        (!self.inner.quiet).then(|| line.into())
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
            let inner = &self.inner;
            let travelled = inner.travelled.fetch_add(*bytes, Ordering::Relaxed);
            let registries = inner.registries.load(Ordering::Relaxed).max(1);
            let position = travelled.saturating_add(*bytes).checked_div(registries);
            inner.bar.set_position(position.unwrap_or_default());
        }
    }

    /// Says a line at once, unless nothing shall be said: to somebody who is waited for.
    pub(crate) fn say_now(&self, line: &str) {
        if !self.inner.quiet {
            self.print(line);
        }
    }

    /// Prints what was held: the run did not fail.
    pub(crate) fn release(&self) {
        for line in self.held() {
            self.print(&line);
        }
    }

    /// Takes what was held.
    pub(crate) fn held(&self) -> Vec<String> {
        let Some(held) = &self.inner.held else {
            return Vec::new();
        };
        std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, line: &str) {
        match &self.inner.held {
            Some(held) => {
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.push(line.to_owned());
            }
            None => self.print(line),
        }
    }

    fn print(&self, line: &str) {
        self.inner.bar.suspend(|| {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(std::io::stderr().lock(), "{}", shown_lines(line));
        });
    }

    /// Shows how far a transfer of `bytes` is, on a terminal and when there is much to do, until the guard is dropped.
    ///
    /// Each byte travels as often as there are registries among the two `sides`.
    pub(crate) fn transfer(
        &self,
        what: &'static str,
        bytes: u64,
        sides: [&dyn Store; 2],
    ) -> Progress {
        const LONG: u64 = 4 * 1024 * 1024;
        let is_registry = |store: &&&dyn Store| store.repository().is_some();
        let registries = sides.iter().filter(is_registry).count() as u64;
        if registries == 0 {
            return self.work(what);
        }
        self.inner.registries.store(registries, Ordering::Relaxed);
        self.inner.travelled.store(0, Ordering::Relaxed);
        let template = match terminal::width() {
            0..30 => "{prefix} {percent}%",
            30..47 => "{prefix} {bytes}/{total_bytes}",
            47..77 => "{prefix} {bytes}/{total_bytes} {bytes_per_sec}",
            _ => "{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}",
        };
        if bytes >= LONG {
            self.show(template, what, bytes);
        }
        Progress(self.inner.bar.clone())
    }

    /// Shows on a terminal that something is being done that does not say how far it is, until the guard is dropped.
    pub(crate) fn work(&self, what: &'static str) -> Progress {
        let template = match terminal::width() {
            0..37 => "{spinner} {prefix}",
            _ => "{spinner} {prefix} {msg}",
        };
        self.inner.bar.set_message("");
        self.show(template, what, 0);
        Progress(self.inner.bar.clone())
    }

    /// Returns what takes note of how many files are done, for the line of [`Talk::work`].
    pub(crate) fn steps(&self) -> Steps {
        let bar = self.inner.bar.clone();
        Steps::new(move |done, all| bar.set_message(format!("{done}/{all} files")))
    }

    fn show(&self, template: &str, what: &'static str, length: u64) {
        let (inner, bar) = (&self.inner, &self.inner.bar);
        if inner.quiet || !inner.terminal || inner.over.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.reset();
        bar.set_length(length);
        bar.set_prefix(what);
        bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(Screen), 10));
        bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Takes the progress line away for good: what comes now is the end.
    pub(crate) fn end(&self) {
        self.inner.over.store(true, Ordering::Relaxed);
        clear(&self.inner.bar);
    }
}

fn clear(bar: &ProgressBar) {
    bar.disable_steady_tick();
    bar.finish_and_clear();
    bar.set_draw_target(ProgressDrawTarget::hidden());
}

/// Takes the progress line away when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Drop for Progress {
    fn drop(&mut self) {
        clear(&self.0);
    }
}
