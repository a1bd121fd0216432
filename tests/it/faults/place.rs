//! The requests that each operation makes, by a name that says what they are for.

use super::operate::Sample;
use crate::support::{Auth, Modes, Origin, When, on};

/// One kind of request of one operation.
pub(super) struct Place {
    /// Which requests it is, without their number.
    pub(super) when: When,
    /// How many such requests come before the one that is meant.
    pub(super) before: usize,
    /// Its path, where it is always the same.
    pub(super) path: String,
    /// The bytes of an honest answer's body, where they are always the same.
    pub(super) length: usize,
    /// The habits of the registry.
    pub(super) modes: Modes,
}

impl Place {
    /// Finds a place by its name.
    pub(super) fn of(operation: &str, name: &str) -> Self {
        let sample = Sample::get();
        let repository = match operation {
            "push" => "new",
            "copy" => "to",
            _ => "demo",
        };
        let manifest = sample.manifest_bytes().len();
        let (method, path, length) = match name {
            // The source.
            "manifest" => ("GET", "/v2/demo/manifests/1.0.0".to_owned(), manifest),
            "config" => blob("GET", &sample.config),
            "layer" | "storage" => blob("GET", &sample.layer),
            "referrers" => ("GET", format!("/v2/demo/referrers/{}", sample.digest()), 0),
            "fallback" => (
                "GET",
                format!("/v2/demo/manifests/{}", sample.digest().replace(':', "-")),
                0,
            ),
            "signature" => (
                "HEAD",
                format!(
                    "/v2/demo/manifests/{}.sig",
                    sample.digest().replace(':', "-")
                ),
                0,
            ),
            // The destination.
            "tag" | "confirm" => ("HEAD", format!("/v2/{repository}/manifests/Stable"), 0),
            "look" => ("HEAD", "/blobs/sha256:".to_owned(), 0),
            "mount" => ("POST", "/blobs/uploads/?mount=".to_owned(), 0),
            "begin" => ("POST", "/v2/new/blobs/uploads/".to_owned(), 0),
            "send" => ("PUT", "/blobs/uploads/".to_owned(), 0),
            "name" => ("PUT", format!("/v2/{repository}/manifests/Stable"), 0),
            // The registry.
            "list" | "page" => ("GET", "/v2/demo/tags/list".to_owned(), 0),
            "ping" => ("GET", "/v2/".to_owned(), 2),
            "token" => ("GET", "/token".to_owned(), 0),
            _ => panic!("no place is called `{name}`"),
        };
        let pattern = match name {
            "storage" => path.replace("/v2/demo/blobs/", "/store/"),
            _ => path.clone(),
        };
        let when = on(method, &pattern);
        let when = match name {
            "token" => when.at(Origin::Token),
            "storage" => when.at(Origin::Store),
            _ => when.at(Origin::Registry).authorized(),
        };
        let modes = Modes {
            auth: if name == "token" {
                Auth::Bearer
            } else {
                Auth::Basic
            },
            no_mount: operation == "copy",
            redirect_blobs: name == "storage",
            no_referrers: name == "fallback",
            tag_page: (name == "page").then_some(1),
            ..Modes::default()
        };
        let before = usize::from(matches!(name, "confirm" | "page"));
        Self {
            when,
            before,
            path,
            length,
            modes,
        }
    }
}

fn blob(
    method: &'static str,
    (digest, bytes): &(String, Vec<u8>),
) -> (&'static str, String, usize) {
    (method, format!("/v2/demo/blobs/{digest}"), bytes.len())
}
