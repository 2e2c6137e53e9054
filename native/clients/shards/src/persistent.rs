//! Rows on disk, in fjall.
//!
//! A population of ascending keys is written directly into the files of its own keyspace, and takes effect as a whole or not at
//! all. The manifest names the current keyspace. A write is on the disk when it is acknowledged. Writes that wait while the
//! disk works are made durable together.

mod manifest;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result, lock};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::aggregate::{Aggregate, Aggregation};
use crate::block::{BLOCK_ROWS, Block, Columns};
use crate::row::{ROW_BYTES, Row};
use crate::store::{Blocks, NextBatch, Population, Store};
use manifest::{Manifest, io_error};

/// Bytes of a key.
const KEY_BYTES: usize = 8;

/// Bytes of the block cache, at least.
const CACHE_BYTES: u64 = 64 << 20;

/// The approximate number of a population's rows that are looked up when a directory is opened again.
const SAMPLES: u64 = 64;

/// A store of rows on disk.
pub struct PersistentStore {
    folder: PathBuf,
    database: Database,
    /// The current keyspace. Each population replaces it.
    rows: ArcSwap<Keyspace>,
    count: AtomicU64,
    /// The manifest as written to the directory. The lock is held only briefly.
    manifest: Mutex<Manifest>,
    /// The lock of writers, held from checking whether a key exists until it is written.
    turn: Mutex<()>,
    syncs: Syncs,
    /// The number of the keyspace of the next population.
    next_keyspace: AtomicU64,
}

/// The numbers of the writes that are made and that are synced.
#[derive(Default)]
struct Syncs {
    written: AtomicU64,
    synced: Mutex<u64>,
}

fn failed(error: &fjall::Error) -> Error {
    let message = match error {
        fjall::Error::Poisoned => {
            "the disk has failed under an earlier write, and no more are taken; see to the disk and start the shard again".to_owned()
        }
        other => format!("the store on disk failed: {other}"),
    };
    Error::Engine { engine: crate::status::NAME, message }
}

impl PersistentStore {
    /// Opens the directory of a shard, or makes it.
    pub fn open(folder: &Path, shard: u32, shards: u32) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
        let manifest = if let Some(manifest) = Manifest::read(folder)? {
            manifest.check(folder, shard, shards)?;
            manifest
        } else {
            let used = folder.read_dir().map_err(|error| io_error(folder, error))?.next().is_some();
            if used {
                let problem = "it is not empty and has no manifest of a shard; use another directory";
                return Err(Error::InvalidArgument(format!("{}: {problem}", folder.display())));
            }
            let manifest = Manifest::empty(shard, shards);
            manifest.write(folder)?;
            manifest
        };
        // Each write reaches the kernel at once, and the disk before it is acknowledged.
        let database = Database::builder(folder.join("rows")).cache_size(cache_bytes(&manifest)).open();
        let database = database.map_err(|error| failed(&error))?;
        let rows = keyspace(&database, manifest.keyspace)?;
        let count = rows.len().map_err(|error| failed(&error))? as u64;
        let store = Self {
            folder: folder.to_owned(),
            database,
            rows: ArcSwap::from_pointee(rows),
            count: AtomicU64::new(count),
            next_keyspace: AtomicU64::new(unused_number(manifest.keyspace)),
            manifest: Mutex::new(manifest),
            turn: Mutex::default(),
            syncs: Syncs::default(),
        };
        store.verify()?;
        Ok(store)
    }

    /// Checks that the rows which the manifest promises exist, by their number and by some of their keys. Rows are never removed.
    /// The rows were counted by reading all of them, so their blocks have passed fjall's checksums.
    fn verify(&self) -> Result<()> {
        let manifest = lock(&self.manifest).clone();
        if !manifest.complete {
            return Ok(());
        }
        let missing = |what: &str| {
            Error::InvalidArgument(format!(
                "{}: {what}; remove the directory and populate it again",
                self.folder.display()
            ))
        };
        if self.rows() < manifest.rows {
            return Err(missing(&format!("{} rows were populated, and {} are there", manifest.rows, self.rows())));
        }
        for key in manifest.keys {
            if self.get(key)?.is_none() {
                return Err(missing(&format!("the row {key}, which was populated, is gone")));
            }
        }
        Ok(())
    }

    /// Returns when all rows written before the call are on the disk.
    fn sync(&self) -> Result<()> {
        let ours = self.syncs.written.fetch_add(1, Ordering::AcqRel) + 1;
        let mut synced = lock(&self.syncs.synced);
        if *synced >= ours {
            // Another writer's sync included our write.
            return Ok(());
        }
        let all = self.syncs.written.load(Ordering::Acquire);
        self.database.persist(PersistMode::SyncData).map_err(|error| failed(&error))?;
        *synced = all;
        Ok(())
    }
}

