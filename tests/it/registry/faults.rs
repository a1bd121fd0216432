//! Faults that can meet any request: each has one right outcome.

use std::time::Duration;

use manifest_bundle::error::{Error, Kind};
use manifest_bundle::store::Store;
use manifest_bundle::store::registry::Registry;

use super::{Client, Sample, bytes};
use crate::support::{Act, MockRegistry, Origin, Response, on};

/// What a client may be doing when something goes wrong; with the request that it is.
const OPERATIONS: [(&str, &str, &str); 7] = [
    ("resolve", "HEAD", "/manifests/"),
    ("manifest", "GET", "/manifests/"),
    ("blob", "GET", "/blobs/"),
    ("tags", "GET", "/tags/"),
    ("referrers", "GET", "/referrers/"),
    ("look", "HEAD", "/blobs/"),
    ("write", "PUT", "/manifests/"),
];

/// Does one of the operations on a registry that has the sample.
async fn operate(name: &str, registry: &Registry, sample: &Sample) -> Result<(), Error> {
    let digest = sample.manifest.descriptor.digest;
    match name {
        "resolve" => {
            let found = registry.tagged(&"1".parse().unwrap()).await?;
            assert_eq!(found, Some(digest));
        }
        "manifest" | "blob" => sample.pull(registry).await?,
        "tags" => assert_eq!(registry.tags().await?, ["1".parse().unwrap()]),
        "referrers" => {
            assert!(
                registry
                    .referrers(&digest, None)
                    .await?
                    .descriptors
                    .is_empty()
            );
        }
        "look" => assert!(registry.has(&sample.layer.0).await?),
        "write" => {
            let tag = "1".parse().unwrap();
            registry.push_manifest(&sample.manifest, Some(&tag)).await?;
        }
        _ => unreachable!(),
    }
    Ok(())
}

