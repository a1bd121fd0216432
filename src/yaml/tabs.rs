//! Tabs where Kubernetes' reader takes none: in the indentation of block collections and of blocks of text.
//!
//! The parser follows YAML 1.2, which allows some of them. Only documents that have a tab at all are looked at; each event
//! is shown to [`Tabs`], which looks at what stands between it and the one before.

use std::ops::Range;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

/// What was seen of a document that has tabs.
#[derive(Debug)]
pub(super) struct Tabs<'t> {
    text: &'t str,
    /// Everything before is looked at.
    done: usize,
    /// The columns of the collections around, from 0; none for `[…]` and `{…}`.
    around: Vec<Option<usize>>,
    /// After an unquoted scalar: the column of the collection that it is in, and -1 of none. Blanks up to the next token are
    /// read as a part of it.
    after_plain: Option<isize>,
}

impl<'t> Tabs<'t> {
    /// Returns what looks at the tabs of a text, if it has any.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        text.contains('\t').then_some(Self {
            text,
            done: 0,
            around: Vec::new(),
            after_plain: None,
        })
    }

    /// Looks at what an event brings; returns the offset of a tab that Kubernetes does not take.
    pub(super) fn see(&mut self, event: &Event<'_>, span: &Span) -> Option<usize> {
        if matches!(event, Event::StreamEnd) {
            return self.gap(self.text.len());
        }
        let range = span.byte_range()?;
        match event {
            Event::Scalar(_, style, ..) if !self.is_in_flow() => self.scalar(*style, range),
            Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) => {
                let is_flow = *style == StructureStyle::Flow || self.is_in_flow();
                let found = (is_flow && !self.is_in_flow())
                    .then(|| self.gap(range.start))
                    .flatten();
                let is_list = matches!(event, Event::SequenceStart(..));
                // A list without an indentation of its own has that of the mapping around.
                let is_inner = is_list
                    && !is_flow
                    && !self
                        .text
                        .get(range.start..)
                        .unwrap_or_default()
                        .starts_with('-');
                self.around.push(if is_inner {
                    self.around.last().copied().flatten()
                } else {
                    (!is_flow).then(|| span.start.col())
                });
                found
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let was_flow = self.around.pop().is_some_and(|column| column.is_none());
                if was_flow && !self.is_in_flow() {
                    self.done = self.done.max(range.end);
                    self.after_plain = None;
                }
                None
            }
            Event::Alias(_) if !self.is_in_flow() => {
                let found = self.gap(range.start);
                self.done = self.done.max(range.end);
                self.after_plain = None;
                found
            }
            _ => None,
        }
    }

    /// Looks at a scalar of a block collection, and at what is before it.
    fn scalar(&mut self, style: ScalarStyle, range: Range<usize>) -> Option<usize> {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if range.is_empty() && !is_block {
            // A value that is not written.
            return None;
        }
        // The range of a block of text begins behind the blanks of its first line that is not empty.
        let header = is_block.then(|| self.header(range.start)).flatten();
        let before = self.gap(header.unwrap_or(range.start));
        self.done = self.done.max(range.end);
        self.after_plain = None;
        if style == ScalarStyle::Plain {
            self.after_plain = Some(self.column());
            return before.or_else(|| self.continued(range));
        }
        // The parser may have read on into the blanks of the line behind.
        let read = self.text.get(..self.done).unwrap_or_default();
        self.done = read.trim_end_matches([' ', '\t']).len();
        before.or_else(|| self.block(header?, range.end))
    }

    /// Looks at the lines on which an unquoted scalar goes on.
    fn continued(&self, range: Range<usize>) -> Option<usize> {
        let mut offset = range.start;
        for (number, line) in self.text.get(range)?.split_inclusive('\n').enumerate() {
            let spaces = spaces(line);
            let is_tab = line
                .get(spaces..)
                .is_some_and(|rest| rest.starts_with('\t'));
            if number > 0 && is_tab && !self.is_deeper(spaces) {
                return Some(offset.saturating_add(spaces));
            }
            offset = offset.saturating_add(line.len());
        }
        None
    }

    /// Tells whether what stands behind so many blanks is deeper than the collection around.
    fn is_deeper(&self, blanks: usize) -> bool {
        isize::try_from(blanks).is_ok_and(|n| n > self.column())
    }

    fn is_in_flow(&self) -> bool {
        matches!(self.around.last(), Some(None))
    }

    /// Returns the column of the collection around, and -1 where there is none.
    fn column(&self) -> isize {
        let column = self.around.last().copied().flatten();
        column.map_or(-1, |column| isize::try_from(column).unwrap_or(isize::MAX))
    }

    /// Looks at what stands between two tokens of block collections. The first tab of a line decides on all of it.
    fn gap(&self, end: usize) -> Option<usize> {
        let gap = self.text.get(self.done..end)?;
        let before = self.text.get(..self.done).unwrap_or_default();
        let mut is_behind_a_token = !before.is_empty() && !before.ends_with('\n');
        let mut is_part_of_plain = self.after_plain.is_some();
        let mut offset = self.done;
        for line in gap.split_inclusive('\n') {
            let tab = line.find('\t').filter(|_| !is_behind_a_token);
            if let Some((tab, start)) = tab.and_then(|at| Some((at, line.get(..at)?))) {
                let is_refused = if is_part_of_plain && spaces(start) == start.len() {
                    !self
                        .after_plain
                        .is_some_and(|column| isize::try_from(tab).is_ok_and(|n| n > column))
                } else {
                    // Behind an indicator a token can begin, too.
                    let mut words = start.split(' ');
                    words.all(|word| matches!(word, "" | "-" | "?" | ":"))
                };
                if is_refused {
                    return Some(offset.saturating_add(tab));
                }
            }
            is_behind_a_token = false;
            is_part_of_plain &= line.trim_ascii().is_empty();
            offset = offset.saturating_add(line.len());
        }
        None
    }

    /// Returns where the indicator of a block of text is, `|` or `>`, which stands in what is before the block.
    fn header(&self, end: usize) -> Option<usize> {
        let gap = self.text.get(self.done..end)?;
        let (mut offset, mut found) = (self.done, None);
        for line in gap.split_inclusive('\n') {
            let comment = line.find(" #").or_else(|| line.find("\t#"));
            let code = line
                .get(..comment.unwrap_or(line.len()))
                .unwrap_or_default();
            if let Some(at) = code.rfind(['|', '>']) {
                found = Some(offset.saturating_add(at));
            }
            offset = offset.saturating_add(line.len());
        }
        found
    }

    /// Looks at a block of text, which begins with its indicator.
    fn block(&self, start: usize, end: usize) -> Option<usize> {
        let block = self.text.get(start..end)?;
        let (header, _) = block.split_once('\n')?;
        let asked = header.chars().find_map(|c| c.to_digit(10));
        let base = usize::try_from(self.column()).unwrap_or(0);
        let mut indent = asked.map(|n| base.saturating_add(n as usize));
        let mut offset = start.saturating_add(header.len()).saturating_add(1);
        let mut longest = 0;
        for line in self.text.get(offset..end)?.split_inclusive('\n') {
            let spaces = spaces(line);
            let rest = line.get(spaces..).unwrap_or_default();
            if indent.is_none_or(|indent| spaces < indent) && rest.starts_with('\t') {
                return Some(offset.saturating_add(spaces));
            }
            longest = longest.max(spaces);
            if indent.is_none() && !rest.trim_end_matches(['\r', '\n']).is_empty() {
                let least = usize::try_from(self.column().saturating_add(1)).unwrap_or(0);
                indent = Some(longest.max(least).max(1));
            }
            offset = offset.saturating_add(line.len());
        }
        None
    }
}

