//! Directories of channels of kubebuilder-declarative-pattern (KDP): what a channel file says, and writing one (spec/channel.md).
//!
//! Pure: reading such a directory is `directory::read_channels`, moving one into a store and out of it `ops::kdp`.

use crate::channel::Channel;
use crate::error::{Error, Kind, Result};
use crate::limits::Limits;
use crate::name::{ChannelName, PackageName};
use crate::version::Version;
use crate::yaml::{self, Node};

/// The key of an index that holds the channel file from which it was made.
pub const FILE: &str = "k8s.io.bundle.channel.kdp.v1";
/// The most bytes of a channel file; an annotation can hold that much.
pub const FILE_MAX: u64 = 60 * 1024;
/// The directory of the packages.
pub const PACKAGES: &str = "packages";
/// The only file of a version that KDP's loaders for HTTP and git read.
pub const MANIFEST: &str = "manifest.yaml";

/// A line of a channel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The package; without one the line is about every package that has no line of its own.
    pub package: Option<PackageName>,
    /// The version.
    pub version: Version,
    /// The line on which it begins, from 1.
    pub line: u32,
}

/// Reads a channel file.
///
/// # Errors
///
/// [`Kind::Invalid`] for what is no list of versions, for keys that KDP does not know, and for versions and packages that
/// have no place in a directory of channels; [`Kind::Limit`] over [`FILE_MAX`]. The file is the caller's to add.
pub fn parse(text: &[u8], limits: &Limits) -> Result<Vec<Listed>> {
    if text.len() as u64 > FILE_MAX {
        return Err(Error::new(
            Kind::Limit,
            format!(
                "the channel file has {} bytes, and a channel can keep {FILE_MAX}",
                text.len()
            ),
        ));
    }
    let mut root: Option<Node> = None;
    for document in yaml::documents(text, limits) {
        let document = document.map_err(yaml::Fault::into_error)?;
        if document.is_empty {
            continue;
        }
        // KDP reads the first document alone.
        if root.is_some() {
            return Err(Error::invalid("a channel file has one document").line(document.root.line));
        }
        root = Some(document.root);
    }
    let root = root.ok_or_else(|| Error::invalid("the channel file holds nothing"))?;
    expect_keys(&root, &["manifests"])?;
    let Some(manifests) = root.get("manifests").filter(|node| !node.is_null()) else {
        return Ok(Vec::new());
    };
    let items = manifests
        .as_sequence()
        .ok_or_else(|| wrong(manifests, "a list of versions"))?;
    items.iter().map(parse_item).collect()
}

fn parse_item(item: &Node) -> Result<Listed> {
    expect_keys(item, &["name", "version"])?;
    let text = |key: &str| match item.get(key) {
        None => Ok(None),
        Some(node) => match node.as_str() {
            Some("") => Ok(None),
            Some(text) => Ok(Some((text, node.line))),
            None => Err(wrong(node, "a string")),
        },
    };
    let (version, line) = text("version")?
        .ok_or_else(|| Error::invalid("an entry has no `version`").line(item.line))?;
    let at = |error: Error| error.line(line);
    let package = match text("name")? {
        None => None,
        Some((name, line)) => Some(parse_package(name).map_err(|error| error.line(line))?),
    };
    Ok(Listed {
        package,
        version: parse_version(version).map_err(at)?,
        line: item.line,
    })
}

fn expect_keys(node: &Node, known: &[&str]) -> Result<()> {
    let entries = node.as_mapping().ok_or_else(|| wrong(node, "a mapping"))?;
    match entries.iter().find(|(key, _)| !known.contains(&&*key.text)) {
        None => Ok(()),
        // KDP passes over such a key, or takes it for a known one whatever the case of its letters.
        Some((key, _)) => Err(Error::invalid(format!(
            "a channel file has no key `{}` here",
            crate::escape::shown(&key.text)
        ))
        .line(key.line)
        .expected(known.join(", "))),
    }
}

fn wrong(node: &Node, expected: &str) -> Error {
    Error::invalid("this is not what a channel file has here")
        .line(node.line)
        .expected(expected)
        .found(node.value.kind_name())
}

/// Reads a package's name as KDP's directories have it.
///
/// # Errors
///
/// [`Kind::Invalid`] for a name that a bundle cannot have.
pub fn parse_package(text: &str) -> Result<PackageName> {
    text.parse()
        .map_err(|invalid: crate::invalid::Invalid| invalid.of_kind(Kind::Invalid))
}

