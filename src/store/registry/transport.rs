//! Why no answer came, in words: what the layers below HTTP report, told apart by what the caller can do.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use url::Url;

use crate::error::{Error, Kind};
use crate::escape::shown;

use super::location::shown_origin;
use super::proxy::Via;
use super::resolve::{NoSuchName, PrivateNetwork};
use super::retry::Failure;

/// What to do about a server that speaks TLS on the other end of a plain connection.
pub(super) const SPEAKS_HTTPS: &str = "if it speaks HTTPS: leave out --plain-http; on this machine add --ca-file FILE or --plain-http=false; for one side of a copy, with --from- or --to-";

/// What to do about a proxy that asks for a password.
pub(super) const PROXY_PASSWORD: &str =
    "put the password into the proxy's URL: http://USER:PASSWORD@HOST:PORT";

/// What to do about a proxy that cannot be reached.
const PROXY_RIGHT: &str =
    "is the proxy the right one? NO_PROXY names the hosts that are reached without it";

/// Says that the server is silent.
pub(super) fn too_slow(url: &Url, via: Option<&Via>, idle: Duration) -> Failure {
    Failure::passing(Error::new(
        Kind::Unreachable,
        format!(
            "{} sends nothing, or next to nothing, for {} s",
            way(url, via),
            idle.as_secs()
        ),
    ))
}

/// Says where a request goes, and through which proxy.
pub(super) fn way(url: &Url, via: Option<&Via>) -> String {
    let origin = shown_origin(url);
    match via {
        Some(via) => format!("{origin} through the proxy {via}"),
        None => origin,
    }
}

/// Turns a failure of the HTTP library into one of ours; its text never holds more of the URL than the origin.
pub(super) fn failure(error: reqwest::Error, url: &Url, via: Option<&Via>) -> Failure {
    let origin = way(url, via);
    let error = error.without_url();
    let causes = causes(&error);
    let is_connect = error.is_connect();
    // Connections are made to the proxy, so it is the one that cannot be reached, or that cannot reach the other.
    let unreachable = |why: &str| match via {
        Some(via) if is_connect => Error::new(
            Kind::Unreachable,
            format!("{}: the proxy {via}: {why}", shown_origin(url)),
        )
        .hint(PROXY_RIGHT),
        _ => Error::new(Kind::Unreachable, format!("{origin}: {why}")),
    };
    for cause in &causes {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return tls_failure(tls, &origin);
        }
    }
    if causes.iter().any(|cause| cause.is::<PrivateNetwork>()) {
        return Error::protocol(format!("{origin}: {PrivateNetwork}")).into();
    }
    if let Some(missing) = causes
        .iter()
        .find_map(|cause| cause.downcast_ref::<NoSuchName>())
    {
        return unreachable(&missing.to_string())
            .hint("is its name right, and is this machine's name server the one that knows it?")
            .into();
    }
    for cause in &causes {
        let Some(http) = cause.downcast_ref::<hyper::Error>() else {
            continue;
        };
        let below = http.source().map(ToString::to_string).unwrap_or_default();
        if http.is_parse() || breaks_http2(&below) {
            let why = if http.is_parse() {
                http.to_string()
            } else {
                below
            };
            let why = shown(&why);
            let error = Error::protocol(format!("{origin}: the answer is not HTTP: {why}"));
            return match url.scheme() {
                "http" => error.hint(SPEAKS_HTTPS),
                _ => error,
            }
            .into();
        }
    }
    if error.is_timeout() {
        return Failure::passing(unreachable("no connection in time"));
    }
    if error.is_builder() {
        return Error::protocol(format!("{origin}: the request cannot be sent")).into();
    }
    let why = reason(&causes, is_connect);
    // The type of this error is private to the library below; its text is all there is.
    if why.contains("proxy authorization required") {
        return unreachable("it asks for a password (407)")
            .hint(PROXY_PASSWORD)
            .into();
    }
    Failure::passing(unreachable(&why))
}

/// Tells from what the library below says about HTTP/2 whether the server broke its rules; else it, or the way to it, gave up.
///
/// Its type is of a library that is not ours; the text is the same for streams and connections.
fn breaks_http2(said: &str) -> bool {
    said.contains(" error detected: ")
}

