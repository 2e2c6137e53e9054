//! Futures on the event loop. The loop watches their sockets, and tasks run when a socket is ready and before the loop waits, so
//! that calls that JavaScript begins together are sent together.

use std::cell::RefCell;
use std::ffi::c_int;
use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use boundary_bench_kernel::{Error, Result};
use socket2::SockRef;
use tokio::task::LocalSet;

use crate::handle::Handle;
use crate::handles::Handles;
use crate::poller::Turns;
use crate::socket_number::number_of;
use crate::task_socket::{Events, SocketWatcher, TaskSocket, close_all, send_written};
use crate::watcher::Watcher;

/// The most rounds of polling tasks that woke each other before JavaScript and other sockets get their turn.
const MOST_ROUNDS: usize = 64;

/// One end of the socket pair by which other threads wake libuv's loop.
#[cfg(unix)]
type BellSocket = std::os::unix::net::UnixStream;
#[cfg(windows)]
type BellSocket = std::net::TcpStream;

thread_local! {
    /// The owner of this thread's tasks.
    static OWNER: RefCell<Option<Rc<dyn TaskOwner>>> = const { RefCell::new(None) };
}

/// The owner of a thread's tasks. It delivers their outcomes.
pub trait TaskOwner: 'static {
    /// The tasks.
    fn tasks(&self) -> &Tasks;

    /// The handles of the tasks and their sockets.
    fn handles(&self) -> &Handles;

    /// Does the work with the runtime at hand that drives timers.
    fn within(&self, work: &mut dyn FnMut());

    /// Gives the outcomes so far to JavaScript. JavaScript may then begin other tasks.
    fn deliver(&self);

    /// Fails all work under way with the error. It is called after a callback of the loop has panicked.
    fn fail(&self, error: &Error);
}

/// The tasks of one of Node's threads.
pub struct Tasks {
    /// The tasks, or `None` once they have ended.
    set: RefCell<Option<LocalSet>>,
    alarm: Arc<Alarm>,
    /// The read end of the socket pair by which other threads wake libuv's loop, until the loop watches it.
    reader: RefCell<Option<BellSocket>>,
    open: RefCell<Option<Open>>,
    /// Wakers to call once everything written has been sent.
    sending: RefCell<Vec<Waker>>,
}

/// The handles of the tasks themselves, open until they end.
struct Open {
    /// The handle of the read end of the socket pair by which other threads wake libuv's loop.
    reader: Option<Handle>,
    prepare: Handle,
}

/// [`Alarm::state`]: no task is awake.
const IDLE: u8 = 0;
/// [`Alarm::state`]: tasks are being polled.
const RUNNING: u8 = 1;
/// [`Alarm::state`]: a task is awake and must be polled.
const WOKEN: u8 = 2;

/// The waker of all tasks: notes that a task is awake, and has the loop call the watcher that polls it.
struct Alarm {
    state: AtomicU8,
    /// The loop's thread.
    thread: ThreadId,
    bell: Bell,
}

/// The means by which any thread makes the loop have an iteration soon.
enum Bell {
    /// The write end of a socket pair whose read end libuv's loop watches.
    Libuv(BellSocket),
    /// The requests of turns of a loop of ours.
    Polled(Turns),
}

impl Alarm {
    /// Makes the loop have an iteration soon.
    fn ring(&self) {
        match &self.bell {
            Bell::Libuv(writer) => {
                let mut writer = writer;
                // A full socket has already woken the loop. An error means that the loop has ended, and there is nothing to wake.
                let _ = writer.write(&[1]);
            }
            Bell::Polled(turns) => turns.request(),
        }
    }

    /// Whether the loop, woken by the calling thread, may wait without checking `state` before.
    fn may_be_missed(&self) -> bool {
        // libuv's loop calls the watcher of the prepare phase after all that runs on its own thread.
        matches!(self.bell, Bell::Polled(_)) || thread::current().id() != self.thread
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.swap(WOKEN, Ordering::AcqRel) == IDLE && self.may_be_missed() {
            self.ring();
        }
    }
}

