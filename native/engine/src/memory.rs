//! The engine `memory:`, a plain list of Arrow batches for each table. It is the floor: only the cost of the boundary is left.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::sql_text::{check_not_empty, is_word, postgres_token, quoted_name};
use crate::table::{Column, TableDefinition, arrow_schema_of, unique_names};
use crate::{BatchStream, Capabilities, CreateMode, Descriptor, Engine, Ingest, QueryOptions, check_batch};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// The description of the engine `memory`.
pub static MEMORY: Descriptor = Descriptor {
    name: "memory",
    schemes: &["memory"],
    sql: false,
    transports: &[],
    open: |uri| match uri.split_once(':') {
        Some((_, "")) => Ok(Arc::new(MemoryEngine::new())),
        _ => Err(Error::InvalidArgument(format!(
            "\"{uri}\" has more than \"memory:\", which holds its tables in memory alone"
        ))),
    },
};

/// An engine that can only ingest and scan whole tables.
#[derive(Default)]
pub struct MemoryEngine {
    tables: Arc<RwLock<BTreeMap<String, Arc<Table>>>>,
}

/// A table. Apart from its batches it is replaced, never changed, so an insert notices by comparing pointers that its
/// table was replaced meanwhile.
struct Table {
    definition: TableDefinition,
    schema: SchemaRef,
    batches: RwLock<Vec<RecordBatch>>,
}

impl MemoryEngine {
    /// A new engine without tables.
    pub fn new() -> Self {
        Self::default()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Table>>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<Table>>> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.read().get(name).cloned().ok_or_else(|| Error::TableNotFound(name.to_owned()))
    }
}

impl Engine for MemoryEngine {
    fn descriptor(&self) -> &'static Descriptor {
        &MEMORY
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { sql: MEMORY.sql, ordered: true, all_floats: true, some_columns: false }
    }

    fn takes_batches_at_once(&self) -> bool {
        true
    }

    fn create_table(&self, table: &TableDefinition, mode: CreateMode) -> Result<()> {
        table.validate()?;
        let mut tables = self.write();
        if tables.contains_key(&table.name) {
            match mode {
                CreateMode::Create => return Err(Error::TableExists(table.name.clone())),
                CreateMode::IfNotExists => return Ok(()),
                CreateMode::Replace => {}
            }
        }
        let created = Table { definition: table.clone(), schema: table.to_arrow(), batches: RwLock::default() };
        tables.insert(table.name.clone(), Arc::new(created));
        Ok(())
    }

    fn describe_table(&self, name: &str) -> Result<TableDefinition> {
        Ok(self.table(name)?.definition.clone())
    }

    fn list_tables(&self) -> Result<Vec<String>> {
        Ok(self.read().keys().cloned().collect())
    }

    fn drop_table(&self, name: &str) -> Result<bool> {
        Ok(self.write().remove(name).is_some())
    }

    fn ingest(&self, table: &TableDefinition) -> Result<Box<dyn Ingest>> {
        let found = self.table(&table.name)?;
        found.definition.check_columns(table, Column::to_sql)?;
        Ok(Box::new(MemoryIngest {
            tables: Arc::clone(&self.tables),
            table: found,
            batches: Vec::new(),
            rows: 0,
            failed: false,
        }))
    }

    fn query(&self, sql: &str, options: &QueryOptions) -> Result<Box<dyn BatchStream>> {
        let scan = parse_scan(sql)?;
        let table = self.table(&scan.table)?;
        let projection = match scan.columns {
            None => (0..table.definition.columns.len()).collect(),
            Some(names) => {
                let columns = table.definition.columns.iter().enumerate();
                let positions: HashMap<&str, usize> =
                    columns.map(|(position, column)| (column.name.as_str(), position)).collect();
                let position_of = |name: &String| {
                    positions.get(name.as_str()).copied().ok_or_else(|| {
                        Error::InvalidArgument(format!("table \"{}\" has no column \"{name}\"", scan.table))
                    })
                };
                names.iter().map(position_of).collect::<Result<Vec<_>>>()?
            }
        };
        let selected = projection.iter().map(|index| &table.definition.columns[*index]);
        let names = unique_names(selected.clone().map(|column| column.name.as_str()));
        let columns: Vec<Column> =
            selected.zip(names).map(|(column, name)| Column { name, ..column.clone() }).collect();
        let batches = table.batches.read().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let batch_rows = options.rows_per_batch(&columns);
        Ok(Box::new(MemoryScan {
            schema: arrow_schema_of(&columns),
            columns,
            projection,
            batches,
            batch_rows,
            cancel: options.cancel.clone(),
        }))
    }

    fn execute(&self, _sql: &str, _cancel: &CancelToken) -> Result<u64> {
        Err(Error::Unsupported("the engine memory: runs no commands; use embedded: for SQL".to_owned()))
    }
}

struct MemoryIngest {
    tables: Arc<RwLock<BTreeMap<String, Arc<Table>>>>,
    table: Arc<Table>,
    batches: Vec<RecordBatch>,
    rows: u64,
    failed: bool,
}

