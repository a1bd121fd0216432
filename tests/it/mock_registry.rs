//! The mock registry proves itself by raw HTTP: it is honest unless told otherwise, each habit and each
//! act does what it is named for, and what was asked of it is on record.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::http::Answer;
use crate::support::{
    Act, Auth, Http, MockRegistry, Modes, Origin, PASSWORD, Response, Sandbox, Tls, USER, failure,
    hex, on,
};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// A client that does what it is told and no more.
struct Client {
    http: Http,
    base: String,
    authorization: Option<String>,
}

impl Client {
    fn of(mock: &MockRegistry) -> Self {
        Self {
            http: Http::new(None),
            base: mock.base(Origin::Registry).to_owned(),
            authorization: None,
        }
    }

    fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, reqwest::Error> {
        let url = if path.starts_with('/') {
            format!("{}{path}", self.base)
        } else {
            path.to_owned()
        };
        let mut headers = headers.to_vec();
        if let Some(value) = &self.authorization {
            headers.push(("authorization", value));
        }
        self.http.send(method, &url, &headers, body.to_owned())
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap()
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// Uploads in one PUT and returns its answer.
    fn push_blob(&self, name: &str, bytes: &[u8]) -> Answer {
        let begun = self.send("POST", &format!("/v2/{name}/blobs/uploads/"), &[], b"");
        assert_eq!(begun.status, 202, "{}", begun.text());
        self.send(
            "PUT",
            &with_digest(begun.header("location"), bytes),
            &[],
            bytes,
        )
    }

    fn push_manifest(&self, name: &str, reference: &str, manifest: &Value) -> Answer {
        let path = format!("/v2/{name}/manifests/{reference}");
        let headers = [("content-type", MANIFEST)];
        self.send("PUT", &path, &headers, manifest.to_string().as_bytes())
    }

    /// Pushes a config and the manifest of an image without layers.
    fn push_image(&self, name: &str, tag: &str) -> Answer {
        assert_eq!(self.push_blob(name, b"{}").status, 201);
        self.push_manifest(name, tag, &image())
    }
}

fn with_digest(location: &str, bytes: &[u8]) -> String {
    let sign = if location.contains('?') { '&' } else { '?' };
    format!("{location}{sign}digest={}", sha256(bytes))
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

fn image() -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": sha256(b"{}"), "size": 2},
        "layers": [],
    })
}

fn modes(modes: Modes) -> (MockRegistry, Client) {
    let mock = MockRegistry::start(modes);
    let client = Client::of(&mock);
    (mock, client)
}

fn plain() -> (MockRegistry, Client) {
    modes(Modes::default())
}

#[test]
fn what_is_pushed_is_there_and_on_record() {
    let (mock, client) = plain();
    let pushed = client.push_image("team/app", "1.0.0");
    let digest = sha256(image().to_string().as_bytes());
    assert_eq!(
        (pushed.status, pushed.header("docker-content-digest")),
        (201, &*digest)
    );
    let config = format!("/v2/team/app/blobs/{}", sha256(b"{}"));
    assert_eq!(
        client
            .send("HEAD", &config, &[], b"")
            .header("content-length"),
        "2"
    );
    assert_eq!(client.get(&config).body, b"{}");
    let found = client.get("/v2/team/app/manifests/1.0.0");
    assert_eq!(found.header("content-type"), MANIFEST);
    assert_eq!(found.body, image().to_string().into_bytes());
    assert_eq!(
        mock.log(),
        [
            "POST /v2/team/app/blobs/uploads/ 202",
            "PUT /v2/team/app/blobs/uploads/upload-1 201",
            "PUT /v2/team/app/manifests/1.0.0 201",
            &format!("HEAD {config} 200"),
            &format!("GET {config} 200"),
            "GET /v2/team/app/manifests/1.0.0 200",
        ]
    );
    let put = &mock.requests()[1];
    assert_eq!((put.origin, put.body_size), (Origin::Registry, 2));
    assert_eq!(
        mock.tags("team/app"),
        [("1.0.0".to_owned(), digest.clone())]
    );
    assert_eq!(mock.tag("team/app", "1.0.0"), Some(digest.clone()));
    assert_eq!(mock.manifest("team/app", &digest), Some(found.body));
    assert_eq!(mock.blob("team/app", &sha256(b"{}")), Some(b"{}".to_vec()));

    mock.mark();
    assert_eq!(client.get("/v2/").status, 200);
    assert_eq!(mock.log(), ["GET /v2/ 200"]);
    assert_eq!(mock.repository("a"), format!("{}/a", mock.host()));
}

