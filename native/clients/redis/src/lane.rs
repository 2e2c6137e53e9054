//! The way to one server of a cluster: a connection that many calls share. Each call sends its commands behind the commands of earlier
//! calls, and gets their replies. No task drives the connection: whichever call is polled drives it for all of them.

use std::collections::VecDeque;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::driver::Driver;
use boundary_bench_kernel::{Error, Result, lock};

use crate::connection::Connection;
use crate::resp::Reply;
use crate::state::{Hinge, still_open};
use crate::url::{Endpoint, Url};

/// A connection to one server, opened when the first call needs it.
///
/// A call that is given up while the server may still answer retires the lane: it takes no more calls, and its connection is closed once
/// nobody waits for it. The calls that were sent before go on waiting. A lane whose connection was lost takes no more calls, either.
pub(crate) struct Lane(Mutex<State>);

/// The commands of one call for one server.
#[derive(Default)]
pub(crate) struct Parcel {
    /// The commands in wire format.
    pub(crate) commands: Vec<u8>,
    /// The number of replies.
    pub(crate) replies: usize,
    /// The positions of the replies to an ASKING. They are dropped.
    pub(crate) asking: Vec<usize>,
    /// The positions of the commands whose refusal changes the state of the connection.
    pub(crate) hinges: Vec<(usize, Hinge)>,
}

/// The replies to a parcel.
#[derive(Default)]
pub(crate) struct Answers {
    /// The replies in wire format, one after the other. `ends` has the end of each.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The error of the commands without a reply, and whether they were sent.
    pub(crate) failure: Option<(Error, bool)>,
}

impl Answers {
    /// The number of replies.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    #[cfg(test)]
    pub(crate) fn of(replies: &[&str]) -> Self {
        let mut answers = Self::default();
        for reply in replies {
            answers.bytes.extend_from_slice(reply.as_bytes());
            answers.ends.push(answers.bytes.len());
        }
        answers
    }

    /// A reply in wire format.
    pub(crate) fn reply(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

struct State {
    place: Endpoint,
    url: Arc<Url>,
    driver: &'static dyn Driver,
    stage: Stage,
    /// The parcels that are not sent yet.
    queued: VecDeque<Waiting>,
    /// The parcels whose commands are in `output`, or were there.
    sent: VecDeque<Waiting>,
    /// The parcels whose answers nobody has taken yet.
    done: Vec<Waiting>,
    output: Vec<u8>,
    /// The number of bytes of `output` that the connection has taken.
    written: usize,
    last_number: u64,
    is_retired: bool,
}

enum Stage {
    Opening(Pin<Box<dyn Future<Output = Result<Connection>> + Send>>),
    /// Nothing was asked for a while: the server may have closed the connection.
    Idle(Connection),
    Open(Connection),
    Over,
}

impl fmt::Debug for Lane {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Lane")
    }
}

/// A parcel on its way.
struct Waiting {
    number: u64,
    parcel: Parcel,
    /// The number of replies so far.
    seen: usize,
    answers: Answers,
    caller: Option<Waker>,
    is_given_up: bool,
}

impl Waiting {
    /// Takes the next reply. Returns the hinge that the server has refused, if the reply says so.
    fn take(&mut self, reply: &[u8]) -> Option<(Hinge, bool)> {
        let at = self.seen;
        self.seen += 1;
        if self.parcel.asking.contains(&at) {
            return None;
        }
        self.answers.bytes.extend_from_slice(reply);
        self.answers.ends.push(self.answers.bytes.len());
        let (_, hinge) = self.parcel.hinges.iter().find(|(position, _)| *position == at)?;
        let Some(Reply::Error(text)) = Reply::read_whole(reply) else { return None };
        Some((*hinge, hinge.keeps_open(text)))
    }
}

impl Lane {
    pub(crate) fn new(place: Endpoint, url: Arc<Url>, driver: &'static dyn Driver) -> Self {
        let stage = opening(&place, &url, driver);
        Self(Mutex::new(State {
            place,
            url,
            driver,
            stage,
            queued: VecDeque::new(),
            sent: VecDeque::new(),
            done: Vec::new(),
            output: Vec::new(),
            written: 0,
            last_number: 0,
            is_retired: false,
        }))
    }

