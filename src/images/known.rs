//! Where APIs have images: the tables of known fields, and of kinds whose images are only spoken of.

use super::Grade;
use super::walk::Step;
use crate::objects::ObjectId;

/// The lists of a pod's specification that hold containers, under any kind.
const CONTAINERS: &[&str] = &["containers", "initContainers", "ephemeralContainers"];

/// API group, kind, and the path to an image; `*` is any component, and `**` any number of them.
#[rustfmt::skip]
pub const FIELDS: &[(&str, &str, &str)] = &[
    ("argoproj.io", "ClusterWorkflowTemplate", "**.container.image"),
    ("argoproj.io", "ClusterWorkflowTemplate", "**.script.image"),
    ("argoproj.io", "ClusterWorkflowTemplate", "**.sidecars.*.image"),
    ("argoproj.io", "CronWorkflow", "**.container.image"),
    ("argoproj.io", "CronWorkflow", "**.script.image"),
    ("argoproj.io", "CronWorkflow", "**.sidecars.*.image"),
    ("argoproj.io", "Workflow", "**.container.image"),
    ("argoproj.io", "Workflow", "**.script.image"),
    ("argoproj.io", "Workflow", "**.sidecars.*.image"),
    ("argoproj.io", "WorkflowTemplate", "**.container.image"),
    ("argoproj.io", "WorkflowTemplate", "**.script.image"),
    ("argoproj.io", "WorkflowTemplate", "**.sidecars.*.image"),
    ("caching.internal.knative.dev", "Image", "spec.image"),
    ("ceph.rook.io", "CephCluster", "spec.cephVersion.image"),
    ("databases.spotahome.com", "RedisFailover", "spec.redis.exporter.image"),
    ("databases.spotahome.com", "RedisFailover", "spec.redis.image"),
    ("databases.spotahome.com", "RedisFailover", "spec.sentinel.exporter.image"),
    ("databases.spotahome.com", "RedisFailover", "spec.sentinel.image"),
    ("monitoring.coreos.com", "Alertmanager", "spec.image"),
    ("monitoring.coreos.com", "Prometheus", "spec.image"),
    ("monitoring.coreos.com", "Prometheus", "spec.thanos.image"),
    ("monitoring.coreos.com", "PrometheusAgent", "spec.image"),
    ("monitoring.coreos.com", "ThanosRuler", "spec.image"),
    ("opentelemetry.io", "OpenTelemetryCollector", "spec.image"),
    ("operators.coreos.com", "CatalogSource", "spec.image"),
    ("operators.coreos.com", "ClusterServiceVersion", "spec.relatedImages.*.image"),
    ("tekton.dev", "ClusterTask", "spec.sidecars.*.image"),
    ("tekton.dev", "ClusterTask", "spec.stepTemplate.image"),
    ("tekton.dev", "ClusterTask", "spec.steps.*.image"),
    ("tekton.dev", "Pipeline", "**.taskSpec.sidecars.*.image"),
    ("tekton.dev", "Pipeline", "**.taskSpec.stepTemplate.image"),
    ("tekton.dev", "Pipeline", "**.taskSpec.steps.*.image"),
    ("tekton.dev", "PipelineRun", "**.taskSpec.sidecars.*.image"),
    ("tekton.dev", "PipelineRun", "**.taskSpec.stepTemplate.image"),
    ("tekton.dev", "PipelineRun", "**.taskSpec.steps.*.image"),
    ("tekton.dev", "StepAction", "spec.image"),
    ("tekton.dev", "Task", "spec.sidecars.*.image"),
    ("tekton.dev", "Task", "spec.stepTemplate.image"),
    ("tekton.dev", "Task", "spec.steps.*.image"),
    ("tekton.dev", "TaskRun", "**.taskSpec.sidecars.*.image"),
    ("tekton.dev", "TaskRun", "**.taskSpec.stepTemplate.image"),
    ("tekton.dev", "TaskRun", "**.taskSpec.steps.*.image"),
];

/// Groups whose objects speak of images that others run: rules, patterns, repositories that are watched.
pub const SPOKEN_OF: &[&str] = &[
    "constraints.gatekeeper.sh",
    "image.toolkit.fluxcd.io",
    "kyverno.io",
    "policies.kyverno.io",
    "policy.sigstore.dev",
    "templates.gatekeeper.sh",
];

/// Returns the highest grade that an image in an object can have.
pub(super) fn highest(id: &ObjectId) -> Grade {
    if SPOKEN_OF.contains(&id.group.as_str()) {
        Grade::Likely
    } else {
        Grade::Certain
    }
}

/// Tells whether an API says that the field at the end of a path holds an image.
pub(super) fn is_image(id: Option<&ObjectId>, path: &[Step<'_>]) -> bool {
    if let [.., Step::Key(list), Step::Index(_), Step::Key("image")] = path
        && CONTAINERS.contains(list)
    {
        return true;
    }
    let is_volume = matches!(
        path,
        [
            ..,
            Step::Key("volumes"),
            Step::Index(_),
            Step::Key("image"),
            Step::Key("reference")
        ]
    );
    is_volume
        || id.is_some_and(|id| {
            FIELDS.iter().any(|(group, kind, field)| {
                *group == id.group && *kind == id.kind && fits(field, path)
            })
        })
}

/// Tells whether a path fits a pattern: components match one by one, behind a `**` at their end.
fn fits(pattern: &str, path: &[Step<'_>]) -> bool {
    let (pattern, is_open) = match pattern.strip_prefix("**.") {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let count = pattern.split('.').count();
    let Some(skipped) = path.len().checked_sub(count) else {
        return false;
    };
    (is_open || skipped == 0)
        && pattern
            .split('.')
            .zip(path.iter().skip(skipped))
            .all(|(wanted, step)| match step {
                Step::Key(key) => wanted == *key,
                Step::Index(_) => wanted == "*",
            })
}
