//! Groups of requests over connections that an event loop drives. A request goes to a connection with room for it, or is
//! queued until there is one. A group's result is written once all its requests have their responses. Nothing here blocks.

use std::collections::VecDeque;
use std::sync::Arc;

use boundary_bench_kernel::driven_stream::Driven;
use boundary_bench_kernel::frame::{Frame, word};
use boundary_bench_kernel::socket::lost;
use boundary_bench_kernel::{Error, Result};

use crate::origin::Origin;
use crate::request::{Method, Request};
use crate::response::Response;
use crate::session::Session;
use crate::submission::{Group, Responses, finish_one};

/// The group of a request and the request's position in it. The serial tells a group from an earlier one with the same
/// id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticket {
    group: u32,
    serial: u64,
    index: u32,
    method: Method,
    /// The range of the request in `written` of its group. Empty if the request can't be sent again.
    message: (usize, usize),
}

/// The session of a connection that the event loop drives.
#[derive(Debug)]
pub struct DrivenSession {
    session: Session<Ticket>,
    pool: usize,
}

/// The sessions of an event loop, by their numbers.
pub trait Sessions {
    /// The session of this number, if it is still open. If it was idle for a while, the implementation first probes
    /// whether the server has closed its connection.
    fn session(&mut self, number: usize) -> Option<&mut DrivenSession>;
}

impl DrivenSession {
    /// The session of a new connection of this pool.
    pub fn new(pool: u32, place: &Origin) -> Self {
        Self { session: Session::new(place.options.most_bytes), pool: pool as usize }
    }

    /// Whether no request is in flight and none was answered lately: the server may have closed the connection.
    pub fn has_rested(&self) -> bool {
        self.session.has_rested()
    }

    /// Makes the session refuse further requests.
    pub fn retire(&mut self) {
        self.session.retire();
    }

    /// Marks this many of the unsent bytes as sent.
    pub fn sent(&mut self, bytes: usize) {
        self.session.sent(bytes);
    }
}

impl Driven for DrivenSession {
    fn unsent(&self) -> &[u8] {
        self.session.unsent()
    }

    fn room(&mut self) -> &mut [u8] {
        self.session.room()
    }

    fn in_flight(&self) -> usize {
        self.session.in_flight()
    }

    fn is_over(&self) -> bool {
        self.session.is_over() && self.session.in_flight() == 0
    }
}

/// The connections to one server, and the requests that are queued for one of them.
#[derive(Debug)]
struct Pool {
    place: Arc<Origin>,
    queue: VecDeque<Ticket>,
    /// The numbers of the pool's sessions.
    members: Vec<usize>,
}

#[derive(Debug)]
struct OpenGroup {
    serial: u64,
    pool: usize,
    /// The responses of a group of several requests, or `None` for a single request, whose response is its result.
    responses: Option<Responses>,
    /// The requests that were queued, and those that may have to be sent again, as they are sent.
    written: Vec<u8>,
}

/// The groups in flight, and the results that were not taken yet.
#[derive(Debug, Default)]
pub struct Dispatch {
    pools: Vec<Option<Pool>>,
    groups: Vec<Option<OpenGroup>>,
    serial: u64,
    frame: Frame,
}

impl Dispatch {
    /// The frame of the results.
    pub fn frame(&mut self) -> &mut Frame {
        &mut self.frame
    }

    /// Adds a pool of connections to a server, and returns its number.
    pub fn add_pool(&mut self, place: Arc<Origin>) -> usize {
        let number = self.pools.iter().position(Option::is_none).unwrap_or_else(|| {
            self.pools.push(None);
            self.pools.len() - 1
        });
        self.pools[number] = Some(Pool { place, queue: VecDeque::new(), members: Vec::new() });
        number
    }

    /// Removes a pool. Its queued requests get the error. Returns the numbers of its sessions. They must then be closed.
    pub fn remove_pool(&mut self, pool: usize, error: &Error) -> Vec<usize> {
        self.fail_queue(pool, error);
        self.pools.get_mut(pool).and_then(Option::take).map(|pool| pool.members).unwrap_or_default()
    }

    /// Gives all queued requests of a pool an error.
    pub fn fail_queue(&mut self, pool: usize, error: &Error) {
        let queue = self.pools.get_mut(pool).and_then(Option::as_mut).map(|pool| std::mem::take(&mut pool.queue));
        for ticket in queue.into_iter().flatten() {
            self.give(ticket, Err(error));
        }
    }

