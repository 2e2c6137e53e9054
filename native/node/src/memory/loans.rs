//! Loans: memory that Rust owns and JavaScript reads as an `ArrayBuffer`, and when Rust may use it again.
//!
//! Reused memory is warm: fresh memory costs a page fault for every 4 KiB. Memory may be reused only when nothing can read it,
//! and JavaScript has two ways to read memory after the buffer that it was lent as:
//!
//! - The backing store can move to another buffer (`transfer`, a stream of bytes), and with that buffer to another thread. The
//!   finalizer of an external buffer runs when the store is freed, on any thread. There is one exception: when the environment
//!   ends, Node runs all finalizers, also the finalizers of stores that other threads still hold.
//! - A request under way, such as `fs.write` or data queued in an HTTP/2 stream, reads by address. It keeps the view that it
//!   was given, and thereby the buffer, from being collected, but detaching the buffer takes the store away from it.
//!
//! So a loan ends when its store is gone and the buffer that we made of it is collected. The store of a buffer that is released
//! while attached is gone at once, since nobody else holds it. The loan then waits for the collection of the buffer. The bytes
//! of waiting loans are bounded, so that loans also end in a loop that never yields to the event loop. At the bound, the young
//! generation is collected. That takes a fraction of a millisecond.
//!
//! One hazard is left. Node does not guard against it for V8's own buffers either. A request that reads a buffer to which the
//! store was transferred reads freed memory once that buffer is detached and the store collected.
//!
//! When an environment ends, the memory of waiting loans, and of those whose buffer is still attached, may be reused: no
//! JavaScript runs any more, and the requests are over. Transferred stores are neither reused nor freed, since another thread may hold
//! them. Node detaches one buffer after the other, the newest first, and calls its finalizer then. So the buffer of the first finalizer
//! may have been attached or not. A large loan is therefore followed by a sentinel: a buffer without a loan, which is newer. Only a newest
//! loan of less than [`GUARDED_BYTES`] is leaked.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::c_void;
use std::ptr;

use crate::host::errors::js;
use crate::host::handle_scope::scoped;
use crate::host::runtime::finalizes_on_own_thread;
use boundary_bench_kernel::Error;
use boundary_bench_kernel::error::contained;
use napi::bindgen_prelude::Unknown;
use napi::{Env, JsValue, sys};

use crate::memory::array_buffer::{FixedMemory, copy_of};

/// The bytes of waiting loans, beyond those that survived the last collection, above which the young generation is collected. They
/// are enough that the collections take about a hundredth of the time in which JavaScript sums a result.
const MOST_WAITING_BYTES: usize = 32 << 20;

/// The bytes from which on a loan is followed by a sentinel. A sentinel costs about a microsecond, which does not show beside the making
/// of a longer one.
const GUARDED_BYTES: usize = 64 << 10;

/// The elements of one garbage array: large, but below the size at which V8 gives an array a page of its own.
const GARBAGE_ELEMENTS: usize = 15_000;

/// The most garbage arrays of one collection: more than fit into the largest young generation that Node has by default.
const MOST_GARBAGE: usize = 300;

thread_local! {
    /// The loans of this thread.
    static LOANS: RefCell<Loans> = RefCell::default();

    /// The JavaScript function that collects the young generation, or null if none is set.
    static COLLECTOR: Cell<sys::napi_ref> = const { Cell::new(ptr::null_mut()) };
}

#[derive(Default)]
struct Loans {
    /// The number of the newest loan.
    last: usize,
    by_number: HashMap<usize, Loan>,
    /// The numbers of the loans by the address of their memory.
    by_place: HashMap<usize, usize>,
    /// The numbers of the loans in [`State::Waiting`], the oldest first. It may hold numbers of loans that have ended.
    waiting: VecDeque<usize>,
    waiting_bytes: usize,
    /// The bytes of waiting loans that survived the last collection of the young generation. They are reported to V8 as external
    /// memory, for its collections of the old generation.
    outlived_bytes: usize,
    /// Whether this environment is about to end.
    is_ending: bool,
    has_hook: bool,
    /// The reference that keeps the newest sentinel from being collected.
    sentinel: Option<sys::napi_ref>,
}

/// Memory that is lent to JavaScript.
struct Loan {
    place: usize,
    bytes: usize,
    /// A weak reference to the `ArrayBuffer` that [`lend`] made.
    buffer: sys::napi_ref,
    owner: Box<dyn Any>,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// JavaScript may hold the store, on this thread or another one.
    Lent,
    /// The store is gone, but a request may still read by address until the buffer is collected.
    Waiting,
    /// The buffer still held its store when the environment began to end.
    Attached,
}

