//! A runtime for futures on the event loop of one of Node's threads. A call through tokio's threads costs two wake-ups more than
//! all the rest of it, one to begin and one to come back. Here the loop watches the sockets, and tasks run when a socket is ready
//! and before the loop waits, so that calls that JavaScript begins together are sent together. Promises are settled once all
//! ready sockets of an iteration have been handled. Only timers run on tokio.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use boundary_bench_kernel::error::catch_panic;
use boundary_bench_kernel::{Error, Result};
use napi::bindgen_prelude::{ToNapiValue, Unknown, within_runtime_if_available};
use napi::tokio::task::LocalSet;
use napi::{Env, JsError, sys};

use crate::attachment::{Attached, Attachment};
use crate::errors::{catching, js};
use crate::loop_socket::{Events, LoopSocket, SocketWatcher, close_all, send_written};
use crate::uv::{Handle, Watcher};

/// The most rounds of polling tasks that woke each other before JavaScript and other sockets get their turn.
const MOST_ROUNDS: usize = 64;

thread_local! {
    /// The runtime of this thread, made at its first use.
    static RUNTIME: RefCell<Option<LoopRuntime>> = const { RefCell::new(None) };
}

/// The runtime of one of Node's threads.
#[derive(Clone)]
pub struct LoopRuntime(Rc<Inner>);

struct Inner {
    attachment: Attachment,
    /// The tasks; `None` once the runtime has ended.
    tasks: RefCell<Option<LocalSet>>,
    alarm: Arc<Alarm>,
    open: RefCell<Option<Open>>,
    /// Wakers to call once everything written has been sent.
    sending: RefCell<Vec<Waker>>,
    /// The unsettled promises, by their numbers.
    promises: RefCell<HashMap<u64, sys::napi_deferred>>,
    last_promise: Cell<u64>,
    /// Answers of promises that are not settled in JavaScript yet.
    answers: RefCell<Vec<Answer>>,
}

/// Settles a promise.
type Answer = Box<dyn FnOnce(sys::napi_env)>;

/// The handles of the runtime itself, open until it ends.
struct Open {
    /// The handle of the read end of the socket pair by which other threads wake the loop.
    bell: Handle,
    prepare: Handle,
}

/// [`Alarm::state`]: no task is awake.
const IDLE: u8 = 0;
/// [`Alarm::state`]: tasks are being polled.
const RUNNING: u8 = 1;
/// [`Alarm::state`]: a task is awake and must be polled.
const WOKEN: u8 = 2;

/// The waker of all tasks: notes that a task is awake, and wakes the loop from other threads.
struct Alarm {
    state: AtomicU8,
    /// The loop's thread. It needs no byte on `bell`, since it checks `state` before it waits.
    thread: ThreadId,
    bell: UnixStream,
}

impl Alarm {
    fn ring(&self) {
        // A full socket has already woken the loop; an error means that the loop has ended, and there is nothing to wake.
        let _ = (&self.bell).write(&[1]);
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == IDLE && thread::current().id() != self.thread {
            self.ring();
        }
    }
}

impl LoopRuntime {
    /// The runtime of this thread, made at its first use.
    pub fn of_thread(env: Env) -> napi::Result<Self> {
        let known = RUNTIME.with_borrow(Clone::clone);
        if let Some(known) = known {
            return Ok(known);
        }
        let made = Self::new(env)?;
        RUNTIME.set(Some(made.clone()));
        Ok(made)
    }

    fn new(env: Env) -> napi::Result<Self> {
        let failed = |error: std::io::Error| js(Error::Internal(format!("the event loop can't be woken: {error}")));
        let (bell, reader) = UnixStream::pair().map_err(failed)?;
        bell.set_nonblocking(true).and_then(|()| reader.set_nonblocking(true)).map_err(failed)?;
        let inner = Rc::new(Inner {
            attachment: Attachment::new(env)?,
            tasks: RefCell::new(Some(LocalSet::new())),
            alarm: Arc::new(Alarm { state: AtomicU8::new(IDLE), thread: thread::current().id(), bell }),
            open: RefCell::default(),
            sending: RefCell::default(),
            promises: RefCell::default(),
            last_promise: Cell::default(),
            answers: RefCell::default(),
        });
        Attachment::attach(&inner, env, None)?;
        let descriptor = reader.as_raw_fd();
        let watcher = Box::new(BellWatcher { inner: Rc::clone(&inner), reader });
        // SAFETY: the watcher keeps the socket, and tells the attachment.
        let bell = unsafe { inner.attachment.watch(descriptor, watcher) }.map_err(js)?;
        let prepare = inner.attachment.prepare(Box::new(PrepareWatcher(Rc::clone(&inner)))).map_err(js)?;
        *inner.open.borrow_mut() = Some(Open { bell, prepare });
        Ok(Self(inner))
    }