/// Counts the blanks at the beginning.
fn spaces(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b' ').count()
}

#[cfg(test)]
mod tests {
    use crate::limits::Limits;
    use crate::yaml::documents;

    /// What Go's `sigs.k8s.io/yaml` makes of each was recorded: the line of the tab that it refuses, or none.
    #[test]
    fn tabs_are_refused_where_the_reader_of_kubernetes_refuses_them() {
        for (text, line) in [
            ("\ta: b", Some(1)),
            (" \ta: b", Some(1)),
            ("\t# why\na: b", Some(1)),
            ("\t{a: b}", Some(1)),
            ("a:\n \tb: c", Some(2)),
            ("a:\n  \tb: c", Some(2)),
            ("a:\n \t- b", Some(2)),
            ("-\ta", Some(1)),
            ("- \ta", Some(1)),
            ("? \ta\n: b", Some(1)),
            ("- a\n-\tb", Some(2)),
            ("a: b\n\t# why", Some(2)),
            ("a: b\n\t\nc: d", Some(2)),
            ("a: b\n\t", Some(2)),
            ("- a\n\t\n  - ", Some(2)),
            ("a: |\n  \tb", Some(2)),
            ("k: >\n\n \tb", Some(3)),
            ("k: |2\n  b\n \t", Some(3)),
            ("k:\n  - |\n \t", Some(3)),
            ("a:\tb", None),
            ("a: \tb", None),
            ("a\t: b", None),
            ("a: b\t# why", None),
            ("a: b\n \tc", None),
            ("k:\n- b\n \t", None),
            ("a: 'b\n\tc'", None),
            ("a: [b,\tc]", None),
            ("a: |\n  b\n  \tc", None),
            ("k: &x\tb", None),
        ] {
            let limits = Limits::default();
            let found = documents(text.as_bytes(), &limits).next().unwrap();
            assert_eq!(found.err().map(|fault| fault.line), line, "{text:?}");
        }
    }

    #[test]
    fn many_tabs_take_no_longer_than_as_many_other_characters() {
        let tabs = "\t".repeat(100_000);
        let lines = " \t\n".repeat(100_000);
        for text in [
            format!("k:\n- b\n {tabs}"),
            format!("k: b\n{lines}"),
            format!("k: |\n  b\n  {tabs}\n"),
        ] {
            let limits = Limits::default();
            assert!(documents(text.as_bytes(), &limits).next().unwrap().is_ok());
        }
    }
}
