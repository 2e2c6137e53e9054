//! The lane `columns`: the columns of a batch as raw memory, copied once and checked.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::SchemaRef;

use crate::slab::{BUFFER_ALIGNMENT, Slab};
use crate::table::{Column, SqlType, fixed_array};
use boundary_bench_kernel::{Error, Result};

/// The memory of one column in the form of a frame (see [`crate::frame`]): values little-endian, booleans a byte each.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnParts<'a> {
    /// The validity bits of the rows, set if the value is not null, lowest bit first. `None` if there are no nulls.
    pub validity: Option<&'a [u8]>,
    /// For text and bytes, `rows + 1` 32-bit offsets into the values.
    pub offsets: Option<&'a [u8]>,
    /// The values of all rows.
    pub values: &'a [u8],
}

/// Builds a batch of `rows` rows from the memory of its columns. The memory is copied once, before it is checked, so
/// that no other writer to it can change what was checked.
///
/// `first_row` is the number of rows given before, for the errors.
pub fn batch_from_columns(
    schema: &SchemaRef,
    columns: &[Column],
    rows: usize,
    parts: &[ColumnParts<'_>],
    first_row: u64,
) -> Result<RecordBatch> {
    if parts.len() != columns.len() {
        return Err(Error::InvalidArgument(format!(
            "the table has {} columns, {} were given",
            columns.len(),
            parts.len()
        )));
    }
    for (column, part) in columns.iter().zip(parts) {
        check_lengths(column, part, rows)?;
    }
    let memory = Memory::copy(parts);
    let arrays = columns
        .iter()
        .zip(parts)
        .enumerate()
        .map(|(index, (column, part))| {
            let source = Source { column, rows, first_row, memory: &memory, index };
            source.array(part)
        })
        .collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(|error| Error::SchemaMismatch(error.to_string()))
}

fn check_lengths(column: &Column, part: &ColumnParts<'_>, rows: usize) -> Result<()> {
    let expect = |what: &str, given: usize, expected: usize| {
        if given == expected {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "column \"{}\": {rows} rows take {expected} bytes of {what}, {given} were given",
            column.name
        )))
    };
    if let Some(validity) = part.validity {
        expect("validity", validity.len(), rows.div_ceil(8))?;
    }
    match (column.sql_type.fixed_width(), part.offsets) {
        (Some(width), None) => expect("values", part.values.len(), rows.saturating_mul(width)),
        (None, Some(offsets)) => expect("offsets", offsets.len(), rows.saturating_add(1).saturating_mul(4)),
        (Some(_), Some(_)) => {
            Err(Error::InvalidArgument(format!("column \"{}\": its type takes no offsets", column.name)))
        }
        (None, None) => Err(Error::InvalidArgument(format!("column \"{}\": its type needs offsets", column.name))),
    }
}

/// The copied parts of all columns, in one slab.
struct Memory {
    slab: Arc<Slab>,
    /// The start and length of each column's validity, offsets and values in the slab.
    ranges: Vec<[Option<(usize, usize)>; 3]>,
}

impl Memory {
    fn copy(parts: &[ColumnParts<'_>]) -> Self {
        let mut end = 0;
        let mut place = |part: &[u8]| {
            let start = end;
            end = (start + part.len()).next_multiple_of(BUFFER_ALIGNMENT);
            (start, part.len())
        };
        let ranges = parts
            .iter()
            .map(|part| [part.validity.map(&mut place), part.offsets.map(&mut place), Some(place(part.values))])
            .collect::<Vec<_>>();
        let mut slab = Slab::allocate(end);
        let bytes = slab.as_mut_slice();
        for (part, ranges) in parts.iter().zip(&ranges) {
            for (source, range) in [part.validity, part.offsets, Some(part.values)].into_iter().zip(ranges) {
                if let (Some(source), Some((start, length))) = (source, range) {
                    bytes[*start..start + length].copy_from_slice(source);
                }
            }
        }
        Self { slab: Arc::new(slab), ranges }
    }

    fn buffer(&self, column: usize, part: usize) -> Option<Buffer> {
        self.ranges[column][part].map(|(start, length)| self.slab.buffer(start, length))
    }
}

/// A column that is being built.
struct Source<'a> {
    column: &'a Column,
    rows: usize,
    first_row: u64,
    memory: &'a Memory,
    index: usize,
}

