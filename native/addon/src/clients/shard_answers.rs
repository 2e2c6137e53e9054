//! The answers of a shard client: rows as frames, aggregates, and failures by shard.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use boundary_bench_engine::frame;
use boundary_bench_engine::slab::Slab;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::error::catch_panic_in;
use boundary_bench_node::host::errors::{invalid, js, promise};
use boundary_bench_shards::{
    Aggregate, Aggregation, Column, Comparison, Filter, MultiGet, Number, ShardClient, ShardFailure, Sum,
    with_binary_payloads,
};
use napi::bindgen_prelude::{AsyncBlock, BigInt, Either, Either3, Null, Undefined, Unknown, spawn};
use napi::tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use napi::{Env, JsValue, ValueType, sys, tokio};
use napi_derive::napi;

use crate::clients::shard_calls::key_of;
use crate::clients::shard_clients::unless_closed;
use boundary_bench_node::memory::buffers::Handover;

/// The most frames of a scan that are made before JavaScript asks for them.
const FRAMES_AHEAD: usize = 4;

/// The failure of one shard.
#[napi(object, object_from_js = false)]
pub struct RawShardFailure {
    /// The number of the shard.
    pub shard: u32,
    /// The error's message, with its code in brackets before it.
    pub message: String,
}

/// The answer to a request for the rows of several keys.
#[napi(object, object_from_js = false)]
pub struct RawShardRows {
    /// The frame of the rows, in the order of the keys. If a key has no row, all columns but the key are null.
    #[napi(ts_type = "ArrayBuffer")]
    pub rows: Handover<Slab>,
    /// The shards that failed, if any did.
    pub failures: Option<Vec<RawShardFailure>>,
}

fn rows_of(answer: MultiGet) -> RawShardRows {
    let failure = |failure: &ShardFailure| RawShardFailure { shard: failure.shard, message: failure.error.coded() };
    let failures = (!answer.failures.is_empty()).then(|| answer.failures.iter().map(failure).collect());
    RawShardRows { rows: Handover(answer.rows.into_frame()), failures }
}

/// Reads the rows of keys.
pub async fn multi_get(client: &ShardClient, keys: &[i64]) -> Result<RawShardRows> {
    Ok(rows_of(client.multi_get(keys).await?))
}

/// Reads the rows of keys without waiting. Returns `None` if that may have to wait.
pub fn multi_get_now(client: &ShardClient, keys: &[i64]) -> Result<Option<RawShardRows>> {
    if !client.is_in_memory() {
        return Ok(None);
    }
    // If all shards are in memory, the first poll returns the answer.
    match pin!(client.multi_get(keys)).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.map(|answer| Some(rows_of(answer))),
        Poll::Pending => Ok(None),
    }
}

/// A frame of a scan, or the failure of a shard.
type Frame = Result<Slab>;

/// A scan of all shards, frame by frame. Dropping it cancels the scan.
#[napi]
pub struct RawShardScan {
    frames: Arc<AsyncMutex<mpsc::Receiver<Frame>>>,
    reading: tokio::task::JoinHandle<()>,
}

impl RawShardScan {
    /// Starts a scan. It ends when `closed` turns true or its sender is dropped.
    pub fn start(client: ShardClient, closed: watch::Receiver<bool>) -> Self {
        let (sender, frames) = mpsc::channel(FRAMES_AHEAD);
        let reading = spawn(async move {
            let read = async {
                let mut scan = client.scan();
                while let Some(batch) = scan.next().await {
                    let rows = batch.map_err(|failure| failure.error);
                    let frame: Frame = rows.and_then(|rows| frame::encode(&with_binary_payloads(&rows)?));
                    if sender.send(frame).await.is_err() {
                        break;
                    }
                }
                Ok(())
            };
            // An error that ended the scan early must not look like the end of the rows.
            if let Err(error) = unless_closed(closed, catch_panic_in(read)).await {
                // Sending fails if the receiver is dropped: then nobody needs the error.
                let _ = sender.send(Err(error)).await;
            }
        });
        Self { frames: Arc::new(AsyncMutex::new(frames)), reading }
    }
}

#[napi]
impl RawShardScan {
    /// The next frame of any shard, or null at the end. It rejects once for each shard that fails. The others go on.
    #[napi(catch_unwind, ts_return_type = "Promise<ArrayBuffer | null>")]
    pub fn next(&self, env: Env) -> napi::Result<AsyncBlock<Option<Handover<Slab>>>> {
        let frames = Arc::clone(&self.frames);
        promise(env, async move {
            frames.lock().await.recv().await.transpose().map(|frame| frame.map(Handover)).map_err(js)
        })
    }

