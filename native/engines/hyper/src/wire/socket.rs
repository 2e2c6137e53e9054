//! The socket to a server, over TCP or a Unix domain socket.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use boundary_bench_kernel::{Error, socket};

use crate::engine_error;

/// The address of a server.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// A connected socket.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Size of the kernel's buffers of a Unix domain socket, in bytes, which the kernel cuts to its own limit: never slower than
/// the default size, and faster for large inserts (`bench/lab/hyper-sweep.mjs`). The buffers of a TCP socket grow by themselves.
pub(super) const UNIX_BUFFER_BYTES: libc::c_int = 1 << 20;

/// Makes the same call on the stream of either kind of socket.
macro_rules! on_socket {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($stream) => $call,
            Socket::Unix($stream) => $call,
        }
    };
}

impl Socket {
    pub(super) fn connect(address: &Address) -> std::io::Result<Self> {
        let connected = match address {
            Address::Tcp(host, port) => Self::Tcp(socket::connect_blocking(host, *port)?),
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        connected.set_write_timeout(Some(socket::UNACKNOWLEDGED_TIMEOUT))?;
        Ok(connected)
    }

    /// Sets the sizes of the kernel's buffers.
    pub(super) fn set_buffer_bytes(&self, bytes: libc::c_int) -> std::io::Result<()> {
        let descriptor = on_socket!(self, stream => stream.as_raw_fd());
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
            // SAFETY: the descriptor is open, and the option takes an int, whose address and size are given.
            let answer = unsafe {
                libc::setsockopt(
                    descriptor,
                    libc::SOL_SOCKET,
                    option,
                    (&raw const bytes).cast(),
                    size_of::<libc::c_int>().try_into().unwrap_or_default(),
                )
            };
            if answer != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    }

    pub(super) fn set_write_timeout(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        on_socket!(self, stream => stream.set_write_timeout(timeout))
    }

    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        on_socket!(self, stream => stream.set_read_timeout(timeout))
    }

    /// Ends reading and writing on all clones of the socket.
    pub(super) fn shutdown(&self) {
        // Fails if the connection is closed already.
        let _ = on_socket!(self, stream => stream.shutdown(Shutdown::Both));
    }

    pub(super) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Whether the server has sent nothing and has not closed the connection, as an idle connection must be.
    pub(super) fn is_quiet(&mut self) -> bool {
        if on_socket!(self, stream => stream.set_nonblocking(true)).is_err() {
            return false;
        }
        let quiet = matches!(self.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        on_socket!(self, stream => stream.set_nonblocking(false)).is_ok() && quiet
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        on_socket!(self, stream => stream.read(buffer))
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        on_socket!(self, stream => stream.write(buffer))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> std::io::Result<usize> {
        on_socket!(self, stream => stream.write_vectored(buffers))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes a header and what follows it, by one system call if the socket has room for both.
pub(super) fn write_both(socket: &mut impl Write, header: &[u8], rest: &[u8]) -> std::io::Result<()> {
    let written = loop {
        match socket.write_vectored(&[IoSlice::new(header), IoSlice::new(rest)]) {
            // A socket with a time-out is interrupted by a stop of the process, too.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            written => break written?,
        }
    };
    let head = written.min(header.len());
    socket.write_all(&header[head..])?;
    socket.write_all(&rest[written - head..])
}

pub(super) fn unreachable_server(address: &Address, error: &std::io::Error) -> Error {
    let place = match address {
        Address::Tcp(host, port) => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    };
    engine_error(socket::unreachable_server(&place, error))
}

pub(super) fn lost(error: &std::io::Error) -> Error {
    engine_error(match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the connection is lost: the server has closed it or is gone".to_owned()
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the connection is lost: the server does not answer".to_owned(),
        _ => format!("the connection is lost: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket that takes few bytes at a time, and whose every other call is interrupted.
    #[derive(Default)]
    struct Interrupted {
        taken: Vec<u8>,
        calls: usize,
    }

    impl Write for Interrupted {
        fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
            self.calls += 1;
            if self.calls % 2 == 1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let bytes = buffer.len().min(3);
            self.taken.extend_from_slice(&buffer[..bytes]);
            Ok(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_interrupts_a_call_does_not_end_the_message() {
        let mut socket = Interrupted::default();
        write_both(&mut socket, b"header", b"and what follows").unwrap();
        assert_eq!(socket.taken, b"headerand what follows");
    }
}
