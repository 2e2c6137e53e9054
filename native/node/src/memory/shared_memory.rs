//! Buffers that small results share, one after the other in the same buffer: allocating a buffer for each result, and collecting
//! it, costs more than the rest of a crossing.

use std::ptr;

use napi::sys;

/// The size of a shared buffer in bytes, by which `src/library/crossing/result-frame.ts` knows it.
const SHARED_BYTES: usize = 64 << 10;

/// The largest result, in bytes, that is placed in a shared buffer. A result that JavaScript keeps alive keeps the whole buffer.
pub const SMALL_BYTES: usize = 8 << 10;

/// The current shared buffer. It is filled from the front, and no byte is written twice.
pub struct SharedMemory {
    buffer: sys::napi_ref,
    used: usize,
}

impl Default for SharedMemory {
    fn default() -> Self {
        Self { buffer: ptr::null_mut(), used: 0 }
    }
}

impl SharedMemory {
    /// Copies bytes behind those in the buffer, or into a new buffer if they do not fit. Returns the buffer and the offset of the
    /// bytes in it.
    ///
    /// # Safety
    /// `env` is the environment of this thread, and a scope of handles is open.
    pub unsafe fn place(&mut self, env: sys::napi_env, bytes: &[u8]) -> Option<(sys::napi_value, usize)> {
        let (mut data, mut length, mut buffer) = (ptr::null_mut(), 0, ptr::null_mut());
        // SAFETY: the caller's promise. JavaScript may have detached the buffer: then it is told to have no length.
        unsafe {
            if !self.buffer.is_null() {
                sys::napi_get_reference_value(env, self.buffer, &raw mut buffer);
                sys::napi_get_arraybuffer_info(env, buffer, &raw mut data, &raw mut length);
            }
            if buffer.is_null() || length < self.used + bytes.len() {
                self.release(env);
                let status = sys::napi_create_arraybuffer(env, SHARED_BYTES, &raw mut data, &raw mut buffer);
                if status != sys::Status::napi_ok {
                    return None;
                }
                sys::napi_create_reference(env, buffer, 1, &raw mut self.buffer);
                self.used = 0;
            }
        }
        let start = self.used;
        // SAFETY: the memory has room for these bytes from `start` on, as was just checked, and no JavaScript has run since.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>().add(start), bytes.len()) };
        // Typed arrays must start at a multiple of their element's width. That is at most 8 bytes.
        self.used += bytes.len().next_multiple_of(8);
        Some((buffer, start))
    }

    /// Releases the buffer. Does nothing the second time.
    ///
    /// # Safety
    /// `env` is the environment of this thread, and lives if there is memory.
    pub unsafe fn release(&mut self, env: sys::napi_env) {
        let buffer = std::mem::replace(&mut self.buffer, ptr::null_mut());
        if !buffer.is_null() {
            // SAFETY: the caller's promise.
            unsafe { sys::napi_delete_reference(env, buffer) };
        }
    }
}
