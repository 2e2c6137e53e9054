//! Rows as bytes: by napi-rs, from objects and into objects, and by functions that work on columns in the caller's memory.

use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::typed_memory::{BYTES, elements_at, elements_at_mut, memory_of, overlap};
use boundary_bench_node::values::numbers::count;
use boundary_bench_suite::codec::row_format::{Kind, Layout, WriteRow, decode_rows, encode_rows};
use boundary_bench_suite::codec::rows;
use napi::bindgen_prelude::{Array, BigInt, Buffer, FromNapiValue, Uint8ArraySlice, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

/// A row of the table `users`.
#[napi(object, namespace = "codec")]
pub struct UserRow {
    pub id: BigInt,
    pub name: String,
    pub email: String,
    pub age: i32,
    pub score: f64,
    pub active: bool,
    /// Milliseconds since 1970.
    pub created: f64,
}

/// A row of ten types, each of which may be null.
#[napi(object, use_nullable = true, namespace = "codec")]
pub struct TenTypesRow {
    pub truth: Option<bool>,
    pub int8: Option<i8>,
    pub int16: Option<i16>,
    pub int32: Option<i32>,
    pub int64: Option<BigInt>,
    pub float32: Option<f64>,
    pub float64: Option<f64>,
    pub text: Option<String>,
    pub bytes: Option<Buffer>,
    /// Milliseconds since 1970.
    pub timestamp: Option<f64>,
}

fn integer(value: &BigInt) -> napi::Result<i64> {
    match value.get_i64() {
        (integer, true) => Ok(integer),
        _ => Err(invalid("a bigint does not fit into 64 bits")),
    }
}

impl TryFrom<UserRow> for rows::UserRow<String> {
    type Error = napi::Error;

    fn try_from(row: UserRow) -> napi::Result<Self> {
        let UserRow { id, name, email, age, score, active, created } = row;
        Ok(Self { id: integer(&id)?, name, email, age, score, active, created })
    }
}

impl From<rows::UserRow<&str>> for UserRow {
    fn from(row: rows::UserRow<&str>) -> Self {
        let rows::UserRow { id, name, email, age, score, active, created } = row;
        Self { id: id.into(), name: name.to_owned(), email: email.to_owned(), age, score, active, created }
    }
}

impl TryFrom<TenTypesRow> for rows::TenTypesRow<String, Buffer> {
    type Error = napi::Error;

    fn try_from(row: TenTypesRow) -> napi::Result<Self> {
        let TenTypesRow { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp } = row;
        let int64 = int64.as_ref().map(integer).transpose()?;
        #[expect(clippy::cast_possible_truncation, reason = "the column has floats of 32 bits")]
        let float32 = float32.map(|value| value as f32);
        Ok(Self { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp })
    }
}

impl From<rows::TenTypesRow<&str, &[u8]>> for TenTypesRow {
    fn from(row: rows::TenTypesRow<&str, &[u8]>) -> Self {
        let rows::TenTypesRow { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp } = row;
        let (text, bytes) = (text.map(str::to_owned), bytes.map(Buffer::from));
        let (int64, float32) = (int64.map(BigInt::from), float32.map(f64::from));
        Self { truth, int8, int16, int32, int64, float32, float64, text, bytes, timestamp }
    }
}

/// The most rows of a call.
const MOST_ROWS: u32 = 1 << 20;

/// The objects of an array, converted one by one. Its length is checked first, since it may be an empty one of four billion elements.
pub fn objects_of<'a, Object: FromNapiValue>(
    array: &'a Array<'_>,
) -> napi::Result<impl Iterator<Item = napi::Result<Object>> + 'a> {
    let length = array.len();
    if length > MOST_ROWS {
        return Err(js(Error::TooLarge(format!("{length} rows are too many for a call: at most {MOST_ROWS}"))));
    }
    Ok((0..length).map(|index| array.get(index)?.ok_or_else(|| invalid(format!("the row {index} is missing")))))
}

