//! The terminal: drawing on it, asking on it, and leaving it as it was.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;
use manifest_bundle::{Error, Kind, Result};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Columns at the right that a progress line leaves free: a terminal shows `^C` there, which must not begin a line.
const MARGIN: u16 = 3;

/// The longest answer to a question, in bytes.
const ANSWER_MAX: u64 = 64 * 1024;

/// How the terminal was before typing was hidden.
static SHOWN: Mutex<Option<Termios>> = Mutex::new(None);

/// Returns how many columns a progress line may take.
pub(crate) fn width() -> u16 {
    let columns = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
    let columns = if columns == 0 { 80 } else { columns };
    columns.saturating_sub(MARGIN).max(1)
}

/// Refuses to write an archive where a person would see it.
///
/// # Errors
///
/// [`Kind::Usage`] when stdout is a terminal.
pub(crate) fn refuse_archive() -> Result<()> {
    if io::stdout().is_terminal() {
        return Err(Error::usage("an archive is not for a terminal")
            .hint("send it into a file or another program: FILE.tar, `- | …`"));
    }
    Ok(())
}

/// The terminal as the progress line sees it: narrower than it is.
#[derive(Debug)]
pub(crate) struct Screen;

impl TermLike for Screen {
    fn width(&self) -> u16 {
        width()
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        moved(n, 'D')
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        writeln!(io::stderr().lock(), "{line}")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        write!(io::stderr().lock(), "{text}")
    }

    fn clear_line(&self) -> io::Result<()> {
        write!(io::stderr().lock(), "\r\u{1b}[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

fn moved(n: usize, to: char) -> io::Result<()> {
    if n == 0 {
        return Ok(());
    }
    write!(io::stderr().lock(), "\u{1b}[{n}{to}")
}

/// Asks for a line.
pub(crate) fn ask(question: &str) -> Result<String> {
    write!(io::stderr().lock(), "{question}: ").map_err(failed)?;
    let mut answer = String::new();
    io::stdin()
        .lock()
        .take(ANSWER_MAX)
        .read_line(&mut answer)
        .map_err(failed)?;
    let answer = answer.trim_end_matches(['\n', '\r']);
    if answer.is_empty() {
        return Err(Error::usage(format!("no answer to `{question}`")));
    }
    Ok(answer.to_owned())
}

/// Asks for a line that is not shown while it is typed.
pub(crate) fn ask_hidden(question: &str) -> Result<String> {
    let cannot_hide = |error: rustix::io::Errno| failed(error.into());
    let before = tcgetattr(io::stdin()).map_err(cannot_hide)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).map_err(cannot_hide)?;
    let answer = ask(question);
    restore();
    answer
}

/// Shows typing again, if it was hidden. The end of the line that was typed is hidden, too, and so comes from here.
pub(crate) fn restore() {
    let before = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        // Nothing better can be done where this fails.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
        let _ = writeln!(io::stderr().lock());
    }
}

fn failed(error: io::Error) -> Error {
    Error::new(Kind::Io, format!("cannot ask on the terminal: {error}")).source(error)
}
