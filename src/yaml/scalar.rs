//! What a scalar means: Go's YAML 1.1 rules (go-yaml v2), which decide what Kubernetes sees.
//!
//! `yes`, `on` and `y` are booleans, `0644` is octal, underscores in numbers are dropped, a number too large for 64 bits
//! is a float and one too large for a float is a string, sexagesimal numbers and timestamps are strings.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::Value;

/// The prefix that `!!` stands for.
pub(super) const YAML_TAG: &str = "tag:yaml.org,2002:";

/// Returns the value of a scalar that has a tag, plain or quoted.
///
/// A tag of an application (`!x`, `!!set`) leaves the text as it is; the error is a fragment that says what is wrong.
pub(super) fn resolve_tagged(tag: &granit_parser::Tag, text: &str) -> Result<Value, String> {
    let string = || Value::String(text.to_owned());
    let Some(name) = tag.suffix_in_namespace(YAML_TAG) else {
        return Ok(string());
    };
    let found = || resolve(text);
    let value = match &*name {
        "binary" => return decode_binary(text),
        "null" => found().filter(|v| matches!(v, Value::Null)),
        "bool" => found().filter(|v| matches!(v, Value::Bool(_))),
        "int" => found().filter(|v| matches!(v, Value::Int(_) | Value::UInt(_))),
        "float" => found().and_then(|v| match v {
            Value::Float(_) => Some(v),
            #[expect(clippy::cast_precision_loss, reason = "Go converts in the same way")]
            Value::Int(int) => Some(Value::Float(int as f64)),
            _ => None,
        }),
        "timestamp" => looks_like_a_timestamp(text).then(string),
        _ => Some(string()),
    };
    value.ok_or_else(|| format!("does not fit its tag `!!{name}`"))
}

/// Returns what a number used as a key becomes, as Go writes it: six digits before an exponent, rounded to 32 bits.
pub(super) fn float_key(value: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Go formats keys with 32 bits"
    )]
    let value = value as f32;
    if value.is_nan() {
        return ".nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>().unwrap_or(0) {
        -4..=5 => format!("{value}"),
        exponent => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
    }
}

/// Returns the value of an unquoted text, or None when it is a string.
pub(super) fn resolve(text: &str) -> Option<Value> {
    match text.as_bytes().first() {
        None => Some(Value::Null),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text)
        }
        Some(b'.') => infinity(text).or_else(|| fraction(text)),
        Some(b'0'..=b'9' | b'+' | b'-') => infinity(text).or_else(|| number(text)),
        Some(_) => None,
    }
}

/// Returns the value of a word that is not a string.
fn word(text: &str) -> Option<Value> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Some(Value::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Some(Value::Bool(false))
        }
        "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        _ => None,
    }
}

/// Returns the value of the floats that are written as words.
fn infinity(text: &str) -> Option<Value> {
    let value = match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        _ => return None,
    };
    Some(Value::Float(value))
}

/// Returns the value of what begins with a digit or a sign.
fn number(text: &str) -> Option<Value> {
    let plain = without_underscores(text);
    if let Some(int) = signed(&plain, unsigned) {
        return Some(Value::Int(int));
    }
    if let Some(int) = unsigned(&plain) {
        return Some(Value::UInt(int));
    }
    if let Some(float) = decimal(&plain) {
        return Some(Value::Float(float));
    }
    // Go tries binary once more with the prefix cut off, which lets a sign stand behind it: `0b-1` is -1.
    let signed_binary = plain
        .strip_prefix("0b")
        .filter(|digits| digits.starts_with(['+', '-']));
    signed(signed_binary?, |text| digits(text, 2)).map(Value::Int)
}

/// Returns the value of what begins with a dot; here an underscore must stand between two digits.
fn fraction(text: &str) -> Option<Value> {
    let is_digit = |c: Option<&u8>| c.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let misplaced = bytes.iter().enumerate().any(|(i, byte)| {
        *byte == b'_'
            && !(is_digit(i.checked_sub(1).and_then(|i| bytes.get(i)))
                && is_digit(bytes.get(i + 1)))
    });
    if misplaced {
        return None;
    }
    decimal(&without_underscores(text)).map(Value::Float)
}

fn without_underscores(text: &str) -> Cow<'_, str> {
    if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Reads an optional sign and what `magnitude` reads; None when it does not fit into 64 bits.
fn signed(text: &str, magnitude: impl Fn(&str) -> Option<u64>) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(rest) => 0_i64.checked_sub_unsigned(magnitude(rest)?),
        None => magnitude(text.strip_prefix('+').unwrap_or(text))?
            .try_into()
            .ok(),
    }
}

