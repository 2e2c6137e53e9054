//! Sockets to servers: how they are opened, and how a lost peer is detected.
//!
//! A server whose machine is switched off, or whose packets a firewall drops, sends nothing, and a client that waits for its
//! response would wait for ever. So the kernel probes an idle server (TCP keep-alive), and ends a connection on which sent bytes
//! are never acknowledged. A server that works long on a response is not affected: its kernel answers the probes.

use std::fmt::Display;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpStream as BlockingStream};
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::Error;
use crate::runtime::runtime;

/// The default time-out of connecting and logging in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time that an attempt to connect has before the next address of the host is tried as well (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// The idle time without a byte from the server before the first keep-alive probe.
pub const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(60);

/// The interval of keep-alive probes.
pub const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The number of keep-alive probes without an answer after which the connection is lost.
pub const KEEP_ALIVE_PROBES: u32 = 4;

/// The time after which a connection is lost if sent bytes are not acknowledged, or if the server takes no bytes at all. The
/// second may also be due to a busy server, so the time is not short.
pub const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(120);

/// Sets the options of every TCP connection: small requests are sent at once, and a lost server is detected.
pub fn prepare<'socket>(socket: impl Into<SockRef<'socket>>) -> io::Result<()> {
    let socket = socket.into();
    socket.set_tcp_nodelay(true)?;
    let keep_alive = TcpKeepalive::new()
        .with_time(KEEP_ALIVE_IDLE)
        .with_interval(KEEP_ALIVE_INTERVAL)
        .with_retries(KEEP_ALIVE_PROBES);
    socket.set_tcp_keepalive(&keep_alive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT))?;
    Ok(())
}

/// Has the system report input of a TCP socket only when there are this many bytes, the end of the stream, or an error (`SO_RCVLOWAT` of
/// socket(7)). Does nothing where the system can't do that.
#[cfg(target_os = "linux")]
pub fn set_least_input(socket: &SockRef<'_>, bytes: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let size = libc::socklen_t::try_from(size_of_val(&bytes)).unwrap_or_default();
    // SAFETY: the pointer is to an integer of the size that is passed with it, and the socket is borrowed.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const bytes).cast(), size)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
#[expect(missing_docs, reason = "it is the function above")]
pub fn set_least_input(_: &SockRef<'_>, _: usize) -> io::Result<()> {
    Ok(())
}

/// Connects to a port of a host, without a time-out of its own: the caller must set one. Of a host with several addresses, the first one
/// that answers is taken. Each address is tried when the attempt before it has failed, or has had no answer for [`ATTEMPT_DELAY`].
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let addresses: Vec<_> = lookup_host((host, port)).await?.collect();
    let stream = connect_to_first(families_in_turn(&addresses)).await?;
    prepare(&stream)?;
    Ok(stream)
}

/// Connects to the first of these addresses that answers.
async fn connect_to_first(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    let (mut attempts, mut addresses) = (Vec::new(), addresses.into_iter());
    loop {
        attempts.extend(addresses.next().map(|address| Box::pin(TcpStream::connect(address))));
        if attempts.is_empty() {
            return Err(failure);
        }
        let ended = poll_fn(|context| poll_any(&mut attempts, context));
        let ended = if addresses.len() == 0 { Ok(ended.await) } else { timeout(ATTEMPT_DELAY, ended).await };
        match ended {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error,
            // The attempts go on beside the next one.
            Err(_) => {}
        }
    }
}

/// The outcome of the first attempt that has one. It is removed.
fn poll_any<F: Future>(attempts: &mut Vec<Pin<Box<F>>>, context: &mut Context<'_>) -> Poll<F::Output> {
    for index in 0..attempts.len() {
        if let Poll::Ready(outcome) = attempts[index].as_mut().poll(context) {
            drop(attempts.remove(index));
            return Poll::Ready(outcome);
        }
    }
    Poll::Pending
}

/// Addresses in the system's order, but IPv6 and IPv4 in turn: one of both families may not work at all.
fn families_in_turn(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let is_first = |address: &SocketAddr| address.is_ipv6() == addresses[0].is_ipv6();
    let (first, second): (Vec<_>, Vec<_>) = addresses.iter().copied().partition(is_first);
    let most = first.len().max(second.len());
    (0..most).flat_map(|index| [first.get(index), second.get(index)]).flatten().copied().collect()
}

/// Does as [`connect`], blocking this thread, with the time-out [`CONNECT_TIMEOUT`].
pub fn connect_blocking(host: &str, port: u16) -> io::Result<BlockingStream> {
    let (sender, outcome) = sync_channel(1);
    let host = host.to_owned();
    // This thread may be one of another runtime, which may not wait for futures.
    runtime().spawn(async move {
        // Nobody waits any more for an outcome that is late.
        let _ = sender.send(timeout(CONNECT_TIMEOUT, connect(&host, port)).await);
    });
    match outcome.recv_timeout(2 * CONNECT_TIMEOUT) {
        Ok(Ok(connected)) => {
            let stream = connected?.into_std()?;
            stream.set_nonblocking(false)?;
            Ok(stream)
        }
        Ok(Err(_)) | Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
        Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the attempt to connect was given up")),
    }
}

/// Connects to a Unix domain socket, blocking this thread. The stream is one of TCP by its type alone.
#[cfg(unix)]
pub fn connect_unix_blocking(path: &Path) -> io::Result<BlockingStream> {
    let connected = std::os::unix::net::UnixStream::connect(path)?;
    Ok(std::os::fd::OwnedFd::from(connected).into())
}

#[cfg(not(unix))]
#[expect(missing_docs, reason = "it is the function above")]
pub fn connect_unix_blocking(_: &Path) -> io::Result<BlockingStream> {
    Err(no_unix_sockets())
}

