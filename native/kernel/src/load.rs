//! A load of many small requests over several connections, each with one request in flight.
//!
//! Thread `t` of `T` sends the requests `t`, `t + T`, `t + 2T`, ..., so that the requests of each connection are known
//! beforehand. In a *closed loop* a thread sends its next request when the last one is answered, and a latency counts
//! from there. In an *open loop* request `i` is due `i / rate` seconds after the start, whether the server keeps up or
//! not, and its latency counts from then: requests that wait behind a slow answer are not left out.
//!
//! The example `load_speed` measures what the loop itself costs a request. An open loop reports how late it sends: a thread of its
//! own tells when each request is due, and wakes the one that sends it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Barrier;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::cancel::CancelToken;
use crate::error::catch_panic;
use crate::latency::LatencyHistogram;
use crate::resources::{CpuTime, cpu_of_process, process_cpu};
use crate::{Error, Result};

/// The delay before the first request of an open loop, so that no thread is late for it.
const OPEN_LOOP_DELAY: Duration = Duration::from_millis(2);

/// A connection that sends one request after the other.
pub trait Requester: Send + 'static {
    /// Sends the request with this index and resolves once its answer is consumed.
    fn request(&mut self, index: u64) -> impl Future<Output = Result<()>> + Send;
}

/// The number of requests of a load, and their rate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Load {
    /// The number of requests of all threads together.
    pub requests: u64,
    /// The requests per second of all threads together, for an open loop; `None` for a closed one.
    pub rate: Option<f64>,
    /// The ids of the servers' processes, if they run on this machine: their CPU time is counted in total.
    pub server_processes: Vec<u32>,
}

impl Load {
    fn check(&self) -> Result<()> {
        match self.rate {
            Some(rate) if !(rate.is_finite() && rate > 0.0) => {
                Err(Error::InvalidArgument(format!("a rate must be above 0 requests a second, not {rate}")))
            }
            _ => Ok(()),
        }
    }
}

/// The outcome of a load.
#[derive(Debug, Clone)]
pub struct LoadOutcome {
    /// The seconds from the common start to the last answer consumed.
    pub seconds: f64,
    /// The latencies of all requests.
    pub latency: LatencyHistogram,
    /// For an open loop, how late requests were sent for reasons within this program, not because the answer before was
    /// late: the delay in noticing that they were due, and the delay in sending them then.
    pub behind: Option<LatencyHistogram>,
    /// The CPU time of this process during the load.
    pub cpu: Option<CpuTime>,
    /// The CPU time of the servers during the load, if their processes are known.
    pub server_cpu: Option<CpuTime>,
}

/// The measurements of one thread.
struct Thread<R> {
    number: usize,
    requester: R,
    /// The times of the thread's start and of its last answer; `None` for a thread of an open loop without requests.
    span: Option<(Instant, Instant)>,
    latency: LatencyHistogram,
    behind: Option<LatencyHistogram>,
}

/// Sends all requests, with one task for each requester on the current runtime, and returns the requesters in their
/// order. The first failure ends all tasks.
///
/// # Errors
/// [`Error::InvalidArgument`] without a requester or for an unusable rate, [`Error::Cancelled`], else the error of a
/// request; a panic becomes [`Error::Internal`]. The requesters are dropped then, and their connections with them.
pub async fn run_load<R: Requester>(
    requesters: Vec<R>,
    load: &Load,
    cancel: &CancelToken,
) -> Result<(Vec<R>, LoadOutcome)> {
    load.check()?;
    cancel.check()?;
    let threads = requesters.len();
    if threads == 0 {
        return Err(Error::InvalidArgument("a load needs a connection".to_owned()));
    }
    let (senders, mut receivers): (Vec<_>, Vec<_>) =
        load.rate.iter().flat_map(|_| (0..threads).map(|_| unbounded_channel())).unzip();
    receivers.reverse();
    let gate = Arc::new(Barrier::new(threads + 1));
    let mut tasks = JoinSet::new();
    let mut handles = Vec::with_capacity(threads);
    for (number, requester) in requesters.into_iter().enumerate() {
        let share = Share { number, threads, requests: load.requests };
        let (gate, due) = (Arc::clone(&gate), receivers.pop());
        handles.push(tasks.spawn(quietly(async move {
            gate.wait().await;
            match due {
                None => closed_loop(requester, share).await,
                Some(due) => open_loop(requester, share, due).await,
            }
        })));
    }
    let _guard = cancel.on_cancel(move || handles.iter().for_each(tokio::task::AbortHandle::abort));
    let server = || cpu_of_processes(&load.server_processes);
    let (cpu_before, server_before) = (process_cpu(), server());
    gate.wait().await;
    let pacer = load.rate.map(|rate| Pacer::start(rate, load.requests, senders)).transpose()?;
    let mut finished = Vec::with_capacity(threads);
    while let Some(ended) = tasks.join_next().await {
        finished.push(ended.map_err(|error| ending(&error))??);
    }
    let (cpu, server_cpu) = (process_cpu(), server());
    drop(pacer);
    finished.sort_unstable_by_key(|thread| thread.number);
    let since = |before: Option<CpuTime>, after: Option<CpuTime>| Some(after? - before?);
    let outcome = LoadOutcome {
        seconds: seconds(&finished),
        latency: merged(finished.iter().map(|thread| &thread.latency)),
        behind: load.rate.map(|_| merged(finished.iter().filter_map(|thread| thread.behind.as_ref()))),
        cpu: since(cpu_before, cpu),
        server_cpu: since(server_before, server_cpu),
    };
    Ok((finished.into_iter().map(|thread| thread.requester).collect(), outcome))
}

