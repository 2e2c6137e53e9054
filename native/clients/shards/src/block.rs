//! Rows stored by columns, in one allocation. It is laid out as the body of an Arrow IPC message, so that a scan passes it to Arrow
//! or sends it without a copy.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, FixedSizeBinaryArray, PrimitiveArray, RecordBatch};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use boundary_bench_kernel::{Error, Result};

use crate::placing::mix;
use crate::prefetch::prefetch;
use crate::row::{HEAD_WORDS, MadeValues, PAYLOAD_BYTES, PAYLOAD_WORDS, ROW_BYTES, Row, head_sum};

/// The rows of a full block. Such a block takes 800 KiB.
pub const BLOCK_ROWS: usize = 4096;

/// A block's capacity is a multiple of this number of rows, so that each column begins at an address that Arrow recommends.
const ROW_STEP: usize = 64;

/// The bytes of a row before each column's value.
pub(crate) const OFFSETS: [usize; 5] = [0, 8, 12, 20, 28];

/// The bytes of each column's value.
pub(crate) const WIDTHS: [usize; 5] = [8, 4, 8, 8, PAYLOAD_BYTES];

/// The Arrow schema of rows.
pub static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| schema(false));

/// The Arrow schema of rows of which some may be missing: all columns but the key are nullable.
pub static NULLABLE_SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| schema(true));

fn schema(nullable: bool) -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Int64, false),
        Field::new("quantity", DataType::Int32, nullable),
        Field::new("price", DataType::Float64, nullable),
        Field::new("updated_at", DataType::Int64, nullable),
        // 172 is `PAYLOAD_BYTES`, in the type that Arrow takes.
        Field::new("payload", DataType::FixedSizeBinary(172), nullable),
    ]))
}

/// Borrowed rows, stored by columns.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'a> {
    /// The keys.
    pub keys: &'a [i64],
    /// The quantities.
    pub quantities: &'a [i32],
    /// The prices.
    pub prices: &'a [f64],
    /// The times of the last updates.
    pub updated_at: &'a [i64],
    /// The payloads, one after another.
    pub payloads: &'a [u8],
}

impl<'a> Columns<'a> {
    /// One row as columns.
    pub fn of_row(row: &'a Row) -> Self {
        Self {
            keys: std::slice::from_ref(&row.key),
            quantities: std::slice::from_ref(&row.quantity),
            prices: std::slice::from_ref(&row.price),
            updated_at: std::slice::from_ref(&row.updated_at),
            payloads: &row.payload,
        }
    }

    /// The rows of a batch.
    pub fn of_batch(batch: &'a RecordBatch) -> Result<Self> {
        let same =
            batch.schema_ref().fields().len() == SCHEMA.fields().len()
                && batch.schema_ref().fields().iter().zip(SCHEMA.fields()).all(|(given, expected)| {
                    given.name() == expected.name() && given.data_type() == expected.data_type()
                });
        if !same {
            let names = SCHEMA.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type()));
            return Err(Error::SchemaMismatch(format!(
                "the rows must have the columns {}",
                names.collect::<Vec<_>>().join(", ")
            )));
        }
        if let Some(column) = batch.columns().iter().position(|column| column.null_count() > 0) {
            return Err(Error::SchemaMismatch(format!("a null in the column {}", SCHEMA.field(column).name())));
        }
        let payloads = batch.column(4).as_fixed_size_binary();
        Ok(Self {
            keys: batch.column(0).as_primitive::<Int64Type>().values(),
            quantities: batch.column(1).as_primitive::<Int32Type>().values(),
            prices: batch.column(2).as_primitive::<Float64Type>().values(),
            updated_at: batch.column(3).as_primitive::<Int64Type>().values(),
            payloads: &payloads.value_data()[..batch.num_rows() * PAYLOAD_BYTES],
        })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The rows from `start` to before `end`.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        Self {
            keys: &self.keys[start..end],
            quantities: &self.quantities[start..end],
            prices: &self.prices[start..end],
            updated_at: &self.updated_at[start..end],
            payloads: &self.payloads[start * PAYLOAD_BYTES..end * PAYLOAD_BYTES],
        }
    }

    /// The row at `index`.
    pub fn row(&self, index: usize) -> Row {
        let payload = &self.payloads[index * PAYLOAD_BYTES..];
        Row {
            key: self.keys[index],
            quantity: self.quantities[index],
            price: self.prices[index],
            updated_at: self.updated_at[index],
            payload: payload.first_chunk().copied().unwrap_or([0; PAYLOAD_BYTES]),
        }
    }

    /// Appends the first row as packed bytes.
    pub(crate) fn pack_first(&self, packed: &mut Vec<u8>) {
        packed.extend_from_slice(&self.keys[0].to_le_bytes());
        packed.extend_from_slice(&self.quantities[0].to_le_bytes());
        packed.extend_from_slice(&self.prices[0].to_le_bytes());
        packed.extend_from_slice(&self.updated_at[0].to_le_bytes());
        packed.extend_from_slice(&self.payloads[..PAYLOAD_BYTES]);
    }

    /// The wrapping sum of the hashes of all rows. It reads every value.
    pub fn checksum(&self) -> u32 {
        let payloads = self.payloads.as_chunks::<PAYLOAD_BYTES>().0;
        let rows = self.keys.iter().zip(self.quantities).zip(self.prices).zip(self.updated_at).zip(payloads);
        rows.fold(0, |sum, ((((key, quantity), price), updated_at), payload)| {
            let head = head_sum(*key, *quantity, *price, *updated_at);
            sum.wrapping_add(mix(head.wrapping_add(payload_sum(payload))))
        })
    }
}

