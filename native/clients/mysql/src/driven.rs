//! A connection without its stream, for an event loop that drives many: it takes submissions and received bytes, and gives
//! bytes to send and frames of results. It runs one submission at a time, or any number of plain reads, each of which is sent ahead of the
//! answers to those before it. Nothing here blocks.

mod ahead;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::driven_stream::{Driven, DrivenStream};
use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::{Error, Result};

use self::ahead::Ahead;
use crate::connection::{lost, unasked};
use crate::effect::{Held, TRANSACTION};
use crate::pool::{Pool, Session};
use crate::submission::{LOST_TRANSACTION, LOST_UNTOLD, Performed, Shapes, Submission};
use crate::transport::{Buffers, Exchange};
use crate::url::Url;

/// The future of what runs. It gives the session back.
type Work<T> = Pin<Box<dyn Future<Output = (Box<Session>, T)> + Send>>;

/// The session of a connection that the event loop drives.
pub struct DrivenSession {
    state: State,
    /// The bytes to send and those received, while the submission does not work on them itself.
    buffers: Buffers,
    exchange: Arc<Exchange>,
    /// The number of the connection on the server, by which `pool` ends what it runs.
    id: u32,
    pool: Arc<Pool>,
    version: String,
    /// The parts of the session that the caller has changed.
    held: Arc<Held>,
    ahead: Ahead,
}

enum State {
    Idle(Box<Session>),
    /// A submission runs, on the connection that the event loop knows by this number.
    Busy(Work<Result<Performed>>, u32),
    /// Plain reads run.
    Reading(Work<()>),
    /// The session is unusable.
    Over,
}

impl Driven for DrivenSession {
    fn unsent(&self) -> &[u8] {
        self.buffers.unsent()
    }

    fn room(&mut self) -> &mut [u8] {
        self.buffers.room()
    }

    fn in_flight(&self) -> usize {
        usize::from(matches!(self.state, State::Busy(..))) + self.ahead.len()
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }
}

impl DrivenSession {
    /// Connects, on the async runtime that this is called on. Returns the stream, too.
    pub async fn open(url: &Url) -> Result<(DrivenStream, Self)> {
        let pool = Pool::new(url.clone(), Vec::new(), 1);
        let session = pool.lease().await?.into_session().ok_or(Error::Closed("the connection"))?;
        let (session, stream, exchange) = session.into_driven()?;
        let (id, version) = (session.connection.id(), session.connection.version().to_owned());
        let mut buffers = Buffers::default();
        exchange.swap(&mut buffers);
        let held = Arc::clone(session.held());
        let (state, ahead) = (State::Idle(Box::new(session)), Ahead::default());
        Ok((stream, Self { state, buffers, exchange, id, pool, version, held, ahead }))
    }

    /// The name and version of the server.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Marks this many of the unsent bytes as sent.
    pub fn sent(&mut self, bytes: usize, frame: &mut Frame, shapes: &Shapes) {
        if self.buffers.sent(bytes) {
            self.work(frame, shapes);
        }
    }

