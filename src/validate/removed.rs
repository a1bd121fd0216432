//! API versions that an API server no longer serves, or will not: by the version of the cluster that was asked about, or
//! else by the lowest one that the metadata names.

use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::metadata::key;
use crate::objects::Object;
use crate::path::BundlePath;
use crate::removed_apis::{RemovedApi, UNSUPPORTED, removed_api};

use super::context::Context;

/// Reports objects of an API version that is gone.
///
/// An error where the cluster's version is known; a warning where the metadata promises clusters all of which refuse the
/// object, or where no cluster that is still supported serves it; otherwise a note, since nobody said that such a cluster is meant.
pub(super) fn removed(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let Some(api) = removed_api(&object.api_version(), &object.id.kind) else {
        return;
    };
    let gone = format!(
        "`{}` of {} is not served from Kubernetes {} on",
        api.kind,
        shown(api.api_version),
        api.removed_in.short()
    );
    let (severity, message) = match (context.kubernetes_version, minimum(context)) {
        (Some(cluster), _) if cluster >= api.removed_in => (
            Severity::Error,
            format!("{gone}, and {cluster} is asked about"),
        ),
        (Some(_), _) => return,
        (None, Some(minimum)) if minimum >= api.removed_in => (
            Severity::Warning,
            format!("{gone}, and `{}` is {minimum}", key::MIN_KUBERNETES_VERSION),
        ),
        // One finding is enough.
        (None, Some(minimum)) if minimum >= api.deprecated_in => return,
        (None, _) if api.removed_in <= UNSUPPORTED => (Severity::Warning, gone),
        (None, _) => (Severity::Note, gone),
    };
    let finding = Finding::new(severity, "api-removed", message).at(path, object.line);
    findings.push(hint(finding, api));
}

/// Reports objects of an API version that the cluster still serves, with a warning to whoever uses it.
pub(super) fn deprecated(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    let Some(api) = removed_api(&object.api_version(), &object.id.kind) else {
        return;
    };
    let cluster = context.kubernetes_version.or_else(|| minimum(context));
    if cluster.is_some_and(|cluster| (api.deprecated_in..api.removed_in).contains(&cluster)) {
        let message = format!(
            "`{}` of {} is deprecated since Kubernetes {}, and not served from {} on",
            api.kind,
            shown(api.api_version),
            api.deprecated_in.short(),
            api.removed_in.short()
        );
        let finding = Finding::warning("api-deprecated", message).at(path, object.line);
        findings.push(hint(finding, api));
    }
}

fn minimum(context: &Context<'_>) -> Option<crate::version::KubernetesVersion> {
    context.metadata.as_ref()?.min_kubernetes_version
}

fn hint(finding: Finding, api: &RemovedApi) -> Finding {
    match api.replacement {
        Some(new) => finding.hint(format!(
            "use {}, which is served since {}",
            new.api_version,
            new.since.short()
        )),
        None => finding.hint("nothing takes its place: leave it out"),
    }
}
