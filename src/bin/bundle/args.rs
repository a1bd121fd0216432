//! The arguments that several commands share. Their doc comments are the manual.

mod limits;

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, ValueEnum};
use manifest_bundle::Kind;
use manifest_bundle::expectation::Expectations;
use manifest_bundle::invalid::Invalid;
use manifest_bundle::metadata::{Identity, Mediatype, Placeholders};
use manifest_bundle::name::{ChannelName, OperatorId, PackageName};
use manifest_bundle::oci::Annotations;
use manifest_bundle::reference::Location;
use manifest_bundle::requirement::Requirement;
use manifest_bundle::tag::Tag;
use manifest_bundle::version::{KubernetesVersion, Version};

use crate::commands::Command;
use crate::talk::Talk;

pub(crate) use limits::LimitArgs;

/// Carries Kubernetes manifests, as versioned and verifiable bundles, through any OCI registry
#[derive(Debug, Parser)]
#[command(
    name = "bundle",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
#[command(
    after_help = "A source is a bundle directory, an archive (FILE.tar), a layout (oci:DIR[:NAME]) or a registry reference \
    (HOST/REPOSITORY[:TAG][@DIGEST]); `-` is an archive on stdin, or objects where a command packs or validates. The pinned reference goes to stdout, everything else to stderr."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// How the answer is written
    #[arg(long, global = true, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Format,
    /// Say nothing but the answer and errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Say more: which registries are asked, the way there, which credentials were found, what tags name; twice for each request
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    pub(crate) verbose: u8,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// The forms of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
    /// The same as YAML
    Yaml,
    /// SARIF 2.1.0 for code hosts, of `validate` alone
    Sarif,
}

/// Declares the arguments that reach a registry, with a prefix for commands that reach two.
macro_rules! access_args {
    ($name:ident, $prefix:literal, $short:expr, $heading:literal) => {
        #[doc = concat!("How a registry is reached (`", $prefix, "`).")]
        #[derive(Debug, Clone, Default, Args)]
        pub(crate) struct $name {
            /// Use plain HTTP, or HTTPS with `=false`; by itself, plain HTTP is for this machine only
            #[arg(id = concat!($prefix, "plain-http"), long = concat!($prefix, "plain-http"), num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", help_heading = $heading)]
            plain_http: Option<bool>,
            /// Do not verify the registry's certificate; stays HTTPS
            #[arg(id = concat!($prefix, "insecure"), long = concat!($prefix, "insecure"), help_heading = $heading)]
            insecure: bool,
            /// Trust the authorities in this PEM file as well
            #[arg(id = concat!($prefix, "ca-file"), long = concat!($prefix, "ca-file"), value_name = "FILE", help_heading = $heading)]
            ca_file: Vec<PathBuf>,
            /// Show this client certificate, PEM
            #[arg(id = concat!($prefix, "cert-file"), long = concat!($prefix, "cert-file"), value_name = "FILE", help_heading = $heading)]
            cert_file: Option<PathBuf>,
            /// The private key of the client certificate, PEM
            #[arg(id = concat!($prefix, "key-file"), long = concat!($prefix, "key-file"), value_name = "FILE", help_heading = $heading)]
            key_file: Option<PathBuf>,
            /// The user name; the password comes from --password-stdin or BUNDLE_PASSWORD
            #[arg(id = concat!($prefix, "username"), long = concat!($prefix, "username"), short = $short, value_name = "NAME", help_heading = $heading)]
            username: Option<String>,
            /// Read the password from stdin
            #[arg(id = concat!($prefix, "password-stdin"), long = concat!($prefix, "password-stdin"), help_heading = $heading)]
            password_stdin: bool,
            /// Look for credentials in this file only, docker's config.json or podman's auth.json
            #[arg(id = concat!($prefix, "registry-config"), long = concat!($prefix, "registry-config"), value_name = "FILE", help_heading = $heading)]
            registry_config: Option<PathBuf>,
            /// Let the token service on this host have the password, though it is on another domain
            #[arg(id = concat!($prefix, "auth-realm"), long = concat!($prefix, "auth-realm"), value_name = "HOST", help_heading = $heading)]
            auth_realm: Vec<String>,
        }

        impl $name {
            /// Returns the arguments without their prefix.
            pub(crate) fn access(&self) -> Access {
                Access {
                    plain_http: self.plain_http,
                    insecure: self.insecure,
                    ca_file: self.ca_file.clone(),
                    cert_file: self.cert_file.clone(),
                    key_file: self.key_file.clone(),
                    username: self.username.clone(),
                    password_stdin: self.password_stdin,
                    registry_config: self.registry_config.clone(),
                    auth_realm: self.auth_realm.clone(),
                }
            }
        }
    };
}

