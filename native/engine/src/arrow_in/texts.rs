//! Conversions of texts and bytes.

use std::sync::Arc;

use arrow_array::builder::GenericByteBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, Utf8Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;

use super::misfit::{Converted, Misfit};

/// Maximum number of bytes of an array's texts or bytes, whose offsets have 32 bits.
pub(super) const MOST_BYTES: usize = i32::MAX as usize;

/// Converts texts to those with offsets of 32 bits.
pub(super) fn to_text(array: &ArrayRef) -> Converted {
    match array.data_type() {
        DataType::LargeUtf8 => with_short_offsets(array, &DataType::Utf8),
        DataType::Utf8View => copied::<Utf8Type>(array.as_string_view().iter()),
        _ => Err(Misfit::Type),
    }
}

/// Converts bytes to those with offsets of 32 bits.
pub(super) fn to_bytes(array: &ArrayRef) -> Converted {
    match array.data_type() {
        DataType::LargeBinary => with_short_offsets(array, &DataType::Binary),
        DataType::BinaryView => copied::<BinaryType>(array.as_binary_view().iter()),
        DataType::FixedSizeBinary(_) => copied::<BinaryType>(array.as_fixed_size_binary().iter()),
        _ => Err(Misfit::Type),
    }
}

/// The bytes are not copied.
fn with_short_offsets(array: &ArrayRef, wanted: &DataType) -> Converted {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, wanted, &options).map_err(|_| Misfit::Size)
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
