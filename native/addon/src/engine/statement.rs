//! Prepared statements, exported to JavaScript.

use std::sync::Arc;

use boundary_bench_engine::lanes::ipc;
use boundary_bench_engine::lanes::statement::{BoundStatement, PreparedStatement};
use boundary_bench_engine::slab::GrowingBytes;
use boundary_bench_engine::table::Column;
use boundary_bench_node::host::errors::{blocking, promise_of_end};
use boundary_bench_node::values::parameters::Parameters;
use napi::Env;
use napi::bindgen_prelude::AsyncBlock;
use napi_derive::napi;

use crate::engine::reader::{Cancel, FrameReader, query_options};
use crate::engine::table::ColumnSpec;
use boundary_bench_node::host::in_flight::InFlight;
use boundary_bench_node::memory::buffers::Handover;

/// A prepared statement. It may run any number of times at once.
#[napi]
pub struct Statement {
    statement: Arc<PreparedStatement>,
    in_flight: Arc<InFlight>,
}

impl Statement {
    pub fn of(statement: PreparedStatement, in_flight: Arc<InFlight>) -> Self {
        Self { statement: Arc::new(statement), in_flight }
    }

    /// The statement for one run, which takes its place among the calls of the session now.
    fn bind(&self, parameters: Parameters) -> BoundStatement {
        BoundStatement::Prepared { statement: self.statement.in_turn(), parameters: parameters.0 }
    }
}

#[napi]
impl Statement {
    /// The types of the statement's parameters, or null if the type is unknown until a value is given.
    #[napi(getter)]
    pub fn parameters(&self) -> Vec<Option<ColumnSpec>> {
        let spec = |(index, sql_type): (usize, &Option<_>)| {
            sql_type
                .map(|sql_type| ColumnSpec::from(&Column { name: format!("${}", index + 1), sql_type, nullable: true }))
        };
        self.statement.parameters().iter().enumerate().map(spec).collect()
    }

    /// Runs the statement as a query, and resolves once its columns are known.
    #[napi(
        catch_unwind,
        ts_args_type = "parameters: unknown[], batchRows?: number | undefined | null, cancel?: Cancel | undefined | null"
    )]
    pub fn query(
        &self,
        env: Env,
        parameters: Parameters,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<FrameReader>> {
        let query = self.bind(parameters);
        let options = query_options(batch_rows, cancel)?;
        self.in_flight.promise(env, options.cancel.clone(), FrameReader::start(query, options))
    }

    /// Runs the statement as a query, and resolves to its whole result as one Arrow IPC stream.
    #[napi(
        catch_unwind,
        ts_args_type = "parameters: unknown[], batchRows?: number | undefined | null, cancel?: Cancel | undefined | null",
        ts_return_type = "Promise<ArrayBuffer>"
    )]
    pub fn query_to_arrow(
        &self,
        env: Env,
        parameters: Parameters,
        batch_rows: Option<f64>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<AsyncBlock<Handover<GrowingBytes>>> {
        let query = self.bind(parameters);
        let options = query_options(batch_rows, cancel)?;
        self.in_flight.promise(env, options.cancel.clone(), async move {
            blocking(move || query.query(&options, ipc::write_stream)).await.map(Handover)
        })
    }

    /// Runs the statement as a command, in a transaction of its own, and resolves to the number of rows changed.
    #[napi(catch_unwind, ts_args_type = "parameters: unknown[], cancel?: Cancel | undefined | null")]
    pub fn execute(&self, env: Env, parameters: Parameters, cancel: Option<&Cancel>) -> napi::Result<AsyncBlock<f64>> {
        let command = self.bind(parameters);
        let token = Cancel::token_of(cancel);
        self.in_flight.promise(env, token.clone(), async move {
            blocking(move || command.execute(&token)).await.map(|rows| rows as f64)
        })
    }

    /// Releases the engine. Runs under way continue to their end. Does nothing the second time.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn close(&self, env: Env) -> napi::Result<AsyncBlock<()>> {
        let statement = Arc::clone(&self.statement);
        promise_of_end(env, move || statement.close())
    }
}
