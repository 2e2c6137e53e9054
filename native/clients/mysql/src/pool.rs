//! The sessions with one server: opened when they are needed, reused when they are idle and usable.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use boundary_bench_kernel::driven_stream::DrivenStream;
use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::timeout::within;
use boundary_bench_kernel::{Error, Result, lock};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::cells::Cell;
use crate::codec::{CommandResult, Failure, Field, type_id};
use crate::connection::{Connection, Prepared, no_answer};
use crate::effect::{Effect, Held, Kind};
use crate::rows::{Form, RowShape};
use crate::runtime;
use crate::settings;
use crate::transport::Exchange;
use crate::url::Url;

/// The most texts of statements that a session keeps prepared, and the most statements of one text.
const MAX_STATEMENTS: usize = 256;
const MAX_KINDS: usize = 8;

/// The first version of MySQL whose prepared statements keep the types of the values that they were run with.
const KEEPS_KINDS: [u32; 3] = [8, 0, 22];

/// The wait after the server was asked to end a statement, before its connection is ended.
const KILL_PAUSE: Duration = Duration::from_millis(250);

/// The time-out of a request to end a statement or connection.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest packet of a server that does not tell its limit, in bytes: the usual default.
const USUAL_PACKET: usize = 1 << 20;

/// A pool of sessions with one server.
pub(crate) struct Pool {
    url: Url,
    /// The statements that each new session runs first.
    setup: Vec<String>,
    idle: Mutex<Vec<Session>>,
    permits: Arc<Semaphore>,
    max_packet: OnceLock<usize>,
    is_closed: AtomicBool,
}

/// A connection and the statements prepared on it.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    /// The prepared statements of each text: one, or if the server keeps the kinds of values, one for each list of kinds.
    statements: HashMap<Arc<str>, Vec<Known>>,
    keeps_kinds: bool,
    /// The number of the submission that runs.
    turn: u64,
    /// The parts of the session that the caller has changed.
    held: Arc<Held>,
    /// Whether the last statement that changed what plans depend on was [`Kind::Names`]. A further one changes nothing.
    has_names: bool,
    /// The shape of the rows of the last statement sent as text.
    text_shape: Option<Arc<RowShape>>,
}

/// A statement that is prepared on a session.
pub(crate) struct Known {
    prepared: Prepared,
    /// The number of the last submission that has used the statement.
    turn: u64,
    /// The shape of the statement's rows, set at its first result.
    shape: Option<Arc<RowShape>>,
    /// The kinds of the values that it was run with. NULL is of every kind.
    kinds: Vec<u8>,
}

impl Known {
    /// Whether the statement can be run with these values, and have them mean what they mean in a new one.
    fn takes<'a>(&self, cells: impl Iterator<Item = Cell<'a>>) -> bool {
        self.kinds
            .iter()
            .zip(cells.map(kind_of))
            .all(|(known, kind)| *known == kind || *known == type_id::NULL || kind == type_id::NULL)
    }

    /// Takes note of the values of a run.
    fn bind<'a>(&mut self, cells: impl Iterator<Item = Cell<'a>>) {
        if self.kinds.is_empty() {
            self.kinds.extend(cells.map(kind_of));
            return;
        }
        for (known, kind) in self.kinds.iter_mut().zip(cells.map(kind_of)) {
            if *known == type_id::NULL {
                *known = kind;
            }
        }
    }
}

/// The kind of a value: integers are of one kind.
pub(crate) fn kind_of(cell: Cell<'_>) -> u8 {
    match cell.type_id() {
        type_id::TINY | type_id::LONG => type_id::LONGLONG,
        other => other,
    }
}

/// Whether a server keeps the types of the values that a prepared statement was run with: it then reads the text 'abc' as the number 0 if
/// the first value was a number, or as a wrong date. `Prepared_statement::check_parameter_types` of MySQL says which types it takes.
fn keeps_kinds(version: &str) -> bool {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    !version.contains("MariaDB") && [(); 3].map(|()| numbers.next().unwrap_or(0)) >= KEEPS_KINDS
}

