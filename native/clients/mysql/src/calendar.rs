//! Dates of the proleptic Gregorian calendar as days since 1970-01-01.

use std::fmt;

use chrono::{Datelike, NaiveDate};

/// The microseconds of a day.
pub(crate) const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// The last year that the server has. Its first is the year 0.
const LAST_YEAR: u16 = 9999;

/// A date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day } = self;
        write!(formatter, "{year:04}-{month:02}-{day:02}")
    }
}

impl Date {
    /// The days since 1970-01-01, or `None` for a month or day that does not exist, as in 0000-00-00.
    pub(crate) fn days(self) -> Option<i32> {
        let date = NaiveDate::from_ymd_opt(self.year.into(), self.month.into(), self.day.into())?;
        (self.year <= LAST_YEAR).then(|| date.to_epoch_days())
    }

    /// The date this many days after 1970-01-01. `None` outside of the years 0 to 9999.
    #[expect(clippy::cast_possible_truncation, reason = "months and days")]
    pub(crate) fn of_days(days: i32) -> Option<Self> {
        let date = NaiveDate::from_epoch_days(days)?;
        let year = u16::try_from(date.year()).ok().filter(|year| *year <= LAST_YEAR)?;
        Some(Self { year, month: date.month() as u8, day: date.day() as u8 })
    }
}

/// A time of day, to the microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Clock {
    pub(crate) hour: u8,
    pub(crate) minute: u8,
    pub(crate) second: u8,
    pub(crate) microsecond: u32,
}

impl Clock {
    pub(crate) fn microseconds(self) -> i64 {
        ((i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second)) * 1_000_000
            + i64::from(self.microsecond)
    }

    /// The time of day this many microseconds after midnight, less than a day.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "parts of a day")]
    pub(crate) fn of_microseconds(microseconds: i64) -> Self {
        let seconds = microseconds / 1_000_000;
        Self {
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (microseconds % 1_000_000) as u32,
        }
    }
}

/// The date and time of day of microseconds since 1970-01-01T00:00:00. `None` outside of the years 0 to 9999.
pub(crate) fn split(microseconds: i64) -> Option<(Date, Clock)> {
    let date = Date::of_days(i32::try_from(microseconds.div_euclid(MICROSECONDS_A_DAY)).ok()?)?;
    Some((date, Clock::of_microseconds(microseconds.rem_euclid(MICROSECONDS_A_DAY))))
}

/// The microseconds since 1970-01-01T00:00:00, the inverse of [`split`], or `None` for a date that does not exist.
pub(crate) fn join(date: Date, clock: Clock) -> Option<i64> {
    Some(i64::from(date.days()?) * MICROSECONDS_A_DAY + clock.microseconds())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The days of the first and the last date of the server, 0000-01-01 and 9999-12-31.
    const FIRST_DAY: i32 = -719_528;
    const LAST_DAY: i32 = 2_932_896;

    #[test]
    fn known_dates_have_their_days() {
        let days = |year, month, day| Date { year, month, day }.days();
        assert_eq!(days(1970, 1, 1), Some(0));
        assert_eq!(days(2000, 2, 29), Some(11_016));
        assert_eq!((days(0, 1, 1), days(9999, 12, 31)), (Some(FIRST_DAY), Some(LAST_DAY)));
        assert_eq!((days(0, 0, 0), days(1900, 2, 29), days(2001, 4, 31), days(2001, 13, 1)), (None, None, None, None));
    }

    proptest! {
        #[test]
        fn every_day_is_read_back(days in FIRST_DAY..=LAST_DAY, time in 0..MICROSECONDS_A_DAY) {
            let microseconds = i64::from(days) * MICROSECONDS_A_DAY + time;
            let (date, clock) = split(microseconds).unwrap();
            prop_assert_eq!(date.days(), Some(days));
            prop_assert_eq!(join(date, clock), Some(microseconds));
        }

        #[test]
        fn no_number_makes_it_panic(microseconds in any::<i64>(), year in any::<u16>(), month in any::<u8>(), day in any::<u8>()) {
            let _ = (split(microseconds), Date { year, month, day }.days());
        }
    }
}
