//! Writing blobs and manifests: the ways in which registries take them, refuse them, and forget.

use manifest_bundle::error::Kind;
use manifest_bundle::limits::Limits;
use manifest_bundle::oci::{Document, ManifestBlob};
use manifest_bundle::store::Store;

use super::{Client, Sample, bytes};
use crate::support::{Act, Auth, MockRegistry, Modes, Origin, PASSWORD, Response, on};

/// Pushes a sample of this size with these habits, and pulls it; returns the log of the push.
pub(super) async fn round(modes: Modes, size: usize) -> Vec<String> {
    let mock = MockRegistry::start(modes);
    let sample = Sample::new(&bytes(size));
    let to = Client::alice().open(&mock.repository("a/b")).to_write();
    sample.push(&to, "1.0.0").await.unwrap();
    let log = mock.log();
    sample.pull(&to).await.unwrap();
    log
}

#[tokio::test]
async fn uploads_go_where_the_registry_says() {
    for (relative_location, location_state, upload_elsewhere) in [
        (true, false, false),
        (false, true, false),
        (true, true, false),
        (false, false, true),
        (false, true, true),
    ] {
        for chunk_limit in [None, Some(4 << 20)] {
            let modes = Modes {
                relative_location,
                location_state,
                upload_elsewhere,
                chunk_limit,
                ..Modes::default()
            };
            round(modes, 5 << 20).await;
        }
    }
}

#[tokio::test]
async fn an_upload_elsewhere_gets_no_credentials() {
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        upload_elsewhere: true,
        ..Modes::default()
    });
    let sample = Sample::new(&bytes(100_000));
    let to = Client::alice().open(&mock.repository("a")).to_write();
    sample.push(&to, "1").await.unwrap();
    assert!(mock.requests().iter().any(|r| r.origin == Origin::Store));
    mock.assert_secret_stays(PASSWORD, &[Origin::Token]);
    for token in mock.tokens() {
        mock.assert_secret_stays(&token, &[Origin::Registry]);
    }
}

#[tokio::test]
async fn an_upload_begins_again_when_something_passes() {
    let unknown = || Response::error(404, "BLOB_UPLOAD_UNKNOWN", "x");
    for (name, method, act) in [
        ("forgotten", "PUT", Act::Respond(unknown())),
        ("reset", "PUT", Act::ResetUpload(1000)),
        ("answer lost", "PUT", Act::LoseAnswer),
        ("closed", "PUT", Act::Close),
        ("502", "PUT", Act::Respond(Response::new(502))),
        ("throttled", "PUT", Act::Respond(Response::throttled())),
        ("503", "POST", Act::Respond(Response::new(503))),
        ("reset", "POST", Act::Reset),
        ("answer lost", "POST", Act::LoseAnswer),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on(method, "/uploads/").nth(1), act);
        let sample = Sample::new(&bytes(300_000));
        let mut client = Client::new();
        let to = client.open(&mock.repository("a"));
        sample
            .push(&to, "1")
            .await
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            client.retries().len() <= 1,
            "{name}: {:?}",
            client.retries()
        );
        sample.pull(&to).await.unwrap();
        client.settle().await;
        // Of one that was begun in an answer that was lost, nobody knows the address.
        let left = usize::from(name == "answer lost" && method == "POST");
        assert_eq!(mock.open_uploads(), left, "{name}: {:?}", mock.log());
    }
    for (method, act) in [
        ("PUT", Act::ResetUpload(1000)),
        ("PUT", Act::Respond(unknown())),
        ("POST", Act::Reset),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on(method, "/uploads/"), act);
        let sample = Sample::new(&bytes(300_000));
        let mut client = Client::new();
        // Alone: another blob may be dropped before it hears where its upload is.
        let to = client.open(&mock.repository("a"));
        let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
        let error = pushed.unwrap_err();
        assert!(
            matches!(error.kind(), Kind::Unreachable | Kind::NotFound),
            "{error}"
        );
        assert!(mock.tags("a").is_empty());
        client.settle().await;
        assert_eq!(mock.open_uploads(), 0, "{:?}", mock.log());
    }
}

