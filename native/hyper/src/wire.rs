//! `PostgreSQL`'s protocol as `hyperd` speaks it, over a socket of ours: its options, its timeouts, its buffers.
//!
//! The client's crate does the handshake. Messages are then framed here, so that the bytes of a batch are read where
//! they stay, aligned for Arrow.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_buffer::Buffer;
use boundary_bench_core::engine::unusable_parameter;
use boundary_bench_core::slab::Slab;
use boundary_bench_core::{Error, Result};
use hyperdb_api_core::client::connection::RawConnection;

use crate::engine_error;

/// How long connecting and the handshake may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the server may refuse to take bytes before it counts as gone.
const WRITE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long an abandoned statement may take to end after it was cancelled; the connection is closed then.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes that one read asks for where no message says more.
const READ_BYTES: usize = 64 * 1024;

/// The largest payload of one message of ours. The server refuses packets beyond 150 MiB.
const MAX_PAYLOAD: usize = 16 << 20;

/// The number of the format of rows that is the server's own: little-endian, the widths of Arrow's types.
const HYPER_BINARY: u16 = 2;

/// Writes below this are gathered.
const GATHER_BYTES: usize = 64 * 1024;

/// The user of a server that has no others.
pub(crate) const DEFAULT_USER: &str = "tableau_internal_user";

/// Where a server listens.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// A connected socket.
#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The kernel's buffers of a Unix domain socket, which it cuts to its own limit: never slower than the system's own, and up
/// to a tenth faster (`bench/hyper-sweep.mjs`). Those of a TCP socket grow by themselves.
const UNIX_SOCKET_BUFFER_BYTES: libc::c_int = 1 << 20;

/// Runs the same call on whichever socket it is.
macro_rules! on_socket {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($stream) => $call,
            Socket::Unix($stream) => $call,
        }
    };
}

impl Socket {
    fn connect(address: &Address) -> std::io::Result<Self> {
        let socket = match address {
            Address::Tcp(host, port) => {
                let mut failure = std::io::Error::new(ErrorKind::NotFound, "the host has no address");
                let mut connected = None;
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            connected = Some(stream);
                            break;
                        }
                        Err(error) => failure = error,
                    }
                }
                let stream = connected.ok_or(failure)?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        };
        on_socket!(&socket, stream => stream.set_write_timeout(Some(WRITE_TIMEOUT)))?;
        Ok(socket)
    }

    /// Sets the sizes of the kernel's buffers.
    fn set_buffer_bytes(&self, bytes: libc::c_int) -> std::io::Result<()> {
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

    fn set_read_timeout(&self, timeout: Option<Duration>) -> std::io::Result<()> {
        on_socket!(self, stream => stream.set_read_timeout(timeout))
    }

    fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Whether the server has sent nothing and not closed: what an idle connection must look like.
    fn is_quiet(&mut self) -> bool {
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

/// What the server says, as far as it matters here.
pub(crate) enum Message {
    /// A part of a result of `COPY ... TO STDOUT`.
    CopyData(Buffer),
    /// A row of a result, as text.
    Row(Vec<Option<String>>),
    /// A result's columns.
    RowDescription(Vec<Field>),
    /// The server waits for the data of `COPY ... FROM STDIN`.
    CopyIn,
    /// The server begins with the data of `COPY ... TO STDOUT`.
    CopyOut,
    /// A statement is done; its tag, such as `INSERT 0 3`.
    Complete(String),
    /// A statement failed; the server's words with its code.
    Failed(ServerError),
    /// The server waits for the next statement.
    Ready,
    /// Nothing to act upon.
    Other,
}

/// A column of a result.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The number of its type in the catalog.
    pub(crate) type_id: u32,
    /// Precision and scale of a `NUMERIC`.
    pub(crate) modifier: i32,
}

/// A statement with parameters, on its way to the server, which keeps it until the next one comes.
pub(crate) struct Bound<'a> {
    /// The statement and the types of its parameters, 0 where one is open; `None` where the server has it.
    pub(crate) parse: Option<(&'a str, &'a [u32])>,
    /// The values, `None` for NULL.
    pub(crate) values: &'a [Option<Parameter>],
    /// Whether it is to run; else the server says only whether the values fit.
    pub(crate) run: bool,
}

