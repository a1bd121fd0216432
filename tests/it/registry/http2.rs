//! HTTP/2, which the client speaks where a server with TLS offers it: ends of connections and streams in the middle of an
//! answer. The server writes frames by hand, because a library would not let us break them.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use manifest_bundle::error::{Error, Kind};
use manifest_bundle::limits::Limits;
use manifest_bundle::store;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Client, Sample, bytes};
use crate::support::Certs;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;
/// What fits into a frame.
const FRAME: usize = 16_384;

/// A part of an answer.
#[derive(Clone)]
enum Part {
    /// A status and headers.
    Head(u16, Vec<(String, String)>),
    Data(Vec<u8>),
    /// The last bytes.
    End(Vec<u8>),
    /// An end of the stream with this error.
    Reset(u32),
    /// An end of the connection with this error; of the request nothing was done, or something.
    GoAway(u32, bool),
    /// Bytes that are no frame.
    Bytes(&'static [u8]),
    /// The connection ends.
    Close,
}

/// Answers each request with the next of some parts, and from then on with the last of them.
struct Server {
    host: String,
    certs: Certs,
    requests: Arc<Mutex<usize>>,
}

impl Server {
    fn start(answers: Vec<Vec<Part>>) -> Self {
        let certs = Certs::new();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = vec![CertificateDer::from_pem_slice(certs.server.cert.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certs.server.key.as_bytes()).unwrap();
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
        let requests = Arc::new(Mutex::new(0));
        let count = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let (answers, count) = (Arc::clone(&answers), Arc::clone(&count));
                // What goes wrong is what is meant to.
                std::thread::spawn(move || {
                    serve(rustls::StreamOwned::new(tls, stream), &answers, &count)
                });
            }
        });
        Self {
            host,
            certs,
            requests,
        }
    }
}

fn serve(
    mut conn: impl Read + Write,
    answers: &Mutex<VecDeque<Vec<Part>>>,
    count: &Mutex<usize>,
) -> io::Result<()> {
    let mut preface = [0; 24];
    conn.read_exact(&mut preface)?;
    write(&mut conn, SETTINGS, 0, 0, &[])?;
    conn.flush()?;
    loop {
        let mut head = [0; 9];
        conn.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (kind, flags) = (head[3], head[4]);
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        conn.read_exact(&mut payload)?;
        match kind {
            SETTINGS if flags & ACK == 0 => write(&mut conn, SETTINGS, ACK, 0, &[])?,
            PING if flags & ACK == 0 => write(&mut conn, PING, ACK, 0, &payload)?,
            GO_AWAY => return Ok(()),
            HEADERS => {
                *count.lock().unwrap() += 1;
                let parts = {
                    let mut answers = answers.lock().unwrap();
                    if answers.len() > 1 {
                        answers.pop_front().unwrap()
                    } else {
                        answers[0].clone()
                    }
                };
                for part in parts {
                    if !send(&mut conn, stream, part)? {
                        return Ok(());
                    }
                }
            }
            _ => {}
        }
        conn.flush()?;
    }
}

