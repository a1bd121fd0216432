//! What a mock registry holds: content, tags, uploads under way, tokens, and the record of requests.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use sha2::{Digest, Sha256, Sha512};

use super::acts::Rule;
use super::{Request, Shared};
use crate::support::hex;

/// Everything that changes, behind one lock.
#[derive(Default)]
pub(super) struct State {
    pub(super) repositories: BTreeMap<String, Repository>,
    pub(super) uploads: BTreeMap<String, Upload>,
    pub(super) tokens: Vec<Token>,
    pub(super) requests: Vec<Request>,
    /// How many of them the test does not care for any more.
    pub(super) mark: usize,
    pub(super) rules: Vec<Rule>,
    /// Who is connected, at any origin.
    pub(super) open: BTreeSet<SocketAddr>,
    /// Makes every upload and state of this registry another one.
    pub(super) counter: u32,
}

#[derive(Default)]
pub(super) struct Repository {
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// By digest.
    pub(super) manifests: BTreeMap<String, Manifest>,
    pub(super) tags: BTreeMap<String, String>,
}

pub(super) struct Manifest {
    pub(super) media_type: String,
    pub(super) bytes: Vec<u8>,
}

/// An upload session.
pub(super) struct Upload {
    pub(super) repository: String,
    pub(super) bytes: Vec<u8>,
    /// What the query of the next request must hold, letter for letter.
    pub(super) state: String,
}

pub(super) struct Token {
    pub(super) text: String,
    /// `repository:name:pull,push`, as granted.
    pub(super) scopes: Vec<String>,
    /// Requests that it is still good for.
    pub(super) left: u32,
}

impl State {
    pub(super) fn repository(&mut self, name: &str) -> &mut Repository {
        self.repositories.entry(name.to_owned()).or_default()
    }

    pub(super) fn marked(&self) -> &[Request] {
        &self.requests[self.mark..]
    }

    pub(super) fn next(&mut self) -> u32 {
        self.counter += 1;
        self.counter
    }
}

impl Repository {
    pub(super) fn put_blob(&mut self, bytes: &[u8]) -> String {
        let digest = digest("sha256", bytes);
        self.blobs.insert(digest.clone(), bytes.to_owned());
        digest
    }

    pub(super) fn put_manifest(&mut self, media_type: &str, bytes: &[u8]) -> String {
        let digest = digest("sha256", bytes);
        let manifest = Manifest {
            media_type: media_type.to_owned(),
            bytes: bytes.to_owned(),
        };
        self.manifests.insert(digest.clone(), manifest);
        digest
    }

    /// A manifest and its digest, by tag or digest.
    pub(super) fn manifest(&self, reference: &str) -> Option<(&str, &Manifest)> {
        let digest = self.tags.get(reference).map_or(reference, String::as_str);
        let (digest, manifest) = self.manifests.get_key_value(digest)?;
        Some((digest, manifest))
    }
}

/// The digest of bytes with the algorithm that `like` (a digest or its algorithm) names.
pub(super) fn digest(like: &str, bytes: &[u8]) -> String {
    match like.split(':').next() {
        Some("sha512") => format!("sha512:{}", hex(&Sha512::digest(bytes))),
        _ => format!("sha256:{}", hex(&Sha256::digest(bytes))),
    }
}

/// The signature that a store asks for in the query, as presigned addresses have it.
pub(crate) const SIGNATURE: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// The presigned address of something in the store.
pub(super) fn presigned(shared: &Shared, path: &str) -> String {
    let base = shared.base(super::Origin::Store);
    format!("{base}{path}?X-Amz-Signature={SIGNATURE}")
}
