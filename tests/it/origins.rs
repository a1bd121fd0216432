//! Who is told which secret: hostile and honest registries against every kind of credential (P7).
//!
//! The registries live on a pretended internet, whose only router is a [`proxy`] with a password of its own. After each
//! run every canary is looked for in requests, output and files, in every usual encoding.

mod attacks;
mod canaries;
mod honest;
mod proxy;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::{
    Act, Auth, MockRegistry, Modes, Origin, PASSWORD, Ran, Response, Sandbox, Tls, USER,
    bundle_dir, on,
};
use proxy::Proxy;

/// What docker keeps for registries that give tokens for tokens.
const IDENTITY: &str = "refresh/canary+7c1e==";
/// What the proxy asks for.
const PROXY_PASSWORD: &str = "pr0xy-canary:5d";
/// What is kept for another registry, and is nobody's business here.
const OTHER_PASSWORD: &str = "0ther-canary?3a";
/// What a registry gives to its clients in a cookie.
const COOKIE: &str = "c00kie-canary-91";

/// What the user has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Basic,
    Bearer,
    Identity,
    Certificate,
    /// Nothing but the password of the proxy.
    Proxy,
}

const KINDS: [Kind; 5] = [
    Kind::Basic,
    Kind::Bearer,
    Kind::Identity,
    Kind::Certificate,
    Kind::Proxy,
];

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Pull,
    Push,
    List,
    /// From the registry into a layout, with referrers.
    Copy,
    /// From one repository of the registry into another.
    Across,
}

/// One run and everything around it.
struct World {
    kind: Kind,
    mock: MockRegistry,
    proxy: Proxy,
    sandbox: Sandbox,
    /// Credential helpers by registry, for the configuration.
    helpers: Value,
    /// Flags and the host to name instead of the registry's own.
    flags: Vec<String>,
    host: String,
    trusting: bool,
}

impl World {
    /// Registries with names and TLS behind the proxy.
    fn public(kind: Kind) -> Self {
        Self::new(kind, |modes| modes.named = true)
    }

    fn new(kind: Kind, change: impl FnOnce(&mut Modes)) -> Self {
        let mut modes = Modes {
            tls: Tls::AsksForCertificate,
            auth: match kind {
                Kind::Basic => Auth::Basic,
                Kind::Bearer | Kind::Identity => Auth::Bearer,
                Kind::Certificate | Kind::Proxy => Auth::Off,
            },
            identity_token: Some(IDENTITY.into()),
            ..Modes::default()
        };
        change(&mut modes);
        let mock = MockRegistry::start(modes);
        let ports = Origin::ALL.map(|origin| mock.port(origin));
        let proxy = Proxy::start(ports);
        let sandbox = Sandbox::new();
        for secret in [
            PASSWORD,
            IDENTITY,
            PROXY_PASSWORD,
            OTHER_PASSWORD,
            COOKIE,
            "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        ] {
            sandbox.secret(secret);
        }
        sandbox.secret(mock.certs().client.key.lines().nth(1).unwrap());
        let host = mock.host().to_owned();
        let seed = seed();
        for blob in &seed.blobs {
            mock.put_blob("team/etcd", blob);
        }
        mock.put_manifest("team/etcd", "3.5.0", MANIFEST, &seed.manifest);
        Self {
            kind,
            mock,
            proxy,
            sandbox,
            helpers: json!({}),
            flags: Vec::new(),
            host,
            trusting: true,
        }
    }

    /// Makes the registry answer 401 with this challenge, whatever it is asked.
    fn challenge(&self, challenge: &str) {
        let refused = Response::error(401, "UNAUTHORIZED", "no");
        let refused = refused.header("www-authenticate", challenge);
        self.mock
            .rule(on("", "/v2/").at(Origin::Registry), Act::Respond(refused));
    }

    /// Answers requests to the registry with this.
    fn answer(&self, method: &'static str, path: &str, response: Response) {
        self.mock.rule(
            on(method, path).at(Origin::Registry),
            Act::Respond(response),
        );
    }

    /// Redirects requests to the registry.
    fn redirect(&self, method: &'static str, path: &str, status: u16, to: &str) {
        self.answer(method, path, Response::new(status).header("location", to));
    }

    fn base(&self, origin: Origin) -> &str {
        self.mock.base(origin)
    }

    /// The credentials as docker keeps them.
    fn configuration(&self) -> String {
        let pair = |user: &str, password: &str| STANDARD.encode(format!("{user}:{password}"));
        let own = match self.kind {
            Kind::Basic | Kind::Bearer => json!({"auth": pair(USER, PASSWORD)}),
            Kind::Identity => {
                json!({"auth": pair("00000000-0000-0000-0000-000000000000", ""), "identitytoken": IDENTITY})
            }
            Kind::Certificate | Kind::Proxy => Value::Null,
        };
        let other = json!({"auth": pair("bob", OTHER_PASSWORD)});
        let mut auths = json!({"https://index.docker.io/v1/": other, "evil.example": other, "cdn.example": other});
        if !own.is_null() && self.helpers == json!({}) {
            auths[self.mock.host()] = own;
        }
        json!({"auths": auths, "credHelpers": self.helpers}).to_string()
    }

