//! `bundle verify`: one line for each check, asked or not.

use manifest_bundle::expectation::{self, Check, Expectations, Outcome};
use manifest_bundle::image;
use manifest_bundle::metadata::Metadata;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::reference::Location;
use manifest_bundle::store::Name;
use manifest_bundle::{Error, Kind, Result};

use super::push::total_size;
use super::record::Record;
use super::resolve::{self, ChannelArgs};
use super::source::{self, Opened, PackArgs};
use crate::args::{AccessArgs, ExpectationArgs, Format, TransferArgs, word};
use crate::output::Answer;
use crate::report::check as check_value;
use crate::settings::Settings;

/// Check that a bundle is whole and the one that is expected
///
/// Exit 0: every check that was asked for passed. Exit 10: one failed. "Could not look" keeps the exit code of its
/// cause: not found, denied, unreachable and so on. Without expectations only integrity and format are looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle verify ghcr.io/team/etcd:3.5.0 --package etcd --operator-id etcd-manager --operator-version 1.4.0
  bundle verify etcd.tar --version '^3.5' --kubernetes-version 1.31")]
pub(crate) struct Args {
    /// A registry reference, an archive, oci:DIR[:NAME], a directory, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>)]
    pub(super) source: Location,
    /// Fetch the manifest only, and say what was not looked at
    #[arg(long)]
    metadata_only: bool,
    #[command(flatten)]
    expect: ExpectationArgs,
    #[command(flatten)]
    channel: ChannelArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let reach = settings.reach(&args.access.access())?;
    let expectations = args.expect.expectations(&settings.talk);
    let source = resolve::pin(&args.source, &args.channel, &expectations, &reach, settings).await?;
    let opened = source::open(&source, &PackArgs::default(), &reach, settings).await?;
    let asked = Asked {
        tag: opened.tag.clone(),
        expectations,
        at_hand: None,
    };
    let (mut record, mut checks) = if args.metadata_only {
        metadata_only(&opened, &asked, &reach).await?
    } else {
        let loaded = load::verify(
            opened.store.as_ref(),
            opened.manifest(&reach).await?,
            &asked,
            &reach,
        )
        .await?;
        let digest = loaded.image.manifest.descriptor.digest;
        let mut record = Record::of_store(opened.store.as_ref(), digest, opened.tag.as_ref());
        record.size = Some(loaded.image.size());
        record.leave_out(&loaded.unpacked.left_out, settings);
        record.metadata = Some(loaded.unpacked.bundle.metadata.clone());
        (record, loaded.checks)
    };
    if let (Name::Digest(digest), Some(tag)) = (&opened.name, &opened.tag) {
        // `tag@digest`: the digest decided; whether the tag still means the same is worth a line.
        let now = opened.store.tagged(tag).await?;
        let found = now.map_or_else(|| "no such tag".to_owned(), |now| now.to_string());
        checks.push(Check::of(
            "tag against digest",
            now == Some(*digest),
            digest.to_string(),
            found,
        ));
    }
    // Machines find the checks in the answer, or in the error.
    if settings.format == Format::Text {
        for line in lines(&checks) {
            settings.talk.say(line);
        }
    }
    if asked.expectations.is_empty() {
        settings
            .talk
            .say("no expectations were given: this looked at integrity and format only");
    }
    if let Some(metadata) = &record.metadata {
        tell_unchecked(metadata, &asked.expectations, settings);
    }
    if let Some(packed) = &opened.packed {
        record.left_out = Some(packed.left_out.clone());
    }
    if let Err(error) = expectation::require(&checks) {
        return Err(error.at(&record.reference).reference(&record.reference));
    }
    let mut answer = record.answer();
    if let Some(members) = answer.value.as_object_mut() {
        members.insert("checks".into(), checks.iter().map(check_value).collect());
    }
    Ok(answer)
}

/// Looks at the manifest alone: its digest and the annotations.
async fn metadata_only(
    opened: &Opened,
    asked: &Asked,
    reach: &Reach,
) -> Result<(Record, Vec<Check>)> {
    let manifest = opened.manifest(reach).await?;
    let place = opened.store.place();
    let oci = image::manifest_of(&manifest).map_err(|error| error.at(&place))?;
    let copies = image::identify(oci, None).map_err(|error| error.at(&place))?;
    if copies.annotations.is_empty() {
        return Err(Error::new(
            Kind::Invalid,
            format!("{place}: the manifest has no annotations to look at"),
        )
        .hint("leave out --metadata-only: the config has labels"));
    }
    let metadata = Metadata::of_copy(&copies.annotations)
        .map_err(Error::of_findings)
        .map_err(|error| error.at(&place))?;
    let digest = manifest.descriptor.digest;
    let not_looked = |name: &'static str, what: &str| Check {
        name,
        outcome: Outcome::NotLooked,
        expected: None,
        found: Some(what.to_owned()),
    };
    let mut checks = vec![
        not_looked(
            "digest",
            "only the manifest's was checked, not those of config and layers",
        ),
        not_looked("format", "config and layers were not fetched"),
    ];
    checks.extend(expectation::check(
        &metadata,
        asked.tag.as_ref(),
        &asked.expectations,
    ));
    let mut record = Record::of_store(opened.store.as_ref(), digest, opened.tag.as_ref());
    record.size = Some(total_size(&manifest));
    record.metadata = Some(metadata);
    Ok((record, checks))
}

/// Writes each check on a line of its own, in columns.
fn lines(checks: &[Check]) -> Vec<String> {
    let width = |text: fn(&Check) -> &'static str| {
        let widths = checks.iter().map(|check| text(check).len());
        widths.max().unwrap_or_default()
    };
    let names = width(|check| check.name);
    let outcomes = width(|check| check.outcome.name());
    let line = |check: &Check| {
        let detail = match (&check.expected, &check.found) {
            (Some(expected), Some(found)) => format!("expected {expected}, found {found}"),
            (_, Some(found)) => found.clone(),
            (_, None) => String::new(),
        };
        let (name, outcome) = (check.name, check.outcome.name());
        format!("{name:names$}  {outcome:outcomes$}  {detail}")
            .trim_end()
            .to_owned()
    };
    checks.iter().map(line).collect()
}

/// Says that the bundle asks for an operator, or a version of it, and that nobody has said which one there is.
pub(super) fn tell_unchecked(metadata: &Metadata, asked: &Expectations, settings: &Settings) {
    if let (Some(operator), None) = (&metadata.operator_id, &asked.operator_id) {
        settings.talk.say(format!(
            "not checked: the bundle is meant for {operator} (--operator-id)"
        ));
    }
    if let (Some(minimum), None) = (&metadata.min_operator_version, &asked.operator_version) {
        settings.talk.say(format!(
            "not checked: the bundle needs its operator at version {minimum} or later (--operator-version)"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_stand_in_columns() {
        let checks = [
            Check::of("a name", true, "1", "2"),
            Check::not_asked("name", Some("x".into())),
            Check::not_asked("b", None),
        ];
        let want = [
            "a name  passed     expected 1, found 2",
            "name    not asked  x",
            "b       not asked",
        ];
        assert_eq!(lines(&checks), want);
    }
}
