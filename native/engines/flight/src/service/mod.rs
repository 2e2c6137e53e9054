//! Flight SQL over an engine, for any client of it: arrow-flight's messages, with our own way of sending them.
//!
//! Results and inserts are streams: at no time is more than a few batches of them in memory, and who does not read on is not
//! sent to. A call that is dropped, by its client or at its deadline, ends what it began. No call holds a thread while it waits for
//! its client, nor waits for ever.

mod action;
mod login;
mod metadata;
mod patient;
mod prepared;
mod put;
mod query;

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow_flight::sql::metadata::SqlInfoData;
use arrow_flight::sql::{Any, Command};
use arrow_flight::{Action, FlightDescriptor, SchemaResult, Ticket};
use boundary_bench_engine::Engine;
use boundary_bench_kernel::cancel::{CancelOnDrop, CancelToken};
use boundary_bench_kernel::workers::{Full, Workers, stalled_sender};
use boundary_bench_kernel::{Error, Result};
use bytes::Bytes;
use hyper::body::Body;
use hyper::http::request;
use hyper::{Request, Response};
use prost::Message;
use tokio::sync::Notify;
use tonic::Status;

use self::login::Door;
use self::patient::Patient;
use self::prepared::Statements;
use crate::grpc::{self, MessageBody, Messages, ONLY_READS, Parts, SERVICE, framed};
use crate::status::of_error;

type Answered = std::result::Result<MessageBody, Status>;

/// Threads of commands. They and those of inserts are fewer than the runtime has (512).
const COMMAND_THREADS: usize = 256;

/// Commands that wait for a thread; further ones are refused.
const WAITING_COMMANDS: usize = 2048;

/// Threads of inserts, which hold one only for a batch that came.
const INSERT_THREADS: usize = 64;

/// The bytes of a message of a handshake, at most: whoever sends it is not known yet.
const HANDSHAKE_BYTES: usize = 64 << 10;

/// What a client may ask for.
#[derive(Debug, Clone)]
pub struct ServiceLimits {
    /// The bytes of one message; those of a batch, of a client that inserts.
    pub message: usize,
    /// How long the engine may take for a command, and from one batch of a result to the next.
    pub query_time: Duration,
    /// How long a client may send nothing of a call, or take nothing of a result.
    pub stall_time: Duration,
    /// Results that are open at a time, and inserts, of each; further ones are refused.
    pub open: usize,
    /// Prepared statements that are open at a time.
    pub statements: usize,
    /// How long a prepared statement stays open that nobody uses.
    pub statement_time: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            message: 64 << 20,
            query_time: Duration::from_secs(120),
            stall_time: Duration::from_secs(30),
            open: 1024,
            statements: 10_000,
            statement_time: Duration::from_secs(30 * 60),
        }
    }
}

/// Who may use a service.
#[derive(Clone)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password.
    pub password: String,
}

impl std::fmt::Debug for Login {
    /// Without the password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Flight SQL over an engine.
pub struct FlightService {
    engine: Arc<dyn Engine>,
    limits: ServiceLimits,
    door: Door,
    statements: Statements,
    commands: Workers,
    inserts: Workers,
    /// The results that are open; each has a thread of its own.
    results: Workers,
    /// The queries whose results are under way, by the numbers in their tickets.
    running: Arc<Mutex<HashMap<u64, Arc<Notify>>>>,
    next_ticket: AtomicU64,
    info: SqlInfoData,
    /// The names of the database and of the schema in which the tables are.
    catalog: String,
    schema: String,
}

impl FlightService {
    /// A service; whoever reaches it may use the engine, unless there is a login.
    ///
    /// # Errors
    /// [`Error::Internal`] without a source of random bytes.
    pub fn new(engine: Arc<dyn Engine>, limits: ServiceLimits, login: Option<Login>) -> Result<Self> {
        let info = metadata::sql_info(&engine)?;
        let (catalog, schema) = metadata::place(&engine);
        Ok(Self {
            engine,
            statements: Statements::new(&limits),
            commands: Workers::new("commands", COMMAND_THREADS, COMMAND_THREADS + WAITING_COMMANDS),
            inserts: Workers::new("inserts", INSERT_THREADS, limits.open),
            results: Workers::new("results", limits.open, limits.open),
            limits,
            door: Door::new(login)?,
            running: Arc::default(),
            next_ticket: AtomicU64::new(1),
            info,
            catalog,
            schema,
        })
    }

