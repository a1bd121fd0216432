//! `bundle copy`: any image or index from one store to another, with the same digest or not at all.

use std::io::Write as _;
use std::path::Path;

use manifest_bundle::channel::{self as form, Channel};
use manifest_bundle::digest::Digest;
use manifest_bundle::ops::copy::{self, Referrer, ReferrersMode};
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::reference::{Entry, Location};
use manifest_bundle::store::{self, Name, Store, archive};
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Kind, Result};
use serde_json::json;

use super::pack::tell_same;
use super::push::{
    copy_options, location_tag, moved, refuse_heads, refuse_other_versions_of, summary,
    tags_to_set, tell_set, total_size,
};
use super::record::{Record, said};
use super::source::{self, Stream};
use crate::args::{AccessArgs, FromArgs, ToArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;
use crate::terminal;

/// Copy an image or index of any kind between registries, layouts and archives
///
/// All platforms of an index go along. The digest stays the same, or nothing is copied. Blobs are mounted where both
/// sides are one registry. Referrers (signatures and the like) are counted and named, and go along with -r.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle copy ghcr.io/team/etcd:3.5.0 registry.internal/etcd:3.5.0 -r
  bundle copy ghcr.io/team/etcd:3.5.0 etcd.tar
  bundle copy ghcr.io/team/etcd:channel-stable registry.internal/etcd --channel-tags
  bundle copy oci:store:3.5.0 localhost:5000/etcd --to-username me --to-password-stdin")]
pub(crate) struct Args {
    /// A registry reference, an archive, oci:DIR[:NAME], or `-` for an archive on stdin
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// A registry reference, FILE.tar, oci:DIR[:NAME], or `-` for an archive on stdout; without a tag the source's is used
    #[arg(value_name = "DST", value_parser = word::<Location>)]
    pub(super) destination: Location,
    /// Take the referrers along
    #[arg(short, long)]
    referrers: bool,
    /// Of the index of a channel: set the tags of its versions, and the tag of its name, at the destination too
    #[arg(long)]
    channel_tags: bool,
    /// Let the tag of a version, or one that a channel keeps on its newest bundle, name another image than before, and replace a
    /// file
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    to: ToArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    if args.destination == Location::Stream {
        terminal::refuse_archive()?;
    }
    let sides = [
        (args.from.access(), &args.source),
        (args.to.access(), &args.destination),
    ];
    let [source_reach, destination_reach] = settings.reach_both(&args.access.access(), sides)?;

    let place = match &args.source {
        Location::Stream => open_archive(settings, &source_reach)?,
        other => open::open(other, &source_reach).await?,
    };
    let Place::Store(source, name) = place else {
        return Err(Error::usage(format!(
            "`{}` is a directory, and an image is copied",
            args.source
        ))
        .hint(format!(
            "`bundle push {} {}` packs it on the way",
            args.source, args.destination
        )));
    };
    let manifest = open::manifest(source.as_ref(), &name, &source_reach.limits).await?;
    let digest = manifest.descriptor.digest;
    let source_tag = match &name {
        Name::Tag(tag) => Some(tag.clone()),
        Name::Digest(_) => location_tag(&args.source),
    };
    let tag: Option<Tag> = location_tag(&args.destination).or_else(|| source_tag.clone());
    if let Some(named) = location_tag(&args.destination) {
        // A tag that the source has is copied as it is: a mirror is no judge.
        if source_tag.as_ref() != Some(&named) {
            let tags = std::slice::from_ref(&named);
            refuse_other_versions_of(source.as_ref(), &manifest, tags, &source_reach).await?;
        }
    }
    let destination = Destination::open(&args.destination, &destination_reach)?;
    destination.look_ahead(args.force, &digest)?;
    if source_tag != tag {
        let (to, tags) = (destination.store.as_ref(), tag.as_slice());
        refuse_heads(to, tags, &digest, args.force, settings).await?;
    }
    let tags: Vec<Tag> = tag.iter().cloned().collect();
    let set = tags_to_set(
        destination.store.as_ref(),
        &tags,
        &manifest,
        args.force,
        settings,
    )
    .await?;
    if set.moves {
        tell_lost_name(args, &tags, settings);
    }
    let missing = set.tags;
    let channel = form::of_index(&manifest, &source_reach.limits);
    let wanted = match (&channel, args.channel_tags) {
        (Some(channel), true) => {
            channel_tags(channel, destination.store.as_ref(), args.force).await?
        }
        (None, true) => {
            return Err(Error::usage(format!(
                "`{}` is no channel, and --channel-tags sets the tags of one",
                args.source
            ))
            .hint("the index of a channel has the tag `channel-NAME`"));
        }
        (_, false) => Vec::new(),
    };
    let mode = if args.referrers {
        ReferrersMode::Copy
    } else {
        ReferrersMode::Count
    };
    let mut options = copy_options(&destination_reach, args.transfer.concurrency, mode);
    options.confirm = true;
    let sides = [source.as_ref(), destination.store.as_ref()];
    let progress = settings.talk.transfer("copy", total_size(&manifest), sides);
    let is_there = missing.is_empty() && !tags.is_empty();
    let copied = if is_there {
        copy::referrers(
            source.as_ref(),
            &manifest,
            destination.store.as_ref(),
            &options,
        )
        .await?
    } else {
        copy::copy(
            source.as_ref(),
            &manifest,
            destination.store.as_ref(),
            &missing,
            &options,
        )
        .await?
    };
    drop(progress);
    settings
        .talk
        .say(summary(&copied, destination.store.as_ref()));
    for (tag, digest) in &wanted {
        let (to, name) = (destination.store.as_ref(), Name::Digest(*digest));
        let bundle = store::fetch_manifest(to, &name, &destination_reach.limits).await?;
        copy::name(to, &bundle, std::slice::from_ref(tag)).await?;
        tell_set(
            "tagged",
            &to.place(),
            std::slice::from_ref(tag),
            digest,
            settings,
        );
    }
    if let (Some(channel), false) = (&channel, args.channel_tags) {
        settings.talk.say(format!(
            "a channel: neither the tags of its versions nor the tag `{}` were set; --channel-tags sets them",
            channel.name
        ));
    }
    tell_referrers(&copied.referrers, args.referrers, settings);

    let mut record = Record::of_store(destination.store.as_ref(), digest, tag.as_ref());
    record.size = Some(total_size(&manifest));
    record.metadata = said(&manifest);
    record.output = file_of(&args.destination).map(|path| path.to_string_lossy().into_owned());
    let mut answer = record.answer();
    if let Some(memory) = destination.stream() {
        let mut stdout = std::io::stdout().lock();
        archive::write(memory, &mut stdout)?;
        stdout
            .flush()
            .map_err(|error| Error::new(Kind::Io, format!("cannot write to stdout: {error}")))?;
        answer.on_stderr = true;
    }
    let place = destination.store.place();
    let is_written = destination.finish(&settings.stop.write_options(args.force, false))?;
    match file_of(&args.destination) {
        Some(path) if !is_written => tell_same(path, settings),
        _ => tell_set("copied to", &place, &missing, &digest, settings),
    }
    // A file tells; in a registry or a layout nobody looked whether it was there, unless by a tag.
    let is_known = !tags.is_empty() || file_of(&args.destination).is_some();
    let changed = is_known.then_some(is_written && (!is_there || !wanted.is_empty()));
    if let Some(members) = answer.value.as_object_mut() {
        let referrers = copied.referrers.iter().map(|referrer| {
            json!({
                "digest": referrer.descriptor.digest.to_string(),
                "artifactType": referrer.descriptor.artifact_type,
                "tag": referrer.tag.as_ref().map(ToString::to_string),
                "copied": args.referrers,
            })
        });
        members.insert("referrers".into(), referrers.collect());
        members.insert("changed".into(), changed.into());
    }
    Ok(answer)
}

/// Returns the tags that must be set so that a copy of a channel is found as the channel is: those of its versions, and last
/// that of its name.
///
/// # Errors
///
/// [`Kind::Conflict`](manifest_bundle::Kind::Conflict) for a version's tag that names another bundle there, unless it may move.
async fn channel_tags(
    channel: &Channel,
    to: &dyn Store,
    force: bool,
) -> Result<Vec<(Tag, Digest)>> {
    let mut wanted = Vec::new();
    for entry in channel.entries().iter().rev() {
        let tag = Tag::of_version(&entry.facts.version);
        let tag = tag.map_err(|invalid| invalid.of_kind(Kind::Invalid))?;
        wanted.push((tag, entry.descriptor.digest));
    }
    if let Some(head) = channel.head() {
        wanted.push((form::head_tag(&channel.name)?, head.descriptor.digest));
    }
    let mut missing = Vec::new();
    for (tag, digest) in wanted {
        match to.tagged(&tag).await? {
            Some(present) if present == digest => {}
            Some(present) if tag.version().is_some() && !force => {
                return Err(moved(to, &tag, digest, present));
            }
            _ => missing.push((tag, digest)),
        }
    }
    Ok(missing)
}

/// Returns the file or directory that is written.
fn file_of(destination: &Location) -> Option<&Path> {
    match destination {
        Location::Path(path) | Location::Archive { path, .. } | Location::Layout { path, .. } => {
            Some(path)
        }
        Location::Registry(_) | Location::Stream => None,
    }
}

/// Warns where an image in a layout loses its name to one that may have nothing to do with it: a layout has no repositories,
/// and the name is the tag that the source happens to have.
fn tell_lost_name(args: &Args, tags: &[Tag], settings: &Settings) {
    let (Location::Layout { path, entry }, Some(tag)) = (&args.destination, tags.first()) else {
        return;
    };
    if entry.name.is_some() {
        return;
    }
    let repository = match &args.source {
        Location::Registry(reference) => reference.repository.path().rsplit('/').next(),
        _ => None,
    };
    let own = format!("{}-{tag}", repository.unwrap_or("NAME"));
    let path = path.display();
    settings.talk.warn(format!(
        "in `oci:{path}` another image had the name `{tag}`; to keep both, give each a name of its own: `oci:{path}:{own}`"
    ));
}

/// Opens the archive that comes on stdin; objects are no image yet.
fn open_archive(settings: &Settings, reach: &Reach) -> Result<Place> {
    match source::read_stream(settings)? {
        Stream::Archive(content) => {
            open::open_content(&content, "oci-archive:-", &Entry::default(), &reach.limits)
        }
        Stream::Objects(_) => Err(
            Error::usage("stdin holds no archive, and an image is copied")
                .hint("`bundle push - REF` and `bundle pack -` pack objects on the way"),
        ),
    }
}

/// Counts and names the referrers.
fn tell_referrers(referrers: &[Referrer], copied: bool, settings: &Settings) {
    if referrers.is_empty() {
        return;
    }
    let hint = if copied {
        "copied"
    } else {
        "left behind; -r takes them along"
    };
    settings
        .talk
        .say(format!("referrers: {} {hint}", referrers.len()));
    for referrer in referrers {
        let kind = referrer
            .descriptor
            .artifact_type
            .as_deref()
            .unwrap_or(&referrer.descriptor.media_type);
        let name = referrer.tag.as_ref().map_or_else(
            || referrer.descriptor.digest.to_string(),
            ToString::to_string,
        );
        settings.talk.say(format!("  {kind} {name}"));
    }
}
