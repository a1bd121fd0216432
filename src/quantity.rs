//! Amounts of resources as Kubernetes writes them: `100m`, `1Gi`, `1e3`.

use crate::yaml::{Node, Value};

/// An amount, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    /// In billionths, the smallest part that Kubernetes knows.
    nanos: i128,
}

impl Quantity {
    /// Reads a text: a number, and a unit or an exponent; none for what is no quantity, or finer or larger than can be held.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = split(text)?;
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => (-1_i128, digits),
            None => (1, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.trim_end_matches('0');
        let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        let (tens, twos) = scale(unit)?;
        let exponent = tens.checked_add(9)?.checked_sub(places)?;
        let shifted = mantissa.checked_mul(sign)?;
        let shifted = shifted.checked_mul(2_i128.checked_pow(twos)?)?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        let nanos = if exponent >= 0 {
            shifted.checked_mul(power)?
        } else if shifted % power == 0 {
            shifted / power
        } else {
            return None;
        };
        Some(Self { nanos })
    }

    /// Reads a string or a number.
    pub fn of(node: &Node) -> Option<Self> {
        match &node.value {
            Value::String(text) => Self::parse(text),
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
                Self::parse(&node.to_json().to_string())
            }
            _ => None,
        }
    }
}

/// Tells whether a text is a number with one of the units, or with an exponent, however large or fine.
pub fn is_quantity(text: &str) -> bool {
    split(text).is_some_and(|(_, unit)| scale(unit).is_some())
}

/// Takes the unit from the number.
fn split(text: &str) -> Option<(&str, &str)> {
    let signs = usize::from(text.starts_with(['+', '-']));
    let digits = text.get(signs..)?;
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
    let end = signs.checked_add(end.unwrap_or(digits.len()))?;
    let (number, unit) = text.split_at_checked(end)?;
    let is_number = number.bytes().any(|b| b.is_ascii_digit())
        && number.bytes().filter(|b| *b == b'.').count() <= 1;
    is_number.then_some((number, unit))
}

/// Returns of which power of ten and of two a unit is.
fn scale(unit: &str) -> Option<(i32, u32)> {
    Some(match unit {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => (unit.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_amounts_are_equal_however_they_are_written() {
        for (a, b) in [
            ("1", "1000m"),
            ("1Gi", "1024Mi"),
            ("0.5", "500m"),
            (".5", "0.50"),
            ("1e3", "1k"),
            ("-1", "-1000m"),
            ("1.5Gi", "1536Mi"),
            ("+1", "1.0"),
        ] {
            assert_eq!(
                Quantity::parse(a).unwrap(),
                Quantity::parse(b).unwrap(),
                "{a} {b}"
            );
        }
        assert!(Quantity::parse("1G") < Quantity::parse("1Gi"));
        for (text, is_one) in [
            ("", false),
            ("m", false),
            ("1 Gi", false),
            ("1GB", false),
            ("1.2.3", false),
            ("one", false),
            ("12E", true),
            ("1E6", true),
            ("1e-6", true),
            ("0.1n", true),
            ("1e99", true),
        ] {
            assert_eq!(is_quantity(text), is_one, "{text}");
        }
        for text in [
            "",
            "1e99",
            "0.1n",
            "99999999999999999999999999999999999999999",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
    }
}
