//! Registries that mean well, in the ways in which those in use are built: all of it must work.

use super::{IDENTITY, Kind, Op, World};
use crate::support::{Act, Auth, Modes, Origin, PASSWORD, Response, Tls, leaks, on};

/// One registry and what is asked of it.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    pub(super) id: &'static str,
    pub(super) kind: Kind,
    pub(super) op: Op,
    pub(super) modes: fn(&mut Modes),
    pub(super) set: fn(&mut World),
}

const fn flow(id: &'static str, kind: Kind, op: Op, modes: fn(&mut Modes)) -> Flow {
    Flow {
        id,
        kind,
        op,
        modes,
        set: |_| (),
    }
}

const fn with(flow: Flow, set: fn(&mut World)) -> Flow {
    Flow { set, ..flow }
}

/// Asserts that the credential was shown to its owner: what is not used cannot leak.
#[track_caller]
pub(super) fn check(world: &World, flow: &Flow) {
    let requests = world.mock.requests();
    let told = |secret: &str, origin: Origin| {
        requests.iter().any(|request| {
            let text = [request.head_text().as_bytes(), &request.body].concat();
            request.origin == origin && leaks::secret(secret, &text).is_some()
        })
    };
    let shown = match flow.kind {
        Kind::Basic => told(PASSWORD, Origin::Registry),
        Kind::Bearer => told(PASSWORD, Origin::Token),
        Kind::Identity => told(IDENTITY, Origin::Token),
        Kind::Certificate => requests
            .iter()
            .all(|r| r.certificate == (r.origin == Origin::Registry)),
        Kind::Proxy => {
            let heads = world.proxy.heads();
            !heads.is_empty() && heads.iter().all(|h| h.contains("roxy-"))
        }
    };
    assert!(shown, "the credential was not used: {requests:#?}");
}

const NOTHING: fn(&mut Modes) = |_| ();
const STORAGE: fn(&mut Modes) = |modes| modes.redirect_blobs = true;
const UPLOADS: fn(&mut Modes) = |modes| modes.upload_elsewhere = true;
const RELATIVE: fn(&mut Modes) = |modes| modes.relative_location = true;
const STATES: fn(&mut Modes) = |modes| modes.location_state = true;
const PAGES: fn(&mut Modes) = |modes| modes.tag_page = Some(1);
/// On this machine and without TLS, where the proxy is not asked.
const LOOPBACK: fn(&mut Modes) = |modes| {
    modes.named = false;
    modes.tls = Tls::Off;
};
const LOOPBACK_TLS: fn(&mut Modes) = |modes| modes.named = false;

fn more_tags(world: &mut World) {
    let seed = super::seed();
    for tag in ["3.5.1", "3.5.2", "stable"] {
        let manifest = &seed.manifest;
        world
            .mock
            .put_manifest("team/etcd", tag, super::MANIFEST, manifest);
    }
}

