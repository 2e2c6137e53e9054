//! Connections of HTTP/1.1, driven by the event loop of one of Node's threads.

use std::sync::Arc;

use boundary_bench_event_loop::{Protocol, Socket, Sockets};
use boundary_bench_http::{Dispatch, DrivenSession, Frame, Sessions, groups};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::errors::js;
use napi::Env;
use napi::bindgen_prelude::{Function, Unknown};
use napi_derive::napi;

use crate::clients::http::{HttpOrigin, HttpSocket};
use crate::clients::socket_loop::{MaybeFrame, SocketLoop};
use boundary_bench_node::memory::buffers::submission_bytes;

/// The groups in flight of all clients, and the undelivered results.
#[derive(Default)]
struct Groups(Dispatch);

impl Protocol for Groups {
    type Session = DrivenSession;

    fn frame(&mut self) -> &mut Frame {
        self.0.frame()
    }

    fn sent(&mut self, session: &mut DrivenSession, bytes: usize) {
        session.sent(bytes);
    }

    fn received(&mut self, session: &mut DrivenSession, bytes: usize) -> Result<()> {
        self.0.received(session, bytes)
    }

    fn lost(&mut self, session: &mut DrivenSession, error: &std::io::Error) -> Error {
        self.0.lost(session, error)
    }

    fn ended(&mut self, number: usize, session: &mut DrivenSession, error: &Error) {
        self.0.ended(number, session, error);
    }
}

/// The sockets of the loop, and the numbers of those that were found closed by the server.
struct LoopSockets<'a> {
    sockets: &'a mut [Option<Socket<Groups>>],
    closed: Vec<usize>,
}

impl Sessions for LoopSockets<'_> {
    fn session(&mut self, number: usize) -> Option<&mut DrivenSession> {
        let socket = self.sockets.get_mut(number)?.as_mut()?;
        if socket.session.has_rested() && !socket.stream.is_quiet() {
            socket.session.retire();
            self.closed.push(number);
        }
        Some(&mut socket.session)
    }
}

/// The HTTP/1.1 connections of one of Node's threads.
#[napi]
pub struct HttpLoop {
    sockets: SocketLoop<Groups>,
}

#[napi]
impl HttpLoop {
    /// Makes a loop on this thread. `callback` gets frames of results, each as a buffer and the byte offsets of its start and
    /// end.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "callback: (buffer: ArrayBuffer, start: number, end: number) => void"
    )]
    pub fn new(env: Env, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        Ok(Self { sockets: SocketLoop::new(env, Groups::default(), callback)? })
    }

    /// Adds a pool of connections to a server, and returns its number, by which submissions name it.
    #[napi(catch_unwind)]
    pub fn add_pool(&self, place: &HttpOrigin) -> napi::Result<u32> {
        let number = self.sockets.state(|state| state.protocol.0.add_pool(Arc::clone(&place.place)));
        u32::try_from(number).map_err(|error| js(Error::Internal(error.to_string())))
    }

    /// Adds a connection to a pool, and returns its number. The connection sends the pool's waiting requests.
    #[napi(catch_unwind)]
    pub fn add(&self, pool: u32, place: &HttpOrigin, socket: &HttpSocket) -> napi::Result<u32> {
        let stream = socket.take().map_err(js)?;
        let number = self.sockets.add(stream, DrivenSession::new(pool, &place.place))?;
        self.sockets.state(|state| {
            let (index, Sockets { sockets, protocol, .. }) = (number as usize, &mut *state);
            if let Some(Some(socket)) = sockets.get_mut(index) {
                protocol.0.add_session(index, &mut socket.session);
            }
            state.send(index);
        });
        Ok(number)
    }

    /// Sends the requests in the first `bytes` bytes of a submission. Returns a frame if there are results at once.
    #[napi(
        catch_unwind,
        ts_args_type = "submission: Uint8Array, bytes: number",
        ts_return_type = "ArrayBuffer | undefined"
    )]
    pub fn submit(&self, env: Env, submission: Unknown<'_>, bytes: u32) -> napi::Result<MaybeFrame> {
        // SAFETY: no JavaScript runs before the bytes were copied into the connections' buffers.
        let submission = unsafe { submission_bytes(env, &submission, bytes) }?;
        self.sockets.with(env, |state| {
            let mut touched = Vec::new();
            let mut sockets = LoopSockets { sockets: &mut state.sockets, closed: Vec::new() };
            for group in groups(submission) {
                state.protocol.0.submit(&group.map_err(js)?, &mut sockets, &mut touched);
            }
            for number in sockets.closed {
                state.end(number, &Error::Closed("the connection"));
            }
            touched.into_iter().for_each(|number| state.send(number));
            Ok(())
        })
    }

    /// Sends the waiting requests of a pool over its connections, since no other connection can be opened.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn feed(&self, env: Env, pool: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            let mut sockets = LoopSockets { sockets: &mut state.sockets, closed: Vec::new() };
            let members = state.protocol.0.feed_pool(pool as usize, &mut sockets);
            for number in sockets.closed {
                state.end(number, &Error::Closed("the connection"));
            }
            members.into_iter().for_each(|number| state.send(number));
            Ok(())
        })
    }

    /// Cancels a group. It then gets no result. Connections that owe it responses are closed once they owe no others.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn cancel(&self, env: Env, id: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            let mut sockets = LoopSockets { sockets: &mut state.sockets, closed: Vec::new() };
            let mut closing = state.protocol.0.cancel(id, &mut sockets);
            closing.append(&mut sockets.closed);
            for number in closing {
                state.end(number, &Error::Closed("the connection"));
            }
            Ok(())
        })
    }

    /// Fails all requests of a pool that wait for a connection, with the error of connecting.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn fail_waiting(&self, env: Env, pool: u32, code: String, message: String) -> napi::Result<MaybeFrame> {
        let error = match code.as_str() {
            "BB_TIMEOUT" => Error::Timeout(message),
            "BB_INVALID_ARGUMENT" => Error::InvalidArgument(message),
            _ => Error::Unreachable(message),
        };
        self.sockets.with(env, |state| {
            state.protocol.0.fail_queue(pool as usize, &error);
            Ok(())
        })
    }

    /// Removes a pool and closes its connections. Their requests, and those that wait for a connection, fail.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn remove_pool(&self, env: Env, pool: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            let error = Error::Closed("the client");
            let members = state.protocol.0.remove_pool(pool as usize, &error);
            members.into_iter().for_each(|number| state.end(number, &error));
            Ok(())
        })
    }
}
