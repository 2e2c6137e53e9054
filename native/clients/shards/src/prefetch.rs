//! Prefetching of memory that will be read, so that several cache misses overlap.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the memory of a value. Does nothing on processors other than x86-64.
#[inline]
pub(crate) fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let (start, bytes) = (std::ptr::from_ref(value).cast::<i8>(), size_of_val(value));
        for line in (0..bytes).step_by(LINE).chain(bytes.checked_sub(1)) {
            // SAFETY: a hint. It reads nothing that the program could see, and the place is within the value.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(line)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (value, LINE);
}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn values_of_any_size_can_be_asked_for() {
        prefetch(&[0_u8; 0]);
        prefetch(&());
        prefetch(&7_u64);
        (0..300).for_each(|bytes| prefetch(vec![0_u8; bytes].as_slice()));
    }
}
