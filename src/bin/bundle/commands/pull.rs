//! `bundle pull`: from a store to a directory, an archive or a layout, if the bundle is the one that is expected.

use std::path::{Path, PathBuf};

use manifest_bundle::directory::{self, Written};
use manifest_bundle::error::Error;
use manifest_bundle::ops::destination::refuse_compressed;
use manifest_bundle::ops::load::{self, Asked, Loaded};
use manifest_bundle::reference::Location;
use manifest_bundle::store::layout::Layout;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::tag::Tag;
use manifest_bundle::{Kind, Result};

use super::ahead::look_ahead;
use super::pack::write_or_tell;
use super::push::total_size;
use super::record::Record;
use super::repository::of_host;
use super::resolve::{self, ChannelArgs};
use super::source::{self, PackArgs};
use super::verify::tell_unchecked;
use crate::args::{AccessArgs, ExpectationArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Pull a bundle into a directory, an archive or a layout
///
/// The tag is looked up once. Nothing is written unless every expectation holds and every digest is right.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle pull ghcr.io/team/etcd:3.5.0
  bundle pull ghcr.io/team/etcd:stable -o deploy --force --operator-id etcd-manager --operator-version 1.4.0
  bundle pull ghcr.io/team/etcd --channel stable --operator-id etcd-manager --operator-version 1.4.0
  bundle pull ghcr.io/team/etcd@sha256:… -o etcd.tar")]
pub(crate) struct Args {
    /// HOST/REPOSITORY:TAG or @DIGEST, or oci:DIR[:NAME]
    #[arg(value_name = "REF", value_parser = word::<Location>)]
    pub(super) source: Location,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    expect: ExpectationArgs,
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

/// Where a bundle is written to.
#[derive(Debug, clap::Args)]
pub(super) struct WriteArgs {
    /// A directory, FILE.tar, or oci:DIR[:NAME]  [default: ./PACKAGE-VERSION]
    #[arg(short, long, value_name = "OUT", value_parser = output)]
    pub(super) output: Option<Location>,
    /// Exchange what is there; files that no bundle put there, by the record on them, are kept safe
    #[arg(long)]
    pub(super) force: bool,
    /// With --force: also remove files that no bundle put there, or that have lost their record in a copy or clone
    #[arg(long, requires = "force")]
    pub(super) prune: bool,
}

/// Reads an output: what is neither a layout nor an archive is a path, whatever it looks like.
pub(super) fn output(text: &str) -> std::result::Result<Location, String> {
    if text.starts_with("oci:") || text.starts_with("oci-archive:") {
        return word(text);
    }
    if text == "-" {
        return Err(
            "a bundle is no stream once it is unpacked; write a directory or FILE.tar; `bundle copy REF -` writes the archive"
                .to_owned(),
        );
    }
    let path = PathBuf::from(text);
    refuse_compressed(&path).map_err(|error| with_hint_of(&error))?;
    Ok(Location::Path(path))
}

/// Tells whether an output is an archive by its name; it is a directory otherwise.
pub(super) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "tar")
}

