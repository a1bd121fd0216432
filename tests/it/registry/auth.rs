//! Who gets to see which credential, and how many requests that costs.

use manifest_bundle::credential::{Credential, Credentials, Secret};
use manifest_bundle::error::Kind;
use manifest_bundle::limits::Limits;
use manifest_bundle::store::registry::{Login, check_login};
use manifest_bundle::store::{self, Store};

use super::{Client, Sample, bytes, password};
use crate::support::{
    Act, Auth, DockerRegistry, MockRegistry, Modes, Origin, PASSWORD, Response, on,
};

fn mock(auth: Auth) -> MockRegistry {
    MockRegistry::start(Modes {
        auth,
        ..Modes::default()
    })
}

fn count(mock: &MockRegistry, what: impl Fn(&crate::support::Request) -> bool) -> usize {
    mock.requests().iter().filter(|r| what(r)).count()
}

#[tokio::test]
async fn a_push_costs_one_challenge_and_one_token() {
    for auth in [Auth::Basic, Auth::Bearer] {
        let mock = mock(auth);
        let mut client = Client::alice();
        let to = client.open(&mock.repository("a/b")).to_write();
        let sample = Sample::new(&bytes(70_000));
        sample.push(&to, "1.0.0").await.unwrap();
        sample.pull(&to).await.unwrap();
        assert_eq!(
            count(&mock, |r| r.status == Some(401)),
            1,
            "{:?}",
            mock.log()
        );
        let tokens = usize::from(auth == Auth::Bearer);
        assert_eq!(count(&mock, |r| r.origin == Origin::Token), tokens);
        let allowed = [Origin::Registry, Origin::Token];
        mock.assert_secret_stays(
            PASSWORD,
            if auth == Auth::Bearer {
                &allowed[1..]
            } else {
                &allowed[..1]
            },
        );
        for token in mock.tokens() {
            mock.assert_secret_stays(&token, &[Origin::Registry]);
        }
        // Another repository of the same access knows what to ask for.
        mock.mark();
        let other = client.open(&mock.repository("a/c")).to_write();
        sample.push(&other, "1.0.0").await.unwrap();
        assert_eq!(
            count(&mock, |r| r.status == Some(401)),
            0,
            "{:?}",
            mock.log()
        );
    }
}

#[tokio::test]
async fn requests_that_begin_together_share_one_challenge() {
    let mock = mock(Auth::Bearer);
    let sample = Sample::new(b"layer");
    let to = Client::alice().open(&mock.repository("a")).to_write();
    let (config, layer) = (&sample.config.0, &sample.layer.0);
    let all = tokio::join!(to.has(config), to.has(layer), to.has(config), to.has(layer));
    assert!(matches!(all, (Ok(false), Ok(false), Ok(false), Ok(false))));
    assert_eq!(count(&mock, |r| r.status == Some(401)), 1);
    assert_eq!(count(&mock, |r| r.origin == Origin::Token), 1);
    assert_eq!(mock.log().len(), 6);
}

#[tokio::test]
async fn only_what_is_needed_is_asked_for() {
    let mock = mock(Auth::Bearer);
    let mut client = Client::alice();
    let sample = Sample::new(b"layer");
    let to = client.open(&mock.repository("a/b")).to_write();
    sample.push(&to, "1.0.0").await.unwrap();
    sample
        .pull(&client.open(&mock.repository("a/b")))
        .await
        .unwrap();
    let source = "a/b".to_owned();
    let other = client.open(&mock.repository("c")).to_write();
    let from = mock.repository(&source).parse().unwrap();
    assert!(other.mount(&sample.layer.0, &from).await.unwrap());
    let scopes: Vec<_> = mock
        .requests()
        .iter()
        .filter(|r| r.origin == Origin::Token)
        .map(|r| r.query("scope").join(" "))
        .collect();
    assert_eq!(
        scopes,
        [
            "repository:a/b:pull,push",
            "repository:a/b:pull",
            "repository:c:pull,push repository:a/b:pull"
        ]
    );
}

