//! Reads one credential file, and one entry of it, into values.
//!
//! A file that is not strict JSON is a fault of the call's settings ([`Kind::Usage`]): it is found before anything is
//! sent, and no registry could change it. An entry that cannot be used is [`Kind::Denied`], because it concerns one
//! registry only. Values of entries never become part of a message.
//!
//! [`Kind::Usage`]: crate::error::Kind::Usage
//! [`Kind::Denied`]: crate::error::Kind::Denied

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};

use crate::credential::{Credential, Secret};
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::json;
use crate::limits::{Ceiling, Limits};

/// Base64 as docker writes it; some tools leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A credential file: the members that concern credentials. No `Debug`: it is full of secrets.
pub(super) struct Config {
    /// Names the file in messages, backticks included.
    pub(super) place: String,
    /// Entries by registry or namespace.
    pub(super) auths: Map<String, Value>,
    /// Names of helpers by registry; an empty one switches `creds_store` off for that registry.
    pub(super) helpers: Map<String, Value>,
    /// The name of the helper for all other registries.
    pub(super) store: Option<String>,
}

/// Reads a file; none when there is no such file.
pub(super) fn file(path: &Path) -> Result<Option<Config>> {
    let place = format!("`{}`", shown(&path.to_string_lossy()));
    match bytes(path)? {
        None => Ok(None),
        Some(bytes) => parse(&place, &bytes)
            .map(Some)
            .map_err(|error| error.file(path.display())),
    }
}

/// Reads the bytes of a file, at most the ceiling; none when there is no such file.
pub(super) fn bytes(path: &Path) -> Result<Option<Vec<u8>>> {
    let place = || format!("credential file `{}`", shown(&path.to_string_lossy()));
    // Without the flag, a named pipe that nobody writes to would block here for ever.
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path);
    let file: File = match opened {
        Ok(file) => file,
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound => return Ok(None),
            // `HOME=/dev/null` is a way to say "no home"; `DOCKER_CONFIG=FILE` is a mistake.
            std::io::ErrorKind::NotADirectory => {
                return match path.parent() {
                    Some(parent) if parent.is_file() => Err(Error::usage(format!(
                        "`{}` is a file, where a directory with `config.json` in it is expected",
                        shown(&parent.to_string_lossy())
                    ))
                    .hint("name the directory, or name the file with --registry-config")),
                    _ => Ok(None),
                };
            }
            _ => return Err(Error::io("cannot read", path, error)),
        },
    };
    let fault = |error| Error::io("cannot read", path, error);
    // `/dev/null` is the usual way to say "no credentials".
    if !file.metadata().map_err(fault)?.is_file() && path != Path::new("/dev/null") {
        let message = format!("{} is not a regular file", place());
        return Err(Error::usage(message).file(path.display()));
    }
    let max = Ceiling::CredentialFile.default_value();
    let mut bytes = Vec::new();
    let reader = file.take(max.saturating_add(1));
    { reader }.read_to_end(&mut bytes).map_err(fault)?;
    if bytes.len() as u64 > max {
        let error = Error::limit(Ceiling::CredentialFile, max, bytes.len() as u64);
        return Err(error.at(place()).file(path.display()));
    }
    Ok(Some(bytes))
}

/// Parses the text of a credential file; `place` names it. A blank text has no entries.
pub(super) fn parse(place: &str, bytes: &[u8]) -> Result<Config> {
    let what = format!("credential file {place}");
    let fail = |why: &str| Error::usage(format!("{what}: {why}"));
    let mut members = if bytes.trim_ascii().is_empty() {
        Map::new()
    } else {
        let value = json::parse(&what, bytes, &Limits::default()).map_err(|error| {
            let line = error.detail().line.unwrap_or(1);
            Error::usage(error.message())
                .line(line)
                .hint("correct it, or name another file with --registry-config")
        })?;
        match value {
            Value::Object(members) => members,
            _ => return Err(fail("it is no JSON object")),
        }
    };
    let mut object = |name: &str| match take(&mut members, name) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(fail(&format!("`{name}` is no JSON object"))),
    };
    let auths = object("auths")?;
    let helpers = object("credHelpers")?;
    let store = match take(&mut members, "credsStore") {
        None | Some(Value::Null) => None,
        // People write an empty name to switch the store off.
        Some(Value::String(name)) => Some(name).filter(|name| !name.is_empty()),
        Some(_) => return Err(fail("`credsStore` is no string")),
    };
    Ok(Config {
        place: place.to_owned(),
        auths,
        helpers,
        store,
    })
}

/// Takes a member out of an object. Docker matches names without regard to case; strict JSON has one at most.
fn take(members: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let key = members.keys().find(|key| key.eq_ignore_ascii_case(name))?;
    let key = key.clone();
    members.remove(&key)
}

/// Returns a member of an object, whatever the case of its name.
pub(super) fn member<'o>(members: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    let mut found = members.iter();
    let (_, value) = found.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    Some(value)
}

/// Reads the entry of `auths` under `key`; none when it holds no credential, as docker leaves it beside a store.
///
/// A registry token beats an identity token, which beats a user and password, which may be there twice if they agree.
pub(super) fn credential(config: &Config, key: &str) -> Result<Option<Credential>> {
    let fail = |why: &str| {
        let message = format!("{}: entry `{}` {why}", config.place, shown(key));
        Error::new(Kind::Denied, message).hint("run `bundle login` to write it anew")
    };
    let entry = match config.auths.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(entry)) => entry,
        Some(_) => return Err(fail("is no JSON object")),
    };
    let text = |name: &str| match member(entry, name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(_) => Err(fail(&format!("has a `{name}` that is no string"))),
    };
    let token = text("registrytoken")?;
    if !token.is_empty() {
        return Ok(Some(Credential::RegistryToken(Secret::new(token))));
    }
    let token = text("identitytoken")?;
    if !token.is_empty() {
        return Ok(Some(Credential::IdentityToken(Secret::new(token))));
    }
    let (username, password) = (text("username")?, text("password")?);
    let auth = text("auth")?;
    if auth.is_empty() {
        return match (username, password) {
            ("", "") => Ok(None),
            ("", _) => Err(fail("has a `password` and no `username`")),
            (_, "") => Err(fail("has a `username` and no `password`")),
            (name, _) if name.contains(':') => Err(fail("has a `:` in its `username`")),
            _ => Ok(Some(basic(username, password))),
        };
    }
    let auth: String = auth.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    let decoded = BASE64
        .decode(auth)
        .map_err(|_| fail("has an `auth` that is no base64"))?;
    let decoded =
        String::from_utf8(decoded).map_err(|_| fail("has an `auth` that is no UTF-8 inside"))?;
    let (user, pass) = decoded
        .split_once(':')
        .ok_or_else(|| fail("has an `auth` without a `:` between user and password"))?;
    // Docker once padded what it wrote with zeros.
    let pass = pass.trim_matches('\0');
    if user.is_empty() {
        return Err(fail("has an `auth` without a user"));
    }
    let differs = |given: &str, inside: &str| !given.is_empty() && given != inside;
    if differs(username, user) || differs(password, pass) {
        return Err(fail(
            "contradicts itself: `auth` and `username` with `password` differ",
        ));
    }
    Ok(Some(basic(user, pass)))
}

fn basic(username: &str, password: &str) -> Credential {
    Credential::Basic {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}
