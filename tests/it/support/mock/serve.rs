//! Listeners and connections: reads a request, asks the rules, and carries out what they say.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::wire::Reader;
use super::{Act, Origin, Request, Response, Shared, auth, registry, uploads};

/// Serves until the other end of `stopped` is dropped.
pub(super) fn run(
    listeners: [TcpListener; 4],
    tls: Option<&Arc<ServerConfig>>,
    shared: &Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (listener, origin) in listeners.into_iter().zip(Origin::ALL) {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let acceptor = tls.cloned().map(TlsAcceptor::from);
            let shared = Arc::clone(shared);
            tokio::spawn(async move {
                while let Ok((stream, peer)) = listener.accept().await {
                    let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                    shared.state.lock().unwrap().open.insert(peer);
                    shared.changed.notify_all();
                    tokio::spawn(async move {
                        connection(stream, acceptor, origin, Arc::clone(&shared)).await;
                        shared.state.lock().unwrap().open.remove(&peer);
                        shared.changed.notify_all();
                    });
                }
            });
        }
        let _ = stopped.await;
    });
}

/// Errors of a connection are the client's doing, and what became of the request is in the log.
async fn connection(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    origin: Origin,
    shared: Arc<Shared>,
) {
    let _ = match acceptor {
        None => requests(stream, origin, &shared).await,
        Some(acceptor) => match acceptor.accept(stream).await {
            Ok(stream) => requests(stream, origin, &shared).await,
            Err(e) => Err(e),
        },
    };
}

/// A connection that can be broken off.
trait Conn: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;

    /// Whether the client showed a certificate.
    fn certificate(&self) -> bool {
        false
    }
}

impl Conn for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Conn for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }

    fn certificate(&self) -> bool {
        self.get_ref().1.peer_certificates().is_some()
    }
}

async fn requests(conn: impl Conn, origin: Origin, shared: &Shared) -> io::Result<()> {
    let mut reader = Reader::new(conn);
    while let Some(mut request) = reader.head(origin).await? {
        request.certificate = reader.conn.certificate();
        let (number, act) = arrive(shared, &request);
        match act {
            Some(Act::Reset) => return reader.conn.tcp().set_zero_linger(),
            Some(Act::Close) => return reader.conn.shutdown().await,
            Some(Act::Stall) => return std::future::pending().await,
            Some(Act::Raw(bytes)) => {
                reader.conn.write_all(&bytes).await?;
                return reader.conn.shutdown().await;
            }
            Some(Act::RespondEarly(response)) => {
                let response = response.header("connection", "close");
                answered(shared, number, &request, &response);
                let bytes = response.bytes(&request.method, None);
                reader.conn.write_all(&bytes).await?;
                return reader.conn.shutdown().await;
            }
            Some(Act::ResetUpload(k)) => {
                request.body_size = reader.body(&request, k).await?.len();
                shared.state.lock().unwrap().requests[number].body_size = request.body_size;
                return reader.conn.tcp().set_zero_linger();
            }
            Some(Act::Delay(time)) => tokio::time::sleep(time).await,
            _ => {}
        }

        let body = reader.body(&request, usize::MAX).await?;
        request.body_size = body.len();
        request.body = body[..body.len().min(1 << 14)].to_vec();
        let response = match &act {
            Some(Act::Respond(response)) => response.clone(),
            Some(Act::Change(edit)) => {
                let mut response = honest(shared, &request, body);
                edit(&mut response);
                response
            }
            _ => honest(shared, &request, body),
        };
        shared.state.lock().unwrap().requests[number]
            .body
            .clone_from(&request.body);
        if let Some(Act::LoseAnswer) = act {
            return reader.conn.tcp().set_zero_linger();
        }
        answered(shared, number, &request, &response);
        let limit = match act {
            Some(Act::Cut(k) | Act::CutReset(k) | Act::CutStall(k)) => Some(k),
            _ => None,
        };
        let bytes = response.bytes(&request.method, limit);
        match response.pause {
            None => reader.conn.write_all(&bytes).await?,
            Some(pause) => drip(&mut reader.conn, &bytes, pause).await?,
        }
        reader.conn.flush().await?;
        match act {
            Some(Act::Cut(_)) => return reader.conn.shutdown().await,
            Some(Act::Change(_) | Act::Respond(_)) if response.lies() => {
                return reader.conn.shutdown().await;
            }
            Some(Act::CutReset(_)) => return reader.conn.tcp().set_zero_linger(),
            Some(Act::CutStall(_)) => return std::future::pending().await,
            _ => {}
        }
    }
    Ok(())
}

/// Sends one byte after the other, each in a packet of its own; the pauses are those of the body.
async fn drip(conn: &mut impl Conn, bytes: &[u8], pause: Duration) -> io::Result<()> {
    conn.tcp().set_nodelay(true)?;
    let body = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    for (n, byte) in bytes.iter().enumerate() {
        conn.write_all(&[*byte]).await?;
        conn.flush().await?;
        if pause.is_zero() || body.is_none_or(|end| n < end + 4) {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
    }
    Ok(())
}

/// Records a request and asks every rule; of those that fit, the first one acts.
fn arrive(shared: &Shared, request: &Request) -> (usize, Option<Act>) {
    let mut state = shared.state.lock().unwrap();
    state.requests.push(request.clone());
    let number = state.requests.len() - 1;
    let mut act = None;
    for rule in &mut state.rules {
        let found = rule.count(request);
        act = act.or(found);
    }
    shared.changed.notify_all();
    (number, act)
}

/// Completes the record, before the client can know of the answer.
fn answered(shared: &Shared, number: usize, request: &Request, response: &Response) {
    let mut state = shared.state.lock().unwrap();
    let record = &mut state.requests[number];
    record.body_size = request.body_size;
    record.status = Some(response.status);
    shared.changed.notify_all();
}

/// The answer of a registry that means well.
fn honest(shared: &Shared, request: &Request, body: Vec<u8>) -> Response {
    match request.origin {
        Origin::Registry => {
            let refused = auth::refusal(shared, request);
            let mut response = refused.unwrap_or_else(|| registry::answer(shared, request, body));
            if shared.modes.no_digest_header {
                response.remove("docker-content-digest");
            }
            response
        }
        Origin::Token => auth::token(shared, request, &body),
        Origin::Store => uploads::store(shared, request, body),
        Origin::Stranger => Response::error(401, "UNAUTHORIZED", "who are you")
            .header("www-authenticate", "Basic realm=\"stranger\""),
    }
}
