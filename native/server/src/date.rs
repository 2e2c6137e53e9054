//! Calendar dates.

/// The date of a number of days since 1970-01-01, by the calendar's 400-year cycle.
pub(crate) fn of_days(days: i32) -> (i32, i32, i32) {
    let shifted = i64::from(days) + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let small = |number: i64| i32::try_from(number).unwrap_or_default();
    (small(year), small(month), small(day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        for (days, expected) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (8036, (1992, 1, 2)), (11_016, (2000, 2, 29))]
        {
            assert_eq!(of_days(days), expected);
        }
    }
}
