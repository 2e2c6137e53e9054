//! The units of timestamps.

use crate::rules::check_times;
use crate::{Error, Result};

/// The unit of the timestamps of a write. The store keeps nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl Precision {
    /// The names that [`Precision::named`] knows, for messages.
    pub const NAMES: &str = "ns (or n), us (u, \u{b5}), ms, s, m or h";

    /// The unit of a name of `InfluxDB`'s: `ns` or `n`, `us`, `u` or `\u{b5}`, `ms`, `s`, `m` for minutes, `h`. `None` for any other
    /// name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ns" | "n" => Self::Nanoseconds,
            // Keyboards write the micro sign, or the Greek letter that looks like it.
            "us" | "u" | "\u{b5}" | "\u{3bc}" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            "m" => Self::Minutes,
            "h" => Self::Hours,
            _ => return None,
        })
    }

    /// The unit of a name that [`Precision::named`] knows.
    pub fn of(name: &str) -> Result<Self> {
        let unknown = || Error::InvalidArgument(format!("the precision {name:?} is unknown; use {}", Self::NAMES));
        Self::named(name).ok_or_else(unknown)
    }

    /// The name of the unit on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Minutes => "m",
            Self::Hours => "h",
        }
    }

    /// The unit in nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
            Self::Minutes => 60_000_000_000,
            Self::Hours => 3_600_000_000_000,
        }
    }

    /// Checks that timestamps of this unit fit into nanoseconds, and can be stored.
    pub fn check(self, timestamps: &[i64]) -> Result<()> {
        let unit = self.nanoseconds();
        if unit == 1 {
            return check_times(timestamps);
        }
        // Scaled times never reach the few values at the ends of the range that can't be stored.
        let range = i64::MIN / unit..=i64::MAX / unit;
        // Without an early exit the compiler vectorizes the comparison.
        let (least, most) = timestamps.iter().fold((&0, &0), |(least, most), time| (time.min(least), time.max(most)));
        if range.contains(least) && range.contains(most) {
            return Ok(());
        }
        let outside = timestamps.iter().position(|time| !range.contains(time)).unwrap_or_default();
        Err(Error::InvalidArgument(format!(
            "timestamps[{outside}]: {} {} is no 64-bit number of nanoseconds; is the precision right?",
            timestamps[outside],
            self.name()
        )))
    }

    /// Converts timestamps of this unit to nanoseconds, in place.
    pub fn to_nanoseconds(self, timestamps: &mut [i64]) -> Result<()> {
        let unit = self.nanoseconds();
        if unit != 1 {
            self.check(timestamps)?;
            timestamps.iter_mut().for_each(|time| *time *= unit);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_of_influxdb_are_known_and_others_refused() {
        for (names, nanoseconds) in [
            (&["n", "ns"][..], 1),
            (&["u", "us", "\u{b5}", "\u{3bc}"], 1_000),
            (&["ms"], 1_000_000),
            (&["s"], 1_000_000_000),
            (&["m"], 60_000_000_000),
            (&["h"], 3_600_000_000_000),
        ] {
            for name in names {
                let unit = Precision::of(name).unwrap();
                assert_eq!(unit.nanoseconds(), nanoseconds, "{name}");
                assert_eq!(Precision::named(unit.name()), Some(unit));
            }
        }
        for name in ["", " ", "foo", "MS", "ms ", "d", "w", "sec", "nanosecond", "\u{b5}s\0"] {
            let error = Precision::of(name).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?} is unknown; use ns")), "{error}");
        }
    }

    #[test]
    fn a_time_that_overflows_is_refused_in_each_unit() {
        for name in ["us", "ms", "s", "m", "h"] {
            let unit = Precision::of(name).unwrap();
            let (least, most) = (i64::MIN / unit.nanoseconds(), i64::MAX / unit.nanoseconds());
            let mut times = [least, 0, most];
            unit.to_nanoseconds(&mut times).unwrap();
            assert_eq!(times, [least, 0, most].map(|time| time * unit.nanoseconds()));
            check_times(&times).unwrap();
            for outside in [least - 1, most + 1] {
                let error = unit.check(&[0, outside]).unwrap_err().to_string();
                assert!(error.contains(&format!("timestamps[1]: {outside} {name} is no 64-bit number")), "{error}");
            }
        }
    }
}
