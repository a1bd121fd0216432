//! Other people's programs: where they are found, and how they are run in a sandbox. A tool that is
//! neither on PATH nor to be had fails the test and says what to do; it is never passed over.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::cmd::Cmd;
use super::{Ran, Sandbox, fetch};

/// A program on disk and the directory of the libraries that came with it.
#[derive(Clone)]
pub(super) struct Tool {
    pub(super) program: PathBuf,
    pub(super) libraries: Option<PathBuf>,
}

impl Sandbox {
    /// Runs `skopeo`, with no trust policy and its scratch space in the sandbox.
    #[track_caller]
    pub(crate) fn skopeo<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        let mut words: Vec<OsString> = vec!["--insecure-policy".into(), "--tmpdir".into()];
        words.push(self.tmp().into());
        words.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        static FOUND: OnceLock<Result<Tool, String>> = OnceLock::new();
        self.packaged(find(&FOUND, "skopeo", &["skopeo"]), words)
    }

    /// Runs `umoci`.
    #[track_caller]
    pub(crate) fn umoci<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        static FOUND: OnceLock<Result<Tool, String>> = OnceLock::new();
        self.packaged(find(&FOUND, "umoci", &["umoci"]), args)
    }

    /// Prepares a run of `bundle` on one thread, which `strace` with these flags watches and disturbs.
    #[track_caller]
    pub(crate) fn strace<S: AsRef<OsStr>>(
        &self,
        flags: &[String],
        args: impl IntoIterator<Item = S>,
    ) -> Cmd<'_> {
        static FOUND: OnceLock<Result<Tool, String>> = OnceLock::new();
        let tool = find(&FOUND, "strace", &["strace"]);
        let mut words: Vec<OsString> = flags.iter().map(OsString::from).collect();
        words.push(Self::binary());
        words.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let cmd = self.program(tool.program, words);
        let cmd = cmd.env("BUNDLE_TEST_THREADS", "1");
        match tool.libraries {
            Some(directory) => cmd.env("LD_LIBRARY_PATH", directory),
            None => cmd,
        }
    }

    #[track_caller]
    fn packaged<S: AsRef<OsStr>>(&self, tool: Tool, args: impl IntoIterator<Item = S>) -> Ran {
        let cmd = self.program(tool.program, args).unchecked();
        match tool.libraries {
            Some(directory) => cmd.env("LD_LIBRARY_PATH", directory).run(),
            None => cmd.run(),
        }
    }

    /// Runs `tar`, `gzip` and the like from the system.
    #[track_caller]
    pub(crate) fn tool<S: AsRef<OsStr>>(
        &self,
        name: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Ran {
        self.program(system(name), args).unchecked().run()
    }

    /// Runs a Python script from text.
    #[track_caller]
    pub(crate) fn python(&self, script: &str, args: &[&str]) -> Ran {
        let words = ["-ISc", script].into_iter().chain(args.iter().copied());
        self.tool("python3", words)
    }
}

/// CNCF distribution's registry server.
#[track_caller]
pub(super) fn docker_registry() -> Tool {
    static FOUND: OnceLock<Result<Tool, String>> = OnceLock::new();
    find(&FOUND, "docker-registry", &["docker-registry", "registry"])
}

/// A program that every system of a developer has; not fetched.
#[track_caller]
pub(super) fn system(name: &str) -> PathBuf {
    on_path(name).unwrap_or_else(|| panic!("this test needs `{name}`: install it"))
}

/// Finds a tool on PATH, or among what was fetched, or fetches it; asks only once in a process.
#[track_caller]
fn find(found: &OnceLock<Result<Tool, String>>, package: &'static str, names: &[&str]) -> Tool {
    let found = found.get_or_init(|| {
        if let Some(program) = names.iter().find_map(|name| on_path(name)) {
            return Ok(Tool {
                program,
                libraries: None,
            });
        }
        fetch::package(package).and_then(|root| fetched(&root, package))
    });
    found.clone().unwrap_or_else(|why| {
        let or_set = match package {
            "docker-registry" => {
                " or, where any open registry will do, set BUNDLE_TEST_REGISTRY=host:port"
            }
            _ => "",
        };
        panic!(
            "this test needs `{}` and has none\n  tried: {why}\n  install it (package `{package}` \
             on Debian and Ubuntu) so that it is on PATH{or_set}",
            names.join("` or `")
        )
    })
}

fn fetched(root: &Path, package: &str) -> Result<Tool, String> {
    let program = root.join("usr/bin").join(package);
    if !program.is_file() {
        return Err(format!("package `{package}` holds no usr/bin/{package}"));
    }
    // usr/lib/<machine>-linux-gnu: the one place where Debian puts shared libraries.
    let libraries = root
        .join("usr/lib")
        .read_dir()
        .ok()
        .and_then(|mut entries| {
            entries.find_map(|entry| {
                let entry = entry.ok()?;
                let multiarch = entry.file_name().to_str()?.ends_with("-linux-gnu");
                multiarch.then(|| entry.path())
            })
        });
    Ok(Tool { program, libraries })
}

/// `/usr/bin` comes first: version managers put slow wrappers of `python3` before it.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/bin", "/bin"].map(PathBuf::from);
    system
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
}