/// Lists an error and what is below it; errors inside an I/O error, too, which does not count them as its sources.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> Vec<&'a (dyn StdError + 'static)> {
    let mut all = vec![error];
    let mut next = error.source();
    while let Some(cause) = next {
        all.push(cause);
        let inner = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => {
                let inner: &(dyn StdError + 'static) = inner;
                Some(inner)
            }
            None => cause.source(),
        };
        // Nobody nests deeper; an error that is its own source would never end.
        if all.len() > 16 {
            break;
        }
    }
    all
}

/// Says why in one fragment: the innermost cause that has a name of its own.
fn reason(causes: &[&(dyn StdError + 'static)], connecting: bool) -> String {
    let io = causes
        .iter()
        .rev()
        .find_map(|cause| cause.downcast_ref::<io::Error>());
    let kind = io.map(io::Error::kind);
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => "the connection is refused".into(),
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {
            "the connection was broken off".into()
        }
        Some(io::ErrorKind::UnexpectedEof) => "the connection ended too early".into(),
        Some(io::ErrorKind::TimedOut) => "no answer in time".into(),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            "there is no way to this host".into()
        }
        _ => {
            let last = causes.last().map(ToString::to_string);
            let text = last.unwrap_or_default();
            let text = text.split(" (os error").next().unwrap_or_default();
            let what = if connecting {
                "cannot connect"
            } else {
                "the connection failed"
            };
            format!("{what}: {}", shown(text))
        }
    }
}

/// Says what is wrong with TLS. Certificates do not become right by trying again.
fn tls_failure(error: &rustls::Error, origin: &str) -> Failure {
    let fault = |why: &str| Error::new(Kind::Unreachable, format!("{origin}: {why}"));
    let because = shown(&error.to_string());
    let authority = "trust its authority with --ca-file or SSL_CERT_FILE";
    let error = match error {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                fault(&format!("the certificate is expired: {because}"))
                    .hint("is the clock of this machine right?")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                fault(&format!("the certificate is not valid yet: {because}"))
                    .hint("is the clock of this machine right?")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                fault(&format!("the certificate is for another host: {because}"))
            }
            CertificateError::UnknownIssuer => {
                fault("the certificate is signed by an unknown authority").hint(authority)
            }
            _ => fault(&format!("the certificate is not accepted: {because}")).hint(authority),
        },
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            fault("the server answered plain HTTP").hint("use --plain-http")
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied,
        ) => fault(&format!("the server refuses our certificate: {because}"))
            .hint("give it one with --cert-file and --key-file"),
        rustls::Error::PeerIncompatible(_) | rustls::Error::NoCertificatesPresented => {
            fault(&format!("there is no common way to use TLS: {because}"))
        }
        _ => return Failure::passing(fault(&format!("TLS failed: {because}"))),
    };
    error.into()
}

#[cfg(test)]
mod tests {
    use reqwest::dns::{Name, Resolve, Resolving};

    use super::super::retry::Again;
    use super::*;

    struct Finds(fn() -> io::Error);

    impl Resolve for Finds {
        fn resolve(&self, _: Name) -> Resolving {
            let error = (self.0)();
            Box::pin(std::future::ready(Err(error.into())))
        }
    }

    #[tokio::test]
    async fn a_name_that_does_not_exist_is_asked_for_once() {
        let url = Url::parse("http://registry.invalid/v2/").unwrap();
        // Fails when another test has chosen a provider before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ask = async |finds| {
            let client = reqwest::Client::builder()
                .no_proxy()
                .dns_resolver(Finds(finds))
                .build()
                .unwrap();
            let error = client.get(url.clone()).send().await.unwrap_err();
            failure(error, &url, None)
        };
        let none = ask(|| io::Error::other(NoSuchName("registry.invalid".into()))).await;
        assert_eq!(none.again, Again::Never);
        assert_eq!(
            none.error.message(),
            "http://registry.invalid: there is no host `registry.invalid`"
        );
        assert_eq!(none.error.kind(), Kind::Unreachable);
        let busy = ask(|| io::Error::other("Temporary failure in name resolution")).await;
        assert_eq!(busy.again, Again::Wait(None));
    }
}
