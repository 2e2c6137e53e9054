//! How a shard is to be served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use boundary_bench_kernel::api_key;
use boundary_bench_kernel::bind::{Protection, check_bind};
use boundary_bench_kernel::{Error, Result};
use tonic::transport::Identity;

use crate::memory::MemoryStore;
use crate::persistent::PersistentStore;
use crate::store::Store;

/// What a client may ask for.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest message, either way.
    pub message_bytes: usize,
    /// Calls of one connection at a time; the next ones wait.
    pub streams: u32,
    /// Scans that are open at a time; further ones are refused.
    pub open: usize,
    /// How long a client may take nothing of a scan, or send nothing of a population.
    pub stall_time: Duration,
    /// How often a connection is asked for a sign of life, and how long it may take to give one.
    pub keep_alive: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        // That of every client of gRPC that was not told otherwise.
        Self {
            message_bytes: 4 << 20,
            streams: 1024,
            open: 1024,
            stall_time: Duration::from_secs(30),
            keep_alive: Duration::from_secs(30),
        }
    }
}

/// How a shard is to be served.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Its number, from 0.
    pub shard: u32,
    /// The number of shards.
    pub shards: u32,
    /// Where rows are kept, in a folder for each shard; in memory without.
    pub data_dir: Option<PathBuf>,
    /// Threads of the network. `None`: one for two cores, since the client has the others.
    pub threads: Option<usize>,
    /// The key that calls must carry in their metadata.
    pub api_key: Option<String>,
    /// The files of TLS; without them calls come in clear text.
    pub tls: Option<TlsFiles>,
    /// Whether it may listen where other machines reach it without a key, or without TLS.
    pub allow_insecure_bind: bool,
    /// What a client may ask for.
    pub limits: Limits,
}

/// The files of TLS, in PEM.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, then those that signed it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl TlsFiles {
    pub(crate) fn identity(&self) -> Result<Identity> {
        let read = |path: &PathBuf| {
            let unreadable = |error: std::io::Error| {
                Error::InvalidArgument(format!("{}: not usable for TLS: {error}", path.display()))
            };
            std::fs::read(path).map_err(unreadable)
        };
        Ok(Identity::from_pem(read(&self.certificate)?, read(&self.key)?))
    }
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            shard: 0,
            shards: 1,
            data_dir: None,
            threads: None,
            api_key: None,
            tls: None,
            allow_insecure_bind: false,
            limits: Limits::default(),
        }
    }
}

impl ShardOptions {
    /// Checks what can be checked without starting.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`].
    pub fn validate(&self) -> Result<()> {
        let problem = if self.shard >= self.shards {
            format!("there is no shard {} of {}: the first is 0", self.shard, self.shards)
        } else if self.threads == Some(0) {
            "a server needs a thread".to_owned()
        } else if self.limits.open == 0 || self.limits.streams == 0 {
            "a limit of 0 would refuse everything".to_owned()
        } else if self.limits.message_bytes < 1 << 20 {
            // A batch of a scan has 800 KiB.
            "messages must be allowed 1 MiB at least".to_owned()
        } else if self.api_key.as_deref().is_some_and(|key| !api_key::is_api_key(key)) {
            api_key::form()
        } else {
            let login = self.api_key.is_none().then_some("--api-key");
            let tls = self.tls.is_none().then_some("--tls-cert and --tls-key");
            return check_bind(
                self.listen,
                Protection { without_login: login, without_tls: tls },
                self.allow_insecure_bind,
            );
        };
        Err(Error::InvalidArgument(problem))
    }

    /// Opens the rows of the shard.
    ///
    /// # Errors
    /// As [`PersistentStore::open`].
    pub fn open(&self) -> Result<Arc<dyn Store>> {
        self.validate()?;
        Ok(match &self.data_dir {
            None => Arc::new(MemoryStore::new()),
            Some(folder) => {
                let folder = folder.join(format!("shard_{}", self.shard));
                Arc::new(PersistentStore::open(&folder, self.shard, self.shards)?)
            }
        })
    }
}
