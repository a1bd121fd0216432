//! The first pass: what there is on one side, where, and a digest of each value. One document is held at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use crate::bundle::MANIFESTS;
use crate::content::Content;
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

use super::{Place, Side, Subject, images, value};

/// Something on one side, without its content.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) subject: Subject,
    /// Group and version of an object's API.
    pub(super) api_version: Option<String>,
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
    /// The images that pods run.
    pub(super) images: BTreeSet<String>,
    /// The highest version of the operator that an object asks for.
    pub(super) min_operator_version: Option<Version>,
    /// Places of objects that are there before.
    repeated: Vec<(ObjectId, BundlePath, u32)>,
    known: BTreeSet<Subject>,
}

impl Index {
    /// Reads one side, file by file.
    pub(super) fn read(side: &Side<'_>, limits: &Limits) -> Result<Self> {
        let mut index = Self::default();
        let has_placeholders = placeholders(side, limits)?;
        for (path, content) in side.files {
            if path.as_str() == metadata::FILE {
                continue;
            }
            let (found, limit) = (content.len(), limits[Ceiling::File]);
            if found > limit {
                return Err(Error::limit(Ceiling::File, limit, found)
                    .at(path)
                    .file(path));
            }
            let is_manifest = path.strip_prefix(MANIFESTS).is_some()
                && (is_manifest_name(path.file_name())
                    || objects::is_kustomization(path.file_name()));
            if is_manifest {
                let bytes = bytes_of(path, content)?;
                if has_placeholders && is_template(&bytes) {
                    index.read_template(path, &bytes, limits)?;
                } else {
                    index.read_manifest(path, &bytes, limits)?;
                }
            } else {
                let digest = content.digest(Hasher::sha256());
                let digest = digest.map_err(|error| cannot_read(path, error))?;
                index.items.push(Item {
                    subject: Subject::File(path.clone()),
                    api_version: None,
                    file: path.clone(),
                    line: 0,
                    at: At::File,
                    digest,
                });
            }
        }
        index.known = BTreeSet::new();
        Ok(index)
    }

    fn read_manifest(&mut self, path: &BundlePath, bytes: &[u8], limits: &Limits) -> Result<()> {
        let mut others = 0;
        for document in yaml::documents(bytes, limits) {
            let document = match document {
                Ok(document) => document,
                Err(fault) => {
                    let code = format!("yaml-{}", fault.kind.name());
                    let finding = Finding::error(code_of(&code), shown(&fault.message));
                    let finding = finding.at(path, fault.line);
                    self.faults.push((finding, Digest::of(bytes)));
                    continue;
                }
            };
            let Range { start, end } = document.range;
            let first_line = document.line;
            for (item, entry) in objects::in_document(document.root, path.file_name())
                .into_iter()
                .enumerate()
            {
                let at = At::Document {
                    start,
                    end,
                    first_line,
                    item,
                };
                self.add(path, at, &entry, &mut others, limits)?;
            }
        }
        Ok(())
    }

    fn read_template(&mut self, path: &BundlePath, bytes: &[u8], limits: &Limits) -> Result<()> {
        let (mut others, mut item, mut outcome) = (0, 0, Ok(()));
        objects::read_template(path.file_name(), bytes, limits, |entry| {
            if outcome.is_ok() {
                outcome = self.add(path, At::Template { item }, &entry, &mut others, limits);
            }
            item += 1;
        });
        outcome
    }

    /// Takes note of what stands in a file.
    fn add(
        &mut self,
        path: &BundlePath,
        at: At,
        entry: &Entry,
        others: &mut usize,
        limits: &Limits,
    ) -> Result<()> {
        let limit = limits[Ceiling::Objects];
        if self.items.len() as u64 >= limit {
            return Err(Error::limit(
                Ceiling::Objects,
                limit,
                limit.saturating_add(1),
            ));
        }
        let item = match entry {
            Entry::Object(object) => {
                self.look_at(object);
                let subject = Subject::Object(identity(object));
                if !self.known.insert(subject.clone()) && !object.has_generated_name {
                    let place = (object.id.clone(), path.clone(), object.line);
                    self.repeated.push(place);
                }
                Item {
                    subject,
                    api_version: Some(object.api_version()),
                    file: path.clone(),
                    line: object.line,
                    at,
                    digest: value::digest_of_object(object),
                }
            }
            Entry::Other(other) => {
                let place = *others;
                *others = place.saturating_add(1);
                Item {
                    subject: Subject::Document(path.clone(), place),
                    api_version: None,
                    file: path.clone(),
                    line: other.line,
                    at,
                    digest: value::digest(&other.node),
                }
            }
            Entry::Fault(_) => return Ok(()),
        };
        self.items.push(item);
        Ok(())
    }