/// The error for a Unix domain socket if there are none.
#[cfg(not(unix))]
pub(crate) fn no_unix_sockets() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "this system has no Unix domain sockets")
}

/// The error for a server that can't be connected to, over TLS or without.
pub fn unreachable_server(place: &dyn Display, error: &io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; does the server run, and is this its address?",
        io::ErrorKind::InvalidData => "; does the server speak TLS there, and is its certificate trusted?",
        _ => "",
    };
    Error::Unreachable(format!("can't connect to {place}: {error}{advice}"))
}

/// The error for all requests in flight on a connection that is lost.
pub fn lost(place: &dyn Display, error: &io::Error) -> Error {
    let how = if error.kind() == io::ErrorKind::UnexpectedEof {
        "the server closed it".to_owned()
    } else {
        error.to_string()
    };
    Error::Connection(format!(
        "the connection to {place} was lost: {how}; what was in flight may have been executed or not, and is not sent again"
    ))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn every_connection_notices_that_its_server_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let blocking = connect_blocking("127.0.0.1", port).unwrap();
        let stream = runtime.block_on(connect("127.0.0.1", port)).unwrap();
        for socket in [SockRef::from(&blocking), SockRef::from(&stream)] {
            assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEP_ALIVE_IDLE);
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), KEEP_ALIVE_INTERVAL);
            assert_eq!(socket.tcp_keepalive_retries().unwrap(), KEEP_ALIVE_PROBES);
            #[cfg(target_os = "linux")]
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(UNACKNOWLEDGED_TIMEOUT));
        }
    }

    /// A listener that answers no attempt to connect, as if a firewall dropped them: its queue is full. The stream fills it.
    #[cfg(target_os = "linux")]
    fn silent(address: &str) -> (socket2::Socket, BlockingStream) {
        let address: SocketAddr = address.parse().unwrap();
        let listener =
            socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None).unwrap();
        listener.bind(&address.into()).unwrap();
        listener.listen(0).unwrap();
        let filling = BlockingStream::connect(listener.local_addr().unwrap().as_socket().unwrap()).unwrap();
        (listener, filling)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_address_that_drops_packets_does_not_keep_the_others_from_being_tried() {
        runtime().block_on(try_addresses());
    }

    #[cfg(target_os = "linux")]
    async fn try_addresses() {
        let (quiet, _filling) = silent("127.0.0.2:0");
        let silent = quiet.local_addr().unwrap().as_socket().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let answering = listener.local_addr().unwrap();
        let refusing = TcpListener::bind("127.0.0.3:0").unwrap().local_addr().unwrap();
        for addresses in [
            vec![silent, answering],
            vec![answering, silent],
            vec![silent, silent, refusing, answering, silent],
            vec![refusing, silent, answering],
        ] {
            let connected = timeout(CONNECT_TIMEOUT, connect_to_first(addresses.clone())).await;
            assert_eq!(connected.unwrap().unwrap().peer_addr().unwrap(), answering, "{addresses:?}");
        }
        // Whoever waits has the time-out over all attempts.
        timeout(2 * ATTEMPT_DELAY, connect_to_first(vec![silent, refusing])).await.unwrap_err();
        for (addresses, kind) in
            [(vec![refusing, refusing], io::ErrorKind::ConnectionRefused), (vec![], io::ErrorKind::NotFound)]
        {
            assert_eq!(connect_to_first(addresses).await.unwrap_err().kind(), kind);
        }
    }

    #[test]
    fn the_two_families_are_tried_in_turn_from_the_systems_first_on() {
        let order = |addresses: &[&str]| {
            let parsed = addresses.iter().map(|address| format!("{address}:1").parse().unwrap());
            let ordered = families_in_turn(&parsed.collect::<Vec<_>>());
            ordered.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(order(&["[::1]", "[::2]", "[::3]", "1.1.1.1"]), ["::1", "1.1.1.1", "::2", "::3"]);
        assert_eq!(order(&["1.1.1.1", "1.1.1.2", "[::1]", "[::2]"]), ["1.1.1.1", "::1", "1.1.1.2", "::2"]);
    }

    #[test]
    fn an_error_says_what_to_look_at() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let error = connect_blocking("127.0.0.1", port).unwrap_err();
        let text = unreachable_server(&"here", &error).to_string();
        assert!(text.starts_with("can't connect to here: ") && text.contains("does the server run"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn input_is_reported_from_a_number_of_bytes_on_or_at_the_end() {
        use std::io::{Read, Write};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = connect_blocking("127.0.0.1", listener.local_addr().unwrap().port()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let is_reported = |milliseconds| {
            use std::os::fd::AsRawFd;
            let mut polled = libc::pollfd { fd: client.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the pointer is to one structure, and the socket is open.
            (unsafe { libc::poll(&raw mut polled, 1, milliseconds) }) == 1
        };
        set_least_input(&SockRef::from(&client), 10).unwrap();
        server.write_all(b"12345").unwrap();
        assert!(!is_reported(50));
        server.write_all(b"67890").unwrap();
        assert!(is_reported(-1));
        assert_eq!((&client).read(&mut [0; 20]).unwrap(), 10);
        server.write_all(b"1").unwrap();
        assert!(!is_reported(50));
        set_least_input(&SockRef::from(&client), 1).unwrap();
        assert!(is_reported(-1));
        assert_eq!((&client).read(&mut [0; 20]).unwrap(), 1);
        set_least_input(&SockRef::from(&client), 10).unwrap();
        drop(server);
        assert!(is_reported(-1));
    }
}
