//! What registries answered about images: all that was asked, or why not, once for each reason.

use manifest_bundle::escape::shown;
use manifest_bundle::images::{ContainerImage, Grade};
use manifest_bundle::ops::lock::Digests;
use manifest_bundle::{Error, Kind, Result};

use super::super::source_files::SourceFiles;
use crate::report::counted;
use crate::settings::Settings;

/// The images that registries have, with what they say of each, and those that they do not have.
#[derive(Debug, Default)]
pub(super) struct Found<'i> {
    pub(super) images: Vec<&'i ContainerImage>,
    pub(super) digests: Vec<Digests>,
    pub(super) missing: Vec<&'i ContainerImage>,
}

/// The images of one reason.
struct Failed<'i> {
    reason: String,
    error: Error,
    images: Vec<&'i ContainerImage>,
}

/// Returns what was found, or says why it was not; with `check`, that a registry does not have an image is an answer as well.
pub(super) fn sort<'i>(
    images: &[&'i ContainerImage],
    answers: Vec<Result<Digests>>,
    check: bool,
    files: &SourceFiles,
    settings: &Settings,
) -> Result<Found<'i>> {
    let mut found = Found::default();
    let mut failed: Vec<Failed<'i>> = Vec::new();
    for (image, answer) in images.iter().copied().zip(answers) {
        let error = match answer {
            Ok(digests) => {
                found.images.push(image);
                found.digests.push(digests);
                continue;
            }
            Err(error) => error,
        };
        if check && error.kind() == Kind::NotFound {
            found.missing.push(image);
            continue;
        }
        let why = reason(&error, image);
        let same = |one: &&mut Failed<'_>| one.reason == why;
        match failed.iter_mut().find(same) {
            Some(one) => one.images.push(image),
            None => failed.push(Failed {
                reason: why,
                error,
                images: vec![image],
            }),
        }
    }
    let mut failed = failed.into_iter();
    let Some(first) = failed.next() else {
        return Ok(found);
    };
    let mut others = 0_usize;
    for one in failed {
        others = others.saturating_add(one.images.len());
        let names = named(&one.images, 0);
        settings.talk.warn(format!("{names}: {}", one.reason));
    }
    Err(of_failed(first, others, files))
}

/// Returns why an image was not found, without its name.
fn reason(error: &Error, image: &ContainerImage) -> String {
    let message = error.message();
    let places = [
        image.reference.to_string(),
        image.reference.repository.to_string(),
    ];
    let bare = places.iter().find_map(|place| {
        let rest = message.strip_prefix(place.as_str())?;
        rest.strip_prefix(": ")
    });
    bare.unwrap_or(message).to_owned()
}

/// Names the first of some images, and counts the others, and those that fail for other reasons.
fn named(images: &[&ContainerImage], others: usize) -> String {
    let first = images.first().map_or("", |image| image.written());
    let more = match images.len().saturating_sub(1) {
        0 => None,
        more => Some(counted(more, "more image")),
    };
    let reason = if others == 1 {
        "another reason"
    } else {
        "other reasons"
    };
    let counts = match (more, others) {
        (None, 0) => String::new(),
        (Some(more), 0) => format!(" (and {more})"),
        (None, _) => format!(" (and {} for {reason})", counted(others, "more image")),
        (Some(more), _) => format!(" (and {more}, and {others} for {reason})"),
    };
    format!("`{}`{counts}", shown(first))
}

/// Makes the error about the images of one reason.
fn of_failed(failed: Failed<'_>, others: usize, files: &SourceFiles) -> Error {
    let first = failed.images.first();
    let place = first.and_then(|image| image.places.first());
    let place = place.map_or_else(String::new, |place| {
        let file = shown(&files.place_of(place.file.as_str()));
        format!("{file}:{}: ", place.line)
    });
    let is_likely = first.is_some_and(|image| image.grade == Grade::Likely);
    let hint = if is_likely {
        Some("it only looks like an image; --certain leaves out what is likely only".to_owned())
    } else {
        failed.error.detail().hint.clone()
    };
    let names = named(&failed.images, others);
    let error = failed.error.at(format_args!("{place}{names}"));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
