//! `bundle channel import` and `bundle channel export`: directories of channels into a repository and out of one.

use std::path::PathBuf;

use manifest_bundle::channel::Entry;
use manifest_bundle::content::Spool;
use manifest_bundle::directory;
use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::channel::{self, Changed, Planned};
use manifest_bundle::ops::copy::{self, ReferrersMode};
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::kdp::{self, Export, Import, Imported};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::pack::Packed;
use manifest_bundle::reference::Location;
use manifest_bundle::store::Store;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::tag::Tag;
use manifest_bundle::{Kind, Result};
use serde_json::{Value, json};

use super::channel::{bundles, columns, one_of_several, tell_of_head, value};
use super::push::{ToSet, copy_options, summary, tags_to_set, tell_set, total_size};
use super::source::PackArgs;
use super::{pull, repository};
use crate::args::{AccessArgs, TransferArgs};
use crate::output::Answer;
use crate::report::{self, counted};
use crate::settings::Settings;

/// Import a directory of channels of kubebuilder-declarative-pattern
///
/// Every `packages/NAME/VERSION` is packed and pushed under its version, and every channel file becomes a channel with the
/// bundles that it lists; what it does not list leaves the channel. Nothing is sent unless all of it can be. Where the
/// directory has several packages, --package chooses one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle channel import channels ghcr.io/team/etcd --operator-id etcd-manager
  bundle channel import channels oci:store --package etcd")]
pub(super) struct ImportArgs {
    /// The directory with the channel files and `packages`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// HOST/REPOSITORY, or oci:DIR, which is made where there is none
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// Let a version's tag name another bundle than before
    #[arg(long)]
    force: bool,
    /// Leave the tags of the channels' names where they are
    #[arg(long)]
    no_head: bool,
    #[command(flatten)]
    pack: PackArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(super) transfer: TransferArgs,
}

/// Export a repository as a directory of channels of kubebuilder-declarative-pattern
///
/// The manifests are written byte for byte, and so is the channel file of a channel that was imported and not changed
/// since. KDP reads several files of a version from a disk only; --join makes one of them, for HTTP and git.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle channel export ghcr.io/team/etcd channels
  bundle channel export ghcr.io/team/etcd channels --channel stable --join")]
pub(super) struct ExportArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// The directory that is written
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// This channel with its bundles, instead of all channels and all bundles
    #[arg(long = "channel", value_name = "NAME", value_parser = one_of_several)]
    channels: Vec<ChannelName>,
    /// Write the files of each version as one, `manifest.yaml`
    #[arg(long)]
    join: bool,
    /// Exchange what is there; files that no bundle put there, by the record on them, are kept safe
    #[arg(long)]
    force: bool,
    /// With --force: also remove files that no bundle put there, or that have lost their record in a copy or clone
    #[arg(long, requires = "force")]
    prune: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(super) transfer: TransferArgs,
}

pub(super) async fn import(args: &ImportArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let mut spool = Spool::new(&settings.spool_directory);
    let progress = settings.talk.work("packing");
    let import = kdp::read(&args.directory, &args.pack.request(settings)?, &mut spool)?;
    drop(progress);
    for one in &import.left_out {
        settings
            .talk
            .say(format!("left out `{}`: {}", one.path, one.rule));
    }
    for packed in &import.bundles {
        tell(packed, settings);
    }
    let destination = Destination::open(&args.repository, &reach)?;
    let store = destination.store.as_ref();
    channel::expect_package(store, &import.package, &reach).await?;
    let mut planned = Vec::new();
    for imported in &import.channels {
        planned.push(plan(imported, &import, store, &reach).await?);
    }
    let pushed = push(&import, args, store, &reach, settings).await?;
    let mut lines = Vec::new();
    let mut items = Vec::new();
    for (planned, gone) in planned {
        let changed = planned.write(store, !args.no_head, &reach).await?;
        tell_change(&changed, &gone, settings);
        let what = if changed.is_written {
            "written"
        } else {
            "as it was"
        };
        let head = changed.channel.head();
        lines.push([
            changed.channel.name.to_string(),
            head.map_or_else(|| "-".to_owned(), |head| head.facts.version.to_string()),
            bundles(changed.channel.entries().len()),
            what.to_owned(),
        ]);
        if let Some(digest) = &changed.digest {
            items.push(value(&changed.channel, digest));
        }
    }
    Ok(Answer::new(
        columns(&lines),
        json!({
            "repository": store.place(),
            "package": import.package.as_str(),
            "bundles": pushed,
            "channels": items,
        }),
    ))
}

/// Says what packing a version did beside packing.
fn tell(packed: &Packed, settings: &Settings) {
    let metadata = &packed.bundle.metadata;
    let place = format!("packages/{}/{}", metadata.package, metadata.version);
    let talk = &settings.talk;
    for one in &packed.left_out {
        talk.say(format!("left out `{place}/{}`: {}", one.path, one.rule));
    }
    for (from, to) in &packed.renamed {
        talk.say(format!("renamed `{place}/{from}` to `{to}`"));
    }
    for line in report::findings(&packed.findings) {
        talk.say(line);
    }
}

