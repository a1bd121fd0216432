//! `bundle pack`: from a directory to an archive or a layout.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::ops::destination::expect_archive_name;
use manifest_bundle::ops::pack::Packed;
use manifest_bundle::reference::{Entry, Location};
use manifest_bundle::store::layout::Layout;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::store::{Store as _, archive};
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Kind, Result};

use super::push::{all_tags, location_tag, refuse_heads, tags_to_set, tell_tags};
use super::record::Record;
use super::source::{self, PackArgs};
use crate::args::word;
use crate::output::Answer;
use crate::settings::Settings;
use crate::terminal;

/// Pack a directory of manifests into an archive or an OCI layout
///
/// The same content and metadata give the same digest, on every machine and at every time. A bundle of OLM (registry+v1)
/// becomes a bundle of both, and with --olm so does any other that has one ClusterServiceVersion and a channel.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle pack etcd/ --package etcd --version 3.5.0 --operator-id etcd-manager
  bundle pack etcd/ -o oci:store:3.5.0
  bundle pack etcd/ --olm --channels stable
  kustomize build . | bundle pack - --package etcd --version 3.5.0 -o - | bundle push - ghcr.io/team/etcd")]
pub(crate) struct Args {
    /// A bundle directory, a bare directory of manifests, one file, or `-` for a stream of objects
    #[arg(value_name = "DIR", value_parser = directory_location)]
    pub(super) source: Location,
    /// FILE.tar, oci:DIR[:NAME], or `-`  [default: ./PACKAGE-VERSION.bundle.tar]
    #[arg(short, long, value_name = "OUT", value_parser = word::<Location>)]
    output: Option<Location>,
    /// Say what the bundle would be and under which tag, and write nothing; the manifest goes to stderr
    #[arg(long)]
    dry_run: bool,
    /// Replace the file if it exists; in a layout, let a version's tag name another bundle than before
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pack: PackArgs,
}

/// Reads the source: `-` is stdin and anything else a path, whatever it looks like.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the argument parser wants a result"
)]
pub(super) fn directory_location(text: &str) -> Result<Location, String> {
    Ok(if text == "-" {
        Location::Stream
    } else {
        Location::Path(PathBuf::from(text))
    })
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    if matches!(args.output, Some(Location::Stream)) && !args.dry_run {
        terminal::refuse_archive()?;
    }
    let packed = source::pack_location(&args.source, &args.pack, settings)?;
    let output = match &args.output {
        Some(output) => output.clone(),
        None => Location::Path(PathBuf::from(format!(
            "{}.bundle.tar",
            packed.bundle.default_name()
        ))),
    };
    expect_archive_name(&output)?;
    let version_tag = Tag::of_version(&packed.bundle.metadata.version)
        .map_err(|invalid| invalid.of_kind(Kind::Invalid))?;
    let digest = packed.image.manifest.descriptor.digest;
    let mut record = Record {
        reference: String::new(),
        repository: None,
        tag: None,
        digest,
        size: Some(packed.image.size()),
        metadata: Some(packed.bundle.metadata.clone()),
        left_out: Some(packed.left_out.clone()),
        added: Some(packed.added.clone()),
        output: None,
        changed: Some(true),
    };
    if args.dry_run {
        let tag = location_tag(&output).unwrap_or(version_tag);
        return dry_run(&packed, record, &output, &tag, settings);
    }
    match output {
        Location::Stream => {
            record.reference = format!("oci-archive:-@{digest}");
            let memory = Memory::of_image("-", &packed.image, Some(&version_tag))?;
            let mut stdout = std::io::stdout().lock();
            archive::write(&memory, &mut stdout)?;
            stdout.flush().map_err(|error| {
                Error::new(Kind::Io, format!("cannot write to stdout: {error}"))
            })?;
            record.tag = Some(version_tag.to_string());
            record.changed = None;
            let mut answer = record.answer();
            answer.on_stderr = true;
            return Ok(answer);
        }
        Location::Path(path)
        | Location::Archive {
            path,
            entry: Entry {
                name: None,
                digest: None,
            },
        } => {
            record.changed = Some(write_archive(&path, &packed, &version_tag, args, settings)?);
            record.output = Some(path.to_string_lossy().into_owned());
            record.reference = format!("oci-archive:{}@{digest}", path.display());
            record.tag = Some(version_tag.to_string());
        }
        Location::Archive {
            path,
            entry:
                Entry {
                    name: Some(name),
                    digest: None,
                },
        } => {
            all_tags(Some(&name), &[], &packed.bundle.metadata.version)?;
            record.changed = Some(write_archive(&path, &packed, &name, args, settings)?);
            record.output = Some(path.to_string_lossy().into_owned());
            record.reference = format!("oci-archive:{}@{digest}", path.display());
            record.tag = Some(name.to_string());
        }
        Location::Layout {
            path,
            entry: Entry { name, digest: None },
        } => {
            let tag = name.unwrap_or(version_tag);
            all_tags(Some(&tag), &[], &packed.bundle.metadata.version)?;
            let layout = Layout::open_or_create(&path, &settings.limits)?;
            let changed = write_layout(&layout, &packed, &tag, args.force, settings).await?;
            record.changed = Some(changed);
            record.output = Some(path.to_string_lossy().into_owned());
            record.reference = format!("{}:{tag}@{digest}", layout.place());
            record.tag = Some(tag.to_string());
        }
        Location::Layout { .. } | Location::Archive { .. } => {
            return Err(
                Error::usage("the output has a digest, and what is packed has its own")
                    .hint("leave out `@sha256:…`"),
            );
        }
        Location::Registry(reference) => {
            return Err(Error::usage(format!("`{reference}` names a registry"))
                .hint(format!("`bundle push DIR {reference}` packs on the way")));
        }
    }
    Ok(record.answer())
}