    /// Whether the lane takes calls.
    pub(crate) fn is_usable(&self) -> bool {
        let state = lock(&self.0);
        !state.is_retired && !matches!(state.stage, Stage::Over)
    }

    /// Has later calls take another connection.
    pub(crate) fn retire(&self) {
        lock(&self.0).is_retired = true;
    }

    /// Queues the commands of a call behind the commands of earlier calls. The ticket gives their replies. If it `waits`, the commands are
    /// sent with the commands of calls that are polled behind it.
    pub(crate) fn send(self: &Arc<Self>, parcel: Parcel, waits: bool) -> Ticket {
        let mut state = lock(&self.0);
        state.last_number += 1;
        let number = state.last_number;
        if state.is_unused() {
            match std::mem::replace(&mut state.stage, Stage::Over) {
                Stage::Open(connection) => state.stage = Stage::Idle(connection),
                other => state.stage = other,
            }
        }
        let answers = Answers::default();
        state.queued.push_back(Waiting { number, parcel, seen: 0, answers, caller: None, is_given_up: false });
        drop(state);
        Ticket { lane: Arc::clone(self), number, waits, is_over: false }
    }
}

fn opening(place: &Endpoint, url: &Arc<Url>, driver: &'static dyn Driver) -> Stage {
    let (place, url) = (place.clone(), Arc::clone(url));
    Stage::Opening(Box::pin(async move { Connection::open_at(&place, &url, driver).await }))
}

impl State {
    fn is_unused(&self) -> bool {
        self.queued.is_empty() && self.sent.is_empty()
    }

    /// Drives the connection as far as it goes now.
    fn drive(&mut self, context: &mut Context<'_>) {
        if let Err(error) = self.advance(context) {
            self.stage = Stage::Over;
            for (parcels, was_sent) in
                [(std::mem::take(&mut self.sent), true), (std::mem::take(&mut self.queued), false)]
            {
                for mut waiting in parcels {
                    waiting.answers.failure = Some((error.clone(), was_sent));
                    self.finish(waiting);
                }
            }
        } else if self.is_retired && self.is_unused() {
            self.stage = Stage::Over;
        }
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Result<()> {
        loop {
            let is_unused = self.is_unused();
            match &mut self.stage {
                Stage::Over if is_unused => return Ok(()),
                // It was lost while it was idle, or was lost or retired while a call took it.
                Stage::Over => {
                    self.stage = opening(&self.place, &self.url, self.driver);
                    (self.output, self.written) = (Vec::new(), 0);
                }
                Stage::Opening(opening) => match opening.as_mut().poll(context) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(opened) => self.stage = Stage::Open(opened?),
                },
                Stage::Idle(connection) => {
                    let Poll::Ready(is_quiet) = pin!(connection.is_quiet()).poll(context) else { return Ok(()) };
                    self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
                        Stage::Idle(connection) if is_quiet => Stage::Open(connection),
                        _ => Stage::Over,
                    };
                    (self.output, self.written) = (Vec::new(), 0);
                }
                Stage::Open(_) => return self.exchange(context),
            }
        }
    }

