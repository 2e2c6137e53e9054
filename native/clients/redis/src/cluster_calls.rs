//! The calls of many callers on a cluster, which do not wait for each other.

use std::mem::take;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use boundary_bench_kernel::frame::Frame;
use boundary_bench_kernel::{Error, Result, lock};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, Sleep, sleep};

use crate::client::KvClient;
use crate::cluster::Cluster;
use crate::remote::{run_request, run_submission};
use crate::routing::Target;
use crate::slots::slot_of;
use crate::submission::{Request, RequestKind, pieces};

/// The time for which results are held back until all servers have answered, so that they cross together. It may last twice as long.
pub(crate) const GRACE: Duration = Duration::from_millis(2);

/// Runs the requests of submissions over a client of a cluster. Each request has its result when the servers of its own keys have
/// answered. Other servers delay it by a few milliseconds at most ([`GRACE`]). The requests for one server are sent in the order of the submissions.
pub struct ClusterCalls(Mutex<State>);

struct State {
    /// The client, or `None` once it is closed.
    client: Option<KvClient>,
    calls: FuturesUnordered<Call>,
    last_number: u64,
    /// The last call that began before the current stretch of [`GRACE`], and the last call that is late: no results wait for it.
    marks: [u64; 2],
    /// The end of the current stretch, once it was needed.
    tick: Option<Pin<Box<Sleep>>>,
    /// The results that nobody has taken yet.
    results: Frame,
    /// The reader that waits for results.
    reader: Option<Waker>,
}

/// Requests whose results come together: the requests of one submission for single keys of one server, or one other request.
struct Call {
    number: u64,
    ids: Vec<u32>,
    /// The ids whose callers no longer wait.
    given_up: Vec<u32>,
    /// The server of requests for one key each.
    node: Option<u16>,
    work: Pin<Box<dyn Future<Output = Result<Vec<u8>>> + Send>>,
}

impl Future for Call {
    type Output = Frame;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Frame> {
        let mut results = Frame::default();
        match ready!(self.work.as_mut().poll(context)) {
            Ok(bytes) => results.put(&bytes),
            Err(error) => self.fail(&error, &mut results),
        }
        Poll::Ready(results)
    }
}

impl Call {
    fn fail(&self, error: &Error, results: &mut Frame) {
        self.ids.iter().for_each(|id| results.fail(*id, error));
    }
}

impl ClusterCalls {
    /// The calls on a client. `None` if it is a client of a single server.
    pub fn new(client: &KvClient) -> Option<Self> {
        let client = Some(client.share()?);
        let calls = FuturesUnordered::new();
        let (results, marks) = (Frame::default(), [0, 0]);
        client.as_ref().and_then(KvClient::cluster).into_iter().for_each(Cluster::collect);
        Some(Self(Mutex::new(State { client, calls, last_number: 0, marks, tick: None, results, reader: None })))
    }

    /// Begins the requests of a submission. They go on while their results are waited for.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for bytes that are no submission, [`Error::Closed`]. Nothing is sent then.
    pub fn submit(&self, submission: &[u8]) -> Result<()> {
        let mut state = lock(&self.0);
        let client = state.client.as_ref().ok_or(Error::Closed("the connection"))?;
        let mut begun: Vec<(Option<u16>, Vec<u32>, Vec<u8>)> = Vec::new();
        // The first of the calls that a request for one key may join. It must not overtake other requests.
        let mut open = 0;
        for piece in pieces(submission) {
            let (request, bytes) = piece?;
            let node = node_of(client, &request);
            let may_join = node.is_some() && matches!(request.kind, RequestKind::Get | RequestKind::Set);
            let known = begun[open..].iter_mut().find(|(known, ..)| may_join && *known == node);
            if let Some((_, ids, requests)) = known {
                ids.push(request.id);
                requests.extend_from_slice(bytes);
            } else {
                begun.push((node, vec![request.id], bytes.to_vec()));
                open = if may_join { open } else { begun.len() };
            }
        }
        for (node, ids, requests) in begun {
            let Some(mut client) = state.client.as_ref().and_then(KvClient::share) else { break };
            state.last_number += 1;
            let (number, given_up) = (state.last_number, Vec::new());
            let is_one = ids.len() == 1;
            let work = Box::pin(async move {
                if is_one {
                    run_request(&mut client, node, &requests).await
                } else {
                    run_submission(&mut client, &requests).await
                }
            });
            state.calls.push(Call { number, ids, given_up, node, work });
        }
        state.wake();
        Ok(())
    }

    /// Gives a request up, whose caller no longer waits. Later requests then take other connections to the servers that have not
    /// answered it. The request still has a result, so that its id is free again.
    pub fn give_up(&self, id: u32) {
        let mut state = lock(&self.0);
        let mut calls = take(&mut state.calls).into_iter().collect::<Vec<_>>();
        calls.sort_unstable_by_key(|call| call.number);
        for mut call in calls {
            if call.ids.contains(&id) && !call.given_up.contains(&id) {
                call.given_up.push(id);
                if call.given_up.len() == call.ids.len() {
                    call.fail(&Error::Cancelled, &mut state.results);
                    continue;
                }
                let cluster = state.client.as_ref().and_then(KvClient::cluster);
                call.node.zip(cluster).into_iter().for_each(|(node, cluster)| cluster.give_up(node));
            }
            state.calls.push(call);
        }
        state.wake();
    }

    /// Drives the requests. Ready once there are results, and none is expected in a moment, and once the connections are closed.
    pub fn poll_results(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.client.is_none() {
            return Poll::Ready(());
        }
        let State { calls, results, reader, last_number, marks, tick, .. } = &mut *state;
        let mut context = Context::from_waker(context.waker());
        while let Poll::Ready(Some(frame)) = calls.poll_next_unpin(&mut context) {
            results.put(frame.bytes());
        }
        while !results.is_empty() {
            if calls.iter().all(|call| call.number <= marks[1]) {
                return Poll::Ready(());
            }
            let tick = tick.get_or_insert_with(|| Box::pin(sleep(GRACE)));
            if tick.as_mut().poll(&mut context).is_pending() {
                break;
            }
            tick.as_mut().reset(Instant::now() + GRACE);
            *marks = [*last_number, marks[0]];
        }
        *reader = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whether requests have no result yet.
    pub fn is_busy(&self) -> bool {
        !lock(&self.0).calls.is_empty()
    }

    /// Whether the connections are closed.
    pub fn is_closed(&self) -> bool {
        lock(&self.0).client.is_none()
    }

    /// Takes the results so far, as a frame.
    pub fn take_results(&self) -> Vec<u8> {
        lock(&self.0).results.take()
    }

    /// Closes the connections. Requests under way end with [`Error::Closed`]: what was sent may have been executed or not.
    pub fn close(&self) {
        let mut state = lock(&self.0);
        state.client = None;
        for call in take(&mut state.calls) {
            call.fail(&Error::Closed("the connection"), &mut state.results);
        }
        state.wake();
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// The server of a request that reads or writes one key.
fn node_of(client: &KvClient, request: &Request<'_>) -> Option<u16> {
    let is_one = match request.kind {
        RequestKind::Get | RequestKind::Set => true,
        RequestKind::Mget => request.arguments().len() == 1,
        RequestKind::Mset => request.arguments().len() == 2,
        RequestKind::Pipeline | RequestKind::CheckedPipeline => false,
    };
    let key = request.arguments().next().filter(|_| is_one)?;
    client.cluster().map(|cluster| cluster.node_of(Target::Slot(slot_of(key))))
}
