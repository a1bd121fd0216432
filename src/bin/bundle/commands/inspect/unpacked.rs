//! A directory that cannot be packed, as far as it can be read: what it says of itself, its files and its objects.
//!
//! There is no image of it, and so no digest.

use std::num::NonZeroUsize;
use std::path::Path;

use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, ReadOptions};
use manifest_bundle::escape::shown;
use manifest_bundle::metadata::{self, FILE, key};
use manifest_bundle::oci::Annotations;
use manifest_bundle::ops::pack;
use manifest_bundle::validate::Options;
use manifest_bundle::{Error, Result};
use serde_json::{Value, json};

use super::{extend, files_value, lock, locked, objects_value, table};
use crate::commands::lock::pins;
use crate::commands::record::Record;
use crate::commands::source::PackArgs;
use crate::output::Answer;
use crate::settings::Settings;

/// Shows a directory; `why` is the error of packing it.
pub(super) fn show(
    path: &Path,
    why: &Error,
    args: &PackArgs,
    metadata_only: bool,
    settings: &Settings,
) -> Result<Answer> {
    let mut spool = Spool::new(&settings.spool_directory);
    let read = ReadOptions {
        collect_refused: true,
        ..args.read.options()
    };
    let source = directory::read(path, &read, &settings.limits, &mut spool)?;
    let place = shown(&path.to_string_lossy());
    let talk = &settings.talk;
    talk.warn(format!(
        "`{place}` is no bundle yet: {}; `bundle validate` says all that is wrong",
        why.message()
    ));
    let mut left_out = Vec::new();
    for one in &source.left_out {
        let (path, rule) = (shown(&one.path), shown(&one.rule));
        talk.say(format!("left out `{path}`: {rule}"));
        left_out.push(json!({ "path": one.path, "rule": one.rule }));
    }
    let identity = args.identity.identity()?;
    let limits = &settings.limits;
    let options = Options {
        threads: NonZeroUsize::new(settings.threads).unwrap_or(NonZeroUsize::MIN),
        ..Options::default()
    };
    let report = pack::check(&source, &identity, args.olm, limits, &options)?;
    let file = source.files.get(FILE);
    let bytes = file.and_then(|content| content.to_bytes().ok());
    // Metadata that cannot be read says nothing.
    let said = match report.metadata {
        Some(metadata) => metadata.annotations,
        None => metadata::fill(
            bytes.as_deref(),
            &identity,
            None,
            &Annotations::new(),
            limits,
        )
        .map(|filled| filled.annotations)
        .unwrap_or_default(),
    };
    let get = |key: &str| said.get(key);
    let mut text = identity_lines(&get);
    let mut value = Record::none();
    let mut more = json!({
        "package": get(key::PACKAGE),
        "version": get(key::VERSION),
        "operatorId": get(key::OPERATOR_ID),
        "minOperatorVersion": get(key::MIN_OPERATOR_VERSION),
        "leftOut": left_out,
        "annotations": said,
        "parts": Value::Array(Vec::new()),
    });
    if !metadata_only {
        let lock = lock(&source.files, limits);
        text.extend(locked(lock.as_ref()));
        text.push(format!("files: {}", source.files.len()));
        text.push(format!("objects: {}", report.objects.len()));
        text.extend(table(&report.objects));
        let contents = json!({
            "files": files_value(&source.files),
            "objects": objects_value(&report.objects),
            "differences": Value::Array(Vec::new()),
            "images": lock.as_ref().and_then(|lock| lock.as_ref().ok()).map(pins),
        });
        extend(&mut more, &contents);
    }
    extend(&mut value, &more);
    Ok(Answer::new(text.join("\n"), value))
}

/// Writes who the bundle will be, as far as that is said.
fn identity_lines<'a>(get: &impl Fn(&str) -> Option<&'a String>) -> Vec<String> {
    let mut lines = vec!["reference: none".to_owned()];
    for (name, key) in [
        ("package", key::PACKAGE),
        ("version", key::VERSION),
        ("operator id", key::OPERATOR_ID),
        ("minimum operator version", key::MIN_OPERATOR_VERSION),
        ("minimum Kubernetes version", key::MIN_KUBERNETES_VERSION),
        ("mediatype", key::MEDIATYPE),
    ] {
        let value = get(key).map_or_else(|| "none".to_owned(), |value| shown(value));
        lines.push(format!("{name}: {value}"));
    }
    if let Some(channels) = get(key::CHANNELS) {
        lines.push(format!("channels: {}", shown(channels)));
    }
    lines
}