/// A fault that happens `times` times, for each operation; returns nothing where it got through.
async fn meet(
    act: &Act,
    times: usize,
    operation: (&str, &'static str, &str),
) -> (Option<Error>, usize, Client) {
    let (name, method, path) = operation;
    let mock = MockRegistry::plain();
    let sample = Sample::new(&bytes(50_000));
    sample.put(&mock, "a/b");
    mock.rule(on(method, path).first(times), act.clone());
    let stalls = matches!(act, Act::Stall | Act::CutStall(_));
    let mut client = if stalls {
        Client::impatient()
    } else {
        Client::new()
    };
    let registry = client.open(&mock.repository("a/b"));
    let outcome = operate(name, &registry, &sample).await;
    let hit = mock
        .requests()
        .iter()
        .filter(|r| r.method == method && r.path.contains(path))
        .count();
    (outcome.err(), hit, client)
}

#[tokio::test]
async fn what_passes_is_tried_again_and_what_stays_is_an_error_after_five_attempts() {
    for (name, act) in [
        ("reset", Act::Reset),
        ("close", Act::Close),
        ("reset in the body", Act::CutReset(0)),
        ("408", Act::Respond(Response::new(408))),
        ("425", Act::Respond(Response::new(425))),
        ("500", Act::Respond(Response::error(500, "UNKNOWN", "x"))),
        (
            "502",
            Act::Respond(Response::new(502).body("<html>bad gateway</html>")),
        ),
        (
            "503",
            Act::Respond(Response::new(503).header("retry-after", "7")),
        ),
        ("504", Act::Respond(Response::new(504))),
    ] {
        for operation in OPERATIONS {
            // An answer to HEAD has no body in which something can go wrong.
            if name.contains("body") && operation.1 == "HEAD" {
                continue;
            }
            let (error, _, client) = meet(&act, 1, operation).await;
            assert!(error.is_none(), "{name} {operation:?}: {error:?}");
            // The HTTP library itself repeats what was certainly not answered on a connection that was kept.
            let retries = client.retries();
            assert!(retries.len() <= 1, "{name} {operation:?}: {retries:?}");
            if name == "503" {
                assert_eq!(client.waits(), [Duration::from_secs(7)]);
            }
            if name.contains("body") || operation.0 == "write" {
                continue;
            }
            let (error, hit, client) = meet(&act, usize::MAX, operation).await;
            let error = error.unwrap();
            assert_eq!(
                error.kind(),
                Kind::Unreachable,
                "{name} {operation:?}: {error}"
            );
            assert!(error.detail().retryable);
            assert_eq!(client.waits().len(), 4, "{name} {operation:?}");
            assert!(hit >= 5, "{name} {operation:?}: {hit}");
        }
    }
}

#[tokio::test]
async fn silence_ends_after_the_idle_time() {
    for operation in OPERATIONS {
        let (error, _, client) = meet(&Act::Stall, 1, operation).await;
        assert!(error.is_none(), "{operation:?}: {error:?}");
        // A slow machine may be silent, too.
        assert!(!client.retries().is_empty());
    }
    let (error, _, _) = meet(&Act::CutStall(10), 1, OPERATIONS[2]).await;
    assert!(error.is_none(), "{error:?}");
    let (error, hit, _) = meet(&Act::Stall, usize::MAX, OPERATIONS[3]).await;
    let error = error.unwrap();
    assert_eq!((error.kind(), hit), (Kind::Unreachable, 5), "{error}");
    assert!(error.to_string().contains("sends nothing"), "{error}");
}

#[tokio::test]
async fn throttling_is_waited_for_twice_and_only_for_a_minute() {
    let asked = |header: Option<&str>| {
        let answer = Response::error(429, "TOOMANYREQUESTS", "slow down");
        Act::Respond(match header {
            Some(value) => answer
                .header("retry-after", value)
                .header("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            None => answer,
        })
    };
    let seconds = |n| Some(Duration::from_secs(n));
    for (header, wait) in [
        (Some("2"), seconds(2)),
        (Some("60"), seconds(60)),
        (Some("Sun, 06 Nov 1994 08:49:39 GMT"), seconds(2)),
        (Some("Tue, 06 Nov 1990 08:49:39 GMT"), seconds(0)),
        (Some("-1"), None),
        (Some("abc"), None),
        (None, None),
    ] {
        for operation in OPERATIONS {
            let (error, hit, client) = meet(&asked(header), 1, operation).await;
            assert!(error.is_none(), "{header:?} {operation:?}: {error:?}");
            assert!(hit >= 2);
            let waits = client.waits();
            assert_eq!(waits.len(), 1);
            match wait {
                Some(wait) => assert_eq!(waits, [wait], "{header:?}"),
                None => assert!(waits[0] <= Duration::from_millis(500)),
            }
        }
    }
    let (error, hit, _) = meet(&asked(None), usize::MAX, OPERATIONS[1]).await;
    let error = error.unwrap();
    assert_eq!((error.kind(), hit), (Kind::Unreachable, 3));
    assert!(error.to_string().contains("rate limited"), "{error}");
    for long in ["61", "1000000000", "99999999999999999999"] {
        let (error, hit, client) = meet(&asked(Some(long)), usize::MAX, OPERATIONS[1]).await;
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), hit, client.waits().len()),
            (Kind::Unreachable, 1, 0)
        );
        assert!(error.to_string().contains("it asks to wait"), "{error}");
    }
    let text = Response::new(429)
        .header("content-type", "application/json")
        .body("slow down");
    let (error, _, _) = meet(&Act::Respond(text), usize::MAX, OPERATIONS[1]).await;
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("429 Too Many Requests: slow down")
    );
}

