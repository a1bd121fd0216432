//! Talks with credential helpers, the programs `docker-credential-NAME`, by docker's protocol.
//!
//! What a helper prints on stdout is a secret until it is understood: it never becomes part of a message, however
//! wrong it is. Running the program is [`run`](super::run)'s affair.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use super::lookup::{Key, written_key};
use super::read::member;
use super::{Notice, Tell};
use crate::credential::{Credential, Secret};
use crate::error::{Error, Kind, Result};
use crate::escape::{shown, shown_lines};
use crate::json;
use crate::limits::Limits;
use crate::reference::Registry;

/// How long a helper may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The user name that means "the secret is an identity token".
pub(super) const TOKEN_USER: &str = "<token>";

/// How credential helpers are found and run.
#[derive(Debug, Clone)]
pub struct Helpers {
    /// The value of `PATH`: where helpers are looked for, and what they get.
    pub path: OsString,
    /// The other variables that they get; see [`helper_environment`](super::helper_environment).
    pub environment: Vec<(OsString, OsString)>,
    /// How long one may take; 30 seconds unless changed.
    pub timeout: Duration,
    /// Who is told what a helper said on stderr, and that one is missing.
    pub tell: Tell,
}

/// What a helper says about a registry.
#[derive(Debug)]
pub(super) enum Answer {
    Credential(Credential),
    /// It has none.
    Nothing,
    /// It is not installed.
    Missing,
}

impl Helpers {
    /// Takes the value of `PATH` and the other variables.
    pub fn new(path: OsString, environment: Vec<(OsString, OsString)>, tell: Tell) -> Self {
        Self {
            path,
            environment,
            timeout: TIMEOUT,
            tell,
        }
    }

    /// Asks a helper for the credential of a registry.
    pub(super) async fn get(&self, name: &str, registry: &Registry) -> Result<Answer> {
        let asked = written_key(registry);
        let Some(ran) = self.run(name, "get", asked.as_bytes()).await? else {
            return Ok(Answer::Missing);
        };
        let mut secret = None;
        let answer = if ran.status.success() {
            understood(name, registry, &ran.stdout).inspect(|(_, revealed)| {
                secret = Some(revealed.clone());
            })
        } else if ran.says_not_found() {
            self.pass_on(name, &ran.stderr, None);
            return Ok(Answer::Nothing);
        } else {
            Err(failed(name, "get", ran.status))
        };
        self.pass_on(name, &ran.stderr, secret.as_ref());
        answer.map(|(credential, _)| Answer::Credential(credential))
    }

    /// Gives a helper the credential of a registry to keep; tells whether the helper is installed.
    pub(super) async fn store(
        &self,
        name: &str,
        registry: &Registry,
        username: &str,
        secret: &Secret,
    ) -> Result<bool> {
        let input = json!({
            "ServerURL": written_key(registry),
            "Username": username,
            "Secret": secret.reveal(),
        });
        let Some(ran) = self
            .run(name, "store", input.to_string().as_bytes())
            .await?
        else {
            return Ok(false);
        };
        self.pass_on(name, &ran.stderr, Some(secret));
        if ran.status.success() {
            Ok(true)
        } else {
            Err(failed(name, "store", ran.status))
        }
    }

    /// Makes a helper forget the credential of a registry; none when it is not installed, else whether it had one.
    pub(super) async fn erase(&self, name: &str, registry: &Registry) -> Result<Option<bool>> {
        let input = written_key(registry);
        let Some(ran) = self.run(name, "erase", input.as_bytes()).await? else {
            return Ok(None);
        };
        self.pass_on(name, &ran.stderr, None);
        if ran.status.success() {
            Ok(Some(true))
        } else if ran.says_not_found() {
            Ok(Some(false))
        } else {
            Err(failed(name, "erase", ran.status))
        }
    }

    /// Passes on what a helper said on stderr, without the secret if it is in there.
    pub(super) fn pass_on(&self, name: &str, stderr: &[u8], secret: Option<&Secret>) {
        let mut text = String::from_utf8_lossy(stderr).into_owned();
        if let Some(secret) = secret.filter(|secret| !secret.reveal().is_empty()) {
            text = text.replace(secret.reveal(), "…");
        }
        // Its lines are indented, so that none looks like one of ours.
        let text = shown_lines(text.trim_end()).replace('\n', "\n  ");
        if !text.is_empty() {
            let said = format!("`docker-credential-{name}` said: {text}");
            self.tell.tell(Notice::Detail(said));
        }
    }
}

/// Reads the answer to `get`; also returns its secret alone.
fn understood(name: &str, registry: &Registry, stdout: &[u8]) -> Result<(Credential, Secret)> {
    let fail = |why: &str| {
        let message = format!("credential helper `docker-credential-{name}` {why}");
        Error::new(Kind::Denied, message)
    };
    // What the parser says would repeat parts of the answer.
    let answer = json::parse("answer", stdout, &Limits::default())
        .map_err(|_| fail("did not answer in JSON"))?;
    let answer = answer
        .as_object()
        .ok_or_else(|| fail("did not answer with a JSON object"))?;
    let text = |name: &str| match member(answer, name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(fail(&format!("answered with a `{name}` that is no string"))),
    };
    let about = text("ServerURL")?;
    if !about.is_empty() && Key::parse(about).is_none_or(|key| key.registry != *registry) {
        return Err(fail(&format!(
            "was asked about `{registry}` and answered about `{}`",
            shown(about)
        )));
    }
    let (username, secret) = (text("Username")?, text("Secret")?);
    if secret.is_empty() {
        return Err(fail("answered without a secret"));
    }
    let secret = Secret::new(secret);
    let credential = if username == TOKEN_USER {
        Credential::IdentityToken(secret.clone())
    } else if username.contains(':') {
        return Err(fail("answered with a `:` in the user name"));
    } else {
        Credential::Basic {
            username: username.to_owned(),
            password: secret.clone(),
        }
    };
    Ok((credential, secret))
}

/// Words the failure of a helper that ran to its end.
fn failed(name: &str, action: &str, status: ExitStatus) -> Error {
    Error::new(
        Kind::Denied,
        format!("credential helper `docker-credential-{name}`: `{action}` failed with {status}"),
    )
    .hint("-v shows what it says on stderr")
}
