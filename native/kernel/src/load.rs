//! A load of many small requests over several connections, each with one request in flight.
//!
//! Requester `r` of `R` sends the requests `r`, `r + R`, `r + 2R`, ..., so that the requests of each connection are known
//! beforehand. In a *closed loop* a requester sends its next request when the last one is answered, and a latency counts
//! from there. In an *open loop* request `i` is due `i / rate` seconds after the start, whether the server keeps up or
//! not. Its latency counts from then, so that requests that wait behind a slow answer are not left out. A load ends after
//! a number of requests, after a duration, or at the first of both.
//!
//! An open loop reports how late it sends: a thread of its own tells when each request is due, and wakes the one that sends it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::{Barrier, Semaphore};
use tokio::task::JoinSet;

use crate::cancel::CancelToken;
use crate::error::catch_panic_in;
use crate::latency::LatencyHistogram;
use crate::resources::{CpuTime, cpu_of_process};
use crate::used::{Reading, Used};
use crate::{Error, Result};

/// The delay before the first request of an open loop, so that no requester is late for it.
const OPEN_LOOP_DELAY: Duration = Duration::from_millis(2);

/// The number of due requests of an open loop of which the times are kept. Of a longer backlog the newest count for the oldest.
const MOST_NOTICES: u64 = 1 << 16;

/// A connection that sends one request after the other.
pub trait Requester: Send + 'static {
    /// Sends the request with this index and resolves once its answer is consumed.
    fn request(&mut self, index: u64) -> impl Future<Output = Result<()>> + Send;

    /// Takes note of a failed request. The request has no latency, and this requester goes on. By default the failure ends the load.
    fn failed(&mut self, error: Error) -> impl Future<Output = Result<()>> + Send {
        std::future::ready(Err(error))
    }
}

/// The number of requests of a load, its duration, and the rate of the requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// The most requests of all requesters together.
    pub requests: u64,
    /// The duration after which no request is sent, or `None` for a load that ends with its last request.
    pub duration: Option<Duration>,
    /// The requests per second of all requesters together, for an open loop, or `None` for a closed loop.
    pub rate: Option<f64>,
    /// The ids of the servers' processes, if they run on this machine: their CPU time is counted in total.
    pub server_processes: Vec<u32>,
}

impl Load {
    fn check(&self) -> Result<()> {
        match self.rate {
            Some(rate) if !(rate.is_finite() && rate > 0.0) => {
                Err(Error::InvalidArgument(format!("a rate must be above 0 requests per second, not {rate}")))
            }
            _ => Ok(()),
        }
    }

    /// The number of requests, not counting requests of an open loop that are due after its end.
    fn most_requests(&self) -> u64 {
        let (Some(duration), Some(rate)) = (self.duration, self.rate) else { return self.requests };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let due = (duration.as_secs_f64() * rate).ceil() as u64;
        due.min(self.requests)
    }
}

/// The outcome of a load.
#[derive(Debug, Clone)]
pub struct LoadOutcome {
    /// The seconds from the common start to the last answer consumed.
    pub seconds: f64,
    /// The latencies of all requests that succeeded.
    pub latency: LatencyHistogram,
    /// For an open loop, the delay of requests for reasons within this program, not because the previous answer was late. It
    /// is the delay in noticing that they were due, plus the delay in sending them then.
    pub behind: Option<LatencyHistogram>,
    /// The number of requests of an open loop that were due, but not sent before its end.
    pub unsent: u64,
    /// The costs of this process during the load.
    pub used: Used,
    /// The CPU time of the servers during the load, if their processes are known.
    pub server_cpu: Option<CpuTime>,
}

/// The measurements of one requester.
struct Finished<R> {
    number: usize,
    requester: R,
    /// The time of the last answer, or `None` without requests.
    last_answer: Option<Instant>,
    latency: LatencyHistogram,
    behind: Option<LatencyHistogram>,
}

