//! The rows of a population on their way from JavaScript to the shards.

use std::sync::Mutex;

use boundary_bench_kernel::{Error, lock};
use boundary_bench_node::host::errors::{invalid, js, promise};
use boundary_bench_node::values::numbers::count;
use boundary_bench_shards::{ArrowMessage, SentBatches};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi::tokio::sync::mpsc::Sender;
use napi_derive::napi;

use crate::clients::shard_calls::MOST_ROWS;
use boundary_bench_node::memory::buffers::bytes_of;

/// The messages of a population, added shard by shard while `populateFrom` sends them.
#[napi]
pub struct RawShardFilling {
    senders: Mutex<Vec<Option<Sender<ArrowMessage>>>>,
    batches: Mutex<Option<Vec<SentBatches>>>,
}

#[napi]
impl RawShardFilling {
    /// Makes the filling of shards that get these numbers of rows.
    #[napi(constructor, catch_unwind)]
    pub fn new(rows: Vec<f64>) -> napi::Result<Self> {
        let shards =
            rows.into_iter().map(|rows| Ok(SentBatches::new(count(rows, "the number of rows", MOST_ROWS)? as u64)));
        let (senders, batches): (Vec<_>, Vec<_>) = shards.collect::<napi::Result<Vec<_>>>()?.into_iter().unzip();
        Ok(Self { senders: Mutex::new(senders.into_iter().map(Some).collect()), batches: Mutex::new(Some(batches)) })
    }

    /// Adds the next message of a shard's Arrow stream. The bytes are copied. Resolves once there is room for another one. Resolves
    /// to false if the shard takes no more. `populateFrom` then has the reason.
    #[napi(
        catch_unwind,
        ts_args_type = "shard: number, header: Uint8Array, body: Uint8Array",
        ts_return_type = "Promise<boolean>"
    )]
    pub fn add(&self, env: Env, shard: u32, header: Unknown<'_>, body: Unknown<'_>) -> napi::Result<AsyncBlock<bool>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let [header, body] = unsafe { [bytes_of(env, &header)?.to_vec(), bytes_of(env, &body)?.to_vec()] };
        let sender = lock(&self.senders).get(shard as usize).cloned().flatten();
        let sender = sender.ok_or_else(|| invalid(format!("the rows of shard {shard} have ended")))?;
        let message = ArrowMessage { header: header.into(), body: body.into() };
        promise(env, async move { Ok(sender.send(message).await.is_ok()) })
    }

    /// Ends the messages of a shard. Its population fails if they did not reach the end of their stream.
    #[napi(catch_unwind)]
    pub fn end(&self, shard: u32) {
        if let Some(sender) = lock(&self.senders).get_mut(shard as usize) {
            *sender = None;
        }
    }
}

impl RawShardFilling {
    /// Takes the rows of each shard, once.
    pub fn take(&self) -> napi::Result<Vec<SentBatches>> {
        lock(&self.batches).take().ok_or(Error::Closed("the filling")).map_err(js)
    }
}
