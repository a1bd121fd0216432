//! `bundle channel`: lists of bundles, newest first, that operators choose from.

mod change;
mod show;
mod sync;

use std::fmt::Write as _;

use clap::Subcommand;
use manifest_bundle::Result;
use manifest_bundle::channel::{self as form, Channel, Entry};
use manifest_bundle::digest::Digest;
use manifest_bundle::limits::Limits;
use manifest_bundle::name::ChannelName;
use manifest_bundle::oci::ManifestBlob;
use manifest_bundle::ops::channel::{self, Changed};
use manifest_bundle::ops::resolve::fetch_channel;
use manifest_bundle::reference::Location;
use manifest_bundle::store::Store;
use serde_json::{Map, Value, json};

pub(super) use self::change::join;
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
    Show(show::ShowArgs),
    Add(change::AddArgs),
    Remove(change::RemoveArgs),
    Sync(sync::SyncArgs),
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

impl Args {
    /// Returns how the transfers of the action run.
    pub(crate) fn transfer(&self) -> &TransferArgs {
        match &self.action {
            Action::List(args) => &args.transfer,
            Action::Show(args) => &args.transfer,
            Action::Add(args) => &args.change.transfer,
            Action::Remove(args) => &args.change.transfer,
            Action::Sync(args) => &args.transfer,
            Action::Import(args) => &args.transfer,
            Action::Export(args) => &args.transfer,
        }
    }
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    match &args.action {
        Action::List(args) => list(args, settings).await,
        Action::Show(args) => show::show(args, settings).await,
        Action::Add(args) => change::add(args, settings).await,
        Action::Remove(args) => change::remove(args, settings).await,
        Action::Sync(args) => sync::sync(args, settings).await,
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

/// Shows the index of a channel that was found by any name; nothing for what is none.
pub(super) fn of_index(blob: &ManifestBlob, store: &dyn Store, limits: &Limits) -> Option<Answer> {
    let channel = form::of_index(blob, limits)?;
    Some(show::of_index(&channel, &blob.descriptor.digest, store))
}

/// Reads the name of a channel, where the flag is given once for each.
pub(super) fn one_of_several(text: &str) -> std::result::Result<ChannelName, String> {
    word(text).map_err(|error| match text.split_once(',') {
        Some(_) => {
            let flags = text
                .split(',')
                .map(|name| format!("--channel {}", name.trim()));
            let flags: Vec<String> = flags.collect();
            format!(
                "{error}; give the flag once for each: `{}`",
                flags.join(" ")
            )
        }
        None => error,
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

/// Returns what machines are told of a bundle of a channel.
fn named(entry: &Entry) -> Value {
    json!({
        "version": entry.facts.version.to_string(),
        "digest": entry.descriptor.digest.to_string(),
    })
}

/// Returns what machines are told of a channel that was changed, or would be; of `known` the versions are known.
fn changed_value(changed: &Changed, known: &[Entry], dry_run: bool) -> Map<String, Value> {
    let channel = &changed.channel;
    let list = |entries: &[Entry]| entries.iter().map(named).collect::<Value>();
    let withdrawn = channel.withdrawn().iter().map(|digest| {
        let known = known.iter().chain(&changed.removed);
        let mut known = known.filter(|entry| entry.descriptor.digest == *digest);
        known.next().map_or_else(
            || json!({ "version": null, "digest": digest.to_string() }),
            named,
        )
    });
    let mut members = Map::new();
    if let Some(digest) = &changed.digest
        && let Value::Object(all) = value(channel, digest)
    {
        members = all;
    }
    members.extend([
        ("added".to_owned(), list(&changed.added)),
        ("removed".to_owned(), list(&changed.removed)),
        ("corrected".to_owned(), list(&changed.corrected)),
        ("withdrawn".to_owned(), withdrawn.collect()),
        ("written".to_owned(), json!(changed.is_written && !dry_run)),
        ("dryRun".to_owned(), json!(dry_run)),
    ]);
    members
}

/// Names the versions of entries, and counts those that are too many to be named.
fn versions(entries: &[Entry]) -> String {
    const NAMED: usize = 20;
    let mut names: Vec<String> = entries
        .iter()
        .take(NAMED)
        .map(|entry| entry.facts.version.to_string())
        .collect();
    if let Some(more @ 1..) = entries.len().checked_sub(NAMED) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// Says where the head tag of a channel that was changed points, or would point.
pub(super) fn tell_of_head(changed: &Changed, dry_run: bool, settings: &Settings) {
    let name = &changed.channel.name;
    let now = if dry_run {
        "would now point"
    } else {
        "now points"
    };
    if let (Some(_), Some(head)) = (changed.head, changed.channel.head()) {
        settings
            .talk
            .say(format!("the tag `{name}` {now} at {}", head.facts.version));
    }
    if let Some(stale) = changed.stale {
        let channel = &changed.channel;
        let why = match channel.head() {
            None => "is empty",
            Some(_) => "has another newest bundle",
        };
        let of_digest = |entry: &&Entry| entry.descriptor.digest == stale;
        let left = changed.removed.iter().find(of_digest);
        let what = match (channel.find(&stale), left) {
            (Some(entry), _) => format!("{stale} ({})", entry.facts.version),
            (None, Some(entry)) => format!("{stale} ({}), which left it", entry.facts.version),
            (None, None) => format!("{stale}, which is not in it"),
        };
        settings.talk.warn(format!(
            "channel `{name}` {why}, and the tag `{name}` still points at {what}: who takes that tag, or asks `resolve --known` with that digest, keeps it"
        ));
    }
}