/// Reads a version as KDP's directories have it.
///
/// # Errors
///
/// [`Kind::Invalid`] for what is no version, and for one that no directory of channels can have ([`expect_version`]).
pub fn parse_version(text: &str) -> Result<Version> {
    let version = text
        .parse()
        .map_err(|invalid: crate::invalid::Invalid| invalid.of_kind(Kind::Invalid))?;
    expect_version(&version)?;
    Ok(version)
}

/// Refuses a version that KDP's loaders do not look for: they know small letters, digits, `-` and `.`.
///
/// # Errors
///
/// [`Kind::Invalid`].
pub fn expect_version(version: &Version) -> Result<()> {
    let text = version.to_string();
    match text.chars().find(|c| *c == '+' || c.is_ascii_uppercase()) {
        None => Ok(()),
        Some(c) => Err(Error::invalid(format!(
            "version {text} has `{c}`, which a directory of channels cannot have in a version"
        ))),
    }
}

/// Refuses a channel that KDP's loaders do not look for: they know small letters only.
///
/// # Errors
///
/// [`Kind::Invalid`].
pub fn expect_channel(name: &ChannelName) -> Result<()> {
    if name.as_str().bytes().all(|b| b.is_ascii_lowercase()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "channel `{name}` cannot be in a directory of channels, whose names have the letters a-z only"
    )))
}

/// Returns the versions that a channel file gives a package, each once: those under its name, or, if there are none, those
/// without a name.
pub fn versions_of<'a>(listed: &'a [Listed], package: &PackageName) -> Vec<&'a Listed> {
    let with = |name: Option<&PackageName>| {
        let mut found: Vec<&Listed> = Vec::new();
        for one in listed.iter().filter(|one| one.package.as_ref() == name) {
            if !found.iter().any(|known| known.version == one.version) {
                found.push(one);
            }
        }
        found
    };
    let own = with(Some(package));
    if own.is_empty() { with(None) } else { own }
}

/// Returns the channel file of a channel: the one from which it was made, if that says the same still, or a new one.
///
/// # Errors
///
/// [`expect_channel`] and [`expect_version`].
pub fn file_of(channel: &Channel, limits: &Limits) -> Result<String> {
    expect_channel(&channel.name)?;
    for entry in channel.entries() {
        expect_version(&entry.facts.version)?;
    }
    match channel.annotation(FILE) {
        Some(file) if says(file, channel, limits) => Ok(file.to_owned()),
        _ => Ok(write(channel)),
    }
}

/// Tells whether a channel file is about the versions of a channel and about no other package.
fn says(file: &str, channel: &Channel, limits: &Limits) -> bool {
    let Ok(listed) = parse(file.as_bytes(), limits) else {
        return false;
    };
    let is_other = |one: &Listed| {
        one.package
            .as_ref()
            .is_some_and(|name| *name != channel.package)
    };
    let mut versions: Vec<&Version> = versions_of(&listed, &channel.package)
        .into_iter()
        .map(|one| &one.version)
        .collect();
    versions.sort();
    let entries = channel.entries().iter().rev();
    !listed.iter().any(is_other) && entries.map(|entry| &entry.facts.version).eq(versions)
}

/// Writes a channel file, the newest version first.
fn write(channel: &Channel) -> String {
    if channel.entries().is_empty() {
        return "manifests: []\n".to_owned();
    }
    let lines = channel.entries().iter().map(|entry| {
        format!(
            "- name: {}\n  version: {}\n",
            // Digits alone would be a number.
            quoted(channel.package.as_str()),
            entry.facts.version
        )
    });
    std::iter::once("manifests:\n".to_owned())
        .chain(lines)
        .collect()
}

