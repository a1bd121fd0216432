//! Fetches tools as Debian packages, through the system's own apt and from nowhere else. Nothing is
//! installed and no root is needed: apt works on private state, packages are unpacked below
//! `target/test-tools/`. Needs the package sources that the system has; never adds one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::tools::on_path;

/// Returns the directory with the unpacked package and those of its dependencies that the system
/// lacks, or says why there is none.
pub(super) fn package(name: &str) -> Result<PathBuf, String> {
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .unwrap()
        .join("test-tools");
    let done = tools.join(name);
    let io = |e: std::io::Error| format!("{}: {e}", tools.display());
    fs::create_dir_all(&tools).map_err(io)?;
    // Tests run in many threads and processes; one of them fetches, the others wait here.
    let lock = File::create(tools.join("lock")).map_err(io)?;
    lock.lock().map_err(io)?;
    if done.is_dir() {
        return Ok(done);
    }
    let apt = Apt::new(tools.join("apt")).map_err(io)?;
    let packages = apt.download(name)?;
    // Complete under another name first: what stands under the right one can be trusted.
    let partial = tools.join(format!("{name}.partial"));
    let _ = fs::remove_dir_all(&partial);
    for package in packages {
        let words = ["-x".into(), package.into(), partial.clone().into()];
        run("dpkg-deb", words)?;
    }
    fs::rename(&partial, &done).map_err(io)?;
    let _ = fs::remove_dir_all(apt.archives());
    Ok(done)
}

/// apt with lists, cache and locks of its own, and the system's sources, keys and package status.
struct Apt {
    state: PathBuf,
}

impl Apt {
    fn new(state: PathBuf) -> std::io::Result<Self> {
        fs::create_dir_all(state.join("lists/partial"))?;
        let apt = Self { state };
        fs::create_dir_all(apt.archives().join("partial"))?;
        Ok(apt)
    }

    fn archives(&self) -> PathBuf {
        self.state.join("cache/archives")
    }

    /// Downloads a package and what it needs that is not installed.
    fn download(&self, name: &str) -> Result<Vec<PathBuf>, String> {
        let listed = self.state.join("listed");
        let install = ["-y", "-d", "--no-install-recommends", "install", name];
        let had_lists = listed.exists();
        // An old list names packages that are gone; one update, and then it is final.
        if !had_lists || self.get(&install).is_err() {
            // Hooks of the system may fail an update whose lists have arrived: the install tells.
            let update = self.get(&["update"]);
            self.get(&install).map_err(|e| update.err().unwrap_or(e))?;
            fs::write(&listed, "").map_err(|e| e.to_string())?;
        }
        let archives = self.archives().read_dir().map_err(|e| e.to_string())?;
        let files = archives.filter_map(|entry| Some(entry.ok()?.path()));
        let files: Vec<_> = files
            .filter(|p| p.extension().is_some_and(|e| e == "deb"))
            .collect();
        if files.is_empty() {
            return Err(format!("apt-get brought no package for `{name}`"));
        }
        Ok(files)
    }

    fn get(&self, words: &[&str]) -> Result<(), String> {
        let directory = self.state.display();
        let options = [
            format!("Dir::State={directory}"),
            "Dir::State::status=/var/lib/dpkg/status".to_owned(),
            format!("Dir::Cache={directory}/cache"),
            // The locks are the system's; ours is the one around all of this.
            "Debug::NoLocking=1".to_owned(),
            // Root would hand the download to a user who may not write here.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            // A list that could not be fetched is the reason to report, not a package that is unknown.
            "APT::Update::Error-Mode=any".to_owned(),
            "Acquire::Retries=2".to_owned(),
            "Acquire::http::Timeout=20".to_owned(),
        ];
        let mut all: Vec<OsString> = vec!["-q".into()];
        for option in options {
            all.extend(["-o".into(), option.into()]);
        }
        all.extend(words.iter().map(Into::into));
        run("apt-get", all)
    }
}

/// Runs a program of the system; its last words are the error.
fn run(program: &str, words: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let found = on_path(program).ok_or(format!("there is no `{program}` to fetch it with"))?;
    let output = Command::new(found)
        .args(words)
        .env("LC_ALL", "C")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines
        .iter()
        .rev()
        .take(6)
        .rev()
        .copied()
        .collect::<Vec<_>>();
    Err(format!("{program} failed:\n    {}", last.join("\n    ")))
}
