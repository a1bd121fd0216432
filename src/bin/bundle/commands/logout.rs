//! `bundle logout`: forgets a credential.

use manifest_bundle::Result;
use manifest_bundle::docker_config;
use manifest_bundle::reference::Registry as Host;
use serde_json::json;

use super::login::{host, written_file};
use crate::args::{AccessArgs, TransferArgs};
use crate::output::Answer;
use crate::settings::Settings;

/// Forget the credential of a registry
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// HOST[:PORT]
    #[arg(value_name = "HOST", value_parser = host)]
    host: Host,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let access = args.access.access();
    let sources = settings.sources(&access)?;
    let path = written_file(&sources)?;
    let outcome = docker_config::logout(&path, &args.host, &sources.helpers).await?;
    let text = if outcome.removed {
        "logged out of"
    } else {
        "there was no login for"
    };
    settings.talk.say(format!("{text} {}", args.host));
    for entry in &outcome.left {
        settings.talk.say(format!("left: {entry}"));
    }
    Ok(Answer::new(
        String::new(),
        json!({ "registry": args.host.to_string(), "removed": outcome.removed }),
    ))
}