pub(super) const FLOWS: &[Flow] = &[
    flow("a password", Kind::Basic, Op::Pull, NOTHING),
    flow("a password", Kind::Basic, Op::Push, NOTHING),
    flow(
        "a token service on another host",
        Kind::Bearer,
        Op::Pull,
        NOTHING,
    ),
    flow(
        "a token service on another host",
        Kind::Bearer,
        Op::Push,
        NOTHING,
    ),
    flow("a token for a token", Kind::Identity, Op::Pull, NOTHING),
    flow("a token for a token", Kind::Identity, Op::Push, NOTHING),
    flow("a certificate", Kind::Certificate, Op::Pull, NOTHING),
    flow("a certificate", Kind::Certificate, Op::Push, NOTHING),
    flow("nobody", Kind::Proxy, Op::Pull, NOTHING),
    flow("tokens for everybody", Kind::Proxy, Op::Pull, |modes| {
        modes.auth = Auth::Bearer;
        modes.anonymous_pull = true;
    }),
    flow("storage elsewhere", Kind::Basic, Op::Pull, STORAGE),
    flow("storage elsewhere", Kind::Bearer, Op::Pull, STORAGE),
    flow("storage elsewhere", Kind::Identity, Op::Copy, STORAGE),
    flow("storage elsewhere", Kind::Certificate, Op::Pull, STORAGE),
    flow("storage elsewhere", Kind::Proxy, Op::Pull, STORAGE),
    flow("uploads elsewhere", Kind::Basic, Op::Push, UPLOADS),
    flow("uploads elsewhere", Kind::Bearer, Op::Push, UPLOADS),
    flow("uploads elsewhere", Kind::Certificate, Op::Push, UPLOADS),
    flow("short addresses", Kind::Bearer, Op::Push, RELATIVE),
    flow("addresses with a state", Kind::Bearer, Op::Push, STATES),
    flow("addresses with a state", Kind::Identity, Op::Push, STATES),
    with(flow("pages", Kind::Basic, Op::List, PAGES), more_tags),
    with(flow("pages", Kind::Bearer, Op::List, PAGES), more_tags),
    flow("referrers", Kind::Bearer, Op::Copy, NOTHING),
    flow("a mount", Kind::Bearer, Op::Across, NOTHING),
    flow("a mount", Kind::Identity, Op::Across, NOTHING),
    flow("no mount", Kind::Basic, Op::Across, |modes| {
        modes.no_mount = true;
    }),
    flow("an open door", Kind::Bearer, Op::Pull, |modes| {
        modes.open_ping = true;
    }),
    flow("tokens that run out", Kind::Bearer, Op::Push, |modes| {
        modes.token_requests = Some(2);
    }),
    flow("this machine", Kind::Basic, Op::Push, LOOPBACK),
    flow("this machine", Kind::Bearer, Op::Pull, LOOPBACK),
    flow(
        "this machine over TLS",
        Kind::Identity,
        Op::Push,
        LOOPBACK_TLS,
    ),
    flow(
        "this machine over TLS",
        Kind::Certificate,
        Op::Pull,
        LOOPBACK_TLS,
    ),
    with(
        flow(
            "a token service that the user knows",
            Kind::Bearer,
            Op::Pull,
            LOOPBACK,
        ),
        |world| {
            let port = world.mock.port(Origin::Token);
            world.flags = vec!["--auth-realm".into(), format!("localhost:{port}")];
            let change = Act::change(|response: &mut Response| {
                let found = response
                    .headers
                    .iter()
                    .find(|(name, _)| name == "www-authenticate");
                if let Some((_, challenge)) = found.cloned() {
                    response.set(
                        "www-authenticate",
                        &challenge.replace("127.0.0.1", "localhost"),
                    );
                }
            });
            world.mock.rule(on("", "/v2/").at(Origin::Registry), change);
        },
    ),
    with(
        flow("a redirect at home", Kind::Basic, Op::Pull, NOTHING),
        |world| {
            let to = "/v2/team/etcd/manifests/3.5.0?moved";
            let moved = Act::Respond(Response::redirect(to));
            world.mock.rule(on("GET", "/manifests/").nth(2), moved);
        },
    ),
    with(
        flow("a token service at home", Kind::Basic, Op::Pull, |modes| {
            modes.auth = Auth::Off;
        }),
        |world| {
            let refused = Response::error(401, "UNAUTHORIZED", "no").header(
                "www-authenticate",
                "Bearer realm=\"https://registry.example/service/token\",service=\"harbor\"",
            );
            world
                .mock
                .rule(on("", "/manifests/").nth(1), Act::Respond(refused));
            let token = serde_json::json!({"token": "token-of-the-house"});
            let token = Act::Respond(Response::json(200, &token));
            world.mock.rule(on("GET", "/service/token"), token);
        },
    ),
    with(
        flow(
            "only the newer name of a token",
            Kind::Bearer,
            Op::Pull,
            NOTHING,
        ),
        |world| {
            let change = Act::change(|response: &mut Response| {
                let text = String::from_utf8_lossy(&response.body);
                response.body = text.replace("\"token\"", "\"x\"").into();
            });
            world
                .mock
                .rule(on("GET", "/token").at(Origin::Token), change);
        },
    ),
];
