//! `bundle copy`: any image or index from one store to another, with the same digest or not at all.

use std::io::Write as _;

use manifest_bundle::ops::copy::{self, Referrer, ReferrersMode};
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::reference::{Entry, Location};
use manifest_bundle::store::{self, Name, archive};
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Kind, Result};
use serde_json::json;

use super::push::{
    copy_options, location_tag, refuse_other_versions_of, summary, tags_to_set, tell_set,
    total_size,
};
use super::record::Record;
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
    /// Let a version's tag name another image than before, and replace a file
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
    let manifest = store::fetch_manifest(source.as_ref(), &name, &source_reach.limits).await?;
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
    destination.look_ahead(args.force)?;
    let tags: Vec<Tag> = tag.iter().cloned().collect();
    let missing = tags_to_set(
        destination.store.as_ref(),
        &tags,
        &manifest,
        args.force,
        settings,
    )
    .await?
    .tags;
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
    tell_referrers(&copied.referrers, args.referrers, settings);

    let mut record = Record::of_store(destination.store.as_ref(), digest, tag.as_ref());
    record.size = Some(total_size(&manifest));
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
    destination.finish(&settings.stop.write_options(args.force, false))?;
    tell_set("copied to", &place, &missing, &digest, settings);
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
    }
    Ok(answer)
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
