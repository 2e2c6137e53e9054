//! Measures scans and inserts of measurements over Flight SQL, compared with the embedded engine in process.
//! `cargo run --release -p boundary-bench-server --example flight_speed -- 10000000`

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use boundary_bench_core::engine::{CancelToken, CreateMode, Engine, QueryOptions, open};
use boundary_bench_core::measurements::{RowRange, table};
use boundary_bench_flight::FlightEngine;
use boundary_bench_server::PrivateServer;

/// Rows of an inserted batch.
const INPUT_ROWS: u64 = 262_144;

const SAMPLES: usize = 7;

fn main() -> boundary_bench_core::Result<()> {
    let rows: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000_000);
    let server = Arc::new(PrivateServer::start_flight(None, &["flight"], &CancelToken::default())?);
    let engines: [Arc<dyn Engine>; 2] =
        [open("embedded:")?, Arc::new(FlightEngine::open(server.url().parse()?, Some(server))?)];
    for engine in &engines {
        let table = table("measurements");
        let mut inserts = Vec::new();
        for _ in 0..SAMPLES {
            engine.create_table(&table, CreateMode::Replace)?;
            let input = RowRange::new(0, INPUT_ROWS)?.columns().into_batch()?;
            let began = Instant::now();
            let mut ingest = engine.ingest(&table)?;
            for start in (0..rows).step_by(usize::try_from(INPUT_ROWS).unwrap_or(1)) {
                let count = INPUT_ROWS.min(rows - start);
                ingest.write(&input.slice(0, usize::try_from(count).unwrap_or(0)))?;
            }
            ingest.commit()?;
            inserts.push(began.elapsed().as_secs_f64());
        }
        let mut scans = Vec::new();
        for _ in 0..SAMPLES {
            let began = Instant::now();
            let mut stream =
                engine.query("SELECT id, sensor_id, value, timestamp FROM measurements", &QueryOptions::default())?;
            let mut read = 0;
            while let Some(batch) = stream.next_batch()? {
                read += batch.num_rows() as u64;
            }
            assert_eq!(read, rows);
            scans.push(began.elapsed().as_secs_f64());
        }
        for (work, mut seconds) in [("insert", inserts), ("scan", scans)] {
            seconds.sort_by(f64::total_cmp);
            let rate = |seconds: f64| rows as f64 / seconds / 1e6;
            let (median, best) = (rate(seconds[SAMPLES / 2]), rate(seconds[0]));
            let line = format!("{:9} {work:6}  median {median:6.1} M rows/s  best {best:6.1}\n", engine.name());
            let _ = std::io::stdout().write_all(line.as_bytes());
        }
    }
    Ok(())
}
