//! Tables of the page on security.

use manifest_bundle::escape::shown;

use super::same;
use crate::spec::markdown::code;
use crate::spec::schemas::All;

/// A text is written as code, or as its characters where a page cannot hold them.
pub(super) fn shown_text(cells: &[String], _: &All) -> Result<(), String> {
    let text = match code(&cells[0]) {
        Ok(text) => text.to_owned(),
        Err(_) => cells[0]
            .split(' ')
            .map(character)
            .collect::<Result<String, String>>()?,
    };
    same("what is shown", &*shown(&text), code(&cells[1])?)
}

/// Reads `U+001B`.
fn character(name: &str) -> Result<char, String> {
    name.strip_prefix("U+")
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .and_then(char::from_u32)
        .ok_or_else(|| format!("`{name}` names no character"))
}
