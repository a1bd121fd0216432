//! The records of PAX extension headers: `LENGTH KEY=VALUE`, each ended by a newline.
//!
//! Two records mean something here, `path` and `size`. A few families are known to say nothing about the tree and are
//! passed over; every other key is refused, because some reader may know it and see another tree.

use std::collections::BTreeSet;

use super::header::Fault;

/// What the records before an entry say about it.
#[derive(Debug, Default)]
pub(super) struct Local {
    pub(super) path: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
}

/// Keys that say nothing about names, kinds and contents.
const HARMLESS: &[&str] = &[
    "atime",
    "ctime",
    "gid",
    "gname",
    "mtime",
    "uid",
    "uname",
    "LIBARCHIVE.creationtime",
    "SCHILY.dev",
    "SCHILY.ino",
    "SCHILY.nlink",
];

/// Beginnings of such keys: attributes that no bundle carries.
const HARMLESS_FAMILIES: &[&str] = &[
    "LIBARCHIVE.xattr.",
    "MSWINDOWS.",
    "RHT.security.",
    "SCHILY.acl.",
    "SCHILY.xattr.",
];

/// Reads the records of an `x` header.
///
/// A comment is refused here: honest writers put it in a global header only, and it is what pushes a path over the end
/// of a block to hide it from readers that look at one block.
pub(super) fn local(data: &[u8]) -> Result<Local, Fault> {
    let mut local = Local::default();
    for (key, value) in records(data)? {
        match key {
            "path" if value.is_empty() => return Err("has an empty PAX `path`".into()),
            "path" => local.path = Some(value.to_vec()),
            "size" => {
                local.size = Some(decimal(value).ok_or("has a PAX `size` that is no number")?);
            }
            _ if is_harmless(key) => {}
            _ => return Err(refused("PAX", key)),
        }
    }
    Ok(local)
}

/// Checks the records of a `g` header, which none of may say anything about an entry.
pub(super) fn global(data: &[u8]) -> Result<(), Fault> {
    for (key, _) in records(data)? {
        // What `git archive` writes, and times, which are not carried.
        if !matches!(key, "comment" | "mtime" | "atime" | "ctime") {
            return Err(refused("global PAX", key));
        }
    }
    Ok(())
}

fn refused(what: &str, key: &str) -> Fault {
    let key = crate::escape::shown(key);
    format!("has the {what} record `{key}`, which is not accepted").into()
}

fn is_harmless(key: &str) -> bool {
    HARMLESS.contains(&key)
        || HARMLESS_FAMILIES
            .iter()
            .any(|family| key.starts_with(family))
}

/// Splits the data of a header into its records, which must fill it and have different keys.
fn records(mut data: &[u8]) -> Result<Vec<(&str, &[u8])>, Fault> {
    let mut records = Vec::new();
    let mut keys = BTreeSet::new();
    while !data.is_empty() {
        let (key, value, rest) = record(data).ok_or("has a malformed PAX record")?;
        let right = match key {
            "atime" | "ctime" | "mtime" | "LIBARCHIVE.creationtime" => is_time(value),
            "uid" | "gid" => decimal(value).is_some_and(|id| u32::try_from(id).is_ok()),
            _ => true,
        };
        if !right {
            // Not carried, but there are readers that give up here.
            return Err(format!("has a PAX `{key}` that is no number").into());
        }
        // An attribute may be binary; a NUL in anything else ends it for some readers.
        if value.contains(&0) && !key.contains("xattr.") {
            return Err("has a PAX record with a NUL in it".into());
        }
        if !keys.insert(key) {
            let key = crate::escape::shown(key);
            return Err(format!("has the PAX record `{key}` twice").into());
        }
        records.push((key, value));
        data = rest;
    }
    Ok(records)
}