impl Loans {
    fn remove(&mut self, number: usize) -> Option<Loan> {
        let loan = self.by_number.remove(&number)?;
        self.by_place.remove(&loan.place);
        if loan.state == State::Waiting {
            self.waiting_bytes -= loan.bytes;
        }
        Some(loan)
    }

    /// Moves a loan whose store is gone to the waiting ones. Returns whether the waiting bytes are above their bound.
    fn wait(&mut self, number: usize) -> bool {
        if let Some(loan) = self.by_number.get_mut(&number)
            && loan.state == State::Lent
        {
            loan.state = State::Waiting;
            self.waiting_bytes += loan.bytes;
            self.waiting.push_back(number);
        }
        self.waiting_bytes > self.outlived_bytes + MOST_WAITING_BYTES
    }

    /// Removes and returns the waiting loans whose buffers are collected. Looks at all of them only if the oldest one's buffer is
    /// collected, or with `look_at_all`.
    ///
    /// # Safety
    /// `env` is the environment of this thread, and a scope of handles is open.
    unsafe fn collected(&mut self, env: sys::napi_env, look_at_all: bool) -> Vec<Loan> {
        // SAFETY: the caller's promise. The references belong to loans, and a loan deletes its references only when it ends.
        let is_collected = |loan: &Loan| unsafe { value_of(env, loan.buffer) }.is_null();
        let oldest = self.waiting.front().and_then(|number| self.by_number.get(number));
        // There is no oldest loan if the finalizer of its store has already ended it.
        if !look_at_all && oldest.is_some_and(|loan| !is_collected(loan)) {
            return Vec::new();
        }
        let (ended, waiting): (VecDeque<usize>, VecDeque<usize>) =
            self.waiting.drain(..).partition(|number| self.by_number.get(number).is_none_or(is_collected));
        self.waiting = waiting;
        ended.into_iter().filter_map(|number| self.remove(number)).collect()
    }
}

impl Drop for Loans {
    /// Leaks the memory of all loans: the thread has ended without Node's cleanup hook, so JavaScript may still read it.
    fn drop(&mut self) {
        self.by_number.drain().for_each(|(_, loan)| std::mem::forget(loan.owner));
    }
}

/// Hands memory to JavaScript as an `ArrayBuffer`, without a copy if the host allows that and ends loans on the thread that they were
/// made on.
///
/// # Safety
/// `env` is the environment of this thread, and a scope of handles is open.
pub unsafe fn lend(env: sys::napi_env, mut owner: impl FixedMemory) -> napi::Result<sys::napi_value> {
    // SAFETY: the caller's promise.
    unsafe { take_back(env, false) };
    let (place, bytes) = owner.parts();
    if !finalizes_on_own_thread(Env::from_raw(env)) {
        // SAFETY: the caller's promise. The memory is valid while its owner lives.
        return unsafe { copy_of(env, std::slice::from_raw_parts(place, bytes)) };
    }
    let number = LOANS.with_borrow_mut(|loans| {
        loans.last += 1;
        if !std::mem::replace(&mut loans.has_hook, true) {
            // SAFETY: the caller's environment calls the hook once. It is older than all loans, so that it is called after their
            // finalizers.
            unsafe { sys::napi_add_env_cleanup_hook(env, Some(on_environment_end), env.cast()) };
        }
        loans.last
    });
    let (mut buffer, mut reference) = (ptr::null_mut(), ptr::null_mut());
    // Node passes the hint to the finalizers. It is the loan's number, not a pointer.
    let hint = ptr::without_provenance_mut(number);
    // SAFETY: the caller's environment. The memory is valid until its owner is dropped, and nobody drops it before its loan has ended.
    unsafe {
        let finalizer = Some(on_store_gone as unsafe extern "C" fn(_, _, _));
        let status = sys::napi_create_external_arraybuffer(env, place.cast(), bytes, finalizer, hint, &raw mut buffer);
        if status == sys::Status::napi_no_external_buffers_allowed {
            return copy_of(env, std::slice::from_raw_parts(place, bytes));
        }
        if status != sys::Status::napi_ok {
            // Node may have made a buffer of the memory all the same.
            std::mem::forget(owner);
            return Err(js(Error::Internal("there is no memory for a result".to_owned())));
        }
        // If this fails, the reference stays null and the buffer counts as never collected.
        let finalizer = Some(on_buffer_collected as unsafe extern "C" fn(_, _, _));
        sys::napi_add_finalizer(env, buffer, hint, finalizer, ptr::null_mut(), &raw mut reference);
    }
    let place = place.addr();
    let loan = Loan { place, bytes, buffer: reference, owner: Box::new(owner), state: State::Lent };
    LOANS.with_borrow_mut(|loans| {
        loans.by_place.insert(place, number);
        loans.by_number.insert(number, loan);
    });
    if bytes >= GUARDED_BYTES {
        // SAFETY: the caller's promise.
        unsafe { add_sentinel(env) };
    }
    Ok(buffer)
}

