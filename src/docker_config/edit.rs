//! Changes single members of a JSON text and leaves every other byte as it is.
//!
//! People and programs keep settings in credential files that nobody here knows; their order, spacing and numbers must
//! survive. The text must be strict JSON already ([`crate::json::parse`] took it); where it turns out not to be, the
//! functions return nothing, and never a damaged text.

use std::ops::Range;

/// The indentation of a file that has none yet: docker's.
const UNIT: &str = "\t";

/// A member of an object, by where it stands in the text.
struct Member {
    name: String,
    /// The name, quotes included.
    key: Range<usize>,
    value: Range<usize>,
}

/// An object in the text.
struct Object<'t> {
    text: &'t str,
    /// Between the braces.
    inside: Range<usize>,
    members: Vec<Member>,
    /// The white space before the object's own name: a line break and its indentation, in a text that has lines.
    lead: &'t str,
    /// One more level of indentation.
    unit: &'t str,
}

/// Returns the names of the members of the object at `path`; none when there is no object.
pub(super) fn names(text: &str, path: &[&str]) -> Option<Vec<String>> {
    let object = Object::at(text, path)?;
    Some(object.members.into_iter().map(|m| m.name).collect())
}

/// Gives a member of the object at `path` a value, which is JSON; the member is added at the end if it is not there.
pub(super) fn set(text: &str, path: &[&str], name: &str, value: &str) -> Option<String> {
    let object = Object::at(text, path)?;
    if let Some(member) = object.member(name) {
        return splice(text, member.value.clone(), value);
    }
    let name = serde_json::to_string(name).ok()?;
    match object.members.last() {
        Some(last) => {
            let lead = object.space_before(last.key.start)?;
            let colon = text.get(last.key.end..last.value.start)?;
            let colon = if colon.contains('\n') { ": " } else { colon };
            let end = last.value.end;
            splice(text, end..end, &format!(",{lead}{name}{colon}{value}"))
        }
        None if object.lead.contains('\n') => {
            let Object { lead, unit, .. } = object;
            let filled = format!("{lead}{unit}{name}: {value}{lead}");
            splice(text, object.inside, &filled)
        }
        None => splice(text, object.inside, &format!("{name}: {value}")),
    }
}

/// Takes a member out of the object at `path`; the text comes back unchanged when it is not there.
pub(super) fn remove(text: &str, path: &[&str], name: &str) -> Option<String> {
    let object = Object::at(text, path)?;
    let Some(index) = object.position(name) else {
        return Some(text.to_owned());
    };
    let member = object.members.get(index)?;
    let before = index.checked_sub(1).and_then(|i| object.members.get(i));
    let after = index.checked_add(1).and_then(|i| object.members.get(i));
    let cut = match (before, after) {
        (_, Some(after)) => member.key.start..after.key.start,
        (Some(before), None) => before.value.end..member.value.end,
        (None, None) => object.inside,
    };
    splice(text, cut, "")
}

fn splice(text: &str, range: Range<usize>, new: &str) -> Option<String> {
    Some([text.get(..range.start)?, new, text.get(range.end..)?].concat())
}

impl<'t> Object<'t> {
    /// Finds the object that the names of `path` lead to, from the outermost one.
    fn at(text: &'t str, path: &[&str]) -> Option<Self> {
        let mut object = Self::scan(text, space_end(text, 0), "\n", UNIT)?;
        // One level of indentation is what stands before the outermost names.
        let first = object.members.first().map(|member| member.key.start);
        let unit = match first {
            Some(first) => {
                let lead = object.space_before(first)?;
                lead.rsplit_once('\n').map_or("", |(_, indent)| indent)
            }
            None => UNIT,
        };
        object.unit = unit;
        for name in path {
            let member = object.member(name)?;
            let lead = object.space_before(member.key.start)?;
            object = Self::scan(text, member.value.start, lead, unit)?;
        }
        Some(object)
    }

    /// Reads the object whose brace is at `open`.
    fn scan(text: &'t str, open: usize, lead: &'t str, unit: &'t str) -> Option<Self> {
        let after = |at: usize, wanted: u8| {
            (text.as_bytes().get(at) == Some(&wanted)).then(|| at.checked_add(1))?
        };
        let start = after(open, b'{')?;
        let mut members = Vec::new();
        let mut at = space_end(text, start);
        while after(at, b'}').is_none() {
            let key = at..value_end(text, at)?;
            let colon = after(space_end(text, key.end), b':')?;
            let begin = space_end(text, colon);
            let value = begin..value_end(text, begin)?;
            let next = space_end(text, value.end);
            members.push(Member {
                name: serde_json::from_str(text.get(key.clone())?).ok()?,
                key,
                value,
            });
            at = match after(next, b',') {
                Some(next) => space_end(text, next),
                None => next,
            };
        }
        Some(Self {
            text,
            inside: start..at,
            members,
            lead,
            unit,
        })
    }

