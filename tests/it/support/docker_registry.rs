//! The real registry server of CNCF distribution, started for one test on a port of its own. What it
//! was asked is read from its access log, because its other log is silent about refusals.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::spawn;
use std::time::Duration;

use tempfile::TempDir;

use super::{Certs, Http, tools};

/// The one user of a registry with passwords.
pub(crate) const USER: &str = "alice";
/// Has characters in it that every encoding must get right.
pub(crate) const PASSWORD: &str = "corr%ct:horse/9";
/// Where servers listen if nothing else is said.
const LOOPBACK: &str = "127.0.0.1";
const HTPASSWD: &str = "alice:$2b$05$Zq8sVh0uN3rT1yXbW5cKeOclm5Os6AXG03jqdj0SegcIDqaa7/WzG\n";

/// A registry at work; dropped, it is stopped and its storage is gone.
pub(crate) struct DockerRegistry {
    host: String,
    own: Option<Own>,
}

/// What there is to a registry that we started ourselves.
struct Own {
    child: Child,
    directory: TempDir,
    access: Arc<Lines>,
    certs: Option<Certs>,
    http: Http,
    /// How many access lines the test has said it does not care for.
    mark: Cell<usize>,
}

/// A request as the registry's access log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) status: u16,
}

impl DockerRegistry {
    /// A registry over plain HTTP that lets everyone in: the one that `BUNDLE_TEST_REGISTRY` names, or
    /// else one of our own.
    #[track_caller]
    pub(crate) fn open() -> Self {
        match std::env::var("BUNDLE_TEST_REGISTRY") {
            Ok(host) => Self { host, own: None },
            Err(_) => Self::local(),
        }
    }

    /// As `open`, but always our own, for tests that read its log or its storage.
    #[track_caller]
    pub(crate) fn local() -> Self {
        Self::start(LOOPBACK, false, false)
    }

    /// As `local`, on the other loopback address; none where this machine has no IPv6.
    #[track_caller]
    pub(crate) fn ipv6() -> Option<Self> {
        let there = std::net::TcpListener::bind("[::1]:0").is_ok();
        there.then(|| Self::start("[::1]", false, false))
    }

    /// Basic authentication, over plain HTTP.
    #[track_caller]
    pub(crate) fn htpasswd() -> Self {
        Self::start(LOOPBACK, true, false)
    }

    /// TLS with a certificate of an authority of its own, open to everyone.
    #[track_caller]
    pub(crate) fn tls() -> Self {
        Self::start(LOOPBACK, false, true)
    }

    /// Basic authentication over TLS.
    #[track_caller]
    pub(crate) fn htpasswd_tls() -> Self {
        Self::start(LOOPBACK, true, true)
    }

    /// `host:port`.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// `host:port/name-N`, a repository that no other test uses, on a shared registry too.
    pub(crate) fn repository(&self, name: &str) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, n) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        format!("{}/{name}-{process}-{n}", self.host)
    }

    /// The authority of a registry with TLS, as a file alone in its directory.
    #[track_caller]
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.own().directory.path().join("certs/ca/ca.crt")
    }

    /// The address of `path` (which begins with `/v2/`), for requests by hand.
    pub(crate) fn url(&self, path: &str) -> String {
        let tls = self.own.as_ref().is_some_and(|own| own.certs.is_some());
        format!(
            "{}://{}{path}",
            if tls { "https" } else { "http" },
            self.host
        )
    }

    /// The file in the storage that holds a blob or a manifest, to be broken by a test.
    #[track_caller]
    pub(crate) fn blob_file(&self, digest: &str) -> PathBuf {
        let hex = digest.strip_prefix("sha256:").unwrap();
        let blobs = "storage/docker/registry/v2/blobs/sha256";
        let directory = self.own().directory.path().join(blobs);
        directory.join(&hex[..2]).join(hex).join("data")
    }

    /// Lets `requests` begin here.
    #[track_caller]
    pub(crate) fn mark(&self) {
        let own = self.own();
        own.mark.set(self.settled().len());
    }

    /// Every request since the mark, in the order of its answers; refused ones too.
    #[track_caller]
    pub(crate) fn requests(&self) -> Vec<Access> {
        self.settled().split_off(self.own().mark.get())
    }

    /// The log, once all that was answered before this call is in it.
    #[track_caller]
    fn settled(&self) -> Vec<Access> {
        let own = self.own();
        // The server logs in the order of its answers, so a request of our own is a fence.
        static FENCE: AtomicU32 = AtomicU32::new(0);
        let fence = format!("/v2/?fence={}", FENCE.fetch_add(1, Ordering::Relaxed));
        own.http.get(&self.url(&fence));
        let lines = own
            .access
            .wait_for(|lines| lines.iter().any(|line| line.contains(&fence)));
        let lines = lines.unwrap_or_else(|| panic!("the registry does not log {fence}"));
        let all = lines.iter().filter_map(|line| parse(line));
        all.filter(|access| !access.path.contains("/v2/?fence="))
            .collect()
    }

    #[track_caller]
    fn own(&self) -> &Own {
        let why = "this test looks into the registry: unset BUNDLE_TEST_REGISTRY for it";
        self.own.as_ref().unwrap_or_else(|| panic!("{why}"))
    }

    #[track_caller]
    fn start(address: &str, htpasswd: bool, tls: bool) -> Self {
        let tool = tools::docker_registry();
        let directory = tempfile::Builder::new()
            .prefix("registry-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let certs = tls.then(Certs::new);
        if let Some(certs) = &certs {
            certs.write(&directory.path().join("certs"));
        }
        std::fs::write(directory.path().join("htpasswd"), HTPASSWD).unwrap();
        let config = directory.path().join("config.yml");
        std::fs::write(
            &config,
            configuration(directory.path(), address, htpasswd, tls),
        )
        .unwrap();

        let mut child = Command::new(&tool.program)
            .arg("serve")
            .arg(&config)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", tool.program.display()));
        let access = Lines::of(child.stdout.take().unwrap());
        let log = Lines::of(child.stderr.take().unwrap());
        let started =
            log.wait_for(|lines| lines.iter().any(|line| port_in(line, address).is_some()));
        let port = started.and_then(|lines| {
            lines
                .iter()
                .find_map(|line| port_in(line, address).map(str::to_owned))
        });
        let Some(port) = port else {
            let _ = child.kill();
            panic!("docker-registry does not start:\n{}", log.all().join("\n"));
        };
        Self {
            host: format!("{address}:{port}"),
            own: Some(Own {
                http: Http::new(certs.as_ref().map(|certs| certs.ca.as_str())),
                child,
                directory,
                access,
                certs,
                mark: Cell::new(0),
            }),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // Fails only if it has ended by itself, and then there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!(
                "--- access log of docker-registry\n{}",
                self.access.all().join("\n")
            );
        }
    }
}