/// Replaces the sentinel by a buffer that is newer than all loans. Node calls its finalizer first when the environment ends.
///
/// # Safety
/// `env` is the environment of this thread, and a scope of handles is open.
unsafe fn add_sentinel(env: sys::napi_env) {
    let memory = Box::into_raw(Box::new(0_u64)).cast::<c_void>();
    let (mut buffer, mut reference) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the caller's promise. Its finalizer frees the memory. If this fails, the memory is leaked, since Node may have made a buffer.
    unsafe {
        let finalizer = Some(on_sentinel_gone as unsafe extern "C" fn(_, _, _));
        let status = sys::napi_create_external_arraybuffer(env, memory, 8, finalizer, memory, &raw mut buffer);
        if status == sys::Status::napi_ok {
            sys::napi_create_reference(env, buffer, 1, &raw mut reference);
        }
    }
    let former = LOANS.with_borrow_mut(|loans| loans.sentinel.replace(reference));
    if let Some(former) = former.filter(|former| !former.is_null()) {
        // SAFETY: the reference is of this environment, and nobody else has it.
        unsafe { sys::napi_delete_reference(env, former) };
    }
}

/// The finalizer of a sentinel.
unsafe extern "C" fn on_sentinel_gone(env: sys::napi_env, _: *mut c_void, memory: *mut c_void) {
    contained(|| {
        // SAFETY: the memory comes from `add_sentinel`, and JavaScript has never seen the buffer. Node calls once.
        drop(unsafe { Box::from_raw(memory.cast::<u64>()) });
        if is_ending(env) {
            // SAFETY: the environment is this thread's.
            unsafe { note_attached(env) };
        }
    });
}

/// The value of a weak reference, or null if it is collected.
///
/// # Safety
/// `env` is the environment of this thread, a scope of handles is open, and the reference is one of it, or null.
unsafe fn value_of(env: sys::napi_env, reference: sys::napi_ref) -> sys::napi_value {
    let mut value = ptr::null_mut();
    if reference.is_null() {
        // Without a reference, the buffer must never count as collected: returns a value other than null.
        // SAFETY: the caller's promise.
        unsafe { sys::napi_get_undefined(env, &raw mut value) };
        return value;
    }
    // SAFETY: the caller's promise.
    unsafe { sys::napi_get_reference_value(env, reference, &raw mut value) };
    value
}

/// Ends the waiting loans whose buffers are collected.
///
/// # Safety
/// `env` is the environment of this thread.
unsafe fn take_back(env: sys::napi_env, look_at_all: bool) {
    let is_empty = LOANS.with_borrow(|loans| loans.waiting.is_empty());
    if is_empty {
        return;
    }
    // SAFETY: the caller's promise.
    let ended =
        scoped(Env::from_raw(env), || unsafe { LOANS.with_borrow_mut(|loans| loans.collected(env, look_at_all)) });
    for loan in ended {
        // SAFETY: the reference is the loan's, and the loan has ended.
        unsafe { sys::napi_delete_reference(env, loan.buffer) };
    }
    let outlived = LOANS.with_borrow(|loans| loans.outlived_bytes.min(loans.waiting_bytes));
    // SAFETY: the caller's promise.
    unsafe { tell_outlived(env, outlived) };
}

/// Reports to V8 the bytes that have survived a collection of the young generation, as a reason to collect the old one.
///
/// # Safety
/// `env` is the environment of this thread.
unsafe fn tell_outlived(env: sys::napi_env, bytes: usize) {
    let known = LOANS.with_borrow_mut(|loans| std::mem::replace(&mut loans.outlived_bytes, bytes));
    if bytes != known {
        let change = i64::try_from(bytes).unwrap_or(i64::MAX) - i64::try_from(known).unwrap_or(i64::MAX);
        let mut total = 0;
        // SAFETY: the caller's promise. It may collect garbage, whose finalizers come later.
        unsafe { sys::napi_adjust_external_memory(env, change, &raw mut total) };
    }
}

