//! Connections of the MySQL wire driven by the event loop of a thread of Node's, as `kv_loop` does it for the other wire.
//! All that the loop finds ready in one iteration crosses into JavaScript in one call.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use boundary_bench_core::error::catch_panic;
use boundary_bench_core::{Error, Result};
use boundary_bench_mysql::{DrivenSession, Shapes};
use napi::bindgen_prelude::{Either, Function, JsValue, ToNapiValue, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use crate::errors::{js, to_js};
use crate::sql::{ResultBytes, SqlConnection, SqlShapes, submission_of};
use crate::uv::{Handle, READABLE, WRITABLE, Watcher};

/// The connections of a thread of Node's.
#[napi]
pub struct SqlLoop {
    inner: Rc<Inner>,
}

struct Inner {
    env: sys::napi_env,
    uv_loop: *mut c_void,
    state: RefCell<State>,
    /// The handles that the loop has not closed yet.
    handles: Cell<usize>,
    /// Node's, when this thread ends and waits for the handles.
    ending: Cell<sys::napi_async_cleanup_hook_handle>,
}

#[derive(Default)]
struct State {
    shapes: Arc<Shapes>,
    sockets: Vec<Option<Socket>>,
    /// What was not given to JavaScript yet.
    outcomes: Vec<(u32, Outcome)>,
    open: Option<Open>,
}

/// What happened to a connection.
enum Outcome {
    /// Its call has these results, or failed.
    Done(Result<Vec<u8>>),
    /// It is gone; what becomes of its call follows, if it had one.
    Gone,
}

/// What there is until the end.
struct Open {
    check: Handle,
    callback: sys::napi_ref,
    context: sys::napi_async_context,
}

/// A connection on the loop.
struct Socket {
    session: DrivenSession,
    handle: Handle,
    events: c_int,
    is_kept_alive: bool,
}

impl Socket {
    /// Watches for what is to come.
    fn settle(&mut self) {
        let events = if self.session.wants_room() { READABLE | WRITABLE } else { READABLE };
        if events != self.events {
            self.events = events;
            self.handle.watch(events);
        }
        let keep = self.session.is_busy();
        if keep != self.is_kept_alive {
            self.is_kept_alive = keep;
            self.handle.keep_alive(keep);
        }
    }
}

impl State {
    /// Lets a session go on; what becomes of it is given to JavaScript later.
    fn drive(&mut self, index: usize, work: impl FnOnce(&mut DrivenSession) -> Option<Result<Vec<u8>>>) {
        let Some(socket) = self.sockets.get_mut(index).and_then(Option::as_mut) else { return };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let (outcome, is_over) = match catch_panic(|| Ok(work(&mut socket.session))) {
            Ok(outcome) => (outcome, socket.session.is_over()),
            Err(error) => (Some(Err(error)), true),
        };
        socket.settle();
        if is_over {
            // First, so that nobody takes the connection for one that is free again.
            self.outcomes.push((number, Outcome::Gone));
            self.end(index);
        }
        self.outcomes.extend(outcome.map(|outcome| (number, Outcome::Done(outcome))));
    }

    /// Closes a connection.
    fn end(&mut self, index: usize) {
        if let Some(socket) = self.sockets.get_mut(index).and_then(Option::take) {
            // Before the socket, which is closed with the session.
            socket.handle.close();
            socket.session.give_up();
        }
    }
}

/// What the loop calls for one socket.
struct SocketWatcher {
    inner: Rc<Inner>,
    index: usize,
}

impl Watcher for SocketWatcher {
    fn on_event(&self, status: c_int, _events: c_int) {
        let mut state = self.inner.state.borrow_mut();
        // Where the socket has an error, reading from it says which.
        state.drive(self.index, DrivenSession::poll);
        if status < 0 {
            // What came before the error may have been a whole answer: now comes the error. Else the rest is still to be read,
            // though the loop watches the socket no more.
            state.drive(self.index, DrivenSession::poll);
            if let Some(Some(socket)) = state.sockets.get(self.index) {
                socket.handle.watch(socket.events);
            }
        }
        // Of one that is gone JavaScript hears before anything else there runs: it must not be taken for one that is free.
        let is_gone = state.outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Gone));
        drop(state);
        if is_gone {
            self.inner.deliver();
        }
    }

    fn on_closed(&self) {
        self.inner.on_handle_closed();
    }
}

/// What the loop calls when all sockets were looked at.
struct CheckWatcher(Rc<Inner>);

impl Watcher for CheckWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        self.0.deliver();
    }

    fn on_closed(&self) {
        self.0.on_handle_closed();
    }
}