/// Reads an integer without a sign whose prefix says the base: `0x`, `0o`, `0b`, `0` (octal) or none.
fn unsigned(text: &str) -> Option<u64> {
    let Some(rest) = text.strip_prefix('0') else {
        return digits(text, 10);
    };
    let radix = match rest.as_bytes() {
        [] => return Some(0),
        [b'b' | b'B', _, ..] => 2,
        [b'o' | b'O', _, ..] => 8,
        [b'x' | b'X', _, ..] => 16,
        _ => return digits(rest, 8),
    };
    digits(rest.get(1..)?, radix)
}

/// Reads digits only; none at all is no number.
fn digits(text: &str, radix: u32) -> Option<u64> {
    if text.is_empty() || !text.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(text, radix).ok()
}

/// Reads a float in YAML's way of writing, which knows no hexadecimal and no words.
fn decimal(text: &str) -> Option<f64> {
    let skip =
        |text: &'_ str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let whole = skip(rest);
    let mut rest = rest.get(whole..)?;
    let mut fraction = 0;
    if let Some(after) = rest.strip_prefix('.') {
        fraction = skip(after);
        rest = after.get(fraction..)?;
    }
    if whole + fraction == 0 {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if exponent.is_empty() || skip(exponent) != exponent.len() {
            return None;
        }
    } else if !rest.is_empty() {
        return None;
    }
    text.parse::<f64>().ok().filter(|float| float.is_finite())
}

/// Decodes base64 as Go does: line breaks are skipped, and each byte that is not UTF-8 becomes U+FFFD.
fn decode_binary(text: &str) -> Result<Value, String> {
    const BASE64: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    let packed: Vec<u8> = text
        .bytes()
        .filter(|b| !matches!(b, b'\r' | b'\n'))
        .collect();
    let bytes = BASE64
        .decode(packed)
        .map_err(|_| "does not fit its tag `!!binary`: it is no base64".to_owned())?;
    let mut string = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        string.push_str(chunk.valid());
        string.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(Value::String(string))
}

