//! Servers of Flight SQL and their clients.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use boundary_bench_core::engine::{Engine, QueryOptions};
use boundary_bench_core::table::{Column, SqlType, TableDefinition};
use boundary_bench_flight::FlightEngine;
use boundary_bench_server::{FlightOptions, Options, Server};

/// A query of more rows than any test reads.
pub const ENDLESS: &str = "SELECT range AS n, repeat('x', 100) AS text FROM range(10000000000)";

pub fn serve(flight: FlightOptions, options: Options) -> Server {
    let listen = "127.0.0.1:0".parse().unwrap();
    Server::start(&Options { flight: Some(flight), listen, ..options }).unwrap()
}

pub fn connect(url: &str) -> FlightEngine {
    FlightEngine::open(url.parse().unwrap(), None).unwrap()
}

pub fn number(engine: &dyn Engine, sql: &str) -> i64 {
    let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
    let batch = stream.next_batch().unwrap().unwrap();
    batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().value(0)
}

pub fn table() -> TableDefinition {
    let column = |name: &str, sql_type: SqlType| Column { name: name.to_owned(), sql_type, nullable: false };
    TableDefinition { name: "t".to_owned(), columns: vec![column("n", SqlType::BigInt), column("text", SqlType::Text)] }
}

pub fn rows(count: i64) -> RecordBatch {
    let texts = StringArray::from_iter_values((0..count).map(|n| format!("{n:0100}")));
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(0..count)), Arc::new(texts)];
    RecordBatch::try_new(table().to_arrow(), columns).unwrap()
}

/// A server in its own process, which a test can kill.
pub struct Process {
    child: Child,
    pub url: String,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_boundary-bench-server"))
            .args(["flight", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, url }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
