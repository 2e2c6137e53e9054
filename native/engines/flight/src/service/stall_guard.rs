//! The body of a call, read with a time-out.

use std::fmt::Display;
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
pub(super) struct StallGuard<B> {
    body: B,
    patience: Duration,
    /// The timer of the current wait. It is valid if `is_waiting`.
    ends: Pin<Box<Sleep>>,
    is_waiting: bool,
    is_lost: Arc<AtomicBool>,
}

impl<B> StallGuard<B> {
    /// A body, and a flag that is set once the wait for its sender has timed out.
    pub(super) fn new(body: B, patience: Duration) -> (Self, Arc<AtomicBool>) {
        let is_lost = Arc::new(AtomicBool::new(false));
        let ends = Box::pin(sleep(patience));
        (Self { body, patience, ends, is_waiting: false, is_lost: Arc::clone(&is_lost) }, is_lost)
    }
}

impl<B> Body for StallGuard<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Display,
{
    type Data = Bytes;
    /// The reason why the body is incomplete.
    type Error = String;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, String>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(|error| error.to_string())));
        }
        if !std::mem::replace(&mut this.is_waiting, true) {
            this.ends.as_mut().reset(Instant::now() + this.patience);
        }
        std::task::ready!(this.ends.as_mut().poll(context));
        this.is_lost.store(true, Ordering::Release);
        Poll::Ready(Some(Err(stalled_sender(this.patience).to_string())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
