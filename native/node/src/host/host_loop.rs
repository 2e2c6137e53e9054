//! The event loop that drives the sockets and futures of one of the runtime's threads. It is libuv's in Node, and one of our own if the
//! runtime does not share its loop. `BOUNDARY_BENCH_EVENT_LOOP=threads` asks for our own in Node too.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use boundary_bench_event_loop::{EventLoop, LibuvLoop, PolledLoop, exports_libuv};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::error::contained;
use napi::bindgen_prelude::JsValue;
use napi::{Env, sys};

use crate::host::errors::{invalid, js};
use crate::host::runtime::is_bun;

/// The environment variable that chooses the loop, read at its first use. Its only value is [`THREADS`].
const VARIABLE: &str = "BOUNDARY_BENCH_EVENT_LOOP";

/// The value of [`VARIABLE`] for a loop of our own, whose sockets a thread waits for.
const THREADS: &str = "threads";

thread_local! {
    /// The loop of our own that this thread has, made at its first use, and what asks for its turns.
    static POLLED: RefCell<Option<(Rc<PolledLoop>, Arc<Turns>)>> = const { RefCell::new(None) };
}

/// The event loop of the calling thread.
pub fn of_thread(env: Env) -> napi::Result<EventLoop> {
    if !shares_libuv(env)? {
        return polled_loop(env).map(EventLoop::Polled);
    }
    let mut uv_loop = ptr::null_mut();
    // SAFETY: the environment belongs to the call under way, and the out-pointer is valid.
    let status = unsafe { sys::napi_get_uv_event_loop(env.raw(), &raw mut uv_loop) };
    if status != sys::Status::napi_ok {
        return Err(js(Error::Unsupported("this thread has no event loop of libuv".to_owned())));
    }
    // SAFETY: the loop is this thread's, as Node says. Node runs it until the handles of the thread are closed.
    Ok(EventLoop::Libuv(unsafe { LibuvLoop::new(uv_loop.cast()) }))
}

/// Whether the sockets of this process are driven by libuv's loop: the runtime shares it, and the user asks for no other.
fn shares_libuv(env: Env) -> napi::Result<bool> {
    static SHARED: OnceLock<bool> = OnceLock::new();
    if let Some(shared) = SHARED.get() {
        return Ok(*shared);
    }
    let wanted = std::env::var(VARIABLE).unwrap_or_default();
    let shared = match wanted.as_str() {
        "" => exports_libuv() && !is_bun(env)?,
        THREADS => false,
        _ => return Err(invalid(format!("{VARIABLE} is `{wanted}`; it must be `{THREADS}` or nothing"))),
    };
    Ok(*SHARED.get_or_init(|| shared))
}

/// The functions of Node-API that take a turn of a thread's loop, called from any thread.
///
/// There are two, since Node calls one again and again for as long as it is asked meanwhile, and nothing else of the thread runs. A
/// request during a turn goes to the other one. That one waits until the runtime comes to it.
struct Turns {
    functions: [sys::napi_threadsafe_function; 2],
    /// The number of turns so far.
    taken: AtomicUsize,
}

// SAFETY: functions of this kind may be called from any thread until they are released. `on_thread_end` does that last.
unsafe impl Send for Turns {}
// SAFETY: as above.
unsafe impl Sync for Turns {}

impl Turns {
    /// Makes the functions, which do not keep the process alive.
    fn new(env: Env) -> napi::Result<Self> {
        let functions = [turn_function(env)?, turn_function(env)?];
        Ok(Self { functions, taken: AtomicUsize::new(0) })
    }

    /// Asks for a turn, from any thread.
    fn ask(&self) {
        let function = self.functions[self.taken.load(Ordering::Relaxed) % 2];
        let nonblocking = sys::ThreadsafeFunctionCallMode::nonblocking;
        // SAFETY: the function is released after the loop has ended, and the loop calls this no more. An error means that the thread ends.
        unsafe { sys::napi_call_threadsafe_function(function, ptr::null_mut(), nonblocking) };
    }

    /// Sets whether the loop keeps the process alive.
    fn keep_alive(&self, env: sys::napi_env, keep: bool) {
        // SAFETY: this is the thread of the environment, and the function is not released.
        unsafe {
            if keep {
                sys::napi_ref_threadsafe_function(env, self.functions[0]);
            } else {
                sys::napi_unref_threadsafe_function(env, self.functions[0]);
            }
        }
    }
}

/// A function that takes a turn of this thread's loop, and does not keep the process alive.
fn turn_function(env: Env) -> napi::Result<sys::napi_threadsafe_function> {
    let name = env.create_string("boundary-bench")?;
    let mut function = ptr::null_mut();
    // SAFETY: the environment belongs to the call under way, and the out-pointer is valid. There is no function of JavaScript to call,
    // since `on_turn` is called in its place, and no limit to the waiting calls: there is one at most.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            env.raw(),
            ptr::null_mut(),
            ptr::null_mut(),
            name.raw(),
            0,
            1,
            ptr::null_mut(),
            None,
            ptr::null_mut(),
            Some(on_turn),
            &raw mut function,
        )
    };
    if status != sys::Status::napi_ok {
        return Err(js(Error::Unsupported("this runtime can't be called from other threads".to_owned())));
    }
    // SAFETY: this is the thread of the environment, and the function is new.
    unsafe { sys::napi_unref_threadsafe_function(env.raw(), function) };
    Ok(function)
}

/// The loop of our own of the calling thread, made at its first use.
fn polled_loop(env: Env) -> napi::Result<Rc<PolledLoop>> {
    let known = POLLED.with_borrow(Clone::clone);
    if let Some((known, _)) = known {
        return Ok(known);
    }
    let (turns, raw) = (Arc::new(Turns::new(env)?), env.raw());
    let (asked, kept) = (Arc::clone(&turns), Arc::clone(&turns));
    let made = PolledLoop::new(move || asked.ask(), move |keep| kept.keep_alive(raw, keep)).map_err(js)?;
    // SAFETY: the environment belongs to the call under way. Hooks run in the reverse order of their making, so this one runs after the
    // hooks of the objects that are attached to the loop.
    unsafe { sys::napi_add_env_cleanup_hook(raw, Some(on_thread_end), ptr::null_mut()) };
    POLLED.set(Some((Rc::clone(&made), turns)));
    Ok(made)
}

/// Takes a turn of this thread's loop. The environment is null once the thread ends.
unsafe extern "C" fn on_turn(env: sys::napi_env, _: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    contained(|| {
        let polled = POLLED.with_borrow(Clone::clone);
        if let Some((polled, turns)) = polled {
            turns.taken.fetch_add(1, Ordering::Relaxed);
            polled.turn();
        }
    });
}

/// Ends the loop of this thread, and releases the functions that take its turns.
unsafe extern "C" fn on_thread_end(_: *mut c_void) {
    contained(|| {
        let Some((polled, turns)) = POLLED.take() else { return };
        polled.end();
        for function in turns.functions {
            // SAFETY: no thread calls the function any more, since the loop has ended.
            unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::abort) };
        }
    });
}
