//! Tables of channels and resolution.

use std::collections::BTreeSet;
use std::str::FromStr;

use manifest_bundle::channel::{Channel, Entry};
use manifest_bundle::digest::Digest;
use manifest_bundle::error::Kind;
use manifest_bundle::invalid::Invalid;
use manifest_bundle::kdp;
use manifest_bundle::limits::Limits;
use manifest_bundle::name::ChannelName;
use manifest_bundle::oci::{Descriptor, media_type};
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::resolve::resolve;
use manifest_bundle::resolution::{Facts, Question, Reason};
use manifest_bundle::store::memory::Memory;
use manifest_bundle::store::registry::{Access, AccessSettings};
use manifest_bundle::version::Version;
use tokio::runtime::Runtime;

use super::same;
use crate::spec::markdown::{Table, code};
use crate::spec::schemas::All;

fn parse<T: FromStr<Err = Invalid>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e: Invalid| e.to_string())
}

pub(super) fn order(cells: &[String], _: &All) -> Result<(), String> {
    let [older, newer] = [&cells[0], &cells[1]].map(|cell| parse::<Version>(code(cell)?));
    let (older, newer) = (older?, newer?);
    let channel = |versions: [&Version; 2]| {
        let mut channel = Channel::new(parse("stable")?, parse("etcd")?);
        for version in versions {
            let digest = Digest::of(version.to_string().as_bytes());
            channel
                .add(Entry {
                    descriptor: Descriptor::new(media_type::MANIFEST, digest, 1),
                    facts: facts(&[("version".into(), version.to_string())])?,
                })
                .map_err(|e| e.to_string())?;
        }
        Ok::<_, String>(channel.entries()[0].facts.version.clone())
    };
    same("the newest", channel([&older, &newer])?, newer.clone())?;
    same("the newest", channel([&newer, &older])?, newer)
}

/// Splits `version `1.0.0`, unbound` into names and values.
fn said(cell: &str) -> Vec<(String, String)> {
    let parts = cell.split(", ").filter(|part| *part != "nothing");
    let pairs = parts.map(|part| match part.split_once(" `") {
        Some((name, value)) => (name.to_owned(), value.trim_end_matches('`').to_owned()),
        None => (part.to_owned(), String::new()),
    });
    pairs.collect()
}

fn facts(said: &[(String, String)]) -> Result<Facts, String> {
    let mut facts = Facts {
        package: parse("etcd")?,
        version: parse("1.0.0")?,
        operator_id: None,
        min_operator_version: None,
        min_kubernetes_version: None,
    };
    for (name, value) in said {
        match name.as_str() {
            "package" => facts.package = parse(value)?,
            "version" => facts.version = parse(value)?,
            "operator" => facts.operator_id = Some(parse(value)?),
            "minimum" => facts.min_operator_version = Some(parse(value)?),
            "Kubernetes minimum" => facts.min_kubernetes_version = Some(parse(value)?),
            _ => return Err(format!("a bundle says nothing about `{name}`")),
        }
    }
    Ok(facts)
}

/// Reads what is asked.
fn asked(cell: &str) -> Result<Question, String> {
    let mut question = Question::default();
    for (name, value) in said(cell) {
        match name.as_str() {
            "package" => question.package = Some(parse(&value)?),
            "version" => question.version = Some(parse(&value)?),
            "operator" => question.operator_id = Some(parse(&value)?),
            "operator version" => question.operator_version = Some(parse(&value)?),
            "Kubernetes" => question.kubernetes_version = Some(parse(&value)?),
            "pre-releases" => question.pre = true,
            "unbound" => question.allow_unbound = true,
            _ => return Err(format!("nobody asks for `{name}`")),
        }
    }
    Ok(question)
}

pub(super) fn fits(cells: &[String], _: &All) -> Result<(), String> {
    let question = asked(&cells[0])?;
    let reason = question.judge(&facts(&said(&cells[1]))?);
    let found = reason.map_or("fits".to_owned(), |reason| format!("`{}`", reason.code()));
    same("the outcome", &found, &cells[2])
}

/// Asks again where there is a head and no channel: whoever reads it misses it.
pub(super) fn known(cells: &[String], _: &All) -> Result<(), String> {
    let digest = |cell: &str| {
        let facts = facts(&said(cell))?;
        Ok::<_, String>(Digest::of(facts.version.to_string().as_bytes()))
    };
    let (head, known) = (digest(&cells[1])?, digest(&cells[2])?);
    let store = Memory::new("memory");
    let name: ChannelName = parse("stable")?;
    store.put_tag(parse("stable")?, head);
    let reach = Reach {
        concurrency: 4,
        access: Access::new(AccessSettings::default()).map_err(|e| e.to_string())?,
        limits: Limits::default(),
        spool_directory: std::env::temp_dir(),
    };
    let question = asked(&cells[0])?;
    let resolved = resolve(&store, Some(&name), &question, Some(&known), &reach);
    let found = match Runtime::new().unwrap().block_on(resolved) {
        Ok(resolution)
            if resolution
                .chosen
                .as_ref()
                .is_some_and(|it| it.digest == known) =>
        {
            "known"
        }
        Err(error) if error.kind() == Kind::NotFound => "read",
        other => return Err(format!("{other:?}")),
    };
    same("the outcome", found, &cells[3])
}