#[test]
fn what_is_wrong_with_a_push_is_refused() {
    let (mock, client) = plain();
    let unknown = client.push_manifest("a", "1", &image());
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("MANIFEST_BLOB_UNKNOWN"));
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    let put = with_digest(begun.header("location"), b"other");
    assert!(
        client
            .send("PUT", &put, &[], b"bytes")
            .text()
            .contains("DIGEST_INVALID")
    );
    client.push_blob("a", b"{}");
    let by_digest = client.push_manifest("a", &sha256(b"other"), &image());
    assert!(by_digest.text().contains("DIGEST_INVALID"));
    assert_eq!(mock.tags("a"), []);
    for path in [
        "/v2/a/manifests/none",
        "/v2/a/blobs/sha256:00",
        "/v2/none/tags/list",
        "/v3/",
    ] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    // A manifest that was not asked for by its type is not there.
    mock.put_manifest("a", "odd", "application/odd", b"{}");
    let accept = [("accept", MANIFEST)];
    assert_eq!(
        client
            .send("GET", "/v2/a/manifests/odd", &accept, b"")
            .status,
        404
    );
}

#[test]
fn an_upload_in_pieces_can_be_resumed_and_given_up() {
    let (mock, client) = plain();
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    let location = begun.header("location").to_owned();
    let first = client.send("PATCH", &location, &[("content-range", "0-2")], b"abc");
    assert_eq!((first.status, first.header("range")), (202, "0-2"));
    let gap = client.send("PATCH", &location, &[("content-range", "7-8")], b"hi");
    assert_eq!((gap.status, gap.header("range")), (416, "0-2"));
    assert_eq!(client.get(&location).status, 204);
    let last = client.send("PUT", &with_digest(&location, b"abcdef"), &[], b"def");
    assert_eq!(last.status, 201);

    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    assert_eq!(
        client
            .send("DELETE", begun.header("location"), &[], b"")
            .status,
        204
    );
    assert_eq!(client.get(begun.header("location")).status, 404);
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    mock.lose_uploads();
    assert_eq!(
        client
            .send("PATCH", begun.header("location"), &[], b"x")
            .status,
        404
    );
    // sha512 is as good.
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    let digest = format!("sha512:{}", hex(&sha2::Sha512::digest(b"x")));
    let put = format!("{}?digest={digest}", begun.header("location"));
    assert_eq!(client.send("PUT", &put, &[], b"x").status, 201);
}

#[test]
fn a_blob_is_mounted_where_it_can_be() {
    let (mock, client) = plain();
    let digest = mock.put_blob("from", b"shared");
    let mount = format!("/v2/to/blobs/uploads/?mount={digest}&from=from");
    assert_eq!(client.send("POST", &mount, &[], b"").status, 201);
    assert_eq!(mock.blob("to", &digest), Some(b"shared".to_vec()));
    let (mock, client) = modes(Modes {
        no_mount: true,
        ..Modes::default()
    });
    mock.put_blob("from", b"shared");
    assert_eq!(client.send("POST", &mount, &[], b"").status, 202);
}

#[test]
fn a_manifest_is_deleted_with_its_tags() {
    let (mock, client) = plain();
    client.push_image("a", "1");
    client.push_image("a", "2");
    assert_eq!(
        client.send("DELETE", "/v2/a/manifests/1", &[], b"").status,
        202
    );
    assert_eq!(mock.tags("a").len(), 1);
    let digest = mock.tag("a", "2").unwrap();
    let path = format!("/v2/a/manifests/{digest}");
    assert_eq!(client.send("DELETE", &path, &[], b"").status, 202);
    assert_eq!(mock.tags("a"), []);
    assert_eq!(client.send("DELETE", &path, &[], b"").status, 404);
}

