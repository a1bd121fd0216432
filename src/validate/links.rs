//! What objects say of one another: namespaces, Services that are named, pods that are selected.
//!
//! Each object leaves a few words when its file is read; once all are known, what leads nowhere is reported. A bundle need not
//! be all of it, so nothing here is an error.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::Node;

use super::Whole;
use super::context::Context;
use super::custom::Definition;
use super::files::Tally;
use super::selectors::{Labels, Selector};

/// The namespaces that every cluster has.
const BUILT_IN_NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// How many texts of selectors are held against pods: no real bundle comes near, and a hostile one gets no answer to a note.
const COMPARISONS_MAX: usize = 10_000_000;

/// What the objects of some files say of one another.
#[derive(Debug, Default)]
pub(super) struct Links {
    services: Vec<(Option<String>, String)>,
    pods: Vec<(Option<String>, Labels)>,
    uses: Vec<Use>,
    selections: Vec<Selection>,
    /// The definitions of custom resources.
    pub(super) definitions: Vec<Definition>,
    /// Whether OLM installs the bundle.
    has_csv: bool,
}

/// An object that names a Service.
#[derive(Debug)]
struct Use {
    place: (BundlePath, u32),
    who: String,
    namespace: Option<String>,
    name: String,
    severity: Severity,
}

/// An object that selects pods.
#[derive(Debug)]
struct Selection {
    place: (BundlePath, u32),
    who: String,
    namespace: Option<String>,
    selector: Selector,
}

impl Links {
    /// Takes over what another file says.
    pub(super) fn append(&mut self, mut other: Self) {
        self.services.append(&mut other.services);
        self.pods.append(&mut other.pods);
        self.uses.append(&mut other.uses);
        self.selections.append(&mut other.selections);
        self.definitions.append(&mut other.definitions);
        self.has_csv |= other.has_csv;
    }

