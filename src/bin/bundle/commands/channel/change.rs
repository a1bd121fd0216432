//! `bundle channel add` and `bundle channel remove`.

use manifest_bundle::channel::{self as form, Entry};
use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::channel::{self, Changed, Named};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::resolve::fetch_channel;
use manifest_bundle::reference::Location;
use manifest_bundle::store::Store;
use manifest_bundle::{Error, Kind, Result};
use serde_json::{Value, json};

use super::{changed_value, tell_of_head, versions};
use crate::args::{AccessArgs, TransferArgs, word};
use crate::commands::repository;
use crate::output::Answer;
use crate::settings::Settings;

/// Put bundles of the repository into a channel, which is made where there is none
///
/// Also a bundle that was withdrawn from the channel: it is withdrawn no longer.
#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    pub(super) change: ChangeArgs,
}

/// Withdraw bundles from a channel; they stay in the repository
///
/// The channel records what was withdrawn: `channel sync` does not put it back, and `push --channel` refuses to. `channel add`
/// puts it in again. Channels decide only for who asks for one: `resolve` without --channel looks at no channel, and finds a
/// withdrawn bundle by the tag of its version.
#[derive(Debug, clap::Args)]
pub(super) struct RemoveArgs {
    #[command(flatten)]
    pub(super) change: ChangeArgs,
    /// Keep no record, and take what was withdrawn out of it: `channel sync` may put the bundle in again
    #[arg(long)]
    forget: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    repository: Location,
    /// The channel
    #[arg(value_name = "CHANNEL", value_parser = word::<ChannelName>)]
    channel: ChannelName,
    /// The bundles, by version or digest
    #[arg(value_name = "VERSION|DIGEST", required = true, value_parser = word::<Named>)]
    bundles: Vec<Named>,
    /// Leave the tag of the channel's name where it is; who asks `resolve --known` with the bundle that it names keeps that
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

impl ChangeArgs {
    /// Opens the repository, to write only if anything will be written.
    fn open(&self, reach: &Reach) -> Result<std::sync::Arc<dyn Store>> {
        if self.dry_run {
            repository::open(&self.repository, reach)
        } else {
            repository::open_to_write(&self.repository, reach)
        }
    }
}

pub(super) async fn add(args: &AddArgs, settings: &Settings) -> Result<Answer> {
    let args = &args.change;
    let reach = settings.reach(&args.access.access())?;
    let store = args.open(&reach)?;
    let entries = channel::entries(store.as_ref(), &args.bundles, &reach).await?;
    let joining = join(store.as_ref(), &args.channel, entries, true, &reach).await?;
    if args.dry_run {
        joining.look(store.as_ref(), !args.no_head, settings).await
    } else {
        joining
            .write(store.as_ref(), !args.no_head, &reach, settings)
            .await
    }
}

/// A bundle, or several, that a channel can take.
#[derive(Debug)]
pub(in crate::commands) struct Joining {
    entries: Vec<Entry>,
    /// Those that were withdrawn before.
    again: Vec<Entry>,
    planned: channel::Planned,
}

/// Looks whether a channel, which is made where there is none, can take entries; writes nothing.
///
/// # Errors
///
/// [`Kind::Conflict`] for a bundle that was withdrawn, unless it may come in `again`.
pub(in crate::commands) async fn join(
    store: &dyn Store,
    name: &ChannelName,
    entries: Vec<Entry>,
    again: bool,
    reach: &Reach,
) -> Result<Joining> {
    let package = entries.first().map(|entry| entry.facts.package.clone());
    let mut withdrawn = Vec::new();
    let planned = channel::plan(store, name, package.as_ref(), reach, |channel| {
        let mut is_changed = false;
        for entry in &entries {
            if channel.withdrawn().contains(&entry.descriptor.digest) {
                if !again {
                    return Err(was_withdrawn(name, entry));
                }
                withdrawn.push(entry.clone());
            }
            is_changed |= channel.add(entry.clone())?;
        }
        Ok(is_changed)
    })
    .await?;
    Ok(Joining {
        entries,
        again: withdrawn,
        planned,
    })
}

fn was_withdrawn(name: &ChannelName, entry: &Entry) -> Error {
    let (version, digest) = (&entry.facts.version, entry.descriptor.digest);
    Error::new(
        Kind::Conflict,
        format!("{version} was withdrawn from channel `{name}`"),
    )
    .digest(digest)
    .hint(format!(
        "`bundle channel add REPOSITORY {name} {digest}` puts it in again"
    ))
}

impl Joining {
    /// Writes the channel and says what changed.
    pub(in crate::commands) async fn write(
        self,
        store: &dyn Store,
        move_head: bool,
        reach: &Reach,
        settings: &Settings,
    ) -> Result<Answer> {
        let changed = self.planned.write(store, move_head, reach).await?;
        tell_added(&changed, &self.entries, &self.again, false, settings);
        Ok(answer(store, &changed, false, settings))
    }

