//! The options of readers.

use crate::{Error, MOST_POINTS, Precision, Result};

/// The options of a reader of points.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The unit of the timestamps.
    pub precision: Precision,
    /// The time of a point without a timestamp, in nanoseconds.
    pub now: i64,
    /// Points of one body, at most.
    pub most_points: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { precision: Precision::default(), now: 0, most_points: MOST_POINTS }
    }
}

impl ReadOptions {
    /// The time in nanoseconds of a time in milliseconds, as JavaScript has them. Its fraction counts.
    pub fn now_of(milliseconds: f64) -> Result<i64> {
        const SCALE: i64 = 1_000_000;
        #[expect(clippy::cast_possible_truncation, reason = "numbers that are too large saturate, and overflow below")]
        let (whole, fraction) = (milliseconds.trunc() as i64, (milliseconds.fract() * SCALE as f64).round() as i64);
        let time = whole.checked_mul(SCALE).and_then(|whole| whole.checked_add(fraction));
        time.filter(|_| milliseconds.is_finite()).ok_or_else(|| {
            let most = i64::MAX / SCALE;
            let problem =
                format!("now: {milliseconds} is no time; it is a number of milliseconds from -{most} to {most}");
            Error::InvalidArgument(problem)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_milliseconds_is_exact_or_refused() {
        for (milliseconds, nanoseconds) in [
            (0.0, 0),
            (-0.0, 0),
            (1.0, 1_000_000),
            (1.5, 1_500_000),
            (-1.5, -1_500_000),
            (1_700_000_000_000.25, 1_700_000_000_000_250_000),
            (9_223_372_036_854.0, 9_223_372_036_854_000_000),
            (-9_223_372_036_854.0, -9_223_372_036_854_000_000),
        ] {
            assert_eq!(ReadOptions::now_of(milliseconds).unwrap(), nanoseconds);
        }
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e20, -1e20, 9_223_372_036_855.0, f64::MAX] {
            let error = ReadOptions::now_of(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("now: {wrong} is no time")), "{error}");
        }
    }
}
