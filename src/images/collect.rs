//! What was found so far: images by their full names, bounded.

use std::collections::{BTreeMap, BTreeSet};

use super::name::{full_name, what_else};
use super::{ContainerImage, Grade, Inventory, Place, Unnamed, Unread};
use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::{Ceiling, Limits};
use crate::path::BundlePath;
use crate::reference::Reference;

/// How many places of one image are kept; the rest is counted.
const PLACES_MAX: usize = 1_000;

/// What a kustomization makes of images with a name.
#[derive(Debug)]
pub(super) struct Replacement {
    /// The name that is replaced, without tag and digest.
    pub(super) name: String,
    /// The new name, if there is one.
    pub(super) new_name: Option<String>,
    /// What is behind the new name, with its `:` or `@`.
    pub(super) suffix: Option<String>,
    /// Where it says so.
    pub(super) place: Place,
}

/// Collects what is found.
#[derive(Debug)]
pub(super) struct Collector {
    images: BTreeMap<Reference, ContainerImage>,
    inventory: Inventory,
    replacements: Vec<Replacement>,
    max: u64,
}

impl Collector {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            images: BTreeMap::new(),
            inventory: Inventory::default(),
            replacements: Vec::new(),
            max: limits[Ceiling::Images],
        }
    }

    /// Takes what stands in the place of an image: an image, or what it is instead.
    pub(super) fn field(&mut self, place: Place) {
        match full_name(&place.written) {
            Ok(reference) => self.add(reference, place),
            Err(_) => self.unnamed(place),
        }
    }

    /// Takes a place for an image that names none.
    pub(super) fn unnamed(&mut self, mut place: Place) {
        // One more than there may be is enough to say so.
        let is_full = self.inventory.unnamed.len() as u64 > self.max;
        if let Some(why) = what_else(&place.written).filter(|_| !is_full) {
            place.written = shown(&place.written);
            self.inventory.unnamed.push(Unnamed { place, why });
        }
    }

    /// Takes a text that looks like an image.
    pub(super) fn likely(&mut self, place: Place) {
        if let Ok(reference) = full_name(&place.written) {
            self.add(reference, place);
        }
    }

    fn add(&mut self, reference: Reference, place: Place) {
        let is_full = self.images.len() as u64 > self.max;
        if is_full && !self.images.contains_key(&reference) {
            return;
        }
        let image = self
            .images
            .entry(reference)
            .or_insert_with_key(|reference| ContainerImage {
                reference: reference.clone(),
                grade: place.grade,
                places: Vec::new(),
                more: 0,
            });
        image.grade = image.grade.max(place.grade);
        if image.places.len() < PLACES_MAX {
            image.places.push(place);
        } else {
            image.more = image.more.saturating_add(1);
        }
    }

    pub(super) fn replacement(&mut self, replacement: Replacement) {
        if self.replacements.len() as u64 <= self.max {
            self.replacements.push(replacement);
        }
    }

    pub(super) fn unread(&mut self, file: &BundlePath, line: u32, why: &str) {
        if self.inventory.unread.len() as u64 > self.max {
            return;
        }
        self.inventory.unread.push(Unread {
            file: file.clone(),
            line,
            why: why.to_owned(),
        });
    }

    /// Refuses more images than there may be.
    pub(super) fn check(&self) -> Result<()> {
        let found = [
            self.images.len(),
            self.inventory.unnamed.len(),
            self.replacements.len(),
        ];
        let found = found.into_iter().max().unwrap_or(0) as u64;
        if found > self.max {
            return Err(Error::limit(Ceiling::Images, self.max, found));
        }
        Ok(())
    }

    /// Carries out what kustomizations replace, sorts, and returns everything.
    pub(super) fn finish(mut self) -> Result<Inventory> {
        self.replace();
        self.check()?;
        let mut inventory = self.inventory;
        inventory.images = self.images.into_values().collect();
        for image in &mut inventory.images {
            image
                .places
                .sort_by(|a, b| (&a.file, a.line, &a.path).cmp(&(&b.file, b.line, &b.path)));
        }
        inventory
            .images
            .sort_by(|a, b| (a.written(), &a.reference).cmp(&(b.written(), &b.reference)));
        inventory.unnamed.sort_by(|a, b| {
            let key = |one: &Unnamed| (one.place.file.clone(), one.place.line);
            key(a).cmp(&key(b))
        });
        Ok(inventory)
    }

    /// Images that kustomizations replace are likely only: the build takes others, which are added.
    fn replace(&mut self) {
        let replacements = std::mem::take(&mut self.replacements);
        // What stands behind each name that is replaced, wherever it is an image of an object.
        let mut suffixes: BTreeMap<&str, BTreeSet<String>> = replacements
            .iter()
            .map(|replacement| (replacement.name.as_str(), BTreeSet::new()))
            .collect();
        for image in self.images.values_mut() {
            let mut is_replaced = false;
            for place in &mut image.places {
                let (name, suffix) = split(&place.written);
                if place.object.is_some()
                    && let Some(known) = suffixes.get_mut(name)
                {
                    if !known.contains(suffix) {
                        known.insert(suffix.to_owned());
                    }
                    place.grade = Grade::Likely;
                    is_replaced = true;
                }
            }
            if is_replaced {
                let grades = image.places.iter().map(|place| place.grade);
                image.grade = grades.max().unwrap_or(Grade::Likely);
            }
        }
        for replacement in &replacements {
            let name = replacement.new_name.as_deref().unwrap_or(&replacement.name);
            let place = |suffix: &str| Place {
                written: format!("{name}{suffix}"),
                ..replacement.place.clone()
            };
            if let Some(suffix) = &replacement.suffix {
                self.field(place(suffix));
                continue;
            }
            for suffix in suffixes
                .get(replacement.name.as_str())
                .into_iter()
                .flatten()
            {
                if self.is_over() {
                    return;
                }
                self.field(place(suffix));
            }
        }
    }

    /// Tells whether more was found than there may be, so that nothing more is needed to say so.
    fn is_over(&self) -> bool {
        let found = self.images.len().max(self.inventory.unnamed.len());
        found as u64 > self.max
    }
}

/// Splits what is written into the name and what is behind it, with its `:` or `@`.
fn split(written: &str) -> (&str, &str) {
    let end = written.find('@').unwrap_or(written.len());
    let name = written.get(..end).unwrap_or(written);
    let slash = name.rfind('/').unwrap_or(0);
    let end = name
        .rfind(':')
        .filter(|colon| *colon > slash)
        .unwrap_or(end);
    written.split_at_checked(end).unwrap_or((written, ""))
}
