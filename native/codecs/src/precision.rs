//! The units of timestamps.

use crate::rules::check_times;
use crate::{Error, Result};

/// The unit of the timestamps of a write; the store keeps nanoseconds.
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
}

impl Precision {
    /// The unit of this name: `ns`, `us` or `u`, `ms`, `s`. Any other name means nanoseconds, as on the wire.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "us" | "u" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            _ => Self::Nanoseconds,
        }
    }

    /// The name of the unit on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// The unit in nanoseconds.
    #[must_use]
    pub fn nanoseconds(self) -> i64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }

    /// Checks that timestamps of this unit fit into nanoseconds, and can be stored.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] naming the first that does not fit or can't be stored.
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
    ///
    /// # Errors
    /// The errors of [`Precision::check`]; then the timestamps are unchanged.
    pub fn to_nanoseconds(self, timestamps: &mut [i64]) -> Result<()> {
        let unit = self.nanoseconds();
        if unit != 1 {
            self.check(timestamps)?;
            timestamps.iter_mut().for_each(|time| *time *= unit);
        }
        Ok(())
    }
}
