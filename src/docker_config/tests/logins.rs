//! `login` and `logout`: what changes in the file, and everything that does not.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use super::super::{Kept, Logout, login, logout};
use super::{Place, basic, look_up, mode};
use crate::credential::{Credential, Secret};
use crate::error::Kind;
use crate::reference::Registry;

fn registry(text: &str) -> Registry {
    text.parse().unwrap()
}

async fn log_in(place: &Place, name: &str, at: &str) -> crate::error::Result<Kept> {
    login(
        &place.path(name),
        &registry(at),
        &basic("u", "p"),
        &place.helpers(),
    )
    .await
}

#[tokio::test]
async fn a_first_login_makes_a_private_file_and_directory() {
    let place = Place::new();
    let kept = log_in(&place, "a/b/config.json", "reg.io:5000")
        .await
        .unwrap();
    let path = place.path("a/b/config.json");
    assert_eq!(kept.to_string(), format!("`{}`", path.display()));
    assert_eq!(kept, Kept::File(path));
    assert_eq!(
        place.read("a/b/config.json"),
        "{\n\t\"auths\": {\n\t\t\"reg.io:5000\": {\n\t\t\t\"auth\": \"dTpw\"\n\t\t}\n\t}\n}\n"
    );
    assert_eq!(mode(&place.path("a/b/config.json")), 0o600);
    assert_eq!(mode(&place.path("a/b")), 0o700);
    assert_eq!(
        fs::read_dir(place.path("a/b")).unwrap().count(),
        1,
        "nothing is left beside it"
    );
    assert!(place.told().is_empty());
    let got = look_up(place.sources(&["a/b/config.json"]), "reg.io:5000/x").await;
    assert_eq!(got.unwrap(), "u:p");
}

#[tokio::test]
async fn everything_else_in_the_file_stays_byte_for_byte() {
    let before = "{\r\n  \"z\" : 1.50e+3, \"HttpHeaders\": {\"b\": \"\\u0041\",\"a\":2},\n  \"auths\": {\n    \"other.io\": {\"auth\": \"eDp5\" , \"x\": [1 ,2]},\n    \"reg.io\": {\"email\": \"a@b\", \"password\": \"old\", \"username\":\"old\", \"x\": null}\n  },\n\t\"credHelpers\": {}, \"a\": 18446744073709551617\n}";
    let after = "{\r\n  \"z\" : 1.50e+3, \"HttpHeaders\": {\"b\": \"\\u0041\",\"a\":2},\n  \"auths\": {\n    \"other.io\": {\"auth\": \"eDp5\" , \"x\": [1 ,2]},\n    \"reg.io\": {\"email\": \"a@b\", \"x\": null, \"auth\": \"dTpw\"}\n  },\n\t\"credHelpers\": {}, \"a\": 18446744073709551617\n}";
    let place = Place::new();
    place.write("config.json", before);
    log_in(&place, "config.json", "reg.io").await.unwrap();
    assert_eq!(place.read("config.json"), after);
    let out = logout(
        &place.path("config.json"),
        &registry("reg.io"),
        &place.helpers(),
    )
    .await
    .unwrap();
    assert!(out.removed);
    let cut = after.find(",\n    \"reg.io\"").unwrap()..after.find("\n  },").unwrap();
    let mut gone = after.to_owned();
    gone.replace_range(cut, "");
    assert_eq!(place.read("config.json"), gone);
}

#[tokio::test]
async fn an_entry_in_another_case_gives_way_to_the_one_that_docker_finds() {
    let place = Place::new();
    place.write(
        "config.json",
        r#"{"auths":{"Reg.IO":{"auth":"eDp5"},"a.io":{}}}"#,
    );
    log_in(&place, "config.json", "reg.io").await.unwrap();
    assert_eq!(
        place.read("config.json"),
        r#"{"auths":{"a.io":{},"reg.io":{"auth": "dTpw"}}}"#
    );
}

