//! The commands, one file each: the arguments, whose doc comments are the manual, and `run`.

mod ahead;
mod channel;
mod completion;
mod contents;
mod copy;
mod diff;
mod images;
mod init;
mod inspect;
mod kdp;
mod limits;
mod list;
mod lock;
mod login;
mod logout;
mod man;
mod pack;
mod pull;
mod push;
mod record;
mod render;
mod repository;
mod resolve;
mod source;
mod source_files;
mod tag;
mod unpack;
mod validate;
mod verify;
mod version;

use clap::Subcommand;
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Result};

use crate::args::{Cli, Format, TransferArgs};
use crate::interrupt;
use crate::output::Answer;
use crate::settings::Settings;
use crate::talk::Talk;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(init::Args),
    Pack(pack::Args),
    Push(push::Args),
    Pull(pull::Args),
    Unpack(unpack::Args),
    Copy(copy::Args),
    Inspect(inspect::Args),
    Diff(diff::Args),
    Images(images::Args),
    Lock(lock::Args),
    Validate(validate::Args),
    Render(render::Args),
    Verify(verify::Args),
    Resolve(resolve::Args),
    Channel(channel::Args),
    List(list::Args),
    Tag(tag::Args),
    Login(login::Args),
    Logout(logout::Args),
    Limits(limits::Args),
    Completion(completion::Args),
    Man(man::Args),
    Version(version::Args),
}

impl Command {
    /// Returns how the command's transfers run, if it has any.
    fn transfer(&self) -> Option<&TransferArgs> {
        Some(match self {
            Self::Push(args) => &args.transfer,
            Self::Pull(args) => &args.transfer,
            Self::Copy(args) => &args.transfer,
            Self::Inspect(args) => &args.transfer,
            Self::Diff(args) => &args.transfer,
            Self::Images(args) => &args.transfer,
            Self::Lock(args) => &args.transfer,
            Self::Validate(args) => &args.transfer,
            Self::Render(args) => &args.transfer,
            Self::Verify(args) => &args.transfer,
            Self::Resolve(args) => &args.transfer,
            Self::Channel(args) => args.transfer(),
            Self::List(args) => &args.transfer,
            Self::Tag(args) => &args.transfer,
            Self::Login(args) => &args.transfer,
            Self::Unpack(args) => &args.transfer,
            Self::Logout(args) => &args.transfer,
            Self::Init(_)
            | Self::Pack(_)
            | Self::Limits(_)
            | Self::Completion(_)
            | Self::Man(_)
            | Self::Version(_) => return None,
        })
    }

    /// Returns what a command that may take long is about.
    fn subject(&self) -> Option<String> {
        match self {
            Self::Push(args) => Some(args.destination.to_string()),
            Self::Pull(args) => Some(args.source.to_string()),
            Self::Copy(args) => Some(format!("{} to {}", args.source, args.destination)),
            Self::Inspect(args) => Some(args.source.to_string()),
            Self::Diff(args) => Some(format!("{} and {}", args.old, args.new)),
            Self::Images(args) => Some(args.source.to_string()),
            Self::Lock(args) => Some(args.source.to_string()),
            Self::Validate(args) => args.source.as_ref().map(ToString::to_string),
            Self::Render(args) => Some(args.source.to_string()),
            Self::Verify(args) => Some(args.source.to_string()),
            Self::Resolve(args) => Some(args.repository.to_string()),
            Self::List(args) => Some(args.repository.to_string()),
            Self::Tag(args) => Some(args.reference.to_string()),
            Self::Login(args) => Some(args.host.to_string()),
            _ => None,
        }
    }

    /// Returns where the command reads from.
    fn sources(&self) -> Vec<&Location> {
        match self {
            Self::Pack(args) => vec![&args.source],
            Self::Push(args) => vec![&args.source],
            Self::Pull(args) => vec![&args.source],
            Self::Unpack(args) => vec![&args.source],
            Self::Copy(args) => vec![&args.source],
            Self::Inspect(args) => vec![&args.source],
            Self::Diff(args) => vec![&args.old, &args.new],
            Self::Images(args) => vec![&args.source],
            Self::Lock(args) => vec![&args.source],
            Self::Validate(args) => args.source.iter().collect(),
            Self::Render(args) => vec![&args.source],
            Self::Verify(args) => vec![&args.source],
            Self::Init(_)
            | Self::Resolve(_)
            | Self::Channel(_)
            | Self::List(_)
            | Self::Tag(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Limits(_)
            | Self::Completion(_)
            | Self::Man(_)
            | Self::Version(_) => Vec::new(),
        }
    }

    async fn run(self, settings: &Settings) -> Result<Answer> {
        match self {
            Self::Init(args) => init::run(&args, settings),
            Self::Pack(args) => pack::run(&args, settings).await,
            Self::Push(args) => push::run(&args, settings).await,
            Self::Pull(args) => pull::run(&args, settings).await,
            Self::Unpack(args) => unpack::run(&args, settings).await,
            Self::Copy(args) => copy::run(&args, settings).await,
            Self::Inspect(args) => inspect::run(&args, settings).await,
            Self::Diff(args) => diff::run(&args, settings).await,
            Self::Images(args) => images::run(&args, settings).await,
            Self::Lock(args) => lock::run(&args, settings).await,
            Self::Validate(args) => validate::run(&args, settings).await,
            Self::Render(args) => render::run(&args, settings).await,
            Self::Verify(args) => verify::run(&args, settings).await,
            Self::Resolve(args) => resolve::run(&args, settings).await,
            Self::Channel(args) => channel::run(&args, settings).await,
            Self::List(args) => list::run(&args, settings).await,
            Self::Tag(args) => tag::run(&args, settings).await,
            Self::Login(args) => login::run(&args, settings).await,
            Self::Logout(args) => logout::run(&args, settings).await,
            Self::Limits(_) => limits::run(settings),
            Self::Completion(args) => completion::run(&args),
            Self::Man(args) => man::run(&args),
            Self::Version(args) => version::run(&args),
        }
    }
}

/// Runs a command until it is done, its time is up, or a signal asks to stop.
pub(crate) fn run(cli: Cli, talk: &Talk) -> Result<Answer> {
    if cli.common.format == Format::Sarif && !matches!(cli.command, Command::Validate(_)) {
        let error = Error::usage("`--format sarif` is for `validate` alone");
        return Err(error.hint("use `--format json`"));
    }
    let reads_stdin = cli.command.sources().contains(&&Location::Stream);
    let mut settings = Settings::new(&cli.common, talk.clone(), reads_stdin);
    let mut timeout = None;
    if let Some(transfer) = cli.command.transfer() {
        settings.concurrency = transfer.concurrency.into();
        timeout = transfer.timeout;
    }
    let subject = cli.command.subject();
    let own = settings.clone();
    interrupt::run(timeout, subject, &settings, async move || {
        cli.command.run(&own).await
    })
}
