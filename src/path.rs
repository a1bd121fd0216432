//! Paths inside a bundle: relative, `/`-separated, and such that every system can hold them.
//!
//! One rule for packing and unpacking (P3): a path that cannot be written as it stands on Linux, macOS and Windows
//! alike, or that two systems could take for two different files, is refused, never rewritten (spec/image.md, "Names").
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::borrow::Borrow;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

use crate::error::{Error, Kind};
use crate::escape::{is_unsafe, shown_bytes};
use crate::invalid::Invalid;
use crate::limits::Ceiling;

/// The longest path, in bytes.
pub const PATH_MAX: usize = 1024;
/// The longest component of a path, in bytes.
pub const COMPONENT_MAX: usize = 255;
/// The largest number of components of a path.
pub const DEPTH_MAX: usize = 32;

/// The path of a file or directory in a bundle, such as `manifests/rbac/role.yaml`.
///
/// Relative and normal by construction: no empty, `.` or `..` component, no `\`, `:`, control or invisible character,
/// no name that a common system reserves, no component that begins with `.wh.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BundlePath(String);

impl BundlePath {
    /// Takes the name of a file or archive entry as a path, or says why a bundle cannot carry it.
    ///
    /// Packing and unpacking both admit names here, so both refuse with the same words (P3). A name that is too long or
    /// too deep is [`Kind::Limit`], every other fault is [`Kind::Unsafe`].
    pub fn admit(name: &[u8]) -> Result<Self, Error> {
        let longest = name.split(|b| *b == b'/').map(<[u8]>::len).max();
        let depth = name.split(|b| *b == b'/').count();
        for (ceiling, found) in [
            (Ceiling::Path, name.len()),
            (Ceiling::PathComponent, longest.unwrap_or(0)),
            (Ceiling::PathDepth, depth),
        ] {
            let found = found as u64;
            if found > ceiling.default_value() {
                return Err(Error::limit(ceiling, ceiling.default_value(), found)
                    .at(format_args!("path `{}`", shown_bytes(name))));
            }
        }
        let text = str::from_utf8(name).map_err(|_| {
            Error::unsafe_content(format!("path `{}` is not UTF-8", shown_bytes(name)))
        })?;
        text.parse::<Self>()
            .map_err(|invalid| invalid.of_kind(Kind::Unsafe))
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the components from the first to the last.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the directory that holds this path, or nothing when it is at the root.
    pub fn parent(&self) -> Option<Self> {
        self.0
            .rsplit_once('/')
            .map(|(parent, _)| Self(parent.to_owned()))
    }

    /// Returns this path below `directory`.
    pub fn below(&self, directory: &Self) -> Result<Self, Invalid> {
        format!("{directory}/{self}").parse()
    }

    /// Returns what remains of this path below `directory`, if it is there.
    pub fn strip_prefix(&self, directory: &str) -> Option<&str> {
        self.0.strip_prefix(directory)?.strip_prefix('/')
    }

    /// Returns the form under which a system that ignores case or normalises Unicode would file this path.
    ///
    /// Two different paths with one folded form collide: a bundle that has both is refused.
    pub fn folded(&self) -> String {
        if self.0.is_ascii() {
            return self.0.to_ascii_lowercase();
        }
        // Compatibility normalisation and full case folding, twice: folding can undo a normal form.
        let once: String = self.0.nfkd().default_case_fold().nfkd().collect();
        once.chars().default_case_fold().nfkc().collect()
    }
}

impl FromStr for BundlePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: String| Invalid::new("path", text, why);
        if text.is_empty() {
            return Err(fail("is empty".into()));
        }
        if text.len() > PATH_MAX {
            return Err(fail(format!("is longer than {PATH_MAX} bytes")));
        }
        if text.starts_with('/') {
            return Err(fail("is absolute".into()));
        }
        for (depth, component) in text.split('/').enumerate() {
            if depth >= DEPTH_MAX {
                return Err(fail(format!("is deeper than {DEPTH_MAX} components")));
            }
            component_fault(component).map_or(Ok(()), |why| Err(fail(why)))?;
        }
        Ok(Self(text.to_owned()))
    }
}

/// The paths of one bundle, watched for two that some system would take for one.
#[derive(Debug, Default)]
pub struct Distinct {
    by_fold: BTreeMap<String, BundlePath>,
}