/// Pushes every version under its tag, once it is known that none of the tags is in the way.
async fn push(
    import: &Import,
    args: &ImportArgs,
    store: &dyn Store,
    reach: &Reach,
    settings: &Settings,
) -> Result<Vec<Value>> {
    let mut ready: Vec<(&Packed, ToSet)> = Vec::new();
    let mut pushed = Vec::new();
    for packed in &import.bundles {
        let version = &packed.bundle.metadata.version;
        let tag = Tag::of_version(version).map_err(|invalid| invalid.of_kind(Kind::Usage))?;
        let manifest = &packed.image.manifest;
        pushed.push(json!({
            "version": version.to_string(),
            "digest": manifest.descriptor.digest.to_string(),
            "tag": tag.as_str(),
        }));
        let set = tags_to_set(store, &[tag], manifest, args.force, settings).await?;
        if !set.tags.is_empty() {
            ready.push((packed, set));
        }
    }
    for (packed, set) in ready {
        let manifest = &packed.image.manifest;
        let memory = Memory::of_image("memory", &packed.image, None)?;
        let mut options = copy_options(reach, args.transfer.concurrency, ReferrersMode::Ignore);
        options.confirm = set.moves;
        let size = total_size(manifest);
        let progress = settings.talk.transfer("push", size, [&memory, store]);
        let copied = copy::copy(&memory, manifest, store, &set.tags, &options).await?;
        drop(progress);
        settings.talk.detail(summary(&copied, store));
        let digest = &manifest.descriptor.digest;
        tell_set("pushed", &store.place(), &set.tags, digest, settings);
    }
    Ok(pushed)
}

/// Looks whether a channel can be what its file says; returns the bundles that leave it, too.
async fn plan(
    imported: &Imported,
    import: &Import,
    store: &dyn Store,
    reach: &Reach,
) -> Result<(Planned, Vec<Entry>)> {
    let mut gone = Vec::new();
    let package = Some(&import.package);
    let planned = channel::plan(store, &imported.name, package, reach, |channel| {
        let (is_changed, left) = imported.put_into(channel)?;
        gone = left;
        Ok(is_changed)
    })
    .await?;
    Ok((planned, gone))
}

/// Says what became of a channel.
fn tell_change(changed: &Changed, gone: &[Entry], settings: &Settings) {
    let name = &changed.channel.name;
    for entry in gone {
        settings.talk.say(format!(
            "channel `{name}`: removed {}, which its file does not list",
            entry.facts.version
        ));
    }
    tell_of_head(changed, false, settings);
}

pub(super) async fn export(args: &ExportArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let mut options = settings.stop.write_options(args.force, args.prune);
    directory::look_ahead_at_channels(&args.directory, &options)?;
    let store = repository::open(&args.repository, &reach)?;
    options.progress = settings.talk.steps();
    let progress = settings.talk.work("exporting");
    let export = kdp::export(store.as_ref(), &args.channels, args.join, &reach).await?;
    let written = directory::write(&export.files, &args.directory, &options)?;
    drop(progress);
    pull::tell(&args.directory, &written, settings);
    tell_of_loss(&export, settings);
    let versions: Vec<Value> = export
        .versions
        .iter()
        .map(|one| {
            json!({
                "package": one.package.as_str(),
                "version": one.version.to_string(),
                "digest": one.digest.to_string(),
            })
        })
        .collect();
    let channels: Vec<&str> = export.channels.iter().map(ChannelName::as_str).collect();
    let directory = args.directory.display().to_string();
    Ok(Answer::new(
        directory.clone(),
        json!({
            "repository": store.place(),
            "directory": directory,
            "channels": channels,
            "bundles": versions,
        }),
    ))
}

/// Says what the directory cannot say, and who cannot read all of it.
fn tell_of_loss(export: &Export, settings: &Settings) {
    if export.channels.is_empty() {
        settings.talk.say("the repository has no channel, so the directory has no channel file: `channel import` wants one beside `packages`");
    }
    let several = export.versions.iter().filter(|one| !one.is_single).count();
    if several > 0 {
        settings.talk.say(format!(
            "{} without a single `manifest.yaml`: KDP reads that from a disk, not over HTTP or from git (`--join` makes one)",
            counted(several, "version")
        ));
    }
    let more = export.versions.iter().filter(|one| one.says_more).count();
    if more > 0 {
        settings.talk.say(format!(
            "the directory has no place for what {} about operator and minimum versions",
            if more == 1 {
                "1 bundle says".to_owned()
            } else {
                format!("{more} bundles say")
            }
        ));
    }
}
