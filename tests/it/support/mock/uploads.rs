//! Uploads of blobs, in the registry or in the store beside it, and the store itself.

use super::state::{SIGNATURE, State, Upload, digest, presigned};
use super::{Origin, Request, Response, Shared, registry};

/// Answers what is below `/v2/NAME/blobs/uploads/`.
pub(super) fn answer(
    shared: &Shared,
    state: &mut State,
    request: &Request,
    name: &str,
    id: &str,
    body: Vec<u8>,
) -> Response {
    if request.method == "POST" && id.is_empty() {
        return begin(shared, state, request, name);
    }
    session(shared, state, request, id, body)
}

/// Mounts the blob from where it is, or opens a session.
fn begin(shared: &Shared, state: &mut State, request: &Request, name: &str) -> Response {
    let mount = (request.query("mount").pop(), request.query("from").pop());
    if let ((Some(digest), Some(from)), false) = (mount, shared.modes.no_mount)
        && let Some(bytes) = state.repository(&from).blobs.get(&digest).cloned()
    {
        state.repository(name).blobs.insert(digest.clone(), bytes);
        return created(name, &digest);
    }
    let n = state.next();
    let id = format!("upload-{n}");
    let upload = Upload {
        repository: name.to_owned(),
        bytes: Vec::new(),
        state: String::new(),
    };
    state.uploads.insert(id.clone(), upload);
    go_on(shared, state, 202, &id)
}

/// One request of a session: more bytes, the last bytes, a question, or the end of it.
fn session(
    shared: &Shared,
    state: &mut State,
    request: &Request,
    id: &str,
    body: Vec<u8>,
) -> Response {
    let Some(upload) = state.uploads.get_mut(id) else {
        return Response::error(
            404,
            "BLOB_UPLOAD_UNKNOWN",
            "blob upload unknown to registry",
        );
    };
    if !request.path.contains(&upload.state) {
        return Response::error(
            400,
            "BLOB_UPLOAD_INVALID",
            "the state is not the last one given",
        );
    }
    if shared
        .modes
        .chunk_limit
        .is_some_and(|limit| body.len() > limit)
    {
        return Response::error(413, "SIZE_INVALID", "chunk too large");
    }
    let start = request
        .header("content-range")
        .and_then(|r| r.split('-').next()?.parse().ok());
    if start.is_some_and(|start: usize| start != upload.bytes.len()) {
        return go_on(shared, state, 416, id);
    }
    match request.method.as_str() {
        "GET" => go_on(shared, state, 204, id),
        "DELETE" => {
            state.uploads.remove(id);
            Response::new(204)
        }
        "PATCH" => {
            let kept = shared.modes.chunk_keeps.unwrap_or(usize::MAX);
            upload.bytes.extend(&body[..kept.min(body.len())]);
            go_on(shared, state, 202, id)
        }
        "PUT" => {
            upload.bytes.extend(body);
            let wanted = request.query("digest").pop().unwrap_or_default();
            let found = digest(&wanted, &upload.bytes);
            let upload = state.uploads.remove(id).unwrap();
            if found != wanted {
                let message = format!("provided digest {wanted}, content has {found}");
                return Response::error(400, "DIGEST_INVALID", &message);
            }
            let blobs = &mut state.repository(&upload.repository).blobs;
            blobs.insert(wanted.clone(), upload.bytes);
            created(&upload.repository, &wanted)
        }
        _ => Response::error(405, "UNSUPPORTED", "no such method here"),
    }
}

/// An answer that keeps a session open, with the next `Location` in the shape that the modes ask for.
fn go_on(shared: &Shared, state: &mut State, status: u16, id: &str) -> Response {
    let n = state.next();
    let upload = state.uploads.get_mut(id).unwrap();
    let path = format!("/v2/{}/blobs/uploads/{id}", upload.repository);
    let mut location = match () {
        () if shared.modes.upload_elsewhere => presigned(shared, &format!("/upload/{id}")),
        () if shared.modes.relative_location => path,
        () => format!("{}{path}", shared.base(Origin::Registry)),
    };
    if shared.modes.location_state {
        // Encoded in a way that decoding and encoding again would not give back.
        upload.state = format!("_state=n{n}%2Fa~b%7E%3d%3D+c");
        location += if location.contains('?') { "&" } else { "?" };
        location += &upload.state;
    }
    // The range of an empty upload is written like this by the common server.
    let end = upload.bytes.len().saturating_sub(1);
    Response::new(status)
        .header("location", &location)
        .header("range", &format!("0-{end}"))
        .header("docker-upload-uuid", id)
}

fn created(name: &str, digest: &str) -> Response {
    Response::new(201)
        .header("location", &format!("/v2/{name}/blobs/{digest}"))
        .header("docker-content-digest", digest)
}

/// The storage behind the registry. It takes a signature in the query and nothing else: with an
/// `Authorization` beside it the answer is 400, as the large ones do it.
pub(super) fn store(shared: &Shared, request: &Request, body: Vec<u8>) -> Response {
    let xml = |status, code: &str| {
        let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
        Response::new(status)
            .header("content-type", "application/xml")
            .body(body)
    };
    if request.header("authorization").is_some() {
        return xml(400, "InvalidArgument");
    }
    if request.query("X-Amz-Signature") != [SIGNATURE] {
        return xml(403, "AccessDenied");
    }
    let mut state = shared.state.lock().unwrap();
    if let Some(id) = request.route().strip_prefix("/upload/") {
        return session(shared, &mut state, request, id, body);
    }
    let digest = request.route().strip_prefix("/store/").unwrap_or_default();
    let mut repositories = state.repositories.values();
    match repositories.find_map(|repository| repository.blobs.get(digest)) {
        Some(bytes) => registry::ranged(request, bytes, shared.modes.no_ranges),
        None => xml(404, "NoSuchKey"),
    }
}
