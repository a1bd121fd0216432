//! A terminal for a run: what is typed when a text appears, and everything that is shown.

use super::{Ran, Sandbox};

/// Runs its arguments behind a first one: JSON with the columns and pairs of a text to wait for and what to type then.
const PTY: &str = "import fcntl, json, os, pty, struct, sys, termios
columns, steps = json.loads(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
shown = b''
def more():
    try:
        piece = os.read(fd, 4096)
    except OSError:
        piece = b''
    sys.stdout.buffer.write(piece)
    return piece
for text, typed in steps:
    while text.encode() not in shown:
        piece = more()
        if not piece:
            sys.exit(99)
        shown += piece
    shown = b''
    os.write(fd, typed.encode())
while more():
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)";

impl Sandbox {
    /// Runs `bundle` on a terminal; what it shows is the stdout of the run. Exit 99: a text did not appear. Needs `python3`.
    #[track_caller]
    pub(crate) fn on_terminal(&self, columns: u16, args: &[&str], steps: &[(&str, &str)]) -> Ran {
        let script = serde_json::json!([columns, steps]).to_string();
        let bundle = std::env::var("BUNDLE_TEST_BINARY");
        let bundle = bundle.unwrap_or(env!("CARGO_BIN_EXE_bundle").to_owned());
        let mut all = vec!["-ISc", PTY, &script, &bundle];
        all.extend(args);
        self.program("python3", all).raw_stdout().run()
    }
}
