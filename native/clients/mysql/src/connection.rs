//! One connection: commands and their answers, one at a time or pipelined.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result, response_limit};

use crate::codec::{CommandResult, Done, Failure, Field, ServerError, capability, command, garbled};
use crate::login::{Server, log_in};
use crate::transport::{Exchange, Transport, UNASKED, too_large};
use crate::url::{Url, ValueForms};

/// The bytes of the shortest answer, an OK packet without a text: its header, the byte 0, the rows and the key (one byte each if they are
/// small), the status and the warnings
/// ([OK_Packet](https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html)).
const ANSWER_BYTES: usize = 4 + 1 + 1 + 1 + 2 + 2;

/// The least bytes that a value of a row counts for if rows are gathered in memory.
pub(crate) const CELL_BYTES: usize = 8;

/// The bytes that a column counts for beside its name: its place in a row, its type and its decoder take about as much.
pub(crate) const COLUMN_BYTES: usize = 1 << 10;

/// The memory for the description of a result's columns that is kept for the next description.
const KEPT_BYTES: usize = 1 << 20;

/// The most columns of a result that servers have. Further ones count for [`COLUMN_BYTES`] each.
const USUAL_COLUMNS: usize = 4096;

/// The most bytes of the names of all columns of a connection's prepared statements, and of what is kept beside each name.
const MOST_KNOWN: usize = 64 << 20;

/// A connection to a server. One that has an answer outstanding, or has failed, must not be used again
/// ([`Connection::is_idle`]).
pub struct Connection {
    transport: Transport,
    server: Server,
    forms: ValueForms,
    /// The columns of prepared statements as the server sent them last, by the statements' numbers. The server sends columns
    /// again only if they change, as the columns of `SELECT ?` do with the type of the value.
    known: HashMap<u32, Arc<[Field]>>,
    /// The bytes of these columns.
    known_bytes: usize,
    /// The columns that the server described last.
    described: Description,
    /// The number of answers that were not read to their end.
    outstanding: usize,
    /// The bytes of the last answer.
    last_answer: usize,
    in_transaction: bool,
    /// Whether an error has come since `in_transaction` was told. An error may end a transaction, and does not say so.
    is_unsure: bool,
    /// Whether the server commits each statement, or `None` until an answer has said so: some servers never do.
    autocommits: Option<bool>,
    is_lost: bool,
}

/// The beginning of a result. A procedure answers with several results. The outcome of each tells whether another one follows. That one
/// must then be read.
#[derive(Debug, Clone)]
pub enum Started {
    /// The whole result, without rows.
    Done(Done),
    /// Rows with these columns follow.
    Rows(Arc<[Field]>),
    /// The server asks for the file of `LOAD DATA LOCAL INFILE`.
    WantsFile,
}

/// The end of an answer whose rows were skipped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// The outcome of the last result.
    pub done: Done,
    /// The number of results with rows.
    pub results: usize,
    /// The number of their rows.
    pub rows: u64,
}

/// A statement that the server has prepared, for this connection alone.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The number of the statement on the connection.
    pub id: u32,
    /// The number of the statement's parameters.
    pub parameters: u16,
    /// The columns of the result, as far as they are known without values. Empty if the statement returns no rows.
    pub fields: Arc<[Field]>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Connection({}, {})", self.server.connection, self.server.version)
    }
}

/// The server's description of a result's columns. Results of statements sent as text often repeat the description of the
/// previous result. It is not parsed again then.
#[derive(Default)]
struct Description {
    /// The column packets of the last result, each behind its length. `next` has the packets of the current result.
    last: Vec<u8>,
    next: Vec<u8>,
    /// The columns parsed from `last`.
    fields: Arc<[Field]>,
}

impl Description {
    fn begin(&mut self) {
        self.next.clear();
        self.next.shrink_to(KEPT_BYTES);
    }

    fn add(&mut self, packet: &[u8]) {
        self.next.extend_from_slice(&packet.len().to_le_bytes());
        self.next.extend_from_slice(packet);
    }

    /// The columns of the current result, or `None` if a packet can't be parsed.
    fn fields(&mut self) -> Option<Arc<[Field]>> {
        if self.next != self.last {
            let mut rest = self.next.as_slice();
            let mut fields = Vec::new();
            while let Some((length, packets)) = rest.split_first_chunk() {
                let (packet, packets) = packets.split_at_checked(usize::from_le_bytes(*length))?;
                fields.push(Field::parse(packet)?);
                rest = packets;
            }
            self.fields = fields.into();
            std::mem::swap(&mut self.last, &mut self.next);
        }
        Some(Arc::clone(&self.fields))
    }
}

