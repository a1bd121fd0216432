//! Lists of tags and of referrers, page by page.

use manifest_bundle::digest::Digest;
use manifest_bundle::error::Kind;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::oci::{Document, Manifest, ManifestBlob, media_type};
use manifest_bundle::store::Store;

use super::{Client, Sample};
use crate::support::{Act, MockRegistry, Modes, Origin, Response, on};

fn tagged(tags: usize, page: Option<usize>) -> MockRegistry {
    let mock = MockRegistry::start(Modes {
        tag_page: page,
        ..Modes::default()
    });
    for n in 0..tags {
        mock.put_manifest("a", &format!("t{n:04}"), media_type::MANIFEST, b"{}");
    }
    mock
}

#[tokio::test]
async fn every_page_of_tags_is_read() {
    for (tags, page) in [
        (0, None),
        (1, Some(1)),
        (25, Some(10)),
        (30, Some(10)),
        (1500, None),
    ] {
        let mock = tagged(tags, page);
        mock.put_blob("a", b"the repository exists");
        let listed = Client::new()
            .open(&mock.repository("a"))
            .tags()
            .await
            .unwrap();
        let want: Vec<_> = (0..tags)
            .map(|n| format!("t{n:04}").parse().unwrap())
            .collect();
        assert_eq!(listed, want);
    }
}

