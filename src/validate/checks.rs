//! The table of all checks. A new check is a function, a row here and a folder in `testdata/bad`.

use crate::error::Result;
use crate::finding::Finding;
use crate::objects::{Object, Other};
use crate::path::BundlePath;

use super::context::Context;
use super::files::File;
use super::{
    Whole, credentials, custom, duplicates, faults, fields, identity, images, kustomize, labels,
    layout, links, lock, metadata, names, object_sizes, removed, scopes, selectors, served, sizes,
    strings, template, versions,
};

/// What a check is about, which decides what `pack` makes of its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The metadata; `pack` always refuses errors.
    Metadata,
    /// Which files there are; `pack` always refuses errors.
    Layout,
    /// What stands in the files; `pack` refuses errors unless it is told otherwise.
    Object,
    /// What named consumers do not take; never an error.
    Consumer,
}

impl Family {
    /// Returns the word that the specification has for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metadata => "metadata",
            Self::Layout => "layout",
            Self::Object => "object",
            Self::Consumer => "consumer",
        }
    }
}

/// A kind of finding.
#[derive(Debug)]
pub struct Check {
    /// The stable code.
    pub code: &'static str,
    /// What it is about.
    pub family: Family,
    /// What is wrong when it is found, for the specification.
    pub about: &'static str,
    pub(super) run: Run,
}

