//! Locations: a text that names a directory, an archive, a layout, a registry or a stream.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::digest::Digest;
use crate::escape::shown;
use crate::invalid::Invalid;
use crate::tag::Tag;

use super::{Reference, is_registry};

/// Where a bundle is, or shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// `-`: the standard input or output, holding an archive.
    Stream,
    /// A bundle directory, or an archive: what is there decides when it is opened.
    Path(PathBuf),
    /// `oci:DIRECTORY[:NAME][@DIGEST]`: an OCI image layout.
    Layout {
        /// The directory of the layout.
        path: PathBuf,
        /// Which image in it.
        entry: Entry,
    },
    /// `oci-archive:FILE[:NAME][@DIGEST]`: an OCI image layout in a tar.
    Archive {
        /// The tar.
        path: PathBuf,
        /// Which image in it.
        entry: Entry,
    },
    /// `HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`: a registry.
    Registry(Reference),
}

/// Which image of a layout is meant; with neither name nor digest, the only one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The image that has this name (`org.opencontainers.image.ref.name`).
    pub name: Option<Tag>,
    /// The image that has this digest.
    pub digest: Option<Digest>,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, ":{name}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl Location {
    /// Returns the archive at a path, as a location of its own.
    pub fn archive(path: &Path) -> Self {
        Self::Archive {
            path: path.to_owned(),
            entry: Entry::default(),
        }
    }
}

