//! A server in this process: its threads, its folder, its shutdown.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use boundary_bench_core::api_key::ApiKey;
use boundary_bench_core::private_server::ServerFolder;
use boundary_bench_core::workers::Workers;
use boundary_bench_core::{Error, Result};
use boundary_bench_ingest::store::{Disk, Files, create_folders};
use boundary_bench_ingest::{Durability, IngestStore, StoreOptions};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::flight::Flight;
use crate::front::listen::{Front, Service, bind};
use crate::ingest::Ingest;
use crate::lineitem;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::rest::{RateLimit, Rest};
use crate::routes::Routes;
use crate::tables::Tables;

/// The name of the server in folders and errors.
pub(crate) const NAME: &str = "server";

/// Threads for each kind of query. The threads of all kinds of work together are fewer than the runtime has (512).
const QUERY_THREADS: usize = 64;

/// Threads of scans; a scan holds one only while it makes parts of its response.
const SCAN_THREADS: usize = 64;

/// Threads of writes of points: writes that wait for the disk at the same time are made durable together.
const WRITE_THREADS: usize = 256;

/// Queries of one kind, or writes, that may wait for a thread; further ones are refused.
const WAITING: usize = 2048;

/// A running server. Dropping it calls [`Server::stop`].
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    scheme: &'static str,
    stop: watch::Sender<bool>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Starts a server; it accepts requests when this returns.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for unusable options, [`Error::Io`] where the address can't be bound, [`Error::Engine`] where
    /// the tables can't be opened or made.
    pub fn start(options: &Options) -> Result<Self> {
        options.validate()?;
        let runtime = runtime(options)?;
        // The database is opened before the port accepts connections.
        let flight = options.flight.as_ref().map(|flight| Flight::open(options, flight)).transpose()?;
        let listener = runtime.block_on(bind(options))?;
        let address = listener
            .local_addr()
            .map_err(|source| Error::Io { path: options.listen.to_string(), source: Arc::new(source) })?;
        let (stop, stopped) = watch::channel(false);
        let serve: Box<dyn FnOnce() + Send> = if let Some(flight) = flight {
            let front = Front::new(Arc::new(flight), options)?.for_streams();
            Box::new(move || serve(runtime, Arc::new(front), listener, stopped))
        } else {
            let folder = Folder::open(options.folder.clone())?;
            let routes = Arc::new(routes(options, folder.path())?);
            let front = Arc::new(Front::new(Arc::clone(&routes), options)?);
            let _ = routes.front.set(Arc::downgrade(&front));
            Box::new(move || {
                serve(runtime, front, listener, stopped);
                routes.rest.tables.close();
                // Points that `close` could not write to files are in the log.
                let _ = routes.ingest.store.close();
                drop(routes);
                drop(folder);
            })
        };
        let thread = std::thread::Builder::new().name("bb-server".to_owned()).spawn(serve);
        let thread = thread.map_err(|error| Error::Internal(format!("the server's thread does not start: {error}")))?;
        let scheme = match (options.flight.is_some(), options.tls.is_some()) {
            (false, false) => "http",
            (false, true) => "https",
            (true, false) => "flight",
            (true, true) => "flight+tls",
        };
        Ok(Self { address, scheme, stop, serving: Mutex::new(Some(thread)) })
    }

    /// The address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base of the server's URLs.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Stops accepting connections and returns once the requests in flight are answered; a second call does nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = serving {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The folder of the tables and points.
enum Folder {
    Given(PathBuf),
    /// A folder removed at the end, even if this process is killed.
    Own(ServerFolder),
}

impl Folder {
    fn open(given: Option<PathBuf>) -> Result<Self> {
        let Some(path) = given else { return Ok(Self::Own(ServerFolder::new(NAME)?)) };
        let made = create_folders(&Disk, &path);
        made.map_err(|source| Error::Io { path: path.display().to_string(), source: Arc::new(source) })?;
        Ok(Self::Given(path))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(folder) => folder.path(),
        }
    }
}

/// Serves until it is told to stop; then drops the runtime, which ends its remaining tasks.
fn serve<S: Service>(
    runtime: Runtime,
    front: Arc<Front<S>>,
    listener: TcpListener,
    mut stopped: watch::Receiver<bool>,
) {
    runtime.block_on(front.serve(listener, async move {
        // The wait fails where the sender was dropped, which also means stop.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }));
    drop(runtime);
}

fn routes(options: &Options, folder: &Path) -> Result<Routes> {
    let tables = Tables::open(&folder.join("tables"), options.durable)?;
    let durability = if options.durable { Durability::Durable } else { Durability::Fast };
    let store = StoreOptions { durability, report, ..StoreOptions::new(folder.join("points")) };
    let store = Arc::new(IngestStore::open(&store).map_err(Error::from)?);
    // fjall made the folder of the tables itself; the sync makes its entry durable.
    let synced = Disk.sync_folder(folder);
    synced.map_err(|source| Error::Io { path: folder.display().to_string(), source: Arc::new(source) })?;
    let sql = if options.scale_factor > 0.0 { Some(lineitem::load(options.scale_factor)?) } else { None };
    Ok(Routes {
        rest: Rest {
            tables,
            batch_limit: options.limits.batch,
            rate_limit: options.limits.rate.map(RateLimit::new),
            sql,
            query_time: options.limits.query_time,
            queries: Workers::new("SQL queries", QUERY_THREADS, QUERY_THREADS + WAITING),
            scans: Workers::new("scans", SCAN_THREADS, options.limits.open),
            stall_time: options.limits.stall_time,
        },
        ingest: Ingest {
            store,
            max_points: options.limits.points,
            max_body: options.limits.ingest_body,
            writes: Workers::new("writes", WRITE_THREADS, WRITE_THREADS + WAITING),
            queries: Workers::new("queries of points", QUERY_THREADS, QUERY_THREADS + WAITING),
        },
        metrics: Metrics::new(),
        api_key: ApiKey(options.api_key.clone()),
        limits: options.limits.clone(),
        front: OnceLock::new(),
    })
}

/// Prints a problem with acknowledged points to the error output.
fn report(text: &str) {
    // Without an error output, `/health` and `/metrics` still tell the problem.
    let _ = writeln!(std::io::stderr(), "boundary-bench-server: {text}");
}

fn runtime(options: &Options) -> Result<Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let threads = options.threads.unwrap_or_else(|| cores.div_ceil(2));
    let built = Builder::new_multi_thread().worker_threads(threads).thread_name("bb-server").enable_all().build();
    built.map_err(|error| Error::Internal(format!("no async runtime: {error}")))
}
