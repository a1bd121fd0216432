//! `bundle channel show`: what a channel holds, what left it, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use manifest_bundle::Result;
use manifest_bundle::channel::{self as form, Channel, Entry};
use manifest_bundle::digest::Digest;
use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::channel::{self, Member};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::resolve::fetch_channel;
use manifest_bundle::reference::Location;
use manifest_bundle::resolution::Reason;
use manifest_bundle::store::Store;
use manifest_bundle::version::Version;
use serde_json::{Value, json};

use super::{columns, named, value};
use crate::args::{AccessArgs, TransferArgs, word};
use crate::commands::repository;
use crate::output::Answer;
use crate::settings::Settings;

/// Show the bundles of a channel, and which of them are missing or not what the channel says
///
/// Bundles that were withdrawn come last. What names the channel and is not in it, and a tag of the channel's name that points
/// at something else than its newest bundle, are said on stderr.
#[derive(Debug, clap::Args)]
pub(super) struct ShowArgs {
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
    pub(super) transfer: TransferArgs,
}

pub(super) async fn show(args: &ShowArgs, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open(&args.repository, &reach)?;
    let store = store.as_ref();
    let (channel, digest) = fetch_channel(store, &args.channel, &reach).await?;
    let mut wrong = Wrong::new();
    let mut unlisted = Vec::new();
    let mut head = None;
    let withdrawn = if args.no_check {
        let digests = channel.withdrawn().iter();
        digests.map(|digest| (*digest, None)).collect()
    } else {
        wrong = channel::check(store, &channel, &reach).await?;
        unlisted = find_unlisted(store, &channel, &reach).await?;
        head = store.tagged(&form::head_tag(&channel.name)?).await?;
        channel::withdrawn(store, &channel, &reach).await?
    };
    for entry in &unlisted {
        tell_unlisted(entry, &channel, store, settings);
    }
    if !args.no_check {
        tell_head(&channel, head.as_ref(), store, settings);
    }
    let lines = rows(&channel, &wrong, &withdrawn);
    let mut answer = whole_value(&channel, &digest, store, &wrong, &withdrawn);
    if let Some(members) = answer.as_object_mut() {
        members.insert("unlisted".into(), unlisted.iter().map(named).collect());
        let head = head.map(|digest| digest.to_string());
        members.insert("headTag".into(), json!(head));
    }
    Ok(Answer::new(columns(&lines), answer))
}

/// Shows what an index says that was found by any name.
pub(in crate::commands) fn of_index(
    channel: &Channel,
    digest: &Digest,
    store: &dyn Store,
) -> Answer {
    let withdrawn: Withdrawn = channel.withdrawn().iter().map(|one| (*one, None)).collect();
    let none = BTreeMap::new();
    let mut text = format!(
        "channel {} of the package {}",
        channel.name, channel.package
    );
    for line in columns(&rows(channel, &none, &withdrawn)).lines() {
        text.push('\n');
        text.push_str(line);
    }
    Answer::new(text, whole_value(channel, digest, store, &none, &withdrawn))
}

/// What is wrong with entries.
type Wrong = BTreeMap<Digest, Reason>;
/// What was withdrawn, with the versions of what is still there.
type Withdrawn = Vec<(Digest, Option<Version>)>;

/// Returns a row for each bundle that is in a channel, and then for each that was withdrawn.
fn rows(channel: &Channel, wrong: &Wrong, withdrawn: &Withdrawn) -> Vec<[String; 4]> {
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
    for (digest, version) in withdrawn {
        let version = version.as_ref().map(ToString::to_string);
        lines.push([
            version.unwrap_or_else(|| "-".to_owned()),
            digest.to_string(),
            "withdrawn".to_owned(),
            String::new(),
        ]);
    }
    lines
}

fn whole_value(
    channel: &Channel,
    digest: &Digest,
    store: &dyn Store,
    wrong: &Wrong,
    withdrawn: &Withdrawn,
) -> Value {
    let mut answer = value(channel, digest);
    let entries = channel
        .entries()
        .iter()
        .map(|entry| entry_value(entry, wrong.get(&entry.descriptor.digest)));
    let withdrawn = withdrawn.iter().map(|(digest, version)| {
        let version = version.as_ref().map(ToString::to_string);
        json!({ "version": version, "digest": digest.to_string() })
    });
    if let Some(members) = answer.as_object_mut() {
        members.insert("repository".into(), json!(store.place()));
        members.insert("entries".into(), entries.collect());
        members.insert("withdrawn".into(), withdrawn.collect());
    }
    answer
}

/// Finds bundles that say that they belong to a channel, are not in it and were not withdrawn from it.
async fn find_unlisted(store: &dyn Store, channel: &Channel, reach: &Reach) -> Result<Vec<Entry>> {
    let mut unlisted = Vec::new();
    for Member { entry, channels } in channel::bundles(store, reach).await? {
        let digest = &entry.descriptor.digest;
        if channels.contains(&channel.name)
            && channel.find(digest).is_none()
            && !channel.withdrawn().contains(digest)
        {
            unlisted.push(entry);
        }
    }
    Ok(unlisted)
}

/// Says how a bundle gets into the channel that it names, which may be in the way of it.
fn tell_unlisted(entry: &Entry, channel: &Channel, store: &dyn Store, settings: &Settings) {
    let (place, name) = (store.place(), &channel.name);
    let sync = format!("`bundle channel sync {place}`");
    let how = match channel.clone().add(entry.clone()) {
        Ok(_) => format!("{sync} puts it there"),
        Err(error) => {
            let hint = error.detail().hint.clone().unwrap_or_default();
            let hint = hint.replace("REPOSITORY", &place);
            format!("{error}; {hint}, and {sync} puts it there")
        }
    };
    settings.talk.warn(format!(
        "{} ({}) says that it belongs to `{name}` and is not in it: {how}",
        entry.facts.version, entry.descriptor.digest
    ));
}

/// Says where the head tag points, unless that is the newest bundle.
fn tell_head(channel: &Channel, tagged: Option<&Digest>, store: &dyn Store, settings: &Settings) {
    let name = &channel.name;
    let Some(newest) = channel.head() else {
        if let Some(tagged) = tagged {
            settings.talk.warn(format!(
                "the channel is empty, and the tag `{name}` still points at {tagged}"
            ));
        }
        return;
    };
    let at = match tagged {
        Some(tagged) if *tagged == newest.descriptor.digest => return,
        Some(tagged) => match channel.find(tagged) {
            Some(older) => format!("points at {}", older.facts.version),
            None => format!("points at {tagged}, which is not in the channel"),
        },
        None => "is not there".to_owned(),
    };
    let version = &newest.facts.version;
    settings.talk.warn(format!(
        "the tag `{name}` {at}, and the newest bundle is {version}: `bundle channel add {} {name} {version}` lets it point there",
        store.place()
    ));
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
