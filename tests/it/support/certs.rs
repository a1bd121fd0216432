//! Throw-away certificates: an authority, a server certificate for this machine and the pretended internet, and
//! a client certificate. Nothing here is kept or shared between tests.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// PEM texts of one authority and of what it signed.
pub(crate) struct Certs {
    pub(crate) ca: String,
    pub(crate) server: Pair,
    pub(crate) client: Pair,
}

/// A certificate and its private key.
pub(crate) struct Pair {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Certs {
    pub(crate) fn new() -> Self {
        let mut params = named("bundle test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self {
            server: signed(&ca, ExtendedKeyUsagePurpose::ServerAuth),
            client: signed(&ca, ExtendedKeyUsagePurpose::ClientAuth),
            ca: ca.pem(),
        }
    }

    /// Writes `ca/ca.crt`, `server.crt`, `server.key`, `client.crt` and `client.key`; returns the
    /// first, which is alone in its directory because some tools are given the directory.
    pub(crate) fn write(&self, directory: &Path) -> PathBuf {
        std::fs::create_dir_all(directory.join("ca")).unwrap();
        for (name, pem) in [
            ("ca/ca.crt", &self.ca),
            ("server.crt", &self.server.cert),
            ("server.key", &self.server.key),
            ("client.crt", &self.client.cert),
            ("client.key", &self.client.key),
        ] {
            std::fs::write(directory.join(name), pem).unwrap();
        }
        directory.join("ca/ca.crt")
    }
}

fn signed(ca: &CertifiedIssuer<'_, KeyPair>, usage: ExtendedKeyUsagePurpose) -> Pair {
    let mut params = named("bundle test");
    params.extended_key_usages = vec![usage];
    let key = KeyPair::generate().unwrap();
    Pair {
        cert: params.signed_by(&key, ca).unwrap().pem(),
        key: key.serialize_pem(),
    }
}

fn named(name: &str) -> CertificateParams {
    let mut hosts = ["localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    hosts.extend(super::Origin::NAMES.map(str::to_owned));
    for lure in ["registry.example", "localhost", "127.0.0.1"] {
        hosts.push(format!("{lure}.evil.example"));
    }
    let mut params = CertificateParams::new(hosts).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
