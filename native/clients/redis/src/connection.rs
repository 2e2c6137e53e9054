//! One connection to one server: commands are sent, and their replies are received in order.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::driver::{Driver, Tokio};
use boundary_bench_kernel::exchange::Exchange;
use boundary_bench_kernel::socket::{self, CONNECT_TIMEOUT, lost};
use boundary_bench_kernel::stream::Stream;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result, tls};

use crate::resp::{Commands, Reply, ReplyBuffer};
use crate::session::Session;
use crate::url::{Endpoint, Url};
use crate::{engine_error, no_answer, server_error};

/// A connection that one caller at a time uses.
#[derive(Debug)]
pub struct Connection {
    exchange: Exchange,
    replies: ReplyBuffer,
    place: Endpoint,
    /// The most bytes of a reply.
    most_bytes: usize,
    /// Whether replies are outstanding: a caller that was dropped in the middle leaves the connection unusable.
    busy: bool,
}

impl Connection {
    /// Connects and logs in, within the usual time-out.
    pub async fn open(url: &Url) -> Result<Self> {
        Self::open_at(&url.place, url, &Tokio).await
    }

    /// Connects as [`Connection::open`] does, to another place than the URL's: another server of its cluster.
    pub(crate) async fn open_at(place: &Endpoint, url: &Url, driver: &dyn Driver) -> Result<Self> {
        within(Some(CONNECT_TIMEOUT), Self::open_untimed(place, url, driver), no_answer).await
    }

    /// Connects as [`Connection::open_at`] does, for a caller who sets the time-out.
    pub(crate) async fn open_untimed(place: &Endpoint, url: &Url, driver: &dyn Driver) -> Result<Self> {
        let exchange = Exchange::new(open_stream(place, url, driver).await?);
        let replies = ReplyBuffer::new(url.most_bytes);
        let mut connection = Self { exchange, replies, place: place.clone(), most_bytes: url.most_bytes, busy: false };
        let mut commands = Commands::new();
        if let Some(password) = &url.password {
            let user = url.user.iter().map(String::as_bytes);
            let arguments = std::iter::once(b"AUTH".as_slice()).chain(user).chain([password.as_bytes()]);
            commands.push(arguments.collect::<Vec<_>>().into_iter());
        }
        if url.database != 0 {
            commands.push([b"SELECT".as_slice(), url.database.to_string().as_bytes()].into_iter());
        }
        // Some server must answer before the connection counts as open. One that requires a password says so here.
        commands.push([b"PING".as_slice()].into_iter());
        let mut refused = None;
        let outcome = connection
            .round_trip(commands.bytes(), commands.len(), |index, reply| {
                let is_probe = index + 1 == commands.len();
                if let (Reply::Error(text), None) = (reply, &refused)
                    && !(is_probe && is_answer_to_probe(text))
                {
                    refused = Some(server_error(&without_secret(text, url.password.as_deref())));
                }
            })
            .await;
        // A server that has no room for a client says so once, no matter what was sent, and closes the connection.
        match refused {
            None => outcome.map(|()| connection),
            Some(error) => Err(Error::Unreachable(format!("{place} refuses the connection: {error}"))),
        }
    }

    /// The place of the server.
    pub fn place(&self) -> &Endpoint {
        &self.place
    }

    /// Whether no reply is outstanding. Otherwise the connection is to be dropped.
    pub fn is_usable(&self) -> bool {
        !self.busy
    }