#[test]
fn tags_come_in_pages() {
    let (mock, client) = modes(Modes {
        tag_page: Some(2),
        ..Modes::default()
    });
    for tag in ["c", "a", "b"] {
        mock.put_manifest("x", tag, MANIFEST, b"{}");
    }
    let first = client.get("/v2/x/tags/list");
    assert_eq!(first.text(), r#"{"name":"x","tags":["a","b"]}"#);
    assert_eq!(
        first.header("link"),
        "</v2/x/tags/list?n=2&last=b>; rel=\"next\""
    );
    let last = client.get("/v2/x/tags/list?n=2&last=b");
    assert_eq!(
        (last.text().as_str(), last.header("link")),
        (r#"{"name":"x","tags":["c"]}"#, "")
    );
}

#[test]
fn referrers_are_listed_where_the_registry_can() {
    let subject = sha256(image().to_string().as_bytes());
    let mut referrer = image();
    referrer["subject"] = json!({"mediaType": MANIFEST, "digest": subject, "size": 1});
    referrer["artifactType"] = "application/x.sig".into();
    let path = format!("/v2/a/referrers/{subject}");

    let (_mock, client) = plain();
    client.push_image("a", "1");
    let pushed = client.push_manifest("a", "sig", &referrer);
    assert_eq!(pushed.header("oci-subject"), subject);
    let list: Value = serde_json::from_slice(&client.get(&path).body).unwrap();
    assert_eq!(list["manifests"][0]["artifactType"], "application/x.sig");
    let filtered = client.get(&format!("{path}?artifactType=other"));
    assert_eq!(filtered.header("oci-filters-applied"), "artifactType");
    assert!(filtered.text().contains("\"manifests\":[]"));

    let (_mock, client) = modes(Modes {
        no_referrers: true,
        ..Modes::default()
    });
    client.push_image("a", "1");
    assert_eq!(
        client
            .push_manifest("a", "sig", &referrer)
            .header("oci-subject"),
        ""
    );
    assert_eq!(client.get(&path).status, 404);
}

#[test]
fn ranges_are_served_unless_not() {
    let (mock, client) = plain();
    let path = format!("/v2/a/blobs/{}", mock.put_blob("a", b"0123456789"));
    for (range, status, body) in [
        ("bytes=4-", 206, "456789"),
        ("bytes=2-3", 206, "23"),
        ("bytes=8-99", 206, "89"),
        ("bytes=10-", 416, ""),
    ] {
        let answer = client.send("GET", &path, &[("range", range)], b"");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (status, body),
            "{range}"
        );
    }
    let (mock, client) = modes(Modes {
        no_ranges: true,
        ..Modes::default()
    });
    mock.put_blob("a", b"0123456789");
    let answer = client.send("GET", &path, &[("range", "bytes=4-")], b"");
    assert_eq!((answer.status, answer.body.len()), (200, 10));
}

#[test]
fn locations_come_in_every_shape() {
    let (_mock, client) = modes(Modes {
        relative_location: true,
        ..Modes::default()
    });
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    assert_eq!(begun.header("location"), "/v2/a/blobs/uploads/upload-1");
    assert_eq!(client.push_blob("a", b"x").status, 201);

    let (_mock, client) = modes(Modes {
        location_state: true,
        ..Modes::default()
    });
    let begun = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    let first = begun.header("location").to_owned();
    let next = client.send("PATCH", &first, &[], b"a");
    let decoded = next.header("location").replace("%2F", "/");
    for wrong in [first, decoded] {
        let put = with_digest(&wrong, b"ab");
        assert!(
            client
                .send("PUT", &put, &[], b"b")
                .text()
                .contains("BLOB_UPLOAD_INVALID")
        );
    }
    let put = with_digest(next.header("location"), b"ab");
    assert_eq!(client.send("PUT", &put, &[], b"b").status, 201);

    let (mock, client) = modes(Modes {
        upload_elsewhere: true,
        ..Modes::default()
    });
    assert_eq!(client.push_blob("a", b"x").status, 201);
    assert_eq!(mock.requests()[1].origin, Origin::Store);
    assert!(mock.blob("a", &sha256(b"x")).is_some());
}

#[test]
fn limits_and_refusals_are_those_of_the_modes() {
    let (_mock, client) = modes(Modes {
        chunk_limit: Some(3),
        ..Modes::default()
    });
    assert_eq!(client.push_blob("a", b"abc").status, 201);
    assert_eq!(client.push_blob("a", b"abcd").status, 413);

    let (_mock, client) = modes(Modes {
        no_head: true,
        ..Modes::default()
    });
    assert_eq!(
        client.send("HEAD", "/v2/a/manifests/1", &[], b"").status,
        405
    );

    let (_mock, client) = modes(Modes {
        no_digest_header: true,
        ..Modes::default()
    });
    assert_eq!(
        client.push_image("a", "1").header("docker-content-digest"),
        ""
    );

    let (_mock, client) = modes(Modes {
        immutable_tags: true,
        ..Modes::default()
    });
    assert_eq!(client.push_image("a", "1").status, 201);
    assert!(client.push_image("a", "1").text().contains("TAG_INVALID"));
    assert_eq!(
        client
            .push_manifest("a", &sha256(image().to_string().as_bytes()), &image())
            .status,
        201
    );

    let (_mock, client) = modes(Modes {
        refuse_artifact_type: true,
        ..Modes::default()
    });
    assert_eq!(client.push_image("a", "1").status, 201);
    let mut artifact = image();
    artifact["artifactType"] = "application/x.bundle".into();
    assert_eq!(client.push_manifest("a", "1", &artifact).status, 400);

    let media_types = Some(&[MANIFEST, CONFIG][..]);
    let (_mock, client) = modes(Modes {
        media_types,
        ..Modes::default()
    });
    assert_eq!(client.push_image("a", "1").status, 201);
    let refused = client.push_manifest("a", "1", &artifact);
    assert!(
        refused
            .text()
            .contains("unknown media type: application/x.bundle")
    );

    let (_mock, client) = modes(Modes {
        name_parts: Some(2),
        ..Modes::default()
    });
    assert_eq!(client.push_image("a/b", "1").status, 201);
    let refused = client.get("/v2/a/b/c/tags/list");
    assert!(refused.text().contains("have 2 parts, this one has 3"));
}

#[test]
fn blobs_can_be_in_a_store_that_takes_no_credentials() {
    let (mock, client) = modes(Modes {
        redirect_blobs: true,
        ..Modes::default()
    });
    let path = format!("/v2/a/blobs/{}", mock.put_blob("a", b"bytes"));
    assert_eq!(client.send("HEAD", &path, &[], b"").status, 200);
    let redirect = client.get(&path);
    assert_eq!(redirect.status, 307);
    let location = redirect.header("location");
    assert!(location.starts_with(mock.base(Origin::Store)));
    assert_eq!(client.get(location).body, b"bytes");
    let secret = [("authorization", "Bearer something-secret")];
    assert_eq!(client.send("GET", location, &secret, b"").status, 400);
    assert_eq!(client.get(location.split('?').next().unwrap()).status, 403);
    let said = failure(|| mock.assert_secret_stays("something-secret", &[Origin::Registry]));
    assert!(said.contains("Store was told a secret"), "{said}");
    mock.assert_secret_stays("something-secret", &[Origin::Store]);
}

#[test]
fn basic_authentication_lets_one_user_in() {
    let (_mock, mut client) = modes(Modes {
        auth: Auth::Basic,
        ..Modes::default()
    });
    let refused = client.get("/v2/");
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, "Basic realm=\"mock\"")
    );
    client.authorization = Some(format!(
        "Basic {}",
        STANDARD.encode(format!("{USER}:wrong"))
    ));
    assert_eq!(client.get("/v2/").status, 401);
    client.authorization = Some(basic());
    assert_eq!(client.push_image("a", "1").status, 201);
}

