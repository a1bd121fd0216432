//! What no output may hold: a secret in any of its usual disguises, bytes that a terminal obeys, the
//! words of a panic. The searches only look; `cmd.rs` decides where.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::hex;

/// Says in which form `secret` stands in `bytes`, if it does.
pub(crate) fn secret(secret: &str, bytes: &[u8]) -> Option<String> {
    forms(secret)
        .into_iter()
        .find(|(_, form)| contains(bytes, form.as_bytes()))
        .map(|(name, form)| format!("{name}: `{form}`"))
}

/// Every way in which text commonly travels.
pub(crate) fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let mut percent = String::new();
    for byte in secret.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
                percent.push(byte.into());
            }
            _ => write!(percent, "%{byte:02X}").unwrap(),
        }
    }
    let json = serde_json::to_string(secret).unwrap();
    let mut all = vec![
        ("as it is", secret.to_owned()),
        ("percent-encoded", percent),
        ("in hex", hex(secret.as_bytes())),
        ("in JSON", json.trim_matches('"').to_owned()),
    ];
    // Inside a longer text (`user:secret`) base64 groups begin at any of three offsets; the
    // characters that its neighbours take part in are left out of the search.
    for before in 0..3 {
        let padded = [&vec![0; before], secret.as_bytes()].concat();
        let from = (before * 8).div_ceil(6);
        let to = padded.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            all.push(("in base64", engine.encode(&padded)[from..to].to_owned()));
        }
    }
    all
}

/// Names the first thing in `bytes` that could move a cursor, a colour or the reader's eye.
pub(crate) fn control(bytes: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => return Some(format!("bytes that are not UTF-8 at {}", e.valid_up_to())),
    };
    text.chars()
        .find(|&c| obeyed(c))
        .map(|c| format!("U+{:04X}", u32::from(c)))
}

/// Controls, and what hides or reorders text: zero-width, bidirectional, line separators.
fn obeyed(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{61c}' | '\u{feff}')
}

/// Whether this is the stderr of a program that panicked.
pub(crate) fn panicked(stderr: &[u8]) -> bool {
    contains(stderr, b"panicked at") || contains(stderr, b"RUST_BACKTRACE")
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_secret_is_found_in_each_of_its_disguises() {
    let password = "s3cret/päss?";
    for shown in [
        "password s3cret/päss? refused",
        "GET /token?password=s3cret%2Fp%C3%A4ss%3F",
        "7333637265742f70c3a473733f",
        // `user:` and `a:` and `ab:` before it, so that every offset occurs.
        "Basic dXNlcjpzM2NyZXQvcMOkc3M/",
        "Basic YTpzM2NyZXQvcMOkc3M/",
        "Basic YWI6czNjcmV0L3DDpHNzPw==",
        "dXNlcjpzM2NyZXQvcMOkc3M_",
    ] {
        assert!(secret(password, shown.as_bytes()).is_some(), "{shown}");
    }
    assert_eq!(secret(password, b"s3cret/pass? and user:********"), None);
}

#[test]
fn what_a_terminal_obeys_is_found() {
    for bad in [
        "a\u{1b}[31m",
        "a\rb",
        "a\u{7f}",
        "a\u{9b}0m",
        "\u{202e}txt",
        "a\u{200b}b",
        "\0",
    ] {
        assert!(control(bad.as_bytes()).is_some(), "{bad:?}");
    }
    assert!(control(b"\xff").is_some());
    assert_eq!(control("tab\tline\nä → ✓".as_bytes()), None);
}
