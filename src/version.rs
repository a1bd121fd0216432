//! Versions: of packages and operators (SemVer 2.0.0), of Kubernetes (with vendor suffixes), and requirements on them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;

/// The longest version, in bytes.
pub const VERSION_MAX: usize = 128;

/// A SemVer 2.0.0 version, at most 128 bytes, without a leading `v`.
///
/// Two versions are equal when their texts are; they are ordered by SemVer precedence, and build metadata breaks ties.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(semver::Version);

impl Version {
    /// Compares by SemVer precedence alone: build metadata does not count.
    pub fn precedence(&self, other: &Self) -> Ordering {
        self.0.cmp_precedence(&other.0)
    }

    /// Tells whether this is a pre-release, such as `1.0.0-rc.1`.
    pub fn is_prerelease(&self) -> bool {
        !self.0.pre.is_empty()
    }

    /// Tells whether this is a pre-release of the release that `other` is, or is itself a pre-release of.
    pub fn is_prerelease_of(&self, other: &Self) -> bool {
        let numbers = |version: &Self| (version.0.major, version.0.minor, version.0.patch);
        self.is_prerelease() && numbers(self) == numbers(other)
    }

    /// Parses a version that may have a leading `v`; tells whether one was taken off.
    pub fn parse_lenient(text: &str) -> Result<(Self, bool), Invalid> {
        match text.strip_prefix(['v', 'V']) {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok((rest.parse()?, true))
            }
            _ => Ok((text.parse()?, false)),
        }
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl FromStr for Version {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: String| Invalid::new("version", text, why);
        if text.is_empty() {
            return Err(fail("is empty".into()));
        }
        if text.len() > VERSION_MAX {
            return Err(fail(format!("is longer than {VERSION_MAX} bytes")));
        }
        match semver::Version::parse(text) {
            Ok(version) => Ok(Self(version)),
            Err(error) => {
                let invalid = fail(format!(
                    "is not MAJOR.MINOR.PATCH as SemVer 2.0.0 has it ({error})"
                ));
                Err(match near(text) {
                    Some(near) => invalid.hint(format!("write `{near}`")),
                    None => invalid,
                })
            }
        }
    }
}

/// Finds the version that a text such as `v1.2.3`, `1.2` or `01.2.3` was likely meant to be.
fn near(text: &str) -> Option<semver::Version> {
    let text = text.trim();
    let text = text.strip_prefix(['v', 'V', '=']).unwrap_or(text);
    let cut = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at_checked(cut)?;
    // A tag's spelling of build metadata: `1.2.3_4` is 1.2.3+4.
    let (numbers, build) = numbers.split_once('_').unwrap_or((numbers, ""));
    let rest = if build.is_empty() {
        rest.replacen('_', "+", 1)
    } else {
        format!("+{build}{rest}")
    };
    let mut parts: Vec<String> = Vec::new();
    for part in numbers.split('.') {
        parts.push(part.parse::<u64>().ok()?.to_string());
    }
    if parts.len() > 3 {
        return None;
    }
    parts.resize(3, "0".to_owned());
    semver::Version::parse(&format!("{}{rest}", parts.join("."))).ok()
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Kubernetes version, reduced to its three numbers.
///
/// A leading `v` is dropped and everything after MAJOR.MINOR.PATCH ignored, because vendors put their own build there:
/// `v1.31.2-gke.100` is 1.31.2; `1.31` and `1.31+` are 1.31.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    major: u64,
    minor: u64,
    patch: u64,
}

impl KubernetesVersion {
    /// Returns the first version of a release: MAJOR.MINOR.0.
    pub const fn release(major: u64, minor: u64) -> Self {
        Self {
            major,
            minor,
            patch: 0,
        }
    }

    /// Returns the release as people write it: MAJOR.MINOR.
    pub fn short(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

impl FromStr for KubernetesVersion {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = || {
            Invalid::new(
                "Kubernetes version",
                text,
                "is not MAJOR.MINOR or MAJOR.MINOR.PATCH",
            )
            .hint("write it as `1.31` or `1.31.2`")
        };
        if text.len() > VERSION_MAX {
            return Err(fail());
        }
        let bare = text.strip_prefix('v').unwrap_or(text);
        let cut = bare.find(['-', '+']).unwrap_or(bare.len());
        let numbers = bare.get(..cut).unwrap_or_default();
        let mut parts = numbers.split('.').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            let plain = part == "0" || !part.starts_with('0');
            part.parse::<u64>().ok().filter(|_| digits && plain)
        });
        let mut number = |optional: bool| match parts.next() {
            Some(part) => part.ok_or_else(fail),
            None if optional => Ok(0),
            None => Err(fail()),
        };
        let version = Self {
            major: number(false)?,
            minor: number(false)?,
            patch: number(true)?,
        };
        if parts.next().is_some() {
            return Err(fail());
        }
        Ok(version)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_semver_and_hints_propose_the_near_one() {
        for good in [
            "1.0.0",
            "0.0.0-a.1+b",
            "1.2.3-0-0",
            "18446744073709551615.0.0",
        ] {
            assert_eq!(good.parse::<Version>().unwrap().to_string(), good);
        }
        for (bad, hint) in [
            ("1.21", Some("write `1.21.0`")),
            ("v1.0.0", Some("write `1.0.0`")),
            ("01.2.3", Some("write `1.2.3`")),
            ("1", Some("write `1.0.0`")),
            ("1.2-rc1", Some("write `1.2.0-rc1`")),
            ("1.2.3_4", Some("write `1.2.3+4`")),
            ("1.2.3-rc_4", Some("write `1.2.3-rc+4`")),
            (">=1.2.0", None),
            ("", None),
            ("1.0.0-01", None),
            ("latest", None),
            ("1.0/../x", None),
            ("1.2.3.4", None),
            ("١.0.0", None),
        ] {
            assert_eq!(
                bad.parse::<Version>().unwrap_err().hint.as_deref(),
                hint,
                "{bad}"
            );
        }
        assert!(
            format!("1.0.0-{}", "a".repeat(122))
                .parse::<Version>()
                .is_ok()
        );
        assert!(
            format!("1.0.0-{}", "a".repeat(123))
                .parse::<Version>()
                .is_err()
        );
    }

    #[test]
    fn order_is_semver_precedence_and_build_breaks_ties() {
        let sorted = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-rc.2",
            "1.0.0-rc.10",
            "1.0.0",
            "1.0.0+a",
            "1.9.0",
            "1.10.0",
        ];
        for pair in sorted.windows(2) {
            let [a, b] = [
                pair[0].parse::<Version>().unwrap(),
                pair[1].parse().unwrap(),
            ];
            assert!(a < b, "{a} < {b}");
        }
        let [a, b]: [Version; 2] = ["1.0.0+a".parse().unwrap(), "1.0.0+b".parse().unwrap()];
        assert_eq!(a.precedence(&b), Ordering::Equal);
        assert_ne!(a, b);
    }

    #[test]
    fn kubernetes_versions_ignore_what_vendors_add() {
        for (text, want) in [
            ("1.31", "1.31.0"),
            ("1.31+", "1.31.0"),
            ("v1.31.2-gke.100", "1.31.2"),
            ("v1.28.3+k3s1", "1.28.3"),
            ("1.19.0-0", "1.19.0"),
        ] {
            assert_eq!(text.parse::<KubernetesVersion>().unwrap().to_string(), want);
        }
        for bad in ["", "1", "1.", "1.x", "1.31.2.1", "a1.2", "1.031", "-1.2"] {
            assert!(bad.parse::<KubernetesVersion>().is_err(), "{bad}");
        }
    }
}
