//! Tables of keys, values and words, each run through the library and through its schema.

use std::collections::BTreeSet;

use manifest_bundle::limits::Limits;
use manifest_bundle::metadata::{self, Metadata, key};
use manifest_bundle::oci::Annotations;
use manifest_bundle::path::BundlePath;
use manifest_bundle::yaml::{self, FaultKind};

use super::same;
use crate::spec::markdown::{Table, code};
use crate::spec::schemas::All;
use crate::spec::words;

/// The smallest metadata, with some keys added, replaced, or (without a value) taken away.
pub(super) fn with(pairs: &[(&str, Option<&str>)]) -> Annotations {
    let smallest = [
        (key::MEDIATYPE, "manifests"),
        (key::PACKAGE, "etcd"),
        (key::VERSION, "3.5.0"),
        (key::OPERATOR_ID, "etcd-manager"),
    ];
    let mut all = Annotations::from(smallest.map(|(k, v)| (k.to_owned(), v.to_owned())));
    for (key, value) in pairs {
        match value {
            Some(value) => all.insert((*key).to_owned(), (*value).to_owned()),
            None => all.remove(*key),
        };
    }
    all
}

/// Runs annotations through the library and the schema; returns the codes of the findings.
///
/// The two must agree on whether there is a fault at all.
pub(super) fn codes(annotations: Annotations, schemas: &All) -> Result<Vec<&'static str>, String> {
    let document = serde_json::to_value(&annotations).unwrap();
    let accepted = schemas.check("keys", &document);
    match Metadata::of(annotations, &|_| 0) {
        Ok(_) => accepted.map(|()| Vec::new()),
        Err(_) if accepted.is_ok() => Err("the schema sees no fault".into()),
        Err(findings) => Ok(findings.iter().map(|finding| finding.code).collect()),
    }
}

pub(super) fn refused_key(cells: &[String], schemas: &All) -> Result<(), String> {
    let name = code(&cells[0])?;
    let found = codes(with(&[(name, Some("x"))]), schemas)?;
    same("the list of findings", found, vec!["metadata-key"])?;
    let Err(findings) = Metadata::of(with(&[(name, Some("x"))]), &|_| 0) else {
        return Err("it is accepted".into());
    };
    let reason = cells[1].split(';').next().unwrap_or_default();
    let message = &findings[0].message;
    let said = message.ends_with(reason) || name == key::OCI_CREATED;
    same(&format!("whether {message:?} says why"), said, true)
}

/// The keys that have a meaning in the file.
const KEYS: [&str; 12] = [
    key::MEDIATYPE,
    key::PACKAGE,
    key::VERSION,
    key::MANIFESTS,
    key::METADATA,
    key::OPERATOR_ID,
    key::MIN_OPERATOR_VERSION,
    key::MIN_KUBERNETES_VERSION,
    key::CHANNELS,
    key::PLACEHOLDERS,
    key::OCI_VERSION,
    key::OCI_TITLE,
];

/// The table of keys has every key of the code, and says what is required and what a value may be.
pub(super) fn keys(table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let mut faults = Vec::new();
    let known = BTreeSet::from(KEYS);
    let listed = table.rows.iter().map(|row| row.cells[0].trim_matches('`'));
    if let Err(why) = same("the set of keys", listed.collect(), known) {
        faults.push((table.line, why));
    }
    for row in &table.rows {
        if let Err(why) = key_row(&row.cells, schemas) {
            faults.push((row.line, why));
        }
    }
    faults
}

fn key_row(cells: &[String], schemas: &All) -> Result<(), String> {
    let (name, example) = (code(&cells[0])?, code(&cells[3])?);
    let try_value = |value: &str| codes(with(&[(name, Some(value))]), schemas);
    same(
        "the list of findings for the example",
        try_value(example)?,
        vec![],
    )?;
    let without = codes(with(&[(name, None)]), schemas)?;
    // A producer adds this one.
    let required = match (without == ["metadata-required"], name) {
        (true, key::MEDIATYPE) => "in an image",
        (true, _) => "yes",
        (false, _) => "no",
    };
    same("whether it is required", required, &cells[1])?;
    // A value is a word, a list of channel names, any text, or one of some constants.
    let (good, bad): (Vec<&str>, Vec<&str>) = match &*cells[2] {
        "text" => (vec!["any ä", ""], vec![]),
        "channel names" => (
            vec!["stable", "a,b", " a ,\tb "],
            vec!["", "a,", "A", "channel-a", "a b"],
        ),
        value if value.contains('`') => {
            let constants = value.split(" or ").map(code);
            (constants.collect::<Result<_, _>>()?, vec!["", "other"])
        }
        // The version is said twice, so that no other than the bundle's can be tried here.
        "version" if name == key::OCI_VERSION => (vec![], vec!["", "9.9.9.9"]),
        word => {
            let word = words::find(word)?;
            let texts = words::TEXTS.iter().copied();
            texts.partition(|text| (word.parse)(text).is_ok())
        }
    };
    for value in good {
        same(
            &format!("the list of findings for {value:?}"),
            try_value(value)?,
            vec![],
        )?;
    }
    for value in bad {
        if try_value(value)?.is_empty() {
            return Err(format!("{value:?} is accepted"));
        }
    }
    Ok(())
}

