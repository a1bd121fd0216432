//! Where credentials are looked for, as values. Which variables mean what is here; reading them is the binary's affair.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use super::helper::Helpers;
use super::read::{self, Config};
use super::{Notice, Tell};
use crate::credential::Secret;
use crate::error::{Error, Result};
use crate::escape::shown;

/// The places where credentials are looked for, in the order of [the module](super).
#[derive(Debug, Clone)]
pub struct Sources {
    /// `--registry-config`, else `REGISTRY_AUTH_FILE`; it must exist, and it is the only place then.
    pub explicit_file: Option<PathBuf>,
    /// The text of `DOCKER_AUTH_CONFIG`.
    pub inline: Option<Secret>,
    /// The files to look in, those that do not exist included.
    pub files: Vec<PathBuf>,
    /// How credential helpers are found and run.
    pub helpers: Helpers,
}

impl Sources {
    /// Takes the places from the values of environment variables, which the caller read.
    ///
    /// An empty variable counts as unset; `HOME` and the `XDG_` directories count only when they are absolute, so that
    /// nothing is taken from the current directory unless `DOCKER_CONFIG` or `REGISTRY_AUTH_FILE` says so in words.
    ///
    /// # Errors
    ///
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a `DOCKER_AUTH_CONFIG` that is no UTF-8.
    pub fn from_environment(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        tell: Tell,
    ) -> Result<Self> {
        let variables: Vec<_> = variables.into_iter().collect();
        let value = |name: &str| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value).filter(|v| !v.is_empty())
        };
        let directory = |name: &str| value(name).map(PathBuf::from);
        let absolute = |name: &str| directory(name).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let docker =
            directory("DOCKER_CONFIG").or_else(|| home.as_ref().map(|home| home.join(".docker")));
        let config =
            absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let auth = |directory: PathBuf| directory.join("containers/auth.json");
        let files = [
            docker.map(|directory| directory.join("config.json")),
            absolute("XDG_RUNTIME_DIR").map(auth),
            config.map(auth),
        ];
        let inline = match value("DOCKER_AUTH_CONFIG").map(|text| text.to_str()) {
            None => None,
            Some(Some(text)) => Some(Secret::new(text)),
            Some(None) => return Err(Error::usage("`DOCKER_AUTH_CONFIG` is not UTF-8")),
        };
        let path = value("PATH").cloned().unwrap_or_default();
        Ok(Self {
            explicit_file: directory("REGISTRY_AUTH_FILE"),
            inline,
            files: files.into_iter().flatten().collect(),
            helpers: Helpers::new(path, helper_environment(variables), tell),
        })
    }

    /// Looks nowhere; for callers that fill in what they want.
    pub fn none() -> Self {
        Self {
            explicit_file: None,
            inline: None,
            files: Vec::new(),
            helpers: Helpers::new(OsString::new(), Vec::new(), Tell::nobody()),
        }
    }

    /// Returns the file that `login` writes: the explicit one, else the first one.
    ///
    /// Says so where `DOCKER_AUTH_CONFIG` is set and would hide what is written.
    pub fn login_file(&self) -> Option<&Path> {
        if self.explicit_file.is_none() && self.inline.is_some() {
            self.helpers.tell.tell(Notice::Warning(
                "`DOCKER_AUTH_CONFIG` is set: its entries are used before those in files".into(),
            ));
        }
        self.explicit_file
            .as_deref()
            .or_else(|| self.files.first().map(PathBuf::as_path))
    }

    /// Returns the places in order.
    pub(super) fn places(&self) -> Vec<Place<'_>> {
        if let Some(path) = &self.explicit_file {
            return vec![Place::Explicit(path)];
        }
        let inline = self.inline.iter().map(Place::Inline);
        inline
            .chain(self.files.iter().map(|path| Place::File(path)))
            .collect()
    }
}

