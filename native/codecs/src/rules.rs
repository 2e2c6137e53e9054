//! The rules that names and times must keep: a write is checked before it is acknowledged.
//!
//! Names are checked once, when they are registered. Times are checked for each write.

use std::ops::RangeInclusive;

use crate::points::{SeriesKey, Shape};
use crate::{Error, Result};

/// The name of the column of timestamps.
pub const TIME: &str = "time";

/// Bytes of the name of a database, a measurement, a tag or a field, at most.
pub const MOST_NAME_BYTES: usize = 1024;

/// The most bytes of a measurement with all its tags, names and values. They are kept in memory.
pub const MOST_SERIES_BYTES: usize = 32 << 10;

/// The times that can be stored, in nanoseconds. The values outside mean no time and the two infinities in `DuckDB`.
pub const TIMES: RangeInclusive<i64> = i64::MIN + 2..=i64::MAX - 1;

/// Checks a name of the kind `what`: `field`, `tag`, ...
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        format!("a {what} needs a name")
    } else if name.len() > MOST_NAME_BYTES {
        let start: String = name.chars().take(40).collect();
        let length = name.len();
        format!("the {what} {start:?}...: a name of {length} bytes; it may have {MOST_NAME_BYTES}")
    } else if name.contains('\0') {
        format!("the {what} {name:?}: a name must have no NUL character")
    } else {
        return Ok(());
    };
    Err(Error::InvalidArgument(problem))
}

/// Checks the name of a tag or a field. It becomes a column besides the time.
fn check_column(what: &str, measurement: &str, name: &str) -> Result<()> {
    check_name(what, name)?;
    if name == TIME {
        let problem = format!("the {what} {name:?} of {measurement:?}: the timestamps have this name; take another");
        return Err(Error::InvalidArgument(problem));
    }
    Ok(())
}

/// Checks the names of a series.
pub fn check_series(series: &SeriesKey<'_>) -> Result<()> {
    let measurement = series.measurement();
    check_name("measurement", &measurement)?;
    for (name, _) in series.tags() {
        check_column("tag", &measurement, &name)?;
    }
    let length = series.text.len();
    if length > MOST_SERIES_BYTES {
        return Err(Error::InvalidArgument(format!(
            "the measurement {measurement:?}: its tags take {length} bytes; they may take {MOST_SERIES_BYTES}"
        )));
    }
    Ok(())
}

/// Checks the names of a set of fields.
pub fn check_shape(shape: &Shape<'_>) -> Result<()> {
    check_name("measurement", &shape.measurement)?;
    shape.fields.iter().try_for_each(|(name, _)| check_column("field", &shape.measurement, name))
}

/// Whether a time is outside [`TIMES`]: wrapping around from the highest number, the three excluded ones are adjacent.
const fn is_no_time(time: i64) -> bool {
    time.wrapping_sub(i64::MAX).cast_unsigned() < 3
}

/// Checks times in nanoseconds.
pub fn check_times(times: &[i64]) -> Result<()> {
    // Without an early exit the compiler vectorizes the check.
    if !times.iter().fold(false, |found, time| found | is_no_time(*time)) {
        return Ok(());
    }
    let index = times.iter().position(|time| is_no_time(*time)).unwrap_or_default();
    Err(Error::InvalidArgument(format!(
        "timestamps[{index}]: {} ns can't be stored; the first time is {} ns, the last one {} ns",
        times[index],
        TIMES.start(),
        TIMES.end()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::FieldKind;

    #[test]
    fn times_at_both_ends_are_told_apart() {
        for time in [i64::MIN, i64::MIN + 1, i64::MIN + 2, -1, 0, 1, i64::MAX - 1, i64::MAX] {
            assert_eq!(check_times(&[0, time]).is_ok(), TIMES.contains(&time), "{time}");
        }
        let error = check_times(&[1, i64::MIN]).unwrap_err().to_string();
        assert!(error.contains("timestamps[1]: -9223372036854775808 ns"), "{error}");
    }

    #[test]
    fn what_is_wrong_with_a_name_is_said() {
        let long = "x".repeat(MOST_NAME_BYTES + 1);
        let shape =
            |name: &str| Shape { measurement: "m".into(), fields: vec![(name.to_owned().into(), FieldKind::Float)] };
        for (name, said) in [
            ("", "a field needs a name"),
            ("a\0", "the field \"a\\0\""),
            ("time", "\"time\" of \"m\""),
            (&long, "1025 bytes"),
        ] {
            let error = check_shape(&shape(name)).unwrap_err().to_string();
            assert!(error.contains(said), "{said}: {error}");
            let series = SeriesKey::of("m", &mut [(name.to_owned().into(), "x".into())]).unwrap();
            assert!(check_series(&series).is_err(), "{name}");
        }
        for name in ["Time", "rowid", "\"", "a\nb", "ü", &long[1..]] {
            check_shape(&shape(name)).unwrap();
        }
        let mut values = [("a".into(), "x".repeat(MOST_SERIES_BYTES).into())];
        let error = check_series(&SeriesKey::of("m", &mut values).unwrap()).unwrap_err().to_string();
        assert!(error.contains("32772 bytes"), "{error}");
    }
}
