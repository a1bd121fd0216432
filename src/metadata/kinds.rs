//! Words of the metadata that are one of a few: what the manifests are, and how placeholders are written.

use std::str::FromStr;

use crate::invalid::Invalid;

/// What is in `manifests/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mediatype {
    /// Kubernetes objects, flat.
    Manifests,
    /// A kustomization, which may have sub-directories and files of other kinds.
    Kustomize,
    /// A bundle of the Operator Lifecycle Manager, flat, which has no keys of this format: read and never written.
    RegistryV1,
}

impl Mediatype {
    /// Returns the value of [`MEDIATYPE`](super::key::MEDIATYPE).
    pub fn name(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Kustomize => "kustomize",
            Self::RegistryV1 => "registry+v1",
        }
    }
}

impl FromStr for Mediatype {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "manifests" => Ok(Self::Manifests),
            "kustomize" => Ok(Self::Kustomize),
            _ => Err(Invalid::new(
                "mediatype",
                text,
                "is neither `manifests` nor `kustomize`",
            )),
        }
    }
}

/// How placeholders in the objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Placeholders {
    /// As in Go's text templates: `{{ .DNSIP }}`.
    GoTemplate,
}

impl Placeholders {
    /// Returns the value of [`PLACEHOLDERS`](super::key::PLACEHOLDERS).
    pub fn name(self) -> &'static str {
        match self {
            Self::GoTemplate => "go-template",
        }
    }
}

impl FromStr for Placeholders {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "go-template" => Ok(Self::GoTemplate),
            _ => Err(Invalid::new(
                "kind of placeholders",
                text,
                "is not `go-template`",
            )),
        }
    }
}