#[tokio::test]
async fn each_kind_of_credential_is_read_back() {
    for (at, credential, want) in [
        (
            "reg.io",
            basic("robot$acme+ci", "a:b\\c\"ä"),
            "robot$acme+ci:a:b\\c\"ä",
        ),
        ("docker.io", basic("u", "p"), "u:p"),
        ("[::1]:5000", basic("u", ""), "u:"),
        (
            "reg.io",
            Credential::IdentityToken(Secret::new("t")),
            "identity t",
        ),
        (
            "reg.io",
            Credential::RegistryToken(Secret::new("r")),
            "registry r",
        ),
    ] {
        let place = Place::new();
        // What was there before must not shine through.
        let old = r#"{"auths":{"reg.io":{"auth":"eDp5","identitytoken":"old","registrytoken":"old","password":"old"}}}"#;
        place.write("config.json", old);
        let path = place.path("config.json");
        login(&path, &registry(at), &credential, &place.helpers())
            .await
            .unwrap();
        let got = look_up(place.sources(&["config.json"]), &format!("{at}/x")).await;
        assert_eq!(got.unwrap(), want);
        let text = place.read("config.json");
        assert_eq!(text.contains("old"), at != "reg.io", "{text}");
        assert_eq!(
            text.contains("\"https://index.docker.io/v1/\""),
            at == "docker.io",
            "{text}"
        );
    }
    for name in ["", "a:b"] {
        let place = Place::new();
        let path = place.path("config.json");
        let error = login(
            &path,
            &registry("reg.io"),
            &basic(name, "p"),
            &place.helpers(),
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn a_logout_removes_every_name_of_the_registry_and_says_what_is_left() {
    let place = Place::new();
    let path = place.write(
        "config.json",
        r#"{"auths":{"reg.io":{},"https://reg.io/v2/":{"auth":"eDp5"},"reg.io/team":{"auth":"eDp5"},"reg.io:5000":{"auth":"eDp5"}}}"#,
    );
    let out = logout(&path, &registry("reg.io"), &place.helpers())
        .await
        .unwrap();
    assert_eq!(
        out,
        Logout {
            removed: true,
            left: vec!["reg.io/team".into()]
        }
    );
    assert_eq!(
        place.read("config.json"),
        r#"{"auths":{"reg.io/team":{"auth":"eDp5"},"reg.io:5000":{"auth":"eDp5"}}}"#
    );
    let inode = fs::metadata(&path).unwrap().ino();
    let out = logout(&path, &registry("reg.io"), &place.helpers())
        .await
        .unwrap();
    assert!(!out.removed);
    assert_eq!(
        fs::metadata(&path).unwrap().ino(),
        inode,
        "nothing was written"
    );
    let out = logout(
        &place.path("absent/config.json"),
        &registry("reg.io"),
        &place.helpers(),
    )
    .await
    .unwrap();
    assert!(!out.removed);
    assert!(!place.path("absent").exists());
}

/// A store that keeps what it is given in a file, and forgets it.
const STORE: &str = r#"
case "$1" in
store) cat >"$HOME/kept" ;;
erase) test -f "$HOME/kept" || { echo "credentials not found in native keychain"; exit 1; }; rm "$HOME/kept" ;;
*) exit 9 ;;
esac"#;

