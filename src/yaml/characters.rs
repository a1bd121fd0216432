//! The characters of a document, before it is parsed.
//!
//! UTF-8 only, none of the control characters that YAML forbids, and no character that ends a line for one reader only.

use super::fault::{Fault, FaultKind};

/// Returns the text of a document, or what is wrong with its bytes; `line` is the line on which it begins.
pub(super) fn text(bytes: &[u8], line: u32) -> Result<&str, Fault> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let message = match bytes {
                [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..] => {
                    "is UTF-16 or UTF-32; save it as UTF-8"
                }
                _ => "is not UTF-8; save it as UTF-8",
            };
            let place = place(&String::from_utf8_lossy(valid), line);
            return Err(Fault::new(FaultKind::NotUtf8, place, message));
        }
    };
    // A mark at the very beginning says no more than "this is UTF-8".
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.char_indices_of(is_forbidden) {
        Some((offset, c)) => Err(Fault::new(
            FaultKind::ControlCharacter,
            place(text.get(..offset).unwrap_or_default(), line),
            format!(
                "the character U+{:04X} is not allowed in YAML",
                u32::from(c)
            ),
        )),
        None => Ok(text),
    }
}

/// Returns line and column of the end of `before`, which begins in column 1 of `line`.
pub(super) fn place(before: &str, line: u32) -> (u32, u32) {
    let breaks = before.bytes().filter(|b| *b == b'\n').count();
    let last = before.rsplit('\n').next().unwrap_or_default();
    let column = last.chars().count();
    (
        line.saturating_add(small(breaks)),
        small(column).saturating_add(1),
    )
}

/// Returns a count that is bounded by the size of a file.
pub(super) fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns the first U+0085, U+2028 or U+2029 at or after a byte offset.
pub(super) fn next_foreign_break(text: &str, from: usize) -> Option<usize> {
    let found = text.get(from..)?.char_indices_of(is_foreign_break)?;
    Some(from + found.0)
}

/// Tells whether a character ends a line in YAML 1.1, which Kubernetes' reader follows, and is text in YAML 1.2.
fn is_foreign_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Tells whether YAML forbids a character.
fn is_forbidden(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}'
        | '\u{fffe}' | '\u{ffff}')
}

/// A search that looks at the bytes first, since almost all text has none of the characters looked for.
trait Search {
    fn char_indices_of(&self, wanted: fn(char) -> bool) -> Option<(usize, char)>;
}

impl Search for str {
    fn char_indices_of(&self, wanted: fn(char) -> bool) -> Option<(usize, char)> {
        // Every character that is asked for is a control byte, or begins with one of these three lead bytes.
        let suspicious = |b: &u8| {
            (*b < b' ' && !matches!(*b, b'\t' | b'\n' | b'\r'))
                || matches!(*b, 0x7f | 0xc2 | 0xe2 | 0xef)
        };
        let mut from = 0;
        loop {
            let rest = self.as_bytes().get(from..)?;
            let at = from + rest.iter().position(suspicious)?;
            let c = self.get(at..)?.chars().next()?;
            if wanted(c) {
                return Some((at, c));
            }
            from = at + c.len_utf8();
        }
    }
}
