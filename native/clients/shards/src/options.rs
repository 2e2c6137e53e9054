//! The options of a shard's server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use boundary_bench_kernel::api_key;
use boundary_bench_kernel::bind::check_loopback;
use boundary_bench_kernel::tls::TlsFiles;
use boundary_bench_kernel::{Error, Result};
use tonic::transport::Identity;

use crate::memory::MemoryStore;
use crate::persistent::PersistentStore;
use crate::store::Store;

/// The options of a shard's server.
#[derive(Debug, Clone)]
pub struct ShardOptions {
    /// The address that the server listens on. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// The number of the shard, from 0.
    pub shard: u32,
    /// The number of shards.
    pub shards: u32,
    /// The directory of the rows, with a folder for each shard. `None`: the rows are in memory.
    pub data_dir: Option<PathBuf>,
    /// The API key that calls must carry in their metadata.
    pub api_key: Option<String>,
    /// The certificate and key files of TLS. Without them the server speaks plain HTTP/2.
    pub tls: Option<TlsFiles>,
    /// Bytes of a message in either direction, at most.
    pub message_bytes: usize,
    /// The most concurrent calls of one connection. Further calls wait.
    pub streams: u32,
}

/// The identity of a server in tonic's form.
pub(crate) fn identity(files: &TlsFiles) -> Result<Identity> {
    let read = |path: &PathBuf| {
        let unreadable =
            |error: std::io::Error| Error::InvalidArgument(format!("{}: not usable for TLS: {error}", path.display()));
        std::fs::read(path).map_err(unreadable)
    };
    Ok(Identity::from_pem(read(&files.certificate)?, read(&files.key)?))
}

impl Default for ShardOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            shard: 0,
            shards: 1,
            data_dir: None,
            api_key: None,
            tls: None,
            // The default limit of messages in every gRPC client.
            message_bytes: 4 << 20,
            streams: 1024,
        }
    }
}

impl ShardOptions {
    /// Checks the options as far as possible without starting a server.
    pub fn validate(&self) -> Result<()> {
        let problem = if self.shard >= self.shards {
            format!("there is no shard {} of {}: the first is 0", self.shard, self.shards)
        } else if self.streams == 0 {
            "a limit of 0 would refuse everything".to_owned()
        } else if self.message_bytes < 1 << 20 {
            // A batch of a scan has 800 KiB, and must fit into a message.
            "messages must be allowed 1 MiB at least".to_owned()
        } else if self.api_key.as_deref().is_some_and(|key| !api_key::is_api_key(key)) {
            api_key::form()
        } else {
            return check_loopback(self.listen);
        };
        Err(Error::InvalidArgument(problem))
    }

    /// Opens the store of the shard.
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
