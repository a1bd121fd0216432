//! From the parser's events to nodes: anchors, merge keys, duplicate keys and ceilings.
//!
//! One document at a time. Recursion is as deep as the document is nested, which [`Ceiling::YamlDepth`] bounds.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{
    Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, StructureStyle, Tag,
};

use crate::escape::shown;
use crate::limits::{Ceiling, Limits};

use super::budget::Budget;
use super::characters::Text;
use super::fault::{Fault, FaultKind};
use super::mapping::{Entries, Stack};
use super::scalar;
use super::source::Source;
use super::{Key, Node, Style, Value};

/// What a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Everything that Kubernetes takes.
    Manifest,
    /// No anchors, aliases, tags and merge keys.
    Metadata,
}

/// The deepest nesting whatever the limits say: each level is a call on the stack.
const DEPTH_MAX: u64 = 200;

/// Returns the root of a document that begins on `line`, or None when there is nothing but comments.
pub(super) fn compose(
    text: Text<'_>,
    line: u32,
    limits: &Limits,
    rules: Rules,
) -> Result<Option<Node>, Fault> {
    let depth = limits[Ceiling::YamlDepth].min(DEPTH_MAX);
    let nesting = usize::try_from(depth)
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    let options = granit_parser::options! {
        // Kubernetes' reader cuts the stream into documents first, which parts a directive from its document.
        disallow_directives: true,
        block_scalar_eof_without_line_feed: true,
        emit_comments: false,
        emit_anchor_events: true,
        flow_nesting_limit: nesting,
        block_nesting_limit: nesting,
    };
    let mut composer = Composer {
        parser: Parser::new_from_str_with_options(text.text, options),
        source: Source::new(text, line),
        anchors: HashMap::new(),
        open_entries: Stack::new(),
        open_items: Vec::new(),
        rules,
        budget: Budget::new(limits, depth),
    };
    composer.document()
}

struct Composer<'t> {
    parser: Parser<'t, StrInput<'t>>,
    source: Source<'t>,
    /// The nodes that aliases can repeat, by the parser's number of their anchor.
    anchors: HashMap<usize, Node>,
    /// Entries and items of the collections that are not at their end yet.
    open_entries: Stack,
    open_items: Vec<Node>,
    rules: Rules,
    budget: Budget,
}