    /// Adds a new session to its pool, and gives it queued requests.
    pub fn add_session(&mut self, number: usize, driven: &mut DrivenSession) {
        if let Some(Some(pool)) = self.pools.get_mut(driven.pool) {
            pool.members.push(number);
        }
        self.feed(driven);
    }

    /// Takes a group: each request goes to the next session of its pool that has room, or is queued. Adds to `touched`
    /// the sessions that have bytes to send.
    pub fn submit(&mut self, group: &Group<'_>, sessions: &mut impl Sessions, touched: &mut Vec<usize>) {
        let (number, count) = (group.pool as usize, group.count());
        self.serial += 1;
        let serial = self.serial;
        let slot = group.id as usize;
        if self.groups.len() <= slot {
            self.groups.resize_with(slot + 1, || None);
        }
        let responses = (count > 1).then(|| Responses::new(count));
        self.groups[slot] = Some(OpenGroup { serial, pool: number, responses, written: Vec::new() });
        let Some(mut pool) = self.pools.get_mut(number).and_then(Option::take) else {
            for index in 0..count {
                let ticket =
                    Ticket { group: group.id, serial, index: word(index), method: Method::Get, message: (0, 0) };
                self.give(ticket, Err(&Error::Closed("the client")));
            }
            return;
        };
        let pipelining = pool.place.options.pipelining;
        let share = count.div_ceil(pool.members.len().max(1)).min(pipelining);
        let mut members = pool.members.iter();
        // The session that the next request goes to, and the number of the group's requests that it has.
        let (mut member, mut taken) = (members.next(), 0);
        for (index, request) in group.requests().enumerate() {
            let mut ticket =
                Ticket { group: group.id, serial, index: word(index), method: Method::Get, message: (0, 0) };
            let request = match request {
                Ok(request) => request,
                Err(error) => {
                    self.give(ticket, Err(&error));
                    continue;
                }
            };
            ticket.method = request.method;
            let session = loop {
                let Some(number) = member else { break None };
                if taken < share
                    && let Some(driven) = sessions.session(*number)
                    && !driven.session.is_over()
                    && driven.session.in_flight() < pipelining
                {
                    break Some(*number);
                }
                (member, taken) = (members.next(), 0);
            };
            if let Some(number) = session
                && let Some(driven) = sessions.session(number)
            {
                // A request behind another one may have to be sent again.
                if driven.session.in_flight() > 0
                    && request.method.is_idempotent()
                    && let Some(Some(open)) = self.groups.get_mut(slot)
                {
                    ticket.message = open.write(&pool.place, &request);
                    driven.session.submit_written(ticket, request.method == Method::Head, open.message(ticket));
                } else {
                    driven.session.submit(ticket, &pool.place.head, &request);
                }
                taken += 1;
                if touched.last() != Some(&number) {
                    touched.push(number);
                }
            } else if let Some(Some(open)) = self.groups.get_mut(slot) {
                ticket.message = open.write(&pool.place, &request);
                pool.queue.push_back(ticket);
            }
        }
        self.pools[number] = Some(pool);
    }

    /// Gives a session queued requests of its pool, as many as it has room for.
    pub fn feed(&mut self, driven: &mut DrivenSession) {
        let Some(Some(pool)) = self.pools.get_mut(driven.pool) else { return };
        while !driven.session.is_over() && driven.session.in_flight() < pool.place.options.pipelining {
            let Some(ticket) = pool.queue.pop_front() else { return };
            // The group of a queued request may have been cancelled since.
            if let Some(open) = open_group(&self.groups, ticket) {
                driven.session.submit_written(ticket, ticket.method == Method::Head, open.message(ticket));
            }
        }
    }

    /// Gives all sessions of a pool queued requests. Returns the numbers of the sessions.
    pub fn feed_pool(&mut self, pool: usize, sessions: &mut impl Sessions) -> Vec<usize> {
        let members =
            self.pools.get(pool).and_then(Option::as_ref).map(|pool| pool.members.clone()).unwrap_or_default();
        for number in &members {
            if let Some(driven) = sessions.session(*number) {
                self.feed(driven);
            }
        }
        members
    }

