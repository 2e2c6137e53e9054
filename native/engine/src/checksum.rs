//! Checksums: the sum of each column of the rows read or written, so that lanes and sides prove that they moved the
//! same values.

mod sum;

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, TimeUnit};
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use self::sum::sum_array;
pub use self::sum::{sum_f32, sum_f64, sum_i32, sum_i64};
use boundary_bench_kernel::{Error, Result};

/// The relative difference allowed between two sums of the same floating-point values. Such sums depend on the order of addition.
pub const FLOAT_TOLERANCE: f64 = 1e-9;

/// The number of rows and the sum of each column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Checksum {
    /// The number of rows.
    pub rows: u64,
    /// The sums of the columns.
    pub sums: ColumnSums,
}

/// The sums by column name, in the order of the columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnSums(pub Vec<(String, ChecksumSum)>);

/// The sum of one column. Text and bytes count their lengths in bytes, and booleans their true values. Decimals count
/// their unscaled integers, dates and timestamps the integers that they are stored as. Nulls add nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChecksumSum {
    /// An exact sum. It is a decimal string in JSON. A sum of decimals beyond 128 bits wraps, the same way in every order.
    Int(i128),
    /// A sum of floating-point values, compared within [`FLOAT_TOLERANCE`].
    Float(f64),
}

impl ColumnSums {
    /// The sum of a column, or `None` for an unknown name.
    pub fn get(&self, name: &str) -> Option<ChecksumSum> {
        self.0.iter().find(|(column, _)| column == name).map(|(_, sum)| *sum)
    }
}

impl Checksum {
    /// A checksum of no rows, for batches of this schema.
    pub fn new(schema: &Schema) -> Result<Self> {
        let sums = schema.fields().iter().map(|field| Ok((field.name().clone(), zero(field.data_type())?)));
        Ok(Self { rows: 0, sums: ColumnSums(sums.collect::<Result<_>>()?) })
    }

    /// A checksum of known sums, with their columns' names.
    pub fn from_sums<const N: usize>(rows: u64, sums: [(&str, ChecksumSum); N]) -> Self {
        Self { rows, sums: ColumnSums(sums.into_iter().map(|(name, sum)| (name.to_owned(), sum)).collect()) }
    }

    /// Adds all values of a batch. Its columns must be the columns of the schema given to [`Checksum::new`].
    ///
    /// # Errors
    /// [`Error::SchemaMismatch`] for other columns. Nothing is added then.
    pub fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let names = batch.schema_ref().fields().iter().map(|field| field.name());
        if !names.eq(self.sums.0.iter().map(|(name, _)| name)) {
            return Err(Error::SchemaMismatch("the batch has other columns than the checksum".to_owned()));
        }
        let added = batch.columns().iter().map(|array| sum_array(array.as_ref())).collect::<Result<Vec<_>>>()?;
        self.add_sums(batch.num_rows() as u64, added.into_iter())
    }

    /// Adds another checksum of the same columns, such as another worker's.
    ///
    /// # Errors
    /// [`Error::SchemaMismatch`] for other columns. Nothing is added then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if !self.sums.0.iter().map(|(name, _)| name).eq(other.sums.0.iter().map(|(name, _)| name)) {
            return Err(Error::SchemaMismatch("the checksums are of different columns".to_owned()));
        }
        self.add_sums(other.rows, other.sums.0.iter().map(|(_, sum)| *sum))
    }

    /// Adds one sum to each column.
    fn add_sums(&mut self, rows: u64, added: impl Iterator<Item = ChecksumSum> + Clone) -> Result<()> {
        let same_kinds = self
            .sums
            .0
            .iter()
            .zip(added.clone())
            .all(|((_, sum), other)| std::mem::discriminant(sum) == std::mem::discriminant(&other));
        if !same_kinds {
            return Err(Error::SchemaMismatch(
                "a column holds integers on one side and floats on the other".to_owned(),
            ));
        }
        for ((_, sum), other) in self.sums.0.iter_mut().zip(added) {
            match (sum, other) {
                (ChecksumSum::Int(sum), ChecksumSum::Int(other)) => *sum = sum.wrapping_add(other),
                (ChecksumSum::Float(sum), ChecksumSum::Float(other)) => *sum += other,
                _ => {}
            }
        }
        self.rows += rows;
        Ok(())
    }

    /// Whether this checksum equals the expected one: rows and integers exactly, floats within `tolerance`, relative to
    /// the expected sum.
    pub fn matches(&self, expected: &Self, tolerance: f64) -> bool {
        self.difference(expected, tolerance).is_none()
    }

    /// A description of the first difference from the expected checksum, or `None` if it [`Checksum::matches`].
    pub fn difference(&self, expected: &Self, tolerance: f64) -> Option<String> {
        if self.rows != expected.rows {
            return Some(format!("{} rows instead of {}", self.rows, expected.rows));
        }
        for (name, expected_sum) in &expected.sums.0 {
            match self.sums.get(name) {
                None => return Some(format!("column \"{name}\" is missing")),
                Some(sum) if !sum.matches(*expected_sum, tolerance) => {
                    return Some(format!("column \"{name}\" sums to {sum} instead of {expected_sum}"));
                }
                Some(_) => {}
            }
        }
        let unexpected = self.sums.0.iter().find(|(name, _)| expected.sums.get(name).is_none());
        unexpected.map(|(name, _)| format!("column \"{name}\" was not expected"))
    }
}

