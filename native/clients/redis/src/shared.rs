//! One client for many callers: the commands that they send while others are under way go together, as one pipeline.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use boundary_bench_kernel::{Result, lock};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{Instant, sleep};

use crate::client::{KvClient, KvOptions};
use crate::cluster_calls::GRACE;
use crate::resp::{CommandOutcome, Commands, Reply};
use crate::submission::RequestKind;
use crate::url::Url;

/// A handle of a [`KvClient`] that many callers share. Each caller has a handle of its own, with one command in flight.
///
/// The commands are sent by a task of the runtime on which the client was connected. The task ends when the last handle is dropped. A
/// command whose caller no longer waits is executed all the same.
#[derive(Debug)]
pub struct SharedKvClient {
    link: Arc<Link>,
    /// The place of the next answer. A call takes it away until its answer is there: an answer that nobody took is not the next call's.
    slot: Option<Arc<Slot>>,
}

impl Clone for SharedKvClient {
    fn clone(&self) -> Self {
        Self { link: Arc::clone(&self.link), slot: None }
    }
}

#[derive(Debug)]
struct Link {
    queue: Arc<Queue>,
    task: AbortHandle,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The commands that wait for the task.
#[derive(Debug, Default)]
struct Queue {
    next: Mutex<Pipeline>,
    /// Notified when the first command is added.
    is_filled: Notify,
}

/// Commands that go together, and the place for the answer of each.
#[derive(Debug, Default)]
struct Pipeline {
    commands: Commands,
    slots: Vec<(RequestKind, Arc<Slot>)>,
}

/// The place for the answers to one caller.
#[derive(Debug, Default)]
struct Slot(Mutex<Answer>);

#[derive(Debug, Default)]
struct Answer {
    value: Vec<u8>,
    /// Whether `value` is the answer, or nil. `None` as long as there is no answer.
    has_value: Option<Result<bool>>,
    caller: Option<Waker>,
}

impl Slot {
    fn fill(&self, outcome: CommandOutcome<'_, '_>) {
        let mut answer = lock(&self.0);
        let value = outcome.map_err(Clone::clone).and_then(Reply::value);
        if let Ok(Some(value)) = value {
            answer.value.clear();
            answer.value.extend_from_slice(value);
        }
        answer.has_value = Some(value.map(|value| value.is_some()));
        let caller = answer.caller.take();
        drop(answer);
        if let Some(caller) = caller {
            caller.wake();
        }
    }

    /// Whether there is a value or nil, once the answer is there.
    fn poll(&self, context: &Context<'_>) -> Poll<Result<bool>> {
        let mut answer = lock(&self.0);
        if let Some(has_value) = answer.has_value.take() {
            return Poll::Ready(has_value);
        }
        answer.caller = Some(context.waker().clone());
        Poll::Pending
    }
}

impl SharedKvClient {
    /// Connects as [`KvClient::connect`] does, with the time-out of each pipeline in the options.
    pub async fn connect(url: Url, options: KvOptions) -> Result<Self> {
        let client = KvClient::connect(url, options).await?;
        let queue = Arc::new(Queue::default());
        let task = tokio::spawn(send(client, Arc::clone(&queue))).abort_handle();
        Ok(Self { link: Arc::new(Link { queue, task }), slot: None })
    }

    /// Reads the value of a key. `read` gets it in place.
    pub async fn get<T>(&mut self, key: &[u8], read: impl FnOnce(Option<&[u8]>) -> T) -> Result<T> {
        self.call(RequestKind::Get, |commands| commands.get(key), read).await
    }

    /// Sets a key to a value.
    pub async fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.call(RequestKind::Set, |commands| commands.set(key, value), |_| ()).await
    }

    async fn call<T>(
        &mut self,
        kind: RequestKind,
        write: impl FnOnce(&mut Commands),
        read: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Result<T> {
        let slot = self.slot.take().unwrap_or_default();
        let is_first = {
            let mut next = lock(&self.link.queue.next);
            write(&mut next.commands);
            next.slots.push((kind, Arc::clone(&slot)));
            next.slots.len() == 1
        };
        if is_first {
            self.link.queue.is_filled.notify_one();
        }
        let has_value = poll_fn(|context| slot.poll(context)).await;
        let result = has_value.map(|has_value| read(has_value.then_some(lock(&slot.0).value.as_slice())));
        self.slot = Some(slot);
        result
    }
}

/// Sends the commands of the queue, for as long as it is not aborted.
async fn send(mut client: KvClient, queue: Arc<Queue>) {
    let mut pipeline = Pipeline::default();
    // The pipelines to a cluster that have not ended in time: a server that does not answer must not hold up the commands for others.
    let mut late = FuturesUnordered::new();
    let mut tick = Box::pin(sleep(GRACE));
    while let Some(mut client) = client.share() {
        tokio::select! {
            () = queue.is_filled.notified() => {}
            Some(()) = late.next() => continue,
        }
        yield_now().await;
        let Pipeline { commands, slots } = std::mem::take(&mut *lock(&queue.next));
        let mut pipeline = Box::pin(async move {
            run(&mut client, &commands, &slots).await;
        });
        let mut ticks = 0;
        while ticks < 2 {
            tokio::select! {
                biased;
                () = &mut pipeline => break,
                Some(()) = late.next() => {}
                () = &mut tick => {
                    tick.as_mut().reset(Instant::now() + GRACE);
                    ticks += 1;
                }
            }
        }
        if ticks == 2 {
            late.push(pipeline);
        }
    }
    loop {
        queue.is_filled.notified().await;
        // Callers whose answers came together are about to send their next commands: they go together again.
        yield_now().await;
        std::mem::swap(&mut pipeline, &mut *lock(&queue.next));
        let Pipeline { commands, slots } = &mut pipeline;
        run(&mut client, commands, slots).await;
        commands.clear();
        slots.clear();
    }
}

async fn run(client: &mut KvClient, commands: &Commands, slots: &[(RequestKind, Arc<Slot>)]) {
    let fill = |position: usize, outcome: CommandOutcome<'_, '_>| slots[position].1.fill(outcome);
    client.execute_as(commands, |position| (slots[position].0, 1), fill).await;
}
