//! `metadata/images.lock.yaml`: the digest of every image that the manifests name (spec/images.md, "Lock").
//!
//! Read as strictly as it is written: what two readers could see differently is refused. Equal content has equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{ContainerImage, Grade, Inventory, full_name};
use crate::bundle::Files;
use crate::digest::Digest;
use crate::error::Error;
use crate::escape::{is_unsafe, shown};
use crate::limits::{Ceiling, Limits};
use crate::metadata::ARGO_CD_LINE;
use crate::reference::Reference;
use crate::yaml::{self, Node};

/// The path of the lock in a bundle.
pub const LOCK: &str = "metadata/images.lock.yaml";
/// The version of its form.
const VERSION: &str = "1";

/// An image and the digest that is meant by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The image, by its full name as the manifests have it.
    pub image: Reference,
    /// The digest of its manifest, or of its index where it is for several platforms.
    pub digest: Digest,
    /// How sure it is that it is an image.
    pub grade: Grade,
    /// The ways in which it is written.
    pub written: BTreeSet<String>,
    /// Where it is named: file, object and path.
    pub places: BTreeSet<(String, String, String)>,
    /// The line of the lock on which it begins, from 1; 0 where it was not read from one.
    pub line: u32,
}

impl Pin {
    /// Pins an image.
    pub fn of(image: &ContainerImage, digest: Digest) -> Self {
        let place = |place: &super::Place| {
            let object = place.object.as_ref().map(ToString::to_string);
            let object = object.unwrap_or_default();
            (place.file.to_string(), object, place.path.clone())
        };
        Self {
            image: image.reference.clone(),
            digest,
            grade: image.grade,
            written: image.spellings().into_iter().map(str::to_owned).collect(),
            places: image.places.iter().map(place).collect(),
            line: 0,
        }
    }

    /// Returns the image with its tag, where it has one, and the digest.
    pub fn pinned(&self) -> Reference {
        Reference {
            digest: Some(self.digest),
            ..self.image.clone()
        }
    }
}

/// The pins of a bundle, each image once, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// By the full names.
    pub pins: BTreeMap<String, Pin>,
}

/// Something that is wrong with a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFault {
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What: a lower-case sentence, escaped.
    pub message: String,
}

impl LockFault {
    fn new(line: u32, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { line, message }
    }
}

impl Lock {
    /// Makes a lock of pins.
    pub fn of(pins: impl IntoIterator<Item = Pin>) -> Self {
        let pins = pins.into_iter().map(|pin| (pin.image.to_string(), pin));
        Self {
            pins: pins.collect(),
        }
    }

    /// Returns the images that the manifests certainly name and that have no pin.
    pub fn lacks<'i>(&self, inventory: &'i Inventory) -> Vec<&'i ContainerImage> {
        let is_missing = |image: &&ContainerImage| {
            image.grade == Grade::Certain && !self.pins.contains_key(&image.reference.to_string())
        };
        inventory.images.iter().filter(is_missing).collect()
    }

    /// Returns the pins of images that the manifests do not name.
    pub fn unused(&self, inventory: &Inventory) -> Vec<&Pin> {
        let named: BTreeSet<&Reference> = inventory.images.iter().map(|i| &i.reference).collect();
        let pins = self.pins.values();
        pins.filter(|pin| !named.contains(&pin.image)).collect()
    }

    /// Writes the file.
    pub fn write(&self) -> Vec<u8> {
        let mut out = format!("{ARGO_CD_LINE}\nlockVersion: {}\n", quoted(VERSION));
        out.push_str(if self.pins.is_empty() {
            "images: []\n"
        } else {
            "images:\n"
        });
        for pin in self.pins.values() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "- image: {}", quoted(&pin.image.to_string()));
            let _ = writeln!(out, "  digest: {}", quoted(&pin.digest.to_string()));
            let _ = writeln!(out, "  grade: {}", quoted(pin.grade.name()));
            out.push_str("  written:\n");
            for written in &pin.written {
                let _ = writeln!(out, "  - {}", quoted(written));
            }
            out.push_str("  places:\n");
            for (file, object, path) in &pin.places {
                let _ = writeln!(out, "  - file: {}", quoted(file));
                if !object.is_empty() {
                    let _ = writeln!(out, "    object: {}", quoted(object));
                }
                let _ = writeln!(out, "    path: {}", quoted(path));
            }
        }
        out.into_bytes()
    }

    /// Reads the lock among the files of a bundle, if there is one.
    ///
    /// # Errors
    ///
    /// The inner one is what is wrong with it. [`Kind::Limit`](crate::error::Kind::Limit) for a file over the ceiling
    /// `yaml`, and content that cannot be read.
    pub fn among(files: &Files, limits: &Limits) -> Result<Option<Result<Self, LockFault>>, Error> {
        let Some(content) = files.get(LOCK) else {
            return Ok(None);
        };
        let (found, max) = (content.len(), limits[Ceiling::Yaml]);
        if found > max {
            return Err(Error::limit(Ceiling::Yaml, max, found));
        }
        let bytes = content
            .to_bytes()
            .map_err(|error| Error::io("cannot read", LOCK.as_ref(), error))?;
        Ok(Some(Self::parse(&bytes, limits)))
    }

    /// Reads the file.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn parse(text: &[u8], limits: &Limits) -> Result<Self, LockFault> {
        let document = yaml::metadata_document(text, limits)
            .map_err(|fault| LockFault::new(fault.line, fault.message))?;
        let root = Members::of(&document.root, &["lockVersion", "images"], &[])?;
        let version = root.text("lockVersion")?;
        if version != VERSION {
            let message = format!("the version of the lock is `{}`, not `1`", shown(version));
            return Err(LockFault::new(root.line("lockVersion"), message));
        }
        let items = root.items("images")?;
        if items.len() as u64 > limits[Ceiling::Images] {
            let message = "there are more images than the ceiling `images` allows";
            return Err(LockFault::new(root.line("images"), message));
        }
        let mut pins = BTreeMap::new();
        for item in items {
            let pin = pin(item)?;
            let name = pin.image.to_string();
            if pins.insert(name.clone(), pin).is_some() {
                let message = format!("`{}` is there twice", shown(&name));
                return Err(LockFault::new(item.line, message));
            }
        }
        Ok(Self { pins })
    }
}

