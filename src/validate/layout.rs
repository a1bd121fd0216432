//! Which files a bundle may have and where: one directory of objects, one of metadata, and names for every system.

use std::collections::BTreeMap;

use crate::bundle::{MANIFESTS, METADATA};
use crate::escape::shown;
use crate::finding::Finding;
use crate::metadata::FILE;
use crate::objects::{is_chart, is_kustomization, is_manifest_name};
use crate::path::{BundlePath, Distinct};

use super::Whole;
use super::context::Context;

/// The one file at the root that is no directory: it tells Flux to pass over the metadata.
const SOURCE_IGNORE: &str = ".sourceignore";

/// Reports what stands beside `manifests/` and `metadata/`.
pub(super) fn root(context: &Context<'_>, findings: &mut Vec<Finding>) {
    // OLM's tools put their tests there, and OLM itself passes over them.
    if context.is_olm() {
        return;
    }
    for path in context.files.keys() {
        let is_known = [MANIFESTS, METADATA]
            .iter()
            .any(|directory| path.strip_prefix(directory).is_some());
        // Metadata in the wrong place is a finding of its own.
        if !is_known && path.as_str() != SOURCE_IGNORE && !is_stray_annotations(path) {
            let message = format!("a bundle has only `{MANIFESTS}/` and `{METADATA}/`");
            findings.push(
                Finding::error("layout-root", message)
                    .at(path, 0)
                    .hint("leave it out with `.bundleignore`, or move it"),
            );
        }
    }
}

/// Reports sub-directories where the objects must lie flat, each once.
pub(super) fn nested(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !context.is_flat() {
        return;
    }
    let mut directories: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, rest, _) in context.manifests() {
        if let Some((directory, _)) = rest.split_once('/')
            && !is_leftover(path.file_name())
        {
            *directories.entry(directory).or_default() += 1;
        }
    }
    for (directory, files) in directories {
        let files = if files == 1 {
            "1 file".into()
        } else {
            format!("{files} files")
        };
        let (like, hint) = if directory == "templates" {
            (
                ", and looks like the templates of a Helm chart",
                "pack what `helm template` writes",
            )
        } else {
            (
                "",
                "`--flatten` joins the names with `-`; the mediatype `kustomize` may have sub-directories",
            )
        };
        let message =
            format!("this sub-directory has {files}, and the manifests of a bundle lie flat{like}");
        findings.push(
            Finding::error("layout-nested", message)
                .at(format!("{MANIFESTS}/{directory}"), 0)
                .hint(hint),
        );
    }
}

/// Reports files that hold neither YAML nor JSON by their names.
pub(super) fn file_type(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !context.is_flat() {
        return;
    }
    for (path, _, _) in context.manifests() {
        let name = path.file_name();
        if !is_manifest_name(name) && !is_kustomization(name) && !is_leftover(name) {
            let message = format!("`{MANIFESTS}/` has only `*.yaml`, `*.yml` and `*.json`");
            findings.push(
                Finding::error("layout-file-type", message)
                    .at(path, 0)
                    .hint("leave it out with `.bundleignore`, or rename it"),
            );
        }
    }
}

/// Reports what file managers and editors leave behind; such files are not read.
pub(super) fn leftover(context: &Context<'_>, findings: &mut Vec<Finding>) {
    for path in context.files.keys() {
        if is_leftover(path.file_name()) {
            let message = "this is a leftover of a desktop or an editor, and is not read";
            findings.push(
                Finding::warning("layout-leftover", message)
                    .at(path, 0)
                    .hint("remove it; `pack` leaves it out by itself"),
            );
        }
    }
}

/// Tells whether a name is one that macOS, Windows or an editor gives to files of its own.
pub(super) fn is_leftover(name: &str) -> bool {
    matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini")
        || name.starts_with("._")
        || name.starts_with(".#")
        || name.ends_with('~')
        || [".swp", ".swo"].iter().any(|end| name.ends_with(end))
}

/// Reports kustomizations where objects must lie.
pub(super) fn kustomization(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !context.is_flat() {
        return;
    }
    for (path, _, _) in context.manifests() {
        if is_kustomization(path.file_name()) {
            let message = "a kustomization is no object, and makes Argo CD and Flux run kustomize";
            findings.push(
                Finding::error("layout-kustomization", message)
                    .at(path, 0)
                    .hint(format!(
                        "{}, or pack what `kustomize build` writes",
                        context.kustomize_hint()
                    )),
            );
        }
    }
}

