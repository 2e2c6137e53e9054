//! The soak as request work: so many points over so many connections, in batches, on every side the same.
//!
//! Each sample writes to a measurement of its own, and afterwards the server must count all its points.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use boundary_bench_core::checksum::Checksum;
use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::load::{Requester, run_load};
use boundary_bench_core::resources::cpu_of_process;
use boundary_bench_core::{Error, Result};

use super::FIRST_TIME;
use super::soak_client::{FIELD, SoakClient, SoakEncoding};
use crate::requests::{RequestCell, RequestLane, RequestSpec, runtime};
use crate::sample::CellSample;

/// The database of the points.
const DATABASE: &str = "server";

/// `HyperbyteDB` counts what it has flushed, every ten seconds.
const COUNT_WITHIN: Duration = Duration::from_secs(30);
const COUNT_AGAIN: Duration = Duration::from_millis(50);

/// A server rests when it has used less than a part of so much time; waited for at most so long.
const WATCHED: Duration = Duration::from_millis(50);
const RESTING: f64 = 0.2;
const REST_WITHIN: Duration = Duration::from_secs(10);

/// A server that says that it is busy is asked again after this.
const BUSY: u16 = 503;
const REST: Duration = Duration::from_millis(10);

fn ingest_error(message: String) -> Error {
    Error::Engine { engine: "ingest", message }
}

/// One thread of a load.
struct SoakRequester {
    client: SoakClient,
    spec: Arc<RequestSpec>,
    path: Arc<str>,
}

impl Requester for SoakRequester {
    async fn request(&mut self, index: u64) -> Result<()> {
        self.client.fill(self.spec.operations_of(index), FIRST_TIME)?;
        loop {
            let answer = self.client.post(&self.path).await?;
            if answer.is_kept() {
                return Ok(());
            }
            if answer.status != BUSY {
                return Err(ingest_error(answer.kind()));
            }
            tokio::time::sleep(REST).await;
        }
    }
}

/// A cell, connected.
struct SoakCell {
    spec: Arc<RequestSpec>,
    encoding: SoakEncoding,
    path: Arc<str>,
    samples: AtomicU32,
    expected: Checksum,
    /// The connections, while no sample has them.
    connections: Mutex<Vec<SoakRequester>>,
}

/// Connects a cell and makes its database.
pub(crate) fn open(spec: &RequestSpec, cancel: &CancelToken) -> Result<Box<dyn RequestCell>> {
    let encoding = match (spec.workload.as_str(), spec.lane) {
        ("soak_columnar", RequestLane::Batch) => SoakEncoding::Columnar,
        ("soak_rows", RequestLane::Batch) => SoakEncoding::Rows,
        ("soak_lines", RequestLane::Batch) => SoakEncoding::Lines,
        _ => {
            return Err(Error::InvalidArgument(format!(
                "the family ingest has no requests for {} on the lane {:?}",
                spec.workload, spec.lane
            )));
        }
    };
    let mut client = SoakClient::new(&spec.url, encoding)?;
    runtime()?.block_on(async {
        let answer = client.query(&format!("/query?q=CREATE%20DATABASE%20%22{DATABASE}%22")).await?;
        if answer.status == 200 { Ok(()) } else { Err(ingest_error(answer.kind())) }
    })?;
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
        runtime()?.block_on(async {
            let mut connections = Vec::new();
            for _ in 0..self.spec.threads {
                let mut client = SoakClient::new(&self.spec.url, self.encoding)?;
                client.connect().await?;
                let (spec, path) = (Arc::clone(&self.spec), Arc::clone(&self.path));
                connections.push(SoakRequester { client, spec, path });
            }
            Ok(connections)
        })
    }
}

/// Waits until the server has written the points of the samples before to its files: that is not this sample's work.
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

/// The points of a measurement, once they are as many as they must be, or the last count in time.
async fn count(client: &mut SoakClient, measurement: &str, wanted: u64) -> Result<u64> {
    let path = format!("/query?db={DATABASE}&q=SELECT%20count(%22{FIELD}%22)%20FROM%20%22{measurement}%22");
    let until = Instant::now() + COUNT_WITHIN;
    loop {
        let answer = client.query(&path).await?;
        let counted = counted(&answer.text).ok_or_else(|| ingest_error(answer.kind()))?;
        if counted >= wanted || Instant::now() > until {
            return Ok(counted);
        }
        tokio::time::sleep(COUNT_AGAIN).await;
    }
}

/// The count of an answer; 0 where nothing was written yet.
fn counted(answer: &str) -> Option<u64> {
    let answer: serde_json::Value = serde_json::from_str(answer).ok()?;
    let result = answer.get("results")?.get(0)?;
    if result.get("error").is_some() {
        return None;
    }
    match result.pointer("/series/0/values/0/1") {
        None => Some(0),
        Some(count) => count.as_u64(),
    }
}

impl RequestCell for SoakCell {
    fn sample(&self, cancel: &CancelToken) -> Result<CellSample> {
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
        let (mut connections, outcome) = runtime()?.block_on(run_load(connections, &self.spec.load(), cancel))?;
        let first = connections.first_mut().ok_or_else(|| Error::Internal("a load without a connection".to_owned()))?;
        let rows = runtime()?.block_on(count(&mut first.client, &measurement, self.spec.operations))?;
        *lock(&self.connections) = connections;
        CellSample::of_load(&outcome, Checksum::from_sums(rows, []))
    }

    fn expected(&self) -> &Checksum {
        &self.expected
    }

    fn close(&self) -> Result<()> {
        lock(&self.connections).clear();
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn the_count_of_an_answer_is_found() {
        let text =
            r#"{"results":[{"statement_id":0,"series":[{"name":"m","columns":["time","count"],"values":[[0,7]]}]}]}"#;
        assert_eq!(counted(text), Some(7));
        assert_eq!(counted(r#"{"results":[{"statement_id":0}]}"#), Some(0));
        assert_eq!(counted(r#"{"results":[{"statement_id":0,"error":"no"}]}"#), None);
        assert_eq!(counted("no"), None);
    }
}