#[tokio::test]
async fn a_token_that_runs_out_is_renewed_once() {
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        token_requests: Some(2),
        ..Modes::default()
    });
    let mut client = Client::alice();
    for n in 0..3 {
        let sample = Sample::new(&bytes(1000 + n));
        let to = client.open(&mock.repository("a")).to_write();
        sample.push(&to, &format!("1.0.{n}")).await.unwrap();
        sample.pull(&to).await.unwrap();
    }
    // And one that is no good from the start is an answer.
    mock.rule(
        on("", "/v2/").at(Origin::Registry),
        Act::Respond(Response::error(401, "UNAUTHORIZED", "no").header(
            "www-authenticate",
            &format!("Bearer realm=\"{}/token\"", mock.base(Origin::Token)),
        )),
    );
    mock.mark();
    let error = client.open(&mock.repository("a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    assert_eq!(
        count(&mock, |r| r.origin == Origin::Registry),
        2,
        "{:?}",
        mock.log()
    );
    assert!(
        error
            .to_string()
            .contains("tried the credentials from the test"),
        "{error}"
    );
    assert!(client.waits().is_empty());
}

#[tokio::test]
async fn leave_that_is_lost_between_two_requests_of_an_upload_is_renewed() {
    for auth in [Auth::Basic, Auth::Bearer] {
        for (method, path) in [
            ("PUT", "/blobs/"),
            ("POST", "/blobs/"),
            ("PUT", "/manifests/"),
        ] {
            let mock = mock(auth);
            let refused = Response::error(401, "UNAUTHORIZED", "expired");
            mock.rule(on(method, path).nth(1), Act::Respond(refused));
            let to = Client::alice().open(&mock.repository("a")).to_write();
            let sample = Sample::new(&bytes(300_000));
            sample.push(&to, "1").await.unwrap();
            sample.pull(&to).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_download_goes_on_after_its_token_ran_out() {
    let mock = mock(Auth::Bearer);
    let to = Client::alice().open(&mock.repository("a")).to_write();
    let sample = Sample::new(&bytes(100_000));
    sample.push(&to, "1").await.unwrap();
    mock.rule(on("GET", "/blobs/").nth(2), Act::CutReset(1000));
    mock.rule(
        on("GET", "/blobs/").nth(3),
        Act::Respond(Response::error(401, "UNAUTHORIZED", "expired")),
    );
    sample.pull(&to).await.unwrap();
}

#[tokio::test]
async fn wrong_and_missing_passwords_are_told_apart() {
    for auth in [Auth::Basic, Auth::Bearer] {
        let mock = mock(auth);
        let sample = Sample::new(b"x");
        let none = Client::new().open(&mock.repository("a"));
        let error = sample.push(&none, "1").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Denied);
        assert!(
            error.to_string().contains("no credentials were found"),
            "{error}"
        );
        let hint = error.detail().hint.clone().unwrap();
        assert!(
            hint.contains(&format!("bundle login {}", mock.host())),
            "{hint}"
        );

        let wrong = Credential::Basic {
            username: "alice".into(),
            password: Secret::new("hunter2"),
        };
        let wrong = Credentials::fixed(wrong, "--username");
        let mut client = Client::with(|settings| settings.credentials = wrong);
        mock.mark();
        let error = sample
            .push(&client.open(&mock.repository("a")), "1")
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Kind::Denied);
        assert!(
            error
                .to_string()
                .contains("tried the credentials from --username"),
            "{error}"
        );
        assert!(!format!("{error:?}").contains("hunter2"));
        assert_eq!(mock.log().len(), 2, "{:?}", mock.log());
    }
}

#[tokio::test]
async fn identity_and_registry_tokens_are_used_as_what_they_are() {
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        identity_token: Some("refresh-me".into()),
        ..Modes::default()
    });
    let sample = Sample::new(b"x");
    let identity = Credentials::fixed(Credential::IdentityToken(Secret::new("refresh-me")), "x");
    let mut client = Client::with(|settings| settings.credentials = identity);
    let to = client.open(&mock.repository("a")).to_write();
    sample.push(&to, "1").await.unwrap();
    let asked: Vec<_> = mock
        .requests()
        .into_iter()
        .filter(|r| r.origin == Origin::Token)
        .collect();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].method, "POST");

    let token = Secret::new(mock.tokens()[0].clone());
    let fixed = Credentials::fixed(Credential::RegistryToken(token), "x");
    let mut client = Client::with(|settings| settings.credentials = fixed);
    mock.mark();
    sample
        .pull(&client.open(&mock.repository("a")))
        .await
        .unwrap();
    assert_eq!(count(&mock, |r| r.origin == Origin::Token), 0);
}

#[tokio::test]
async fn nobody_may_pull_what_is_public() {
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        anonymous_pull: true,
        ..Modes::default()
    });
    let sample = Sample::new(b"x");
    sample
        .push(&Client::alice().open(&mock.repository("a")).to_write(), "1")
        .await
        .unwrap();
    sample
        .pull(&Client::new().open(&mock.repository("a")))
        .await
        .unwrap();
}