#[tokio::test]
async fn no_upload_is_left_behind_by_those_that_follow_it() {
    let sample = Sample::new(&bytes(9 << 20));
    let (layer, content) = (&sample.layer.0, &sample.layer.1);
    let broken = || Act::ResetUpload(1000);
    let forgets = || Act::Respond(Response::error(500, "UNKNOWN", "x"));
    for (name, location_state, rules, begun) in [
        // Too large for one request: in pieces, with another upload.
        (
            "413",
            true,
            vec![(
                on("PUT", "/uploads/").nth(1),
                Act::Respond(Response::new(413)),
            )],
            2,
        ),
        // Twice broken: in pieces, with a third upload.
        (
            "broken",
            true,
            vec![(on("PUT", "/uploads/").first(2), broken())],
            3,
        ),
        // Somebody else sent the blob.
        (
            "there",
            true,
            vec![
                (on("PUT", "/uploads/"), broken()),
                (on("HEAD", "/blobs/"), Act::Respond(Response::new(200))),
            ],
            1,
        ),
        // The upload goes on at another address, and then nothing goes any more.
        (
            "moved",
            true,
            vec![
                (on("PUT", "/uploads/").first(2), broken()),
                (on("PATCH", "/uploads/").nth(1), broken()),
                (on("PATCH", "/uploads/").from(2), forgets()),
            ],
            3,
        ),
    ] {
        let mock = MockRegistry::start(Modes {
            location_state,
            ..Modes::default()
        });
        for (when, act) in rules {
            mock.rule(when, act);
        }
        let mut client = Client::new();
        let to = client.open(&mock.repository("a"));
        let pushed = to.push_blob(layer, content).await;
        assert_eq!(pushed.is_err(), name == "moved", "{name}: {pushed:?}");
        client.settle().await;
        let log = mock.log();
        let posts = log.iter().filter(|line| line.starts_with("POST")).count();
        assert_eq!((posts, mock.open_uploads()), (begun, 0), "{name}: {log:#?}");
    }
}

#[tokio::test]
async fn an_upload_that_came_of_a_refused_mount_is_ended_if_nobody_uses_it() {
    let mock = MockRegistry::start(Modes {
        no_mount: true,
        ..Modes::default()
    });
    let sample = Sample::new(&bytes(1000));
    sample.put(&mock, "from");
    let mut client = Client::new();
    let from = mock.repository("from").parse().unwrap();
    let to = client.open(&mock.repository("to"));
    // Once for each time that it is asked for, and once where nothing is sent.
    for _ in 0..2 {
        assert!(!to.mount(&sample.layer.0, &from).await.unwrap());
    }
    client.settle().await;
    assert_eq!(mock.open_uploads(), 1, "{:?}", mock.log());
    drop(to);
    client.settle().await;
    assert_eq!(mock.open_uploads(), 0, "{:?}", mock.log());
}

#[tokio::test]
async fn answers_to_the_begin_of_an_upload() {
    let sample = Sample::new(&bytes(1000));
    let stranger = "http://localhost:1/u";
    for (name, act, want) in [
        ("200 with a location", Act::change(|r| r.status = 200), None),
        (
            "no location",
            Act::change(|r| r.remove("location")),
            Some(Kind::Protocol),
        ),
        (
            "empty location",
            Act::change(|r| r.set("location", "")),
            Some(Kind::Protocol),
        ),
        (
            "bad location",
            Act::change(|r| r.set("location", "https://[::1")),
            Some(Kind::Protocol),
        ),
        (
            "credentials",
            Act::change(|r| r.set("location", "http://u:p@127.0.0.1/x")),
            Some(Kind::Protocol),
        ),
        (
            "plain http elsewhere",
            Act::change(|r| r.set("location", "http://store.example/u")),
            Some(Kind::Protocol),
        ),
        (
            "loopback elsewhere",
            Act::change(move |r| r.set("location", stranger)),
            Some(Kind::Unreachable),
        ),
        (
            "fragment",
            Act::change(|r| {
                let location = r
                    .headers
                    .iter()
                    .find(|(n, _)| n == "location")
                    .unwrap()
                    .1
                    .clone();
                r.set("location", &format!("{location}#fragment"));
            }),
            None,
        ),
        ("201 but not there", Act::change(|r| r.status = 201), None),
        (
            "refused",
            Act::Respond(Response::error(403, "DENIED", "x")),
            Some(Kind::Denied),
        ),
        (
            "read only",
            Act::Respond(Response::error(405, "UNSUPPORTED", "read only")),
            Some(Kind::Protocol),
        ),
        (
            "full",
            Act::Respond(Response::new(507)),
            Some(Kind::Unreachable),
        ),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on("POST", "/uploads/"), act);
        let to = Client::new().open(&mock.repository("a"));
        let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
        let kind = pushed.as_ref().err().map(manifest_bundle::Error::kind);
        assert_eq!(kind, want, "{name}: {pushed:?}");
    }
    // 201 to a POST means that the blob is there, if it is.
    let mock = MockRegistry::plain();
    mock.put_blob("a", &sample.layer.1.to_bytes().unwrap());
    mock.rule(on("POST", "/uploads/"), Act::change(|r| r.status = 201));
    let to = Client::new().open(&mock.repository("a"));
    to.push_blob(&sample.layer.0, &sample.layer.1)
        .await
        .unwrap();
    assert_eq!(mock.log().len(), 2);
}

