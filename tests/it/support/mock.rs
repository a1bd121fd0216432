//! A registry inside the test process that lies on request and remembers every request it got.
//!
//! Without rules it is an honest small registry in memory, with the habits that [`Modes`] names (a
//! relative `Location`, tokens that live for two requests, blobs in a store elsewhere). A rule takes
//! one request out of that and does something else: `mock.rule(on("GET", "/blobs/").nth(1),
//! Act::Cut(10))`. It runs on a thread of its own, so that a test may block on the binary.

mod acts;
mod auth;
mod modes;
mod registry;
mod serve;
mod state;
mod uploads;
mod wire;

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::oneshot;

pub(crate) use acts::{Act, When, on};
pub(crate) use modes::{Auth, Modes, Origin, Tls};
pub(crate) use state::SIGNATURE;
pub(crate) use wire::{Request, Response};

use super::Certs;
use acts::Rule;
use state::State;

/// The registry; dropped, it stops and closes every connection.
pub(crate) struct MockRegistry {
    shared: Arc<Shared>,
    /// Made when somebody asks: most tests speak plain HTTP.
    certs: OnceLock<Certs>,
    /// Dropped before the thread is joined: that is what ends it.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the connections and the test both see.
struct Shared {
    modes: Modes,
    /// `scheme://host:port` of each origin, in the order of [`Origin`].
    bases: [String; 4],
    /// Where each listens.
    ports: [u16; 4],
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn base(&self, origin: Origin) -> &str {
        &self.bases[origin as usize]
    }
}

impl MockRegistry {
    pub(crate) fn start(modes: Modes) -> Self {
        let certs = OnceLock::new();
        let tls = tls_config(modes.tls, &certs);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let listeners = Origin::ALL.map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
        let addresses = listeners
            .each_ref()
            .map(|listener| listener.local_addr().unwrap());
        let bases = Origin::ALL.map(|origin| {
            let address = addresses[origin as usize].to_string();
            let name = Origin::NAMES[origin as usize];
            format!("{scheme}://{}", if modes.named { name } else { &address })
        });
        let shared = Arc::new(Shared {
            modes,
            bases,
            ports: addresses.map(|address| address.port()),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread =
            std::thread::spawn(move || serve::run(listeners, tls.as_ref(), &for_thread, stopped));
        Self {
            shared,
            certs,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// An open registry over plain HTTP with no peculiar habits.
    pub(crate) fn plain() -> Self {
        Self::start(Modes::default())
    }

    /// `host:port` of the registry.
    pub(crate) fn host(&self) -> &str {
        self.base(Origin::Registry).split_once("://").unwrap().1
    }

    /// `host:port/name`.
    pub(crate) fn repository(&self, name: &str) -> String {
        format!("{}/{name}", self.host())
    }

    /// `scheme://host:port` of one of its listeners.
    pub(crate) fn base(&self, origin: Origin) -> &str {
        self.shared.base(origin)
    }

    /// The port of one of its listeners on 127.0.0.1.
    pub(crate) fn port(&self, origin: Origin) -> u16 {
        self.shared.ports[origin as usize]
    }

    /// The authority of its certificates and the client certificate that it accepts.
    pub(crate) fn certs(&self) -> &Certs {
        self.certs.get_or_init(Certs::new)
    }

    /// Adds a rule; of the rules that fit a request, the first one acts.
    pub(crate) fn rule(&self, when: When, act: Act) {
        let rule = Rule::new(when, act);
        self.shared.state.lock().unwrap().rules.push(rule);
    }

    /// Makes it honest again.
    pub(crate) fn clear_rules(&self) {
        self.shared.state.lock().unwrap().rules.clear();
    }

    /// Every request since the mark, at every origin, in the order of arrival.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.state.lock().unwrap().marked().to_vec()
    }

    /// The same as lines (`GET /v2/a/manifests/1 200`), without origin and query: what most tests assert.
    pub(crate) fn log(&self) -> Vec<String> {
        self.requests().iter().map(Request::line).collect()
    }

    /// Lets `requests` begin here.
    pub(crate) fn mark(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.mark = state.requests.len();
    }

    /// Blocks until everything is served that a process which has ended had sent; what it had not waited for may come late.
    pub(crate) fn quiet(&self) {
        // Connections are accepted in their order: after this one there is none of that process to come.
        let last = TcpStream::connect(self.host()).unwrap();
        let last_one = last.local_addr().unwrap();
        self.wait(|state| state.open.contains(&last_one));
        drop(last);
        self.wait(|state| state.open.is_empty());
    }

    #[track_caller]
    fn wait(&self, is_so: impl Fn(&State) -> bool) {
        let state = self.shared.state.lock().unwrap();
        let limit = Duration::from_secs(30);
        let changed = &self.shared.changed;
        let waited = changed.wait_timeout_while(state, limit, |state| !is_so(state));
        assert!(!waited.unwrap().1.timed_out(), "connections stay open");
    }

    /// Blocks until such a request has arrived since the mark, so that a test can act in the middle of a run.
    #[track_caller]
    pub(crate) fn wait_for(&self, method: &str, path_part: &str) -> Request {
        let state = self.shared.state.lock().unwrap();
        let fits = |r: &&Request| r.method == method && r.path.contains(path_part);
        let limit = Duration::from_secs(30);
        let missing = |state: &mut State| !state.marked().iter().any(|r| fits(&r));
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, limit, missing);
        let state = waited.unwrap().0;
        let found = state.marked().iter().find(fits).cloned();
        found.unwrap_or_else(|| panic!("no {method} {path_part} in {:?}", state.requests))
    }

    /// Asserts that `secret` has been sent to the origins in `allowed` only, in whatever encoding.
    #[track_caller]
    pub(crate) fn assert_secret_stays(&self, secret: &str, allowed: &[Origin]) {
        for request in self.requests() {
            let text = [request.head_text().as_bytes(), &request.body].concat();
            let found = super::leaks::secret(secret, &text);
            if let (Some(form), false) = (found, allowed.contains(&request.origin)) {
                let Request {
                    origin,
                    method,
                    path,
                    ..
                } = &request;
                panic!("{origin:?} was told a secret ({form}) by {method} {path}");
            }
        }
    }

    /// Every token that was issued, to be named as secrets of a sandbox.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let state = self.shared.state.lock().unwrap();
        state
            .tokens
            .iter()
            .map(|token| token.text.clone())
            .collect()
    }

    /// Forgets the upload sessions, as a registry does that was restarted.
    pub(crate) fn lose_uploads(&self) {
        self.shared.state.lock().unwrap().uploads.clear();
    }

    /// How many upload sessions are open.
    pub(crate) fn open_uploads(&self) -> usize {
        self.shared.state.lock().unwrap().uploads.len()
    }

    /// Puts a blob in, without a request; returns its digest.
    pub(crate) fn put_blob(&self, repository: &str, bytes: &[u8]) -> String {
        let mut state = self.shared.state.lock().unwrap();
        state.repository(repository).put_blob(bytes)
    }

    /// Puts a manifest in under a tag, without a request and whatever it says; returns its digest.
    pub(crate) fn put_manifest(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> String {
        let mut state = self.shared.state.lock().unwrap();
        let repository = state.repository(repository);
        let digest = repository.put_manifest(media_type, bytes);
        repository.tags.insert(tag.to_owned(), digest.clone());
        digest
    }

    pub(crate) fn blob(&self, repository: &str, digest: &str) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock().unwrap();
        state.repository(repository).blobs.get(digest).cloned()
    }

    /// A manifest by tag or digest.
    pub(crate) fn manifest(&self, repository: &str, reference: &str) -> Option<Vec<u8>> {
        let mut state = self.shared.state.lock().unwrap();
        let found = state.repository(repository).manifest(reference);
        found.map(|(_, manifest)| manifest.bytes.clone())
    }

    /// The digest that a tag stands for.
    pub(crate) fn tag(&self, repository: &str, tag: &str) -> Option<String> {
        let mut state = self.shared.state.lock().unwrap();
        state.repository(repository).tags.get(tag).cloned()
    }

    /// Every tag with its digest, for "the tags are as before".
    pub(crate) fn tags(&self, repository: &str) -> Vec<(String, String)> {
        let mut state = self.shared.state.lock().unwrap();
        state
            .repository(repository)
            .tags
            .clone()
            .into_iter()
            .collect()
    }
}

impl Drop for MockRegistry {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if std::thread::panicking() {
            eprintln!(
                "--- requests to the mock registry\n{}",
                self.log().join("\n")
            );
        }
    }
}

fn tls_config(tls: Tls, certs: &OnceLock<Certs>) -> Option<Arc<ServerConfig>> {
    if tls == Tls::Off {
        return None;
    }
    let certs = certs.get_or_init(Certs::new);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = match tls {
        Tls::Off => return None,
        Tls::On => builder.with_no_client_auth(),
        Tls::ClientCertificate | Tls::AsksForCertificate => {
            let mut roots = RootCertStore::empty();
            roots
                .add(CertificateDer::from_pem_slice(certs.ca.as_bytes()).unwrap())
                .unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = match tls {
                Tls::AsksForCertificate => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let cert = CertificateDer::from_pem_slice(certs.server.cert.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certs.server.key.as_bytes()).unwrap();
    Some(Arc::new(builder.with_single_cert(vec![cert], key).unwrap()))
}
