//! Workers: the same work on several threads or tasks at once, under one clock.

use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use boundary_bench_kernel::resources::{CpuTime, Stopwatch, process_cpu};
use boundary_bench_kernel::{Error, Result};
use tokio::runtime::Runtime;

/// The stopwatch of one worker, for wall time and CPU time.
pub(crate) struct Clock {
    started: Instant,
    cpu_before: Option<CpuTime>,
    watch: Stopwatch,
}

impl Clock {
    fn start() -> Self {
        let cpu_before = process_cpu();
        Self { started: Instant::now(), cpu_before, watch: Stopwatch::start() }
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
            cpu_before: self.cpu_before,
            cpu_after: process_cpu(),
            paused_cpu: self.watch.paused_cpu(),
        }
    }
}

/// A worker's result with its times.
pub(crate) struct Finished<T> {
    pub(crate) value: T,
    started: Instant,
    elapsed: Duration,
    cpu_before: Option<CpuTime>,
    cpu_after: Option<CpuTime>,
    paused_cpu: CpuTime,
}

/// The wall time of all workers in seconds: from the first start until the last end, without each worker's own pauses.
pub(crate) fn seconds<T>(workers: &[Finished<T>]) -> f64 {
    let first = workers.iter().map(|worker| worker.started).min();
    let ends = workers.iter().map(|worker| {
        let late = first.map_or(Duration::ZERO, |first| worker.started.duration_since(first));
        late + worker.elapsed
    });
    ends.max().unwrap_or_default().as_secs_f64()
}

/// The CPU time of the whole process in that time, engine threads included, without the workers' pauses.
pub(crate) fn cpu<T>(workers: &[Finished<T>]) -> Option<CpuTime> {
    let total = |cpu: &CpuTime| cpu.user + cpu.system;
    let before = workers.iter().map(|worker| worker.cpu_before).collect::<Option<Vec<_>>>()?;
    let after = workers.iter().map(|worker| worker.cpu_after).collect::<Option<Vec<_>>>()?;
    let before = before.into_iter().min_by(|a, b| total(a).total_cmp(&total(b)))?;
    let after = after.into_iter().max_by(|a, b| total(a).total_cmp(&total(b)))?;
    let paused = workers.iter().fold(CpuTime::default(), |sum, worker| sum + worker.paused_cpu);
    Some(after - before - paused)
}

/// Runs the work of each part on a thread of its own, all started at once; the work of a single part runs on this thread.
pub(crate) fn on_threads<P: Send, T: Send>(
    parts: Vec<P>,
    work: impl Fn(P, Clock) -> Result<Finished<T>> + Sync,
) -> Result<Vec<Finished<T>>> {
    if parts.len() == 1 {
        return parts.into_iter().map(|part| work(part, Clock::start())).collect();
    }
    let gate = Barrier::new(parts.len());
    let (gate, work) = (&gate, &work);
    std::thread::scope(|scope| {
        let threads = parts.into_iter().map(|part| {
            scope.spawn(move || {
                gate.wait();
                work(part, Clock::start())
            })
        });
        // Collected, so that all threads are spawned before the first is joined.
        let threads = threads.collect::<Vec<_>>();
        let panicked = |_| Err(Error::Internal("a worker panicked".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    })
}

/// Runs the work of each part as a task of its own, all started at once.
pub(crate) fn as_tasks<P, T, F>(
    parts: Vec<P>,
    work: impl Fn(P, Clock) -> F + Clone + Send + 'static,
) -> Result<Vec<Finished<T>>>
where
    P: Send + 'static,
    T: Send + 'static,
    F: Future<Output = Result<Finished<T>>> + Send,
{
    let runtime = runtime()?;
    let gate = std::sync::Arc::new(tokio::sync::Barrier::new(parts.len()));
    let tasks = parts.into_iter().map(|part| {
        let (gate, work) = (std::sync::Arc::clone(&gate), work.clone());
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
        Ok(finished)
    })
}

/// The runtime of the async flavour, started once and kept warm.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, String>> = OnceLock::new();
    let start = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.thread_name("bb-native").enable_all().build().map_err(|error| error.to_string())
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|error| Error::Internal(format!("no async runtime: {error}")))
}