    /// Says what would change.
    async fn look(self, store: &dyn Store, move_head: bool, settings: &Settings) -> Result<Answer> {
        let changed = self.planned.look(store, move_head).await?;
        tell_added(&changed, &self.entries, &self.again, true, settings);
        Ok(answer(store, &changed, true, settings))
    }
}

fn tell_added(
    changed: &Changed,
    entries: &[Entry],
    again: &[Entry],
    dry_run: bool,
    settings: &Settings,
) {
    let name = &changed.channel.name;
    let names = versions(entries);
    settings.talk.say(match (changed.is_written, dry_run) {
        (true, false) => format!("channel `{name}`: added {names}"),
        (true, true) => format!("channel `{name}`: would add {names}"),
        (false, _) => format!("channel `{name}` has {names} already"),
    });
    if !again.is_empty() {
        settings.talk.say(format!(
            "channel `{name}`: withdrawn no longer: {}",
            versions(again)
        ));
    }
}

pub(super) async fn remove(args: &RemoveArgs, settings: &Settings) -> Result<Answer> {
    let (forget, args) = (args.forget, &args.change);
    let reach = settings.reach(&args.access.access())?;
    let store = args.open(&reach)?;
    let store = store.as_ref();
    let name = &args.channel;
    let mut bundles = args.bundles.clone();
    if forget {
        digests_of_withdrawn(&mut bundles, name, store, &reach).await?;
    }
    let planned = channel::plan(store, name, None, &reach, |channel| {
        let mut is_changed = false;
        for named in &bundles {
            let gone = if forget {
                channel.remove(|entry| named.is(entry))
            } else {
                channel.withdraw(|entry| named.is(entry))?
            };
            is_changed |= !gone.is_empty();
            let is_recorded = match named {
                Named::Digest(digest) if forget => {
                    let was = channel.forget(digest);
                    is_changed |= was;
                    was
                }
                Named::Digest(digest) => channel.withdrawn().contains(digest),
                Named::Version(_) => false,
            };
            if gone.is_empty() && !is_recorded {
                return Err(Error::not_found(format!("channel `{name}` has no {named}"))
                    .at(store.place())
                    .hint(format!(
                        "`bundle channel show {} {name}` shows what it has",
                        store.place()
                    )));
            }
        }
        Ok(is_changed)
    })
    .await?;
    let changed = if args.dry_run {
        planned.look(store, !args.no_head).await?
    } else {
        planned.write(store, !args.no_head, &reach).await?
    };
    let gone: Vec<String> = args.bundles.iter().map(ToString::to_string).collect();
    let gone = gone.join(", ");
    let did = match (changed.is_written, args.dry_run, forget) {
        (false, ..) => format!("channel `{name}`: {gone} was withdrawn already"),
        (true, false, false) => format!("channel `{name}`: removed {gone}"),
        (true, false, true) => format!("channel `{name}`: removed {gone}, without a record"),
        (true, true, _) => format!("channel `{name}`: would remove {gone}"),
    };
    settings.talk.say(did);
    Ok(answer(store, &changed, args.dry_run, settings))
}

/// Replaces the versions of bundles that are not in the channel by their digests: the record of what was withdrawn has no
/// versions.
async fn digests_of_withdrawn(
    bundles: &mut [Named],
    name: &ChannelName,
    store: &dyn Store,
    reach: &Reach,
) -> Result<()> {
    let (channel, _) = fetch_channel(store, name, reach).await?;
    if channel.withdrawn().is_empty() {
        return Ok(());
    }
    let withdrawn = channel::withdrawn(store, &channel, reach).await?;
    for named in bundles {
        let Named::Version(version) = named else {
            continue;
        };
        let mut entries = channel.entries().iter();
        let has = entries.any(|entry| entry.facts.version == *version);
        let mut all = withdrawn.iter();
        let recorded = all.find(|(_, found)| found.as_ref() == Some(version));
        if let (false, Some((digest, _))) = (has, recorded) {
            *named = Named::Digest(*digest);
        }
    }
    Ok(())
}

/// Returns the pinned reference of a channel's index.
fn answer(store: &dyn Store, changed: &Changed, dry_run: bool, settings: &Settings) -> Answer {
    tell_of_head(changed, dry_run, settings);
    let digest = changed.digest.map(|digest| digest.to_string());
    let text = digest
        .as_ref()
        .map(|digest| format!("{}@{digest}", store.place()));
    let mut members = changed_value(changed, &[], dry_run);
    let tag = form::index_tag(&changed.channel.name).ok();
    members.insert("reference".into(), json!(text));
    members.insert("repository".into(), json!(store.place()));
    members.insert("tag".into(), json!(tag.map(|tag| tag.to_string())));
    Answer::new(text.unwrap_or_default(), Value::Object(members))
}
