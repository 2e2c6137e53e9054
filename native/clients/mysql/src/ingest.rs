//! Inserts of the engine: one transaction, filled by `LOAD DATA LOCAL` if the server allows that and all columns take the bytes of
//! texts as they are, else by packets or statements of many rows.
//!
//! `LOAD DATA` is one statement for the whole insert: the server stores rows while the next ones are encoded. For
//! values that it can't store it only gives warnings, so an insert with a warning is rolled back.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, SchemaRef};
use boundary_bench_engine::decimal;
use boundary_bench_engine::table::TableDefinition;
use boundary_bench_engine::{Ingest, check_batch};
use boundary_bench_kernel::{Error, Result};

use crate::cells::Cell;
use crate::codec::{Failure, command, garbled};
use crate::connection::Started;
use crate::insert::{self, Rows, Target, put_line};
use crate::pool::Lease;
use crate::{engine_error, runtime, sql};

/// The size in bytes at which a piece of the file is sent.
const PIECE_BYTES: usize = 256 << 10;

/// The rows of a batch that are encoded into packets at once, if there is no `LOAD DATA`.
const PACKED_ROWS: usize = 16_384;

/// An insert in progress.
pub(crate) struct MysqlIngest {
    /// The session of the transaction, or `None` once the insert has ended or failed.
    session: Option<Lease>,
    schema: SchemaRef,
    table: String,
    columns: Vec<String>,
    way: Way,
    rows: u64,
}

enum Way {
    /// The server reads a file, of which this part was not sent yet.
    File(Vec<u8>),
    Packets,
}