/// A value as the server reads it.
pub(crate) enum Parameter {
    Text(String),
    /// `PostgreSQL`'s binary format.
    Binary(Vec<u8>),
}

/// What a session is in between two statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Idle,
    /// Also in one that failed and waits for its end.
    InTransaction,
}

/// Whether the next row is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    More,
    Enough,
}

/// Why the server refused a statement.
#[derive(Debug, Clone)]
pub(crate) struct ServerError {
    /// The SQLSTATE.
    pub(crate) code: String,
    text: String,
}

impl ServerError {
    /// The server's words.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a database can't be opened because it is being closed. One that another server holds has the same code.
    pub(crate) fn is_unloading(&self) -> bool {
        self.code == "55006" && self.text.contains("still in use")
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        engine_error(format!("{} ({})", error.text, error.code))
    }
}

/// A session with the server.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    /// Bytes that were read; those before `position` are used.
    read: Vec<u8>,
    position: usize,
    /// Bytes to be written.
    unsent: Vec<u8>,
    /// Where the session stands; `None` while a statement runs, and for ever once the two sides disagree.
    status: Option<Status>,
    canceller: Arc<Canceller>,
    version: String,
}

/// What a session needs to know about who opens it.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Option<String>,
}

impl Connection {
    /// Opens a session, in a database if one is named.
    pub(crate) fn open(address: &Address, login: &Login, database: Option<&str>) -> Answer<Self> {
        let socket = Socket::connect(address).map_err(|error| unreachable_server(address, &error))?;
        let lost = |error: std::io::Error| lost(&error);
        let own = matches!(socket, Socket::Unix(_)).then_some(UNIX_SOCKET_BUFFER_BYTES);
        // 0: the system's own.
        if let Some(bytes) = crate::setting("BOUNDARY_BENCH_SOCKET_BUFFER")?.or(own).filter(|bytes| *bytes > 0) {
            socket.set_buffer_bytes(bytes).map_err(lost)?;
        }
        socket.set_read_timeout(Some(CONNECT_TIMEOUT)).map_err(lost)?;
        let mut handshake = RawConnection::new(socket.try_clone().map_err(lost)?);
        let mut parameters = vec![("user", login.user.as_str())];
        parameters.extend(database.map(|database| ("database", database)));
        handshake.startup(&parameters, login.password.as_deref()).map_err(|error| {
            let text = format!("can't connect: {error}");
            match error.sqlstate() {
                Some(code) => Failure::Refused(ServerError { code: code.to_owned(), text }),
                None => Failure::Lost(engine_error(text)),
            }
        })?;
        socket.set_read_timeout(None).map_err(lost)?;
        Ok(Self {
            canceller: Arc::new(Canceller {
                address: address.clone(),
                process_id: handshake.process_id(),
                secret_key: handshake.secret_key(),
                requests: Mutex::default(),
            }),
            version: handshake.parameter_status("hyper_version").unwrap_or("unknown").to_owned(),
            socket,
            read: Vec::new(),
            position: 0,
            unsent: Vec::new(),
            status: Some(Status::Idle),
        })
    }

    /// The version of the server.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// What cancels this session's statements.
    pub(crate) fn canceller(&self) -> Arc<Canceller> {
        Arc::clone(&self.canceller)
    }

    /// Whether the next statement may be sent, and what that would be part of.
    pub(crate) fn status(&self) -> Option<Status> {
        self.status
    }

    /// Whether an idle session can be used again: the server may have ended it.
    pub(crate) fn is_reusable(&mut self) -> bool {
        self.status == Some(Status::Idle)
            && self.position == self.read.len()
            && self.unsent.is_empty()
            && self.socket.is_quiet()
    }