fn basic() -> String {
    format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")))
}

#[test]
fn tokens_are_bound_to_a_scope_and_to_a_number_of_requests() {
    let (mock, mut client) = modes(Modes {
        auth: Auth::Bearer,
        token_requests: Some(2),
        ..Modes::default()
    });
    let refused = client.get("/v2/a/tags/list");
    let realm = format!("{}/token", mock.base(Origin::Token));
    assert_eq!(
        refused.header("www-authenticate"),
        format!("Bearer realm=\"{realm}\",service=\"mock\",scope=\"repository:a:pull\"")
    );
    let url = format!("{realm}?service=mock&scope=repository:a:pull");
    assert_eq!(client.get(&url).status, 401);
    let answer = client.send("GET", &url, &[("authorization", &basic())], b"");
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let token = answer["token"].as_str().unwrap();
    assert_eq!(mock.tokens(), [token]);

    client.authorization = Some(format!("Bearer {token}"));
    let beyond = client.send("POST", "/v2/a/blobs/uploads/", &[], b"");
    assert!(
        beyond
            .header("www-authenticate")
            .contains("insufficient_scope")
    );
    assert_eq!(client.get("/v2/").status, 200);
    assert_eq!(client.get("/v2/a/manifests/1").status, 404);
    assert!(
        client
            .get("/v2/")
            .header("www-authenticate")
            .contains("invalid_token")
    );
    mock.assert_secret_stays(PASSWORD, &[Origin::Token]);
}