#[tokio::test]
async fn final_answers_are_not_asked_for_again() {
    for (response, kind) in [
        (Response::error(401, "UNAUTHORIZED", "x"), Kind::Denied),
        (Response::error(403, "DENIED", "x"), Kind::Denied),
        (Response::new(403), Kind::Denied),
        (Response::new(407), Kind::Unreachable),
        (Response::new(410), Kind::Protocol),
        (Response::new(505), Kind::Unreachable),
        (Response::new(511), Kind::Unreachable),
        (Response::new(304), Kind::Protocol),
        (Response::new(300), Kind::Protocol),
        (Response::new(302), Kind::Protocol),
        (Response::new(999), Kind::Protocol),
    ] {
        for operation in OPERATIONS {
            let status = response.status;
            // What the tag is already need not be allowed.
            if status == 403 && operation.0 == "write" {
                continue;
            }
            let (error, hit, client) =
                meet(&Act::Respond(response.clone()), usize::MAX, operation).await;
            let error = error.unwrap_or_else(|| panic!("{status} {operation:?}"));
            assert_eq!(error.kind(), kind, "{status} {operation:?}: {error}");
            assert_eq!(client.waits().len(), 0, "{status} {operation:?}");
            assert_eq!(hit, 1, "{status} {operation:?}");
        }
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for response in [
        Response::error(404, "MANIFEST_UNKNOWN", "x"),
        Response::error(404, "NAME_UNKNOWN", "x"),
        Response::new(404),
        Response::new(404)
            .header("content-type", "text/html")
            .body("<title>Oops</title>"),
    ] {
        for operation in &OPERATIONS[1..4] {
            let (error, hit, _) =
                meet(&Act::Respond(response.clone()), usize::MAX, *operation).await;
            let error = error.unwrap();
            assert_eq!(
                (error.kind(), hit),
                (Kind::NotFound, 1),
                "{operation:?}: {error}"
            );
        }
    }
    let unknown = |code| Act::Respond(Response::error(404, code, "x"));
    let (error, ..) = meet(&unknown("NAME_UNKNOWN"), 1, OPERATIONS[1]).await;
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("there is no repository")
    );
    let (error, ..) = meet(&unknown("MANIFEST_UNKNOWN"), 1, OPERATIONS[1]).await;
    assert!(
        error
            .unwrap()
            .to_string()
            .contains(": there is no such manifest")
    );
}

#[tokio::test]
async fn pages_for_people_and_other_nonsense_break_the_protocol() {
    let page = "<!DOCTYPE html><html><head><title>Hotel \u{1b}[31mWLAN</title></head></html>";
    let coded = Act::change(|r| r.set("content-encoding", "gzip"));
    let bodies = |body: &str| Act::Respond(Response::new(200).body(body));
    for (name, act) in [
        (
            "html",
            Act::Respond(
                Response::new(200)
                    .header("content-type", "text/html")
                    .body(page),
            ),
        ),
        ("coded", coded),
        ("no content", Act::Respond(Response::new(204))),
        ("empty", bodies("")),
        ("null", bodies("null")),
        ("list", bodies("[]")),
        ("text", bodies("\"x\"")),
        ("cut json", bodies("{\"a\":")),
        ("no http", Act::Raw(b"220 mail.example ESMTP\r\n".to_vec())),
        (
            "two lengths",
            Act::Raw(
                b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx".to_vec(),
            ),
        ),
        (
            "negative length",
            Act::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nxx".to_vec()),
        ),
        (
            "huge length",
            Act::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\nxx".to_vec()),
        ),
        (
            "large head",
            Act::change(|r| r.set("x-large", &"x".repeat(70_000))),
        ),
        (
            "many headers",
            Act::change(|r| (0..1000).for_each(|n| r.set(&format!("x-{n}"), "x"))),
        ),
    ] {
        for operation in [OPERATIONS[1], OPERATIONS[3], OPERATIONS[4]] {
            let (error, hit, client) = meet(&act, usize::MAX, operation).await;
            let error = error.unwrap_or_else(|| panic!("{name} {operation:?}"));
            let kind = match (name, operation.0) {
                ("cut json", "manifest") => Kind::Mismatch,
                _ => Kind::Protocol,
            };
            assert_eq!(error.kind(), kind, "{name} {operation:?}: {error}");
            // Bytes with another digest are fetched once more.
            let asked = 1 + usize::from(kind == Kind::Mismatch);
            assert_eq!(
                (hit, client.waits().len()),
                (asked, 0),
                "{name} {operation:?}: {error} {:?}",
                client.retries()
            );
            if name == "html" {
                assert!(error.to_string().contains("HTML instead of"), "{error}");
                assert!(
                    error.to_string().contains("Hotel \\u{1b}[31mWLAN"),
                    "{error}"
                );
            }
        }
    }
    for (name, act) in [
        (
            "html",
            Act::Respond(
                Response::new(200)
                    .header("content-type", "text/html")
                    .body(page),
            ),
        ),
        ("coded", Act::change(|r| r.set("content-encoding", "gzip"))),
    ] {
        let (error, ..) = meet(&act, usize::MAX, OPERATIONS[2]).await;
        assert_eq!(error.unwrap().kind(), Kind::Protocol, "{name}");
    }
}

