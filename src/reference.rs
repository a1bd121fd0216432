//! References: the texts that say where a bundle is (spec/references.md).
//!
//! The text alone decides what kind of place it names, never what exists on disk. There is one parser, [`Location`]'s;
//! a [`Reference`] can be built only from checked parts, so nothing from outside reaches a URL in another way.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::digest::Digest;
use crate::escape::shown;
use crate::invalid::Invalid;
use crate::tag::Tag;

/// The longest repository path, in bytes.
pub const REPOSITORY_MAX: usize = 255;

/// The name under which Docker Hub is known; its aliases are read as this.
const DOCKER_HUB: &str = "docker.io";

/// A registry: a host and, where given, a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Registry {
    /// A DNS name, an IPv4 address, or an IPv6 address in brackets.
    host: String,
    port: Option<u16>,
}

impl Registry {
    /// Returns the host: a DNS name, an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, if one was given.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Returns the host and port that answer the distribution API: Docker Hub's differs from its name.
    pub fn endpoint(&self) -> String {
        if self.is_docker_hub() {
            "registry-1.docker.io".to_owned()
        } else {
            self.to_string()
        }
    }

    /// Tells whether this is Docker Hub; with a port it is whatever listens there.
    pub fn is_docker_hub(&self) -> bool {
        self.host == DOCKER_HUB && self.port.is_none()
    }

    /// Tells whether this is the machine itself, where plain HTTP is used by default: `localhost`, 127.0.0.0/8 or `[::1]`.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost"
            || self.host == "[::1]"
            || self
                .host
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl FromStr for Registry {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: &'static str| Invalid::new("registry", text, why);
        if text.contains('@') {
            // What stands before the `@` may be a password: it is not repeated.
            return Err(Invalid::new("registry", "…", "holds credentials")
                .hint("give them with --username and --password-stdin, or run `bundle login`"));
        }
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (address, rest) = rest
                .split_once(']')
                .ok_or_else(|| fail("has a `[` without a `]`"))?;
            let address: std::net::Ipv6Addr = address
                .parse()
                .map_err(|_| fail("has no IPv6 address between the brackets"))?;
            let port = match rest {
                "" => None,
                _ => Some(
                    rest.strip_prefix(':')
                        .ok_or_else(|| fail("has something other than a port after `]`"))?,
                ),
            };
            (format!("[{address}]"), port)
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (text.to_owned(), None),
            }
        };
        let port = match port {
            None => None,
            Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => match port.parse::<u16>() {
                Ok(port) if port > 0 => Some(port),
                _ => return Err(fail("has a port that is not between 1 and 65535")),
            },
            Some(_) => return Err(fail("has a port that is not a number")),
        };
        if !host.starts_with('[') {
            check_host(&host).map_err(|why| {
                let invalid = fail(why);
                let lower = host.to_ascii_lowercase();
                if lower != host && check_host(&lower).is_ok() {
                    invalid.hint(format!("write `{lower}`"))
                } else {
                    invalid
                }
            })?;
        }
        let host = match host.as_str() {
            "index.docker.io" | "registry-1.docker.io" if port.is_none() => DOCKER_HUB.to_owned(),
            _ => host,
        };
        Ok(Self { host, port })
    }
}

/// Checks a DNS name or IPv4 address.
fn check_host(host: &str) -> Result<(), &'static str> {
    if host.is_empty() {
        return Err("has no host");
    }
    if host.len() > 253 {
        return Err("has a host longer than 253 bytes");
    }
    for label in host.split('.') {
        if label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-') {
            return Err("has a host that is no DNS name");
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        {
            return Err("has a host with characters other than a-z, digits, `-` and `.`");
        }
    }
    let numeric = host
        .rsplit('.')
        .next()
        .is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit()));
    if numeric && host.parse::<std::net::Ipv4Addr>().is_err() {
        return Err("has a host that looks like an IPv4 address but is none");
    }
    Ok(())
}

impl fmt::Display for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    registry: Registry,
    path: String,
}

impl Repository {
    /// Makes a repository of a registry, from a path such as `team/etcd`.
    pub fn new(registry: Registry, path: &str) -> Result<Self, Invalid> {
        check_repository(path)?;
        let is_official = registry.is_docker_hub() && !path.contains('/');
        let path = if is_official {
            let whole = format!("library/{path}");
            // What is asked for is longer than what was written.
            check_repository(&whole)?;
            whole
        } else {
            path.to_owned()
        };
        Ok(Self { registry, path })
    }

