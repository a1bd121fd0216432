//! `bundle resolve`: the newest bundle that an operator can run, and why a newer one is not.

use manifest_bundle::digest::Digest;
use manifest_bundle::expectation::Expectations;
use manifest_bundle::name::ChannelName;
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::resolve::{self, Chosen, PassedOver, Resolution, Summary};
use manifest_bundle::reference::{Entry, Location, Reference};
use manifest_bundle::resolution::{Question, Reason};
use manifest_bundle::store::Store;
use manifest_bundle::{Error, Kind, Result};
use serde_json::{Value, json};

use super::push::total_size;
use super::record::Record;
use super::repository;
use super::verify::tell_unchecked;
use crate::args::{AccessArgs, ExpectationArgs, TransferArgs, word};
use crate::output::Answer;
use crate::settings::Settings;

/// How many reasons are said without --explain, when nothing fits.
const SAID: usize = 10;

/// Find the newest bundle that an operator can run
///
/// Looks through a channel, or through the versions of a repository, from the newest on, and prints the first bundle that
/// is meant for the operator, asks for no later version of it or of Kubernetes, and satisfies the version requirement.
/// Pre-releases come into question only when the requirement names one or --pre is given. Exit 1: no bundle fits.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle resolve ghcr.io/team/etcd --channel stable --operator-id etcd-manager --operator-version 1.4.0
  bundle resolve ghcr.io/team/etcd --version '^3.5' --kubernetes-version 1.31 --explain
  bundle resolve ghcr.io/team/etcd --channel stable --known ghcr.io/team/etcd@sha256:…")]
pub(crate) struct Args {
    /// HOST/REPOSITORY, or oci:DIR
    #[arg(value_name = "REPOSITORY", value_parser = repository::parse)]
    pub(super) repository: Location,
    #[command(flatten)]
    channel: ChannelArgs,
    /// The reference that an earlier call printed, or its digest: while the tag of the channel, or of the newest version,
    /// still points there, one look at that tag is all, and that bundle is not judged again. A channel is read where a
    /// pre-release may be the answer. Leave it out once the question has changed
    #[arg(long, value_name = "REF|DIGEST", value_parser = known)]
    known: Option<Known>,
    /// Say of every newer bundle why it was passed over
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    expect: ExpectationArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

/// A bundle that an earlier call chose.
#[derive(Debug, Clone)]
struct Known {
    digest: Digest,
    /// The reference that was given, if it was not the digest alone.
    reference: Option<Location>,
}

/// Reads a digest, or a reference that has one.
fn known(text: &str) -> std::result::Result<Known, String> {
    if !text.contains('@') {
        return word(text).map(|digest| Known {
            digest,
            reference: None,
        });
    }
    let location: Location = word(text)?;
    let digest = match &location {
        Location::Registry(reference) => reference.digest,
        Location::Layout { entry, .. } => entry.digest,
        _ => None,
    };
    let digest = digest.ok_or("is neither a digest nor a reference that ends with one")?;
    Ok(Known {
        digest,
        reference: Some(location),
    })
}

impl Known {
    /// Returns the digest, if it is of the repository that is asked about.
    fn of(&self, repository: &Location) -> Result<&Digest> {
        let is_same = match (&self.reference, repository) {
            (None, _) => true,
            (Some(Location::Registry(known)), Location::Registry(asked)) => {
                known.repository == asked.repository
            }
            (Some(Location::Layout { path: known, .. }), Location::Layout { path, .. }) => {
                known == path || known.canonicalize().ok() == path.canonicalize().ok()
            }
            _ => false,
        };
        match &self.reference {
            Some(reference) if !is_same => Err(Error::usage(format!(
                "--known names a bundle of another repository: `{reference}`, and the question is about `{repository}`"
            ))
            .hint("leave it out: it saves requests and changes no answer")),
            _ => Ok(&self.digest),
        }
    }
}

/// Where bundles are looked for.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ChannelArgs {
    /// The channel to choose from, such as `stable`
    #[arg(long, value_name = "NAME", value_parser = word::<ChannelName>)]
    pub(super) channel: Option<ChannelName>,
    /// Take pre-releases too
    #[arg(long)]
    pre: bool,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let known = args.known.as_ref();
    let known = known.map(|known| known.of(&args.repository)).transpose()?;
    let store = repository::open(&args.repository, &reach)?;
    let expectations = args.expect.expectations(&settings.talk);
    let question = question(&expectations, args.channel.pre);
    let channel = args.channel.channel.as_ref();
    let resolution = resolve::resolve(store.as_ref(), channel, &question, known, &reach).await?;
    if args.explain {
        explain(&resolution, usize::MAX, "", settings);
    }
    let mut answer = if let Some(chosen) = &resolution.chosen {
        if let Some(Summary { metadata, .. }) = &chosen.bundle {
            tell_unchecked(metadata, &expectations, settings);
        }
        let mut record = record(store.as_ref(), chosen);
        record.changed = known.map(|known| *known != chosen.digest);
        if record.changed == Some(false) {
            let place = place(store.as_ref(), channel);
            settings.talk.say(format!(
                "unchanged: {place} still gives the bundle of --known"
            ));
        }
        record.answer()
    } else {
        if !args.explain {
            explain(&resolution, SAID, "--explain", settings);
        }
        settings
            .talk
            .say(none_fits(&resolution, store.as_ref(), channel));
        if let Some(hint) = hint_at_pre(&resolution) {
            settings.talk.say(format!("hint: {hint}"));
        }
        no_answer(store.as_ref())
    };
    if let Some(members) = answer.value.as_object_mut() {
        members.insert("channel".into(), json!(channel.map(ChannelName::as_str)));
        let is_known = resolution
            .chosen
            .as_ref()
            .map(|chosen| Some(&chosen.digest) == known);
        members.insert("isKnown".into(), json!(is_known));
        members.insert(
            "passedOver".into(),
            resolution.passed_over.iter().map(passed_over).collect(),
        );
    }
    Ok(answer)
}

