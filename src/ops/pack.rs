//! Packing a source: reading it, completing its metadata, validating it, making the image.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::bundle::{Bundle, Files, has_metadata};
use crate::content::{Content, Spool};
use crate::directory::{self, LeftOut, ReadOptions, Source};
use crate::error::{Error, Kind, Result};
use crate::finding::{self, Finding, Severity};
use crate::image::{self, Image, PackOptions};
use crate::limits::Limits;
use crate::metadata::{self, Identity, key};
use crate::oci::Annotations;
use crate::olm;
use crate::path::BundlePath;
use crate::progress::Progress;
use crate::validate::{self, Report};

/// What to pack, and how.
#[derive(Debug, Clone, Default)]
pub struct PackRequest {
    /// How the source is read.
    pub read: ReadOptions,
    /// What the call says about the bundle.
    pub identity: Identity,
    /// Whether OLM shall be able to read the bundle as well; a source with OLM's keys alone is always packed so.
    pub olm: bool,
    /// Whether objects with errors are packed; errors in metadata and layout never are.
    pub allow_invalid: bool,
    /// Is told how many files are checked, which takes the most time.
    pub progress: Progress,
    /// How the image is made.
    pub image: PackOptions,
}

/// What was packed.
#[derive(Debug)]
pub struct Packed {
    /// The bundle.
    pub bundle: Bundle,
    /// The image.
    pub image: Image,
    /// What validation found; no errors, unless they were allowed.
    pub findings: Vec<Finding>,
    /// What is in the source and not in the bundle.
    pub left_out: Vec<LeftOut>,
    /// Files that got another name.
    pub renamed: Vec<(String, BundlePath)>,
    /// Keys that the metadata did not have.
    pub added: Vec<String>,
}

/// Packs a directory, or a single file of objects.
///
/// # Errors
///
/// What [`directory::read`], [`metadata::complete`], validation and [`image::pack`] refuse. Nothing is written anywhere
/// but into `spool`.
pub fn pack(source: &Path, request: &PackRequest, spool: &mut Spool) -> Result<Packed> {
    let source = directory::read(source, &request.read, &request.image.limits, spool)?;
    pack_source(source, request, spool)
}

/// Packs what was read already.
pub fn pack_source(source: Source, request: &PackRequest, spool: &mut Spool) -> Result<Packed> {
    let limits = &request.image.limits;
    let options = validate::Options {
        threads: NonZeroUsize::new(request.image.threads).unwrap_or(NonZeroUsize::MIN),
        progress: request.progress.clone(),
        ..validate::Options::default()
    };
    let olm = for_olm(&source, &request.identity, request.olm, limits)?;
    let report = check_for(&source, &request.identity, &olm, limits, &options)?;
    let refused = |finding: &Finding| {
        finding.severity == Severity::Error
            && !(request.allow_invalid && validate::is_object_code(finding.code))
    };
    if report.findings.iter().any(refused) {
        let only_objects = report
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .all(|f| validate::is_object_code(f.code));
        let error = Error::of_refused(report.findings, refused).stage("pack");
        return Err(if only_objects {
            // How to mend each of them stands with the findings.
            error.hint("mend the objects, or pack them as they are with --allow-invalid")
        } else {
            error
        });
    }
    let mut files = source.files;
    let file = metadata_file(&files)?;
    let highest = report.min_operator_version.map(|minimum| minimum.version);
    let completed = metadata::complete(
        file.as_deref(),
        &request.identity,
        highest.as_ref(),
        &olm.additions,
        limits,
    )?;
    files.insert(metadata::path()?, Content::from(completed.bytes));
    let bundle = Bundle {
        metadata: completed.metadata,
        files,
    };
    let image = image::pack(&bundle, &request.image, spool)?;
    Ok(Packed {
        bundle,
        image,
        findings: report.findings,
        left_out: source.left_out,
        renamed: source.renamed,
        added: completed.added,
    })
}

/// Checks the files of a source as those of the bundle that packing would make of them: with what the call says, what the objects
/// ask for and what every bundle has counted as if it stood in the metadata.
///
/// `olm` is [`PackRequest::olm`].
///
/// # Errors
///
/// [`Kind::Usage`] for a call that contradicts the metadata, and content that cannot be read; what is wrong with the files is a finding.
pub fn check(
    source: &Source,
    identity: &Identity,
    olm: bool,
    limits: &Limits,
    options: &validate::Options,
) -> Result<Report> {
    let olm = for_olm(source, identity, olm, limits)?;
    check_for(source, identity, &olm, limits, options)
}