/// Sends requests until the end of the load, with one task for each requester on the current runtime, and returns the requesters
/// in their order. The first failure ends all tasks, unless its requester takes note of it ([`Requester::failed`]). A cancelled
/// load with a duration ends when the requests in flight are answered, with what was measured.
///
/// # Errors
/// [`Error::InvalidArgument`] without a requester or for an unusable rate, [`Error::Cancelled`], else the error of a
/// request. A panic becomes [`Error::Internal`]. The requesters are dropped then, and their connections with them.
pub async fn run_load<R: Requester>(
    requesters: Vec<R>,
    load: &Load,
    cancel: &CancelToken,
) -> Result<(Vec<R>, LoadOutcome)> {
    load.check()?;
    if load.duration.is_none() {
        cancel.check()?;
    }
    let count = requesters.len();
    if count == 0 {
        return Err(Error::InvalidArgument("a load needs a connection".to_owned()));
    }
    let course = Arc::new(Course::new(load, count));
    let gate = Arc::new(Barrier::new(count + 1));
    let mut tasks = JoinSet::new();
    let mut handles = Vec::with_capacity(count);
    for (number, requester) in requesters.into_iter().enumerate() {
        let (gate, course) = (Arc::clone(&gate), Arc::clone(&course));
        handles.push(tasks.spawn(catch_panic_in(async move {
            gate.wait().await;
            send(requester, number, &course).await
        })));
    }
    let theirs = Arc::clone(&course);
    let _guard = cancel.on_cancel(move || match theirs.duration {
        Some(_) => theirs.stop(),
        None => handles.iter().for_each(tokio::task::AbortHandle::abort),
    });
    let server = || cpu_of_processes(&load.server_processes);
    let (before, server_before) = (Reading::before(), server());
    gate.wait().await;
    let pacer = load.rate.map(|rate| Pacer::start(&course, rate)).transpose()?;
    let mut finished: Vec<Option<Finished<R>>> = (0..count).map(|_| None).collect();
    while let Some(ended) = tasks.join_next().await {
        let part = ended.map_err(|error| ending(&error))??;
        let number = part.number;
        finished[number] = Some(part);
    }
    let finished: Vec<_> = finished.into_iter().flatten().collect();
    let (after, server_cpu) = (Reading::after(), server());
    drop(pacer);
    let since = |before: Option<CpuTime>, after: Option<CpuTime>| Some(after? - before?);
    let seconds = seconds(course.start(), &finished);
    let outcome = LoadOutcome {
        seconds,
        latency: merged(finished.iter().map(|part| &part.latency)),
        behind: load.rate.map(|_| merged(finished.iter().filter_map(|part| part.behind.as_ref()))),
        unsent: course.due.iter().map(|due| due.available_permits() as u64).sum(),
        used: after.since(&before, seconds),
        server_cpu: since(server_before, server_cpu),
    };
    Ok((finished.into_iter().map(|part| part.requester).collect(), outcome))
}

/// The CPU time of all processes, or `None` for an empty list, or if one of them can't be read.
fn cpu_of_processes(processes: &[u32]) -> Option<CpuTime> {
    let times = processes.iter().map(|process| cpu_of_process(*process)).collect::<Option<Vec<_>>>()?;
    times.into_iter().reduce(|sum, time| sum + time)
}

/// The schedule of a load, shared by its requesters.
struct Course {
    requests: u64,
    duration: Option<Duration>,
    rate: Option<f64>,
    /// The time of the start, set by the first who asks for it.
    start: OnceLock<Instant>,
    stopped: AtomicBool,
    /// For each requester a permit for every request of an open loop that is due and not sent.
    due: Vec<Semaphore>,
    /// The delays in noticing that the latest requests of an open loop were due, in nanoseconds, by the index modulo the length.
    notice_delays: Vec<AtomicU64>,
}

