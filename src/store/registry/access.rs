//! How registries are reached: the settings that all repositories of one command share, and what is kept for them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::credential::{Credentials, Secret};
use crate::error::Result;
use crate::limits::Limits;
use crate::reference;

use super::event::Events;
use super::proxy::Proxies;
use super::session::Session;
use super::time::Time;

/// How registries are reached. Everything is a value: nothing is read from the environment, except that the system's
/// certificate authorities are found where the system keeps them (or where `SSL_CERT_FILE` says).
#[derive(Debug, Clone)]
pub struct AccessSettings {
    /// Finds the credential of a registry, once it asks for one.
    pub credentials: Credentials,
    /// Uses plain HTTP or HTTPS. Where it is not said, plain HTTP is for registries on this machine, unless a setting
    /// below makes sense with TLS only.
    pub plain_http: Option<bool>,
    /// Accepts any certificate from the registry itself (never from its token service or storage).
    pub insecure: bool,
    /// Authorities to trust beside the system's, each text in PEM with one or more certificates.
    pub ca_certificates: Vec<Vec<u8>>,
    /// The certificate to show to the registry itself.
    pub client_certificate: Option<ClientCertificate>,
    /// The `User-Agent`.
    pub user_agent: String,
    /// Deadlines.
    pub timeouts: Timeouts,
    /// Proxies.
    pub proxies: Proxies,
    /// Hosts (with a port, if it is not the usual one) of token services that may get the password of a registry
    /// although they are on another domain.
    pub auth_realms: Vec<String>,
    /// The clock, and how to wait.
    pub time: Time,
    /// Takes what happens on the way.
    pub events: Events,
    /// Ceilings.
    pub limits: Limits,
}

impl Default for AccessSettings {
    fn default() -> Self {
        Self {
            credentials: Credentials::anonymous(),
            plain_http: None,
            insecure: false,
            ca_certificates: Vec::new(),
            client_certificate: None,
            user_agent: concat!("bundle/", env!("CARGO_PKG_VERSION")).to_owned(),
            timeouts: Timeouts::default(),
            proxies: Proxies::default(),
            auth_realms: Vec::new(),
            time: Time::default(),
            events: Events::default(),
            limits: Limits::default(),
        }
    }
}

/// A client certificate and its private key, both in PEM.
#[derive(Clone)]
pub struct ClientCertificate {
    /// The certificate, followed by those that signed it.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: Secret,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientCertificate")
    }
}

/// How long single steps may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, with the TLS handshake.
    pub connect: Duration,
    /// For the next bytes of an answer, or of a body that is sent.
    pub idle: Duration,
    /// The least number of bytes that must pass in each period of `idle` while a body is read or sent.
    pub least: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            least: 30 * 1024,
        }
    }
}

/// Access to registries: connections and tokens are shared by all repositories that are opened with it.
#[derive(Debug, Clone)]
pub struct Access {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    settings: Arc<AccessSettings>,
    sessions: Mutex<HashMap<reference::Registry, Arc<Session>>>,
}

impl Access {
    /// Takes settings.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::error::Kind::Usage) for settings that cannot be used, such as a certificate that is none.
    pub fn new(settings: AccessSettings) -> Result<Self> {
        settings.check()?;
        Ok(Self {
            shared: Arc::new(Shared {
                settings: Arc::new(settings),
                sessions: Mutex::default(),
            }),
        })
    }

    /// Waits, but no longer than that, until uploads that were broken off are ended at their registries.
    ///
    /// For callers that drop a push (a signal) and then let go of the runtime.
    pub async fn settle(&self, at_most: Duration) {
        let all = async {
            loop {
                let tasks = self.tasks();
                if tasks.is_empty() {
                    break;
                }
                // Whatever becomes of them: there is nobody to tell. One that learns of an upload leaves one that ends it.
                drop(futures_util::future::join_all(tasks).await);
            }
        };
        let _ = tokio::time::timeout(at_most, all).await;
    }

    /// Returns what is still being tidied up.
    fn tasks(&self) -> Vec<JoinHandle<()>> {
        let sessions = self.shared.sessions.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        sessions.values().flat_map(|s| s.take_tasks()).collect()
    }

    /// Returns what is shared by the repositories of a registry.
    pub(super) fn session(&self, registry: &reference::Registry) -> Result<Arc<Session>> {
        let sessions = &self.shared.sessions;
        let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(registry) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Session::new(registry, &self.shared.settings)?);
        sessions.insert(registry.clone(), Arc::clone(&session));
        Ok(session)
    }
}
