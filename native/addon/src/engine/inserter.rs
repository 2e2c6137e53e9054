//! Inserts, exported to JavaScript.

use std::sync::{Arc, Mutex};

use boundary_bench_kernel::lock;
use boundary_bench_node::host::errors::{js, promise};
use boundary_bench_node::values::numbers::count;

use arrow_schema::SchemaRef;
use boundary_bench_engine::Engine;
use boundary_bench_engine::lanes::columns::{ColumnParts, batch_from_columns};
use boundary_bench_engine::lanes::inserter::Inserter;
use boundary_bench_engine::lanes::ipc::IpcReader;
use boundary_bench_engine::table::TableDefinition;
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Either, Object, Undefined, Unknown};
use napi_derive::napi;

use boundary_bench_node::memory::buffers::{bytes_of, elements, optional_bytes_of};

/// The number of parts of a column in the array that `writeColumns` takes: validity, offsets, values.
const PARTS: usize = 3;

fn drained(env: Env, inserter: &Inserter) -> napi::Result<Either<AsyncBlock<()>, Undefined>> {
    if let Some(drained) = inserter.try_drained() {
        return drained.map(Either::B).map_err(js);
    }
    let drained = inserter.drained();
    promise(env, async move { drained.await.map_err(js) }).map(Either::A)
}

fn execute(env: Env, inserter: &Inserter) -> napi::Result<AsyncBlock<f64>> {
    let executed = inserter.execute_async();
    promise(env, async move { executed.await.map(|rows| rows as f64).map_err(js) })
}

fn abort(env: Env, inserter: &Inserter) -> napi::Result<AsyncBlock<()>> {
    let aborted = inserter.abort_async();
    promise(env, async move {
        aborted.await;
        Ok(())
    })
}

/// An insert into one table, whole batches at a time. If it is dropped without `execute`, no rows are stored.
#[napi]
pub struct RawInserter {
    inserter: Inserter,
    table: TableDefinition,
    schema: SchemaRef,
    ipc: Mutex<IpcReader>,
}

impl RawInserter {
    pub fn begin(engine: Arc<dyn Engine>, table: TableDefinition) -> napi::Result<Self> {
        let schema = table.to_arrow();
        let ipc = Mutex::new(IpcReader::new(Arc::clone(&schema)));
        let inserter = Inserter::begin(engine, table.clone()).map_err(js)?;
        Ok(Self { inserter, table, schema, ipc })
    }
}

#[napi]
impl RawInserter {
    /// Adds a batch of `rows` rows. `parts` holds three entries a column: the validity bitmap or null, the 32-bit
    /// offsets (text and bytes only) or null, and the values, each a `Uint8Array`. The memory is copied, and can be
    /// reused at once.
    ///
    /// Returns false as backpressure: await `drained` before adding more. Throws, adding nothing, for wrong lengths or
    /// values.
    #[napi(catch_unwind, ts_args_type = "rows: number, parts: Array<Uint8Array | null>")]
    pub fn write_columns(&self, env: Env, rows: f64, parts: Object<'_>) -> napi::Result<bool> {
        let rows = count(rows, "rows", i32::MAX.cast_unsigned() - 1)?;
        let values = elements(&parts, PARTS * self.table.columns.len())?;
        let columns = values
            .as_chunks::<PARTS>()
            .0
            .iter()
            .map(|[validity, offsets, values]| {
                // SAFETY: no JavaScript runs until `batch_from_columns` has copied the bytes.
                unsafe {
                    Ok(ColumnParts {
                        validity: optional_bytes_of(env, validity)?,
                        offsets: optional_bytes_of(env, offsets)?,
                        values: bytes_of(env, values)?,
                    })
                }
            })
            .collect::<napi::Result<Vec<_>>>()?;
        batch_from_columns(&self.schema, &self.table.columns, rows, &columns, self.inserter.rows())
            .and_then(|batch| self.inserter.write(batch))
            .map_err(js)
    }

    /// Adds the batches in a part of an Arrow IPC stream or file: a slice of a batch, a whole one, or several. The bytes are copied.
    /// Returns false as `writeColumns` does. Throws, and adds none of these bytes, if they can't be read or do not fit the table.
    #[napi(catch_unwind, ts_args_type = "bytes: Uint8Array")]
    pub fn write_ipc(&self, env: Env, bytes: Unknown<'_>) -> napi::Result<bool> {
        // SAFETY: no JavaScript runs until `push` has copied the bytes.
        let bytes = unsafe { bytes_of(env, &bytes) }?;
        let mut ipc = lock(&self.ipc);
        let batches = ipc.push(bytes).map_err(js)?;
        let mut go_on = true;
        for batch in batches {
            go_on = self.inserter.write(batch).map_err(js)?;
        }
        Ok(go_on)
    }

    /// Resolves when there is room for more rows, or undefined if there is already. Throws and rejects with the error that stopped the
    /// insert.
    #[napi(catch_unwind, ts_return_type = "Promise<void> | undefined")]
    pub fn drained(&self, env: Env) -> napi::Result<Either<AsyncBlock<()>, Undefined>> {
        drained(env, &self.inserter)
    }

    /// Publishes all rows at once, and resolves to the number of rows.
    #[napi(catch_unwind)]
    pub fn execute(&self, env: Env) -> napi::Result<AsyncBlock<f64>> {
        let finished = lock(&self.ipc).finish();
        let Err(error) = finished else { return execute(env, &self.inserter) };
        let aborted = self.inserter.abort_async();
        promise(env, async move {
            aborted.await;
            Err(js(error))
        })
    }

    /// Drops all rows. Does nothing after the end of the insert.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn abort(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        abort(env, &self.inserter)
    }

    /// The rows added so far.
    #[napi(getter)]
    pub fn rows(&self) -> f64 {
        self.inserter.rows() as f64
    }
}

/// An insert of rows value by value: the naive lane, as in most addons.
#[napi]
pub struct NaiveInserter {
    inserter: Inserter,
    table: TableDefinition,
    schema: SchemaRef,
}

impl NaiveInserter {
    pub fn begin(engine: Arc<dyn Engine>, table: TableDefinition) -> napi::Result<Self> {
        let schema = table.to_arrow();
        let inserter = Inserter::begin(engine, table.clone()).map_err(js)?;
        Ok(Self { inserter, table, schema })
    }
}

#[napi]
impl NaiveInserter {
    /// Adds rows, each an array of values in the order of the columns. Each value crosses on its own. Returns and throws as
    /// `RawInserter.writeColumns` does.
    #[napi(catch_unwind, ts_args_type = "rows: unknown[][]")]
    pub fn add_rows(&self, env: Env, rows: Object<'_>) -> napi::Result<bool> {
        let batch =
            crate::engine::naive::batch_from_rows(env, &self.schema, &self.table.columns, &rows, self.inserter.rows())?;
        self.inserter.write(batch).map_err(js)
    }

    /// Resolves when there is room for more rows, or undefined if there is already. Throws and rejects with the error that stopped the
    /// insert.
    #[napi(catch_unwind, ts_return_type = "Promise<void> | undefined")]
    pub fn drained(&self, env: Env) -> napi::Result<Either<AsyncBlock<()>, Undefined>> {
        drained(env, &self.inserter)
    }

    /// Publishes all rows at once, and resolves to the number of rows.
    #[napi(catch_unwind)]
    pub fn execute(&self, env: Env) -> napi::Result<AsyncBlock<f64>> {
        execute(env, &self.inserter)
    }

    /// Drops all rows. Does nothing after the end of the insert.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn abort(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        abort(env, &self.inserter)
    }
}
