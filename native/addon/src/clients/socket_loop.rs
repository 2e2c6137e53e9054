//! The connections of one of Node's threads that its event loop drives, for any protocol. All results that the loop finds ready in
//! one iteration cross into JavaScript in one call.

use std::cell::RefCell;
use std::ptr;
use std::rc::Rc;

use boundary_bench_event_loop::{Handles, Protocol, SocketOwner, Sockets, add};
use boundary_bench_kernel::Error;
use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_node::host::attachment::{Attached, Attachment, detach};
use boundary_bench_node::host::errors::js;
use boundary_bench_node::host::loop_runtime::LoopRuntime;
use napi::bindgen_prelude::{Either, Function, ToNapiValue, Undefined, Unknown};
use napi::{Env, sys};

use boundary_bench_node::memory::array_buffer::copy_of;
use boundary_bench_node::memory::buffers::{COPIED_BYTES, Handover};
use boundary_bench_node::memory::shared_memory::{SMALL_BYTES, SharedMemory};

/// A frame of results, if there are any at once. The functions name `napi::Result` themselves: napi-derive throws the errors of no other
/// name of it, but returns them.
pub type MaybeFrame = Either<Unknown<'static>, Undefined>;

/// The connections of one of Node's threads.
pub struct SocketLoop<P: Protocol> {
    inner: Rc<Inner<P>>,
}

struct Inner<P: Protocol> {
    attachment: Attachment,
    sockets: RefCell<Sockets<P>>,
    shared: RefCell<SharedMemory>,
}

impl<P: Protocol> SocketOwner for Inner<P> {
    type Protocol = P;

    fn handles(&self) -> &Handles {
        self.attachment.handles()
    }

    fn sockets(&self) -> &RefCell<Sockets<P>> {
        &self.sockets
    }

    fn deliver(&self) {
        if self.sockets.borrow_mut().protocol.frame().is_empty() {
            return;
        }
        self.attachment.call(|env| {
            let mut sockets = self.sockets.borrow_mut();
            let length = sockets.protocol.frame().bytes().len();
            // SAFETY: the environment is this thread's, and `call` has opened the scope of handles.
            let (buffer, start) = unsafe {
                if length > SMALL_BYTES {
                    (buffer_of(env, &mut sockets).ok()?, 0)
                } else {
                    let placed = self.shared.borrow_mut().place(env, sockets.protocol.frame().bytes());
                    sockets.clear_results();
                    placed?
                }
            };
            let mut arguments = [buffer, ptr::null_mut(), ptr::null_mut()];
            // SAFETY: as above.
            unsafe {
                sys::napi_create_double(env, start as f64, &raw mut arguments[1]);
                sys::napi_create_double(env, (start + length) as f64, &raw mut arguments[2]);
            }
            Some(arguments)
        });
    }
}

impl<P: Protocol> Attached for Inner<P> {
    fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    fn deliver(&self) {
        SocketOwner::deliver(self);
    }

    fn fail(&self, error: &Error) {
        self.sockets.borrow_mut().end_all(error);
        SocketOwner::deliver(self);
    }

    fn end(&self) {
        self.sockets.borrow_mut().end_all(&Error::Closed("the connection"));
        // SAFETY: this is the thread of the environment. It lives as long as the loop is attached, and nothing is placed later.
        unsafe { self.shared.borrow_mut().release(self.attachment.env()) };
    }
}

/// Takes the undelivered results as an `ArrayBuffer`.
unsafe fn buffer_of(env: sys::napi_env, sockets: &mut Sockets<impl Protocol>) -> napi::Result<sys::napi_value> {
    if sockets.protocol.frame().bytes().len() > COPIED_BYTES {
        // SAFETY: the caller's environment.
        return unsafe { ToNapiValue::to_napi_value(env, Handover(sockets.take_results())) };
    }
    // SAFETY: the caller's environment.
    let buffer = unsafe { copy_of(env, sockets.protocol.frame().bytes()) }?;
    sockets.clear_results();
    Ok(buffer)
}

impl<P: Protocol> SocketLoop<P> {
    /// A loop on this thread. `callback` gets frames of results, each as a buffer and the byte offsets of its start and end.
    pub fn new(env: Env, protocol: P, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let inner = Rc::new(Inner {
            attachment: Attachment::new(env)?,
            sockets: RefCell::new(Sockets::new(protocol)),
            shared: RefCell::default(),
        });
        Attachment::attach(&inner, env, Some(&callback))?;
        Ok(Self { inner })
    }

    /// Adds a connection, and returns its number.
    pub fn add(&self, stream: DrivenStream, session: P::Session) -> napi::Result<u32> {
        if !self.inner.attachment.is_open() {
            return Err(js(Error::Closed("the loop")));
        }
        add(&self.inner, stream, session).map_err(js)
    }

    /// A function by which a task gives results to the loop. They cross with the others of the iteration.
    pub fn giver(&self, runtime: &LoopRuntime) -> impl Fn(&[u8]) + use<P> {
        let (inner, runtime) = (Rc::downgrade(&self.inner), runtime.clone());
        move |results| {
            let Some(inner) = inner.upgrade().filter(|_| !results.is_empty()) else { return };
            let is_first = {
                let mut sockets = inner.sockets.borrow_mut();
                let frame = sockets.protocol.frame();
                let is_first = frame.is_empty();
                frame.put(results);
                is_first
            };
            if is_first {
                runtime.deliver_with(move || SocketOwner::deliver(&*inner));
            }
        }
    }

    /// Runs work on the connections. No JavaScript may run in it.
    pub fn state<T>(&self, work: impl FnOnce(&mut Sockets<P>) -> T) -> T {
        work(&mut self.inner.sockets.borrow_mut())
    }

    /// Runs work as [`SocketLoop::state`] does, and returns a frame if there are results at once.
    pub fn with<T>(&self, env: Env, work: impl FnOnce(&mut Sockets<P>) -> napi::Result<T>) -> napi::Result<MaybeFrame> {
        let mut sockets = self.inner.sockets.borrow_mut();
        work(&mut sockets)?;
        if sockets.protocol.frame().is_empty() {
            return Ok(Either::B(()));
        }
        // SAFETY: the environment belongs to the call under way.
        let buffer = unsafe { buffer_of(env.raw(), &mut sockets) }?;
        // SAFETY: the value is returned from that call.
        Ok(Either::A(unsafe { Unknown::from_raw_unchecked(env.raw(), buffer) }))
    }
}

impl<P: Protocol> Drop for SocketLoop<P> {
    fn drop(&mut self) {
        detach(&*self.inner);
    }
}
