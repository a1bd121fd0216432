//! Certificates, plain HTTP where it is and is not allowed, proxies, IPv6.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use manifest_bundle::credential::Secret;
use manifest_bundle::error::{Error, Kind};
use manifest_bundle::store::Store;
use manifest_bundle::store::registry::{Access, AccessSettings, ClientCertificate, Proxies, Proxy};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;

use super::{Client, Sample, bytes};
use crate::support::{DockerRegistry, MockRegistry, Modes, Origin, PASSWORD, Tls};

fn with_tls(tls: Tls) -> (MockRegistry, Sample) {
    let mock = MockRegistry::start(Modes {
        tls,
        ..Modes::default()
    });
    let sample = Sample::new(&bytes(70_000));
    sample.put(&mock, "a");
    (mock, sample)
}

fn ca(mock: &MockRegistry) -> Vec<Vec<u8>> {
    vec![mock.certs().ca.clone().into_bytes()]
}

/// Lists the tags with some settings.
async fn tags(repository: &str, change: impl FnOnce(&mut AccessSettings)) -> Result<(), Error> {
    let mut client = Client::with(change);
    let listed = client.open(repository).tags().await;
    let retries = client.retries();
    assert!(listed.is_ok() || retries.is_empty(), "{retries:?}");
    listed.map(drop)
}