impl Distinct {
    /// Adds a path and the directories that hold it.
    ///
    /// Fails with [`Kind::Unsafe`] when an earlier path differs from it, or from one of those directories, by nothing
    /// but case or Unicode form (spec/image.md, "Names").
    pub fn add(&mut self, path: &BundlePath) -> Result<(), Error> {
        let folded = path.folded();
        match self.by_fold.get(&folded) {
            Some(known) if known == path => return Ok(()),
            Some(known) => {
                return Err(Error::unsafe_content(format!(
                    "`{known}` and `{path}` are one file where case or Unicode form is ignored"
                ))
                .file(path));
            }
            None => {}
        }
        if let Some(parent) = path.parent() {
            self.add(&parent)?;
        }
        self.by_fold.insert(folded, path.clone());
        Ok(())
    }
}

/// Says what is wrong with one component, if something is.
fn component_fault(component: &str) -> Option<String> {
    if component.is_empty() {
        return Some("has an empty component".into());
    }
    if component == "." || component == ".." {
        return Some(format!("has the component `{component}`"));
    }
    if component.len() > COMPONENT_MAX {
        return Some(format!("has a component longer than {COMPONENT_MAX} bytes"));
    }
    if let Some(c) = component
        .chars()
        .find(|c| is_unsafe(*c) || "\\:*?\"<>|".contains(*c))
    {
        return Some(format!(
            "holds the character {}, which not every system can have in a name",
            if is_unsafe(c) {
                format!("U+{:04X}", u32::from(c))
            } else {
                format!("`{c}`")
            }
        ));
    }
    if component.starts_with(' ') || component.ends_with([' ', '.']) {
        return Some(
            "has a component that begins with a space or ends with a space or a dot".into(),
        );
    }
    if component.starts_with(".wh.") {
        return Some(
            "has a component that begins with `.wh.`, which layers use for deletions".into(),
        );
    }
    // Some systems would file `‥` as `..` and `℀` as `a/c`.
    if !component.is_ascii() {
        let compatible: String = component.nfkc().collect();
        if compatible.contains('/') || compatible == "." || compatible == ".." {
            return Some(format!(
                "has a component that normalises to `{compatible}`, which is no name"
            ));
        }
    }
    if is_device(component) {
        return Some(format!(
            "has the component `{component}`, which Windows reserves for a device"
        ));
    }
    // `.git` and the short name that Windows gives it would turn an unpacked bundle into a repository with hooks.
    if component.eq_ignore_ascii_case(".git") || component.to_ascii_lowercase().starts_with("git~")
    {
        return Some(format!(
            "has the component `{component}`, which belongs to git"
        ));
    }
    None
}

