//! The tables of a server and their rows.

use std::collections::HashMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use boundary_bench_core::{Error, Result};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use tokio::sync::oneshot;

use super::commit::{self, Write, failed};
use super::schema::Table;
use super::seed;

/// The kind of a row's change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// Writes the row, whether or not it exists.
    Write,
    /// Writes the row, which must not exist.
    Insert,
    /// Changes the row, which must exist; values not given stay.
    Update,
    /// Removes the row, which must exist.
    Delete,
}

/// The lower and upper bound of encoded keys.
pub(crate) type KeyRange = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A change of one row.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) kind: ChangeKind,
    /// The index of the row's table.
    pub(crate) table: usize,
    pub(crate) key: Vec<u8>,
    /// The JSON of each value outside the key; `None` where it is not given.
    pub(crate) values: Vec<Option<Vec<u8>>>,
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    Done,
    /// The row of an update or delete does not exist.
    NotFound,
    /// The row of an insert exists already.
    Exists,
}

/// The keyspace that marks the tables that got their first rows, so that an emptied table stays empty.
const SEEDED: &str = "seeded";

/// The tables of a server.
pub(crate) struct Tables {
    database: Database,
    all: Vec<(Table, Keyspace)>,
    by_name: HashMap<String, HashMap<String, usize>>,
    /// The queue of the commit thread; `None` once closed.
    writes: Mutex<Option<mpsc::Sender<Write>>>,
}

impl Tables {
    /// Opens the tables in a folder; new tables get the first rows of the benchmarks.
    ///
    /// # Errors
    /// [`Error::Engine`] with fjall's own message.
    pub(crate) fn open(folder: &Path, durable: bool) -> Result<Arc<Self>> {
        let database = Database::builder(folder).open().map_err(|error| failed(&error))?;
        let mut tables = Vec::new();
        let mut by_name: HashMap<String, HashMap<String, usize>> = HashMap::new();
        let keyspace =
            |name: &str| database.keyspace(name, KeyspaceCreateOptions::default).map_err(|error| failed(&error));
        let seeded = keyspace(SEEDED)?;
        for table in seed::tables() {
            let name = table.keyspace();
            let keyspace = keyspace(&name)?;
            if !seeded.contains_key(&name).map_err(|error| failed(&error))? {
                let mut batch = database.batch();
                // Folders of earlier versions have rows, but no mark.
                if keyspace.is_empty().map_err(|error| failed(&error))? {
                    seed::rows(&table).for_each(|(key, row)| batch.insert(&keyspace, key, row));
                }
                batch.insert(&seeded, name.as_str(), []);
                batch.commit().map_err(|error| failed(&error))?;
            }
            by_name.entry(table.database.clone()).or_default().insert(table.name.clone(), tables.len());
            tables.push((table, keyspace));
        }
        database.persist(PersistMode::SyncData).map_err(|error| failed(&error))?;
        let (sender, receiver) = mpsc::channel();
        let opened = Arc::new(Self { database, all: tables, by_name, writes: Mutex::new(Some(sender)) });
        commit::start(Arc::downgrade(&opened), opened.database.clone(), durable, receiver)?;
        Ok(opened)
    }

    /// The index of the table with that name.
    pub(crate) fn find(&self, database: &str, table: &str) -> Option<usize> {
        self.by_name.get(database)?.get(table).copied()
    }

    pub(crate) fn table(&self, index: usize) -> &Table {
        &self.all[index].0
    }

    /// The row with that key.
    ///
    /// # Errors
    /// [`Error::Engine`] with fjall's own message.
    pub(crate) fn read(&self, table: usize, key: &[u8]) -> Result<Option<fjall::Slice>> {
        self.all[table].1.get(key).map_err(|error| failed(&error))
    }

    /// A snapshot of the rows in a range of keys, in the order of their keys.
    ///
    /// # Errors
    /// [`Error::Engine`] for each row that can't be read.
    pub(crate) fn scan(
        &self,
        table: usize,
        range: KeyRange,
    ) -> impl DoubleEndedIterator<Item = Result<(fjall::Slice, fjall::Slice)>> + use<> {
        self.all[table].1.range(range).map(|row| row.into_inner().map_err(|error| failed(&error)))
    }

    /// Makes all changes, or none after an error; returns the outcome of each. In the durable mode they are on the disk then.
    ///
    /// # Errors
    /// [`Error::Engine`] where the store fails, [`Error::Closed`] after [`Self::close`].
    pub(crate) async fn write(&self, changes: Vec<Change>) -> Result<Vec<ChangeOutcome>> {
        let (done, outcome) = oneshot::channel();
        {
            let writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
            let sender = writes.as_ref().ok_or(Error::Closed("the server"))?;
            sender.send(Write { changes, done }).map_err(|_| Error::Closed("the server"))?;
        }
        outcome.await.map_err(|_| Error::Closed("the server"))?
    }

    /// Refuses further writes and makes the earlier ones durable.
    pub(crate) fn close(&self) {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.database.persist(PersistMode::SyncAll);
    }

    /// Commits changes as one batch. Only the commit thread calls it, so nothing changes between its reads and its commit.
    pub(super) fn apply(&self, changes: &[Change]) -> Result<Vec<ChangeOutcome>> {
        let mut batch = self.database.batch();
        // The rows this batch has changed, which the store does not show before the commit; `None`: removed.
        let mut pending: HashMap<(usize, &[u8]), Option<Vec<u8>>> = HashMap::new();
        let mut outcomes = Vec::with_capacity(changes.len());
        for change in changes {
            let (table, keyspace) = &self.all[change.table];
            let at = (change.table, change.key.as_slice());
            let before = match pending.get(&at) {
                Some(row) => row.clone(),
                None => self.read(change.table, &change.key)?.map(|row| row.to_vec()),
            };
            let outcome = match (change.kind, &before) {
                (ChangeKind::Insert, Some(_)) => ChangeOutcome::Exists,
                (ChangeKind::Update | ChangeKind::Delete, None) => ChangeOutcome::NotFound,
                (ChangeKind::Delete, Some(_)) => {
                    batch.remove(keyspace, change.key.as_slice());
                    pending.insert(at, None);
                    ChangeOutcome::Done
                }
                (ChangeKind::Write | ChangeKind::Insert | ChangeKind::Update, _) => {
                    let row = changed(table, before.as_deref(), &change.values);
                    batch.insert(keyspace, change.key.as_slice(), row.as_slice());
                    pending.insert(at, Some(row));
                    ChangeOutcome::Done
                }
            };
            outcomes.push(outcome);
        }
        batch.commit().map_err(|error| failed(&error))?;
        Ok(outcomes)
    }
}

/// The row with the given values; other values stay as before, or are NULL.
fn changed(table: &Table, before: Option<&[u8]>, values: &[Option<Vec<u8>>]) -> Vec<u8> {
    let count = table.values().len();
    let before = before.and_then(|row| super::Row::new(row, count));
    let mut writer = super::RowWriter::new(count);
    for index in 0..count {
        let given = values.get(index).and_then(Option::as_deref);
        let kept = || before.and_then(|row| row.value(index));
        writer.value().extend_from_slice(given.or_else(kept).unwrap_or(b"null"));
        writer.end_value();
    }
    writer.finish()
}
