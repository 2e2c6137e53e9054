//! Connections of the MySQL wire, driven by the event loop of one of Node's threads.

use std::sync::Arc;

use boundary_bench_event_loop::{Protocol, Sockets};
use boundary_bench_kernel::frame::{Frame, word};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{DrivenSession, Shapes};
use boundary_bench_node::host::errors::js;
use napi::Env;
use napi::bindgen_prelude::{Function, Unknown};
use napi_derive::napi;

use crate::clients::socket_loop::{MaybeFrame, SocketLoop};
use crate::clients::sql::{SqlConnection, SqlShapes, submission_of};

/// The undelivered results of all connections.
struct Results {
    frame: Frame,
    shapes: Arc<Shapes>,
}

impl Protocol for Results {
    /// Some milliseconds' worth of rows.
    const MOST_BYTES: usize = 256 << 10;

    type Session = DrivenSession;

    fn frame(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn sent(&mut self, session: &mut DrivenSession, bytes: usize) {
        session.sent(bytes, &mut self.frame, &self.shapes);
    }

    fn received(&mut self, session: &mut DrivenSession, bytes: usize) -> Result<()> {
        session.received(bytes, &mut self.frame, &self.shapes)
    }

    fn lost(&mut self, session: &mut DrivenSession, error: &std::io::Error) -> Error {
        session.lost(error)
    }

    fn ended(&mut self, number: usize, session: &mut DrivenSession, error: &Error) {
        session.ended(word(number), error, &mut self.frame, &self.shapes);
    }
}

/// The MySQL connections of one of Node's threads.
#[napi]
pub struct SqlLoop {
    sockets: SocketLoop<Results>,
}

#[napi]
impl SqlLoop {
    /// Makes a loop on this thread. `callback` gets frames of results, each as a buffer and the byte offsets of its start and
    /// end.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "shapes: SqlShapes, callback: (buffer: ArrayBuffer, start: number, end: number) => void"
    )]
    pub fn new(env: Env, shapes: &SqlShapes, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        let results = Results { frame: Frame::default(), shapes: Arc::clone(&shapes.shapes) };
        Ok(Self { sockets: SocketLoop::new(env, results, callback)? })
    }

    /// Adds a connection, and returns its number.
    #[napi(catch_unwind)]
    pub fn add(&self, connection: &SqlConnection) -> napi::Result<u32> {
        let (stream, session) = connection.take().map_err(js)?;
        self.sockets.add(stream, session)
    }

    /// Begins the call in the first `bytes` bytes of a submission, on a connection that has no call under way. Returns a frame if
    /// there are results at once.
    #[napi(
        catch_unwind,
        ts_args_type = "connection: number, submission: Uint8Array, bytes: number",
        ts_return_type = "ArrayBuffer | undefined"
    )]
    pub fn submit(&self, env: Env, connection: u32, submission: Unknown<'_>, bytes: u32) -> napi::Result<MaybeFrame> {
        let submission = submission_of(env, &submission, bytes)?;
        self.sockets.with(env, |state| {
            let index = connection as usize;
            let Sockets { sockets, protocol: Results { frame, shapes }, .. } = &mut *state;
            let socket = sockets.get_mut(index).and_then(Option::as_mut);
            let socket = socket.ok_or_else(|| js(Error::Closed("the connection")))?;
            socket.session.submit(connection, submission, frame, shapes).map_err(js)?;
            state.send(index);
            Ok(())
        })
    }

    /// Appends the plain read in the first `bytes` bytes of a submission to what a connection sends. `flush` sends it. Its result has the
    /// number `id`. Returns false, and takes nothing, if the connection can't send it now: `submit` takes it once the connection is idle.
    #[napi(catch_unwind, ts_args_type = "connection: number, id: number, submission: Uint8Array, bytes: number")]
    pub fn read_ahead(
        &self,
        env: Env,
        connection: u32,
        id: u32,
        submission: Unknown<'_>,
        bytes: u32,
    ) -> napi::Result<bool> {
        let submission = submission_of(env, &submission, bytes)?;
        self.sockets.state(|state| {
            let socket = state.sockets.get_mut(connection as usize).and_then(Option::as_mut);
            let socket = socket.ok_or_else(|| js(Error::Closed("the connection")))?;
            socket.session.read_ahead(id, submission).map_err(js)
        })
    }

    /// Sends what `read_ahead` has appended. Returns a frame if there are results at once.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn flush(&self, env: Env, connection: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            state.send(connection as usize);
            Ok(())
        })
    }

    /// Closes a connection and asks the server to end its call under way. The callback still hears of both. Returns the error for the calls
    /// that rely on the session, if it was changed.
    #[napi(catch_unwind)]
    pub fn remove(&self, connection: u32) -> Option<String> {
        self.sockets.state(|state| {
            let socket = state.sockets.get(connection as usize).and_then(Option::as_ref);
            let loss = socket.and_then(|socket| socket.session.loss()).map(|loss| loss.coded());
            state.end(connection as usize, &Error::Closed("the connection"));
            loss
        })
    }
}
