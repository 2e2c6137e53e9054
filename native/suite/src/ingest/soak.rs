//! The soak: workers post batches to `/write` for a set time, in a closed loop (each worker sends its next batch when the last
//! one is answered) or at a rate (each batch is sent at its time). It is `src/families/ingest/soak.ts` in Rust, with the same
//! loop and the same figures; the TypeScript side creates the database before it, and has the server count the points after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::latency::LatencyHistogram;
use boundary_bench_kernel::resources::sleep_precisely;
use boundary_bench_kernel::{Error, Result};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::soak_client::SoakClient;
pub use super::soak_client::SoakEncoding;
use crate::requests::runtime;

/// The pause of a worker after a failure, so that a server that is down is not flooded with requests.
const REST: Duration = Duration::from_millis(10);

/// The most workers of a soak; a larger number is taken for a mistake.
const MOST_WORKERS: u32 = 10_000;
/// The most points of a request; a larger number is taken for a mistake.
const MOST_BATCH: u32 = 500_000;

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
    /// The duration of the warm-up before the measurement, in seconds; not in the figures.
    pub warmup_seconds: f64,
    /// The rate in requests a second of all workers together; `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The time of the first point of each worker, in milliseconds.
    pub first_time: i64,
}

impl SoakSpec {
    fn validate(&self) -> Result<()> {
        let Self { workers, batch_size, duration_seconds, warmup_seconds, rate, .. } = self;
        let is_time = |seconds: f64| Duration::try_from_secs_f64(seconds).is_ok();
        let problem = if !(1..=MOST_WORKERS).contains(workers) {
            format!("{workers} workers: there must be 1 to {MOST_WORKERS}")
        } else if !(1..=MOST_BATCH).contains(batch_size) {
            format!("{batch_size} points a request: there must be 1 to {MOST_BATCH}")
        } else if !is_time(*duration_seconds) || !is_time(*warmup_seconds) {
            format!("{duration_seconds} seconds after {warmup_seconds}: these are no times")
        } else if rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            "a rate must be above 0 requests a second".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::InvalidArgument(problem))
    }
}

/// The result of a soak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SoakReport {
    /// The number of points acknowledged during the measurement.
    pub points: u64,
    /// The seconds from the end of the warm-up to the last response.
    pub seconds: f64,
    /// The number of requests acknowledged during the measurement.
    pub requests: u64,
    /// The histogram of the latencies of those requests, in microseconds, compressed (V2) and in base64.
    pub latency: String,
    /// The number of failures of each kind during the measurement.
    pub errors: BTreeMap<String, u64>,
    /// The number of points acknowledged in all, warm-up included.
    pub acknowledged: u64,
    /// The number of points of requests without a response: the server may have kept them or not.
    pub uncertain: u64,
    /// The number of requests of an open loop that were due, but not sent before the end.
    pub unsent: u64,
}

/// Runs a soak. If cancelled, it ends early and returns the measurements until then. Blocks the calling thread.
///
/// # Errors
/// [`Error::InvalidArgument`] for a specification out of range. Failures of requests are in the report.
pub fn run_soak(spec: &SoakSpec, cancel: &CancelToken) -> Result<SoakReport> {
    spec.validate()?;
    let clients = (0..spec.workers).map(|worker| {
        let mut client = SoakClient::new(&spec.url, spec.encoding)?;
        client.begin(&spec.measurement, worker)?;
        Ok(client)
    });
    let clients = clients.collect::<Result<Vec<_>>>()?;
    let course = Arc::new(Course::new(spec));
    let pacer = spec.rate.map(|rate| pace(&course, rate)).transpose()?;
    let ours = Arc::clone(&course);
    let pacing = pacer.as_ref().map(|pacer| pacer.thread().clone());
    let guard = cancel.on_cancel(move || {
        ours.stop();
        if let Some(thread) = &pacing {
            thread.unpark();
        }
    });
    let tallies = runtime()?.block_on(async {
        let mut tasks = JoinSet::new();
        for client in clients {
            tasks.spawn(work(client, spec.clone(), Arc::clone(&course)));
        }
        let mut tallies = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            tallies.push(ended.map_err(|error| Error::Internal(error.to_string()))??);
        }
        Ok::<_, Error>(tallies)
    });
    drop(guard);
    course.stop();
    let due = pacer.map_or(0, |pacer| {
        pacer.thread().unpark();
        pacer.join().unwrap_or_default()
    });
    course.report(due, tallies?)
}

/// The schedule of a soak, shared by all workers.
struct Course {
    start: Instant,
    measured_from: Instant,
    end: Instant,
    stopped: AtomicBool,
    /// The permits of an open loop, one for each due request that no worker has taken.
    due: Semaphore,
    /// The number of due requests that workers have taken.
    taken: AtomicU64,
}