    /// Returns a promise of the output of `work`, which is first polled before the loop waits.
    pub fn promise<T: ToNapiValue + 'static>(
        &self,
        env: Env,
        work: impl Future<Output = Result<T>> + 'static,
    ) -> napi::Result<Unknown<'static>> {
        let tasks = self.0.tasks.try_borrow();
        let tasks = tasks.as_ref().ok().and_then(|tasks| tasks.as_ref());
        let tasks = tasks.ok_or(Error::Closed("the event loop")).map_err(js)?;
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment is that of the call under way, and the out-pointers are valid.
        let status = unsafe { sys::napi_create_promise(env.raw(), &raw mut deferred, &raw mut promise) };
        if status != sys::Status::napi_ok {
            return Err(js(Error::Internal("no promise could be made".to_owned())));
        }
        let number = self.0.last_promise.get() + 1;
        self.0.last_promise.set(number);
        self.0.promises.borrow_mut().insert(number, deferred);
        let inner = Rc::downgrade(&self.0);
        let settled = async move {
            let answer = catching(work).await;
            // If the runtime has ended, there is no promise left to settle.
            if let Some(inner) = inner.upgrade() {
                inner.answer(number, answer);
            }
        };
        tasks.spawn_local(settled);
        // A task that has never been polled wakes nothing.
        self.0.alarm.wake_by_ref();
        self.0.keep_alive();
        // SAFETY: the value is returned from the call under way.
        Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), promise) })
    }
}

/// Resolves or rejects a promise.
///
/// # Safety
/// `env` is the environment of this thread, a scope of handles is open, and the promise is not settled yet.
unsafe fn settle<T: ToNapiValue>(env: sys::napi_env, deferred: sys::napi_deferred, answer: Result<T>) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = answer.and_then(|value| catch_panic(|| Ok(T::to_napi_value(env, value))));
        let value = value.map_err(js).flatten();
        match value {
            Ok(value) => sys::napi_resolve_deferred(env, deferred, value),
            Err(error) => sys::napi_reject_deferred(env, deferred, JsError::from(error).into_value(env)),
        };
    }
}

/// Registers a socket with the loop of this thread.
pub fn watch(stream: std::net::TcpStream) -> std::io::Result<LoopSocket> {
    let gone = || std::io::Error::new(ErrorKind::NotConnected, "the event loop has ended");
    let runtime = RUNTIME.with_borrow(Clone::clone).ok_or_else(gone)?;
    runtime.0.watch(stream)
}

