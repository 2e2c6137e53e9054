//! A Sail of our own: in its cluster mode, in a folder for its tables that is removed with it.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::private_server::{PrivateServer, ServerFolder, cache_folder, printed_after};
use boundary_bench_kernel::{Error, Result};

use super::{SAIL, engine_error};
use crate::{Dialect, FlightUrl};

/// The time that a server may take until it listens. It takes 0.5 s if nothing else runs.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The text in the server's log before its address.
const ANNOUNCEMENT: &str = "Starting the Flight SQL server on ";

/// The seconds after which a server would end an idle worker or forget the tables of an idle session: longer than any run.
const NEVER: &str = "31536000";

/// The environment variable that names the program to start.
const PROGRAM: &str = "SAIL_PATH";

/// The program in the cache folder.
const CACHED: &str = "sail/sail";

/// A running server. Dropping it kills it and removes its tables, as does the end of this process.
#[derive(Debug)]
pub struct SailServer {
    process: PrivateServer,
    address: String,
}

impl SailServer {
    /// Starts a server with `workers` workers. They divide every query among them.
    pub fn start(executable: &Path, workers: NonZeroU32, cancel: &CancelToken) -> Result<Self> {
        let folder = ServerFolder::new(SAIL.name)?;
        let mut command = Command::new(executable);
        let workers = workers.to_string();
        let temporary = format!("[\"{}\"]", folder.path().display());
        // The server takes a free port by itself. Its folder is the one in which it starts.
        command.args(["flight", "server", "--ip", "127.0.0.1", "--port", "0"]).envs([
            ("SAIL_MODE", "local-cluster"),
            ("SAIL_CLUSTER__WORKER_INITIAL_COUNT", workers.as_str()),
            ("SAIL_CLUSTER__WORKER_MAX_COUNT", workers.as_str()),
            ("SAIL_CLUSTER__WORKER_MAX_IDLE_TIME_SECS", NEVER),
            ("SAIL_FLIGHT__SESSION_TIMEOUT_SECS", NEVER),
            // Otherwise the number of cores, with which some workers would have nothing to do.
            ("SAIL_EXECUTION__DEFAULT_PARALLELISM", workers.as_str()),
            ("SAIL_RUNTIME__TEMPORARY_FILES__PATHS", temporary.as_str()),
            // The address is in a line of this log.
            ("RUST_LOG", "warn,sail_cli=info"),
        ]);
        let mut address = None;
        let process = folder.serve(&command, START_TIMEOUT, cancel, |folder| {
            address = printed_after(folder, ANNOUNCEMENT);
            address.is_some()
        })?;
        let address = address.unwrap_or_default().trim_end_matches('.').to_owned();
        Ok(Self { process, address })
    }

    /// The URL of the server.
    pub fn url(&self) -> Result<FlightUrl> {
        let unreadable = |_| engine_error(format!("its log has no readable address: {}", self.address));
        let mut url: FlightUrl = format!("flight://{}", self.address).parse().map_err(unreadable)?;
        url.dialect = Some(Dialect::Spark);
        Ok(url)
    }

    /// The id of the server's process.
    pub fn process_id(&self) -> u32 {
        self.process.process_id()
    }

    /// The server's folder, with its tables, or `None` once it was stopped.
    pub fn folder(&self) -> Option<PathBuf> {
        self.process.folder()
    }
}

/// The path of the program: the path in `SAIL_PATH`, else the place where `boundary-bench setup sail` puts it.
pub fn executable() -> Result<PathBuf> {
    let advice = "run `boundary-bench setup sail`, or set SAIL_PATH to a program `sail`";
    if let Some(given) = std::env::var_os(PROGRAM).filter(|given| !given.is_empty()) {
        let path = PathBuf::from(given);
        return if path.is_file() {
            Ok(path)
        } else {
            Err(Error::NotInstalled(format!("SAIL_PATH is {}, but there is no such file; {advice}", path.display())))
        };
    }
    let path = cache_folder().map(|cache| cache.join(CACHED)).filter(|path| path.is_file());
    path.ok_or_else(|| Error::NotInstalled(format!("Sail is not installed: {advice}")))
}

#[cfg(test)]
mod tests {
    use crate::FlightEngine;
    use boundary_bench_engine::{Engine, QueryOptions};
    use boundary_bench_kernel::needs;

    use super::*;

    fn texts(engine: &dyn Engine, sql: &str) -> Vec<String> {
        let mut stream = engine.query(sql, &QueryOptions::default()).unwrap();
        let mut texts = Vec::new();
        while let Some(batch) = stream.next_batch().unwrap() {
            let column = arrow_array::cast::AsArray::as_string::<i32>(batch.column(0)).clone();
            texts.extend(column.iter().flatten().map(str::to_owned));
        }
        texts
    }

    #[test]
    fn a_server_has_its_workers_and_its_tables_go_with_it() {
        let program = needs!("sail", executable());
        let server = SailServer::start(&program, NonZeroU32::new(3).unwrap(), &CancelToken::default()).unwrap();
        let engine = FlightEngine::open_as(&SAIL, server.url().unwrap(), None).unwrap();
        let running = "SELECT status FROM system.cluster.workers WHERE status = 'RUNNING'";
        // Each worker registers by itself, soon after the first query.
        let deadline = std::time::Instant::now() + START_TIMEOUT;
        while texts(&engine, running).len() < 3 && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(texts(&engine, running).len(), 3);
        let run = |sql: &str| engine.execute(sql, &CancelToken::default()).unwrap();
        run("CREATE TABLE t (n BIGINT)");
        assert_eq!(run("INSERT INTO t SELECT i FROM range(0, 1000) AS numbers(i)"), 1000);
        let folder = server.folder().unwrap();
        assert!(folder.join("spark-warehouse").is_dir());
        drop(server);
        assert!(!folder.exists());
        assert!(engine.check().is_err());
    }

    #[test]
    fn a_program_that_ends_at_once_is_reported_with_its_words() {
        let program = needs!("sail", executable());
        let folder = boundary_bench_kernel::testing::Folder::new("sail-fails");
        let broken = folder.file("sail");
        std::fs::write(&broken, format!("#!/bin/sh\nexec '{}' no-such-command\n", program.display())).unwrap();
        std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let error = SailServer::start(&broken, NonZeroU32::MIN, &CancelToken::default()).unwrap_err();
        assert!(error.to_string().contains("no-such-command"), "{error}");
    }
}
