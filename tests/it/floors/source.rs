//! Rust source reduced to what is built: comments, literals and tests become blanks, lines keep their numbers.

/// Blanks comments and the insides of string and character literals.
pub(super) fn code(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => find(bytes, at, b"\n"),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment(bytes, at),
            b'"' => string(bytes, at),
            b'\'' => character(bytes, at),
            b'r' if !word(bytes, at.wrapping_sub(1)) || bytes[at - 1] == b'b' => {
                raw_string(bytes, at)
            }
            _ => at,
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(out).unwrap()
}

/// Blanks the items under `#[cfg(test)]`, and returns the names of the test modules that are files of their own.
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let mut out = code.as_bytes().to_vec();
    let mut names = Vec::new();
    let mut from = 0;
    while let Some(start) = code[from..].find(MARK).map(|i| from + i) {
        let rest = &code[start + MARK.len()..];
        // An item ends with a semicolon or with its block, whichever comes first.
        let end = match rest.find([';', '{']) {
            Some(i) if rest[i..].starts_with(';') => i + 1,
            Some(i) => i + block(&rest[i..]),
            None => rest.len(),
        };
        let item: Vec<_> = rest[..end].split_whitespace().collect();
        if let [.., "mod", name] = item[..] {
            names.extend(name.strip_suffix(';').map(str::to_owned));
        }
        from = start + MARK.len() + end;
        for byte in &mut out[start..from] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    (String::from_utf8(out).unwrap(), names)
}

/// The length of a block that begins with its brace.
fn block(text: &str) -> usize {
    let mut depth = 0_usize;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    text.len()
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> usize {
    let found = bytes[from..].windows(what.len()).position(|w| w == what);
    found.map_or(bytes.len(), |i| from + i)
}

fn word(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at)
        .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// The end of a comment between `/*` and `*/`; they nest.
fn block_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < bytes.len() {
        let (step, change) = match &bytes[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        depth = depth.wrapping_add_signed(change);
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The end of a character literal; a lifetime or a label is none.
fn character(bytes: &[u8], start: usize) -> usize {
    match &bytes[start + 1..] {
        [b'\\', _, ..] => (find(bytes, start + 3, b"'") + 1).min(bytes.len()),
        [first, rest @ ..] => {
            let width = match first {
                0..0x80 => 1,
                0x80..0xe0 => 2,
                0xe0..0xf0 => 3,
                _ => 4,
            };
            if rest.get(width - 1) == Some(&b'\'') {
                start + width + 2
            } else {
                start
            }
        }
        [] => start,
    }
}

/// The end of `r"…"` or `r#"…"#`; `r` alone and raw identifiers are none.
fn raw_string(bytes: &[u8], start: usize) -> usize {
    let hashes = bytes[start + 1..]
        .iter()
        .take_while(|b| **b == b'#')
        .count();
    let quote = start + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return start;
    }
    let end = [b"\"", &b"#".repeat(hashes)[..]].concat();
    (find(bytes, quote + 1, &end) + end.len()).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn left(text: &str, expected: &str) {
        let found = code(text);
        assert_eq!(found.len(), text.len(), "lengths stay");
        let words: Vec<_> = found.split_whitespace().collect();
        assert_eq!(words.join(" "), expected, "{text}");
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        left("a // b\nc", "a c");
        left("a /* b /* c */ d */ e", "a e");
        left(r#"a("b\"c", 'd', '\'', '\u{7f}', '…') e"#, "a( , , , , ) e");
        left("a(r#\"b\"c\"#, br\"d\\\", r) e", "a( , b , r) e");
        left(
            "fn a<'b>(c: &'b str) { 'd: loop {} }",
            "fn a<'b>(c: &'b str) { 'd: loop {} }",
        );
        left("for r in bar { r#type }", "for r in bar { r#type }");
        left("\"https://x\" a", "a");
    }

    #[test]
    fn tests_are_blanked_and_their_files_named() {
        let (left, names) = without_tests(
            "a;\n#[cfg(test)]\nmod tests { b { c } }\nd\n#[cfg(test)] mod samples;\n#[cfg(test)]\n#[rustfmt::skip]\npub mod more;\ne",
        );
        assert_eq!(
            left.split_whitespace().collect::<Vec<_>>(),
            ["a;", "d", "e"]
        );
        assert_eq!(left.lines().count(), 9, "lines keep their numbers");
        assert_eq!(names, ["samples", "more"]);
    }
}