/// The keyspace of a population that is not completed. An abandoned one stays, with rows that no reader sees, until a later
/// population is completed. If the last keyspace were removed, fjall would reuse its number after the next start, and would take
/// the new keyspace for removed, too.
struct Coming {
    number: u64,
    keyspace: Keyspace,
}

impl Coming {
    /// Writes batches directly into the keyspace's files. Returns the number of rows, and the keys to look up later.
    fn ingest(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<(u64, Vec<i64>)> {
        let mut ingestion = self.keyspace.start_ingestion().map_err(|error| failed(&error))?;
        let (mut count, mut last, mut keys) = (0_u64, None, Vec::new());
        let step = (population.rows / SAMPLES).max(1);
        while let Some(batch) = next()? {
            let rows = Columns::of_batch(&batch)?;
            let first = usize::try_from(count.next_multiple_of(step) - count).unwrap_or(usize::MAX);
            keys.extend(rows.keys.iter().skip(first).step_by(usize::try_from(step).unwrap_or(usize::MAX)));
            count += rows.len() as u64;
            population.check_not_more(count)?;
            for index in 0..rows.len() {
                let row = rows.row(index);
                if last.is_some_and(|last| last >= row.key) {
                    return Err(Error::InvalidArgument(format!(
                        "the key {} comes after {}: rows that are kept on disk must come with ascending keys",
                        row.key,
                        last.unwrap_or_default()
                    )));
                }
                last = Some(row.key);
                ingestion.write(stored_key(row.key), &row.to_bytes()[KEY_BYTES..]).map_err(|error| failed(&error))?;
            }
        }
        if count > 0 {
            ingestion.finish().map_err(|error| failed(&error))?;
        }
        keys.extend(last);
        Ok((count, keys))
    }
}

/// A number above the numbers of all keyspaces in the directory.
fn unused_number(last: u64) -> u64 {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_micros();
    (last + 1).max(u64::try_from(now).unwrap_or(0))
}

/// The name of the keyspace of this number.
fn keyspace_name(number: u64) -> String {
    if number == 0 { "rows".to_owned() } else { format!("rows_{number}") }
}

fn keyspace(database: &Database, number: u64) -> Result<Keyspace> {
    database.keyspace(&keyspace_name(number), KeyspaceCreateOptions::default).map_err(|error| failed(&error))
}

/// Removes the keyspaces made before this one: of replaced rows, and of abandoned or doomed populations.
fn remove_earlier(database: &Database, number: u64) -> Result<()> {
    let number_of = |name: &str| if name == "rows" { Some(0) } else { name.strip_prefix("rows_")?.parse::<u64>().ok() };
    for name in database.list_keyspace_names() {
        if number_of(&name).is_some_and(|other| other < number) {
            let other = database.keyspace(&name, KeyspaceCreateOptions::default);
            other.and_then(|other| database.delete_keyspace(other)).map_err(|error| failed(&error))?;
        }
    }
    Ok(())
}

fn cache_bytes(manifest: &Manifest) -> u64 {
    // A tenth of the data, as in the benchmark guide's store.
    CACHE_BYTES.max(manifest.rows * ROW_BYTES as u64 / 10)
}

/// A key in bytes that sort as the numbers do.
fn stored_key(key: i64) -> [u8; KEY_BYTES] {
    (key.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

fn row_of(key: i64, values: &[u8]) -> Result<Row> {
    let mut bytes = [0; ROW_BYTES];
    if values.len() != ROW_BYTES - KEY_BYTES {
        let problem =
            format!("the row {key} has {} bytes on disk; remove the directory and populate it again", values.len());
        return Err(Error::Engine { engine: crate::status::NAME, message: problem });
    }
    bytes[..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
    bytes[KEY_BYTES..].copy_from_slice(values);
    Ok(Row::from_bytes(&bytes))
}

fn key_of(stored: &[u8]) -> Result<i64> {
    let bytes = <[u8; KEY_BYTES]>::try_from(stored);
    let bytes = bytes.map_err(|_| Error::Internal(format!("a key of {} bytes on disk", stored.len())))?;
    Ok((u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed())
}

/// The blocks of a scan, in the order of their keys.
struct StoredBlocks {
    rows: fjall::Iter,
    failed: bool,
}

impl StoredBlocks {
    fn fill(&mut self) -> Result<Block> {
        let mut block = Block::with_capacity(BLOCK_ROWS);
        while !block.is_full()
            && let Some(row) = self.rows.next()
        {
            let (key, values) = row.into_inner().map_err(|error| failed(&error))?;
            block.push(&row_of(key_of(&key)?, &values)?);
        }
        Ok(block)
    }
}

impl Iterator for StoredBlocks {
    type Item = Result<Arc<Block>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let block = self.fill();
        self.failed = block.is_err();
        match block {
            Ok(block) => (!block.is_empty()).then(|| Ok(Arc::new(block))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Store for PersistentStore {
    fn rows(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    fn get(&self, key: i64) -> Result<Option<Row>> {
        let values = self.rows.load().get(stored_key(key)).map_err(|error| failed(&error))?;
        values.map(|values| row_of(key, &values)).transpose()
    }

    fn put(&self, rows: Columns<'_>) -> Result<()> {
        {
            let _turn = lock(&self.turn);
            let keyspace = self.rows.load();
            let mut batch = self.database.batch();
            let mut keys: Vec<i64> = rows.keys.to_vec();
            keys.sort_unstable();
            keys.dedup();
            let mut added = 0;
            for key in keys {
                added += u64::from(!keyspace.contains_key(stored_key(key)).map_err(|error| failed(&error))?);
            }
            for index in 0..rows.len() {
                let row = rows.row(index);
                batch.insert(&keyspace, stored_key(row.key), &row.to_bytes()[KEY_BYTES..]);
            }
            batch.commit().map_err(|error| failed(&error))?;
            self.count.fetch_add(added, Ordering::AcqRel);
        }
        self.sync()
    }

    fn scan(&self) -> Blocks {
        Box::new(StoredBlocks { rows: self.rows.load().iter(), failed: false })
    }

    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        aggregation.validate()?;
        let mut all = Aggregate::none(aggregation.column);
        for block in self.scan() {
            cancel.check()?;
            all.add(aggregation, block?.columns());
        }
        Ok(all)
    }

    fn populate(&self, population: &Population, next: &mut NextBatch<'_>) -> Result<()> {
        population.check_empty(self.rows())?;
        let coming = {
            // Under the writers' lock, so that the later of two keyspaces has the greater number.
            let _turn = lock(&self.turn);
            let number = self.next_keyspace.fetch_add(1, Ordering::Relaxed);
            Coming { number, keyspace: keyspace(&self.database, number)? }
        };
        let (received, keys) = coming.ingest(population, next)?;
        population.check_received(received)?;
        self.database.persist(PersistMode::SyncAll).map_err(|error| failed(&error))?;
        let _turn = lock(&self.turn);
        // Another caller may have written meanwhile.
        population.check_empty(self.rows())?;
        let current = lock(&self.manifest).clone();
        if current.keyspace > coming.number {
            let problem = "another population, which began later, has come to its end meanwhile; populate again to replace its rows";
            return Err(Error::InvalidArgument(problem.to_owned()));
        }
        let filled = current.filled(coming.number, (received, population.total_rows), keys);
        // From here on the new rows are found at the next start.
        filled.write(&self.folder)?;
        *lock(&self.manifest) = filled;
        self.rows.store(Arc::new(coming.keyspace));
        self.count.store(received, Ordering::Release);
        // A keyspace that can't be removed now is removed by the next population.
        let _ = remove_earlier(&self.database, coming.number);
        Ok(())
    }

    fn populated(&self) -> Option<u64> {
        let manifest = lock(&self.manifest);
        manifest.complete.then_some(manifest.total_rows)
    }

    fn is_persistent(&self) -> bool {
        true
    }
}

impl Drop for PersistentStore {
    fn drop(&mut self) {
        // Acknowledged writes are on the disk already.
        let _ = self.database.persist(PersistMode::SyncAll);
    }
}

#[cfg(test)]
mod tests;
