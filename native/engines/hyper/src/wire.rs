//! `PostgreSQL`'s protocol as `hyperd` speaks it, over a socket with our own options, time-outs and buffers.
//!
//! The crate `hyperdb-api-core` does the handshake. Messages are then framed here, so that the bytes of a batch are
//! read into their final memory, aligned for Arrow.

mod canceller;
mod copy_writer;
#[cfg(unix)]
pub mod fuzzing;
mod message;
mod socket;
#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use arrow_buffer::Buffer;
use boundary_bench_engine::arriving::ArrivingBytes;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::{Error, Result, response_limit};
pub(crate) use canceller::Canceller;
pub(crate) use copy_writer::CopyWriter;
use hyperdb_api_core::client::connection::RawConnection;
pub(crate) use message::{Bound, Field, Message, Parameter, ServerError, rows_changed, values_of};
use message::{bind_body, error_of, fields_of, malformed, parse_body, row_of, rows_of, text_of};
pub(crate) use socket::Address;
use socket::{Socket, lost, unreachable_server, write_both};

use crate::engine_error;

/// The time that an abandoned statement may take to end after it was cancelled. The connection is closed then.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum and maximum number of bytes that one read requests: memory is allocated for bytes that arrive, not for a length that a
/// message announces.
const READ_BYTES: usize = 64 << 10;
const MOST_READ_BYTES: usize = 1 << 20;

/// Maximum payload of one `CopyData` message to the server, in bytes. The server refuses packets beyond 150 MiB.
const MAX_PAYLOAD: usize = 16 << 20;

/// The SQLSTATE of a refused login. It is also the one of a file that hyperd may not open, and after the login the one of a missing
/// privilege.
const REFUSED_LOGIN: &str = "42501";

/// The user of a server that has no other users.
pub(crate) const DEFAULT_USER: &str = "tableau_internal_user";

/// The state of a session between two statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Idle,
    /// The session is inside a transaction, also one that has failed and waits for its end.
    InTransaction,
}

/// Whether the caller wants further rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    More,
    Enough,
}

/// A session with the server.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    /// Bytes read from the socket. The bytes before `position` are parsed already.
    read: Vec<u8>,
    position: usize,
    /// Bytes not yet written to the socket.
    unsent: Vec<u8>,
    /// The state of the session. `None` while a statement runs, and for good once the connection is lost or out of step.
    status: Option<Status>,
    canceller: Arc<Canceller>,
    version: String,
    /// Maximum length of a message from the server, in bytes.
    most_bytes: usize,
}

/// The user of a new session, and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    /// Maximum length of a message from the server, in bytes.
    pub(crate) most_bytes: usize,
    /// Size of each of the socket's buffers, in bytes, 0 for the system's. `None` for the size that suits the transport.
    pub(crate) socket_buffer: Option<i32>,
}

impl Connection {
    /// Opens a session, in a database if one is named.
    pub(crate) fn open(address: &Address, login: &Login, database: Option<&str>) -> StatementResult<Self> {
        let socket = Socket::connect(address).map_err(|error| unreachable_server(address, &error))?;
        let lost = |error: std::io::Error| lost(&error);
        socket.set_buffer_bytes(login.socket_buffer).map_err(lost)?;
        socket.stream.set_read_timeout(Some(CONNECT_TIMEOUT)).map_err(lost)?;
        let mut handshake = RawConnection::new(socket.try_clone().map_err(lost)?);
        let mut parameters = vec![("user", login.user.as_str())];
        parameters.extend(database.map(|database| ("database", database)));
        handshake.startup(&parameters, login.password.as_deref()).map_err(|error| {
            let text = format!("can't connect: {error}");
            match error.sqlstate() {
                Some(code) if code != REFUSED_LOGIN || text.contains("error opening database") => {
                    Failure::Refused(ServerError { code: code.to_owned(), text })
                }
                _ => Failure::Lost(Error::Connection(text)),
            }
        })?;
        socket.stream.set_read_timeout(None).map_err(lost)?;
        Ok(Self {
            canceller: Arc::new(Canceller::new(
                address.clone(),
                (handshake.process_id(), handshake.secret_key()),
                socket.try_clone().map_err(lost)?,
            )),
            version: handshake.parameter_status("hyper_version").unwrap_or("unknown").to_owned(),
            socket,
            read: Vec::new(),
            position: 0,
            unsent: Vec::new(),
            status: Some(Status::Idle),
            most_bytes: login.most_bytes,
        })
    }

