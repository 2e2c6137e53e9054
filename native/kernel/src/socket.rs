//! Sockets to servers: how they are opened, and how a lost peer is detected.
//!
//! A server whose machine is switched off, or whose packets a firewall drops, sends nothing, and a client that waits for its
//! response would wait for ever. So the kernel probes an idle server (TCP keep-alive), and ends a connection on which sent bytes
//! are never acknowledged. A server that works long on a response is not affected: its kernel answers the probes.

use std::fmt::Display;
use std::io;
use std::net::{TcpStream as BlockingStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use crate::Error;

/// The default time-out of connecting and logging in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
///
/// # Errors
/// The error of the system.
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
///
/// # Errors
/// The error of the system.
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

/// Connects to a port of a host, without a time-out of its own: the caller must set one.
///
/// # Errors
/// The system's error for the last address of the host.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    prepare(&stream)?;
    Ok(stream)
}

/// Does as [`connect`], blocking this thread. Each address of the host has the time-out [`CONNECT_TIMEOUT`].
///
/// # Errors
/// The errors of [`connect`].
pub fn connect_blocking(host: &str, port: u16) -> io::Result<BlockingStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match BlockingStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                prepare(&stream)?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Connects to a Unix domain socket, blocking this thread. The stream is one of TCP by its type alone.
///
/// # Errors
/// The error of the system, or [`io::ErrorKind::Unsupported`] on Windows.
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

/// The message for a server that can't be connected to, over TLS or without.
#[must_use]
pub fn unreachable_server(place: &dyn Display, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => "; does the server run, and is this its address?",
        io::ErrorKind::InvalidData => "; does the server speak TLS there, and is its certificate trusted?",
        _ => "",
    };
    format!("can't connect to {place}: {error}{advice}")
}

/// The error for all requests in flight on a connection that is lost.
#[must_use]
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

    #[test]
    fn an_error_says_what_to_look_at() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let error = connect_blocking("127.0.0.1", port).unwrap_err();
        let text = unreachable_server(&"here", &error);
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
