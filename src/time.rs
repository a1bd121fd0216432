//! Times as they stand in images: RFC 3339 in UTC, with seconds and nothing finer. Nothing here asks a clock.

use crate::invalid::Invalid;

/// The seconds of a day.
const DAY: i64 = 86_400;

/// Checks a time such as `2026-11-30T12:00:00Z` and returns it as it is written into an image.
///
/// Only UTC is taken, so that the text, and with it the digest, cannot depend on a time zone.
pub fn rfc3339_utc(text: &str) -> Result<String, Invalid> {
    let fail = || {
        Invalid::new("time", text, "is not RFC 3339 in UTC with whole seconds")
            .hint("write it as `2026-11-30T12:00:00Z`")
    };
    let shape = "dddd-dd-ddTdd:dd:ddZ";
    let fits = text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(found, wanted)| {
            if wanted == b'd' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        });
    let number = |start: usize, end: usize| {
        text.get(start..end)
            .and_then(|digits| digits.parse::<i64>().ok())
    };
    let parts = [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)]
        .map(|(start, end)| number(start, end));
    let [
        Some(year),
        Some(month),
        Some(day),
        Some(hour),
        Some(minute),
        Some(second),
    ] = parts
    else {
        return Err(fail());
    };
    let real = (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if fits && real {
        Ok(text.to_owned())
    } else {
        Err(fail())
    }
}

/// Turns the value of `SOURCE_DATE_EPOCH`, seconds since 1970, into a time.
pub fn of_epoch_seconds(text: &str) -> Result<String, Invalid> {
    let fail = || {
        Invalid::new(
            "SOURCE_DATE_EPOCH",
            text,
            "is not a number of seconds between 1970 and 9999",
        )
    };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let seconds: i64 = text
        .parse()
        .ok()
        .filter(|s| digits && *s < 253_402_300_800)
        .ok_or_else(fail)?;
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    Ok(format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    ))
}

/// Returns the date that is some days after 1970-01-01.
fn date_of(mut days: i64) -> (i64, i64, i64) {
    let mut year = 1970;
    while days >= days_of_year(year) {
        days = days.saturating_sub(days_of_year(year));
        year = year.saturating_add(1);
    }
    let mut month = 1;
    while days >= days_of(year, month) {
        days = days.saturating_sub(days_of(year, month));
        month = month.saturating_add(1);
    }
    (year, month, days.saturating_add(1))
}

fn days_of_year(year: i64) -> i64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_and_real() {
        for good in ["1970-01-01T00:00:00Z", "2024-02-29T23:59:59Z"] {
            assert_eq!(rfc3339_utc(good).unwrap(), good);
        }
        for bad in [
            "",
            "now",
            "2026-11-30",
            "2026-11-30T12:00:00+01:00",
            "2026-11-30T12:00:00.5Z",
            "2026-11-30 12:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "+026-01-01T00:00:00Z",
            "２０２６-11-30T12:00:00Z",
        ] {
            assert!(rfc3339_utc(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_since_1970_are_times() {
        for (seconds, want) in [
            ("0", "1970-01-01T00:00:00Z"),
            ("951826155", "2000-02-29T12:09:15Z"),
            ("1700000000", "2023-11-14T22:13:20Z"),
            ("253402300799", "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(of_epoch_seconds(seconds).unwrap(), want);
        }
        for bad in [
            "",
            "-1",
            "+1",
            "1.5",
            "253402300800",
            "99999999999999999999",
        ] {
            assert!(of_epoch_seconds(bad).is_err(), "{bad}");
        }
    }
}