/// Sets the function that collects the young generation. Without one, or if it collects nothing, the young generation is
/// collected by making garbage. That takes much longer.
pub fn collect_by(env: Env, collector: &Unknown<'_>) -> napi::Result<()> {
    let mut reference = ptr::null_mut();
    // SAFETY: the environment and the handle belong to the call under way, and the out-pointer is valid.
    let status = unsafe { sys::napi_create_reference(env.raw(), collector.raw(), 1, &raw mut reference) };
    if status != sys::Status::napi_ok {
        return Err(js(Error::Internal("there is no memory for a reference".to_owned())));
    }
    let former = COLLECTOR.replace(reference);
    // SAFETY: as above. The former one was ours, and the hook's argument is not used.
    unsafe {
        if former.is_null() {
            sys::napi_add_env_cleanup_hook(env.raw(), Some(forget_collector), ptr::null_mut());
        } else {
            sys::napi_delete_reference(env.raw(), former);
        }
    }
    Ok(())
}

/// Forgets the collector: Node frees the reference with its environment.
unsafe extern "C" fn forget_collector(_: *mut c_void) {
    COLLECTOR.set(ptr::null_mut());
}

/// Calls the collector if one is set. An exception that it throws is dropped.
///
/// # Safety
/// `env` is the environment of this thread, and JavaScript may run.
unsafe fn call_collector(env: sys::napi_env) {
    let collector = COLLECTOR.get();
    if collector.is_null() {
        return;
    }
    scoped(Env::from_raw(env), || {
        let (mut receiver, mut result) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the caller's promise, a scope of handles is open, and the reference is of this environment.
        unsafe {
            sys::napi_get_undefined(env, &raw mut receiver);
            let function = value_of(env, collector);
            let status = sys::napi_call_function(env, receiver, function, 0, ptr::null(), &raw mut result);
            if status == sys::Status::napi_pending_exception {
                sys::napi_get_and_clear_last_exception(env, &raw mut result);
            }
        }
    });
}

/// Collects the young generation: by the collector, or else by garbage arrays, until a fresh object is collected.
///
/// # Safety
/// `env` is the environment of this thread.
unsafe fn collect_young(env: sys::napi_env) {
    let mut canary = ptr::null_mut();
    scoped(Env::from_raw(env), || {
        let mut object = ptr::null_mut();
        // SAFETY: the caller's promise, and a scope of handles is open.
        unsafe {
            if sys::napi_create_object(env, &raw mut object) == sys::Status::napi_ok {
                sys::napi_create_reference(env, object, 0, &raw mut canary);
            }
        }
    });
    if canary.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { call_collector(env) };
    for _ in 0..MOST_GARBAGE {
        let is_collected = scoped(Env::from_raw(env), || {
            let mut garbage = ptr::null_mut();
            // SAFETY: as above. The reference is the canary's.
            unsafe {
                let is_collected = value_of(env, canary).is_null();
                if !is_collected {
                    sys::napi_create_array_with_length(env, GARBAGE_ELEMENTS, &raw mut garbage);
                }
                is_collected
            }
        });
        if is_collected {
            break;
        }
    }
    // SAFETY: it is deleted once.
    unsafe { sys::napi_delete_reference(env, canary) };
}

/// The finalizer of a store. Node calls it when the store is freed, and in any case when the environment ends.
unsafe extern "C" fn on_store_gone(env: sys::napi_env, _: *mut c_void, number: *mut c_void) {
    contained(|| {
        let number = number.addr();
        if is_ending(env) {
            // SAFETY: the environment is this thread's.
            unsafe { note_attached(env) };
            return;
        }
        // SAFETY: as above, and a scope of handles is open.
        let ended = scoped(Env::from_raw(env), || {
            LOANS.with_borrow_mut(|loans| {
                let loan = loans.by_number.get(&number)?;
                // SAFETY: as above.
                if unsafe { value_of(env, loan.buffer) }.is_null() {
                    return loans.remove(number);
                }
                loans.wait(number);
                None
            })
        });
        if let Some(loan) = ended {
            // SAFETY: the reference is the loan's, and the loan has ended.
            unsafe { sys::napi_delete_reference(env, loan.buffer) };
        }
    });
}