    /// Answers one call.
    pub async fn answer<B>(self: &Arc<Self>, request: Request<B>) -> Response<MessageBody>
    where
        B: Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Display,
    {
        let (head, body) = request.into_parts();
        let deadline = grpc::timeout(&head.headers).map(|timeout| Instant::now() + timeout);
        let method = head.uri.path().strip_prefix(SERVICE).unwrap_or_default();
        let purpose = match method {
            "GetSchema" => Purpose::Describe,
            _ if head.headers.contains_key(ONLY_READS) => Purpose::Read,
            _ => Purpose::Run,
        };
        let call = Call { deadline, cancel: CancelToken::default(), purpose };
        let (body, is_lost) = Patient::new(body, self.limits.stall_time);
        if method == "Handshake" {
            return self.door.shake_hands(&head, Messages::new(body, HANDSHAKE_BYTES)).await;
        }
        let answered = match self.door.check(&head) {
            Ok(()) => call.within(self.call(method, &head, body, &call)).await,
            Err(status) => Err(status),
        };
        match answered {
            Ok(body) => grpc::answer(body),
            Err(_) if is_lost.load(Ordering::Acquire) => {
                grpc::refusal(&of_error(&stalled_sender(self.limits.stall_time)))
            }
            Err(status) => grpc::refusal(&status),
        }
    }

    async fn call<B>(self: &Arc<Self>, method: &str, head: &request::Parts, body: B, call: &Call) -> Answered
    where
        B: Body<Data = Bytes> + Unpin + Send + 'static,
        B::Error: Display,
    {
        let mut messages = Messages::new(body, self.limits.message);
        match method {
            "GetFlightInfo" => {
                let descriptor: FlightDescriptor = messages.only().await?;
                Ok(one(&self.flight_info(descriptor, call).await?))
            }
            "GetSchema" => {
                let descriptor: FlightDescriptor = messages.only().await?;
                let info = self.flight_info(descriptor, call).await?;
                Ok(one(&SchemaResult { schema: info.schema }))
            }
            "DoGet" => {
                let ticket: Ticket = messages.only().await?;
                self.get(command(&ticket.ticket)?, call).await
            }
            "DoPut" => self.put(messages, call).await,
            "DoAction" => {
                let action: Action = messages.only().await?;
                self.act(action, call).await
            }
            "ListActions" => Ok(action::list()),
            _ => Err(Status::unimplemented(format!("{} is not offered here", head.uri.path()))),
        }
    }

    /// Runs work of the engine, which blocks, for as long as the limits and the call allow.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        call: &Call,
        work: impl FnOnce(&Self, &CancelToken) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let (this, token) = (Arc::clone(self), call.cancel.clone());
        // Whoever gives up waiting ends the work.
        let ending = CancelOnDrop(call.cancel.clone());
        let place = self.commands.admit().map_err(|full| refused(&full))?;
        let working = place.run(move || work(&this, &token));
        let result = tokio::time::timeout(self.limits.query_time, working).await;
        let result = result.unwrap_or_else(|_| Err(self.too_long()));
        if result.is_ok() {
            ending.forget();
        }
        result.map_err(|error| of_error(&error))
    }

    fn too_long(&self) -> Error {
        Error::Timeout(format!(
            "the engine took longer than the {} s that are allowed",
            self.limits.query_time.as_secs()
        ))
    }

    /// Notes a query as running, until the guard is dropped.
    fn running(&self, ticket: u64) -> Running {
        let (running, stop) = (Arc::clone(&self.running), Arc::new(Notify::new()));
        running.lock().unwrap_or_else(PoisonError::into_inner).insert(ticket, Arc::clone(&stop));
        Running { all: running, ticket, stop }
    }

    fn new_ticket(&self) -> u64 {
        self.next_ticket.fetch_add(1, Ordering::Relaxed)
    }
}

/// What is known of one call.
struct Call {
    deadline: Option<Instant>,
    cancel: CancelToken,
    purpose: Purpose,
}

/// What is to happen to a command where a query is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It is run.
    Run,
    /// It is told what it is.
    Describe,
    /// It is refused.
    Read,
}

impl Call {
    /// Waits for a part of the call, no longer than its deadline.
    async fn within<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, Status>>,
    ) -> std::result::Result<T, Status> {
        let Some(deadline) = self.deadline else { return work.await };
        let waited = tokio::time::timeout_at(deadline.into(), work).await;
        waited.unwrap_or_else(|_| Err(Status::deadline_exceeded("the call's own time is over")))
    }
}

/// An entry of a running query.
struct Running {
    all: Arc<Mutex<HashMap<u64, Arc<Notify>>>>,
    ticket: u64,
    /// Told when somebody cancels it.
    stop: Arc<Notify>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.ticket);
    }
}

/// The status of a call for which there is no place.
fn refused(full: &Full) -> Status {
    Status::resource_exhausted(full.to_string())
}

/// An answer of one message.
fn one(message: &impl Message) -> MessageBody {
    MessageBody::whole(Parts::from([framed(message)]))
}

/// The command of Flight SQL in these bytes.
fn command(bytes: &[u8]) -> std::result::Result<Command, Status> {
    let command = Any::decode(bytes).map_err(|error| grpc::malformed(&error))?;
    match Command::try_from(command).map_err(|error| grpc::malformed(&error))? {
        Command::Unknown(any) => {
            Err(Status::invalid_argument(format!("not a command of Flight SQL: \"{}\"", any.type_url.escape_debug())))
        }
        command => Ok(command),
    }
}

fn not_offered(command: &Command) -> Status {
    let name = command.type_url().rsplit('.').next().unwrap_or_default();
    Status::unimplemented(format!("{name} is not offered here"))
}
