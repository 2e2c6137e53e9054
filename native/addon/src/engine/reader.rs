//! Query results, exported to JavaScript.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_engine::frame;
use boundary_bench_engine::lanes::reader::{QueryReader, Ready};
use boundary_bench_engine::lanes::statement::BoundStatement;
use boundary_bench_engine::slab::Slab;
use boundary_bench_engine::{DEFAULT_BATCH_ROWS, Engine, QueryOptions};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_node::host::errors::{blocking, js, promise};
use boundary_bench_node::values::numbers::count;
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Either3, Null, Undefined};
use napi_derive::napi;

use crate::engine::naive::Objects;
use crate::engine::table::ColumnSpec;
use boundary_bench_node::memory::buffers::Handover;

/// The most rows of a batch: a frame's offsets are 32 bits.
const MOST_BATCH_ROWS: u32 = 1 << 24;

/// A token that cancels the query or the command that it was given to. Each needs a token of its own: a query that ends cancels
/// its own.
#[napi]
pub struct Cancel {
    pub(crate) token: CancelToken,
}

#[napi]
impl Cancel {
    #[napi(constructor)]
    /// Makes a token that no work has been given yet.
    pub fn new() -> Self {
        Self { token: CancelToken::default() }
    }

    /// Cancels the work. Its promises are rejected with `BB_ABORTED`.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

impl Cancel {
    /// The token of an optional argument. Without one, a token that nobody cancels.
    pub fn token_of(cancel: Option<&Self>) -> CancelToken {
        cancel.map(|cancel| cancel.token.clone()).unwrap_or_default()
    }
}

/// Converts the options of a query from JavaScript.
pub fn query_options(batch_rows: Option<f64>, cancel: Option<&Cancel>) -> napi::Result<QueryOptions> {
    let batch_rows = match batch_rows {
        None => DEFAULT_BATCH_ROWS,
        Some(rows) => count(rows, "batchRows", MOST_BATCH_ROWS)?.max(1),
    };
    Ok(QueryOptions { batch_rows, cancel: Cancel::token_of(cancel) })
}

/// A query's result, frame by frame. Dropping it cancels the query.
#[napi]
pub struct FrameReader {
    reader: Arc<QueryReader<Slab>>,
}

impl FrameReader {
    pub async fn start(query: BoundStatement, options: QueryOptions) -> napi::Result<Self> {
        let reader = QueryReader::start_bound(query, options, |batch| frame::encode(&batch)).await.map_err(js)?;
        Ok(Self { reader: Arc::new(reader) })
    }

    /// Starts a query of which the thread that asks for a frame makes it.
    pub fn start_on_demand(
        engine: Arc<dyn Engine>,
        sql: String,
        options: QueryOptions,
    ) -> impl Future<Output = napi::Result<Self>> + Send + 'static {
        let started = blocking(move || Ok((engine.query(&sql, &options)?, options)));
        async move {
            let (stream, options) = started.await?;
            let reader = QueryReader::on_demand(stream, options, |batch| frame::encode(&batch));
            Ok(Self { reader: Arc::new(reader) })
        }
    }
}

#[napi]
impl FrameReader {
    /// The result's columns.
    #[napi(getter)]
    pub fn columns(&self) -> Vec<ColumnSpec> {
        self.reader.columns().iter().map(ColumnSpec::from).collect()
    }

    /// Whether the rows come from a change that is published. A cancellation by the token comes too late then.
    #[napi(getter)]
    pub fn is_published(&self) -> bool {
        self.reader.is_published()
    }

    /// The next frame, or null at the end. Successive calls get the frames in the query's order. With several calls under way at
    /// once, it is unspecified which call gets which frame.
    #[napi(catch_unwind, ts_return_type = "Promise<ArrayBuffer | null>")]
    pub fn next(&self, env: Env) -> napi::Result<AsyncBlock<Option<Handover<Slab>>>> {
        let reader = Arc::clone(&self.reader);
        promise(env, async move { Ok(reader.next().await.map_err(js)?.map(Handover)) })
    }

    /// The next frame if it is ready, null at the end, undefined if it must be awaited with `next`. Avoids the switch to other
    /// threads that a promise takes. Of a query that does not run ahead, it makes the next frame, and blocks meanwhile.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | null | undefined")]
    pub fn try_next(&self) -> napi::Result<Either3<Handover<Slab>, Null, Undefined>> {
        Ok(match self.reader.try_next().map_err(js)? {
            Ready::Result(frame) => Either3::A(Handover(frame)),
            Ready::End => Either3::B(Null),
            Ready::Pending => Either3::C(()),
        })
    }

    /// Cancels the query. Calls of `next` are then rejected with `BB_ABORTED`.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.reader.cancel();
    }
}

impl Drop for FrameReader {
    /// Cancels the query: calls of `next` under way would keep it running, though nobody wants its result.
    fn drop(&mut self) {
        self.reader.cancel();
    }
}

/// A query's result as arrays of objects, built by Node-API value by value: the naive lane.
#[napi]
pub struct NaiveReader {
    reader: Arc<QueryReader<RecordBatch>>,
}

impl NaiveReader {
    pub async fn start(engine: Arc<dyn Engine>, sql: String, options: QueryOptions) -> napi::Result<Self> {
        let reader = QueryReader::start(engine, sql, options, Ok).await.map_err(js)?;
        Ok(Self { reader: Arc::new(reader) })
    }
}

#[napi]
impl NaiveReader {
    /// The rows of the next batch, or null at the end. Calls under way at once behave as for `FrameReader.next`.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<Record<string, unknown>> | null>")]
    pub fn next(&self, env: Env) -> napi::Result<AsyncBlock<Option<Objects>>> {
        let reader = Arc::clone(&self.reader);
        promise(env, async move {
            let batch = reader.next().await.map_err(js)?;
            Ok(batch.map(|batch| Objects::new(batch, reader.columns())))
        })
    }

    /// Cancels the query, as `FrameReader.cancel` does.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.reader.cancel();
    }
}

impl Drop for NaiveReader {
    /// Cancels the query, as dropping a `FrameReader` does.
    fn drop(&mut self) {
        self.reader.cancel();
    }
}
