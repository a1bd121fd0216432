//! `bundle list`: the tags of a repository or the names of a layout, newest version first.

use manifest_bundle::Result;
use manifest_bundle::reference::Location;
use manifest_bundle::tag::Tag;
use serde_json::json;

use super::repository;
use crate::args::{AccessArgs, TransferArgs};
use crate::output::Answer;
use crate::settings::Settings;

/// List the tags of a repository, the newest version first
///
/// Versions are written as versions, with `+` where their tags have `_` and with a `v` where their tags have one, so that each
/// line can be put behind REPOSITORY and a colon. Other tags follow; those that hold the
/// referrers of digests are left out unless --all is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    pub(super) repository: Location,
    /// List the tags of referrers too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store = repository::open(&args.repository, &reach)?;
    let mut tags: Vec<Tag> = store.tags().await?;
    tags.retain(|tag| args.all || !tag.is_referrers());
    // Versions before other tags, the newest first; other tags by name.
    tags.sort_by_cached_key(|tag| {
        (
            tag.version().is_none(),
            std::cmp::Reverse(tag.version()),
            tag.clone(),
        )
    });
    let shown = |tag: &Tag| match tag.version() {
        Some(_) => tag.as_str().replacen('_', "+", 1),
        None => tag.to_string(),
    };
    let lines: Vec<String> = tags.iter().map(shown).collect();
    let items: Vec<_> = tags
        .iter()
        .map(|tag| json!({ "tag": tag.as_str(), "version": tag.version().map(|version| version.to_string()) }))
        .collect();
    if tags.is_empty() {
        settings.talk.say(format!("{} has no tags", store.place()));
    }
    Ok(Answer::new(
        lines.join("\n"),
        json!({ "repository": store.place(), "tags": items }),
    ))
}
