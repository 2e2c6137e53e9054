//! Promises of futures on the event loop of one of Node's threads. A call through tokio's threads costs two wake-ups more than all
//! the rest of it, one to begin and one to come back. Promises are settled once all ready sockets of an iteration have been
//! handled. Only timers run on tokio.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ptr;
use std::rc::Rc;

use boundary_bench_event_loop::{Handles, TaskOwner, Tasks};
use boundary_bench_kernel::error::{catch_panic, catch_panic_in};
use boundary_bench_kernel::{Error, Result};
use napi::bindgen_prelude::{ToNapiValue, Unknown, within_runtime_if_available};
use napi::{Env, JsError, sys};

use crate::host::attachment::{Attached, Attachment};
use crate::host::errors::js;

thread_local! {
    /// The runtime of this thread, made at its first use.
    static RUNTIME: RefCell<Option<LoopRuntime>> = const { RefCell::new(None) };
}

/// The runtime of one of Node's threads.
#[derive(Clone)]
pub struct LoopRuntime(Rc<Inner>);

struct Inner {
    attachment: Attachment,
    tasks: Tasks,
    /// The unsettled promises, by their numbers.
    promises: RefCell<HashMap<u64, sys::napi_deferred>>,
    last_promise: Cell<u64>,
    /// The number of [`LoopRuntime::hold`]s.
    holds: Cell<usize>,
    /// Answers of promises that are not settled in JavaScript yet.
    answers: RefCell<Vec<Settlement>>,
}

/// Settles a promise.
type Settlement = Box<dyn FnOnce(sys::napi_env)>;

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
        let attachment = Attachment::new(env)?;
        let tasks = Tasks::new(attachment.handles()).map_err(js)?;
        let inner = Rc::new(Inner {
            attachment,
            tasks,
            promises: RefCell::default(),
            last_promise: Cell::default(),
            holds: Cell::default(),
            answers: RefCell::default(),
        });
        Attachment::attach(&inner, env, None)?;
        Tasks::attach(&inner).map_err(js)?;
        Ok(Self(inner))
    }

    /// Returns a promise of the output of `work`. The work is first polled before the loop waits.
    pub fn promise<T: ToNapiValue + 'static>(
        &self,
        env: Env,
        work: impl Future<Output = Result<T>> + 'static,
    ) -> napi::Result<Unknown<'static>> {
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the environment belongs to the call under way, and the out-pointers are valid.
        let status = unsafe { sys::napi_create_promise(env.raw(), &raw mut deferred, &raw mut promise) };
        if status != sys::Status::napi_ok {
            return Err(js(Error::Internal("no promise could be made".to_owned())));
        }
        let number = self.0.last_promise.get() + 1;
        self.0.last_promise.set(number);
        self.0.promises.borrow_mut().insert(number, deferred);
        let inner = Rc::downgrade(&self.0);
        let settled = async move {
            let answer = catch_panic_in(work).await;
            // If the runtime has ended, there is no promise left to settle.
            if let Some(inner) = inner.upgrade() {
                inner.answer(number, answer);
            }
        };
        if let Err(error) = self.0.tasks.spawn(settled) {
            self.0.promises.borrow_mut().remove(&number);
            return Err(js(error));
        }
        self.0.keep_alive();
        // SAFETY: the value is returned from the call under way.
        Ok(unsafe { Unknown::from_raw_unchecked(env.raw(), promise) })
    }
}

impl LoopRuntime {
    /// Runs work that no promise waits for. It is first polled before the loop waits, and ends with the thread.
    pub fn spawn(&self, work: impl Future<Output = ()> + 'static) -> Result<()> {
        self.0.tasks.spawn(work)
    }

    /// Has `deliver` called when the answers of this iteration are given to JavaScript.
    pub fn deliver_with(&self, deliver: impl FnOnce() + 'static) {
        self.0.answers.borrow_mut().push(Box::new(move |_| deliver()));
    }

    /// Keeps the process alive, until it is called as often with false as with true.
    pub fn hold(&self, is_held: bool) {
        let holds = self.0.holds.get();
        self.0.holds.set(if is_held { holds + 1 } else { holds - 1 });
        self.0.keep_alive();
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

impl Inner {
    /// Queues the answer of a promise, to be settled once all ready sockets of this iteration have been handled.
    fn answer<T: ToNapiValue + 'static>(&self, number: u64, answer: Result<T>) {
        let deferred = self.promises.borrow_mut().remove(&number);
        if let Some(deferred) = deferred {
            // SAFETY: the environment is this thread's when it is called, and the promise is settled once.
            self.answers.borrow_mut().push(Box::new(move |env| unsafe { settle(env, deferred, answer) }));
        }
    }

    /// Keeps the process alive while promises are unsettled, or it is held.
    fn keep_alive(&self) {
        self.tasks.keep_alive(self.holds.get() > 0 || !self.promises.borrow().is_empty());
    }
}

impl TaskOwner for Inner {
    fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn handles(&self) -> &Handles {
        self.attachment.handles()
    }

    fn within(&self, work: &mut dyn FnMut()) {
        within_runtime_if_available(work);
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
        // Tasks go on, since they own the connections.
        self.tasks.poll_again();
        TaskOwner::deliver(self);
    }
}

impl Attached for Inner {
    fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    fn deliver(&self) {
        TaskOwner::deliver(self);
    }

    fn fail(&self, error: &Error) {
        TaskOwner::fail(self, error);
    }

    fn end(&self) {
        RUNTIME.set(None);
        self.tasks.end();
        self.answers.take();
        self.promises.take();
    }
}
