//! Custom resources against their definitions in the same bundle.
//!
//! Definitions and resources can be in any files in any order, so the files that hold some of either are read once more, one
//! at a time; the schemas of a few definitions are held meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::content::Content;
use crate::crd;
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::finding::Finding;
use crate::objects::{Entry, Object, Summary, entries};
use crate::path::BundlePath;
use crate::schema::{Budget, Mismatch, VersionSchema, Wrong};

use super::Whole;
use super::context::Context;
use super::files::Tally;
use super::links::report;

/// How many versions that are served are named where one is not.
const SHOWN_VERSIONS: usize = 8;

/// How many nodes of schemas are held at a time, some hundred bytes each; one definition may have more.
const SCHEMA_NODES: u64 = 50_000;

/// What is remembered of a definition.
#[derive(Debug)]
pub(super) struct Definition {
    file: BundlePath,
    group: String,
    kind: String,
    name: String,
    is_cluster_wide: bool,
    /// The versions, and whether each is served.
    versions: Vec<(String, bool)>,
}

impl Definition {
    /// Notes an object that is a definition; one that is filled by a template says nothing for certain.
    pub(super) fn note(path: &BundlePath, object: &Object) -> Option<Self> {
        let (group, kind) = crd::defines(object).filter(|_| !object.is_template)?;
        Some(Self {
            file: path.clone(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            name: object.id.name.clone(),
            is_cluster_wide: crd::is_cluster_wide(object),
            versions: crd::versions(object)
                .into_iter()
                .map(|version| (version.name.to_owned(), version.served))
                .collect(),
        })
    }

    /// Returns the group and kind of its resources.
    pub(super) fn kind(&self) -> (&str, &str) {
        (&self.group, &self.kind)
    }

    /// Tells whether its resources have no namespaces.
    pub(super) fn is_cluster_wide(&self) -> bool {
        self.is_cluster_wide
    }
}

/// A kind of resource, by group and kind.
type KindKey<'a> = (&'a str, &'a str);

/// The definitions that there is one of, by the kind of their resources, with these.
fn instances<'w>(
    context: &Context<'_>,
    whole: &'w Whole<'_>,
) -> BTreeMap<KindKey<'w>, (&'w Definition, Vec<&'w Summary>)> {
    let mut all = BTreeMap::new();
    // What kustomize holds can be a patch.
    if context.is_kustomize() {
        return all;
    }
    let mut definitions: HashMap<KindKey<'w>, Option<&Definition>> = HashMap::new();
    for definition in &whole.links.definitions {
        definitions
            .entry((&definition.group, &definition.kind))
            // Of two it is not known which one counts.
            .and_modify(|known| *known = None)
            .or_insert(Some(definition));
    }
    for object in whole.objects.iter().filter(|object| !object.is_template) {
        let key = (object.id.group.as_str(), object.id.kind.as_str());
        if let Some(Some(definition)) = definitions.get(&key) {
            let (_, objects) = all.entry(key).or_insert((*definition, Vec::new()));
            objects.push(object);
        }
    }
    all
}

/// Reports custom resources of versions that their definition does not have, or does not serve.
pub(super) fn versions(context: &Context<'_>, whole: &Whole<'_>, findings: &mut Vec<Finding>) {
    let mut found = Vec::new();
    for (definition, objects) in instances(context, whole).values() {
        // The first of two of one name counts.
        let all = definition.versions.iter().rev();
        let is_served: HashMap<&str, bool> = all.map(|(name, is)| (&**name, *is)).collect();
        let served = served(definition);
        for object in objects {
            let why = match is_served.get(object.version.as_str()) {
                Some(true) => continue,
                Some(false) => "does not serve",
                None => "does not have",
            };
            let message = format!(
                "`{}` has the version `{}`, which its definition in {} {why}",
                shown(&object.id.to_string()),
                shown(&object.version),
                shown(definition.file.as_str()),
            );
            let finding = Finding::error("custom-resource-version", message);
            found.push(
                finding
                    .at(&object.file, object.line)
                    .hint(format!("it serves {served}")),
            );
        }
    }
    report(&found, findings);
}

/// Names the versions that a definition serves, the first of many.
fn served(definition: &Definition) -> String {
    let served = || definition.versions.iter().filter(|(_, served)| *served);
    let names = served().take(SHOWN_VERSIONS);
    let mut names: Vec<String> = names
        .map(|(name, _)| format!("`{}`", shown(name)))
        .collect();
    if let Some(more @ 1..) = served().count().checked_sub(SHOWN_VERSIONS) {
        names.push(format!("{more} more"));
    }
    if names.is_empty() {
        return "none".into();
    }
    names.join(", ")
}