/// Returns the question that the expectations ask.
pub(super) fn question(expected: &Expectations, pre: bool) -> Question {
    Question {
        package: expected.package.clone(),
        version: expected.version.clone(),
        operator_id: expected.operator_id.clone(),
        operator_version: expected.operator_version.clone(),
        kubernetes_version: expected.kubernetes_version,
        pre,
        allow_unbound: expected.allow_unbound,
    }
}

/// Replaces a repository by the bundle of its channel that fits, for commands that take a bundle; without --channel the
/// source stays as it is.
///
/// # Errors
///
/// [`Kind::Usage`] for a source that has a tag or digest already, [`Kind::Refused`] when no bundle fits.
pub(super) async fn pin(
    source: &Location,
    args: &ChannelArgs,
    expected: &Expectations,
    reach: &Reach,
    settings: &Settings,
) -> Result<Location> {
    let Some(channel) = &args.channel else {
        return if args.pre {
            Err(Error::usage("--pre chooses in a channel").hint("add --channel NAME"))
        } else {
            Ok(source.clone())
        };
    };
    let named = source.to_string();
    let has_name = match source {
        Location::Registry(reference) => reference.tag.is_some() || reference.digest.is_some(),
        Location::Layout { entry, .. } => entry.name.is_some() || entry.digest.is_some(),
        _ => false,
    };
    if has_name {
        return Err(Error::usage(format!(
            "`{named}` names a bundle already, and --channel chooses one"
        ))
        .hint("leave out the tag and digest, or --channel"));
    }
    let repository = repository::parse(&named).map_err(|_| {
        Error::usage(format!(
            "`{named}` is no repository, and --channel chooses in one"
        ))
        .hint("a repository is HOST/REPOSITORY or oci:DIR")
    })?;
    let store = repository::open(&repository, reach)?;
    let question = question(expected, args.pre);
    let resolution =
        resolve::resolve(store.as_ref(), Some(channel), &question, None, reach).await?;
    explain(&resolution, SAID, "`bundle resolve --explain`", settings);
    let Some(chosen) = &resolution.chosen else {
        let message = none_fits(&resolution, store.as_ref(), Some(channel));
        let error = Error::new(Kind::Refused, message);
        return Err(match hint_at_pre(&resolution) {
            Some(hint) => error.hint(hint),
            None => error,
        });
    };
    let digest = Some(chosen.digest);
    Ok(match repository {
        Location::Registry(reference) => Location::Registry(Reference {
            digest,
            ..reference
        }),
        Location::Layout { path, .. } => Location::Layout {
            path,
            entry: Entry { name: None, digest },
        },
        other => other,
    })
}

/// Says of the newest bundles why they were passed over, and of the others what says it.
fn explain(resolution: &Resolution, max: usize, rest: &str, settings: &Settings) {
    for passed in resolution.passed_over.iter().take(max) {
        settings
            .talk
            .say(format!("{}: {}", passed.version, passed.reason));
    }
    if let Some(more @ 1..) = resolution.passed_over.len().checked_sub(max) {
        settings
            .talk
            .say(format!("and {more} more; {rest} says all of them"));
    }
}

/// Says that there is nothing that fits.
fn none_fits(resolution: &Resolution, store: &dyn Store, channel: Option<&ChannelName>) -> String {
    let place = place(store, channel);
    match resolution.candidates {
        0 => format!("{place} has no bundle to choose from"),
        1 => format!("the only bundle of {place} does not fit"),
        count => format!("none of the {count} bundles of {place} fits"),
    }
}

/// Returns how pre-releases come into question, where there are any and nothing else fits.
fn hint_at_pre(resolution: &Resolution) -> Option<String> {
    let all = resolution.passed_over.iter();
    let count = all.filter(|one| one.reason == Reason::PreRelease).count();
    match count {
        0 => None,
        1 => Some("--pre takes the pre-release into account".to_owned()),
        _ => Some(format!("--pre takes the {count} pre-releases into account")),
    }
}

fn place(store: &dyn Store, channel: Option<&ChannelName>) -> String {
    match channel {
        Some(channel) => format!("channel `{channel}` of {}", store.place()),
        None => store.place(),
    }
}

fn record(store: &dyn Store, chosen: &Chosen) -> Record {
    let mut record = Record::of_store(store, chosen.digest, chosen.tag.as_ref());
    if let Some(Summary { manifest, metadata }) = &chosen.bundle {
        record.size = Some(total_size(manifest));
        record.metadata = Some(metadata.clone());
    }
    record
}

/// Returns the answer when nothing fits: all its keys, and exit code 1.
fn no_answer(store: &dyn Store) -> Answer {
    Answer {
        code: 1,
        ..Answer::new("", Record::nothing(store))
    }
}

fn passed_over(passed: &PassedOver) -> Value {
    json!({
        "version": passed.version.to_string(),
        "digest": passed.digest.map(|digest| digest.to_string()),
        "code": passed.reason.code(),
        "reason": passed.reason.to_string(),
    })
}