/// Converts the rows of an array.
fn rows_of<Row: FromNapiValue, Converted: TryFrom<Row, Error = napi::Error>>(
    array: &Array<'_>,
) -> napi::Result<Vec<Converted>> {
    let objects = objects_of::<Row>(array)?;
    let mut rows = Vec::with_capacity(array.len() as usize);
    for row in objects {
        rows.push(row?.try_into()?);
    }
    Ok(rows)
}

fn encoded<Row: WriteRow>(rows: &[Row]) -> napi::Result<Buffer> {
    let mut out = Vec::new();
    encode_rows(rows, &mut out).map_err(js)?;
    Ok(out.into())
}

/// A row of the table `users` as a batch of one row.
#[napi(namespace = "codec", catch_unwind)]
pub fn encode_user(row: UserRow) -> napi::Result<Buffer> {
    encoded(&[rows::UserRow::try_from(row)?])
}

/// A batch of rows of the table `users` as bytes.
#[napi(namespace = "codec", catch_unwind, ts_args_type = "rows: ReadonlyArray<codec.UserRow>")]
pub fn encode_users(rows: Array<'_>) -> napi::Result<Buffer> {
    encoded::<rows::UserRow<String>>(&rows_of::<UserRow, _>(&rows)?)
}

/// A batch of rows of ten types as bytes.
#[napi(namespace = "codec", catch_unwind, ts_args_type = "rows: ReadonlyArray<codec.TenTypesRow>")]
pub fn encode_ten_types(rows: Array<'_>) -> napi::Result<Buffer> {
    encoded::<rows::TenTypesRow<String, Buffer>>(&rows_of::<TenTypesRow, _>(&rows)?)
}

/// The row of the table `users` that a batch of one row has.
#[napi(namespace = "codec", catch_unwind)]
pub fn decode_user(bytes: Uint8ArraySlice<'_>) -> napi::Result<UserRow> {
    let rows = decode_rows::<rows::UserRow<&str>>(&bytes).map_err(js)?;
    let [row] = <[_; 1]>::try_from(rows).map_err(|rows| invalid(format!("expected one row, not {}", rows.len())))?;
    Ok(row.into())
}

/// The rows of the table `users` that a batch has.
#[napi(namespace = "codec", catch_unwind)]
pub fn decode_users(bytes: Uint8ArraySlice<'_>) -> napi::Result<Vec<UserRow>> {
    let rows = decode_rows::<rows::UserRow<&str>>(&bytes).map_err(js)?;
    Ok(rows.into_iter().map(UserRow::from).collect())
}

/// The rows of ten types that a batch has.
#[napi(namespace = "codec", catch_unwind)]
pub fn decode_ten_types(bytes: Uint8ArraySlice<'_>) -> napi::Result<Vec<TenTypesRow>> {
    let rows = decode_rows::<rows::TenTypesRow<&str, &[u8]>>(&bytes).map_err(js)?;
    Ok(rows.into_iter().map(TenTypesRow::from).collect())
}

/// The type of a column of rows.
#[napi(string_enum = "lowercase", namespace = "codec")]
#[derive(Clone, Copy)]
pub enum RowKind {
    /// A byte, 0 or 1.
    Truth,
    /// 8 bits.
    Int8,
    /// 16 bits.
    Int16,
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// 32 bits.
    Float32,
    /// 64 bits.
    Float64,
    /// UTF-8.
    Text,
    /// Any bytes.
    Bytes,
    /// A double: milliseconds since 1970.
    Timestamp,
}

impl From<RowKind> for Kind {
    fn from(kind: RowKind) -> Self {
        match kind {
            RowKind::Truth => Self::Truth,
            RowKind::Int8 => Self::Int8,
            RowKind::Int16 => Self::Int16,
            RowKind::Int32 => Self::Int32,
            RowKind::Int64 => Self::Int64,
            RowKind::Float32 => Self::Float32,
            RowKind::Float64 => Self::Float64,
            RowKind::Text => Self::Text,
            RowKind::Bytes => Self::Bytes,
            RowKind::Timestamp => Self::Timestamp,
        }
    }
}

