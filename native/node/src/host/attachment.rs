//! The attachment of a Rust object to the event loop of one of Node's threads: the handles that it has there, the callback that
//! gets its results. Both end with the thread, or before it.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use boundary_bench_event_loop::{Handle, Handles, Watcher};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::error::contained;
use napi::bindgen_prelude::{Function, JsValue, Unknown};
use napi::{Env, sys};

use crate::host::errors::js;
use crate::host::handle_scope::scoped;
use crate::host::host_loop;

/// An object that is attached to an event loop.
pub trait Attached: 'static {
    /// The attachment of the object.
    fn attachment(&self) -> &Attachment;

    /// Gives the collected results to JavaScript. It is called in each iteration after all ready sockets have been handled.
    fn deliver(&self);

    /// Fails all work under way with the error. It is called after a callback of the loop has panicked.
    fn fail(&self, error: &Error);

    /// Closes the sockets and releases references to JavaScript's objects. May be called twice.
    fn end(&self);
}

/// The attachment of one object, on the loop's thread.
pub struct Attachment {
    env: sys::napi_env,
    handles: Handles,
    open: RefCell<Option<Open>>,
}

/// The resources that an attachment has until it ends.
struct Open {
    check: Handle,
    /// The JavaScript function that gets the results, or null if the object delivers them in another way.
    callback: sys::napi_ref,
    /// The context of calls of JavaScript from libuv's loop, or null on a loop of ours, whose turns have one of their own.
    context: sys::napi_async_context,
}

/// The watcher that the loop calls after all ready sockets have been handled.
struct CheckWatcher<A: Attached>(Rc<A>);

impl<A: Attached> Watcher for CheckWatcher<A> {
    fn on_event(&self, _status: i32, _events: i32) {
        self.0.deliver();
    }

    fn on_panic(&self, error: &Error) {
        self.0.fail(error);
    }

    fn on_closed(&self) {
        self.0.attachment().handles.on_closed();
    }
}

/// The cleanup hook of a thread with libuv's loop. Node calls it when the thread ends, and waits until the hook is removed.
unsafe extern "C" fn on_libuv_end<A: Attached>(hook: sys::napi_async_cleanup_hook_handle, data: *mut c_void) {
    let removed = move || {
        // SAFETY: it is the hook that Node gave, and it is removed once.
        unsafe { sys::napi_remove_async_cleanup_hook(hook) };
    };
    // SAFETY: the pointer comes from `Attachment::attach`, and Node calls once.
    unsafe { end::<A>(data, Box::new(removed)) };
}

/// The cleanup hook of a thread with a loop of ours, whose handles are closed without waiting.
unsafe extern "C" fn on_polled_end<A: Attached>(data: *mut c_void) {
    // SAFETY: the pointer comes from `Attachment::attach`, and the runtime calls once.
    unsafe { end::<A>(data, Box::new(|| {})) };
}

/// Ends the attachment of an object at the end of its thread, and calls `then` once its handles are closed.
///
/// # Safety
/// The pointer owns a count of an `Rc<A>`. This function takes that count.
unsafe fn end<A: Attached>(data: *mut c_void, then: Box<dyn FnOnce()>) {
    // SAFETY: the caller's promise.
    let attached = unsafe { Rc::from_raw(data.cast::<A>().cast_const()) };
    contained(|| detach(&*attached));
    // Runs also after a panic above: else the thread would wait for ever.
    contained(|| attached.attachment().handles.when_closed(then));
    contained(|| drop(attached));
}

/// Ends an attachment. Does nothing the second time.
pub fn detach(attached: &impl Attached) {
    attached.end();
    let attachment = attached.attachment();
    let open = attachment.open.borrow_mut().take();
    if let Some(open) = open {
        open.check.close();
        // SAFETY: this is the thread of the environment, which still lives.
        unsafe {
            if !open.callback.is_null() {
                sys::napi_delete_reference(attachment.env, open.callback);
            }
            if !open.context.is_null() {
                sys::napi_async_destroy(attachment.env, open.context);
            }
        }
    }
}

impl Attachment {
    /// Makes an attachment to the event loop of the calling thread, with no handles yet.
    pub fn new(env: Env) -> napi::Result<Self> {
        let handles = Handles::new(host_loop::of_thread(env)?);
        Ok(Self { env: env.raw(), handles, open: RefCell::default() })
    }

