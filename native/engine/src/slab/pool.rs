//! Unused memory, kept for the next user. Memory that is unused for a while is offered to the kernel. The kernel takes it only when
//! memory is short. Until then, its pages stay warm for the next user.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;

use boundary_bench_kernel::lock;

/// The size of a huge page, in bytes. Slabs are aligned to it from this size on, and smaller ones are not worth an offer.
pub(super) const HUGE_PAGE: usize = 2 << 20;

/// The most unused memory that the pool keeps, in bytes. Some 15 million rows of four columns take this much. Memory above it
/// returns to the kernel, and then costs its page faults again.
const RETAINED_LIMIT: usize = 512 << 20;

/// Memory that lies in the pool for longer than this, and at most twice as long, is offered to the kernel.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

pub(super) static POOL: Mutex<Pool> = Mutex::new(Pool {
    by_capacity: BTreeMap::new(),
    reservations: Idle { entries: Vec::new(), untouched: 0, offered: 0 },
    retained: 0,
    is_swept: false,
});

/// Memory of a slab without an owner.
pub(super) struct Recycled(pub(super) NonNull<u8>);

// SAFETY: the pool owns the memory alone.
unsafe impl Send for Recycled {}

/// Reserved address space without an owner: an empty vector, and the number of its bytes that were ever filled.
pub(super) struct Reservation {
    pub(super) bytes: Vec<u8>,
    pub(super) touched: usize,
}

pub(super) struct Pool {
    /// The memory of slabs by its size class, in bytes.
    by_capacity: BTreeMap<usize, Idle<Recycled>>,
    reservations: Idle<Reservation>,
    /// The bytes of slabs and reservations in the pool that the kernel backs by pages.
    retained: usize,
    /// Whether a thread sweeps the pool.
    is_swept: bool,
}

impl Pool {
    pub(super) fn take(&mut self, capacity: usize) -> Option<Recycled> {
        let memory = self.by_capacity.get_mut(&capacity)?.pop()?;
        self.retained -= capacity;
        Some(memory)
    }

    /// Keeps the memory, or returns it when the pool is full.
    pub(super) fn put(&mut self, memory: Recycled, capacity: usize) -> Option<Recycled> {
        if self.retained + capacity > RETAINED_LIMIT {
            return Some(memory);
        }
        self.retained += capacity;
        self.by_capacity.entry(capacity).or_default().entries.push(memory);
        if capacity >= HUGE_PAGE {
            self.sweep_later();
        }
        None
    }

    pub(super) fn take_reservation(&mut self) -> Option<Reservation> {
        let reservation = self.reservations.pop()?;
        self.retained -= reservation.touched;
        Some(reservation)
    }

    /// Keeps the reservation, or returns it when the pool is full.
    pub(super) fn put_reservation(&mut self, reservation: Reservation) -> Option<Reservation> {
        if self.retained + reservation.touched > RETAINED_LIMIT {
            return Some(reservation);
        }
        self.retained += reservation.touched;
        self.reservations.entries.push(reservation);
        self.sweep_later();
        None
    }

    /// Starts the thread that sweeps the pool, unless there is one. It ends when everything is offered, so that an idle process has no
    /// thread that wakes. If no thread can be started, the memory is kept.
    fn sweep_later(&mut self) {
        if cfg!(target_os = "linux") && !self.is_swept {
            let thread = std::thread::Builder::new().name("bb-memory".to_owned());
            self.is_swept = thread.spawn(sweep_until_all_is_offered).is_ok();
        }
    }

    /// Offers the memory to the kernel that nobody has taken since the last sweep. Returns whether some is left to offer.
    fn sweep(&mut self) -> bool {
        let mut is_left = self.reservations.sweep(|Reservation { bytes, touched }| {
            offer(bytes.as_ptr().cast_mut(), *touched);
        });
        for (&capacity, idle) in self.by_capacity.range_mut(HUGE_PAGE..) {
            is_left |= idle.sweep(|memory| offer(memory.0.as_ptr(), capacity));
        }
        is_left
    }
}

fn sweep_until_all_is_offered() {
    loop {
        std::thread::sleep(SWEEP_EVERY);
        let mut pool = lock(&POOL);
        if !pool.sweep() {
            pool.is_swept = false;
            return;
        }
    }
}