/// Quotes a name that YAML could take for something else than a text.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && !["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&name);
    if is_plain {
        name.to_owned()
    } else {
        format!("\"{name}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Listed>> {
        parse(text.as_bytes(), &Limits::default())
    }

    #[test]
    fn versions_under_the_packages_name_go_before_those_without_a_name() {
        let listed = read(
            "# a comment\nmanifests:\n- version: 2.0.0\n- name: etcd\n  version: 1.10.0\n- name: etcd\n  version: 1.9.0\n\
             - name: etcd\n  version: 1.9.0\n- name: \"\"\n  version: 3.0.0\n",
        )
        .unwrap();
        let of = |package: &str| -> Vec<String> {
            let package = package.parse().unwrap();
            let found = versions_of(&listed, &package);
            found.iter().map(|one| one.version.to_string()).collect()
        };
        assert_eq!(of("etcd"), ["1.10.0", "1.9.0"]);
        assert_eq!(of("coredns"), ["2.0.0", "3.0.0"]);
        assert_eq!(listed.first().unwrap().line, 3);
    }

    #[test]
    fn what_is_no_channel_file_is_refused_with_its_line() {
        for (text, line, words) in [
            ("", None, "holds nothing"),
            ("# nothing\n", None, "holds nothing"),
            ("all: good\n", Some(1), "`all`"),
            ("- version: 1.0.0\n", Some(1), "not what"),
            ("manifests:\n  version: 1.0.0\n", Some(2), "not what"),
            ("manifests:\n- 1.0.0\n", Some(2), "not what"),
            ("manifests:\n- name: a\n", Some(2), "no `version`"),
            ("manifests:\n- version: 1.0\n", Some(2), "not what"),
            ("manifests:\n- version: v1.0.0\n", Some(2), "v1.0.0"),
            ("manifests:\n- version: 1.0.0+b\n", Some(2), "`+`"),
            ("manifests:\n- version: 1.0.0-RC\n", Some(2), "`R`"),
            ("manifests:\n- Version: 1.0.0\n", Some(2), "`Version`"),
            (
                "manifests:\n- version: 1.0.0\n  name: a.b\n",
                Some(3),
                "a.b",
            ),
            (
                "manifests: []\n---\nmanifests: []\n",
                Some(3),
                "one document",
            ),
            ("manifests: []\nmanifests: []\n", Some(2), "manifests"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid, "{text:?}: {error}");
            assert_eq!(error.detail().line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(words), "{text:?}: {error}");
        }
        let long = format!("manifests: []\n#{}\n", " ".repeat(64 * 1024));
        assert_eq!(read(&long).unwrap_err().kind(), Kind::Limit);
        assert_eq!(read("manifests:\n").unwrap(), []);
    }

    #[test]
    fn a_file_that_says_what_the_channel_has_is_kept_and_another_is_written() {
        let limits = Limits::default();
        let mut channel = Channel::new("stable".parse().unwrap(), "etcd".parse().unwrap());
        assert_eq!(file_of(&channel, &limits).unwrap(), "manifests: []\n");
        for version in ["1.9.0", "1.10.0"] {
            channel.add(entry(version)).unwrap();
        }
        let written =
            "manifests:\n- name: etcd\n  version: 1.10.0\n- name: etcd\n  version: 1.9.0\n";
        assert_eq!(file_of(&channel, &limits).unwrap(), written);
        for (file, is_kept) in [
            (
                "manifests: # ours\n- version: 1.9.0\n- version: 1.10.0\n",
                true,
            ),
            ("manifests:\n- version: 1.9.0\n", false),
            (
                "manifests:\n- version: 1.9.0\n- version: 1.10.0\n- name: etcd\n  version: 1.9.0\n",
                false,
            ),
            (
                "manifests:\n- version: 1.9.0\n- version: 1.10.0\n- name: other\n  version: 1.9.0\n",
                false,
            ),
            ("no channel file", false),
        ] {
            channel.annotate(FILE, Some(file.to_owned()));
            let want = if is_kept { file } else { written };
            assert_eq!(file_of(&channel, &limits).unwrap(), want);
        }
        channel.add(entry("2.0.0+b")).unwrap();
        assert!(file_of(&channel, &limits).is_err(), "no directory has it");
        let other = Channel::new("v1-beta".parse().unwrap(), "etcd".parse().unwrap());
        assert!(file_of(&other, &limits).is_err(), "no directory has it");
    }

    #[test]
    fn names_that_yaml_takes_for_something_else_are_quoted() {
        for (name, text) in [("etcd", "etcd"), ("7", "\"7\""), ("on", "\"on\"")] {
            assert_eq!(quoted(name), text);
        }
    }

    fn entry(version: &str) -> crate::channel::Entry {
        use crate::digest::Digest;
        use crate::oci::{Descriptor, media_type};
        crate::channel::Entry {
            descriptor: Descriptor::new(media_type::MANIFEST, Digest::of(version.as_bytes()), 7),
            facts: crate::resolution::Facts {
                package: "etcd".parse().unwrap(),
                version: version.parse().unwrap(),
                operator_id: None,
                min_operator_version: None,
                min_kubernetes_version: None,
            },
        }
    }
}