fn configuration(directory: &Path, address: &str, htpasswd: bool, tls: bool) -> String {
    let at = directory.display();
    let certificate = format!("certificate: {at}/certs/server.crt, key: {at}/certs/server.key");
    let tls = if tls {
        format!("  tls: {{{certificate}}}")
    } else {
        String::new()
    };
    let users = format!("auth:\n  htpasswd: {{realm: test, path: {at}/htpasswd}}");
    let auth = if htpasswd { users.as_str() } else { "" };
    format!(
        "version: 0.1
log: {{level: info, formatter: json}}
storage:
  filesystem: {{rootdirectory: {at}/storage}}
  delete: {{enabled: true}}
  maintenance: {{uploadpurging: {{enabled: false}}}}
http:
  addr: \"{address}:0\"
  secret: not-a-secret
{tls}
{auth}
"
    )
}

/// The port in the line with which the server says that it is ready.
fn port_in<'a>(line: &'a str, address: &str) -> Option<&'a str> {
    let rest = line.split_once("listening on ")?.1;
    let rest = rest.strip_prefix(address)?.strip_prefix(':')?;
    rest.split(|c: char| !c.is_ascii_digit()).next()
}

/// Reads a line in the combined log format.
fn parse(line: &str) -> Option<Access> {
    let mut parts = line.splitn(3, '"').skip(1);
    let mut request = parts.next()?.split(' ');
    Some(Access {
        method: request.next()?.to_owned(),
        path: request.next()?.to_owned(),
        status: parts.next()?.split_whitespace().next()?.parse().ok()?,
    })
}

/// The lines of a pipe, read by a thread as they come.
#[derive(Default)]
struct Lines {
    state: Mutex<(Vec<String>, bool)>,
    changed: Condvar,
}

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Arc<Self> {
        let lines = Arc::new(Self::default());
        let writer = Arc::clone(&lines);
        spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                writer.state.lock().unwrap().0.push(line);
                writer.changed.notify_all();
            }
            writer.state.lock().unwrap().1 = true;
            writer.changed.notify_all();
        });
        lines
    }

    fn all(&self) -> Vec<String> {
        self.state.lock().unwrap().0.clone()
    }

    /// Waits until the lines are as wanted; `None` if they end or half a minute passes before.
    fn wait_for(&self, wanted: impl Fn(&[String]) -> bool) -> Option<Vec<String>> {
        let state = self.state.lock().unwrap();
        let limit = Duration::from_secs(30);
        let waiting = |state: &mut (Vec<String>, bool)| !wanted(&state.0) && !state.1;
        let (state, _) = self
            .changed
            .wait_timeout_while(state, limit, waiting)
            .unwrap();
        wanted(&state.0).then(|| state.0.clone())
    }
}
