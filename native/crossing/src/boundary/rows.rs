//! Rows by napi-rs, as everyone uses it: arrays of objects, JSON, and typed arrays of the caller's.

use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_suite::boundary::rows::{self, FourRow, NamedRow, RowShape, WideRow};
use napi::bindgen_prelude::{
    Float64Array, Float64ArraySlice, Int32Array, Int32ArraySlice, Uint8Array, Uint8ArraySlice, Uint32Array,
    Uint32ArraySlice,
};
use napi_derive::napi;

/// A row of an id, a number and a text.
#[napi(object, namespace = "napiRs")]
pub struct BoundaryNamedRow {
    pub id: i32,
    pub score: f64,
    pub name: String,
}

same_fields!(BoundaryNamedRow = NamedRow { id, score, name });

/// A row of an id and 3 numbers.
#[napi(object, namespace = "napiRs")]
pub struct BoundaryFourRow {
    pub id: i32,
    pub a: f64,
    pub b: f64,
    pub c: f64,
}

same_fields!(BoundaryFourRow = FourRow { id, a, b, c });

/// A row of an id and 7 numbers.
#[napi(object, namespace = "napiRs")]
pub struct BoundaryWideRow {
    pub id: i32,
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
    pub e: f64,
    pub f: f64,
    pub g: f64,
}

same_fields!(BoundaryWideRow = WideRow { id, a, b, c, d, e, f, g });

/// Converts rows of the suite to rows of napi-rs, or the other way around. Both have the same fields, so that no row is copied.
fn converted<Given, Wanted: From<Given>>(rows: Vec<Given>) -> Vec<Wanted> {
    rows.into_iter().map(Wanted::from).collect()
}

/// The sum of the values of rows of an id, a number and a text.
#[napi(namespace = "napiRs")]
pub fn sum_named_rows(rows: Vec<BoundaryNamedRow>) -> f64 {
    rows::sum::<NamedRow>(&converted(rows))
}

/// The sum of the values of rows of an id and 3 numbers.
#[napi(namespace = "napiRs")]
pub fn sum_four_rows(rows: Vec<BoundaryFourRow>) -> f64 {
    rows::sum::<FourRow>(&converted(rows))
}

/// The sum of the values of rows of an id and 7 numbers.
#[napi(namespace = "napiRs")]
pub fn sum_wide_rows(rows: Vec<BoundaryWideRow>) -> f64 {
    rows::sum::<WideRow>(&converted(rows))
}

/// Rows of an id, a number and a text of `characters` characters.
#[napi(namespace = "napiRs")]
pub fn make_named_rows(count: u32, characters: u32) -> napi::Result<Vec<BoundaryNamedRow>> {
    rows::make::<NamedRow>(count, characters as usize).map(converted).map_err(js)
}

/// Rows of an id and 3 numbers.
#[napi(namespace = "napiRs")]
pub fn make_four_rows(count: u32) -> napi::Result<Vec<BoundaryFourRow>> {
    rows::make::<FourRow>(count, 0).map(converted).map_err(js)
}

/// Rows of an id and 7 numbers.
#[napi(namespace = "napiRs")]
pub fn make_wide_rows(count: u32) -> napi::Result<Vec<BoundaryWideRow>> {
    rows::make::<WideRow>(count, 0).map(converted).map_err(js)
}

/// The sum of the values of rows as JSON. Each row has `numbers` numbers.
#[napi(namespace = "napiRs")]
pub fn sum_rows_json(text: String, numbers: u32) -> napi::Result<f64> {
    rows::sum_json(&text, shape(numbers, 0)).map_err(js)
}

/// Rows as JSON, each with `numbers` numbers and a text of `characters` characters.
#[napi(namespace = "napiRs")]
pub fn make_rows_json(count: u32, numbers: u32, characters: u32) -> napi::Result<String> {
    rows::make_json(count, shape(numbers, characters)).map_err(js)
}

fn shape(numbers: u32, characters: u32) -> RowShape {
    RowShape { numbers: numbers as usize, characters: characters as usize }
}

/// The sum of the values of rows in columns.
#[napi(namespace = "napiRs")]
pub fn sum_row_columns(
    ids: Int32ArraySlice<'_>,
    numbers: Float64ArraySlice<'_>,
    offsets: Uint32ArraySlice<'_>,
    bytes: Uint8ArraySlice<'_>,
) -> napi::Result<f64> {
    rows::sum_columns(&ids, &numbers, &offsets, &bytes).map_err(js)
}

/// Writes rows into columns of the caller's, and returns the size of their texts in bytes.
#[napi(namespace = "napiRs")]
pub fn fill_row_columns(
    mut ids: Int32Array,
    mut numbers: Float64Array,
    mut offsets: Uint32Array,
    mut bytes: Uint8Array,
    characters: u32,
) -> napi::Result<u32> {
    // SAFETY: JavaScript of this thread does not run before the return. As in any addon by napi-rs, memory that is shared with another
    // thread is not refused, nor are arrays over the same memory. The family passes none.
    let size = unsafe {
        rows::fill_columns(ids.as_mut(), numbers.as_mut(), offsets.as_mut(), bytes.as_mut(), characters as usize)
    };
    u32::try_from(size.map_err(js)?).map_err(|_| invalid("the texts are too long"))
}
