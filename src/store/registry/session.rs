//! What all repositories of one registry share: its address, its connections, its tokens.
//!
//! There are two HTTP clients. One speaks with the registry itself and alone has the client certificate and the leave to
//! accept any certificate; the other speaks with everything that the registry points to.

use std::collections::HashSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reqwest::{Certificate, Identity, redirect};
use tokio::task::JoinHandle;
use url::Url;

use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::Limits;
use crate::reference;

use super::access::{AccessSettings, ClientCertificate};
use super::auth::Auth;
use super::event::{Event, Events};
use super::location::{is_private, is_private_ip};
use super::proxy::Routes;
use super::resolve;
use super::retry::Attempts;
use super::warning::Warnings;

/// The largest head of an answer, in bytes.
pub(super) const HEAD_MAX: u32 = 64 * 1024;

/// How many different things that are told once are told of one registry.
const TOLD_MAX: usize = 10_000;

/// One registry, as one caller sees it.
pub(super) struct Session {
    pub(super) registry: reference::Registry,
    /// `https://HOST[:PORT]/v2/`.
    pub(super) base: Url,
    pub(super) settings: Arc<AccessSettings>,
    pub(super) auth: Auth,
    pub(super) warnings: Warnings,
    /// Which proxy a request goes through.
    pub(super) routes: Routes,
    /// What was told already.
    told: Mutex<HashSet<String>>,
    own: reqwest::Client,
    /// Made when it is needed: reading the system's certificates takes time.
    other: OnceLock<reqwest::Client>,
    /// Whether the registry is in a private network: by its name, or by the connection on which it answered last.
    private: Arc<AtomicBool>,
    /// Whether its name alone tells that, or nothing more can be known because there is a proxy between.
    is_decided: bool,
    /// What is still being tidied up.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.registry)
    }
}

impl Session {
    pub(super) fn new(
        registry: &reference::Registry,
        settings: &Arc<AccessSettings>,
    ) -> Result<Self> {
        let plain = settings
            .plain_http
            .unwrap_or(registry.is_loopback() && !settings.wants_tls());
        let scheme = if plain { "http" } else { "https" };
        let base = format!("{scheme}://{}/v2/", registry.endpoint());
        let base = Url::parse(&base)
            .map_err(|_| Error::usage(format!("`{}` is no registry", shown(&base))))?;
        let private = Arc::new(AtomicBool::new(is_private(&base)));
        let routes = Routes::new(&settings.proxies)?;
        let is_proxied = routes.of(&base).is_some();
        Ok(Self {
            registry: registry.clone(),
            routes,
            told: Mutex::default(),
            own: client(settings, plain, true, resolve::Own)?,
            other: OnceLock::new(),
            settings: Arc::clone(settings),
            auth: Auth::default(),
            warnings: Warnings::default(),
            private,
            is_decided: is_proxied || is_private(&base),
            tasks: Mutex::default(),
            base,
        })
    }

    /// Returns the client for the registry itself.
    pub(super) fn own(&self) -> &reqwest::Client {
        &self.own
    }

    /// Returns the client for every other origin.
    pub(super) fn other(&self) -> Result<&reqwest::Client> {
        if let Some(client) = self.other.get() {
            return Ok(client);
        }
        let resolver = resolve::Other {
            is_private: Arc::clone(&self.private),
            proxies: self.routes.hosts(),
        };
        let client = client(&self.settings, false, false, resolver)?;
        Ok(self.other.get_or_init(|| client))
    }

    /// Tells whether the registry is on the public internet, as far as is known.
    pub(super) fn is_public(&self) -> bool {
        !self.private.load(Ordering::Relaxed)
    }

    /// Notes from which address the registry itself has answered.
    ///
    /// What counts is not where its name may lead: whoever owns a public name can let it lead here, too.
    pub(super) fn answered_from(&self, address: Option<SocketAddr>) {
        if !self.is_decided {
            let is_private = address.is_some_and(|address| is_private_ip(address.ip()));
            self.private.store(is_private, Ordering::Relaxed);
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(super) fn events(&self) -> &Events {
        &self.settings.events
    }

    /// Tells something, unless it was told before; what is told so far is bounded.
    pub(super) fn tell_once(&self, event: Event) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.len() < TOLD_MAX && told.insert(event.to_string());
        drop(told);
        if is_new {
            self.events().tell(event);
        }
    }

    /// Takes a task that tidies up.
    pub(super) fn keep_task(&self, task: JoinHandle<()>) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Returns the tasks that tidy up.
    pub(super) fn take_tasks(&self) -> Vec<JoinHandle<()>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut tasks)
    }

    /// Begins to count the attempts of one operation.
    pub(super) fn attempts(&self, place: String) -> Attempts {
        Attempts::new(&self.settings.time, &self.settings.events, place)
    }
}

