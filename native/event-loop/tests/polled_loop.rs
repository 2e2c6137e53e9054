//! The loop of our own, driven as a runtime drives it: a test takes a turn whenever the loop asks for one.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use boundary_bench_event_loop::{
    EventLoop, Handle, Handles, Phase, PolledLoop, READABLE, TaskOwner, Tasks, WRITABLE, Watcher, panic_in_next, watch,
};
use boundary_bench_kernel::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The time within which the loop asks for a turn.
const SOON: Duration = Duration::from_secs(20);

/// The time in which a loop without work is seen to ask for no turn.
const QUIET: Duration = Duration::from_millis(100);

/// A loop, the turns that it asks for, and whether it keeps the process alive.
struct Host {
    event_loop: Rc<PolledLoop>,
    asked: Receiver<()>,
    is_alive: Rc<Cell<bool>>,
    handles: Rc<Handles>,
}

impl Host {
    fn start() -> Self {
        let (ask, asked) = mpsc::channel();
        let is_alive = Rc::new(Cell::new(false));
        let set = Rc::clone(&is_alive);
        let wake = move || {
            // Only the end of a test closes the channel.
            let _ = ask.send(());
        };
        let event_loop = PolledLoop::new(wake, move |keep| set.set(keep)).expect("a loop");
        let handles = Rc::new(Handles::new(EventLoop::Polled(Rc::clone(&event_loop))));
        Self { event_loop, asked, is_alive, handles }
    }

    /// Takes the turn that the loop asks for.
    fn turn(&self) {
        self.asked.recv_timeout(SOON).expect("the loop asks for a turn");
        self.event_loop.turn();
    }

    /// Takes turns until something is so.
    fn turn_until(&self, is_so: impl Fn() -> bool) {
        while !is_so() {
            self.turn();
        }
    }

    /// Takes the turns that the loop asks for until it has asked for none for a while.
    fn settle(&self) {
        while self.asked.recv_timeout(QUIET).is_ok() {
            self.event_loop.turn();
        }
    }

    fn poll(&self, socket: &TcpStream, recorder: Recorder) -> Handle {
        // SAFETY: the tests close their handles before their sockets, and recorders tell the handles.
        unsafe { self.handles.poll(socket.as_raw_fd(), Box::new(recorder)) }.expect("a handle")
    }

    /// A recorder that does work at each event.
    fn recorder(&self, log: &Log, name: &'static str, work: impl Fn() + 'static) -> Recorder {
        Recorder { handles: Rc::clone(&self.handles), log: Rc::clone(log), name, work: Box::new(work) }
    }
}

/// The calls of watchers, in order.
type Log = Rc<RefCell<Vec<(&'static str, String)>>>;

/// A watcher that writes down what it is told.
struct Recorder {
    handles: Rc<Handles>,
    log: Log,
    name: &'static str,
    work: Box<dyn Fn()>,
}

impl Watcher for Recorder {
    fn on_event(&self, status: c_int, events: c_int) {
        self.log.borrow_mut().push((self.name, format!("{status} {events}")));
        (self.work)();
    }

    fn on_panic(&self, error: &Error) {
        self.log.borrow_mut().push((self.name, error.code().to_owned()));
    }

    fn on_closed(&self) {
        self.log.borrow_mut().push((self.name, "closed".to_owned()));
        self.handles.on_closed();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.log.borrow_mut().push((self.name, "dropped".to_owned()));
    }
}

/// The two ends of a connection. The first end does not block.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (far, _) = listener.accept().expect("the other end");
    near.set_nonblocking(true).expect("a socket that does not block");
    (near, far)
}

fn texts(log: &Log) -> Vec<String> {
    log.borrow_mut().drain(..).map(|(_, text)| text).collect()
}

#[test]
fn a_socket_is_reported_until_it_is_read_empty() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let reader = near.try_clone().expect("a clone");
    let read = Rc::new(RefCell::new(Vec::new()));
    let bytes = Rc::clone(&read);
    let recorder = host.recorder(&log, "socket", move || {
        let mut two = [0; 2];
        if let Ok(count) = (&reader).read(&mut two) {
            bytes.borrow_mut().extend_from_slice(&two[..count]);
        }
    });
    let handle = host.poll(&near, recorder);
    host.settle();
    assert_eq!(texts(&log), [""; 0], "nothing came");

    far.write_all(b"abcde").expect("sent");
    host.turn_until(|| read.borrow().len() == 5);
    host.settle();
    assert!(log.borrow().len() >= 3, "two bytes a report");
    assert!(log.borrow().iter().all(|(_, text)| text == &format!("0 {READABLE}")));
    texts(&log);

    far.write_all(b"fg").expect("sent");
    host.turn_until(|| read.borrow().len() == 7);
    assert_eq!(*read.borrow(), b"abcdefg");
    drop(far);
    texts(&log);
    host.turn_until(|| !log.borrow().is_empty());
    assert_eq!(texts(&log), [format!("0 {READABLE}")], "the end of the stream is there to read");
    handle.close();
    host.settle();
}

