//! Requirements on versions, such as `^1.2`, `>=1.2 <2` or `1.x || 3.0.0` (spec/verification.md, "Requirements").

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;
use crate::version::{VERSION_MAX, Version};

/// The longest requirement, in bytes.
const REQUIREMENT_MAX: usize = 1024;

/// A requirement: alternatives separated by `||`, each a list of comparators that must all hold.
///
/// A full bare version is exact, build metadata included. A pre-release satisfies an alternative only when one of its
/// comparators names a pre-release of the same MAJOR.MINOR.PATCH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    text: String,
    alternatives: Vec<Vec<Comparator>>,
}

/// One bound of a requirement; the version is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Comparator {
    /// This version and no other, build metadata included.
    Exact(Version),
    /// Equal in precedence.
    Equal(Version),
    NotEqual(Version),
    Less(Version),
    LessOrEqual(Version),
    Greater(Version),
    GreaterOrEqual(Version),
    /// Not below the version that ends a range, nor one of its pre-releases.
    Before(Version),
}

impl Requirement {
    /// Tells whether a version satisfies this requirement.
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| {
            all.iter().all(|comparator| comparator.holds(version))
                && (!version.is_prerelease()
                    || all
                        .iter()
                        .any(|comparator| comparator.names_prerelease_of(version)))
        })
    }
}

impl Requirement {
    /// Tells whether a version lies within the bounds, pre-release or not: [`Requirement::matches`] for a caller that
    /// takes pre-releases.
    pub fn admits(&self, version: &Version) -> bool {
        let holds = |comparator: &Comparator| comparator.holds(version);
        self.alternatives.iter().any(|all| all.iter().all(holds))
    }

    /// Tells whether a pre-release may satisfy this requirement: whether it names one.
    pub fn names_prerelease(&self) -> bool {
        let comparators = self.alternatives.iter().flatten();
        comparators
            .into_iter()
            .any(|one| one.bound().is_prerelease())
    }
}

impl Comparator {
    fn holds(&self, version: &Version) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Self::Exact(bound) => version == bound,
            Self::Equal(bound) => version.precedence(bound) == Equal,
            Self::NotEqual(bound) => version.precedence(bound) != Equal,
            Self::Less(bound) => version.precedence(bound) == Less,
            Self::LessOrEqual(bound) => version.precedence(bound) != Greater,
            Self::Greater(bound) => version.precedence(bound) == Greater,
            Self::GreaterOrEqual(bound) => version.precedence(bound) != Less,
            Self::Before(bound) => {
                version.precedence(bound) == Less && !version.is_prerelease_of(bound)
            }
        }
    }

    /// Returns the version that bounds it.
    fn bound(&self) -> &Version {
        let (Self::Exact(bound)
        | Self::Equal(bound)
        | Self::NotEqual(bound)
        | Self::Less(bound)
        | Self::LessOrEqual(bound)
        | Self::Greater(bound)
        | Self::GreaterOrEqual(bound)
        | Self::Before(bound)) = self;
        bound
    }

    fn names_prerelease_of(&self, version: &Version) -> bool {
        let bound = self.bound();
        bound.is_prerelease() && version.is_prerelease_of(bound)
    }
}