/// Memory of one kind, of which the last that was put is the first that is taken: what is at the bottom is idle longest.
struct Idle<T> {
    entries: Vec<T>,
    /// The number of entries at the bottom that nobody has taken since the last sweep.
    untouched: usize,
    /// The number of entries at the bottom that the kernel may take.
    offered: usize,
}

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), untouched: 0, offered: 0 }
    }
}

impl<T> Idle<T> {
    fn pop(&mut self) -> Option<T> {
        let entry = self.entries.pop()?;
        self.untouched = self.untouched.min(self.entries.len());
        self.offered = self.offered.min(self.entries.len());
        Some(entry)
    }

    /// Offers what nobody has taken since the last sweep. Returns whether some is left to offer.
    fn sweep(&mut self, offer: impl Fn(&T)) -> bool {
        self.entries[self.offered..self.untouched].iter().for_each(offer);
        self.offered = self.untouched;
        self.untouched = self.entries.len();
        self.offered < self.untouched
    }
}

/// Asks the kernel to back by huge pages the memory that is not backed yet. Changes no contents, and may do nothing.
pub(super) fn ask_for_huge_pages(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    {
        /// The largest page size of Linux, a multiple of all others. The advice must begin at a page.
        const LARGEST_PAGE: usize = 64 << 10;
        let skipped = start.align_offset(LARGEST_PAGE);
        if skipped < length {
            // SAFETY: the range lies in memory that the caller owns. Advice that the kernel refuses changes nothing.
            unsafe { libc::madvise(start.add(skipped).cast(), length - skipped, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

/// Allows the kernel to take the whole huge pages of unused memory when it is short of some, until they are written again. Their contents
/// are unspecified from here on.
fn offer(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    {
        let skipped = start.align_offset(HUGE_PAGE);
        let length = length.saturating_sub(skipped) / HUGE_PAGE * HUGE_PAGE;
        if length > 0 {
            // SAFETY: the pool owns the memory alone, and gives no word on its contents: who takes it next writes before reading.
            unsafe { libc::madvise(start.add(skipped).cast(), length, libc::MADV_FREE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_took_since_the_last_sweep_is_offered() {
        let offered = std::cell::RefCell::new(Vec::new());
        let mut idle = Idle::default();
        let sweep = |idle: &mut Idle<i32>| {
            let is_left = idle.sweep(|entry| offered.borrow_mut().push(*entry));
            (std::mem::take(&mut *offered.borrow_mut()), is_left)
        };
        idle.entries.extend([1, 2, 3]);
        assert_eq!(sweep(&mut idle), (vec![], true));
        assert_eq!(idle.pop(), Some(3));
        idle.entries.push(4);
        assert_eq!(sweep(&mut idle), (vec![1, 2], true));
        assert_eq!(sweep(&mut idle), (vec![4], false));
        assert_eq!(sweep(&mut idle), (vec![], false));
        // An entry that was offered, taken and put again is offered again.
        assert_eq!((idle.pop(), idle.pop()), (Some(4), Some(2)));
        idle.entries.push(2);
        assert_eq!(sweep(&mut idle), (vec![], true));
        assert_eq!(sweep(&mut idle), (vec![2], false));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_offered_can_be_taken_by_the_kernel_and_be_used_again() {
        let mut bytes = vec![1_u8; 4 * HUGE_PAGE];
        let before = offered_bytes();
        offer(bytes.as_mut_ptr(), bytes.len());
        assert!(offered_bytes() >= before + 2 * HUGE_PAGE, "{} after {before}", offered_bytes());
        bytes.fill(2);
        assert!(bytes.iter().all(|byte| *byte == 2));
        // Parts of huge pages stay as they are.
        offer(bytes.as_mut_ptr(), HUGE_PAGE - 1);
        assert!(bytes.iter().all(|byte| *byte == 2));
    }

    /// The bytes of this process that the kernel may take.
    #[cfg(target_os = "linux")]
    fn offered_bytes() -> usize {
        let kibibytes =
            |line: &str| line.strip_prefix("LazyFree:")?.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok();
        std::fs::read_to_string("/proc/self/smaps").unwrap().lines().filter_map(kibibytes).sum::<usize>() << 10
    }
}