impl AccessSettings {
    /// Checks what can be checked without a registry.
    pub(super) fn check(&self) -> Result<()> {
        let routes = Routes::new(&self.proxies)?;
        // The HTTP library uses one TLS configuration for the registry and for the way to the proxy.
        if routes.any_over_tls() && (self.insecure || self.client_certificate.is_some()) {
            return Err(Error::usage(
                "a proxy that is reached over https cannot be used together with --insecure or a client certificate",
            ));
        }
        self.authorities()?;
        self.identity()?;
        Ok(())
    }

    /// Tells whether a setting makes sense with TLS only, so that this machine's registry is spoken to over TLS, too.
    fn wants_tls(&self) -> bool {
        self.insecure || self.client_certificate.is_some() || !self.ca_certificates.is_empty()
    }

    fn authorities(&self) -> Result<Vec<Certificate>> {
        let mut all = Vec::new();
        for pem in &self.ca_certificates {
            let some = Certificate::from_pem_bundle(pem)
                .map_err(|_| Error::usage("the file of certificate authorities is no PEM text"))?;
            if some.is_empty() {
                return Err(Error::usage(
                    "the file of certificate authorities holds no certificate",
                ));
            }
            all.extend(some);
        }
        Ok(all)
    }

    fn identity(&self) -> Result<Option<Identity>> {
        let Some(ClientCertificate { certificate, key }) = &self.client_certificate else {
            return Ok(None);
        };
        let mut pem = certificate.clone();
        pem.push(b'\n');
        pem.extend_from_slice(key.reveal().as_bytes());
        Identity::from_pem(&pem).map(Some).map_err(|_| {
            Error::usage("the client certificate and its key are no PEM texts of a certificate and a private key")
        })
    }
}

/// Makes a client; `own` is the one for the registry itself.
fn client(
    settings: &AccessSettings,
    plain: bool,
    own: bool,
    resolver: impl reqwest::dns::Resolve + 'static,
) -> Result<reqwest::Client> {
    // Fails when the program has chosen a provider before, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let routes = Routes::new(&settings.proxies)?;
    let mut builder = reqwest::Client::builder()
        .user_agent(&settings.user_agent)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .dns_resolver(resolver)
        .connect_timeout(settings.timeouts.connect)
        .http2_max_header_list_size(HEAD_MAX)
        // Forgets what the environment says about proxies; ours come as values.
        .no_proxy()
        .proxy(reqwest::Proxy::custom(move |url| {
            routes.of(url).map(|via| via.url().clone())
        }));
    let authorities = settings.authorities()?;
    builder = if plain {
        builder.tls_certs_only(authorities)
    } else {
        builder.tls_certs_merge(authorities)
    };
    if own && !plain {
        builder = builder.tls_danger_accept_invalid_certs(settings.insecure);
        if let Some(identity) = settings.identity()? {
            builder = builder.identity(identity);
        }
    }
    builder.build().map_err(|error| {
        Error::usage("TLS cannot be used with these settings")
            .hint("is there a certificate authority on this system? name one with --ca-file")
            .source(error.without_url())
    })
}

#[cfg(test)]
mod tests {
    use super::super::proxy::{Proxies, Proxy};
    use super::*;

    fn session(host: &str, proxies: Proxies) -> Session {
        let settings = AccessSettings {
            proxies,
            plain_http: Some(true),
            ..AccessSettings::default()
        };
        let repository: reference::Repository = format!("{host}/a").parse().unwrap();
        Session::new(repository.registry(), &Arc::new(settings)).unwrap()
    }

