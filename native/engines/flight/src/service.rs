//! Flight SQL over an engine, for any client of the protocol: the messages of arrow-flight, sent by our own code.
//!
//! Results and inserts are streams: at no time is more than a few batches of them in memory, and a client that does not read
//! holds its result back. A call that is dropped, by its client or at its deadline, ends the work that it began.

mod action;
mod login;
mod metadata;
mod prepared;
mod put;
mod query;
mod quirks;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow_flight::sql::metadata::SqlInfoData;
use arrow_flight::sql::{Any, Command};
use arrow_flight::{Action, FlightDescriptor, SchemaResult, Ticket};
use boundary_bench_engine::Engine;
use boundary_bench_kernel::cancel::{CancelOnDrop, CancelToken};
use boundary_bench_kernel::runtime::blocking;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Result, lock};
use bytes::Bytes;
use hyper::body::Body;
use hyper::http::request;
use hyper::{Request, Response};
use prost::Message;
use tokio::sync::Notify;
use tonic::Status;

use self::login::LoginCheck;
use self::prepared::Statements;
pub use self::quirks::Quirks;
use crate::grpc::{self, BoxError, Frames, MessageBody, Messages, ONLY_READS, Parts, SERVICE, framed};
use crate::status::of_error;

type CallResult = std::result::Result<MessageBody, Status>;

/// Maximum length of one message, in bytes. An inserting client sends one batch per message.
const MESSAGE_BYTES: usize = 64 << 20;

/// Maximum length of a message of a handshake, in bytes: its sender is not authenticated yet.
const HANDSHAKE_BYTES: usize = 64 << 10;

/// The user of a service.
#[derive(Clone)]
pub struct Login {
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: String,
}

impl std::fmt::Debug for Login {
    /// Leaves out the password.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Flight SQL over an engine.
pub struct FlightService {
    engine: Arc<dyn Engine>,
    door: LoginCheck,
    statements: Statements,
    /// The queries whose results are being sent, by the numbers in their tickets.
    running: Arc<Mutex<HashMap<u64, Arc<Notify>>>>,
    next_ticket: AtomicU64,
    info: SqlInfoData,
    quirks: Quirks,
    /// The names of the database and of the schema in which the tables are.
    catalog: String,
    schema: String,
}

impl FlightService {
    /// Creates a service. Without a login, every client that reaches it may use the engine.
    pub fn new(engine: Arc<dyn Engine>, login: Option<Login>) -> Result<Self> {
        let info = metadata::sql_info(&engine)?;
        let (catalog, schema) = metadata::place(&engine);
        Ok(Self {
            engine,
            statements: Statements::default(),
            door: LoginCheck::new(login)?,
            running: Arc::default(),
            next_ticket: AtomicU64::new(1),
            info,
            quirks: Quirks::default(),
            catalog,
            schema,
        })
    }

    /// The same service with quirks of another server.
    pub fn with_quirks(self, quirks: Quirks) -> Self {
        Self { quirks, ..self }
    }

    /// Answers one call.
    pub async fn answer<B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static>(
        self: &Arc<Self>,
        request: Request<B>,
    ) -> Response<MessageBody> {
        let (head, body) = request.into_parts();
        let deadline = grpc::timeout(&head.headers).map(|timeout| Instant::now() + timeout);
        let method = head.uri.path().strip_prefix(SERVICE).unwrap_or_default();
        let purpose = match method {
            "GetSchema" => Purpose::Describe,
            _ if head.headers.contains_key(ONLY_READS) => Purpose::Read,
            _ => Purpose::Run,
        };
        let call = Call { deadline, cancel: CancelToken::default(), purpose };
        if method == "Handshake" {
            return self.door.shake_hands(&head, Messages::new(body, HANDSHAKE_BYTES)).await;
        }
        let answered = match self.door.check(&head) {
            Ok(()) => call.within(self.call(method, &head, body, &call)).await,
            Err(status) => Err(status),
        };
        match answered {
            Ok(body) => grpc::answer(body),
            Err(status) => grpc::refusal(&status),
        }
    }

    async fn call<B: Frames + Send + 'static>(
        self: &Arc<Self>,
        method: &str,
        head: &request::Parts,
        body: B,
        call: &Call,
    ) -> CallResult {
        let mut messages = Messages::new(body, MESSAGE_BYTES);
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

    /// Runs blocking work of the engine.
    async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        call: &Call,
        work: impl FnOnce(&Self, &CancelToken) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Status> {
        let (this, token) = (Arc::clone(self), call.cancel.clone());
        // Dropping this future cancels the work.
        let ending = CancelOnDrop(call.cancel.clone());
        let result = blocking(move || work(&this, &token)).await;
        if result.is_ok() {
            ending.forget();
        }
        result.map_err(|error| of_error(&error))
    }

    /// Registers a query as running, until the guard is dropped.
    fn running(&self, ticket: u64) -> Running {
        let (running, stop) = (Arc::clone(&self.running), Arc::new(Notify::new()));
        lock(&running).insert(ticket, Arc::clone(&stop));
        Running { all: running, ticket, stop }
    }

    fn new_ticket(&self) -> u64 {
        self.next_ticket.fetch_add(1, Ordering::Relaxed)
    }
}

/// The state of one call.
struct Call {
    deadline: Option<Instant>,
    cancel: CancelToken,
    purpose: Purpose,
}

/// The treatment of a command if a query is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The command is run.
    Run,
    /// The command is only described.
    Describe,
    /// The command is refused.
    Read,
}

impl Call {
    /// Waits for a part of the call, until the call's deadline at most.
    async fn within<T>(
        &self,
        work: impl Future<Output = std::result::Result<T, Status>>,
    ) -> std::result::Result<T, Status> {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        within(left, work, |_| Status::deadline_exceeded("the call's own time is over")).await
    }
}

/// The entry of a running query in the service's `running`. Its drop removes the entry.
struct Running {
    all: Arc<Mutex<HashMap<u64, Arc<Notify>>>>,
    ticket: u64,
    /// Notified when the query is cancelled.
    stop: Arc<Notify>,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.ticket);
    }
}

/// A response of one message.
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
