//! The options of readers.

use crate::{MOST_POINTS, Precision};

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
