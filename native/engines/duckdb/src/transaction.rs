//! A transaction on a connection.

use super::ffi::Connection;
use boundary_bench_kernel::Result;

/// A transaction. It is rolled back unless it is committed.
pub(super) struct Transaction(Option<Connection>);

impl Transaction {
    pub(super) fn begin(connection: &Connection) -> Result<Self> {
        connection.run(c"BEGIN TRANSACTION")?;
        Ok(Self(Some(connection.clone())))
    }

    pub(super) fn commit(mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), |connection| connection.run(c"COMMIT"))
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            // An error that ended the transaction leaves nothing to roll back.
            let _ = connection.run(c"ROLLBACK");
        }
    }
}
