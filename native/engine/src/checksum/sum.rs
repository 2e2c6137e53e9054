//! The loops that sum one column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, TimeUnit};

use super::ChecksumSum;
use boundary_bench_kernel::Result;

/// The number of independent accumulators for floats, so that the additions of a batch overlap.
const FLOAT_LANES: usize = 8;

/// The sum of an array's values that are not null.
pub(super) fn sum_array(array: &dyn Array) -> Result<ChecksumSum> {
    Ok(match array.data_type() {
        DataType::Int16 => sum_runs::<Int16Type, _>(array, |run| {
            ChecksumSum::Int(run.iter().map(|value| i64::from(*value)).sum::<i64>().into())
        }),
        DataType::Int32 => sum_runs::<Int32Type, _>(array, |run| ChecksumSum::Int(sum_i32(run).into())),
        DataType::Date32 => sum_runs::<Date32Type, _>(array, |run| ChecksumSum::Int(sum_i32(run).into())),
        DataType::Int64 => sum_runs::<Int64Type, _>(array, |run| ChecksumSum::Int(sum_i64(run))),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            sum_runs::<TimestampMicrosecondType, _>(array, |run| ChecksumSum::Int(sum_i64(run)))
        }
        DataType::Decimal128(..) => sum_runs::<Decimal128Type, _>(array, |run| {
            ChecksumSum::Int(run.iter().fold(0, |sum: i128, value| sum.wrapping_add(*value)))
        }),
        DataType::Float64 => sum_runs::<Float64Type, _>(array, |run| ChecksumSum::Float(sum_f64(run))),
        DataType::Float32 => sum_runs::<Float32Type, _>(array, |run| ChecksumSum::Float(sum_f32(run))),
        DataType::Boolean => ChecksumSum::Int(array.as_boolean().true_count() as i128),
        DataType::Utf8 => byte_lengths(array, array.as_string::<i32>().value_offsets()),
        DataType::Binary => byte_lengths(array, array.as_binary::<i32>().value_offsets()),
        other => return super::zero(other),
    })
}

/// Adds the sums of the runs of values between nulls. Without nulls there is one run.
fn sum_runs<T: ArrowPrimitiveType, F: Fn(&[T::Native]) -> ChecksumSum>(array: &dyn Array, sum: F) -> ChecksumSum
where
    T::Native: ArrowNativeType,
{
    let array: &PrimitiveArray<T> = array.as_primitive();
    let values: &[T::Native] = array.values();
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else { return sum(values) };
    let mut total = sum(&[]);
    for (start, end) in nulls.valid_slices() {
        match (&mut total, sum(&values[start..end])) {
            (ChecksumSum::Int(total), ChecksumSum::Int(run)) => *total = total.wrapping_add(run),
            (ChecksumSum::Float(total), ChecksumSum::Float(run)) => *total += run,
            _ => {}
        }
    }
    total
}

/// The total length of the values that are not null. Bytes under a null do not count.
fn byte_lengths(array: &dyn Array, offsets: &[i32]) -> ChecksumSum {
    let length = |from: usize, to: usize| i128::from(offsets[to]) - i128::from(offsets[from]);
    ChecksumSum::Int(match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => length(0, array.len()),
        Some(nulls) => nulls.valid_slices().map(|(start, end)| length(start, end)).sum(),
    })
}

/// The exact sum of 32-bit integers.
pub fn sum_i32(values: &[i32]) -> i64 {
    values.iter().map(|value| i64::from(*value)).sum()
}

/// The exact sum of 64-bit integers. Upper and lower halves are summed separately, without carries between them, so
/// that the loop runs in vector registers.
pub fn sum_i64(values: &[i64]) -> i128 {
    /// The number of 32-bit halves whose sum can't overflow 64 bits.
    const BLOCK: usize = 1 << 30;
    values
        .chunks(BLOCK)
        .map(|block| {
            let (mut high, mut low) = (0_u64, 0_u64);
            for value in block {
                // The flipped sign bit moves the range to start at 0, since a logical shift costs less than an
                // arithmetic one.
                let biased = value.cast_unsigned() ^ (1 << 63);
                high += biased >> 32;
                low += biased & 0xFFFF_FFFF;
            }
            (i128::from(high) << 32) + i128::from(low) - ((block.len() as i128) << 63)
        })
        .sum()
}

/// The sum of 64-bit floats, in [`FLOAT_LANES`] accumulators.
pub fn sum_f64(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<FLOAT_LANES>();
    let mut lanes = [0.0; FLOAT_LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// The sum of 32-bit floats, added as 64-bit ones in [`FLOAT_LANES`] accumulators.
pub fn sum_f32(values: &[f32]) -> f64 {
    let (chunks, rest) = values.as_chunks::<FLOAT_LANES>();
    let mut lanes = [0.0; FLOAT_LANES];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += f64::from(*value);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().copied().map(f64::from).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_sum_of_64_bit_integers_is_exact(values in prop::collection::vec(any::<i64>(), 0..300)) {
            prop_assert_eq!(sum_i64(&values), values.iter().map(|value| i128::from(*value)).sum::<i128>());
        }
    }
}
