//! Clients of the MySQL wire, exported to JavaScript. `native/clients/mysql/src/submission.rs` tells how requests and results
//! cross.

use std::sync::{Arc, Mutex};

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::{Error, Result, lock};
use boundary_bench_mysql::{DrivenSession, Shapes, Submission, Url};
use boundary_bench_node::host::errors::{invalid, js, promise};
use napi::Env;
use napi::bindgen_prelude::{AsyncBlock, Unknown};
use napi_derive::napi;

use crate::engine::table::ColumnSpec;
use boundary_bench_node::memory::buffers::submission_bytes;

/// Reads the call in the first `bytes` bytes of a submission.
pub fn submission_of(env: Env, submission: &Unknown<'_>, bytes: u32) -> napi::Result<Submission> {
    // SAFETY: what is read of the bytes is copied before any JavaScript runs.
    let submission = unsafe { submission_bytes(env, submission, bytes) }?;
    Submission::read(submission).map_err(js)
}

/// Whether a statement reads rows and does nothing else, so that it may share its connection with other such statements.
#[napi(catch_unwind)]
pub fn is_plain_read(sql: String) -> bool {
    boundary_bench_mysql::is_plain_read(&sql)
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
    driven: Mutex<Option<(DrivenStream, DrivenSession)>>,
    version: String,
}

#[napi]
impl SqlConnection {
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
    /// Takes the stream and its session out, for the loop that will drive them.
    pub fn take(&self) -> Result<(DrivenStream, DrivenSession)> {
        let driven = lock(&self.driven).take();
        driven.ok_or(Error::Closed("the connection"))
    }
}