impl Inner {
    /// Gives what there is to JavaScript.
    fn deliver(&self) {
        let mut state = self.state.borrow_mut();
        let (false, Some(open)) = (state.outcomes.is_empty(), &state.open) else { return };
        let (callback, context) = (open.callback, open.context);
        let outcomes = std::mem::take(&mut state.outcomes);
        // Nothing of the state is borrowed while JavaScript runs.
        drop(state);
        // SAFETY: this is the thread of the environment, which lives as long as `open` does; the scope is closed in all
        // cases.
        unsafe {
            let mut scope = ptr::null_mut();
            if sys::napi_open_handle_scope(self.env, &raw mut scope) != sys::Status::napi_ok {
                return;
            }
            if let Ok(outcomes) = array_of(self.env, outcomes) {
                let (mut function, mut receiver) = (ptr::null_mut(), ptr::null_mut());
                sys::napi_get_reference_value(self.env, callback, &raw mut function);
                sys::napi_get_global(self.env, &raw mut receiver);
                let status = sys::napi_make_callback(
                    self.env,
                    context,
                    receiver,
                    function,
                    1,
                    &raw const outcomes,
                    ptr::null_mut(),
                );
                if status == sys::Status::napi_pending_exception {
                    let mut exception = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(self.env, &raw mut exception);
                    sys::napi_fatal_exception(self.env, exception);
                }
            }
            sys::napi_close_handle_scope(self.env, scope);
        }
    }

    /// Closes everything; does nothing the second time.
    fn close(&self) {
        let mut state = self.state.borrow_mut();
        for index in 0..state.sockets.len() {
            state.end(index);
        }
        if let Some(open) = state.open.take() {
            open.check.close();
            // SAFETY: this is the thread of the environment, which still lives.
            unsafe {
                sys::napi_delete_reference(self.env, open.callback);
                sys::napi_async_destroy(self.env, open.context);
            }
        }
    }

    fn on_handle_closed(&self) {
        self.handles.set(self.handles.get().saturating_sub(1));
        self.end_if_closed();
    }

    /// Lets the thread end that waits for the last handle.
    fn end_if_closed(&self) {
        let ending = self.ending.get();
        if self.handles.get() == 0 && !ending.is_null() {
            self.ending.set(ptr::null_mut());
            // SAFETY: it is the handle that Node gave, and it is removed once.
            unsafe { sys::napi_remove_async_cleanup_hook(ending) };
        }
    }
}

/// An array of the numbers of connections, each before its results, its error or null for one that is gone.
///
/// # Safety
/// A scope of handles of the environment is open.
unsafe fn array_of(env: sys::napi_env, outcomes: Vec<(u32, Outcome)>) -> napi::Result<sys::napi_value> {
    let mut array = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        sys::napi_create_array_with_length(env, outcomes.len() * 2, &raw mut array);
        for (place, (number, outcome)) in (0..).zip(outcomes) {
            let number = u32::to_napi_value(env, number)?;
            sys::napi_set_element(env, array, 2 * place, number);
            let outcome = match outcome {
                Outcome::Done(Ok(bytes)) => ResultBytes::to_napi_value(env, ResultBytes(bytes))?,
                Outcome::Done(Err(error)) => String::to_napi_value(env, to_js(&error).reason.clone())?,
                Outcome::Gone => {
                    let mut null = ptr::null_mut();
                    sys::napi_get_null(env, &raw mut null);
                    null
                }
            };
            sys::napi_set_element(env, array, 2 * place + 1, outcome);
        }
    }
    Ok(array)
}

/// Node calls this when the thread ends, and waits until the hook is removed.
unsafe extern "C" fn on_thread_end(hook: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    // SAFETY: the pointer is that of `SqlLoop::new`, and Node calls once.
    let inner = unsafe { Rc::from_raw(data.cast::<Inner>().cast_const()) };
    inner.ending.set(hook);
    inner.close();
    inner.end_if_closed();
}