impl ChecksumSum {
    fn matches(self, expected: Self, tolerance: f64) -> bool {
        match (self, expected) {
            (Self::Int(sum), Self::Int(expected)) => sum == expected,
            // The first comparison lets equal infinities pass, whose difference is NaN.
            #[expect(clippy::float_cmp, reason = "equal sums need no tolerance")]
            (Self::Float(sum), Self::Float(expected)) => {
                sum == expected || (sum - expected).abs() <= tolerance * expected.abs()
            }
            _ => false,
        }
    }
}

impl fmt::Display for ChecksumSum {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(sum) => sum.fmt(formatter),
            Self::Float(sum) => sum.fmt(formatter),
        }
    }
}

/// The initial sum of a type.
fn zero(data_type: &DataType) -> Result<ChecksumSum> {
    match data_type {
        DataType::Float32 | DataType::Float64 => Ok(ChecksumSum::Float(0.0)),
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Decimal128(..)
        | DataType::Utf8
        | DataType::Binary
        | DataType::Date32
        | DataType::Timestamp(TimeUnit::Microsecond, _) => Ok(ChecksumSum::Int(0)),
        other => Err(Error::Unsupported(format!("no checksum is defined for values of type {other}"))),
    }
}

impl Serialize for ColumnSums {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, sum) in &self.0 {
            map.serialize_entry(name, sum)?;
        }
        map.end()
    }
}

impl Serialize for ChecksumSum {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Int(sum) => serializer.collect_str(sum),
            Self::Float(sum) => serializer.serialize_f64(*sum),
        }
    }
}

impl<'de> Deserialize<'de> for ColumnSums {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Sums;
        impl<'de> Visitor<'de> for Sums {
            type Value = ColumnSums;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of sums by column name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<ColumnSums, A::Error> {
                let mut sums = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    sums.push(entry);
                }
                Ok(ColumnSums(sums))
            }
        }
        deserializer.deserialize_map(Sums)
    }
}

