//! `bundle push`: from a directory, an archive, a layout or another registry to a store, under the version's tag.

use manifest_bundle::channel::{self as form, Channel, Entry};
use manifest_bundle::digest::Digest;
use manifest_bundle::image;
use manifest_bundle::metadata::Metadata;
use manifest_bundle::name::ChannelName;
use manifest_bundle::oci::ManifestBlob;
use manifest_bundle::ops::channel::head;
use manifest_bundle::ops::copy::{self, Copied, CopyOptions, ReferrersMode};
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::load;
use manifest_bundle::ops::open::Reach;
use manifest_bundle::reference::Location;
use manifest_bundle::store::{self, Name, Store};
use manifest_bundle::tag::Tag;
use manifest_bundle::version::Version;
use manifest_bundle::{Error, Kind, Result};
use serde_json::Value;

use super::channel;
use super::pack::dry_run_answer;
use super::record::{Record, insert_names, said};
use super::repository::of_host;
use super::source::{self, PackArgs};
use crate::args::{AccessArgs, TransferArgs, tag, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Push a bundle to a registry; a directory is packed on the way
///
/// Without a tag the version's is used. A version's tag does not move: if it names another digest already, that is a
/// conflict (exit 13) unless --force is given. Other tags move, and the output says from what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle push etcd/ ghcr.io/team/etcd
  bundle push etcd-3.5.0.bundle.tar ghcr.io/team/etcd:3.5.0 --tag latest
  bundle push etcd/ oci:store")]
pub(crate) struct Args {
    /// A directory, an archive, a layout, a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// HOST/REPOSITORY[:TAG], or oci:DIR[:NAME]
    #[arg(value_name = "REF", value_parser = word::<Location>)]
    pub(super) destination: Location,
    /// Another tag for the same bundle
    #[arg(short, long = "tag", value_name = "TAG", value_parser = tag)]
    tags: Vec<Tag>,
    /// Put the bundle into this channel as well
    #[arg(long = "channel", value_name = "NAME", value_parser = channel::one_of_several)]
    into: Vec<ChannelName>,
    /// Say what would be pushed and under which tags, send nothing and ask REF nothing; the manifest goes to stderr
    #[arg(long)]
    dry_run: bool,
    /// Let the tag of a version, or one that a channel keeps on its newest bundle, name another bundle than before
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    pack: PackArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    if matches!(args.destination, Location::Path(_) | Location::Stream) {
        let text = args.destination.to_string();
        let hint = of_host(&text, "").unwrap_or_else(|| {
            format!("for Docker Hub write `docker.io/{text}`; for a file use `bundle pack -o` or `bundle copy`")
        });
        return Err(Error::usage(format!("`{text}` is no registry and no layout")).hint(hint));
    }
    let opened = source::open(&args.source, &args.pack, &reach, settings).await?;
    let manifest = opened.manifest(&reach).await?;
    let metadata = match &opened.packed {
        Some(packed) => packed.bundle.metadata.clone(),
        None => metadata(opened.store.as_ref(), manifest.clone(), &reach).await?,
    };
    let digest = manifest.descriptor.digest;
    let named = location_tag(&args.destination);
    let tags = all_tags(named.as_ref(), &args.tags, &metadata.version)?;

    let mut into: Vec<ChannelName> = Vec::new();
    for name in &args.into {
        if !into.contains(name) {
            into.push(name.clone());
        }
    }

    let size = total_size(&manifest);
    if args.dry_run {
        let place = match &args.destination {
            Location::Registry(reference) => reference.repository.to_string(),
            Location::Layout { path, .. } => format!("oci:{}", path.display()),
            other => other.to_string(),
        };
        tell_tags(&tags, settings);
        tell_channels(&into, &place, settings)?;
        tell_named(&metadata, &into, &place, settings);
        let record = Record {
            reference: format!("{place}@{digest}"),
            repository: matches!(args.destination, Location::Registry(_)).then_some(place),
            tag: tags.first().map(ToString::to_string),
            digest,
            size: Some(size),
            metadata: Some(metadata),
            added: opened.packed.as_ref().map(|packed| packed.added.clone()),
            left_out: opened.packed.map(|packed| packed.left_out),
            output: None,
            changed: None,
        };
        let mut answer = dry_run_answer(&manifest.bytes, &record, &tags);
        insert_names(&mut answer, &tags, &into);
        return Ok(answer);
    }

    let destination = Destination::open(&args.destination, &reach)?;
    destination.look_ahead(args.force, &digest)?;
    let to = destination.store.as_ref();
    let is_joined = |tag: &&Tag| into.iter().any(|name| name.as_str() == tag.as_str());
    let alone: Vec<Tag> = tags.iter().filter(|tag| !is_joined(tag)).cloned().collect();
    refuse_heads(to, &alone, &digest, args.force, settings).await?;
    let set = tags_to_set(to, &tags, &manifest, args.force, settings).await?;
    // A channel that cannot take the bundle is known before anything is sent.
    let mut joining = Vec::new();
    for name in &into {
        let entries = vec![Entry::of(&manifest, &metadata)];
        joining.push(channel::join(to, name, entries, false, &reach).await?);
    }
    if !set.tags.is_empty() {
        let mut options = copy_options(&reach, args.transfer.concurrency, ReferrersMode::Ignore);
        options.confirm = set.moves;
        let sides = [opened.store.as_ref(), to];
        let _progress = settings.talk.transfer("push", size, sides);
        let copied = copy::copy(opened.store.as_ref(), &manifest, to, &set.tags, &options).await?;
        settings.talk.say(summary(&copied, to));
    }
    let mut record = Record::of_store(to, digest, tags.first());
    record.size = Some(size);
    let place = to.place();
    let mut changed = !set.tags.is_empty();
    for joining in joining {
        let joined = joining.write(to, true, &reach, settings).await?;
        let is_written = joined.value.get("written").and_then(Value::as_bool);
        changed |= is_written.unwrap_or_default();
    }
    // `sync` finds bundles by the tags of their versions; what was there before was said before.
    if set.tags.iter().any(|tag| tag.version().is_some()) {
        tell_named(&metadata, &into, &place, settings);
    }
    record.metadata = Some(metadata);
    record.added = opened.packed.as_ref().map(|packed| packed.added.clone());
    record.left_out = opened.packed.map(|packed| packed.left_out);
    record.changed = Some(changed);
    destination.finish(&settings.stop.write_options(args.force, false))?;
    tell_set("pushed", &place, &set.tags, &digest, settings);
    let mut answer = record.answer();
    insert_names(&mut answer, &tags, &into);
    Ok(answer)
}

/// Says which tags would be set.
pub(super) fn tell_tags(tags: &[Tag], settings: &Settings) {
    let names: Vec<&str> = tags.iter().map(Tag::as_str).collect();
    let what = if tags.len() == 1 { "tag" } else { "tags" };
    settings
        .talk
        .say(format!("would set the {what} {}", names.join(", ")));
}

/// Says which channels would be changed, and that nobody has looked at what is there.
fn tell_channels(into: &[ChannelName], place: &str, settings: &Settings) -> Result<()> {
    for name in into {
        let (index, head) = (form::index_tag(name)?, form::head_tag(name)?);
        settings.talk.say(format!(
            "would put it into the channel `{name}`: move the tag {index} and, for the newest release, the tag {head}"
        ));
    }
    settings.talk.say(format!(
        "{place} was not asked: what it has already may be in conflict"
    ));
    Ok(())
}

/// Says how a bundle gets into the channels that its metadata name, beside those that it is put into; that takes a step of its own.
fn tell_named(metadata: &Metadata, into: &[ChannelName], place: &str, settings: &Settings) {
    let others = metadata.channels.iter().filter(|name| !into.contains(name));
    let names: Vec<&str> = others.map(ChannelName::as_str).collect();
    let what = match names.len() {
        0 => return,
        1 => "channel",
        _ => "channels",
    };
    settings.talk.say(format!(
        "its metadata name the {what} {}, and a push alone changes no channel: `bundle channel sync {place}` puts it in",
        names.join(", ")
    ));
}

/// Copies an image from one store to another under some tags, with the defaults.
pub(super) async fn put(
    from: &dyn Store,
    manifest: &ManifestBlob,
    to: &dyn Store,
    tags: &[Tag],
    settings: &Settings,
) -> Result<Copied> {
    let options = CopyOptions {
        concurrency: 1,
        spool_directory: settings.spool_directory.clone(),
        limits: settings.limits.clone(),
        referrers: ReferrersMode::Ignore,
        confirm: false,
    };
    copy::copy(from, manifest, to, tags, &options).await
}

/// Returns how to copy.
pub(super) fn copy_options(
    reach: &Reach,
    concurrency: u8,
    referrers: ReferrersMode,
) -> CopyOptions {
    CopyOptions {
        concurrency: concurrency.into(),
        spool_directory: reach.spool_directory.clone(),
        limits: reach.limits.clone(),
        referrers,
        confirm: false,
    }
}

/// Reads the metadata of what is packed already; no layer is fetched, unless it is an OLM bundle.
async fn metadata(store: &dyn Store, manifest: ManifestBlob, reach: &Reach) -> Result<Metadata> {
    load::metadata(store, manifest, reach)
        .await
        .map_err(|error| match error.kind() {
            Kind::Invalid if error.detail().hint.is_none() => {
                error.hint("`bundle copy` moves images of any kind")
            }
            _ => error,
        })
}

/// Returns the tag that a location names.
pub(super) fn location_tag(location: &Location) -> Option<Tag> {
    match location {
        Location::Registry(reference) => reference.tag.clone(),
        Location::Layout { entry, .. } | Location::Archive { entry, .. } => entry.name.clone(),
        Location::Path(_) | Location::Stream => None,
    }
}

/// Returns every tag that the bundle shall have: the named one or the version's, then the others.
pub(super) fn all_tags(named: Option<&Tag>, others: &[Tag], version: &Version) -> Result<Vec<Tag>> {
    let first = match named {
        Some(tag) => tag.clone(),
        None => Tag::of_version(version).map_err(|invalid| invalid.of_kind(Kind::Usage))?,
    };
    let mut tags = vec![first];
    for tag in others {
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    for tag in &tags {
        refuse_reserved(tag)?;
    }
    refuse_other_versions(&tags, version)
        .map_err(|error| error.hint("leave out the tag: the version's is used"))?;
    Ok(tags)
}

/// Refuses a tag that no bundle may have (spec/references.md, "Tags").
fn refuse_reserved(tag: &Tag) -> Result<()> {
    if !tag.is_channel() {
        return Ok(());
    }
    let name = tag.as_str().trim_start_matches("channel-");
    let error = Error::usage(format!(
        "the tag `{tag}` is reserved: tags that begin with `channel-` are lists of bundles"
    ))
    .found(tag);
    Err(match name.parse::<Tag>() {
        Ok(name) => error.hint(format!("use another tag, such as `{name}`")),
        Err(_) => error.hint("use another tag"),
    })
}

/// Refuses a tag that is the version tag of another version than the bundle's (spec/references.md, "Writing").
pub(super) fn refuse_other_versions(tags: &[Tag], version: &Version) -> Result<()> {
    let is_other = |tag: &&Tag| tag.version().is_some_and(|named| named != *version);
    match tags.iter().find(is_other) {
        None => Ok(()),
        Some(tag) => Err(Error::usage(format!(
            "the tag `{tag}` names another version than the bundle's, which is `{version}`"
        ))
        .expected(version)
        .found(tag)),
    }
}

/// Refuses the same of something that is in a store already and may be no bundle, whose tags are its own affair. Where no
/// tag is a version's nothing is looked at.
pub(super) async fn refuse_other_versions_of(
    store: &dyn Store,
    manifest: &ManifestBlob,
    tags: &[Tag],
    reach: &Reach,
) -> Result<()> {
    if !tags.iter().any(|tag| tag.version().is_some()) {
        return Ok(());
    }
    if image::manifest_of(manifest).is_err() {
        return Ok(());
    }
    let version = match said(manifest) {
        Some(metadata) => Some(metadata.version),
        // Docker's form has no annotations, and the labels say it.
        None => match load::load_head(store, manifest.clone(), reach).await {
            Ok(head) => Metadata::of_copy(head.copies.best())
                .ok()
                .map(|of| of.version),
            Err(error) if error.kind() == Kind::Invalid => None,
            Err(error) => return Err(error),
        },
    };
    version.map_or(Ok(()), |version| refuse_other_versions(tags, &version))
}

/// The tags that must be set.
#[derive(Debug)]
pub(super) struct ToSet {
    /// The tags.
    pub(super) tags: Vec<Tag>,
    /// Whether one of them names something else at the moment.
    pub(super) moves: bool,
}

/// Refuses tags that channels keep on other bundles, their newest; looks at one tag of the store for each that could be one.
///
/// # Errors
///
/// [`Kind::Conflict`], unless such a tag may move.
pub(super) async fn refuse_heads(
    store: &dyn Store,
    tags: &[Tag],
    digest: &Digest,
    force: bool,
    settings: &Settings,
) -> Result<()> {
    if !force {
        for tag in tags {
            head::expect(store, tag, digest, &settings.limits).await?;
        }
    }
    Ok(())
}

/// Looks where the tags are now and returns those that must be set.
///
/// # Errors
///
/// [`Kind::Conflict`] for a version's tag that names another digest, unless it may move.
pub(super) async fn tags_to_set(
    store: &dyn Store,
    tags: &[Tag],
    manifest: &ManifestBlob,
    force: bool,
    settings: &Settings,
) -> Result<ToSet> {
    let digest = manifest.descriptor.digest;
    let mut missing = Vec::new();
    let mut moves = false;
    for tag in tags {
        // The index of a channel travels under its own tag.
        let is_other = |name| Channel::parse(manifest, &name, &settings.limits).is_err();
        if form::of_tag(tag).is_none_or(is_other) {
            refuse_reserved(tag)?;
        }
        match present(store, tag, manifest, settings).await? {
            Some(present) if present == digest => settings
                .talk
                .say(format!("{}:{tag} is there already", store.place())),
            Some(present) if tag.version().is_some() && !force => {
                return Err(moved(store, tag, digest, present));
            }
            Some(present) => {
                settings
                    .talk
                    .say(format!("{}:{tag} moves from {present}", store.place()));
                missing.push(tag.clone());
                moves = true;
            }
            None => missing.push(tag.clone()),
        }
    }
    Ok(ToSet {
        tags: missing,
        moves,
    })
}

/// The error about a version's tag that would move.
pub(super) fn moved(store: &dyn Store, tag: &Tag, digest: Digest, present: Digest) -> Error {
    Error::conflict(format!(
        "{}:{tag} exists and names another bundle: {present}",
        store.place()
    ))
    .expected(digest)
    .found(present)
    .hint("a version does not change: push a new one, or move the tag with --force")
}

/// Returns the digest that a tag names.
///
/// Where that would mean that nothing has to be sent, the manifest itself is read: what a registry says about a digest is
/// no substitute for the bytes, and a tag may outlive its manifest.
async fn present(
    store: &dyn Store,
    tag: &Tag,
    manifest: &ManifestBlob,
    settings: &Settings,
) -> Result<Option<Digest>> {
    let said = store.tagged(tag).await?;
    if said != Some(manifest.descriptor.digest) {
        return Ok(said);
    }
    let name = Name::Tag(tag.clone());
    match store::fetch_manifest(store, &name, &settings.limits).await {
        Ok(found) => Ok(Some(found.descriptor.digest)),
        // A layout whose file was damaged is put right by writing it again, as is a tag without a manifest.
        Err(error)
            if error.kind() == Kind::NotFound
                || (error.kind() == Kind::Mismatch && store.repository().is_none()) =>
        {
            settings.talk.warn(format!(
                "{}:{tag} is there, but its manifest is not as it should be, and is written again",
                store.place()
            ));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the bytes of a manifest and everything that it lists directly.
pub(super) fn total_size(manifest: &ManifestBlob) -> u64 {
    use manifest_bundle::oci::Document;
    let parts: u64 = match &manifest.document {
        Document::Manifest(image) => image
            .blobs()
            .map(|blob| blob.size)
            .fold(0, u64::saturating_add),
        Document::Index(index) => index
            .manifests
            .iter()
            .map(|child| child.size)
            .fold(0, u64::saturating_add),
    };
    parts.saturating_add(manifest.descriptor.size)
}

/// Says under which tags something is to be had now, and what that is.
pub(super) fn tell_set(did: &str, place: &str, tags: &[Tag], digest: &Digest, settings: &Settings) {
    if !tags.is_empty() {
        let names: Vec<String> = tags.iter().map(|tag| format!("{place}:{tag}")).collect();
        let names = names.join(", ");
        settings.talk.say(format!("{did} {names} ({digest})"));
    }
}

/// Says what a copy did with the blobs: bytes are sent to a registry, and written anywhere else.
pub(super) fn summary(copied: &Copied, to: &dyn Store) -> String {
    let did = if to.repository().is_some() {
        "sent"
    } else {
        "written"
    };
    let blobs = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let parts: Vec<String> = [
        blobs(copied.sent, &format!("{did} ({} bytes)", copied.bytes)),
        blobs(copied.present, "there already"),
        blobs(copied.mounted, "mounted"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "blobs: {}",
        if parts.is_empty() {
            "none".to_owned()
        } else {
            parts.join(", ")
        }
    )
}