    /// Notes what an object says.
    pub(super) fn note(&mut self, path: &BundlePath, object: &Object) {
        let (id, node) = (&object.id, &object.node);
        match (id.group.as_str(), id.kind.as_str()) {
            ("", "Service") => {
                self.services.push((id.namespace.clone(), id.name.clone()));
                if let Some(selector) = node.at(&["spec", "selector"]) {
                    self.selects(path, object, selector, Selector::of_labels(selector));
                }
            }
            ("policy", "PodDisruptionBudget") => {
                if let Some(selector) = node.at(&["spec", "selector"]) {
                    self.selects(path, object, selector, Selector::read(selector));
                }
            }
            (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
            ) => {
                for webhook in items(node.get("webhooks")) {
                    let service = webhook.at(&["clientConfig", "service"]);
                    self.names(path, object, service, "its webhook", Severity::Warning);
                }
            }
            ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                self.definitions.extend(Definition::note(path, object));
                for at in [
                    &["spec", "conversion", "webhook", "clientConfig", "service"][..],
                    &["spec", "conversion", "webhookClientConfig", "service"],
                ] {
                    let what = "the conversion between its versions";
                    self.names(path, object, node.at(at), what, Severity::Warning);
                }
            }
            ("apiregistration.k8s.io", "APIService") => {
                let service = node.at(&["spec", "service"]);
                self.names(path, object, service, "its API", Severity::Warning);
            }
            ("operators.coreos.com", "ClusterServiceVersion") => self.of_olm(object),
            ("networking.k8s.io" | "extensions", "Ingress") => self.ingress(path, object),
            ("gateway.networking.k8s.io", kind) if kind.ends_with("Route") => {
                for rule in items(node.at(&["spec", "rules"])) {
                    self.backends(path, object, rule);
                }
            }
            _ => {}
        }
        if let Some((at, _)) = pod_spec(object) {
            let owner = at.split_last().and_then(|(_, template)| node.at(template));
            let labels = owner.and_then(|owner| owner.at(&["metadata", "labels"]));
            self.pods.push((id.namespace.clone(), Labels::read(labels)));
        }
    }

    /// Notes the pods that OLM will make; it also makes the Services of webhooks and rewrites who calls them.
    fn of_olm(&mut self, object: &Object) {
        self.has_csv = true;
        let deployments = ["spec", "install", "spec", "deployments"];
        for deployment in items(object.node.at(&deployments)) {
            let labels = deployment.at(&["spec", "template", "metadata", "labels"]);
            self.pods.push((None, Labels::read(labels)));
        }
    }

    fn ingress(&mut self, path: &BundlePath, object: &Object) {
        let spec = object.node.get("spec");
        let mut backends: Vec<&Node> = ["backend", "defaultBackend"]
            .iter()
            .filter_map(|field| spec?.get(field))
            .collect();
        for rule in items(spec.and_then(|spec| spec.get("rules"))) {
            let paths = items(rule.at(&["http", "paths"]));
            backends.extend(paths.iter().filter_map(|path| path.get("backend")));
        }
        for backend in backends {
            // The field of the versions before `v1` is the second one.
            if let Some(name) = backend
                .at(&["service", "name"])
                .or(backend.get("serviceName"))
            {
                self.named(path, object, name, None, "a backend", Severity::Note);
            }
        }
    }

    fn backends(&mut self, path: &BundlePath, object: &Object, rule: &Node) {
        for backend in items(rule.get("backendRefs")) {
            let text = |field| backend.get(field).and_then(Node::as_str);
            let is_service = text("kind").unwrap_or("Service") == "Service"
                && text("group").unwrap_or("").is_empty();
            if let Some(name) = backend.get("name").filter(|_| is_service) {
                let namespace = text("namespace");
                self.named(path, object, name, namespace, "a backend", Severity::Note);
            }
        }
    }

    fn names(
        &mut self,
        path: &BundlePath,
        object: &Object,
        service: Option<&Node>,
        what: &str,
        severity: Severity,
    ) {
        if let Some(name) = service.and_then(|service| service.get("name")) {
            let namespace = service.and_then(|service| service.get("namespace")?.as_str());
            self.named(path, object, name, namespace, what, severity);
        }
    }

    fn named(
        &mut self,
        path: &BundlePath,
        object: &Object,
        name: &Node,
        namespace: Option<&str>,
        what: &str,
        severity: Severity,
    ) {
        let Some(text) = name.as_str() else { return };
        if is_template(text) || namespace.is_some_and(is_template) {
            return;
        }
        self.uses.push(Use {
            place: (path.clone(), name.line),
            who: format!("`{}` names it for {what}", shown(&object.id.to_string())),
            namespace: namespace
                .map(str::to_owned)
                .or_else(|| object.id.namespace.clone()),
            name: text.to_owned(),
            severity,
        });
    }

    fn selects(&mut self, path: &BundlePath, object: &Object, at: &Node, selector: Selector) {
        if !selector.is_empty() {
            self.selections.push(Selection {
                place: (path.clone(), at.line),
                who: object.id.to_string(),
                namespace: object.id.namespace.clone(),
                selector,
            });
        }
    }
}

/// Reports namespaces that no object of the bundle creates, each once.
pub(super) fn namespaces(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    // kustomize can put all objects into a namespace, and rename it; OLM creates all in the one that it is told.
    if context.is_kustomize() || whole.links.has_csv {
        return;
    }
    let is_namespace = |group: &str, kind: &str| group.is_empty() && kind == "Namespace";
    let created: HashSet<&str> = whole
        .objects
        .iter()
        .filter(|object| is_namespace(&object.id.group, &object.id.kind))
        .map(|object| object.id.name.as_str())
        .collect();
    if created.iter().any(|name| is_template(name)) {
        return;
    }
    let mut found = Vec::new();
    let mut used = BTreeMap::new();
    for object in whole.objects {
        if let Some(name) = object.id.namespace.as_deref()
            && !BUILT_IN_NAMESPACES.contains(&name)
            && !created.contains(name)
            && !is_template(name)
        {
            let (_, count) = used.entry(name).or_insert((object, 0_u64));
            *count = count.saturating_add(1);
        }
    }
    for (name, (first, count)) in used {
        let name = shown(name);
        let message = match count {
            1 => format!("the object is in namespace `{name}`, which the bundle does not create"),
            _ => format!(
                "{count} objects are in namespace `{name}`, which the bundle does not create; this is the first"
            ),
        };
        found.push(
            Finding::note("namespace-not-found", message)
                .at(&first.file, first.line)
                .hint("create it first, or add it to the bundle"),
        );
    }
    found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    report(&found, findings);
}

