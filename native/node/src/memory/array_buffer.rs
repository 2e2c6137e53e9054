//! Memory of Rust as an `ArrayBuffer`: in place, or as a copy.

use std::ptr;

use crate::host::errors::js;
use boundary_bench_engine::slab::{GrowingBytes, Slab};
use boundary_bench_kernel::Error;
use napi::sys;

/// Memory at a fixed place for as long as its owner lives.
///
/// # Safety
/// The memory of `parts` is initialised, stays where it is when the owner is moved, and is accessed by no other code
/// until the owner is dropped.
pub unsafe trait FixedMemory: 'static {
    /// The address of the memory, and its length in bytes.
    fn parts(&mut self) -> (*mut u8, usize);
}

// SAFETY: a slab owns its memory alone, and holds a pointer to it.
unsafe impl FixedMemory for Slab {
    fn parts(&mut self) -> (*mut u8, usize) {
        (self.as_ptr(), self.as_slice().len())
    }
}

// SAFETY: as for a slab.
unsafe impl FixedMemory for Vec<u8> {
    fn parts(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: as for a slab.
unsafe impl FixedMemory for GrowingBytes {
    fn parts(&mut self) -> (*mut u8, usize) {
        let bytes = self.as_mut_slice();
        (bytes.as_mut_ptr(), bytes.len())
    }
}

/// An `ArrayBuffer` with a copy of `bytes`.
///
/// # Safety
/// `env` is the environment of this thread, and a scope of handles is open.
pub unsafe fn copy_of(env: sys::napi_env, bytes: &[u8]) -> napi::Result<sys::napi_value> {
    let (mut data, mut buffer) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's environment. The memory that Node gives has the length asked for, and no other code sees it yet.
    // For a length of 0 Node gives no memory, and nothing is copied.
    unsafe {
        let status = sys::napi_create_arraybuffer(env, bytes.len(), &raw mut data, &raw mut buffer);
        if status != sys::Status::napi_ok {
            return Err(js(Error::Internal("there is no memory for a result".to_owned())));
        }
        if !bytes.is_empty() {
            ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
        }
    }
    Ok(buffer)
}