    /// Sends one statement.
    pub(crate) fn send_query(&mut self, sql: &str) -> Result<()> {
        if self.status.is_none() {
            return Err(engine_error("the connection is lost"));
        }
        if sql.contains('\0') {
            return Err(Error::InvalidArgument("SQL text can't hold a NUL character".to_owned()));
        }
        self.status = None;
        self.begin_message(b'Q', sql.len() + 1)?;
        self.unsent.extend_from_slice(sql.as_bytes());
        self.unsent.push(0);
        self.flush()
    }

    /// Sends one statement with parameters, whose rows come in `HyperBinary`.
    pub(crate) fn send_bound(&mut self, bound: &Bound<'_>) -> Result<()> {
        if self.status.is_none() {
            return Err(engine_error("the connection is lost"));
        }
        let mut messages = Vec::new();
        if let Some((sql, types)) = bound.parse {
            messages.push((b'P', parse_body(sql, types)?));
        }
        messages.push((b'B', bind_body(bound.values)?));
        if bound.run {
            messages.push((b'D', b"P\0".to_vec()));
            // All rows.
            messages.push((b'E', vec![0; 5]));
        }
        messages.push((b'S', Vec::new()));
        for (kind, body) in messages {
            self.begin_message(kind, body.len()).inspect_err(|_| self.unsent.clear())?;
            self.unsent.extend_from_slice(&body);
        }
        self.status = None;
        self.flush()
    }

    /// Sends the types of a statement's parameters and reads on until the server has taken or refused it.
    pub(crate) fn parse(&mut self, sql: &str, types: &[u32]) -> Answer<()> {
        if self.status.is_none() {
            return Err(engine_error("the connection is lost").into());
        }
        let body = parse_body(sql, types)?;
        self.begin_message(b'P', body.len())?;
        self.unsent.extend_from_slice(&body);
        self.synchronize()
    }

    /// Asks the server for an answer, for at most `timeout`.
    pub(crate) fn ping(&mut self, timeout: Duration) -> Result<()> {
        self.socket.set_read_timeout(Some(timeout)).map_err(|error| lost(&error))?;
        self.synchronize()?;
        self.socket.set_read_timeout(None).map_err(|error| lost(&error))
    }

    /// Sends what is gathered and waits until the server is done with it.
    fn synchronize(&mut self) -> Answer<()> {
        self.begin_message(b'S', 0)?;
        self.status = None;
        self.flush()?;
        self.finish()
    }

    /// Reads to the end of what runs.
    pub(crate) fn finish(&mut self) -> Answer<()> {
        let mut refusal = None;
        loop {
            match self.receive()? {
                Message::Failed(error) => refusal = Some(error),
                Message::Ready => return refusal.map_or(Ok(()), |error| Err(Failure::Refused(error))),
                _ => {}
            }
        }
    }

    /// Gives the bytes of each row to `each` until that says that it has enough; else returns the message behind them.
    pub(crate) fn receive_rows(&mut self, mut each: impl FnMut(&[u8]) -> Result<Rows>) -> Result<Option<Message>> {
        loop {
            self.fill(5)?;
            let header = &self.read[self.position..self.position + 5];
            if header[0] != b'D' {
                return self.receive().map(Some);
            }
            let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
            let length = length.checked_sub(4).ok_or_else(malformed)?;
            self.position += 5;
            self.fill(length)?;
            let body = &self.read[self.position..self.position + length];
            self.position += length;
            if each(body)? == Rows::Enough {
                return Ok(None);
            }
        }
    }

    /// Runs one statement to its end; what `each` is given are its messages.
    pub(crate) fn run(&mut self, sql: &str, mut each: impl FnMut(&Message)) -> Answer<()> {
        self.send_query(sql)?;
        let mut refusal = None;
        loop {
            match self.receive()? {
                Message::Failed(error) => refusal = Some(error),
                Message::Ready => return refusal.map_or(Ok(()), |error| Err(Failure::Refused(error))),
                Message::CopyIn => self.end_copy("no data comes with this statement")?,
                message => each(&message),
            }
        }
    }

