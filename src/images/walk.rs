//! Going through a document: every field that is an image, and every text that may name one.

use std::fmt::Write as _;
use std::sync::Arc;

use super::collect::Collector;
use super::name::{Near, looks_like_one};
use super::{Grade, Place, keys, known, text};
use crate::limits::{Ceiling, Limits};
use crate::objects::ObjectId;
use crate::path::BundlePath;
use crate::yaml::{self, Key, Node, Style, Value};

/// How often a text may be YAML in a text that is YAML.
const EMBEDDED_MAX: u8 = 3;
/// The longest path that is kept, in bytes.
const PATH_MAX: usize = 512;

/// A component of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'n> {
    Key(&'n str),
    Index(usize),
}

/// Fields whose texts are for people, or are older copies of the object itself.
const PASSED_OVER: &[&str] = &[
    "description",
    "kubectl.kubernetes.io/last-applied-configuration",
    "managedFields",
    "status",
];

/// A walk through one object or document.
pub(super) struct Walk<'w, 'n> {
    file: &'w BundlePath,
    object: Option<Arc<ObjectId>>,
    /// The highest grade that an image can have here.
    highest: Grade,
    limits: &'w Limits,
    collector: &'w mut Collector,
    path: Vec<Step<'n>>,
    /// The path of the text that the document is embedded in.
    prefix: String,
    /// The lines before the document, and whether its own lines count.
    line_before: u32,
    counts_lines: bool,
    embedded: u8,
}

impl<'w, 'n> Walk<'w, 'n> {
    pub(super) fn new(
        file: &'w BundlePath,
        object: Option<Arc<ObjectId>>,
        highest: Grade,
        limits: &'w Limits,
        collector: &'w mut Collector,
    ) -> Self {
        Self {
            file,
            object,
            highest,
            limits,
            collector,
            path: Vec::new(),
            prefix: String::new(),
            line_before: 0,
            counts_lines: true,
            embedded: 0,
        }
    }

    /// Looks at an object.
    pub(super) fn object(mut self, node: &'n Node) {
        let kind = self
            .object
            .as_ref()
            .map(|id| (id.group.clone(), id.kind.clone()));
        match kind.as_ref().map(|(g, k)| (g.as_str(), k.as_str())) {
            // What a Secret holds is not shown.
            Some(("", "Secret")) => {}
            Some(("apiextensions.k8s.io", "CustomResourceDefinition")) => self.schema(node, ""),
            _ => self.visit(node),
        }
    }

    /// Looks at what is no object.
    pub(super) fn any(mut self, node: &'n Node) {
        self.visit(node);
    }

    /// Looks at all members but one.
    pub(super) fn members_but(mut self, node: &'n Node, but: &str) {
        for (key, value) in node.as_mapping().unwrap_or_default() {
            if &*key.text != but {
                self.member(key, value);
            }
        }
    }

    /// Looks at a file that is text.
    pub(super) fn lines(mut self, content: &str) {
        self.scan(content, Near::Other, 1, true);
    }

    fn visit(&mut self, node: &'n Node) {
        match &node.value {
            Value::Mapping(members) => self.mapping(members),
            Value::Sequence(items) => self.sequence(items),
            Value::String(text) => self.string(node, text),
            _ => {}
        }
    }

    fn mapping(&mut self, members: &'n [(Key, Node)]) {
        let get = |wanted: &str| members.iter().find(|(key, _)| &*key.text == wanted);
        let text = |wanted| get(wanted).and_then(|(_, value)| value.as_str());
        let composed = Composed::of(members);
        if let Some(composed) = &composed {
            self.composed(composed);
        }
        let is_variable = matches!(self.path.as_slice(), [.., Step::Key("env"), Step::Index(_)]);
        if let (true, Some(name), Some((_, value))) = (is_variable, text("name"), get("value")) {
            self.variable(name, value);
            return;
        }
        // A JSON patch: the value is one for the field at the end of the path.
        if let (Some(_), Some(at), Some((_, value))) = (text("op"), text("path"), get("value"))
            && let (Some(field), Value::String(text)) = (at.rsplit('/').next(), &value.value)
        {
            self.path.push(Step::Key("value"));
            if looks_like_one(text, keys::near(field)) {
                self.likely(value.line, text);
            }
            self.path.pop();
            return;
        }
        for (key, value) in members {
            // What is a part of an image is not one.
            if composed
                .as_ref()
                .is_none_or(|composed| composed.key != &*key.text)
            {
                self.member(key, value);
            }
        }
    }