impl MysqlIngest {
    /// Begins an insert into the table that SQL writes as `place`, and that has these columns. `takes_bytes` as in
    /// [`crate::catalog::takes_bytes`].
    pub(crate) fn begin(mut session: Lease, table: &TableDefinition, place: String, takes_bytes: bool) -> Result<Self> {
        let columns: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        let way = runtime().block_on(start(&mut session, &place, &columns, takes_bytes))?;
        Ok(Self { session: Some(session), schema: table.to_arrow(), table: place, columns, way, rows: 0 })
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        check_batch(&self.schema, batch, self.rows)?;
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        let rows = BatchRows::new(batch)?;
        match &mut self.way {
            Way::File(piece) => {
                for row in 0..rows.count() {
                    put_line(piece, &rows, row).map_err(|(column, problem)| Error::InvalidValue {
                        row: self.rows + row as u64,
                        column: self.columns[column].clone(),
                        problem: problem.to_owned(),
                    })?;
                    if piece.len() >= PIECE_BYTES {
                        runtime().block_on(session.connection.send_file(piece))?;
                        piece.clear();
                    }
                }
            }
            Way::Packets => {
                rows.check(self.rows, &self.columns)?;
                let max_packet = session.pool().max_packet();
                let target = Target { table: &self.table, columns: &self.columns, max_packet };
                for start in (0..batch.num_rows()).step_by(PACKED_ROWS) {
                    let part = batch.slice(start, PACKED_ROWS.min(batch.num_rows() - start));
                    let part = BatchRows::new(&part)?;
                    let taken = runtime().block_on(insert::insert(session, &target, &part))?;
                    if taken != part.count() as u64 {
                        return Err(engine_error(format!("the server took {taken} rows of {}", part.count())));
                    }
                }
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn publish(&mut self) -> Result<u64> {
        let Some(session) = &mut self.session else { return Err(Error::Closed("the insert that failed")) };
        let way = std::mem::replace(&mut self.way, Way::Packets);
        let rows = self.rows;
        runtime().block_on(async {
            if let Way::File(piece) = way {
                finish_file(session, &piece, rows).await?;
            }
            session.connection.run("COMMIT").await?;
            Ok(rows)
        })
    }
}

/// Begins the transaction, and `LOAD DATA` if the server and the columns take it.
async fn start(session: &mut Lease, table: &str, columns: &[String], takes_bytes: bool) -> Result<Way> {
    session.connection.run("BEGIN").await?;
    if !takes_bytes {
        return Ok(Way::Packets);
    }
    let names: Vec<_> = columns.iter().map(|name| sql::identifier(name)).collect();
    let load = format!(
        "LOAD DATA LOCAL INFILE 'boundary-bench' INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY '\\t' \
         ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({})",
        names.join(", ")
    );
    session.connection.send(command::QUERY, |target| target.extend_from_slice(load.as_bytes()));
    match session.connection.started(None).await {
        Ok(Started::WantsFile) => Ok(Way::File(Vec::new())),
        // `LOAD DATA LOCAL` is not allowed, or not known.
        Err(Failure::Refused(_)) => Ok(Way::Packets),
        Ok(_) => {
            session.connection.condemn();
            Err(garbled("answer to LOAD DATA"))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Ends the file, and compares the number of rows that the server took.
async fn finish_file(session: &mut Lease, piece: &[u8], rows: u64) -> Result<()> {
    if !piece.is_empty() {
        session.connection.send_file(piece).await?;
    }
    session.connection.end_file();
    let Started::Done(done) = session.connection.started(None).await? else {
        session.connection.condemn();
        return Err(garbled("answer to LOAD DATA"));
    };
    if done.warnings == 0 && done.affected_rows == rows {
        return Ok(());
    }
    let warnings = session.connection.texts("SHOW WARNINGS LIMIT 1").await?;
    let warning = warnings.into_iter().flatten().flatten().collect::<Vec<_>>().join(" ");
    Err(engine_error(format!("the server took {} rows of {rows}: {warning}", done.affected_rows)))
}

impl Ingest for MysqlIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        // A failed insert is dropped with its connection, so that the server rolls it back.
        self.put(batch).inspect_err(|_| close(self.session.take()))
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        self.publish().inspect_err(|_| close(self.session.take()))
    }

    fn abort(mut self: Box<Self>) -> Result<()> {
        close(self.session.take());
        Ok(())
    }
}

impl Drop for MysqlIngest {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && session.connection.in_transaction()
        {
            session.close();
        }
    }
}

/// Closes a session. That rolls its transaction back.
fn close(session: Option<Lease>) {
    if let Some(session) = session {
        session.close();
    }
}

/// The rows of an Arrow batch.
struct BatchRows<'a> {
    columns: Vec<Values<'a>>,
    rows: usize,
    /// The most bytes of a row without the contents of texts and bytes.
    width: usize,
}

enum Values<'a> {
    Bool(&'a BooleanArray),
    SmallInt(&'a Int16Array),
    Int(&'a Int32Array),
    BigInt(&'a Int64Array),
    Real(&'a Float32Array),
    Double(&'a Float64Array),
    Decimal(&'a Decimal128Array, u8),
    Text(&'a StringArray),
    Bytes(&'a BinaryArray),
    Date(&'a Date32Array),
    Timestamp(&'a TimestampMicrosecondArray),
}

/// The most bytes of a value of any type but text and bytes.
const FIXED_BYTES: usize = 48;

impl<'a> BatchRows<'a> {
    fn new(batch: &'a RecordBatch) -> Result<Self> {
        let columns = batch.columns().iter().map(|array| {
            Ok(match array.data_type() {
                DataType::Boolean => Values::Bool(array.as_boolean()),
                DataType::Int16 => Values::SmallInt(array.as_primitive::<Int16Type>()),
                DataType::Int32 => Values::Int(array.as_primitive::<Int32Type>()),
                DataType::Int64 => Values::BigInt(array.as_primitive::<Int64Type>()),
                DataType::Float32 => Values::Real(array.as_primitive::<Float32Type>()),
                DataType::Float64 => Values::Double(array.as_primitive::<Float64Type>()),
                DataType::Decimal128(_, scale) => {
                    Values::Decimal(array.as_primitive::<Decimal128Type>(), u8::try_from(*scale).unwrap_or_default())
                }
                DataType::Utf8 => Values::Text(array.as_string()),
                DataType::Binary => Values::Bytes(array.as_binary()),
                DataType::Date32 => Values::Date(array.as_primitive::<Date32Type>()),
                DataType::Timestamp(..) => Values::Timestamp(array.as_primitive::<TimestampMicrosecondType>()),
                other => return Err(Error::Unsupported(format!("values of type {other} can't be inserted"))),
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Self { width: columns.len() * FIXED_BYTES, columns, rows: batch.num_rows() })
    }

    /// Checks all values. The error names the first one that the server can't hold.
    fn check(&self, first_row: u64, names: &[String]) -> Result<()> {
        let mut line = Vec::new();
        for row in 0..self.rows {
            line.clear();
            put_line(&mut line, self, row).map_err(|(column, problem)| Error::InvalidValue {
                row: first_row + row as u64,
                column: names[column].clone(),
                problem: problem.to_owned(),
            })?;
        }
        Ok(())
    }
}

impl Rows for BatchRows<'_> {
    fn count(&self) -> usize {
        self.rows
    }

    fn width(&self) -> usize {
        self.columns.len()
    }

    fn size(&self, row: usize) -> usize {
        let varying = self.columns.iter().map(|column| match column {
            Values::Text(array) => array.value_length(row).unsigned_abs() as usize,
            Values::Bytes(array) => array.value_length(row).unsigned_abs() as usize,
            _ => 0,
        });
        self.width + varying.sum::<usize>()
    }

    fn visit(&self, row: usize, visit: &mut dyn FnMut(Cell<'_>) -> Result<()>) -> Result<()> {
        /// Visits the row's value in an array, or null.
        macro_rules! cell {
            ($array:expr, $value:ident => $cell:expr) => {
                if $array.is_null(row) {
                    visit(Cell::Null)?
                } else {
                    let $value = $array.value(row);
                    visit($cell)?
                }
            };
        }
        for column in &self.columns {
            match column {
                Values::Bool(array) => cell!(array, value => Cell::Bool(value)),
                Values::SmallInt(array) => cell!(array, value => Cell::Int(value.into())),
                Values::Int(array) => cell!(array, value => Cell::Int(value.into())),
                Values::BigInt(array) => cell!(array, value => Cell::Int(value)),
                Values::Real(array) => cell!(array, value => Cell::Double(value.into())),
                Values::Double(array) => cell!(array, value => Cell::Double(value)),
                Values::Decimal(array, scale) => cell!(array, value => Cell::Decimal(&decimal::format(value, *scale))),
                Values::Text(array) => cell!(array, value => Cell::Text(value)),
                Values::Bytes(array) => cell!(array, value => Cell::Bytes(value)),
                Values::Date(array) => cell!(array, value => Cell::Date(value)),
                Values::Timestamp(array) => cell!(array, value => Cell::Timestamp(value)),
            }
        }
        Ok(())
    }
}
