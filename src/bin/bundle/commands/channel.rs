//! `bundle channel`: lists of bundles, newest first, that operators choose from.

use std::fmt::Write as _;

use clap::Subcommand;
use manifest_bundle::channel::{self as form, Channel, Entry};
use manifest_bundle::digest::Digest;
use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::channel::{self, Changed, Named};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::resolve::{Summary, fetch_channel};
use manifest_bundle::reference::Location;
use manifest_bundle::resolution::Reason;
use manifest_bundle::store::Store;
use manifest_bundle::{Error, Result};
use serde_json::{Value, json};

use super::{kdp, repository};
use crate::args::{AccessArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// List, show and change the channels of a repository
///
/// A channel is a list of bundles of one package, the newest first, under the tag `channel-NAME`. Beside it the tag NAME
/// points straight at the newest release, for clients that cannot choose. A registry cannot lock anything: let one
/// writer at a time change a channel.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle channel add ghcr.io/team/etcd stable 3.6.0
  bundle channel show ghcr.io/team/etcd stable
  bundle channel sync ghcr.io/team/etcd")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the channels: newest version and number of bundles
    List(ListArgs),
    /// Show the bundles of a channel, and which of them are missing or not what the channel says
    Show(ShowArgs),
    /// Put bundles of the repository into a channel
    Add(ChangeArgs),
    /// Take bundles out of a channel; they stay in the repository
    Remove(ChangeArgs),
    /// Make all channels from what the bundles say of themselves
    Sync(SyncArgs),
    Import(Box<kdp::ImportArgs>),
    Export(kdp::ExportArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    transfer: TransferArgs,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// The channel
    #[arg(value_name = "CHANNEL", value_parser = word::<ChannelName>)]
    channel: ChannelName,
    /// Show what the channel says, and look at no bundle
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    transfer: TransferArgs,
}

#[derive(Debug, clap::Args)]
struct ChangeArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// The channel; `add` makes it where there is none
    #[arg(value_name = "CHANNEL", value_parser = word::<ChannelName>)]
    channel: ChannelName,
    /// The bundles, by version or digest
    #[arg(value_name = "VERSION|DIGEST", required = true, value_parser = word::<Named>)]
    bundles: Vec<Named>,
    /// Leave the tag of the channel's name where it is; who asks `resolve --known` with the bundle that it names keeps that
    #[arg(long)]
    no_head: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    transfer: TransferArgs,
}

#[derive(Debug, clap::Args)]
struct SyncArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// Leave the tags of the channels' names where they are
    #[arg(long)]
    no_head: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    transfer: TransferArgs,
}

impl Args {
    /// Returns how the transfers of the action run.
    pub(crate) fn transfer(&self) -> &TransferArgs {
        match &self.action {
            Action::List(args) => &args.transfer,
            Action::Show(args) => &args.transfer,
            Action::Add(args) | Action::Remove(args) => &args.transfer,
            Action::Sync(args) => &args.transfer,
            Action::Import(args) => &args.transfer,
            Action::Export(args) => &args.transfer,
        }
    }
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    match &args.action {
        Action::List(args) => list(args, settings).await,
        Action::Show(args) => show(args, settings).await,
        Action::Add(args) => add(args, settings).await,
        Action::Remove(args) => remove(args, settings).await,
        Action::Sync(args) => sync(args, settings).await,
        Action::Import(args) => kdp::import(args, settings).await,
        Action::Export(args) => kdp::export(args, settings).await,
    }
}

async fn list(args: &ListArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open(&args.repository, &reach)?;
    let mut lines = Vec::new();
    let mut items = Vec::new();
    for name in channel::names(store.as_ref()).await? {
        let (channel, digest) = fetch_channel(store.as_ref(), &name, &reach).await?;
        let head = channel.head().map(|head| head.facts.version.to_string());
        let count = channel.entries().len();
        lines.push([
            name.to_string(),
            head.unwrap_or_else(|| "-".to_owned()),
            bundles(count),
        ]);
        items.push(value(&channel, &digest));
    }
    if lines.is_empty() {
        settings
            .talk
            .say(format!("{} has no channels", store.place()));
    }
    Ok(Answer::new(
        columns(&lines),
        json!({ "repository": store.place(), "channels": items }),
    ))
}

pub(super) fn bundles(count: usize) -> String {
    format!("{count} {}", if count == 1 { "bundle" } else { "bundles" })
}