    /// The next frame if it is ready, null at the end, undefined if it must be awaited with `next`.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | null | undefined")]
    pub fn try_next(&self) -> napi::Result<Either3<Handover<Slab>, Null, Undefined>> {
        let Ok(mut frames) = self.frames.try_lock() else { return Ok(Either3::C(())) };
        match frames.try_recv() {
            Ok(frame) => frame.map(|frame| Either3::A(Handover(frame))).map_err(js),
            Err(mpsc::error::TryRecvError::Disconnected) => Ok(Either3::B(Null)),
            Err(mpsc::error::TryRecvError::Empty) => Ok(Either3::C(())),
        }
    }

    /// Cancels the scan: `next` then resolves to null.
    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.reading.abort();
    }
}

impl Drop for RawShardScan {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// A column of numbers.
#[napi(string_enum)]
pub enum RawShardColumn {
    /// The key.
    #[napi(value = "key")]
    Key,
    /// The quantity.
    #[napi(value = "quantity")]
    Quantity,
    /// The price.
    #[napi(value = "price")]
    Price,
    /// The time of the last update.
    #[napi(value = "updated_at")]
    UpdatedAt,
}

impl From<RawShardColumn> for Column {
    fn from(column: RawShardColumn) -> Self {
        match column {
            RawShardColumn::Key => Self::Key,
            RawShardColumn::Quantity => Self::Quantity,
            RawShardColumn::Price => Self::Price,
            RawShardColumn::UpdatedAt => Self::UpdatedAt,
        }
    }
}

/// The comparison of a column's value with the value of a filter.
#[napi(string_enum)]
pub enum RawComparison {
    /// Equal.
    #[napi(value = "=")]
    Equal,
    /// Not equal.
    #[napi(value = "!=")]
    NotEqual,
    /// Less.
    #[napi(value = "<")]
    Less,
    /// Less or equal.
    #[napi(value = "<=")]
    LessOrEqual,
    /// Greater.
    #[napi(value = ">")]
    Greater,
    /// Greater or equal.
    #[napi(value = ">=")]
    GreaterOrEqual,
}

impl From<RawComparison> for Comparison {
    fn from(comparison: RawComparison) -> Self {
        match comparison {
            RawComparison::Equal => Self::Equal,
            RawComparison::NotEqual => Self::NotEqual,
            RawComparison::Less => Self::Less,
            RawComparison::LessOrEqual => Self::LessOrEqual,
            RawComparison::Greater => Self::Greater,
            RawComparison::GreaterOrEqual => Self::GreaterOrEqual,
        }
    }
}

/// Makes an aggregation from the arguments of a call.
pub fn aggregation_of(
    env: Env,
    column: RawShardColumn,
    filter: Option<RawShardColumn>,
    comparison: Option<RawComparison>,
    value: &Unknown<'_>,
) -> napi::Result<Aggregation> {
    Ok(Aggregation { column: column.into(), filter: filter_of(env, filter, comparison, value)? })
}

/// Makes the filter that compares a column with a value. Returns `None` without a column, a comparison and a value.
fn filter_of(
    env: Env,
    column: Option<RawShardColumn>,
    comparison: Option<RawComparison>,
    value: &Unknown<'_>,
) -> napi::Result<Option<Filter>> {
    let (column, comparison) = match (column, comparison) {
        (None, None) if value.get_type()? == ValueType::Undefined => return Ok(None),
        (Some(column), Some(comparison)) => (Column::from(column), comparison),
        _ => return Err(invalid("a filter has a column, a comparison and a value")),
    };
    let value = if column == Column::Price {
        let mut number = 0.0;
        // SAFETY: the handle belongs to the call under way, and the out-pointer is valid for writing.
        let status = unsafe { sys::napi_get_value_double(env.raw(), value.raw(), &raw mut number) };
        if status != sys::Status::napi_ok {
            return Err(invalid("a price is compared with a number"));
        }
        Number::Real(number)
    } else {
        Number::Integer(key_of(env, value.raw())?)
    };
    Ok(Some(Filter { column, comparison: comparison.into(), value }))
}

/// The aggregates of a column: bigints for columns of integers, numbers for prices.
#[napi(object, object_from_js = false)]
pub struct RawAggregate {
    /// The number of rows that passed the filter.
    pub count: f64,
    /// The sum of the column's values in those rows.
    pub sum: Either<BigInt, f64>,
    /// The smallest of those values, absent if there are no rows.
    pub min: Option<Either<BigInt, f64>>,
    /// The largest of those values, absent if there are no rows.
    pub max: Option<Either<BigInt, f64>>,
}

impl From<&Aggregate> for RawAggregate {
    fn from(&Aggregate { count, sum, min, max }: &Aggregate) -> Self {
        let number = |number| match number {
            Number::Integer(value) => Either::A(BigInt::from(value)),
            Number::Real(value) => Either::B(value),
        };
        let sum = match sum {
            Sum::Integer(sum) => Either::A(BigInt::from(sum)),
            Sum::Real(sum) => Either::B(sum),
        };
        Self { count: count as f64, sum, min: min.map(number), max: max.map(number) }
    }
}