access_args!(AccessArgs, "", 'u', "Registry");
access_args!(FromArgs, "from-", None::<char>, "Registry of the source");
access_args!(ToArgs, "to-", None::<char>, "Registry of the destination");

/// How a registry is reached, from whichever flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) plain_http: Option<bool>,
    pub(crate) insecure: bool,
    pub(crate) ca_file: Vec<PathBuf>,
    pub(crate) cert_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) username: Option<String>,
    pub(crate) password_stdin: bool,
    pub(crate) registry_config: Option<PathBuf>,
    pub(crate) auth_realm: Vec<String>,
}

impl Access {
    /// Leaves a registry on this machine at plain HTTP, unless its own flags say otherwise.
    pub(crate) fn keep_plain_on_this_machine(&mut self, location: &Location) {
        let says_tls = self.insecure || self.cert_file.is_some() || !self.ca_file.is_empty();
        if let Location::Registry(reference) = location
            && reference.repository.registry().is_loopback()
            && !says_tls
        {
            self.plain_http.get_or_insert(true);
        }
    }

    /// Fills what these flags leave open from flags that hold for both sides.
    pub(crate) fn or(self, both: &Self) -> Self {
        let pick = |own: Vec<PathBuf>, other: &Vec<PathBuf>| {
            if own.is_empty() { other.clone() } else { own }
        };
        let own_user = self.username.is_some();
        Self {
            plain_http: self.plain_http.or(both.plain_http),
            insecure: self.insecure || both.insecure,
            ca_file: pick(self.ca_file, &both.ca_file),
            cert_file: self.cert_file.or_else(|| both.cert_file.clone()),
            key_file: self.key_file.or_else(|| both.key_file.clone()),
            password_stdin: self.password_stdin || (!own_user && both.password_stdin),
            username: self.username.or_else(|| both.username.clone()),
            registry_config: self
                .registry_config
                .or_else(|| both.registry_config.clone()),
            auth_realm: if self.auth_realm.is_empty() {
                both.auth_realm.clone()
            } else {
                self.auth_realm
            },
        }
    }
}

/// How transfers run.
#[derive(Debug, Clone, Args)]
pub(crate) struct TransferArgs {
    /// How many blobs travel at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64), help_heading = "Registry")]
    pub(crate) concurrency: u8,
    /// Give up after this time, such as `90s` or `5m`
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Registry")]
    pub(crate) timeout: Option<Duration>,
}

/// Reads a duration such as `90s`, `5m`, `1h` or `500ms`.
fn duration(text: &str) -> Result<Duration, String> {
    let cut = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(cut).unwrap_or((text, ""));
    let number: u64 = number
        .parse()
        .map_err(|_| "write a number with `s`, `m` or `h`, such as `90s`".to_owned())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => {
            return Err(format!(
                "write a unit: `{number}s`, `{number}m` or `{number}h`"
            ));
        }
    };
    number
        .checked_mul(milliseconds)
        .map(Duration::from_millis)
        .ok_or_else(|| "is too long".to_owned())
}

