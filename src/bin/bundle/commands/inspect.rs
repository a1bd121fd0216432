//! `bundle inspect`: what a bundle is and what is in it.

mod unpacked;

use std::num::NonZeroUsize;

use manifest_bundle::bundle::Files;
use manifest_bundle::escape::shown;
use manifest_bundle::expectation::{self, Expectations};
use manifest_bundle::image;
use manifest_bundle::images::{LOCK, Lock};
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata::{Metadata, key};
use manifest_bundle::objects::Summary;
use manifest_bundle::oci::{Manifest, ManifestBlob};
use manifest_bundle::ops::load::{self, Asked, Loaded};
use manifest_bundle::ops::open::{self, Place};
use manifest_bundle::reference::Location;
use manifest_bundle::validate::{self, Options};
use manifest_bundle::{Error, Kind, Result};
use serde_json::{Value, json};

use super::channel;
use super::lock::pins;
use super::record::Record;
use super::resolve::{self, ChannelArgs};
use super::source::{self, Opened, PackArgs};
use crate::args::{AccessArgs, RunningArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Show what a bundle is and what is in it
///
/// Of the index of a channel, what it lists. A directory that cannot be packed is shown as far as it can be read. Of a bundle that is packed already, --package,
/// --version and --operator-id are expectations, as `pull` has them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle inspect ghcr.io/team/etcd:3.5.0
  bundle inspect ghcr.io/team/etcd --channel stable --operator-id etcd-manager
  bundle inspect etcd.tar --format json")]
pub(crate) struct Args {
    /// A directory, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// Fetch the manifest only
    #[arg(long)]
    metadata_only: bool,
    #[command(flatten)]
    pack: PackArgs,
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let mut pack = args.pack.clone();
    let mut expected = args.running.expectations(&settings.talk);
    if args.channel.channel.is_some() {
        pack.identity
            .take_expectations(&mut expected, &settings.talk)?;
    }
    let source = resolve::pin(&args.source, &args.channel, &expected, &reach, settings).await?;
    let opened = if matches!(source, Location::Stream) {
        source::open(&source, &pack, &reach, settings).await?
    } else {
        let place = open::open(&source, &reach).await?;
        if let Place::Directory(path) = &place {
            match source::open_place(place.clone(), &source, &pack, settings) {
                // What is no bundle yet is looked at all the same, unless something is expected of it.
                Err(error)
                    if matches!(error.kind(), Kind::Invalid | Kind::Unsafe)
                        && expected.is_empty() =>
                {
                    return unpacked::show(path, &error, &pack, args.metadata_only, settings);
                }
                opened => opened?,
            }
        } else {
            pack.identity
                .take_expectations(&mut expected, &settings.talk)?;
            source::open_place(place, &source, &pack, settings)?
        }
    };
    let manifest = opened.manifest(&reach).await?;
    if expected.is_empty()
        && let Some(answer) = channel::of_index(&manifest, opened.store.as_ref(), &reach.limits)
    {
        return Ok(answer);
    }
    if args.metadata_only {
        return from_manifest(&opened, &manifest, &expected);
    }
    let loaded = load::verify(opened.store.as_ref(), manifest, &Asked::default(), &reach).await?;
    require(&loaded.unpacked.bundle.metadata, &expected, &opened)?;
    let threads = NonZeroUsize::new(settings.threads).unwrap_or(NonZeroUsize::MIN);
    let options = Options {
        needs_metadata: true,
        threads,
        ..Options::default()
    };
    let report = validate::validate(&loaded.unpacked.bundle.files, &settings.limits, &options)?;
    let mut record = record(
        &opened,
        &loaded.image.manifest,
        &loaded.unpacked.bundle.metadata,
    );
    record.size = Some(loaded.image.size());
    record.leave_out(&loaded.unpacked.left_out, settings);
    whole(&record, &loaded, &report.objects, &settings.limits)
}

/// Refuses a bundle that is not what is expected; with whatever tag it has it may be looked at.
fn require(metadata: &Metadata, expected: &Expectations, opened: &Opened) -> Result<()> {
    expectation::require(&expectation::check(metadata, None, expected))
        .map_err(|error| error.at(opened.store.place()))
}

fn record(opened: &Opened, manifest: &ManifestBlob, metadata: &Metadata) -> Record {
    let mut record = Record::of_store(
        opened.store.as_ref(),
        manifest.descriptor.digest,
        opened.tag.as_ref(),
    );
    record.metadata = Some(metadata.clone());
    record.left_out = opened.packed.as_ref().map(|packed| packed.left_out.clone());
    record.added = opened.packed.as_ref().map(|packed| packed.added.clone());
    record
}

/// Shows what the manifest alone says.
fn from_manifest(
    opened: &Opened,
    manifest: &ManifestBlob,
    expected: &Expectations,
) -> Result<Answer> {
    let place = opened.store.place();
    let oci = image::manifest_of(manifest).map_err(|error| error.at(&place))?;
    let copies = image::identify(oci, None).map_err(|error| error.at(&place))?;
    let metadata = Metadata::of_copy(&copies.annotations)
        .map_err(Error::of_findings)
        .map_err(|error| {
            error
                .at(format_args!("{place}: annotations of the manifest"))
                .hint("leave out --metadata-only: the bundle itself may say more")
        })?;
    require(&metadata, expected, opened)?;
    let record = record(opened, manifest, &metadata);
    let mut text = identity(&record, &metadata);
    text.extend(parts(manifest, oci));
    text.push(
        "config and layers were not fetched: neither labels nor objects are shown".to_owned(),
    );
    let mut value = record.value();
    extend(
        &mut value,
        &json!({ "annotations": copies.annotations, "parts": parts_value(oci) }),
    );
    Ok(Answer::new(text.join("\n"), value))
}

/// Shows everything.
fn whole(record: &Record, loaded: &Loaded, objects: &[Summary], limits: &Limits) -> Result<Answer> {
    let manifest = &loaded.image.manifest;
    let oci = loaded.image.oci()?;
    let metadata = &loaded.unpacked.bundle.metadata;
    let mut text = identity(record, metadata);
    text.extend(parts(manifest, oci));
    let others: Vec<(&String, &String)> = metadata
        .annotations
        .iter()
        .filter(|(name, _)| !name.starts_with(key::PREFIX))
        .collect();
    if !others.is_empty() {
        text.push("annotations:".to_owned());
        text.extend(
            others
                .iter()
                .map(|(name, value)| format!("  {}: {}", shown(name), shown(value))),
        );
    }
    let differences = loaded.differences();
    if !differences.is_empty() {
        text.push("the three copies of the metadata differ (the file counts):".to_owned());
    }
    for difference in &differences {
        let show =
            |value: &Option<String>| value.as_deref().map_or_else(|| "absent".to_owned(), shown);
        text.push(format!(
            "  {}: file {}, label {}, annotation {}",
            difference.key,
            show(&difference.file),
            show(&difference.label),
            show(&difference.annotation)
        ));
    }
    let lock = lock(&loaded.unpacked.bundle.files, limits);
    text.extend(locked(lock.as_ref()));
    text.push(format!("objects: {}", objects.len()));
    text.extend(table(objects));
    let mut value = record.value();
    let differences: Vec<Value> = differences
        .iter()
        .map(|d| json!({ "key": d.key, "file": d.file, "label": d.label, "annotation": d.annotation }))
        .collect();
    let more = json!({
        "annotations": metadata.annotations,
        "parts": parts_value(oci),
        "files": files_value(&loaded.unpacked.bundle.files),
        "objects": objects_value(objects),
        "differences": differences,
        "images": lock.as_ref().and_then(|lock| lock.as_ref().ok()).map(pins),
    });
    extend(&mut value, &more);
    Ok(Answer::new(text.join("\n"), value))
}

fn objects_value(objects: &[Summary]) -> Value {
    let object = |object: &Summary| {
        json!({
            "apiVersion": object.api_version(),
            "kind": object.id.kind,
            "namespace": object.id.namespace,
            "name": object.id.name,
            "file": object.file.as_str(),
            "line": object.line,
        })
    };
    objects.iter().map(object).collect()
}

fn files_value(files: &Files) -> Value {
    files
        .iter()
        .map(|(path, content)| json!({ "path": path.as_str(), "size": content.len() }))
        .collect()
}

/// Reads the lock of images, if the bundle has one; the error says why it is none.
pub(super) fn lock(files: &Files, limits: &Limits) -> Option<std::result::Result<Lock, String>> {
    match Lock::among(files, limits).transpose()? {
        Ok(read) => Some(read.map_err(|fault| fault.message)),
        Err(error) => Some(Err(error.message().to_owned())),
    }
}

/// Writes the images and the digests that they are pinned to.
fn locked(lock: Option<&std::result::Result<Lock, String>>) -> Vec<String> {
    match lock {
        None => Vec::new(),
        Some(Err(why)) => vec![format!("images: `{LOCK}` cannot be read: {}", shown(why))],
        Some(Ok(lock)) => {
            let pins = lock.pins.values().map(|pin| format!("  {}", pin.pinned()));
            std::iter::once(format!("images: {} pinned", lock.pins.len()))
                .chain(pins)
                .collect()
        }
    }
}

/// Writes who the bundle is.
fn identity(record: &Record, metadata: &Metadata) -> Vec<String> {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let mut lines = vec![
        format!("reference: {}", record.reference),
        format!("package: {}", metadata.package),
        format!("version: {}", metadata.version),
        format!(
            "operator id: {}",
            or_none(metadata.operator_id.as_ref().map(ToString::to_string))
        ),
        format!(
            "minimum operator version: {}",
            or_none(
                metadata
                    .min_operator_version
                    .as_ref()
                    .map(ToString::to_string)
            )
        ),
        format!(
            "minimum Kubernetes version: {}",
            or_none(metadata.min_kubernetes_version.map(|v| v.to_string()))
        ),
        format!("mediatype: {}", metadata.mediatype.name()),
    ];
    if !metadata.channels.is_empty() {
        let channels: Vec<&str> = metadata
            .channels
            .iter()
            .map(manifest_bundle::name::ChannelName::as_str)
            .collect();
        lines.push(format!("channels: {}", channels.join(", ")));
    }
    lines
}

/// Writes the parts of the image with digest and size.
fn parts(manifest: &ManifestBlob, oci: &Manifest) -> Vec<String> {
    let line = |what: &str, digest: &dyn std::fmt::Display, size: u64, kind: &str| {
        format!("{what}: {digest} {size} bytes ({})", shown(kind))
    };
    let descriptor = &manifest.descriptor;
    let mut lines = vec![
        line(
            "manifest",
            &descriptor.digest,
            descriptor.size,
            &descriptor.media_type,
        ),
        line(
            "config",
            &oci.config.digest,
            oci.config.size,
            &oci.config.media_type,
        ),
    ];
    lines.extend(
        oci.layers
            .iter()
            .map(|layer| line("layer", &layer.digest, layer.size, &layer.media_type)),
    );
    lines
}

fn parts_value(oci: &Manifest) -> Value {
    let part = |what: &str, d: &manifest_bundle::oci::Descriptor| json!({ "part": what, "mediaType": d.media_type, "digest": d.digest.to_string(), "size": d.size });
    let layers = oci.layers.iter().map(|layer| part("layer", layer));
    std::iter::once(part("config", &oci.config))
        .chain(layers)
        .collect()
}

/// Writes the objects as a table of kind, namespace, name and file.
fn table(objects: &[Summary]) -> Vec<String> {
    let rows: Vec<[String; 4]> = objects
        .iter()
        .map(|object| {
            let namespace = object
                .id
                .namespace
                .as_deref()
                .map_or_else(|| "-".to_owned(), shown);
            let place = format!("{}:{}", object.file, object.line);
            [
                shown(&object.id.kind),
                namespace,
                shown(&object.id.name),
                place,
            ]
        })
        .collect();
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    rows.iter()
        .map(|[kind, namespace, name, file]| {
            let [a, b, c] = widths;
            format!("  {kind:a$}  {namespace:b$}  {name:c$}  {file}")
        })
        .collect()
}

/// Adds the members of one object to another.
fn extend(value: &mut Value, more: &Value) {
    if let (Some(members), Some(more)) = (value.as_object_mut(), more.as_object()) {
        members.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
}