impl Course {
    fn new(load: &Load, count: usize) -> Self {
        let requests = load.most_requests();
        let notices = load.rate.map_or(0, |_| requests.min(MOST_NOTICES));
        Self {
            requests,
            duration: load.duration,
            rate: load.rate,
            start: OnceLock::new(),
            stopped: AtomicBool::new(false),
            due: (0..count).map(|_| Semaphore::new(0)).collect(),
            notice_delays: (0..notices).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn start(&self) -> Instant {
        let delay = self.rate.map_or(Duration::ZERO, |_| OPEN_LOOP_DELAY);
        *self.start.get_or_init(|| Instant::now() + delay)
    }

    /// Stops the pacer, and every requester before its next request.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.due.iter().for_each(Semaphore::close);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The time at which a request of an open loop is due.
    fn intended(&self, index: u64, rate: f64) -> Instant {
        // A time beyond the range of the clock means practically never.
        let after = Duration::try_from_secs_f64(index as f64 / rate).unwrap_or(Duration::MAX);
        self.start().checked_add(after).unwrap_or_else(|| self.start() + Duration::from_secs(u64::from(u32::MAX)))
    }

    fn notice_delay(&self, index: u64) -> &AtomicU64 {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is less than a length")]
        let place = (index % self.notice_delays.len() as u64) as usize;
        &self.notice_delays[place]
    }

    /// Marks the next request of a requester as due. That was noticed with a delay.
    fn release(&self, index: u64, requester: &Semaphore, delay: Duration) {
        let nanoseconds = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        self.notice_delay(index).store(nanoseconds, Ordering::Release);
        requester.add_permits(1);
    }

    /// Waits until a request is due, and returns the delay in noticing that. Returns `None` once the load is stopped.
    async fn turn(&self, index: u64, requester: usize) -> Option<Duration> {
        self.due[requester].acquire().await.ok()?.forget();
        Some(Duration::from_nanos(self.notice_delay(index).load(Ordering::Acquire)))
    }
}

/// Sends the requests of one requester.
async fn send<R: Requester>(requester: R, number: usize, course: &Course) -> Result<Finished<R>> {
    let (latency, behind) = (LatencyHistogram::new(), course.rate.map(|_| LatencyHistogram::new()));
    let mut part = Finished { number, requester, last_answer: None, latency, behind };
    let start = course.start();
    let end = course.duration.and_then(|duration| start.checked_add(duration));
    let mut ready = Instant::now();
    for index in (number as u64..course.requests).step_by(course.due.len()) {
        if course.is_stopped() || end.is_some_and(|end| ready >= end) {
            break;
        }
        let from = match (course.rate, &mut part.behind) {
            (Some(rate), Some(behind)) => {
                let Some(notice_delay) = course.turn(index, number).await else { break };
                let intended = course.intended(index, rate);
                let ready = ready.max(intended + notice_delay);
                behind.record(notice_delay + Instant::now().saturating_duration_since(ready));
                intended
            }
            _ => ready,
        };
        let outcome = part.requester.request(index).await;
        let answered = Instant::now();
        part.last_answer = Some(answered);
        ready = match outcome {
            Ok(()) => {
                part.latency.record(answered.saturating_duration_since(from));
                answered
            }
            Err(error) => {
                part.requester.failed(error).await?;
                Instant::now()
            }
        };
    }
    Ok(part)
}

/// The thread that tells when the requests of an open loop are due: the timers of the runtime are only precise to the
/// millisecond.
struct Pacer {
    thread: std::thread::Thread,
    course: Arc<Course>,
}

impl Pacer {
    fn start(course: &Arc<Course>, rate: f64) -> Result<Self> {
        let ours = Arc::clone(course);
        let pace = move || {
            crate::resources::sleep_precisely();
            for (index, requester) in (0..ours.requests).zip(ours.due.iter().cycle()) {
                let intended = ours.intended(index, rate);
                let Some(noticed) = sleep_until(intended, &ours) else { return };
                ours.release(index, requester, noticed - intended);
            }
        };
        let thread = std::thread::Builder::new().name("bb-pacer".to_owned()).spawn(pace);
        let thread = thread.map_err(|error| Error::Internal(format!("no thread for the open loop: {error}")))?;
        Ok(Self { thread: thread.thread().clone(), course: Arc::clone(course) })
    }
}

/// Sleeps until a time, and returns the time at which that was noticed. Returns `None` once the load is stopped.
fn sleep_until(time: Instant, course: &Course) -> Option<Instant> {
    loop {
        if course.is_stopped() {
            return None;
        }
        let now = Instant::now();
        if now >= time {
            return Some(now);
        }
        std::thread::park_timeout(time - now);
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.course.stop();
        self.thread.unpark();
    }
}

fn ending(error: &tokio::task::JoinError) -> Error {
    if error.is_cancelled() { Error::Cancelled } else { Error::Internal(error.to_string()) }
}

fn seconds<R>(start: Instant, parts: &[Finished<R>]) -> f64 {
    let last = parts.iter().filter_map(|part| part.last_answer).max();
    last.map_or(0.0, |last| last.saturating_duration_since(start).as_secs_f64())
}

fn merged<'a>(histograms: impl Iterator<Item = &'a LatencyHistogram>) -> LatencyHistogram {
    histograms.fold(LatencyHistogram::new(), |mut sum, histogram| {
        sum.merge(histogram);
        sum
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
    }

    fn run<R: Requester>(requesters: Vec<R>, load: &Load) -> Result<(Vec<R>, LoadOutcome)> {
        runtime().block_on(run_load(requesters, load, &CancelToken::default()))
    }

    /// A requester that records the indices of its requests.
    #[derive(Default)]
    struct Noting(Vec<u64>);

    impl Requester for Noting {
        async fn request(&mut self, index: u64) -> Result<()> {
            tokio::task::yield_now().await;
            self.0.push(index);
            Ok(())
        }
    }

    /// A requester that answers the first request after `first`, the others at once.
    struct SlowFirst {
        first: Duration,
    }

    impl Requester for SlowFirst {
        async fn request(&mut self, index: u64) -> Result<()> {
            if index == 0 {
                tokio::time::sleep(self.first).await;
            }
            Ok(())
        }
    }

    #[test]
    fn each_requester_sends_its_own_requests_in_order() {
        for (count, requests, rate) in [(1, 5, None), (3, 10, None), (4, 2, None), (3, 10, Some(50_000.0))] {
            let load = Load { requests, rate, ..Load::default() };
            let requesters = (0..count).map(|_| Noting::default()).collect();
            let (requesters, outcome) = run(requesters, &load).unwrap();
            for (number, requester) in requesters.iter().enumerate() {
                let expected: Vec<u64> = (number as u64..requests).step_by(count).collect();
                assert_eq!(requester.0, expected, "requester {number} of {count}");
            }
            assert_eq!(outcome.latency.count(), requests);
            assert_eq!(outcome.behind.map(|behind| behind.count()), rate.map(|_| requests));
        }
    }

    #[test]
    fn requesters_can_be_used_again_and_no_requests_take_no_time() {
        let cancel = CancelToken::default();
        let runtime = runtime();
        let load = Load { requests: 3, ..Load::default() };
        let (again, _) = runtime.block_on(run_load(vec![Noting::default()], &load, &cancel)).unwrap();
        let (again, _) = runtime.block_on(run_load(again, &load, &cancel)).unwrap();
        assert_eq!(again[0].0, [0, 1, 2, 0, 1, 2]);
        let nothing = Load { rate: Some(10.0), ..Load::default() };
        let (_, outcome) = runtime.block_on(run_load(again, &nothing, &cancel)).unwrap();
        assert_eq!((outcome.latency.count(), outcome.seconds.to_bits()), (0, 0.0_f64.to_bits()));
    }

    #[test]
    fn a_closed_loop_waits_for_the_answer_and_an_open_loop_does_not() {
        let slow = || vec![SlowFirst { first: Duration::from_millis(60) }];
        let load = Load { requests: 20, ..Load::default() };
        let (_, closed) = run(slow(), &load).unwrap();
        assert!(closed.latency.max() >= 60_000_000 && closed.seconds >= 0.06);
        // Request i is due after i ms. Each waits for the first answer, for 60 ms less its own due time.
        let (_, open) = run(slow(), &Load { rate: Some(1000.0), ..load.clone() }).unwrap();
        assert!(open.latency.quantile(0.0) >= 40_000_000, "{}", open.latency.quantile(0.0));
    }

    #[test]
    fn a_load_with_a_duration_ends_after_it_or_with_its_last_request() {
        let duration = Some(Duration::from_millis(50));
        let load = Load { requests: u64::MAX, duration, ..Load::default() };
        let (_, closed) = run(vec![Noting::default(), Noting::default()], &load).unwrap();
        assert!(closed.latency.count() > 2 && closed.seconds >= 0.05, "{}", closed.seconds);
        let rate = Some(1000.0);
        let (_, open) = run(vec![Noting::default(), Noting::default()], &Load { rate, ..load.clone() }).unwrap();
        // How late the pacer is depends on the machine.
        assert!((1..=50).contains(&(open.latency.count() + open.unsent)));
        assert_eq!(open.behind.unwrap().count(), open.latency.count());
        // The first answer comes after the end.
        let slow = vec![SlowFirst { first: Duration::from_millis(250) }];
        let (_, slow) = run(slow, &Load { rate, ..load.clone() }).unwrap();
        assert!(slow.latency.count() == 1 && (1..=49).contains(&slow.unsent), "{slow:?}");
        let short = Load { requests: 7, duration: Some(Duration::MAX), ..Load::default() };
        assert_eq!(run(vec![Noting::default()], &short).unwrap().1.latency.count(), 7);
        let none = Load { duration: Some(Duration::ZERO), ..load };
        for load in [none.clone(), Load { rate, ..none }] {
            assert_eq!(run(vec![Noting::default()], &load).unwrap().1.latency.count(), 0);
        }
    }

    #[test]
    fn an_open_loop_keeps_its_rate() {
        let load = Load { requests: 51, rate: Some(1000.0), ..Load::default() };
        let (_, outcome) = run(vec![Noting::default(), Noting::default()], &load).unwrap();
        // The last request is due after 50 ms. How late it may be depends on the machine.
        assert!(outcome.seconds >= 0.05, "{}", outcome.seconds);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = run(vec![Noting::default()], &Load { rate: Some(rate), ..load.clone() }).err().unwrap();
            assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        }
        assert_eq!(run(Vec::<Noting>::new(), &load).err().unwrap().code(), "BB_INVALID_ARGUMENT");
    }

    /// A requester that fails, panics or waits for ever at its second request.
    enum Faulty {
        Failing,
        Panicking,
        Waiting,
    }

    impl Requester for Faulty {
        async fn request(&mut self, index: u64) -> Result<()> {
            match self {
                _ if index < 2 => {}
                Self::Failing => return Err(Error::Timeout("no answer".to_owned())),
                Self::Panicking => panic!("a defect"),
                Self::Waiting => std::future::pending().await,
            }
            Ok(())
        }
    }

    #[test]
    fn the_first_failure_ends_all() {
        for rate in [None, Some(1000.0)] {
            let load = Load { requests: 10, rate, ..Load::default() };
            let error = run(vec![Faulty::Waiting, Faulty::Failing], &load).err().unwrap();
            assert_eq!(error.code(), "BB_TIMEOUT");
            let error = run(vec![Faulty::Panicking, Faulty::Waiting], &load).err().unwrap();
            assert_eq!(error.code(), "BB_INTERNAL");
            assert!(error.to_string().contains("a defect"), "{error}");
        }
    }

    #[test]
    fn a_cancelled_load_ends_while_it_waits() {
        let runtime = runtime();
        // An open loop also waits for the due times of its requests.
        for rate in [None, Some(0.001)] {
            let load = Load { requests: 10, rate, ..Load::default() };
            let cancel = CancelToken::default();
            let theirs = cancel.clone();
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                theirs.cancel();
            });
            let error = runtime.block_on(run_load(vec![Faulty::Waiting], &load, &cancel)).err().unwrap();
            assert_eq!(error.code(), "BB_ABORTED");
            canceller.join().unwrap();
            let again = runtime.block_on(run_load(vec![Faulty::Waiting], &load, &cancel));
            assert_eq!(again.err().unwrap().code(), "BB_ABORTED");
        }
    }

    /// A requester of which every other request fails, and which notes that.
    #[derive(Default)]
    struct Tolerant(Vec<&'static str>);

    impl Requester for Tolerant {
        async fn request(&mut self, index: u64) -> Result<()> {
            if index.is_multiple_of(2) { Ok(()) } else { Err(Error::Timeout("no answer".to_owned())) }
        }

        async fn failed(&mut self, error: Error) -> Result<()> {
            self.0.push(error.code());
            Ok(())
        }
    }

    #[test]
    fn a_failure_that_is_noted_ends_nothing_and_has_no_latency() {
        for rate in [None, Some(10_000.0)] {
            let load = Load { requests: 10, rate, ..Load::default() };
            let (requesters, outcome) = run(vec![Tolerant::default()], &load).unwrap();
            assert_eq!(requesters[0].0, ["BB_TIMEOUT"; 5]);
            assert_eq!(outcome.latency.count(), 5);
        }
    }

    #[test]
    fn a_cancelled_load_with_a_duration_says_what_it_measured() {
        for rate in [None, Some(1000.0)] {
            let load = Load { requests: u64::MAX, duration: Some(Duration::from_secs(3600)), rate, ..Load::default() };
            let cancel = CancelToken::default();
            let theirs = cancel.clone();
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(20));
                theirs.cancel();
            });
            let (requesters, outcome) = runtime().block_on(run_load(vec![Noting::default()], &load, &cancel)).unwrap();
            canceller.join().unwrap();
            assert_eq!(requesters[0].0.len() as u64, outcome.latency.count());
            let (_, none) = runtime().block_on(run_load(requesters, &load, &cancel)).unwrap();
            assert_eq!(none.latency.count(), 0);
        }
    }

    /// A requester that counts its drop.
    struct Held(Arc<AtomicU64>);

    impl Requester for Held {
        async fn request(&mut self, _index: u64) -> Result<()> {
            std::future::pending().await
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Release);
        }
    }

    #[test]
    fn a_load_nobody_waits_for_any_more_drops_its_requesters() {
        let gone = Arc::new(AtomicU64::new(0));
        let runtime = runtime();
        let (load, cancel) = (Load { requests: 10, ..Load::default() }, CancelToken::default());
        runtime.block_on(async {
            let requesters = (0..3).map(|_| Held(Arc::clone(&gone))).collect();
            let waiting = tokio::time::timeout(Duration::from_millis(20), run_load(requesters, &load, &cancel));
            assert!(waiting.await.is_err());
        });
        drop(runtime);
        assert_eq!(gone.load(Ordering::Acquire), 3);
    }
}
