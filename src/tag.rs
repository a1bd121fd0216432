//! Tags: the names that a registry gives to digests, and how versions become tags.

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;
use crate::version::Version;

/// The longest tag, in bytes (distribution-spec).
pub const TAG_MAX: usize = 128;

/// A tag: `[A-Za-z0-9_][A-Za-z0-9._-]{0,127}` (distribution-spec, "Pulling manifests").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

impl Tag {
    /// Returns the tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the tag of a version: `+`, which tags cannot hold, is written `_` (spec/references.md).
    pub fn of_version(version: &Version) -> Result<Self, Invalid> {
        version.to_string().replace('+', "_").parse()
    }

    /// Reads a tag as people write it: the version itself, with its `+`, means the version's tag (spec/references.md).
    pub fn spelled(text: &str) -> Result<Self, Invalid> {
        match Version::parse_lenient(text) {
            Ok(_) => text.replace('+', "_").parse(),
            Err(_) => text.parse(),
        }
    }

    /// Returns the version that this tag names, if it is one; a leading `v` is allowed.
    ///
    /// The first `_` stands for `+`; SemVer has no `_`, so this is unambiguous.
    pub fn version(&self) -> Option<Version> {
        Version::parse_lenient(&self.0.replacen('_', "+", 1))
            .ok()
            .map(|(version, _)| version)
    }

    /// Tells whether this tag is one of a channel (`channel-NAME`), which no bundle has.
    pub fn is_channel(&self) -> bool {
        self.0.starts_with("channel-")
    }

    /// Tells whether this tag belongs to a digest's referrers (`sha256-<hex>`, with or without a suffix).
    pub fn is_referrers(&self) -> bool {
        ["sha256-", "sha512-"].iter().any(|algorithm| {
            self.0.strip_prefix(algorithm).is_some_and(|hex| {
                hex.len() >= 64 && hex.bytes().take(64).all(|b| b.is_ascii_hexdigit())
            })
        })
    }
}

impl FromStr for Tag {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: &'static str| Invalid::new("tag", text, why);
        if text.is_empty() {
            return Err(fail("is empty"));
        }
        if text.len() > TAG_MAX {
            return Err(fail("is longer than 128 bytes"));
        }
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if !text.bytes().all(|b| word(b) || b == b'.' || b == b'-') {
            let invalid = fail("may hold only letters, digits, `_`, `.` and `-`");
            return Err(if text.contains('+') {
                invalid.hint(format!(
                    "a `+` is written `_` in a tag: `{}`",
                    text.replace('+', "_")
                ))
            } else {
                invalid
            });
        }
        if !text.bytes().next().is_some_and(word) {
            return Err(fail("begins with `.` or `-`"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_channels_are_told_from_others() {
        let is_channel = |text: &str| text.parse::<Tag>().unwrap().is_channel();
        assert!(is_channel("channel-stable"));
        assert!(!is_channel("channel") && !is_channel("stable") && !is_channel("1.0.0"));
    }

    #[test]
    fn tags_follow_the_grammar() {
        let longest = "a".repeat(128);
        for good in ["1.0.0", "v1", "_x", "13546", "latest", longest.as_str()] {
            assert_eq!(good.parse::<Tag>().unwrap().as_str(), good);
        }
        let long = "a".repeat(129);
        for bad in [
            "",
            ".a",
            "-a",
            "a b",
            "a/b",
            "a+b",
            "ä",
            "a\n",
            long.as_str(),
        ] {
            assert!(bad.parse::<Tag>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn versions_and_tags_map_onto_each_other() {
        let version: Version = "1.0.0-rc1+build.12345".parse().unwrap();
        let tag = Tag::of_version(&version).unwrap();
        assert_eq!(tag.as_str(), "1.0.0-rc1_build.12345");
        assert_eq!(tag.version(), Some(version));
        assert_eq!(
            "v2.0.0".parse::<Tag>().unwrap().version(),
            Some("2.0.0".parse().unwrap())
        );
        for other in ["latest", "1.0", "1.0.0_a_b", "stable"] {
            assert_eq!(other.parse::<Tag>().unwrap().version(), None, "{other}");
        }
    }

    #[test]
    fn a_version_with_its_plus_means_the_tag_of_the_version() {
        for (text, tag) in [
            ("1.0.0-rc1+build.5", Some("1.0.0-rc1_build.5")),
            ("v1.0.0+b", Some("v1.0.0_b")),
            ("1.0.0_b", Some("1.0.0_b")),
            ("latest", Some("latest")),
            ("1.0+b", None),
            ("a+b", None),
            ("1.0.0+b+c", None),
        ] {
            let spelled = Tag::spelled(text);
            assert_eq!(spelled.ok().as_ref().map(Tag::as_str), tag, "{text}");
        }
    }

    #[test]
    fn tags_of_referrers_are_known() {
        let hex = "0".repeat(64);
        assert!(
            format!("sha256-{hex}")
                .parse::<Tag>()
                .unwrap()
                .is_referrers()
        );
        assert!(
            format!("sha256-{hex}.sig")
                .parse::<Tag>()
                .unwrap()
                .is_referrers()
        );
        assert!(!"sha256-abc".parse::<Tag>().unwrap().is_referrers());
    }
}