#[test]
fn tokens_are_given_for_an_identity_and_to_nobody_for_pulling() {
    let (mock, mut client) = modes(Modes {
        auth: Auth::Bearer,
        anonymous_pull: true,
        identity_token: Some("identity-token".to_owned()),
        open_ping: true,
        ..Modes::default()
    });
    assert_eq!(client.get("/v2/").status, 200);
    let url = format!("{}/token", mock.base(Origin::Token));
    let token = |answer: &Answer| {
        let value: Value = serde_json::from_slice(&answer.body).unwrap();
        Some(format!(
            "Bearer {}",
            value["access_token"].as_str().unwrap()
        ))
    };
    let anonymous = client.get(&format!("{url}?scope=repository:a:pull,push"));
    client.authorization = token(&anonymous);
    assert_eq!(client.get("/v2/a/manifests/1").status, 404);
    assert_eq!(
        client.send("POST", "/v2/a/blobs/uploads/", &[], b"").status,
        401
    );

    client.authorization = None;
    let form =
        |secret: &str| format!("grant_type=refresh_token&scope=repository:a:pull,push&{secret}");
    let wrong = client.send("POST", &url, &[], form("refresh_token=wrong").as_bytes());
    assert_eq!(wrong.status, 401);
    for secret in [
        "refresh_token=identity-token",
        "username=alice&password=corr%25ct:horse/9",
    ] {
        client.authorization = None;
        let answer = client.send("POST", &url, &[], form(secret).as_bytes());
        client.authorization = token(&answer);
        assert_eq!(client.push_image("a", "1").status, 201);
    }
}

#[test]
fn tls_is_spoken_and_client_certificates_are_asked_for() {
    let (mock, mut client) = modes(Modes {
        tls: Tls::On,
        ..Modes::default()
    });
    assert!(client.try_send("GET", "/v2/", &[], b"").is_err());
    client.http = Http::new(Some(&mock.certs().ca));
    assert_eq!(client.get("/v2/").status, 200);

    let (mock, mut client) = modes(Modes {
        tls: Tls::ClientCertificate,
        ..Modes::default()
    });
    client.http = Http::new(Some(&mock.certs().ca));
    assert!(client.try_send("GET", "/v2/", &[], b"").is_err());
    client.http = Http::with_client_certificate(mock.certs());
    assert_eq!(client.push_image("a", "1").status, 201);
}