impl<'t> Composer<'t> {
    fn document(&mut self) -> Result<Option<Node>, Fault> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => {
                    self.source.check_breaks_to_the_end()?;
                    return Ok(root);
                }
                Event::DocumentStart(..) if root.is_none() => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span, 1)?);
                }
                _ => {
                    let message = "Kubernetes does not read this document: it needs a line `---` before it, \
                                   with nothing but a comment behind the dashes";
                    return Err(self
                        .source
                        .fault(FaultKind::LostDocument, span.start, message));
                }
            }
        }
    }

    /// Composes the node that an event begins; `depth` is the level that a collection here would have.
    fn node(&mut self, event: Event<'t>, span: Span, depth: u64) -> Result<Node, Fault> {
        self.budget
            .make()
            .map_err(|kind| self.source.over(kind, span.start))?;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_properties(anchor, tag.as_deref(), &span)?;
                let (value, plain) = self.scalar(text, style, tag.as_deref(), &span)?;
                if matches!(value, Value::Float(float) if !float.is_finite()) {
                    let message = "a number that is infinite or NaN has no JSON; put it in quotes";
                    return Err(self.source.fault(FaultKind::NotFinite, span.start, message));
                }
                (
                    self.make(value, scalar_style(style), plain, span.start),
                    anchor,
                )
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_properties(anchor, tag.as_deref(), &span)?;
                self.check_depth(depth, span.start)?;
                let start = self.open_items.len();
                loop {
                    let (event, span) = self.next()?;
                    if event == Event::SequenceEnd {
                        break;
                    }
                    let item = self.node(event, span, depth + 1)?;
                    self.open_items.push(item);
                }
                let items = self.open_items.drain(start..).collect();
                (
                    self.make(
                        Value::Sequence(items),
                        collection_style(style),
                        None,
                        span.start,
                    ),
                    anchor,
                )
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_properties(anchor, tag.as_deref(), &span)?;
                self.check_depth(depth, span.start)?;
                let entries = self.entries(depth)?;
                (
                    self.make(
                        Value::Mapping(entries),
                        collection_style(style),
                        None,
                        span.start,
                    ),
                    anchor,
                )
            }
            Event::Alias(id) => return self.alias(id, &span, depth),
            _ => {
                return Err(self
                    .source
                    .fault(FaultKind::Syntax, span.start, "a value is missing"));
            }
        };
        if anchor != 0 {
            self.keep(anchor, &node, span.start)?;
        }
        Ok(node)
    }

    /// Composes keys and values up to the end of their mapping.
    fn entries(&mut self, depth: u64) -> Result<Vec<(Key, Node)>, Fault> {
        let mut entries = Entries::begin(&self.open_entries);
        loop {
            let (event, key_span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(entries.end(&mut self.open_entries));
            }
            if is_merge_key(&event) {
                self.check_plain("a merge key", key_span.start)?;
                self.budget
                    .make()
                    .map_err(|kind| self.source.over(kind, key_span.start))?;
                let (event, span) = self.next()?;
                let is_alias = matches!(event, Event::Alias(_));
                let value = self.node(event, span, depth + 1)?;
                self.merge(&mut entries, value.value, is_alias, key_span.start)?;
                continue;
            }
            let key = self.key(event, &key_span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            entries.insert(&mut self.open_entries, key, value)?;
        }
    }

    /// Takes over the entries of merged mappings; of several the first wins, so they are taken from the last on.
    fn merge(
        &mut self,
        entries: &mut Entries,
        value: Value,
        is_alias: bool,
        at: Marker,
    ) -> Result<(), Fault> {
        let wrong = || {
            self.source.fault(
                FaultKind::BadMerge,
                at,
                "`<<` takes a mapping or a list of mappings",
            )
        };
        match value {
            Value::Mapping(merged) => entries.merge(&mut self.open_entries, merged),
            Value::Sequence(items) if !is_alias => {
                for item in items.into_iter().rev() {
                    let Value::Mapping(merged) = item.value else {
                        return Err(wrong());
                    };
                    entries.merge(&mut self.open_entries, merged);
                }
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    fn key(&mut self, event: Event<'t>, span: &Span) -> Result<Key, Fault> {
        let at = span.start;
        self.budget
            .make()
            .map_err(|kind| self.source.over(kind, at))?;
        let (value, plain) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.check_properties(anchor, tag.as_deref(), span)?;
                self.source.check_colon(span, style)?;
                let (value, plain) = self.scalar(text, style, tag.as_deref(), span)?;
                if anchor != 0 {
                    let node = self.make(value.clone(), scalar_style(style), plain.clone(), at);
                    self.keep(anchor, &node, at)?;
                }
                (value, plain)
            }
            Event::Alias(id) => {
                let node = self.alias(id, span, self.budget.depth())?;
                (node.value, node.plain)
            }
            _ => {
                return Err(self.source.fault(
                    FaultKind::BadKey,
                    at,
                    "a list or a mapping cannot be a key",
                ));
            }
        };
        let text = match value {
            Value::String(text) => text,
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => scalar::float_key(value),
            Value::UInt(_) | Value::Null | Value::Sequence(_) | Value::Mapping(_) => {
                let message = format!("{} cannot be a key; put it in quotes", value.kind_name());
                return Err(self.source.fault(FaultKind::BadKey, at, message));
            }
        };
        let (line, column) = self.source.place(at);
        Ok(Key {
            text: text.into_boxed_str(),
            line,
            column,
            merged: false,
            plain,
        })
    }

    /// Returns the value of a scalar, and its text where the value does not keep it.
    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(Value, Option<Box<str>>), Fault> {
        self.source.check_breaks(span, style)?;
        let is_plain = style == ScalarStyle::Plain;
        // The parser gives a value that is not written the text `~`.
        let is_absent =
            is_plain && tag.is_none() && span.byte_range().is_some_and(|range| range.is_empty());
        let value = match tag {
            Some(tag) => scalar::resolve_tagged(tag, &text).map_err(|message| {
                self.source.fault(
                    FaultKind::BadTag,
                    span.start,
                    format!("`{}` {message}", shown(&text)),
                )
            })?,
            None if is_absent => Value::Null,
            None if is_plain => return Ok(plain_scalar(text)),
            None => Value::String(text.into_owned()),
        };
        Ok((value, None))
    }

    /// Repeats the node of an anchor.
    fn alias(&mut self, id: usize, span: &Span, depth: u64) -> Result<Node, Fault> {
        self.check_plain("an alias", span.start)?;
        let Some(node) = self.anchors.get(&id) else {
            let message = format!(
                "`{}` repeats the value that it stands in",
                self.source.word(span.start)
            );
            return Err(self.source.fault(FaultKind::SelfAlias, span.start, message));
        };
        self.budget
            .replay(node, depth)
            .map_err(|kind| self.source.over(kind, span.start))
    }

    /// Keeps a node for the aliases that may come.
    fn keep(&mut self, anchor: usize, node: &Node, at: Marker) -> Result<(), Fault> {
        let kept = self
            .budget
            .keep(node)
            .map_err(|kind| self.source.over(kind, at))?;
        self.anchors.insert(anchor, kept);
        Ok(())
    }

    fn make(&self, value: Value, style: Style, plain: Option<Box<str>>, at: Marker) -> Node {
        let (line, column) = self.source.place(at);
        Node {
            value,
            line,
            column,
            style,
            plain,
        }
    }

    #[inline]
    fn next(&mut self) -> Result<(Event<'t>, Span), Fault> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.source.check_tabs(&event, &span)?;
                Ok((event, span))
            }
            Some(Err(error)) => Err(self.refused(Some(&error))),
            None => Err(self.refused(None)),
        }
    }

    #[cold]
    fn refused(&self, error: Option<&ScanError>) -> Fault {
        match error {
            Some(error) => self.source.syntax(error, self.budget.depth()),
            None => Fault::new(FaultKind::Syntax, (1, 1), "the document ends too early"),
        }
    }
}

