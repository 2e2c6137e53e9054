//! The prepared statements of all clients, by their handles.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use boundary_bench_engine::Value;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_kernel::lock;
use bytes::Bytes;
use tonic::Status;

/// A statement and the parameters of its next run.
pub(super) struct Open {
    pub(super) statement: Arc<PreparedStatement>,
    rows: Mutex<Vec<Vec<Value>>>,
}

impl Open {
    /// Sets the parameters of the next run: each row is a set of parameters.
    pub(super) fn bind(&self, rows: Vec<Vec<Value>>) {
        *lock(&self.rows) = rows;
    }

    /// One run for each of the bound sets of parameters. Without any, one run.
    pub(super) fn runs(&self) -> Vec<BoundStatement> {
        self.runs_of(lock(&self.rows).clone())
    }

    /// One run for each of the given sets of parameters. Without any, one run.
    pub(super) fn runs_of(&self, mut rows: Vec<Vec<Value>>) -> Vec<BoundStatement> {
        if rows.is_empty() {
            rows.push(Vec::new());
        }
        rows.into_iter()
            .map(|parameters| BoundStatement::Prepared { statement: Arc::clone(&self.statement), parameters })
            .collect()
    }
}

/// The open statements.
#[derive(Default)]
pub(super) struct Statements {
    open: Mutex<HashMap<u64, Arc<Open>>>,
    next: AtomicU64,
}

impl Statements {
    /// Adds a statement and returns its handle.
    pub(super) fn insert(&self, statement: PreparedStatement) -> Bytes {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let entry = Open { statement: Arc::new(statement), rows: Mutex::default() };
        lock(&self.open).insert(handle, Arc::new(entry));
        Bytes::copy_from_slice(&handle.to_be_bytes())
    }

    pub(super) fn get(&self, handle: &[u8]) -> Result<Arc<Open>, Status> {
        let entry = number(handle).and_then(|handle| lock(&self.open).get(&handle).cloned());
        entry.ok_or_else(|| Status::not_found("there is no such prepared statement; was it closed?"))
    }

    /// Closes a statement. Does nothing the second time.
    pub(super) fn close(&self, handle: &[u8]) {
        let closed = number(handle).and_then(|handle| lock(&self.open).remove(&handle));
        if let Some(closed) = closed {
            closed.statement.close();
        }
    }
}

fn number(handle: &[u8]) -> Option<u64> {
    handle.try_into().ok().map(u64::from_be_bytes)
}
