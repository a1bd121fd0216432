//! `bundle validate`: everything that is wrong with a bundle, at once.

use std::num::NonZeroUsize;

use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, ReadOptions, Source};
use manifest_bundle::escape::shown;
use manifest_bundle::finding::Severity;
use manifest_bundle::metadata::Identity;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::{self, Place};
use manifest_bundle::ops::pack;
use manifest_bundle::reference::Location;
use manifest_bundle::similar::nearest;
use manifest_bundle::validate::{self, CHECKS, Options, Report};
use manifest_bundle::version::KubernetesVersion;
use manifest_bundle::{Kind, Result};
use serde_json::json;

use super::source::{self, PackArgs, Stream};
use crate::args::{AccessArgs, Format, TransferArgs, word};
use crate::output::Answer;
use crate::report::{self, counted};
use crate::sarif;
use crate::settings::Settings;

/// Find what is wrong with a bundle or with a directory of manifests
///
/// All findings come at once, each with file, line, severity and a code. A directory is judged as `pack` would judge it
/// with the same flags; one without metadata, and without a flag that says what it is, by its objects alone.
/// Exit 0: no errors; 1: errors, or with --strict warnings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bundle validate etcd/
  bundle validate etcd/ --kubernetes-version 1.33
  bundle validate etcd/ --strict --ignore layout-name --ignore size-argo-cd
  bundle validate etcd/ --format sarif > etcd.sarif
  bundle validate --list
  bundle validate ghcr.io/team/etcd:3.5.0 --format json")]
pub(crate) struct Args {
    /// A directory, a file, an archive, oci:DIR[:NAME], a registry reference, or `-`
    #[arg(value_name = "SRC", value_parser = word::<Location>, required_unless_present = "list")]
    pub(super) source: Option<Location>,
    /// The version of the cluster: API versions of Kubernetes that it no longer serves, or not yet, are errors
    #[arg(long, value_name = "VERSION", value_parser = word::<KubernetesVersion>, help_heading = "Checks")]
    kubernetes_version: Option<KubernetesVersion>,
    /// Pass over findings with this code; they are counted, and nothing else
    #[arg(long, value_name = "CODE", value_parser = code, help_heading = "Checks")]
    ignore: Vec<&'static str>,
    /// Take warnings for errors
    #[arg(long, help_heading = "Checks")]
    strict: bool,
    /// List all codes with what they mean, and check nothing
    #[arg(long, conflicts_with = "source", help_heading = "Checks")]
    list: bool,
    #[command(flatten)]
    pack: PackArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
}

pub(crate) async fn run(args: &Args, settings: &Settings) -> Result<Answer> {
    let Some(source) = &args.source else {
        return Ok(list());
    };
    // What is typed on the terminal must be seen.
    let reads_stdin = matches!(source, Location::Stream);
    let progress = (!reads_stdin).then(|| settings.talk.work("validating"));
    let mut report = report(source, args, settings).await?;
    drop(progress);
    let all = report.findings.len();
    report
        .findings
        .retain(|finding| !args.ignore.contains(&finding.code));
    let ignored = all.saturating_sub(report.findings.len());
    let count = |severity| {
        report
            .findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let (errors, warnings, notes) = (
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Note),
    );
    let objects = report.objects.len();
    let text = report::findings(&report.findings);
    let value = if settings.format == Format::Sarif {
        sarif::log(&report.findings, args.strict)
    } else {
        json!({
            "findings": report.findings.iter().map(report::finding).collect::<Vec<_>>(),
            "errors": errors,
            "warnings": warnings,
            "notes": notes,
            "objects": objects,
        })
    };
    let mut answer = Answer::new(text.join("\n"), value);
    answer.code = u8::from(errors > 0 || args.strict && warnings > 0);
    let ignored = match ignored {
        0 => String::new(),
        _ => format!("; {} ignored", counted(ignored, "finding")),
    };
    // Without this, no errors and exit code 1 would contradict each other.
    let strict = match warnings {
        1 if args.strict => "; --strict takes the warning for an error",
        2.. if args.strict => "; --strict takes the warnings for errors",
        _ => "",
    };
    answer.closing = settings.talk.closing(format!(
        "{}: {}, {}, {}{ignored}{strict}",
        counted(objects, "object"),
        counted(errors, "error"),
        counted(warnings, "warning"),
        counted(notes, "note")
    ));
    Ok(answer)
}

