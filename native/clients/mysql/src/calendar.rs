//! Dates of the proleptic Gregorian calendar as days since 1970-01-01.

/// The microseconds of a day.
pub(crate) const MICROSECONDS_A_DAY: i64 = 86_400_000_000;

/// The days of the last date that the server has, 9999-12-31. Its first date is 0000-01-01.
const LAST_DAY: i32 = 2_932_896;
const FIRST_DAY: i32 = -719_528;

/// A date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u16,
    pub(crate) month: u8,
    pub(crate) day: u8,
}

impl Date {
    /// The days since 1970-01-01; `None` for a month or day that does not exist, as in 0000-00-00.
    pub(crate) fn days(self) -> Option<i32> {
        if !(1..=12).contains(&self.month) || !(1..=31).contains(&self.day) {
            return None;
        }
        // Years are counted from March here, so that the leap day is the last of them.
        let month = i32::from(self.month);
        let year = i32::from(self.year) - i32::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + i32::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468;
        (Self::of_days(days) == Some(self)).then_some(days)
    }

    /// The date this many days after 1970-01-01; `None` outside of the years 0 to 9999.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "years of 0 to 9999, checked")]
    pub(crate) fn of_days(days: i32) -> Option<Self> {
        if !(FIRST_DAY..=LAST_DAY).contains(&days) {
            return None;
        }
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_of_year = (5 * day_of_year + 2) / 153;
        let month = if month_of_year < 10 { month_of_year + 3 } else { month_of_year - 9 };
        let year = year_of_era + era * 400 + i32::from(month <= 2);
        let day = day_of_year - (153 * month_of_year + 2) / 5 + 1;
        Some(Self { year: year as u16, month: month as u8, day: day as u8 })
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

/// The date and time of day of microseconds since 1970-01-01T00:00:00; `None` outside of the years 0 to 9999.
pub(crate) fn split(microseconds: i64) -> Option<(Date, Clock)> {
    let date = Date::of_days(i32::try_from(microseconds.div_euclid(MICROSECONDS_A_DAY)).ok()?)?;
    Some((date, Clock::of_microseconds(microseconds.rem_euclid(MICROSECONDS_A_DAY))))
}

/// The microseconds since 1970-01-01T00:00:00, the inverse of [`split`]; `None` for a date that does not exist.
pub(crate) fn join(date: Date, clock: Clock) -> Option<i64> {
    Some(i64::from(date.days()?) * MICROSECONDS_A_DAY + clock.microseconds())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
