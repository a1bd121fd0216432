//! What stands at a path that the user named, before anything of it is read. A pipe or a device is refused, and not waited for.

use std::fs::File;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::content::Content;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;

/// What stands at a path.
#[derive(Debug)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A directory.
    Directory,
    /// A directory that is an OCI image layout.
    Layout,
    /// A regular file, opened.
    File(Content),
}

/// Looks at a path and follows links on the way to it, for the user named it.
///
/// # Errors
///
/// [`Kind::Unsafe`] for a pipe, a device or a socket; [`Kind::Io`] for what cannot be opened.
pub fn look(path: &Path) -> Result<Standing> {
    let fail = |error: std::io::Error| Error::io("cannot open", path, error);
    let special = || {
        let path = shown(&path.to_string_lossy());
        Error::new(Kind::Unsafe, format!("`{path}` is no regular file"))
    };
    // Without NONBLOCK the call would wait until somebody writes into a pipe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = match rustix::io::retry_on_intr(|| openat(CWD, path, flags, Mode::empty())) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(Standing::Nothing),
        Err(Errno::NXIO) => return Err(special()),
        Err(error) => return Err(fail(error.into())),
    };
    let stat = fstat(&fd).map_err(|error| fail(error.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            let mark = statat(&fd, "oci-layout", AtFlags::empty());
            let is_layout = mark.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
            Ok(if is_layout {
                Standing::Layout
            } else {
                Standing::Directory
            })
        }
        FileType::RegularFile => Ok(Standing::File(
            Content::of_file(File::from(fd)).map_err(fail)?,
        )),
        _ => Err(special()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_stands_at_a_path_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        assert!(matches!(look(&at("none")), Ok(Standing::Nothing)));
        assert!(matches!(look(directory.path()), Ok(Standing::Directory)));
        fs::write(at("oci-layout"), "{}").unwrap();
        assert!(matches!(look(directory.path()), Ok(Standing::Layout)));
        let Ok(Standing::File(content)) = look(&at("oci-layout")) else {
            panic!("a file is a file");
        };
        assert_eq!(content.len(), 2);
        assert_eq!(look(&at("oci-layout/below")).unwrap_err().kind(), Kind::Io);
    }

    #[test]
    fn a_pipe_and_a_socket_are_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(look(&pipe).unwrap_err().kind(), Kind::Unsafe);
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert_eq!(look(&socket).unwrap_err().kind(), Kind::Unsafe);
    }
}
