//! Synchronising: the channels of a repository become what its bundles say of themselves (spec/channel.md).

use std::collections::{BTreeMap, BTreeSet};

use crate::channel::Entry;
use crate::error::{Error, Kind, Result};
use crate::name::ChannelName;
use crate::store::Store;

use super::{Changed, Member, bundles, check, fetch_channel, names, plan};
use crate::ops::open::Reach;

/// What came of the channels of a repository.
#[derive(Debug, Default)]
pub struct Synced {
    /// The channels that are as the bundles say, in order.
    pub channels: Vec<Channel>,
    /// The channels that stay as they were, and why; in order.
    pub refused: Vec<(ChannelName, Error)>,
}

/// A channel that is as the bundles say.
#[derive(Debug)]
pub struct Channel {
    /// What changed.
    pub changed: Changed,
    /// The bundles that name the channel and were withdrawn from it, which are left out.
    pub withdrawn: Vec<Entry>,
}

/// How channels are synchronised.
#[derive(Debug, Clone, Copy)]
pub struct SyncOptions {
    /// Whether the head tags move too.
    pub move_head: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// Makes the channels of a repository from what its bundles say of themselves, and moves their head tags.
///
/// A bundle that names a channel is put into it, unless it was withdrawn; an entry whose bundle is gone, or is not what the
/// channel says, is taken out or put right; bundles that were added by hand stay. Running it twice changes nothing the second time.
/// A channel that cannot be what the bundles say stays as it was, and does not keep the others from it.
///
/// # Errors
///
/// What a store fails with.
pub async fn sync(store: &dyn Store, options: SyncOptions, reach: &Reach) -> Result<Synced> {
    let mut wanted: BTreeMap<ChannelName, Vec<Entry>> = BTreeMap::new();
    for Member { entry, channels } in bundles(store, reach).await? {
        for name in channels {
            wanted.entry(name).or_default().push(entry.clone());
        }
    }
    let mut all: BTreeSet<ChannelName> = names(store).await?.into_iter().collect();
    all.extend(wanted.keys().cloned());
    let mut synced = Synced::default();
    for name in all {
        let own = wanted.remove(&name).unwrap_or_default();
        match one(store, &name, own, options, reach).await {
            Ok(channel) => synced.channels.push(channel),
            // What is wrong with one channel is no reason to leave the others behind.
            Err(error) if is_of_one(&error) => synced.refused.push((name, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(synced)
}

fn is_of_one(error: &Error) -> bool {
    error.kind() == Kind::Conflict || error.kind().is_of_content()
}

/// Makes one channel as the bundles say that name it.
async fn one(
    store: &dyn Store,
    name: &ChannelName,
    own: Vec<Entry>,
    options: SyncOptions,
    reach: &Reach,
) -> Result<Channel> {
    let package = own.first().map(|entry| entry.facts.package.clone());
    let wrong = match fetch_channel(store, name, reach).await {
        Ok((channel, _)) => check(store, &channel, reach).await?,
        Err(error) if error.kind() == Kind::NotFound => BTreeMap::new(),
        Err(error) => return Err(error),
    };
    let mut withdrawn = Vec::new();
    let planned = plan(store, name, package.as_ref(), reach, |channel| {
        let mut is_changed = !channel
            .remove(|entry| wrong.contains_key(&entry.descriptor.digest))
            .is_empty();
        for entry in own {
            if channel.withdrawn().contains(&entry.descriptor.digest) {
                withdrawn.push(entry);
            } else {
                is_changed |= channel.add(entry)?;
            }
        }
        Ok(is_changed)
    })
    .await?;
    let changed = if options.dry_run {
        planned.look(store, options.move_head).await?
    } else {
        planned.write(store, options.move_head, reach).await?
    };
    Ok(Channel { changed, withdrawn })
}
