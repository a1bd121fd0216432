//! `bundle diff`: what differs between two bundles, and what of it breaks somebody.

mod broken;
mod data;
mod fields;
mod text;

use std::collections::BTreeMap;
use std::io::IsTerminal as _;

use anstream::{AutoStream, ColorChoice};
use manifest_bundle::bundle;
use manifest_bundle::diff::{self, Diff, FileChange, Side};
use manifest_bundle::escape::shown_lines;
use manifest_bundle::expectation::Expectations;
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::Location;
use manifest_bundle::{Error, Result};
use serde_json::Value;

use super::contents::{self, Contents};
use crate::args::{AccessArgs, Format, FromArgs, ToArgs, TransferArgs, word};
use crate::output::Answer;
use crate::report::{self, counted};
use crate::settings::Settings;

/// Show what differs between two bundles, object by object
///
/// The order of documents and keys, quotes, comments and the names of files do not matter. What a Secret holds is never shown.
/// Changes that may break those who use the bundle are marked with `!`; --breaking=certain leaves out those that depend on what there is.
/// Exit 0: no difference; 1: some; 2 and more: they could not be compared.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle diff ghcr.io/team/etcd:3.5.0 ghcr.io/team/etcd:3.6.0
  bundle diff ghcr.io/team/etcd:3.5.0 etcd/ --breaking
  bundle diff ghcr.io/team/etcd:3.5.0 etcd/ --breaking=certain --format json
  kustomize build . | bundle diff ghcr.io/team/etcd:3.5.0 -")]
pub(crate) struct Args {
    /// The old side: a directory, a file, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "OLD", value_parser = word::<Location>)]
    pub(super) old: Location,
    /// The new side, likewise
    #[arg(value_name = "NEW", value_parser = word::<Location>)]
    pub(super) new: Location,
    /// Show breaking changes only, or those that are certain; exit 1 only if there are some
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    breaking: Option<Which>,
    /// Show the descriptions in schemas that differ, which are counted otherwise
    #[arg(long, conflicts_with_all = ["breaking", "files"])]
    descriptions: bool,
    /// Compare files as they are, line by line
    #[arg(long, conflicts_with = "breaking")]
    files: bool,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    from: FromArgs,
    #[command(flatten)]
    to: ToArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

/// Which breaking changes are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Also those that may break, depending on what there is
    All,
    /// Only those that break for sure
    Certain,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    if matches!((&args.old, &args.new), (Location::Stream, Location::Stream)) {
        return Err(Error::usage("`-` can be one side only"));
    }
    let sides = [
        (args.from.access(), &args.old),
        (args.to.access(), &args.new),
    ];
    let [from, to] = settings.reach_both(&args.access.access(), sides)?;
    let none = Expectations::default;
    let sides = Sides {
        old: contents::read(&args.old, none(), &from, settings).await?,
        new: contents::read(&args.new, none(), &to, settings).await?,
    };
    let (old, new) = (&sides.old, &sides.new);
    let progress = settings.talk.work("comparing");
    if args.files {
        let found = diff::files(&old.files, &new.files, &settings.limits)?;
        drop(progress);
        return Ok(of_files(args, &found, &sides, settings));
    }
    let (a, b) = (places(old), places(new));
    let found = diff::diff(&side(old, &a), &side(new, &b), &settings.limits)?;
    drop(progress);
    for line in report::findings(&found.notes) {
        settings.talk.say(line);
    }
    Ok(answer(args, found, &sides, settings))
}

/// Takes the metadata from where they are: in a file, or in the image alone.
fn side<'a>(contents: &'a Contents, places: &'a BTreeMap<BundlePath, String>) -> Side<'a> {
    let metadata = contents.metadata.as_ref();
    Side {
        files: &contents.files,
        annotations: metadata
            .filter(|_| !bundle::has_metadata(&contents.files))
            .map(|metadata| &metadata.annotations),
        places: Some(places),
    }
}

/// Both sides.
struct Sides {
    old: Contents,
    new: Contents,
}

/// Returns where the files of a side can be opened.
fn places(contents: &Contents) -> BTreeMap<BundlePath, String> {
    let files = contents.files.keys();
    let place = |path: &BundlePath| (path.clone(), contents.place_of(path.as_str()));
    files.map(place).collect()
}

fn answer(args: &Args, mut found: Diff, sides: &Sides, settings: &Settings) -> Answer {
    let (same, totals) = (found.is_empty(), totals(&found));
    if let Some(which) = args.breaking {
        narrow(&mut found, which);
    }
    let lines = || {
        if args.breaking.is_some() {
            text::breaking(&found, sides)
        } else {
            text::of(args, &found, sides)
        }
    };
    let mut answer = shown(lines, || data::of(args, &found, sides, same), settings);
    answer.code = u8::from(if args.breaking.is_some() {
        !found.changes.is_empty()
    } else {
        !same
    });
    answer.closing = settings.talk.closing(if same {
        "no difference".to_owned()
    } else {
        format!("{totals}; {}", breaking(args, &found))
    });
    answer
}

/// Leaves only the changes that break somebody.
fn narrow(found: &mut Diff, which: Which) {
    for change in &mut found.changes {
        let is_wanted = |certain| certain || which == Which::All;
        change.breaking.retain(|one| is_wanted(one.certain));
    }
    found.changes.retain(|change| !change.breaking.is_empty());
}

/// Makes the answer about files as they are.
fn of_files(args: &Args, found: &[FileChange], sides: &Sides, settings: &Settings) -> Answer {
    let mut answer = shown(
        || text::of_files(args, found, sides),
        || data::of_files(args, found, sides),
        settings,
    );
    answer.code = u8::from(!found.is_empty());
    answer.closing = settings.talk.closing(match found.len() {
        0 => "no difference".to_owned(),
        count => format!("{} of files", counted(count, "difference")),
    });
    answer
}

/// Makes an answer for people, with no lines with `--quiet` and in colour where a person sees them, or one for machines.
fn shown(
    lines: impl FnOnce() -> Vec<String>,
    value: impl FnOnce() -> Value,
    settings: &Settings,
) -> Answer {
    if settings.format != Format::Text {
        return Answer::new("", value());
    }
    let mut answer = Answer::new("", Value::Null);
    if !settings.talk.is_quiet() {
        answer.text = shown_lines(&lines().join("\n"));
        let is_coloured = std::io::stdout().is_terminal()
            && AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        if is_coloured {
            answer.text = text::coloured(&answer.text);
            answer.verbatim = true;
        }
    }
    answer
}

/// Says how much differs.
fn totals(found: &Diff) -> String {
    let count = |old: bool, new: bool| {
        let changes = found.changes.iter();
        changes
            .filter(|change| change.old.is_some() == old && change.new.is_some() == new)
            .count()
    };
    format!(
        "{} added, {} removed, {} changed",
        count(false, true),
        count(true, false),
        count(true, true),
    )
}

/// Says how much of it breaks somebody: once for all versions of a definition, and each by itself.
fn breaking(args: &Args, found: &Diff) -> String {
    let what = match args.breaking {
        Some(Which::Certain) => "certain breaking change",
        _ => "breaking change",
    };
    let (lines, all) = (broken::count(found), found.breaking().count());
    let each = if lines == all {
        String::new()
    } else {
        format!(" ({all} with each version of a definition counted)")
    };
    format!("{}{each}", counted(lines, what))
}
