//! Clocks and resources: wall time, CPU time, page faults and peak memory of a sample.

use std::time::{Duration, Instant};

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuTime {
    /// The seconds spent in the program itself.
    pub user: f64,
    /// The seconds spent in the kernel on its behalf.
    pub system: f64,
}

impl std::ops::Add for CpuTime {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

impl std::ops::Sub for CpuTime {
    type Output = Self;

    /// The difference, at least zero: the kernel splits time between user and system by sampling, and corrects itself.
    fn sub(self, other: Self) -> Self {
        Self { user: (self.user - other.user).max(0.0), system: (self.system - other.system).max(0.0) }
    }
}

/// The costs of a process or a thread so far, as the kernel counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// The CPU time.
    pub cpu: CpuTime,
    /// The page faults that no disk was read for: the first touches of memory, most of them.
    pub minor_faults: u64,
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { cpu: self.cpu + other.cpu, minor_faults: self.minor_faults + other.minor_faults }
    }
}

impl std::ops::Sub for Usage {
    type Output = Self;

    /// The difference, at least zero.
    fn sub(self, other: Self) -> Self {
        Self { cpu: self.cpu - other.cpu, minor_faults: self.minor_faults.saturating_sub(other.minor_faults) }
    }
}

/// The costs of all threads of this process since its start, or `None` if the platform does not provide them.
pub fn process_usage() -> Option<Usage> {
    platform::process_usage()
}

/// The costs of the calling thread since its start, or `None` if the platform does not provide them.
pub fn thread_usage() -> Option<Usage> {
    platform::thread_usage()
}

/// The CPU time of all threads of this process since its start, or `None` if the platform does not provide it.
pub fn process_cpu() -> Option<CpuTime> {
    process_usage().map(|usage| usage.cpu)
}

/// The CPU time of the calling thread since its start, or `None` if the platform does not provide it.
pub fn thread_cpu() -> Option<CpuTime> {
    thread_usage().map(|usage| usage.cpu)
}

/// The CPU time of all threads of another process since its start, to the kernel's tick of 10 ms. `None` if there is no such
/// process or the platform does not provide it.
pub fn cpu_of_process(process_id: u32) -> Option<CpuTime> {
    let stat = std::fs::read_to_string(format!("/proc/{process_id}/stat")).ok()?;
    // The name of the program, in parentheses, may hold spaces and parentheses of its own.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).map(str::parse::<u32>);
    let mut seconds = || Some(f64::from(ticks.next()?.ok()?) / platform::ticks_per_second()?);
    Some(CpuTime { user: seconds()?, system: seconds()? })
}

/// Asks the kernel to end this thread's sleeps on time: by default they may end 50 µs late.
pub fn sleep_precisely() {
    platform::sleep_precisely();
}

/// Resets the peak of the resident set, so that [`peak_rss`] gives the peak from now on. `false` if the platform or its
/// permissions do not allow it.
pub fn reset_peak_rss() -> bool {
    cfg!(target_os = "linux") && std::fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// The largest resident set of this process, in bytes, since its start or the last [`reset_peak_rss`], or `None` if the
/// platform does not provide it.
pub fn peak_rss() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmHWM:")
}

/// The bytes of memory of the machine, or `None` if the platform does not provide them.
pub fn physical_memory() -> Option<u64> {
    proc_bytes("/proc/meminfo", "MemTotal:")
}

/// The bytes of memory of the machine that are available without swapping, or `None` if the platform does not provide them.
pub fn available_memory() -> Option<u64> {
    proc_bytes("/proc/meminfo", "MemAvailable:")
}

/// The bytes in the line `NAME: N kB` of a file of Linux, or `None` if there is no such file or line.
fn proc_bytes(path: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kibibytes * 1024)
}

/// A clock that can be paused for work that must not be timed. While paused it counts the costs of its own thread, since the costs of
/// other threads are measured for the whole process. A pause and its end must be called from one thread.
#[derive(Debug)]
pub struct Stopwatch {
    /// The total time of the running sections that have ended.
    elapsed: Duration,
    state: State,
    paused: Usage,
}

#[derive(Debug)]
enum State {
    Running(Instant),
    Paused(Option<Usage>),
}

impl Stopwatch {
    /// Starts a clock.
    pub fn start() -> Self {
        Self { elapsed: Duration::ZERO, state: State::Running(Instant::now()), paused: Usage::default() }
    }

    /// Pauses the clock. Does nothing if it is paused.
    pub fn pause(&mut self) {
        if let State::Running(since) = self.state {
            self.elapsed += since.elapsed();
            self.state = State::Paused(thread_usage());
        }
    }

    /// Resumes the clock. Does nothing if it runs.
    pub fn resume(&mut self) {
        if let State::Paused(usage) = self.state {
            if let (Some(before), Some(now)) = (usage, thread_usage()) {
                self.paused = self.paused + (now - before);
            }
            self.state = State::Running(Instant::now());
        }
    }

    /// The time that the clock ran.
    pub fn elapsed(&self) -> Duration {
        match self.state {
            State::Running(since) => self.elapsed + since.elapsed(),
            State::Paused(_) => self.elapsed,
        }
    }