    /// Runs one statement and returns its tag, "" if there is none.
    pub(crate) fn command(&mut self, sql: &str) -> Answer<String> {
        let mut tag = String::new();
        self.run(sql, |message| {
            if let Message::Complete(text) = message {
                tag.clone_from(text);
            }
        })?;
        Ok(tag)
    }

    /// Runs one query and returns its rows, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> Answer<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        self.run(sql, |message| {
            if let Message::Row(row) = message {
                rows.push(row.clone());
            }
        })?;
        Ok(rows)
    }

    /// Begins a `COPY ... FROM STDIN`; [`CopyWriter`] writes its data.
    pub(crate) fn begin_copy(&mut self, sql: &str) -> Answer<()> {
        self.send_query(sql)?;
        let mut refusal = None;
        loop {
            match self.receive()? {
                Message::CopyIn => return Ok(()),
                Message::Failed(error) => refusal = Some(error),
                Message::Ready => {
                    return Err(match refusal {
                        Some(error) => Failure::Refused(error),
                        None => Failure::Lost(engine_error("the server wants no data")),
                    });
                }
                _ => {}
            }
        }
    }

    /// Ends a `COPY ... FROM STDIN` and returns the rows that the server took.
    pub(crate) fn finish_copy(&mut self) -> Answer<u64> {
        self.begin_message(b'c', 0)?;
        self.flush()?;
        let (mut refusal, mut rows) = (None, 0);
        loop {
            match self.receive()? {
                Message::Failed(error) => refusal = Some(error),
                Message::Complete(tag) => rows = rows_of(&tag),
                Message::Ready => return refusal.map_or(Ok(rows), |error| Err(Failure::Refused(error))),
                _ => {}
            }
        }
    }

    /// Gives a `COPY ... FROM STDIN` up. A socket that is closed without this leaves the table locked.
    pub(crate) fn end_copy(&mut self, why: &str) -> Result<()> {
        self.begin_message(b'f', why.len() + 1)?;
        self.unsent.extend_from_slice(why.as_bytes());
        self.unsent.push(0);
        self.flush()
    }

    /// Reads what is left of a statement that is not wanted any more, for a short time.
    pub(crate) fn settle(&mut self) {
        if self.socket.set_read_timeout(Some(SETTLE_TIMEOUT)).is_err() {
            return;
        }
        while self.status.is_none() && self.receive().is_ok() {}
        if self.socket.set_read_timeout(None).is_err() {
            self.status = None;
        }
    }

    /// The next message; an error means that the session is lost.
    pub(crate) fn receive(&mut self) -> Result<Message> {
        let received = self.receive_frame();
        if received.is_err() {
            self.status = None;
        }
        received
    }

    fn receive_frame(&mut self) -> Result<Message> {
        self.fill(5)?;
        let header = &self.read[self.position..self.position + 5];
        let kind = header[0];
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let length = length.checked_sub(4).ok_or_else(malformed)?;
        self.position += 5;
        if kind == b'd' {
            return self.receive_data(length).map(Message::CopyData);
        }
        self.fill(length)?;
        let body = &self.read[self.position..self.position + length];
        self.position += length;
        Ok(match kind {
            b'D' => Message::Row(row_of(body).ok_or_else(malformed)?),
            b'T' => Message::RowDescription(fields_of(body).ok_or_else(malformed)?),
            b'G' => Message::CopyIn,
            b'H' => Message::CopyOut,
            b'C' => Message::Complete(text_of(body)),
            b'E' => Message::Failed(error_of(body)),
            b'Z' => {
                self.status = Some(if body == b"I" { Status::Idle } else { Status::InTransaction });
                Message::Ready
            }
            _ => Message::Other,
        })
    }

    /// Reads the payload of one message into memory of its own, aligned for Arrow.
    fn receive_data(&mut self, length: usize) -> Result<Buffer> {
        let mut slab = Slab::allocate(length);
        let data = slab.as_mut_slice();
        let here = (self.read.len() - self.position).min(length);
        data[..here].copy_from_slice(&self.read[self.position..self.position + here]);
        self.position += here;
        self.socket.read_exact(&mut data[here..]).map_err(|error| lost(&error))?;
        Ok(Arc::new(slab).buffer(0, length))
    }

    /// Reads until `bytes` of them are there.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        if self.read.len() - self.position >= bytes {
            return Ok(());
        }
        self.read.drain(..self.position);
        self.position = 0;
        while self.read.len() < bytes {
            let filled = self.read.len();
            self.read.resize(filled + READ_BYTES.max(bytes - filled), 0);
            let read = loop {
                match self.socket.read(&mut self.read[filled..]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.read.truncate(filled + *read.as_ref().unwrap_or(&0));
            if read.map_err(|error| lost(&error))? == 0 {
                return Err(lost(&ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(())
    }

    fn begin_message(&mut self, kind: u8, length: usize) -> Result<()> {
        let length = u32::try_from(length + 4)
            .map_err(|_| Error::InvalidArgument("SQL text of more than 4 GiB is too long".to_owned()))?;
        self.unsent.push(kind);
        self.unsent.extend_from_slice(&length.to_be_bytes());
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.socket.write_all(&self.unsent);
        self.unsent.clear();
        written.map_err(|error| self.broken(&error))
    }

    /// The error for a socket that takes no bytes: what the server said before it closed, if it said anything.
    fn broken(&mut self, error: &std::io::Error) -> Error {
        let lost = lost(error);
        if self.socket.set_read_timeout(Some(SETTLE_TIMEOUT)).is_ok() {
            while let Ok(message) = self.receive() {
                if let Message::Failed(error) = message {
                    self.status = None;
                    return error.into();
                }
            }
        }
        self.status = None;
        lost
    }

    fn send_data(&mut self, data: &[u8]) -> Result<()> {
        for part in data.chunks(MAX_PAYLOAD) {
            self.begin_message(b'd', part.len())?;
            // One call for both where the socket takes it all.
            let header = std::mem::take(&mut self.unsent);
            let written =
                self.socket.write_vectored(&[IoSlice::new(&header), IoSlice::new(part)]).and_then(|written| {
                    let head = written.min(header.len());
                    self.socket.write_all(&header[head..])?;
                    self.socket.write_all(&part[written - head..])
                });
            written.map_err(|error| self.broken(&error))?;
            self.unsent = header;
            self.unsent.clear();
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Terminate: it also frees what a COPY had locked. In the middle of a message it would be taken for data.
        let _ = on_socket!(&self.socket, stream => stream.set_write_timeout(Some(SETTLE_TIMEOUT)));
        self.unsent.clear();
        let _ = self.begin_message(b'X', 0);
        let _ = self.socket.write_all(&self.unsent);
    }
}

/// How a statement ended.
pub(crate) type Answer<T> = std::result::Result<T, Failure>;

/// Why a statement did not end well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused; the session goes on.
    Refused(ServerError),
    /// The session is lost, or the statement was never sent.
    Lost(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lost(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error.into(),
            Failure::Lost(error) => error,
        }
    }
}

impl Failure {
    /// The SQLSTATE, where the server refused.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => Some(&error.code),
            Self::Lost(_) => None,
        }
    }
}

/// Writes the data of a `COPY ... FROM STDIN`, in messages that the server takes.
pub(crate) struct CopyWriter<'a> {
    connection: &'a mut Connection,
    gathered: Vec<u8>,
    /// The error behind the one that [`Write`] can tell of.
    failure: Option<Error>,
}

impl<'a> CopyWriter<'a> {
    pub(crate) fn new(connection: &'a mut Connection) -> Self {
        Self { connection, gathered: Vec::with_capacity(GATHER_BYTES), failure: None }
    }

    /// Sends what is left, and tells of the error that [`Write`] met.
    pub(crate) fn finish(mut self) -> Result<()> {
        let flushed = self.flush();
        match self.failure.take() {
            Some(error) => Err(error),
            None => flushed.map_err(|error| lost(&error)),
        }
    }

    fn send(&mut self, data: Option<&[u8]>) -> std::io::Result<()> {
        let sent = match data {
            Some(data) => self.connection.send_data(data),
            None => self.connection.send_data(&self.gathered),
        };
        sent.map_err(|error| {
            self.failure.get_or_insert(error);
            ErrorKind::BrokenPipe.into()
        })
    }
}

impl Write for CopyWriter<'_> {
    fn write(&mut self, data: &[u8]) -> std::io::Result<usize> {
        if self.gathered.len() + data.len() > GATHER_BYTES {
            self.flush()?;
        }
        if data.len() >= GATHER_BYTES {
            self.send(Some(data))?;
        } else {
            self.gathered.extend_from_slice(data);
        }
        Ok(data.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if !self.gathered.is_empty() {
            self.send(None)?;
            self.gathered.clear();
        }
        Ok(())
    }
}

/// Cancels the statements of one session, over sockets of its own.
#[derive(Debug)]
pub(crate) struct Canceller {
    address: Address,
    process_id: i32,
    secret_key: i32,
    /// Requests of which the server has not said yet that it has them.
    requests: Mutex<Vec<Socket>>,
}

impl Canceller {
    /// Asks for the end of what runs. It does not wait for it.
    pub(crate) fn cancel(&self) {
        let mut request = [0; 16];
        let words = [16, 80_877_102, self.process_id, self.secret_key];
        for (bytes, word) in request.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        // A server that can't be reached runs nothing to be cancelled.
        if let Ok(mut socket) = Socket::connect(&self.address)
            && socket.write_all(&request).is_ok()
        {
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        }
    }

    /// Waits until no request is under way that could hit the next statement; `false` if that is not sure.
    pub(crate) fn settle(&self) -> bool {
        let requests = std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner));
        requests.into_iter().all(|mut socket| {
            // The server closes the socket once it has acted on it.
            socket.set_read_timeout(Some(SETTLE_TIMEOUT)).is_ok() && matches!(socket.read(&mut [0]), Ok(0))
        })
    }
}

