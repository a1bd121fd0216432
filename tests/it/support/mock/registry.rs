//! The honest registry: the endpoints of the distribution specification over maps in memory.

use serde_json::{Value, json};

use super::state::{State, digest, presigned};
use super::{Request, Response, Shared, uploads};

/// Answers a request that was let in.
pub(super) fn answer(shared: &Shared, request: &Request, body: Vec<u8>) -> Response {
    let mut state = shared.state.lock().unwrap();
    if request.method == "HEAD" && shared.modes.no_head {
        return Response::error(405, "UNSUPPORTED", "HEAD is not supported");
    }
    let Some((name, kind, rest)) = route(request.route()) else {
        return match request.route() {
            "/v2/" => Response::json(200, &json!({})),
            _ => Response::error(404, "NOT_FOUND", "page not found"),
        };
    };
    let parts = name.split('/').count();
    if let Some(wanted) = shared.modes.name_parts.filter(|wanted| *wanted != parts) {
        let message = format!("repository names have {wanted} parts, this one has {parts}");
        return Response::error(400, "NAME_INVALID", &message);
    }
    match (request.method.as_str(), kind) {
        (_, "uploads") => uploads::answer(shared, &mut state, request, name, rest, body),
        ("GET" | "HEAD", "blobs") => blob(shared, &mut state, request, name, rest),
        ("GET" | "HEAD", "manifests") => manifest(&mut state, request, name, rest),
        ("PUT", "manifests") => put_manifest(shared, &mut state, request, name, rest, &body),
        ("DELETE", "manifests") => delete_manifest(&mut state, name, rest),
        ("GET", "tags") => tags(shared, &mut state, request, name),
        ("GET", "referrers") if !shared.modes.no_referrers => {
            referrers(&mut state, request, name, rest)
        }
        _ => Response::error(404, "UNSUPPORTED", "no such endpoint"),
    }
}

/// Takes an address apart: repository, kind of thing, which one.
pub(super) fn route(path: &str) -> Option<(&str, &str, &str)> {
    let path = path.strip_prefix("/v2/")?;
    for (middle, kind) in [
        ("/blobs/uploads/", "uploads"),
        ("/blobs/", "blobs"),
        ("/manifests/", "manifests"),
        ("/tags/", "tags"),
        ("/referrers/", "referrers"),
    ] {
        if let Some((name, rest)) = path.rsplit_once(middle) {
            return Some((name, kind, rest));
        }
    }
    None
}

fn blob(
    shared: &Shared,
    state: &mut State,
    request: &Request,
    name: &str,
    digest: &str,
) -> Response {
    let Some(bytes) = state.repository(name).blobs.get(digest) else {
        return Response::error(404, "BLOB_UNKNOWN", "blob unknown to registry");
    };
    if shared.modes.redirect_blobs && request.method == "GET" {
        return Response::redirect(&presigned(shared, &format!("/store/{digest}")));
    }
    let response = ranged(request, bytes, shared.modes.no_ranges);
    response.header("docker-content-digest", digest)
}

/// Bytes, or the part of them that was asked for.
pub(super) fn ranged(request: &Request, bytes: &[u8], no_ranges: bool) -> Response {
    let asked = request.header("range").filter(|_| !no_ranges);
    let whole = Response::new(200).header("content-type", "application/octet-stream");
    let Some((from, to)) = asked.and_then(|r| r.strip_prefix("bytes=")?.split_once('-')) else {
        return whole.body(bytes);
    };
    let size = bytes.len();
    let from: usize = from.parse().unwrap_or(usize::MAX);
    let to = to
        .parse()
        .map_or(size, |to: usize| size.min(to.saturating_add(1)));
    match bytes.get(from..to) {
        Some(part) if !part.is_empty() => {
            let range = format!("bytes {from}-{}/{size}", to - 1);
            Response {
                status: 206,
                ..whole
            }
            .header("content-range", &range)
            .body(part)
        }
        _ => Response::new(416).header("content-range", &format!("bytes */{size}")),
    }
}

fn manifest(state: &mut State, request: &Request, name: &str, reference: &str) -> Response {
    let Some((digest, manifest)) = state.repository(name).manifest(reference) else {
        return Response::error(404, "MANIFEST_UNKNOWN", "manifest unknown");
    };
    // As the common server does: to someone who does not ask for the type, it is not there.
    let accepted = |a: &str| a.contains(&manifest.media_type) || a.contains("*/*");
    if !request
        .headers
        .iter()
        .any(|(n, v)| n == "accept" && accepted(v))
    {
        return Response::error(404, "MANIFEST_UNKNOWN", "not in the accepted media types");
    }
    Response::new(200)
        .header("content-type", &manifest.media_type)
        .header("docker-content-digest", digest)
        .body(manifest.bytes.clone())
}

