//! One connection of HTTP/1.1 on the async runtime.

use std::io;
use std::task::{Context, Poll, ready};

use boundary_bench_kernel::Result;
use boundary_bench_kernel::exchange::Exchange;
use boundary_bench_kernel::socket::lost;

use crate::origin::Origin;
use crate::response::Response;
use crate::session::Session;

/// A connection and the requests in flight on it, named by their positions in the call.
#[derive(Debug)]
pub(crate) struct Connection {
    exchange: Exchange,
    session: Session<usize>,
}

impl Connection {
    pub(crate) async fn open(place: &Origin) -> Result<Self> {
        let exchange = Exchange::new(place.open_stream().await?);
        Ok(Self { exchange, session: Session::new(place.options.most_bytes) })
    }

    /// Whether a request can be sent: a server may close an idle connection at any time.
    pub(crate) async fn is_usable(&mut self) -> bool {
        !self.session.is_over()
            && self.session.in_flight() == 0
            && (!self.session.has_rested() || self.exchange.stream.is_quiet().await)
    }

    pub(crate) fn session(&mut self) -> &mut Session<usize> {
        &mut self.session
    }

    /// Sends and receives until all requests are answered, or a response ends the connection, and gives the responses to `take`. An
    /// error ends the connection.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
        place: &Origin,
        mut take: impl FnMut(usize, Response<'_>),
    ) -> Poll<Result<()>> {
        while self.session.in_flight() > 0 && !self.session.is_closing() {
            let (unsent, room) = self.session.unsent_and_room();
            let mut sent = 0;
            let received = self.exchange.poll(context, unsent, &mut sent, room);
            self.session.sent(sent);
            match ready!(received).map_err(|error| lost(&place.url, &error))? {
                0 => {
                    if let Some(arrived) = self.session.at_end() {
                        take(arrived.ticket, self.session.response(&arrived));
                    }
                    if self.session.in_flight() > 0 && !self.session.is_closing() {
                        return Poll::Ready(Err(lost(&place.url, &io::ErrorKind::UnexpectedEof.into())));
                    }
                }
                bytes => {
                    self.session.received(bytes);
                    while let Some(arrived) = self.session.next_response()? {
                        take(arrived.ticket, self.session.response(&arrived));
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
