//! Answers, read and put into words.

use super::*;

/// A clock that stands still.
fn still() -> Time {
    Time::new(
        || std::time::Duration::ZERO,
        |_| Box::pin(std::future::ready(())),
    )
}

fn reply(status: u16, media_type: &str, body: &str) -> Reply {
    let mut headers = HeaderMap::new();
    if !media_type.is_empty() {
        headers.insert(CONTENT_TYPE, media_type.parse().unwrap());
    }
    Reply {
        head: Head {
            status: StatusCode::from_u16(status).unwrap(),
            headers,
            url: "https://cdn.example:1/x?token=hunter2".parse().unwrap(),
            via: None,
            away: false,
        },
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn refused(reply: &Reply) -> (Kind, bool, String) {
    let failure = reply.refused("cannot x", &still());
    let again = failure.again != Again::Never;
    (failure.error.kind(), again, failure.error.to_string())
}

#[test]
fn a_header_counts_when_it_stands_there_once() {
    let mut reply = reply(200, "text/plain", "");
    assert_eq!(reply.header(&CONTENT_TYPE), Some("text/plain"));
    assert_eq!(reply.header(&RETRY_AFTER), None);
    let headers = &mut reply.head.headers;
    headers.append(CONTENT_TYPE, "text/html".parse().unwrap());
    assert_eq!(reply.header(&CONTENT_TYPE), None);
}

#[test]
fn bytes_that_are_coded_are_refused() {
    let coded = |values: &[&str]| {
        let mut reply = reply(200, "", "");
        for value in values {
            let headers = &mut reply.head.headers;
            headers.append(CONTENT_ENCODING, value.parse().unwrap());
        }
        reply.head.check_coding().is_err()
    };
    assert!(!coded(&[]));
    assert!(!coded(&[""]));
    assert!(!coded(&["identity"]));
    assert!(coded(&["gzip"]));
    assert!(coded(&["identity", "identity"]));
}

#[test]
fn a_wait_is_counted_from_the_date_of_the_answer() {
    let mut reply = reply(503, "", "");
    assert_eq!(reply.head.retry_after(&still()), None);
    let mut set = |name, value: &str| {
        reply.head.headers.insert(name, value.parse().unwrap());
        reply.head.retry_after(&still())
    };
    let seconds = std::time::Duration::from_secs;
    assert_eq!(set(RETRY_AFTER, "7"), Some(seconds(7)));
    set(DATE, "Tue, 01 Dec 2026 12:00:00 GMT");
    let later = set(RETRY_AFTER, "Tue, 01 Dec 2026 12:00:09 GMT");
    assert_eq!(later, Some(seconds(9)));
}

#[test]
fn a_hint_names_a_wait_that_is_too_long_to_be_waited_for() {
    let hint = |asked: Option<u64>| {
        let failure = throttled("x", asked.map(std::time::Duration::from_secs));
        failure.error.detail().hint.clone().unwrap_or_default()
    };
    assert_eq!(hint(Some(61)), "try again after 61 s");
    for asked in [None, Some(1), Some(60)] {
        assert!(hint(asked).contains("log in"), "{asked:?}");
    }
}

#[test]
fn a_title_is_told_when_it_says_something_and_stands_near_the_beginning() {
    let title = |body: &str| html_title(&reply(200, "text/html", "").head, body.as_bytes());
    assert_eq!(
        title("<title> a\u{1b}b </title>").unwrap(),
        " (`a\\u{1b}b`)"
    );
    assert_eq!(title("<title> </title>").unwrap(), "");
    assert_eq!(title("x").unwrap(), "");
    let far = |blanks: usize| title(&format!("{}<title>t</title>", " ".repeat(blanks)));
    assert_eq!(far(7 * WORDS_MAX).unwrap(), " (`t`)");
    assert_eq!(far(8 * WORDS_MAX).unwrap(), "");
}

#[test]
fn a_code_is_found_in_an_error_answer() {
    let body = r#"{"errors":[{"code":"A"},{"code":"B"}]}"#;
    let reply = reply(404, "", body);
    assert!(reply.has_code("A") && reply.has_code("B"));
    assert!(!reply.has_code("C"));
}

#[test]
fn a_refusal_is_mapped_by_its_status_first_and_then_by_its_code() {
    let json = |code: &str| format!(r#"{{"errors":[{{"code":"{code}","message":"m"}}]}}"#);
    for (status, code, kind, again) in [
        (400, "NAME_INVALID", Kind::Protocol, false),
        (400, "DIGEST_INVALID", Kind::Mismatch, false),
        (400, "TOOMANYREQUESTS", Kind::Unreachable, true),
        (401, "UNAUTHORIZED", Kind::Denied, false),
        (403, "DENIED", Kind::Denied, false),
        (404, "MANIFEST_UNKNOWN", Kind::NotFound, false),
        (405, "UNSUPPORTED", Kind::Protocol, false),
        (407, "X", Kind::Unreachable, false),
        (408, "X", Kind::Unreachable, true),
        (409, "X", Kind::Protocol, false),
        (413, "SIZE_INVALID", Kind::Protocol, false),
        (425, "X", Kind::Unreachable, true),
        (429, "X", Kind::Unreachable, true),
        (500, "UNKNOWN", Kind::Unreachable, true),
        (501, "X", Kind::Unreachable, false),
        (502, "X", Kind::Unreachable, true),
        (503, "X", Kind::Unreachable, true),
        (504, "X", Kind::Unreachable, true),
        (505, "X", Kind::Unreachable, false),
        (507, "X", Kind::Unreachable, false),
        (511, "X", Kind::Unreachable, false),
    ] {
        let (found, repeated, said) = refused(&reply(status, "application/json", &json(code)));
        assert_eq!((found, repeated), (kind, again), "{status} {code}");
        assert!(said.contains(&format!("{code}: m")), "{said}");
        assert!(said.contains(&status.to_string()), "{said}");
    }
}

#[test]
fn a_server_is_quoted_in_its_own_words_but_harmless() {
    for (media_type, body, want) in [
        (
            "text/plain",
            "no space",
            "cannot x: 400 Bad Request: no space",
        ),
        (
            "application/json",
            "slow down",
            "cannot x: 400 Bad Request: slow down",
        ),
        ("application/json", "{}", "cannot x: 400 Bad Request: {}"),
        ("", "", "cannot x: 400 Bad Request"),
        (
            "text/plain",
            "a\u{1b}[2Jb",
            "cannot x: 400 Bad Request: a\\u{1b}[2Jb",
        ),
        (
            "text/html",
            "<html><title>Sign\u{7} in</title>",
            "cannot x: 400 Bad Request, with an HTML page (`Sign\\u{7} in`)",
        ),
        (
            "",
            "<!DOCTYPE html><p>",
            "cannot x: 400 Bad Request, with an HTML page",
        ),
        (
            "application/json",
            r#"{"errors":[{"code":"A"},{"code":"B","message":"b"},7]}"#,
            "cannot x: 400 Bad Request: A; B: b; ",
        ),
    ] {
        assert_eq!(refused(&reply(400, media_type, body)).2, want, "{body}");
    }
    let long = refused(&reply(400, "", &"x".repeat(100_000))).2;
    assert!(long.len() < WORDS_MAX + 100, "{}", long.len());
    let mut away = reply(403, "application/xml", "<Error/>");
    away.head.away = true;
    let said = refused(&away).2;
    assert_eq!(
        said,
        "cannot x: https://cdn.example:1 answered 403 Forbidden: <Error/>"
    );
}

#[test]
fn a_server_that_wants_https_is_known_by_its_words() {
    let time = Time::default();
    for (url, body, is_known) in [
        (
            "http://r.example/",
            "Client sent an HTTP request to an HTTPS server.\n",
            true,
        ),
        (
            "http://r.example/",
            "<html><title>400 The plain HTTP request was sent to HTTPS port</title>",
            true,
        ),
        (
            "http://r.example/",
            "You're speaking plain HTTP to an SSL-enabled server port.",
            true,
        ),
        ("http://r.example/", "see HTTPS://r.example/help", false),
        (
            "https://r.example/",
            "Client sent an HTTP request to an HTTPS server.\n",
            false,
        ),
    ] {
        let mut refused = reply(400, "text/plain", body);
        refused.head.url = url.parse().unwrap();
        let error = refused.refused("cannot x", &time).error;
        let hint = error.detail().hint.as_deref();
        assert_eq!(hint, is_known.then_some(SPEAKS_HTTPS), "{url} {body}");
    }
}

#[test]
fn a_web_page_is_no_answer() {
    let page = reply(200, "text/html; charset=utf-8", "<title>Paywall</title>");
    let error = page.json::<Value>("a manifest").unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol);
    assert_eq!(error.message(), "HTML instead of a manifest (`Paywall`)");
    for body in ["", "null", "[]", "{", "\u{feff}<HTML>"] {
        let error = reply(200, "application/json", body).json::<Value>("a list");
        assert_eq!(error.unwrap_err().kind(), Kind::Protocol, "{body}");
    }
    assert!(reply(200, "", "{}").json::<Value>("a list").is_ok());
}

#[test]
fn bodies_have_a_ceiling_and_error_bodies_are_cut() {
    let mut body = Collector::new(Ceiling::Manifest, 4);
    assert!(body.add(b"1234").unwrap());
    assert_eq!(body.add(b"5").unwrap_err().kind(), Kind::Limit);
    let mut body = Collector::new(Ceiling::ErrorBody, 4);
    assert!(!body.add(b"12345").unwrap());
    assert_eq!(&body.finish()[..], b"1234");
}

#[test]
fn a_refusal_says_what_helps_against_it() {
    let hint = |status: u16, url: &str, body: &str| {
        let mut reply = reply(status, "text/plain", body);
        reply.head.url = url.parse().unwrap();
        let failure = reply.refused("cannot x", &still());
        failure.error.detail().hint.clone().unwrap_or_default()
    };
    let (plain, tls) = ("http://r.example/v2/", "https://r.example/v2/");
    let go = "Client sent an HTTP request to an HTTPS server.";
    assert_eq!(hint(400, plain, go), SPEAKS_HTTPS);
    assert_eq!(hint(400, plain, "x"), "");
    assert_eq!(hint(400, tls, go), "");
    assert_eq!(hint(405, plain, go), "");
    assert_eq!(hint(407, tls, ""), PROXY_PASSWORD);
    assert!(hint(511, tls, "").contains("captive portal"));
    assert!(hint(413, tls, "").contains("refuses this size"));
    assert_eq!(hint(500, tls, ""), "");
}