impl Pool {
    /// A pool of at most this many sessions in use at a time.
    pub(crate) fn new(url: Url, setup: Vec<String>, sessions: usize) -> Arc<Self> {
        Arc::new(Self {
            url,
            setup,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(sessions)),
            max_packet: OnceLock::new(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The largest packet that the server takes, in bytes.
    pub(crate) fn max_packet(&self) -> usize {
        self.max_packet.get().copied().unwrap_or(USUAL_PACKET)
    }

    /// Returns a session for exclusive use. Waits while all are in use.
    pub(crate) async fn lease(self: &Arc<Self>) -> CommandResult<Lease> {
        let closed = || Error::Closed("the connection to the server");
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
        if self.is_closed.load(Ordering::Acquire) {
            return Err(closed().into());
        }
        let idle = || lock(&self.idle).pop();
        while let Some(mut session) = idle() {
            if session.connection.is_quiet().await {
                session.make_room(1);
                return Ok(Lease { session: Some(session), pool: Arc::clone(self), _permit: permit });
            }
        }
        let session = self.open().await?;
        Ok(Lease { session: Some(session), pool: Arc::clone(self), _permit: permit })
    }

    async fn open(&self) -> CommandResult<Session> {
        let open = async {
            let mut connection = Connection::open(&self.url).await?;
            let max_packet = settings::settle(&mut connection, &self.url).await?;
            self.max_packet.get_or_init(|| max_packet.unwrap_or(USUAL_PACKET));
            for sql in &self.setup {
                connection.run(sql).await?;
            }
            Ok(Session {
                keeps_kinds: keeps_kinds(connection.version()),
                connection,
                statements: HashMap::new(),
                turn: 0,
                held: Arc::default(),
                has_names: false,
                text_shape: None,
            })
        };
        within(Some(CONNECT_TIMEOUT), open, |time| no_answer(&self.url, time)).await
    }

    fn give_back(&self, session: Session) {
        if session.connection.is_idle() && !self.is_closed.load(Ordering::Acquire) {
            lock(&self.idle).push(session);
        }
    }

    /// Closes all idle sessions, and prevents new ones.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.permits.close();
        let idle = std::mem::take(&mut *lock(&self.idle));
        for mut session in idle {
            session.connection.quit().await;
        }
    }

    /// Asks the server to end a connection that is no longer used, with all that it runs or has yet to run.
    pub(crate) fn end(self: &Arc<Self>, id: u32) {
        self.kill(id, None);
    }

    /// Asks the server to end the statement that connection `id` runs. Such a request has no effect if it arrives before the
    /// statement, so the connection is ended next if `is_running` is still true: that works whenever it arrives. So there are
    /// two requests at most.
    pub(crate) fn cancel(self: &Arc<Self>, id: u32, is_running: Arc<AtomicBool>) {
        self.kill(id, Some(is_running));
    }

    fn kill(self: &Arc<Self>, id: u32, is_running: Option<Arc<AtomicBool>>) {
        let pool = Arc::clone(self);
        let work = async move {
            let mut connection = Connection::open(&pool.url).await?;
            let runs = || is_running.as_ref().is_none_or(|is_running| is_running.load(Ordering::Acquire));
            if is_running.is_some() && runs() {
                connection.run(&format!("KILL QUERY {id}")).await?;
                tokio::time::sleep(KILL_PAUSE).await;
            }
            if runs() {
                connection.run(&format!("KILL {id}")).await?;
            }
            connection.quit().await;
            Ok::<_, Failure>(())
        };
        // A connection that is not ended so ends with its socket, once the server writes to it.
        runtime().spawn(async move { drop(tokio::time::timeout(KILL_TIMEOUT, work).await) });
    }
}

impl Session {
    /// Takes the stream out for a driver.
    pub(crate) fn into_driven(self) -> Result<(Self, DrivenStream, Arc<Exchange>)> {
        let (connection, stream, exchange) = self.connection.into_driven()?;
        Ok((Self { connection, ..self }, stream, exchange))
    }

    /// Takes note of a statement that is sent. Returns whether it may change what prepared statements mean. They must be closed behind it
    /// then.
    pub(crate) fn note(&mut self, effect: Effect) -> bool {
        self.held.note(effect);
        match effect.kind {
            Kind::Names => !std::mem::replace(&mut self.has_names, true),
            Kind::Session => {
                self.has_names = false;
                true
            }
            _ => false,
        }
    }

    /// The parts of the session that the caller has changed.
    pub(crate) fn held(&self) -> &Arc<Held> {
        &self.held
    }

    /// Whether the server keeps the kinds of the values that a statement was run with.
    pub(crate) fn keeps_kinds(&self) -> bool {
        self.keeps_kinds
    }

    /// The first prepared statement of this text, if there is one.
    pub(crate) fn known(&self, sql: &str) -> Option<&Prepared> {
        Some(&self.statements.get(sql)?.first()?.prepared)
    }

    /// The prepared statement of this text for these values, if there is one.
    pub(crate) fn known_for<'a>(
        &mut self,
        sql: &str,
        cells: impl Iterator<Item = Cell<'a>> + Clone,
    ) -> Option<Prepared> {
        let keeps_kinds = self.keeps_kinds;
        let mut statements = self.statements.get_mut(sql)?.iter_mut();
        let known = statements.find(|known| !keeps_kinds || known.takes(cells.clone()))?;
        known.turn = self.turn;
        if keeps_kinds {
            known.bind(cells);
        }
        Some(known.prepared.clone())
    }

    /// The prepared statement of this text for these values, with the kinds of values that the server keeps for it.
    pub(crate) fn ready_for<'a>(
        &mut self,
        sql: &str,
        cells: impl Iterator<Item = Cell<'a>> + Clone,
    ) -> Option<(Prepared, Option<Vec<u8>>)> {
        let prepared = self.known_for(sql, cells)?;
        let kinds = || {
            self.statements
                .get(sql)?
                .iter()
                .find(|known| known.prepared.id == prepared.id)
                .map(|known| known.kinds.clone())
        };
        let kinds = if self.keeps_kinds { Some(kinds()?) } else { None };
        Some((prepared, kinds))
    }