#[tokio::test]
async fn answers_have_ceilings() {
    let endless = |r: &mut Response| r.body = vec![b' '; 5 << 20];
    for operation in [OPERATIONS[1], OPERATIONS[3], OPERATIONS[4]] {
        let (error, hit, _) = meet(&Act::change(endless), usize::MAX, operation).await;
        let error = error.unwrap();
        assert_eq!(
            (error.kind(), hit),
            (Kind::Limit, 1),
            "{operation:?}: {error}"
        );
    }
    // What a refusal says is cut, not refused.
    let long = Response::new(403).body("x".repeat(5 << 20));
    let (error, ..) = meet(&Act::Respond(long), usize::MAX, OPERATIONS[1]).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), Kind::Denied);
    assert!(error.to_string().len() < 1200);
}

#[tokio::test]
async fn redirects_are_followed_within_bounds() {
    let mock = MockRegistry::plain();
    let sample = Sample::new(b"layer");
    sample.put(&mock, "a");
    sample.put(&mock, "b");
    let manifest = format!("/v2/b/manifests/{}", sample.manifest.descriptor.digest);
    let self_link = format!("/v2/a/manifests/{}", sample.manifest.descriptor.digest);
    for (status, location, want) in [
        (301, manifest.as_str(), None),
        (302, &manifest, None),
        (303, &manifest, None),
        (307, &manifest, None),
        (
            308,
            &format!("{}{manifest}", mock.base(Origin::Registry)),
            None,
        ),
        (307, &self_link, Some(Kind::Protocol)),
        (307, "", Some(Kind::Protocol)),
        (307, "data:text/plain,{}", Some(Kind::Protocol)),
        (307, "file:///etc/passwd", Some(Kind::Protocol)),
        (307, "ftp://127.0.0.1/", Some(Kind::Protocol)),
        (307, "http://user:hunter2@127.0.0.1/", Some(Kind::Protocol)),
        (307, "http://127.0.0.1:99999/", Some(Kind::Protocol)),
        (307, mock.base(Origin::Stranger), Some(Kind::Denied)),
    ] {
        mock.clear_rules();
        mock.mark();
        let response = Response {
            status,
            ..Response::redirect(location)
        };
        mock.rule(on("GET", "/v2/a/manifests/"), Act::Respond(response));
        let pulled = sample
            .pull(&Client::new().open(&mock.repository("a")))
            .await;
        let error = pulled.err();
        assert_eq!(
            error.as_ref().map(Error::kind),
            want,
            "{status} {location}: {error:?}"
        );
        assert!(!format!("{error:?}").contains("hunter2"));
        assert!(mock.log().len() <= 12, "{:?}", mock.log());
    }
    // What is sent is never sent elsewhere.
    for status in [301, 302, 307, 308] {
        mock.clear_rules();
        mock.mark();
        let to = format!("{}/v2/a/manifests/1", mock.base(Origin::Stranger));
        let response = Response {
            status,
            ..Response::redirect(&to)
        };
        mock.rule(
            on("PUT", "/v2/a/manifests/").at(Origin::Registry),
            Act::Respond(response),
        );
        let to = Client::new().open(&mock.repository("a"));
        let error = to.push_manifest(&sample.manifest, None).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol, "{error}");
        assert!(mock.requests().iter().all(|r| r.origin == Origin::Registry));
    }
    let stays = format!("/v2/b/manifests/{}", sample.manifest.descriptor.digest);
    mock.clear_rules();
    mock.rule(
        on("PUT", "/v2/a/manifests/"),
        Act::Respond(Response::redirect(&stays)),
    );
    let to = Client::new().open(&mock.repository("a"));
    to.push_manifest(&sample.manifest, None).await.unwrap();
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_unreachable() {
    let host = MockRegistry::plain().host().to_owned();
    let mut client = Client::new();
    let error = client.open(&format!("{host}/a")).tags().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable);
    assert!(
        error.to_string().contains("the connection is refused"),
        "{error}"
    );
    assert!(error.to_string().contains(&host), "{error}");
    assert_eq!(client.waits().len(), 4);
    let mut client = Client::new();
    let error = client
        .open("no-such-host.invalid/a")
        .tags()
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Unreachable, "{error}");
    assert!(
        error.to_string().contains("no-such-host.invalid"),
        "{error}"
    );
}
