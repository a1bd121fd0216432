//! The search for secrets after a run: at every listener, in the proxy, in the output and in files.

use std::fs;
use std::path::Path;

use super::{COOKIE, IDENTITY, OTHER_PASSWORD, PROXY_PASSWORD, World};
use crate::support::{Origin, PASSWORD, Ran, Request, failure, leaks};

/// Asserts that each secret stayed with its owner, and that none is in output or files.
#[track_caller]
pub(super) fn check(world: &World, ran: &Ran) {
    if let Some(found) = search(world, ran) {
        panic!("{found}{ran}");
    }
}

/// Names the first secret in a wrong place.
pub(super) fn search(world: &World, ran: &Ran) -> Option<String> {
    let tokens = world.mock.tokens();
    let mut secrets: Vec<(&str, &[Origin])> = vec![
        (PASSWORD, &[Origin::Registry, Origin::Token]),
        (IDENTITY, &[Origin::Token]),
        (PROXY_PASSWORD, &[]),
        (OTHER_PASSWORD, &[]),
        (COOKIE, &[]),
    ];
    secrets.extend(tokens.iter().map(|t| (t.as_str(), &[Origin::Registry][..])));
    for request in world.mock.requests() {
        // Whom the user names may see the certificate.
        let named = world.host != world.mock.host();
        if let Some(found) = at_listener(&request, &secrets, named) {
            return Some(found);
        }
    }
    for head in world.proxy.heads() {
        for (secret, _) in secrets.iter().filter(|(s, _)| *s != PROXY_PASSWORD) {
            if let Some(form) = leaks::secret(secret, head.as_bytes()) {
                return Some(format!("the proxy was told `{secret}` {form} by {head}"));
            }
        }
    }
    let key = &world.mock.certs().client.key;
    let all: Vec<&str> = secrets.iter().map(|(secret, _)| *secret).collect();
    for secret in all.into_iter().chain(key.lines().skip(1).take(2)) {
        for (name, bytes) in [
            ("stdout", ran.stdout_bytes()),
            ("stderr", ran.stderr_bytes()),
        ] {
            if let Some(form) = leaks::secret(secret, bytes) {
                return Some(format!("{name} shows `{secret}` {form}"));
            }
        }
        if let Some(found) = in_files(world.sandbox.root(), secret) {
            return Some(found);
        }
    }
    None
}

/// Names a secret that a listener was told and does not own.
fn at_listener(request: &Request, secrets: &[(&str, &[Origin])], named: bool) -> Option<String> {
    let Request {
        origin,
        method,
        path,
        ..
    } = request;
    if request.certificate && !named && *origin != Origin::Registry {
        return Some(format!(
            "{origin:?} was shown the certificate by {method} {path}"
        ));
    }
    // Whoever came back by way of another origin is a stranger.
    let came_back = path.contains("came-back");
    if came_back && (request.certificate || request.header("authorization").is_some()) {
        return Some(format!("credentials came back with {method} {path}"));
    }
    if request.header("proxy-authorization").is_some() {
        return Some(format!("{origin:?} was told `proxy-authorization`"));
    }
    let text = [request.head_text().as_bytes(), &request.body].concat();
    for (secret, owners) in secrets {
        if let (Some(form), false) = (leaks::secret(secret, &text), owners.contains(origin)) {
            return Some(format!(
                "{origin:?} was told `{secret}` {form} by {method} {path}"
            ));
        }
    }
    None
}

/// Looks into every file but those that the user keeps secrets in.
pub(super) fn in_files(directory: &Path, secret: &str) -> Option<String> {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            if path
                .file_name()
                .is_some_and(|name| name == "conf" || name == "bin")
            {
                continue;
            }
            if let Some(found) = in_files(&path, secret) {
                return Some(found);
            }
        } else if let Some(form) = leaks::secret(secret, &fs::read(&path).unwrap_or_default()) {
            return Some(format!("{} holds `{secret}` {form}", path.display()));
        }
    }
    None
}

#[test]
fn a_planted_leak_is_found_in_each_encoding_and_place() {
    let world = World::new(super::Kind::Basic, |modes| {
        modes.tls = crate::support::Tls::Off;
    });
    let secrets: Vec<(&str, &[Origin])> = vec![(PASSWORD, &[Origin::Registry]), (IDENTITY, &[])];
    let mut cells = 0;
    for (secret, owners) in &secrets {
        for (name, form) in leaks::forms(secret) {
            let told = |origin: Origin, path: &str, header: &str, body: &str| {
                let request = Request {
                    origin,
                    method: "GET".into(),
                    path: path.into(),
                    headers: vec![("x".into(), header.into())],
                    body_size: 0,
                    body: body.into(),
                    certificate: false,
                    status: None,
                };
                at_listener(&request, &secrets, false)
            };
            let text = format!("a {form} b");
            for found in [
                told(Origin::Stranger, &text, "", ""),
                told(Origin::Store, "/", &text, ""),
                told(Origin::Token, "/", "", &text),
            ] {
                assert!(found.is_some(), "{name} of {secret}");
                cells += 1;
            }
            assert!(owners.is_empty() || told(Origin::Registry, &text, "", "").is_none());
            // In a file, and in what the binary itself says about a file of that name.
            let path = world.sandbox.write("deep/er", &text);
            assert!(in_files(world.sandbox.root(), secret).is_some(), "{name}");
            std::fs::remove_file(path).unwrap();
            world.sandbox.secret(*secret);
            let file = format!("./{form}");
            let noticed = failure(|| drop(world.sandbox.run(["inspect", &file])));
            assert!(
                noticed.contains("stderr shows a secret"),
                "{name}: {noticed}"
            );
            cells += 2;
        }
    }
    eprintln!("planted leaks: {cells} cells");
}