    #[track_caller]
    fn run(&self, op: Op) -> Ran {
        let sandbox = &self.sandbox;
        let config = sandbox.write("conf/config.json", self.configuration());
        let ca = sandbox.write("conf/ca.pem", &self.mock.certs().ca);
        let certs = &self.mock.certs().client;
        let cert = sandbox.write("conf/client.crt", &certs.cert);
        let key = sandbox.write("conf/client.key", &certs.key);
        let repository = format!("{}/team/etcd", self.host);
        let reference = format!("{repository}:3.5.0");
        let mut words: Vec<String> = match op {
            Op::Pull => vec!["pull".into(), reference],
            Op::Push => {
                bundle_dir(
                    sandbox.path("src"),
                    "etcd",
                    "3.6.0",
                    Some(("etcd-manager", "1.0.0")),
                );
                vec!["push".into(), "src".into(), repository]
            }
            Op::List => vec!["list".into(), repository],
            Op::Copy => ["copy", "-r", &reference, "oci:lay"].map(Into::into).into(),
            Op::Across => {
                let to = format!("{}/other/etcd", self.host);
                vec!["copy".into(), reference, to]
            }
        };
        let file = |path: &std::path::Path| path.to_str().unwrap().to_owned();
        words.extend(["-vvv".into(), "--registry-config".into(), file(&config)]);
        if self.trusting && self.base(Origin::Registry).starts_with("https") {
            words.extend(["--ca-file".into(), file(&ca)]);
        }
        if self.kind == Kind::Certificate {
            words.extend([
                "--cert-file".into(),
                file(&cert),
                "--key-file".into(),
                file(&key),
            ]);
        }
        words.extend(self.flags.iter().cloned());
        let proxy = self.proxy.url(PROXY_PASSWORD);
        let cmd = sandbox.bundle(words);
        cmd.env("HTTPS_PROXY", &proxy)
            .env("HTTP_PROXY", &proxy)
            .run()
    }
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A bundle as it lies in a registry.
struct Seed {
    manifest: Vec<u8>,
    blobs: Vec<Vec<u8>>,
}

fn seed() -> &'static Seed {
    static SEED: OnceLock<Seed> = OnceLock::new();
    SEED.get_or_init(|| {
        let sandbox = Sandbox::new();
        let mock = MockRegistry::plain();
        let operator = Some(("etcd-manager", "1.0.0"));
        bundle_dir(sandbox.path("src"), "etcd", "3.5.0", operator);
        sandbox.run(["push", "src", &mock.repository("a")]).ok();
        let manifest = mock.manifest("a", "3.5.0").unwrap();
        let value: Value = serde_json::from_slice(&manifest).unwrap();
        let all = [&value["config"], &value["layers"][0]];
        let blobs = all.map(|d| mock.blob("a", d["digest"].as_str().unwrap()).unwrap());
        Seed {
            manifest,
            blobs: blobs.into(),
        }
    })
}

/// Runs all cells, several at a time; fails with the list of those that failed.
#[track_caller]
fn all<T: Sync>(
    what: &str,
    cells: &[T],
    name: impl Fn(&T) -> String + Sync,
    run: impl Fn(&T) + Sync,
) {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(cause) = catch_unwind(AssertUnwindSafe(|| run(cell))) {
                        let text = cause.downcast_ref::<String>().cloned();
                        let text = text.unwrap_or_else(|| "a panic".into());
                        failed
                            .lock()
                            .unwrap()
                            .push(format!("## {}\n{text}", name(cell)));
                    }
                }
            });
        }
    });
    eprintln!("{what}: {} cells", cells.len());
    let failed = failed.into_inner().unwrap();
    let mut report = String::new();
    for text in &failed {
        let _ = writeln!(report, "{text}");
    }
    assert!(
        failed.is_empty(),
        "{} of {} cells failed\n{report}",
        failed.len(),
        cells.len()
    );
}

#[test]
fn no_attack_gets_a_secret_that_is_not_its_own() {
    seed();
    let cells: Vec<_> = attacks::ATTACKS
        .iter()
        .flat_map(|attack| KINDS.map(|kind| (attack, kind)))
        .collect();
    let name = |(attack, kind): &(&attacks::Attack, Kind)| format!("{} with {kind:?}", attack.id);
    all("attacks on credentials", &cells, name, |(attack, kind)| {
        let mut world = World::public(*kind);
        (attack.set)(&mut world);
        let ran = world.run(attack.op);
        assert!(
            attack.codes.contains(&ran.code()),
            "exit {} is not in {:?}{ran}\n{}",
            ran.code(),
            attack.codes,
            world.mock.log().join("\n")
        );
        canaries::check(&world, &ran);
    });
}

#[test]
fn honest_registries_of_every_build_still_work() {
    seed();
    let flows: Vec<_> = honest::FLOWS.iter().collect();
    let name = |flow: &&honest::Flow| format!("{} with {:?}", flow.id, flow.kind);
    all("honest flows", &flows, name, |flow| {
        let mut world = World::new(flow.kind, |modes| {
            modes.named = true;
            (flow.modes)(modes);
        });
        (flow.set)(&mut world);
        let ran = world.run(flow.op);
        assert!(ran.code() == 0, "{ran}\n{}", world.mock.log().join("\n"));
        canaries::check(&world, &ran);
        honest::check(&world, flow);
    });
}