/// The table of escaped characters is what the writer does, for every character that a value may hold.
///
/// The same characters, and control characters, are refused in paths.
pub(super) fn escaped(table: &Table) -> Vec<(usize, String)> {
    let mut ranges = Vec::new();
    for row in &table.rows {
        let point = |cell: &str| u32::from_str_radix(cell.trim_start_matches("U+"), 16).unwrap();
        ranges.push(point(&row.cells[0])..=point(&row.cells[1]));
    }
    let (mut value, mut wanted) = (String::new(), String::new());
    for c in ('\0'..=char::MAX).filter(|c| !c.is_control() && !matches!(c, '"' | '\\')) {
        value.push(c);
        let point = u32::from(c);
        match point {
            _ if !ranges.iter().any(|range| range.contains(&point)) => wanted.push(c),
            0..=0xffff => wanted.extend(format!("\\u{point:04x}").chars()),
            _ => wanted.extend(format!("\\U{point:08x}").chars()),
        }
    }
    for c in '\0'..=char::MAX {
        let listed = ranges.iter().any(|range| range.contains(&u32::from(c)));
        if (listed || c.is_control()) && format!("a{c}").parse::<BundlePath>().is_ok() {
            return vec![(table.line, format!("{c:?} is accepted in a path"))];
        }
    }
    let text = metadata::write(&Annotations::from([("a.b".into(), value)]));
    let text = String::from_utf8(text).unwrap();
    let found = text.split('"').nth(1).unwrap();
    let differ = found.chars().zip(wanted.chars()).find(|(a, b)| a != b);
    match differ {
        Some((a, b)) => vec![(
            table.line,
            format!("{a:?} is written where {b:?} should be"),
        )],
        None => Vec::new(),
    }
}

pub(super) fn right_and_wrong(cells: &[String], schemas: &All) -> Result<(), String> {
    let word = words::find(&cells[0])?;
    for (cell, right) in [(&cells[1], true), (&cells[2], false)] {
        let text = code(cell)?;
        same(
            &format!("whether `{text}` is right"),
            (word.parse)(text).is_ok(),
            right,
        )?;
        if let Some(schema) = word.schema {
            same(
                &format!("whether the schema takes `{text}`"),
                schemas.word(schema, text),
                right,
            )?;
        }
    }
    Ok(())
}

pub(super) fn pattern(cells: &[String], schemas: &All) -> Result<(), String> {
    let word = words::find(&cells[0])?;
    let schema = word.schema.ok_or("this word has no pattern")?;
    same("the pattern", schemas.pattern(schema), code(&cells[1])?)?;
    length(&[cells[0].clone(), cells[2].clone()], schemas)
}

pub(super) fn length(cells: &[String], _: &All) -> Result<(), String> {
    let found = words::longest(words::find(&cells[0])?);
    same("the longest", &*found.to_string(), &cells[1])
}

/// A key of another format has one here.
pub(super) fn counterpart(cells: &[String], schemas: &All) -> Result<(), String> {
    let (theirs, ours) = (code(&cells[0])?, code(&cells[1])?);
    let last = |key: &str| key.rsplit_once(".bundle.").map(|(_, last)| last.to_owned());
    same("the rest of the key", last(theirs), last(ours))?;
    if !KEYS.contains(&ours) {
        return Err(format!("`{ours}` is no key"));
    }
    // A bundle may have both.
    let theirs = theirs.replace("NAMESPACE", "example.org");
    same(
        "the list of findings",
        codes(with(&[(&theirs, Some("x"))]), schemas)?,
        vec![],
    )
}

/// A fault that the library finds and the schema does not.
pub(super) fn unseen(cells: &[String], schemas: &All) -> Result<(), String> {
    let (key, value) = code(&cells[1])?
        .split_once(": ")
        .ok_or("write `KEY: VALUE`")?;
    let annotations = with(&[(key, Some(value))]);
    schemas.check("keys", &serde_json::to_value(&annotations).unwrap())?;
    match Metadata::of(annotations, &|_| 0) {
        Ok(_) => Err("there is no fault".into()),
        Err(_) => Ok(()),
    }
}

/// The list of schemas is that of the files.
pub(super) fn schema_list(table: &Table, schemas: &All) -> Vec<(usize, String)> {
    let cells = table.rows.iter().map(|row| row.cells[0].split('`').nth(1));
    let listed: BTreeSet<&str> = cells.flatten().collect();
    let checked = same("the list of schemas", listed, schemas.names().collect());
    checked
        .err()
        .into_iter()
        .map(|why| (table.line, why))
        .collect()
}

/// A row of words and what each of them is where it stands without quotes.
pub(super) fn without_quotes(cells: &[String], _: &All) -> Result<(), String> {
    let limits = Limits::default();
    let kind = |word: &str| {
        let text = format!("value: {word}\n");
        let document = yaml::documents(text.as_bytes(), &limits).next().unwrap();
        match document {
            Ok(document) => document.root.get("value").unwrap().value.kind_name(),
            // What no number in JSON can be is refused, and so no string either.
            Err(fault) if fault.kind == FaultKind::NotFinite => "a number",
            Err(fault) => panic!("{text}: {}", fault.message),
        }
    };
    let (words, wanted) = (&cells[0], cells[1].as_str());
    let spans: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
    for word in &spans {
        same(word, kind(word), wanted)?;
        if words.contains("with a capital") {
            let capital = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
            same(&capital, kind(&capital), wanted)?;
            same(word, kind(&word.to_uppercase()), wanted)?;
        }
    }
    if words.ends_with("and nothing") {
        same("nothing", kind(""), wanted)?;
    }
    (!spans.is_empty()).then_some(()).ok_or("no words".into())
}
