//! Request bodies, limited in size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Incoming};

/// Why a request's body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// The body has more bytes than the limit.
    TooLarge,
    /// The body did not arrive within its time-out.
    TooSlow,
    /// The connection broke, or its bytes are no valid body.
    Broken,
}

/// How long a client may go on sending a body that is refused.
const LINGER: Duration = Duration::from_millis(500);

/// How many bytes of a refused body are read and dropped, as a multiple of the limit.
const LINGER_BODIES: usize = 4;

/// Reads the whole body of a request, of at most `limit` bytes, within `time`.
pub(crate) async fn collect(mut body: Incoming, limit: usize, time: Duration) -> Result<Bytes, BodyError> {
    if body.size_hint().lower() > limit as u64 {
        return Err(refused(body, limit).await);
    }
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    // Most bodies arrive with their header, in one part: no timer, no copy.
    let first = poll_fn(|context| Poll::Ready(Pin::new(&mut body).poll_frame(context))).await;
    let mut collected = BytesMut::new();
    if let Poll::Ready(part) = first {
        let Some(frame) = part else { return Ok(Bytes::new()) };
        if let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() {
            if data.len() > limit {
                return Err(refused(body, limit).await);
            }
            if body.is_end_stream() {
                return Ok(data);
            }
            collected.extend_from_slice(&data);
        }
    }
    match tokio::time::timeout(time, rest(body, limit, collected)).await {
        Ok(collected) => collected,
        Err(_) => Err(BodyError::TooSlow),
    }
}

/// Reads and drops the rest of a body that is too large, within bounds. If the connection were closed while the client still
/// sends, the kernel would discard the response before the client reads it.
async fn refused(mut body: Incoming, limit: usize) -> BodyError {
    let let_go = async {
        let mut left = limit.saturating_mul(LINGER_BODIES);
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let bytes = frame.into_data().map_or(0, |data| data.len());
            let Some(less) = left.checked_sub(bytes) else { return };
            left = less;
        }
    };
    let _ = tokio::time::timeout(LINGER, let_go).await;
    BodyError::TooLarge
}

async fn rest(mut body: Incoming, limit: usize, mut collected: BytesMut) -> Result<Bytes, BodyError> {
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if collected.len() + data.len() > limit {
            return Err(refused(body, limit).await);
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}
