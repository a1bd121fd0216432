//! One run of a program in a sandbox: what it is given, how long it may take, and what must hold when
//! it ends. A run never sees the environment of the test process and never outlives its timeout.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::ran::Ran;
use super::{Sandbox, leaks, tools};

/// Runs its arguments and writes the largest resident size (KiB) among them into a file.
///
/// The process in the middle is needed: a child's figure starts at the size of the process that
/// started it, and the test process is large.
const MEASURE: &str = "import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], 'w') as out:
    out.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code if code >= 0 else 128 - code)";

/// A run in preparation.
pub(crate) struct Cmd<'a> {
    sandbox: &'a Sandbox,
    program: OsString,
    args: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
    stdin: Vec<u8>,
    cwd: PathBuf,
    prelude: Vec<String>,
    timeout: Duration,
    measured: bool,
    checked: bool,
    raw_stdout: bool,
}

impl<'a> Cmd<'a> {
    pub(super) fn new<S: AsRef<OsStr>>(
        sandbox: &'a Sandbox,
        program: &OsStr,
        args: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut path = sandbox.root().join("bin").into_os_string();
        path.push(":/usr/local/bin:/usr/bin:/bin");
        let cmd = Self {
            sandbox,
            program: program.to_owned(),
            args: args.into_iter().map(|a| a.as_ref().to_owned()).collect(),
            env: BTreeMap::new(),
            stdin: Vec::new(),
            cwd: sandbox.work(),
            prelude: Vec::new(),
            timeout: Duration::from_secs(60),
            measured: false,
            checked: true,
            raw_stdout: false,
        };
        cmd.env("PATH", path)
            .env("HOME", sandbox.home())
            .env("TMPDIR", sandbox.tmp())
    }

    /// Sets a variable; the environment is otherwise PATH, HOME and TMPDIR.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Takes one of PATH, HOME and TMPDIR away too.
    pub(crate) fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.remove(name.as_ref());
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    pub(crate) fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = directory.into();
        self
    }

    pub(crate) fn umask(self, mask: u32) -> Self {
        self.prelude(format!("umask {mask:03o}"))
    }

    /// A line of `sh` to run before the program, in the same process (`ulimit -f 8`).
    pub(crate) fn prelude(mut self, line: impl Into<String>) -> Self {
        self.prelude.push(line.into());
        self
    }

    pub(crate) fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Measures the peak resident size, for [`Ran::peak_rss`]; needs `python3`.
    pub(crate) fn measured(mut self) -> Self {
        self.measured = true;
        self
    }

    /// Says that stdout carries a file, in which any byte may occur.
    pub(crate) fn raw_stdout(mut self) -> Self {
        self.raw_stdout = true;
        self
    }

    /// For programs that are not ours: nothing is asked of what they print and leave behind.
    pub(super) fn unchecked(mut self) -> Self {
        self.checked = false;
        self
    }

    /// Runs to the end.
    #[track_caller]
    pub(crate) fn run(self) -> Ran {
        self.spawn().wait()
    }

    /// Starts the run, for tests that do something to it before it ends.
    #[track_caller]
    pub(crate) fn spawn(self) -> Running<'a> {
        let rss_file = self.sandbox.root().join("peak-rss");
        let mut words: Vec<OsString> = Vec::new();
        if !self.prelude.is_empty() {
            let script = format!("{}\nexec \"$0\" \"$@\"", self.prelude.join(" || exit 99\n"));
            words.extend(["sh".into(), "-c".into(), script.into()]);
        }
        if self.measured {
            let python = tools::system("python3").into_os_string();
            words.extend([
                python,
                "-ISc".into(),
                MEASURE.into(),
                rss_file.clone().into(),
            ]);
        }
        words.push(self.program.clone());
        words.extend(self.args.iter().cloned());

        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .envs(&self.env)
            .current_dir(&self.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A group of its own, so that whatever it started ends with it.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|e| panic!("cannot run {}: {e}", self.program.display()));

        let pid = Pid::from_child(&child);
        let mut stdin = child.stdin.take().unwrap();
        let bytes = self.stdin.clone();
        // A program that does not read its stdin closes the pipe: not an error of the test.
        spawn(move || stdin.write_all(&bytes));
        let stdout = read_all(child.stdout.take().unwrap());
        let stderr = read_all(child.stderr.take().unwrap());
        let (sender, ended) = channel();
        spawn(move || {
            // Whatever it left running ends with it, while its number is still its own.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            let _ = kill_process_group(pid, Signal::KILL);
            sender.send(child.wait().unwrap())
        });
        Running {
            rss_file: self.measured.then_some(rss_file),
            cmd: self,
            pid,
            stdout: Some(stdout),
            stderr: Some(stderr),
            ended,
            over: false,
        }
    }
}