#[tokio::test]
async fn answers_to_the_end_of_an_upload() {
    let sample = Sample::new(&bytes(1000));
    let other = manifest_bundle::digest::Digest::of(b"other").to_string();
    for (name, act, want) in [
        ("202", Act::change(|r| r.status = 202), None),
        ("204", Act::change(|r| r.status = 204), None),
        (
            "200 without effect",
            Act::Respond(Response::new(200)),
            Some(Kind::Protocol),
        ),
        (
            "another digest",
            Act::change(move |r| r.set("docker-content-digest", &other)),
            Some(Kind::Mismatch),
        ),
        (
            "digest invalid",
            Act::Respond(Response::error(400, "DIGEST_INVALID", "x")),
            Some(Kind::Mismatch),
        ),
        (
            "denied",
            Act::Respond(Response::error(403, "DENIED", "x")),
            Some(Kind::Denied),
        ),
        (
            "too large",
            Act::Respond(Response::new(413)),
            Some(Kind::Protocol),
        ),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on("PUT", "/uploads/"), act);
        let to = Client::new().open(&mock.repository("a"));
        let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
        let kind = pushed.as_ref().err().map(manifest_bundle::Error::kind);
        assert_eq!(kind, want, "{name}: {pushed:?}");
    }
}

#[tokio::test]
async fn a_failed_upload_is_not_left_behind() {
    let mock = MockRegistry::plain();
    mock.rule(
        on("PUT", "/uploads/"),
        Act::Respond(Response::error(403, "DENIED", "quota")),
    );
    let sample = Sample::new(&bytes(1000));
    let mut client = Client::new();
    let to = client.open(&mock.repository("a"));
    to.push_blob(&sample.layer.0, &sample.layer.1)
        .await
        .unwrap_err();
    let last = mock.log().pop().unwrap();
    assert!(last.starts_with("DELETE /v2/a/blobs/uploads/"), "{last}");

    // Nor is one that nobody waits for any more.
    let mock = MockRegistry::plain();
    mock.rule(on("PUT", "/uploads/"), Act::Stall);
    let mut client = Client::new();
    let to = client.open(&mock.repository("a"));
    let pushing = tokio::spawn(async move { to.push_blob(&sample.layer.0, &sample.layer.1).await });
    let waiting = tokio::task::spawn_blocking(move || {
        mock.wait_for("PUT", "/uploads/");
        mock
    });
    let mock = waiting.await.unwrap();
    pushing.abort();
    let _ = pushing.await;
    client.settle().await;
    let log = mock.log();
    assert!(
        log.iter()
            .any(|line| line.starts_with("DELETE /v2/a/blobs/uploads/")),
        "{log:?}"
    );
}