/// The weighted sum of a payload's words.
fn payload_sum(payload: &[u8; PAYLOAD_BYTES]) -> u32 {
    const WEIGHTS: [u32; PAYLOAD_WORDS] = {
        let mut weights = [0; PAYLOAD_WORDS];
        let (mut word, mut weight) = (0, 2 * HEAD_WORDS + 1);
        while word < PAYLOAD_WORDS {
            weights[word] = weight;
            weight += 2;
            word += 1;
        }
        weights
    };
    let words = payload.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    words.zip(WEIGHTS).fold(0, |sum, (word, weight)| sum.wrapping_add(word.wrapping_mul(weight)))
}

/// The rows in packed bytes.
pub(crate) fn whole_rows(packed: &[u8]) -> Result<&[[u8; ROW_BYTES]]> {
    let (rows, rest) = packed.as_chunks();
    if rest.is_empty() {
        return Ok(rows);
    }
    Err(Error::InvalidArgument(format!("{} bytes are no whole rows: a packed row has {ROW_BYTES}", packed.len())))
}

/// Converts packed rows to a block.
pub fn unpack(packed: &[u8]) -> Result<Block> {
    let rows = whole_rows(packed)?;
    let mut block = Block::with_capacity(rows.len());
    rows.iter().for_each(|row| block.push(&Row::from_bytes(row)));
    Ok(block)
}

/// The rows in these columns as an Arrow batch. Missing rows are null in all columns but the key.
pub(crate) fn batch_of(
    schema: &SchemaRef,
    [keys, quantities, prices, updated_at, payloads]: [Buffer; 5],
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<RecordBatch> {
    fn numbers<T: ArrowPrimitiveType>(values: Buffer, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
        Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::new(values, 0, rows), nulls))
    }
    let failed = |error: ArrowError| Error::Internal(error.to_string());
    let payloads = FixedSizeBinaryArray::try_new(172, payloads, nulls.clone()).map_err(failed)?;
    let columns = vec![
        numbers::<Int64Type>(keys, rows, None),
        numbers::<Int32Type>(quantities, rows, nulls.clone()),
        numbers::<Float64Type>(prices, rows, nulls.clone()),
        numbers::<Int64Type>(updated_at, rows, nulls),
        Arc::new(payloads),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(failed)
}

/// Owned rows, stored by columns.
#[derive(Debug)]
pub struct Block {
    memory: MutableBuffer,
    capacity: usize,
    len: usize,
}

impl Clone for Block {
    fn clone(&self) -> Self {
        let mut clone = Self::with_capacity(self.capacity);
        clone.extend(self.columns());
        clone
    }
}

impl Block {
    /// An empty block with room for at least `rows` rows. Its memory is not touched before it is filled.
    pub fn with_capacity(rows: usize) -> Self {
        let capacity = rows.next_multiple_of(ROW_STEP).max(ROW_STEP);
        Self { memory: MutableBuffer::from_len_zeroed(capacity * ROW_BYTES), capacity, len: 0 }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether no further row fits.
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// The number of rows that fit.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The memory of the block: the columns, each with room for the block's capacity.
    pub(crate) fn memory(&self) -> &[u8] {
        &self.memory
    }

    /// The rows, borrowed.
    pub fn columns(&self) -> Columns<'_> {
        let (capacity, len) = (self.capacity, self.len);
        let (long, short) = (self.memory.typed_data::<i64>(), self.memory.typed_data::<i32>());
        let prices = self.memory.typed_data::<f64>();
        let at = |column: usize, width: usize| OFFSETS[column] * capacity / width;
        Columns {
            keys: &long[..len],
            quantities: &short[at(1, 4)..][..len],
            prices: &prices[at(2, 8)..][..len],
            updated_at: &long[at(3, 8)..][..len],
            payloads: &self.memory[at(4, 1)..][..len * PAYLOAD_BYTES],
        }
    }

    /// The row at `index`.
    pub fn row(&self, index: usize) -> Row {
        self.columns().row(index)
    }

