//! Texts in which images may stand among other things: arguments, scripts, settings.

use super::keys;
use super::name::{Near, looks_like_one};

/// Calls `found` with each word of a text that looks like an image, and the number of its line, from 0.
///
/// Lines that are comments are passed over: what stands there has no effect.
pub(super) fn scan(text: &str, near: Near, mut found: impl FnMut(&str, u32)) {
    for (number, line) in (0_u32..).zip(text.lines()) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let mut near_next = near;
        for word in line.split(is_separator).filter(|word| !word.is_empty()) {
            let word = match word.split_once("://") {
                Some(("docker" | "oci", rest)) => rest,
                // The address of something else.
                Some(_) => continue,
                None => word,
            };
            if looks_like_one(word.trim_end_matches(['.', ':']), near_next) {
                found(word.trim_end_matches(['.', ':']), number);
                near_next = near;
            } else if near == Near::Other {
                near_next = keys::near(word);
            }
        }
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || "\"'`,;=<>()[]{}|&\\".contains(c)
}

/// Splits an argument into the name of a flag and its value.
pub(super) fn flag(argument: &str) -> (Option<&str>, Option<&str>) {
    let is_flag = argument.starts_with('-') && !argument.contains(char::is_whitespace);
    match argument.split_once('=') {
        Some((name, value)) if is_flag => (Some(name), Some(value)),
        _ if is_flag => (Some(argument), None),
        _ => (None, Some(argument)),
    }
}