/// Schemas by group, kind and version, with what else their definitions say of them.
#[derive(Default)]
struct Batch<'w> {
    schemas: HashMap<(KindKey<'w>, String), (VersionSchema, &'w Definition)>,
    nodes: u64,
}

impl<'w> Batch<'w> {
    /// Reads the schemas of a definition for the versions in which there are objects.
    fn add(&mut self, object: &Object, definition: &'w Definition, objects: &[&Summary]) {
        let used: HashSet<&str> = objects.iter().map(|object| &*object.version).collect();
        let mut versions = crd::versions(object);
        versions.retain(|version| version.served && used.contains(version.name));
        for (version, schema) in VersionSchema::read_all(object, versions) {
            self.nodes = self.nodes.saturating_add(schema.nodes());
            let kind: KindKey<'w> = (&definition.group, &definition.kind);
            let key = (kind, version.to_owned());
            self.schemas.insert(key, (schema, definition));
        }
    }
}

/// Reports custom resources that do not fit the schema of their definition, and fields that are not in it.
pub(super) fn resources(
    context: &Context<'_>,
    whole: &Whole<'_>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let instances = instances(context, whole);
    let files: BTreeSet<&BundlePath> = instances
        .values()
        .map(|(definition, _)| &definition.file)
        .collect();
    let mut budget = Budget::default();
    let mut batch = Batch::default();
    for file in files {
        each_object(context, file, |object| {
            let Some((definition, objects)) =
                crd::defines(&object).and_then(|kind| instances.get(&kind))
            else {
                return;
            };
            // A template may have the name of the same kind.
            if object.is_template || definition.file != *file {
                return;
            }
            batch.add(&object, definition, objects);
        })?;
        if batch.nodes > SCHEMA_NODES {
            let batch = std::mem::take(&mut batch);
            check(context, &batch, &instances, &mut budget, findings)?;
        }
    }
    check(context, &batch, &instances, &mut budget, findings)?;
    if budget.is_spent() {
        let message = "the schemas of custom resources ask for too much work: not all was checked";
        findings.push(Finding::warning("custom-resource", message));
    }
    Ok(())
}

/// Reads the files with resources of some kinds, and checks these.
fn check(
    context: &Context<'_>,
    batch: &Batch<'_>,
    instances: &BTreeMap<KindKey<'_>, (&Definition, Vec<&Summary>)>,
    budget: &mut Budget,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let keys: BTreeSet<KindKey<'_>> = batch.schemas.keys().map(|(key, _)| *key).collect();
    let objects = keys.iter().filter_map(|key| instances.get(key));
    let objects = objects.flat_map(|(_, objects)| objects);
    let mut lines: BTreeMap<&BundlePath, HashSet<u32>> = BTreeMap::new();
    for object in objects {
        lines.entry(&object.file).or_default().insert(object.line);
    }
    for (file, lines) in lines {
        let mut tally = Tally::default();
        let mut found = Vec::new();
        let content = context.files.get(file);
        budget.charge_reading(content.map_or(0, Content::len));
        if budget.is_spent() {
            return Ok(());
        }
        each_object(context, file, |mut object| {
            // A file may have templates beside objects that are none.
            if !lines.contains(&object.line) || budget.is_spent() {
                return;
            }
            let key = (object.id.group.as_str(), object.id.kind.as_str());
            let schema = batch.schemas.get(&(key, object.version.clone()));
            if let Some((schema, definition)) = schema {
                let id = shown(&object.id.to_string());
                for mismatch in schema.check(&mut object.node, budget) {
                    found.push(finding(&id, &mismatch, definition).at(file, mismatch.line));
                }
                tally.bound(&mut found);
            }
        })?;
        tally.finish(file, &mut found);
        findings.append(&mut found);
    }
    Ok(())
}

fn finding(id: &str, mismatch: &Mismatch, definition: &Definition) -> Finding {
    let name = shown(&definition.name);
    match mismatch.what {
        Wrong::Invalid(_) => Finding::error(
            "custom-resource",
            format!("`{id}`: {mismatch}, by the definition `{name}`"),
        ),
        Wrong::Unknown => Finding::warning(
            "custom-resource-field",
            format!(
                "`{id}`: {mismatch} of the definition `{name}`: it is dropped, or refused by `kubectl`"
            ),
        ),
    }
}

/// Reads the objects of a file once more.
fn each_object(
    context: &Context<'_>,
    path: &BundlePath,
    mut each: impl FnMut(Object),
) -> Result<()> {
    let Some(content) = context.files.get(path) else {
        return Ok(());
    };
    let read = Content::to_bytes(content);
    let bytes = read.map_err(|source| Error::io("cannot read", path.as_str().as_ref(), source))?;
    for entry in entries(path.file_name(), &bytes, context.limits) {
        if let Entry::Object(object) = entry {
            each(object);
        }
    }
    Ok(())
}
