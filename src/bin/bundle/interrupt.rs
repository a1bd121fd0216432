//! Work on another thread that a signal can stop before it changes anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use manifest_bundle::directory::WriteOptions;
use manifest_bundle::{Error, Kind, Result};

/// Runs `work` on a thread that may wait for the disk. When the caller is dropped, as after a signal, the work is told
/// to stop and takes away what it has staged.
pub(crate) async fn blocking<T: Send + 'static>(
    mut options: WriteOptions,
    work: impl FnOnce(&WriteOptions) -> Result<T> + Send + 'static,
) -> Result<T> {
    let stop = StopOnDrop(Arc::default());
    options.interrupted = Some(Arc::clone(&stop.0));
    let done = tokio::task::spawn_blocking(move || work(&options)).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(error)) => Err(Error::new(Kind::Interrupted, error.to_string())),
    }
}

/// Lets a write beyond the limit on the size of files (`ulimit -f`) fail, so that what was begun is taken away; by itself
/// the signal that comes with it ends the process on the spot.
pub(crate) fn survive_full_files() {
    use tokio::signal::unix::{SignalKind, signal};
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

/// Tells the work to stop when nobody waits for it any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
