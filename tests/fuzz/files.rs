//! Files of the caller that others write too: docker's config and ignore files.

use std::path::Path;
use std::sync::LazyLock;

use manifest_bundle::credential::{Credential, Found, Secret};
use manifest_bundle::docker_config::{Helpers, Sources, Tell, credentials, login as save};
use manifest_bundle::escape::is_unsafe;
use manifest_bundle::ignore::Ignore;
use manifest_bundle::reference::{Registry, Repository};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().build().unwrap());
static REPOSITORY: LazyLock<Repository> =
    LazyLock::new(|| "registry.example.com/team/etcd".parse().unwrap());
static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir_in("/dev/shm").unwrap());

/// A look-up gives the same answer twice, and a refusal repeats no secret and nothing that steers a terminal.
pub(crate) fn docker_config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let look = || {
        let sources = Sources {
            inline: Some(Secret::new(text)),
            ..Sources::none()
        };
        RUNTIME.block_on(credentials(sources).find(&REPOSITORY))
    };
    match (look(), look()) {
        (Ok(one), Ok(two)) => assert_eq!(told(one), told(two)),
        (Err(one), Err(two)) => {
            let said = one.to_string();
            assert_eq!(said, two.to_string());
            assert!(!said.contains(is_unsafe), "{said:?}");
            for secret in secrets(text) {
                assert!(!said.contains(&secret), "{said:?} holds {secret:?}");
            }
        }
        _ => panic!("two answers"),
    }
}

/// Returns what a look-up found, secrets and all.
fn told(found: Option<Found>) -> Option<[String; 2]> {
    found.map(|found| match found.credential {
        Credential::Basic { username, password } => [username, password.reveal().to_owned()],
        Credential::IdentityToken(token) => ["identity".into(), token.reveal().to_owned()],
        Credential::RegistryToken(token) => ["registry".into(), token.reveal().to_owned()],
    })
}

/// Returns long texts that stand where secrets stand.
fn secrets(text: &str) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    let entries = value["auths"].as_object().cloned().unwrap_or_default();
    let fields = ["auth", "password", "identitytoken", "registrytoken"];
    let all = entries
        .values()
        .flat_map(|entry| fields.map(|field| entry[field].as_str().map(str::to_owned)));
    all.flatten().filter(|secret| secret.len() >= 12).collect()
}

/// A login keeps everything else that the file says, and a refused one leaves the file alone.
pub(crate) fn login(data: &[u8]) {
    let path = DIRECTORY.path().join("config.json");
    std::fs::write(&path, data).unwrap();
    let registry: Registry = REPOSITORY.registry().clone();
    let credential = Credential::Basic {
        username: "user".into(),
        password: Secret::new("canary"),
    };
    let helpers = Helpers::new("".into(), Vec::new(), Tell::nobody());
    let result = RUNTIME.block_on(save(&path, &registry, &credential, &helpers));
    let after = std::fs::read(&path).unwrap();
    if result.is_err() {
        assert!(after == data, "a refused login changed the file");
        return;
    }
    let mut after: Value = serde_json::from_slice(&after).unwrap();
    let name = registry.to_string();
    // Go's readers of this file take members of its objects in any case, but not the names of registries.
    let mut auths = take_auths(&mut after);
    let written = auths
        .remove(&name)
        .unwrap_or_else(|| panic!("the login is not there"));
    // A member that was there keeps its spelling.
    let auth = written.as_object().and_then(|members| {
        let mut members = members.iter();
        members.find(|(key, _)| key.eq_ignore_ascii_case("auth"))
    });
    assert!(auth.is_some_and(|(_, auth)| auth.is_string()), "{written}");
    let Ok(mut before) = serde_json::from_slice::<Value>(data) else {
        assert!(data.trim_ascii().is_empty(), "what was no JSON is gone");
        return;
    };
    let mut others = take_auths(&mut before);
    others.retain(|key, _| !key.eq_ignore_ascii_case(&name));
    assert_eq!((after, auths), (before, others));
}

/// Takes the entries of registries out of a config.
fn take_auths(config: &mut Value) -> serde_json::Map<String, Value> {
    let members = config.as_object_mut().unwrap();
    let key = members
        .keys()
        .find(|key| key.eq_ignore_ascii_case("auths"))
        .cloned();
    let auths = key.and_then(|key| members.remove(&key)).unwrap_or_default();
    auths.as_object().cloned().unwrap_or_default()
}

/// What an ignore file leaves out is named by a line of it, and leaving its directory undoes it.
pub(crate) fn ignore(data: &[u8]) {
    let (text, path) = match data.iter().position(|b| *b == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &b"manifests/role.yaml"[..]),
    };
    let Ok(path) = std::str::from_utf8(path).map(Path::new) else {
        return;
    };
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if path.as_os_str().is_empty()
        || path.as_os_str().as_encoded_bytes().contains(&0)
        || !path.components().all(is_plain)
    {
        return;
    }
    let mut ignore = Ignore::new(&[], &[], true).unwrap();
    let before = ignore.rule(path, false);
    if ignore.enter("", text).is_err() {
        return;
    }
    if let Some(rule) = ignore
        .rule(path, false)
        .filter(|rule| Some(rule) != before.as_ref())
    {
        let text = String::from_utf8_lossy(text);
        let line: usize = rule
            .split(':')
            .nth(1)
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        assert!(
            line >= 1 && line <= text.lines().count(),
            "{rule} is no line of the file"
        );
    }
    ignore.leave();
    assert_eq!(ignore.rule(path, false), before);
}
