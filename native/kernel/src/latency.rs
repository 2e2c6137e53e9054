//! Latencies of requests: whole HDR histograms. They can be merged and written as text.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::{Error, Result};

/// The shortest latency that is distinguished, in nanoseconds.
const LOWEST: u64 = 1;

/// The longest latency that is distinguished: an hour, in nanoseconds. Longer ones count as this.
const HIGHEST: u64 = 3_600_000_000_000;

/// The significant digits of a recorded latency, whose error is a thousandth at most.
const DIGITS: u8 = 3;

/// A histogram of latencies in nanoseconds, 1 ns to 1 h.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyHistogram(Histogram<u64>);

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    ///
    /// # Panics
    /// Never: the bounds are fixed and valid.
    pub fn new() -> Self {
        Self(Histogram::new_with_bounds(LOWEST, HIGHEST, DIGITS).expect("the bounds are valid"))
    }

    /// Records one latency.
    pub fn record(&mut self, latency: Duration) {
        self.0.saturating_record(u64::try_from(latency.as_nanos()).unwrap_or(HIGHEST).clamp(LOWEST, HIGHEST));
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        // Both histograms have the same bounds, for which adding can't fail.
        let _ = self.0.add(&other.0);
    }

    /// The number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency in nanoseconds that this part of all, from 0 to 1, did not exceed, or 0 without latencies.
    pub fn quantile(&self, part: f64) -> u64 {
        self.0.value_at_quantile(part)
    }

    /// The longest latency in nanoseconds, or 0 without latencies.
    pub fn max(&self) -> u64 {
        self.0.max()
    }

    /// The whole histogram in HDR's compressed encoding (V2), as base64. The result files hold this text.
    pub fn to_base64(&self) -> Result<String> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .map_err(|error| Error::Internal(format!("a histogram can't be encoded: {error}")))?;
        Ok(STANDARD.encode(bytes))
    }

    /// Parses the text of [`LatencyHistogram::to_base64`], or of another HDR histogram of nanoseconds, with any bounds
    /// and precision.
    pub fn from_base64(text: &str) -> Result<Self> {
        let invalid = |problem: &dyn std::fmt::Display| {
            Error::InvalidArgument(format!("not an HDR histogram in compressed V2 encoding: {problem}"))
        };
        let bytes = STANDARD.decode(text).map_err(|error| invalid(&error))?;
        let decoded: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| invalid(&error))?;
        let mut histogram = Self::new();
        for value in decoded.iter_recorded() {
            let nanoseconds = value.value_iterated_to().clamp(LOWEST, HIGHEST);
            histogram.0.saturating_record_n(nanoseconds, value.count_at_value());
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(nanoseconds: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for value in nanoseconds {
            histogram.record(Duration::from_nanos(*value));
        }
        histogram
    }

    #[test]
    fn latencies_keep_three_digits_within_their_bounds() {
        let mut histogram = LatencyHistogram::new();
        assert_eq!((histogram.count(), histogram.quantile(0.5), histogram.max()), (0, 0, 0));
        for (nanoseconds, recorded) in [(0, 1), (1, 1), (820, 820), (2047, 2047), (2048, 2049), (1_240_000, 1_240_063)]
        {
            histogram = LatencyHistogram::new();
            histogram.record(Duration::from_nanos(nanoseconds));
            assert_eq!(histogram.max(), recorded);
        }
        histogram.record(Duration::MAX);
        assert_eq!(histogram.count(), 2);
        assert!(histogram.max().abs_diff(HIGHEST) < HIGHEST / 1000);
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let histogram = of(&(1..=1000).collect::<Vec<_>>());
        assert_eq!([0.5, 0.99, 0.999, 1.0].map(|part| histogram.quantile(part)), [500, 990, 999, 1000]);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "no base64!", "AAAA", "HISTFAAAAA=="] {
            assert_eq!(LatencyHistogram::from_base64(text).unwrap_err().code(), "BB_INVALID_ARGUMENT", "{text}");
        }
    }

    /// A part of a fixture's case: `count` latencies, from `first` in steps of `step`.
    #[derive(serde::Deserialize)]
    struct Values {
        first: u64,
        step: u64,
        count: u64,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        by: String,
        values: Vec<Values>,
        base64: String,
    }

    #[derive(serde::Deserialize)]
    struct Fixture {
        cases: Vec<Case>,
    }

    #[test]
    fn histograms_of_either_language_are_read() {
        let text = include_str!("../../../__test__/fixtures/latency-histograms.json");
        let fixture: Fixture = serde_json::from_str(text).unwrap();
        for Case { by, values, base64 } in fixture.cases {
            let all = values.iter().flat_map(|part| (0..part.count).map(|index| part.first + index * part.step));
            let histogram = of(&all.collect::<Vec<_>>());
            assert_eq!(LatencyHistogram::from_base64(&base64).unwrap(), histogram, "by {by}");
        }
    }

    proptest! {
        #[test]
        fn a_histogram_survives_its_text(values in prop::collection::vec(0_u64..2 * HIGHEST, 0..200)) {
            let histogram = of(&values);
            prop_assert_eq!(LatencyHistogram::from_base64(&histogram.to_base64().unwrap()).unwrap(), histogram);
        }

        #[test]
        fn parts_merge_to_the_whole(values in prop::collection::vec(1_u64..HIGHEST, 0..200), cut in 0_usize..200) {
            let cut = cut.min(values.len());
            let mut merged = of(&values[..cut]);
            merged.merge(&of(&values[cut..]));
            prop_assert_eq!(merged, of(&values));
        }
    }
}
