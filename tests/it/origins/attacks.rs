//! The attacks E1–E20 of the catalogue, each as what a hostile registry answers.

use super::{COOKIE, Op, World};
use crate::support::{Act, Origin, Response, on};

/// One attack: it is right to end with one of these codes.
pub(super) struct Attack {
    pub(super) id: &'static str,
    pub(super) op: Op,
    pub(super) codes: &'static [i32],
    pub(super) set: fn(&mut World),
}

const fn attack(id: &'static str, op: Op, codes: &'static [i32], set: fn(&mut World)) -> Attack {
    Attack { id, op, codes, set }
}

const EVIL: &str = "https://evil.example";

/// A challenge that names this token service.
fn realm(world: &World, realm: &str) {
    world.challenge(&format!("Bearer realm=\"{realm}\",service=\"mock\""));
}

/// The token service of the registry sends everybody away.
fn token_redirects(world: &World, status: u16) {
    realm(world, "https://auth.registry.example/token");
    let to = Response::new(status).header("location", "https://evil.example/token");
    let at = on("", "/token").at(Origin::Token);
    world.mock.rule(at, Act::Respond(to));
}

/// A stranger asks for a token instead of a password.
fn stranger_asks(world: &World, realm: &str) {
    let challenge = format!("Bearer realm=\"{realm}\",service=\"mock\"");
    let refused = Response::error(401, "UNAUTHORIZED", "no");
    let refused = refused.header("www-authenticate", &challenge);
    let at = on("", "/").at(Origin::Stranger);
    world.mock.rule(at, Act::Respond(refused));
}

/// The first page of the tags, or of referrers, with this next one.
fn next_page(world: &World, path: &str, next: &str) {
    let body = r#"{"name":"team/etcd","tags":["3.5.0"],"schemaVersion":2,"manifests":[]}"#;
    let link = format!("<{next}>; rel=\"next\"");
    let media_type = "application/vnd.oci.image.index.v1+json";
    let page = Act::change(move |response| {
        if response.status == 200 {
            response.body = body.into();
            response.set("content-type", media_type);
            response.set("link", &link);
        }
    });
    world.mock.rule(on("GET", path).at(Origin::Registry), page);
}

/// The registry as it is, but this header is set on every answer that lets somebody in.
fn lets_in_with(
    world: &World,
    method: &'static str,
    path: &str,
    status: u16,
    name: &'static str,
    value: &str,
) {
    let value = value.to_owned();
    let change = Act::change(move |response: &mut Response| {
        if response.status != 401 {
            response.status = status;
            response.body.clear();
            response.set(name, &value);
        }
    });
    world
        .mock
        .rule(on(method, path).at(Origin::Registry), change);
}

/// Whoever was let in is sent elsewhere.
fn redirect(world: &World, path: &str, to: &str) {
    lets_in_with(world, "GET", path, 307, "location", to);
}

/// Where an upload goes on.
fn upload(world: &World, to: &str) {
    lets_in_with(world, "POST", "/uploads/", 202, "location", to);
}