/// The codes are those that the library has, all of them.
pub(super) fn codes(table: &Table) -> Vec<(usize, String)> {
    let text = String::new;
    let all = [
        Reason::PreRelease,
        Reason::Version { required: text() },
        Reason::Package {
            found: "etcd".parse().unwrap(),
        },
        Reason::OperatorId { found: None },
        Reason::MinOperatorVersion {
            minimum: "1.0.0".parse().unwrap(),
        },
        Reason::MinKubernetesVersion {
            minimum: "1.30".parse().unwrap(),
        },
        Reason::Contradiction {
            said_by: "tag",
            what: "version",
            said: text(),
            found: text(),
        },
        Reason::Missing,
        Reason::Unusable { why: text() },
    ];
    let known: BTreeSet<String> = all.iter().map(|r| format!("`{}`", r.code())).collect();
    let listed: BTreeSet<String> = table.rows.iter().map(|row| row.cells[0].clone()).collect();
    let checked = same("the set of codes", known, listed);
    checked
        .err()
        .map(|why| (table.line, why))
        .into_iter()
        .collect()
}

pub(super) fn channel_name(cells: &[String], _: &All) -> Result<(), String> {
    let is_name = code(&cells[0])?.parse::<ChannelName>().is_ok();
    same("it", if is_name { "a name" } else { "refused" }, &*cells[1])
}

/// Writes the lines of a channel file and asks which versions `etcd` has in it.
pub(super) fn channel_file(cells: &[String], _: &All) -> Result<(), String> {
    let mut file = String::from("manifests:\n");
    for line in cells[0].split(", ") {
        let entry = match code(line)?.split_once(' ') {
            Some((name, version)) => format!("- name: {name}\n  version: {version}\n"),
            None => format!("- version: {}\n", code(line)?),
        };
        file.push_str(&entry);
    }
    let Ok(listed) = kdp::parse(file.as_bytes(), &Limits::default()) else {
        return same("it", "refused", &*cells[1]);
    };
    let mut versions: Vec<Version> = kdp::versions_of(&listed, &parse("etcd")?)
        .into_iter()
        .map(|one| one.version.clone())
        .collect();
    versions.sort();
    let found: Vec<String> = versions.iter().map(|v| format!("`{v}`")).collect();
    let found = match found.join(", ") {
        none if none.is_empty() => "nothing".to_owned(),
        some => some,
    };
    same("the channel", found, cells[1].clone())
}

/// The keys are those of an index in which nothing is left out.
pub(super) fn keys(table: &Table) -> Vec<(usize, String)> {
    let mut channel = Channel::new("stable".parse().unwrap(), "etcd".parse().unwrap());
    channel.previous = Some(Digest::of(b""));
    channel.annotate(kdp::FILE, Some("manifests: []".to_owned()));
    let all = [
        "operator `a`",
        "minimum `1.0.0`",
        "Kubernetes minimum `1.30`",
    ];
    let facts = facts(&said(&all.join(", "))).unwrap();
    for (content, version) in [(b"x", "1.0.0"), (b"y", "2.0.0")] {
        let descriptor = Descriptor::new(media_type::MANIFEST, Digest::of(content), 1);
        let mut facts = facts.clone();
        facts.version = version.parse().unwrap();
        channel.add(Entry { descriptor, facts }).unwrap();
    }
    let is_old = |entry: &Entry| entry.facts.version.to_string() == "1.0.0";
    channel.withdraw(is_old).unwrap();
    let written = channel.write(&Limits::default()).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written.bytes).unwrap();
    let of = |object: &serde_json::Value, on: &str| {
        let keys = object["annotations"].as_object().unwrap().keys();
        keys.map(|key| (format!("`{key}`"), on.to_owned()))
            .collect::<Vec<_>>()
    };
    let mut known: BTreeSet<_> = of(&written, "the index").into_iter().collect();
    known.extend(of(&written["manifests"][0], "a bundle"));
    let rows = table
        .rows
        .iter()
        .map(|row| (row.cells[0].clone(), row.cells[1].clone()));
    let checked = same("the set of keys", known, rows.collect());
    checked
        .err()
        .map(|why| (table.line, why))
        .into_iter()
        .collect()
}