impl Connection {
    /// Opens a connection and logs in, within the usual time-out.
    pub async fn open(url: &Url) -> CommandResult<Self> {
        let opened = async { Self::on(Transport::connect(url).await?, url).await };
        within(Some(CONNECT_TIMEOUT), opened, |time| no_answer(url, time)).await
    }

    /// Logs in over a transport that was just opened.
    pub(crate) async fn on(mut transport: Transport, url: &Url) -> CommandResult<Self> {
        let server = log_in(&mut transport, url).await?;
        transport.set_most_bytes(url.most_bytes);
        Ok(Self {
            transport,
            server,
            forms: url.forms,
            known: HashMap::new(),
            known_bytes: 0,
            described: Description::default(),
            outstanding: 0,
            last_answer: 0,
            in_transaction: false,
            is_unsure: false,
            autocommits: None,
            is_lost: false,
        })
    }

    /// The name and version that the server states in its greeting.
    pub fn version(&self) -> &str {
        &self.server.version
    }

    /// The number of the connection. `KILL` takes it.
    pub fn id(&self) -> u32 {
        self.server.connection
    }

    /// The most bytes of a packet, and of rows that are gathered.
    pub(crate) fn most_bytes(&self) -> usize {
        self.transport.most_bytes()
    }

    /// The forms in which results return values.
    pub(crate) fn forms(&self) -> ValueForms {
        self.forms
    }

    /// Whether the server can run a statement for many rows by one packet.
    pub fn has_bulk(&self) -> bool {
        self.can(capability::BULK_OPERATIONS)
    }

    fn can(&self, capability: u64) -> bool {
        self.server.capabilities & capability != 0
    }

