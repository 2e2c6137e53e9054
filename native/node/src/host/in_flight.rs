//! The set of queries and commands that are still running.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::host::errors::promise;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue};
use napi::tokio::{self, sync::Notify};

type Tokens = Arc<Mutex<(u64, HashMap<u64, CancelToken>)>>;

/// The running work of an object. Dropping it cancels all of it. While a promise is pending, it keeps its engine's object from
/// the garbage collector, so the drop happens only when the whole Node thread ends. Nobody is left to read the answer then, so
/// the work is not left running.
#[derive(Default)]
pub struct InFlight(Tokens);

/// One piece of running work. It leaves the set when the entry is dropped.
struct Entry {
    key: u64,
    tokens: Tokens,
}

impl InFlight {
    /// Returns a promise of the output of `work`. The work is in the set until it ends. The token cancels it.
    pub fn promise<T: ToNapiValue + Send + 'static>(
        &self,
        env: Env,
        token: CancelToken,
        work: impl Future<Output = napi::Result<T>> + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>> {
        let entry = self.enter(token);
        promise(env, async move {
            let _entry = entry;
            work.await
        })
    }

    fn enter(&self, token: CancelToken) -> Entry {
        let mut tokens = lock(&self.0);
        tokens.0 += 1;
        let key = tokens.0;
        tokens.1.insert(key, token);
        Entry { key, tokens: Arc::clone(&self.0) }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        lock(&self.tokens).1.remove(&self.key);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        for token in lock(&self.0).1.values() {
            token.cancel();
        }
    }
}

/// Runs work until it ends or is cancelled.
pub async fn unless_cancelled<T>(token: &CancelToken, work: impl Future<Output = Result<T>>) -> Result<T> {
    let cancelled = Arc::new(Notify::new());
    let notify = Arc::clone(&cancelled);
    let _guard = token.on_cancel(move || notify.notify_one());
    tokio::select! {
        biased;
        () = cancelled.notified() => Err(Error::Cancelled),
        done = work => done,
    }
}