pub(super) const ATTACKS: &[Attack] = &[
    attack("E1/1 a foreign realm", Op::Pull, &[4], |w| {
        realm(w, "https://evil.example/token");
    }),
    attack("E1/2 a realm over plain http", Op::Pull, &[6], |w| {
        realm(w, "http://registry.example/token");
    }),
    attack(
        "E1/3 a realm at the metadata service",
        Op::Pull,
        &[6],
        |w| realm(w, "https://169.254.169.254/token"),
    ),
    attack("E1/4 a realm at 0.0.0.0", Op::List, &[6], |w| {
        realm(w, "https://0.0.0.0/token");
    }),
    attack("E1/5 a realm at a mapped address", Op::List, &[6], |w| {
        realm(w, "https://[::ffff:7f00:1]/token");
    }),
    attack("E1/6 a realm that is a file", Op::Push, &[6], |w| {
        realm(w, "file:///etc/passwd");
    }),
    attack(
        "E1/7 a token service that redirects (302)",
        Op::Pull,
        &[4, 6],
        |w| token_redirects(w, 302),
    ),
    attack(
        "E1/8 a token service that redirects (307)",
        Op::Push,
        &[4, 6],
        |w| token_redirects(w, 307),
    ),
    attack(
        "E1/9 a realm that begins like the registry",
        Op::Pull,
        &[4],
        |w| {
            realm(w, "https://registry.example.evil.example/token");
        },
    ),
    attack(
        "E1/10 a realm with the registry for a user",
        Op::Pull,
        &[6],
        |w| {
            realm(w, "https://registry.example@evil.example/token");
        },
    ),
    attack(
        "E1/11 a foreign realm that gives tokens",
        Op::Push,
        &[4],
        |w| {
            realm(w, "https://evil.example/token");
            let body = Response::json(200, &serde_json::json!({"token": "stranger-token"}));
            w.mock
                .rule(on("", "/token").at(Origin::Stranger), Act::Respond(body));
        },
    ),
    attack(
        "E1/12 a realm on another port of another host",
        Op::Copy,
        &[4],
        |w| {
            realm(w, "https://evil.example:8443/token");
        },
    ),
    attack("E2/1 an upload elsewhere", Op::Push, &[4], |w| {
        upload(w, "https://evil.example/u?a=1");
    }),
    attack("E2/2 an upload without scheme", Op::Push, &[4], |w| {
        upload(w, "//evil.example/u");
    }),
    attack("E2/3 an upload over plain http", Op::Push, &[6], |w| {
        upload(w, "http://registry.example/u");
    }),
    attack("E2/4 an upload to another port", Op::Push, &[4, 5], |w| {
        upload(w, "https://registry.example:8443/u");
    }),
    attack(
        "E2/5 an upload into a private network",
        Op::Push,
        &[6],
        |w| upload(w, "https://10.0.0.1/u"),
    ),
    attack("E2/6 an upload with a password", Op::Push, &[6], |w| {
        upload(w, "https://u:pass@registry.example/u");
    }),
    attack("E3/1 an upload to what is no ASCII", Op::Push, &[6], |w| {
        upload(w, "/v2/ä");
    }),
    attack("E3/2 an upload to nowhere", Op::Push, &[6], |w| {
        upload(w, "");
    }),
    attack("E3/3 an upload with a backslash", Op::Push, &[6], |w| {
        upload(w, "/\\evil.example/u");
    }),
    attack("E4/1 a blob on another host", Op::Pull, &[4], |w| {
        redirect(w, "/blobs/", "https://evil.example/b");
    }),
    attack("E4/2 a blob on another port", Op::Pull, &[4], |w| {
        redirect(w, "/blobs/", "https://registry.example:8443/b");
    }),
    attack("E4/3 there and back again", Op::Pull, &[3, 4], |w| {
        w.redirect(
            "GET",
            "came-back",
            307,
            "https://registry.example/v2/nothing",
        );
        redirect(w, "/blobs/", "https://evil.example/b");
        let back = Response::redirect("https://registry.example/v2/team/etcd/blobs/x?came-back");
        w.mock
            .rule(on("", "/b").at(Origin::Stranger), Act::Respond(back));
    }),
    attack(
        "E4/4 a manifest that is put elsewhere",
        Op::Push,
        &[6],
        |w| {
            lets_in_with(
                w,
                "PUT",
                "/manifests/",
                301,
                "location",
                "https://evil.example/m",
            );
        },
    ),
    attack("E4/5 a blob that is put elsewhere", Op::Push, &[6], |w| {
        lets_in_with(
            w,
            "PUT",
            "/uploads/",
            307,
            "location",
            "https://evil.example/m",
        );
    }),
    attack("E4/6 a blob with a password", Op::Pull, &[6], |w| {
        redirect(w, "/blobs/", "https://u:pass@evil.example/b");
    }),
    attack("E4/7 a manifest on another host", Op::Copy, &[4], |w| {
        redirect(w, "/manifests/", "https://evil.example/m");
    }),
    attack("E4/8 a circle", Op::Pull, &[4, 6], |w| {
        redirect(w, "/blobs/", "https://evil.example/b");
        let back = Response::redirect("https://registry.example/v2/team/etcd/blobs/x?came-back");
        w.mock
            .rule(on("", "/b").at(Origin::Stranger), Act::Respond(back));
    }),
    attack("E4/9 tags on another host", Op::List, &[4], |w| {
        redirect(w, "/tags/", "https://evil.example/t");
    }),
    attack("E5/1 a challenge of another host", Op::Pull, &[4], |w| {
        redirect(w, "/blobs/", "https://evil.example/b");
        stranger_asks(w, "https://evil.example/token");
    }),
    attack(
        "E5/2 a challenge of another host for our token service",
        Op::Pull,
        &[4],
        |w| {
            redirect(w, "/blobs/", "https://evil.example/b");
            stranger_asks(w, "https://auth.registry.example/token");
        },
    ),
    attack("E5/3 a challenge where uploads go", Op::Push, &[4], |w| {
        upload(w, "https://evil.example/u");
        stranger_asks(w, "https://registry.example/token");
    }),
    attack("E6/1 a next page elsewhere", Op::List, &[6], |w| {
        next_page(
            w,
            "/tags/",
            "https://evil.example/v2/team/etcd/tags/list?n=1",
        );
    }),
    attack(
        "E6/2 a next page at the metadata service",
        Op::List,
        &[6],
        |w| next_page(w, "/tags/", "http://169.254.169.254/latest"),
    ),
    attack("E6/3 a next page of something else", Op::List, &[6], |w| {
        next_page(w, "/tags/", "/admin/secrets");
    }),
    attack("E6/4 more referrers elsewhere", Op::Copy, &[6], |w| {
        next_page(
            w,
            "/referrers/",
            "https://evil.example/v2/team/etcd/referrers/x",
        );
    }),
    attack("E7/1 a page after itself", Op::List, &[6], |w| {
        next_page(w, "/tags/", "/v2/team/etcd/tags/list?last=3.5.0");
    }),
    attack("E8/1 a blob over plain http", Op::Pull, &[6], |w| {
        redirect(w, "/blobs/", "http://registry.example/b");
    }),
    attack("E8/2 a next page over plain http", Op::List, &[6], |w| {
        next_page(
            w,
            "/tags/",
            "http://registry.example/v2/team/etcd/tags/list?n=1",
        );
    }),
    attack(
        "E9/1 a host that begins like this machine",
        Op::List,
        &[4],
        |w| {
            w.host = "localhost.evil.example".into();
        },
    ),
    attack("E9/2 another host that does", Op::Push, &[4, 5], |w| {
        w.host = "127.0.0.1.evil.example".into();
    }),
    attack(
        "E10/1 storage that asks for a certificate and lies",
        Op::Pull,
        &[7],
        |w| {
            let blob = Response::new(200).body(super::seed().blobs[1].clone());
            redirect(w, "/blobs/", "https://cdn.example/layer");
            w.mock
                .rule(on("GET", "/layer").at(Origin::Store), Act::Respond(blob));
        },
    ),
    attack(
        "E11/1 a token service nobody vouches for",
        Op::Pull,
        &[5],
        |w| {
            realm(w, "https://auth.registry.example/token");
            w.trusting = false;
            w.flags.push("--insecure".into());
        },
    ),
    attack("E11/2 storage nobody vouches for", Op::Pull, &[4, 5], |w| {
        w.trusting = false;
        w.flags.push("--insecure".into());
        redirect(w, "/blobs/", "https://cdn.example/layer");
    }),
    attack("E12/1 a helper that is missing", Op::Pull, &[4], |w| {
        w.challenge("Basic realm=\"x\"");
        w.helpers = serde_json::json!({"registry.example": "missing"});
    }),
    attack("E12/2 a helper that fails and talks", Op::Pull, &[4], |w| {
        w.challenge("Basic realm=\"x\"");
        w.helpers = serde_json::json!({"registry.example": "talks"});
        w.sandbox.script(
            "docker-credential-talks",
            "echo '{\"Username\":\"alice\",\"Secret\":\"corr%ct:horse/9\"}'; exit 1",
        );
    }),
    attack(
        "E13/1 a token that is never good enough",
        Op::Push,
        &[4],
        |w| {
            realm(w, "https://auth.registry.example/token");
        },
    ),
    attack(
        "E14/1 a token service that answers a page",
        Op::Pull,
        &[4, 6],
        |w| {
            realm(w, "https://auth.registry.example/token");
            let page = Response::new(200).body("<html>log in</html>");
            w.mock
                .rule(on("", "/token").at(Origin::Token), Act::Respond(page));
        },
    ),
    attack(
        "E14/2 a token with a header in it",
        Op::Pull,
        &[4, 6],
        |w| {
            realm(w, "https://auth.registry.example/token");
            let body = Response::json(200, &serde_json::json!({"token": "a\r\nx-evil: 1"}));
            w.mock
                .rule(on("", "/token").at(Origin::Token), Act::Respond(body));
        },
    ),
    attack("E15/1 a realm twice", Op::Pull, &[6], |w| {
        w.challenge("Bearer realm=\"https://auth.registry.example/token\",realm=\"https://evil.example/token\"");
    }),
    attack("E15/2 two token services", Op::Push, &[6], |w| {
        w.challenge("Bearer realm=\"https://auth.registry.example/token\", Bearer realm=\"https://evil.example/token\"");
    }),
    attack("E15/3 a password or a foreign token", Op::List, &[4], |w| {
        w.challenge("Basic realm=\"x\", Bearer realm=\"https://evil.example/token\"");
    }),
    attack(
        "E17/1 a registry that asks as a proxy does",
        Op::Pull,
        &[4, 5, 6],
        |w| {
            let asks = Response::new(407).header("proxy-authenticate", "Basic realm=\"x\"");
            w.answer("", "/v2/", asks);
        },
    ),
    attack(
        "E17/2 storage that asks as a proxy does",
        Op::Pull,
        &[4, 5, 6],
        |w| {
            redirect(w, "/blobs/", "https://evil.example/b");
            let asks = Response::new(407).header("proxy-authenticate", "Basic realm=\"x\"");
            w.mock
                .rule(on("", "/b").at(Origin::Stranger), Act::Respond(asks));
        },
    ),
    attack("E17/3 a proxy that refuses", Op::Pull, &[5], |w| {
        w.proxy
            .refuse("HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n");
    }),
    attack("E18/1 a registry nobody vouches for", Op::Push, &[5], |w| {
        w.trusting = false;
    }),
    attack("E20/1 a password in the reference", Op::Pull, &[2], |w| {
        w.host = format!("{}:0ther-canary?3a@registry.example", "bob");
    }),
    attack(
        "H3/1 a signed address that fails",
        Op::Pull,
        &[3, 4, 6],
        |w| {
            redirect(
                w,
                "/blobs/",
                "https://cdn.example/x?X-Amz-Signature=0ther-canary-but-signed",
            );
            w.sandbox.secret("0ther-canary-but-signed");
        },
    ),
    attack("H4/1 a cookie", Op::Pull, &[4], |w| {
        let to = format!("{EVIL}/b");
        let change = Act::change(move |response: &mut Response| {
            response.set("set-cookie", &format!("session={COOKIE}; Domain=example"));
            if response.status == 200 {
                response.status = 307;
                response.body.clear();
                response.set("location", &to);
            }
        });
        w.mock
            .rule(on("GET", "/blobs/").at(Origin::Registry), change);
    }),
];
