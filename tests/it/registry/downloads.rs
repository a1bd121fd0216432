//! Reading blobs and manifests: interruptions, storage elsewhere, and servers that lie about bytes.

use manifest_bundle::digest::Digest;
use manifest_bundle::error::Kind;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::store::{self, Name, Store};

use super::{Client, Sample, bytes};
use crate::support::{Act, MockRegistry, Modes, Origin, Response, on};

const SIZE: usize = 100_000;

/// A mock that has a sample, and the sample.
fn stocked(modes: Modes) -> (MockRegistry, Sample) {
    let mock = MockRegistry::start(modes);
    let sample = Sample::new(&bytes(SIZE));
    sample.put(&mock, "a");
    (mock, sample)
}

/// Fetches the layer; returns the kind of the failure.
async fn layer(mock: &MockRegistry, sample: &Sample, client: &mut Client) -> Option<Kind> {
    let from = client.open(&mock.repository("a"));
    let directory = tempfile::tempdir().unwrap();
    let (descriptor, content) = &sample.layer;
    let fetched = store::fetch(&from, descriptor, directory.path(), &Limits::default()).await;
    match fetched {
        Ok(found) => {
            assert!(found.to_bytes().unwrap() == content.to_bytes().unwrap());
            None
        }
        Err(error) => Some(error.kind()),
    }
}

