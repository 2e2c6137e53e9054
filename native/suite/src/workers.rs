//! Workers: the same work on several threads or tasks at once, under one clock.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use boundary_bench_engine::checksum::Checksum;
use boundary_bench_kernel::resources::{Stopwatch, Usage, process_usage};
use boundary_bench_kernel::used::{Reading, Used};
use boundary_bench_kernel::{Error, Result};
use tokio::runtime::Runtime;

use crate::sample::CellSample;
use crate::warm_thread::WarmThread;

/// The stopwatch of one worker, for wall time, CPU time and page faults.
pub(crate) struct Clock {
    started: Instant,
    before: Option<Usage>,
    watch: Stopwatch,
}

impl Clock {
    fn start() -> Self {
        let before = process_usage();
        Self { started: Instant::now(), before, watch: Stopwatch::start() }
    }

    /// Pauses the clock for untimed work. No `await` is allowed before [`Clock::resume`].
    pub(crate) fn pause(&mut self) {
        self.watch.pause();
    }

    pub(crate) fn resume(&mut self) {
        self.watch.resume();
    }

    /// Stops the clock and returns its times with the work's result.
    pub(crate) fn finish<T>(mut self, value: T) -> Finished<T> {
        self.watch.pause();
        Finished {
            value,
            started: self.started,
            elapsed: self.watch.elapsed(),
            before: self.before,
            after: process_usage(),
            paused: self.watch.paused(),
        }
    }
}

/// A worker's result with its times.
pub(crate) struct Finished<T> {
    pub(crate) value: T,
    started: Instant,
    elapsed: Duration,
    before: Option<Usage>,
    after: Option<Usage>,
    paused: Usage,
}

/// The workers of an execution, all of which have finished.
pub(crate) struct Workers<T> {
    finished: Vec<Finished<T>>,
    before: Reading,
    after: Reading,
}

impl<T> Workers<T> {
    /// The sample of the workers, with the checksum of their rows, and their results.
    pub(crate) fn sample(self, checksum: Checksum) -> (CellSample, Vec<T>) {
        let sample = CellSample::new(self.seconds(), self.used(), checksum);
        (sample, self.finished.into_iter().map(|worker| worker.value).collect())
    }

    /// The wall time of all workers in seconds: from the first start until the last end, without each worker's own pauses.
    fn seconds(&self) -> f64 {
        let first = self.finished.iter().map(|worker| worker.started).min();
        let ends = self.finished.iter().map(|worker| {
            let late = first.map_or(Duration::ZERO, |first| worker.started.duration_since(first));
            late + worker.elapsed
        });
        ends.max().unwrap_or_default().as_secs_f64()
    }

    /// The costs of the whole process in that time, engine threads included, without the workers' pauses.
    fn used(&self) -> Used {
        let threads = self.after.threads_since(&self.before, self.seconds());
        Used { threads, ..Used::of(self.usage()) }
    }

    fn usage(&self) -> Option<Usage> {
        let cpu = |usage: &Usage| usage.cpu.user + usage.cpu.system;
        let all = |of: fn(&Finished<T>) -> Option<Usage>| self.finished.iter().map(of).collect::<Option<Vec<_>>>();
        let before = all(|worker| worker.before)?.into_iter().min_by(|a, b| cpu(a).total_cmp(&cpu(b)))?;
        let after = all(|worker| worker.after)?.into_iter().max_by(|a, b| cpu(a).total_cmp(&cpu(b)))?;
        let paused = self.finished.iter().fold(Usage::default(), |sum, worker| sum + worker.paused);
        Some(after - before - paused)
    }
}

/// Runs the work of each part on a warm thread of its own, all started at once. The work of a single part runs on this thread.
pub(crate) fn on_threads<P: Send + 'static, T: Send + 'static>(
    parts: Vec<P>,
    work: impl Fn(P, Clock) -> Result<Finished<T>> + Send + Sync + 'static,
) -> Result<Workers<T>> {
    let before = Reading::before();
    let finished = if parts.len() == 1 {
        parts.into_iter().map(|part| work(part, Clock::start())).collect::<Result<_>>()?
    } else {
        at_once(parts, work)?
    };
    Ok(Workers { finished, before, after: Reading::after() })
}

/// Runs the work of each part on a thread, and returns the results in the order of the parts.
fn at_once<P: Send + 'static, T: Send + 'static>(
    parts: Vec<P>,
    work: impl Fn(P, Clock) -> Result<Finished<T>> + Send + Sync + 'static,
) -> Result<Vec<Finished<T>>> {
    // All threads are there before the first waits for the others.
    let threads = parts.iter().map(|_| WarmThread::take()).collect::<Result<Vec<_>>>()?;
    let (gate, work) = (Arc::new(Barrier::new(parts.len())), Arc::new(work));
    let (sender, finished) = channel();
    for ((number, part), thread) in parts.into_iter().enumerate().zip(threads) {
        let (gate, work, sender) = (Arc::clone(&gate), Arc::clone(&work), sender.clone());
        let work = move || {
            gate.wait();
            work(part, Clock::start())
        };
        thread.run(work, move |result| drop(sender.send((number, result))))?;
    }
    drop(sender);
    let mut finished: Vec<_> = finished.iter().collect();
    finished.sort_unstable_by_key(|(number, _)| *number);
    finished.into_iter().map(|(_, result)| result).collect()
}

/// Runs the work of each part as a task of its own, all started at once.
pub(crate) fn as_tasks<P, T, F>(
    parts: Vec<P>,
    work: impl Fn(P, Clock) -> F + Clone + Send + 'static,
) -> Result<Workers<T>>
where
    P: Send + 'static,
    T: Send + 'static,
    F: Future<Output = Result<Finished<T>>> + Send,
{
    let runtime = runtime()?;
    let before = Reading::before();
    let gate = Arc::new(tokio::sync::Barrier::new(parts.len()));
    let tasks = parts.into_iter().map(|part| {
        let (gate, work) = (Arc::clone(&gate), work.clone());
        runtime.spawn(async move {
            gate.wait().await;
            work(part, Clock::start()).await
        })
    });
    let tasks = tasks.collect::<Vec<_>>();
    runtime.block_on(async {
        let mut finished = Vec::with_capacity(tasks.len());
        for task in tasks {
            finished.push(task.await.map_err(|error| Error::Internal(error.to_string()))??);
        }
        Ok(Workers { finished, before, after: Reading::after() })
    })
}

/// The time for which an idle thread of blocking work is kept for the next execution. That one may have to wait for its turn.
const KEEP_ALIVE: Duration = Duration::from_secs(60 * 60);

/// The runtime of the async flavour, started once and kept warm.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let start = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder
            .thread_name("bb-native")
            .thread_keep_alive(KEEP_ALIVE)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|error| Error::Internal(format!("no async runtime: {error}")))
}