    fn member(&mut self, key: &'n Key, value: &'n Node) {
        if PASSED_OVER.contains(&&*key.text) {
            return;
        }
        self.path.push(Step::Key(&key.text));
        self.visit(value);
        self.path.pop();
    }

    fn sequence(&mut self, items: &'n [Node]) {
        let is_call = matches!(self.path.last(), Some(Step::Key("args" | "command")));
        let mut near = Near::Other;
        for (index, item) in items.iter().enumerate() {
            self.path.push(Step::Index(index));
            match item.as_str().filter(|_| is_call) {
                Some(argument) => near = self.argument(item, argument, near),
                None => self.visit(item),
            }
            self.path.pop();
        }
    }

    /// Looks at an argument behind another one; returns what it says about the next.
    fn argument(&mut self, node: &Node, argument: &str, before: Near) -> Near {
        match text::flag(argument) {
            (Some(name), Some(value)) => self.scan_node(node, value, keys::near(name)),
            (Some(name), None) => return keys::near(name),
            (None, _) => self.scan_node(node, argument, before),
        }
        Near::Other
    }

    fn variable(&mut self, name: &str, value: &'n Node) {
        let Some(text) = value.as_str() else { return };
        self.path.push(Step::Key("value"));
        // The convention of operators: what they are going to run.
        if name.starts_with("RELATED_IMAGE_") {
            self.field(value.line, text);
        } else {
            self.scan_node(value, text, keys::near(name));
        }
        self.path.pop();
    }

