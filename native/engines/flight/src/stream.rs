//! The result of a query as batches of the size that its reader wants.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_flight::FlightInfo;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use boundary_bench_engine::table::{Column, arrow_schema_of};
use boundary_bench_engine::{BatchStream, QueryOptions, not_a_query, take_rows};
use boundary_bench_kernel::Result;

use crate::channel::{Channel, Waiter};
use crate::client::schema_of;
use crate::endpoints::Endpoints;
use crate::engine_error;
use crate::values::{adapted, columns_of};

/// Batches of fewer rows are joined, if the caller wants larger ones. Joining larger batches costs more than it saves.
const ENOUGH_ROWS: usize = 16_384;

/// The number of bytes at which a batch is no longer extended: the offsets of its texts must not overflow.
const MAX_GATHERED_BYTES: usize = 256 << 20;

/// A query under way. Dropping it ends the query.
pub(crate) struct FlightStream {
    /// The source of batches, or `None` once it has ended.
    endpoints: Option<Endpoints>,
    waiter: Waiter,
    columns: Vec<Column>,
    schema: SchemaRef,
    batch_rows: usize,
    gathered: VecDeque<RecordBatch>,
    /// The number of rows received, for errors.
    received: u64,
}

impl FlightStream {
    /// Begins to read the result that `info` describes.
    pub(crate) fn start(
        channel: &Arc<Channel>,
        waiter: Waiter,
        options: &QueryOptions,
        info: impl Future<Output = Result<FlightInfo>>,
    ) -> Result<Box<dyn BatchStream>> {
        let (endpoints, schema) = waiter.wait(async {
            let info = info.await?;
            let known = schema_of(info.schema.clone())?;
            if known.as_ref().is_some_and(|schema| schema.fields().is_empty()) {
                return Err(not_a_query());
            }
            let mut endpoints = Endpoints::new(Arc::clone(channel), info);
            let schema = endpoints.schema().await?.or(known.map(Arc::new));
            Ok((endpoints, schema))
        })?;
        let columns = columns_of(&schema.unwrap_or_else(|| Arc::new(Schema::empty())))?;
        Ok(Box::new(Self {
            endpoints: Some(endpoints),
            waiter,
            schema: arrow_schema_of(&columns),
            batch_rows: options.rows_per_batch(&columns),
            columns,
            gathered: VecDeque::new(),
            received: 0,
        }))
    }

    fn gather(&mut self) -> Result<Option<RecordBatch>> {
        let enough = self.batch_rows.min(ENOUGH_ROWS);
        let mut rows: usize = self.gathered.iter().map(RecordBatch::num_rows).sum();
        let mut bytes = 0;
        while rows < enough
            && bytes < MAX_GATHERED_BYTES
            && let Some(endpoints) = &mut self.endpoints
        {
            let Some(batch) = self.waiter.wait(endpoints.next())? else {
                self.endpoints = None;
                break;
            };
            if batch.num_rows() > 0 {
                rows += batch.num_rows();
                bytes += batch.get_array_memory_size();
                self.gathered.push_back(adapted(&batch, &self.schema, self.received)?);
                self.received += batch.num_rows() as u64;
            }
        }
        let mut parts = take_rows(&mut self.gathered, self.batch_rows);
        match parts.len() {
            0 | 1 => Ok(parts.pop()),
            _ => concat_batches(&self.schema, &parts).map(Some).map_err(engine_error),
        }
    }
}

impl BatchStream for FlightStream {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.waiter.check().and_then(|()| self.gather());
        batch.inspect_err(|_| {
            self.endpoints = None;
            self.gathered.clear();
        })
    }
}