impl Course {
    fn new(spec: &SoakSpec) -> Self {
        let later = |time: Instant, seconds: f64| {
            let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            time.checked_add(duration).unwrap_or(time + Duration::from_secs(u64::from(u32::MAX)))
        };
        let start = Instant::now();
        let measured_from = later(start, spec.warmup_seconds);
        Self {
            start,
            measured_from,
            end: later(measured_from, spec.duration_seconds),
            stopped: AtomicBool::new(false),
            due: Semaphore::new(0),
            taken: AtomicU64::new(0),
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.due.close();
    }

    fn is_over(&self) -> bool {
        self.stopped.load(Ordering::Acquire) || Instant::now() >= self.end
    }

    /// The time at which request `request` of an open loop is to be sent; `None` if it is out of range.
    fn intended(&self, request: u64, rate: f64) -> Option<Instant> {
        self.start.checked_add(Duration::try_from_secs_f64(request as f64 / rate).ok()?)
    }

    /// Waits until the next request of an open loop is due, and returns its intended time; `None` at the end.
    async fn turn(&self, rate: f64) -> Option<Instant> {
        self.due.acquire().await.ok()?.forget();
        self.intended(self.taken.fetch_add(1, Ordering::Relaxed), rate)
    }

    fn report(&self, due: u64, tallies: Vec<Tally>) -> Result<SoakReport> {
        let mut sum = Tally::default();
        for tally in tallies {
            sum.points += tally.points;
            sum.requests += tally.requests;
            sum.acknowledged += tally.acknowledged;
            sum.uncertain += tally.uncertain;
            sum.latency.merge(&tally.latency);
            sum.last_answer = sum.last_answer.max(tally.last_answer);
            for (kind, count) in tally.errors {
                *sum.errors.entry(kind).or_default() += count;
            }
        }
        let seconds = sum.last_answer.map_or(0.0, |last| last.duration_since(self.measured_from).as_secs_f64());
        Ok(SoakReport {
            points: sum.points,
            seconds,
            requests: sum.requests,
            latency: sum.latency.to_base64()?,
            errors: sum.errors,
            acknowledged: sum.acknowledged,
            uncertain: sum.uncertain,
            unsent: due.saturating_sub(self.taken.load(Ordering::Relaxed)),
        })
    }
}

/// Starts the thread that releases the due requests of an open loop: the runtime's timers are only exact to the millisecond. The
/// thread returns the number of requests that were due.
fn pace(course: &Arc<Course>, rate: f64) -> Result<std::thread::JoinHandle<u64>> {
    let course = Arc::clone(course);
    let pace = move || {
        sleep_precisely();
        let mut due = 0;
        loop {
            let now = Instant::now();
            if course.stopped.load(Ordering::Acquire) || now >= course.end {
                break;
            }
            let until_now = now.duration_since(course.start).as_secs_f64() * rate;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
            let due_now = (until_now as u64).saturating_add(1);
            if due_now > due {
                let more = usize::try_from(due_now - due).unwrap_or(usize::MAX);
                course.due.add_permits(more.min(Semaphore::MAX_PERMITS - course.due.available_permits()));
                due = due_now;
            }
            let next = course.intended(due, rate).unwrap_or(course.end).min(course.end);
            std::thread::park_timeout(next.saturating_duration_since(Instant::now()));
        }
        course.due.close();
        due
    };
    let thread = std::thread::Builder::new().name("bb-pacer".to_owned()).spawn(pace);
    thread.map_err(|error| Error::Internal(format!("no thread for the open loop: {error}")))
}

/// The counts of one worker.
#[derive(Default)]
struct Tally {
    points: u64,
    requests: u64,
    acknowledged: u64,
    uncertain: u64,
    latency: LatencyHistogram,
    errors: BTreeMap<String, u64>,
    last_answer: Option<Instant>,
}

/// Runs one worker. It writes a series of its own, so that no two of its points share a time.
async fn work(mut client: SoakClient, spec: SoakSpec, course: Arc<Course>) -> Result<Tally> {
    let mut tally = Tally::default();
    let batch = u64::from(spec.batch_size);
    for number in 0.. {
        let intended = match spec.rate {
            None if course.is_over() => break,
            None => None,
            Some(rate) => match course.turn(rate).await {
                None => break,
                time => time,
            },
        };
        client.fill(number * batch..(number + 1) * batch, spec.first_time)?;
        let from = intended.unwrap_or_else(Instant::now);
        let failure = match client.post(&spec.path).await {
            Ok(answer) if answer.is_kept() => None,
            Ok(answer) => Some(answer.kind()),
            Err(error) => {
                tally.uncertain += batch;
                Some(error.code().to_owned())
            }
        };
        let answered = Instant::now();
        if failure.is_none() {
            tally.acknowledged += batch;
        }
        let is_measured = answered >= course.measured_from;
        if is_measured {
            tally.last_answer = Some(answered);
        }
        match failure {
            None if is_measured => {
                tally.points += batch;
                tally.requests += 1;
                tally.latency.record(answered.saturating_duration_since(from));
            }
            None => {}
            Some(kind) => {
                if is_measured {
                    *tally.errors.entry(kind).or_default() += 1;
                }
                tokio::time::sleep(REST).await;
            }
        }
    }
    Ok(tally)
}
