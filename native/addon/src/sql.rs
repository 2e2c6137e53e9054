//! Clients of the MySQL wire as JavaScript sees them. How requests and results cross is told in
//! `native/mysql/src/submission.rs`.

use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};
use boundary_bench_mysql::{
    CellLists, ClientOptions, Shapes, SqlClient as CoreClient, Url, read_submission, write_results,
};
use napi::bindgen_prelude::{AsyncBlock, ToNapiValue, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use crate::buffers::{Handover, bytes_of};
use crate::errors::{invalid, js, promise};
use crate::in_flight::InFlight;
use crate::reader::Cancel;
use crate::table::ColumnSpec;

/// Results up to this size are copied into JavaScript's memory: that costs less than handing memory over.
const COPIED_BYTES: usize = 64 << 10;

/// A client of a server of the MySQL wire.
#[napi]
pub struct RawSqlClient {
    client: Mutex<Option<Arc<CoreClient>>>,
    version: String,
    shapes: Arc<Shapes>,
    /// What was started here and has not answered yet.
    in_flight: Arc<InFlight>,
}

/// Results on their way to JavaScript.
pub struct ResultBytes(Vec<u8>);

impl ToNapiValue for ResultBytes {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        let bytes = value.0;
        if bytes.len() > COPIED_BYTES {
            // SAFETY: the caller's promise.
            return unsafe { Handover::to_napi_value(env, Handover(bytes)) };
        }
        let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's environment; the memory that Node gives has the length asked for, and nobody else sees it
        // yet.
        unsafe {
            let status = sys::napi_create_arraybuffer(env, bytes.len(), &raw mut data, &raw mut buffer);
            if status != sys::Status::napi_ok {
                return Err(js(Error::Internal("no memory for the results".to_owned())));
            }
            ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
        }
        Ok(buffer)
    }
}

impl RawSqlClient {
    fn get(&self) -> Result<Arc<CoreClient>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.clone().ok_or(Error::Closed("the client"))
    }

    /// Runs a call that can be cancelled, also by the end of this thread of Node's.
    fn run_call<T, F>(
        &self,
        env: Env,
        cancel: Option<&Cancel>,
        work: impl FnOnce(Arc<CoreClient>, CancelToken) -> F + Send + 'static,
    ) -> napi::Result<AsyncBlock<T>>
    where
        T: ToNapiValue + Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let token = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        let entry = self.in_flight.enter(token.clone());
        let client = self.get();
        promise(env, async move {
            let _entry = entry;
            work(client.map_err(js)?, token).await.map_err(js)
        })
    }
}

#[napi]
impl RawSqlClient {
    /// Connects to the server of a URL, `mysql://user:password@host:port/database`.
    #[napi(catch_unwind)]
    pub fn open(
        env: Env,
        url: String,
        connections: u32,
        timeout_ms: Option<u32>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<RawSqlClient>> {
        let token = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        promise(env, async move {
            let url: Url = url.parse().map_err(js)?;
            let options = ClientOptions {
                connections: connections as usize,
                timeout: timeout_ms.map(|time| Duration::from_millis(time.into())),
            };
            let client = CoreClient::connect(&url, options, Some(&token)).await.map_err(js)?;
            Ok(Self {
                version: client.version().to_owned(),
                client: Mutex::new(Some(Arc::new(client))),
                shapes: Arc::default(),
                in_flight: Arc::default(),
            })
        })
    }

    /// The server's name and version.
    #[napi(getter)]
    pub fn version(&self) -> String {
        self.version.clone()
    }

    /// Runs the requests in the first bytes of a submission; resolves to the results.
    #[napi(
        catch_unwind,
        ts_args_type = "submission: Uint8Array, bytes: number, cancel?: Cancel | undefined | null",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn run(
        &self,
        env: Env,
        submission: Unknown<'_>,
        bytes: u32,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<ResultBytes>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let submission = unsafe { bytes_of(env, &submission) }?;
        let submission = submission.get(..bytes as usize).ok_or_else(|| invalid("the submission is shorter"))?;
        let batch = read_submission(submission).map_err(js)?;
        let shapes = Arc::clone(&self.shapes);
        self.run_call(env, cancel, |client, token| async move {
            let results = client.run(&batch, Some(&token)).await?;
            write_results(&results, &shapes).map(ResultBytes)
        })
    }

    /// The columns of the results of a shape's number.
    #[napi(catch_unwind)]
    pub fn shape(&self, number: u32) -> napi::Result<Vec<ColumnSpec>> {
        let shape = self.shapes.get(number).ok_or_else(|| invalid(format!("there is no shape {number}")))?;
        Ok(shape.columns().iter().map(ColumnSpec::from).collect())
    }

    /// Inserts rows, encoded as lists of values; resolves to their number.
    #[napi(
        catch_unwind,
        ts_args_type = "table: string, columns: Array<string>, rows: Uint8Array, bytes: number, count: number, cancel?: Cancel | undefined | null"
    )]
    #[expect(clippy::too_many_arguments, reason = "each is one of JavaScript's")]
    pub fn insert_rows(
        &self,
        env: Env,
        table: String,
        columns: Vec<String>,
        rows: Unknown<'_>,
        bytes: u32,
        count: u32,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<f64>> {
        // SAFETY: the bytes are copied before any JavaScript runs.
        let rows = unsafe { bytes_of(env, &rows) }?;
        let rows = rows.get(..bytes as usize).ok_or_else(|| invalid("the rows are shorter"))?;
        let lists = CellLists::new(rows.to_vec(), count as usize, columns.len()).map_err(js)?;
        self.run_call(env, cancel, |client, token| async move {
            client.insert_rows(&table, &columns, &lists, Some(&token)).await.map(|rows| rows as f64)
        })
    }

    /// Has a statement prepared; resolves to the number of its parameters.
    #[napi(catch_unwind)]
    pub fn prepare(&self, env: Env, sql: String, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<u32>> {
        self.run_call(
            env,
            cancel,
            |client, token| async move { client.prepare(&sql, Some(&token)).await.map(u32::from) },
        )
    }

    /// Asks whether the server is there.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn ping(&self, env: Env, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<()>> {
        self.run_call(env, cancel, |client, token| async move { client.ping(Some(&token)).await })
    }

    /// Closes the connections; calls under way end first. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).take();
        promise(env, async move {
            if let Some(client) = client {
                client.close().await;
            }
            Ok(())
        })
    }
}