    /// Whether the server has neither sent anything nor closed the connection. The connection is idle.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        self.exchange.stream.is_quiet().await
    }

    /// A new session of this connection, for a caller who drives the stream himself.
    pub fn session(&self) -> Session {
        Session::new(self.place.to_string(), self.most_bytes)
    }

    /// The stream, for a caller who drives it himself, or `None` if replies are outstanding.
    pub fn into_driven(self) -> Result<Option<DrivenStream>> {
        if self.busy {
            return Ok(None);
        }
        self.exchange.stream.into_driven().map(Some).map_err(|error| engine_error(error.to_string()))
    }

    /// Sends commands, and calls `each` with the position of every reply and the reply, as they arrive.
    ///
    /// # Errors
    /// [`Error::Connection`] when the connection is lost: commands without a reply may have been executed or not.
    pub async fn round_trip(
        &mut self,
        commands: &[u8],
        replies: usize,
        mut each: impl FnMut(usize, Reply<'_>),
    ) -> Result<()> {
        // A whole reply can always be read.
        let read = |index, bytes: &[u8]| Reply::read_whole(bytes).into_iter().for_each(|reply| each(index, reply));
        self.round_trip_bytes(commands, replies, read).await
    }

    /// Does as [`Connection::round_trip`], with the replies in wire format. Sends and receives at once, since a server may stop
    /// reading while nobody takes its replies.
    ///
    /// # Errors
    /// [`Error::Connection`] when the connection is lost: commands without a reply may have been executed or not.
    pub(crate) async fn round_trip_bytes(
        &mut self,
        commands: &[u8],
        replies: usize,
        mut each: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        if self.busy {
            return Err(Error::Closed("the connection"));
        }
        self.busy = true;
        let (mut sent, mut seen) = (0, 0);
        poll_fn(|context| self.poll_round_trip(context, commands, &mut sent, replies, &mut seen, &mut each)).await?;
        self.busy = false;
        Ok(())
    }

    fn poll_round_trip(
        &mut self,
        context: &mut Context<'_>,
        commands: &[u8],
        sent: &mut usize,
        replies: usize,
        seen: &mut usize,
        each: &mut impl FnMut(usize, &[u8]),
    ) -> Poll<Result<()>> {
        loop {
            while *seen < replies {
                let Some(reply) = self.replies.next_bytes()? else { break };
                each(*seen, reply);
                *seen += 1;
            }
            if *seen == replies {
                return Poll::Ready(Ok(()));
            }
            ready!(self.poll_exchange(context, commands, sent))?;
        }
    }

    /// Sends the bytes of `commands` behind the first `sent`, and receives some bytes of replies.
    pub(crate) fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        commands: &[u8],
        sent: &mut usize,
    ) -> Poll<Result<()>> {
        let received = self.exchange.poll(context, commands, sent, self.replies.room());
        match ready!(received).map_err(|error| self.lost(&error))? {
            0 => return Poll::Ready(Err(self.lost(&io::ErrorKind::UnexpectedEof.into()))),
            bytes => self.replies.received(bytes),
        }
        Poll::Ready(Ok(()))
    }

    /// The next reply that has arrived, in wire format.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<&[u8]>> {
        self.replies.next_bytes()
    }

    fn lost(&self, error: &io::Error) -> Error {
        lost(&self.place, error)
    }
}

/// Whether an error that answers PING says that the server is there and takes other commands. Such a server refuses PING from this user,
/// runs a script that SCRIPT KILL ends, or can't store its data.
fn is_answer_to_probe(error: &[u8]) -> bool {
    matches!(error.split(|byte| *byte == b' ').next(), Some(b"NOPERM" | b"BUSY" | b"MISCONF"))
}

/// Connects to a server at `place`, with the trust that the URL states.
async fn open_stream(place: &Endpoint, url: &Url, driver: &dyn Driver) -> Result<Stream> {
    let failed = |error: io::Error| socket::unreachable_server(place, &error);
    match place {
        Endpoint::Unix(path) => Stream::connect_unix(driver, path).await.map_err(failed),
        Endpoint::Tcp { host, port, tls: false } => Stream::connect(driver, host, *port).await.map_err(failed),
        Endpoint::Tcp { host, port, tls: true } => {
            let stream = Stream::connect(driver, host, *port).await.map_err(failed)?;
            stream.encrypt(&url.trust.connector(None)?, tls::server_name(host)?).await.map_err(failed)
        }
    }
}

/// A server's answer to a login, without the password: a server that does not know a command repeats its arguments, cut to
/// a limit of its own.
fn without_secret(text: &[u8], password: Option<&str>) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let text = text.split_once(", with args").map_or(&*text, |(said, _)| said);
    match password {
        Some(password) if !password.is_empty() => text.replace(password, "***").into_bytes(),
        _ => text.as_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_that_the_server_repeats_is_not_shown() {
        let shown = |text: &str, password| String::from_utf8(without_secret(text.as_bytes(), password)).unwrap();
        let unknown = "ERR unknown command `AUTH`, with args beginning with: `me` `a very lo";
        assert_eq!(shown(unknown, Some("a very long password")), "ERR unknown command `AUTH`");
        assert_eq!(shown("ERR what is AUTH me p`w?", Some("p`w")), "ERR what is AUTH me ***?");
        assert_eq!(shown("WRONGPASS", Some("")), "WRONGPASS");
        assert_eq!(shown("WRONGPASS", None), "WRONGPASS");
    }
}