/// What being packed for OLM brings.
#[derive(Default)]
struct ForOlm {
    /// What comes to the metadata.
    additions: Annotations,
    /// What is wrong for OLM, and what is worth knowing.
    findings: Vec<Finding>,
    /// Keys whose absence the findings explain.
    explained: Vec<&'static str>,
}

/// Reads what a source says to OLM, where it is packed for OLM: because the call says so, or because its metadata has OLM's
/// keys alone and the call does not say what it is instead.
fn for_olm(source: &Source, identity: &Identity, olm: bool, limits: &Limits) -> Result<ForOlm> {
    let file = metadata_file(&source.files)?;
    let none = Annotations::new();
    let filled = match metadata::fill(file.as_deref(), identity, None, &none, limits) {
        Ok(filled) => filled,
        // A file that cannot be read is found by the checks.
        Err(error) if error.kind() == Kind::Invalid => return Ok(ForOlm::default()),
        Err(error) => return Err(error),
    };
    let is_named = identity.package.is_some() || identity.version.is_some();
    let is_theirs = olm::is_olm(filled.lines.keys().map(String::as_str));
    if !olm && (is_named || !is_theirs) {
        return Ok(ForOlm::default());
    }
    let line = |key: &str| filled.lines.get(key).copied().unwrap_or_default();
    let said = olm::read(&source.files, &filled.annotations, &line, limits)?;
    let is_unread = said.package.is_none() && filled.annotations.contains_key(olm::key::PACKAGE);
    let explained = [
        (key::PACKAGE, is_unread),
        (key::VERSION, said.version.is_none()),
    ];
    let (additions, mut findings) = olm::complete(&filled.annotations, &line, said);
    if is_theirs {
        findings.push(Finding::note("metadata-olm", validate::OF_OLM).at(metadata::FILE, 0));
    }
    Ok(ForOlm {
        additions,
        findings,
        explained: explained
            .into_iter()
            .filter_map(|(key, is_explained)| is_explained.then_some(key))
            .collect(),
    })
}

fn check_for(
    source: &Source,
    identity: &Identity,
    olm: &ForOlm,
    limits: &Limits,
    options: &validate::Options,
) -> Result<Report> {
    let file = metadata_file(&source.files)?;
    let fill = |file| metadata::fill(file, identity, None, &olm.additions, limits);
    let filled = match fill(file.as_deref()) {
        Ok(filled) => filled,
        // That the file cannot be read is found once more, with everything else.
        Err(error) if error.kind() == Kind::Invalid => fill(None)?,
        Err(error) => return Err(error),
    };
    let options = validate::Options {
        needs_metadata: true,
        additions: Some(filled.added),
        ..options.clone()
    };
    let mut report = check_with(source, limits, &options)?;
    let mut findings = olm.findings.clone();
    source.origins.locate(&mut findings);
    let is_explained = |finding: &Finding| {
        let mut keys = olm.explained.iter();
        finding.code == "metadata-required" && keys.any(|key| finding.message.contains(key))
    };
    report.findings.retain(|finding| !is_explained(finding));
    report.findings.append(&mut findings);
    finding::sort(&mut report.findings);
    Ok(report)
}

/// Checks the files of a source as they are; findings name them by their places in the source, and what was refused in it
/// is a finding too.
///
/// # Errors
///
/// As [`validate::validate`].
pub fn check_with(source: &Source, limits: &Limits, options: &validate::Options) -> Result<Report> {
    let mut report = validate::validate(&source.files, limits, options)?;
    // What flags say stands in no file.
    if !has_metadata(&source.files) {
        let is_said = |finding: &&mut Finding| {
            finding.file == metadata::FILE && finding.code != "metadata-missing"
        };
        for finding in report.findings.iter_mut().filter(is_said) {
            finding.file.clear();
        }
    }
    source.origins.locate(&mut report.findings);
    // What was refused is at no path of the bundle: the error names it as the source does.
    for error in &source.refused {
        let mut finding = Finding::error("layout-refused", error.message());
        finding.file = error.detail().file.clone().unwrap_or_default();
        finding.hint.clone_from(&error.detail().hint);
        report.findings.push(finding);
    }
    finding::sort(&mut report.findings);
    Ok(report)
}

/// Returns the bytes of the source's metadata file, if it has one.
fn metadata_file(files: &Files) -> Result<Option<bytes::Bytes>> {
    let found = files.get(metadata::FILE);
    found
        .map(Content::to_bytes)
        .transpose()
        .map_err(|error| Error::io("cannot read", Path::new(metadata::FILE), error))
}