    /// Returns the registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns the path within the registry, such as `team/etcd`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// Checks a repository path (distribution-spec, "Pulling manifests").
fn check_repository(path: &str) -> Result<(), Invalid> {
    let fail = |why: &'static str| Err(Invalid::new("repository", path, why));
    if path.is_empty() {
        return fail("is empty");
    }
    if path.len() > REPOSITORY_MAX {
        return fail("is longer than 255 bytes");
    }
    if path.bytes().any(|b| b.is_ascii_uppercase()) {
        let lower = path.to_ascii_lowercase();
        return Err(Invalid::new(
            "repository",
            path,
            "has upper-case letters, which registries refuse",
        )
        .hint(format!("write `{}`", shown(&lower))));
    }
    for component in path.split('/') {
        if component.is_empty() {
            return fail("has an empty component");
        }
        if !component
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
        {
            return fail("may hold only a-z, digits, `.`, `_`, `-` and `/`");
        }
        let word = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
        if !word(component.bytes().next()) || !word(component.bytes().last()) {
            return fail("has a component that begins or ends with `.`, `_` or `-`");
        }
        let separators = component
            .split(|c: char| c.is_ascii_alphanumeric())
            .filter(|s| !s.is_empty());
        for separator in separators {
            if !matches!(separator, "." | "_" | "__") && !separator.bytes().all(|b| b == b'-') {
                return fail("has separators in a row other than `__` and `-`s");
            }
        }
    }
    Ok(())
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

impl FromStr for Repository {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let reference: Reference = text.parse()?;
        if let Some(tag) = &reference.tag {
            return Err(
                Invalid::new("repository", text, "has a tag, which is not wanted here")
                    .hint(format!("leave out `:{tag}`")),
            );
        }
        if reference.digest.is_some() {
            return Err(Invalid::new(
                "repository",
                text,
                "has a digest, which is not wanted here",
            ));
        }
        Ok(reference.repository)
    }
}

/// A repository with, where given, a tag and a digest. Where both are given, the digest decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The repository.
    pub repository: Repository,
    /// The tag, if one was given.
    pub tag: Option<Tag>,
    /// The digest, if one was given.
    pub digest: Option<Digest>,
}

