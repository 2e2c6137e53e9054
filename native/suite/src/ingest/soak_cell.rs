//! The soak as request work: a fixed number of points over a fixed number of connections, in batches, the same on every side.
//!
//! Each sample writes to a measurement of its own. Afterwards the server must count all points of it. The check of a cell reads them
//! back, too.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, LoadOutcome, Requester, run_load};
use boundary_bench_kernel::resources::cpu_of_process;
use boundary_bench_kernel::{Error, Result, lock};

use super::family;
use super::points_query::PointsQuery;
use super::soak_client::{SoakClient, SoakEncoding};
use crate::requests::{RequestCell, RequestLane, RequestSpec, block_on, runtime};
use crate::sample::CellSample;

/// The database that the points are written to.
const DATABASE: &str = "server";

/// The interval over which the CPU time of a server is watched to tell whether it is idle.
const WATCHED: Duration = Duration::from_millis(50);
/// The part of [`WATCHED`] below which the CPU time of an idle server stays.
const RESTING: f64 = 0.2;
/// The most time to wait for a server to become idle.
const REST_WITHIN: Duration = Duration::from_secs(10);

/// The status of the response of a busy server. The request is then retried.
const BUSY: u16 = 503;
/// The pause before a retry.
const REST: Duration = Duration::from_millis(10);

/// A requester, with its connections.
struct SoakRequester {
    client: SoakClient,
    spec: Arc<RequestSpec>,
    path: Arc<str>,
}

impl Requester for SoakRequester {
    async fn request(&mut self, index: u64) -> Result<()> {
        self.client.fill(self.spec.operations_of(index), family()?.timestamp_start)?;
        loop {
            let answer = self.client.post(&self.path).await?;
            if answer.status != BUSY {
                return answer.check();
            }
            tokio::time::sleep(REST).await;
        }
    }
}

/// A cell of the soak, connected.
struct SoakCell {
    spec: Arc<RequestSpec>,
    encoding: SoakEncoding,
    path: Arc<str>,
    samples: AtomicU32,
    expected: Checksum,
    /// The requesters. Empty while a sample runs.
    connections: Mutex<Vec<SoakRequester>>,
}

/// Connects a cell and makes its database.
pub(crate) fn open(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let encoding = match (spec.workload.as_str(), spec.lane) {
        ("soak_columnar", RequestLane::Batch) => SoakEncoding::Columnar,
        ("soak_rows", RequestLane::Batch) => SoakEncoding::Rows,
        ("soak_lines", RequestLane::Batch) => SoakEncoding::Lines,
        _ => return Err(spec.unknown("ingest")),
    };
    block_on(runtime()?, PointsQuery::new(&spec.url)?.create_database(DATABASE))?;
    cancel.check()?;
    let cell = SoakCell {
        spec: Arc::new(spec.clone()),
        encoding,
        path: format!("/write?db={DATABASE}&precision=ms").into(),
        samples: AtomicU32::new(0),
        expected: Checksum::from_sums(spec.operations, []),
        connections: Mutex::default(),
    };
    *lock(&cell.connections) = cell.connect()?;
    Ok(Box::new(cell))
}

impl SoakCell {
    fn connect(&self) -> Result<Vec<SoakRequester>> {
        block_on(runtime()?, async {
            let mut connections = Vec::new();
            for _ in 0..self.spec.connections {
                let mut client = SoakClient::new(&self.spec.url, self.encoding)?;
                client.connect().await?;
                let (spec, path) = (Arc::clone(&self.spec), Arc::clone(&self.path));
                connections.push(SoakRequester { client, spec, path });
            }
            Ok(connections)
        })
    }
}

/// Waits until the server is idle: writing the points of earlier samples to its files is not this sample's work.
fn wait_for_rest(server: Option<u32>, cancel: &CancelToken) -> Result<()> {
    let used = || server.and_then(cpu_of_process).map(|cpu| cpu.user + cpu.system);
    let until = Instant::now() + REST_WITHIN;
    let mut before = used();
    while let Some(last) = before
        && Instant::now() < until
    {
        cancel.check()?;
        std::thread::sleep(WATCHED);
        let now = used();
        if now.is_some_and(|now| now - last < RESTING * WATCHED.as_secs_f64()) {
            break;
        }
        before = now;
    }
    Ok(())
}

impl SoakCell {
    /// Posts the points of a sample to a measurement of their own. Returns its name, and the number of points that the server counts.
    fn post(&self, load: &Load, cancel: &CancelToken) -> Result<(String, u64, LoadOutcome)> {
        let mut connections = std::mem::take(&mut *lock(&self.connections));
        if connections.is_empty() {
            connections = self.connect()?;
        }
        let sample = self.samples.fetch_add(1, Ordering::Relaxed);
        let measurement = format!("{}_{sample}", self.spec.prefix);
        for (worker, connection) in (0..).zip(&mut connections) {
            connection.client.begin(&measurement, worker)?;
        }
        wait_for_rest(self.spec.server_processes.first().copied(), cancel)?;
        let (connections, outcome) = block_on(runtime()?, run_load(connections, load, cancel))?;
        let query = PointsQuery::new(&self.spec.url)?;
        let rows = block_on(runtime()?, query.count(DATABASE, &measurement, self.spec.operations))?;
        *lock(&self.connections) = connections;
        Ok((measurement, rows, outcome))
    }
}

impl RequestCell for SoakCell {
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
        let (_, rows, outcome) = self.post(&self.spec.load(), cancel)?;
        CellSample::of_load(&outcome, Checksum::from_sums(rows, []))
    }

    fn verify(&self, cancel: &CancelToken) -> Result<()> {
        let (measurement, rows, _) = self.post(&Load { requests: self.spec.requests(), ..Load::default() }, cancel)?;
        let points = self.spec.operations;
        if rows != points {
            return Err(Error::WrongRows(format!("the server counts {rows} points instead of {points}")));
        }
        block_on(runtime()?, PointsQuery::new(&self.spec.url)?.check(DATABASE, &measurement, points, cancel))
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_works_is_waited_for_and_one_that_is_unknown_is_not() {
        let started = Instant::now();
        wait_for_rest(None, &CancelToken::default()).unwrap();
        assert!(started.elapsed() < REST_WITHIN);
        let cancelled = CancelToken::default();
        cancelled.cancel();
        if cfg!(target_os = "linux") {
            assert!(wait_for_rest(Some(std::process::id()), &cancelled).is_err());
        }
    }
}
