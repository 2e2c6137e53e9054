//! Locks whose data stay valid when a thread panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even after a panic under it. It is for data that no panic leaves half changed.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
