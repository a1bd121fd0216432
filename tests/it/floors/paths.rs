//! The paths that a piece of source names (`std::fs::read`, `crate::oci`, `println!`), with braced imports taken apart and
//! `self` and `super` resolved.

/// A path and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// `crate::…` for everything of the crate itself; a macro ends with `!`, a glob with `*`.
    pub(super) path: String,
    pub(super) line: usize,
}

/// All paths of two words and more, all imports and all macros of `code` (see `source`), which is the module `module`.
pub(super) fn named(code: &str, module: &[&str]) -> Vec<Named> {
    let mut reader = Reader {
        tokens: tokens(code),
        at: 0,
        found: Vec::new(),
    };
    let mut inside: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    while let Some(token) = reader.next() {
        let before = reader.found.len();
        match token.text {
            "use" => reader.tree(&mut Vec::new()),
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inside.pop_if(|(_, at)| *at > depth);
            }
            "mod" if reader.peek(1) == Some("{") => {
                let name = reader.next().map_or("", |name| name.text);
                inside.push((name.to_owned(), depth + 1));
            }
            text if is_word(text) => reader.path(text),
            _ => {}
        }
        let here: Vec<&str> = module
            .iter()
            .copied()
            .chain(inside.iter().map(|(n, _)| &**n))
            .collect();
        for named in &mut reader.found[before..] {
            named.path = absolute(&named.path, &here);
        }
    }
    reader.found
}

/// `path` with its leading `self` and `super` replaced, where the crate's own modules are meant.
fn absolute(path: &str, here: &[&str]) -> String {
    let mut words = path.split("::").peekable();
    let mut place = here.to_vec();
    match words.peek() {
        Some(&"self") => drop(words.next()),
        Some(&"super") => {}
        _ => return path.to_owned(),
    }
    while words.next_if_eq(&"super").is_some() {
        place.pop();
    }
    ["crate"]
        .into_iter()
        .chain(place)
        .chain(words)
        .collect::<Vec<_>>()
        .join("::")
}

struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// Words, `::`, and every other character alone.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, mut rest) in code.lines().enumerate() {
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else {
                break;
            };
            let length = if rest.starts_with("::") {
                2
            } else if is_word(&rest[..first.len_utf8()]) {
                rest.find(|c: char| !is_word(c.encode_utf8(&mut [0; 4])))
                    .unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token {
                text,
                line: line + 1,
            });
            rest = after;
        }
    }
    tokens
}

fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

struct Reader<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    found: Vec<Named>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        Some(Token { ..*token })
    }

    fn peek(&self, ahead: usize) -> Option<&'a str> {
        self.tokens.get(self.at + ahead).map(|token| token.text)
    }

    fn push(&mut self, words: &[&str]) {
        let line = self.tokens[self.at - 1].line;
        self.found.push(Named {
            path: words.join("::"),
            line,
        });
    }

    /// A path that began with `first`.
    fn path(&mut self, first: &'a str) {
        let mut words = vec![first];
        while self.peek(0) == Some("::") && self.peek(1).is_some_and(is_word) {
            self.at += 1;
            words.extend(self.next().map(|token| token.text));
        }
        let last = words.len() - 1;
        let name = format!("{}!", words[last]);
        // `a != b` is no macro.
        if self.peek(0) == Some("!") && self.peek(1) != Some("=") {
            words[last] = &name;
            self.push(&words);
        } else if last > 0 {
            self.push(&words);
        }
    }

    /// One tree of an import, up to its comma, brace or semicolon, which is taken too.
    fn tree(&mut self, prefix: &mut Vec<&'a str>) {
        let outer = prefix.len();
        let mut braced = false;
        while let Some(token) = self.next() {
            match token.text {
                "{" => {
                    braced = true;
                    while self.peek(0).is_some_and(|text| text != "}") {
                        let inner = &mut prefix.clone();
                        self.tree(inner);
                        // The brace that ended the last tree is also the end of this list.
                        if self.tokens[self.at - 1].text == "}" {
                            self.at -= 1;
                        }
                    }
                    self.at += 1;
                }
                "as" => drop(self.next()),
                "," | ";" | "}" => break,
                "::" => {}
                text => prefix.push(text),
            }
        }
        if !braced && prefix.len() > outer {
            self.at -= 1;
            // `a::{self, b}` names `a`.
            let own = if prefix.last() == Some(&"self") {
                prefix.len() - 1
            } else {
                prefix.len()
            };
            self.push(&prefix[..own]);
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(code: &str, expected: &[&str]) {
        let found = named(code, &["store", "layout"]);
        assert_eq!(
            found.iter().map(|n| n.path.as_str()).collect::<Vec<_>>(),
            expected,
            "{code}"
        );
    }

    #[test]
    fn imports_are_taken_apart() {
        found("use std::fs;", &["std::fs"]);
        found(
            "use std::{fs as f, io::{self, Read}, net};",
            &["std::fs", "std::io", "std::io::Read", "std::net"],
        );
        found(
            "pub(crate) use crate::{oci, json::*,};\nuse a;",
            &["crate::oci", "crate::json::*", "a"],
        );
        found(
            "use super::{Layout, super::oci};",
            &["crate::store::Layout", "crate::oci"],
        );
    }

    #[test]
    fn paths_in_code_are_found_and_resolved() {
        found("let a = std::fs::read(b)?; c.d(e);", &["std::fs::read"]);
        found(
            "super::super::oci::Digest::of(x)",
            &["crate::oci::Digest::of"],
        );
        found(
            "self::a::b(); Vec::<crate::tag::Tag>::new()",
            &["crate::store::layout::a::b", "crate::tag::Tag"],
        );
        found(
            "println!(); std::eprintln!(); if a != b {}",
            &["println!", "std::eprintln!"],
        );
        found(
            "mod a { mod b { super::x::y() } super::z::y() } super::w::y()",
            &[
                "crate::store::layout::a::x::y",
                "crate::store::layout::z::y",
                "crate::store::w::y",
            ],
        );
    }

    #[test]
    fn every_path_has_its_line() {
        let lines: Vec<_> = named("use a::{\n  b,\n  c::d,\n};\nstd::e()", &[])
            .iter()
            .map(|n| n.line)
            .collect();
        assert_eq!(lines, [2, 3, 5]);
    }
}