/// Returns what machines are told of a channel.
pub(super) fn value(channel: &Channel, digest: &Digest) -> Value {
    json!({
        "name": channel.name.as_str(),
        "digest": digest.to_string(),
        "package": channel.package.as_str(),
        "head": channel.head().map(|head| json!({
            "version": head.facts.version.to_string(),
            "digest": head.descriptor.digest.to_string(),
        })),
        "bundles": channel.entries().len(),
    })
}

async fn show(args: &ShowArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open(&args.repository, &reach)?;
    let (channel, digest) = fetch_channel(store.as_ref(), &args.channel, &reach).await?;
    let mut wrong = std::collections::BTreeMap::new();
    let mut unlisted = Vec::new();
    if !args.no_check {
        wrong = channel::check(store.as_ref(), &channel, &reach).await?;
        unlisted = find_unlisted(store.as_ref(), &channel, &reach).await?;
    }
    let mut lines = Vec::new();
    for entry in channel.entries() {
        let digest = &entry.descriptor.digest;
        let fault = wrong.get(digest).map(|reason| format!("FAULT: {reason}"));
        lines.push([
            entry.facts.version.to_string(),
            digest.to_string(),
            needs(entry),
            fault.unwrap_or_default(),
        ]);
    }
    for (version, digest) in &unlisted {
        settings.talk.warn(format!(
            "{version} ({digest}) says that it belongs to `{}` and is not in it: `bundle channel sync` puts it there",
            args.channel
        ));
    }
    let mut answer = value(&channel, &digest);
    let entries: Vec<Value> = channel
        .entries()
        .iter()
        .map(|entry| entry_value(entry, wrong.get(&entry.descriptor.digest)))
        .collect();
    if let Some(members) = answer.as_object_mut() {
        members.insert("repository".into(), json!(store.place()));
        members.insert("entries".into(), json!(entries));
        let unlisted = unlisted
            .iter()
            .map(|(version, digest)| json!({ "version": version, "digest": digest.to_string() }));
        members.insert("unlisted".into(), unlisted.collect());
    }
    Ok(Answer::new(columns(&lines), answer))
}

/// Finds bundles that say that they belong to a channel and are not in it.
async fn find_unlisted(
    store: &dyn Store,
    channel: &Channel,
    reach: &Reach,
) -> Result<Vec<(String, Digest)>> {
    let mut unlisted = Vec::new();
    for Summary { manifest, metadata } in channel::bundles(store, reach).await? {
        let digest = manifest.descriptor.digest;
        if metadata.channels.contains(&channel.name) && channel.find(&digest).is_none() {
            unlisted.push((metadata.version.to_string(), digest));
        }
    }
    Ok(unlisted)
}

/// Says what a bundle needs, as the channel has it.
fn needs(entry: &Entry) -> String {
    let facts = &entry.facts;
    let mut text = match &facts.operator_id {
        Some(id) => id.to_string(),
        None => "any operator".to_owned(),
    };
    // Writing to a string cannot fail.
    if let Some(minimum) = &facts.min_operator_version {
        let _ = write!(text, " >= {minimum}");
    }
    if let Some(minimum) = &facts.min_kubernetes_version {
        let _ = write!(text, ", Kubernetes >= {minimum}");
    }
    text
}

fn entry_value(entry: &Entry, fault: Option<&Reason>) -> Value {
    let facts = &entry.facts;
    json!({
        "version": facts.version.to_string(),
        "digest": entry.descriptor.digest.to_string(),
        "operatorId": facts.operator_id.as_ref().map(ToString::to_string),
        "minOperatorVersion": facts.min_operator_version.as_ref().map(ToString::to_string),
        "minKubernetesVersion": facts.min_kubernetes_version.map(|v| v.to_string()),
        "fault": fault.map(|reason| json!({ "code": reason.code(), "reason": reason.to_string() })),
    })
}

/// Writes rows with their columns below each other.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let lines = rows.iter().map(|row| {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}  ");
        }
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

async fn add(args: &ChangeArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open_to_write(&args.repository, &reach)?;
    let entries = channel::entries(store.as_ref(), &args.bundles, &reach).await?;
    let joining = join(store.as_ref(), &args.channel, entries, &reach).await?;
    joining
        .write(store.as_ref(), !args.no_head, &reach, settings)
        .await
}

/// A bundle, or several, that a channel can take.
#[derive(Debug)]
pub(super) struct Joining {
    name: ChannelName,
    versions: Vec<String>,
    planned: channel::Planned,
}

