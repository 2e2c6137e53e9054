//! Threads that take one sample after another: their stacks and the memory that they have freed stay warm, as they do for Node's
//! threads. A new thread for each sample would touch fresh memory each time.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use boundary_bench_kernel::error::{catch_panic, contained};
use boundary_bench_kernel::{Error, Result, lock};

/// Work. It returns the delivery of its result.
type Job = Box<dyn FnOnce() -> Delivery + Send>;
type Delivery = Box<dyn FnOnce()>;

/// The threads that wait for work. The last one that worked is the first to work again, so that work which comes piece by piece is
/// always done by one thread.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

/// A thread that waits for work. Dropped, it waits on.
pub struct WarmThread(Option<Sender<Job>>);

impl WarmThread {
    /// Takes the thread that has worked last and waits, or starts one.
    pub fn take() -> Result<Self> {
        let idle = lock(&IDLE).pop();
        if let Some(idle) = idle {
            return Ok(Self(Some(idle)));
        }
        let (sender, jobs) = channel();
        let own = sender.clone();
        let thread = std::thread::Builder::new().name("bb-suite".to_owned());
        let started = thread.spawn(move || work_on(&jobs, &own));
        started.map_err(|error| Error::Internal(format!("no thread for the suite: {error}")))?;
        Ok(Self(Some(sender)))
    }

    /// Runs work on the thread. Once the thread waits again, it calls `deliver` with the result. A panic of the work is
    /// [`Error::Internal`].
    pub fn run<T: 'static>(
        mut self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
        deliver: impl FnOnce(Result<T>) + Send + 'static,
    ) -> Result<()> {
        let job: Job = Box::new(move || {
            let result = catch_panic(work);
            Box::new(move || deliver(result))
        });
        let ended = || Error::Internal("the suite's thread ended early".to_owned());
        self.0.take().ok_or_else(ended)?.send(job).map_err(|_| ended())
    }
}

impl Drop for WarmThread {
    fn drop(&mut self) {
        lock(&IDLE).extend(self.0.take());
    }
}

/// The work of the thread, until the end of the process.
fn work_on(jobs: &Receiver<Job>, own: &Sender<Job>) {
    while let Ok(job) = jobs.recv() {
        let deliver = job();
        // The thread waits again before the result is there, so that who got it finds this thread.
        lock(&IDLE).push(own.clone());
        contained(deliver);
    }
}
