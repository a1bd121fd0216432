//! References: the texts that say where a bundle is (spec/references.md).
//!
//! The text alone decides what kind of place it names, never what exists on disk. There is one parser, [`Location`]'s;
//! a [`Reference`] can be built only from checked parts, so nothing from outside reaches a URL in another way.

mod location;

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;
use crate::escape::shown;
use crate::invalid::Invalid;
use crate::tag::Tag;

pub use location::{Entry, Location};

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
        let has_digest = bare
            .split_once('@')
            .is_some_and(|(_, digest)| digest.parse::<Digest>().is_ok());
        let (name, digest) = match bare.split_once('@') {
            // `oci://etcd@DIGEST` and `oci://etcd:3.5.0@DIGEST` are on Docker Hub.
            Some((name, _)) if !(name.contains('/') || with_scheme && has_digest) => {
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

#[cfg(test)]
mod tests;