/// Looks whether a channel, which is made where there is none, can take entries; writes nothing.
pub(super) async fn join(
    store: &dyn Store,
    name: &ChannelName,
    entries: Vec<Entry>,
    reach: &Reach,
) -> Result<Joining> {
    let package = entries.first().map(|entry| entry.facts.package.clone());
    let versions = entries
        .iter()
        .map(|entry| entry.facts.version.to_string())
        .collect();
    let planned = channel::plan(store, name, package.as_ref(), reach, |channel| {
        let mut is_changed = false;
        for entry in entries {
            is_changed |= channel.add(entry)?;
        }
        Ok(is_changed)
    })
    .await?;
    Ok(Joining {
        name: name.clone(),
        versions,
        planned,
    })
}

impl Joining {
    /// Writes the channel and says what changed.
    pub(super) async fn write(
        self,
        store: &dyn Store,
        move_head: bool,
        reach: &Reach,
        settings: &Settings,
    ) -> Result<Answer> {
        let (name, versions) = (self.name, self.versions.join(", "));
        let changed = self.planned.write(store, move_head, reach).await?;
        settings.talk.say(if changed.is_written {
            format!("channel `{name}`: added {versions}")
        } else {
            format!("channel `{name}` has {versions} already")
        });
        Ok(answer(store, &changed, settings))
    }
}

async fn remove(args: &ChangeArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open_to_write(&args.repository, &reach)?;
    let name = &args.channel;
    let changed = channel::update(
        store.as_ref(),
        name,
        None,
        !args.no_head,
        &reach,
        |channel| {
            for named in &args.bundles {
                if channel.remove(|entry| named.is(entry)).is_empty() {
                    return Err(Error::not_found(format!("channel `{name}` has no {named}"))
                        .at(store.place())
                        .hint(format!(
                            "`bundle channel show {} {name}` shows what it has",
                            store.place()
                        )));
                }
            }
            Ok(true)
        },
    )
    .await?;
    let gone: Vec<String> = args.bundles.iter().map(ToString::to_string).collect();
    settings
        .talk
        .say(format!("channel `{name}`: removed {}", gone.join(", ")));
    Ok(answer(store.as_ref(), &changed, settings))
}

async fn sync(args: &SyncArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open_to_write(&args.repository, &reach)?;
    let all = channel::sync(store.as_ref(), !args.no_head, &reach).await?;
    let mut lines = Vec::new();
    let mut items = Vec::new();
    for changed in &all {
        let what = if changed.is_written {
            "written"
        } else {
            "as it was"
        };
        tell_of_head(changed, settings);
        lines.push([
            changed.channel.name.to_string(),
            bundles(changed.channel.entries().len()),
            what.to_owned(),
        ]);
        if let Some(digest) = &changed.digest {
            items.push(value(&changed.channel, digest));
        }
    }
    if all.is_empty() {
        settings
            .talk
            .say(format!("no bundle of {} names a channel", store.place()));
    }
    Ok(Answer::new(
        columns(&lines),
        json!({ "repository": store.place(), "channels": items }),
    ))
}

pub(super) fn tell_of_head(changed: &Changed, settings: &Settings) {
    if let (Some(_), Some(head)) = (changed.head, changed.channel.head()) {
        settings.talk.say(format!(
            "the tag `{}` now points at {}",
            changed.channel.name, head.facts.version
        ));
    }
    if let Some(stale) = changed.stale {
        let name = &changed.channel.name;
        settings.talk.warn(format!(
            "channel `{name}` {}, and the tag `{name}` still points at {stale}: who takes that tag, or asks `resolve --known` with that digest, keeps it",
            if changed.channel.entries().is_empty() {
                "is empty"
            } else {
                "has another newest bundle"
            }
        ));
    }
}

/// Returns the pinned reference of a channel's index.
fn answer(store: &dyn Store, changed: &Changed, settings: &Settings) -> Answer {
    tell_of_head(changed, settings);
    let digest = changed.digest.map(|digest| digest.to_string());
    let text = digest
        .as_ref()
        .map(|digest| format!("{}@{digest}", store.place()));
    let mut members = changed
        .digest
        .map_or_else(|| json!({}), |digest| value(&changed.channel, &digest));
    if let Some(members) = members.as_object_mut() {
        members.insert("reference".into(), json!(text));
        members.insert("repository".into(), json!(store.place()));
        members.insert(
            "tag".into(),
            json!(
                form::index_tag(&changed.channel.name)
                    .ok()
                    .map(|tag| tag.to_string())
            ),
        );
    }
    Answer::new(text.unwrap_or_default(), members)
}