#[tokio::test]
async fn an_interrupted_download_goes_on_where_it_was() {
    for k in [1, SIZE / 2, SIZE - 1] {
        for act in [Act::Cut(k), Act::CutReset(k)] {
            for (no_ranges, redirect_blobs) in [(false, false), (true, false), (false, true)] {
                let (mock, sample) = stocked(Modes {
                    no_ranges,
                    redirect_blobs,
                    ..Modes::default()
                });
                let path = if redirect_blobs { "/store/" } else { "/blobs/" };
                mock.rule(on("GET", path).nth(1), act.clone());
                let mut client = Client::new();
                assert_eq!(layer(&mock, &sample, &mut client).await, None);
                assert_eq!(client.retries().len(), 1);
                let last = mock.requests().pop().unwrap();
                let range = last.header("range").unwrap_or_default().to_owned();
                // A reset may throw away what was sent before it.
                let from: usize = range
                    .strip_prefix("bytes=")
                    .map_or(0, |r| r.trim_end_matches('-').parse().unwrap());
                assert!(from <= k, "{range}");
                if matches!(act, Act::Cut(_)) {
                    assert_eq!(from, k);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_download_that_never_gets_further_is_given_up() {
    let (mock, sample) = stocked(Modes::default());
    mock.rule(on("GET", "/blobs/"), Act::Cut(10));
    let mut client = Client::new();
    assert_eq!(
        layer(&mock, &sample, &mut client).await,
        Some(Kind::Unreachable)
    );
    assert_eq!(mock.log().len(), 5);
    assert_eq!(client.waits().len(), 4);
}

#[tokio::test]
async fn a_download_that_gets_on_is_not_given_up() {
    let mock = MockRegistry::plain();
    let sample = Sample::new(&bytes(12 << 20));
    sample.put(&mock, "a");
    mock.rule(on("GET", "/blobs/").first(8), Act::Cut((1 << 20) + 1));
    let mut client = Client::new();
    assert_eq!(layer(&mock, &sample, &mut client).await, None);
    assert_eq!(client.retries().len(), 8);
}

#[tokio::test]
async fn bytes_that_are_not_the_ones_are_seen() {
    let short = |r: &mut Response| r.body.truncate(SIZE - 1);
    let long = |r: &mut Response| r.body.push(0);
    let flipped = |r: &mut Response| r.body[SIZE / 2] ^= 1;
    let chunked_long = |r: &mut Response| {
        r.body.resize(SIZE + 70_000, 0);
        r.set("transfer-encoding", "chunked");
    };
    let chunked_short = |r: &mut Response| {
        r.body.truncate(7);
        r.set("transfer-encoding", "chunked");
    };
    for (name, act) in [
        ("short", Act::change(short)),
        ("long", Act::change(long)),
        ("flipped", Act::change(flipped)),
        ("chunked and long", Act::change(chunked_long)),
        ("chunked and short", Act::change(chunked_short)),
        ("empty", Act::Respond(Response::new(200))),
        ("nothing", Act::Respond(Response::new(200).body("x"))),
    ] {
        let (mock, sample) = stocked(Modes::default());
        mock.rule(on("GET", "/blobs/"), act);
        let mut client = Client::new();
        assert_eq!(
            layer(&mock, &sample, &mut client).await,
            Some(Kind::Mismatch),
            "{name}"
        );
        // What is as long as it should be may be right the next time; what is not never is.
        let transfers = if name == "flipped" { 2 } else { 1 };
        assert_eq!(mock.log().len(), transfers, "{name}");
    }
    let (mock, sample) = stocked(Modes::default());
    mock.rule(
        on("GET", "/blobs/"),
        Act::change(|r| r.set("transfer-encoding", "chunked")),
    );
    assert_eq!(layer(&mock, &sample, &mut Client::new()).await, None);
}

#[tokio::test]
async fn a_transfer_that_changed_bytes_is_repeated_once_from_the_first_byte() {
    let flipped = || {
        Act::change(|r: &mut Response| {
            let middle = r.body.len() / 2;
            r.body[middle] ^= 1;
        })
    };
    for path in ["/blobs/", "/manifests/"] {
        for (times, kind) in [(1, None), (usize::MAX, Some(Kind::Mismatch))] {
            let (mock, sample) = stocked(Modes::default());
            mock.rule(on("GET", path).first(times), flipped());
            let mut client = Client::new();
            let pulled = sample.pull(&client.open(&mock.repository("a"))).await;
            let hint = |error: manifest_bundle::Error| error.detail().hint.clone();
            assert_eq!(
                pulled.as_ref().err().map(manifest_bundle::Error::kind),
                kind,
                "{path}"
            );
            assert_eq!(client.retries().len(), 1, "{path}");
            assert!(client.waits().is_empty());
            let log = mock.log();
            let transfers = log.iter().filter(|line| line.contains(path)).count();
            // The other blob of a good pull is one more.
            let others = usize::from(kind.is_none() && path == "/blobs/");
            assert_eq!(transfers, 2 + others, "{log:?}");
            assert!(mock.requests().iter().all(|r| r.header("range").is_none()));
            if let Err(error) = pulled {
                assert!(hint(error).unwrap().contains("twice"));
            }
        }
    }
    // By a tag, the registry's own word for the digest is what the bytes are compared with.
    let (mock, sample) = stocked(Modes::default());
    mock.rule(on("GET", "/manifests/").nth(1), flipped());
    let from = Client::new().open(&mock.repository("a"));
    let name = Name::Tag("1".parse().unwrap());
    let fetched = store::fetch_manifest(&from, &name, &Limits::default()).await;
    assert_eq!(fetched.unwrap().descriptor, sample.manifest.descriptor);
    assert_eq!(mock.log().len(), 2);
}

#[tokio::test]
async fn a_part_that_was_not_asked_for_is_refused() {
    let part = |range: &str| {
        let range = range.to_owned();
        Act::change(move |r| {
            r.status = 206;
            r.set("content-range", &range);
        })
    };
    for (range, kind) in [
        ("bytes 0-99999/100000", Kind::Protocol),
        ("bytes 11-99999/100000", Kind::Protocol),
        ("bytes 10-99999/100001", Kind::Mismatch),
        ("bytes 10-9/100000", Kind::Protocol),
        ("nonsense", Kind::Protocol),
    ] {
        let (mock, sample) = stocked(Modes::default());
        mock.rule(on("GET", "/blobs/").nth(1), Act::Cut(10));
        mock.rule(on("GET", "/blobs/").nth(2), part(range));
        assert_eq!(
            layer(&mock, &sample, &mut Client::new()).await,
            Some(kind),
            "{range}"
        );
    }
    let (mock, sample) = stocked(Modes::default());
    mock.rule(on("GET", "/blobs/").nth(1), Act::Cut(10));
    mock.rule(
        on("GET", "/blobs/").nth(2),
        Act::Respond(Response::new(416)),
    );
    assert_eq!(
        layer(&mock, &sample, &mut Client::new()).await,
        Some(Kind::Mismatch)
    );
}

#[tokio::test]
async fn storage_elsewhere_gets_no_credentials() {
    for auth in [crate::support::Auth::Basic, crate::support::Auth::Bearer] {
        let (mock, sample) = stocked(Modes {
            auth,
            redirect_blobs: true,
            ..Modes::default()
        });
        sample
            .pull(&Client::alice().open(&mock.repository("a")))
            .await
            .unwrap();
        assert!(mock.requests().iter().any(|r| r.origin == Origin::Store));
        mock.assert_secret_stays(crate::support::PASSWORD, &[Origin::Registry, Origin::Token]);
        for token in mock.tokens() {
            mock.assert_secret_stays(&token, &[Origin::Registry]);
        }
    }
}

#[tokio::test]
async fn credentials_do_not_come_back_after_a_way_through_another_origin() {
    let (mock, sample) = stocked(Modes {
        auth: crate::support::Auth::Basic,
        ..Modes::default()
    });
    let digest = sample.layer.0.digest;
    let there = format!("{}/x", mock.base(Origin::Stranger));
    let back = format!("{}/v2/a/blobs/{digest}?again", mock.base(Origin::Registry));
    mock.rule(
        on("GET", "/blobs/*?again"),
        Act::Respond(
            Response::error(401, "UNAUTHORIZED", "x").header("www-authenticate", "Basic realm=x"),
        ),
    );
    mock.rule(
        on("GET", &format!("/blobs/{digest}")).nth(2),
        Act::Respond(Response::redirect(&there)),
    );
    mock.rule(
        on("GET", &format!("/blobs/{digest}")).nth(4),
        Act::Respond(Response::redirect(&there)),
    );
    mock.rule(
        on("GET", "/x").at(Origin::Stranger),
        Act::Respond(Response::redirect(&back)),
    );
    let kind = layer(&mock, &sample, &mut Client::alice()).await;
    assert_eq!(kind, Some(Kind::Denied), "{:?}", mock.log());
    for request in mock.requests() {
        let is_first = request.origin == Origin::Registry && !request.path.contains("again");
        assert!(
            is_first || request.header("authorization").is_none(),
            "{request:?}"
        );
    }
}

#[tokio::test]
async fn leave_to_read_from_storage_is_asked_for_again_once() {
    let expired = || {
        let xml = "<?xml version=\"1.0\"?><Error><Code>ExpiredToken</Code></Error>";
        Response::new(403)
            .header("content-type", "application/xml")
            .body(xml)
    };
    let modes = || Modes {
        redirect_blobs: true,
        ..Modes::default()
    };
    let (mock, sample) = stocked(modes());
    mock.rule(on("GET", "/store/").nth(1), Act::Cut(1000));
    mock.rule(on("GET", "/store/").nth(2), Act::Respond(expired()));
    assert_eq!(layer(&mock, &sample, &mut Client::new()).await, None);
    assert_eq!(
        mock.requests().pop().unwrap().header("range"),
        Some("bytes=1000-")
    );

    for status in [400, 401, 403] {
        let (mock, sample) = stocked(modes());
        let refused = Response {
            status,
            ..expired()
        };
        mock.rule(on("GET", "/store/"), Act::Respond(refused));
        assert_eq!(
            layer(&mock, &sample, &mut Client::new()).await,
            Some(Kind::Denied)
        );
        assert_eq!(mock.log().len(), 4, "{:?}", mock.log());
    }
    // What a stranger asks for is not answered.
    let (mock, sample) = stocked(Modes::default());
    let to = format!("{}/x", mock.base(Origin::Stranger));
    mock.rule(on("GET", "/blobs/"), Act::Respond(Response::redirect(&to)));
    assert_eq!(
        layer(&mock, &sample, &mut Client::alice()).await,
        Some(Kind::Denied)
    );
    mock.assert_secret_stays(crate::support::PASSWORD, &[]);
}

#[tokio::test]
async fn a_blob_that_is_listed_but_missing_is_not_found() {
    let (mock, sample) = stocked(Modes::default());
    mock.rule(
        on("GET", "/blobs/"),
        Act::Respond(Response::error(404, "BLOB_UNKNOWN", "x")),
    );
    assert_eq!(
        layer(&mock, &sample, &mut Client::new()).await,
        Some(Kind::NotFound)
    );
}

#[tokio::test]
async fn registries_without_head_or_digest_header_are_understood() {
    for (no_head, no_digest_header) in [(true, false), (false, true), (true, true)] {
        let (mock, sample) = stocked(Modes {
            no_head,
            no_digest_header,
            ..Modes::default()
        });
        let from = Client::new().open(&mock.repository("a"));
        let digest = sample.manifest.descriptor.digest;
        assert_eq!(
            from.tagged(&"1".parse().unwrap()).await.unwrap(),
            Some(digest)
        );
        assert_eq!(from.tagged(&"2".parse().unwrap()).await.unwrap(), None);
        assert!(from.has(&sample.manifest.descriptor).await.unwrap());
        assert!(from.has(&sample.layer.0).await.unwrap());
        let other = Sample::new(b"other");
        assert!(!from.has(&other.manifest.descriptor).await.unwrap());
        assert!(!from.has(&other.layer.0).await.unwrap());
        sample.pull(&from).await.unwrap();
        other.push(&from, "3").await.unwrap();
        other.pull(&from).await.unwrap();
    }
}

#[tokio::test]
async fn the_digest_of_a_manifest_is_computed_and_not_believed() {
    let other = Digest::of(b"other").to_string();
    let long = format!("sha512:{}", "0".repeat(128));
    let sample = Sample::new(b"x");
    let right = sample.manifest.descriptor.digest.to_string();
    for (name, value, good) in [
        ("wrong", other.as_str(), false),
        ("right", &right, true),
        ("of another algorithm", &long, true),
        (
            "of an unknown algorithm",
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            true,
        ),
        ("empty", "", true),
        ("nonsense", "nonsense", true),
    ] {
        let mock = MockRegistry::plain();
        sample.put(&mock, "a");
        let value = value.to_owned();
        mock.rule(
            on("GET", "/manifests/"),
            Act::change(move |r| r.set("docker-content-digest", &value)),
        );
        let from = Client::new().open(&mock.repository("a"));
        let limits = Limits::default();
        for wanted in [
            Name::Digest(sample.manifest.descriptor.digest),
            Name::Tag("1".parse().unwrap()),
        ] {
            let fetched = store::fetch_manifest(&from, &wanted, &limits).await;
            let kind = fetched.as_ref().err().map(manifest_bundle::Error::kind);
            assert_eq!(
                kind,
                (!good).then_some(Kind::Mismatch),
                "{name}: {fetched:?}"
            );
        }
    }
    let mock = MockRegistry::plain();
    sample.put(&mock, "a");
    let evil = Sample::new(b"evil").manifest.bytes;
    mock.rule(
        on("GET", "/manifests/"),
        Act::change(move |r| {
            r.body = evil.to_vec();
            r.remove("docker-content-digest");
        }),
    );
    let error = sample
        .pull(&Client::new().open(&mock.repository("a")))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Mismatch);
}

#[tokio::test]
async fn the_media_type_is_that_of_the_answer_or_of_the_manifest() {
    let sample = Sample::new(b"x");
    for (media_type, want) in [
        ("application/vnd.oci.image.manifest.v1+json", None),
        (
            "application/vnd.oci.image.manifest.v1+json; charset=utf-8",
            None,
        ),
        ("Application/Vnd.OCI.Image.Manifest.V1+JSON", None),
        ("application/json", None),
        ("text/plain", None),
        ("application/octet-stream", None),
        ("", None),
        (
            "application/vnd.oci.image.index.v1+json",
            Some(Kind::Unsafe),
        ),
        ("text/html", Some(Kind::Protocol)),
    ] {
        let mock = MockRegistry::plain();
        sample.put(&mock, "a");
        mock.rule(
            on("GET", "/manifests/"),
            Act::change(move |r| {
                r.remove("content-type");
                if !media_type.is_empty() {
                    r.set("content-type", media_type);
                }
            }),
        );
        let pulled = sample
            .pull(&Client::new().open(&mock.repository("a")))
            .await;
        assert_eq!(pulled.err().map(|e| e.kind()), want, "{media_type}");
    }
}

#[tokio::test]
async fn a_blob_over_the_ceiling_is_not_asked_for() {
    let (mock, sample) = stocked(Modes::default());
    let from = Client::new().open(&mock.repository("a"));
    let limits = Limits::default().with(Ceiling::Blob, SIZE as u64 - 1);
    let fetched = store::fetch(
        &from,
        &sample.layer.0,
        std::path::Path::new("/nowhere"),
        &limits,
    );
    assert_eq!(fetched.await.unwrap_err().kind(), Kind::Limit);
    assert!(mock.log().is_empty());
}

#[tokio::test]
async fn a_download_that_is_cut_anywhere_gives_the_same_bytes() {
    const SMALL: usize = 300;
    let mock = MockRegistry::start(Modes::default());
    let sample = Sample::new(&bytes(SMALL));
    sample.put(&mock, "a");
    let mut client = Client::new();
    for k in 0..=SMALL {
        // The k-th fetch has its first answer cut after k bytes; the last is whole.
        let earlier = mock.requests().len();
        mock.rule(on("GET", "/blobs/").first(1), Act::Cut(k));
        assert_eq!(
            layer(&mock, &sample, &mut client).await,
            None,
            "cut after {k}"
        );
        let asked = mock.requests().len() - earlier;
        assert_eq!(asked, if k == SMALL { 1 } else { 2 }, "cut after {k}");
    }
}