impl FromStr for Requirement {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: String| {
            Invalid::new("version requirement", text, why).hint(
                "write for example `1.2.3`, `^1.2`, `~1.2`, `>=1.2 <2`, `1.x` or `1.2.3 || 2.x`",
            )
        };
        if text.len() > REQUIREMENT_MAX {
            return Err(fail(format!("is longer than {REQUIREMENT_MAX} bytes")));
        }
        if text.trim().is_empty() {
            return Err(fail("is empty; `*` means any version".into()));
        }
        let mut alternatives = Vec::new();
        for alternative in text.split("||") {
            let mut comparators = Vec::new();
            // Commas and spaces both mean "and"; an operator may stand apart from its version.
            let mut operator = "";
            for word in alternative
                .split([' ', '\t', ','])
                .filter(|word| !word.is_empty())
            {
                let bare = word.trim_start_matches(['<', '>', '=', '!', '^', '~']);
                let (own, _) = word
                    .split_at_checked(word.len().saturating_sub(bare.len()))
                    .unwrap_or((word, ""));
                if !own.is_empty() && !operator.is_empty() {
                    return Err(fail("has two operators in a row".into()));
                }
                if bare.is_empty() {
                    operator = own;
                    continue;
                }
                let operator = if own.is_empty() {
                    std::mem::take(&mut operator)
                } else {
                    own
                };
                let partial = Partial::parse(bare).map_err(|why| {
                    fail(format!(
                        "has the part `{}`, which {why}",
                        crate::escape::shown(bare)
                    ))
                })?;
                partial.bounds(operator, &mut comparators).map_err(fail)?;
            }
            if !operator.is_empty() {
                return Err(fail("has an operator without a version".into()));
            }
            if alternative.trim().is_empty() {
                return Err(fail("has an empty alternative".into()));
            }
            alternatives.push(comparators);
        }
        Ok(Self {
            text: text.trim().to_owned(),
            alternatives,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A version whose last numbers may be missing or `x`, `X` or `*`.
struct Partial {
    numbers: [Option<u64>; 3],
    /// The version, when it is complete.
    full: Option<Version>,
}

impl Partial {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text
            .strip_prefix(['v', 'V'])
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            .unwrap_or(text);
        if text.len() > VERSION_MAX {
            return Err(format!("is longer than {VERSION_MAX} bytes"));
        }
        let core = text
            .find(['-', '+'])
            .map_or(text, |cut| text.get(..cut).unwrap_or_default());
        let mut numbers = [None; 3];
        let mut open = false;
        let mut parts = core.split('.');
        for slot in &mut numbers {
            let Some(part) = parts.next() else {
                open = true;
                continue;
            };
            if matches!(part, "x" | "X" | "*") {
                open = true;
            } else if open {
                return Err("has a number after `x`".into());
            } else {
                let plain = part.bytes().all(|b| b.is_ascii_digit())
                    && (part == "0" || !part.starts_with('0'));
                *slot = Some(
                    part.parse()
                        .ok()
                        .filter(|_| plain)
                        .ok_or("is not a version")?,
                );
            }
        }
        if parts.next().is_some() {
            return Err("has more than three numbers".into());
        }
        if open && core.len() != text.len() {
            return Err("has a pre-release or build but not all three numbers".into());
        }
        let full = if open {
            None
        } else {
            Some(text.parse().map_err(|e: Invalid| e.why.into_owned())?)
        };
        Ok(Self { numbers, full })
    }

    /// Returns the lowest version that the numbers allow, with `bump` of them counted up: 0 for none, 1 for the first …
    fn edge(&self, bump: usize) -> Result<Version, String> {
        let [mut major, mut minor, mut patch] = self.numbers.map(Option::unwrap_or_default);
        let up = |n: u64| n.checked_add(1).ok_or("has a number that is too large");
        match bump {
            1 => (major, minor, patch) = (up(major)?, 0, 0),
            2 => (minor, patch) = (up(minor)?, 0),
            3 => patch = up(patch)?,
            _ => {}
        }
        format!("{major}.{minor}.{patch}")
            .parse()
            .map_err(|error: Invalid| error.to_string())
    }

    fn bounds(&self, operator: &str, out: &mut Vec<Comparator>) -> Result<(), String> {
        let given = self.numbers.iter().filter(|n| n.is_some()).count();
        let lowest = match &self.full {
            Some(full) => full.clone(),
            None => self.edge(0)?,
        };
        // The first version after those that a partial version stands for.
        let after = |this: &Self| this.edge(given);
        match (operator, &self.full) {
            ("", Some(full)) => out.push(Comparator::Exact(full.clone())),
            ("=" | "==", Some(full)) => out.push(Comparator::Equal(full.clone())),
            ("!=", Some(full)) => out.push(Comparator::NotEqual(full.clone())),
            ("!=", None) => {
                return Err("has `!=` before a version without all three numbers".into());
            }
            (">", Some(full)) => out.push(Comparator::Greater(full.clone())),
            ("<=", Some(full)) => out.push(Comparator::LessOrEqual(full.clone())),
            ("<", Some(full)) if full.is_prerelease() => out.push(Comparator::Less(full.clone())),
            // No bound at all: every release.
            ("" | "=" | "==" | ">=" | "<=" | "^" | "~", None) if given == 0 => {}
            (">" | "<", None) if given == 0 => {
                return Err(format!("has `{operator}*`, which nothing satisfies"));
            }
            ("" | "=" | "==", None) => {
                out.extend([
                    Comparator::GreaterOrEqual(lowest),
                    Comparator::Before(after(self)?),
                ]);
            }
            (">", None) => out.push(Comparator::GreaterOrEqual(after(self)?)),
            ("<=", None) => out.push(Comparator::Before(after(self)?)),
            (">=", _) => out.push(Comparator::GreaterOrEqual(lowest)),
            ("<", _) => out.push(Comparator::Before(lowest)),
            ("~", _) => {
                let end = self.edge(given.min(2))?;
                out.extend([Comparator::GreaterOrEqual(lowest), Comparator::Before(end)]);
            }
            ("^", _) => {
                // The first number that is not zero may not change; of all zeros, the last that is given.
                let first = self.numbers.iter().take(given).position(|n| *n != Some(0));
                let end = self.edge(first.map_or(given, |index| index.saturating_add(1)))?;
                out.extend([Comparator::GreaterOrEqual(lowest), Comparator::Before(end)]);
            }
            _ => return Err(format!("has the unknown operator `{operator}`")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(requirement: &str) -> String {
        let requirement: Requirement = requirement.parse().unwrap();
        [
            "0.0.3",
            "0.0.4",
            "0.2.3",
            "0.2.9",
            "0.3.0",
            "1.0.0",
            "1.2.2",
            "1.2.3",
            "1.2.3+b",
            "1.2.9",
            "1.3.0",
            "1.10.0",
            "2.0.0-rc.1",
            "2.0.0",
            "3.0.0",
        ]
        .into_iter()
        .filter(|version| requirement.matches(&version.parse().unwrap()))
        .collect::<Vec<_>>()
        .join(" ")
    }

    #[test]
    fn requirements_select_versions() {
        for (requirement, want) in [
            ("1.2.3", "1.2.3"),
            ("v1.2.3", "1.2.3"),
            ("1.2.3+b", "1.2.3+b"),
            ("=1.2.3", "1.2.3 1.2.3+b"),
            ("1.2", "1.2.2 1.2.3 1.2.3+b 1.2.9"),
            ("1.2.x", "1.2.2 1.2.3 1.2.3+b 1.2.9"),
            ("1.x", "1.0.0 1.2.2 1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0"),
            ("^1.2.3", "1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0"),
            ("^1", "1.0.0 1.2.2 1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0"),
            ("^0.2.3", "0.2.3 0.2.9"),
            ("^0.0.3", "0.0.3"),
            ("^0.0", "0.0.3 0.0.4"),
            ("^0", "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0"),
            ("~1.2.3", "1.2.3 1.2.3+b 1.2.9"),
            ("~1.2", "1.2.2 1.2.3 1.2.3+b 1.2.9"),
            ("~0", "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0"),
            (">=1.2 <2", "1.2.2 1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0"),
            (">= 1.2, < 2", "1.2.2 1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0"),
            (">1.2", "1.3.0 1.10.0 2.0.0 3.0.0"),
            (
                "<=1.2",
                "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3+b 1.2.9",
            ),
            (">1.2.9 !=1.3.0", "1.10.0 2.0.0 3.0.0"),
            ("1.0.0 || >=2", "1.0.0 2.0.0 3.0.0"),
            (
                "*",
                "0.0.3 0.0.4 0.2.3 0.2.9 0.3.0 1.0.0 1.2.2 1.2.3 1.2.3+b 1.2.9 1.3.0 1.10.0 2.0.0 3.0.0",
            ),
            ("2.0.0-rc.1", "2.0.0-rc.1"),
            (">=2.0.0-alpha", "2.0.0-rc.1 2.0.0 3.0.0"),
            ("<2.0.0-rc.2 >1.10.0", "2.0.0-rc.1"),
        ] {
            assert_eq!(matching(requirement), want, "{requirement}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            " ",
            "||",
            "1.2.3 ||",
            ">",
            ">=",
            "> >1",
            "latest",
            "1.2.3.4",
            "01.2",
            "1.x.3",
            "1.2-rc",
            ">*",
            "!=1.2",
            "=>1",
            "1.2.3 - 2",
            "^^1",
            "18446744073709551615.x",
        ] {
            assert!(bad.parse::<Requirement>().is_err(), "{bad}");
        }
    }
}
