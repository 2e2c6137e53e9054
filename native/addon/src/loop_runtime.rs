//! Futures driven by the event loop of a thread of Node's: a call over tokio's threads costs two wake-ups more than all the rest
//! of it, one to begin and one to come back. Sockets are watched by the loop, and tasks run when it has something for them and
//! before it waits, so that what JavaScript begins together goes to the sockets together. Promises are settled once all that an
//! iteration brought was looked at. Timers alone are tokio's.

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
use crate::loop_socket::{Events, LoopSocket, SocketWatcher};
use crate::uv::{Handle, Watcher};

/// How often tasks are run that woke each other, before JavaScript and other sockets have their turn.
const MOST_ROUNDS: usize = 64;

thread_local! {
    /// The runtime of this thread, made at its first use.
    static RUNTIME: RefCell<Option<LoopRuntime>> = const { RefCell::new(None) };
}

/// The runtime of a thread.
#[derive(Clone)]
pub struct LoopRuntime(Rc<Inner>);

struct Inner {
    attachment: Attachment,
    /// `None` at the end.
    tasks: RefCell<Option<LocalSet>>,
    alarm: Arc<Alarm>,
    open: RefCell<Option<Open>>,
    /// The handles of sockets, by their numbers.
    sockets: RefCell<HashMap<u64, Handle>>,
    /// The sockets that tasks have written to, until that is sent.
    written: RefCell<Vec<Arc<Events>>>,
    /// Wakers to call once everything written has been sent.
    sending: RefCell<Vec<Waker>>,
    last_socket: Cell<u64>,
    /// The promises without an answer, by their numbers.
    promises: RefCell<HashMap<u64, sys::napi_deferred>>,
    last_promise: Cell<u64>,
    /// The answers that JavaScript has not got yet.
    answers: RefCell<Vec<Answer>>,
}

/// Settles a promise.
type Answer = Box<dyn FnOnce(sys::napi_env)>;

/// What there is until the end.
struct Open {
    /// What other threads wake the loop by.
    bell: Handle,
    prepare: Handle,
}

/// Nothing is to be done.
const IDLE: u8 = 0;
/// Tasks are run.
const RUNNING: u8 = 1;
/// There are tasks to run.
const WOKEN: u8 = 2;

/// Who wants tasks to be run.
struct Alarm {
    state: AtomicU8,
    /// That of the loop: it looks before it waits.
    thread: ThreadId,
    bell: UnixStream,
}

