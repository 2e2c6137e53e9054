//! Connections of the Redis wire, driven by the event loop of one of Node's threads.

use boundary_bench_event_loop::Protocol;
use boundary_bench_kernel::frame::word;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_redis::{Frame, Session, requests};
use napi::Env;
use napi::bindgen_prelude::{Function, Unknown};
use napi_derive::napi;

use crate::clients::kv::KvConnection;
use crate::clients::socket_loop::{MaybeFrame, SocketLoop};
use boundary_bench_node::memory::buffers::submission_bytes;

/// The undelivered results of all connections.
#[derive(Default)]
struct Results(Frame);

impl Protocol for Results {
    type Session = Session;

    fn frame(&mut self) -> &mut Frame {
        &mut self.0
    }

    fn sent(&mut self, session: &mut Session, bytes: usize) {
        session.sent(bytes);
    }

    fn received(&mut self, session: &mut Session, bytes: usize) -> Result<()> {
        session.received(bytes, &mut self.0)
    }

    fn lost(&mut self, session: &mut Session, error: &std::io::Error) -> Error {
        session.lost(error)
    }

    fn ended(&mut self, number: usize, session: &mut Session, error: &Error) {
        session.fail(error, &mut self.0);
        self.0.gone(word(number));
    }
}

/// The Redis connections of one of Node's threads.
#[napi]
pub struct KvLoop {
    sockets: SocketLoop<Results>,
}

#[napi]
impl KvLoop {
    /// Makes a loop on this thread. `callback` gets frames of results, each as a buffer and the byte offsets of its start and
    /// end.
    #[napi(
        constructor,
        catch_unwind,
        ts_args_type = "callback: (buffer: ArrayBuffer, start: number, end: number) => void"
    )]
    pub fn new(env: Env, callback: Function<'_, Unknown<'_>, ()>) -> napi::Result<Self> {
        Ok(Self { sockets: SocketLoop::new(env, Results::default(), callback)? })
    }

    /// Adds a `drivable` connection, and returns its number, by which submissions name it.
    #[napi(catch_unwind)]
    pub fn add(&self, connection: &KvConnection) -> napi::Result<u32> {
        let connection = connection.take().map_err(js)?;
        let session = connection.session();
        let stream = connection.into_driven().map_err(js)?;
        let stream = stream.ok_or_else(|| invalid("the connection can't be driven by the loop"))?;
        self.sockets.add(stream, session)
    }

    /// Sends the requests in the first `bytes` bytes of a submission. Returns a frame if there are results at once: results of
    /// requests on closed connections, and of requests that are refused.
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
            for request in requests(submission) {
                let request = request.map_err(js)?;
                let index = request.connection as usize;
                if let Some(socket) = state.sockets.get_mut(index).and_then(Option::as_mut) {
                    if let Err(error) = socket.session.submit(&request) {
                        state.protocol.0.fail(request.id, &error);
                        continue;
                    }
                    if touched.last() != Some(&index) {
                        touched.push(index);
                    }
                } else {
                    let gone = Error::Unreachable("the connection is gone; nothing was sent".to_owned());
                    state.protocol.0.fail(request.id, &gone);
                }
            }
            touched.into_iter().for_each(|index| state.send(index));
            Ok(())
        })
    }

    /// Closes a connection. Returns the frame of the errors of its requests.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn remove(&self, env: Env, connection: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            state.end(connection as usize, &Error::Closed("the connection"));
            Ok(())
        })
    }
}
