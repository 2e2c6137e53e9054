//! Memory of input. One execution leaves it to the next: after the first execution none touches fresh memory, as on the other sides.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

use boundary_bench_engine::measurements::{Measurement, MeasurementColumns};
use boundary_bench_kernel::lock;

/// Memory of one kind that nobody uses.
pub(crate) struct Kept<T>(Mutex<Vec<T>>);

/// Rows that an execution inserts.
pub(crate) static ROWS: Kept<Vec<Measurement>> = Kept(Mutex::new(Vec::new()));

/// Columns that an execution inserts.
pub(crate) static COLUMNS: Kept<MeasurementColumns> = Kept(Mutex::new(Vec::new()));

/// Encoded pieces that an execution inserts.
#[cfg(feature = "all")]
pub(crate) static BYTES: Kept<Vec<u8>> = Kept(Mutex::new(Vec::new()));

impl<T: Default> Kept<T> {
    /// Takes memory that was put back, with what is in it, or new memory.
    pub(crate) fn take(&self) -> T {
        lock(&self.0).pop().unwrap_or_default()
    }

    /// Puts memory back for the next execution.
    pub(crate) fn put(&self, memory: T) {
        lock(&self.0).push(memory);
    }

    /// Takes memory that is put back when it is dropped.
    pub(crate) fn lend(&'static self) -> Lent<T> {
        Lent { memory: self.take(), kept: self }
    }
}

/// Memory that is put back when it is dropped.
pub(crate) struct Lent<T: Default + 'static> {
    memory: T,
    kept: &'static Kept<T>,
}

impl<T: Default> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.memory
    }
}

impl<T: Default> DerefMut for Lent<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.memory
    }
}

impl<T: Default> Drop for Lent<T> {
    fn drop(&mut self) {
        self.kept.put(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_one_execution_serves_the_next() {
        static KEPT: Kept<Vec<u8>> = Kept(Mutex::new(Vec::new()));
        let mut first = KEPT.lend();
        first.resize(1000, 1);
        let address = first.as_ptr();
        let second = KEPT.lend();
        assert_ne!(second.as_ptr(), address);
        drop(first);
        assert_eq!(KEPT.lend().as_ptr(), address);
    }
}