impl FromStr for Reference {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: &'static str| Invalid::new("reference", text, why);
        for scheme in ["https://", "http://", "docker://"] {
            if let Some(rest) = text.strip_prefix(scheme) {
                // A URL may carry a password: only what follows an `@` is repeated.
                let rest = rest
                    .split_once('@')
                    .filter(|(user, _)| !user.contains('/'))
                    .map_or(rest, |(_, host)| host);
                return Err(Invalid::new(
                    "reference",
                    &format!("{scheme}{rest}"),
                    "has a scheme other than `oci://`",
                )
                .hint(format!("write `{}`", shown(rest))));
            }
        }
        let (bare, with_scheme) = match text.strip_prefix("oci://") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (name, digest) = match bare.split_once('@') {
            Some((name, _)) if !name.contains('/') => {
                // `user:password@host/…`: the registry's parser words this without repeating it.
                let _: Registry = "credentials@".parse()?;
                let _ = name;
                return Err(fail("has no repository before `@`"));
            }
            Some((name, digest)) => (name, Some(digest.parse::<Digest>()?)),
            None => (bare, None),
        };
        // A colon after the last slash begins a tag; one before it, a port.
        let slash = name.rfind('/');
        let colon = name
            .rfind(':')
            .filter(|colon| slash.is_none_or(|slash| *colon > slash));
        let (name, tag) = match colon {
            Some(colon) => {
                let (name, tag) = name.split_at_checked(colon).unwrap_or((name, ""));
                (
                    name,
                    Some(Tag::spelled(tag.strip_prefix(':').unwrap_or(tag))?),
                )
            }
            None => (name, None),
        };
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_registry(first) => (first.parse::<Registry>()?, path),
            _ if with_scheme => (DOCKER_HUB.parse::<Registry>()?, name),
            Some(_) => {
                return Err(fail(
                    "begins with no registry (a host with a `.`, a port, or `localhost`)",
                )
                .hint(format!("for Docker Hub write `docker.io/{}`", shown(bare))));
            }
            None => {
                return Err(fail("has no repository").hint("write HOST/REPOSITORY[:TAG][@DIGEST]"));
            }
        };
        Ok(Self {
            repository: Repository::new(registry, path)?,
            tag,
            digest,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Tells whether the first component of a text names a registry: it has a `.` or `:` in it, or is `localhost`.
fn is_registry(first: &str) -> bool {
    !first.starts_with('.') && (first.contains(['.', ':']) || first == "localhost")
}

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
    fn a_port_is_never_passed_over() {
        let endpoint = |text: &str| text.parse::<Registry>().unwrap().endpoint();
        assert_eq!(endpoint("docker.io"), "registry-1.docker.io");
        assert_eq!(endpoint("docker.io:2"), "docker.io:2");
        assert_eq!(endpoint("reg.io:5000"), "reg.io:5000");
    }

    #[test]
    fn a_repository_may_be_as_long_as_what_is_asked_for() {
        for (registry, longest) in [("reg.io", 255), ("docker.io", 247), ("docker.io/a", 253)] {
            let of = |length: usize| format!("{registry}/{}", "a".repeat(length));
            let whole = of(longest).parse::<Location>().unwrap();
            assert_eq!(whole.to_string().parse::<Location>().unwrap(), whole);
            assert!(of(longest + 1).parse::<Location>().is_err(), "{registry}");
        }
    }

    #[test]
    fn references_are_split_into_registry_repository_tag_and_digest() {
        let tagged = format!("reg.io/a:v1@{DIGEST}");
        for (text, registry, path, tag, digest) in [
            ("localhost:5000/demo", "localhost:5000", "demo", None, None),
            ("localhost/demo:1", "localhost", "demo", Some("1"), None),
            (
                "oci://demo:13546",
                "docker.io",
                "library/demo",
                Some("13546"),
                None,
            ),
            ("oci://team/demo", "docker.io", "team/demo", None, None),
            ("reg.io/app:13546", "reg.io", "app", Some("13546"), None),
            ("[::1]:5000/demo:1", "[::1]:5000", "demo", Some("1"), None),
            ("[0:0::1]/demo", "[::1]", "demo", None, None),
            ("reg.io/a/b/c/d:v1", "reg.io", "a/b/c/d", Some("v1"), None),
            (tagged.as_str(), "reg.io", "a", Some("v1"), Some(DIGEST)),
            ("oci://reg.io/a:1", "reg.io", "a", Some("1"), None),
            ("reg.io/a:1.0.0+b", "reg.io", "a", Some("1.0.0_b"), None),
            (
                "reg.io/a__b/c.d-e:_x",
                "reg.io",
                "a__b/c.d-e",
                Some("_x"),
                None,
            ),
            ("index.docker.io/x/y", "docker.io", "x/y", None, None),
            ("127.0.0.1:5000/a--b", "127.0.0.1:5000", "a--b", None, None),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(
                reference.repository.registry().to_string(),
                registry,
                "{text}"
            );
            assert_eq!(reference.repository.path(), path, "{text}");
            assert_eq!(reference.tag.as_ref().map(Tag::as_str), tag, "{text}");
            assert_eq!(
                reference.digest.map(|d| d.to_string()).as_deref(),
                digest,
                "{text}"
            );
            let again: Reference = reference.to_string().parse().unwrap();
            assert_eq!(again, reference, "what is printed is read back");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_hint_where_there_is_one() {
        let long_tag = format!("reg.io/a:{}", "t".repeat(129));
        let long_name = format!("reg.io/{}", "a".repeat(256));
        for (text, hint) in [
            ("reg.io/a@sha256:abc", None),
            ("oci://reg.io/a:1/", None),
            ("https://reg.io/a:1", Some("write `reg.io/a:1`")),
            ("ghcr.io/Acme-Org/demo:1", Some("write `acme-org/demo`")),
            ("Reg.io/a", Some("write `reg.io`")),
            (
                "reg.io/a:1.0+b",
                Some("a `+` is written `_` in a tag: `1.0_b`"),
            ),
            ("reg.io/a: 1", None),
            ("reg.io//a:1", None),
            (long_tag.as_str(), None),
            (long_name.as_str(), None),
            ("reg.io/a/../b", None),
            ("reg.io/a/%2e%2e/b", None),
            ("reg.io/a?x", None),
            ("reg.io/a#x", None),
            ("reg.io/a_-b", None),
            ("reg.io/-a", None),
            ("reg.io:0/a", None),
            ("reg.io:65536/a", None),
            ("reg.io:x/a", None),
            ("1.2.3/a", None),
            ("1.2.3.256/a", None),
            ("[fe80::1%25eth0]/b", None),
            ("[::1/b", None),
            ("xn--/b.", None),
            ("ｒｅｇ.io/a", None),
            ("reg.io/a@sha256:", None),
            (
                "team/demo",
                Some("for Docker Hub write `docker.io/team/demo`"),
            ),
        ] {
            let invalid = text.parse::<Reference>().unwrap_err();
            if hint.is_some() {
                assert_eq!(invalid.hint.as_deref(), hint, "{text}");
            }
        }
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

    #[test]
    fn plain_http_is_for_the_machine_itself_only() {
        for (text, local) in [
            ("localhost", true),
            ("localhost:5000", true),
            ("127.0.0.1", true),
            ("127.9.9.9:1", true),
            ("[::1]:5", true),
            ("foo.local", false),
            ("127.0.0.1.evil.com", false),
            ("localhost.evil.com", false),
            ("[::2]", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(
                text.parse::<Registry>().unwrap().is_loopback(),
                local,
                "{text}"
            );
        }
    }
}