/// What the rules allow.
impl Composer<'_> {
    fn check_depth(&self, depth: u64, at: Marker) -> Result<(), Fault> {
        self.budget
            .check_depth(depth)
            .map_err(|kind| self.source.over(kind, at))
    }

    /// Checks the anchor and the tag of a node whose event has just come.
    fn check_properties(
        &mut self,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Span,
    ) -> Result<(), Fault> {
        if anchor != 0 {
            // The parser was told to name each anchor right behind the event of its node.
            let (event, span) = self.next()?;
            self.check_plain("an anchor", span.start)?;
            if let Event::Anchor(_, name) = event {
                self.source.check_anchor(&name, span.start)?;
            }
        }
        if tag.is_some() {
            self.check_plain("a tag", span.tag_start().unwrap_or(span.start))?;
        }
        Ok(())
    }

    fn check_plain(&self, what: &str, at: Marker) -> Result<(), Fault> {
        match self.rules {
            Rules::Manifest => Ok(()),
            Rules::Metadata => {
                let message = format!("{what} is not allowed in metadata");
                Err(self.source.fault(FaultKind::NotPlain, at, message))
            }
        }
    }
}

/// Returns the value of an unquoted scalar, and its text unless the value is that text.
fn plain_scalar(text: Cow<'_, str>) -> (Value, Option<Box<str>>) {
    match scalar::resolve(&text) {
        Some(value) => (value, Some(text.into())),
        None => (Value::String(text.into_owned()), None),
    }
}

/// Tells whether a key takes over the entries of other mappings; quoted it is a key like any other.
fn is_merge_key(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, style, _, tag) if text == "<<" => match tag {
            None => *style == ScalarStyle::Plain,
            // The tag `!` by itself says "as if plain".
            Some(tag) => {
                tag.to_string() == "!"
                    || tag.suffix_in_namespace(scalar::YAML_TAG).as_deref() == Some("merge")
            }
        },
        _ => false,
    }
}

fn scalar_style(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

fn collection_style(style: StructureStyle) -> Style {
    match style {
        StructureStyle::Block => Style::Block,
        StructureStyle::Flow => Style::Flow,
    }
}