#[tokio::test]
async fn a_blob_of_another_repository_is_mounted() {
    for no_mount in [false, true] {
        let mock = MockRegistry::start(Modes {
            no_mount,
            auth: Auth::Bearer,
            ..Modes::default()
        });
        let sample = Sample::new(&bytes(1000));
        sample.put(&mock, "from/here");
        let mut client = Client::alice();
        let to = client.open(&mock.repository("to/there")).to_write();
        let from = mock.repository("from/here").parse().unwrap();
        let mounted = to.mount(&sample.layer.0, &from).await.unwrap();
        assert_eq!(mounted, !no_mount);
        if no_mount {
            // The upload that the registry began instead is used.
            to.push_blob(&sample.layer.0, &sample.layer.1)
                .await
                .unwrap();
            let log = mock.log();
            let begun = |l: &&String| l.starts_with("POST") && l.ends_with("202");
            assert_eq!(log.iter().filter(begun).count(), 1, "{log:?}");
        }
        assert!(to.has(&sample.layer.0).await.unwrap());
        let elsewhere = "other.example/x".parse().unwrap();
        assert!(!to.mount(&sample.config.0, &elsewhere).await.unwrap());
    }
    for refused in [
        Response::error(404, "NAME_UNKNOWN", "x"),
        Response::error(403, "DENIED", "x"),
        Response::error(401, "UNAUTHORIZED", "x"),
    ] {
        let mock = MockRegistry::plain();
        let sample = Sample::new(&bytes(1000));
        sample.put(&mock, "from");
        mock.rule(on("POST", "mount="), Act::Respond(refused));
        let to = Client::new().open(&mock.repository("to"));
        let from = mock.repository("from").parse().unwrap();
        assert!(!to.mount(&sample.layer.0, &from).await.unwrap());
        to.push_blob(&sample.layer.0, &sample.layer.1)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn answers_to_a_manifest() {
    let other = manifest_bundle::digest::Digest::of(b"other").to_string();
    for (name, act, want) in [
        ("no location", Act::change(|r| r.remove("location")), None),
        (
            "no digest",
            Act::change(|r| r.remove("docker-content-digest")),
            None,
        ),
        ("200", Act::change(|r| r.status = 200), None),
        (
            "202 without effect",
            Act::Respond(Response::new(202)),
            Some(Kind::Protocol),
        ),
        (
            "another digest",
            Act::change(move |r| r.set("docker-content-digest", &other)),
            Some(Kind::Mismatch),
        ),
        (
            "invalid",
            Act::Respond(Response::error(400, "MANIFEST_INVALID", "x")),
            Some(Kind::Protocol),
        ),
        (
            "blob unknown",
            Act::Respond(Response::error(404, "MANIFEST_BLOB_UNKNOWN", "x")),
            Some(Kind::NotFound),
        ),
        (
            "denied",
            Act::Respond(Response::error(403, "DENIED", "x")),
            Some(Kind::Denied),
        ),
        (
            "conflict",
            Act::Respond(Response::error(409, "X", "x")),
            Some(Kind::Protocol),
        ),
    ] {
        let mock = MockRegistry::plain();
        mock.rule(on("PUT", "/manifests/"), act);
        let sample = Sample::new(&bytes(1000));
        let pushed = sample
            .push(&Client::new().open(&mock.repository("a")), "1")
            .await;
        let kind = pushed.as_ref().err().map(manifest_bundle::Error::kind);
        assert_eq!(kind, want, "{name}: {pushed:?}");
    }
}

#[tokio::test]
async fn an_immutable_tag_is_a_conflict_with_both_digests_unless_it_is_the_same() {
    let sample = Sample::new(b"one");
    let other = Sample::new(b"two");
    for status in [400, 403, 405, 409, 412] {
        let mock = MockRegistry::plain();
        other.put(&mock, "a");
        let message = "the tag is immutable";
        mock.rule(
            on("PUT", "/manifests/1"),
            Act::Respond(Response::error(status, "TAG_INVALID", message)),
        );
        let to = Client::new().open(&mock.repository("a"));
        let error = sample.push(&to, "1").await.unwrap_err();
        assert_eq!(error.kind(), Kind::Conflict, "{status}: {error}");
        for digest in [
            sample.manifest.descriptor.digest,
            other.manifest.descriptor.digest,
        ] {
            assert!(error.to_string().contains(&digest.to_string()), "{error}");
        }
        let tag = "1".parse().unwrap();
        to.push_manifest(&other.manifest, Some(&tag)).await.unwrap();
    }
    // Where the tag does not exist, the refusal is about something else.
    let mock = MockRegistry::plain();
    mock.rule(
        on("PUT", "/manifests/"),
        Act::Respond(Response::error(403, "DENIED", "x")),
    );
    let error = sample
        .push(&Client::new().open(&mock.repository("a")), "1")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    // And the mock that really has immutable tags.
    let mock = MockRegistry::start(Modes {
        immutable_tags: true,
        ..Modes::default()
    });
    let to = Client::new().open(&mock.repository("a"));
    sample.push(&to, "1").await.unwrap();
    let tag = "1".parse().unwrap();
    to.push_manifest(&sample.manifest, Some(&tag))
        .await
        .unwrap();
    assert_eq!(
        other.push(&to, "1").await.unwrap_err().kind(),
        Kind::Conflict
    );
}

#[tokio::test]
async fn an_immutable_tag_that_is_the_same_gets_no_fallback_tag_where_there_is_the_referrers_api() {
    for no_referrers in [false, true] {
        let mock = MockRegistry::start(Modes {
            immutable_tags: true,
            no_referrers,
            ..Modes::default()
        });
        let subject = Sample::new(b"subject");
        subject.put(&mock, "a");
        let subject = &subject.manifest.descriptor;
        let sample = Sample::new(b"referrer");
        let Document::Manifest(mut manifest) = sample.manifest.document.clone() else {
            panic!("no manifest");
        };
        manifest.subject = Some(subject.clone());
        let bytes = manifest.write().unwrap();
        let referrer = ManifestBlob::new(bytes, &Limits::default()).unwrap();
        sample.put(&mock, "a");
        let media_type = &referrer.descriptor.media_type;
        mock.put_manifest("a", "2", media_type, &referrer.bytes);
        let to = Client::new().open(&mock.repository("a"));
        let tag = "2".parse().unwrap();
        to.push_manifest(&referrer, Some(&tag)).await.unwrap();
        let fallback = subject.digest.to_string().replace(':', "-");
        assert_eq!(mock.tag("a", &fallback).is_some(), no_referrers);
    }
}

#[tokio::test]
async fn a_refused_type_is_quoted() {
    let mock = MockRegistry::start(Modes {
        media_types: Some(&["application/vnd.docker.distribution.manifest.v2+json"]),
        ..Modes::default()
    });
    let sample = Sample::new(b"x");
    let error = sample
        .push(&Client::new().open(&mock.repository("a")), "1")
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("application/vnd.oci.image.manifest.v1+json"),
        "{text}"
    );
    assert!(text.contains("unknown media type"), "{text}");
    let hint = error.detail().hint.clone().unwrap();
    assert!(hint.contains("--image-format docker"), "{hint}");
}

#[tokio::test]
async fn a_name_that_is_too_deep_is_explained() {
    let mock = MockRegistry::start(Modes {
        name_parts: Some(2),
        ..Modes::default()
    });
    let sample = Sample::new(b"x");
    let error = sample
        .push(&Client::new().open(&mock.repository("a/b/c")), "1")
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("repository names have 2 parts"),
        "{error}"
    );
    let hint = error.detail().hint.clone().unwrap();
    assert!(hint.contains("NAMESPACE/NAME"), "{hint}");
    // As Docker Hub does it.
    let mock = MockRegistry::start(Modes {
        auth: Auth::Basic,
        ..Modes::default()
    });
    let refused = Response::error(401, "UNAUTHORIZED", "authentication required")
        .header("www-authenticate", "Basic realm=x");
    mock.rule(on("", "/v2/"), Act::Respond(refused));
    let error = sample
        .push(&Client::alice().open(&mock.repository("a/b/c")), "1")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Denied);
    let hint = error.detail().hint.clone().unwrap();
    assert!(hint.contains("NAMESPACE/NAME"), "{hint}");
}

#[tokio::test]
async fn what_was_just_written_is_looked_for_again() {
    let unknown = || Act::Respond(Response::error(404, "MANIFEST_UNKNOWN", "x"));
    let mock = MockRegistry::plain();
    let sample = Sample::new(b"x");
    let mut client = Client::new();
    let to = client.open(&mock.repository("a"));
    sample.push(&to, "1").await.unwrap();
    mock.rule(on("HEAD", "/manifests/1").first(3), unknown());
    let found = to.tagged(&"1".parse().unwrap()).await.unwrap();
    assert_eq!(found, Some(sample.manifest.descriptor.digest));
    assert_eq!(client.retries().len(), 3);
    // But not for ever, and not by somebody who has written nothing.
    mock.clear_rules();
    mock.rule(on("HEAD", "/manifests/1"), unknown());
    assert_eq!(to.tagged(&"1".parse().unwrap()).await.unwrap(), None);
    mock.mark();
    let other = Client::new().open(&mock.repository("a"));
    assert_eq!(other.tagged(&"1".parse().unwrap()).await.unwrap(), None);
    assert_eq!(mock.log().len(), 1);
}