/// Reads one image.
fn pin(item: &Node) -> Result<Pin, LockFault> {
    let members = Members::of(
        item,
        &["image", "digest", "grade", "written", "places"],
        &[],
    )?;
    let text = members.text("image")?;
    let line = members.line("image");
    let image = full_name(text).map_err(|invalid| LockFault::new(line, invalid.to_string()))?;
    if image.to_string() != text {
        let message = format!("`{}` is not written in full: `{image}`", shown(text));
        return Err(LockFault::new(line, message));
    }
    let line = members.line("digest");
    let digest: Digest = members
        .text("digest")?
        .parse()
        .map_err(|invalid: crate::invalid::Invalid| LockFault::new(line, invalid.to_string()))?;
    if image.digest.is_some_and(|named| named != digest) {
        let message = format!("the digest is not the one in `{}`", shown(text));
        return Err(LockFault::new(line, message));
    }
    let grade = match members.text("grade")? {
        "certain" => Grade::Certain,
        "likely" => Grade::Likely,
        _ => {
            let message = "the grade is neither `certain` nor `likely`";
            return Err(LockFault::new(members.line("grade"), message));
        }
    };
    let mut written = BTreeSet::new();
    for spelling in members.items("written")? {
        let text = spelling
            .as_str()
            .filter(|text| full_name(text).is_ok_and(|reference| reference == image))
            .ok_or_else(|| {
                let message = format!("this is no way to write `{image}`");
                LockFault::new(spelling.line, message)
            })?;
        written.insert(text.to_owned());
    }
    let mut places = BTreeSet::new();
    for place in members.items("places")? {
        let place = Members::of(place, &["file", "path"], &["object"])?;
        let object = match place.get("object") {
            Some(_) => place.text("object")?.to_owned(),
            None => String::new(),
        };
        places.insert((
            place.text("file")?.to_owned(),
            object,
            place.text("path")?.to_owned(),
        ));
    }
    Ok(Pin {
        image,
        digest,
        grade,
        written,
        places,
        line: item.line,
    })
}

/// A mapping with known keys.
struct Members<'n>(&'n Node);

impl<'n> Members<'n> {
    fn of(node: &'n Node, required: &[&str], optional: &[&str]) -> Result<Self, LockFault> {
        let members = node.as_mapping().ok_or_else(|| {
            let message = format!("here is {}, not a mapping", node.value.kind_name());
            LockFault::new(node.line, message)
        })?;
        for (key, _) in members {
            if !required.contains(&&*key.text) && !optional.contains(&&*key.text) {
                let message = format!("the key `{}` is not known here", shown(&key.text));
                return Err(LockFault::new(key.line, message));
            }
        }
        for key in required {
            if node.get(key).is_none() {
                return Err(LockFault::new(node.line, format!("`{key}` is missing")));
            }
        }
        Ok(Self(node))
    }

    fn get(&self, key: &str) -> Option<&'n Node> {
        self.0.get(key)
    }

    fn line(&self, key: &str) -> u32 {
        self.get(key).map_or(self.0.line, |node| node.line)
    }

    fn text(&self, key: &str) -> Result<&'n str, LockFault> {
        self.get(key)
            .and_then(Node::as_str)
            .ok_or_else(|| LockFault::new(self.line(key), format!("`{key}` is no string")))
    }

    fn items(&self, key: &str) -> Result<&'n [Node], LockFault> {
        self.get(key)
            .and_then(Node::as_sequence)
            .ok_or_else(|| LockFault::new(self.line(key), format!("`{key}` is no list")))
    }
}

/// Writes a double-quoted string that is the same in JSON and YAML, with everything escaped that could mislead.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(2));
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if is_unsafe(c) => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