impl Source<'_> {
    fn array(&self, part: &ColumnParts<'_>) -> Result<ArrayRef> {
        let nulls = part.validity.and_then(|_| self.nulls());
        if !self.column.nullable
            && let Some(nulls) = &nulls
            && let Some(row) = (0..self.rows).find(|row| nulls.is_null(*row))
        {
            return Err(self.invalid(row, "null in a NOT NULL column".to_owned()));
        }
        Ok(match self.column.sql_type {
            SqlType::Bool => Arc::new(BooleanArray::new(self.booleans()?, nulls)),
            SqlType::Text => {
                let text = StringArray::try_new(self.offsets()?, self.values(), nulls);
                Arc::new(text.map_err(|_| self.invalid_text())?)
            }
            SqlType::Bytes => {
                let bytes = BinaryArray::try_new(self.offsets()?, self.values(), nulls);
                Arc::new(bytes.map_err(|error| Error::InvalidArgument(error.to_string()))?)
            }
            fixed => {
                if let SqlType::Decimal { precision, .. } = fixed {
                    self.check_decimals(nulls.as_ref(), precision)?;
                }
                let array = fixed_array(fixed, self.rows, self.values(), nulls);
                array.map_err(|error| Error::InvalidArgument(error.to_string()))?
            }
        })
    }

    fn values(&self) -> Buffer {
        self.memory.buffer(self.index, 2).unwrap_or_default()
    }

    fn nulls(&self) -> Option<NullBuffer> {
        let bits = self.memory.buffer(self.index, 0)?;
        let nulls = NullBuffer::new(BooleanBuffer::new(bits, 0, self.rows));
        (nulls.null_count() > 0).then_some(nulls)
    }

    fn booleans(&self) -> Result<BooleanBuffer> {
        let values = self.values();
        if let Some(row) = values.iter().position(|value| *value > 1) {
            return Err(self.invalid(row, format!("{} is neither 0 nor 1", values[row])));
        }
        Ok(BooleanBuffer::collect_bool(self.rows, |row| values[row] == 1))
    }

    fn check_decimals(&self, nulls: Option<&NullBuffer>, precision: u8) -> Result<()> {
        let values = ScalarBuffer::<i128>::new(self.values(), 0, self.rows);
        let limit = 10_u128.pow(u32::from(precision));
        let is_null = |row: usize| nulls.is_some_and(|nulls| nulls.is_null(row));
        let too_long =
            values.iter().enumerate().position(|(row, value)| value.unsigned_abs() >= limit && !is_null(row));
        too_long.map_or(Ok(()), |row| {
            Err(self.invalid(row, format!("has more digits than {}", self.column.sql_type.to_sql())))
        })
    }

    fn offsets(&self) -> Result<OffsetBuffer<i32>> {
        let buffer = self.memory.buffer(self.index, 1).unwrap_or_default();
        let offsets = ScalarBuffer::<i32>::new(buffer, 0, self.rows + 1);
        let end = self.values().len();
        let in_order = offsets[0] >= 0
            && offsets.windows(2).all(|pair| pair[0] <= pair[1])
            && usize::try_from(offsets[self.rows]).is_ok_and(|last| last <= end);
        if !in_order {
            return Err(Error::InvalidArgument(format!(
                "column \"{}\": its offsets do not ascend within its {end} bytes of values",
                self.column.name
            )));
        }
        Ok(OffsetBuffer::new(offsets))
    }

    /// The error for the first row that is not UTF-8.
    fn invalid_text(&self) -> Error {
        let values = self.values();
        let offsets = match self.offsets() {
            Ok(offsets) => offsets,
            Err(error) => return error,
        };
        let at = |index: usize| usize::try_from(offsets[index]).unwrap_or(0);
        let row = (0..self.rows).find(|row| std::str::from_utf8(&values[at(*row)..at(row + 1)]).is_err());
        self.invalid(row.unwrap_or(0), "is not UTF-8".to_owned())
    }

    fn invalid(&self, row: usize, problem: String) -> Error {
        Error::InvalidValue { row: self.first_row + row as u64, column: self.column.name.clone(), problem }
    }
}