/// Reports charts: a file whose name ends in `Chart.yaml` makes Argo CD run Helm.
pub(super) fn chart(context: &Context<'_>, findings: &mut Vec<Finding>) {
    if !context.is_flat() {
        return;
    }
    for (path, _, _) in context.manifests() {
        if is_chart(path.file_name()) {
            let message = "this looks like a Helm chart: the file has no `kind` and `metadata.name`, and makes Argo CD run Helm";
            findings.push(
                Finding::error("layout-chart", message)
                    .at(path, 0)
                    .hint("pack what `helm template` writes"),
            );
        }
    }
}

/// Reports other files with the metadata file's name: OLM reads every one of them as metadata, and stops.
pub(super) fn annotations_file(context: &Context<'_>, findings: &mut Vec<Finding>) {
    for path in context
        .files
        .keys()
        .filter(|path| is_stray_annotations(path))
    {
        let (message, hint) = if is_metadata_of_another(path) {
            (
                "this is the metadata of a bundle of its own: the directory holds several"
                    .to_owned(),
                "take each of them by itself",
            )
        } else {
            (
                format!("only `{FILE}` can have this name: OLM takes each such file for metadata"),
                "rename it",
            )
        };
        let finding = Finding::error("layout-annotations", message);
        findings.push(finding.at(path, 0).hint(hint));
    }
}

/// Tells whether a file that is not the metadata has the metadata file's name.
pub(super) fn is_stray_annotations(path: &BundlePath) -> bool {
    path.file_name() == "annotations.yaml" && path.as_str() != FILE
}

/// Tells whether a file is where the metadata of a bundle in a sub-directory would be.
fn is_metadata_of_another(path: &BundlePath) -> bool {
    let parent = path.as_str().strip_suffix(FILE);
    parent.is_some_and(|parent| parent.ends_with('/'))
}

/// Reports paths that a system which ignores case, or normalises Unicode, cannot tell apart.
pub(super) fn collision(context: &Context<'_>, findings: &mut Vec<Finding>) {
    let mut distinct = Distinct::default();
    for path in context.files.keys() {
        if let Err(error) = distinct.add(path) {
            let finding = Finding::error("layout-collision", error.message());
            findings.push(finding.at(path, 0).hint("rename one of them"));
        }
    }
}

/// Reports names that are legal and still make trouble.
pub(super) fn name(context: &Context<'_>, findings: &mut Vec<Finding>) {
    for path in context.files.keys() {
        let name = path.file_name();
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let why = if is_leftover(name) || path.as_str() == SOURCE_IGNORE {
            continue;
        } else if name.starts_with('-') {
            "begins with `-`: commands take it for an option"
        } else if name.starts_with('.') {
            "begins with `.`: commands and consumers pass over such files"
        } else if !name.bytes().all(is_plain) && !context.is_kustomize() {
            "has characters beside letters, digits, `-`, `_` and `.`: OLM changes them"
        } else {
            continue;
        };
        let finding = Finding::warning("layout-name", format!("the name {why}"));
        findings.push(finding.at(path, 0).hint("rename it"));
    }
}

/// Reports names that are in both directories: OLM keeps the files of both in one place, and loses one.
pub(super) fn same_name(context: &Context<'_>, findings: &mut Vec<Finding>) {
    for (path, rest, _) in context.manifests() {
        let twin = format!("{METADATA}/{rest}");
        let has_twin = twin
            .parse()
            .is_ok_and(|twin: BundlePath| context.files.contains_key(&twin));
        if has_twin && path.file_name() != "annotations.yaml" {
            let message = format!(
                "`{}` has the same name: OLM keeps only one of them",
                shown(&twin)
            );
            let finding = Finding::warning("layout-same-name", message);
            findings.push(finding.at(path, 0).hint("rename one of them"));
        }
    }
}

/// Reports bundles without anything to apply.
pub(super) fn empty(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    let has_files = context.manifests().next().is_some();
    // A template that the operator fills may be no YAML before; what other findings explain already is not said again.
    let may_have_objects = has_files && context.has_placeholders;
    let is_explained = whole.has_errors || context.has_too_many_objects();
    if whole.objects.is_empty() && !context.is_kustomize() && !may_have_objects && !is_explained {
        let message = if has_files {
            format!("no file in `{MANIFESTS}/` holds an object")
        } else {
            format!("there are no manifests: `{MANIFESTS}/` is empty or missing")
        };
        findings.push(Finding::error("layout-empty", message).at(MANIFESTS, 0));
    }
}