    /// The costs of this thread in the pauses that have ended, or zero if the platform does not provide them.
    pub fn paused(&self) -> Usage {
        self.paused
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use super::{CpuTime, Usage};

    pub(super) fn process_usage() -> Option<Usage> {
        usage(libc::RUSAGE_SELF)
    }

    pub(super) fn thread_usage() -> Option<Usage> {
        thread_clock()?;
        usage(libc::RUSAGE_THREAD)
    }

    /// The CPU time of the calling thread since its start, in seconds. Reading this clock brings the kernel's account of the thread up
    /// to date. `getrusage` does not do that: there the time since the last tick of the scheduler is missing.
    pub(super) fn thread_clock() -> Option<f64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to memory of the right size and alignment.
        let read = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) } == 0;
        read.then_some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }

    pub(super) fn ticks_per_second() -> Option<f64> {
        // SAFETY: it reads a constant of the system.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        (ticks > 0).then_some(ticks as f64)
    }

    pub(super) fn sleep_precisely() {
        // SAFETY: it sets a number of the calling thread. If it is refused, sleeps stay as they are.
        let _ = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_usize) };
    }

    fn usage(who: libc::c_int) -> Option<Usage> {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the pointer is to memory of the right size and alignment.
        if unsafe { libc::getrusage(who, usage.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: getrusage succeeded, so it has filled the structure.
        let usage = unsafe { usage.assume_init() };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
        let cpu = CpuTime { user: seconds(usage.ru_utime), system: seconds(usage.ru_stime) };
        Some(Usage { cpu, minor_faults: u64::try_from(usage.ru_minflt).unwrap_or_default() })
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::Usage;

    pub(super) fn process_usage() -> Option<Usage> {
        None
    }

    pub(super) fn thread_usage() -> Option<Usage> {
        None
    }

    pub(super) fn ticks_per_second() -> Option<f64> {
        None
    }

    pub(super) fn sleep_precisely() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes until this thread has used this many seconds of CPU time, however slow the machine is.
    #[cfg(target_os = "linux")]
    fn burn(seconds: f64) {
        let total = |cpu: CpuTime| cpu.user + cpu.system;
        let until = total(thread_cpu().unwrap()) + seconds;
        while total(thread_cpu().unwrap()) < until {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_paused_clock_stands_still() {
        let mut clock = Stopwatch::start();
        clock.pause();
        let before = clock.elapsed();
        std::thread::sleep(Duration::from_millis(5));
        clock.pause();
        assert_eq!(clock.elapsed(), before);
        clock.resume();
        std::thread::sleep(Duration::from_millis(5));
        clock.resume();
        assert!(clock.elapsed() >= before + Duration::from_millis(5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_of_the_thread_is_part_of_the_process() {
        let (process, thread) = (process_cpu().unwrap(), thread_cpu().unwrap());
        std::thread::spawn(|| burn(0.05)).join().unwrap();
        let (process, thread) = (process_cpu().unwrap() - process, thread_cpu().unwrap() - thread);
        assert!(process.user + process.system >= 0.05);
        assert!(thread.user + thread.system < 0.05, "this thread only waited");
    }

    /// A reading that lags behind by a part of the scheduler's tick loses most of each short burst that follows a sleep.
    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_of_the_thread_has_no_lag() {
        let (mut read, mut used) = (0.0, 0.0);
        for _ in 0..100 {
            std::thread::sleep(Duration::from_micros(500));
            let (clock, before) = (platform::thread_clock().unwrap(), thread_cpu().unwrap());
            let end = Instant::now() + Duration::from_millis(1);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            let part = thread_cpu().unwrap() - before;
            read += part.user + part.system;
            used += platform::thread_clock().unwrap() - clock;
        }
        assert!(read > 0.9 * used, "{read} s were read of the {used} s that the thread ran");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn cpu_time_of_a_process_is_read_from_outside() {
        let own = cpu_of_process(std::process::id()).unwrap();
        burn(0.05);
        let used = cpu_of_process(std::process::id()).unwrap() - own;
        // The CPU time is read in ticks of 10 ms.
        assert!(used.user + used.system >= 0.03);
        assert_eq!(cpu_of_process(u32::MAX), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pauses_count_the_cpu_time_of_their_thread() {
        let mut clock = Stopwatch::start();
        burn(0.02);
        assert_eq!(clock.paused(), Usage::default());
        clock.pause();
        burn(0.02);
        clock.resume();
        let paused = clock.paused().cpu;
        // The kernel's corrections of the two parts are far below half of the total.
        assert!(paused.user + paused.system >= 0.01);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_first_touch_of_memory_is_a_page_fault() {
        const PAGES: usize = 512;
        let touch = |memory: &mut [u8]| memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let before = (process_usage().unwrap(), thread_usage().unwrap());
        // Below the size of a huge page, and above what malloc has at hand.
        let mut memory = vec![0_u8; PAGES * 4096 - 64];
        touch(std::hint::black_box(&mut memory));
        let since = (process_usage().unwrap() - before.0, thread_usage().unwrap() - before.1);
        assert!(since.0.minor_faults >= since.1.minor_faults && since.1.minor_faults > 0, "{since:?}");
        let before = thread_usage().unwrap();
        touch(std::hint::black_box(&mut memory));
        assert!((thread_usage().unwrap() - before).minor_faults < PAGES as u64 / 8);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn peak_memory_covers_what_was_touched() {
        let resettable = reset_peak_rss();
        let before = peak_rss().unwrap();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = peak_rss().unwrap();
        drop(memory);
        assert!(after >= 64 << 20);
        if resettable {
            assert!(after > before);
        }
    }
}