/// Writes the archive, which must not be inside the source.
fn write_archive(
    path: &Path,
    packed: &Packed,
    tag: &Tag,
    args: &Args,
    settings: &Settings,
) -> Result<bool> {
    if let Location::Path(source) = &args.source
        && is_inside(path, source)
    {
        let name = path
            .file_name()
            .map_or_else(|| "FILE.tar".into(), std::ffi::OsStr::to_string_lossy);
        return Err(Error::usage(format!(
            "the output `{}` is inside the source",
            path.display()
        ))
        .hint(format!("write it elsewhere: `-o ../{name}`")));
    }
    let memory = Memory::of_image("archive", &packed.image, Some(tag))?;
    let options = settings.stop.write_options(args.force, false);
    write_or_tell(path, &memory, &options, settings)
}

/// Writes an archive, or says that the file is this archive already; tells whether it was written.
pub(super) fn write_or_tell(
    path: &Path,
    memory: &Memory,
    options: &WriteOptions,
    settings: &Settings,
) -> Result<bool> {
    let fill = |out: &mut dyn std::io::Write| archive::write(memory, out);
    let is_written = directory::write_file_unless_same(path, options, fill)?;
    if !is_written {
        tell_same(path, settings);
    }
    Ok(is_written)
}

/// Says that a file is what was to be written.
pub(super) fn tell_same(path: &Path, settings: &Settings) {
    let path = path.display();
    settings.talk.say(format!("`{path}` holds it already"));
}

/// Tells whether a file would be inside a directory. What does not exist cannot be compared, and fails elsewhere.
fn is_inside(file: &Path, directory: &Path) -> bool {
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (parent.canonicalize(), directory.canonicalize()) {
        (Ok(parent), Ok(directory)) => directory.is_dir() && parent.starts_with(directory),
        _ => false,
    }
}

/// Puts the image into a layout under a tag; a version's tag does not move by itself there either.
async fn write_layout(
    layout: &Layout,
    packed: &Packed,
    tag: &Tag,
    force: bool,
    settings: &Settings,
) -> Result<bool> {
    let memory = Memory::of_image("memory", &packed.image, None)?;
    let manifest = &packed.image.manifest;
    let tags = std::slice::from_ref(tag);
    refuse_heads(layout, tags, &manifest.descriptor.digest, force, settings).await?;
    let set = tags_to_set(layout, tags, manifest, force, settings).await?;
    super::push::put(&memory, manifest, layout, &set.tags, settings).await?;
    Ok(!set.tags.is_empty())
}

/// Answers with where it would be, and beside that with the manifest.
fn dry_run(
    packed: &Packed,
    mut record: Record,
    output: &Location,
    tag: &Tag,
    settings: &Settings,
) -> Result<Answer> {
    record.reference = match output {
        Location::Layout { path, .. } => format!("oci:{}@{}", path.display(), record.digest),
        Location::Path(path) | Location::Archive { path, .. } => {
            format!("oci-archive:{}@{}", path.display(), record.digest)
        }
        Location::Stream | Location::Registry(_) => format!("oci-archive:-@{}", record.digest),
    };
    record.changed = None;
    let tags = all_tags(Some(tag), &[], &packed.bundle.metadata.version)?;
    tell_tags(&tags, settings);
    record.tag = Some(tag.to_string());
    let manifest = packed.image.manifest.bytes.as_ref();
    Ok(dry_run_answer(manifest, &record, &tags))
}

/// Makes the answer of a dry run: the pinned reference, with the manifest beside it and not in the way of who reads stdout.
pub(super) fn dry_run_answer(manifest: &[u8], record: &Record, tags: &[Tag]) -> Answer {
    let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap_or_default();
    let mut value = record.value();
    if let Some(members) = value.as_object_mut() {
        members.insert("manifest".into(), manifest.clone());
        members.insert("tags".into(), tags.iter().map(Tag::as_str).collect());
    }
    let mut answer = Answer::new(record.reference.clone(), value);
    answer.aside = format!("{manifest:#}");
    answer
}
