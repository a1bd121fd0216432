//! Content digests: `sha256:…` and `sha512:…`, parsed into bytes so that they cannot hold anything else.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256, Sha512};

use crate::invalid::Invalid;

/// The digest of some bytes.
///
/// Written as `ALGORITHM:HEX` with lower-case hexadecimal digits. Two algorithms exist for this project:
/// sha256, which everything that is written uses, and sha512, which is also verified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Digest {
    /// 32 bytes.
    Sha256([u8; 32]),
    /// 64 bytes.
    Sha512([u8; 64]),
}

impl Digest {
    /// Returns the sha256 digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self::Sha256(Sha256::digest(bytes).into())
    }

    /// Returns the digest of `bytes` in this digest's algorithm, to compare the two.
    #[must_use]
    pub fn like(&self, bytes: &[u8]) -> Self {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Returns the algorithm's name as it stands in the text form.
    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "sha256",
            Self::Sha512(_) => "sha512",
        }
    }

    /// Returns the hexadecimal half of the text form.
    pub fn hex(&self) -> String {
        use fmt::Write as _;
        let bytes: &[u8] = match self {
            Self::Sha256(bytes) => bytes,
            Self::Sha512(bytes) => bytes,
        };
        let mut hex = String::with_capacity(bytes.len().saturating_mul(2));
        for byte in bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }

    /// Returns a hasher of this digest's algorithm, to check some bytes against it.
    pub fn hasher(&self) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher::sha256(),
            Self::Sha512(_) => Hasher::Sha512(Sha512::new()),
        }
    }
}

/// Computes a digest over bytes that arrive in pieces.
#[derive(Debug, Clone)]
pub enum Hasher {
    /// For sha256.
    Sha256(Sha256),
    /// For sha512.
    Sha512(Sha512),
}

impl Hasher {
    /// Starts a sha256 digest.
    pub fn sha256() -> Self {
        Self::Sha256(Sha256::new())
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the digest of all bytes that were added.
    pub fn finish(self) -> Digest {
        match self {
            Self::Sha256(hasher) => Digest::Sha256(hasher.finalize().into()),
            Self::Sha512(hasher) => Digest::Sha512(hasher.finalize().into()),
        }
    }
}

impl FromStr for Digest {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let fail = |why: &'static str| Invalid::new("digest", text, why);
        let (algorithm, hex) = text.split_once(':').ok_or_else(|| {
            fail("has no algorithm; it is written `sha256:` and 64 hexadecimal digits")
        })?;
        match algorithm {
            "sha256" => unhex(hex)
                .map(Self::Sha256)
                .ok_or_else(|| fail("needs 64 lower-case hexadecimal digits after `sha256:`")),
            "sha512" => unhex(hex)
                .map(Self::Sha512)
                .ok_or_else(|| fail("needs 128 lower-case hexadecimal digits after `sha512:`")),
            _ => Err(fail("uses an algorithm other than sha256 and sha512")),
        }
    }
}

/// Reads exactly `N` bytes of lower-case hexadecimal digits.
fn unhex<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    if digits.len() != N.checked_mul(2)? {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => digit.checked_sub(b'0'),
        b'a'..=b'f' => digit.checked_sub(b'a' - 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm(), self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests_round_trip() {
        let empty = Digest::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(empty.to_string(), text);
        assert_eq!(format!("{empty:?}"), text);
        assert_eq!(text.parse::<Digest>().unwrap(), empty);
        let long = format!("sha512:{}", "0f".repeat(64));
        assert_eq!(long.parse::<Digest>().unwrap().to_string(), long);
    }

    #[test]
    fn a_digest_is_compared_in_its_own_algorithm() {
        let mut hasher = Hasher::Sha512(Sha512::new());
        hasher.update(b"abc");
        let long = hasher.finish();
        assert_eq!(long.like(b"abc"), long);
        assert_ne!(long.like(b"abd"), long);
        assert_eq!(Digest::of(b"").like(b"abc"), Digest::of(b"abc"));
    }

    #[test]
    fn hashing_in_pieces_is_hashing() {
        let mut hasher = Hasher::sha256();
        hasher.update(b"ab");
        hasher.update(b"c");
        assert_eq!(hasher.finish(), Digest::of(b"abc"));
    }

    #[test]
    fn anything_else_is_refused() {
        let hex = "a".repeat(64);
        for bad in [
            String::new(),
            "sha256:".into(),
            hex.clone(),
            format!("SHA256:{hex}"),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha256:{}", "a".repeat(63)),
            format!("sha256:{}", "a".repeat(65)),
            format!("sha256:{hex}?x"),
            "sha256:../../../v2/other/manifests/x".into(),
            format!("md5:{}", "a".repeat(32)),
            format!("sha256+b64u:{hex}"),
            format!("sha256:{}é", "a".repeat(62)),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
