//! The commands, one file each: the arguments, whose doc comments are the manual, and `run`.

mod completion;
mod copy;
mod init;
mod inspect;
mod list;
mod login;
mod logout;
mod man;
mod pack;
mod pull;
mod push;
mod record;
mod source;
mod tag;
mod unpack;
mod validate;
mod verify;
mod version;

use std::future::Future;
use std::time::Duration;

use clap::Subcommand;
use manifest_bundle::{Error, Kind, Result};

use crate::args::Cli;
use crate::output::Answer;
use crate::settings::Settings;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Pack(pack::Args),
    Push(push::Args),
    Pull(pull::Args),
    Unpack(unpack::Args),
    Copy(copy::Args),
    Inspect(inspect::Args),
    Validate(validate::Args),
    Verify(verify::Args),
    List(list::Args),
    Tag(tag::Args),
    Login(login::Args),
    Logout(logout::Args),
    Completion(completion::Args),
    Man(man::Args),
    Version(version::Args),
}

/// Runs a command.
pub(crate) fn run(cli: Cli) -> Result<Answer> {
    let settings = Settings::new(&cli.common);
    match cli.command {
        Command::Init(args) => init::run(&args, &settings),
        Command::Pack(args) => pack::run(&args, &settings),
        Command::Push(args) => block_on(args.transfer.timeout, push::run(&args, &settings)),
        Command::Pull(args) => block_on(args.transfer.timeout, pull::run(&args, &settings)),
        Command::Unpack(args) => block_on(args.transfer.timeout, unpack::run(&args, &settings)),
        Command::Copy(args) => block_on(args.transfer.timeout, copy::run(&args, &settings)),
        Command::Inspect(args) => block_on(args.transfer.timeout, inspect::run(&args, &settings)),
        Command::Validate(args) => block_on(args.transfer.timeout, validate::run(&args, &settings)),
        Command::Verify(args) => block_on(args.transfer.timeout, verify::run(&args, &settings)),
        Command::List(args) => block_on(args.transfer.timeout, list::run(&args, &settings)),
        Command::Tag(args) => block_on(args.transfer.timeout, tag::run(&args, &settings)),
        Command::Login(args) => block_on(args.transfer.timeout, login::run(&args, &settings)),
        Command::Logout(args) => block_on(args.transfer.timeout, logout::run(&args, &settings)),
        Command::Completion(args) => completion::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Version(args) => version::run(&args),
    }
}

/// Runs what waits for the network, until it is done, its time is up, or a signal asks to stop.
fn block_on(
    timeout: Option<Duration>,
    work: impl Future<Output = Result<Answer>>,
) -> Result<Answer> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::new(Kind::Io, format!("cannot start: {error}")))?;
    let answer = runtime.block_on(async {
        tokio::select! {
            answer = work => answer,
            signal = signalled() => Err(Error::new(Kind::Interrupted, format!("stopped by {signal}")).found(signal)),
            () = elapsed(timeout) => {
                let seconds = timeout.unwrap_or_default().as_secs_f64();
                Err(Error::new(Kind::Unreachable, format!("not done after {seconds} s (--timeout)")).retryable())
            }
        }
    });
    // Work on other threads that nobody waits for any more must not hold the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    answer
}

async fn elapsed(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

/// Waits for a signal that asks to stop, and returns its name.
async fn signalled() -> &'static str {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind, name: &'static str| async move {
        match signal(kind) {
            Ok(mut signals) => {
                signals.recv().await;
                name
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        name = wait(SignalKind::interrupt(), "SIGINT") => name,
        name = wait(SignalKind::terminate(), "SIGTERM") => name,
        name = wait(SignalKind::hangup(), "SIGHUP") => name,
    }
}