/// The finalizer of a buffer. Node calls it in a later turn of the event loop.
unsafe extern "C" fn on_buffer_collected(env: sys::napi_env, _: *mut c_void, _: *mut c_void) {
    // SAFETY: the environment is this thread's.
    contained(|| unsafe { take_back(env, true) });
}

/// Whether the environment is ending: Node-API then refuses every call that could run JavaScript, such as looking up an element.
fn is_ending(env: sys::napi_env) -> bool {
    scoped(Env::from_raw(env), || {
        let (mut global, mut has_element) = (ptr::null_mut(), false);
        // SAFETY: the environment is this thread's, a scope of handles is open, and the out-pointers are valid.
        unsafe {
            sys::napi_get_global(env, &raw mut global);
            sys::napi_has_element(env, global, 0, &raw mut has_element) != sys::Status::napi_ok
        }
    })
}

/// At the end of an environment, marks the loans whose buffers still hold their stores: nothing can detach them any more. Does
/// nothing the second time, since from then on Node detaches one buffer after the other.
///
/// # Safety
/// `env` is the environment of this thread.
unsafe fn note_attached(env: sys::napi_env) {
    let is_first = LOANS.with_borrow_mut(|loans| !std::mem::replace(&mut loans.is_ending, true));
    if !is_first {
        return;
    }
    scoped(Env::from_raw(env), || {
        LOANS.with_borrow_mut(|loans| {
            for loan in loans.by_number.values_mut().filter(|loan| loan.state == State::Lent && !loan.buffer.is_null())
            {
                let mut is_detached = true;
                // SAFETY: the caller's promise. The reference is the loan's.
                unsafe {
                    let buffer = value_of(env, loan.buffer);
                    if !buffer.is_null() {
                        sys::napi_is_detached_arraybuffer(env, buffer, &raw mut is_detached);
                    }
                }
                if !is_detached {
                    loan.state = State::Attached;
                }
            }
        });
    });
}

/// The cleanup hook of the environment. Node calls it after the finalizers of all stores.
unsafe extern "C" fn on_environment_end(env: *mut c_void) {
    contained(|| {
        let mut loans = LOANS.take();
        for (_, loan) in loans.by_number.drain() {
            // SAFETY: the environment still is one, and the reference is the loan's.
            unsafe { sys::napi_delete_reference(env.cast(), loan.buffer) };
            match loan.state {
                // Another thread may hold the store: the memory is leaked.
                State::Lent => std::mem::forget(loan.owner),
                State::Waiting | State::Attached => drop(loan.owner),
            }
        }
    });
}

/// The number of the loan whose memory is at `place`, if `buffer` is the one that [`lend`] made of it.
pub fn loan_of(env: Env, buffer: &Unknown<'_>, place: *mut c_void) -> Option<usize> {
    LOANS.with_borrow(|loans| {
        let number = *loans.by_place.get(&place.addr())?;
        let loan = loans.by_number.get(&number)?;
        let mut is_ours = false;
        // SAFETY: the environment and the handle belong to the call under way. The reference is the loan's.
        unsafe {
            let ours = value_of(env.raw(), loan.buffer);
            if !ours.is_null() {
                sys::napi_strict_equals(env.raw(), ours, buffer.raw(), &raw mut is_ours);
            }
        }
        is_ours.then_some(number)
    })
}

/// Ends a loan whose attached buffer was just detached, as soon as nothing can read its memory any more.
pub fn release(env: Env, number: usize) {
    let is_much = LOANS.with_borrow_mut(|loans| loans.wait(number));
    // SAFETY: the environment belongs to the call under way.
    unsafe {
        if is_much {
            collect_young(env.raw());
            take_back(env.raw(), true);
            let outlived = LOANS.with_borrow(|loans| loans.waiting_bytes);
            tell_outlived(env.raw(), outlived);
        } else {
            take_back(env.raw(), false);
        }
    }
}

/// Ends a loan at once: its attached buffer was just detached, and nobody has ever had a view of it.
pub fn recycle(env: Env, number: usize) {
    let ended = LOANS.with_borrow_mut(|loans| loans.remove(number));
    if let Some(loan) = ended {
        // SAFETY: the reference is the loan's, and the loan has ended.
        unsafe { sys::napi_delete_reference(env.raw(), loan.buffer) };
    }
}
