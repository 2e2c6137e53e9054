//! The costs of a timed span beside its time: CPU time, page faults, and the threads that worked.

use std::collections::HashMap;

use crate::resources::{CpuTime, Usage, process_cpu, process_usage};

/// The costs of a timed span. Figures that the platform does not provide are absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Used {
    /// The CPU time of the whole process.
    pub cpu: Option<CpuTime>,
    /// The minor page faults of the whole process.
    pub minor_faults: Option<u64>,
    /// The number of threads that worked, that is, ran for a share of the span ([`WORKING_SHARE`]). `None` for a span that is too short
    /// to tell.
    pub threads: Option<u32>,
}

impl Used {
    /// The costs that the kernel counts, of a span whose threads are not counted.
    pub fn of(usage: Option<Usage>) -> Self {
        Self { cpu: usage.map(|usage| usage.cpu), minor_faults: usage.map(|usage| usage.minor_faults), threads: None }
    }
}

/// The share of a span that a thread has run for, if it counts as one that worked. `src/families/working-threads.ts` has the same.
pub const WORKING_SHARE: f64 = 0.05;

/// The length of a span in seconds below which threads are not counted. The kernel brings the account of a running thread up to date
/// only at each tick of its scheduler.
const SHORTEST_SECONDS: f64 = 0.02;

/// The most seconds by which the accounts of running threads lag behind the account of the process.
const LAG_SECONDS: f64 = 0.01;

/// The costs of this process until a time.
#[derive(Debug)]
pub struct Reading {
    usage: Option<Usage>,
    threads: Option<ThreadTimes>,
}

impl Reading {
    /// The costs until now, for a span that begins after the call. The cost of the reading is not in the span.
    pub fn before() -> Self {
        let threads = ThreadTimes::read();
        Self { usage: process_usage(), threads }
    }

    /// The costs until now, for a span that has ended before the call. The cost of the reading is not in the span.
    pub fn after() -> Self {
        let usage = process_usage();
        Self { usage, threads: ThreadTimes::read() }
    }

    /// The costs of the span since another reading. The span took `seconds` seconds.
    pub fn since(&self, before: &Self, seconds: f64) -> Used {
        let usage = self.usage.zip(before.usage).map(|(after, before)| after - before);
        Used { threads: self.threads_since(before, seconds), ..Used::of(usage) }
    }

    /// The number of threads that worked since another reading, during a span of `seconds` seconds, or `None` for a span that is too
    /// short to tell.
    pub fn threads_since(&self, before: &Self, seconds: f64) -> Option<u32> {
        self.threads.as_ref()?.working_since(before.threads.as_ref()?, seconds)
    }
}

/// The CPU time of each thread of this process since its start, in seconds, and the CPU time of all threads that there ever were.
#[derive(Debug, Clone, Default)]
struct ThreadTimes {
    process: f64,
    threads: HashMap<u32, f64>,
}

impl ThreadTimes {
    /// Reads the times. Returns `None` if the platform does not provide them.
    fn read() -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let entries = std::fs::read_dir("/proc/self/task").ok()?;
        // A thread that ends meanwhile has no times to read.
        let times = entries.filter_map(|entry| {
            let path = entry.ok()?.path();
            let thread = path.file_name()?.to_str()?.parse().ok()?;
            let times = std::fs::read_to_string(path.join("schedstat")).ok()?;
            Some((thread, times.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9))
        });
        let threads: HashMap<u32, f64> = times.collect();
        let process = process_cpu()?;
        (!threads.is_empty()).then_some(Self { process: process.user + process.system, threads })
    }

    /// The number of threads that ran for [`WORKING_SHARE`] of a span at least. Threads that have ended since `before` count as one,
    /// if all of them together did.
    fn working_since(&self, before: &Self, seconds: f64) -> Option<u32> {
        if seconds < SHORTEST_SECONDS {
            return None;
        }
        let least = seconds * WORKING_SHARE;
        let ran = |(thread, after): (&u32, &f64)| after - before.threads.get(thread).unwrap_or(&0.0);
        let alive = self.threads.iter().map(ran).filter(|ran| *ran >= least).count();
        let all_alive: f64 = self.threads.iter().map(ran).sum();
        let ended = self.process - before.process - all_alive;
        let working = alive + usize::from(ended >= least.max(LAG_SECONDS));
        u32::try_from(working).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times<const N: usize>(process: f64, threads: [(u32, f64); N]) -> ThreadTimes {
        ThreadTimes { process, threads: threads.into() }
    }

    #[test]
    fn threads_that_ran_for_a_share_of_the_span_count() {
        let before = times(10.0, [(1, 5.0), (2, 1.0), (3, 4.0)]);
        let since = |process: f64, threads: [(u32, f64); 4]| times(process, threads).working_since(&before, 1.0);
        // One thread worked, another one almost not, the third not at all. The fourth is new.
        assert_eq!(since(11.03, [(1, 6.0), (2, 1.03), (3, 4.0), (4, 0.0)]), Some(1));
        assert_eq!(since(12.0, [(1, 5.5), (2, 1.9), (3, 4.0), (4, 0.6)]), Some(3));
        // A thread came and went.
        assert_eq!(since(12.0, [(1, 6.0), (2, 1.0), (3, 4.0), (4, 0.0)]), Some(2));
        // The accounts of running threads lag.
        assert_eq!(since(11.049, [(1, 6.0), (2, 1.0), (3, 4.0), (4, 0.0)]), Some(1));
        assert_eq!(times(12.0, [(1, 6.0)]).working_since(&before, 0.001), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_work_are_counted_and_those_that_wait_are_not() {
        use std::time::{Duration, Instant};

        let spin = || {
            let until = process_cpu().unwrap();
            let until = until.user + until.system + 0.1;
            let end = Instant::now() + Duration::from_secs(5);
            while process_cpu().is_some_and(|cpu| cpu.user + cpu.system < until) && Instant::now() < end {
                std::hint::spin_loop();
            }
        };
        let before = Reading::before();
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| std::thread::sleep(Duration::from_millis(50)));
            scope.spawn(spin);
        });
        let seconds = start.elapsed().as_secs_f64();
        let used = Reading::after().since(&before, seconds.min(1.0));
        // Other tests of this program may run at the same time.
        assert!(used.threads.is_some_and(|threads| threads >= 1), "{used:?}");
        assert!(used.cpu.is_some_and(|cpu| cpu.user + cpu.system >= 0.09), "{used:?}");
    }
}
