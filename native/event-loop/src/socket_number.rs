//! The numbers by which systems know sockets.

#[cfg(unix)]
use std::os::fd::AsRawFd;
#[cfg(unix)]
pub use std::os::fd::RawFd as SocketNumber;
#[cfg(windows)]
use std::os::windows::io::AsRawSocket;
#[cfg(windows)]
pub use std::os::windows::io::RawSocket as SocketNumber;

use socket2::Socket;

/// The number of a socket, valid until the socket is closed.
pub fn number_of(socket: &Socket) -> SocketNumber {
    #[cfg(unix)]
    return socket.as_raw_fd();
    #[cfg(windows)]
    return socket.as_raw_socket();
}
