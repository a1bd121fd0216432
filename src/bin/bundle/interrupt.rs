//! Running a command so that signals and --timeout are heard at any time, also while it computes or waits for the disk.
//!
//! The work has a thread of its own. Asked to stop, it ends where it waits for the network, takes away what it has
//! staged where it writes, and ends the uploads that it has begun; whatever else it is at, the process ends without it after a moment. That leaves nothing half
//! written: results are moved into place when they are whole, and until then lie in files without names.
//!
//! With `BUNDLE_TEST_THREADS=1` the work is done on the main thread and one more, and nothing is listened for: the tests of
//! crashes (`tests/it/crash.rs`) need system calls that come in the same order in every run.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use manifest_bundle::directory::WriteOptions;
use manifest_bundle::{Error, Kind, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::output::Answer;
use crate::settings::{Settings, one_thread};
use crate::terminal;

/// How long the work may take to end when it is asked to.
const GRACE: Duration = Duration::from_millis(200);

/// How long uploads that came to nothing may take to be ended at a registry: some round trips with one that is far away.
const SETTLE: Duration = Duration::from_secs(1);

/// The stack of the thread that works, as large as that of a main thread.
const STACK: usize = 8 * 1024 * 1024;

/// Tells those who write files that they shall stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns options for writing that end it when the command is to stop.
    pub(crate) fn write_options(&self, force: bool, prune: bool) -> WriteOptions {
        WriteOptions {
            force,
            prune,
            interrupted: Some(Arc::clone(&self.0)),
            ..WriteOptions::default()
        }
    }
}

/// Lets a write beyond the limit on the size of files (`ulimit -f`) fail, so that what was begun is taken away; by itself
/// the signal that comes with it ends the process on the spot.
pub(crate) fn survive_full_files() {
    if room().is_err() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build();
    // Once there is a handler it stays, whoever listens. Without one, everything else works as well.
    if let Ok(runtime) = runtime {
        let _guard = runtime.enter();
        drop(signal(SignalKind::from_raw(
            rustix::process::Signal::XFSZ.as_raw(),
        )));
    }
}

/// Fails when so few files may be opened that the runtime would panic at its first signal handler.
fn room() -> io::Result<()> {
    let opened: io::Result<Vec<File>> = (0..8).map(|_| File::open("/dev/null")).collect();
    opened.map(drop)
}

/// Makes the thread that may wait for the disk begin with many calls that change nothing: `strace` counts the calls of
/// each thread, and so none of those that follow has a number that one of the main thread has as well.
fn spread_counts() {
    for _ in 0..100 {
        let null = File::options().write(true).open("/dev/null");
        let _ = null.and_then(|mut null| null.write(b"0"));
    }
}

/// Runs `work` until it is done, its time is up, or a signal asks to stop.
///
/// `subject` says what the command is about, where that is known.
pub(crate) fn run<W>(
    timeout: Option<Duration>,
    subject: Option<String>,
    settings: &Settings,
    work: W,
) -> Result<Answer>
where
    W: AsyncFnOnce() -> Result<Answer> + Send + 'static,
{
    let cannot_start = |error| Error::new(Kind::Io, format!("cannot start: {error}"));
    room().map_err(cannot_start)?;
    if one_thread() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .enable_all()
            .build()
            .map_err(cannot_start)?;
        return runtime.block_on(async {
            let _ = tokio::task::spawn_blocking(spread_counts).await;
            work().await
        });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(cannot_start)?;
    // Listened for before anything is begun: a signal that comes first would end the process without a word.
    let signals = {
        let _guard = runtime.enter();
        Signals::listen()
    };
    let (ask, asked) = oneshot::channel::<()>();
    let (tell, mut told) = oneshot::channel();
    let handle = runtime.handle().clone();
    let worker = thread::Builder::new()
        .name("work".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let answer = handle.block_on(async {
                tokio::select! {
                    biased;
                    answer = work() => Some(answer),
                    _ = asked => None,
                }
            });
            // Nobody listens any more when it took too long to stop.
            let _ = tell.send(answer);
        })
        .map_err(cannot_start)?;
    let stopped = runtime.block_on(async {
        tokio::select! {
            biased;
            answer = &mut told => Ok(answer),
            signal = signals.first() => Err(Error::new(Kind::Interrupted, format!("stopped by {signal}")).found(signal)),
            () = elapsed(timeout) => {
                let seconds = timeout.unwrap_or_default().as_secs_f64();
                let mut late = format!("not done after {seconds} s (--timeout)");
                // Many attempts may have failed without ever coming to an end of their own.
                if let Some(why) = settings.last_failure() {
                    late.push_str("; the last failure: ");
                    late.push_str(&why);
                }
                let error = Error::new(Kind::Unreachable, late).retryable();
                Err(match subject {
                    Some(subject) => error.at(&subject).reference(subject),
                    None => error,
                })
            }
        }
    });
    match stopped {
        Ok(answer) => {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
            // A blob that failed makes the others that travel with it be dropped.
            runtime.block_on(settings.settle(SETTLE));
            // Work on other threads that nobody waits for any more must not hold the process.
            runtime.shutdown_timeout(GRACE);
            // Nobody asked it to stop, and its thread has ended without a panic.
            answer
                .ok()
                .flatten()
                .unwrap_or_else(|| Err(Error::new(Kind::Interrupted, "stopped without an answer")))
        }
        Err(error) => {
            settings.stop.0.store(true, Ordering::Relaxed);
            settings.talk.end();
            terminal::restore();
            drop(ask);
            let ended = runtime.block_on(async { tokio::time::timeout(GRACE, told).await.is_ok() });
            if ended {
                runtime.block_on(settings.settle(SETTLE));
                runtime.shutdown_timeout(GRACE);
            } else {
                // What still runs would find its runtime gone; it ends with the process instead.
                std::mem::forget(runtime);
            }
            Err(error)
        }
    }
}

async fn elapsed(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

/// The signals that ask to stop.
struct Signals(Vec<(&'static str, Signal)>);

impl Signals {
    /// Begins to listen; what cannot be listened for keeps its usual effect.
    fn listen() -> Self {
        let kinds = [
            ("SIGINT", SignalKind::interrupt()),
            ("SIGTERM", SignalKind::terminate()),
            ("SIGHUP", SignalKind::hangup()),
        ];
        let listened = kinds
            .into_iter()
            .filter_map(|(name, kind)| Some((name, signal(kind).ok()?)));
        Self(listened.collect())
    }

    /// Waits for the first one, and returns its name.
    async fn first(mut self) -> &'static str {
        std::future::poll_fn(|context| {
            for (name, signal) in &mut self.0 {
                if signal.poll_recv(context).is_ready() {
                    return Poll::Ready(*name);
                }
            }
            Poll::Pending
        })
        .await
    }
}