    /// The version of the server.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The canceller of this session's statements.
    pub(crate) fn canceller(&self) -> Arc<Canceller> {
        Arc::clone(&self.canceller)
    }

    /// The state of the session if the next statement may be sent, or `None` while one runs and once the session is lost.
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
            return Err(Error::Connection("the connection is lost".to_owned()));
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
            return Err(Error::Connection("the connection is lost".to_owned()));
        }
        let mut messages = Vec::new();
        if let Some((sql, types)) = bound.parse {
            messages.push((b'P', parse_body(sql, types)?));
        }
        messages.push((b'B', bind_body(bound.values)?));
        if bound.run {
            messages.push((b'D', b"P\0".to_vec()));
            // The row limit 0 requests all rows.
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
    pub(crate) fn parse(&mut self, sql: &str, types: &[u32]) -> StatementResult<()> {
        if self.status.is_none() {
            return Err(Error::Connection("the connection is lost".to_owned()).into());
        }
        let body = parse_body(sql, types)?;
        self.begin_message(b'P', body.len())?;
        self.unsent.extend_from_slice(&body);
        self.synchronize()
    }

    /// Checks that the server answers, waiting at most `timeout`.
    pub(crate) fn ping(&mut self, timeout: Duration) -> Result<()> {
        self.socket.stream.set_read_timeout(Some(timeout)).map_err(|error| lost(&error))?;
        self.synchronize()?;
        self.socket.stream.set_read_timeout(None).map_err(|error| lost(&error))
    }

    /// Sends the gathered messages and a Sync, and waits until the server has processed them.
    fn synchronize(&mut self) -> StatementResult<()> {
        self.begin_message(b'S', 0)?;
        self.status = None;
        self.flush()?;
        self.finish()
    }

    /// Reads the messages of the running statement to their end, and gives them to `each`.
    fn until_ready(&mut self, mut each: impl FnMut(&mut Self, Message) -> Result<()>) -> StatementResult<()> {
        let mut refusal = None;
        loop {
            match self.receive()? {
                Message::Failed(error) => refusal = Some(error),
                Message::Ready => return refusal.map_or(Ok(()), |error| Err(Failure::Refused(error))),
                message => each(self, message)?,
            }
        }
    }

    /// Reads the messages of the running statement to their end.
    pub(crate) fn finish(&mut self) -> StatementResult<()> {
        self.until_ready(|_, _| Ok(()))
    }

    /// Gives the bytes of each row to `each`. Returns `None` once `each` has enough, else the message that follows the
    /// rows.
    pub(crate) fn receive_rows(&mut self, mut each: impl FnMut(&[u8]) -> Result<Rows>) -> Result<Option<Message>> {
        loop {
            let (kind, length) = self.next_header()?;
            if kind != b'D' {
                return self.receive().map(Some);
            }
            self.position += 5;
            self.fill(length)?;
            let body = &self.read[self.position..self.position + length];
            self.position += length;
            if each(body)? == Rows::Enough {
                return Ok(None);
            }
        }
    }

    /// Runs one statement to its end and gives its messages to `each`.
    pub(crate) fn run(&mut self, sql: &str, mut each: impl FnMut(Message)) -> StatementResult<()> {
        self.send_query(sql)?;
        self.until_ready(|session, message| match message {
            Message::CopyIn => session.end_copy("no data comes with this statement"),
            message => {
                each(message);
                Ok(())
            }
        })
    }

    /// Runs one statement and returns its command tag, "" if there is none.
    pub(crate) fn command(&mut self, sql: &str) -> StatementResult<String> {
        let mut tag = String::new();
        self.run(sql, |message| {
            if let Message::Complete(text) = message {
                tag = text;
            }
        })?;
        Ok(tag)
    }

    /// Runs one query and returns its rows, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> StatementResult<Vec<Vec<Option<String>>>> {
        let mut rows = Vec::new();
        self.run(sql, |message| {
            if let Message::Row(row) = message {
                rows.push(row);
            }
        })?;
        Ok(rows)
    }

    /// Begins a `COPY ... FROM STDIN`. [`CopyWriter`] writes its data.
    pub(crate) fn begin_copy(&mut self, sql: &str) -> StatementResult<()> {
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
    pub(crate) fn finish_copy(&mut self) -> StatementResult<u64> {
        self.begin_message(b'c', 0)?;
        self.flush()?;
        let mut rows = 0;
        self.until_ready(|_, message| {
            if let Message::Complete(tag) = message {
                rows = rows_of(&tag);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Aborts a `COPY ... FROM STDIN`. A socket that is closed without this leaves the table locked.
    pub(crate) fn end_copy(&mut self, why: &str) -> Result<()> {
        self.begin_message(b'f', why.len() + 1)?;
        self.unsent.extend_from_slice(why.as_bytes());
        self.unsent.push(0);
        self.flush()
    }

    /// Reads and drops the remaining messages of an abandoned statement, with a short read time-out.
    pub(crate) fn settle(&mut self) {
        if self.socket.stream.set_read_timeout(Some(SETTLE_TIMEOUT)).is_err() {
            return;
        }
        while self.status.is_none() && self.receive().is_ok() {}
        if self.socket.stream.set_read_timeout(None).is_err() {
            self.status = None;
        }
    }

    /// The next message. An error means that the session is lost.
    pub(crate) fn receive(&mut self) -> Result<Message> {
        let received = self.receive_frame();
        if received.is_err() {
            self.status = None;
        }
        received
    }

    fn receive_frame(&mut self) -> Result<Message> {
        let (kind, length) = self.next_header()?;
        self.position += 5;
        if kind == b'd' {
            return self.receive_data(length).map(Message::CopyData);
        }
        self.fill(length)?;
        let body = &self.read[self.position..self.position + length];
        self.position += length;
        Ok(match kind {
            b'D' => Message::Row(row_of(body)?),
            b'T' => Message::RowDescription(fields_of(body).ok_or_else(malformed)?),
            b'G' => Message::CopyIn,
            b'C' => Message::Complete(text_of(body)),
            b'E' => Message::Failed(error_of(body)),
            b'Z' => {
                self.status = Some(if body == b"I" { Status::Idle } else { Status::InTransaction });
                self.canceller.statement_ended();
                Message::Ready
            }
            _ => Message::Other,
        })
    }

    /// The kind of the next message and the length of its body, in bytes.
    fn next_header(&mut self) -> Result<(u8, usize)> {
        self.fill(5)?;
        let header = &self.read[self.position..self.position + 5];
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        match length.checked_sub(4) {
            Some(length) if length > self.most_bytes => {
                Err(response_limit::exceeded("a message of the server", self.most_bytes))
            }
            length => Ok((header[0], length.ok_or_else(malformed)?)),
        }
    }

    /// Reads the payload of one message into memory of its own, aligned for Arrow.
    fn receive_data(&mut self, length: usize) -> Result<Buffer> {
        let mut data = ArrivingBytes::new(length);
        let here = (self.read.len() - self.position).min(length);
        data.room()[..here].copy_from_slice(&self.read[self.position..self.position + here]);
        data.filled(here);
        self.position += here;
        while data.left() > 0 {
            let room = data.room();
            let bytes = room.len();
            self.socket.read_exact(room).map_err(|error| lost(&error))?;
            data.filled(bytes);
        }
        Ok(data.finish())
    }

    /// Reads until at least `bytes` unparsed bytes are in the buffer.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        if self.read.len() - self.position >= bytes {
            return Ok(());
        }
        self.read.drain(..self.position);
        self.position = 0;
        while self.read.len() < bytes {
            let filled = self.read.len();
            self.read.resize(filled + (bytes - filled).clamp(READ_BYTES, MOST_READ_BYTES), 0);
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

    /// The error of a failed write: the error that the server sent before it closed the socket, if it sent one.
    fn broken(&mut self, error: &std::io::Error) -> Error {
        let lost = lost(error);
        if self.socket.stream.set_read_timeout(Some(SETTLE_TIMEOUT)).is_ok() {
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
            let header = std::mem::take(&mut self.unsent);
            let written = write_both(&mut self.socket, &header, part);
            written.map_err(|error| self.broken(&error))?;
            self.unsent = header;
            self.unsent.clear();
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A Terminate message. It also releases the locks of a COPY. Sent in the middle of another message, it is read as data.
        let _ = self.socket.stream.set_write_timeout(Some(SETTLE_TIMEOUT));
        self.unsent.clear();
        let _ = self.begin_message(b'X', 0);
        let _ = self.socket.write_all(&self.unsent);
        self.canceller.statement_ended();
    }
}

/// The outcome of a statement.
pub(crate) type StatementResult<T> = std::result::Result<T, Failure>;

/// The failure of a statement.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused the statement. The session is still usable.
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
    /// The SQLSTATE, if the server refused the statement.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(error) => Some(&error.code),
            Self::Lost(_) => None,
        }
    }
}
