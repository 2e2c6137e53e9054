//! Dates and times as the server sends them, in binary and as text.

use crate::calendar::{Clock, Date};
use crate::codec::Bytes;

/// Reads a date and a time of day, preceded by their length: fields of zeros at the end are left out.
pub(crate) fn binary_date(bytes: &mut Bytes<'_>) -> Option<(Date, Clock)> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length.into())?);
    let mut date = Date { year: 0, month: 0, day: 0 };
    let mut clock = Clock::default();
    if length >= 4 {
        date = Date { year: bytes.u16()?, month: bytes.u8()?, day: bytes.u8()? };
    }
    if length >= 7 {
        clock = Clock { hour: bytes.u8()?, minute: bytes.u8()?, second: bytes.u8()?, microsecond: 0 };
    }
    if length >= 11 {
        clock.microsecond = bytes.u32()?;
    }
    Some((date, clock))
}

/// Reads a time, and formats it as the server does: `-838:59:59.000001`, with this many digits behind the point. Fields of
/// zeros at the end are left out on the wire.
pub(crate) fn binary_time(bytes: &mut Bytes<'_>, decimals: u8) -> Option<String> {
    let length = bytes.u8()?;
    let mut bytes = Bytes(bytes.take(length.into())?);
    let (mut sign, mut hours, mut minute, mut second, mut microsecond) = ("", 0, 0, 0, 0);
    if length >= 8 {
        sign = if bytes.u8()? == 0 { "" } else { "-" };
        hours = u64::from(bytes.u32()?) * 24 + u64::from(bytes.u8()?);
        (minute, second) = (bytes.u8()?, bytes.u8()?);
    }
    if length >= 12 {
        microsecond = bytes.u32()?;
    }
    Some(format!("{sign}{hours:02}:{minute:02}:{second:02}{}", fraction(microsecond, decimals)))
}

/// Parses `YYYY-MM-DD`, alone or before `HH:MM:SS` with up to six digits behind a point.
pub(crate) fn text_date(text: &str) -> Option<(Date, Clock)> {
    let (date, clock) = text.split_once(' ').unwrap_or((text, ""));
    let mut parts = date.splitn(3, '-');
    let date = Date {
        year: parts.next()?.parse().ok()?,
        month: parts.next()?.parse().ok()?,
        day: parts.next()?.parse().ok()?,
    };
    if clock.is_empty() {
        return Some((date, Clock::default()));
    }
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.splitn(3, ':');
    let mut clock = Clock {
        hour: parts.next()?.parse().ok()?,
        minute: parts.next()?.parse().ok()?,
        second: parts.next()?.parse().ok()?,
        microsecond: 0,
    };
    if !fraction.is_empty() {
        clock.microsecond = format!("{fraction:0<6.6}").parse().ok()?;
    }
    Some((date, clock))
}

/// The text of a date with a time of day, as the server writes it, with this many digits behind the point.
pub(crate) fn date_time_text(date: Date, Clock { hour, minute, second, microsecond }: Clock, decimals: u8) -> String {
    format!("{date} {hour:02}:{minute:02}:{second:02}{}", fraction(microsecond, decimals))
}

/// The digits behind a second, with their point.
fn fraction(microsecond: u32, decimals: u8) -> String {
    match decimals {
        // Expressions without a fixed number of digits have a greater number here.
        1..=6 => format!(".{:.*}", usize::from(decimals), format!("{microsecond:06}")),
        _ if microsecond == 0 => String::new(),
        _ => format!(".{microsecond:06}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_read_from_text() {
        let date = Date { year: 2024, month: 2, day: 29 };
        assert_eq!(text_date("2024-02-29"), Some((date, Clock::default())));
        let clock = Clock { hour: 23, minute: 59, second: 1, microsecond: 120_000 };
        assert_eq!(text_date("2024-02-29 23:59:01.12"), Some((date, clock)));
        assert_eq!(text_date("2024-02"), None);
        let time = |bytes: &[u8], decimals| binary_time(&mut Bytes(bytes), decimals);
        let least = [12, 1, 34, 0, 0, 0, 22, 59, 59, 1, 0, 0, 0];
        assert_eq!(time(&[0], 0), Some("00:00:00".to_owned()));
        assert_eq!(time(&least, 6), Some("-838:59:59.000001".to_owned()));
        assert_eq!(time(&[8, 1], 0), None);
        // The digits are always written, as the server does in text.
        assert_eq!(time(&[0], 3), Some("00:00:00.000".to_owned()));
        assert_eq!(time(&[8, 0, 0, 0, 0, 0, 10, 0, 0], 6), Some("10:00:00.000000".to_owned()));
        assert_eq!(time(&[12, 0, 0, 0, 0, 0, 10, 0, 0, 0x90, 0xd0, 3, 0], 2), Some("10:00:00.25".to_owned()));
        assert_eq!(time(&least, 31), Some("-838:59:59.000001".to_owned()));
    }

    #[test]
    fn dates_are_written_as_the_server_does() {
        let clock = Clock { hour: 1, minute: 2, second: 3, microsecond: 40_000 };
        let date = Date { year: 7, month: 0, day: 0 };
        assert_eq!(date_time_text(date, clock, 2), "0007-00-00 01:02:03.04");
        assert_eq!(date_time_text(date, clock, 39), "0007-00-00 01:02:03.040000");
        assert_eq!(date_time_text(date, Clock::default(), 0), "0007-00-00 00:00:00");
    }
}
