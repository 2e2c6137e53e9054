//! The driver of a client's connections: tokio's threads, or the event loop of one of a JavaScript runtime's threads.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

/// A future that drives a connection, or waits for one.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connected socket that a driver reads and writes.
pub trait Socket: AsyncRead + AsyncWrite + Debug + Send + Sync + Unpin {
    /// The socket as the system knows it.
    fn system_socket(&self) -> SockRef<'_>;

    /// Takes the socket from its driver. The socket stays non-blocking. It may also be a Unix domain socket.
    fn into_std(self: Box<Self>) -> io::Result<std::net::TcpStream>;
}

impl Socket for TcpStream {
    fn system_socket(&self) -> SockRef<'_> {
        SockRef::from(self)
    }

    fn into_std(self: Box<Self>) -> io::Result<std::net::TcpStream> {
        (*self).into_std()
    }
}

#[cfg(unix)]
impl Socket for UnixStream {
    fn system_socket(&self) -> SockRef<'_> {
        SockRef::from(self)
    }

    fn into_std(self: Box<Self>) -> io::Result<std::net::TcpStream> {
        Ok(std::os::fd::OwnedFd::from((*self).into_std()?).into())
    }
}

/// Drives sockets, and runs the tasks that read and write them.
pub trait Driver: Debug + Send + Sync {
    /// Takes over a socket that tokio has connected.
    fn drive(&self, socket: Box<dyn Socket>) -> io::Result<Box<dyn Socket>>;

    /// Runs a task to its end, concurrently with its caller.
    fn spawn(&self, task: Task);

    /// Waits until all written bytes have been sent: on a single thread, the caller's next work would delay them.
    fn sent(&self) -> Task;
}

/// The driver of the threads of the tokio runtime that the caller is in.
#[derive(Debug)]
pub struct Tokio;

impl Driver for Tokio {
    fn drive(&self, socket: Box<dyn Socket>) -> io::Result<Box<dyn Socket>> {
        Ok(socket)
    }

    fn spawn(&self, task: Task) {
        drop(tokio::spawn(task));
    }

    fn sent(&self) -> Task {
        Box::pin(async {})
    }
}
