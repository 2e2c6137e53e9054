//! The socket to a server, over TCP or a Unix domain socket.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;

use boundary_bench_kernel::{Error, socket};
use socket2::SockRef;

/// The address of a server.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// A connected socket.
#[derive(Debug)]
pub(super) struct Socket {
    /// The stream. It may also belong to a Unix domain socket.
    pub(super) stream: TcpStream,
    is_unix: bool,
}

/// Size of the kernel's buffers of a Unix domain socket, in bytes. The kernel cuts it to its own limit. It is never slower than
/// the default size, and faster for large inserts (`bench/lab/hyper-sweep.mjs`). The buffers of a TCP socket grow by themselves.
const UNIX_BUFFER_BYTES: usize = 1 << 20;

impl Socket {
    pub(super) fn connect(address: &Address) -> std::io::Result<Self> {
        let connected = match address {
            Address::Tcp(host, port) => Self { stream: socket::connect_blocking(host, *port)?, is_unix: false },
            Address::Unix(path) => Self::of_unix(socket::connect_unix_blocking(path)?),
        };
        connected.stream.set_write_timeout(Some(socket::UNACKNOWLEDGED_TIMEOUT))?;
        Ok(connected)
    }

    /// A Unix domain socket.
    pub(super) fn of_unix(stream: TcpStream) -> Self {
        Self { stream, is_unix: true }
    }

    /// Sets the sizes of the kernel's buffers, in bytes: 0 for the system's, and `None` for sizes that suit the kind of socket.
    pub(super) fn set_buffer_bytes(&self, bytes: Option<i32>) -> std::io::Result<()> {
        let own = self.is_unix.then_some(UNIX_BUFFER_BYTES);
        let bytes = bytes.map_or(own, |bytes| usize::try_from(bytes).ok().filter(|bytes| *bytes > 0));
        let socket = SockRef::from(&self.stream);
        bytes.map_or(Ok(()), |bytes| {
            socket.set_recv_buffer_size(bytes).and_then(|()| socket.set_send_buffer_size(bytes))
        })
    }

    /// Ends reading and writing on all clones of the socket.
    pub(super) fn shutdown(&self) {
        // Fails if the connection is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    pub(super) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(Self { stream: self.stream.try_clone()?, is_unix: self.is_unix })
    }

    /// Whether the server has sent nothing and has not closed the connection, as an idle connection must be.
    pub(super) fn is_quiet(&mut self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return false;
        }
        let quiet = matches!(self.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
        self.stream.set_nonblocking(false).is_ok() && quiet
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.stream.write(buffer)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> std::io::Result<usize> {
        self.stream.write_vectored(buffers)
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
    socket::unreachable_server(&place, error)
}

pub(super) fn lost(error: &std::io::Error) -> Error {
    Error::Connection(match error.kind() {
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