    #[test]
    fn this_machine_is_spoken_to_over_tls_where_a_setting_makes_sense_with_tls_only() {
        let certificate = || ClientCertificate {
            certificate: Vec::new(),
            key: crate::credential::Secret::new("x"),
        };
        let default = AccessSettings::default;
        for (settings, wants) in [
            (default(), false),
            (
                AccessSettings {
                    insecure: true,
                    ..default()
                },
                true,
            ),
            (
                AccessSettings {
                    client_certificate: Some(certificate()),
                    ..default()
                },
                true,
            ),
            (
                AccessSettings {
                    ca_certificates: vec![Vec::new()],
                    ..default()
                },
                true,
            ),
        ] {
            assert_eq!(settings.wants_tls(), wants, "{settings:?}");
        }
        let scheme = |host: &str, insecure| {
            let repository: reference::Repository = format!("{host}/a").parse().unwrap();
            let settings = AccessSettings {
                insecure,
                ..default()
            };
            let session = Session::new(repository.registry(), &Arc::new(settings)).unwrap();
            assert_eq!(format!("{session:?}"), format!("Session({host})"));
            session.base.scheme().to_owned()
        };
        assert_eq!(scheme("127.0.0.1:5000", false), "http");
        assert_eq!(scheme("127.0.0.1:5000", true), "https");
        assert_eq!(scheme("registry.example", false), "https");
    }

    #[test]
    fn settings_that_do_not_fit_each_other_are_refused() {
        let proxied = |url: &str, insecure| AccessSettings {
            proxies: Proxies {
                https: Some(Proxy::new(url, "HTTPS_PROXY")),
                ..Proxies::default()
            },
            insecure,
            ..AccessSettings::default()
        };
        assert!(proxied("http://p", true).check().is_ok());
        assert!(proxied("https://p", false).check().is_ok());
        assert!(proxied("https://p", true).check().is_err());
        let identity = Some(ClientCertificate {
            certificate: b"x".to_vec(),
            key: crate::credential::Secret::new("x"),
        });
        let with_identity = |url: &str| AccessSettings {
            client_certificate: identity.clone(),
            ..proxied(url, false)
        };
        let message =
            |settings: &AccessSettings| settings.check().unwrap_err().message().to_owned();
        assert!(message(&with_identity("https://p")).contains("cannot be used together"));
        assert!(message(&with_identity("http://p")).contains("no PEM texts"));
        let authorities = AccessSettings {
            ca_certificates: vec![b"x".to_vec()],
            ..AccessSettings::default()
        };
        assert!(message(&authorities).contains("no certificate"));
    }

    #[test]
    fn what_is_told_once_is_told_once_and_not_for_ever() {
        let told = Arc::new(Mutex::new(0));
        let count = Arc::clone(&told);
        let settings = AccessSettings {
            events: Events::new(move |_| *count.lock().unwrap() += 1),
            ..AccessSettings::default()
        };
        let repository: reference::Repository = "registry.example/a".parse().unwrap();
        let session = Session::new(repository.registry(), &Arc::new(settings)).unwrap();
        for _ in 0..3 {
            session.tell_once(Event::Warning("same".into()));
        }
        assert_eq!(*told.lock().unwrap(), 1);
        for n in 0..2 * TOLD_MAX {
            session.tell_once(Event::Warning(n.to_string()));
        }
        assert_eq!(*told.lock().unwrap(), TOLD_MAX);
    }

    #[tokio::test]
    async fn tasks_are_kept_until_they_have_ended() {
        let session = session("registry.example", Proxies::default());
        session.keep_task(tokio::spawn(std::future::ready(())));
        tokio::task::yield_now().await;
        session.keep_task(tokio::spawn(std::future::pending()));
        assert_eq!(session.take_tasks().len(), 1);
        assert!(session.take_tasks().is_empty());
    }

    #[test]
    fn the_connection_decides_where_a_registry_is() {
        let from = |address: &str| Some(address.parse().unwrap());
        let named = session("registry.example", Proxies::default());
        assert!(named.is_public());
        named.answered_from(from("10.0.0.1:80"));
        assert!(!named.is_public());
        // Not once and for all.
        named.answered_from(from("8.8.8.8:80"));
        assert!(named.is_public());
        named.answered_from(from("10.0.0.1:80"));
        named.answered_from(None);
        assert!(named.is_public());
        // That is the address of the proxy.
        let proxies = Proxies {
            http: Some(Proxy::new("http://10.0.0.1:3128", "HTTP_PROXY")),
            ..Proxies::default()
        };
        let proxied = session("registry.example", proxies);
        proxied.answered_from(from("10.0.0.1:3128"));
        assert!(proxied.is_public());
        // Who writes a private address means it.
        let written = session("10.0.0.7:5000", Proxies::default());
        written.answered_from(None);
        assert!(!written.is_public());
    }

    #[tokio::test]
    async fn the_address_of_a_connection_is_known() {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // An answer before the request is none.
            assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            stream
        });
        let session = session(&address.to_string(), Proxies::default());
        let response = session.own().get(session.base.clone()).send().await;
        assert_eq!(response.unwrap().remote_addr(), Some(address));
        drop(serving.await);
    }
}