#[napi]
impl SqlLoop {
    /// The connections of this thread. `callback` gets arrays of the numbers of connections, each before the results of its
    /// call, the text of its error, or null where it is gone.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "shapes: SqlShapes, callback: (outcomes: (number | ArrayBuffer | string | null)[]) => void"
    )]
    pub fn new(env: Env, shapes: &SqlShapes, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let raw = env.raw();
        let mut uv_loop = ptr::null_mut();
        // SAFETY: the environment is that of the call under way, and the out-pointer is valid.
        let status = unsafe { sys::napi_get_uv_event_loop(raw, &raw mut uv_loop) };
        if status != sys::Status::napi_ok {
            return Err(js(Error::Unsupported("this host has no event loop of libuv".to_owned())));
        }
        let inner = Rc::new(Inner {
            env: raw,
            uv_loop: uv_loop.cast(),
            state: RefCell::default(),
            handles: Cell::new(1),
            ending: Cell::new(ptr::null_mut()),
        });
        let watcher = Box::new(CheckWatcher(Rc::clone(&inner)));
        // SAFETY: the loop is this thread's, as Node says.
        let check = unsafe { Handle::check(inner.uv_loop, watcher) }.map_err(js)?;
        check.keep_alive(false);
        let name = env.create_string("boundary-bench")?;
        let (mut reference, mut context, mut hook) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handles are those of the call under way; the pointer that Node keeps owns a count of the `Rc`,
        // which `on_thread_end` takes back.
        unsafe {
            sys::napi_create_reference(raw, callback.raw(), 1, &raw mut reference);
            sys::napi_async_init(raw, ptr::null_mut(), name.raw(), &raw mut context);
            let data = Rc::into_raw(Rc::clone(&inner)).cast_mut().cast();
            sys::napi_add_async_cleanup_hook(raw, Some(on_thread_end), data, &raw mut hook);
        }
        let mut state = inner.state.borrow_mut();
        state.open = Some(Open { check, callback: reference, context });
        state.shapes = Arc::clone(&shapes.shapes);
        drop(state);
        Ok(Self { inner })
    }

    /// Takes a connection; returns its number.
    #[napi(catch_unwind)]
    pub fn add(&self, connection: &SqlConnection) -> napi::Result<u32> {
        let session = connection.take().map_err(js)?;
        let mut state = self.inner.state.borrow_mut();
        if state.open.is_none() {
            return Err(js(Error::Closed("the loop")));
        }
        // No number that JavaScript has yet to hear of.
        let is_free = |index: usize| state.outcomes.iter().all(|(number, _)| *number as usize != index);
        let free = state.sockets.iter().enumerate().position(|(index, socket)| socket.is_none() && is_free(index));
        let index = free.unwrap_or_else(|| {
            state.sockets.push(None);
            state.sockets.len() - 1
        });
        let watcher = Box::new(SocketWatcher { inner: Rc::clone(&self.inner), index });
        // SAFETY: the loop is this thread's; the socket goes with the session, and the handle is closed first.
        let handle = unsafe { Handle::poll(self.inner.uv_loop, session.socket(), watcher) }.map_err(js)?;
        self.inner.handles.set(self.inner.handles.get() + 1);
        handle.watch(READABLE);
        handle.keep_alive(false);
        state.sockets[index] = Some(Socket { session, handle, events: READABLE, is_kept_alive: false });
        u32::try_from(index).map_err(|error| js(Error::Internal(error.to_string())))
    }

    /// Begins what the first bytes of a submission ask for, on a connection that has no call under way. The callback gets
    /// the results; returns true where they are there already, and `deliver` is to be called.
    #[napi(catch_unwind, ts_args_type = "connection: number, submission: Uint8Array, bytes: number")]
    pub fn submit(&self, env: Env, connection: u32, submission: Unknown<'_>, bytes: u32) -> napi::Result<bool> {
        let submission = submission_of(env, &submission, bytes)?;
        let mut state = self.inner.state.borrow_mut();
        let index = connection as usize;
        if state.sockets.get(index).is_none_or(Option::is_none) {
            return Err(js(Error::Closed("the connection")));
        }
        let shapes = Arc::clone(&state.shapes);
        state.drive(index, |session| session.submit(submission, shapes));
        Ok(!state.outcomes.is_empty())
    }

    /// What was not given to the callback yet, as it would get it.
    #[napi(catch_unwind, ts_return_type = "(number | ArrayBuffer | string | null)[]")]
    pub fn outcomes(&self, env: Env) -> napi::Result<Either<Unknown<'static>, ()>> {
        let outcomes = std::mem::take(&mut self.inner.state.borrow_mut().outcomes);
        // SAFETY: the environment is that of the call under way, and the value is returned from it.
        unsafe {
            let array = array_of(env.raw(), outcomes)?;
            Ok(Either::A(Unknown::from_raw_unchecked(env.raw(), array)))
        }
    }

    /// Closes a connection; the server is asked to end what it runs. The callback gets nothing of it any more.
    #[napi(catch_unwind)]
    pub fn remove(&self, connection: u32) {
        let mut state = self.inner.state.borrow_mut();
        state.outcomes.retain(|(number, _)| *number != connection);
        state.end(connection as usize);
    }
}

impl Drop for SqlLoop {
    fn drop(&mut self) {
        self.inner.close();
    }
}