#[tokio::test]
async fn an_authority_is_trusted_when_it_is_named() {
    let (mock, sample) = with_tls(Tls::On);
    for host in [
        mock.host().to_owned(),
        mock.host().replace("127.0.0.1", "localhost"),
    ] {
        let mut client = Client::with(|s| s.ca_certificates = ca(&mock));
        sample
            .pull(&client.open(&format!("{host}/a")))
            .await
            .unwrap();
        sample
            .push(&client.open(&format!("{host}/b")), "1")
            .await
            .unwrap();
    }
    let error = tags(&mock.repository("a"), |s| s.plain_http = Some(false))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(error.to_string().contains("unknown authority"), "{error}");
    let hint = error.detail().hint.clone().unwrap();
    assert!(
        hint.contains("--ca-file") && hint.contains("SSL_CERT_FILE"),
        "{hint}"
    );
    // And whoever does not care says so, and stays with HTTPS.
    tags(&mock.repository("a"), |s| s.insecure = true)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_shows_its_certificate_and_we_show_ours() {
    let (mock, sample) = with_tls(Tls::ClientCertificate);
    let client = |certificate: bool| {
        Client::with(|s| {
            s.ca_certificates = ca(&mock);
            s.client_certificate = certificate.then(|| ClientCertificate {
                certificate: mock.certs().client.cert.clone().into_bytes(),
                key: Secret::new(mock.certs().client.key.clone()),
            });
        })
    };
    sample
        .pull(&client(true).open(&mock.repository("a")))
        .await
        .unwrap();
    let error = client(false)
        .open(&mock.repository("a"))
        .tags()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    let hint = error.detail().hint.clone().unwrap_or_default();
    assert!(hint.contains("--cert-file"), "{error} {hint}");
}

#[tokio::test]
async fn the_client_certificate_and_the_leave_not_to_check_are_for_the_registry_only() {
    // The storage is another origin, with a certificate of the same authority; it asks for ours, too.
    let mock = MockRegistry::start(Modes {
        tls: Tls::ClientCertificate,
        redirect_blobs: true,
        ..Modes::default()
    });
    let sample = Sample::new(b"layer");
    sample.put(&mock, "a");
    let certificate = ClientCertificate {
        certificate: mock.certs().client.cert.clone().into_bytes(),
        key: Secret::new(mock.certs().client.key.clone()),
    };
    let mut client = Client::with(|s| {
        s.ca_certificates = ca(&mock);
        s.client_certificate = Some(certificate);
    });
    let error = sample
        .pull(&client.open(&mock.repository("a")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(mock.requests().iter().all(|r| r.origin == Origin::Registry));

    let mock = MockRegistry::start(Modes {
        tls: Tls::On,
        redirect_blobs: true,
        ..Modes::default()
    });
    sample.put(&mock, "a");
    let error = sample
        .pull(&Client::with(|s| s.insecure = true).open(&mock.repository("a")))
        .await;
    assert!(error.unwrap_err().to_string().contains("unknown authority"));
    let mut client = Client::with(|s| s.ca_certificates = ca(&mock));
    sample
        .pull(&client.open(&mock.repository("a")))
        .await
        .unwrap();
}

/// A server that answers every connection with some bytes.
fn raw(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    host
}

/// A TLS server whose certificate has these dates and names.
fn certified(from: i32, to: i32, name: &str) -> (String, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(to, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let pem = certificate.pem().into_bytes();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            while tls.complete_io(&mut stream).is_ok_and(|(r, w)| r + w > 0) {}
        }
    });
    (host, pem)
}

#[tokio::test]
async fn bad_certificates_are_named_and_not_tried_again() {
    for (from, to, name, said) in [
        (1999, 2000, "127.0.0.1", "expired"),
        (4000, 4001, "127.0.0.1", "not valid yet"),
        (1999, 4000, "other.example", "for another host"),
    ] {
        let (host, pem) = certified(from, to, name);
        let error = tags(&format!("{host}/a"), |s| s.ca_certificates = vec![pem])
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable, "{error}");
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}

#[tokio::test]
async fn http_and_https_are_not_mixed_up_in_silence() {
    let host =
        raw(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    let error = tags(&format!("{host}/a"), |s| s.plain_http = Some(false))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("answered plain HTTP"), "{error}");
    assert_eq!(error.detail().hint.as_deref(), Some("use --plain-http"));

    let (mock, _) = with_tls(Tls::On);
    for host in [host, mock.host().to_owned()] {
        let error = tags(&format!("{host}/a"), |_| ()).await.unwrap_err();
        let hint = error.detail().hint.clone().unwrap_or_default();
        assert!(hint.contains("leave out --plain-http"), "{error} {hint}");
    }
    // Plain HTTP by itself is for this machine only.
    for host in [
        "foo.local",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
    ] {
        let error = tags_of_nobody(host, None).await;
        assert!(
            error.to_string().contains(&format!("https://{host}")),
            "{error}"
        );
        let error = tags_of_nobody(host, Some(true)).await;
        // Plain requests go to the proxy itself, which then answers in the registry's place.
        assert!(error.to_string().contains("407"), "{error}");
    }
}

/// Lists the tags of a registry that the proxy does not let us reach.
async fn tags_of_nobody(host: &str, plain_http: Option<bool>) -> Error {
    let proxy = raw(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n");
    let proxy = Proxy::new(proxy, "the test");
    let mut client = Client::with(|s| {
        s.plain_http = plain_http;
        s.proxies = Proxies {
            http: Some(proxy.clone()),
            https: Some(proxy),
            no_proxy: String::new(),
        };
    });
    client.open(&format!("{host}/a")).tags().await.unwrap_err()
}

#[test]
fn settings_that_cannot_be_used_are_refused_at_once() {
    let certificate = |certificate: &str, key: &str| {
        Some(ClientCertificate {
            certificate: certificate.into(),
            key: Secret::new(key),
        })
    };
    let proxies = |url: &str| Proxies {
        https: Some(Proxy::new(url, "the test")),
        ..Proxies::default()
    };
    let refused = |change: &dyn Fn(&mut AccessSettings)| {
        let mut settings = AccessSettings::default();
        change(&mut settings);
        let error = Access::new(settings).unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    };
    refused(&|s| s.ca_certificates = vec![b"no PEM".to_vec()]);
    refused(&|s| s.ca_certificates = vec![Vec::new()]);
    refused(&|s| s.client_certificate = certificate("no PEM", "hunter2"));
    refused(&|s| s.proxies = proxies("socks5://u:hunter2@127.0.0.1:1"));
    refused(&|s| {
        s.proxies = proxies("https://u:hunter2@127.0.0.1:1");
        s.insecure = true;
    });
}

/// A proxy that forwards plain requests by looking at nothing, and tunnels; returns what it was asked.
pub(crate) fn proxy(to: &str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (log, to) = (Arc::clone(&asked), to.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (log, to) = (Arc::clone(&log), to.clone());
            std::thread::spawn(move || {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read(&mut byte).unwrap_or(0) == 0 {
                        return;
                    }
                    head.push(byte[0]);
                }
                let text = String::from_utf8_lossy(&head).into_owned();
                log.lock().unwrap().push(text.clone());
                let mut server = std::net::TcpStream::connect(to).unwrap();
                if text.starts_with("CONNECT ") {
                    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
                } else {
                    // `GET http://host/path` becomes `GET /path`; one request for each connection.
                    let (line, rest) = text.split_once("\r\n").unwrap();
                    let words: Vec<_> = line.split(' ').collect();
                    let path = words[1].splitn(4, '/').nth(3).unwrap();
                    let own = |line: &&str| !line.to_ascii_lowercase().starts_with("proxy-");
                    let rest: Vec<_> = rest.split("\r\n").filter(own).collect();
                    let head = format!("{} /{path} HTTP/1.1\r\n{}", words[0], rest.join("\r\n"));
                    server.write_all(head.as_bytes()).unwrap();
                    server.shutdown(std::net::Shutdown::Write).unwrap();
                }
                let (mut up, mut down) = (server.try_clone().unwrap(), stream.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut stream, &mut up));
                let _ = std::io::copy(&mut server, &mut down);
                let _ = down.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (host, asked)
}

#[tokio::test]
async fn proxies_are_used_for_others_and_not_for_this_machine() {
    for tls in [Tls::Off, Tls::On] {
        let (mock, sample) = with_tls(tls);
        let (host, asked) = proxy(mock.host());
        let url = Proxy::new(format!("http://user:hunter2%2F@{host}"), "the test");
        let proxies = |no_proxy: &str| Proxies {
            http: Some(url.clone()),
            https: Some(url.clone()),
            no_proxy: no_proxy.into(),
        };
        let client = |no_proxy: &str| {
            Client::with(|s| {
                s.proxies = proxies(no_proxy);
                s.insecure = tls == Tls::On;
                s.plain_http = Some(tls == Tls::Off);
            })
        };
        // Nobody but the proxy can resolve this name.
        sample
            .pull(&client("other.example").open("registry.invalid/a"))
            .await
            .unwrap();
        let heads = asked.lock().unwrap().clone();
        assert!(!heads.is_empty());
        let line = match tls {
            Tls::Off => "GET http://registry.invalid/v2/a/manifests/",
            _ => "CONNECT registry.invalid:443 ",
        };
        for head in &heads {
            assert!(head.starts_with(line) || tls == Tls::Off, "{head}");
            // user:hunter2/
            assert!(head.contains("dXNlcjpodW50ZXIyLw=="), "{head}");
        }
        assert!(heads[0].starts_with(line), "{heads:?}");
        mock.assert_secret_stays("user:hunter2/", &[]);
        // This machine and the exceptions are reached directly.
        asked.lock().unwrap().clear();
        sample
            .pull(&client("").open(&mock.repository("a")))
            .await
            .unwrap();
        let error = client("registry.invalid")
            .open("registry.invalid/a")
            .tags()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable);
        assert!(asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    for (answer, said) in [
        (
            &b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"[..],
            "407",
        ),
        (
            b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
            "tunnel",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n<html>no</html>",
            "",
        ),
    ] {
        let host = raw(answer);
        let mut client = Client::with(|s| {
            let url = format!("http://user:hunter2@{host}");
            s.proxies.https = Some(Proxy::new(url, "the test"));
        });
        let error = client.open("registry.invalid/a").tags().await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unreachable, "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn ipv6_works() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"tags\":[\"x\"]}";
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(answer).unwrap();
    });
    let from = Client::new().open(&format!("{host}/a/b"));
    assert_eq!(from.tags().await.unwrap(), ["x".parse().unwrap()]);
    assert_eq!(from.place(), format!("{host}/a/b"));
}

#[test]
fn the_real_registry_over_tls_with_a_password() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let registry = DockerRegistry::htpasswd_tls();
    let ca = std::fs::read(registry.ca_file()).unwrap();
    let repository = registry.repository("tls");
    let sample = Sample::new(&bytes(300_000));
    let mut client = Client::alice();
    client.settings.ca_certificates = vec![ca];
    let to = client.open(&repository).to_write();
    runtime.block_on(sample.push(&to, "1.0.0")).unwrap();
    runtime.block_on(sample.pull(&to)).unwrap();
    assert!(!format!("{:?} {to:?}", client.settings).contains(PASSWORD));
}