#[tokio::test]
async fn a_secret_goes_to_the_helper_that_the_file_names() {
    for (config, key) in [
        (r#""credsStore":"keep""#, "reg.io"),
        (r#""credHelpers":{"reg.io":"keep"}"#, "reg.io"),
    ] {
        let place = Place::new();
        place.helper("keep", STORE);
        let mut helpers = place.helpers();
        helpers.environment = vec![("HOME".into(), place.root.path().into())];
        let path = place.write(
            "config.json",
            &format!(r#"{{{config},"auths":{{"{key}":{{"auth":"eDp5"}}}}}}"#),
        );
        let at = registry("reg.io");
        let kept = login(&path, &at, &basic("u", "a\"b"), &helpers)
            .await
            .unwrap();
        assert_eq!(
            kept.to_string(),
            "credential helper `docker-credential-keep`"
        );
        let kept: serde_json::Value = serde_json::from_str(&place.read("kept")).unwrap();
        assert_eq!(
            kept,
            serde_json::json!({"ServerURL": "reg.io", "Username": "u", "Secret": "a\"b"})
        );
        assert_eq!(
            place.read("config.json"),
            format!(r#"{{{config},"auths":{{"{key}":{{}}}}}}"#)
        );

        login(
            &path,
            &at,
            &Credential::IdentityToken(Secret::new("t")),
            &helpers,
        )
        .await
        .unwrap();
        assert!(place.read("kept").contains("<token>"));
        let error = login(
            &path,
            &at,
            &Credential::RegistryToken(Secret::new("t")),
            &helpers,
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind(), Kind::Usage);

        let out = logout(&path, &at, &helpers).await.unwrap();
        assert!(out.removed);
        assert!(!place.path("kept").exists());
        assert_eq!(
            place.read("config.json"),
            format!(r#"{{{config},"auths":{{}}}}"#)
        );
        assert!(!logout(&path, &at, &helpers).await.unwrap().removed);
    }
}

#[tokio::test]
async fn a_helper_that_is_missing_or_fails_leaves_the_file_alone() {
    let place = Place::new();
    place.helper("bad", "cat >&2; exit 1");
    for name in ["not-there", "bad", "../x"] {
        let text = format!(r#"{{"credsStore":"{name}"}}"#);
        place.write("config.json", &text);
        let error = log_in(&place, "config.json", "reg.io").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{name}");
        assert!(error.message().contains(name), "{error}");
        assert_eq!(place.read("config.json"), text);
        let error = logout(
            &place.path("config.json"),
            &registry("reg.io"),
            &place.helpers(),
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{name}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_understood_is_not_touched() {
    let big = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024 - 8));
    for (text, kind) in [
        ("{\"auths\": ", Kind::Usage),
        ("// mine\n{}", Kind::Usage),
        ("{\"auths\":{},\"auths\":{}}", Kind::Usage),
        ("{\"auths\":{\"reg.io\":{},\"Reg.io\":{}}}", Kind::Usage),
        ("{\"auths\":[]}", Kind::Usage),
        ("[]", Kind::Usage),
        // There is room for the file, and none for the entry.
        (big.as_str(), Kind::Limit),
    ] {
        let place = Place::new();
        let path = place.write("config.json", text);
        let inode = fs::metadata(&path).unwrap().ino();
        let error = log_in(&place, "config.json", "reg.io").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains("config.json"), "{error}");
        assert_eq!(place.read("config.json"), text);
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(fs::read_dir(place.root.path()).unwrap().count(), 2);
    }
}

#[tokio::test]
async fn entries_that_are_null_or_of_another_type_are_replaced() {
    for text in [
        r#"{"auths":null}"#,
        r#"{"auths":{"reg.io":null}}"#,
        r#"{"auths":{"reg.io":"x"}}"#,
        r#"{"AUTHS":{}}"#,
        "",
        " \n",
    ] {
        let place = Place::new();
        place.write("config.json", text);
        log_in(&place, "config.json", "reg.io").await.unwrap();
        let got = look_up(place.sources(&["config.json"]), "reg.io/x").await;
        assert_eq!(got.unwrap(), "u:p", "{text}");
    }
}

#[tokio::test]
async fn a_wide_mode_is_narrowed_with_a_warning() {
    let place = Place::new();
    let path = place.write("config.json", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    log_in(&place, "config.json", "reg.io").await.unwrap();
    assert_eq!(mode(&path), 0o600);
    let warnings = place.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("mode 0644"), "{warnings:?}");
    log_in(&place, "config.json", "other.io").await.unwrap();
    assert_eq!(
        place.warnings().len(),
        1,
        "the second time there is nothing to say"
    );
}

#[tokio::test]
async fn a_link_is_followed_and_named_and_a_bad_one_is_refused() {
    let place = Place::new();
    let real = place.write("dotfiles/docker.json", "{}");
    fs::create_dir(place.path("home")).unwrap();
    symlink("../dotfiles/docker.json", place.path("home/config.json")).unwrap();
    log_in(&place, "home/config.json", "reg.io").await.unwrap();
    assert!(place.path("home/config.json").is_symlink());
    assert!(place.read("dotfiles/docker.json").contains("reg.io"));
    assert_eq!(mode(&real), 0o600);
    assert!(
        place
            .warnings()
            .iter()
            .any(|text| text.contains("dotfiles/docker.json"))
    );

    place.told.lock().unwrap().clear();
    place.write("home/real.json", "{}");
    fs::set_permissions(
        place.path("home/real.json"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    symlink("real.json", place.path("home/near.json")).unwrap();
    log_in(&place, "home/near.json", "reg.io").await.unwrap();
    assert!(place.warnings().is_empty(), "{:?}", place.warnings());

    symlink("nowhere.json", place.path("home/dangling.json")).unwrap();
    symlink(place.path("home"), place.path("home/dir.json")).unwrap();
    symlink("loop.json", place.path("home/loop.json")).unwrap();
    for name in ["home/dangling.json", "home/dir.json", "home/loop.json"] {
        let error = log_in(&place, name, "reg.io").await.unwrap_err();
        assert!(matches!(error.kind(), Kind::Usage | Kind::Io), "{error}");
        assert!(place.path(name).is_symlink());
    }
    assert!(!place.path("home/nowhere.json").exists());
}

#[tokio::test]
async fn what_the_disk_refuses_leaves_the_old_file() {
    let place = Place::new();
    let path = place.write("config.json", "{}");
    // The name of the new file is taken by something that cannot be removed.
    fs::create_dir(place.path(".config.json.bundle-new")).unwrap();
    let error = log_in(&place, "config.json", "reg.io").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert_eq!(place.read("config.json"), "{}");
    fs::remove_dir(place.path(".config.json.bundle-new")).unwrap();
    // What a killed login left behind is cleared away, and not written through.
    symlink(&path, place.path(".config.json.bundle-new")).unwrap();
    log_in(&place, "config.json", "reg.io").await.unwrap();
    assert!(!path.is_symlink());
    assert!(place.read("config.json").contains("reg.io"));
    // Nobody, root included, makes a file there.
    let helpers = place.helpers();
    for path in ["/proc/bundle/config.json", "/proc/self/config.json"] {
        let error = login(
            Path::new(path),
            &registry("reg.io"),
            &basic("u", "p"),
            &helpers,
        )
        .await
        .unwrap_err();
        assert_eq!(error.kind(), Kind::Io, "{error}");
    }
    let file = place.write("file", "");
    let error = log_in(&place, "file/config.json", "reg.io")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Usage, "{error}");
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn logins_at_the_same_time_all_survive_and_no_reader_sees_half_a_file() {
    let place = Place::new();
    place.write("config.json", "{}");
    let path = place.path("config.json");
    let helpers = place.helpers();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|number| {
                let (path, helpers) = (path.clone(), helpers.clone());
                scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    let at = registry(&format!("reg{number}.io"));
                    runtime
                        .block_on(login(&path, &at, &basic("u", "p"), &helpers))
                        .unwrap();
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            let text = fs::read(&path).unwrap();
            serde_json::from_slice::<serde_json::Value>(&text).unwrap();
        }
    });
    let text = place.read("config.json");
    for number in 0..8 {
        assert!(text.contains(&format!("\"reg{number}.io\"")), "{text}");
    }
}