impl Alarm {
    fn ring(&self) {
        // A bell that is full rings already; one whose loop is gone is heard by nobody.
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
    /// That of this thread, which is made where there is none yet.
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
            sockets: RefCell::default(),
            written: RefCell::default(),
            sending: RefCell::default(),
            last_socket: Cell::default(),
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

    /// A promise of what `work` resolves to. It begins before the loop waits.
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
            // Else nobody is left to hear of it.
            if let Some(inner) = inner.upgrade() {
                inner.answer(number, answer);
            }
        };
        tasks.spawn_local(settled);
        // Tasks that have never run wake nobody.
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

/// Has the loop of this thread watch a socket.
pub fn watch(stream: std::net::TcpStream) -> std::io::Result<LoopSocket> {
    let gone = || std::io::Error::new(ErrorKind::NotConnected, "the event loop has ended");
    let runtime = RUNTIME.with_borrow(Clone::clone).ok_or_else(gone)?;
    runtime.0.watch(stream)
}

/// Has what tasks have written to a socket sent, once they have written all.
pub fn send_later(socket: &Arc<Events>) {
    RUNTIME.with_borrow(|runtime| {
        if let Some(runtime) = runtime {
            runtime.0.written.borrow_mut().push(Arc::clone(socket));
        }
    });
}

/// Waits until what the tasks of this thread have written is sent.
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

/// Says what a socket of this thread's loop is watched for.
pub fn set_events(number: u64, events: c_int) {
    RUNTIME.with_borrow(|runtime| {
        if let Some(runtime) = runtime
            && let Some(handle) = runtime.0.sockets.borrow().get(&number)
        {
            handle.watch(events);
        }
    });
}

/// Forgets a socket of this thread's loop.
pub fn forget(number: u64) {
    // While a thread ends there may be no such place any more: its handles are closed all the same.
    let runtime = RUNTIME.try_with(|runtime| runtime.try_borrow().ok().and_then(|runtime| runtime.clone()));
    if let Ok(Some(runtime)) = runtime {
        let handle = runtime.0.sockets.borrow_mut().remove(&number);
        handle.into_iter().for_each(Handle::close);
    }
}

impl Inner {
    /// Runs the tasks that are awake.
    fn run(self: &Rc<Self>) {
        // JavaScript does not run meanwhile; but what ends at the end of the thread may come back here.
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

    /// Runs the tasks that are awake, and sends what they have written.
    fn work(self: &Rc<Self>) {
        loop {
            self.run();
            let written = self.written.take();
            written.iter().for_each(|socket| socket.send());
            let sending = self.sending.take();
            if sending.is_empty() {
                break;
            }
            sending.into_iter().for_each(Waker::wake);
        }
        // Of a send that has failed.
        self.ring_if_woken();
    }

    /// Has a promise settled when all that an iteration brought was looked at.
    fn answer<T: ToNapiValue + 'static>(&self, number: u64, answer: Result<T>) {
        let deferred = self.promises.borrow_mut().remove(&number);
        if let Some(deferred) = deferred {
            // SAFETY: the environment is that of this thread when it is called, and the promise is settled once.
            self.answers.borrow_mut().push(Box::new(move |env| unsafe { settle(env, deferred, answer) }));
        }
    }

    /// Has the loop come back at once where there are tasks to run.
    fn ring_if_woken(&self) {
        if self.alarm.state.load(Ordering::Acquire) == WOKEN {
            self.alarm.ring();
        }
    }

    /// Keeps the process alive while something is under way.
    fn keep_alive(&self) {
        if let Some(open) = &*self.open.borrow() {
            open.bell.keep_alive(!self.promises.borrow().is_empty());
        }
    }

    fn watch(self: &Rc<Self>, stream: std::net::TcpStream) -> std::io::Result<LoopSocket> {
        stream.set_nonblocking(true)?;
        let number = self.last_socket.get() + 1;
        self.last_socket.set(number);
        let events = Arc::new(Events::new(number, stream));
        let watcher = Box::new(LoopWatcher { inner: Rc::clone(self), socket: SocketWatcher(Arc::clone(&events)) });
        let descriptor = events.descriptor();
        // SAFETY: the watcher keeps the socket, and tells the attachment.
        let handle = unsafe { self.attachment.watch(descriptor, watcher) };
        let handle = handle.map_err(|error| std::io::Error::other(error.to_string()))?;
        self.sockets.borrow_mut().insert(number, handle);
        Ok(LoopSocket::new(events))
    }
}

/// What the loop calls for a socket.
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

/// What the loop calls when it was woken.
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

/// What the loop calls before it waits.
struct PrepareWatcher(Rc<Inner>);

impl Watcher for PrepareWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        if self.0.alarm.state.load(Ordering::Acquire) == WOKEN {
            self.0.work();
            // The loop may wait for long before it comes to the place of answers; JavaScript may begin something meanwhile.
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
        // Tasks go on, for the connections are theirs. What the loop was at is not known, so it looks at all of it again.
        self.alarm.state.store(WOKEN, Ordering::Release);
        self.alarm.ring();
        self.deliver();
    }

    fn end(&self) {
        RUNTIME.set(None);
        // Sockets go with their tasks; a statement of its own, since what they end with may look here.
        let tasks = self.tasks.take();
        drop(tasks);
        self.answers.take();
        self.promises.take();
        let sockets = self.sockets.take();
        sockets.into_values().for_each(Handle::close);
        self.written.take();
        self.sending.take();
        if let Some(Open { bell, prepare }) = self.open.take() {
            bell.close();
            prepare.close();
        }
    }
}
