//! The router of the pretended internet: a proxy that asks for a password and knows four names. It remembers the head of
//! every request; what goes through its tunnels it cannot see.

use std::io::{Read as _, Write as _, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::PROXY_PASSWORD;
use crate::support::Origin;

const USER: &str = "gate";

/// What it does with those who ask for a tunnel.
#[derive(Default)]
struct State {
    heads: Vec<String>,
    /// Sent in place of a tunnel.
    refusal: Option<Vec<u8>>,
}

pub(super) struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Takes where the four names lead; every other name leads to the stranger.
    pub(super) fn start(ports: [u16; 4]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (for_thread, ended) = (Arc::clone(&state), Arc::clone(&over));
        let thread = spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let state = Arc::clone(&for_thread);
                // What goes wrong is the client's doing.
                spawn(move || stream.and_then(|stream| serve(stream, ports, &state)));
            }
        });
        Self {
            address,
            state,
            over,
            thread: Some(thread),
        }
    }

    /// How users write it into `HTTPS_PROXY`.
    pub(super) fn url(&self, password: &str) -> String {
        let password = password.replace(':', "%3A");
        format!("http://{USER}:{password}@localhost:{}", self.address.port())
    }

    /// Answers with these bytes from now on.
    pub(super) fn refuse(&self, answer: &str) {
        self.state.lock().unwrap().refusal = Some(answer.into());
    }

    pub(super) fn heads(&self) -> Vec<String> {
        self.state.lock().unwrap().heads.clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut client: TcpStream, ports: [u16; 4], state: &Mutex<State>) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte)? == 0 {
            return Ok(());
        }
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let refusal = {
        let mut state = state.lock().unwrap();
        state.heads.push(head.clone());
        state.refusal.clone()
    };
    let pair = STANDARD.encode(format!("{USER}:{PROXY_PASSWORD}"));
    if let Some(answer) = refusal {
        return client.write_all(&answer);
    }
    let mut words = head.split(' ');
    let (method, target) = (words.next(), words.next().unwrap_or_default());
    if method != Some("CONNECT") || !head.contains(&pair) {
        return client.write_all(
            b"HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n",
        );
    }
    let known = Origin::NAMES
        .iter()
        .position(|name| format!("{name}:443") == target);
    let port = ports[known.unwrap_or(Origin::Stranger as usize)];
    let mut server = TcpStream::connect(("127.0.0.1", port))?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
    spawn(move || {
        let _ = copy(&mut from, &mut to);
        to.shutdown(Shutdown::Both)
    });
    let _ = copy(&mut client, &mut server);
    server.shutdown(Shutdown::Both)
}