fn layout(kinds: Vec<RowKind>, rows: f64, text_bytes: f64) -> napi::Result<Layout> {
    let rows = count(rows, "the number of rows", MOST_ROWS)?;
    let text_bytes = count(text_bytes, "the bytes of a column's texts", u32::MAX)?;
    let kinds: Vec<Kind> = kinds.into_iter().map(Kind::from).collect();
    let [rows, text_bytes] = [rows, text_bytes].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    Layout::new(&kinds, rows, text_bytes).map_err(js)
}

/// A number of bytes or rows.
fn number_of(env: Env, value: sys::napi_value, what: &str, most: u32) -> napi::Result<usize> {
    let mut number = f64::NAN;
    // SAFETY: the handle belongs to the call under way, and the out-pointer is valid. A value that is no number leaves NaN, and NaN is
    // refused.
    unsafe { sys::napi_get_value_double(env.raw(), value, &raw mut number) };
    count(number, what, most)
}

fn shared() -> napi::Error {
    invalid("the bytes and the columns must not share memory")
}

/// Encodes columns.
struct EncodeColumns(Layout);

impl FastCall<3> for EncodeColumns {
    fn call(&self, env: Env, [block, rows, out]: [sys::napi_value; 3]) -> napi::Result<f64> {
        let block = memory_of(env, block, BYTES)?;
        let rows = number_of(env, rows, "the number of rows", MOST_ROWS)?;
        let out = memory_of(env, out, BYTES)?;
        if overlap(block, out) {
            return Err(shared());
        }
        // SAFETY: no JavaScript runs before the return, and what is written is apart from what is read.
        let size = unsafe { self.0.encode(elements_at(block), rows, elements_at_mut(out)) };
        size.map(|size| size as f64).map_err(js)
    }
}

/// Returns a function that encodes the first rows of columns of these types as a batch over the beginning of `out`, and returns the size
/// of the batch. The block of the columns has room for `rows` rows, and for `textBytes` bytes in each column of texts or bytes.
/// `native/suite/src/codec/row_format/columns.rs` tells where the columns lie.
#[napi(
    namespace = "codec",
    catch_unwind,
    ts_args_type = "kinds: ReadonlyArray<`${codec.RowKind}`>, rows: number, textBytes: number",
    ts_return_type = "(block: Uint8Array, rows: number, out: Uint8Array) => number"
)]
pub fn row_encoder(env: &Env, kinds: Vec<RowKind>, rows: f64, text_bytes: f64) -> napi::Result<Unknown<'_>> {
    function(env, "encodeRows", EncodeColumns(layout(kinds, rows, text_bytes)?))
}

/// Decodes into columns.
struct DecodeColumns(Layout);

impl FastCall<3> for DecodeColumns {
    fn call(&self, env: Env, [bytes, size, block]: [sys::napi_value; 3]) -> napi::Result<f64> {
        let (bytes, length) = memory_of(env, bytes, BYTES)?;
        let size = number_of(env, size, "the size of the batch", u32::MAX)?;
        let block = memory_of(env, block, BYTES)?;
        if size > length {
            return Err(invalid(format!("the batch of {size} bytes is longer than its array of {length}")));
        }
        if overlap((bytes, size), block) {
            return Err(shared());
        }
        // SAFETY: no JavaScript runs before the return, what is written is apart from what is read, and the array has `size` bytes.
        let rows = unsafe { self.0.decode(elements_at((bytes, size)), elements_at_mut(block)) };
        rows.map(|rows| rows as f64).map_err(js)
    }
}

/// Returns a function that decodes a batch, the first `size` bytes of an array, into columns of these types, and returns the number of
/// rows. The columns lie as [`row_encoder`] tells.
#[napi(
    namespace = "codec",
    catch_unwind,
    ts_args_type = "kinds: ReadonlyArray<`${codec.RowKind}`>, rows: number, textBytes: number",
    ts_return_type = "(bytes: Uint8Array, size: number, block: Uint8Array) => number"
)]
pub fn row_decoder(env: &Env, kinds: Vec<RowKind>, rows: f64, text_bytes: f64) -> napi::Result<Unknown<'_>> {
    function(env, "decodeRows", DecodeColumns(layout(kinds, rows, text_bytes)?))
}