impl Ingest for MemoryIngest {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Err(error) = check_batch(&self.table.schema, batch, self.rows) {
            self.failed = true;
            return Err(error);
        }
        self.rows += batch.num_rows() as u64;
        if batch.num_rows() > 0 {
            self.batches.push(batch.clone());
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<u64> {
        if self.failed {
            return Err(Error::Closed("the insert that failed"));
        }
        let name = &self.table.definition.name;
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        if !tables.get(name).is_some_and(|current| Arc::ptr_eq(current, &self.table)) {
            return Err(Error::TableNotFound(name.clone()));
        }
        self.table.batches.write().unwrap_or_else(PoisonError::into_inner).extend(self.batches);
        Ok(self.rows)
    }

    fn abort(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct MemoryScan {
    columns: Vec<Column>,
    schema: SchemaRef,
    projection: Vec<usize>,
    batches: VecDeque<RecordBatch>,
    batch_rows: usize,
    cancel: CancelToken,
}

impl BatchStream for MemoryScan {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.cancel.check()?;
        let Some(mut batch) = self.batches.pop_front() else { return Ok(None) };
        if batch.num_rows() > self.batch_rows {
            self.batches.push_front(batch.slice(self.batch_rows, batch.num_rows() - self.batch_rows));
            batch = batch.slice(0, self.batch_rows);
        }
        let arrays = self.projection.iter().map(|index| Arc::clone(batch.column(*index))).collect();
        let projected = RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Some(projected))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Scan {
    /// The names of the columns, or `None` for `*`.
    columns: Option<Vec<String>>,
    table: String,
}

/// Parses `SELECT * FROM table` and `SELECT column, ... FROM table`, with keywords in any case and names bare or
/// quoted.
fn parse_scan(sql: &str) -> Result<Scan> {
    let unsupported = || {
        Error::Unsupported(format!(
            "the engine memory: runs only SELECT <columns> FROM <table>, not \"{}\"; use embedded: for SQL",
            sql.trim()
        ))
    };
    check_not_empty(sql, postgres_token)?;
    let mut words = Words(sql.trim().trim_end_matches(';'));
    let keyword = |word: Option<Word>, expected: &str| match word {
        Some(Word::Bare(text)) if text.eq_ignore_ascii_case(expected) => Ok(()),
        _ => Err(unsupported()),
    };
    keyword(words.next(), "SELECT")?;
    let mut names = Vec::new();
    let columns = loop {
        match words.next() {
            Some(Word::Symbol('*')) if names.is_empty() => {
                keyword(words.next(), "FROM")?;
                break None;
            }
            Some(Word::Bare(name) | Word::Quoted(name)) => names.push(name),
            _ => return Err(unsupported()),
        }
        match words.next() {
            Some(Word::Symbol(',')) => {}
            Some(Word::Bare(text)) if text.eq_ignore_ascii_case("FROM") => break Some(names),
            _ => return Err(unsupported()),
        }
    };
    match (words.next(), words.next()) {
        (Some(Word::Bare(table) | Word::Quoted(table)), None) => Ok(Scan { columns, table }),
        _ => Err(unsupported()),
    }
}

enum Word {
    Bare(String),
    Quoted(String),
    Symbol(char),
}

struct Words<'a>(&'a str);

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.0 = self.0.trim_start();
        let first = self.0.chars().next()?;
        if let Some((name, rest)) = quoted_name(self.0) {
            self.0 = rest;
            return Some(Word::Quoted(name));
        }
        let length = self.0.find(|c| !is_word(c)).unwrap_or(self.0.len());
        if length == 0 {
            self.0 = &self.0[first.len_utf8()..];
            return Some(Word::Symbol(first));
        }
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(Word::Bare(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::SqlType;

    #[test]
    fn repeated_names_of_a_scan_get_a_suffix() {
        let engine = MemoryEngine::new();
        let columns = ["i", "s"].map(|name| Column { name: name.to_owned(), sql_type: SqlType::Int, nullable: true });
        let table = TableDefinition { name: "t".to_owned(), columns: columns.to_vec() };
        engine.create_table(&table, CreateMode::Create).unwrap();
        let stream = engine.query("SELECT i, s, i FROM t", &QueryOptions::default()).unwrap();
        let names: Vec<_> = stream.columns().iter().map(|column| column.name.clone()).collect();
        assert_eq!(names, ["i", "s", "i_1"]);
        assert_eq!(stream.schema().field(2).name(), "i_1");
    }

    #[test]
    fn scans_are_parsed_and_all_else_is_refused_with_a_hint() {
        let scan = |columns: Option<&[&str]>, table: &str| Scan {
            columns: columns.map(|names| names.iter().map(ToString::to_string).collect()),
            table: table.to_owned(),
        };
        assert_eq!(parse_scan("select * from t;").unwrap(), scan(None, "t"));
        assert_eq!(parse_scan(" SELECT id , \"a \"\"b\" FROM \"T x\" ").unwrap(), scan(Some(&["id", "a \"b"]), "T x"));
        for sql in [
            "SELECT",
            "SELECT * FROM",
            "SELECT FROM t",
            "SELECT id FROM t WHERE id = 1",
            "SELECT id id FROM t",
            "SELECT \"id FROM t",
            "SELECT count(*) FROM t",
        ] {
            let error = parse_scan(sql).unwrap_err();
            assert_eq!(error.code(), "BB_UNSUPPORTED", "{sql}");
        }
    }
}
