//! One connection of HTTP/1.1 on the async runtime.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use boundary_bench_kernel::socket::lost;
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::{Error, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::place::Place;
use crate::response::Response;
use crate::session::Session;

/// A connection and the requests in flight on it, named by their positions in the call.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    session: Session<usize>,
    /// The error that writing has told, after which reading finds an end.
    failure: Option<io::Error>,
}

impl Connection {
    pub(crate) async fn open(place: &Place) -> Result<Self> {
        let stream = place.open_stream().await?;
        Ok(Self { stream, session: Session::new(place.options.most_bytes), failure: None })
    }

    /// Whether a request can be sent: a server may close an idle connection at any time.
    pub(crate) async fn is_usable(&mut self) -> bool {
        !self.session.is_over()
            && self.session.in_flight() == 0
            && (!self.session.has_rested() || self.stream.is_quiet().await)
    }

    pub(crate) fn session(&mut self) -> &mut Session<usize> {
        &mut self.session
    }

    /// Sends and receives until all requests are answered, and gives the responses to `take`. An error ends the
    /// connection.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        place: &Place,
        mut take: impl FnMut(usize, Response<'_>),
    ) -> Poll<Result<()>> {
        loop {
            while !self.session.unsent().is_empty() {
                match Pin::new(&mut self.stream).poll_write(context, self.session.unsent()) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(lost_at(place, &io::ErrorKind::WriteZero.into()))),
                    Poll::Ready(Ok(bytes)) => self.session.sent(bytes),
                    // Data that the server sent before it closed is still to be read: it may say why.
                    Poll::Ready(Err(error)) if is_closed(&error) => {
                        self.failure = self.failure.take().or_else(|| told_at_end(&self.stream, error));
                        break;
                    }
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(lost_at(place, &error))),
                    Poll::Pending => break,
                }
            }
            if let Poll::Ready(Err(error)) = Pin::new(&mut self.stream).poll_flush(context) {
                return Poll::Ready(Err(lost_at(place, &error)));
            }
            if self.session.in_flight() == 0 {
                return Poll::Ready(Ok(()));
            }
            let mut room = ReadBuf::new(self.session.room());
            match Pin::new(&mut self.stream).poll_read(context, &mut room) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if room.filled().is_empty() => {
                    if let Some(failure) = self.failure.take() {
                        return Poll::Ready(Err(lost_at(place, &failure)));
                    }
                    if let Some(arrived) = self.session.at_end() {
                        take(arrived.ticket, self.session.response(&arrived));
                    }
                    if self.session.in_flight() == 0 {
                        return Poll::Ready(Ok(()));
                    }
                    return Poll::Ready(Err(lost_at(place, &io::ErrorKind::UnexpectedEof.into())));
                }
                Poll::Ready(Ok(())) => {
                    let bytes = room.filled().len();
                    self.session.received(bytes);
                    while let Some(arrived) = self.session.next_response()? {
                        take(arrived.ticket, self.session.response(&arrived));
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(lost_at(place, &error))),
            }
        }
    }
}

/// The failure to send a request that the end of the stream would hide. A broken pipe says that the server had ended the stream before it
/// refused more bytes. The end of TLS is its own, whatever happened to the socket.
pub(crate) fn told_at_end(stream: &Stream, error: io::Error) -> Option<io::Error> {
    (error.kind() == io::ErrorKind::ConnectionReset && matches!(stream, Stream::Plain(_))).then_some(error)
}

pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

fn lost_at(place: &Place, error: &io::Error) -> Error {
    lost(&place.url.to_string(), error)
}
