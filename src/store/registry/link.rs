//! `Link` headers (RFC 8288): where a listing goes on.

use reqwest::header::{HeaderMap, LINK};

use crate::error::{Error, Result};

/// Returns the target of the link whose relation is `next`, if there is one.
///
/// # Errors
///
/// [`Kind::Protocol`](crate::error::Kind::Protocol) for a header that is no list of links: a page may be missing then.
pub(super) fn next_page(headers: &HeaderMap) -> Result<Option<String>> {
    for value in headers.get_all(LINK) {
        let malformed = || Error::protocol("the `Link` of the answer is malformed");
        let text = value.to_str().map_err(|_| malformed())?;
        for (target, relations) in parse(text).ok_or_else(malformed)? {
            let is_next = |relation: &str| relation.eq_ignore_ascii_case("next");
            if relations.split_ascii_whitespace().any(is_next) {
                return Ok(Some(target));
            }
        }
    }
    Ok(None)
}

/// Reads a list of links into targets and their relations; nothing if it is malformed.
fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let mut links = Vec::new();
    let mut rest = text.trim_ascii_start();
    while !rest.is_empty() {
        // Empty elements of a list are allowed.
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_ascii_start();
            continue;
        }
        let (target, after) = rest.strip_prefix('<')?.split_once('>')?;
        let (relation, after) = parameters(after)?;
        links.push((target.to_owned(), relation));
        rest = after;
    }
    Some(links)
}

/// Reads the parameters of one link; returns the first `rel` and what follows the link's comma.
fn parameters(text: &str) -> Option<(String, &str)> {
    let mut relation = None;
    let mut rest = text.trim_ascii_start();
    loop {
        rest = match rest.strip_prefix(';') {
            Some(after) => after.trim_ascii_start(),
            None if rest.is_empty() => return Some((relation.unwrap_or_default(), "")),
            None => {
                let after = rest.strip_prefix(',')?;
                return Some((relation.unwrap_or_default(), after.trim_ascii_start()));
            }
        };
        let end = rest.find(['=', ';', ',']).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        let (value, after) = match after.strip_prefix('=') {
            Some(after) => value(after.trim_ascii_start())?,
            None => (String::new(), after),
        };
        if name.trim().eq_ignore_ascii_case("rel") && relation.is_none() {
            relation = Some(value);
        }
        rest = after.trim_ascii_start();
    }
}

/// Reads a quoted string or a token; returns it and what follows.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        let (token, after) = text.split_at_checked(end)?;
        return Some((token.trim_ascii_end().to_owned(), after));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    loop {
        match chars.next()? {
            (end, '"') => return Some((value, quoted.get(end.checked_add(1)?..)?)),
            (_, '\\') => value.push(chars.next()?.1),
            (_, c) => value.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn next(values: &[&str]) -> Result<Option<String>> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(LINK, HeaderValue::from_str(value).unwrap());
        }
        next_page(&headers)
    }

    #[test]
    fn the_next_page_is_found_however_it_is_written() {
        let page = Some("/v2/a/tags/list?last=b&n=2");
        for (value, want) in [
            ("</v2/a/tags/list?last=b&n=2>; rel=\"next\"", page),
            ("</v2/a/tags/list?last=b&n=2>; rel=next", page),
            ("</v2/a/tags/list?last=b&n=2>;rel=NEXT", page),
            ("</v2/a/tags/list?last=b&n=2> ; REL = \"next\"", page),
            ("</v2/a/tags/list?last=b&n=2>; rel=\"last next\"", page),
            (
                "</v2/a/tags/list?last=b&n=2>; title=\"a, b; c\"; rel=next",
                page,
            ),
            (
                "</v2/a/tags/list?last=b&n=2>; title=\"a\\\"b\"; rel=next",
                page,
            ),
            (
                "</x>; rel=prev, </v2/a/tags/list?last=b&n=2>; rel=next",
                page,
            ),
            (", ,</v2/a/tags/list?last=b&n=2>; rel=next,", page),
            ("</v2/a/tags/list?last=b&n=2>; crossorigin; rel=next", page),
            (
                "<https://r.example/x>; rel=\"next\"",
                Some("https://r.example/x"),
            ),
            ("</a,b;c>; rel=next", Some("/a,b;c")),
            ("<>; rel=next", Some("")),
            ("</x>; rel=prev; rel=next", None),
            ("</x>; rel=nextpage", None),
            ("</x>; title=next", None),
            ("</x>", None),
            ("", None),
        ] {
            assert_eq!(next(&[value]).unwrap().as_deref(), want, "{value}");
        }
        let two = next(&["</x>; rel=prev", "</y>; rel=next"]).unwrap();
        assert_eq!(two.as_deref(), Some("/y"));
        assert_eq!(next(&[]).unwrap(), None);
    }

    #[test]
    fn a_malformed_link_is_an_error() {
        for bad in [
            "/x; rel=next",
            "</x; rel=next",
            "</x> rel=next",
            "</x>; rel=\"next",
            "x",
        ] {
            assert!(next(&[bad]).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_that_a_registry_sends_is_too_much(text in "[ -~]{0,80}") {
            let _ = parse(&text);
        }
    }
}
