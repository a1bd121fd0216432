//! The tag of a channel's name, which is the channel's to move (spec/channel.md).

use crate::channel::{self, Channel};
use crate::digest::Digest;
use crate::error::{Error, Kind, Result};
use crate::limits::Limits;
use crate::name::ChannelName;
use crate::store::{self, Name, Store};
use crate::tag::Tag;

/// Refuses to let a tag name a manifest where a channel keeps that tag on another one, its newest bundle.
///
/// Costs one look at a tag, and none for a tag that is no channel's name.
///
/// # Errors
///
/// [`Kind::Conflict`], and what a store fails with.
pub async fn expect(store: &dyn Store, tag: &Tag, digest: &Digest, limits: &Limits) -> Result<()> {
    let Ok(name) = tag.as_str().parse::<ChannelName>() else {
        return Ok(());
    };
    let index = channel::index_tag(&name)?;
    if store.tagged(&index).await?.is_none() {
        return Ok(());
    }
    let read = store::fetch_manifest(store, &Name::Tag(index), limits).await;
    let channel = match read.and_then(|blob| Channel::parse(&blob, &name, limits)) {
        Ok(channel) => channel,
        // What is no channel keeps no tag.
        Err(error) if error.kind() == Kind::NotFound || error.kind().is_of_content() => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let head = channel.head();
    if head.is_some_and(|head| head.descriptor.digest == *digest)
        || store.tagged(tag).await? == Some(*digest)
    {
        return Ok(());
    }
    let place = store.place();
    let has = head.map_or_else(
        || "which is empty".to_owned(),
        |head| format!("and points at its newest bundle, {}", head.facts.version),
    );
    let error = Error::conflict(format!("`{tag}` is the tag of a channel, {has}"))
        .at(format!("{place}:{tag}"))
        .found(digest);
    let error = match head {
        Some(head) => error.expected(head.descriptor.digest),
        None => error,
    };
    Err(error.hint(match channel.find(digest) {
        Some(_) => format!(
            "`bundle channel remove {place} {name} VERSION…` takes newer ones out of it; --force moves the tag alone"
        ),
        None => format!(
            "`bundle channel add {place} {name} {digest}` puts it into the channel; --force moves the tag alone"
        ),
    }))
}