/// A run that is under way; dropped, it is killed.
pub(crate) struct Running<'a> {
    cmd: Cmd<'a>,
    pid: Pid,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    ended: Receiver<ExitStatus>,
    rss_file: Option<PathBuf>,
    over: bool,
}

impl Running<'_> {
    /// Sends a signal to the program and to all that it started, as a terminal does.
    pub(crate) fn signal(&self, signal: Signal) {
        // Fails only if all of them have ended, which `wait` will tell.
        let _ = kill_process_group(self.pid, signal);
    }

    /// The process, for tests that watch what it does.
    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Waits for the end and checks what must hold after every run.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Ran {
        let status = self.ended.recv_timeout(self.cmd.timeout).ok();
        if status.is_none() {
            self.signal(Signal::KILL);
        }
        self.over = true;
        let mut ran = Ran {
            command: self.command_line(),
            status,
            stdout: self.stdout.take().unwrap().join().unwrap(),
            stderr: self.stderr.take().unwrap().join().unwrap(),
            peak_rss: None,
        };
        assert!(
            status.is_some(),
            "still running after {:?}{ran}",
            self.cmd.timeout
        );
        if let Some(file) = &self.rss_file {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            ran.peak_rss = text.trim().parse::<u64>().ok().map(|kib| kib * 1024);
        }
        if self.cmd.checked {
            self.check(&ran);
        }
        ran
    }

    #[track_caller]
    fn check(&self, ran: &Ran) {
        assert!(!leaks::panicked(&ran.stderr), "a panic{ran}");
        let secrets = self.cmd.sandbox.secrets();
        for (name, bytes) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
            for secret in &secrets {
                let found = leaks::secret(secret, bytes);
                assert!(
                    found.is_none(),
                    "{name} shows a secret, {}{ran}",
                    found.unwrap()
                );
            }
            if name == "stderr" || !self.cmd.raw_stdout {
                let found = leaks::control(bytes);
                assert!(found.is_none(), "{name} holds {}{ran}", found.unwrap());
            }
        }
        if ran.signal().is_none() {
            let left: Vec<_> = std::fs::read_dir(self.cmd.sandbox.tmp())
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert!(left.is_empty(), "left in TMPDIR: {left:?}{ran}");
        }
    }

    /// The run as a line for the eye, in failure messages.
    fn command_line(&self) -> String {
        let cmd = &self.cmd;
        let known = ["PATH", "HOME", "TMPDIR"];
        let set = cmd
            .env
            .iter()
            .filter(|(name, _)| !known.iter().any(|k| name == k));
        let set = set.map(|(name, value)| format!("{}={}", name.display(), value.display()));
        let program = PathBuf::from(&cmd.program);
        let program = program.file_name().unwrap().display().to_string();
        let args = cmd.args.iter().map(|arg| arg.display().to_string());
        let words: Vec<_> = set.chain([program]).chain(args).collect();
        words.join(" ")
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.signal(Signal::KILL);
        }
    }
}

fn read_all(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}