#[tokio::test]
async fn tags_that_are_none_are_left_out_with_a_warning() {
    let body = r#"{"name":"other","tags":["b","a","a","\u001b[2J","x y","-x"]}"#;
    let mock = tagged(1, None);
    mock.rule(
        on("GET", "/tags/"),
        Act::Respond(Response::new(200).body(body)),
    );
    let mut client = Client::new();
    let listed = client.open(&mock.repository("a")).tags().await.unwrap();
    assert_eq!(listed, ["a".parse().unwrap(), "b".parse().unwrap()]);
    let warnings = client.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("3 names that are no tags") && warnings[0].contains("\\u{1b}[2J"),
        "{warnings:?}"
    );
    // They count as tags do.
    for (most, is_listed) in [(5, true), (4, false)] {
        let mut client = Client::with(|settings| settings.limits.set(Ceiling::Tags, most));
        let listed = client.open(&mock.repository("a")).tags().await;
        assert_eq!(listed.is_ok(), is_listed, "{listed:?}");
    }
    for body in [
        r#"{"name":"a","tags":null}"#,
        r#"{"name":"a"}"#,
        r#"{"tags":[]}"#,
    ] {
        mock.clear_rules();
        mock.rule(
            on("GET", "/tags/"),
            Act::Respond(Response::new(200).body(body)),
        );
        assert!(
            client
                .open(&mock.repository("a"))
                .tags()
                .await
                .unwrap()
                .is_empty(),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_page_may_hold_nothing_but_names_that_are_no_tags() {
    let mock = tagged(1, None);
    let page = Response::new(200).body(r#"{"name":"a","tags":["-x"]}"#);
    mock.rule(
        on("GET", "/tags/").nth(1),
        Act::Respond(page.header("link", "</v2/a/tags/list?n=10>; rel=next")),
    );
    let mut client = Client::new();
    let listed = client.open(&mock.repository("a")).tags().await.unwrap();
    assert_eq!(listed, ["t0000".parse().unwrap()]);
    assert_eq!(client.warnings().len(), 1);
}

#[tokio::test]
async fn what_a_registry_wants_to_be_known_is_passed_on_once() {
    let mock = tagged(3, Some(1));
    let warning = "299 - \"this API \u{e9}nds soon\"";
    mock.rule(
        on("GET", "/tags/"),
        Act::change(move |r| r.set("warning", warning)),
    );
    let mut client = Client::new();
    client.open(&mock.repository("a")).tags().await.unwrap();
    let want = format!("{} says: this API \u{e9}nds soon", mock.host());
    assert_eq!(client.warnings(), [want]);
}

#[tokio::test]
async fn a_list_that_goes_on_elsewhere_or_for_ever_is_refused() {
    let mock = tagged(30, Some(10));
    let stranger = mock.base(Origin::Stranger).to_owned();
    for (link, kind) in [
        (
            format!("<{stranger}/v2/a/tags/list>; rel=next"),
            Kind::Protocol,
        ),
        (
            "<http://169.254.169.254/latest/meta-data>; rel=\"next\"".into(),
            Kind::Protocol,
        ),
        ("</admin/tags>; rel=next".into(), Kind::Protocol),
        (
            "<https://127.0.0.1/v2/a/tags/list>; rel=next".into(),
            Kind::Protocol,
        ),
        ("<>; rel=next".into(), Kind::Protocol),
        ("</v2/a/tags/list?n=10>; rel=next".into(), Kind::Protocol),
        ("nonsense".into(), Kind::Protocol),
    ] {
        mock.clear_rules();
        mock.mark();
        let value = link.clone();
        mock.rule(
            on("GET", "/tags/"),
            Act::change(move |r| r.set("link", &value)),
        );
        let error = Client::new()
            .open(&mock.repository("a"))
            .tags()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{link}: {error}");
        assert!(mock.log().len() <= 3, "{:?}", mock.log());
        assert!(mock.requests().iter().all(|r| r.origin == Origin::Registry));
    }
    for (ceiling, value) in [(Ceiling::Tags, 25), (Ceiling::Pages, 2)] {
        mock.clear_rules();
        let mut client = Client::with(|s| s.limits = Limits::default().with(ceiling, value));
        let error = client.open(&mock.repository("a")).tags().await.unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
        let mut client = Client::with(|s| s.limits = Limits::default().with(ceiling, value + 5));
        client.open(&mock.repository("a")).tags().await.unwrap();
    }
}

/// A manifest that refers to another one.
fn signature(subject: &Sample, n: usize) -> (Sample, ManifestBlob) {
    let own = Sample::new(format!("signature {n}").as_bytes());
    let manifest = Manifest {
        annotations: [("n".to_owned(), n.to_string())].into(),
        artifact_type: Some("application/vnd.test.signature".into()),
        config: own.config.0.clone(),
        layers: vec![own.layer.0.clone()],
        media_type: media_type::MANIFEST.into(),
        schema_version: 2,
        subject: Some(subject.manifest.descriptor.clone()),
    };
    let blob = ManifestBlob::new(manifest.write().unwrap(), &Limits::default()).unwrap();
    (own, blob)
}

#[tokio::test]
async fn referrers_are_listed_with_and_without_the_api() {
    for no_referrers in [false, true] {
        let mock = MockRegistry::start(Modes {
            no_referrers,
            ..Modes::default()
        });
        let sample = Sample::new(b"x");
        let to = Client::new().open(&mock.repository("a"));
        sample.push(&to, "1").await.unwrap();
        let digest = sample.manifest.descriptor.digest;
        assert!(
            to.referrers(&digest, None)
                .await
                .unwrap()
                .descriptors
                .is_empty()
        );
        for n in 0..3 {
            let (own, manifest) = signature(&sample, n);
            own.push(&to, "own").await.unwrap();
            to.push_manifest(&manifest, None).await.unwrap();
            // Once more changes nothing.
            to.push_manifest(&manifest, None).await.unwrap();
        }
        let found = to.referrers(&digest, None).await.unwrap();
        assert_eq!(found.descriptors.len(), 3);
        assert_eq!(found.fallback, no_referrers);
        for entry in &found.descriptors {
            assert_eq!(
                entry.artifact_type.as_deref(),
                Some("application/vnd.test.signature")
            );
            assert!(entry.annotations.contains_key("n"));
        }
        let signatures = to
            .referrers(&digest, Some("application/vnd.test.signature"))
            .await
            .unwrap();
        assert_eq!(signatures.descriptors.len(), 3);
        let none = to
            .referrers(&digest, Some("application/vnd.test+other"))
            .await
            .unwrap();
        assert!(none.descriptors.is_empty());
        let tag = digest.to_string().replace(':', "-");
        assert_eq!(mock.tag("a", &tag).is_some(), no_referrers);
    }
}

#[tokio::test]
async fn what_others_write_into_the_fallback_tag_stays() {
    let mock = MockRegistry::start(Modes {
        no_referrers: true,
        ..Modes::default()
    });
    let sample = Sample::new(b"x");
    let to = Client::new().open(&mock.repository("a"));
    sample.push(&to, "1").await.unwrap();
    let tag = sample
        .manifest
        .descriptor
        .digest
        .to_string()
        .replace(':', "-");
    let (own, first) = signature(&sample, 0);
    own.push(&to, "own").await.unwrap();
    to.push_manifest(&first, None).await.unwrap();
    // Another writer takes the tag after every write of ours: in the end that is a conflict, not silence.
    let theirs = mock.manifest("a", &tag).unwrap();
    let (own, second) = signature(&sample, 1);
    own.push(&to, "own2").await.unwrap();
    let answer = Response::new(200)
        .header("content-type", media_type::INDEX)
        .body(theirs);
    mock.rule(
        on("GET", &format!("/manifests/{tag}")),
        Act::Respond(answer),
    );
    mock.mark();
    let error = to.push_manifest(&second, None).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict, "{error}");
    assert_eq!(mock.log().len(), 1 + 5 * 2 + 1, "{:?}", mock.log());
    mock.clear_rules();
    let index = mock.manifest("a", &tag).unwrap();
    let Document::Index(index) = Document::parse(&index, "", &Limits::default()).unwrap() else {
        panic!("no index")
    };
    let listed: Vec<Digest> = index.manifests.iter().map(|d| d.digest).collect();
    assert_eq!(listed, [first.descriptor.digest, second.descriptor.digest]);
}

#[tokio::test]
async fn answers_of_the_referrers_api() {
    let sample = Sample::new(b"x");
    let digest = sample.manifest.descriptor.digest;
    let tag = digest.to_string().replace(':', "-");
    let empty = r#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}"#;
    let ok = |body: &str| {
        Response::new(200)
            .header("content-type", media_type::INDEX)
            .body(body)
    };
    for (name, response, want) in [
        ("404", Response::error(404, "X", "x"), Ok(1)),
        (
            "404 html",
            Response::new(404)
                .header("content-type", "text/html")
                .body("<html>"),
            Ok(1),
        ),
        ("400", Response::new(400), Ok(1)),
        ("405", Response::new(405), Ok(1)),
        ("406", Response::new(406), Ok(1)),
        ("empty", ok(empty), Ok(1)),
        ("401", Response::new(401), Err(Kind::Denied)),
        ("403", Response::new(403), Err(Kind::Denied)),
        ("429", Response::throttled(), Err(Kind::Unreachable)),
        ("500", Response::new(500), Err(Kind::Unreachable)),
        (
            "html",
            Response::new(200)
                .header("content-type", "text/html")
                .body("<html>"),
            Err(Kind::Protocol),
        ),
        ("{}", ok("{}"), Err(Kind::Protocol)),
        (
            "image",
            ok(std::str::from_utf8(&sample.manifest.bytes).unwrap()),
            Err(Kind::Protocol),
        ),
        (
            "bad digest",
            ok(&empty.replace(
                "[]",
                r#"[{"mediaType":"a/b","size":1,"digest":"sha256:../x"}]"#,
            )),
            Err(Kind::Protocol),
        ),
        (
            "no size",
            ok(&empty.replace("[]", r#"[{"mediaType":"a/b"}]"#)),
            Err(Kind::Protocol),
        ),
    ] {
        let mock = MockRegistry::plain();
        sample.put(&mock, "a");
        let index = manifest_bundle::oci::Index::new(vec![sample.manifest.descriptor.clone()]);
        mock.put_manifest("a", &tag, media_type::INDEX, &index.write().unwrap());
        mock.rule(on("GET", "/referrers/"), Act::Respond(response));
        let found = Client::new()
            .open(&mock.repository("a"))
            .referrers(&digest, None)
            .await;
        let found = found.map(|r| r.descriptors.len()).map_err(|e| e.kind());
        assert_eq!(found, want, "{name}");
    }
    for (name, media_type, bytes, want) in [
        (
            "image",
            media_type::MANIFEST,
            sample.manifest.bytes.to_vec(),
            Err(Kind::Protocol),
        ),
        (
            "malformed",
            media_type::INDEX,
            b"{".to_vec(),
            Err(Kind::Protocol),
        ),
        (
            "null list",
            media_type::INDEX,
            empty.replace("[]", "null").into_bytes(),
            Ok(0),
        ),
    ] {
        let mock = MockRegistry::start(Modes {
            no_referrers: true,
            ..Modes::default()
        });
        mock.put_manifest("a", &tag, media_type, &bytes);
        let found = Client::new()
            .open(&mock.repository("a"))
            .referrers(&digest, None)
            .await;
        let found = found.map(|r| r.descriptors.len()).map_err(|e| e.kind());
        assert_eq!(found, want, "{name}");
    }
}
