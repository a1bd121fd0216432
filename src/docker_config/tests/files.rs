//! Which entry of which file answers for which repository.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Place, look_up};
use crate::credential::Secret;
use crate::error::Kind;

fn auth(pair: &str) -> String {
    STANDARD.encode(pair)
}

#[tokio::test]
async fn an_entry_answers_for_its_registry_or_namespace_and_nothing_else() {
    let entry = |pair: &str| json!({"auth": auth(pair)});
    for (auths, repository, want) in [
        (
            json!({"reg.io:5000": entry("u:p")}),
            "reg.io:5000/a/b",
            "u:p",
        ),
        (json!({"reg.io:5000": entry("u:p")}), "reg.io/a", "-"),
        (json!({"reg.io": entry("u:p")}), "reg.io:5000/a", "-"),
        (json!({"reg.io": entry("u:p")}), "reg.io.evil/a", "-"),
        (json!({"reg.io": entry("u:p")}), "my.reg.io/a", "-"),
        (json!({"reg.io.evil": entry("u:p")}), "reg.io/a", "-"),
        (
            json!({"127.0.0.1:5000": entry("u:p")}),
            "127.0.0.1:5000/a",
            "u:p",
        ),
        (json!({"[::1]:5000": entry("u:p")}), "[::1]:5000/a", "u:p"),
        // The forms that older programs wrote.
        (json!({"https://reg.io": entry("u:p")}), "reg.io/a", "u:p"),
        (json!({"https://reg.io/": entry("u:p")}), "reg.io/a", "u:p"),
        (
            json!({"http://reg.io/v1/": entry("u:p")}),
            "reg.io/a",
            "u:p",
        ),
        (
            json!({"https://reg.io/v2/": entry("u:p")}),
            "reg.io/a",
            "u:p",
        ),
        (json!({"reg.io/v2": entry("u:p")}), "reg.io/a", "u:p"),
        (json!({"Reg.io": entry("u:p")}), "reg.io/a", "u:p"),
        (
            json!({"https://reg.io/v2/": entry("old:x"), "reg.io": entry("u:p")}),
            "reg.io/a",
            "u:p",
        ),
        // Docker Hub has four names.
        (
            json!({"https://index.docker.io/v1/": entry("u:p")}),
            "docker.io/a/b",
            "u:p",
        ),
        (
            json!({"https://index.docker.io/v1/": entry("u:p")}),
            "index.docker.io/a/b",
            "u:p",
        ),
        (
            json!({"https://index.docker.io/v1/": entry("u:p")}),
            "registry-1.docker.io/a",
            "u:p",
        ),
        (json!({"docker.io": entry("u:p")}), "docker.io/a/b", "u:p"),
        (
            json!({"docker.io": entry("podman:x"), "https://index.docker.io/v1/": entry("u:p")}),
            "docker.io/a",
            "u:p",
        ),
        (
            json!({"https://index.docker.io/v1/": entry("u:p")}),
            "hub.docker.io/a",
            "-",
        ),
        (
            json!({"https://index.docker.io/v1/": entry("u:p")}),
            "docker.io:443/a",
            "-",
        ),
        (
            json!({"https://index.docker.io/v1/access-token": entry("u:p")}),
            "docker.io/a",
            "-",
        ),
        // Namespaces: the longest wins, whole components only.
        (
            json!({"quay.io": entry("all:x"), "quay.io/org": entry("u:p")}),
            "quay.io/org/a",
            "u:p",
        ),
        (
            json!({"quay.io/org/a": entry("u:p"), "quay.io/org": entry("org:x")}),
            "quay.io/org/a",
            "u:p",
        ),
        (
            json!({"quay.io": entry("u:p"), "quay.io/or": entry("or:x")}),
            "quay.io/org/a",
            "u:p",
        ),
        (
            json!({"quay.io": entry("u:p"), "quay.io/org/a/b": entry("b:x")}),
            "quay.io/org/a",
            "u:p",
        ),
        (
            json!({"quay.io": entry("u:p"), "quay.io/org": {}}),
            "quay.io/org/a",
            "u:p",
        ),
        (json!({"quay.io/org": entry("u:p")}), "quay.io/b", "-"),
        // Keys that name no registry are nobody's.
        (
            json!({"": entry("u:p"), "https://": entry("u:p"), "u@reg.io": entry("u:p")}),
            "reg.io/a",
            "-",
        ),
        (json!({}), "reg.io/a", "-"),
    ] {
        let place = Place::new();
        place.write("config.json", &json!({"auths": auths}).to_string());
        let got = look_up(place.sources(&["config.json"]), repository).await;
        assert_eq!(got.unwrap(), want, "{auths} {repository}");
    }
}

