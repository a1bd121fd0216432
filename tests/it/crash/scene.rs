//! An operation with the files that it starts from, which are put back before each run.

use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::trace::CALLS;
use crate::support::{
    Auth, MockRegistry, Modes, PASSWORD, Ran, Sandbox, Snapshot, USER, bundle_dir, hex,
};

/// What is written, and so what "whole" means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A directory or a file.
    Path,
    /// A layout, in which blobs without a name harm nobody.
    Layout,
    Credential,
}

pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    sandbox: Sandbox,
    /// Kept for as long as the operation needs it.
    _mock: Option<MockRegistry>,
    args: Vec<String>,
    again: Vec<String>,
    stdin: &'static str,
    /// Whether calls on other threads are disturbed too; each thread counts its own.
    threads: bool,
    old: Snapshot,
    new: Snapshot,
}

/// What a run came to.
#[derive(Clone, Copy)]
pub(super) struct State {
    old: bool,
    new: bool,
    /// How many things lie beside the destination.
    pub(super) left: usize,
}

impl State {
    /// Tells whether the destination is the new one, or the old one.
    pub(super) fn is(self, new: bool) -> bool {
        if new { self.new } else { self.old }
    }
}

impl Scene {
    pub(super) fn pack(force: bool) -> Self {
        let (sandbox, args) = (sources(), "pack 2.0.0 -o out.tar");
        if force {
            sandbox.run(["pack", "1.0.0", "-o", "out.tar"]).ok();
        }
        Self::new("pack", Kind::Path, sandbox, None, args, force)
    }

    pub(super) fn unpack(force: bool) -> Self {
        let (sandbox, args) = (sources(), "unpack 2.tar -o out");
        if force {
            sandbox.run(["unpack", "1.tar", "-o", "out"]).ok();
        }
        Self::new("unpack", Kind::Path, sandbox, None, args, force)
    }

    /// Unpacks more files than are put on disk one by one.
    pub(super) fn unpack_many(force: bool) -> Self {
        let sandbox = sources();
        for n in 0..60 {
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: n{n}}}\n");
            sandbox.write(format!("2.0.0/manifests/n{n:02}.yaml"), text);
        }
        sandbox
            .run(["pack", "2.0.0", "-o", "2.tar", "--force"])
            .ok();
        if force {
            sandbox.run(["unpack", "1.tar", "-o", "out"]).ok();
        }
        let args = "unpack 2.tar -o out";
        let mut scene = Self::new("unpack many", Kind::Path, sandbox, None, args, force);
        scene.threads = true;
        scene
    }

    pub(super) fn pull(force: bool) -> Self {
        let (sandbox, mock) = (sources(), MockRegistry::plain());
        let reference = mock.repository("demo");
        sandbox.run(["copy", "2.tar", &reference]).ok();
        if force {
            sandbox.run(["unpack", "1.tar", "-o", "out"]).ok();
        }
        let args = format!("pull {reference}:2.0.0 -o out");
        Self::new("pull", Kind::Path, sandbox, Some(mock), &args, force)
    }

    pub(super) fn layout(more: bool) -> Self {
        let sandbox = sources();
        if more {
            sandbox.run(["copy", "1.tar", "oci:out:stable"]).ok();
        }
        let args = "copy 2.tar oci:out:stable";
        Self::new("layout", Kind::Layout, sandbox, None, args, more)
    }

    pub(super) fn login() -> Self {
        let sandbox = Sandbox::new();
        let mock = MockRegistry::start(Modes {
            auth: Auth::Basic,
            ..Modes::default()
        });
        let other = "{\"auths\":{\"other.example\":{\"auth\":\"b3RoZXI6b3RoZXI=\"}}}\n";
        let file = sandbox.write("out/config.json", other);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(file, mode).unwrap();
        let args = format!(
            "login {} -u {USER} --password-stdin --registry-config out/config.json",
            mock.host()
        );
        let mut scene = Self::raw("login", Kind::Credential, sandbox, Some(mock), &args);
        scene.stdin = PASSWORD;
        scene.take_new();
        scene
    }

    fn new(
        name: &'static str,
        kind: Kind,
        sandbox: Sandbox,
        mock: Option<MockRegistry>,
        args: &str,
        force: bool,
    ) -> Self {
        let mut scene = Self::raw(name, kind, sandbox, mock, args);
        scene.again.push("--force".to_owned());
        if force {
            scene.args.push("--force".to_owned());
        }
        scene.take_new();
        scene
    }

    fn raw(
        name: &'static str,
        kind: Kind,
        sandbox: Sandbox,
        mock: Option<MockRegistry>,
        args: &str,
    ) -> Self {
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let old = Snapshot::of(sandbox.work());
        // With the extended attributes, by which a run knows its own files.
        sandbox.tool("cp", ["-a", "../work", "../before"]).ok();
        Self {
            name,
            kind,
            sandbox,
            _mock: mock,
            again: args.clone(),
            args,
            stdin: "",
            // The credential file is written on a second thread.
            threads: kind == Kind::Credential,
            new: old.clone(),
            old,
        }
    }

    /// Runs the operation undisturbed and remembers what it gives.
    fn take_new(&mut self) {
        self.sandbox.bundle(&self.args).stdin(self.stdin).run().ok();
        self.new = Snapshot::of(self.sandbox.work());
        assert!(!self.old.diff(&self.new).is_empty(), "nothing was written");
        self.reset();
    }

    /// Puts back what was there before.
    pub(super) fn reset(&self) {
        let work = self.sandbox.work();
        std::fs::remove_dir_all(&work).unwrap();
        let root = self.sandbox.root();
        let cmd = self
            .sandbox
            .program("cp", ["-a", "before", "work"])
            .cwd(root);
        cmd.run().ok();
    }

    /// Runs the operation with all calls counted; returns the directory, and the calls on lines of their own.
    pub(super) fn trace(&self) -> String {
        self.reset();
        self.strace(None).ok();
        let work = self.sandbox.work().canonicalize().unwrap();
        format!("{}\n{}", work.display(), self.log())
    }

    /// Runs the operation with one call disturbed.
    pub(super) fn disturbed(&self, how: &str) -> Ran {
        self.strace(Some(how))
    }

    fn strace(&self, inject: Option<&str>) -> Ran {
        let mut flags = vec!["-y".to_owned(), "-s0".into(), "-o".into()];
        flags.push(self.log_file().display().to_string());
        flags.push(format!("-etrace={CALLS}"));
        flags.extend(self.threads.then(|| "-f".to_owned()));
        flags.extend(inject.map(|how| format!("-einject={how}")));
        self.sandbox
            .strace(&flags, &self.args)
            .stdin(self.stdin)
            .run()
    }

    fn log_file(&self) -> PathBuf {
        self.sandbox.root().join("trace")
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log_file()).unwrap()).into_owned()
    }

    pub(super) fn was_injected(&self) -> bool {
        self.log().contains("(INJECTED)")
    }

    /// Looks at what is there, and asserts that it is whole.
    pub(super) fn state(&self, what: &str) -> State {
        let now = Snapshot::of(self.sandbox.work());
        let (from_old, left) = differences(&self.old, &now);
        let (from_new, _) = differences(&self.new, &now);
        let unnamed = |line: &String| line.starts_with("+ out/blobs/");
        let old = match self.kind {
            // Of a layout that was there, the blobs that came and have no name yet.
            Kind::Layout if !self.is_fresh() => from_old.iter().all(unnamed),
            // Of a new one all but the index.
            Kind::Layout => {
                !self.sandbox.path("out/index.json").exists()
                    && from_old.iter().all(|line| line.starts_with("+ out"))
            }
            Kind::Path | Kind::Credential => from_old.is_empty(),
        };
        let state = State {
            old,
            new: from_new.is_empty(),
            left,
        };
        assert!(
            state.old || state.new,
            "{what}: neither old nor new\n  from old: {from_old:#?}\n  from new: {from_new:#?}"
        );
        assert!(left <= 1, "{what}: {left} things are left");
        if self.kind == Kind::Layout {
            check_layout(&self.sandbox, what);
        }
        state
    }

    fn is_fresh(&self) -> bool {
        !self.old.paths().iter().any(|path| path == "out")
    }

    /// Runs undisturbed, which must give the reference and leave nothing beside it.
    pub(super) fn run_again(&self, before: State, what: &str) {
        let args = if before.new { &self.again } else { &self.args };
        let ran = self.sandbox.bundle(args).stdin(self.stdin).run();
        assert!(ran.code() == 0, "{what}: the next run fails{ran}");
        let state = self.state(what);
        assert!(
            state.new,
            "{what}: the next run does not give the reference{ran}"
        );
        assert!(
            state.left == 0,
            "{what}: the next run leaves what it found{ran}"
        );
    }
}

