//! The characters of a document, before it is parsed.
//!
//! UTF-8 only, none of the control characters that YAML forbids, and no character that ends a line for one reader only.

use super::fault::{Fault, FaultKind};

/// The text of a document, all of whose characters YAML allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    /// The text without a byte order mark.
    pub(super) text: &'t str,
    /// The offset of the first character that ends a line for Kubernetes only.
    pub(super) foreign_break: Option<usize>,
}

/// Returns the text of a document that begins on `line`, or what is wrong with its bytes.
pub(super) fn read(bytes: &[u8], line: u32) -> Result<Text<'_>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = match bytes {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..] => {
                "UTF-16 or UTF-32, not UTF-8"
            }
            _ => "not UTF-8",
        };
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let place = place(&String::from_utf8_lossy(valid), line);
        Fault::new(FaultKind::NotUtf8, place, message)
    })?;
    // A mark at the very beginning says no more than "this is UTF-8".
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut foreign_break = None;
    let mut from = 0;
    while let Some((offset, c)) = next_suspicious(text, from) {
        let before = text.get(..offset).unwrap_or_default();
        if is_forbidden(c) {
            let place = place(before, line);
            let message = format!(
                "the character U+{:04X} is not allowed in YAML",
                u32::from(c)
            );
            return Err(Fault::new(FaultKind::ControlCharacter, place, message));
        }
        if c == '\u{feff}' && (before.is_empty() || before.ends_with(['\n', '\r'])) {
            let message = "a byte order mark (U+FEFF) that is not at the beginning";
            return Err(Fault::new(
                FaultKind::ControlCharacter,
                place(before, line),
                message,
            ));
        }
        if is_foreign_break(c) {
            foreign_break.get_or_insert(offset);
        }
        from = offset + c.len_utf8();
    }
    Ok(Text {
        text,
        foreign_break,
    })
}

/// Returns the first character at or after an offset that ends a line for Kubernetes only.
pub(super) fn next_foreign_break(text: &str, mut from: usize) -> Option<usize> {
    while let Some((offset, c)) = next_suspicious(text, from) {
        if is_foreign_break(c) {
            return Some(offset);
        }
        from = offset + c.len_utf8();
    }
    None
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

/// Tells whether a character ends a line in YAML 1.1, which Kubernetes' reader follows, and is text in YAML 1.2.
fn is_foreign_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Tells whether YAML forbids a character.
fn is_forbidden(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}'
        | '\u{fffe}' | '\u{ffff}')
}

/// Returns the next character that may be forbidden or a foreign line break.
///
/// Almost no text has any, so whole blocks of bytes are looked at without a branch for each.
fn next_suspicious(text: &str, from: usize) -> Option<(usize, char)> {
    const BLOCK: usize = 64;
    let rest = text.as_bytes().get(from..)?;
    let is_suspicious = |byte: &u8| {
        let is_control = *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r');
        // The last three begin U+0080 to U+00BF, U+2000 to U+2FFF and U+F000 to U+FFFF.
        is_control || matches!(*byte, 0x7f | 0xc2 | 0xe2 | 0xef)
    };
    let is_clean = |block: &&[u8]| {
        !block
            .iter()
            .fold(false, |any, byte| any | is_suspicious(byte))
    };
    let clean = rest.chunks(BLOCK).take_while(is_clean).count() * BLOCK;
    let within = rest.get(clean..)?.iter().position(is_suspicious)?;
    let offset = from + clean + within;
    Some((offset, text.get(offset..)?.chars().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_characters_are_found_wherever_they_stand() {
        for c in [
            '\0', '\u{1}', '\u{8}', '\u{b}', '\u{1b}', '\u{7f}', '\u{80}', '\u{9b}', '\u{fffe}',
            '\u{ffff}',
        ] {
            for before in [0, 1, 63, 64, 65, 127, 1000] {
                let text = format!("{}\n{}{c}b", "ä".repeat(before), "x".repeat(before));
                let fault = read(text.as_bytes(), 7).unwrap_err();
                let column = u32::try_from(before).unwrap() + 1;
                assert_eq!(
                    (fault.line, fault.column),
                    (8, column),
                    "{c:?} after {before}"
                );
                assert_eq!(fault.kind, FaultKind::ControlCharacter);
                assert!(fault.message.contains(&format!("U+{:04X}", u32::from(c))));
            }
        }
    }

    #[test]
    fn other_characters_are_text() {
        let all =
            "\u{feff}\t\r\n ~\u{85}\u{a0}\u{ff}\u{2027}\u{2028}\u{e000}\u{feff}\u{fffd}\u{10ffff}";
        let text = read(all.as_bytes(), 1).unwrap();
        assert_eq!(text.text, &all[3..], "only the first mark is taken off");
        assert_eq!(text.foreign_break, Some(5));
        let next = next_foreign_break(text.text, 7).unwrap();
        assert!(text.text[next..].starts_with('\u{2028}'));
        assert_eq!(next_foreign_break(text.text, next + 3), None);
        assert_eq!(next_foreign_break("", 0), None);
        assert_eq!(next_foreign_break("a", 1), None);
    }

    #[test]
    fn other_encodings_are_refused_at_the_first_wrong_byte() {
        for (bytes, place, word) in [
            (&b"a: 1\nb: \xe9\n"[..], (2, 4), "not UTF-8"),
            (b"\xff\xfea\0", (1, 1), "UTF-16"),
            (b"\xfe\xff\0a", (1, 1), "UTF-16"),
            (b"\0\0\xfe\xff", (1, 3), "UTF-32"),
            (b"\xc3\xa4\xed\xa0\x80", (1, 2), "not UTF-8"),
            (b"\xc0\x80", (1, 1), "not UTF-8"),
        ] {
            let fault = read(bytes, 1).unwrap_err();
            assert_eq!((fault.line, fault.column), place, "{bytes:?}");
            assert_eq!(fault.kind, FaultKind::NotUtf8);
            assert!(fault.message.contains(word));
        }
        for (text, place) in [
            ("\u{feff}\u{feff}a", (1, 1)),
            ("a: 1\n\u{feff}b: 2", (2, 1)),
        ] {
            let fault = read(text.as_bytes(), 1).unwrap_err();
            assert_eq!((fault.line, fault.column), place, "{text:?}");
            assert!(fault.message.contains("byte order mark"));
        }
        // Without a mark, UTF-16 shows by its zero bytes.
        assert_eq!(
            read(b"a\0:\0", 1).unwrap_err().kind,
            FaultKind::ControlCharacter
        );
    }
}
