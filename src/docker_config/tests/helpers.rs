//! Credential helpers, good and bad ones.

use std::time::Duration;

use super::super::Notice;
use super::{Place, look_up};
use crate::error::Kind;

/// A helper that keeps one answer for each server in files, as a good one does.
const GOOD: &str = r#"
read -r server || true
case "$1 $server" in
"get reg.io") echo '{"ServerURL":"reg.io","Username":"u","Secret":"p","Extra":1}' ;;
"get https://index.docker.io/v1/") printf '{"ServerURL":"https://index.docker.io/v1/","Username":"hub","Secret":"p"}' ;;
"get token.io") echo '{"ServerURL":"https://token.io/v2/","Username":"<token>","Secret":"t"}' ;;
"get gcr.io") echo '{"Secret":"p","Username":"_dcgcloud_token"}' ;;
*) echo "credentials not found in native keychain"; exit 1 ;;
esac"#;

#[tokio::test]
async fn a_helper_is_asked_before_entries_and_passed_over_when_it_has_nothing() {
    let auth = r#"{"auth": "ZmlsZTp4"}"#;
    for (config, repository, want) in [
        (r#"{"credsStore": "good"}"#.into(), "reg.io/a", "u:p"),
        (
            r#"{"credHelpers": {"reg.io": "good"}}"#.into(),
            "reg.io/a",
            "u:p",
        ),
        (
            r#"{"credHelpers": {"https://reg.io/v2/": "good"}}"#.into(),
            "reg.io/a",
            "u:p",
        ),
        (
            r#"{"credHelpers": {"reg.io": "good"}}"#.into(),
            "reg.io:5000/a",
            "-",
        ),
        (
            r#"{"credHelpers": {"reg.io/a": "good"}}"#.into(),
            "reg.io/a",
            "-",
        ),
        (r#"{"credsStore": "good"}"#.into(), "docker.io/a", "hub:p"),
        (
            r#"{"credHelpers": {"docker.io": "good"}}"#.into(),
            "docker.io/a",
            "hub:p",
        ),
        (
            r#"{"credsStore": "good"}"#.into(),
            "token.io/a",
            "identity t",
        ),
        (
            r#"{"credsStore": "good"}"#.into(),
            "gcr.io/a",
            "_dcgcloud_token:p",
        ),
        (r#"{"credsStore": "good"}"#.into(), "nothing.io/a", "-"),
        // Docker leaves an empty entry beside a store.
        (
            r#"{"auths": {"reg.io": {}}, "credsStore": "good"}"#.into(),
            "reg.io/a",
            "u:p",
        ),
        (
            r#"{"auths": {"nothing.io": {}}, "credsStore": "good"}"#.into(),
            "nothing.io/a",
            "-",
        ),
        (
            format!(r#"{{"auths": {{"reg.io": {auth}}}, "credsStore": "good"}}"#),
            "reg.io/a",
            "u:p",
        ),
        (
            format!(r#"{{"auths": {{"nothing.io": {auth}}}, "credsStore": "good"}}"#),
            "nothing.io/a",
            "file:x",
        ),
        (
            format!(
                r#"{{"auths": {{"nothing.io": {auth}}}, "credHelpers": {{"nothing.io": "good"}}}}"#
            ),
            "nothing.io/a",
            "file:x",
        ),
        // A namespace is more than a store for everything, and less than a helper for this registry.
        (
            format!(r#"{{"auths": {{"reg.io/a": {auth}}}, "credsStore": "good"}}"#),
            "reg.io/a",
            "file:x",
        ),
        (
            format!(r#"{{"auths": {{"reg.io/a": {auth}}}, "credHelpers": {{"reg.io": "good"}}}}"#),
            "reg.io/a",
            "u:p",
        ),
        // `credHelpers` decides before `credsStore`, and an empty name means none.
        (
            r#"{"credHelpers": {"reg.io": "good"}, "credsStore": "not-there"}"#.into(),
            "reg.io/a",
            "u:p",
        ),
        (
            r#"{"credHelpers": {"reg.io": ""}, "credsStore": "good"}"#.into(),
            "reg.io/a",
            "-",
        ),
        (
            format!(
                r#"{{"auths": {{"reg.io": {auth}}}, "credHelpers": {{"reg.io": ""}}, "credsStore": "good"}}"#
            ),
            "reg.io/a",
            "file:x",
        ),
        (
            format!(r#"{{"auths": {{"reg.io": {auth}}}, "credsStore": ""}}"#),
            "reg.io/a",
            "file:x",
        ),
    ] {
        let place = Place::new();
        place.helper("good", GOOD);
        place.write("config.json", &config);
        let got = look_up(place.sources(&["config.json"]), repository).await;
        assert_eq!(got.unwrap(), want, "{config} {repository}");
        assert!(place.told().is_empty());
    }
}

#[tokio::test]
async fn a_missing_helper_is_a_warning_and_a_note_and_no_other_account_is_taken() {
    let place = Place::new();
    let other = r#"{"auths": {"reg.io": {"auth": "ZmlsZTp4"}}}"#;
    place.write("other.json", other);
    for (config, want) in [
        // The file says that the helper has this registry's credential: another file's account would be a surprise.
        (r#"{"credHelpers": {"reg.io": "not-there"}}"#, "-"),
        (
            r#"{"auths": {"reg.io": {}}, "credsStore": "not-there"}"#,
            "-",
        ),
        // It says nothing about this registry.
        (r#"{"credsStore": "not-there"}"#, "file:x"),
    ] {
        place.told.lock().unwrap().clear();
        place.write("config.json", config);
        let credentials = super::super::credentials(place.sources(&["config.json", "other.json"]));
        let repository = "reg.io/a".parse().unwrap();
        for _ in 0..2 {
            let found = credentials.find(&repository).await.unwrap();
            let word = found.map_or("-".into(), |found| super::in_a_word(&found.credential));
            assert_eq!(word, want, "{config}");
        }
        let warnings = place.warnings();
        assert_eq!(warnings.len(), 1, "one warning for two look-ups");
        let note = credentials.notes(&repository).first().unwrap().clone();
        for text in [&warnings[0], &note] {
            for part in ["docker-credential-not-there", "config.json", "`reg.io`"] {
                assert!(text.contains(part), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_helper_that_fails_is_denied_and_what_it_printed_is_not_shown() {
    for (script, why) in [
        ("echo hunter2", "did not answer in JSON"),
        ("echo '[\"hunter2\"]'", "JSON object"),
        (
            "echo '{\"Username\":\"u\",\"Secret\":\"hunter2\"} x'",
            "JSON",
        ),
        ("echo '{\"hunter2\":1,\"hunter2\":2}'", "JSON"),
        ("", "JSON"),
        ("echo '{}'", "without a secret"),
        (
            "echo '{\"ServerURL\":\"\",\"Username\":\"\",\"Secret\":\"\"}'",
            "without a secret",
        ),
        (
            "echo '{\"Username\":\"hunter2\",\"Secret\":\"\"}'",
            "without a secret",
        ),
        (
            "echo '{\"Username\":7,\"Secret\":\"hunter2\"}'",
            "`Username` that is no string",
        ),
        (
            "echo '{\"Username\":\"a:b\",\"Secret\":\"hunter2\"}'",
            "a `:` in the user name",
        ),
        (
            "echo '{\"ServerURL\":\"reg.io.evil\",\"Username\":\"u\",\"Secret\":\"hunter2\"}'",
            "answered about `reg.io.evil`",
        ),
        (
            "echo '{\"ServerURL\":\"reg.io:5000\",\"Username\":\"u\",\"Secret\":\"hunter2\"}'",
            "answered about `reg.io:5000`",
        ),
        ("echo hunter2; exit 3", "exit status: 3"),
        (
            "echo '{\"Username\":\"u\",\"Secret\":\"hunter2\"}'; exit 1",
            "exit status: 1",
        ),
        ("kill -9 $$", "signal: 9"),
        ("head -c 65537 /dev/zero", "printed more than 65536 bytes"),
        ("yes hunter2", "printed more than 65536 bytes"),
    ] {
        let place = Place::new();
        place.helper("bad", script);
        place.write("config.json", r#"{"credsStore": "bad"}"#);
        let error = look_up(place.sources(&["config.json"]), "reg.io/a")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{script}");
        for part in ["config.json", "docker-credential-bad", why] {
            assert!(error.message().contains(part), "{script}: {error}");
        }
        assert!(
            !format!("{error:?}{:?}", place.told()).contains("hunter2"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_may_be_as_large_as_the_ceiling() {
    let place = Place::new();
    let script = r#"printf '{"Username":"u","Secret":"p"}'; head -c 65505 /dev/zero | tr '\0' ' '"#;
    place.helper("big", script);
    place.write("config.json", r#"{"credsStore": "big"}"#);
    assert_eq!(
        look_up(place.sources(&["config.json"]), "reg.io/a")
            .await
            .unwrap(),
        "u:p"
    );
}

#[tokio::test]
async fn a_helper_that_hangs_is_killed_with_all_it_started() {
    let place = Place::new();
    let pids = place.path("pids");
    place.helper(
        "slow",
        &format!(
            "trap '' TERM; sleep 600 & echo $$ $! >'{}'; wait",
            pids.display()
        ),
    );
    place.write("config.json", r#"{"credsStore": "slow"}"#);
    let mut sources = place.sources(&["config.json"]);
    sources.helpers.timeout = Duration::from_secs(3);
    let error = look_up(sources, "reg.io/a").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    assert!(error.message().contains("timed out"), "{error}");
    assert_dead(&place.read("pids"));
}

#[tokio::test]
async fn a_look_up_that_is_given_up_leaves_no_helper_behind() {
    let place = Place::new();
    let pids = place.path("pids");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pids)
            .status()
            .unwrap()
            .success()
    );
    place.helper(
        "slow",
        &format!("sleep 600 & echo $$ $! >'{}'; wait", pids.display()),
    );
    place.write("config.json", r#"{"credsStore": "slow"}"#);
    // The pipe is opened once the helper runs; the look-up loses the race against it and is dropped.
    let started = tokio::fs::read_to_string(&pids);
    let pids = tokio::select! {
        got = look_up(place.sources(&["config.json"]), "reg.io/a") => panic!("{got:?}"),
        pids = started => pids.unwrap(),
    };
    assert_dead(&pids);
}

/// Waits until the processes are gone, or dead and not yet waited for; they were killed, so this ends.
fn assert_dead(pids: &str) {
    assert_eq!(pids.split_whitespace().count(), 2);
    for pid in pids.split_whitespace() {
        let alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat
                .rsplit_once(") ")
                .and_then(|(_, rest)| rest.chars().next());
            !matches!(state, None | Some('Z' | 'X'))
        };
        let begun = std::time::Instant::now();
        while alive() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{pid} is alive");
            std::thread::yield_now();
        }
    }
}

#[tokio::test]
async fn a_helper_may_ignore_its_input_and_leave_something_running() {
    let answer = r#"echo '{"Username":"u","Secret":"p"}'"#;
    for script in [
        format!("exec <&-; {answer}"),
        format!("sleep 5 & {answer}"),
        format!("{answer}; exec >&- 2>&-; read -r x || true"),
    ] {
        let place = Place::new();
        place.helper("odd", &script);
        place.write("config.json", r#"{"credsStore": "odd"}"#);
        let got = look_up(place.sources(&["config.json"]), "reg.io/a").await;
        assert_eq!(got.unwrap(), "u:p", "{script}");
    }
}

#[tokio::test]
async fn what_a_helper_says_on_stderr_is_a_detail_escaped_and_short() {
    let place = Place::new();
    place.helper(
        "loud",
        r#"printf 'a\033[2Jb hunter2\nc' >&2; head -c 100000 /dev/zero | tr '\0' x >&2
        echo '{"Username":"u","Secret":"hunter2"}'"#,
    );
    place.write("config.json", r#"{"credsStore": "loud"}"#);
    assert_eq!(
        look_up(place.sources(&["config.json"]), "reg.io/a")
            .await
            .unwrap(),
        "u:hunter2"
    );
    let told = place.told();
    let [Notice::Detail(text)] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        text.starts_with("`docker-credential-loud` said: a\\u{1b}[2Jb …\n  cxxx"),
        "{text}"
    );
    assert!(text.len() < 1200, "{}", text.len());
}

#[tokio::test]
async fn a_name_that_could_lead_elsewhere_is_refused() {
    let long = "x".repeat(65);
    for name in [
        "../../evil",
        "x;id",
        "a/b",
        "a b",
        "a\\u0000b",
        "ä",
        "$HOME",
        long.as_str(),
    ] {
        let place = Place::new();
        place.write("config.json", &format!(r#"{{"credsStore": "{name}"}}"#));
        let error = look_up(place.sources(&["config.json"]), "reg.io/a")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{name}");
        assert!(
            error.message().contains("no name of a credential helper"),
            "{error}"
        );
    }
    let place = Place::new();
    place.write("config.json", r#"{"credHelpers": {"reg.io": 7}}"#);
    let error = look_up(place.sources(&["config.json"]), "reg.io/a")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
}

#[tokio::test]
async fn only_absolute_elements_of_the_path_are_looked_in() {
    let place = Place::new();
    place.helper("here", GOOD);
    place.write("config.json", r#"{"credHelpers": {"reg.io": "here"}}"#);
    let bin = place.path("bin");
    let relative = std::env::current_dir().unwrap();
    let up = "../".repeat(relative.components().count());
    let relative = format!("{up}{}", bin.display().to_string().trim_start_matches('/'));
    assert!(
        std::path::Path::new(&relative)
            .join("docker-credential-here")
            .exists()
    );
    for (path, want) in [
        (relative.clone(), "-"),
        (String::new(), "-"),
        (format!("{relative}::.:{}", bin.display()), "u:p"),
    ] {
        let mut sources = place.sources(&["config.json"]);
        sources.helpers.path = path.into();
        assert_eq!(look_up(sources, "reg.io/a").await.unwrap(), want);
    }
}

#[tokio::test]
async fn a_helper_that_cannot_be_run_is_not_a_missing_one() {
    let place = Place::new();
    place.write("bin/docker-credential-plain", "#!/bin/sh\n");
    std::fs::create_dir(place.path("bin/docker-credential-dir")).unwrap();
    place.helper("lost", "");
    let lost = place.path("bin/docker-credential-lost");
    let script = format!("printf '#!/no/such/shell\\n' >'{}'", lost.display());
    assert!(
        std::process::Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap()
            .success()
    );
    for name in ["plain", "dir", "lost"] {
        place.write("config.json", &format!(r#"{{"credsStore": "{name}"}}"#));
        let error = look_up(place.sources(&["config.json"]), "reg.io/a")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Denied, "{name}");
        assert!(
            error
                .message()
                .contains(&format!("docker-credential-{name}")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_helper_sees_the_given_environment_and_nothing_else() {
    let place = Place::new();
    let seen = place.path("seen");
    place.helper(
        "env",
        &format!(
            "/usr/bin/env >'{}'; echo '{{\"Username\":\"u\",\"Secret\":\"p\"}}'",
            seen.display()
        ),
    );
    place.write("config.json", r#"{"credsStore": "env"}"#);
    let mut sources = place.sources(&["config.json"]);
    sources.helpers.environment = vec![("HOME".into(), "/h".into())];
    look_up(sources, "reg.io/a").await.unwrap();
    let mut names: Vec<_> = place
        .read("seen")
        .lines()
        .map(|l| l.split('=').next().unwrap().to_owned())
        .collect();
    // The shell adds these itself.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    names.sort();
    assert_eq!(names, ["HOME", "PATH"]);
}

/// The shapes of a public collection, where it is at hand: which file answers what for a registry on port 5000.
#[tokio::test]
async fn the_shapes_of_the_corpus_are_read_as_their_table_says() {
    let Some(corpus) = std::env::var_os("BUNDLE_CORPUS") else {
        return;
    };
    let folder = std::path::Path::new(&corpus).join("cases/50-docker-config-shapes");
    let place = Place::new();
    let script = std::fs::read_to_string(folder.join("helpers/docker-credential-demo")).unwrap();
    place.helper("demo", &script);
    for (name, repository, want) in [
        ("1-plain", "127.0.0.1:5000/demo", "user:pass"),
        ("2-https-prefix", "127.0.0.1:5000/demo", "user:pass"),
        ("3-hub-v1", "docker.io/demo", "hub:secret"),
        ("3-hub-v1", "127.0.0.1:5000/demo", "-"),
        ("4-identitytoken", "127.0.0.1:5000/demo", "identity pass"),
        (
            "5-empty-entry-and-store",
            "127.0.0.1:5000/demo",
            "user:pass",
        ),
        ("5-empty-entry-and-store", "localhost:5000/demo", "-"),
        ("6-helper", "127.0.0.1:5000/demo", "user:pass"),
        ("7-helper-missing", "127.0.0.1:5000/demo", "-"),
        ("8-other-registry-only", "127.0.0.1:5000/demo", "-"),
        ("9-broken", "127.0.0.1:5000/demo", "usage"),
        ("10-username-password", "127.0.0.1:5000/demo", "user:pass"),
        ("11-path-scoped", "127.0.0.1:5000/demo", "user:pass"),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        place.write("config.json", &text.replace("PORT", "5000"));
        let got = look_up(place.sources(&["config.json"]), repository).await;
        let got = got.unwrap_or_else(|error| error.kind().name().into());
        assert_eq!(got, want, "{name}");
    }
    assert_eq!(place.warnings().len(), 1);
}
