//! The results of a batch of requests.

use std::sync::Arc;

use arrow_array::RecordBatch;
use boundary_bench_kernel::{Error, Result};

use crate::rows::{RowBuilder, RowShape};

/// One result of a request. A request has several if it calls a procedure.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The part that has its rows, an index into the parts of [`Results`], or `None` if it returned no rows.
    pub part: Option<usize>,
    /// The index of its first row in the part.
    pub first_row: usize,
    /// The number of rows that it returned.
    pub rows: usize,
    /// The index of the request's next result in the further results.
    pub next: Option<usize>,
    /// The number of rows that it changed, or for an update, matched.
    pub affected_rows: u64,
    /// The first key that the server generated.
    pub last_insert_id: u64,
    /// The error, if the request failed.
    pub error: Option<Error>,
}

/// The results of a batch.
///
/// The rows of a statement whose results have different columns are in several parts. The first parts are in `rows`, by the statements'
/// indexes. The parts in `more` follow.
#[derive(Debug, Default)]
pub struct Results {
    /// The rows of each statement, in the order of its requests, or `None` if it returned none.
    pub rows: Vec<Option<StatementRows>>,
    /// The further parts of the statements' rows.
    pub more: Vec<StatementRows>,
    /// The statements with several parts.
    pub split: Vec<bool>,
    /// The outcome of each request.
    pub requests: Vec<Outcome>,
    /// The further results of the requests.
    pub further: Vec<Outcome>,
    /// The first request of each statement that failed.
    pub failed: Vec<Option<usize>>,
}

/// The rows of all requests of one statement, or a part of them.
#[derive(Debug)]
pub struct StatementRows {
    /// The columns of the rows.
    pub shape: Arc<RowShape>,
    /// The rows as an Arrow batch.
    pub batch: RecordBatch,
}

impl Results {
    /// The results of requests. `statements` has the parts of the rows of each statement, and `order` the statement of each request. The
    /// outcomes name parts by their places among the parts of their statement.
    pub(crate) fn of(
        statements: Vec<Vec<RowBuilder>>,
        order: &[u32],
        requests: Vec<Outcome>,
        further: Vec<Outcome>,
    ) -> Result<Self> {
        let mut results = Self { requests, further, ..Self::default() };
        // The place of each statement's second part among all parts. The first part's place is the statement's.
        let count = statements.len();
        let mut seconds = Vec::with_capacity(statements.len());
        for parts in statements {
            seconds.push(count + results.more.len());
            results.split.push(parts.len() > 1);
            let mut parts = parts.into_iter().map(|mut rows| {
                // The shape belongs to the finished batch.
                let batch = rows.finish()?;
                Ok(StatementRows { shape: Arc::clone(rows.shape()), batch })
            });
            results.rows.push(parts.next().transpose()?);
            results.more.extend(parts.collect::<Result<Vec<_>>>()?);
        }
        results.failed.resize(seconds.len(), None);
        for (request, statement) in order.iter().enumerate() {
            let statement = *statement as usize;
            let outcome = &mut results.requests[request];
            if outcome.error.is_some() {
                results.failed[statement].get_or_insert(request);
            }
            let place = |part: usize| if part == 0 { statement } else { seconds[statement] + part - 1 };
            outcome.part = outcome.part.map(place);
            let mut next = outcome.next;
            while let Some(index) = next {
                let outcome = &mut results.further[index];
                outcome.part = outcome.part.map(place);
                next = outcome.next;
            }
        }
        Ok(results)
    }
}