/// Realms and what must come of them: `None` means that it works, for those who pull without a password, too.
#[tokio::test]
async fn a_password_goes_to_no_foreign_token_service() {
    let mock = mock(Auth::Basic);
    let stranger = mock
        .base(Origin::Stranger)
        .replace("127.0.0.1", "localhost");
    let port = stranger.rsplit(':').next().unwrap();
    for (challenge, kind) in [
        // `localhost` is another host than 127.0.0.1, so its token service is asked without the password.
        (format!("Bearer realm=\"{stranger}/token\""), Kind::Denied),
        (
            format!("Bearer realm=\"http://u:p@127.0.0.1:{port}/\""),
            Kind::Protocol,
        ),
        ("Bearer realm=\"file:///etc/passwd\"".into(), Kind::Protocol),
        ("Bearer service=\"x\"".into(), Kind::Protocol),
        (
            "Bearer realm=\"http://127.0.0.1:1/\",realm=\"http://127.0.0.1:2/\"".into(),
            Kind::Protocol,
        ),
        ("Negotiate".into(), Kind::Denied),
        (String::new(), Kind::Denied),
    ] {
        let mut refused = Response::error(401, "UNAUTHORIZED", "no");
        if !challenge.is_empty() {
            refused = refused.header("www-authenticate", &challenge);
        }
        mock.clear_rules();
        mock.rule(on("", "/v2/"), Act::Respond(refused));
        let error = Client::alice()
            .open(&mock.repository("a"))
            .tags()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{challenge}: {error}");
        if challenge.contains("localhost") {
            assert!(
                error.to_string().contains("were not sent to `localhost"),
                "{error}"
            );
            let hint = error.detail().hint.clone().unwrap();
            assert!(
                hint.contains(&format!("--auth-realm localhost:{port}")),
                "{hint}"
            );
        }
        mock.assert_secret_stays(PASSWORD, &[]);
    }
    assert!(count(&mock, |r| r.origin == Origin::Stranger) == 1);
    // Unless the caller knows it.
    let challenge = format!("Bearer realm=\"{stranger}/token\"");
    let refused = Response::error(401, "UNAUTHORIZED", "no").header("www-authenticate", &challenge);
    mock.clear_rules();
    mock.rule(on("", "/v2/"), Act::Respond(refused));
    let mut client = Client::alice();
    client.settings.auth_realms = vec![format!("localhost:{port}")];
    let error = client.open(&mock.repository("a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    mock.assert_secret_stays(PASSWORD, &[Origin::Stranger]);
    let told = |r: &crate::support::Request| r.header("authorization").is_some();
    assert_eq!(count(&mock, told), 1);
}

#[tokio::test]
async fn a_token_service_that_answers_nonsense_is_a_protocol_fault() {
    for (body, kind) in [
        ("<html><title>Sign in</title></html>", Kind::Protocol),
        ("", Kind::Protocol),
        ("null", Kind::Protocol),
        ("[]", Kind::Protocol),
        ("{}", Kind::Protocol),
        (r#"{"token":""}"#, Kind::Protocol),
        (r#"{"token":"a b"}"#, Kind::Protocol),
        (r#"{"token":"a\nX-Evil: 1"}"#, Kind::Protocol),
        (r#"{"token":7}"#, Kind::Protocol),
    ] {
        let mock = mock(Auth::Bearer);
        mock.rule(
            on("", "/token"),
            Act::Respond(Response::new(200).body(body)),
        );
        let error = Client::alice()
            .open(&mock.repository("a"))
            .tags()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{body}: {error}");
    }
    let mock = mock(Auth::Bearer);
    let large = "x".repeat(70_000);
    mock.rule(
        on("", "/token"),
        Act::Respond(Response::new(200).body(large)),
    );
    let error = Client::alice()
        .open(&mock.repository("a"))
        .tags()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");

    // A token service that is down for a moment is asked again.
    let mock = self::mock(Auth::Bearer);
    mock.rule(on("", "/token").nth(1), Act::Respond(Response::new(503)));
    mock.rule(on("", "/token").nth(2), Act::Reset);
    let mut client = Client::alice();
    let sample = Sample::new(b"x");
    sample
        .push(&client.open(&mock.repository("a")).to_write(), "1")
        .await
        .unwrap();
    assert_eq!(client.retries().len(), 2, "{:?}", client.retries());
}

#[tokio::test]
async fn logging_in_asks_the_registry() {
    for (auth, open_ping, credential, want) in [
        (Auth::Basic, false, password(), Some(Login::Accepted)),
        (Auth::Bearer, false, password(), Some(Login::Accepted)),
        (Auth::Off, false, password(), Some(Login::NotAsked)),
        (Auth::Bearer, true, password(), Some(Login::NotAsked)),
        (
            Auth::Basic,
            false,
            Credential::Basic {
                username: "alice".into(),
                password: Secret::new("no"),
            },
            None,
        ),
        (
            Auth::Bearer,
            false,
            Credential::Basic {
                username: "alice".into(),
                password: Secret::new("no"),
            },
            None,
        ),
    ] {
        let mock = MockRegistry::start(Modes {
            auth,
            open_ping,
            ..Modes::default()
        });
        let mut client = Client::with(|s| s.credentials = Credentials::fixed(credential, "x"));
        client.open(&mock.repository("a"));
        let access = client.access.as_ref().unwrap();
        match check_login(&mock.host().parse().unwrap(), access).await {
            Ok(login) => assert_eq!(Some(login), want, "{auth:?}"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Denied, "{error}");
                assert!(want.is_none());
            }
        }
    }
}

#[test]
fn the_real_registry_lets_alice_in() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let registry = DockerRegistry::htpasswd();
    let repository = registry.repository("auth");
    let sample = Sample::new(&bytes(70_000));
    let to = Client::alice().open(&repository).to_write();
    registry.mark();
    runtime.block_on(sample.push(&to, "1.0.0")).unwrap();
    let requests = registry.requests();
    assert!(requests.len() <= 9, "{requests:?}");
    assert_eq!(requests.iter().filter(|r| r.status == 401).count(), 1);
    runtime.block_on(sample.pull(&to)).unwrap();
    let error = runtime.block_on(sample.pull(&Client::new().open(&repository)));
    assert_eq!(error.unwrap_err().kind(), Kind::Denied);
}

#[tokio::test]
async fn many_requests_with_short_tokens_all_get_through() {
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        token_requests: Some(2),
        ..Modes::default()
    });
    let to = Client::alice().open(&mock.repository("a"));
    let sample = Sample::new(b"x");
    let looks = (0..6).map(|_| to.has(&sample.config.0));
    for look in futures_util::future::join_all(looks).await {
        assert!(!look.unwrap());
    }
}

#[tokio::test]
async fn a_refused_blob_says_which_credentials_were_tried() {
    let sample = Sample::new(&bytes(9 << 20));
    let (layer, content) = (&sample.layer.0, &sample.layer.1);
    let denied = || Act::Respond(Response::error(403, "DENIED", "x"));
    for (method, path) in [
        ("PUT", "/blobs/uploads/"),
        ("PATCH", "/blobs/uploads/"),
        ("GET", "/blobs/"),
    ] {
        let mock = MockRegistry::start(Modes {
            auth: Auth::Basic,
            chunk_limit: (method == "PATCH").then_some(4 << 20),
            ..Modes::default()
        });
        mock.rule(on(method, path).authorized(), denied());
        let there = Client::alice().open(&mock.repository("a"));
        let error = if method == "GET" {
            mock.put_blob("a", &content.to_bytes().unwrap());
            let directory = tempfile::tempdir().unwrap();
            let limits = Limits::default();
            let fetched = store::fetch(&there, layer, directory.path(), &limits).await;
            fetched.unwrap_err()
        } else {
            there.push_blob(layer, content).await.unwrap_err()
        };
        assert_eq!(error.kind(), Kind::Denied, "{method}: {error}");
        let said = error.to_string();
        assert!(
            said.contains("tried the credentials from the test"),
            "{method}: {said}"
        );
        let hint = error.detail().hint.as_deref().unwrap_or_default();
        assert!(hint.contains("bundle login"), "{method}: {hint}");
    }
    // A storage has seen no credentials.
    let mock = MockRegistry::start(Modes {
        auth: Auth::Basic,
        upload_elsewhere: true,
        ..Modes::default()
    });
    mock.rule(on("PUT", "/upload/").at(Origin::Store), denied());
    let there = Client::alice().open(&mock.repository("a"));
    let error = there.push_blob(layer, content).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Denied, "{error}");
    assert!(!error.to_string().contains("tried"), "{error}");
}