/// Waits until the output that the tasks of this thread have written is sent.
pub async fn sent() {
    let mut is_waiting = false;
    poll_fn(|context| {
        if is_waiting {
            return Poll::Ready(());
        }
        is_waiting = true;
        RUNTIME.with_borrow(|runtime| {
            let Some(runtime) = runtime else { return Poll::Ready(()) };
            runtime.0.sending.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    })
    .await;
}

impl Inner {
    /// Polls the tasks that are awake.
    fn run(self: &Rc<Self>) {
        // JavaScript does not run meanwhile, but at the end of the thread a destructor may call back here with the tasks
        // borrowed.
        let Ok(mut tasks) = self.tasks.try_borrow_mut() else { return };
        let Some(tasks) = &mut *tasks else { return };
        let waker = Waker::from(Arc::clone(&self.alarm));
        let mut context = Context::from_waker(&waker);
        within_runtime_if_available(|| {
            for _ in 0..MOST_ROUNDS {
                self.alarm.state.store(RUNNING, Ordering::Release);
                let _ = Pin::new(&mut *tasks).poll(&mut context);
                if self.alarm.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    return;
                }
            }
        });
    }

    /// Polls the tasks that are awake, and sends what they have written.
    fn work(self: &Rc<Self>) {
        loop {
            self.run();
            send_written();
            let sending = self.sending.take();
            if sending.is_empty() {
                break;
            }
            sending.into_iter().for_each(Waker::wake);
        }
        // A failed send wakes the tasks of its socket.
        self.ring_if_woken();
    }

    /// Queues the answer of a promise, to be settled once all ready sockets of this iteration have been handled.
    fn answer<T: ToNapiValue + 'static>(&self, number: u64, answer: Result<T>) {
        let deferred = self.promises.borrow_mut().remove(&number);
        if let Some(deferred) = deferred {
            // SAFETY: the environment is that of this thread when it is called, and the promise is settled once.
            self.answers.borrow_mut().push(Box::new(move |env| unsafe { settle(env, deferred, answer) }));
        }
    }

    /// Makes the loop's next wait return at once if a task is awake.
    fn ring_if_woken(&self) {
        if self.alarm.state.load(Ordering::Acquire) == WOKEN {
            self.alarm.ring();
        }
    }

    /// Keeps the process alive while promises are unsettled.
    fn keep_alive(&self) {
        if let Some(open) = &*self.open.borrow() {
            open.bell.keep_alive(!self.promises.borrow().is_empty());
        }
    }

    fn watch(self: &Rc<Self>, stream: std::net::TcpStream) -> std::io::Result<LoopSocket> {
        stream.set_nonblocking(true)?;
        let events = Events::new(stream);
        let watcher = Box::new(LoopWatcher { inner: Rc::clone(self), socket: SocketWatcher(Arc::clone(&events)) });
        let descriptor = events.descriptor();
        // SAFETY: the watcher keeps the socket, and tells the attachment.
        let handle = unsafe { self.attachment.watch(descriptor, watcher) };
        let handle = handle.map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(LoopSocket::new(events, handle))
    }
}

/// The watcher of a task's socket.
struct LoopWatcher {
    inner: Rc<Inner>,
    socket: SocketWatcher,
}

impl Watcher for LoopWatcher {
    fn on_event(&self, status: c_int, events: c_int) {
        self.socket.on_event(status, events);
        self.inner.work();
    }

    fn on_panic(&self, error: &Error) {
        self.inner.fail(error);
    }

    fn on_closed(&self) {
        self.inner.attachment.on_handle_closed();
    }
}

/// The watcher of the socket pair by which other threads wake the loop.
struct BellWatcher {
    inner: Rc<Inner>,
    reader: UnixStream,
}

impl Watcher for BellWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        let mut rung = [0; 64];
        while (&self.reader).read(&mut rung).is_ok_and(|bytes| bytes == rung.len()) {}
        self.inner.work();
    }

    fn on_panic(&self, error: &Error) {
        self.inner.fail(error);
    }

    fn on_closed(&self) {
        self.inner.attachment.on_handle_closed();
    }
}

/// The watcher that the loop calls before it waits.
struct PrepareWatcher(Rc<Inner>);

impl Watcher for PrepareWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        if self.0.alarm.state.load(Ordering::Acquire) == WOKEN {
            self.0.work();
            // Delivered here too, since the loop may wait long before its check handle. JavaScript may begin other calls in it.
            self.0.deliver();
            self.0.ring_if_woken();
        }
    }

    fn on_panic(&self, error: &Error) {
        self.0.fail(error);
    }

    fn on_closed(&self) {
        self.0.attachment.on_handle_closed();
    }
}

impl Attached for Inner {
    fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    fn deliver(&self) {
        if self.answers.borrow().is_empty() {
            return;
        }
        let answers = self.answers.take();
        self.attachment.enter(|env| answers.into_iter().for_each(|answer| answer(env)));
        self.keep_alive();
    }

    fn fail(&self, error: &Error) {
        let numbers: Vec<u64> = self.promises.borrow().keys().copied().collect();
        numbers.into_iter().for_each(|number| self.answer::<()>(number, Err(error.clone())));
        // Tasks go on, since they own the connections. It is unknown which were awake, so the task set is polled again.
        self.alarm.state.store(WOKEN, Ordering::Release);
        self.alarm.ring();
        self.deliver();
    }

    fn end(&self) {
        RUNTIME.set(None);
        // Dropping the tasks drops their sockets. Taken in a statement of its own, since destructors may borrow this field.
        let tasks = self.tasks.take();
        drop(tasks);
        self.answers.take();
        self.promises.take();
        close_all();
        self.sending.take();
        if let Some(Open { bell, prepare }) = self.open.take() {
            bell.close();
            prepare.close();
        }
    }
}
