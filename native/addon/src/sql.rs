//! Clients of the MySQL wire, exported to JavaScript. `native/clients/mysql/src/submission.rs` tells how requests and results
//! cross.

use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{ClientOptions, DrivenSession, Shapes, SqlClient as CoreClient, Submission, Url};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi_derive::napi;

use crate::buffers::{Handover, bytes_of};
use crate::errors::{invalid, js, promise};
use crate::in_flight::InFlight;
use crate::reader::Cancel;
use crate::table::ColumnSpec;
use crate::uv;

/// Reads the call in the first `bytes` bytes of a submission.
pub fn submission_of(env: Env, submission: &Unknown<'_>, bytes: u32) -> napi::Result<Submission> {
    // SAFETY: what is read of the bytes is copied before any JavaScript runs.
    let submission = unsafe { bytes_of(env, submission) }?;
    let submission = submission.get(..bytes as usize).ok_or_else(|| invalid("the submission is shorter"))?;
    Submission::read(submission).map_err(js)
}

/// The columns of results, by the numbers of their shapes.
#[napi]
pub struct SqlShapes {
    pub(crate) shapes: Arc<Shapes>,
}

#[napi]
impl SqlShapes {
    /// Makes an empty list of shapes.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self { shapes: Arc::default() }
    }

    /// The columns of the results that have the shape `number`.
    #[napi(catch_unwind)]
    pub fn columns(&self, number: u32) -> napi::Result<Vec<ColumnSpec>> {
        let shape = self.shapes.get(number).ok_or_else(|| invalid(format!("there is no shape {number}")))?;
        Ok(shape.columns().iter().map(ColumnSpec::from).collect())
    }
}

/// A connection that a `SqlLoop` drives.
#[napi]
pub struct SqlConnection {
    driven: Mutex<Option<(TcpStream, DrivenSession)>>,
    version: String,
}

#[napi]
impl SqlConnection {
    /// Whether a `SqlLoop` can drive connections to the server at this URL; others need a `RawSqlClient`.
    #[napi(catch_unwind)]
    pub fn is_drivable(url: String) -> napi::Result<bool> {
        let url: Url = url.parse().map_err(js)?;
        Ok(uv::is_available() && url.tls.is_none())
    }

    /// Connects to the server and logs in.
    #[napi(catch_unwind)]
    pub fn open(env: Env, url: String) -> napi::Result<AsyncBlock<SqlConnection>> {
        promise(env, async move {
            let url: Url = url.parse().map_err(js)?;
            let (stream, session) = DrivenSession::open(&url).await.map_err(js)?;
            Ok(Self { version: session.version().to_owned(), driven: Mutex::new(Some((stream, session))) })
        })
    }

    /// The server's name and version.
    #[napi(getter)]
    pub fn version(&self) -> String {
        self.version.clone()
    }
}

impl SqlConnection {
    /// Takes the socket and its session out, for the loop that will drive them.
    pub fn take(&self) -> Result<(TcpStream, DrivenSession)> {
        let driven = self.driven.lock().unwrap_or_else(PoisonError::into_inner).take();
        driven.ok_or(Error::Closed("the connection"))
    }
}

/// A client whose connections are served by threads of their own.
#[napi]
pub struct RawSqlClient {
    client: Mutex<Option<Arc<CoreClient>>>,
    version: String,
    /// The calls of this object that are still running.
    in_flight: Arc<InFlight>,
}

#[napi]
impl RawSqlClient {
    /// Connects to the server of a URL, `mysql://user:password@host:port/database`.
    #[napi(catch_unwind)]
    pub fn open(
        env: Env,
        url: String,
        connections: u32,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<RawSqlClient>> {
        let token = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        promise(env, async move {
            let url: Url = url.parse().map_err(js)?;
            let options = ClientOptions { connections: connections as usize, timeout: None };
            let client = CoreClient::connect(&url, options, Some(&token)).await.map_err(js)?;
            Ok(Self {
                version: client.version().to_owned(),
                client: Mutex::new(Some(Arc::new(client))),
                in_flight: Arc::default(),
            })
        })
    }

    /// The server's name and version.
    #[napi(getter)]
    pub fn version(&self) -> String {
        self.version.clone()
    }

    /// Performs the call in the first `bytes` bytes of a submission; resolves to the results.
    #[napi(
        catch_unwind,
        ts_args_type = "submission: Uint8Array, bytes: number, shapes: SqlShapes, cancel?: Cancel | undefined | null",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn perform(
        &self,
        env: Env,
        submission: Unknown<'_>,
        bytes: u32,
        shapes: &SqlShapes,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<Handover<Vec<u8>>>> {
        let submission = submission_of(env, &submission, bytes)?;
        let shapes = Arc::clone(&shapes.shapes);
        let token: CancelToken = cancel.map(|cancel| cancel.token.clone()).unwrap_or_default();
        // The end of this Node thread cancels the call too.
        let entry = self.in_flight.enter(token.clone());
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        promise(env, async move {
            let _entry = entry;
            let client = client.ok_or(Error::Closed("the client")).map_err(js)?;
            client.perform(&submission, &shapes, Some(&token)).await.map(Handover).map_err(js)
        })
    }

    /// Closes the connections after the calls under way have ended. Does nothing the second time.
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