/// Tells whether Windows takes a name, with any extension, for a device.
fn is_device(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or_default().trim_end();
    // `COM¹` is one, too; such a name has a digit or letter outside of ASCII.
    let stem: Cow<'_, str> = if stem.is_ascii() {
        Cow::Borrowed(stem)
    } else {
        Cow::Owned(stem.nfkc().collect())
    };
    let stem = stem.to_ascii_uppercase();
    matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || ["COM", "LPT"].iter().any(|port| {
        stem.strip_prefix(port)
            .is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// A path is found by its text: it compares and hashes as the text does.
impl Borrow<str> for BundlePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_are_paths() {
        for good in [
            "a",
            "manifests/a.yaml",
            "a b.yaml",
            "café.yaml",
            ".sourceignore",
            "a..b",
            "...a",
            "Corefile",
            "console.yaml",
            "com.yaml",
            "com10",
            "a@b#c%41.yaml",
            "漢字",
        ] {
            assert_eq!(good.parse::<BundlePath>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn names_that_some_system_cannot_hold_are_refused() {
        let long = "a/".repeat(511) + "aaa";
        let deep = vec!["a"; 33].join("/");
        let wide = "a".repeat(256);
        for bad in [
            "",
            "/etc/passwd",
            "//etc",
            "..",
            ".",
            "../x",
            "a/../b",
            "./a",
            "a/.",
            "a//b",
            "a/",
            "C:\\x",
            "C:x",
            "a\\b",
            "a:b",
            "a\0",
            "a\nb",
            "\u{1b}[2J",
            "a\u{202e}b",
            "\u{feff}a",
            " a",
            "a ",
            "a.",
            "a/b./c",
            ".wh.a",
            "x/.wh..wh..opq",
            "CON",
            "nul.yaml",
            "com1.txt",
            "COM¹",
            "lpt9",
            ".git",
            "a/.GIT/config",
            "GIT~1",
            "a*",
            "a?",
            "a|b",
            "a\"b",
            "a<b",
            "a/\u{2025}/b",
            "\u{2100}",
            &long,
            &deep,
            &wide,
        ] {
            assert!(bad.parse::<BundlePath>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn each_ceiling_of_a_path_is_the_last_size_that_passes() {
        let path = |sizes: &[usize]| {
            let parts: Vec<String> = sizes.iter().map(|size| "a".repeat(*size)).collect();
            parts.join("/")
        };
        for (good, bad) in [
            (path(&[204; 5]), path(&[204, 204, 204, 204, 205])),
            (path(&[255]), path(&[256])),
            (path(&[1, 255]), path(&[1, 256])),
            (path(&[1; 32]), path(&[1; 33])),
        ] {
            assert_eq!(BundlePath::admit(good.as_bytes()).unwrap().as_str(), good);
            let parsed: BundlePath = good.parse().unwrap();
            assert_eq!(parsed.as_str(), good);
            let text: &str = parsed.borrow();
            assert_eq!(text, good);
            let error = BundlePath::admit(bad.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), Kind::Limit, "{error}");
            assert!(bad.parse::<BundlePath>().is_err());
        }
        let much_too_long = path(&[204; 12]);
        assert!(much_too_long.parse::<BundlePath>().is_err());
    }

    #[test]
    fn names_that_some_system_takes_for_one_have_one_folded_form() {
        for (a, b) in [
            ("A.yaml", "a.yaml"),
            ("café", "cafe\u{301}"),
            ("ﬁ", "fi"),
            ("ß", "SS"),
            ("ａ", "a"),
            ("Σ", "ς"),
            ("K", "\u{212a}"),
        ] {
            let [a, b]: [BundlePath; 2] = [a.parse().unwrap(), b.parse().unwrap()];
            assert_eq!(a.folded(), b.folded(), "{a} {b}");
        }
    }

    #[test]
    fn a_name_from_outside_is_admitted_or_refused_by_its_kind_of_fault() {
        assert_eq!(BundlePath::admit(b"a/b.yaml").unwrap().as_str(), "a/b.yaml");
        for (name, kind, words) in [
            ("a/".repeat(600).into_bytes(), Kind::Limit, "limit `path`"),
            (vec![b'a'; 256], Kind::Limit, "limit `path-component` = 255"),
            (b"a/".to_vec(), Kind::Unsafe, "empty component"),
            (
                "a/".repeat(33).into_bytes(),
                Kind::Limit,
                "limit `path-depth`",
            ),
            (b"a\xff".to_vec(), Kind::Unsafe, "not UTF-8"),
            (b"../a".to_vec(), Kind::Unsafe, "`..`"),
            (b"a\x1b".to_vec(), Kind::Unsafe, "U+001B"),
        ] {
            let error = BundlePath::admit(&name).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(words), "{error}");
        }
    }

    #[test]
    fn paths_that_collide_are_found_in_names_of_files_and_of_directories() {
        let add = |paths: &[&str]| -> Result<(), Error> {
            let mut distinct = Distinct::default();
            paths
                .iter()
                .try_for_each(|path| distinct.add(&path.parse().unwrap()))
        };
        add(&["a/x", "a/y", "a/x", "b/x"]).unwrap();
        for bad in [
            ["a/X.yaml", "a/x.yaml"],
            ["A/x.yaml", "a/y.yaml"],
            ["caf\u{e9}", "cafe\u{301}"],
            ["a", "A/b"],
        ] {
            let error = add(&bad).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsafe);
            let [first, second] = bad.map(|path| path.split('/').next().unwrap());
            assert!(error.message().contains(first), "{error}");
            assert!(error.message().contains(second), "{error}");
        }
    }

    #[test]
    fn parts_of_a_path() {
        let path: BundlePath = "manifests/rbac/role.yaml".parse().unwrap();
        assert_eq!(path.file_name(), "role.yaml");
        assert_eq!(path.parent().unwrap().as_str(), "manifests/rbac");
        assert_eq!(path.strip_prefix("manifests"), Some("rbac/role.yaml"));
        assert_eq!(path.strip_prefix("manifest"), None);
        assert_eq!("a".parse::<BundlePath>().unwrap().parent(), None);
    }
}
