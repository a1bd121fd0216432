//! The names of packages, operators and channels: DNS-1123 labels, so that they can be used in a path, a label and a host name.

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;

/// The longest name, in bytes: what a DNS label and a Kubernetes label value can hold.
pub const NAME_MAX: usize = 63;

/// Declares a type that holds a checked name.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                $check($what, text)?;
                Ok(Self(text.to_owned()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The name of a package, such as `etcd`.
    PackageName, "package name", label
}
name! {
    /// The name of the operator that a bundle is meant for, such as `etcd-manager`.
    OperatorId, "operator id", label
}
name! {
    /// The name of a channel, such as `stable`.
    ChannelName, "channel name", channel
}

/// Checks a DNS-1123 label: `a-z`, `0-9` and `-`, not at the ends, at most 63 bytes.
fn label(what: &'static str, text: &str) -> Result<(), Invalid> {
    let fail = |why: &'static str| Invalid::new(what, text, why);
    if text.is_empty() {
        return Err(fail("is empty"));
    }
    if text.len() > NAME_MAX {
        return Err(fail("is longer than 63 bytes"));
    }
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !text.bytes().all(allowed) {
        let invalid = fail("may hold only the letters a-z, digits and `-`");
        let lower = text.to_ascii_lowercase();
        return Err(if lower != text && lower.bytes().all(allowed) {
            invalid.hint(format!("write `{lower}`"))
        } else {
            invalid
        });
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Err(fail("begins or ends with `-`"));
    }
    Ok(())
}

/// Checks a channel name: `[a-z][a-z0-9-]{0,62}`, none of the forms that tags of other kinds have.
fn channel(what: &'static str, text: &str) -> Result<(), Invalid> {
    label(what, text)?;
    let fail = |why: &'static str| Err(Invalid::new(what, text, why));
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return fail("does not begin with a letter");
    }
    if text.starts_with("channel-") {
        return fail("begins with `channel-`, which the tags of channels do");
    }
    if text.starts_with("sha256-") {
        return fail("begins with `sha256-`, which the tags of referrers do");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_accepted_and_everything_else_refused() {
        let longest = "a".repeat(63);
        for good in ["etcd", "a", "0", "etcd-manager", "7zip", longest.as_str()] {
            assert_eq!(good.parse::<PackageName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(64);
        for bad in [
            "",
            "-",
            "a-",
            "-rf",
            "A",
            "a.b",
            "a/b",
            "..",
            ".",
            "a b",
            "ä",
            "a\0",
            "a\n",
            long.as_str(),
        ] {
            assert!(bad.parse::<PackageName>().is_err(), "{bad:?}");
            assert!(bad.parse::<OperatorId>().is_err(), "{bad:?}");
        }
        assert_eq!(
            "Etcd".parse::<PackageName>().unwrap_err().hint.unwrap(),
            "write `etcd`"
        );
    }

    #[test]
    fn channels_are_labels_that_no_other_tag_looks_like() {
        assert!("stable".parse::<ChannelName>().is_ok());
        for bad in ["1x", "channel-a", "sha256-aa", "Stable", "a-"] {
            assert!(bad.parse::<ChannelName>().is_err(), "{bad}");
        }
    }
}
