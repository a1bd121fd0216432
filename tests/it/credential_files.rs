//! Credential files are shared with other programs: what one writes, the other must read.

use manifest_bundle::credential::{Credential, Secret};
use manifest_bundle::docker_config::{Sources, credentials, login, logout};

use super::support::{DockerRegistry, PASSWORD, Sandbox, USER};

#[tokio::test]
async fn skopeo_reads_and_removes_what_login_wrote() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("auth.json");
    let helpers = Sources::none().helpers;
    let basic = |user: &str| Credential::Basic {
        username: user.into(),
        password: Secret::new("p:\\\"ä"),
    };
    let token = Credential::IdentityToken(Secret::new("t"));
    for (registry, credential, user) in [
        ("reg.example:5000", basic("robot$acme+ci"), "robot$acme+ci"),
        ("docker.io", basic("hub"), "hub"),
        ("token.example", token, "<token>"),
    ] {
        let registry = registry.parse().unwrap();
        login(&path, &registry, &credential, &helpers)
            .await
            .unwrap();
        let file = path.to_str().unwrap();
        let registry = registry.to_string();
        let seen = sandbox.skopeo(["login", "--get-login", "--authfile", file, &registry]);
        assert_eq!(seen.ok().stdout().trim_end(), user);
    }
    let file = path.to_str().unwrap();
    sandbox
        .skopeo(["logout", "--authfile", file, "token.example"])
        .ok();
    let out = logout(&path, &"token.example".parse().unwrap(), &helpers).await;
    assert!(!out.unwrap().removed, "skopeo removed it");
}

#[test]
fn what_skopeo_wrote_is_found_and_removed() {
    let sandbox = Sandbox::new();
    let registry = DockerRegistry::htpasswd();
    let path = sandbox.path("auth.json");
    let file = path.to_str().unwrap();
    let host = registry.host();
    let words = [
        "login",
        "--tls-verify=false",
        "--authfile",
        file,
        "-u",
        USER,
    ];
    sandbox
        .skopeo(words.into_iter().chain(["-p", PASSWORD, host]))
        .ok();

    let mut sources = Sources::none();
    sources.explicit_file = Some(path.clone());
    let repository = registry.repository("team/etcd").parse().unwrap();
    // The real registry has a runtime of its own, which must not end inside of another one.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let found = runtime
        .block_on(credentials(sources).find(&repository))
        .unwrap();
    match found.unwrap().credential {
        Credential::Basic { username, password } => {
            assert_eq!((&*username, password.reveal()), (USER, PASSWORD));
        }
        other => panic!("{other:?}"),
    }
    let helpers = Sources::none().helpers;
    let out = runtime.block_on(logout(&path, repository.registry(), &helpers));
    assert!(out.unwrap().removed);
    sandbox
        .skopeo(["login", "--get-login", "--authfile", file, host])
        .assert_code(1);
}