impl Tasks {
    /// No tasks yet, on this thread, whose owner has `handles`.
    pub fn new(handles: &Handles) -> Result<Self> {
        let (bell, reader) = if let Some(turns) = handles.turns() {
            (Bell::Polled(turns), None)
        } else {
            let failed = |error| Error::Internal(format!("the event loop can't be woken: {error}"));
            let (writer, reader) = libuv_bell().map_err(failed)?;
            (Bell::Libuv(writer), Some(reader))
        };
        Ok(Self {
            set: RefCell::new(Some(LocalSet::new())),
            alarm: Arc::new(Alarm { state: AtomicU8::new(IDLE), thread: thread::current().id(), bell }),
            reader: RefCell::new(reader),
            open: RefCell::default(),
            sending: RefCell::default(),
        })
    }

    /// Lets the event loop run the tasks of their owner. They belong to this thread from now on.
    pub fn attach(owner: &Rc<impl TaskOwner>) -> Result<()> {
        let (owner, tasks): (Rc<dyn TaskOwner>, _) = (Rc::clone(owner) as _, owner.tasks());
        let watched = |reader: BellSocket| {
            let number = number_of(&SockRef::from(&reader));
            let watcher = Box::new(BellWatcher { owner: Rc::clone(&owner), reader });
            // SAFETY: the watcher keeps the socket, and tells the handles.
            unsafe { owner.handles().poll(number, watcher) }
        };
        let reader = tasks.reader.take().map(watched).transpose()?;
        let prepare = owner.handles().prepare(Box::new(PrepareWatcher(Rc::clone(&owner))))?;
        *tasks.open.borrow_mut() = Some(Open { reader, prepare });
        OWNER.set(Some(owner));
        Ok(())
    }

    /// Adds a task. It is first polled before the loop waits.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) -> Result<()> {
        let set = self.set.try_borrow();
        let set = set.as_ref().ok().and_then(|set| set.as_ref()).ok_or(Error::Closed("the event loop"))?;
        set.spawn_local(task);
        // A task that has never been polled wakes nothing.
        self.alarm.wake_by_ref();
        Ok(())
    }

    /// Sets whether the tasks keep the process alive.
    pub fn keep_alive(&self, keep: bool) {
        if let Some(open) = &*self.open.borrow() {
            open.prepare.keep_alive(keep);
        }
    }

    /// Polls all tasks again soon, for when it is unknown which of them were awake.
    pub fn poll_again(&self) {
        self.alarm.state.store(WOKEN, Ordering::Release);
        self.alarm.ring();
    }

    /// Ends all tasks and closes their sockets. Does nothing the second time.
    pub fn end(&self) {
        OWNER.set(None);
        // Dropping the tasks drops their sockets. Taken in a statement of its own, since destructors may borrow this field.
        let set = self.set.take();
        drop(set);
        close_all();
        self.sending.take();
        if let Some(Open { reader, prepare }) = self.open.take() {
            reader.into_iter().for_each(Handle::close);
            prepare.close();
        }
    }

    /// Polls the tasks that are awake.
    fn run(&self, owner: &dyn TaskOwner) {
        // JavaScript does not run meanwhile, but at the end of the thread a destructor may call back here with the tasks
        // borrowed.
        let Ok(mut set) = self.set.try_borrow_mut() else { return };
        let Some(set) = &mut *set else { return };
        let waker = Waker::from(Arc::clone(&self.alarm));
        let mut context = Context::from_waker(&waker);
        owner.within(&mut || {
            for _ in 0..MOST_ROUNDS {
                self.alarm.state.store(RUNNING, Ordering::Release);
                let _ = Pin::new(&mut *set).poll(&mut context);
                if self.alarm.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    return;
                }
            }
        });
    }

    /// Polls the tasks that are awake, and sends what they have written.
    fn work(&self, owner: &dyn TaskOwner) {
        loop {
            self.run(owner);
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

    /// Makes the loop's next wait return at once if a task is awake.
    fn ring_if_woken(&self) {
        if self.alarm.state.load(Ordering::Acquire) == WOKEN {
            self.alarm.ring();
        }
    }
}

/// The two ends of a socket pair by which any thread wakes libuv's loop, the one to write to first.
fn libuv_bell() -> std::io::Result<(BellSocket, BellSocket)> {
    let (writer, reader) = bell_pair()?;
    writer.set_nonblocking(true)?;
    reader.set_nonblocking(true)?;
    Ok((writer, reader))
}

#[cfg(unix)]
fn bell_pair() -> std::io::Result<(BellSocket, BellSocket)> {
    BellSocket::pair()
}

/// Windows has no pairs of sockets: one end connects to a listener of its own on the loopback, and takes no other's connection.
#[cfg(windows)]
fn bell_pair() -> std::io::Result<(BellSocket, BellSocket)> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let writer = BellSocket::connect(listener.local_addr()?)?;
    writer.set_nodelay(true)?;
    loop {
        let (reader, peer) = listener.accept()?;
        if peer == writer.local_addr()? {
            return Ok((writer, reader));
        }
    }
}