/// Takes the first record off.
fn record(data: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = data.iter().take(8).position(|b| *b == b' ')?;
    let length = usize::try_from(decimal(data.get(..space)?)?).ok()?;
    let body = data.get(space.checked_add(1)?..length)?;
    let body = body.strip_suffix(b"\n")?;
    let equals = body.iter().position(|b| *b == b'=')?;
    let (key, value) = body.split_at(equals);
    let key = str::from_utf8(key).ok()?;
    if key.is_empty() || key.contains(|c: char| c.is_control()) {
        return None;
    }
    Some((key, value.get(1..)?, data.get(length..)?))
}

/// Tells whether a value is a time: seconds, which may have a sign and a fraction.
fn is_time(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let mut parts = text.splitn(2, |b| *b == b'.');
    parts.all(|part| (1..=19).contains(&part.len()) && part.iter().all(u8::is_ascii_digit))
}

/// Reads a decimal number without signs, spaces or leading zeros.
fn decimal(text: &[u8]) -> Option<u64> {
    let plain = text.iter().all(u8::is_ascii_digit) && (text == b"0" || !text.starts_with(b"0"));
    str::from_utf8(text).ok().filter(|_| plain)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_size_are_taken_and_harmless_records_passed_over() {
        let data = b"19 path=a/b\xc3\xa4.yaml\n12 size=345\n21 mtime=-1.25000000\n\
            33 SCHILY.xattr.user.x=\x01\0=\n12345\n";
        let local = local(data).unwrap();
        assert_eq!(local.path.as_deref(), Some("a/bä.yaml".as_bytes()));
        assert_eq!(local.size, Some(345));
        global(b"52 comment=1234567890123456789012345678901234567890\n").unwrap();
        assert!(super::local(b"").unwrap().path.is_none());
    }

    #[test]
    fn records_that_readers_disagree_about_are_refused() {
        for (data, words) in [
            (&b"9 path=ab\n"[..], "malformed"),
            (b"12 path=ab\n", "malformed"),
            (b"10 path=ab", "malformed"),
            (b"10 path=abc\n", "malformed"),
            (b"010 path=a\n", "malformed"),
            (b"7 path\n", "malformed"),
            (b"5 =a\n", "malformed"),
            (b" 10 path=a\n", "malformed"),
            (b"-9 path=a\n", "malformed"),
            (b"99999999999999999999 path=a\n", "malformed"),
            (b"12 pa\0th=ab\n", "malformed"),
            (b"12 pa\xffth=ab\n", "malformed"),
            (b"9 path=a\n\0\0", "malformed"),
            (b"12 path=a\0b\n", "NUL"),
            (b"13 uname=a\0b\n", "NUL"),
            (b"8 path=\n", "empty"),
            (b"9 path=a\n9 path=a\n", "`path` twice"),
            (b"9 size=x\n", "no number"),
            (b"11 size=-1\n", "no number"),
            (b"11 size=01\n", "no number"),
            (b"29 size=18446744073709551616\n", "no number"),
            (b"10 mtime=\n", "`mtime` that is no number"),
            (b"11 mtime=-\n", "`mtime` that is no number"),
            (b"13 mtime=1.x\n", "`mtime` that is no number"),
            (b"14 ctime==1.2\n", "`ctime` that is no number"),
            (b"9 uid=-1\n", "`uid` that is no number"),
            (b"18 gid=4294967296\n", "`gid` that is no number"),
            (b"14 linkpath=a\n", "`linkpath`"),
            (b"21 hdrcharset=BINARY\n", "`hdrcharset`"),
            (b"22 GNU.sparse.major=1\n", "`GNU.sparse.major`"),
            (b"13 comment=a\n", "`comment`"),
            (b"12 SCHILY.x\n", "malformed"),
            (b"21 SCHILY.realsize=9\n", "`SCHILY.realsize`"),
        ] {
            let fault = local(data).unwrap_err();
            assert!(
                fault.contains(words),
                "{:?}: {fault}",
                data.escape_ascii().to_string()
            );
        }
        for data in [
            &b"9 path=a\n"[..],
            b"9 size=1\n",
            b"14 linkpath=a\n",
            b"11 uid=123\n",
        ] {
            assert!(global(data).is_err());
        }
    }
}