impl<'de> Deserialize<'de> for ChecksumSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Digits(String),
            Number(f64),
        }
        match Either::deserialize(deserializer)? {
            Either::Digits(digits) => digits.parse().map(Self::Int).map_err(serde::de::Error::custom),
            Either::Number(number) => Ok(Self::Float(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
        Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
    };
    use proptest::prelude::*;

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
    }

    fn checksum(batch: &RecordBatch) -> Checksum {
        let mut checksum = Checksum::new(batch.schema_ref()).unwrap();
        checksum.add_batch(batch).unwrap();
        checksum
    }

    #[test]
    fn every_type_is_summed_and_nulls_add_nothing() {
        let batch = batch(vec![
            ("bool", Arc::new(BooleanArray::from(vec![Some(true), None, Some(true)]))),
            ("smallint", Arc::new(Int16Array::from(vec![Some(-7), None, Some(i16::MAX)]))),
            ("int", Arc::new(Int32Array::from(vec![Some(i32::MAX), None, Some(i32::MAX)]))),
            ("bigint", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MIN)]))),
            ("real", Arc::new(Float32Array::from(vec![Some(0.5), None, Some(1.25)]))),
            ("double", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(-2.0)]))),
            (
                "decimal",
                Arc::new(
                    Decimal128Array::from(vec![Some(1234), None, Some(-1)]).with_precision_and_scale(10, 2).unwrap(),
                ),
            ),
            ("text", Arc::new(StringArray::from(vec![Some("a"), None, Some("żó")]))),
            ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\0\x01"), None, Some(b"")]))),
            ("date", Arc::new(Date32Array::from(vec![Some(19_000), None, Some(-1)]))),
            ("timestamp", Arc::new(TimestampMicrosecondArray::from(vec![Some(5), None, Some(-9)]))),
        ]);
        assert_eq!(
            serde_json::to_string(&checksum(&batch)).unwrap(),
            "{\"rows\":3,\"sums\":{\"bool\":\"2\",\"smallint\":\"32760\",\"int\":\"4294967294\",\
             \"bigint\":\"-18446744073709551616\",\"real\":1.75,\"double\":-1.5,\"decimal\":\"1233\",\"text\":\"5\",\
             \"bytes\":\"2\",\"date\":\"18999\",\"timestamp\":\"-4\"}}"
        );
    }

    #[test]
    fn sums_survive_json_in_their_order() {
        let checksum = Checksum::from_sums(
            2,
            [("z", ChecksumSum::Int(-(1 << 100))), ("a", ChecksumSum::Float(0.1)), ("m", ChecksumSum::Float(3.0))],
        );
        let text = serde_json::to_string(&checksum).unwrap();
        assert_eq!(serde_json::from_str::<Checksum>(&text).unwrap(), checksum);
    }

    #[test]
    fn integers_must_be_equal_and_floats_nearly() {
        let sums =
            |int, float| Checksum::from_sums(1, [("i", ChecksumSum::Int(int)), ("f", ChecksumSum::Float(float))]);
        let expected = sums(10_i128.pow(20), 1e6);
        assert!(sums(10_i128.pow(20), 1e6 + 1e-4).matches(&expected, FLOAT_TOLERANCE));
        let difference = |checksum: &Checksum| checksum.difference(&expected, FLOAT_TOLERANCE).unwrap();
        assert_eq!(
            difference(&sums(10_i128.pow(20) + 1, 1e6)),
            "column \"i\" sums to 100000000000000000001 instead of 100000000000000000000"
        );
        assert_eq!(
            difference(&sums(10_i128.pow(20), 1_000_000.01)),
            "column \"f\" sums to 1000000.01 instead of 1000000"
        );
        assert!(!sums(10_i128.pow(20), f64::NAN).matches(&expected, FLOAT_TOLERANCE));
        assert_eq!(difference(&Checksum { rows: 2, ..expected.clone() }), "2 rows instead of 1");
        let only_int = Checksum::from_sums(1, [("i", ChecksumSum::Int(10_i128.pow(20)))]);
        assert_eq!(difference(&only_int), "column \"f\" is missing");
        assert_eq!(expected.difference(&only_int, FLOAT_TOLERANCE).unwrap(), "column \"f\" was not expected");
    }

    #[test]
    fn other_columns_are_refused_and_change_nothing() {
        let ints = batch(vec![("a", Arc::new(Int32Array::from(vec![1])))]);
        let mut sum = checksum(&ints);
        let before = sum.clone();
        for other in [
            batch(vec![("b", Arc::new(Int32Array::from(vec![1])))]),
            batch(vec![("a", Arc::new(Float64Array::from(vec![1.0])))]),
            batch(vec![("a", Arc::new(Int32Array::from(vec![1]))), ("b", Arc::new(Int32Array::from(vec![1])))]),
        ] {
            assert_eq!(sum.add_batch(&other).unwrap_err().code(), "BB_SCHEMA_MISMATCH");
            assert_eq!(sum.merge(&checksum(&other)).unwrap_err().code(), "BB_SCHEMA_MISMATCH");
        }
        assert_eq!(sum, before);
    }

    proptest! {
        #[test]
        fn parts_sum_to_the_whole(values in prop::collection::vec(any::<Option<i32>>(), 0..300), cut in 0_usize..300) {
            let whole = batch(vec![("a", Arc::new(Int32Array::from(values.clone())))]);
            let cut = cut.min(values.len());
            let mut parts = checksum(&whole.slice(0, cut));
            parts.merge(&checksum(&whole.slice(cut, values.len() - cut))).unwrap();
            prop_assert_eq!(&parts, &checksum(&whole));
            prop_assert_eq!(
                parts.sums.get("a"),
                Some(ChecksumSum::Int(values.iter().flatten().map(|value| i128::from(*value)).sum()))
            );
        }
    }
}