    /// Attaches an object whose attachment is new.
    pub fn attach<A: Attached>(
        attached: &Rc<A>,
        env: Env,
        callback: Option<&Function<'_, Unknown<'_>, ()>>,
    ) -> napi::Result<()> {
        let attachment = attached.attachment();
        let watcher = Box::new(CheckWatcher(Rc::clone(attached)));
        let check = attachment.handles.check(watcher).map_err(js)?;
        let name = env.create_string("boundary-bench")?;
        let (mut reference, mut context, mut hook) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handles belong to the call under way. The pointer that the runtime keeps owns a count of the `Rc`. The hook
        // takes it back.
        unsafe {
            if let Some(callback) = callback {
                sys::napi_create_reference(attachment.env, callback.raw(), 1, &raw mut reference);
            }
            let data = Rc::into_raw(Rc::clone(attached)).cast_mut().cast();
            if attachment.handles.is_libuv() {
                sys::napi_async_init(attachment.env, ptr::null_mut(), name.raw(), &raw mut context);
                sys::napi_add_async_cleanup_hook(attachment.env, Some(on_libuv_end::<A>), data, &raw mut hook);
            } else {
                sys::napi_add_env_cleanup_hook(attachment.env, Some(on_polled_end::<A>), data);
            }
        }
        *attachment.open.borrow_mut() = Some(Open { check, callback: reference, context });
        Ok(())
    }

    /// The handles of the object.
    pub fn handles(&self) -> &Handles {
        &self.handles
    }

    /// Whether the object is still attached.
    pub fn is_open(&self) -> bool {
        self.open.borrow().is_some()
    }

    /// Calls the callback with the arguments that `arguments` makes, unless it returns `None` or the attachment has ended.
    ///
    /// `arguments` gets the environment within a scope of handles. After it JavaScript runs, and no `RefCell` may be borrowed
    /// then.
    pub fn call<const N: usize>(&self, arguments: impl FnOnce(sys::napi_env) -> Option<[sys::napi_value; N]>) {
        let opened = self.open.borrow().as_ref().map(|open| (open.callback, open.context));
        let Some((callback, context)) = opened else { return };
        scoped(Env::from_raw(self.env), || {
            let Some(arguments) = arguments(self.env) else { return };
            let (mut function, mut receiver) = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: this is the thread of the environment, which lives as long as `open` does.
            unsafe {
                sys::napi_get_reference_value(self.env, callback, &raw mut function);
                sys::napi_get_global(self.env, &raw mut receiver);
                let (arguments, mut result) = (arguments.as_ptr(), ptr::null_mut());
                let result = &raw mut result;
                let status = if context.is_null() {
                    sys::napi_call_function(self.env, receiver, function, N, arguments, result)
                } else {
                    sys::napi_make_callback(self.env, context, receiver, function, N, arguments, result)
                };
                if status == sys::Status::napi_pending_exception {
                    let mut exception = ptr::null_mut();
                    sys::napi_get_and_clear_last_exception(self.env, &raw mut exception);
                    sys::napi_fatal_exception(self.env, exception);
                }
            }
        });
    }

    /// Runs work within a scope of handles and a callback scope. When that closes, JavaScript runs the microtasks that the work
    /// has queued, such as reactions to settled promises. On a loop of ours, it is the scope of the whole turn.
    ///
    /// No `RefCell` may be borrowed while JavaScript runs, and the work may not panic.
    pub fn enter(&self, work: impl FnOnce(sys::napi_env)) {
        let context = self.open.borrow().as_ref().map(|open| open.context);
        let Some(context) = context else { return };
        if context.is_null() {
            return scoped(Env::from_raw(self.env), || work(self.env));
        }
        scoped(Env::from_raw(self.env), || {
            let mut scope = ptr::null_mut();
            // SAFETY: this is the thread of the environment, which lives as long as `open` does. The scope is closed below.
            // Node ignores the resource object of the callback scope.
            let opened = unsafe { sys::napi_open_callback_scope(self.env, ptr::null_mut(), context, &raw mut scope) };
            work(self.env);
            if opened == sys::Status::napi_ok {
                // SAFETY: as above.
                unsafe { sys::napi_close_callback_scope(self.env, scope) };
            }
        });
    }

    /// The environment of the thread.
    pub fn env(&self) -> sys::napi_env {
        self.env
    }
}
