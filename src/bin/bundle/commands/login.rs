//! `bundle login`: checks a credential against its registry, then keeps it where docker and podman look.

use std::path::PathBuf;

use manifest_bundle::credential::Credentials;
use manifest_bundle::docker_config::{self, Kept, Sources};
use manifest_bundle::reference::Registry as Host;
use manifest_bundle::store::registry;
use manifest_bundle::{Error, Kind, Result};
use serde_json::json;

use crate::args::{AccessArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Keep a credential for a registry, once the registry has accepted it
///
/// What is not given is asked for on the terminal. It is written into docker's config.json (or the file of --registry-config or REGISTRY_AUTH_FILE), or handed to the
/// credential helper that is configured there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle login ghcr.io
  echo \"$TOKEN\" | bundle login ghcr.io -u me --password-stdin")]
pub(crate) struct Args {
    /// HOST[:PORT]
    #[arg(value_name = "HOST", value_parser = host)]
    pub(super) host: Host,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let access = args.access.access();
    let Some(credential) = settings.login_credential(&access, &args.host)? else {
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
    let checked = registry::check_login(&args.host, &reach).await;
    let login = checked.map_err(|error| match error.kind() {
        Kind::Denied => {
            error.hint("wrong user or password? Some registries want a token as the password")
        }
        _ => error,
    })?;
    if login == registry::Login::NotAsked {
        settings.talk.warn(format!(
            "{} asked for no credential, so it could not be checked",
            args.host
        ));
    }
    let kept = docker_config::login(&path, &args.host, &credential, &sources.helpers).await?;
    settings
        .talk
        .say(format!("logged in to {}; kept in {kept}", args.host));
    let kept_in = match &kept {
        Kept::File(path) => path.to_string_lossy().into_owned(),
        Kept::Helper(name) => format!("docker-credential-{name}"),
    };
    Ok(Answer::new(
        String::new(),
        json!({ "registry": args.host.to_string(), "keptIn": kept_in }),
    ))
}

/// Reads the name of a registry; the scheme of a URL is taken off.
pub(super) fn host(text: &str) -> std::result::Result<Host, String> {
    let bare = ["https://", "http://", "oci://", "docker://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .unwrap_or(text);
    // Docker's own configuration writes `https://index.docker.io/v1/`.
    let bare = ["/v1/", "/v2/", "/v1", "/v2", "/"]
        .iter()
        .find_map(|end| bare.strip_suffix(end))
        .unwrap_or(bare);
    match bare.split_once('/') {
        Some((host, _)) if !host.contains('@') => Err(format!(
            "has a path, and a login is for a whole registry: write `{host}`"
        )),
        _ => word(bare),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_may_be_written_as_a_url_and_has_no_path() {
        for text in [
            "reg.io:5000",
            "https://reg.io:5000",
            "http://reg.io:5000/",
            "reg.io:5000/v2/",
        ] {
            assert_eq!(
                host(text).map(|host| host.to_string()),
                Ok("reg.io:5000".into()),
                "{text}"
            );
        }
        let refused = host("https://reg.io/team").unwrap_err();
        assert!(refused.contains("write `reg.io`"), "{refused}");
        let refused = host("https://me:secret@reg.io/team").unwrap_err();
        assert!(!refused.contains("secret"), "{refused}");
    }
}