    /// Sends what is queued, and takes the replies that have arrived.
    fn exchange(&mut self, context: &mut Context<'_>) -> Result<()> {
        let Stage::Open(connection) = &mut self.stage else { return Ok(()) };
        if self.written == self.output.len() {
            self.written = 0;
            self.output.clear();
            self.output.shrink_to(1 << 20);
        }
        for mut waiting in self.queued.drain(..) {
            self.output.append(&mut waiting.parcel.commands);
            self.sent.push_back(waiting);
        }
        let mut whole = Vec::new();
        let outcome = loop {
            let Some(waiting) = self.sent.front_mut() else { break Ok(()) };
            match connection.next_bytes() {
                Ok(Some(reply)) => {
                    let refused = waiting.take(reply);
                    self.is_retired |= refused.is_some();
                    let is_stuck = refused.is_some_and(|(_, keeps_open)| keeps_open);
                    if waiting.seen == waiting.parcel.replies {
                        whole.extend(self.sent.pop_front());
                    }
                    if is_stuck {
                        break Err(still_open());
                    }
                }
                Ok(None) => match connection.poll_exchange(context, &self.output, &mut self.written) {
                    Poll::Pending => break Ok(()),
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => break Err(error),
                },
                Err(error) => break Err(error),
            }
        };
        whole.into_iter().for_each(|waiting| self.finish(waiting));
        outcome
    }

    /// Has the caller of a parcel take its answers.
    fn finish(&mut self, mut waiting: Waiting) {
        if waiting.is_given_up {
            return;
        }
        if let Some(caller) = waiting.caller.take() {
            caller.wake();
        }
        self.done.push(waiting);
    }

    /// Wakes a call that drives the connection from now on.
    fn pass_on(&mut self) {
        let mut waiting = self.sent.iter_mut().chain(&mut self.queued);
        if let Some(caller) = waiting.find_map(|waiting| waiting.caller.take_if(|_| !waiting.is_given_up)) {
            caller.wake();
        }
    }
}

/// The receiver of the replies to a parcel. Dropping it gives the parcel up.
pub(crate) struct Ticket {
    lane: Arc<Lane>,
    number: u64,
    waits: bool,
    is_over: bool,
}

impl Future for Ticket {
    type Output = Answers;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answers> {
        if std::mem::take(&mut self.waits) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let number = self.number;
        let mut state = lock(&self.lane.0);
        let is_done = |waiting: &Waiting| waiting.number == number;
        let mut at = state.done.iter().position(is_done);
        if at.is_none() {
            state.drive(context);
            at = state.done.iter().position(is_done);
            if at.is_some() {
                state.pass_on();
            }
        }
        let State { queued, sent, done, .. } = &mut *state;
        let Some(at) = at else {
            if let Some(waiting) = sent.iter_mut().chain(queued).find(|waiting| waiting.number == number) {
                waiting.caller = Some(context.waker().clone());
            }
            return Poll::Pending;
        };
        let answers = done.swap_remove(at).answers;
        drop(state);
        self.is_over = true;
        Poll::Ready(answers)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let is_own = |waiting: &Waiting| waiting.number == self.number;
        let mut state = lock(&self.lane.0);
        state.done.retain(|waiting| !is_own(waiting));
        // Commands that were not sent are not sent any more.
        state.queued.retain(|waiting| !is_own(waiting));
        if let Some(waiting) = state.sent.iter_mut().find(|waiting| is_own(waiting)) {
            waiting.is_given_up = true;
            state.is_retired = true;
        }
        let is_opening = matches!(state.stage, Stage::Opening(_));
        if state.queued.is_empty() && state.sent.iter().all(|waiting| waiting.is_given_up) {
            if state.is_retired || is_opening {
                state.sent.clear();
                state.stage = Stage::Over;
            }
        } else {
            state.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use boundary_bench_kernel::driver::Tokio;

    use super::*;

    #[tokio::test]
    async fn commands_that_come_when_the_connection_is_over_have_an_outcome() {
        let url: Url = "redis://127.0.0.1:1".parse().unwrap();
        let lane = Arc::new(Lane::new(url.place.clone(), Arc::new(url), &Tokio));
        for _ in 0..2 {
            let answers = lane.send(Parcel::default(), false).await;
            assert!(matches!(answers.failure, Some((Error::Unreachable(_), false))), "{:?}", answers.failure);
        }
    }
}
