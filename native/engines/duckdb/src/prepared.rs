//! A prepared statement on a connection of its own.

use super::ffi::Connection;
use super::interruptible;
use super::run_command;
use super::statement::Prepared;
use super::stream::{EmbeddedStream, check_reads, the_only_statement};
use super::vector::mapping;
use boundary_bench_engine::table::{Column, SqlType, unique_names};
use boundary_bench_engine::{BatchStream, QueryOptions, Statement, Value, check_parameter_count, unusable_parameter};
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::{Error, Result};

/// A prepared statement with its connection. DuckDB plans it anew by itself when a table was changed or a value has
/// another type.
pub(super) struct EmbeddedStatement {
    // The statement comes first, so that it is dropped before the connection.
    statement: Prepared,
    parameters: Vec<Option<SqlType>>,
    columns: Option<Vec<Column>>,
    connection: Connection,
}

impl EmbeddedStatement {
    /// Prepares the only statement of `sql`.
    pub(super) fn prepare(connection: Connection, sql: &str) -> Result<Self> {
        let statement = the_only_statement(&connection, sql, "a prepared statement")?;
        let parameters = (1..=statement.parameter_count())
            .map(|position| match statement.parameter_name(position) {
                Some(name) if name == position.to_string() => {
                    let known = statement.parameter_type(position);
                    Ok(known.and_then(|logical| mapping(&logical)).map(|mapping| mapping.sql_type))
                }
                Some(name) => Err(Error::InvalidArgument(format!(
                    "the parameter ${name} has a name; parameters are matched by position: $1, $2, ..."
                ))),
                None => Err(unusable_parameter(position, "the statement leaves out this number")),
            })
            .collect::<Result<_>>()?;
        let columns = columns(&statement);
        Ok(Self { statement, parameters, columns, connection })
    }

    /// Binds all parameters and runs `work`. If that fails, the error names the first parameter that does not fit the
    /// statement's type, if there is one.
    fn with<T>(&self, parameters: &[Value], work: impl FnOnce() -> Result<T>) -> Result<T> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        for (index, value) in parameters.iter().enumerate() {
            self.statement.bind(index + 1, value)?;
        }
        work().map_err(|error| match error {
            Error::Engine { .. } => self.misfit(parameters).unwrap_or(error),
            _ => error,
        })
    }

    /// The error for the first parameter that DuckDB can't convert to its type in the statement.
    fn misfit(&self, parameters: &[Value]) -> Option<Error> {
        parameters.iter().zip(&self.parameters).enumerate().find_map(|(index, (value, expected))| {
            let sql = format!("SELECT CAST($1 AS {})", (*expected)?.to_sql());
            let cast = the_only_statement(&self.connection, &sql, "the conversion").ok()?;
            cast.bind(1, value).ok()?;
            match cast.start(false).and_then(super::statement::Pending::finish) {
                Err(Error::Engine { message, .. }) => Some(unusable_parameter(index + 1, message)),
                _ => None,
            }
        })
    }
}

/// The columns of a statement's rows, none for a command; `None` where a column's type depends on parameters, or has no
/// counterpart here.
fn columns(statement: &Prepared) -> Option<Vec<Column>> {
    if check_reads(statement).is_err() {
        return Some(Vec::new());
    }
    let described = statement.columns();
    let names = unique_names(described.iter().map(|(name, _)| name.as_str()));
    let columns = names
        .into_iter()
        .zip(&described)
        .map(|(name, (_, logical))| Some(Column { name, sql_type: mapping(logical)?.sql_type, nullable: true }));
    columns.collect::<Option<Vec<_>>>().filter(|columns| !columns.is_empty())
}

impl Statement for EmbeddedStatement {
    fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }

    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>> {
        let stream =
            self.with(parameters, || EmbeddedStream::run(self.connection.clone(), &self.statement, options))?;
        Ok(Box::new(stream))
    }

    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64> {
        let interrupted = self.connection.clone();
        let _guard = cancel.on_cancel(move || interrupted.interrupt());
        self.with(parameters, || interruptible(cancel, || run_command(&self.statement, cancel)))
    }
}
