//! `bundle login`: checks a credential against its registry, then keeps it where docker and podman look.

use std::path::PathBuf;

use manifest_bundle::credential::Credentials;
use manifest_bundle::docker_config::{self, Sources};
use manifest_bundle::reference::Registry as Host;
use manifest_bundle::store::registry;
use manifest_bundle::{Error, Result};
use serde_json::json;

use crate::args::{AccessArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::{self, Settings};

/// Keep a credential for a registry, once the registry has accepted it
///
/// It is written into docker's config.json (or the file of --registry-config or REGISTRY_AUTH_FILE), or handed to the
/// credential helper that is configured there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  echo \"$TOKEN\" | bundle login ghcr.io -u me --password-stdin")]
pub(crate) struct Args {
    /// HOST[:PORT]
    #[arg(value_name = "HOST", value_parser = word::<Host>)]
    host: Host,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let access = args.access.access();
    let Some(credential) = settings::given_credential(&access)? else {
        return Err(
            Error::usage("a login needs --username and a password").hint(format!(
                "echo \"$PASSWORD\" | bundle login {} --username NAME --password-stdin",
                args.host
            )),
        );
    };
    let sources = settings.sources(&access)?;
    let path = written_file(&sources)?;
    let credentials = Credentials::fixed(credential.clone(), "--username");
    let reach = settings.access_with(&access, credentials)?;
    if registry::check_login(&args.host, &reach).await? == registry::Login::NotAsked {
        settings.talk.warn(format!(
            "{} asked for no credential, so it could not be checked",
            args.host
        ));
    }
    let kept = docker_config::login(&path, &args.host, &credential, &sources.helpers).await?;
    settings
        .talk
        .say(format!("logged in to {}; kept in {kept}", args.host));
    Ok(Answer::new(
        String::new(),
        json!({ "registry": args.host.to_string(), "keptIn": kept }),
    ))
}

/// Returns the file that logins are written into: the explicit one, or the first of the usual ones.
pub(super) fn written_file(sources: &Sources) -> Result<PathBuf> {
    sources
        .login_file()
        .map(std::path::Path::to_owned)
        .ok_or_else(|| {
            Error::usage("there is no file for credentials: neither HOME nor DOCKER_CONFIG is set")
                .hint("name one with --registry-config FILE")
        })
}