    /// Queues the requests behind a response that ends its connection, before all others. Those that may not be sent twice fail.
    fn requeue(&mut self, driven: &mut DrivenSession) {
        let (again, failed): (Vec<_>, Vec<_>) =
            driven.session.cut_off().partition(|ticket| ticket.method.is_idempotent());
        if let Some(Some(pool)) = self.pools.get_mut(driven.pool) {
            again.into_iter().rev().for_each(|ticket| pool.queue.push_front(ticket));
            let error = pool.place.cut_off();
            failed.into_iter().for_each(|ticket| self.give(ticket, Err(&error)));
        }
    }

    /// Handles this many bytes received into a session's buffer: takes its whole responses, and gives it queued
    /// requests.
    ///
    /// # Errors
    /// [`Error::Engine`] if the server does not speak the protocol. The connection is unusable then.
    pub fn received(&mut self, driven: &mut DrivenSession, bytes: usize) -> Result<()> {
        driven.session.received(bytes);
        while let Some(arrived) = driven.session.next_response()? {
            self.give(arrived.ticket, Ok(driven.session.response(&arrived)));
        }
        self.requeue(driven);
        self.feed(driven);
        Ok(())
    }

    /// The error for a session whose connection has ended or failed. A response whose body ends with the connection is
    /// taken.
    pub fn lost(&mut self, driven: &mut DrivenSession, error: &std::io::Error) -> Error {
        if error.kind() == std::io::ErrorKind::UnexpectedEof
            && let Some(arrived) = driven.session.at_end()
        {
            self.give(arrived.ticket, Ok(driven.session.response(&arrived)));
            self.requeue(driven);
        }
        let place = self.pools.get(driven.pool).and_then(Option::as_ref).map(|pool| pool.place.url().to_string());
        lost(&place.unwrap_or_default(), error)
    }

    /// Handles the end of a session's connection: its requests in flight get the error.
    pub fn ended(&mut self, number: usize, driven: &mut DrivenSession, error: &Error) {
        for ticket in driven.session.abandon().collect::<Vec<_>>() {
            self.give(ticket, Err(error));
        }
        if let Some(Some(pool)) = self.pools.get_mut(driven.pool) {
            pool.members.retain(|member| *member != number);
        }
        self.frame.gone(word(number));
    }

    /// Cancels a group. It gets no result. Returns the sessions that must be closed, since all responses that they still owe
    /// are this group's. Sessions shared with other groups take no more requests, and close once all responses have come.
    pub fn cancel(&mut self, id: u32, sessions: &mut impl Sessions) -> Vec<usize> {
        let Some(open) = self.groups.get_mut(id as usize).and_then(Option::take) else { return Vec::new() };
        let is_its = |ticket: &Ticket| ticket.group == id && ticket.serial == open.serial;
        let Some(Some(pool)) = self.pools.get_mut(open.pool) else { return Vec::new() };
        pool.queue.retain(|ticket| !is_its(ticket));
        let mut closing = Vec::new();
        for number in &pool.members {
            let Some(driven) = sessions.session(*number) else { continue };
            if driven.session.tickets().any(is_its) {
                driven.session.retire();
                if driven.session.tickets().all(is_its) {
                    closing.push(*number);
                }
            }
        }
        closing
    }

    fn give(&mut self, ticket: Ticket, answer: std::result::Result<Response<'_>, &Error>) {
        let Some(slot) = self.groups.get_mut(ticket.group as usize) else { return };
        let Some(open) = slot.as_mut().filter(|open| open.serial == ticket.serial) else { return };
        match &mut open.responses {
            None => finish_one(&mut self.frame, ticket.group, answer),
            Some(responses) => {
                if !responses.add(ticket.index as usize, answer) {
                    return;
                }
                responses.finish(ticket.group, &mut self.frame);
            }
        }
        *slot = None;
    }
}

impl OpenGroup {
    /// Writes a request as it is sent. Returns its range.
    fn write(&mut self, place: &Origin, request: &Request<'_>) -> (usize, usize) {
        let start = self.written.len();
        place.head.write(&mut self.written, request);
        (start, self.written.len())
    }

    fn message(&self, ticket: Ticket) -> &[u8] {
        &self.written[ticket.message.0..ticket.message.1]
    }
}

fn open_group(groups: &[Option<OpenGroup>], ticket: Ticket) -> Option<&OpenGroup> {
    groups.get(ticket.group as usize)?.as_ref().filter(|open| open.serial == ticket.serial)
}

#[cfg(test)]
mod tests;
