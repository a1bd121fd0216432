//! What the tests of credential files share: a directory with files and helpers, and a record of what was told.

mod files;
mod helpers;
mod logins;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Helpers, Notice, Sources, Tell};
use crate::credential::{Credential, Secret};

/// A directory for one test, with helpers in `bin` and everything that was told.
struct Place {
    root: tempfile::TempDir,
    told: Arc<Mutex<Vec<Notice>>>,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("bin")).unwrap();
        Self {
            root,
            told: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Writes `docker-credential-NAME`, a shell script.
    ///
    /// A child writes it: a thread that starts another program meanwhile would inherit the open file from us, and the
    /// system runs no program that is open for writing.
    fn helper(&self, name: &str, script: &str) {
        let path = self.path("bin").join(format!("docker-credential-{name}"));
        let mut child = Command::new("sh")
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        write!(stdin, "#!/bin/sh\n{script}\n").unwrap();
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }

    fn helpers(&self) -> Helpers {
        let told = Arc::clone(&self.told);
        let tell = Tell::new(move |notice| told.lock().unwrap().push(notice));
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        let mut helpers = Helpers::new(path.into(), Vec::new(), tell);
        helpers.timeout = Duration::from_secs(20);
        helpers
    }

    fn sources(&self, files: &[&str]) -> Sources {
        Sources {
            files: files.iter().map(|name| self.path(name)).collect(),
            helpers: self.helpers(),
            ..Sources::none()
        }
    }

    fn told(&self) -> Vec<Notice> {
        self.told.lock().unwrap().clone()
    }

    fn warnings(&self) -> Vec<String> {
        let told = self.told().into_iter();
        told.filter_map(|notice| match notice {
            Notice::Warning(text) => Some(text),
            Notice::Detail(_) => None,
        })
        .collect()
    }
}

/// Looks a repository up, and says in one word what came of it: `user:password`, `identity TOKEN`, `-`, or the error.
async fn look_up(sources: Sources, repository: &str) -> Result<String, crate::error::Error> {
    let credentials = super::credentials(sources);
    let found = credentials.find(&repository.parse().unwrap()).await?;
    Ok(match found.map(|found| found.credential) {
        None => "-".into(),
        Some(credential) => in_a_word(&credential),
    })
}

fn in_a_word(credential: &Credential) -> String {
    match credential {
        Credential::Basic { username, password } => format!("{username}:{}", password.reveal()),
        Credential::IdentityToken(token) => format!("identity {}", token.reveal()),
        Credential::RegistryToken(token) => format!("registry {}", token.reveal()),
    }
}

fn basic(username: &str, password: &str) -> Credential {
    Credential::Basic {
        username: username.into(),
        password: Secret::new(password),
    }
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