#[tokio::test]
async fn every_kind_of_entry_is_read() {
    for (entry, want) in [
        (json!({"auth": auth("u:p")}), "u:p"),
        (json!({"auth": auth("u:p:with:colons")}), "u:p:with:colons"),
        (
            json!({"auth": auth("robot$acme+ci:a:b\\c ä\"")}),
            "robot$acme+ci:a:b\\c ä\"",
        ),
        (json!({"auth": auth("u:p").trim_end_matches('=')}), "u:p"),
        (
            json!({"auth": format!("{}\r\n{}", &auth("us:pw")[..4], &auth("us:pw")[4..])}),
            "us:pw",
        ),
        (json!({"auth": auth("u:p\0\0")}), "u:p"),
        (json!({"auth": auth("u:")}), "u:"),
        (json!({"username": "u", "password": "p"}), "u:p"),
        (
            json!({"username": "u", "password": "p", "auth": auth("u:p"), "email": "a@b"}),
            "u:p",
        ),
        (
            json!({"username": "", "password": "", "auth": auth("u:p")}),
            "u:p",
        ),
        (json!({"Auth": auth("u:p")}), "u:p"),
        (
            json!({"auth": auth("0-0:"), "identitytoken": "t"}),
            "identity t",
        ),
        (json!({"identitytoken": "t"}), "identity t"),
        (json!({"identityToken": "t"}), "identity t"),
        (
            json!({"registrytoken": "r", "identitytoken": "t"}),
            "registry r",
        ),
        (json!({"identitytoken": "", "auth": auth("u:p")}), "u:p"),
        (json!({}), "-"),
        (json!(null), "-"),
        (json!({"auth": ""}), "-"),
        (json!({"auth": null, "email": "a@b"}), "-"),
    ] {
        let place = Place::new();
        place.write(
            "config.json",
            &json!({"auths": {"reg.io": entry}}).to_string(),
        );
        let got = look_up(place.sources(&["config.json"]), "reg.io/a").await;
        assert_eq!(got.unwrap(), want, "{entry}");
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_used_is_denied_by_name_and_without_its_secret() {
    for (entry, why) in [
        (json!({"auth": "hunter2!"}), "no base64"),
        (json!({"auth": auth("hunter2")}), "without a `:`"),
        (json!({"auth": auth(":hunter2")}), "without a user"),
        (
            json!({"auth": STANDARD.encode(b"u:\xffhunter2")}),
            "no UTF-8",
        ),
        (
            json!({"auth": auth("u:hunter2"), "password": "x"}),
            "contradicts",
        ),
        (
            json!({"auth": auth("u:hunter2"), "username": "v", "password": "hunter2"}),
            "contradicts",
        ),
        (json!({"password": "hunter2"}), "no `username`"),
        (json!({"username": "hunter2"}), "no `password`"),
        (
            json!({"username": "a:b", "password": "hunter2"}),
            "a `:` in",
        ),
        (json!({"auth": ["hunter2"]}), "`auth` that is no string"),
        (
            json!({"identitytoken": 7}),
            "`identitytoken` that is no string",
        ),
        (json!("hunter2"), "no JSON object"),
        (json!(["hunter2"]), "no JSON object"),
    ] {
        let place = Place::new();
        place.write(
            "config.json",
            &json!({"auths": {"reg.io": entry, "other.io": {}}}).to_string(),
        );
        let sources = || place.sources(&["config.json"]);
        let error = look_up(sources(), "reg.io/a").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{error}");
        for part in ["config.json", "`reg.io`", why] {
            assert!(error.message().contains(part), "{part}: {error}");
        }
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        let other = look_up(sources(), "other.io/a").await.unwrap();
        assert_eq!(other, "-", "another registry is not concerned");
    }
}

#[tokio::test]
async fn a_file_that_is_not_strict_json_is_an_error_and_never_no_credentials() {
    for (text, why) in [
        ("{\"auths\": ", "line 1 column 10"),
        ("\n\n{,}", "line 3"),
        ("// mine\n{}", "line 1"),
        ("{\"auths\": {\"reg.io\": {}, \"reg.io\": {}}}", "two keys"),
        ("{\"auths\": {}, \"Auths\": {}}", "two keys"),
        ("{} {}", "trailing"),
        ("\u{feff}{}", "line 1"),
        ("[]", "no JSON object"),
        ("{\"auths\": []}", "`auths` is no JSON object"),
        (
            "{\"credHelpers\": \"x\"}",
            "`credHelpers` is no JSON object",
        ),
        ("{\"credsStore\": {}}", "`credsStore` is no string"),
    ] {
        let place = Place::new();
        place.write("config.json", text);
        let mut sources = place.sources(&["config.json"]);
        let error = look_up(sources.clone(), "reg.io/a").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        for part in ["config.json", why] {
            assert!(error.message().contains(part), "{part}: {error}");
        }
        assert!(
            error
                .detail()
                .file
                .as_deref()
                .unwrap()
                .ends_with("config.json")
        );
        sources.files.clear();
        sources.inline = Some(Secret::new(text));
        let error = look_up(sources, "reg.io/a").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        assert!(error.message().contains("`DOCKER_AUTH_CONFIG`"), "{error}");
    }
}

#[tokio::test]
async fn the_first_place_with_a_credential_is_used() {
    let place = Place::new();
    let file = |pair: &str| json!({"auths": {"reg.io": {"auth": auth(pair)}}}).to_string();
    place.write(
        "empty.json",
        r#"{"auths": {"reg.io": {}}, "credsStore": ""}"#,
    );
    place.write("blank.json", " \n");
    place.write("a.json", &file("a:x"));
    place.write("b.json", &file("b:x"));
    place.write("broken.json", "{");

    let files = [
        "absent.json",
        "empty.json",
        "blank.json",
        "a.json",
        "broken.json",
    ];
    let mut sources = place.sources(&files);
    assert_eq!(look_up(sources.clone(), "reg.io/a").await.unwrap(), "a:x");

    sources.inline = Some(Secret::new(file("inline:x")));
    assert_eq!(
        look_up(sources.clone(), "reg.io/a").await.unwrap(),
        "inline:x"
    );
    sources.inline = Some(Secret::new("{}"));
    assert_eq!(look_up(sources.clone(), "reg.io/a").await.unwrap(), "a:x");

    sources.explicit_file = Some(place.path("b.json"));
    assert_eq!(look_up(sources.clone(), "reg.io/a").await.unwrap(), "b:x");
    // It is the only place: an explicit file without an entry means anonymous.
    for none in [place.path("blank.json"), "/dev/null".into()] {
        sources.explicit_file = Some(none);
        assert_eq!(look_up(sources.clone(), "reg.io/a").await.unwrap(), "-");
    }
    sources.explicit_file = Some(place.path("absent.json"));
    let error = look_up(sources, "reg.io/a").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Usage);
    assert!(error.message().contains("absent.json"), "{error}");
}

#[tokio::test]
async fn a_look_up_says_where_it_found_something_or_looked() {
    let place = Place::new();
    let config = json!({"auths": {"reg.io": {"auth": auth("u:hunter2")}}});
    let file = place.write("a.json", &config.to_string());
    let credentials = super::super::credentials(place.sources(&["absent.json", "a.json"]));
    let found = credentials
        .find(&"reg.io/a".parse().unwrap())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        found.origin,
        format!("`{}`, entry `reg.io`", file.display())
    );
    assert!(!format!("{found:?}").contains("hunter2"));
    assert!(credentials.notes(&"reg.io/a".parse().unwrap()).is_empty());

    let other = "other.io/a".parse().unwrap();
    assert!(credentials.find(&other).await.unwrap().is_none());
    assert_eq!(
        credentials.notes(&other),
        [format!(
            "credentials for `other.io` were looked for in `{}` (no such file), `{}` (no entry)",
            place.path("absent.json").display(),
            file.display()
        )]
    );
}

#[tokio::test]
async fn a_place_that_is_no_readable_file_is_not_taken_for_an_empty_one() {
    let place = Place::new();
    place.write("is-a-file", "{}");
    std::fs::create_dir(place.path("dir")).unwrap();
    let fifo = place.path("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let at_the_ceiling = format!("{{}}{}", " ".repeat(1024 * 1024 - 2));
    place.write("full.json", &at_the_ceiling);
    place.write("over.json", &(at_the_ceiling + " "));
    for (name, want) in [
        ("is-a-file/config.json", Some(Kind::Usage)),
        ("dir", Some(Kind::Usage)),
        ("fifo", Some(Kind::Usage)),
        ("full.json", None),
        ("over.json", Some(Kind::Limit)),
        ("absent/config.json", None),
        ("../../../../../../../dev/null/.docker/config.json", None),
    ] {
        let got = look_up(place.sources(&[name]), "reg.io/a").await;
        assert_eq!(
            got.as_ref().err().map(crate::error::Error::kind),
            want,
            "{name}: {got:?}"
        );
    }
}
