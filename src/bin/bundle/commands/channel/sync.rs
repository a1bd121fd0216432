//! `bundle channel sync`: the channels as the bundles say themselves.

use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::channel::sync::{self, SyncOptions};
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Result};
use serde_json::{Value, json};

use super::{bundles, changed_value, columns, tell_of_head, versions};
use crate::args::{AccessArgs, TransferArgs};
use crate::commands::repository;
use crate::output::Answer;
use crate::settings::Settings;

/// Make all channels from what the bundles say of themselves
///
/// A bundle that names a channel is put into it, unless it was withdrawn with `channel remove`. What is missing from the
/// repository leaves, what a channel says wrongly is corrected, and what was added by hand stays. A channel in conflict stays as
/// it was, and does not keep the others from being made; then the exit code is 13.
#[derive(Debug, clap::Args)]
pub(super) struct SyncArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// Leave the tags of the channels' names where they are
    #[arg(long)]
    no_head: bool,
    /// Say what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(super) transfer: TransferArgs,
}

pub(super) async fn sync(args: &SyncArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = if args.dry_run {
        repository::open(&args.repository, &reach)?
    } else {
        repository::open_to_write(&args.repository, &reach)?
    };
    let options = SyncOptions {
        move_head: !args.no_head,
        dry_run: args.dry_run,
    };
    let synced = sync::sync(store.as_ref(), options, &reach).await?;
    let mut lines = Vec::new();
    let mut items = Vec::new();
    for one in &synced.channels {
        let changed = &one.changed;
        tell_of_head(changed, args.dry_run, settings);
        let parts = [
            ("added", &changed.added),
            ("removed", &changed.removed),
            ("corrected", &changed.corrected),
            ("left out, since withdrawn,", &one.withdrawn),
        ];
        let parts = parts.iter().filter(|(_, entries)| !entries.is_empty());
        let parts = parts.map(|(did, entries)| format!("{did} {}", versions(entries)));
        lines.push([
            changed.channel.name.to_string(),
            bundles(changed.channel.entries().len()),
            match (changed.is_written, args.dry_run) {
                (true, false) => "written",
                (true, true) => "would be written",
                (false, _) => "as it was",
            }
            .to_owned(),
            parts.collect::<Vec<_>>().join("; "),
        ]);
        if changed.digest.is_some() {
            let members = changed_value(changed, &one.withdrawn, args.dry_run);
            items.push(Value::Object(members));
        }
    }
    if !synced.refused.is_empty() {
        // An error has no answer beside it.
        for line in columns(&lines).lines() {
            settings.talk.say(line);
        }
        return Err(refused(synced.refused));
    }
    if synced.channels.is_empty() {
        settings
            .talk
            .say(format!("no bundle of {} names a channel", store.place()));
    }
    Ok(Answer::new(
        columns(&lines),
        json!({ "repository": store.place(), "channels": items }),
    ))
}

/// Makes one error of all, of the kind of the first.
fn refused(all: Vec<(ChannelName, Error)>) -> Error {
    let count = all.len();
    let mut messages = Vec::new();
    let mut hints = Vec::new();
    let mut first = None;
    for (name, error) in all {
        messages.push(match error.to_string() {
            text if text.contains(&format!("`{name}`")) => text,
            text => format!("channel `{name}`: {text}"),
        });
        hints.extend(error.detail().hint.clone());
        first.get_or_insert(error);
    }
    match first {
        Some(error) if count == 1 => error,
        first => {
            let kind = first.map_or(manifest_bundle::Kind::Conflict, |error| error.kind());
            let hints = hints.join("; ");
            let error = Error::new(
                kind,
                format!(
                    "{count} channels stay as they were: {}",
                    messages.join("; ")
                ),
            );
            if hints.is_empty() {
                error
            } else {
                error.hint(hints)
            }
        }
    }
}