/// What the bundle must be; `pull` and `unpack` write nothing unless it is.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExpectationArgs {
    /// The package that it must be
    #[arg(long, value_name = "NAME", value_parser = word::<PackageName>, help_heading = "Expectations")]
    package: Option<PackageName>,
    /// The version that it must have: `1.2.3`, `^1.2`, `>=1.2 <2`, `1.x || 2.0.0`
    #[arg(long, value_name = "REQUIREMENT", value_parser = word::<Requirement>, help_heading = "Expectations")]
    version: Option<Requirement>,
    /// The operator that will apply it: it must be meant for this one
    #[arg(long, value_name = "ID", value_parser = word::<OperatorId>, help_heading = "Expectations")]
    operator_id: Option<OperatorId>,
    #[command(flatten)]
    running: RunningArgs,
}

/// Where the bundle must be able to run.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunningArgs {
    /// The version of that operator: it must not ask for a later one
    #[arg(long, value_name = "VERSION", value_parser = spelled, help_heading = "Expectations")]
    operator_version: Option<Spelled>,
    /// The version of the cluster: it must not ask for a later one
    #[arg(long, value_name = "VERSION", value_parser = word::<KubernetesVersion>, help_heading = "Expectations")]
    kubernetes_version: Option<KubernetesVersion>,
    /// Accept a bundle that names no operator
    #[arg(long, help_heading = "Expectations")]
    allow_unbound: bool,
}

impl ExpectationArgs {
    /// Returns the expectations, and says what was read otherwise than it was written.
    pub(crate) fn expectations(&self, talk: &Talk) -> Expectations {
        if let Some(requirement) = &self.version {
            let text = requirement.to_string();
            let is_end = |c: char| c.is_whitespace() || ",|<>=!^~".contains(c);
            for word in text.split(is_end).filter(|word| has_v(word)) {
                tell_of_v(talk, "--version", word);
            }
        }
        Expectations {
            package: self.package.clone(),
            version: self.version.clone(),
            operator_id: self.operator_id.clone(),
            ..self.running.expectations(talk)
        }
    }
}

impl RunningArgs {
    /// Returns the expectations, and says what was read otherwise than it was written.
    pub(crate) fn expectations(&self, talk: &Talk) -> Expectations {
        tell_of_versions(
            talk,
            [("--operator-version", self.operator_version.as_ref())],
        );
        Expectations {
            operator_version: version_of(self.operator_version.as_ref()),
            kubernetes_version: self.kubernetes_version,
            allow_unbound: self.allow_unbound,
            ..Expectations::default()
        }
    }
}

/// What the bundle is, where its metadata does not say it.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub(crate) struct IdentityArgs {
    /// The package
    #[arg(long, value_name = "NAME", value_parser = word::<PackageName>, help_heading = "Identity")]
    pub(crate) package: Option<PackageName>,
    /// The version, SemVer
    #[arg(long, value_name = "VERSION", value_parser = spelled, help_heading = "Identity")]
    version: Option<Spelled>,
    /// The operator that the bundle is meant for
    #[arg(long, value_name = "ID", value_parser = word::<OperatorId>, help_heading = "Identity")]
    pub(crate) operator_id: Option<OperatorId>,
    /// The lowest version of that operator that understands the bundle
    #[arg(long, value_name = "VERSION", value_parser = spelled, help_heading = "Identity")]
    min_operator_version: Option<Spelled>,
    /// The lowest version of Kubernetes
    #[arg(long, value_name = "VERSION", value_parser = word::<KubernetesVersion>, help_heading = "Identity")]
    min_kubernetes_version: Option<KubernetesVersion>,
    /// The channels that the bundle belongs to
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = word::<ChannelName>, help_heading = "Identity")]
    channels: Vec<ChannelName>,
    /// What is in manifests/: `manifests` or `kustomize`
    #[arg(long, value_name = "KIND", value_parser = one_of::<Mediatype>(&["manifests", "kustomize"]), help_heading = "Identity")]
    mediatype: Option<Mediatype>,
    /// The objects have placeholders that the operator fills: `go-template`
    #[arg(long, value_name = "KIND", value_parser = one_of::<Placeholders>(&["go-template"]), help_heading = "Identity")]
    placeholders: Option<Placeholders>,
    /// Another annotation; it is written into the metadata, the labels and the manifest
    #[arg(short, long = "annotation", value_name = "KEY=VALUE", value_parser = annotation, help_heading = "Identity")]
    annotations: Vec<(String, String)>,
}

