//! A connected socket, or TLS over it, whose owner reads and writes when the socket is ready. Nothing here blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;

use socket2::SockRef;
use tokio_rustls::rustls::{self, ClientConnection};

/// The most reads from a socket in a row that bring nothing but TLS's own messages, such as session tickets. The reader's other work then
/// gets its turn.
const MOST_EMPTY_READS: usize = 8;

/// A connection without its stream: takes requests and received bytes, and gives bytes to send. Nothing in it blocks.
pub trait Driven {
    /// The bytes to be sent.
    fn unsent(&self) -> &[u8];

    /// The buffer to receive into.
    fn room(&mut self) -> &mut [u8];

    /// The number of requests without a result.
    fn in_flight(&self) -> usize;

    /// Whether the connection is to be closed: it takes no more requests, and owes no response.
    fn is_over(&self) -> bool {
        false
    }
}

/// A non-blocking byte stream to a server.
#[derive(Debug)]
pub struct DrivenStream {
    /// The socket. It may also be a Unix domain socket, since it is only read from and written to.
    socket: TcpStream,
    tls: Option<Box<Tls>>,
}

/// TLS after its handshake.
#[derive(Debug)]
struct Tls {
    connection: ClientConnection,
    /// The number of received bytes that were decrypted and not read.
    held: usize,
    /// Whether the server has closed TLS or the socket.
    has_ended: bool,
    /// The error of bytes that are not TLS, after which nothing more is read.
    failure: Option<rustls::Error>,
}

/// A socket that notes whether the last read has emptied it.
struct Noting<'a> {
    socket: &'a TcpStream,
    is_empty: bool,
}

impl Read for Noting<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let bytes = self.socket.read(room)?;
        self.is_empty = bytes < room.len();
        Ok(bytes)
    }
}

impl DrivenStream {
    /// The stream of a connected, non-blocking socket.
    pub fn plain(socket: TcpStream) -> Self {
        Self { socket, tls: None }
    }

    /// The stream of a connected, non-blocking socket over which the handshake of TLS is done.
    pub fn secure(socket: TcpStream, mut connection: ClientConnection) -> Self {
        // The server may have sent data right behind its part of the handshake.
        let state = connection.process_new_packets();
        let held = state.as_ref().map_or(0, rustls::IoState::plaintext_bytes_to_read);
        let has_ended = state.as_ref().is_ok_and(rustls::IoState::peer_has_closed);
        let failure = state.err();
        Self { socket, tls: Some(Box::new(Tls { connection, held, has_ended, failure })) }
    }

    /// Whether reading returns without waiting for the socket: with bytes that were received, the end or an error.
    pub fn has_input(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.held > 0 || tls.has_ended || tls.failure.is_some())
    }

    /// Whether bytes were written that the socket has not taken yet. [`Write::flush`] sends them.
    pub fn has_unsent(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.wants_write())
    }

    /// Whether the server of an idle stream has neither sent data nor closed the connection.
    pub fn is_quiet(&mut self) -> bool {
        for _ in 0..MOST_EMPTY_READS {
            if self.has_input() {
                return false;
            }
            if !has_news(&SockRef::from(&self.socket)) {
                return true;
            }
            // The bytes may be TLS's own.
            let Some(tls) = &mut self.tls else { return false };
            if tls.receive(&self.socket).is_err() {
                return false;
            }
        }
        false
    }

    /// The socket as the system knows it.
    pub fn system_socket(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    /// Takes the error of the socket.
    pub fn take_error(&self) -> Option<io::Error> {
        self.socket.take_error().ok().flatten()
    }
}

impl Drop for DrivenStream {
    /// Tells the server that no more data follow, as far as the socket takes that at once.
    fn drop(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            let _ = tls.send(&self.socket);
        }
    }
}

impl Read for DrivenStream {
    /// Reads as much as there is room for. Fewer bytes mean that the socket has no more, unless [`DrivenStream::has_input`].
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(room),
            Some(tls) => tls.read(&self.socket, room),
        }
    }
}

impl Write for DrivenStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => tls.write(&self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tls.as_mut().map_or(Ok(()), |tls| tls.send(&self.socket))
    }
}

impl Tls {
    fn read(&mut self, socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        // Bytes that are held are read alone: otherwise a fast server would keep its reader for ever.
        let mut is_empty = self.held > 0;
        let mut reads = 0;
        loop {
            match self.connection.reader().read(&mut room[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(bytes) => {
                    filled += bytes;
                    self.held = self.held.saturating_sub(bytes);
                    if filled == room.len() {
                        return Ok(filled);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if filled > 0 => return Ok(filled),
                // Without TLS's own end the data may have been cut off by anyone, so it is not taken for an end.
                Err(_) => return Err(io::Error::new(ErrorKind::ConnectionAborted, "the server closed it within TLS")),
            }
            // A socket that has more is reported again.
            is_empty |= reads >= MOST_EMPTY_READS && filled == 0;
            reads += 1;
            let received = if is_empty { Err(ErrorKind::WouldBlock.into()) } else { self.receive(socket) };
            match received {
                Ok(was_last) => is_empty = was_last,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads from the socket once, and decrypts what came. Returns whether the socket has no more.
    fn receive(&mut self, socket: &TcpStream) -> io::Result<bool> {
        if let Some(failure) = &self.failure {
            return Err(io::Error::new(ErrorKind::InvalidData, failure.clone()));
        }
        let mut noting = Noting { socket, is_empty: false };
        let bytes = self.connection.read_tls(&mut noting)?;
        let is_empty = noting.is_empty;
        match self.connection.process_new_packets() {
            Ok(state) => {
                self.held = state.plaintext_bytes_to_read();
                self.has_ended = bytes == 0 || state.peer_has_closed();
                Ok(is_empty)
            }
            Err(error) => {
                self.failure = Some(error.clone());
                // TLS tells the server the reason.
                let _ = self.send(socket);
                Err(io::Error::new(ErrorKind::InvalidData, error))
            }
        }
    }

    fn write(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // TLS takes bytes up to a limit of its own.
            let taken = self.connection.writer().write(bytes)?;
            match self.send(socket) {
                Ok(()) if taken == 0 && !bytes.is_empty() => {}
                Err(error) if taken == 0 || error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => return Ok(taken),
            }
        }
    }

    /// Sends what is encrypted until the socket is full.
    fn send(&mut self, mut socket: &TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether an idle socket has something to read: bytes, its end, or an error.
pub fn has_news(socket: &SockRef<'_>) -> bool {
    let seen = socket.peek(&mut [MaybeUninit::uninit()]);
    !seen.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}
