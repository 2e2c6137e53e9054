//! The specification of one cell of the matrix.

use std::num::NonZeroUsize;

use boundary_bench_engine::measurements::RowRange;
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::dimensions::{Client, Flavor, Lane, Workload};
use crate::measurements::matrix;

/// The most workers of a cell. A larger number is taken for a mistake.
const MAX_WORKERS: u32 = 1024;

/// One cell to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CellSpec {
    /// The workload.
    pub workload: Workload,
    /// The lane.
    pub lane: Lane,
    /// The flavour of the code.
    pub flavor: Flavor,
    /// The number of workers, each with a table of its own.
    pub workers: u32,
    /// The number of rows of all workers together.
    pub rows: u64,
    /// The name of the table. Several workers add `_0`, `_1`, ... to it ([`crate::table_names`]).
    pub table: String,
    /// The client library, or `None` if the lane uses the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// The most rows of a batch of a query, 1 or more, or `None` for [`boundary_bench_engine::DEFAULT_BATCH_ROWS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_rows: Option<NonZeroUsize>,
}

impl CellSpec {
    /// Checks that the matrix has the cell on the `rust` side.
    pub fn validate(&self) -> Result<()> {
        let name = self.workload.name();
        let mut entries = matrix()?.lanes_of(self.workload, self.lane, self.client).peekable();
        if entries.peek().is_none() {
            let with = self.client.map(|client| format!(" with {client:?}")).unwrap_or_default();
            return Err(Error::InvalidArgument(format!("the rust side of {name} has no lane {:?}{with}", self.lane)));
        }
        if !entries.any(|entry| entry.runs(self.flavor, self.workers)) {
            return Err(Error::InvalidArgument(format!(
                "the lane {:?} of {name} does not run {:?} with {} workers",
                self.lane, self.flavor, self.workers
            )));
        }
        check_workers(self.workers)?;
        RowRange::new(0, self.rows)?;
        Ok(())
    }
}

/// Checks that the number of workers is 1 to [`MAX_WORKERS`].
pub(crate) fn check_workers(workers: u32) -> Result<()> {
    if (1..=MAX_WORKERS).contains(&workers) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!("{workers} workers: there must be 1 to {MAX_WORKERS}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> CellSpec {
        CellSpec {
            workload: Workload::QueryAggregation,
            lane: Lane::Objects,
            flavor: Flavor::Sync,
            workers: 1,
            rows: 10,
            table: "t".to_owned(),
            client: None,
            batch_rows: None,
        }
    }

    #[test]
    fn cells_outside_the_matrix_are_refused() {
        assert!(spec().validate().is_ok());
        let direct = CellSpec { lane: Lane::Stream, client: Some(Client::HyperdbApi), ..spec() };
        assert!(direct.validate().is_ok());
        assert!(CellSpec { flavor: Flavor::Async, workers: 2, ..direct }.validate().is_ok());
        for wrong in [
            CellSpec { lane: Lane::Stream, ..spec() },
            CellSpec { lane: Lane::Row, ..spec() },
            CellSpec { workload: Workload::InsertBulk, ..spec() },
            CellSpec { client: Some(Client::HyperdbApi), ..spec() },
            CellSpec { client: Some(Client::HyperdbApi), lane: Lane::Stream, workers: 2, ..spec() },
            CellSpec { workers: 0, ..spec() },
            CellSpec { workers: u32::MAX, ..spec() },
            CellSpec { rows: (1 << 31) + 1, ..spec() },
        ] {
            assert_eq!(wrong.validate().unwrap_err().code(), "BB_INVALID_ARGUMENT", "{wrong:?}");
        }
    }

    #[test]
    fn a_cell_is_read_as_the_other_side_writes_it() {
        let text = "{\"workload\":\"query.aggregation\",\"lane\":\"objects\",\"flavor\":\"sync\",\"workers\":1,\
                    \"rows\":10,\"table\":\"t\"}";
        assert_eq!(serde_json::from_str::<CellSpec>(text).unwrap(), spec());
        assert_eq!(serde_json::to_string(&spec()).unwrap(), text);
        let direct = CellSpec { client: Some(Client::HyperdbApi), ..spec() };
        let text = text.replace('}', ",\"client\":\"hyperdb-api\"}");
        assert_eq!(serde_json::from_str::<CellSpec>(&text).unwrap(), direct);
        assert_eq!(serde_json::to_string(&direct).unwrap(), text);
        assert_eq!(serde_json::to_string(&Lane::ArrowIpc).unwrap(), "\"arrow-ipc\"");
    }
}