impl IdentityArgs {
    /// Says what was read otherwise than it was written.
    pub(crate) fn tell(&self, talk: &Talk) {
        tell_of_versions(
            talk,
            [
                ("--version", self.version.as_ref()),
                ("--min-operator-version", self.min_operator_version.as_ref()),
            ],
        );
    }

    /// Returns the identity.
    pub(crate) fn identity(&self) -> manifest_bundle::Result<Identity> {
        let mut annotations = Annotations::new();
        for (key, value) in &self.annotations {
            if annotations.insert(key.clone(), value.clone()).is_some() {
                let key = manifest_bundle::escape::shown(key);
                return Err(manifest_bundle::Error::usage(format!(
                    "--annotation gives `{key}` twice"
                )));
            }
        }
        Ok(Identity {
            package: self.package.clone(),
            version: version_of(self.version.as_ref()),
            operator_id: self.operator_id.clone(),
            min_operator_version: version_of(self.min_operator_version.as_ref()),
            min_kubernetes_version: self.min_kubernetes_version,
            channels: self.channels.clone(),
            mediatype: self.mediatype,
            placeholders: self.placeholders,
            annotations,
        })
    }

    /// Takes out what is an expectation of a bundle that is packed already: package, version and operator.
    pub(crate) fn take_expectations(
        &mut self,
        expected: &mut Expectations,
        talk: &Talk,
    ) -> manifest_bundle::Result<()> {
        self.tell(talk);
        if let Some(version) = self.version.take() {
            let requirement = version.version.to_string().parse();
            expected.version = Some(requirement.map_err(|i: Invalid| i.of_kind(Kind::Usage))?);
        }
        expected.package = self.package.take().or(expected.package.take());
        expected.operator_id = self.operator_id.take().or(expected.operator_id.take());
        Ok(())
    }
}

/// Parses a word of the format; the hint comes behind the reason.
pub(crate) fn word<T: FromStr<Err = Invalid>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|invalid| with_hint(&invalid))
}

/// A version, and how it was written where that was with a leading `v`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spelled {
    version: Version,
    with_v: Option<String>,
}

fn version_of(spelled: Option<&Spelled>) -> Option<Version> {
    spelled.map(|spelled| spelled.version.clone())
}

/// Parses one of a few words, which help and completion list.
fn one_of<T>(words: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = Invalid> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|text| word::<T>(&text))
}

/// Parses a version; a leading `v` is taken off.
fn spelled(text: &str) -> Result<Spelled, String> {
    let (version, had_v) = Version::parse_lenient(text).map_err(|invalid| with_hint(&invalid))?;
    Ok(Spelled {
        version,
        with_v: had_v.then(|| text.to_owned()),
    })
}

fn has_v(word: &str) -> bool {
    let rest = word.strip_prefix(['v', 'V']);
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Says that versions have no `v` (spec/bundle.md): what was asked for is not what was written.
fn tell_of_v(talk: &Talk, flag: &str, text: &str) {
    let bare = text.get(1..).unwrap_or_default();
    talk.say(format!(
        "{flag}: `{text}` is read as `{bare}`, because versions have no leading `v`"
    ));
}

fn tell_of_versions<const N: usize>(talk: &Talk, flags: [(&str, Option<&Spelled>); N]) {
    for (flag, spelled) in flags {
        if let Some(text) = spelled.and_then(|spelled| spelled.with_v.as_ref()) {
            tell_of_v(talk, flag, text);
        }
    }
}

/// Reads a tag; a version may have its `+`.
pub(crate) fn tag(text: &str) -> Result<Tag, String> {
    Tag::spelled(text).map_err(|invalid| with_hint(&invalid))
}

fn with_hint(invalid: &Invalid) -> String {
    match &invalid.hint {
        Some(hint) => format!("{invalid}; {hint}"),
        None => invalid.to_string(),
    }
}

fn annotation(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}
