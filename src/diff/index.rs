//! The first pass: what there is on one side, where, and a digest of each value. One document is held at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use crate::bundle::{self, MANIFESTS};
use crate::content::Content;
use crate::crd;
use crate::digest::{Digest, Hasher};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::finding::Finding;
use crate::limits::{Ceiling, Limits};
use crate::metadata::{self, KDP_MIN_OPERATOR_VERSION, key};
use crate::objects::{self, Entry, Object, ObjectId};
use crate::path::BundlePath;
use crate::version::Version;
use crate::yaml;

use super::{Place, Side, Subject, value};

/// Something on one side, without its content.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) subject: Subject,
    /// Group and version of an object's API.
    pub(super) api_version: Option<String>,
    /// Whether its name is made up each time that it is created.
    pub(super) has_generated_name: bool,
    pub(super) file: BundlePath,
    /// The line on which it begins; 0 for a file.
    pub(super) line: u32,
    pub(super) at: At,
    /// What it holds, so that equal values have equal digests.
    pub(super) digest: Digest,
}

/// How it is found again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum At {
    /// In the document with these bytes, which begins on a line.
    Document {
        start: usize,
        end: usize,
        first_line: u32,
        item: usize,
    },
    /// In a file that is read as a template.
    Template { item: usize },
    /// It is the whole file.
    File,
}

impl Item {
    pub(super) fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line,
            api_version: self.api_version.clone(),
        }
    }
}

/// What there is on one side.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) items: Vec<Item>,
    /// What cannot be read, with the digest of its file.
    pub(super) faults: Vec<(Finding, Digest)>,
    /// The highest version of the operator that an object asks for.
    pub(super) min_operator_version: Option<Version>,
    /// Whether resources have no namespaces, by their group and kind, where a definition says it.
    scopes: Vec<(String, String, bool)>,
    /// Places of objects that are there before.
    repeated: Vec<(ObjectId, BundlePath, u32)>,
}