    /// Whether all answers were read and nothing else has come, so that the next command can be sent.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && !self.is_lost && !self.transport.has_input()
    }

    /// Whether the last answer left a transaction open.
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Whether a transaction is open. The server is asked after an error in a transaction: a deadlock ends it, a duplicate key does not.
    pub(crate) async fn settled(&mut self) -> CommandResult<bool> {
        if self.is_unsure && self.is_idle() {
            self.ping().await?;
        }
        Ok(self.in_transaction)
    }

    /// Whether any statement begins a transaction, as far as the server has told.
    pub(crate) fn is_without_autocommit(&self) -> bool {
        self.autocommits == Some(false)
    }

    /// Whether the server commits each statement that is in no transaction. A server that has never told is asked. A server that does
    /// not know the variable commits each statement.
    pub(crate) async fn autocommits(&mut self) -> CommandResult<bool> {
        if let Some(autocommits) = self.autocommits {
            return Ok(autocommits);
        }
        match self.texts("SELECT @@autocommit").await {
            Ok(rows) => Ok(!rows.iter().flatten().flatten().any(|value| value == "0" || value == "OFF")),
            Err(Failure::Refused(_)) => Ok(true),
            Err(lost) => Err(lost),
        }
    }

    /// Whether the server has neither closed the connection nor sent anything, as far as is known without asking it.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        self.transport.is_quiet().await
    }

    /// Takes the stream out for a driver.
    pub(crate) fn into_driven(self) -> Result<(Self, DrivenStream, Arc<Exchange>)> {
        let failed = |error: std::io::Error| lost(&error.to_string());
        let (transport, stream, exchange) = self.transport.into_driven().map_err(failed)?;
        Ok((Self { transport, ..self }, stream, exchange))
    }

    /// Takes the buffers from the driver, or leaves them to it.
    pub(crate) fn swap_buffers(&mut self) {
        self.transport.swap_buffers();
    }

    /// Marks the connection as unusable.
    pub fn condemn(&mut self) {
        self.is_lost = true;
    }

    /// Appends a command to the output, without waiting.
    pub(crate) fn send(&mut self, code: u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.transport.restart(self.outstanding == 0);
        self.outstanding += 1;
        self.transport.send(|target| {
            target.push(code);
            write(target);
        });
    }

    /// Counts commands that the driver has sent itself.
    pub(crate) fn note_sent(&mut self, commands: usize) {
        self.outstanding += commands;
    }

    /// The number of bytes of commands that are still to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.transport.unsent()
    }

    /// Appends `COM_STMT_EXECUTE`, whose parameters `write` appends: the bitmap of nulls, the byte 1, types and values.
    pub(crate) fn send_execute(&mut self, id: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.send(command::STMT_EXECUTE, |target| {
            put_execute(target, id);
            write(target);
        });
    }

    /// Appends `COM_STMT_CLOSE`. The server does not answer it.
    pub(crate) fn send_close(&mut self, id: u32) {
        self.known_bytes -= self.known.remove(&id).as_deref().map_or(0, bytes_of);
        self.send(command::STMT_CLOSE, |target| target.extend_from_slice(&id.to_le_bytes()));
        self.outstanding -= 1;
    }

    /// Checks that the server answers.
    pub async fn ping(&mut self) -> CommandResult<()> {
        self.send(command::PING, |_| {});
        self.started(None).await.map(drop)
    }

    /// Runs a statement sent as text, and skips the rows it may return.
    pub async fn run(&mut self, sql: &str) -> CommandResult<Ended> {
        self.send(command::QUERY, |target| target.extend_from_slice(sql.as_bytes()));
        let started = self.started(None).await?;
        self.skip(started).await
    }

    /// Skips the rest of an answer from a result on whose beginning was read.
    pub(crate) async fn skip(&mut self, mut started: Started) -> CommandResult<Ended> {
        let mut ended = Ended::default();
        loop {
            ended.done = match started {
                Started::Done(done) => done,
                Started::WantsFile => self.refuse_file().await?,
                Started::Rows(_) => {
                    ended.results += 1;
                    let rows = &mut ended.rows;
                    let skipped = self.rows(|_| {
                        *rows += 1;
                        Ok(ControlFlow::Continue(()))
                    });
                    skipped.await?.unwrap_or_default()
                }
            };
            if !ended.done.has_more {
                return Ok(ended);
            }
            started = self.started(None).await?;
        }
    }

    /// Runs a statement sent as text, and returns its rows as texts.
    pub async fn texts(&mut self, sql: &str) -> CommandResult<Vec<Vec<Option<String>>>> {
        self.send(command::QUERY, |target| target.extend_from_slice(sql.as_bytes()));
        let fields = match self.started(None).await? {
            Started::Rows(fields) => fields,
            started => return self.skip(started).await.map(|_| Vec::new()),
        };
        let (mut rows, mut gathered, most) = (Vec::new(), 0, self.most_bytes());
        self.rows(|packet| {
            gathered += packet.len().max(fields.len() * CELL_BYTES);
            if gathered > most {
                return Err(response_limit::exceeded("a result", most));
            }
            let mut bytes = crate::codec::Bytes(packet);
            let row = fields.iter().map(|_| {
                let text = bytes.nullable_text().ok_or_else(|| garbled("row"))?;
                Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
            });
            rows.push(row.collect::<Result<_>>()?);
            bytes.end().ok_or_else(|| garbled("row"))?;
            Ok(ControlFlow::Continue(()))
        })
        .await?;
        if self.outstanding > 0 {
            let started = self.started(None).await?;
            self.skip(started).await?;
        }
        Ok(rows)
    }

    /// Prepares a statement.
    pub async fn prepare(&mut self, sql: &str) -> CommandResult<Prepared> {
        self.send(command::STMT_PREPARE, |target| target.extend_from_slice(sql.as_bytes()));
        self.prepared().await
    }

    async fn prepared(&mut self) -> CommandResult<Prepared> {
        let packet = self.first_packet().await?;
        let mut bytes = crate::codec::Bytes(self.transport.bytes(packet));
        let mut parse = || Some((bytes.u8()?, bytes.u32()?, bytes.u16()?, bytes.u16()?));
        let Some((0, id, columns, parameters)) = parse() else { return Err(self.lost(garbled("prepared statement"))) };
        // The definitions of parameters say nothing: their types are open.
        for _ in 0..parameters {
            self.next_packet().await?;
        }
        if parameters > 0 {
            self.end_of_definitions().await?;
        }
        let fields = if columns > 0 { self.fields(columns.into()).await? } else { Arc::default() };
        self.answered();
        self.know(id, &fields)?;
        Ok(Prepared { id, parameters, fields })
    }

    /// Reads the beginning of the next result, or all of a result without rows. `prepared` is the number of the statement, if it is a
    /// prepared one whose first result this is.
    pub(crate) async fn started(&mut self, prepared: Option<u32>) -> CommandResult<Started> {
        let packet = self.first_packet().await?;
        let packet = self.transport.bytes(packet);
        match packet.first() {
            Some(0x00) => {
                let Some(done) = Done::parse(packet) else { return Err(self.lost(garbled("answer"))) };
                self.done(done);
                Ok(Started::Done(done))
            }
            Some(0xfb) => Ok(Started::WantsFile),
            _ => {
                let mut bytes = crate::codec::Bytes(packet);
                let count = bytes.length().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
                let follows = if self.can(capability::CACHE_METADATA) { bytes.u8() } else { Some(1) };
                let (Some(count), Some(follows)) = (count, follows) else {
                    return Err(self.lost(garbled("answer")));
                };
                if follows == 0 {
                    let known = prepared.and_then(|id| self.known.get(&id)).filter(|known| known.len() == count);
                    let Some(known) = known.map(Arc::clone) else {
                        return Err(self.lost(garbled("result without columns")));
                    };
                    self.end_of_definitions().await?;
                    return Ok(Started::Rows(known));
                }
                let fields = self.fields(count).await?;
                if let Some(id) = prepared {
                    self.know(id, &fields)?;
                }
                Ok(Started::Rows(fields))
            }
        }
    }

    /// Reads the rows of a result to their end, or until `row` breaks off. The outcome is `None` then.
    pub(crate) async fn rows(
        &mut self,
        mut row: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> CommandResult<Option<Done>> {
        loop {
            while let Some(range) = self.transport.try_packet() {
                let packet = self.transport.bytes(range);
                match packet.first() {
                    Some(0xff) => {
                        let error = ServerError::parse(packet);
                        return Err(self.refused(error));
                    }
                    Some(0xfe) if packet.len() < 0xff_ffff && self.is_end(packet) => {
                        let packet = packet.to_vec();
                        return self.rows_done(&packet).map(Some);
                    }
                    _ => match row(packet) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => return Ok(None),
                        Err(error) => return Err(self.lost(error)),
                    },
                }
            }
            self.receive().await?;
        }
    }

    /// Whether a packet that begins with 0xfe ends the rows. A row may begin so if its first text is very long.
    fn is_end(&self, packet: &[u8]) -> bool {
        self.can(capability::DEPRECATE_EOF) || packet.len() < 9
    }

    fn rows_done(&mut self, packet: &[u8]) -> CommandResult<Done> {
        let done = if self.can(capability::DEPRECATE_EOF) { Done::parse(packet) } else { Done::parse_eof(packet) };
        let Some(done) = done else { return Err(self.lost(garbled("end of rows"))) };
        self.done(done);
        Ok(done)
    }

    /// Counts an answer as read to its end, unless another result follows.
    fn done(&mut self, done: Done) {
        if !done.has_more {
            self.answered();
        }
        (self.in_transaction, self.is_unsure) = (done.in_transaction, false);
        if done.autocommits || self.autocommits.is_some() {
            self.autocommits = Some(done.autocommits);
        }
    }

    /// Answers the server's request for a file with an empty one, since none was offered.
    pub(crate) async fn refuse_file(&mut self) -> CommandResult<Done> {
        self.transport.send(|_| {});
        match self.started(None).await {
            Ok(Started::Done(_)) | Err(Failure::Refused(_)) => Err(Failure::Refused(ServerError {
                code: 0,
                state: String::new(),
                message: "the statement asks for a file of this machine, which is not given".to_owned(),
            })),
            Ok(_) => Err(self.lost(garbled("answer"))),
            Err(failure) => Err(failure),
        }
    }

    /// Sends a piece of the file that the server asked for, and all that was to be sent before it.
    pub(crate) async fn send_file(&mut self, piece: &[u8]) -> CommandResult<()> {
        self.transport.send(|target| target.extend_from_slice(piece));
        let sent = self.transport.flush().await;
        sent.map_err(|error| self.broken(&error))
    }

    /// Sends as much of the output as the socket takes without waiting.
    pub(crate) async fn push(&mut self) -> CommandResult<()> {
        let pushed = self.transport.push().await;
        pushed.map_err(|error| self.broken(&error))
    }

    /// Appends the empty packet that ends the file. The answer must be read next.
    pub(crate) fn end_file(&mut self) {
        self.transport.send(|_| {});
    }

    /// The failure of a command that the server has answered by an error.
    fn refused(&mut self, error: ServerError) -> Failure {
        self.answered();
        self.is_unsure |= self.in_transaction;
        if error.ends_connection() || self.transport.is_out_of_step() {
            return self.lost(lost(&error.to_string()));
        }
        Failure::Refused(error)
    }

    /// Counts an answer as read to its end.
    fn answered(&mut self) {
        self.outstanding -= 1;
        self.transport.end_answer(self.outstanding == 0);
        self.last_answer = self.transport.take_count();
    }

    /// The number of bytes to wait for together: three quarters of the outstanding answers but one, if they are as long as the last one. If
    /// all were waited for, a shorter one would use up the patience of the transport.
    fn least_input(&self) -> usize {
        self.outstanding.saturating_sub(1) * (self.last_answer * 3 / 4).max(ANSWER_BYTES)
    }

    /// Waits until more input has arrived, and sends meanwhile.
    async fn receive(&mut self) -> CommandResult<()> {
        let received = self.transport.receive(self.least_input()).await;
        received.map_err(|error| self.broken(&error))
    }

    /// Reads the columns of a result.
    async fn fields(&mut self, count: usize) -> CommandResult<Arc<[Field]>> {
        self.described.begin();
        for index in 0..count {
            let packet = self.next_packet().await?;
            self.described.add(self.transport.bytes(packet));
            let bytes = self.described.next.len() + index.saturating_sub(USUAL_COLUMNS) * COLUMN_BYTES;
            if bytes > self.most_bytes() {
                return Err(self.lost(response_limit::exceeded("what a result's columns are", self.most_bytes())));
            }
        }
        self.end_of_definitions().await?;
        self.described.fields().ok_or_else(|| self.lost(garbled("column")))
    }

    /// Reads the packet behind the definitions of columns or parameters, if the server sends one.
    async fn end_of_definitions(&mut self) -> CommandResult<()> {
        if self.can(capability::DEPRECATE_EOF) {
            return Ok(());
        }
        let packet = self.next_packet().await?;
        let packet = self.transport.bytes(packet);
        let is_end = packet.first() == Some(&0xfe) && packet.len() < 9;
        if is_end { Ok(()) } else { Err(self.lost(garbled("end of columns"))) }
    }

    /// Keeps the columns of a prepared statement.
    fn know(&mut self, id: u32, fields: &Arc<[Field]>) -> CommandResult<()> {
        self.known_bytes += bytes_of(fields);
        self.known_bytes -= self.known.insert(id, Arc::clone(fields)).as_deref().map_or(0, bytes_of);
        if self.known_bytes <= MOST_KNOWN {
            return Ok(());
        }
        let problem =
            format!("the columns of the prepared statements take more than {MOST_KNOWN} bytes; prepare fewer");
        Err(self.lost(Error::TooLarge(problem)))
    }

    /// Reads the first packet of an answer. An error packet becomes an error.
    async fn first_packet(&mut self) -> CommandResult<std::ops::Range<usize>> {
        let range = self.next_packet().await?;
        let packet = self.transport.bytes(range.clone());
        if packet.first() == Some(&0xff) {
            let error = ServerError::parse(packet);
            return Err(self.refused(error));
        }
        Ok(range)
    }

    async fn next_packet(&mut self) -> CommandResult<std::ops::Range<usize>> {
        if let Some(packet) = self.transport.try_packet() {
            return Ok(packet);
        }
        let packet = self.transport.packet(self.least_input()).await;
        packet.map_err(|error| self.broken(&error))
    }

    fn lost(&mut self, error: Error) -> Failure {
        self.is_lost = true;
        Failure::Lost(error)
    }

    fn broken(&mut self, error: &std::io::Error) -> Failure {
        if let Some(error) = too_large(error) {
            return self.lost(error);
        }
        let problem = if error.kind() == std::io::ErrorKind::UnexpectedEof {
            "the server closed it".to_owned()
        } else {
            error.to_string()
        };
        self.lost(lost(&problem))
    }

    /// Sends `COM_QUIT`, so that the server does not count an aborted client.
    pub(crate) async fn quit(&mut self) {
        if self.is_idle() {
            self.send(command::QUIT, |_| {});
            // The server may have closed the connection already.
            let _ = self.transport.flush().await;
        }
    }
}

/// Appends what `COM_STMT_EXECUTE` has before its parameters.
pub(crate) fn put_execute(target: &mut Vec<u8>, id: u32) {
    target.extend_from_slice(&id.to_le_bytes());
    // The flags (no cursor), and an iteration count of 1.
    target.extend_from_slice(&[0, 1, 0, 0, 0]);
}

/// The bytes that the columns of a prepared statement take.
fn bytes_of(fields: &[Field]) -> usize {
    fields.iter().map(|field| size_of::<Field>() + field.name.len()).sum()
}

/// The error of a server that does not answer a login.
pub(crate) fn no_answer(url: &Url, time: Duration) -> Failure {
    Error::Timeout(format!("{url} did not answer for {} s", time.as_secs())).into()
}

/// The error for a server that sends more than answers.
pub(crate) fn unasked() -> Error {
    lost(UNASKED)
}

/// The error for a connection that was lost.
pub(crate) fn lost(problem: &str) -> Error {
    Error::Connection(format!("mysql: the connection was lost ({problem}); what was under way may or may not be done"))
}
