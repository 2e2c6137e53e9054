//! Connections of the Redis wire, driven by the event loop of one of Node's threads.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use boundary_bench_event_loop::Protocol;
use boundary_bench_kernel::error::catch_panic_in;
use boundary_bench_kernel::frame::word;
use boundary_bench_kernel::{Error, Result};
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::loop_runtime::LoopRuntime;
use boundary_bench_redis::{ClusterCalls, Frame, Session, pieces};
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

/// The numbers of connections to clusters begin with this one.
const FIRST_CLUSTER: u32 = 1 << 31;

/// The Redis connections of one of Node's threads.
#[napi]
pub struct KvLoop {
    sockets: SocketLoop<Results>,
    /// The connections to clusters, by their numbers less [`FIRST_CLUSTER`]. None for a closed one.
    clusters: RefCell<Vec<Option<Rc<ClusterLink>>>>,
}

/// The connections to a cluster. A task on the event loop drives them.
struct ClusterLink {
    number: u32,
    calls: Arc<ClusterCalls>,
    runtime: LoopRuntime,
    /// Whether the process stays alive for the requests under way.
    is_held: Cell<bool>,
}

impl ClusterLink {
    fn submit(&self, submission: &[u8]) -> Result<()> {
        self.calls.submit(submission)?;
        self.hold();
        Ok(())
    }

    /// Keeps the process alive while requests are under way.
    fn hold(&self) {
        let is_busy = self.calls.is_busy();
        if self.is_held.replace(is_busy) != is_busy {
            self.runtime.hold(is_busy);
        }
    }

    /// Gives results to the loop until the connections are closed.
    async fn run(self: Rc<Self>, give: impl Fn(&[u8])) {
        let work = async {
            while !self.calls.is_closed() {
                poll_fn(|context| self.calls.poll_results(context)).await;
                give(&self.calls.take_results());
                self.hold();
            }
            Ok(())
        };
        if catch_panic_in(work).await.is_err() {
            give(self.end().bytes());
        }
    }

    /// Closes the connections. The frame has the errors of the requests under way, and says that the connections are gone.
    fn end(&self) -> Frame {
        self.calls.close();
        self.hold();
        let mut frame = Frame::default();
        frame.put(&self.calls.take_results());
        frame.gone(self.number);
        frame
    }
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
        Ok(Self { sockets: SocketLoop::new(env, Results::default(), callback)?, clusters: RefCell::default() })
    }

    /// Adds a connection, and returns its number, by which submissions name it.
    #[napi(catch_unwind)]
    pub fn add(&self, env: Env, connection: &KvConnection) -> napi::Result<u32> {
        if !connection.drivable() {
            return self.add_cluster(env, Arc::clone(connection.calls().map_err(js)?));
        }
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
            let mut to_clusters: Vec<(u32, Vec<u32>, Vec<u8>)> = Vec::new();
            for piece in pieces(submission) {
                let (request, bytes) = piece.map_err(js)?;
                let index = request.connection as usize;
                if request.connection >= FIRST_CLUSTER {
                    if to_clusters.last().is_none_or(|(number, ..)| *number != request.connection) {
                        to_clusters.push((request.connection, Vec::new(), Vec::new()));
                    }
                    let (_, ids, requests) = to_clusters.last_mut().expect("one was added");
                    ids.push(request.id);
                    requests.extend_from_slice(bytes);
                } else if let Some(socket) = state.sockets.get_mut(index).and_then(Option::as_mut) {
                    if let Err(error) = socket.session.submit(&request) {
                        state.protocol.0.fail(request.id, &error);
                        continue;
                    }
                    if touched.last() != Some(&index) {
                        touched.push(index);
                    }
                } else {
                    state.protocol.0.fail(request.id, &gone());
                }
            }
            touched.into_iter().for_each(|index| state.send(index));
            for (number, ids, requests) in to_clusters {
                let submitted = self.cluster(number).ok_or_else(gone).and_then(|link| link.submit(&requests));
                if let Err(error) = submitted {
                    ids.into_iter().for_each(|id| state.protocol.0.fail(id, &error));
                }
            }
            Ok(())
        })
    }

    /// Closes a connection. Returns the frame of the errors of its requests.
    #[napi(catch_unwind, ts_return_type = "ArrayBuffer | undefined")]
    pub fn remove(&self, env: Env, connection: u32) -> napi::Result<MaybeFrame> {
        self.sockets.with(env, |state| {
            if connection >= FIRST_CLUSTER {
                let link =
                    self.clusters.borrow_mut().get_mut((connection - FIRST_CLUSTER) as usize).and_then(Option::take);
                link.into_iter().for_each(|link| state.protocol.0.put(link.end().bytes()));
                return Ok(());
            }
            state.end(connection as usize, &Error::Closed("the connection"));
            Ok(())
        })
    }
}

impl KvLoop {
    fn add_cluster(&self, env: Env, calls: Arc<ClusterCalls>) -> napi::Result<u32> {
        let runtime = LoopRuntime::of_thread(env)?;
        let mut clusters = self.clusters.borrow_mut();
        let at = clusters.iter().position(Option::is_none).unwrap_or(clusters.len());
        let number = FIRST_CLUSTER + word(at);
        let link = Rc::new(ClusterLink { number, calls, runtime: runtime.clone(), is_held: Cell::new(false) });
        runtime.spawn(Rc::clone(&link).run(self.sockets.giver(&runtime))).map_err(js)?;
        if at == clusters.len() {
            clusters.push(None);
        }
        clusters[at] = Some(link);
        Ok(number)
    }

    fn cluster(&self, number: u32) -> Option<Rc<ClusterLink>> {
        self.clusters.borrow().get((number - FIRST_CLUSTER) as usize).cloned().flatten()
    }
}

fn gone() -> Error {
    Error::Unreachable("the connection is gone; nothing was sent".to_owned())
}