#[test]
fn a_rule_acts_on_the_requests_that_it_names() {
    let (mock, client) = plain();
    mock.put_blob("a", b"x");
    let statuses = |n: usize| -> Vec<u16> { (0..n).map(|_| client.get("/v2/").status).collect() };
    let teapot = || Act::Respond(Response::new(418));
    for (when, expected) in [
        (on("GET", "/v2/"), [418, 418, 418]),
        (on("", "/v2/").nth(2), [200, 418, 200]),
        (on("GET", "/v*/").first(2), [418, 418, 200]),
        (on("GET", "").from(2).at(Origin::Registry), [200, 418, 418]),
        (on("PUT", "/v2/"), [200, 200, 200]),
        (on("GET", "/v2/*/blobs/"), [200, 200, 200]),
        (on("GET", "/v2/").at(Origin::Store), [200, 200, 200]),
    ] {
        let name = format!("{when:?}");
        mock.rule(when, teapot());
        assert_eq!(statuses(3), expected, "{name}");
        mock.clear_rules();
    }
    // Of two rules the first one acts, and both count.
    mock.rule(
        on("GET", "/v2/").nth(1),
        Act::Respond(Response::throttled()),
    );
    mock.rule(on("GET", "/v2/").first(2), teapot());
    assert_eq!(statuses(3), [429, 418, 200]);
    let throttled = Response::throttled();
    assert!(
        throttled
            .headers
            .contains(&("retry-after".to_owned(), "0".to_owned()))
    );
}

#[test]
fn answers_break_where_a_rule_says() {
    let (mock, client) = plain();
    let path = format!("/v2/a/blobs/{}", mock.put_blob("a", b"0123456789"));
    for act in [
        Act::Cut(4),
        Act::CutReset(4),
        Act::Reset,
        Act::Close,
        Act::LoseAnswer,
    ] {
        mock.rule(on("GET", "/blobs/"), act);
        assert!(client.try_send("GET", &path, &[], b"").is_err());
        mock.clear_rules();
    }
    assert_eq!(client.get(&path).body, b"0123456789");
    // Those that broke before an answer have no status on record.
    let statuses: Vec<_> = mock.requests().iter().map(|r| r.status).collect();
    assert_eq!(statuses[..2], [Some(200); 2]);
    assert_eq!(statuses.last(), Some(&Some(200)));
    assert!(mock.log().iter().any(|line| line.ends_with(" -")));
}

#[test]
fn answers_lie_where_a_rule_says() {
    let (mock, client) = plain();
    let digest = mock.put_blob("a", b"0123456789");
    let path = format!("/v2/a/blobs/{digest}");
    let lie = |act| {
        mock.clear_rules();
        mock.rule(on("", "/blobs/"), act);
    };
    lie(Act::change(|r| r.set("docker-content-digest", "sha256:00")));
    assert_eq!(
        client.get(&path).header("docker-content-digest"),
        "sha256:00"
    );
    lie(Act::change(|r| r.body.truncate(9)));
    assert_eq!(client.get(&path).body, b"012345678");
    lie(Act::change(|r| r.set("content-length", "11")));
    assert!(client.try_send("GET", &path, &[], b"").is_err());
    lie(Act::change(|r| r.set("transfer-encoding", "chunked")));
    assert_eq!(client.get(&path).body, b"0123456789");
    lie(Act::Raw(
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi".to_vec(),
    ));
    assert_eq!(client.get(&path).body, b"hi");
    lie(Act::Raw(b"not http at all\r\n\r\n".to_vec()));
    assert!(client.try_send("GET", &path, &[], b"").is_err());
    lie(Act::Respond(Response::redirect("/v2/")));
    assert_eq!(client.get(&path).header("location"), "/v2/");
    lie(Act::Respond(
        Response::error(503, "UNAVAILABLE", "later").header("retry-after", "0"),
    ));
    assert_eq!(
        (
            client.get(&path).status,
            client.get(&path).header("retry-after")
        ),
        (503, "0")
    );
}

