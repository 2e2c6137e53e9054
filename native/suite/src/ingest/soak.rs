//! The soak: a load ([`boundary_bench_kernel::load`]) that posts batches to `/write` for a set time. It counts failures, and goes on
//! after them. It is `src/families/ingest/soak.ts` in Rust, with the same figures. The TypeScript side creates the database before
//! it, and has the server count the points after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::load::{Load, Requester, run_load};
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};

use super::MOST_BATCH;
pub use super::soak_client::SoakEncoding;
use super::soak_client::{INGEST, SoakClient};
use crate::requests::{block_on, runtime};

/// The pause of a worker after a failure, so that a server that is down is not flooded with requests.
const REST: Duration = Duration::from_millis(10);

/// The most workers of a soak. A larger number is taken for a mistake.
const MOST_WORKERS: u32 = 10_000;

/// The specification of a soak.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakSpec {
    /// The URL of the server.
    pub url: String,
    /// The path of a write request, with the database.
    pub path: String,
    /// The measurement of the points.
    pub measurement: String,
    /// The encoding of the bodies.
    pub encoding: SoakEncoding,
    /// The number of workers, each with a connection of its own and one request under way.
    pub workers: u32,
    /// The number of points of a request.
    pub batch_size: u32,
    /// The duration of the measurement, in seconds.
    pub duration_seconds: f64,
    /// The duration of the warm-up before the measurement, in seconds. It is not in the figures.
    pub warmup_seconds: f64,
    /// The rate in requests per second of all workers together, or `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The time of the first point of each worker, in milliseconds.
    pub first_time: i64,
}

impl SoakSpec {
    fn validate(&self) -> Result<()> {
        let Self { workers, batch_size, duration_seconds, warmup_seconds, .. } = self;
        let is_time = |seconds: f64| Duration::try_from_secs_f64(seconds).is_ok();
        let problem = if !(1..=MOST_WORKERS).contains(workers) {
            format!("{workers} workers: there must be 1 to {MOST_WORKERS}")
        } else if !(1..=MOST_BATCH).contains(batch_size) {
            format!("{batch_size} points per request: there must be 1 to {MOST_BATCH}")
        } else if !is_time(*duration_seconds) || !is_time(*warmup_seconds) {
            format!("{duration_seconds} seconds after {warmup_seconds}: these are no times")
        } else {
            return Ok(());
        };
        Err(Error::InvalidArgument(problem))
    }

    /// The load of the warm-up, or of the measurement.
    fn load(&self, seconds: f64) -> Load {
        let duration = Some(Duration::from_secs_f64(seconds));
        Load { requests: u64::MAX, duration, rate: self.rate, ..Load::default() }
    }
}

/// The result of a soak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakReport {
    /// The number of points acknowledged during the measurement.
    pub points: u64,
    /// The seconds from the start of the measurement to the last response.
    pub seconds: f64,
    /// The number of requests acknowledged during the measurement.
    pub requests: u64,
    /// The histogram of the latencies of those requests, in nanoseconds, compressed (V2) and in base64.
    pub latency: String,
    /// The number of failures of each kind during the measurement.
    pub errors: BTreeMap<String, u64>,
    /// The number of points acknowledged in all, warm-up included.
    pub acknowledged: u64,
    /// The number of points of requests without a response: the server may have kept them or not.
    pub uncertain: u64,
    /// The number of requests of an open loop that were due during the measurement, but not sent before its end.
    pub unsent: u64,
}

/// Runs a soak: the warm-up, then the measurement. If cancelled, it ends early and returns the measurements until then. Blocks the
/// calling thread.
pub fn run_soak(spec: &SoakSpec, cancel: &CancelToken) -> Result<SoakReport> {
    spec.validate()?;
    let workers = (0..spec.workers).map(|number| SoakWorker::new(spec, number)).collect::<Result<Vec<_>>>()?;
    block_on(runtime()?, async {
        let (mut workers, _) = run_load(workers, &spec.load(spec.warmup_seconds), cancel).await?;
        workers.iter_mut().for_each(|worker| worker.errors.clear());
        let (workers, outcome) = run_load(workers, &spec.load(spec.duration_seconds), cancel).await?;
        let mut errors = BTreeMap::new();
        for (kind, count) in workers.iter().flat_map(|worker| &worker.errors) {
            *errors.entry(kind.clone()).or_default() += count;
        }
        let requests = outcome.latency.count();
        Ok(SoakReport {
            points: requests * u64::from(spec.batch_size),
            seconds: outcome.seconds,
            requests,
            latency: outcome.latency.to_base64()?,
            errors,
            acknowledged: workers.iter().map(|worker| worker.acknowledged).sum(),
            uncertain: workers.iter().map(|worker| worker.uncertain).sum(),
            unsent: outcome.unsent,
        })
    })
}

/// One worker. It writes a series of its own, so that no two of its points share a time.
struct SoakWorker {
    client: SoakClient,
    path: Arc<str>,
    /// The number of points of a request.
    batch: u64,
    first_time: i64,
    /// The number of the next request's first point, counted through warm-up and measurement.
    next_point: u64,
    /// The number of points acknowledged.
    acknowledged: u64,
    /// The number of points of requests without a response.
    uncertain: u64,
    /// The number of failures of each kind.
    errors: BTreeMap<String, u64>,
}

impl SoakWorker {
    fn new(spec: &SoakSpec, number: u32) -> Result<Self> {
        let mut client = SoakClient::new(&spec.url, spec.encoding)?;
        client.begin(&spec.measurement, number)?;
        Ok(Self {
            client,
            path: spec.path.as_str().into(),
            batch: u64::from(spec.batch_size),
            first_time: spec.first_time,
            next_point: 0,
            acknowledged: 0,
            uncertain: 0,
            errors: BTreeMap::new(),
        })
    }
}

impl Requester for SoakWorker {
    async fn request(&mut self, _index: u64) -> Result<()> {
        let points = self.next_point..self.next_point + self.batch;
        self.next_point = points.end;
        self.client.fill(points, self.first_time)?;
        let answer = self.client.post(&self.path).await;
        let answer = answer.inspect_err(|error| {
            let was_sent = !matches!(error, Error::Unreachable(_));
            self.uncertain += if was_sent { self.batch } else { 0 };
        })?;
        answer.check()?;
        self.acknowledged += self.batch;
        Ok(())
    }

    async fn failed(&mut self, error: Error) -> Result<()> {
        let kind = match error {
            Error::Engine { engine: INGEST, message } => message,
            other => other.code().to_owned(),
        };
        *self.errors.entry(kind).or_default() += 1;
        tokio::time::sleep(REST).await;
        Ok(())
    }
}
