//! Entry points of this crate for its tests, beside what a submission does. No part of the interface.

use boundary_bench_kernel::Result;

use crate::batch::{Batch, run_batch};
use crate::cells::CellLists;
use crate::insert::insert_lists;
use crate::outcome::Results;
use crate::session::SqlSession;

/// Runs the requests of a batch.
pub async fn run(SqlSession { lease }: &mut SqlSession, batch: &Batch) -> Result<Results> {
    let max_packet = lease.pool().max_packet();
    run_batch(lease, batch, max_packet).await
}

/// Inserts rows into columns of a table (`table` or `database.table`).
pub async fn insert(
    SqlSession { lease }: &mut SqlSession,
    table: &str,
    columns: &[String],
    rows: &CellLists,
) -> Result<u64> {
    let max_packet = lease.pool().max_packet();
    insert_lists(lease, table, columns, rows, max_packet).await
}
