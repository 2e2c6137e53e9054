//! Requests that are sent while responses are received: a server may answer while it reads, and read no more until its answer is taken.

use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};

use crate::stream::Stream;

/// A stream to a server, and what became of sending over it.
#[derive(Debug)]
pub struct Exchange {
    /// The stream to the server.
    pub stream: Stream,
    /// The failure to send that the end of the stream would hide. The server may have answered before.
    failure: Option<io::Error>,
}

impl Exchange {
    /// An exchange over an open stream.
    pub fn new(stream: Stream) -> Self {
        Self { stream, failure: None }
    }

    /// Receives bytes into `room`. Meanwhile it sends the bytes of `bytes` behind the first `sent`, and `sent` counts them. Returns
    /// the number of bytes received, 0 at the end of the stream. A server that takes no more bytes has still said what it sent before:
    /// it may say why.
    pub fn poll(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        sent: &mut usize,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self.stream.poll_send(context, bytes, sent) {
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::BrokenPipe => {
                // The server had ended the stream before it refused more bytes.
            }
            Poll::Ready(Err(error)) if error.kind() == ErrorKind::ConnectionReset => {
                // TLS has an end of its own. It is valid no matter what happened to the socket.
                if matches!(self.stream, Stream::Plain(_)) {
                    self.failure.get_or_insert(error);
                }
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => {}
        }
        let received = ready!(self.stream.poll_receive(context, room))?;
        match self.failure.take_if(|_| received == 0) {
            Some(failure) => Poll::Ready(Err(failure)),
            None => Poll::Ready(Ok(received)),
        }
    }
}
