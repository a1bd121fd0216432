//! `bundle tag`: more names for what is there.

use manifest_bundle::ops::copy;
use manifest_bundle::ops::destination::Destination;
use manifest_bundle::ops::open::{self, Place};
use manifest_bundle::reference::{Entry, Location, Reference};
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Result};
use serde_json::json;

use super::push::{refuse_heads, refuse_other_versions_of, tags_to_set, tell_set};
use super::record::{Record, said};
use crate::args::{AccessArgs, TransferArgs, tag, word};
use crate::output::Answer;
use crate::settings::Settings;

/// Give a bundle in a registry or layout more tags
///
/// A version's tag does not move unless --force is given, and no bundle gets that of another version; neither does the tag NAME
/// where there is a channel NAME, which keeps it on its newest bundle (`bundle channel add` puts a bundle into the channel).
/// Other tags move, and the output says from what.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// HOST/REPOSITORY:TAG or @DIGEST, or oci:DIR[:NAME]
    #[arg(value_name = "REF", value_parser = word::<Location>)]
    pub(super) reference: Location,
    /// The tags
    #[arg(value_name = "TAG", required = true, value_parser = tag)]
    tags: Vec<Tag>,
    /// Let the tag of a version, or one that a channel keeps on its newest bundle, name another bundle than before
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    // The same place, without the name: that is what the tags are set in.
    let place = match &args.reference {
        Location::Registry(reference) => Location::Registry(Reference {
            tag: None,
            digest: None,
            ..reference.clone()
        }),
        Location::Layout { path, .. } => Location::Layout {
            path: path.clone(),
            entry: Entry::default(),
        },
        other => {
            return Err(Error::usage(format!(
                "`{other}` is no registry and no layout, and has no tags"
            )));
        }
    };
    let Place::Store(source, name) = open::open(&args.reference, &reach).await? else {
        return Err(Error::usage(format!("`{}` has no tags", args.reference)));
    };
    let manifest = open::manifest(source.as_ref(), &name, &reach.limits).await?;
    refuse_other_versions_of(source.as_ref(), &manifest, &args.tags, &reach).await?;
    let digest = manifest.descriptor.digest;
    let destination = Destination::open(&place, &reach)?;
    refuse_heads(
        destination.store.as_ref(),
        &args.tags,
        &digest,
        args.force,
        settings,
    )
    .await?;
    let missing = tags_to_set(
        destination.store.as_ref(),
        &args.tags,
        &manifest,
        args.force,
        settings,
    )
    .await?
    .tags;
    copy::name(destination.store.as_ref(), &manifest, &missing).await?;
    let place = destination.store.place();
    tell_set("tagged", &place, &missing, &digest, settings);
    let mut record = Record::of_store(destination.store.as_ref(), digest, args.tags.first());
    record.metadata = said(&manifest);
    record.changed = Some(!missing.is_empty());
    let mut answer = record.answer();
    if let Some(members) = answer.value.as_object_mut() {
        members.insert(
            "tags".into(),
            json!(args.tags.iter().map(Tag::as_str).collect::<Vec<_>>()),
        );
    }
    Ok(answer)
}
