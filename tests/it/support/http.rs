//! A small blocking HTTP client for tests that speak to a registry themselves. It follows no redirect,
//! uses no proxy, and knows only the authority that it is given.

use reqwest::header::HeaderMap;
use tokio::runtime::{Builder, Runtime};

use super::Certs;

/// One client, with its connections.
pub(crate) struct Http {
    runtime: Runtime,
    client: reqwest::Client,
}

/// An answer, read to the end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// A header's value, or an empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Http {
    /// Trusts the certificates in `ca` (PEM) and no others.
    pub(crate) fn new(ca: Option<&str>) -> Self {
        Self::build(ca, None)
    }

    /// Trusts the authority of `certs` and shows its client certificate.
    pub(crate) fn with_client_certificate(certs: &Certs) -> Self {
        let pem = format!("{}{}", certs.client.cert, certs.client.key);
        Self::build(Some(&certs.ca), Some(&pem))
    }

    fn build(ca: Option<&str>, identity: Option<&str>) -> Self {
        // Another thread may have been first; either way there is a provider now.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let trusted = ca.map(|pem| reqwest::Certificate::from_pem(pem.as_bytes()).unwrap());
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .tls_certs_only(trusted);
        if let Some(pem) = identity {
            builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).unwrap());
        }
        let client = builder.build().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { runtime, client }
    }

    #[track_caller]
    pub(crate) fn get(&self, url: &str) -> Answer {
        self.send("GET", url, &[], Vec::new()).unwrap()
    }

    /// Sends one request; a broken connection is the error.
    pub(crate) fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer, reqwest::Error> {
        self.runtime.block_on(async {
            let method = method.parse().unwrap();
            let mut request = self.client.request(method, url).body(body);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let answer = request.send().await?;
            Ok(Answer {
                status: answer.status().as_u16(),
                headers: answer.headers().clone(),
                body: answer.bytes().await?.to_vec(),
            })
        })
    }
}
