//! `MessagePack`: columns of one field, and rows.
//!
//! Columns are one map `{measurement, tags?, field, values: [f64], timestamps?: [i64]}`. Rows are an array of maps
//! `{measurement, tags?, fields: {name: {"Float": 1.5}}, timestamp?}`.

mod columns;
mod reader;
mod rows;

pub use columns::{
    ColumnBuffers, ColumnSink, ColumnarBatch, ColumnsHead, ColumnsWriter, columns_to_points, decode_columns,
    decode_columns_into,
};
pub use rows::{RowsWriter, decode_rows, encode_rows};

/// The `Content-Type` of a body of columns.
pub const COLUMNS_CONTENT_TYPE: &str = "application/vnd.hyperbytedb.columnar-msgpack.v1";

/// The `Content-Type` of a body of rows.
pub const ROWS_CONTENT_TYPE: &str = "application/msgpack";
