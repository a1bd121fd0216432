//! The text that is being composed: where things stand in it, and what is wrong there.

use granit_parser::{ErrorKind, Event, Marker, ScalarStyle, ScanError, Span};

use crate::escape::shown;

use super::characters::{self, Text, small};
use super::fault::{Fault, FaultKind};
use super::tabs::Tabs;

/// The text of a document and its place in the file.
#[derive(Debug)]
pub(super) struct Source<'t> {
    text: &'t str,
    lines_before: u32,
    /// The next character that ends a line for Kubernetes only and has not been looked at.
    foreign_break: Option<usize>,
    /// There when the text has tabs.
    tabs: Option<Tabs<'t>>,
}

impl<'t> Source<'t> {
    pub(super) fn new(text: Text<'t>, line: u32) -> Self {
        Self {
            text: text.text,
            lines_before: line.saturating_sub(1),
            foreign_break: text.foreign_break,
            tabs: Tabs::of(text.text),
        }
    }

    /// Refuses tabs between the last event and this one that Kubernetes' reader does not take.
    pub(super) fn check_tabs(&mut self, event: &Event<'_>, span: &Span) -> Result<(), Fault> {
        let Some(at) = self.tabs.as_mut().and_then(|tabs| tabs.see(event, span)) else {
            return Ok(());
        };
        let before = self.text.get(..at).unwrap_or_default();
        let place = characters::place(before, self.lines_before.saturating_add(1));
        let message = "a tab in the indentation, where Kubernetes takes blanks only";
        Err(Fault::new(FaultKind::Syntax, place, message))
    }

    /// Returns line and column in the file.
    pub(super) fn place(&self, at: Marker) -> (u32, u32) {
        let line = small(at.line()).saturating_add(self.lines_before);
        (line, small(at.col()).saturating_add(1))
    }

    pub(super) fn fault(&self, kind: FaultKind, at: Marker, message: impl Into<String>) -> Fault {
        Fault::new(kind, self.place(at), message)
    }

    /// Makes the fault of a ceiling.
    pub(super) fn over(&self, kind: FaultKind, at: Marker) -> Fault {
        let message = match &kind {
            FaultKind::TooDeep { limit } => format!("nested more than {limit} levels deep"),
            FaultKind::TooManyNodes { limit } => {
                format!("the document has more than {limit} nodes")
            }
            _ => "aliases expand too far".to_owned(),
        };
        self.fault(kind, at, message)
    }

    /// Makes the fault of a text that the parser refuses; `depth` is the limit that it was given.
    pub(super) fn syntax(&self, error: &ScanError, depth: u64) -> Fault {
        let at = *error.marker();
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.over(FaultKind::TooDeep { limit: depth }, at),
            ErrorKind::UnknownAnchor => {
                let message = format!("`{}` has no anchor before it", self.word(at));
                self.fault(FaultKind::UnknownAlias, at, message)
            }
            ErrorKind::DirectiveDisallowed => {
                let message = "a directive (`%`), which Kubernetes does not read";
                self.fault(FaultKind::Syntax, at, message)
            }
            kind => self.fault(FaultKind::Syntax, at, shown(&kind.to_string())),
        }
    }

    /// Returns the alias that begins at a place, for messages.
    pub(super) fn word(&self, at: Marker) -> String {
        let rest = at.byte_offset().and_then(|offset| self.text.get(offset..));
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
        shown(
            rest.unwrap_or_default()
                .split(ends)
                .next()
                .unwrap_or_default(),
        )
    }

    /// Refuses an anchor's name in which Kubernetes' reader would see the end of the name.
    pub(super) fn check_anchor(&self, name: &str, at: Marker) -> Result<(), Fault> {
        if name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        {
            return Ok(());
        }
        let message = format!(
            "the anchor `&{}`: Kubernetes takes letters, digits, `-` and `_` in its name",
            shown(name)
        );
        Err(self.fault(FaultKind::Syntax, at, message))
    }

    /// Refuses an unquoted key whose colon touches what follows, as in `{key:}`: for Kubernetes the colon is part of the key.
    pub(super) fn check_colon(&self, span: &Span, style: ScalarStyle) -> Result<(), Fault> {
        let end = span
            .end
            .byte_offset()
            .and_then(|end| self.text.as_bytes().get(end..));
        match end {
            Some([b':', b',' | b'[' | b']' | b'{' | b'}', ..]) if style == ScalarStyle::Plain => {
                Err(self.fault(
                    FaultKind::Syntax,
                    span.end,
                    "a blank is missing behind the colon",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses characters that end a line for Kubernetes only, in a scalar and in what stands before it.
    ///
    /// Within quotes they are kept as they are, unless blanks beside them are folded away or they are U+0085.
    pub(super) fn check_breaks(&mut self, span: &Span, style: ScalarStyle) -> Result<(), Fault> {
        let (Some(first), Some(range)) = (self.foreign_break, span.byte_range()) else {
            return Ok(());
        };
        let is_quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        let mut next = Some(first);
        while let Some(offset) = next.filter(|offset| *offset < range.end) {
            let (before, from) = self.text.split_at_checked(offset).unwrap_or_default();
            let mut from = from.chars();
            let (this, after) = (from.next().unwrap_or_default(), from.next());
            let folds = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || c == '\\');
            let is_kept = is_quoted
                && this != '\u{85}'
                && !folds(before.chars().next_back())
                && !folds(after);
            if offset < range.start || !is_kept {
                return Err(self.foreign(offset, this));
            }
            next = characters::next_foreign_break(self.text, offset + this.len_utf8());
        }
        self.foreign_break = next;
        Ok(())
    }

    /// Refuses characters that end a line for Kubernetes only in what is left after the last scalar.
    pub(super) fn check_breaks_to_the_end(&self) -> Result<(), Fault> {
        match self.foreign_break {
            Some(offset) => {
                let this = self.text.get(offset..).and_then(|text| text.chars().next());
                Err(self.foreign(offset, this.unwrap_or_default()))
            }
            None => Ok(()),
        }
    }

    fn foreign(&self, offset: usize, c: char) -> Fault {
        let before = self.text.get(..offset).unwrap_or_default();
        let place = characters::place(before, self.lines_before.saturating_add(1));
        let code = u32::from(c);
        let message = format!(
            "U+{code:04X} ends a line for Kubernetes; write it as `\\u{code:04x}` in double quotes"
        );
        Fault::new(FaultKind::LineBreak, place, message)
    }
}
