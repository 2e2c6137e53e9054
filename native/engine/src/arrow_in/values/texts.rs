//! Conversions of texts and bytes, and of arrays whose values are stored once for many rows.

use std::sync::Arc;

use arrow_array::builder::GenericByteBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray, UInt32Array, downcast_run_array, new_null_array};
use arrow_buffer::{ArrowNativeType, OffsetBuffer};
use arrow_schema::DataType;
use arrow_select::take::take;

use super::{Misfit, converted};

type Converted = std::result::Result<ArrayRef, Misfit>;

/// Maximum number of bytes of an array's texts or bytes, whose offsets have 32 bits.
const MOST_BYTES: usize = i32::MAX as usize;

/// Converts texts to those with offsets of 32 bits.
pub(super) fn to_text(array: &ArrayRef) -> Converted {
    match array.data_type() {
        DataType::LargeUtf8 => with_short_offsets::<Utf8Type, LargeUtf8Type>(array),
        DataType::Utf8View => copied::<Utf8Type>(array.as_string_view().iter()),
        _ => Err(Misfit::Type),
    }
}

/// Converts bytes to those with offsets of 32 bits.
pub(super) fn to_bytes(array: &ArrayRef) -> Converted {
    match array.data_type() {
        DataType::LargeBinary => with_short_offsets::<BinaryType, LargeBinaryType>(array),
        DataType::BinaryView => copied::<BinaryType>(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => copied::<BinaryType>(array.as_fixed_size_binary().iter()),
        _ => Err(Misfit::Type),
    }
}

/// An array whose offsets have 64 bits with offsets of 32 bits. The bytes are not copied.
fn with_short_offsets<Short, Long>(array: &ArrayRef) -> Converted
where
    Short: ByteArrayType<Offset = i32>,
    Long: ByteArrayType<Offset = i64, Native = Short::Native>,
{
    let (offsets, bytes, nulls) = array.as_bytes::<Long>().clone().into_parts();
    let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
    let short = offsets.iter().map(|offset| i32::try_from(offset - first).map_err(|_| Misfit::Size));
    let short = short.collect::<std::result::Result<Vec<i32>, _>>()?;
    let bytes = bytes.slice_with_length(first.as_usize(), (last - first).as_usize());
    // SAFETY: the offsets ascend as the offsets of the given array do, from 0 to the length of `bytes`. Each value has the bytes that it had in
    // that array, whose values are valid.
    Ok(Arc::new(unsafe { GenericByteArray::<Short>::new_unchecked(OffsetBuffer::new(short.into()), bytes, nulls) }))
}

fn copied<'a, T: ByteArrayType<Offset = i32>>(
    values: impl ExactSizeIterator<Item = Option<&'a T::Native>> + Clone,
) -> Converted
where
    T::Native: 'a,
{
    let length = |value: &'a T::Native| AsRef::<[u8]>::as_ref(value).len();
    let mut bytes = 0_usize;
    for value in values.clone().flatten() {
        bytes = bytes.saturating_add(length(value));
    }
    if bytes > MOST_BYTES {
        return Err(Misfit::Size);
    }
    let mut builder = GenericByteBuilder::<T>::with_capacity(values.len(), bytes);
    values.for_each(|value| builder.append_option(value));
    Ok(Arc::new(builder.finish()))
}

/// Converts a dictionary's values, and repeats each for its rows.
pub(super) fn expanded_dictionary(array: &ArrayRef, wanted: &DataType) -> Converted {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return Err(Misfit::Type) };
    if dictionary.values().is_empty() {
        // No key is valid.
        return Ok(new_null_array(wanted, array.len()));
    }
    let places = || {
        let keys = dictionary.keys();
        dictionary.normalized_keys().into_iter().enumerate().filter(|(row, _)| keys.is_valid(*row)).map(|(_, key)| key)
    };
    expanded(dictionary.values(), dictionary.keys(), places, wanted)
}

/// Converts the values of runs, and repeats each for its rows.
pub(super) fn expanded_runs(array: &ArrayRef, wanted: &DataType) -> Converted {
    let (values, indices) = downcast_run_array!(
        array => {
            let mut indices = Vec::with_capacity(array.len());
            for (run, end) in (0_u32..).zip(array.run_ends().sliced_values()) {
                let end = end.as_usize().min(array.len());
                indices.resize(end, run);
            }
            (array.values_slice(), UInt32Array::from(indices))
        },
        _ => return Err(Misfit::Type),
    );
    expanded(&values, &indices, || indices.values().iter().map(|run| *run as usize), wanted)
}

/// The values at these indices. `places` are the indices of the rows that are not null.
fn expanded<I: Iterator<Item = usize>>(
    values: &ArrayRef,
    indices: &dyn Array,
    places: impl Fn() -> I,
    wanted: &DataType,
) -> Converted {
    let taken = |values: &ArrayRef| take(values, indices, None).map_err(|_| Misfit::Type);
    if !matches!(wanted, DataType::Utf8 | DataType::Binary) {
        return converted(&taken(values)?, wanted);
    }
    // Few values may stand for more rows than memory could hold.
    let values = converted(values, wanted)?;
    let offsets = match wanted {
        DataType::Utf8 => values.as_string::<i32>().offsets(),
        _ => values.as_binary::<i32>().offsets(),
    };
    let length = |place: usize| usize::try_from(offsets[place + 1] - offsets[place]).unwrap_or(0);
    let longest = (0..values.len()).map(length).max().unwrap_or(0);
    if longest.saturating_mul(indices.len()) > MOST_BYTES && places().map(length).sum::<usize>() > MOST_BYTES {
        return Err(Misfit::Size);
    }
    taken(&values)
}