    /// Finds a member; the case of names does not matter to those who read these files.
    fn position(&self, name: &str) -> Option<usize> {
        let mut members = self.members.iter();
        members.position(|member| member.name.eq_ignore_ascii_case(name))
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.get(self.position(name)?)
    }

    /// Returns the white space that ends at `end`.
    fn space_before(&self, end: usize) -> Option<&'t str> {
        let before = self.text.get(..end)?;
        before.get(before.trim_end_matches(is_space).len()..)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// Returns where the white space at `at` ends.
fn space_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let space = rest
        .len()
        .saturating_sub(rest.trim_start_matches(is_space).len());
    at.saturating_add(space)
}

/// Returns where the value that begins at `start` ends.
fn value_end(text: &str, start: usize) -> Option<usize> {
    let rest = text.get(start..)?.bytes();
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in rest.enumerate() {
        let here = start.checked_add(offset)?;
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' if depth == 0 => return here.checked_add(1),
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth = depth.checked_add(1)?,
            b'}' | b']' if depth == 0 => return (here > start).then_some(here),
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return here.checked_add(1);
                }
            }
            b',' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => {
                return (here > start).then_some(here);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_set_in_the_style_of_the_text_around_it() {
        for (text, path, want) in [
            ("{}", &[][..], "{\n\t\"k\": 1\n}"),
            ("{\"a\":2}", &[], "{\"a\":2,\"k\":1}"),
            (
                "{\n  \"a\" : 2\n}\n",
                &[],
                "{\n  \"a\" : 2,\n  \"k\" : 1\n}\n",
            ),
            (
                "{\"k\":[{\"k\":0}, \"}\\\"\"],\"b\":1e5}",
                &[],
                "{\"k\":1,\"b\":1e5}",
            ),
            ("{\"K\":0}", &[], "{\"K\":1}"),
            ("{\"\\u006b\": 0 }", &[], "{\"\\u006b\": 1 }"),
            ("{\"auths\":{}}", &["auths"], "{\"auths\":{\"k\": 1}}"),
            (
                "{\r\n    \"auths\": { }\r\n}",
                &["auths"],
                "{\r\n    \"auths\": {\r\n        \"k\": 1\r\n    }\r\n}",
            ),
            (
                "{\n\t\"auths\": {\n\t\t\"ä\": {\"auth\": \"x\"}\n\t},\n\t\"z\": 0\n}",
                &["auths"],
                "{\n\t\"auths\": {\n\t\t\"ä\": {\"auth\": \"x\"},\n\t\t\"k\": 1\n\t},\n\t\"z\": 0\n}",
            ),
            (
                "{\"a\":{\"b\":{}}}",
                &["a", "b"],
                "{\"a\":{\"b\":{\"k\": 1}}}",
            ),
        ] {
            assert_eq!(set(text, path, "k", "1").as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn a_member_is_removed_with_one_comma() {
        for (text, want) in [
            ("{\"k\":1}", "{}"),
            ("{ \"k\" : 1 }", "{}"),
            ("{\"k\":1,\"a\":2}", "{\"a\":2}"),
            ("{\"a\":2, \"k\":{\"x\":[]} }", "{\"a\":2 }"),
            (
                "{\n \"a\":2,\n \"k\":1,\n \"b\":3\n}",
                "{\n \"a\":2,\n \"b\":3\n}",
            ),
            ("{\"a\":\"k\"}", "{\"a\":\"k\"}"),
        ] {
            assert_eq!(remove(text, &[], "k").as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        for text in [
            "",
            "[]",
            "{",
            "{\"a\"}",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\":\"",
            "{\"a\":[}",
            "1",
        ] {
            assert_eq!(set(text, &[], "k", "1"), None, "{text}");
            assert_eq!(remove(text, &[], "k"), None, "{text}");
        }
        assert_eq!(set("{\"a\":1}", &["a"], "k", "1"), None);
        assert_eq!(set("{\"a\":{}}", &["b"], "k", "1"), None);
    }
}