impl FromStr for Location {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() {
            return Err(Invalid::new("location", text, "is empty"));
        }
        if text.contains('\0') {
            return Err(Invalid::new("location", text, "holds a NUL character"));
        }
        if text == "-" {
            return Ok(Self::Stream);
        }
        if text.contains("://") && !text.starts_with(['.', '/']) {
            return Ok(Self::Registry(text.parse()?));
        }
        if let Some(rest) = text.strip_prefix("oci:") {
            let (path, entry) = parse_entry(text, rest)?;
            return Ok(Self::Layout { path, entry });
        }
        if let Some(rest) = text.strip_prefix("oci-archive:") {
            let (path, entry) = parse_entry(text, rest)?;
            return Ok(Self::Archive { path, entry });
        }
        match text.split_once('/') {
            // `user:password@host/…` is meant for a registry too, and refused there.
            Some((first, _)) if is_registry(first) => {
                let parsed = text.parse().map(Self::Registry);
                parsed.map_err(|invalid: Invalid| match invalid.hint {
                    None if !first.contains(':') => invalid.hint(format!(
                        "if you mean a file or directory, write `./{}`",
                        shown(text)
                    )),
                    _ => invalid,
                })
            }
            _ => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

/// Splits `DIRECTORY[:NAME][@DIGEST]`: a name is what follows the last `:` if it holds no `/`.
fn parse_entry(whole: &str, text: &str) -> Result<(PathBuf, Entry), Invalid> {
    let (text, digest) = match text.rsplit_once('@') {
        Some((path, digest)) if digest.starts_with("sha256:") || digest.starts_with("sha512:") => {
            (path, Some(digest.parse()?))
        }
        _ => (text, None),
    };
    let (path, name) = match text.rsplit_once(':') {
        Some((path, name)) if !name.contains(['/', '\\']) => (path, Some(Tag::spelled(name)?)),
        _ => (text, None),
    };
    if path.is_empty() {
        return Err(Invalid::new("location", whole, "has no path"));
    }
    Ok((PathBuf::from(path), Entry { name, digest }))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream => f.write_str("-"),
            Self::Path(path) => f.write_str(&path.to_string_lossy()),
            Self::Layout { path, entry } => write!(f, "oci:{}{entry}", path.to_string_lossy()),
            Self::Archive { path, entry } => {
                write!(f, "oci-archive:{}{entry}", path.to_string_lossy())
            }
            Self::Registry(reference) => {
                // A host of such a name would be read as a kind of place.
                if ["oci", "oci-archive"].contains(&reference.repository.registry().host()) {
                    f.write_str("oci://")?;
                }
                reference.fmt(f)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_location_prints_as_what_is_read_again() {
        for text in [
            "oci://oci:2/a",
            "oci://oci-archive:5000/a:1.0.0",
            "oci:a:b",
            "reg.io/a",
        ] {
            let location: Location = text.parse().unwrap();
            assert_eq!(location.to_string(), text);
            assert_eq!(location.to_string().parse::<Location>().unwrap(), location);
        }
    }

    #[test]
    fn an_entry_is_what_follows_a_path() {
        let entry = |text: &str| match text.parse::<Location>().unwrap() {
            Location::Layout { path, entry } | Location::Archive { path, entry } => (
                path.to_str().unwrap().to_owned(),
                entry.name.map(|name| name.to_string()),
                entry.digest.map(|digest| digest.to_string()),
            ),
            other => panic!("{other:?}"),
        };
        let pinned = format!("oci-archive:a:1@{DIGEST}");
        for (text, path, name, digest) in [
            ("oci:a", "a", None, None),
            ("oci:a:1", "a", Some("1"), None),
            ("oci:a@2x:1", "a@2x", Some("1"), None),
            ("oci:a@2x", "a@2x", None, None),
            ("oci:a:b/c", "a:b/c", None, None),
            ("oci:C:\\x", "C:\\x", None, None),
            ("oci-archive:/x.tar:v1", "/x.tar", Some("v1"), None),
            (&pinned, "a", Some("1"), Some(DIGEST)),
        ] {
            let want = (
                path.to_owned(),
                name.map(Into::into),
                digest.map(Into::into),
            );
            assert_eq!(entry(text), want, "{text}");
        }
        for bad in ["oci:", "oci::1", "oci:a@sha256:1", "oci:a:-x"] {
            assert!(bad.parse::<Location>().is_err(), "{bad}");
        }
    }

    #[test]
    fn what_could_be_a_file_is_said_to_be_written_with_a_dot() {
        let hint = |text: &str| text.parse::<Location>().unwrap_err().hint;
        let file = hint("manifests.d/a b").unwrap();
        assert!(file.contains("write `./manifests.d/a b`"), "{file}");
        assert_eq!(hint("reg.io:5000/a b"), None);
    }

    #[test]
    fn credentials_in_a_reference_are_refused_and_not_repeated() {
        for text in [
            "user:hunter2@reg.io/a",
            "oci://user:hunter2@reg.io/a",
            "https://user:hunter2@reg.io/a:1",
            "u:hunter2@localhost:5000/a",
        ] {
            let invalid = text.parse::<Location>().unwrap_err();
            assert!(
                !format!("{invalid} {:?}", invalid.hint).contains("hunter2"),
                "{invalid}"
            );
        }
    }

    #[test]
    fn the_text_alone_decides_the_kind_of_place() {
        let at = |text: &str| text.parse::<Location>().unwrap();
        assert_eq!(at("-"), Location::Stream);
        for path in [
            "etcd",
            "./ghcr.io/x",
            "../a.b/c",
            "/abs/a:b",
            "a/b.c",
            "demo:13546",
            "a.tar",
            ".hidden/x",
            "team/demo",
        ] {
            assert_eq!(at(path), Location::Path(path.into()));
        }
        let entry = |name: Option<&str>, digest: Option<&str>| Entry {
            name: name.map(|n| n.parse().unwrap()),
            digest: digest.map(|d| d.parse().unwrap()),
        };
        assert_eq!(
            at("oci:dir"),
            Location::Layout {
                path: "dir".into(),
                entry: entry(None, None)
            }
        );
        assert_eq!(
            at("oci:a:b/dir:1.0.0"),
            Location::Layout {
                path: "a:b/dir".into(),
                entry: entry(Some("1.0.0"), None)
            }
        );
        assert_eq!(
            at(&format!("oci-archive:x.tar:v1@{DIGEST}")),
            Location::Archive {
                path: "x.tar".into(),
                entry: entry(Some("v1"), Some(DIGEST))
            }
        );
        assert!(matches!(at("ghcr.io/x"), Location::Registry(_)));
        assert!(matches!(at("localhost/x"), Location::Registry(_)));
        assert!(matches!(at("reg:5000/x"), Location::Registry(_)));
        for text in [
            "oci:dir",
            "oci:dir:1",
            "oci-archive:a.tar",
            "ghcr.io/x:1",
            "a/b",
            "-",
        ] {
            assert_eq!(at(&at(text).to_string()), at(text));
        }
        for bad in ["", "oci:", "oci::x", "etcd-3.5.0/", "a\0"] {
            assert!(bad.parse::<Location>().is_err(), "{bad}");
        }
        let hint = "etcd-3.5.0/".parse::<Location>().unwrap_err().hint.unwrap();
        assert_eq!(
            hint,
            "if you mean a file or directory, write `./etcd-3.5.0/`"
        );
    }
}