/// Sends a part; says whether the connection goes on.
fn send(conn: &mut impl Write, stream: u32, part: Part) -> io::Result<bool> {
    match part {
        Part::Head(status, headers) => {
            let mut block = literal(":status", &status.to_string());
            for (name, value) in &headers {
                block.extend(literal(name, value));
            }
            let pieces: Vec<_> = block.chunks(FRAME).collect();
            for (n, piece) in pieces.iter().enumerate() {
                let kind = if n == 0 { HEADERS } else { CONTINUATION };
                let is_last = n + 1 == pieces.len();
                let flags = if is_last { END_HEADERS } else { 0 };
                write(conn, kind, flags, stream, piece)?;
            }
        }
        Part::Data(bytes) => {
            for piece in bytes.chunks(FRAME) {
                write(conn, DATA, 0, stream, piece)?;
            }
        }
        Part::End(bytes) => {
            send(conn, stream, Part::Data(bytes))?;
            write(conn, DATA, END_STREAM, stream, &[])?;
        }
        Part::Reset(code) => write(conn, RESET, 0, stream, &code.to_be_bytes())?,
        Part::GoAway(code, is_taken) => {
            let last = if is_taken { stream } else { 0 };
            let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
            write(conn, GO_AWAY, 0, 0, &payload)?;
            conn.flush()?;
        }
        Part::Bytes(bytes) => {
            conn.write_all(bytes)?;
            conn.flush()?;
        }
        Part::Close => {
            conn.flush()?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(
    conn: &mut impl Write,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    conn.write_all(&frame)
}

/// A header in the plainest form of HPACK: not indexed, a new name, no Huffman code (RFC 7541, 6.2.2).
fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut all = vec![0];
    for text in [name, value] {
        let mut rest = text.len();
        if rest < 127 {
            all.push(u8::try_from(rest).unwrap());
        } else {
            all.push(127);
            rest -= 127;
            while rest >= 128 {
                all.push(u8::try_from(rest % 128 + 128).unwrap());
                rest /= 128;
            }
            all.push(u8::try_from(rest).unwrap());
        }
        all.extend(text.as_bytes());
    }
    all
}

fn head(status: u16, headers: &[(&str, &str)]) -> Part {
    let owned = headers
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    Part::Head(status, owned.collect())
}

/// Fetches a blob from a server with these answers; returns the failure, the retries and the number of requests.
async fn fetch(sample: &Sample, answers: Vec<Vec<Part>>) -> (Option<Error>, Vec<String>, usize) {
    let server = Server::start(answers);
    let mut client = Client::with(|settings| {
        settings.ca_certificates = vec![server.certs.ca.clone().into_bytes()];
    });
    let from = client.open(&format!("{}/a", server.host));
    let directory = tempfile::tempdir().unwrap();
    let (descriptor, content) = &sample.layer;
    let fetched = store::fetch(&from, descriptor, directory.path(), &Limits::default()).await;
    if let Ok(found) = &fetched {
        assert!(found.to_bytes().unwrap() == content.to_bytes().unwrap());
    }
    let requests = *server.requests.lock().unwrap();
    (fetched.err(), client.retries(), requests)
}

const SIZE: usize = 30_000;
/// The errors of HTTP/2 that a server may give (RFC 9113, 7).
const NO_ERROR: u32 = 0;
const INTERNAL: u32 = 2;
const REFUSED: u32 = 7;
const CANCEL: u32 = 8;
const CALM: u32 = 11;

#[tokio::test]
async fn t_n13_streams_and_connections_that_end_early_are_taken_up_where_they_were() {
    let all = bytes(SIZE);
    let sample = Sample::new(&all);
    let whole = vec![head(200, &[]), Part::End(all.clone())];
    let (error, retries, requests) = fetch(&sample, vec![whole.clone()]).await;
    assert!(
        error.is_none() && retries.is_empty() && requests == 1,
        "{error:?} {retries:?}"
    );

    // Before the answer: it is asked for once more. The HTTP library itself repeats what was certainly not read.
    for parts in [
        vec![Part::Reset(REFUSED)],
        vec![Part::Reset(INTERNAL)],
        vec![Part::Reset(CALM)],
        vec![Part::GoAway(NO_ERROR, false), Part::Close],
        vec![Part::GoAway(NO_ERROR, true), Part::Close],
        vec![Part::GoAway(INTERNAL, false), Part::Close],
        vec![Part::Close],
    ] {
        let (error, retries, requests) = fetch(&sample, vec![parts, whole.clone()]).await;
        assert!(error.is_none(), "{error:?}");
        assert!(
            retries.len() <= 1 && requests == 2,
            "{retries:?} {requests}"
        );
    }

    // In the middle of the body. What came before may be lost with the stream, so that only the client knows where it was;
    // the server begins at the start again, and the client leaves out what it has.
    let half = SIZE / 2;
    for end in [
        vec![Part::Reset(INTERNAL)],
        vec![Part::Reset(CANCEL)],
        vec![Part::GoAway(INTERNAL, true), Part::Close],
        vec![Part::Close],
    ] {
        let mut first = vec![head(200, &[]), Part::Data(all[..half].to_vec())];
        first.extend(end);
        let (error, retries, requests) = fetch(&sample, vec![first, whole.clone()]).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!((retries.len(), requests), (1, 2), "{retries:?}");
    }
    // A server that says that it goes, and answers what it has, is no failure.
    let mut leaving = vec![Part::GoAway(NO_ERROR, true)];
    leaving.extend(whole.clone());
    let (error, retries, _) = fetch(&sample, vec![leaving]).await;
    assert!(
        error.is_none() && retries.is_empty(),
        "{error:?} {retries:?}"
    );
}

#[tokio::test]
async fn t_n13_what_stays_broken_in_http_2_ends() {
    let sample = Sample::new(&bytes(SIZE));
    for parts in [
        vec![Part::Reset(INTERNAL)],
        vec![Part::GoAway(INTERNAL, true), Part::Close],
    ] {
        let (error, retries, requests) = fetch(&sample, vec![parts]).await;
        let error = error.unwrap();
        assert_eq!(error.kind(), Kind::Unreachable, "{error}");
        assert_eq!((retries.len(), requests), (4, 5), "{error}");
    }
    let large = "x".repeat(70_000);
    for (name, parts) in [
        (
            "a large head",
            vec![head(200, &[("x-large", &large)]), Part::End(bytes(SIZE))],
        ),
        ("no frames", vec![Part::Bytes(b"HTTP/1.1 200 OK\r\n\r\n")]),
        (
            "no status",
            vec![Part::Bytes(b"\0\0\x01\x01\x04\0\0\0\x01\x80")],
        ),
    ] {
        let (error, retries, requests) = fetch(&sample, vec![parts]).await;
        let error = error.expect(name);
        assert_eq!(error.kind(), Kind::Protocol, "{name}: {error}");
        assert_eq!((retries.len(), requests), (0, 1), "{name}: {error}");
    }
}
