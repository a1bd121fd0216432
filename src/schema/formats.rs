//! The formats of texts of which it is certain what an API server takes; others are not looked at.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A format that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Date,
    DateTime,
    Ipv4,
    Ipv6,
    Cidr,
    Uuid,
    Byte,
}

impl Format {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "date" => Self::Date,
            "date-time" | "datetime" => Self::DateTime,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "uuid" => Self::Uuid,
            "byte" => Self::Byte,
            _ => return None,
        })
    }

    /// Returns what a text of this format is.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Date => "a date (YYYY-MM-DD)",
            Self::DateTime => "a time (YYYY-MM-DDThh:mm:ssZ)",
            Self::Ipv4 => "an IPv4 address",
            Self::Ipv6 => "an IPv6 address",
            Self::Cidr => "a range of IP addresses (ADDRESS/BITS)",
            Self::Uuid => "a UUID",
            Self::Byte => "base64",
        }
    }

    /// Tells whether a text may be of this format.
    pub(super) fn may_be(self, text: &str) -> bool {
        let address = |text: &str| text.parse::<IpAddr>().is_ok();
        match self {
            Self::Date => has_shape(text, "0000-00-00"),
            Self::DateTime => {
                let parts = text.split_once(['T', 't']);
                parts.is_some_and(|(date, time)| {
                    let time = time.get(..8).unwrap_or_default();
                    has_shape(date, "0000-00-00") && has_shape(time, "00:00:00")
                })
            }
            Self::Ipv4 => address(text) && text.contains('.'),
            Self::Ipv6 => address(text) && text.contains(':'),
            Self::Cidr => text.split_once('/').is_some_and(|(ip, bits)| {
                address(ip) && bits.parse::<u8>().is_ok_and(|bits| bits <= 128)
            }),
            Self::Uuid => {
                let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
                digits == 32 && text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
            }
            // Whether an empty text is base64 is not the same everywhere.
            Self::Byte => text.is_empty() || STANDARD.decode(text).is_ok(),
        }
    }
}

/// Tells whether a text is like another one in which `0` stands for a digit.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(found, wanted)| match wanted {
                b'0' => found.is_ascii_digit(),
                other => found == other,
            })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_where_they_are_certain() {
        for (name, right, wrong) in [
            ("date", "2026-01-31", "31.1.2026"),
            (
                "date-time",
                "2026-01-31T10:00:00.5+01:00",
                "2026-01-31 10:00:00",
            ),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "fe80::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            ("byte", "YWJj", "YWJ"),
        ] {
            let format = Format::of(name).unwrap();
            assert!(format.may_be(right), "{name} {right}");
            assert!(!format.may_be(wrong), "{name} {wrong}");
        }
        assert_eq!(Format::of("int32"), None);
        assert_eq!(Format::of("hostname"), None);
    }
}