#[test]
fn a_socket_is_reported_for_the_watched_events_alone() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let handle = host.poll(&near, host.recorder(&log, "socket", || {}));
    handle.watch(WRITABLE);
    host.turn();
    assert_eq!(texts(&log), [format!("0 {WRITABLE}")]);

    handle.watch(0);
    far.write_all(b"a").expect("sent");
    host.settle();
    assert_eq!(texts(&log), [""; 0]);

    handle.watch(READABLE);
    host.turn();
    assert_eq!(texts(&log), [format!("0 {READABLE}")], "what came meanwhile");
    handle.watch(READABLE | WRITABLE);
    host.turn_until(|| log.borrow().last().is_some_and(|(_, text)| text == &format!("0 {}", READABLE | WRITABLE)));
    handle.close();
    host.settle();
}

#[test]
fn a_socket_that_fails_is_reported_once_with_a_status() {
    let host = Host::start();
    let (near, far) = connection();
    let log = Log::default();
    let handle = host.poll(&near, host.recorder(&log, "socket", || {}));
    socket2::SockRef::from(&far).set_linger(Some(Duration::ZERO)).expect("a connection that is reset");
    drop(far);
    host.turn_until(|| !log.borrow().is_empty());
    host.settle();
    assert_eq!(texts(&log), [format!("{} 0", -libc::EBADF)]);
    handle.close();
    host.settle();
}

#[test]
fn phases_are_called_in_order_in_every_turn() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let prepare = host.handles.prepare(Box::new(host.recorder(&log, "prepare", || {}))).expect("a handle");
    let check = host.handles.check(Box::new(host.recorder(&log, "check", || {}))).expect("a handle");
    let socket = host.poll(&near, host.recorder(&log, "socket", || {}));
    far.write_all(b"a").expect("sent");
    host.turn();
    let names: Vec<_> = log.borrow().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["socket", "check", "prepare"]);
    [prepare, check, socket].into_iter().for_each(Handle::close);
    host.settle();
}

#[test]
fn a_handle_is_closed_by_the_next_turn_and_not_called_before() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let handle = host.poll(&near, host.recorder(&log, "socket", || {}));
    far.write_all(b"a").expect("sent");
    // The socket is in the list of the next turn.
    host.asked.recv_timeout(SOON).expect("the loop asks for a turn");
    handle.close();
    assert_eq!(texts(&log), [""; 0]);
    assert!(host.is_alive.get(), "what the closing has left is still to be delivered");
    host.event_loop.turn();
    assert_eq!(texts(&log), ["closed", "dropped"]);
    assert!(!host.is_alive.get());
}

#[test]
fn a_handle_closed_by_its_watcher_is_closed_after_the_next_check() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let place = Rc::new(RefCell::new(None::<Handle>));
    let own = Rc::clone(&place);
    let closing = move || own.take().into_iter().for_each(Handle::close);
    *place.borrow_mut() = Some(host.poll(&near, host.recorder(&log, "socket", closing)));
    let check = host.handles.check(Box::new(host.recorder(&log, "check", || {}))).expect("a handle");
    far.write_all(b"a").expect("sent");
    host.turn();
    assert_eq!(texts(&log), [format!("0 {READABLE}"), "0 0".to_owned()]);
    host.turn();
    assert_eq!(texts(&log), ["0 0", "closed", "dropped"]);
    check.close();
    host.settle();
}

#[test]
fn a_panic_is_told_to_the_watcher_and_the_socket_watched_on() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let handle = host.poll(&near, host.recorder(&log, "socket", || {}));
    panic_in_next(Phase::Poll);
    far.write_all(b"a").expect("sent");
    host.turn();
    host.turn();
    assert_eq!(texts(&log)[..2], ["BB_INTERNAL".to_owned(), format!("0 {READABLE}")]);
    handle.close();
    host.settle();
}

#[test]
fn the_process_is_kept_alive_as_long_as_a_handle_asks() {
    let host = Host::start();
    let (near, _far) = connection();
    let log = Log::default();
    let socket = host.poll(&near, host.recorder(&log, "socket", || {}));
    let check = host.handles.check(Box::new(host.recorder(&log, "check", || {}))).expect("a handle");
    assert!(!host.is_alive.get());
    socket.keep_alive(true);
    socket.keep_alive(true);
    check.keep_alive(true);
    socket.keep_alive(false);
    assert!(host.is_alive.get());
    check.keep_alive(false);
    assert!(!host.is_alive.get());
    socket.close();
    check.close();
    host.settle();
    assert!(!host.is_alive.get());
}

