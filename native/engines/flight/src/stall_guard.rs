//! The body of a call, read with a time-out.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use crate::grpc::{BoxError, Sent};

/// A body that ends with an error if its reader waits too long for the next frame.
pub(crate) struct StallGuard<B> {
    body: B,
    /// The time-out, if there is one, and the timer of the current wait. The timer is valid if `is_waiting`.
    ends: Option<(Duration, Pin<Box<Sleep>>)>,
    /// The progress of the request. Nobody needs to answer it while it is being sent.
    sent: Arc<Sent>,
    is_waiting: bool,
    is_lost: Arc<AtomicBool>,
}

impl<B> StallGuard<B> {
    /// A body, and a flag that is set once the wait for its sender has timed out.
    pub(crate) fn new(body: B, patience: Option<Duration>, sent: Arc<Sent>) -> (Self, Arc<AtomicBool>) {
        let is_lost = Arc::new(AtomicBool::new(false));
        let ends = patience.map(|patience| (patience, Box::pin(sleep(patience))));
        (Self { body, ends, sent, is_waiting: false, is_lost: Arc::clone(&is_lost) }, is_lost)
    }
}

impl<B> Body for StallGuard<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    /// The reason why the body is incomplete.
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.is_waiting = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((patience, ends)) = &mut this.ends else { return Poll::Pending };
        let mut left = if std::mem::replace(&mut this.is_waiting, true) { Duration::ZERO } else { *patience };
        loop {
            if !left.is_zero() {
                ends.as_mut().reset(Instant::now() + left);
            }
            ready!(ends.as_mut().poll(context));
            left = this.sent.left(*patience);
            if left.is_zero() {
                this.is_lost.store(true, Ordering::Release);
                return Poll::Ready(Some(Err("nothing came for the time-out".into())));
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