    /// The shape of rows with these columns, for a statement sent as text.
    pub(crate) fn text_shape(&mut self, fields: &Arc<[Field]>) -> Result<Arc<RowShape>> {
        match &self.text_shape {
            Some(shape) if shape.fits(fields, Form::Text) => Ok(Arc::clone(shape)),
            _ => {
                let shape = RowShape::new(fields, Form::Text, self.connection.forms())?;
                Ok(Arc::clone(self.text_shape.insert(shape)))
            }
        }
    }

    /// The shape of rows with these columns, for a prepared statement.
    pub(crate) fn shape(&mut self, sql: &str, id: u32, fields: &Arc<[Field]>) -> Result<Arc<RowShape>> {
        let known =
            self.statements.get_mut(sql).and_then(|known| known.iter_mut().find(|known| known.prepared.id == id));
        if let Some(Known { shape: Some(shape), .. }) = &known
            && shape.fits(fields, Form::Binary)
        {
            return Ok(Arc::clone(shape));
        }
        let shape = RowShape::new(fields, Form::Binary, self.connection.forms())?;
        if let Some(known) = known {
            known.shape = Some(Arc::clone(&shape));
        }
        Ok(shape)
    }

    /// The statement of this text, prepared now if it was not before. It stays prepared until room is made for others.
    pub(crate) async fn prepared(&mut self, sql: &str) -> CommandResult<Prepared> {
        self.prepared_for(sql, std::iter::empty()).await
    }

    /// The statement of this text for these values, as by [`Session::prepared`].
    pub(crate) async fn prepared_for<'a>(
        &mut self,
        sql: &str,
        cells: impl Iterator<Item = Cell<'a>> + Clone,
    ) -> CommandResult<Prepared> {
        if let Some(known) = self.known_for(sql, cells.clone()) {
            return Ok(known);
        }
        let turn = self.turn;
        let prepared = match self.connection.prepare(sql).await {
            Err(failure) if failure.has_too_many() && self.close_statements(|known| known.turn != turn) => {
                self.connection.prepare(sql).await?
            }
            prepared => prepared?,
        };
        let mut known = Known { prepared: prepared.clone(), turn, shape: None, kinds: Vec::new() };
        if self.keeps_kinds {
            known.bind(cells);
        }
        let statements = self.statements.entry(sql.into()).or_default();
        statements.push(known);
        if statements.len() > MAX_KINDS {
            self.connection.send_close(statements.remove(0).prepared.id);
        }
        Ok(prepared)
    }

    /// Begins a submission: closes all prepared statements if this many more would exceed the limit.
    pub(crate) fn make_room(&mut self, statements: usize) {
        self.turn += 1;
        if self.statements.len() + statements > MAX_STATEMENTS {
            self.close_statements(|_| true);
        }
    }

    /// Forgets the statements of a text, of which the server no longer has one, so that they are prepared again at their next use.
    pub(crate) fn forget(&mut self, sql: &str) {
        for old in self.statements.remove(sql).into_iter().flatten() {
            // A server that has it after all need not keep it.
            self.connection.send_close(old.prepared.id);
        }
    }

    /// Closes some of the prepared statements. Returns whether there are any.
    pub(crate) fn close_statements(&mut self, is_closed: impl Fn(&Known) -> bool) -> bool {
        let mut is_any = false;
        self.statements.retain(|_, statements| {
            for old in statements.extract_if(.., |known| is_closed(known)) {
                self.connection.send_close(old.prepared.id);
                is_any = true;
            }
            !statements.is_empty()
        });
        is_any
    }
}

/// A session on loan. On drop it returns to the pool if it is idle, else it is closed.
pub(crate) struct Lease {
    /// The session. `None` only while the lease is dropped.
    session: Option<Session>,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Takes the session out of the pool. The pool need not outlive it.
    pub(crate) fn into_session(mut self) -> Option<Session> {
        self.session.take()
    }

    /// Closes the session, so that nobody uses it again.
    pub(crate) fn close(mut self) {
        self.session = None;
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a lease has its session until it is dropped")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("a lease has its session until it is dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.pool.give_back(session);
        }
    }
}
