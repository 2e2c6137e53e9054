//! The manifest of a directory of rows. It tells whose rows they are, so that no other shard uses them.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use boundary_bench_kernel::{Error, Result, folder};
use serde::{Deserialize, Serialize};

use crate::row::SEED;

/// The manifest's name in the directory.
const NAME: &str = "manifest.json";

/// The version of the storage format. Directories of another version are refused.
const SCHEMA_VERSION: u32 = 1;

/// The manifest of a directory of rows. It is written when the directory is made, and again at the end of each population.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    schema_version: u32,
    pub(super) shard: u32,
    pub(super) shards: u32,
    seed: u32,
    /// The rows that the last population gave to this shard.
    pub(super) rows: u64,
    /// The rows that the last population gave to all shards.
    pub(super) total_rows: u64,
    /// Whether a population has been completed.
    pub(super) complete: bool,
    /// The number of the keyspace that holds the rows. Each population makes a new one.
    pub(super) keyspace: u64,
    /// Keys of the last population, the last one among them. Older programs kept none.
    #[serde(default)]
    pub(super) keys: Vec<i64>,
}

impl Manifest {
    /// The manifest of a directory without rows.
    pub(super) fn empty(shard: u32, shards: u32) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            shard,
            shards,
            seed: SEED,
            rows: 0,
            total_rows: 0,
            complete: false,
            keyspace: 0,
            keys: Vec::new(),
        }
    }

    /// The manifest after a completed population, whose rows are in the keyspace of this number. `keys` has some of their keys.
    pub(super) fn filled(self, keyspace: u64, (rows, total_rows): (u64, u64), keys: Vec<i64>) -> Self {
        Self { keyspace, rows, total_rows, complete: true, keys, ..self }
    }

    /// Reads the manifest of a directory. Returns `None` if there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error(&path, error)),
        };
        let manifest = serde_json::from_str(&text);
        manifest.map(Some).map_err(|error| {
            Error::InvalidArgument(format!(
                "{}: it is no manifest of a shard ({error}); use another directory",
                path.display()
            ))
        })
    }

    /// Checks that the rows are this shard's, placed, made and stored as this program does it.
    pub(super) fn check(&self, folder: &Path, shard: u32, shards: u32) -> Result<()> {
        let owner = |manifest: &Self| (manifest.schema_version, manifest.shard, manifest.shards, manifest.seed);
        if owner(self) == owner(&Self::empty(shard, shards)) {
            return Ok(());
        }
        Err(Error::InvalidArgument(format!(
            "{}: it holds shard {} of {} (schema {}, seed {:#x}), not shard {shard} of {shards} (schema {SCHEMA_VERSION}, seed \
             {SEED:#x}); use another directory, or remove it",
            folder.display(),
            self.shard,
            self.shards,
            self.schema_version,
            self.seed
        )))
    }

    /// Replaces the manifest atomically: after a crash there is the old or the new one.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join(NAME);
        let temporary = directory.join("manifest.json.new");
        let text = serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            folder::sync(directory)
        };
        write().map_err(|error| io_error(&path, error))
    }
}

pub(super) fn io_error(path: &Path, source: std::io::Error) -> Error {
    Error::Io { path: path.display().to_string(), source: Arc::new(source) }
}
