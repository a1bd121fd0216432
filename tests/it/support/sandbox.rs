//! A place to run the binary in: its own HOME, TMPDIR and working directory, and nothing else of the
//! machine's environment. What a run may do to it is checked in `cmd.rs`.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::cmd::Cmd;
use super::ran::Ran;

/// A temporary directory with `home`, `tmp`, `bin` and `work`, removed at the end of the test
/// (kept with `BUNDLE_TEST_KEEP=1`).
pub(crate) struct Sandbox {
    root: TempDir,
    secrets: RefCell<Vec<String>>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let mut root = tempfile::Builder::new()
            .prefix("sandbox-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        root.disable_cleanup(std::env::var_os("BUNDLE_TEST_KEEP").is_some());
        for name in ["home", "tmp", "bin", "work"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        Self {
            root,
            secrets: RefCell::default(),
        }
    }

    /// The directory above all others, for snapshots of everything that a run could touch.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// `HOME` of every run.
    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// `TMPDIR` of every run; a run that ends by itself must leave it empty.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.root().join("tmp")
    }

    /// The working directory of every run.
    pub(crate) fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// A path in the working directory.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.work().join(relative)
    }

    /// Writes a file in the working directory, with the directories that it needs.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Puts an executable `sh` script first in the PATH of every run (a credential helper, say).
    pub(crate) fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.root().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Names a secret that no output may contain, in any encoding, from now on.
    pub(crate) fn secret(&self, text: impl Into<String>) {
        let text = text.into();
        assert!(text.len() >= 6, "`{text}` is too short to search for");
        self.secrets.borrow_mut().push(text);
    }

    /// Prepares a run of `bundle`, or of the build of it that `BUNDLE_TEST_BINARY` names.
    pub(crate) fn bundle<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Cmd<'_> {
        self.program(Self::binary(), args)
    }

    /// Runs `bundle` as a user would, without more ado.
    #[track_caller]
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        self.bundle(args).run()
    }

    /// Prepares a run of any program under the same rules as `bundle`.
    pub(crate) fn program<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> Cmd<'_> {
        Cmd::new(self, program.as_ref(), args)
    }

    /// The `bundle` that runs.
    pub(crate) fn binary() -> OsString {
        let named = std::env::var_os("BUNDLE_TEST_BINARY");
        named.unwrap_or(env!("CARGO_BIN_EXE_bundle").into())
    }

    /// What [`Sandbox::secret`] was told so far.
    pub(super) fn secrets(&self) -> Vec<String> {
        self.secrets.borrow().clone()
    }
}
