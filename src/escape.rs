//! Text from outside, made safe to show.
//!
//! Whatever a registry, archive, file or helper says goes through [`shown`] before it becomes part of a message or
//! reaches a terminal: control characters, bidirectional overrides and invisible characters are written as `\u{..}`,
//! and a long text is cut. The function is idempotent, so text that was escaped in a message may be escaped again
//! when the message is printed.

use std::fmt::Write as _;

/// The longest text that is shown whole, in bytes.
pub const SHOWN_MAX: usize = 512;

/// Returns `text` with every character that could steer a terminal escaped, at most [`SHOWN_MAX`] bytes and an ellipsis.
pub fn shown(text: &str) -> String {
    escaped(text, SHOWN_MAX, false)
}

/// Returns bytes that should be text as [`shown`] does; bytes that are not UTF-8 become U+FFFD.
pub fn shown_bytes(bytes: &[u8]) -> String {
    shown(&String::from_utf8_lossy(
        bytes.get(..SHOWN_MAX * 2).unwrap_or(bytes),
    ))
}

/// Returns a whole output or message with newlines kept and every other unsafe character escaped; nothing is cut.
pub fn shown_lines(text: &str) -> String {
    escaped(text, usize::MAX, true)
}

fn escaped(text: &str, max: usize, lines: bool) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for c in text.chars() {
        if out.len() >= max {
            out.push('…');
            break;
        }
        if (lines && c == '\n') || !is_unsafe(c) {
            out.push(c);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
    }
    out
}

/// Tells whether a character can move the cursor, hide text or change its direction.
///
/// Besides controls and ends of lines these are what Unicode lets a renderer ignore (`Default_Ignorable_Code_Point`), which
/// cannot be seen, and the marks of interlinear texts.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_written_out() {
        for (raw, want) in [
            ("plain ä 漢", "plain ä 漢"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\rb\nc\td", "a\\u{d}b\\u{a}c\\u{9}d"),
            ("\u{9b}31m\u{7f}", "\\u{9b}31m\\u{7f}"),
            ("\u{202e}gpj\u{200b}", "\\u{202e}gpj\\u{200b}"),
            ("\u{3164}\u{e0100}", "\\u{3164}\\u{e0100}"),
        ] {
            assert_eq!(shown(raw), want);
            assert_eq!(shown(&shown(raw)), want, "escaping twice changes nothing");
        }
    }

    #[test]
    fn long_text_is_cut_and_lines_can_be_kept() {
        let long = shown(&"x".repeat(10_000));
        assert_eq!(long.len(), SHOWN_MAX + '…'.len_utf8());
        assert_eq!(shown_lines("a\n\u{1b}b"), "a\n\\u{1b}b");
        assert_eq!(shown_bytes(b"a\xffb"), "a\u{fffd}b");
    }
}