    fn string(&mut self, node: &'n Node, text: &'n str) {
        if known::is_image(self.object.as_deref(), &self.path) {
            self.field(node.line, text);
            return;
        }
        let key = self.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(*key),
            Step::Index(_) => None,
        });
        let near = key.map_or(Near::Other, keys::near);
        if looks_like_one(text, near) {
            self.likely(node.line, text);
        } else if self.holds_text() {
            self.embedded(node, text, near);
        }
    }

    /// Tells whether texts at this place may hold documents or settings.
    fn holds_text(&self) -> bool {
        let is_settings = self
            .object
            .as_ref()
            .is_some_and(|id| id.group.is_empty() && id.kind == "ConfigMap")
            && matches!(self.path.as_slice(), [Step::Key("data"), Step::Key(_)]);
        let is_annotation = matches!(
            self.path.as_slice(),
            [.., Step::Key("annotations"), Step::Key(_)]
        );
        is_settings || is_annotation || self.embedded > 0 || self.object.is_none()
    }

    /// Looks at a text that may be YAML itself.
    fn embedded(&mut self, node: &Node, content: &str, near: Near) {
        if !content.contains([':', '/']) {
            return;
        }
        let is_block = matches!(node.style, Style::Literal | Style::Folded);
        let may_be_yaml = content.contains('\n') || content.starts_with(['{', '[', '-']);
        let mut documents = Vec::new();
        if may_be_yaml
            && self.embedded < EMBEDDED_MAX
            && content.to_ascii_lowercase().contains("image")
        {
            documents = embedded_documents(content, self.limits);
        }
        let is_structured = |root: &Node| {
            matches!(
                root.value,
                Value::Mapping(_) | Value::Sequence(_) | Value::Null
            )
        };
        if documents.is_empty() || !documents.iter().all(is_structured) {
            self.scan(
                content,
                near,
                self.line(first_line(node, content)),
                is_block,
            );
            return;
        }
        let prefix = self.path_text();
        let counts_lines = self.counts_lines && is_block;
        let line_before = if counts_lines {
            let before = first_line(node, content).saturating_sub(1);
            self.line_before.saturating_add(before)
        } else {
            self.line(node.line)
        };
        for root in &documents {
            let walk = Walk {
                file: self.file,
                object: self.object.clone(),
                highest: Grade::Likely,
                limits: self.limits,
                collector: self.collector,
                path: Vec::new(),
                prefix: prefix.clone(),
                line_before,
                counts_lines,
                embedded: self.embedded.saturating_add(1),
            };
            walk.any(root);
        }
    }

    /// Returns the line in the file of a line in the document.
    fn line(&self, line: u32) -> u32 {
        if self.counts_lines {
            self.line_before.saturating_add(line)
        } else {
            self.line_before
        }
    }

    fn scan_node(&mut self, node: &Node, content: &str, near: Near) {
        let is_block = matches!(node.style, Style::Literal | Style::Folded);
        self.scan(
            content,
            near,
            self.line(first_line(node, content)),
            is_block,
        );
    }

    /// Looks for images in a text that begins on a line of the file.
    fn scan(&mut self, content: &str, near: Near, first: u32, counts: bool) {
        if !content.contains([':', '/', '@']) {
            return;
        }
        text::scan(content, near, |word, line| {
            let mut place = self.place(0, word, Grade::Likely);
            place.line = first.saturating_add(if counts { line } else { 0 });
            self.collector.likely(place);
        });
    }

    /// Takes the value of a field that an API has for an image.
    fn field(&mut self, line: u32, text: &str) {
        let place = self.place(line, text, self.highest);
        match self.highest {
            // Istio's injector puts its proxy in the place of this word.
            Grade::Certain if text == "auto" => self.collector.unnamed(place),
            Grade::Certain => self.collector.field(place),
            // Patterns and templates are no images, and nothing says that one must be there.
            Grade::Likely => self.collector.likely(place),
        }
    }

    fn likely(&mut self, line: u32, text: &str) {
        let place = self.place(line, text, Grade::Likely);
        self.collector.likely(place);
    }

    fn place(&self, line: u32, written: &str, grade: Grade) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line(line),
            object: self.object.clone(),
            path: self.path_text(),
            written: written.to_owned(),
            grade: grade.min(self.highest),
        }
    }

    /// Writes the path: keys with dots between them, those that hold other signs quoted.
    fn path_text(&self) -> String {
        let mut out = self.prefix.clone();
        for step in &self.path {
            if out.len() > PATH_MAX {
                out.push('…');
                break;
            }
            // Writing to a string cannot fail.
            let _ = match step {
                Step::Index(index) => write!(out, "[{index}]"),
                Step::Key(key) if is_plain(key) => {
                    let dot = if out.is_empty() { "" } else { "." };
                    write!(out, "{dot}{key}")
                }
                Step::Key(key) => write!(out, "[\"{}\"]", crate::escape::shown(key)),
            };
        }
        out
    }

    /// An image in parts.
    fn composed(&mut self, composed: &Composed<'n>) {
        self.path.push(Step::Key(composed.key));
        if looks_like_one(&composed.written, Near::Image) {
            self.likely(composed.line, &composed.written);
        }
        self.path.pop();
    }

    /// Looks at the schema of custom resources: only what the API server fills in is there.
    fn schema(&mut self, node: &'n Node, property: &'n str) {
        for (key, value) in node.as_mapping().unwrap_or_default() {
            self.path.push(Step::Key(&key.text));
            match (&*key.text, &value.value) {
                ("description" | "example" | "enum" | "pattern", _) => {}
                ("properties", Value::Mapping(properties)) => {
                    for (name, schema) in properties {
                        self.path.push(Step::Key(&name.text));
                        self.schema(schema, &name.text);
                        self.path.pop();
                    }
                }
                ("default", Value::String(text)) if looks_like_one(text, keys::near(property)) => {
                    self.likely(value.line, text);
                }
                ("default", Value::Mapping(_) | Value::Sequence(_)) => {
                    let highest = std::mem::replace(&mut self.highest, Grade::Likely);
                    self.visit(value);
                    self.highest = highest;
                }
                (_, Value::Mapping(_)) => self.schema(value, property),
                (_, Value::Sequence(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        self.path.push(Step::Index(index));
                        self.schema(item, property);
                        self.path.pop();
                    }
                }
                _ => {}
            }
            self.path.pop();
        }
    }
}

