//! The sessions with one server: opened as they are needed, used again when they are idle and well.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use boundary_bench_kernel::socket::CONNECT_TIMEOUT;
use boundary_bench_kernel::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::codec::{Failure, Field};
use crate::connection::{Connection, Prepared};
use crate::rows::{Form, RowShape};
use crate::runtime;
use crate::transport::Drive;
use crate::url::Url;

type Answer<T> = std::result::Result<T, Failure>;

/// Sessions that are kept for later use, at most.
const MAX_IDLE: usize = 1024;

/// Statements that a session keeps prepared, at most.
const MAX_STATEMENTS: usize = 256;

/// How long a statement may go on after the server was asked to end it, before its connection is ended.
const KILL_PAUSE: Duration = Duration::from_millis(250);

/// How long asking for the end of something may take.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

/// What a server allows a packet by default, where it does not say.
const USUAL_PACKET: usize = 1 << 20;

/// A server and the sessions with it.
pub(crate) struct Pool {
    url: Url,
    /// What each session begins with.
    setup: Vec<String>,
    idle: Mutex<Vec<Session>>,
    permits: Arc<Semaphore>,
    max_packet: OnceLock<usize>,
    is_closed: AtomicBool,
}

/// A connection and what was prepared on it.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    statements: HashMap<Arc<str>, Known>,
    /// What the rows of the last statement given as text looked like.
    text_shape: Option<Arc<RowShape>>,
}

/// A statement that is prepared on a session.
struct Known {
    prepared: Prepared,
    /// What its rows look like, once some have come.
    shape: Option<Arc<RowShape>>,
}

impl Pool {
    /// Sessions with a server, at most so many at a time.
    pub(crate) fn new(url: Url, setup: Vec<String>, sessions: usize) -> Arc<Self> {
        Arc::new(Self {
            url,
            setup,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(sessions.min(Semaphore::MAX_PERMITS))),
            max_packet: OnceLock::new(),
            is_closed: AtomicBool::new(false),
        })
    }

    /// The greatest packet that the server takes.
    pub(crate) fn max_packet(&self) -> usize {
        self.max_packet.get().copied().unwrap_or(USUAL_PACKET)
    }

    /// A session that nobody else uses; waits while all are in use.
    pub(crate) async fn lease(self: &Arc<Self>) -> Answer<Lease> {
        let closed = || Error::Closed("the connection to the server");
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
        if self.is_closed.load(Ordering::Acquire) {
            return Err(closed().into());
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(mut session) = idle() {
            if !session.connection.has_ended() {
                session.make_room(1);
                return Ok(Lease { session: Some(session), pool: Arc::clone(self), _permit: permit });
            }
        }
        let session = self.open().await?;
        Ok(Lease { session: Some(session), pool: Arc::clone(self), _permit: permit })
    }

    async fn open(&self) -> Answer<Session> {
        let open = async {
            let mut connection = Connection::open(&self.url).await?;
            for sql in &self.setup {
                connection.run(sql).await?;
            }
            if self.max_packet.get().is_none() {
                // A partial dialect may not know the variable.
                let rows = match connection.texts("SELECT @@max_allowed_packet").await {
                    Err(lost @ Failure::Lost(_)) => return Err(lost),
                    Err(Failure::Refused(_)) => Vec::new(),
                    Ok(rows) => rows,
                };
                let text = rows.into_iter().flatten().next().flatten();
                let size = text.and_then(|text| text.parse().ok()).unwrap_or(USUAL_PACKET);
                let _ = self.max_packet.set(size);
            }
            Ok(Session { connection, statements: HashMap::new(), text_shape: None })
        };
        tokio::time::timeout(CONNECT_TIMEOUT, open).await.unwrap_or_else(|_| {
            let seconds = CONNECT_TIMEOUT.as_secs();
            Err(Error::Timeout(format!("{} did not answer for {seconds} s", self.url)).into())
        })
    }

    fn give_back(&self, session: Session) {
        if session.connection.is_idle() && !self.is_closed.load(Ordering::Acquire) {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < MAX_IDLE {
                idle.push(session);
            }
        }
    }

    /// Ends all sessions that are idle, and keeps others from being opened.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for mut session in idle {
            session.connection.quit().await;
        }
    }

    /// Ends a connection that nobody uses any more, with what it runs or has yet to run.
    pub(crate) fn end(self: &Arc<Self>, id: u32) {
        self.kill(id, None);
    }

    /// Ends what connection `id` runs. A request to end a statement has no effect where it comes before the statement, so the
    /// connection is ended next if `is_running` still says so: that holds whenever it comes. So there are two requests at most.
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
        // What is not ended so ends with its socket, once the server writes to it.
        runtime().spawn(async move { drop(tokio::time::timeout(KILL_TIMEOUT, work).await) });
    }
}

impl Session {
    /// Lets someone else watch its socket; `None` over TLS.
    pub(crate) fn into_driven(self) -> Result<Option<(Self, Drive)>> {
        let driven = self.connection.into_driven()?;
        Ok(driven.map(|(connection, drive)| (Self { connection, ..self }, drive)))
    }

    /// The statement, if it is prepared already.
    pub(crate) fn known(&self, sql: &str) -> Option<&Prepared> {
        self.statements.get(sql).map(|known| &known.prepared)
    }

    /// What rows look like that have these columns, of a statement given as text.
    pub(crate) fn text_shape(&mut self, fields: &Arc<[Field]>) -> Result<Arc<RowShape>> {
        match &self.text_shape {
            Some(shape) if shape.fits(fields, Form::Text) => Ok(Arc::clone(shape)),
            _ => Ok(Arc::clone(self.text_shape.insert(RowShape::new(fields, Form::Text)?))),
        }
    }

    /// What the rows of a prepared statement look like that have these columns.
    pub(crate) fn shape(&mut self, sql: &str, fields: &Arc<[Field]>) -> Result<Arc<RowShape>> {
        let known = self.statements.get_mut(sql);
        if let Some(Known { shape: Some(shape), .. }) = &known
            && shape.fits(fields, Form::Binary)
        {
            return Ok(Arc::clone(shape));
        }
        let shape = RowShape::new(fields, Form::Binary)?;
        if let Some(known) = known {
            known.shape = Some(Arc::clone(&shape));
        }
        Ok(shape)
    }

    /// The statement, prepared now if it was not before. It stays so until room is made for others.
    pub(crate) async fn prepared(&mut self, sql: &str) -> Answer<Prepared> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.prepared.clone());
        }
        let prepared = self.connection.prepare(sql).await?;
        self.statements.insert(sql.into(), Known { prepared: prepared.clone(), shape: None });
        Ok(prepared)
    }

    /// Forgets all statements where so many more would be too many.
    pub(crate) fn make_room(&mut self, statements: usize) {
        if self.statements.len() + statements > MAX_STATEMENTS {
            for (_, old) in self.statements.drain() {
                self.connection.send_close(old.prepared.id);
            }
        }
    }
}

/// A session on loan. It goes back when it is dropped, if it is idle then; else it is closed.
pub(crate) struct Lease {
    /// Absent only while the lease is dropped.
    session: Option<Session>,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Takes the session out of the pool, which need not outlive it.
    pub(crate) fn into_session(mut self) -> Option<Session> {
        self.session.take()
    }

    /// Closes the session, which no one else may use.
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
