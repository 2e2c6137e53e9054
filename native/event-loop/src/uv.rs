//! The part of libuv's event loop that we use ourselves: handles that watch sockets.
//!
//! Node exports libuv's functions, whose signatures have not changed since version 1.0. They are looked up at their first use:
//! a host without them can still load the addon, whose event loop is then a [`crate::PolledLoop`].

use std::ffi::{CStr, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::LazyLock;

use boundary_bench_kernel::error::contained;
use boundary_bench_kernel::{Error, Result};
#[cfg(unix)]
use libloading::os::unix::Library;
#[cfg(windows)]
use libloading::os::windows::Library;

use crate::socket_number::SocketNumber;
use crate::watcher::{Phase, READABLE, Watcher, call};

/// The number of handles that watch sockets in `uv_handle_type`.
const POLL: c_int = 8;

/// The number of handles of the check phase in `uv_handle_type`.
const CHECK: c_int = 2;

/// The number of handles of the prepare phase in `uv_handle_type`.
const PREPARE: c_int = 9;

type PollCallback = unsafe extern "C" fn(*mut c_void, c_int, c_int);
type HandleCallback = unsafe extern "C" fn(*mut c_void);
type Init = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Start = unsafe extern "C" fn(*mut c_void, HandleCallback) -> c_int;

/// The functions of libuv that are used here.
struct Functions {
    handle_size: unsafe extern "C" fn(c_int) -> usize,
    set_data: unsafe extern "C" fn(*mut c_void, *mut c_void),
    get_data: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    close: unsafe extern "C" fn(*mut c_void, Option<HandleCallback>),
    reference: unsafe extern "C" fn(*mut c_void),
    unreference: unsafe extern "C" fn(*mut c_void),
    poll_init_socket: unsafe extern "C" fn(*mut c_void, *mut c_void, SocketNumber) -> c_int,
    poll_start: unsafe extern "C" fn(*mut c_void, c_int, PollCallback) -> c_int,
    poll_stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    check_init: Init,
    check_start: Start,
    prepare_init: Init,
    prepare_start: Start,
}

static FUNCTIONS: LazyLock<Option<Functions>> = LazyLock::new(|| {
    /// Looks up a function of the process by its name.
    ///
    /// # Safety
    /// `F` is the type of a pointer to the function of that name.
    unsafe fn find<F: Copy>(host: &Library, name: &CStr) -> Option<F> {
        // SAFETY: the caller's promise.
        unsafe { host.get::<F>(name.to_bytes_with_nul()) }.ok().map(|function| *function)
    }
    let host = host()?;
    // SAFETY: the types are from libuv's header. The host is loaded for as long as the process runs.
    unsafe {
        Some(Functions {
            handle_size: find(&host, c"uv_handle_size")?,
            set_data: find(&host, c"uv_handle_set_data")?,
            get_data: find(&host, c"uv_handle_get_data")?,
            close: find(&host, c"uv_close")?,
            reference: find(&host, c"uv_ref")?,
            unreference: find(&host, c"uv_unref")?,
            poll_init_socket: find(&host, c"uv_poll_init_socket")?,
            poll_start: find(&host, c"uv_poll_start")?,
            poll_stop: find(&host, c"uv_poll_stop")?,
            check_init: find(&host, c"uv_check_init")?,
            check_start: find(&host, c"uv_check_start")?,
            prepare_init: find(&host, c"uv_prepare_init")?,
            prepare_start: find(&host, c"uv_prepare_start")?,
        })
    }
});

/// The program of this process.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "it may fail on Windows")]
fn host() -> Option<Library> {
    Some(Library::this())
}

#[cfg(windows)]
fn host() -> Option<Library> {
    Library::this().ok()
}

/// Whether this host exports libuv's functions. It may do so only to end the process when one is called.
pub fn exports_libuv() -> bool {
    FUNCTIONS.is_some()
}

/// libuv's event loop of a thread.
#[derive(Clone, Copy)]
pub struct LibuvLoop(*mut c_void);

impl LibuvLoop {
    /// The loop at a pointer.
    ///
    /// # Safety
    /// `uv_loop` is libuv's loop of the calling thread, and lives until all handles on it are closed.
    pub unsafe fn new(uv_loop: *mut c_void) -> Self {
        Self(uv_loop)
    }
}

/// A handle of the loop, used on the loop's thread. It must be closed: dropping it leaks it, and the loop goes on using it.
pub struct Handle {
    raw: NonNull<c_void>,
    functions: &'static Functions,
    is_poll: bool,
    /// A handle belongs to one thread.
    not_send: PhantomData<*mut c_void>,
}

impl Handle {
    /// Allocates a handle of the size that libuv needs for this kind, and sets its watcher as its data.
    fn allocate(kind: c_int, watcher: Box<dyn Watcher>) -> Result<Self> {
        let functions = FUNCTIONS.as_ref().ok_or_else(|| failed("this host has no libuv"))?;
        // SAFETY: it only looks up the number.
        let size = unsafe { (functions.handle_size)(kind) };
        // SAFETY: calloc's memory is aligned for everything. It is freed in `on_close`.
        let raw = NonNull::new(unsafe { libc::calloc(1, size) }).ok_or_else(|| failed("there is no memory"))?;
        // Boxed twice: a pointer to a trait object is two words, and the handle's data field is one.
        let data = Box::into_raw(Box::new(watcher));
        // SAFETY: the handle's memory is there, and its field for data is valid before the handle is initialised.
        unsafe { (functions.set_data)(raw.as_ptr(), data.cast()) };
        Ok(Self { raw, functions, is_poll: kind == POLL, not_send: PhantomData })
    }

    /// Frees a handle that the loop failed to initialise.
    fn free(self) {
        // SAFETY: the pointers come from `allocate`, and nobody else has them.
        unsafe {
            drop(Box::from_raw((self.functions.get_data)(self.raw.as_ptr()).cast::<Box<dyn Watcher>>()));
            libc::free(self.raw.as_ptr());
        }
    }

    /// A handle that watches a socket for being readable.
    ///
    /// # Safety
    /// The socket stays open until the handle is closed.
    pub unsafe fn poll(uv_loop: LibuvLoop, socket: SocketNumber, watcher: Box<dyn Watcher>) -> Result<Self> {
        let handle = Self::allocate(POLL, watcher)?;
        // SAFETY: the loop is this thread's, by the caller's promise. The handle's memory is as big as libuv wants it.
        let status = unsafe { (handle.functions.poll_init_socket)(uv_loop.0, handle.raw.as_ptr(), socket) };
        let handle = handle.checked(status)?;
        handle.watch(READABLE);
        Ok(handle)
    }

    /// A handle whose watcher is called in every iteration of the loop, after the sockets are polled.
    pub fn check(uv_loop: LibuvLoop, watcher: Box<dyn Watcher>) -> Result<Self> {
        let handle = Self::allocate(CHECK, watcher)?;
        let Functions { check_init, check_start, .. } = handle.functions;
        // SAFETY: the functions belong to a check handle.
        unsafe { handle.started(uv_loop, *check_init, *check_start, on_check) }
    }

    /// A handle whose watcher is called in every iteration of the loop, before the sockets are polled.
    pub fn prepare(uv_loop: LibuvLoop, watcher: Box<dyn Watcher>) -> Result<Self> {
        let handle = Self::allocate(PREPARE, watcher)?;
        let Functions { prepare_init, prepare_start, .. } = handle.functions;
        // SAFETY: the functions belong to a prepare handle.
        unsafe { handle.started(uv_loop, *prepare_init, *prepare_start, on_prepare) }
    }

    /// Initialises and starts a check or prepare handle.
    ///
    /// # Safety
    /// The functions belong to the handle's kind.
    unsafe fn started(self, uv_loop: LibuvLoop, init: Init, start: Start, callback: HandleCallback) -> Result<Self> {
        // SAFETY: the loop is this thread's, by the caller's promise. The handle's memory is as big as libuv wants it.
        let status = unsafe { init(uv_loop.0, self.raw.as_ptr()) };
        let handle = self.checked(status)?;
        // SAFETY: the handle is initialised.
        unsafe { start(handle.raw.as_ptr(), callback) };
        Ok(handle)
    }

    fn checked(self, status: c_int) -> Result<Self> {
        if status == 0 {
            return Ok(self);
        }
        self.free();
        Err(failed(&std::io::Error::from_raw_os_error(-status).to_string()))
    }

    /// Sets the events ([`READABLE`], [`WRITABLE`]) that a socket is watched for.
    pub fn watch(&self, events: c_int) {
        if self.is_poll {
            // SAFETY: the handle is initialised, and not closed since closing takes it.
            unsafe { (self.functions.poll_start)(self.raw.as_ptr(), events, on_poll) };
        }
    }

    /// Sets whether the handle keeps the loop, and with it the process, alive.
    pub fn keep_alive(&self, keep: bool) {
        let set = if keep { self.functions.reference } else { self.functions.unreference };
        // SAFETY: as in `watch`.
        unsafe { set(self.raw.as_ptr()) };
    }

    /// Closes the handle. Later the loop calls the watcher's `on_closed` and drops the watcher.
    pub fn close(self) {
        // SAFETY: as in `watch`. From here on only `on_close` uses the handle.
        unsafe {
            if self.is_poll {
                (self.functions.poll_stop)(self.raw.as_ptr());
            }
            (self.functions.close)(self.raw.as_ptr(), Some(on_close));
        }
    }
}

/// The watcher of a handle.
///
/// # Safety
/// The handle was made by `Handle::allocate` and its `on_close` has not run.
unsafe fn watcher_of<'a>(handle: *mut c_void) -> Option<&'a dyn Watcher> {
    let functions = FUNCTIONS.as_ref()?;
    // SAFETY: the data is what `allocate` has set, and `on_close` frees it.
    unsafe { (functions.get_data)(handle).cast::<Box<dyn Watcher>>().as_ref() }.map(|watcher| &**watcher)
}

unsafe extern "C" fn on_poll(handle: *mut c_void, status: c_int, events: c_int) {
    // SAFETY: libuv calls with handles of ours that are not closed. The memory lasts until `on_close`. The loop calls that
    // at an iteration's end, never from within this call.
    if let Some(watcher) = unsafe { watcher_of(handle) } {
        call(Phase::Poll, watcher, status, events);
    }
}

unsafe extern "C" fn on_check(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    if let Some(watcher) = unsafe { watcher_of(handle) } {
        call(Phase::Check, watcher, 0, 0);
    }
}

unsafe extern "C" fn on_prepare(handle: *mut c_void) {
    // SAFETY: as in `on_poll`.
    if let Some(watcher) = unsafe { watcher_of(handle) } {
        call(Phase::Prepare, watcher, 0, 0);
    }
}

unsafe extern "C" fn on_close(handle: *mut c_void) {
    let Some(functions) = FUNCTIONS.as_ref() else { return };
    // SAFETY: libuv is done with the handle. Its memory and its watcher come from `allocate`.
    let watcher = unsafe {
        let watcher = Box::from_raw((functions.get_data)(handle).cast::<Box<dyn Watcher>>());
        libc::free(handle);
        watcher
    };
    contained(|| watcher.on_closed());
    contained(|| drop(watcher));
}

fn failed(problem: &str) -> Error {
    Error::Internal(format!("a socket can't be watched on the event loop: {problem}"))
}