fn unreachable_server(address: &Address, error: &std::io::Error) -> Error {
    let place = match address {
        Address::Tcp(host, port) => format!("{host}:{port}"),
        Address::Unix(path) => path.display().to_string(),
    };
    engine_error(format!("can't connect to {place}: {error}"))
}

fn lost(error: &std::io::Error) -> Error {
    engine_error(match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            "the connection is lost: the server has closed it or is gone".to_owned()
        }
        ErrorKind::WouldBlock | ErrorKind::TimedOut => "the connection is lost: the server does not answer".to_owned(),
        _ => format!("the connection is lost: {error}"),
    })
}

/// The number at the end of a tag, such as `INSERT 0 3`.
fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The rows that a statement changed, by its tag: `INSERT 0 3`, `DELETE 3`; a `SELECT 3` changed none.
pub(crate) fn rows_changed(tag: &str) -> u64 {
    let changes = ["INSERT", "UPDATE", "DELETE", "COPY"].iter().any(|kind| tag.starts_with(kind));
    if changes { rows_of(tag) } else { 0 }
}

/// The text before a terminating zero.
fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn error_of(body: &[u8]) -> ServerError {
    let field = |kind: u8| {
        let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    };
    let mut text = field(b'M').unwrap_or_else(|| "an error without words".to_owned());
    for (kind, name) in [(b'D', "detail"), (b'H', "hint")] {
        if let Some(more) = field(kind).filter(|more| !more.is_empty()) {
            text = format!("{text}; {name}: {more}");
        }
    }
    ServerError { code: field(b'C').unwrap_or_default(), text }
}