/// Returns the line on which a text begins; the place of a block is its first line that is not empty.
fn first_line(node: &Node, content: &str) -> u32 {
    let is_block = matches!(node.style, Style::Literal | Style::Folded);
    let empty = content.bytes().take_while(|b| is_block && *b == b'\n');
    let empty = u32::try_from(empty.count()).unwrap_or(u32::MAX);
    node.line.saturating_sub(empty)
}

fn is_plain(key: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    !key.is_empty() && key.len() <= 128 && key.bytes().all(is_word)
}

/// An image that is written in parts: `{registry, repository, tag, digest}`.
struct Composed<'n> {
    key: &'n str,
    written: String,
    line: u32,
}

impl<'n> Composed<'n> {
    fn of(members: &'n [(Key, Node)]) -> Option<Self> {
        let get = |wanted: &str| {
            let (_, value) = members.iter().find(|(key, _)| &*key.text == wanted)?;
            let text = value.as_str().or_else(|| value.plain_text())?;
            (!text.is_empty()).then_some((text, value.line))
        };
        let (key, (repository, line)) = ["repository", "image", "name"]
            .into_iter()
            .find_map(|key| Some((key, get(key)?)))?;
        let tag = get("tag").or_else(|| get("imageTag"));
        let digest = get("digest").or_else(|| get("sha"));
        // A name alone is the name of anything, and an image may be whole already.
        let last = repository.rsplit('/').next().unwrap_or_default();
        let is_whole = last.contains([':', '@']);
        let is_word = key == "name" && !repository.contains('/');
        if (tag.is_none() && digest.is_none()) || is_word || is_whole {
            return None;
        }
        let mut written = match get("registry").filter(|_| key != "image") {
            Some((registry, _)) => format!("{registry}/{repository}"),
            None => repository.to_owned(),
        };
        if let Some((tag, _)) = tag {
            let _ = write!(written, ":{tag}");
        }
        if let Some((digest, _)) = digest {
            let algorithm = if digest.contains(':') { "" } else { "sha256:" };
            let _ = write!(written, "@{algorithm}{digest}");
        }
        Some(Self { key, written, line })
    }
}

/// Reads the documents of a text in a document; none when one of them is no YAML.
///
/// Aliases multiply texts, and each of those may hold aliases again: all documents of a text together have no more nodes than
/// the text has bytes, and in each of them aliases repeat no more text than that, so that the work stays in proportion.
fn embedded_documents(text: &str, limits: &Limits) -> Vec<Node> {
    let length = text.len() as u64;
    let within = limits
        .clone()
        .with(Ceiling::Yaml, limits[Ceiling::Yaml].min(length))
        .with(
            Ceiling::YamlNodes,
            limits[Ceiling::YamlNodes].min(length.saturating_add(1)),
        );
    let mut left = length.saturating_add(1);
    let mut roots = Vec::new();
    for document in yaml::documents(text.as_bytes(), &within) {
        let root = document.ok().map(|document| document.root);
        let rest = root
            .as_ref()
            .and_then(|root| left.checked_sub(nodes_and_texts(root)));
        let (Some(root), Some(rest)) = (root, rest) else {
            return Vec::new();
        };
        left = rest;
        roots.push(root);
    }
    roots
}

/// Counts the nodes of a document and, for what aliases repeat, the bytes of its texts in parts of 64.
fn nodes_and_texts(node: &Node) -> u64 {
    let of_text = |text: &str| text.len() as u64 / 64;
    let below: u64 = match &node.value {
        Value::String(text) => of_text(text),
        Value::Sequence(items) => items.iter().map(nodes_and_texts).sum(),
        Value::Mapping(entries) => entries
            .iter()
            .map(|(key, value)| of_text(&key.text).saturating_add(nodes_and_texts(value)))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => 0,
    };
    below.saturating_add(1)
}
