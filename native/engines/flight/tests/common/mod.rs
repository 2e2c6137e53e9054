//! Helpers that the tests share: a server of Flight SQL in this process, over a database in memory.
#![expect(dead_code, reason = "each test uses a part of it")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use boundary_bench_engine::{Engine, QueryOptions};
use boundary_bench_flight::{FlightEngine, FlightUrl};
use boundary_bench_server::{FlightOptions, Options, Server};

/// A new server on a free port.
pub fn serve(options: Options) -> Arc<Server> {
    let flight = Some(options.flight.clone().unwrap_or_default());
    let listen = "127.0.0.1:0".parse().unwrap();
    Arc::new(Server::start(&Options { flight, listen, ..options }).unwrap())
}

pub fn options(flight: FlightOptions) -> Options {
    Options { flight: Some(flight), ..Options::default() }
}

/// An engine over a new server. The server is stopped with the engine.
pub fn open() -> Arc<dyn Engine> {
    let server = serve(Options::default());
    let url: FlightUrl = server.url().parse().unwrap();
    Arc::new(FlightEngine::open(url, Some(server)).unwrap())
}

/// The only number of a result.
pub fn number(engine: &dyn Engine, sql: &str) -> i64 {
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
    stream.next_batch().unwrap().unwrap().column(0).as_primitive::<Int64Type>().value(0)
}