/// The CPU time of all processes; `None` for an empty list, or if one of them can't be read.
fn cpu_of_processes(processes: &[u32]) -> Option<CpuTime> {
    let times = processes.iter().map(|process| cpu_of_process(*process)).collect::<Option<Vec<_>>>()?;
    times.into_iter().reduce(|sum, time| sum + time)
}

/// The requests of one thread.
#[derive(Clone, Copy)]
struct Share {
    number: usize,
    threads: usize,
    requests: u64,
}

impl Share {
    fn indices(self) -> impl Iterator<Item = u64> {
        (self.number as u64..self.requests).step_by(self.threads)
    }
}

async fn closed_loop<R: Requester>(mut requester: R, share: Share) -> Result<Thread<R>> {
    let mut latency = LatencyHistogram::new();
    let started = Instant::now();
    let mut sent = started;
    for index in share.indices() {
        requester.request(index).await?;
        let answered = Instant::now();
        latency.record(answered - sent);
        sent = answered;
    }
    Ok(Thread { number: share.number, requester, span: Some((started, sent)), latency, behind: None })
}

async fn open_loop<R: Requester>(mut requester: R, share: Share, mut due: UnboundedReceiver<Due>) -> Result<Thread<R>> {
    let (mut latency, mut behind) = (LatencyHistogram::new(), LatencyHistogram::new());
    let (mut started, mut answered) = (None, None);
    for index in share.indices() {
        let Due { intended, noticed } = due.recv().await.ok_or(Error::Closed("the open loop"))?;
        let ready = answered.map_or(noticed, |answered| noticed.max(answered));
        behind.record((noticed - intended) + Instant::now().saturating_duration_since(ready));
        requester.request(index).await?;
        let now = Instant::now();
        latency.record(now.saturating_duration_since(intended));
        started = started.or(Some(intended));
        answered = Some(now);
    }
    Ok(Thread { number: share.number, requester, span: started.zip(answered), latency, behind: Some(behind) })
}

/// A request that is due: its intended time, and the time at which the pacer noticed it.
struct Due {
    intended: Instant,
    noticed: Instant,
}

/// The thread that tells when the requests of an open loop are due: the timers of the runtime are only precise to the
/// millisecond.
struct Pacer {
    thread: std::thread::Thread,
    stopped: Arc<AtomicBool>,
}

impl Pacer {
    fn start(rate: f64, requests: u64, threads: Vec<UnboundedSender<Due>>) -> Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let ours = Arc::clone(&stopped);
        let pace = move || {
            crate::resources::sleep_precisely();
            let start = Instant::now() + OPEN_LOOP_DELAY;
            for (index, thread) in (0..requests).zip(threads.iter().cycle()) {
                let intended = intended(start, index, rate);
                let Some(noticed) = sleep_until(intended, &ours) else { return };
                // A thread that has failed receives no more.
                let _ = thread.send(Due { intended, noticed });
            }
        };
        let thread = std::thread::Builder::new().name("bb-pacer".to_owned()).spawn(pace);
        let thread = thread.map_err(|error| Error::Internal(format!("no thread for the open loop: {error}")))?;
        Ok(Self { thread: thread.thread().clone(), stopped })
    }
}

/// The time at which a request is due.
fn intended(start: Instant, index: u64, rate: f64) -> Instant {
    // A time beyond the range of the clock means practically never.
    let after = Duration::try_from_secs_f64(index as f64 / rate).unwrap_or(Duration::MAX);
    start.checked_add(after).unwrap_or(start + Duration::from_secs(u64::from(u32::MAX)))
}

/// Sleeps until a time, and returns the time at which that was noticed; `None` once it must stop.
fn sleep_until(time: Instant, stopped: &AtomicBool) -> Option<Instant> {
    loop {
        if stopped.load(Ordering::Acquire) {
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
        self.stopped.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Wraps a future so that its panics become errors.
async fn quietly<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| match catch_panic(|| Ok(work.as_mut().poll(context))) {
        Ok(polled) => polled,
        Err(error) => std::task::Poll::Ready(Err(error)),
    })
    .await
}

fn ending(error: &tokio::task::JoinError) -> Error {
    if error.is_cancelled() { Error::Cancelled } else { Error::Internal(error.to_string()) }
}

fn seconds<R>(threads: &[Thread<R>]) -> f64 {
    let spans = || threads.iter().filter_map(|thread| thread.span);
    let first = spans().map(|(started, _)| started).min();
    let last = spans().map(|(_, ended)| ended).max();
    first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64())
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
    fn each_thread_sends_its_own_requests_in_order() {
        for (threads, requests, rate) in [(1, 5, None), (3, 10, None), (4, 2, None), (3, 10, Some(50_000.0))] {
            let load = Load { requests, rate, ..Load::default() };
            let requesters = (0..threads).map(|_| Noting::default()).collect();
            let (requesters, outcome) = run(requesters, &load).unwrap();
            for (number, requester) in requesters.iter().enumerate() {
                let expected: Vec<u64> = (number as u64..requests).step_by(threads).collect();
                assert_eq!(requester.0, expected, "thread {number} of {threads}");
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
        assert!(closed.latency.max() >= 60_000 && closed.seconds >= 0.06);
        // Request i is due after i ms; each waits for the first answer, for 60 ms less its own due time.
        let (_, open) = run(slow(), &Load { rate: Some(1000.0), ..load.clone() }).unwrap();
        assert!(open.latency.quantile(0.0) >= 40_000, "{}", open.latency.quantile(0.0));
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