    /// Prefetches the memory of the row at `index`, if the block has room for it.
    pub(crate) fn prefetch(&self, index: usize) {
        if index < self.capacity {
            for (offset, width) in OFFSETS.iter().zip(WIDTHS) {
                prefetch(&self.memory[offset * self.capacity + width * index..][..width]);
            }
        }
    }

    /// Appends a row. Panics without room.
    pub fn push(&mut self, row: &Row) {
        self.extend(Columns::of_row(row));
    }

    /// Appends rows. Panics without room.
    pub fn extend(&mut self, rows: Columns<'_>) {
        let start = self.len;
        self.len += rows.len();
        self.write(start, rows);
    }

    /// Overwrites rows, beginning at `start`.
    pub(crate) fn write(&mut self, start: usize, rows: Columns<'_>) {
        assert!(start + rows.len() <= self.len && self.len <= self.capacity, "there is no room for these rows");
        let (capacity, count) = (self.capacity, rows.len());
        let at = |column: usize, width: usize| OFFSETS[column] * capacity / width + start;
        self.memory.typed_data_mut::<i64>()[at(0, 8)..][..count].copy_from_slice(rows.keys);
        self.memory.typed_data_mut::<i32>()[at(1, 4)..][..count].copy_from_slice(rows.quantities);
        self.memory.typed_data_mut::<f64>()[at(2, 8)..][..count].copy_from_slice(rows.prices);
        self.memory.typed_data_mut::<i64>()[at(3, 8)..][..count].copy_from_slice(rows.updated_at);
        let payloads = OFFSETS[4] * capacity + start * PAYLOAD_BYTES;
        self.memory[payloads..][..count * PAYLOAD_BYTES].copy_from_slice(rows.payloads);
    }

    /// Appends the benchmarks' rows of these keys, each given with its hash. Panics without room.
    pub(crate) fn push_made(&mut self, keys: &[(i64, u32)]) {
        let (capacity, start) = (self.capacity, self.len);
        assert!(start + keys.len() <= capacity, "there is no room for these rows");
        self.len += keys.len();
        let at = |column: usize, width: usize| OFFSETS[column] * capacity / width + start;
        let values = || keys.iter().map(|(key, hash)| (*key, MadeValues::of(*key, *hash)));
        let fill = |column: &mut [i64], value: fn(i64, MadeValues) -> i64| {
            column.iter_mut().zip(values()).for_each(|(place, (key, made))| *place = value(key, made));
        };
        let long = self.memory.typed_data_mut::<i64>();
        fill(&mut long[at(0, 8)..][..keys.len()], |key, _| key);
        fill(&mut long[at(3, 8)..][..keys.len()], |_, made| made.updated_at);
        let quantities = &mut self.memory.typed_data_mut::<i32>()[at(1, 4)..][..keys.len()];
        quantities.iter_mut().zip(values()).for_each(|(place, (_, made))| *place = made.quantity);
        let prices = &mut self.memory.typed_data_mut::<f64>()[at(2, 8)..][..keys.len()];
        prices.iter_mut().zip(values()).for_each(|(place, (_, made))| *place = made.price);
        let words = OFFSETS[4] * capacity / 4 + start * PAYLOAD_WORDS;
        let payloads = &mut self.memory.typed_data_mut::<u32>()[words..][..keys.len() * PAYLOAD_WORDS];
        let payloads = payloads.as_chunks_mut::<PAYLOAD_WORDS>().0;
        payloads.iter_mut().zip(values()).for_each(|(payload, (_, made))| made.write_payload(payload));
    }

    /// The same rows in a block of the smallest capacity.
    pub(crate) fn fitting(self: &Arc<Self>) -> Arc<Self> {
        if self.len.next_multiple_of(ROW_STEP) >= self.capacity {
            return Arc::clone(self);
        }
        let mut fitting = Self::with_capacity(self.len);
        fitting.extend(self.columns());
        Arc::new(fitting)
    }

    /// The rows as an Arrow batch over the same memory.
    pub fn to_batch(self: &Arc<Self>) -> Result<RecordBatch> {
        let memory = Buffer::from(self.to_shared());
        let column = |column| memory.slice_with_length(OFFSETS[column] * self.capacity, WIDTHS[column] * self.len);
        batch_of(&SCHEMA, [0, 1, 2, 3, 4].map(column), self.len, None)
    }

    /// The memory of the block as shared bytes.
    pub(crate) fn to_shared(self: &Arc<Self>) -> bytes::Bytes {
        struct Shared(Arc<Block>);

        impl AsRef<[u8]> for Shared {
            fn as_ref(&self) -> &[u8] {
                self.0.memory()
            }
        }

        bytes::Bytes::from_owner(Shared(Arc::clone(self)))
    }
}
