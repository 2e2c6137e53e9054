//! A session whose socket an event loop watches. It does one thing at a time, and goes on when it is polled: no other
//! thread has a part in it, since two wake-ups a request would take longer than all the rest.

use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::{Error, Result};

use crate::pool::{Pool, Session};
use crate::submission::{Shapes, Submission};
use crate::transport::Drive;
use crate::url::Url;

/// Bytes that are read at a time, before whatever else the event loop has to do has its turn: some milliseconds' worth.
const BYTES_A_TURN: usize = 256 << 10;

/// What is under way; it gives the session back.
type Work = Pin<Box<dyn Future<Output = (Box<Session>, Result<Vec<u8>>)> + Send>>;

/// A session that is polled.
pub struct DrivenSession {
    state: State,
    drive: Drive,
    /// Its number on the server, and who can end what it runs.
    id: u32,
    pool: Arc<Pool>,
    version: String,
}

enum State {
    Idle(Box<Session>),
    Busy(Work),
    /// The connection is lost.
    Over,
}

impl DrivenSession {
    /// Connects, on the runtime that this is called on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over TLS, [`Error::Engine`] where there is no such server or it refuses.
    pub async fn open(url: &Url) -> Result<Self> {
        let pool = Pool::new(url.clone(), Vec::new(), 1);
        let session = pool.lease().await?.into_session();
        let driven = session.map(Session::into_driven).transpose()?.flatten();
        let Some((session, drive)) = driven else {
            return Err(Error::Unsupported("a connection over TLS can't be driven by the event loop".to_owned()));
        };
        let (id, version) = (session.connection.id(), session.connection.version().to_owned());
        Ok(Self { state: State::Idle(Box::new(session)), drive, id, pool, version })
    }

    /// The server's name and version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The socket to watch.
    #[must_use]
    pub fn socket(&self) -> RawFd {
        self.drive.socket
    }

    /// Whether it waits for room to send, and not only for what comes.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        self.drive.wants_room.load(Ordering::Relaxed)
    }

    /// Whether something is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy(_))
    }

    /// Whether it can't be used any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Begins something; returns its outcome where it is there at once.
    pub fn submit(&mut self, submission: Submission, shapes: Arc<Shapes>) -> Option<Result<Vec<u8>>> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Idle(mut session) => {
                let max_packet = self.pool.max_packet();
                self.state = State::Busy(Box::pin(async move {
                    session.make_room(1);
                    let result = submission.perform(&mut session, max_packet, &shapes).await;
                    (session, result)
                }));
                self.poll()
            }
            State::Busy(work) => {
                self.state = State::Busy(work);
                Some(Err(Error::Internal("the session is busy".to_owned())))
            }
            State::Over => Some(Err(Error::Closed("the connection"))),
        }
    }

    /// Goes on, the socket being ready; returns the outcome once it is there. A session that is told of input it has not
    /// asked for is over.
    pub fn poll(&mut self) -> Option<Result<Vec<u8>>> {
        match &mut self.state {
            State::Busy(work) => {
                self.drive.may_read.store(BYTES_A_TURN, Ordering::Relaxed);
                let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready((session, result)) = polled else { return None };
                self.state = if session.connection.is_idle() { State::Idle(session) } else { State::Over };
                Some(result)
            }
            State::Idle(session) => {
                if session.connection.has_ended() {
                    self.state = State::Over;
                }
                None
            }
            State::Over => None,
        }
    }

    /// Gives up what is under way, and asks the server to end it, by one request: of a connection that is closed, all ends.
    pub fn give_up(self) {
        if self.is_busy() {
            self.pool.end(self.id);
        }
    }
}