#[test]
fn uploads_break_where_a_rule_says() {
    let (mock, client) = plain();
    let begin = || {
        client
            .send("POST", "/v2/a/blobs/uploads/", &[], b"")
            .header("location")
            .to_owned()
    };
    let put = |location: &str| client.try_send("PUT", &with_digest(location, b"abc"), &[], b"abc");

    mock.rule(on("PUT", "/uploads/"), Act::ResetUpload(1));
    assert!(put(&begin()).is_err());
    assert_eq!(mock.requests().last().unwrap().body_size, 1);
    assert_eq!(mock.blob("a", &sha256(b"abc")), None);
    mock.clear_rules();

    mock.rule(
        on("PUT", "/uploads/"),
        Act::RespondEarly(Response::error(413, "SIZE_INVALID", "")),
    );
    assert_eq!(put(&begin()).unwrap().status, 413);
    mock.clear_rules();

    // The blob has arrived although the client cannot know it.
    mock.rule(on("PUT", "/uploads/"), Act::LoseAnswer);
    assert!(put(&begin()).is_err());
    assert_eq!(mock.blob("a", &sha256(b"abc")), Some(b"abc".to_vec()));
}

#[test]
fn a_run_can_be_caught_while_an_answer_is_outstanding() {
    let sandbox = Sandbox::new();
    let mock = MockRegistry::plain();
    mock.put_blob("a", b"0123456789");
    let address = mock.base(Origin::Registry).replace("http://", "");
    let (host, port) = address.split_once(':').unwrap();
    let script = "import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(sys.argv[3].encode() + b'\\r\\n\\r\\n')
while s.recv(1): pass";
    for act in [Act::Stall, Act::CutStall(3)] {
        mock.mark();
        mock.clear_rules();
        mock.rule(on("GET", "/v2/"), act);
        let words = ["-ISc", script, host, port, "GET /v2/ HTTP/1.1"];
        let running = sandbox.program("python3", words).spawn();
        assert_eq!(mock.wait_for("GET", "/v2/").route(), "/v2/");
        drop(running);
    }
    mock.clear_rules();
    mock.rule(on("GET", "/v2/"), Act::Delay(Duration::from_millis(1)));
    assert_eq!(Client::of(&mock).get("/v2/").status, 200);
}

#[test]
fn a_stranger_asks_for_a_password_and_is_on_record() {
    let (mock, client) = plain();
    let answer = client.get(&format!("{}/v2/", mock.base(Origin::Stranger)));
    assert_eq!(
        (answer.status, answer.header("www-authenticate")),
        (401, "Basic realm=\"stranger\"")
    );
    let seen = &mock.requests()[0];
    assert_eq!(
        (seen.origin, seen.header("authorization")),
        (Origin::Stranger, None)
    );
}

#[test]
fn other_peoples_clients_can_use_it() {
    let sandbox = Sandbox::new();
    let mock = MockRegistry::plain();
    let image = format!("docker://{}:1", mock.repository("image"));
    sandbox.umoci(["init", "--layout", "in"]).ok();
    sandbox.umoci(["new", "--image", "in:1"]).ok();
    sandbox
        .skopeo(["copy", "--dest-tls-verify=false", "oci:in:1", &image])
        .ok();
    sandbox
        .skopeo(["copy", "--src-tls-verify=false", &image, "oci:out:1"])
        .ok();
    assert_eq!(mock.tags("image").len(), 1);
    // With tokens and blobs elsewhere, as a large registry does it.
    let mock = MockRegistry::start(Modes {
        auth: Auth::Bearer,
        redirect_blobs: true,
        relative_location: true,
        ..Modes::default()
    });
    let image = format!("docker://{}:1", mock.repository("image"));
    let user = format!("{USER}:{PASSWORD}");
    sandbox
        .skopeo([
            "copy",
            "--dest-tls-verify=false",
            "--dest-creds",
            &user,
            "oci:in:1",
            &image,
        ])
        .ok();
    sandbox
        .skopeo([
            "copy",
            "--src-tls-verify=false",
            "--src-creds",
            &user,
            &image,
            "oci:out:2",
        ])
        .ok();
    mock.assert_secret_stays(PASSWORD, &[Origin::Token]);
}