    /// Starts a submission on the connection that the event loop knows by `number`.
    ///
    /// # Errors
    /// [`Error::Internal`] while another submission runs, [`Error::Closed`] if the session is unusable.
    pub fn submit(&mut self, number: u32, submission: Submission, frame: &mut Frame, shapes: &Shapes) -> Result<()> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Idle(mut session) => {
                let max_packet = self.pool.max_packet();
                self.ahead.forget();
                let work = async move {
                    session.connection.swap_buffers();
                    session.make_room(1);
                    let performed = submission.perform(&mut session, max_packet).await;
                    session.connection.swap_buffers();
                    session.held().note_transaction(session.connection.in_transaction());
                    (session, performed)
                };
                self.state = State::Busy(Box::pin(work), number);
                self.work(frame, shapes);
                Ok(())
            }
            State::Over => Err(Error::Closed("the connection")),
            busy => {
                self.state = busy;
                Err(Error::Internal("the session is busy".to_owned()))
            }
        }
    }

    /// Appends a plain read to the bytes to send, behind those that run. Its result has the number `id`. Returns false, and takes nothing, if
    /// the statement is not prepared for these values, if it is longer than a packet, or if the session was changed or runs another
    /// submission: [`DrivenSession::submit`] takes it once the session is idle.
    ///
    /// # Errors
    /// [`Error::Closed`] if the session is unusable.
    pub fn read_ahead(&mut self, id: u32, submission: Submission) -> Result<bool> {
        let session = match &mut self.state {
            State::Idle(session) => Some(&mut **session),
            State::Reading(_) => None,
            State::Busy(..) => return Ok(false),
            State::Over => return Err(Error::Closed("the connection")),
        };
        let Submission::Run(batch) = submission else { return Ok(false) };
        if self.held.bits() != 0 || !self.ahead.send(id, batch, session, &mut self.buffers, self.pool.max_packet()) {
            return Ok(false);
        }
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::Idle(session) => State::Reading(self.ahead.answers(session)),
            reading => reading,
        };
        Ok(true)
    }

    /// Handles this many bytes received into the buffer: appends the result that they complete to the frame.
    pub fn received(&mut self, bytes: usize, frame: &mut Frame, shapes: &Shapes) -> Result<()> {
        self.buffers.received(bytes);
        self.work(frame, shapes);
        // No later call gets what the server sends behind its answer.
        if self.in_flight() == 0 && self.buffers.has_input() { Err(unasked()) } else { Ok(()) }
    }

    /// Notes that the connection has failed, and returns the error of the connection.
    pub fn lost(&mut self, error: &std::io::Error) -> Error {
        self.exchange.end(error);
        lost(&error.to_string())
    }

    /// The error for a caller who relies on the session if it ends now, or `None` if it is as the login has left it.
    pub fn loss(&self) -> Option<Error> {
        self.held.loss()
    }

    /// Handles the end of the connection with this number. A submission whose connection was lost ends with the results that it has. Any
    /// other gets the error, and the server is asked to end what it runs by a single request: closing a connection ends all of it.
    pub fn ended(&mut self, connection: u32, error: &Error, frame: &mut Frame, shapes: &Shapes) {
        if self.exchange.has_ended() {
            self.work(frame, shapes);
        }
        let state = std::mem::replace(&mut self.state, State::Over);
        let mut flags = if self.held.bits() & TRANSACTION == 0 { 0 } else { LOST_TRANSACTION };
        match state {
            State::Busy(_, number) => {
                frame.fail(number, error);
                self.pool.end(self.id);
            }
            State::Reading(_) => {
                self.ahead.take_all().for_each(|id| frame.fail(id, error));
                self.pool.end(self.id);
            }
            State::Idle(_) => flags |= LOST_UNTOLD,
            State::Over => {}
        }
        match self.loss() {
            Some(loss) => frame.gone_with(connection, flags, &loss),
            None => frame.gone(connection),
        }
    }

    /// Lets what runs work on the bytes, and appends the results that are there to the frame.
    fn work(&mut self, frame: &mut Frame, shapes: &Shapes) {
        let mut context = Context::from_waker(Waker::noop());
        self.exchange.swap(&mut self.buffers);
        let mut add = |id, performed: Result<Performed>| {
            let written = performed.and_then(|performed| frame.add(id, |bytes| performed.write(bytes, shapes)));
            if let Err(error) = written {
                frame.fail(id, &error);
            }
        };
        let session = match &mut self.state {
            State::Busy(work, number) => match work.as_mut().poll(&mut context) {
                Poll::Ready((session, performed)) => {
                    add(*number, performed);
                    Some(session)
                }
                Poll::Pending => None,
            },
            State::Reading(work) => {
                let polled = work.as_mut().poll(&mut context);
                self.ahead.take_answered().for_each(|(id, performed)| add(id, performed));
                match polled {
                    Poll::Ready((session, ())) => Some(session),
                    Poll::Pending => None,
                }
            }
            State::Idle(_) | State::Over => None,
        };
        self.exchange.swap(&mut self.buffers);
        if let Some(session) = session {
            self.state = if session.connection.is_idle() { State::Idle(session) } else { State::Over };
        }
    }
}