    /// Takes from an object what is known of a side as a whole.
    fn look_at(&mut self, object: &Object) {
        images::of(object, &mut self.images);
        let asked = object.annotation(KDP_MIN_OPERATOR_VERSION);
        let asked = asked.and_then(|node| node.as_str()?.parse::<Version>().ok());
        if let Some(asked) = asked {
            let is_higher = |known: &Version| asked.precedence(known).is_gt();
            if self.min_operator_version.as_ref().is_none_or(is_higher) {
                self.min_operator_version = Some(asked);
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
            count => format!(", and {} others", count.saturating_sub(1)),
        };
        let id = shown(&id.to_string());
        let message = format!("the {side} side has {id} more than once{others}");
        Some(Finding::note("object-duplicate", message).at(file, *line))
    }
}

/// Returns what is not the same on two sides: pairs, and what only one side has, in the order in which it is read best.
pub(super) fn pairs<'a>(old: &'a Index, new: &'a Index) -> Vec<[Option<&'a Item>; 2]> {
    let mut groups: BTreeMap<&Subject, [Vec<&Item>; 2]> = BTreeMap::new();
    for item in &old.items {
        groups.entry(&item.subject).or_default()[0].push(item);
    }
    for item in &new.items {
        groups.entry(&item.subject).or_default()[1].push(item);
    }
    let mut pairs = Vec::new();
    for [mut old, mut new] in groups.into_values() {
        drop_equal(&mut old, &mut new);
        pair_up(old, new, &mut pairs);
    }
    drop_moved(&mut pairs);
    let place = |item: Option<&'a Item>| item.map(|item| (&item.file, &item.at));
    pairs.sort_by_key(|[a, b]| (place(*a), place(*b)));
    pairs
}

/// Pairs states of one thing: those in one file first, since a name that is there twice is mostly there for a variant.
fn pair_up<'a>(old: Vec<&'a Item>, new: Vec<&'a Item>, pairs: &mut Vec<[Option<&'a Item>; 2]>) {
    let mut by_file: BTreeMap<&BundlePath, Vec<&Item>> = BTreeMap::new();
    for item in new.into_iter().rev() {
        by_file.entry(&item.file).or_default().push(item);
    }
    let mut alone = Vec::new();
    for item in old {
        match by_file.get_mut(&item.file).and_then(Vec::pop) {
            Some(other) => pairs.push([Some(item), Some(other)]),
            None => alone.push(item),
        }
    }
    let (mut olds, mut news) = (
        alone.into_iter(),
        by_file
            .into_values()
            .flat_map(|items| items.into_iter().rev()),
    );
    loop {
        match (olds.next(), news.next()) {
            (None, None) => break,
            pair => pairs.push([pair.0, pair.1]),
        }
    }
}

/// Takes what is equal out of both lists, each as often as it is in both.
fn drop_equal(old: &mut Vec<&Item>, new: &mut Vec<&Item>) {
    let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let name = |item: &Item| item.digest.hex().into_bytes();
    for item in new.iter() {
        *counts.entry(name(item)).or_default() += 1;
    }
    let mut common: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    old.retain(|item| match counts.get_mut(&name(item)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            *common.entry(name(item)).or_default() += 1;
            false
        }
        _ => true,
    });
    new.retain(|item| match common.get_mut(&name(item)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
}

/// Takes out files and documents without a name of their own that are only in another place now.
fn drop_moved(pairs: &mut Vec<[Option<&Item>; 2]>) {
    let is_object = |item: &Item| matches!(item.subject, Subject::Object(_));
    let single = |pair: &[Option<&Item>; 2]| pair.iter().flatten().any(|item| !is_object(item));
    let (others, mut kept): (Vec<_>, Vec<_>) = pairs.drain(..).partition(|pair| single(pair));
    let mut old: Vec<&Item> = others.iter().filter_map(|[old, _]| *old).collect();
    let mut new: Vec<&Item> = others.iter().filter_map(|[_, new]| *new).collect();
    drop_equal(&mut old, &mut new);
    let mut new: BTreeMap<&Subject, &Item> =
        new.into_iter().map(|item| (&item.subject, item)).collect();
    for item in old {
        kept.push([Some(item), new.remove(&item.subject)]);
    }
    kept.extend(new.into_values().map(|item| [None, Some(item)]));
    *pairs = kept;
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
    let found = side
        .files
        .iter()
        .find(|(path, _)| path.as_str() == metadata::FILE);
    let Some((path, content)) = found else {
        return Ok(false);
    };
    let read = metadata::parse(&bytes_of(path, content)?, limits);
    Ok(read.is_ok_and(|(annotations, _)| annotations.contains_key(key::PLACEHOLDERS)))
}

pub(super) fn is_template(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|two| two == b"{{")
}

fn is_manifest_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("yaml" | "yml" | "json"))
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
