//! `bundle list`: the tags of a repository or the names of a layout, newest version first.

use manifest_bundle::reference::{Location, Reference, Repository};
use manifest_bundle::store::Store;
use manifest_bundle::store::layout::Layout;
use manifest_bundle::store::registry::Registry;
use manifest_bundle::tag::Tag;
use manifest_bundle::{Error, Result};
use serde_json::json;

use crate::args::{AccessArgs, TransferArgs};
use crate::output::Answer;
use crate::settings::Settings;

/// List the tags of a repository, the newest version first
///
/// Versions are written as versions, also where their tags have `_` for `+`. Other tags follow; those that hold the
/// referrers of digests are left out unless --all is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = store_location)]
    pub(super) repository: Location,
    /// List the tags of referrers too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

/// Reads a repository or a layout, without a tag or digest.
fn store_location(text: &str) -> std::result::Result<Location, String> {
    let location: Location = crate::args::word(text)?;
    match &location {
        Location::Registry(Reference {
            tag: None,
            digest: None,
            ..
        }) => Ok(location),
        Location::Registry(_) => crate::args::word::<Repository>(text).map(|repository| {
            Location::Registry(Reference {
                repository,
                tag: None,
                digest: None,
            })
        }),
        Location::Layout { entry, .. } if entry.name.is_none() && entry.digest.is_none() => {
            Ok(location)
        }
        _ => Err(format!(
            "is neither HOST/REPOSITORY nor oci:DIR; for Docker Hub write `docker.io/{text}`"
        )),
    }
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let store: Box<dyn Store> = match &args.repository {
        Location::Registry(reference) => {
            Box::new(Registry::open(reference.repository.clone(), &reach.access)?)
        }
        Location::Layout { path, .. } => Box::new(Layout::open(path, &reach.limits)?),
        other => return Err(Error::usage(format!("`{other}` is no repository"))),
    };
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
    let shown = |tag: &Tag| {
        tag.version()
            .map_or_else(|| tag.to_string(), |version| version.to_string())
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
