//! Blobs in pieces: when they are sent so, how long the pieces are, and what the registry says it took of each.

use manifest_bundle::error::Kind;
use manifest_bundle::store::Store;

use super::uploads::round;
use super::{Client, Sample, bytes};
use crate::support::{Act, MockRegistry, Modes, Response, on};

#[tokio::test]
async fn large_blobs_go_in_pieces_where_whole_ones_are_refused() {
    let log = round(
        Modes {
            chunk_limit: Some(4 << 20),
            ..Modes::default()
        },
        9 << 20,
    )
    .await;
    let patches = log.iter().filter(|line| line.starts_with("PATCH")).count();
    assert_eq!(patches, 3, "{log:#?}");
    // Nothing is sent in pieces that need not be.
    let log = round(
        Modes {
            chunk_limit: Some(4 << 20),
            ..Modes::default()
        },
        4 << 20,
    )
    .await;
    assert!(
        !log.iter().any(|line| line.starts_with("PATCH")),
        "{log:#?}"
    );
    let mock = MockRegistry::start(Modes {
        chunk_limit: Some(1000),
        ..Modes::default()
    });
    let sample = Sample::new(&bytes(100_000));
    let error = sample
        .push(&Client::new().open(&mock.repository("a")), "1")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol);
    assert!(error.to_string().contains("413"), "{error}");
    assert!(error.to_string().contains("100000 bytes"), "{error}");
}

#[tokio::test]
async fn a_registry_that_closes_on_large_uploads_gets_them_in_pieces() {
    let mock = MockRegistry::plain();
    let early = Response::error(413, "SIZE_INVALID", "too large");
    mock.rule(on("PUT", "/uploads/").first(1), Act::RespondEarly(early));
    let sample = Sample::new(&bytes(9 << 20));
    let to = Client::new().open(&mock.repository("a"));
    to.push_blob(&sample.layer.0, &sample.layer.1)
        .await
        .unwrap();
    assert!(mock.blob("a", &sample.layer.0.digest.to_string()).is_some());
}

#[tokio::test]
async fn the_registry_says_how_much_of_a_piece_it_took() {
    let size = 9 << 20;
    let limited = || {
        MockRegistry::start(Modes {
            chunk_limit: Some(4 << 20),
            ..Modes::default()
        })
    };
    let push = async |mock: &MockRegistry| {
        let sample = Sample::new(&bytes(size));
        let to = Client::new().open(&mock.repository("a"));
        let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
        let there = mock.blob("a", &sample.layer.0.digest.to_string());
        assert_eq!(there.is_some(), pushed.is_ok());
        pushed.map_err(|error| error.kind())
    };
    // Less than was sent: it goes on from there. The mock has it all and answers 416 to that, and is asked.
    let mock = limited();
    mock.rule(
        on("PATCH", "/uploads/").nth(1),
        Act::change(|r| r.set("range", "0-1048575")),
    );
    assert_eq!(push(&mock).await, Ok(()));
    let ranges: Vec<_> = mock
        .requests()
        .iter()
        .filter_map(|r| r.header("content-range").map(str::to_owned))
        .collect();
    assert_eq!(ranges[1], "1048576-5242879");
    assert_eq!(ranges[2], "4194304-8388607");
    // No word about it: all of it.
    let mock = limited();
    mock.rule(on("PATCH", "/uploads/"), Act::change(|r| r.remove("range")));
    assert_eq!(push(&mock).await, Ok(()));
    // More than was sent, or nothing.
    for lie in ["0-9999999", "0-0", "5-10", "x"] {
        let mock = limited();
        mock.rule(
            on("PATCH", "/uploads/"),
            Act::change(move |r| r.set("range", lie)),
        );
        assert_eq!(push(&mock).await, Err(Kind::Protocol), "{lie}");
    }
    // Pieces that are too small for it.
    let mock = limited();
    let large = (8 << 20).to_string();
    mock.rule(
        on("POST", "/uploads/"),
        Act::change(move |r| r.set("oci-chunk-min-length", &large)),
    );
    let _ = push(&mock).await;
    let first = mock
        .requests()
        .into_iter()
        .find(|r| r.method == "PATCH")
        .unwrap();
    assert_eq!(first.header("content-range"), Some("0-8388607"));
    // Nor is it said afterwards: then the upload begins again.
    let mock = limited();
    mock.rule(on("PATCH", "/uploads/").nth(2), Act::ResetUpload(1 << 20));
    mock.rule(on("GET", "/uploads/"), Act::change(|r| r.remove("range")));
    assert_eq!(push(&mock).await, Ok(()));
    let begun = mock
        .log()
        .iter()
        .filter(|line| line.starts_with("POST"))
        .count();
    assert_eq!(begun, 3, "{:?}", mock.log());
    // A connection that breaks in the middle of a piece.
    let mock = limited();
    mock.rule(on("PATCH", "/uploads/").nth(2), Act::ResetUpload(1 << 20));
    assert_eq!(push(&mock).await, Ok(()));
    let mock = limited();
    mock.rule(on("PATCH", "/uploads/").nth(2), Act::LoseAnswer);
    assert_eq!(push(&mock).await, Ok(()));
}