/// Tells whether a text begins as every timestamp does: four digits and a dash.
fn looks_like_a_timestamp(text: &str) -> bool {
    text.len() > 5
        && text.bytes().take(4).all(|b| b.is_ascii_digit())
        && text.as_bytes().get(4) == Some(&b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it keeps the rows of the table short"
    )]
    fn bool(value: bool) -> Option<Value> {
        Some(Value::Bool(value))
    }
    #[expect(
        clippy::unnecessary_wraps,
        reason = "it keeps the rows of the table short"
    )]
    fn int(value: i64) -> Option<Value> {
        Some(Value::Int(value))
    }
    #[expect(
        clippy::unnecessary_wraps,
        reason = "it keeps the rows of the table short"
    )]
    fn float(value: f64) -> Option<Value> {
        Some(Value::Float(value))
    }

    #[test]
    fn unquoted_text_has_the_value_that_go_gives_it() {
        let null = || Some(Value::Null);
        let table: &[(&str, Option<Value>)] = &[
            // Null and booleans, in the writings that count and in some that do not.
            ("", null()),
            ("~", null()),
            ("null", null()),
            ("Null", null()),
            ("NULL", null()),
            ("nUll", None),
            ("none", None),
            ("y", bool(true)),
            ("Y", bool(true)),
            ("yes", bool(true)),
            ("YES", bool(true)),
            ("yEs", None),
            ("on", bool(true)),
            ("On", bool(true)),
            ("oN", None),
            ("true", bool(true)),
            ("True", bool(true)),
            ("tRue", None),
            ("n", bool(false)),
            ("N", bool(false)),
            ("no", bool(false)),
            ("No", bool(false)),
            ("off", bool(false)),
            ("OFF", bool(false)),
            ("false", bool(false)),
            ("FALSE", bool(false)),
            ("yes ", None),
            // Integers.
            ("0", int(0)),
            ("-0", int(0)),
            ("+1", int(1)),
            ("12", int(12)),
            ("1_000", int(1000)),
            ("1__0_", int(10)),
            ("_1", None),
            ("0644", int(420)),
            ("0o644", int(420)),
            ("0O17", int(15)),
            ("-0777", int(-511)),
            ("0x1F", int(31)),
            ("-0x1f", int(-31)),
            ("0X1f", int(31)),
            ("0b101", int(5)),
            ("-0b1", int(-1)),
            ("0b-1", int(-1)),
            ("0b+1", int(1)),
            ("0b", None),
            ("0x", None),
            ("0b2", None),
            ("0xg", None),
            ("0_", int(0)),
            ("9223372036854775807", int(i64::MAX)),
            ("-9223372036854775808", int(i64::MIN)),
            ("9223372036854775808", Some(Value::UInt(1 << 63))),
            ("18446744073709551615", Some(Value::UInt(u64::MAX))),
            ("0xFFFFFFFFFFFFFFFF", Some(Value::UInt(u64::MAX))),
            ("18446744073709551616", float(18_446_744_073_709_551_616.0)),
            ("+18446744073709551615", float(18_446_744_073_709_551_615.0)),
            ("-9223372036854775809", float(-9_223_372_036_854_775_809.0)),
            (
                "12345678901234567890123",
                float(12_345_678_901_234_567_890_123.0),
            ),
            // Floats.
            ("1.10", float(1.1)),
            ("1.", float(1.0)),
            (".5", float(0.5)),
            ("+.5", float(0.5)),
            ("-1.5e-3", float(-0.0015)),
            ("1e3", float(1000.0)),
            ("1E+3", float(1000.0)),
            ("1.e3", float(1000.0)),
            ("08", float(8.0)),
            ("09.5", float(9.5)),
            ("1_0.5_0", float(10.5)),
            (".5_0", float(0.5)),
            (".5e1_0", float(5e9)),
            ("._5", None),
            (".5_", None),
            (".5__0", None),
            ("1e400", None),
            ("12e3456", None),
            ("1e-400", float(0.0)),
            ("-0.0", float(-0.0)),
            (".inf", float(f64::INFINITY)),
            ("+.Inf", float(f64::INFINITY)),
            ("-.INF", float(f64::NEG_INFINITY)),
            ("inf", None),
            ("1e", None),
            ("1e+", None),
            (".", None),
            ("...", None),
            (".e5", None),
            ("-", None),
            ("+", None),
            ("--1", None),
            ("1-2", None),
            // Strings that other readers take for something else.
            ("1:30", None),
            ("190:20:30", None),
            ("2001-01-01", None),
            ("2001-12-14t21:59:43.10-05:00", None),
            ("1.2.3", None),
            ("0o8", None),
            ("<<", None),
            ("=", None),
            ("0x1p4", None),
            ("infinity", None),
            ("nan", None),
            ("1,000", None),
            ("٣", None),
        ];
        for (text, want) in table {
            let found = resolve(text);
            assert_eq!(found, *want, "{text}");
            if let (Some(Value::Float(found)), Some(Value::Float(want))) = (&found, want) {
                assert_eq!(found.to_bits(), want.to_bits(), "{text}: the sign of zero");
            }
        }
        assert!(matches!(resolve(".NaN"), Some(Value::Float(nan)) if nan.is_nan()));
    }

    #[test]
    fn number_keys_are_written_as_go_writes_them() {
        for (value, want) in [
            (1.5, "1.5"),
            (1.1, "1.1"),
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (999_999.0, "999999"),
            (1_000_000.0, "1e+06"),
            (123_456_789.5, "1.2345679e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e-7, "1e-07"),
            (-0.0, "-0"),
            (1e300, ".inf"),
            (-1e300, "-.inf"),
            (f64::NAN, ".nan"),
        ] {
            assert_eq!(float_key(value), want);
        }
    }

    #[test]
    fn a_tag_decides_and_must_fit() {
        let long = |name: &str| granit_parser::Tag::new(YAML_TAG, name);
        let string = |text: &str| Ok(Value::String(text.into()));
        let table = [
            ("str", "12", string("12")),
            ("str", "", string("")),
            ("int", "0x10", Ok(Value::Int(16))),
            ("float", "3", Ok(Value::Float(3.0))),
            ("bool", "yes", Ok(Value::Bool(true))),
            ("null", "~", Ok(Value::Null)),
            ("timestamp", "2001-01-01", string("2001-01-01")),
            ("binary", "aGVs\nbG8=", string("hello")),
            ("binary", "/0E=", string("\u{fffd}A")),
            ("set", "x", string("x")),
        ];
        for (tag, text, want) in table {
            assert_eq!(resolve_tagged(&long(tag), text), want, "{tag} {text}");
        }
        for (tag, text) in [
            ("int", "3.5"),
            ("float", "x"),
            ("bool", "1"),
            ("null", "x"),
            ("timestamp", "x"),
            ("binary", "a*b"),
            ("binary", "aGVsbG8"),
        ] {
            let message = resolve_tagged(&long(tag), text).unwrap_err();
            assert!(message.contains(&format!("!!{tag}")), "{message}");
        }
        let local = granit_parser::Tag::new("!", "mine");
        assert_eq!(resolve_tagged(&local, "12"), string("12"));
    }
}
