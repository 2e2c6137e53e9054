//! A session whose socket an event loop watches. It runs one submission at a time, and makes progress when it is
//! polled. No other thread takes part, since two wake-ups a request would take longer than all the rest.

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

/// The bytes that are read in one turn, some milliseconds' worth, before the event loop does its other work.
const BYTES_A_TURN: usize = 256 << 10;

/// The future of the submission that runs; it gives the session back.
type Work = Pin<Box<dyn Future<Output = (Box<Session>, Result<Vec<u8>>)> + Send>>;

/// A session that its owner polls.
pub struct DrivenSession {
    state: State,
    drive: Drive,
    /// The number of the connection on the server, by which `pool` ends what it runs.
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
    /// Connects, on the async runtime that this is called on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] over TLS, [`Error::Engine`] where the server can't be reached or refuses the login.
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

    /// The name and version of the server.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The socket to watch.
    #[must_use]
    pub fn socket(&self) -> RawFd {
        self.drive.socket
    }

    /// Whether it waits to write to the socket, and not only to read.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        self.drive.wants_room.load(Ordering::Relaxed)
    }

    /// Whether a submission runs.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy(_))
    }

    /// Whether the session is unusable.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Starts a submission; returns its result if that is there at once.
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

    /// Makes progress when the socket is ready; returns the result once it is there. An idle session whose socket has
    /// input is over, since no input was asked for.
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

    /// Drops the session, and asks the server to end what it runs, by a single request: closing a connection ends all of
    /// it.
    pub fn give_up(self) {
        if self.is_busy() {
            self.pool.end(self.id);
        }
    }
}