/// Reports Services that are named and are not in the bundle.
pub(super) fn services(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    let links = &whole.links;
    let is_unknown = links.services.iter().any(|(_, name)| is_template(name));
    if context.is_kustomize() || links.has_csv || is_unknown {
        return;
    }
    let mut by_name: HashMap<&str, Vec<Option<&String>>> = HashMap::new();
    for (namespace, name) in &links.services {
        by_name.entry(name).or_default().push(namespace.as_ref());
    }
    let mut found = Vec::new();
    for one in &links.uses {
        let namespaces = by_name.get(one.name.as_str()).map(Vec::as_slice);
        let is_there = namespaces
            .unwrap_or_default()
            .iter()
            .any(|namespace| is_same_namespace(*namespace, one.namespace.as_ref()))
            // Every cluster has the Service of its API server.
            || (one.name == "kubernetes" && one.namespace.as_deref() == Some("default"));
        if !is_there {
            let name = match &one.namespace {
                Some(namespace) => format!("{namespace}/{}", one.name),
                None => one.name.clone(),
            };
            let message = format!(
                "the Service `{}` is not in the bundle, and {}",
                shown(&name),
                one.who
            );
            let (file, line) = &one.place;
            found.push(Finding::new(one.severity, "service-not-found", message).at(file, *line));
        }
    }
    report(&found, findings);
}

/// Reports selectors that match no pod of the bundle.
pub(super) fn selections(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    if context.is_kustomize() {
        return;
    }
    let links = &whole.links;
    let texts = links.selections.iter().map(|one| one.selector.size());
    let work = texts.fold(0, usize::saturating_add);
    if work.saturating_mul(links.pods.len()) > COMPARISONS_MAX {
        return;
    }
    let mut found = Vec::new();
    for one in &links.selections {
        let matches = links.pods.iter().any(|(namespace, labels)| {
            is_same_namespace(namespace.as_ref(), one.namespace.as_ref())
                && one.selector.may_match(labels)
        });
        if !matches {
            let message = format!(
                "the selector of `{}` matches no pod of the bundle",
                shown(&one.who)
            );
            let (file, line) = &one.place;
            found.push(
                Finding::note("selector-nothing", message)
                    .at(file, *line)
                    .hint("see whether the labels are right; an operator may make such pods later"),
            );
        }
    }
    report(&found, findings);
}

/// Adds findings, of one file at most as many as a file may have.
pub(super) fn report(found: &[Finding], findings: &mut Vec<Finding>) {
    for of_file in found.chunk_by(|a, b| a.file == b.file) {
        let mut of_file = of_file.to_vec();
        let mut tally = Tally::default();
        let file = of_file.first().map(|finding| finding.file.clone());
        tally.bound(&mut of_file);
        tally.finish(file.unwrap_or_default(), &mut of_file);
        findings.append(&mut of_file);
    }
}

/// Tells whether two objects can be in one namespace; where it is not said, whoever applies them says it.
fn is_same_namespace(a: Option<&String>, b: Option<&String>) -> bool {
    let is_open = |name: &String| is_template(name);
    match (a, b) {
        (Some(a), Some(b)) => a == b || is_open(a) || is_open(b),
        _ => true,
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{")
}

fn items(node: Option<&Node>) -> &[Node] {
    node.and_then(Node::as_sequence).unwrap_or_default()
}
