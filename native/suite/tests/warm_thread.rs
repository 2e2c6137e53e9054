//! The threads of samples, in a process in which nothing else uses them.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread::{ThreadId, current};

use boundary_bench_kernel::{Result, lock};
use boundary_bench_suite::WarmThread;

/// The test that uses the threads: the process shares them.
static ALONE: Mutex<()> = Mutex::new(());

fn run<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let (sender, result) = channel();
    WarmThread::take()?.run(work, move |result| drop(sender.send(result)))?;
    result.recv().unwrap()
}

fn id() -> ThreadId {
    run(|| Ok(current().id())).unwrap()
}

#[test]
fn work_that_comes_piece_by_piece_is_done_by_one_thread_also_after_a_panic() {
    let _alone = lock(&ALONE);
    let first = id();
    assert_ne!(first, current().id());
    let panicked = run::<()>(|| panic!("a sample panics")).unwrap_err();
    assert_eq!(panicked.code(), "BB_INTERNAL");
    assert!(panicked.to_string().contains("a sample panics"), "{panicked}");
    assert!((0..100).all(|_| id() == first));
    // A thread that is taken and not used waits on.
    drop(WarmThread::take().unwrap());
    assert_eq!(id(), first);
}

#[test]
fn work_at_the_same_time_has_threads_of_its_own() {
    let _alone = lock(&ALONE);
    let inner = run(|| Ok((current().id(), id()))).unwrap();
    assert_ne!(inner.0, inner.1);
}

#[test]
fn a_delivery_that_panics_ends_no_thread() {
    let _alone = lock(&ALONE);
    let first = id();
    let (sender, delivered) = channel();
    let deliver = move |_| {
        sender.send(()).unwrap();
        panic!("a delivery panics");
    };
    WarmThread::take().unwrap().run(|| Ok(()), deliver).unwrap();
    delivered.recv().unwrap();
    assert_eq!(id(), first);
}

/// Memory that a sample has freed is there for the next sample, while a new thread takes fresh memory from the kernel.
#[cfg(target_os = "linux")]
#[test]
fn the_memory_that_a_sample_has_freed_is_warm_for_the_next_one() {
    use boundary_bench_kernel::resources::thread_usage;

    const PIECES: usize = 1000;
    let _alone = lock(&ALONE);
    let faults = || {
        run(|| {
            let before = thread_usage().unwrap();
            let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| vec![1; 64 << 10]).collect();
            drop(std::hint::black_box(pieces));
            Ok((thread_usage().unwrap() - before).minor_faults)
        })
        .unwrap()
    };
    let first = faults();
    let later = faults();
    assert!(first > PIECES as u64, "{first}");
    assert!(later < first, "{later} after {first}");
}