/// Registers a socket with the loop of this thread.
pub fn watch(stream: std::net::TcpStream) -> std::io::Result<TaskSocket> {
    let gone = || std::io::Error::new(ErrorKind::NotConnected, "the event loop has ended");
    let owner = OWNER.with_borrow(Clone::clone).ok_or_else(gone)?;
    stream.set_nonblocking(true)?;
    let events = Events::new(stream);
    let watcher = Box::new(TaskWatcher { owner: Rc::clone(&owner), socket: SocketWatcher(Arc::clone(&events)) });
    // SAFETY: the watcher keeps the socket, and tells the handles.
    let handle = unsafe { owner.handles().poll(events.socket_number(), watcher) };
    let handle = handle.map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(TaskSocket::new(events, handle))
}

/// Waits until the output that the tasks of this thread have written is sent.
pub async fn sent() {
    let mut is_waiting = false;
    poll_fn(|context| {
        if is_waiting {
            return Poll::Ready(());
        }
        is_waiting = true;
        OWNER.with_borrow(|owner| {
            let Some(owner) = owner else { return Poll::Ready(()) };
            owner.tasks().sending.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    })
    .await;
}

/// The watcher of a task's socket.
struct TaskWatcher {
    owner: Rc<dyn TaskOwner>,
    socket: SocketWatcher,
}

impl Watcher for TaskWatcher {
    fn on_event(&self, status: c_int, events: c_int) {
        self.socket.on_event(status, events);
        self.owner.tasks().work(&*self.owner);
    }

    fn on_panic(&self, error: &Error) {
        self.owner.fail(error);
    }

    fn on_closed(&self) {
        self.owner.handles().on_closed();
    }
}

/// The watcher of the socket pair by which other threads wake libuv's loop.
struct BellWatcher {
    owner: Rc<dyn TaskOwner>,
    reader: BellSocket,
}

impl Watcher for BellWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        let mut rung = [0; 64];
        while (&self.reader).read(&mut rung).is_ok_and(|bytes| bytes == rung.len()) {}
        self.owner.tasks().work(&*self.owner);
    }

    fn on_panic(&self, error: &Error) {
        self.owner.fail(error);
    }

    fn on_closed(&self) {
        self.owner.handles().on_closed();
    }
}

/// The watcher that the loop calls before it waits.
struct PrepareWatcher(Rc<dyn TaskOwner>);

impl Watcher for PrepareWatcher {
    fn on_event(&self, _status: c_int, _events: c_int) {
        let tasks = self.0.tasks();
        if tasks.alarm.state.load(Ordering::Acquire) == WOKEN {
            tasks.work(&*self.0);
            // Delivered here too, since the loop may wait long before its check handle. JavaScript may begin other calls in it.
            self.0.deliver();
            tasks.ring_if_woken();
        }
    }

    fn on_panic(&self, error: &Error) {
        self.0.fail(error);
    }

    fn on_closed(&self) {
        self.0.handles().on_closed();
    }
}