/// Lists all checks.
fn list() -> Answer {
    let width = CHECKS.iter().map(|check| check.code.len()).max();
    let width = width.unwrap_or_default();
    let lines: Vec<String> = CHECKS
        .iter()
        .map(|check| {
            let (code, family) = (check.code, check.family.name());
            format!("{code:width$}  {family:8}  {}", check.about)
        })
        .collect();
    let codes: Vec<_> = CHECKS
        .iter()
        .map(|check| json!({ "code": check.code, "about": check.family.name(), "means": check.about }))
        .collect();
    Answer::new(lines.join("\n"), json!({ "codes": codes }))
}

/// Reads a code; of one that is none, the nearest is named.
fn code(text: &str) -> std::result::Result<&'static str, String> {
    if let Some(check) = validate::check(text) {
        return Ok(check.code);
    }
    if text.contains(',') {
        return Err("repeat the flag for each code: `--ignore CODE --ignore CODE`".to_owned());
    }
    let nearest = nearest(text, CHECKS.iter().map(|check| check.code));
    Err(match nearest {
        _ if text.contains(['*', '.', '/', '!']) => {
            "this is no code; files are left out with `--exclude`".to_owned()
        }
        Some((code, _)) => format!(
            "there is no such code; `{code}` is near, and `bundle validate --list` has them all"
        ),
        None => "there is no such code".to_owned(),
    })
}

/// Validates whatever the source is.
async fn report(source: &Location, args: &Args, settings: &Settings) -> Result<Report> {
    let reach = settings.reach(&args.access.access())?;
    let threads = NonZeroUsize::new(settings.threads).unwrap_or(NonZeroUsize::MIN);
    let options = Options {
        needs_metadata: false,
        kubernetes_version: args.kubernetes_version,
        threads,
        progress: settings.talk.steps(),
        ..Options::default()
    };
    let opened = match source {
        Location::Stream => match source::read_stream(settings)? {
            Stream::Objects(content) => {
                let source = source::stream_source(content)?;
                return of_source(&source, args, &options, settings);
            }
            archive @ Stream::Archive(_) => {
                source::open_read(archive, &args.pack, &reach, settings)?
            }
        },
        other => {
            if let Place::Directory(path) = open::open(other, &reach).await? {
                let mut spool = Spool::new(&settings.spool_directory);
                let read = ReadOptions {
                    collect_refused: true,
                    ..args.pack.read.options()
                };
                let source = directory::read(&path, &read, &settings.limits, &mut spool)?;
                return of_source(&source, args, &options, settings);
            }
            source::open(other, &args.pack, &reach, settings).await?
        }
    };
    let loaded = match load::verify(
        opened.store.as_ref(),
        opened.manifest(&reach).await?,
        &Asked::default(),
        &reach,
    )
    .await
    {
        Ok(loaded) => loaded,
        // Metadata with faults is what this command is asked about.
        Err(error) if error.kind() == Kind::Invalid && !error.detail().findings.is_empty() => {
            return Ok(Report {
                findings: error.detail().findings.clone(),
                metadata: None,
                objects: Vec::new(),
                min_operator_version: None,
            });
        }
        Err(error) => return Err(error),
    };
    let options = Options {
        needs_metadata: true,
        ..options
    };
    let files = &loaded.unpacked.bundle.files;
    validate::validate(files, &settings.limits, &options)
}

/// Validates a source that is not packed yet.
fn of_source(
    source: &Source,
    args: &Args,
    options: &Options,
    settings: &Settings,
) -> Result<Report> {
    for one in &source.left_out {
        settings.talk.say(format!(
            "left out `{}`: {}",
            shown(&one.path),
            shown(&one.rule)
        ));
    }
    // Objects alone may be checked too; whatever says that they are a bundle makes them one that `pack` would make.
    let (pack, limits) = (&args.pack, &settings.limits);
    let identity = pack.identity.identity()?;
    if source.declared || pack.olm || identity != Identity::default() {
        return pack::check(source, &identity, pack.olm, limits, options);
    }
    settings
        .talk
        .say("there is no metadata, so the objects alone are checked; `bundle pack` asks for --package and --version as well");
    pack::check_with(source, limits, options)
}