/// When a check runs.
#[derive(Debug)]
pub(super) enum Run {
    /// While the metadata or a document is read: reading finds it.
    Reading,
    /// Once, knowing the paths.
    Layout(fn(&Context<'_>, &mut Vec<Finding>)),
    /// Over the bytes of each file below `manifests/`.
    File(fn(&Context<'_>, &File<'_>, &mut Vec<Finding>)),
    /// Over what stands in a file and is no object.
    Other(fn(&Context<'_>, &BundlePath, &Other, &mut Vec<Finding>)),
    /// Over each object.
    Object(fn(&Context<'_>, &BundlePath, &Object, &mut Vec<Finding>)),
    /// Once, knowing all objects.
    Whole(fn(&Context<'_>, &Whole<'_>, &mut Vec<Finding>)),
    /// Once, knowing all objects, reading files once more.
    Again(fn(&Context<'_>, &Whole<'_>, &mut Vec<Finding>) -> Result<()>),
}

const fn row(code: &'static str, family: Family, run: Run, about: &'static str) -> Check {
    Check {
        code,
        family,
        about,
        run,
    }
}

use Family::{Consumer, Layout, Metadata};
use Run::Reading;

/// All checks, in the order of the specification.
#[rustfmt::skip]
pub const CHECKS: &[Check] = &[
    row("metadata-missing", Metadata, Reading, "There is no `metadata/annotations.yaml`."),
    row("metadata-yaml", Metadata, Reading, "The file is not one plain YAML document."),
    row("metadata-shape", Metadata, Reading, "The file is not a mapping with the one key `annotations`, itself a mapping."),
    row("metadata-string", Metadata, Reading, "A key or a value is no string."),
    row("metadata-olm", Metadata, Reading, "The metadata is that of an OLM bundle."),
    row("olm-csv", Metadata, Reading, "A bundle for OLM does not have exactly one ClusterServiceVersion."),
    row("metadata-key", Metadata, Reading, "A key cannot be carried, or would make another system act."),
    row("metadata-value", Metadata, Reading, "A value holds control characters."),
    row("metadata-required", Metadata, Reading, "A required key is missing."),
    row("metadata-directory", Metadata, Reading, "A directory is not `manifests/` or `metadata/`."),
    row("metadata-mediatype", Metadata, Reading, "The mediatype is not known."),
    row("metadata-package", Metadata, Reading, "The package is no name, or two keys disagree about it."),
    row("metadata-version", Metadata, Reading, "The version is none, or two keys disagree about it."),
    row("metadata-operator-id", Metadata, Reading, "The operator's id is no name, or is missing where something depends on it."),
    row("metadata-min-operator-version", Metadata, Reading, "The lowest version of the operator is no version."),
    row("metadata-min-kubernetes-version", Metadata, Reading, "The lowest version of Kubernetes is no version."),
    row("metadata-channels", Metadata, Reading, "A channel is no name, or is named twice."),
    row("metadata-placeholders", Metadata, Reading, "The kind of placeholders is not known."),
    row("metadata-unknown", Metadata, Run::Layout(metadata::unknown_keys), "A key that begins as those of this specification do is none of them."),
    row("min-operator-version", Metadata, Run::Whole(versions::of_metadata), "An object asks for a higher version of the operator than the metadata."),
    row("lock-malformed", Metadata, Run::Again(lock::lock), "The lock of images cannot be read."),
    row("lock-incomplete", Metadata, Reading, "The lock of images has no digest for an image that a manifest certainly names."),
    row("lock-unused", Metadata, Reading, "The lock of images has an image that no manifest names."),
    row("layout-root", Layout, Run::Layout(layout::root), "Something stands beside `manifests/` and `metadata/`."),
    row("layout-nested", Layout, Run::Layout(layout::nested), "`manifests/` has a sub-directory and the mediatype is `manifests`."),
    row("layout-file-type", Layout, Run::Layout(layout::file_type), "A file in `manifests/` is neither YAML nor JSON by its name."),
    row("layout-kustomization", Layout, Run::Layout(layout::kustomization), "There is a kustomization and the mediatype is `manifests`."),
    row("layout-chart", Layout, Run::Layout(layout::chart), "There is the `Chart.yaml` of a Helm chart and the mediatype is `manifests`."),
    row("layout-annotations", Layout, Run::Layout(layout::annotations_file), "A second file is named `annotations.yaml`."),
    row("layout-collision", Layout, Run::Layout(layout::collision), "Two paths are one on some systems."),
    row("layout-refused", Layout, Reading, "Something in the source cannot be carried: a link, a special file, a private key, or a name."),
    row("layout-name", Layout, Run::Layout(layout::name), "A file name is legal and makes trouble."),
    row("layout-same-name", Layout, Run::Layout(layout::same_name), "Both directories have a file of one name."),
    row("layout-leftover", Layout, Run::Layout(layout::leftover), "A desktop or an editor left a file behind."),
    row("layout-empty", Layout, Run::Whole(layout::empty), "There is no object."),
    row("kustomize-missing", Layout, Run::Layout(kustomize::kustomization), "The mediatype is `kustomize` and there is no kustomization."),
    row("kustomize-twice", Layout, Reading, "A directory has two kustomizations."),
    row("kustomize-not-found", Family::Object, Run::Other(kustomize::references), "A kustomization names a file that is not in the bundle."),
    row("kustomize-outside", Family::Object, Reading, "A kustomization names something that is not below `manifests/`."),
    row("kustomize-remote", Family::Object, Reading, "A kustomization fetches something."),
    row("yaml-not-utf8", Family::Object, Reading, "A document is not UTF-8."),
    row("yaml-control-character", Family::Object, Reading, "A document holds a character that YAML does not allow."),
    row("yaml-line-break", Family::Object, Reading, "A document holds a character that only some readers take for the end of a line."),
    row("yaml-syntax", Family::Object, Reading, "A document is no YAML."),
    row("yaml-duplicate-key", Family::Object, Reading, "A mapping has a key twice."),
    row("yaml-bad-key", Family::Object, Reading, "A key cannot be a key in JSON."),
    row("yaml-bad-merge", Family::Object, Reading, "A merge key has a value that is no mapping."),
    row("yaml-bad-tag", Family::Object, Reading, "A value does not fit its tag."),
    row("yaml-not-finite", Family::Object, Reading, "A number is infinite or none."),
    row("yaml-unknown-alias", Family::Object, Reading, "An alias has no anchor."),
    row("yaml-self-alias", Family::Object, Reading, "An alias stands inside its own value."),
    row("yaml-alias-expansion", Family::Object, Reading, "Aliases multiply a document."),
    row("yaml-too-deep", Family::Object, Reading, "A document is nested too deeply."),
    row("yaml-too-many-nodes", Family::Object, Reading, "A document has too many nodes."),
    row("yaml-too-large", Family::Object, Reading, "A document or file is too large."),
    row("yaml-too-many-documents", Family::Object, Reading, "A file has too many documents."),
    row("yaml-lost-document", Family::Object, Reading, "A document begins without a separator that Kubernetes sees."),
    row("json-syntax", Family::Object, Run::File(faults::json), "A file named `*.json` is no JSON."),
    row("template", Family::Object, Run::Object(template::in_object), "A template is not rendered."),
    row("credentials", Family::Object, Run::File(credentials::credentials), "A file is a private key or a kubeconfig."),
    row("not-object", Family::Object, Run::Other(identity::not_object), "Something in a file is no Kubernetes object."),
    row("object-incomplete", Family::Object, Run::Other(identity::incomplete), "An object lacks its apiVersion, kind or name."),
    row("object-identity", Family::Object, Run::Object(identity::identity), "An apiVersion, kind, name or namespace is malformed."),
    row("object-name", Family::Object, Run::Object(names::name), "A name is none for the kind of its object."),
    row("object-label", Family::Object, Run::Object(labels::labels), "A label, or the key of an annotation, is malformed."),
    row("object-scope", Family::Object, Run::Object(scopes::namespace), "An object that is there for the whole cluster names a namespace."),
    row("object-generate-name", Family::Object, Run::Object(identity::generated_name), "The name of an object is made up when it is created."),
    row("object-duplicate", Family::Object, Run::Whole(duplicates::duplicates), "Two objects are the same object."),
    row("too-many-objects", Family::Object, Run::Whole(duplicates::too_many), "A bundle has more objects than its ceiling."),
    row("object-min-operator-version", Family::Object, Run::Object(versions::of_object), "An object asks for something that is no version of the operator."),
    row("unquoted", Family::Object, Run::Object(strings::unquoted), "A word or number without quotes stands where a string must be."),
    row("field-type", Family::Object, Run::Object(fields::fields), "A value is of a type or form that no API server takes."),
    row("field-missing", Family::Object, Reading, "A field is missing, or empty, that every API server asks for."),
    row("field-unknown", Family::Object, Reading, "An object of a built-in kind has a field that Kubernetes does not know."),
    row("api-removed", Family::Object, Run::Object(removed::removed), "An object has an API version that a cluster does not serve."),
    row("api-deprecated", Family::Object, Run::Object(removed::deprecated), "An object has an API version that a later cluster does not serve."),
    row("api-not-served", Family::Object, Run::Object(served::served), "An API of Kubernetes has a version or kind that a cluster does not serve yet, or that is not known."),
    row("kubernetes-version", Family::Object, Run::Whole(served::knowledge), "The version of the cluster is later than those that are known."),
    row("selector-mismatch", Family::Object, Run::Object(selectors::own_pods), "A workload does not select its own pods."),
    row("selector-nothing", Family::Object, Run::Whole(links::selections), "A selector matches no pod of the bundle."),
    row("service-not-found", Family::Object, Run::Whole(links::services), "An object names a Service that is not in the bundle."),
    row("custom-resource", Family::Object, Run::Again(custom::resources), "A custom resource does not fit the schema of its definition in the bundle."),
    row("custom-resource-version", Family::Object, Run::Whole(custom::versions), "A custom resource has a version that its definition in the bundle does not serve."),
    row("custom-resource-field", Family::Object, Reading, "A custom resource has a field that is not in the schema of its definition in the bundle."),
    row("namespace-not-found", Family::Object, Run::Whole(links::namespaces), "Objects are in a namespace that is not in the bundle."),
    row("image-name", Family::Object, Run::Object(images::name), "The image of a container is none that a registry takes."),
    row("image-tag", Family::Object, Run::Object(images::tag), "An image has neither a digest nor a tag that stays."),
    row("size-data", Family::Object, Run::Object(object_sizes::data), "A ConfigMap or Secret holds more than an API server takes."),
    row("size-annotations", Family::Object, Run::Object(object_sizes::annotations), "The annotations of an object are more than an API server takes."),
    row("size-object", Family::Object, Run::Object(object_sizes::request), "An object is larger than an API server takes."),
    row("size-kubectl-apply", Consumer, Run::Object(object_sizes::last_applied), "An object is larger than `kubectl apply` takes on the client's side."),
    row("size-argo-cd", Consumer, Run::Whole(sizes::argo_cd), "The bundle is larger than Argo CD takes by default."),
    row("size-olm", Consumer, Run::Again(sizes::olm), "The bundle is larger than OLM can unpack."),
];

/// Returns the row of a code.
pub fn check(code: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|check| check.code == code)
}

/// Tells whether a finding is about what stands in the files, so that `pack --allow-invalid` passes over it.
pub fn is_object_code(code: &str) -> bool {
    check(code).is_some_and(|check| check.family == Family::Object)
}
