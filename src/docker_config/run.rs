//! Runs the program of a credential helper and keeps what it prints, within bounds of time and size.
//!
//! A name is checked before it becomes part of a path, the program is looked for in absolute elements of `PATH` only,
//! and no shell is involved. A helper that is given up is killed with all that it started.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::helper::Helpers;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::limits::Ceiling;

/// How long output is waited for after the helper has ended: something that it left behind may hold the pipe open.
const GRACE: Duration = Duration::from_millis(200);

/// How much of a helper's stderr is kept, in bytes.
const STDERR_MAX: usize = 1024;

/// What came of a helper that ran to its end.
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Why a helper did not run to its end.
enum Stopped {
    TooMuch,
    Io(std::io::Error),
}

impl Helpers {
    /// Runs `docker-credential-NAME ACTION` with `input` on its stdin; none when there is no such program.
    pub(super) async fn run(&self, name: &str, action: &str, input: &[u8]) -> Result<Option<Ran>> {
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
    pub(super) fn says_not_found(&self) -> bool {
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