/// One place to look in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'s> {
    Explicit(&'s Path),
    Inline(&'s Secret),
    File(&'s Path),
}

impl Place<'_> {
    /// Reads the place; none when it is a file that does not exist and need not.
    pub(super) fn read(self) -> Result<Option<Config>> {
        match self {
            Self::Inline(text) => {
                read::parse(&self.to_string(), text.reveal().as_bytes()).map(Some)
            }
            Self::File(path) => read::file(path),
            Self::Explicit(path) => match read::file(path)? {
                Some(config) => Ok(Some(config)),
                None => Err(Error::usage(format!("credential file {self} does not exist"))
                    .file(path.display())
                    .hint("correct --registry-config or REGISTRY_AUTH_FILE, or run `bundle login`")),
            },
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("`DOCKER_AUTH_CONFIG`"),
            Self::Explicit(path) | Self::File(path) => {
                write!(f, "`{}`", shown(&path.to_string_lossy()))
            }
        }
    }
}

/// Variables that a credential helper gets, by name.
const PASSED: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "TERM",
    "LANG",
    "LANGUAGE",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "GPG_TTY",
    "GNUPGHOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables that a credential helper gets, by how the name begins: locale, desktop, key stores and clouds.
const PASSED_PREFIXES: &[&str] = &[
    "LC_",
    "DBUS_",
    "XDG_",
    "PASSWORD_STORE_",
    "AWS_",
    "GOOGLE_",
    "CLOUDSDK_",
    "AZURE_",
];

/// Proxies, passed unless a password is in them: a helper of a cloud may need one to get out.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Returns the variables that a credential helper gets. `PATH` is passed apart; tokens and settings of ours never are.
pub fn helper_environment(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let is_passed = |name: &OsStr, value: &OsStr| {
        let Some(name) = name.to_str() else {
            return false;
        };
        let proxy = PROXIES.iter().any(|known| known.eq_ignore_ascii_case(name));
        PASSED.contains(&name)
            || PASSED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
            || (proxy && !value.to_string_lossy().contains('@'))
    };
    variables
        .into_iter()
        .filter(|(name, value)| is_passed(name, value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(variables: &[(&str, &str)]) -> Sources {
        let owned = variables.iter().map(|(k, v)| (k.into(), v.into()));
        Sources::from_environment(owned, Tell::nobody()).unwrap()
    }

    #[test]
    fn the_files_follow_from_the_variables() {
        for (variables, want) in [
            (
                &[("HOME", "/h")][..],
                &["/h/.docker/config.json", "/h/.config/containers/auth.json"][..],
            ),
            (
                &[
                    ("HOME", "/h"),
                    ("DOCKER_CONFIG", "/d"),
                    ("XDG_RUNTIME_DIR", "/run/user/1"),
                    ("XDG_CONFIG_HOME", "/c"),
                ],
                &[
                    "/d/config.json",
                    "/run/user/1/containers/auth.json",
                    "/c/containers/auth.json",
                ],
            ),
            // Empty is unset, and what should be absolute and is not is not taken from the current directory.
            (
                &[
                    ("HOME", "."),
                    ("DOCKER_CONFIG", ""),
                    ("XDG_RUNTIME_DIR", ""),
                    ("XDG_CONFIG_HOME", "c"),
                ],
                &[],
            ),
            (&[("DOCKER_CONFIG", "d")], &["d/config.json"]),
            (&[], &[]),
        ] {
            let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
            assert_eq!(sources(variables).files, want, "{variables:?}");
        }
        assert_eq!(
            sources(&[("REGISTRY_AUTH_FILE", "/a")]).explicit_file,
            Some("/a".into())
        );
        assert!(
            sources(&[("REGISTRY_AUTH_FILE", "")])
                .explicit_file
                .is_none()
        );
        assert!(sources(&[("DOCKER_AUTH_CONFIG", "")]).inline.is_none());
        assert!(sources(&[("DOCKER_AUTH_CONFIG", "{}")]).inline.is_some());
    }

    #[test]
    fn an_explicit_file_is_the_only_place() {
        let given = sources(&[
            ("HOME", "/h"),
            ("DOCKER_AUTH_CONFIG", "{}"),
            ("REGISTRY_AUTH_FILE", "/a"),
        ]);
        assert!(matches!(given.places()[..], [Place::Explicit(_)]));
        assert_eq!(given.login_file(), Some(Path::new("/a")));
        let given = sources(&[("HOME", "/h"), ("DOCKER_AUTH_CONFIG", "{}")]);
        assert!(matches!(
            given.places()[..],
            [Place::Inline(_), Place::File(_), Place::File(_)]
        ));
        assert_eq!(
            given.login_file(),
            Some(Path::new("/h/.docker/config.json"))
        );
    }

    #[test]
    fn helpers_get_what_they_need_and_no_secret_of_ours() {
        let all = [
            ("HOME", "/h"),
            ("LC_ALL", "C"),
            ("DBUS_SESSION_BUS_ADDRESS", "x"),
            ("AWS_PROFILE", "p"),
            ("https_proxy", "http://proxy:3128"),
            ("HTTPS_PROXY", "http://u:hunter2@proxy:3128"),
            ("DOCKER_AUTH_CONFIG", "hunter2"),
            ("BUNDLE_PASSWORD", "hunter2"),
            ("GITHUB_TOKEN", "hunter2"),
            ("LD_PRELOAD", "/x.so"),
        ];
        let kept = helper_environment(all.map(|(k, v)| (k.into(), v.into())));
        let names: Vec<_> = kept.iter().filter_map(|(k, _)| k.to_str()).collect();
        assert_eq!(
            names,
            [
                "HOME",
                "LC_ALL",
                "DBUS_SESSION_BUS_ADDRESS",
                "AWS_PROFILE",
                "https_proxy"
            ]
        );
    }
}
