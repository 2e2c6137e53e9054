//! The body of a call, read with a time-out.

use std::fmt::{Display, Formatter};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use boundary_bench_kernel::workers::stalled_sender;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// A body that ends with an error if its reader waits too long for the next frame.
pub(super) struct Patient<B> {
    body: B,
    patience: Duration,
    /// The timer of the current wait; valid if `is_waiting`.
    ends: Pin<Box<Sleep>>,
    is_waiting: bool,
    is_lost: Arc<AtomicBool>,
}

impl<B> Patient<B> {
    /// A body, and a flag that is set once the wait for its sender has timed out.
    pub(super) fn new(body: B, patience: Duration) -> (Self, Arc<AtomicBool>) {
        let is_lost = Arc::new(AtomicBool::new(false));
        let ends = Box::pin(sleep(patience));
        (Self { body, patience, ends, is_waiting: false, is_lost: Arc::clone(&is_lost) }, is_lost)
    }
}

/// The error of a body that is incomplete.
#[derive(Debug)]
pub(super) struct Unfinished(String);

impl Display for Unfinished {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<B> Body for Patient<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    type Data = Bytes;
    type Error = Unfinished;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Unfinished>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(|error| Unfinished(error.to_string()))));
        }
        if !std::mem::replace(&mut this.is_waiting, true) {
            this.ends.as_mut().reset(Instant::now() + this.patience);
        }
        std::task::ready!(this.ends.as_mut().poll(context));
        this.is_lost.store(true, Ordering::Release);
        Poll::Ready(Some(Err(Unfinished(stalled_sender(this.patience).to_string()))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