/// The directories and archives of two versions.
pub(super) fn sources() -> Sandbox {
    let sandbox = Sandbox::new();
    for (version, archive) in [("1.0.0", "1.tar"), ("2.0.0", "2.tar")] {
        bundle_dir(sandbox.path(version), "demo", version, None);
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: v{}\n",
            &version[..1]
        );
        sandbox.write(format!("{version}/manifests/own.yaml"), text);
        sandbox.run(["pack", version, "-o", archive]).ok();
    }
    sandbox
}

/// What differs, and how many temporary files and directories there are.
fn differences(from: &Snapshot, to: &Snapshot) -> (Vec<String>, usize) {
    let is_ours = |part: &str| part.starts_with('.') && part.contains(".bundle-");
    let mut seen = Vec::new();
    let mut left = 0;
    for line in from.diff(to) {
        let path = line[2..].split_once(": ").unwrap().0.to_owned();
        match path.split('/').position(is_ours) {
            None => seen.push(line),
            Some(at) if path.split('/').count() == at + 1 => left += 1,
            Some(_) => {}
        }
    }
    (seen, left)
}

/// Asserts that every entry of the index, if there is one, has all its blobs and every blob its digest.
pub(super) fn check_layout(sandbox: &Sandbox, what: &str) {
    let Ok(index) = std::fs::read(sandbox.path("out/index.json")) else {
        return;
    };
    let read = |descriptor: &serde_json::Value| {
        let digest = descriptor["digest"].as_str().unwrap().replace(':', "/");
        let path = sandbox.path("out/blobs").join(&digest);
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{what}: {digest}: {e}"));
        assert!(
            digest.ends_with(&hex(&Sha256::digest(&bytes))),
            "{what}: {digest} is broken"
        );
        bytes
    };
    let index: serde_json::Value = serde_json::from_slice(&index).unwrap();
    for entry in index["manifests"].as_array().unwrap() {
        let manifest: serde_json::Value = serde_json::from_slice(&read(entry)).unwrap();
        read(&manifest["config"]);
        for layer in manifest["layers"].as_array().unwrap() {
            read(layer);
        }
    }
}