#[test]
fn the_end_of_the_thread_closes_all_without_a_turn() {
    let host = Host::start();
    let (near, mut far) = connection();
    let log = Log::default();
    let handle = host.poll(&near, host.recorder(&log, "socket", || {}));
    let is_over = Rc::new(Cell::new(false));
    let over = Rc::clone(&is_over);
    handle.close();
    host.handles.when_closed(Box::new(move || over.set(true)));
    assert_eq!(texts(&log), ["closed", "dropped"]);
    assert!(is_over.get());

    host.event_loop.end();
    host.event_loop.end();
    while host.asked.try_recv().is_ok() {}
    far.write_all(b"a").expect("sent");
    let late = host.handles.check(Box::new(host.recorder(&log, "late", || {})));
    assert_eq!(late.err().map(|error| error.code()), Some("BB_CLOSED"));
    assert!(host.asked.recv_timeout(QUIET).is_err(), "nobody asks for turns any more");
}

#[test]
fn a_task_that_reads_more_slowly_than_its_server_sends_leaves_the_loop_its_turns() {
    const SENT: usize = 8 << 20;
    let host = Host::start();
    let tasks = Tasks::new(&host.handles).expect("tasks");
    let owner = Rc::new(Owner { tasks, handles: Rc::clone(&host.handles) });
    Tasks::attach(&owner).expect("attached");
    let (near, mut far) = connection();
    let flood = thread::spawn(move || far.write_all(&vec![7; SENT]).expect("sent"));
    let received = Rc::new(Cell::new(0));
    let count = Rc::clone(&received);
    let read = async move {
        let mut socket = watch(near).expect("a socket");
        while count.get() < SENT {
            count.set(count.get() + socket.read(&mut [0; 64]).await.expect("read"));
        }
    };
    owner.tasks.spawn(read).expect("spawned");
    let mut most = 0;
    while received.get() < SENT {
        let before = received.get();
        host.turn();
        most = most.max(received.get() - before);
    }
    assert!(most <= 256 << 10, "{most} bytes in one turn");
    flood.join().expect("the other end");
    owner.tasks.end();
    host.settle();
}

/// An owner of tasks without a runtime of timers. It delivers nothing.
struct Owner {
    tasks: Tasks,
    handles: Rc<Handles>,
}

impl TaskOwner for Owner {
    fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn handles(&self) -> &Handles {
        &self.handles
    }

    fn within(&self, work: &mut dyn FnMut()) {
        work();
    }

    fn deliver(&self) {}

    fn fail(&self, error: &Error) {
        panic!("{error}");
    }
}

#[test]
fn tasks_run_when_they_are_spawned_when_their_sockets_are_ready_and_when_another_thread_wakes_them() {
    let host = Host::start();
    let tasks = Tasks::new(&host.handles).expect("tasks");
    let owner = Rc::new(Owner { tasks, handles: Rc::clone(&host.handles) });
    Tasks::attach(&owner).expect("attached");
    let (near, mut far) = connection();
    let echo = thread::spawn(move || {
        let mut all = vec![0; 1 << 20];
        far.read_exact(&mut all).expect("received");
        far.write_all(&all).expect("sent");
    });
    let received = Rc::new(Cell::new(0));
    let count = Rc::clone(&received);
    let exchanged = async move {
        let mut socket = watch(near).expect("a socket");
        socket.write_all(&vec![7; 1 << 20]).await.expect("written");
        let mut all = vec![0; 1 << 20];
        socket.read_exact(&mut all).await.expect("read");
        assert!(all.iter().all(|byte| *byte == 7));
        count.set(all.len());
    };
    owner.tasks.spawn(exchanged).expect("spawned");
    host.turn_until(|| received.get() > 0);
    assert_eq!(received.get(), 1 << 20);
    echo.join().expect("the other end");

    let is_woken = Rc::new(Cell::new(false));
    let woken = Rc::clone(&is_woken);
    let mut is_first = true;
    let waits = poll_fn(move |context| {
        if std::mem::take(&mut is_first) {
            let waker = context.waker().clone();
            thread::spawn(move || {
                thread::sleep(QUIET);
                waker.wake();
            });
            return Poll::Pending;
        }
        woken.set(true);
        Poll::Ready(())
    });
    owner.tasks.spawn(waits).expect("spawned");
    host.turn_until(|| is_woken.get());
    owner.tasks.end();
    host.settle();
}
