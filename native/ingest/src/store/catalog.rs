//! The catalogue of databases on disk, in an embedded key-value store.
//!
//! It holds databases, series, fields and files, each under a key of its kind and names. The names that a write registers are
//! synced only by a flush, since until then the write-ahead log has them, too.

use std::path::Path;

use boundary_bench_kernel as kernel;
use fjall::{Keyspace, KeyspaceCreateOptions, PersistMode};

use super::entry::{put_number, put_text, take_number, take_text};
use crate::points::FieldKind;
use crate::{Error, Result};

const DATABASE: u8 = b'd';
const SERIES: u8 = b's';
const FIELD: u8 = b'f';
const FILE: u8 = b'p';
const FIRST_SEGMENT: &[u8] = b"w";

/// A Parquet file with points of one measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataFile {
    pub number: u64,
    pub database: String,
    pub measurement: String,
    pub rows: usize,
    /// The columns of the file besides the time.
    pub columns: Vec<DataColumn>,
}

/// A column of a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataColumn {
    /// The name of the tag or field.
    pub name: String,
    /// The type of a field; `None` for a tag.
    pub kind: Option<FieldKind>,
    /// The name of the column in the file.
    pub column: String,
    /// The number of rows that have a value.
    pub values: usize,
}

/// A record of the catalogue.
#[derive(Debug)]
pub(super) enum Record {
    Database(String),
    Series { database: String, key: String },
    Field { database: String, measurement: String, field: String, kind: FieldKind },
    File(DataFile),
}

/// The catalogue of a store.
pub struct Catalog {
    store: fjall::Database,
    records: Keyspace,
}

fn failed(error: fjall::Error) -> Error {
    match error {
        fjall::Error::Io(source) => Error::io(Path::new("the metadata"), source),
        fjall::Error::Locked => {
            Error::InvalidArgument("another process has this store open; stop it, or take another folder".to_owned())
        }
        other => kernel::Error::Engine { engine: "fjall", message: other.to_string() }.into(),
    }
}

fn key(kind: u8, names: &[&str]) -> Vec<u8> {
    let mut key = vec![kind];
    names.iter().for_each(|name| put_text(&mut key, name));
    key
}

impl Catalog {
    /// Opens the catalogue in a folder.
    ///
    /// # Errors
    /// The errors of the embedded store.
    pub fn open(directory: &Path) -> Result<Self> {
        let store = fjall::Database::builder(directory).worker_threads(1).open().map_err(failed)?;
        let records = store.keyspace("catalog", KeyspaceCreateOptions::default).map_err(failed)?;
        Ok(Self { store, records })
    }

    /// All records.
    pub(super) fn records(&self) -> impl Iterator<Item = Result<Record>> {
        self.records.prefix([]).filter_map(|entry| match entry.into_inner() {
            Ok((key, _)) if *key == *FIRST_SEGMENT => None,
            Ok((key, value)) => Some(
                read_record(&key, &value)
                    .ok_or_else(|| kernel::Error::Internal("a record of the metadata can't be read".to_owned()).into()),
            ),
            Err(error) => Some(Err(failed(error))),
        })
    }

    /// The number of the first log file that is still needed.
    pub(super) fn first_segment(&self) -> Result<u64> {
        let value = self.records.get(FIRST_SEGMENT).map_err(failed)?;
        Ok(value.and_then(|value| value.as_ref().try_into().ok()).map_or(0, u64::from_be_bytes))
    }

    /// Adds a database, durably.
    pub(super) fn add_database(&self, name: &str) -> Result<()> {
        self.records.insert(key(DATABASE, &[name]), []).map_err(failed)?;
        self.sync()
    }

    /// Adds the series and fields that a write registers.
    pub(super) fn add_names(&self, database: &str, series: &[&str], fields: &[(&str, &str, FieldKind)]) -> Result<()> {
        let mut batch = self.store.batch();
        for name in series {
            batch.insert(&self.records, key(SERIES, &[database, name]), []);
        }
        for (measurement, field, kind) in fields {
            batch.insert(&self.records, key(FIELD, &[database, measurement, field]), [*kind as u8]);
        }
        batch.commit().map_err(failed)
    }

    /// Adds files, and sets the first log file that is still needed, durably and atomically.
    pub(super) fn add_files(&self, files: &[DataFile], first_segment: u64) -> Result<()> {
        let mut batch = self.store.batch().durability(Some(PersistMode::SyncAll));
        for file in files {
            let mut id = vec![FILE];
            id.extend_from_slice(&file.number.to_be_bytes());
            batch.insert(&self.records, id, write_file(file));
        }
        batch.insert(&self.records, FIRST_SEGMENT, first_segment.to_be_bytes());
        batch.commit().map_err(failed)
    }

    fn sync(&self) -> Result<()> {
        self.store.persist(PersistMode::SyncAll).map_err(failed)
    }
}

fn write_file(file: &DataFile) -> Vec<u8> {
    let mut value = Vec::new();
    put_text(&mut value, &file.database);
    put_text(&mut value, &file.measurement);
    put_number(&mut value, file.rows);
    put_number(&mut value, file.columns.len());
    for column in &file.columns {
        put_text(&mut value, &column.name);
        put_text(&mut value, &column.column);
        put_number(&mut value, column.values);
        put_number(&mut value, column.kind.map_or(FieldKind::ALL.len(), |kind| kind as usize));
    }
    value
}

fn read_file(number: u64, mut value: &[u8]) -> Option<DataFile> {
    let database = take_text(&mut value)?.to_owned();
    let measurement = take_text(&mut value)?.to_owned();
    let rows = take_number(&mut value)?;
    let mut columns = Vec::new();
    for _ in 0..take_number(&mut value)? {
        columns.push(DataColumn {
            name: take_text(&mut value)?.to_owned(),
            column: take_text(&mut value)?.to_owned(),
            values: take_number(&mut value)?,
            kind: FieldKind::ALL.get(take_number(&mut value)?).copied(),
        });
    }
    Some(DataFile { number, database, measurement, rows, columns })
}

fn read_record(key: &[u8], value: &[u8]) -> Option<Record> {
    let (kind, mut names) = key.split_first()?;
    let mut name = || take_text(&mut names).map(ToOwned::to_owned);
    Some(match *kind {
        DATABASE => Record::Database(name()?),
        SERIES => Record::Series { database: name()?, key: name()? },
        FIELD => Record::Field {
            database: name()?,
            measurement: name()?,
            field: name()?,
            kind: *FieldKind::ALL.get(usize::from(*value.first()?))?,
        },
        FILE => Record::File(read_file(u64::from_be_bytes(names.try_into().ok()?), value)?),
        _ => return None,
    })
}
