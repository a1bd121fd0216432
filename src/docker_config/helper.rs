//! Runs credential helpers, the programs `docker-credential-NAME`, by docker's protocol.
//!
//! A name is checked before it becomes part of a path, the program is looked for in absolute elements of `PATH` only,
//! and no shell is involved. What a helper prints on stdout is a secret until it is understood: it never becomes part
//! of a message, however wrong it is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::lookup::{Key, written_key};
use super::read::member;
use super::{Notice, Tell};
use crate::credential::{Credential, Secret};
use crate::error::{Error, Kind, Result};
use crate::escape::{shown, shown_lines};
use crate::json;
use crate::limits::{Ceiling, Limits};
use crate::reference::Registry;

/// How long a helper may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How long output is waited for after the helper has ended: something that it left behind may hold the pipe open.
const GRACE: Duration = Duration::from_millis(200);

/// How much of a helper's stderr is kept, in bytes.
const STDERR_MAX: usize = 1024;

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

/// What came of a helper that ran to its end.
struct Ran {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

/// Why a helper did not run to its end.
enum Stopped {
    TooMuch,
    Io(std::io::Error),
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
    fn pass_on(&self, name: &str, stderr: &[u8], secret: Option<&Secret>) {
        let mut text = String::from_utf8_lossy(stderr).into_owned();
        if let Some(secret) = secret.filter(|secret| !secret.reveal().is_empty()) {
            text = text.replace(secret.reveal(), "…");
        }
        let text = shown_lines(text.trim_end());
        if !text.is_empty() {
            let said = format!("`docker-credential-{name}` said: {text}");
            self.tell.tell(Notice::Detail(said));
        }
    }

    /// Runs `docker-credential-NAME ACTION` with `input` on its stdin; none when there is no such program.
    async fn run(&self, name: &str, action: &str, input: &[u8]) -> Result<Option<Ran>> {
        if !is_name(name) {
            let message = format!("`{}` is no name of a credential helper", shown(name));
            return Err(Error::new(Kind::Denied, message)
                .expected("1 to 64 letters, digits, `.`, `_` and `-`"));
        }
        // A line break would be a second request to some helpers. No registry and no JSON text holds one.
        if input.iter().any(u8::is_ascii_control) {
            return Err(Error::usage(
                "a credential helper is asked for one line only",
            ));
        }
        let Some(program) = self.program(name)? else {
            return Ok(None);
        };
        let fail = |why: String| {
            let message = format!("credential helper `docker-credential-{name}`: {why}");
            Error::new(Kind::Denied, message)
        };
        let mut child = Command::new(&program)
            .arg(action)
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .env("PATH", &self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                fail("cannot be started".into())
                    .file(program.display())
                    .source(error)
            })?;
        let mut group = Group::of(&child);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let max = usize::try_from(Ceiling::Helper.default_value()).unwrap_or(usize::MAX);
        let ended = {
            let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
            let talk = async {
                let feed = async {
                    if let Some(mut stdin) = pipes.0 {
                        // A helper may know the answer without reading: a closed pipe is no fault.
                        let _ = stdin.write_all(input).await;
                    }
                    Ok(())
                };
                tokio::try_join!(
                    feed,
                    keep(pipes.1, &mut stdout, max, true),
                    keep(pipes.2, &mut stderr, STDERR_MAX, false),
                )
                .map(|_| ())
            };
            tokio::pin!(talk);
            let run = async {
                let mut talked = false;
                let status = loop {
                    tokio::select! {
                        status = child.wait() => break status.map_err(Stopped::Io)?,
                        done = &mut talk, if !talked => {
                            done?;
                            talked = true;
                        }
                    }
                };
                if !talked && let Ok(done) = tokio::time::timeout(GRACE, &mut talk).await {
                    done?;
                }
                Ok(status)
            };
            tokio::time::timeout(self.timeout, run).await
        };
        let why = match ended {
            Ok(Ok(status)) => {
                group.release();
                return Ok(Some(Ran {
                    status,
                    stdout,
                    stderr,
                }));
            }
            Ok(Err(Stopped::TooMuch)) => format!("printed more than {max} bytes"),
            Ok(Err(Stopped::Io(error))) => format!("cannot be talked to: {}", error.kind()),
            Err(_) => format!("timed out after {} s", self.timeout.as_secs_f32()),
        };
        group.kill();
        let _ = tokio::time::timeout(GRACE, child.wait()).await;
        self.pass_on(name, &stderr, None);
        Err(fail(why))
    }

    /// Finds the program of a helper. A relative element of `PATH`, the empty one included, is passed over: it would
    /// let the current directory decide.
    fn program(&self, name: &str) -> Result<Option<PathBuf>> {
        let mut useless = None;
        for directory in self.path.as_bytes().split(|byte| *byte == b':') {
            let directory = Path::new(OsStr::from_bytes(directory));
            if !directory.is_absolute() {
                continue;
            }
            let program = directory.join(format!("docker-credential-{name}"));
            match program.metadata() {
                Ok(data) if data.is_file() && data.permissions().mode() & 0o111 != 0 => {
                    return Ok(Some(program));
                }
                Ok(_) => useless = Some(program),
                Err(_) => {}
            }
        }
        match useless {
            None => Ok(None),
            Some(program) => Err(Error::new(
                Kind::Denied,
                format!(
                    "credential helper `{}` is not an executable file",
                    shown(&program.to_string_lossy())
                ),
            )
            .file(program.display())),
        }
    }
}

impl Ran {
    /// Tells whether a helper that failed did so because it has nothing, which it says on stdout in words.
    fn says_not_found(&self) -> bool {
        let text = String::from_utf8_lossy(&self.stdout).to_ascii_lowercase();
        text.contains("credentials not found")
    }
}

/// Tells whether a name can be part of a program's file name.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
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

/// Reads a pipe to its end into `kept`, at most `max` bytes; what is over is a fault, or is dropped.
async fn keep(
    pipe: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    max: usize,
    strict: bool,
) -> Result<(), Stopped> {
    let Some(mut pipe) = pipe else {
        return Ok(());
    };
    let mut piece = [0; 4096];
    loop {
        let count = pipe.read(&mut piece).await.map_err(Stopped::Io)?;
        let read = piece.get(..count).unwrap_or_default();
        if read.is_empty() {
            return Ok(());
        }
        let room = max.saturating_sub(kept.len());
        if read.len() > room && strict {
            return Err(Stopped::TooMuch);
        }
        kept.extend_from_slice(read.get(..room).unwrap_or(read));
    }
}

/// The process group of a helper; killed when the call is given up, so that nothing it started is left behind.
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &tokio::process::Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    /// Leaves the group alone: its leader has ended, and the number may be given to somebody else.
    fn release(&mut self) {
        self.0 = None;
    }

    fn kill(&mut self) {
        if let Some(id) = self.0.take() {
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