fn with_hint_of(error: &Error) -> String {
    match &error.detail().hint {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    match &args.source {
        Location::Registry(_) | Location::Layout { .. } => {}
        other => {
            return Err(not_pulled(other));
        }
    }
    let reach = settings.reach(&args.access.access())?;
    let expectations = args.expect.expectations(&settings.talk);
    let source = resolve::pin(&args.source, &args.channel, &expectations, &reach, settings).await?;
    let opened = source::open(&source, &PackArgs::default(), &reach, settings).await?;
    let manifest = opened.manifest(&reach).await?;
    let asked = Asked {
        tag: opened.tag.clone(),
        expectations,
        at_hand: look_ahead(&opened, &manifest, &args.write, settings).await?,
    };
    let from = opened.store.as_ref();
    let size = total_size(&manifest);
    let progress = settings
        .talk
        .transfer("pull", size, [from, &Memory::new("")]);
    let loaded = load::load(opened.store.as_ref(), manifest, &asked, &reach).await?;
    drop(progress);
    let digest = loaded.image.manifest.descriptor.digest;
    let mut record = Record::of_store(opened.store.as_ref(), digest, opened.tag.as_ref());
    record.size = Some(loaded.image.size());
    record.leave_out(&loaded.unpacked.left_out, settings);
    record.metadata = Some(loaded.unpacked.bundle.metadata.clone());
    if !asked.expectations.is_empty() || args.channel.channel.is_some() {
        let metadata = &loaded.unpacked.bundle.metadata;
        tell_unchecked(metadata, &asked.expectations, settings);
    }
    let wrote = write(&loaded, opened.tag.as_ref(), &args.write, settings).await?;
    record.output = Some(wrote.output);
    record.changed = Some(wrote.changed);
    Ok(record.answer())
}

/// Says what to write instead of something that is neither in a registry nor in a layout.
fn not_pulled(source: &Location) -> Error {
    let error = Error::usage(format!("`{source}` is no registry and no layout"));
    error.hint(match source {
        Location::Path(path) if !path.exists() => {
            let text = source.to_string();
            of_host(&text, ":TAG").unwrap_or_else(|| {
                format!("write its registry, too: `HOST/{text}`; for Docker Hub `docker.io/{text}`")
            })
        }
        _ => format!("`bundle unpack {source}` unpacks what is here already"),
    })
}

/// What writing a bundle came to.
pub(super) struct Wrote {
    /// The file or directory.
    pub(super) output: String,
    /// Whether it is other than it was.
    pub(super) changed: bool,
}

/// Writes a bundle that was loaded.
pub(super) async fn write(
    loaded: &Loaded,
    tag: Option<&Tag>,
    args: &WriteArgs,
    settings: &Settings,
) -> Result<Wrote> {
    for difference in loaded.differences() {
        settings.talk.warn(format!(
            "`{}` is not the same in the three copies of the metadata; the file in the bundle counts",
            difference.key
        ));
    }
    let bundle = &loaded.unpacked.bundle;
    let output = args
        .output
        .clone()
        .unwrap_or_else(|| Location::Path(PathBuf::from(bundle.default_name())));
    let version_tag = Tag::of_version(&bundle.metadata.version)
        .map_err(|invalid| invalid.of_kind(Kind::Invalid))?;
    let tag = tag.cloned().unwrap_or(version_tag);
    if let Location::Layout { entry, .. } | Location::Archive { entry, .. } = &output {
        super::push::all_tags(entry.name.as_ref(), &[], &bundle.metadata.version)?;
    }
    let (path, changed) = match output {
        Location::Path(path) if !is_archive(&path) => {
            let changed = write_directory(&path, loaded, args, settings)?;
            (path, changed)
        }
        Location::Path(path) => {
            let changed = write_archive(&path, loaded, &tag, args, settings)?;
            (path, changed)
        }
        Location::Archive { path, entry } => {
            let tag = entry.name.unwrap_or(tag);
            let changed = write_archive(&path, loaded, &tag, args, settings)?;
            (path, changed)
        }
        Location::Layout { path, entry } => {
            let layout = Layout::open_or_create(&path, &settings.limits)?;
            let name = entry.name.unwrap_or(tag);
            let tags = std::slice::from_ref(&name);
            let digest = &loaded.image.manifest.descriptor.digest;
            super::push::refuse_heads(&layout, tags, digest, args.force, settings).await?;
            let tags = super::push::tags_to_set(
                &layout,
                &[name],
                &loaded.image.manifest,
                args.force,
                settings,
            )
            .await?
            .tags;
            let memory = Memory::of_image("memory", &loaded.image, None)?;
            super::push::put(&memory, &loaded.image.manifest, &layout, &tags, settings).await?;
            (path, !tags.is_empty())
        }
        Location::Stream | Location::Registry(_) => {
            return Err(Error::usage(
                "the output is no directory, archive or layout",
            ));
        }
    };
    Ok(Wrote {
        output: path.to_string_lossy().into_owned(),
        changed,
    })
}

fn write_directory(
    path: &Path,
    loaded: &Loaded,
    args: &WriteArgs,
    settings: &Settings,
) -> Result<bool> {
    let mut options = settings.stop.write_options(args.force, args.prune);
    options.progress = settings.talk.steps();
    let progress = settings.talk.work("writing");
    let written = directory::write(&loaded.unpacked.bundle.files, path, &options)?;
    drop(progress);
    tell(path, &written, settings);
    Ok(!written.unchanged)
}

/// Says what disappeared when a directory was exchanged.
pub(super) fn tell(path: &Path, written: &Written, settings: &Settings) {
    let path = path.display();
    settings.talk.say(if written.unchanged {
        format!("`{path}` holds it already")
    } else if written.replaced {
        format!("exchanged `{path}`")
    } else {
        format!("wrote `{path}`")
    });
    for file in &written.removed {
        settings.talk.say(format!("removed `{file}`"));
    }
    for file in &written.overwritten {
        settings
            .talk
            .say(format!("overwrote `{file}`, which was changed by hand"));
    }
}

fn write_archive(
    path: &Path,
    loaded: &Loaded,
    tag: &Tag,
    args: &WriteArgs,
    settings: &Settings,
) -> Result<bool> {
    let memory = Memory::of_image("memory", &loaded.image, Some(tag))?;
    let options = settings.stop.write_options(args.force, false);
    write_or_tell(path, &memory, &options, settings)
}
