//! Names of images: what is one, what it is in full, and what only looks like one.

use crate::invalid::Invalid;
use crate::reference::Reference;
use crate::tag::Tag;

/// Reads the name of an image as container runtimes read it, and returns it in full: without a registry it is one of Docker Hub,
/// without tag and digest its tag is `latest`.
pub fn full_name(text: &str) -> Result<Reference, Invalid> {
    let fail = |why: &'static str| Err(Invalid::new("image", text, why));
    if text.contains("://") {
        return fail("has a scheme, which images have not");
    }
    // A bundle's reference may be spelled with a `+`, an image's may not.
    if text.contains('+') {
        return fail("may hold only letters, digits, `.`, `_`, `-`, `/`, `:` and `@`");
    }
    // Without a slash, what is before `@` would be taken for somebody's password.
    let name = text.split('@').next().unwrap_or_default();
    let library = if name.contains('/') {
        ""
    } else {
        "docker.io/library/"
    };
    let mut reference: Reference = format!("oci://{library}{text}").parse()?;
    if reference.tag.is_none() && reference.digest.is_none() {
        reference.tag = Some("latest".parse::<Tag>()?);
    }
    Ok(reference)
}

/// What surrounds a text that may be an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Something that speaks of images: a key, a variable or a flag.
    Image,
    /// Anything.
    Other,
}

/// Tells whether a text looks like an image in a place whose meaning is not known.
pub(super) fn looks_like_one(text: &str, near: Near) -> bool {
    // Cheap looks first: most of what comes here is nothing of the kind.
    if text.len() > 600 || !text.contains(['/', ':']) || full_name(text).is_err() {
        return false;
    }
    let (name, digest) = text.split_once('@').unwrap_or((text, ""));
    let slash = name.rfind('/').map_or(0, |at| at.saturating_add(1));
    let last = name.get(slash..).unwrap_or_default();
    let (last, tag) = last.split_once(':').unwrap_or((last, ""));
    if !last.bytes().any(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    if !digest.is_empty() {
        return true;
    }
    let host = name
        .split_once('/')
        .map(|(first, _)| first)
        .filter(|host| is_public_host(host));
    match near {
        Near::Image => !tag.is_empty() || host.is_some() || (slash > 0 && !is_file_name(last)),
        Near::Other => !tag.is_empty() && host.is_some(),
    }
}

/// Tells whether a first component is the name of a registry, and not that of a service in the cluster.
fn is_public_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').unwrap_or((host, ""));
    let last = name.rsplit('.').next().unwrap_or_default();
    if matches!(last, "svc" | "local") {
        return false;
    }
    !port.is_empty()
        || name == "localhost"
        || (name.contains('.') && last.len() > 1 && last.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Tells whether the last component of a path is a file of a kind that stands near images in the other sense.
fn is_file_name(name: &str) -> bool {
    const KINDS: &[&str] = &[
        "gif", "html", "ico", "iso", "jpeg", "jpg", "json", "png", "qcow2", "raw", "svg", "webp",
        "yaml", "yml",
    ];
    name.rsplit_once('.')
        .is_some_and(|(_, kind)| KINDS.contains(&kind))
}

/// Says what a text is that stands in the place of an image and is none; none where it is only left empty.
pub(super) fn what_else(text: &str) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let what = if text.contains("{{") || text.contains("[[") {
        "a template"
    } else if text.contains("$(") || text.contains("${") || text.starts_with('$') {
        "a variable"
    } else if text.contains("://") {
        "the address of something that is built"
    } else if text.contains(['*', '?', '!', '|', '<', '>']) {
        "a pattern"
    } else {
        return Some(match full_name(text) {
            Ok(_) => "a word that is replaced".to_owned(),
            Err(invalid) => format!("no image: {invalid}"),
        });
    };
    Some(what.to_owned())
}