/// Reads two sides, file by file; a file that is the same on both is read once.
pub(super) fn read([old, new]: [&Side<'_>; 2], limits: &Limits) -> Result<[Index; 2]> {
    let placeholders = [placeholders(old, limits)?, placeholders(new, limits)?];
    let mut indexes = [Index::default(), Index::default()];
    let paths: BTreeSet<&BundlePath> = old.files.keys().chain(new.files.keys()).collect();
    for path in paths
        .into_iter()
        .filter(|path| path.as_str() != metadata::FILE)
    {
        let mut last: Option<(Digest, bool, Part)> = None;
        for ((side, index), is_template) in
            [old, new].into_iter().zip(&mut indexes).zip(placeholders)
        {
            let Some(content) = side.files.get(path) else {
                continue;
            };
            let (found, limit) = (content.len(), limits[Ceiling::File]);
            if found > limit {
                let error = Error::limit(Ceiling::File, limit, found);
                return Err(error.at(path).file(path));
            }
            let digest = content.digest(Hasher::sha256());
            let digest = digest.map_err(|error| cannot_read(path, error))?;
            let part = match last.take() {
                Some((known, how, part)) if known == digest && how == is_template => part,
                _ => Part::read(path, content, digest, is_template, limits)?,
            };
            index.add(part.clone(), limits)?;
            last = Some((digest, is_template, part));
        }
    }
    settle_scopes(&mut indexes);
    for index in &mut indexes {
        index.find_repeated();
    }
    Ok(indexes)
}

impl Index {
    fn add(&mut self, part: Part, limits: &Limits) -> Result<()> {
        self.items.extend(part.items);
        let (found, limit) = (self.items.len() as u64, limits[Ceiling::Objects]);
        if found > limit {
            return Err(Error::limit(Ceiling::Objects, limit, found));
        }
        self.faults.extend(part.faults);
        self.scopes.extend(part.scopes);
        let known = self.min_operator_version.take();
        self.min_operator_version = higher(known, part.min_operator_version);
        Ok(())
    }

    fn find_repeated(&mut self) {
        let mut known = BTreeSet::new();
        for item in &self.items {
            if let Subject::Object(id) = &item.subject
                && !known.insert(id)
                && !item.has_generated_name
            {
                self.repeated
                    .push((id.clone(), item.file.clone(), item.line));
            }
        }
    }

    /// Returns the digests of files that cannot be read.
    pub(super) fn fault_digests(&self) -> impl Iterator<Item = &Digest> {
        self.faults.iter().map(|(_, digest)| digest)
    }

    /// Returns a note where objects are there more than once.
    pub(super) fn duplicates(&self, side: &str) -> Option<Finding> {
        let (id, file, line) = self.repeated.first()?;
        let others = match self.repeated.len() {
            1 => String::new(),
            2 => ", and another one".to_owned(),
            count => format!(", and {} others", count.saturating_sub(1)),
        };
        let id = shown(&id.to_string());
        let message = format!("the {side} side has {id} more than once{others}");
        Some(Finding::note("object-duplicate", message).at(file, *line))
    }
}

/// Takes the namespaces from custom resources of which all definitions that are there say that they have none.
fn settle_scopes(indexes: &mut [Index; 2]) {
    let mut scopes: BTreeMap<(String, String), bool> = BTreeMap::new();
    for index in indexes.iter_mut() {
        for (group, kind, is_cluster_wide) in index.scopes.drain(..) {
            *scopes.entry((group, kind)).or_insert(true) &= is_cluster_wide;
        }
    }
    scopes.retain(|_, is_cluster_wide| *is_cluster_wide);
    if scopes.is_empty() {
        return;
    }
    for item in indexes.iter_mut().flat_map(|index| &mut index.items) {
        if let Subject::Object(id) = &mut item.subject
            && id.namespace.is_some()
            && scopes.contains_key(&(id.group.clone(), id.kind.clone()))
        {
            id.namespace = None;
        }
    }
}

/// Returns the higher of two versions.
fn higher(one: Option<Version>, other: Option<Version>) -> Option<Version> {
    match (one, other) {
        (Some(one), Some(other)) if other.precedence(&one).is_gt() => Some(other),
        (one, other) => one.or(other),
    }
}

/// What there is in one file.
#[derive(Debug, Clone, Default)]
struct Part {
    items: Vec<Item>,
    faults: Vec<(Finding, Digest)>,
    min_operator_version: Option<Version>,
    scopes: Vec<(String, String, bool)>,
    /// How many documents are no objects.
    others: usize,
}

impl Part {
    fn read(
        path: &BundlePath,
        content: &Content,
        digest: Digest,
        is_template: bool,
        limits: &Limits,
    ) -> Result<Self> {
        let mut part = Self::default();
        let name = path.file_name();
        let is_manifest = path.strip_prefix(MANIFESTS).is_some()
            && (objects::is_manifest_name(name) || objects::is_kustomization(name));
        if !is_manifest {
            part.items.push(Item {
                subject: Subject::File(path.clone()),
                api_version: None,
                has_generated_name: false,
                file: path.clone(),
                line: 0,
                at: At::File,
                digest,
            });
            return Ok(part);
        }
        let bytes = bytes_of(path, content)?;
        if is_template && bytes.windows(2).any(|two| two == b"{{") {
            let mut item = 0;
            objects::read_template(name, &bytes, limits, |entry| {
                part.add(path, At::Template { item }, &entry);
                item += 1;
            });
            return Ok(part);
        }
        for document in yaml::documents(&bytes, limits) {
            let document = match document {
                Ok(document) => document,
                Err(fault) => {
                    let code = code_of(&format!("yaml-{}", fault.kind.name()));
                    let finding = Finding::error(code, shown(&fault.message));
                    part.faults.push((finding.at(path, fault.line), digest));
                    continue;
                }
            };
            let Range { start, end } = document.range;
            let first_line = document.line;
            let entries = objects::in_document(document.root, name);
            for (item, entry) in entries.into_iter().enumerate() {
                let at = At::Document {
                    start,
                    end,
                    first_line,
                    item,
                };
                part.add(path, at, &entry);
            }
        }
        Ok(part)
    }

    /// Takes note of what stands in a file.
    fn add(&mut self, path: &BundlePath, at: At, entry: &Entry) {
        let item = match entry {
            Entry::Object(object) => {
                let asked = object.annotation(KDP_MIN_OPERATOR_VERSION);
                let asked = asked.and_then(|node| node.as_str()?.parse::<Version>().ok());
                self.min_operator_version = higher(self.min_operator_version.take(), asked);
                if let Some((group, kind)) = crd::defines(object) {
                    let is_cluster_wide = crd::is_cluster_wide(object);
                    self.scopes
                        .push((group.to_owned(), kind.to_owned(), is_cluster_wide));
                }
                Item {
                    subject: Subject::Object(identity(object)),
                    api_version: Some(object.api_version()),
                    has_generated_name: object.has_generated_name,
                    file: path.clone(),
                    line: object.line,
                    at,
                    digest: value::digest_of_object(object),
                }
            }
            Entry::Other(other) => {
                let place = self.others;
                self.others = place.saturating_add(1);
                Item {
                    subject: Subject::Document(path.clone(), place),
                    api_version: None,
                    has_generated_name: false,
                    file: path.clone(),
                    line: other.line,
                    at,
                    digest: value::digest(&other.node),
                }
            }
            Entry::Fault(_) => return,
        };
        self.items.push(item);
    }
}

/// Returns the identity of an object in the group in which its kind is now, so that leaving an old group is a change of a field.
fn identity(object: &Object) -> ObjectId {
    let mut id = object.id.clone();
    let group = match (id.group.as_str(), id.kind.as_str()) {
        ("extensions", "Deployment" | "DaemonSet" | "ReplicaSet") => "apps",
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        ("extensions", "PodSecurityPolicy") => "policy",
        _ => return id,
    };
    group.clone_into(&mut id.group);
    id
}

/// Tells whether the metadata says that an operator fills placeholders.
fn placeholders(side: &Side<'_>, limits: &Limits) -> Result<bool> {
    if let Some(annotations) = side.annotations {
        return Ok(annotations.contains_key(key::PLACEHOLDERS));
    }
    bundle::has_placeholders(side.files, limits)
}

/// Reads a file whose size was looked at.
pub(super) fn bytes_of(path: &BundlePath, content: &Content) -> Result<Bytes> {
    content.to_bytes().map_err(|error| cannot_read(path, error))
}

pub(super) fn cannot_read(path: &BundlePath, error: std::io::Error) -> Error {
    Error::io("cannot read", path.as_str().as_ref(), error)
}

/// Returns the code of the check that finds the same.
fn code_of(code: &str) -> &'static str {
    crate::validate::check(code).map_or("yaml-syntax", |check| check.code)
}