fn put_manifest(
    shared: &Shared,
    state: &mut State,
    request: &Request,
    name: &str,
    reference: &str,
    body: &[u8],
) -> Response {
    let modes = &shared.modes;
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return Response::error(400, "MANIFEST_INVALID", "not JSON");
    };
    if body.len() > 4 << 20 {
        return Response::error(413, "SIZE_INVALID", "manifest too large");
    }
    let media_type = request.header("content-type").unwrap_or_default();
    if value["mediaType"]
        .as_str()
        .is_some_and(|own| own != media_type)
    {
        return Response::error(400, "MANIFEST_INVALID", "mediaType is not the Content-Type");
    }
    if modes.refuse_artifact_type && value.get("artifactType").is_some() {
        return Response::error(400, "MANIFEST_INVALID", "unknown field artifactType");
    }
    let named: Vec<&Value> = [&value["config"]]
        .into_iter()
        .filter(|config| config.is_object())
        .chain(
            ["layers", "manifests"]
                .iter()
                .filter_map(|k| value[k].as_array())
                .flatten(),
        )
        .collect();
    if let Some(allowed) = modes.media_types {
        let types = named
            .iter()
            .map(|d| &d["mediaType"])
            .chain([&value["artifactType"]]);
        for media_type in types.filter_map(Value::as_str).chain([media_type]) {
            if !allowed.contains(&media_type) {
                let message = format!("unknown media type: {media_type}");
                return Response::error(400, "MANIFEST_INVALID", &message);
            }
        }
    }
    let repository = state.repository(name);
    for digest in named.iter().filter_map(|d| d["digest"].as_str()) {
        let known = repository.blobs.contains_key(digest);
        if !known && !repository.manifests.contains_key(digest) {
            return Response::error(404, "MANIFEST_BLOB_UNKNOWN", digest);
        }
    }
    let is_digest = reference.contains(':');
    if is_digest && digest(reference, body) != reference {
        return Response::error(400, "DIGEST_INVALID", "the manifest has another digest");
    }
    if modes.immutable_tags && repository.tags.contains_key(reference) {
        let message = format!("tag {reference} exists and the repository is immutable");
        return Response::error(400, "TAG_INVALID", &message);
    }
    let digest = repository.put_manifest(media_type, body);
    if !is_digest {
        repository.tags.insert(reference.to_owned(), digest.clone());
    }
    let mut response = Response::new(201)
        .header("location", &format!("/v2/{name}/manifests/{digest}"))
        .header("docker-content-digest", &digest);
    if let (Some(subject), false) = (value["subject"]["digest"].as_str(), modes.no_referrers) {
        response.set("oci-subject", subject);
    }
    response
}

/// Deletes a tag, or a manifest with every tag that stands for it.
fn delete_manifest(state: &mut State, name: &str, reference: &str) -> Response {
    let repository = state.repository(name);
    let known = repository.manifest(reference).is_some();
    if repository.tags.remove(reference).is_none() {
        repository.manifests.remove(reference);
        repository.tags.retain(|_, digest| digest != reference);
    }
    if known {
        Response::new(202)
    } else {
        Response::error(404, "MANIFEST_UNKNOWN", "manifest unknown")
    }
}

fn tags(shared: &Shared, state: &mut State, request: &Request, name: &str) -> Response {
    let Some(repository) = state.repositories.get(name) else {
        return Response::error(404, "NAME_UNKNOWN", "repository name not known to registry");
    };
    let last = request.query("last").pop().unwrap_or_default();
    let asked = request.query("n").pop().and_then(|n| n.parse().ok());
    let page = asked
        .unwrap_or(usize::MAX)
        .min(shared.modes.tag_page.unwrap_or(usize::MAX));
    let mut rest = repository.tags.keys().filter(|tag| **tag > last);
    let tags: Vec<_> = rest.by_ref().take(page).collect();
    let response = Response::json(200, &json!({"name": name, "tags": tags}));
    match (rest.next(), tags.last()) {
        (Some(_), Some(last)) => {
            let link = format!("</v2/{name}/tags/list?n={page}&last={last}>; rel=\"next\"");
            response.header("link", &link)
        }
        _ => response,
    }
}

fn referrers(state: &mut State, request: &Request, name: &str, subject: &str) -> Response {
    let wanted = request.query("artifactType").pop();
    let mut found = Vec::new();
    for (digest, manifest) in &state.repository(name).manifests {
        let value: Value = serde_json::from_slice(&manifest.bytes).unwrap_or_default();
        // The artifact type of a manifest without one is its config's media type.
        let own = value["artifactType"]
            .as_str()
            .or(value["config"]["mediaType"].as_str());
        let fits = wanted.is_none() || wanted.as_deref() == own;
        if value["subject"]["digest"] == subject && fits {
            found.push(json!({
                "mediaType": manifest.media_type,
                "digest": digest,
                "size": manifest.bytes.len(),
                "artifactType": own,
                "annotations": value["annotations"],
            }));
        }
    }
    let index = "application/vnd.oci.image.index.v1+json";
    let value = json!({"schemaVersion": 2, "mediaType": index, "manifests": found});
    let response = Response::json(200, &value).header("content-type", index);
    match wanted {
        Some(_) => response.header("oci-filters-applied", "artifactType"),
        None => response,
    }
}
