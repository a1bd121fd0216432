//! Standard input, which a call reads once: it is the source `-` or a password, never both.

use std::io::Read as _;
use std::sync::{Arc, Mutex, PoisonError};

use manifest_bundle::credential::Secret;
use manifest_bundle::{Error, Kind, Result};

/// The longest password, in bytes.
const PASSWORD_MAX: u64 = 64 * 1024;

/// Standard input of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stdin {
    /// Whether a source of the call is `-`.
    is_source: bool,
    /// The password, once it was read: both sides of a call may want it.
    password: Arc<Mutex<Option<Secret>>>,
}

impl Stdin {
    /// Takes what the call says of standard input.
    pub(crate) fn new(is_source: bool) -> Self {
        Self {
            is_source,
            password: Arc::default(),
        }
    }

    /// Returns the password on standard input; one newline at its end is not part of it.
    pub(crate) fn password(&self) -> Result<Secret> {
        if self.is_source {
            return Err(Error::usage(
                "stdin holds the source `-`, and cannot hold a password as well",
            )
            .hint("set BUNDLE_PASSWORD, or keep the password with `bundle login`"));
        }
        let mut password = self.password.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(password) = password.as_ref() {
            return Ok(password.clone());
        }
        Ok(password.insert(read_password()?).clone())
    }
}

fn read_password() -> Result<Secret> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(PASSWORD_MAX.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Error::new(
                Kind::Io,
                format!("cannot read the password from stdin: {error}"),
            )
        })?;
    if bytes.len() as u64 > PASSWORD_MAX {
        return Err(Error::usage(format!(
            "the password on stdin is longer than {PASSWORD_MAX} bytes"
        )));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Error::usage("the password on stdin is not UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(Error::usage("the password on stdin is empty"));
    }
    Ok(Secret::new(text))
}