fn row_of(body: &[u8]) -> Option<Vec<Option<String>>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes(count.try_into().ok()?);
    let mut row = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (length, after) = rest.split_at_checked(4)?;
        let length = i32::from_be_bytes(length.try_into().ok()?);
        rest = after;
        row.push(match usize::try_from(length) {
            Ok(length) => {
                let (value, after) = rest.split_at_checked(length)?;
                rest = after;
                Some(String::from_utf8_lossy(value).into_owned())
            }
            // -1 is NULL.
            Err(_) => None,
        });
    }
    Some(row)
}

fn fields_of(body: &[u8]) -> Option<Vec<Field>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes(count.try_into().ok()?);
    let mut fields = Vec::with_capacity(count.into());
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        // Table, column, type, size, modifier and format follow.
        let (numbers, after) = rest[end + 1..].split_at_checked(18)?;
        fields.push(Field {
            name: String::from_utf8_lossy(&rest[..end]).into_owned(),
            type_id: u32::from_be_bytes(numbers[6..10].try_into().ok()?),
            modifier: i32::from_be_bytes(numbers[12..16].try_into().ok()?),
        });
        rest = after;
    }
    Some(fields)
}

/// The values of a row, `None` for NULL; an error where its bytes are no such row.
pub(crate) fn values_of(body: &[u8]) -> impl Iterator<Item = Result<Option<&[u8]>>> {
    let (count, mut rest) = body.split_at_checked(2).unwrap_or_default();
    let count = count.try_into().map_or(0, u16::from_be_bytes);
    (0..count).map(move |_| {
        let (length, after) = rest.split_first_chunk().ok_or_else(malformed)?;
        rest = after;
        // -1 is NULL.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Ok(None) };
        let (value, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
        rest = after;
        Ok(Some(value))
    })
}

fn malformed() -> Error {
    engine_error("the server sent a malformed message")
}

/// A number of parameters as the protocol writes it.
fn count_of(parameters: usize) -> Result<[u8; 2]> {
    let count = u16::try_from(parameters)
        .map_err(|_| Error::InvalidArgument("a statement takes at most 65535 parameters".to_owned()))?;
    Ok(count.to_be_bytes())
}

/// The body of the message that brings a statement, which has no name.
fn parse_body(sql: &str, types: &[u32]) -> Result<Vec<u8>> {
    let mut body = vec![0];
    body.extend_from_slice(sql.as_bytes());
    body.push(0);
    body.extend_from_slice(&count_of(types.len())?);
    body.extend(types.iter().flat_map(|type_id| type_id.to_be_bytes()));
    Ok(body)
}

/// The body of the message that gives a statement its values.
fn bind_body(values: &[Option<Parameter>]) -> Result<Vec<u8>> {
    let count = count_of(values.len())?;
    // The portal and the statement, both without a name.
    let mut body = vec![0, 0];
    body.extend_from_slice(&count);
    let format = |value: &Option<Parameter>| u16::from(matches!(value, Some(Parameter::Binary(_)))).to_be_bytes();
    body.extend(values.iter().flat_map(format));
    body.extend_from_slice(&count);
    for (index, value) in values.iter().enumerate() {
        let bytes = match value {
            None => {
                body.extend_from_slice(&(-1_i32).to_be_bytes());
                continue;
            }
            Some(Parameter::Text(text)) => text.as_bytes(),
            Some(Parameter::Binary(bytes)) => bytes,
        };
        let length =
            i32::try_from(bytes.len()).map_err(|_| unusable_parameter(index + 1, "2 GiB and more are too long"))?;
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(bytes);
    }
    body.extend([1, HYPER_BINARY].iter().flat_map(|word: &u16| word.to_be_bytes()));
    Ok(body)
}
