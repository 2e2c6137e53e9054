//! Connections that the loop drives, whose servers end them in several ways.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use boundary_bench_event_loop::{EventLoop, Handles, PolledLoop, Protocol, SocketOwner, Sockets, add};
use boundary_bench_kernel::driven_stream::{Driven, DrivenStream};
use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::socket::lost;
use boundary_bench_kernel::{Error, Result};

/// The time within which the loop asks for a turn.
const SOON: Duration = Duration::from_secs(20);

/// A protocol whose answers end with their connections.
#[derive(Default)]
struct UntilClose {
    frame: Frame,
    /// The bytes received by each lost connection, and the kind of its error.
    lost: Vec<(Vec<u8>, ErrorKind)>,
}

struct Transfer {
    unsent: Vec<u8>,
    received: Vec<u8>,
    room: [u8; 64],
}

impl Driven for Transfer {
    fn unsent(&self) -> &[u8] {
        &self.unsent
    }

    fn room(&mut self) -> &mut [u8] {
        &mut self.room
    }

    fn in_flight(&self) -> usize {
        1
    }
}

impl Protocol for UntilClose {
    type Session = Transfer;

    fn frame(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn sent(&mut self, session: &mut Transfer, bytes: usize) {
        session.unsent.drain(..bytes);
    }

    fn received(&mut self, session: &mut Transfer, bytes: usize) -> Result<()> {
        session.received.extend_from_slice(&session.room[..bytes]);
        Ok(())
    }

    fn lost(&mut self, session: &mut Transfer, error: &std::io::Error) -> Error {
        self.lost.push((session.received.clone(), error.kind()));
        lost(&"the server", error)
    }

    fn ended(&mut self, _: usize, _: &mut Transfer, _: &Error) {}
}

struct Owner {
    handles: Rc<Handles>,
    sockets: RefCell<Sockets<UntilClose>>,
}

impl SocketOwner for Owner {
    type Protocol = UntilClose;

    fn handles(&self) -> &Handles {
        &self.handles
    }

    fn sockets(&self) -> &RefCell<Sockets<UntilClose>> {
        &self.sockets
    }

    fn deliver(&self) {
        self.sockets.borrow_mut().clear_results();
    }
}

/// The bytes that a connection has received when it is lost, and the kind of its error. `end` is the server. It gets the socket
/// before the loop watches the other end. `unsent` is still to be sent then.
fn outcome(unsent: &[u8], end: impl FnOnce(TcpStream)) -> Vec<(Vec<u8>, ErrorKind)> {
    let (ask, asked) = mpsc::channel();
    let wake = move || {
        // Only the end of a test closes the channel.
        let _ = ask.send(());
    };
    let event_loop = PolledLoop::new(wake, |_| {}).expect("a loop");
    let handles = Rc::new(Handles::new(EventLoop::Polled(Rc::clone(&event_loop))));
    let owner = Rc::new(Owner { handles, sockets: RefCell::new(Sockets::new(UntilClose::default())) });

    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let mut near = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
    let (far, _) = listener.accept().expect("the other end");
    near.write_all(b"request").expect("sent");
    near.set_nonblocking(true).expect("a socket that does not block");
    end(far);
    let session = Transfer { unsent: unsent.to_vec(), received: Vec::new(), room: [0; 64] };
    let number = add(&owner, DrivenStream::plain(near), session).expect("a connection of the loop");
    owner.sockets.borrow_mut().send(number as usize);
    while owner.sockets.borrow().protocol.lost.is_empty() {
        asked.recv_timeout(SOON).expect("the loop asks for a turn");
        event_loop.turn();
    }
    let found = std::mem::take(&mut owner.sockets.borrow_mut().protocol.lost);
    event_loop.end();
    found
}

fn answer(far: &mut TcpStream) {
    far.read_exact(&mut [0; 7]).expect("the request");
    far.write_all(b"abc").expect("sent");
}

/// Answers, and resets the connection.
fn reset(mut far: TcpStream) {
    answer(&mut far);
    socket2::SockRef::from(&far).set_linger(Some(Duration::ZERO)).expect("a connection that is reset");
}

#[test]
fn a_reset_is_not_taken_for_the_end_of_the_data() {
    assert_eq!(outcome(b"", reset), [(b"abc".to_vec(), ErrorKind::ConnectionReset)]);
}

#[test]
fn a_reset_that_sending_finds_is_not_taken_for_the_end_of_the_data() {
    assert_eq!(outcome(b"more", reset), [(b"abc".to_vec(), ErrorKind::ConnectionReset)]);
}

#[test]
fn data_that_the_server_has_ended_are_whole_even_if_it_refuses_more() {
    let close = |mut far: TcpStream| answer(&mut far);
    assert_eq!(outcome(b"", close), [(b"abc".to_vec(), ErrorKind::UnexpectedEof)]);
    assert_eq!(outcome(b"more", close), [(b"abc".to_vec(), ErrorKind::UnexpectedEof)]);
}