/// Pushes 9 MiB in pieces, with some habits and a smallest piece; returns the ranges that were sent, and the waits.
async fn pieces(modes: Modes, smallest: Option<&str>) -> (Option<Kind>, Vec<String>, usize) {
    let mock = MockRegistry::start(modes);
    mock.rule(
        on("PUT", "/uploads/").nth(1),
        Act::Respond(Response::new(413)),
    );
    if let Some(smallest) = smallest {
        let smallest = smallest.to_owned();
        mock.rule(
            on("POST", "/uploads/"),
            Act::change(move |r| r.set("oci-chunk-min-length", &smallest)),
        );
    }
    let sample = Sample::new(&bytes(9 << 20));
    let mut client = Client::new();
    let to = client.open(&mock.repository("a"));
    let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
    let there = mock.blob("a", &sample.layer.0.digest.to_string());
    assert_eq!(there.is_some(), pushed.is_ok());
    let ranges = mock.requests();
    let ranges = ranges.iter().filter_map(|r| r.header("content-range"));
    let kind = pushed.err().map(|error| error.kind());
    let ranges = ranges.map(str::to_owned).collect();
    (kind, ranges, client.waits().len())
}

#[tokio::test]
async fn t_s15_pieces_go_on_behind_what_was_taken_and_are_as_long_as_the_registry_wants_them() {
    let keeps = |chunk_keeps| Modes {
        chunk_keeps,
        ..Modes::default()
    };
    // A registry that keeps a part of each piece and says so gets the rest.
    let (kind, ranges, waits) = pieces(keeps(Some(3 << 20)), None).await;
    assert_eq!((kind, waits), (None, 0));
    assert_eq!(ranges, ["0-4194303", "3145728-7340031", "6291456-9437183"]);
    // One that keeps next to nothing is not sent the same for ever.
    let (kind, ranges, waits) = pieces(keeps(Some(1000)), None).await;
    assert_eq!((kind, waits, ranges.len()), (Some(Kind::Protocol), 4, 5));
    assert_eq!(ranges[1], "1000-4195303");
    // The smallest piece is the registry's word where it is a number; the last piece may always be smaller.
    let usual = &["0-4194303", "4194304-8388607", "8388608-9437183"][..];
    for (smallest, want) in [
        ("6291456", &["0-6291455", "6291456-9437183"][..]),
        ("18446744073709551615", &["0-9437183"]),
        ("18446744073709551616", usual),
        ("1", usual),
        ("0", usual),
        ("-1", usual),
        ("many", usual),
        ("", usual),
    ] {
        let (kind, ranges, waits) = pieces(keeps(None), Some(smallest)).await;
        assert_eq!((kind, waits), (None, 0), "{smallest}");
        assert_eq!(ranges, want, "{smallest}");
    }
}

#[tokio::test]
async fn failures_between_pieces_that_were_taken_are_each_the_first_but_no_piece_counts_twice() {
    // Each second piece fails once: more failures than one operation may have in a row.
    let size = 30 << 20;
    let sample = Sample::new(&bytes(size));
    for passing in [Response::new(502), Response::throttled()] {
        let mock = MockRegistry::start(Modes {
            chunk_limit: Some(4 << 20),
            ..Modes::default()
        });
        for n in 0..6 {
            let nth = on("PATCH", "/uploads/").nth(2 + 2 * n);
            mock.rule(nth, Act::Respond(passing.clone()));
        }
        let mut client = Client::new();
        let to = client.open(&mock.repository("a"));
        to.push_blob(&sample.layer.0, &sample.layer.1)
            .await
            .unwrap();
        assert_eq!(client.retries().len(), 6, "{:?}", mock.log());
    }
    // A registry that takes the first piece again and again, and forgets the upload each time, is given up.
    let mock = MockRegistry::start(Modes {
        chunk_limit: Some(4 << 20),
        ..Modes::default()
    });
    let forgotten = Response::error(404, "BLOB_UPLOAD_UNKNOWN", "x");
    for n in 0..20 {
        let nth = on("PATCH", "/uploads/").nth(2 + 2 * n);
        mock.rule(nth, Act::Respond(forgotten.clone()));
    }
    let mut client = Client::new();
    let to = client.open(&mock.repository("a"));
    let pushed = to.push_blob(&sample.layer.0, &sample.layer.1).await;
    assert_eq!(pushed.unwrap_err().kind(), Kind::NotFound);
    assert_eq!(client.retries().len(), 4);
}
