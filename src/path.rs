//! Paths inside a bundle: relative, `/`-separated, and such that every system can hold them.
//!
//! One rule for packing and unpacking (P3): a path that cannot be written as it stands on Linux, macOS and Windows
//! alike, or that two systems could take for two different files, is refused, never rewritten (spec/image.md, "Names").

use std::fmt;
use std::str::FromStr;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

use crate::escape::is_unsafe;
use crate::invalid::Invalid;

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
    let stem: String = stem.nfkc().collect::<String>().to_ascii_uppercase();
    matches!(
        stem.as_str(),
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$"
    ) || ["COM", "LPT"].iter().any(|port| {
        stem.strip_prefix(port)
            .is_some_and(|n| n.len() == 1 && n.bytes().all(|b| b.is_ascii_digit()))
    })
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
            &long,
            &deep,
            &wide,
        ] {
            assert!(bad.parse::<BundlePath>().is_err(), "{bad:?}");
        }
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
    fn parts_of_a_path() {
        let path: BundlePath = "manifests/rbac/role.yaml".parse().unwrap();
        assert_eq!(path.file_name(), "role.yaml");
        assert_eq!(path.parent().unwrap().as_str(), "manifests/rbac");
        assert_eq!(path.strip_prefix("manifests"), Some("rbac/role.yaml"));
        assert_eq!(path.strip_prefix("manifest"), None);
        assert_eq!("a".parse::<BundlePath>().unwrap().parent(), None);
    }
}
