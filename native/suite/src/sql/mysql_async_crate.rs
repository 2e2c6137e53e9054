//! The crate `mysql_async`, as its documentation has it fastest.
//!
//! Statements are prepared once on each connection and run by their handle (`Queryable::prep`, `Queryable::exec_iter`,
//! <https://docs.rs/mysql_async/latest/mysql_async/prelude/trait.Queryable.html>). Rows are taken as its own [`Value`]s, without a
//! conversion. `TCP_NODELAY` is on, as by default. `prefer_socket` is off
//! (<https://docs.rs/mysql_async/latest/mysql_async/struct.Opts.html>), because it would leave TCP for a Unix socket that no other
//! client here uses. It sends no request before the answer to the last one.

use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{Cell, Collation, Url};
use mysql_async::consts::ColumnType;
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{Conn, OptsBuilder, Params, QueryResult, Row, Statement, Value};

use super::reader::Reader;
use super::session::Session;

/// A connection of the crate `mysql_async`.
pub(crate) struct MysqlAsync {
    connection: Conn,
    queued: Option<Request>,
}

/// A request that waits for its answer to be asked for.
enum Request {
    Text(String),
    Ping,
    Run(Statement, Params),
}

fn ours(error: &mysql_async::Error) -> Error {
    match error {
        mysql_async::Error::Server(error) => Error::Engine { engine: "mysql", message: error.to_string() },
        error => Error::Connection(error.to_string()),
    }
}

fn value_of(cell: Cell<'_>) -> Result<Value> {
    Ok(match cell {
        Cell::Null => Value::NULL,
        Cell::Bool(value) => Value::Int(value.into()),
        Cell::Int(value) => Value::Int(value),
        Cell::Double(value) => Value::Double(value),
        Cell::Text(text) | Cell::Decimal(text) => Value::Bytes(text.into()),
        Cell::Bytes(bytes) => Value::Bytes(bytes.into()),
        Cell::Date(_) | Cell::Timestamp(_) => {
            return Err(Error::InvalidArgument("no workload has a date as a parameter".to_owned()));
        }
    })
}

/// The value of a column. In a statement sent as text it is text, of any type.
fn cell_of(value: &Value, column: ColumnType) -> Cell<'_> {
    let bytes = match value {
        Value::Int(value) => return Cell::Int(*value),
        Value::UInt(value) => return i64::try_from(*value).map_or(Cell::Null, Cell::Int),
        Value::Float(value) => return Cell::Double((*value).into()),
        Value::Double(value) => return Cell::Double(*value),
        Value::Bytes(bytes) => bytes,
        Value::NULL | Value::Date(..) | Value::Time(..) => return Cell::Null,
    };
    let Ok(text) = std::str::from_utf8(bytes) else { return Cell::Bytes(bytes) };
    match column {
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => text.parse().map_or(Cell::Null, Cell::Double),
        column if column.is_numeric_type() => text.parse().map_or(Cell::Decimal(text), Cell::Int),
        _ => Cell::Text(text),
    }
}

fn add(row: &Row, reader: &mut impl Reader) {
    reader.begin_row();
    for (index, column) in row.columns_ref().iter().enumerate() {
        if let Some(value) = row.as_ref(index) {
            reader.add(cell_of(value, column.column_type()));
        }
    }
}

/// Reads a result to its end.
async fn read<P: Protocol>(
    result: mysql_async::Result<QueryResult<'_, 'static, P>>,
    reader: &mut impl Reader,
) -> Result<u64> {
    let read = async {
        let mut result = result?;
        result.for_each(|row| add(&row, reader)).await?;
        let affected = result.affected_rows();
        result.drop_result().await.map(|()| affected)
    };
    read.await.map_err(|error| ours(&error))
}

/// Checks that the session is UTF-8, as the other clients do: a server may take another character set than it was told. One of a partial
/// dialect may not know the variables.
async fn check_charsets(connection: &mut Conn) -> Result<()> {
    let asked = "SELECT @@character_set_client, @@character_set_connection, @@character_set_results";
    let names = match connection.query_first::<Row, _>(asked).await {
        Ok(row) => row.map(Row::unwrap_raw).unwrap_or_default(),
        Err(mysql_async::Error::Server(_)) => return Ok(()),
        Err(error) => return Err(ours(&error)),
    };
    let is_utf8 =
        |value: &Value| !matches!(value, Value::Bytes(name) if !name.is_empty() && !name.starts_with(b"utf8"));
    if names.iter().flatten().all(is_utf8) {
        return Ok(());
    }
    connection.query_drop("SET NAMES utf8mb4").await.map_err(|error| ours(&error))
}

impl Session for MysqlAsync {
    const SENDS_AHEAD: bool = false;

    type Prepared = Statement;

    async fn open(url: &Url) -> Result<Self> {
        if url.tls.is_some() {
            return Err(Error::Unsupported("the crate mysql_async is measured without TLS".to_owned()));
        }
        if url.collation != Collation::default() {
            let message = format!("the crate mysql_async always says the collation {}", Collation::default().name());
            return Err(Error::Unsupported(message));
        }
        let options = OptsBuilder::default()
            .ip_or_hostname(url.host.clone())
            .tcp_port(url.port)
            .socket(url.socket.as_ref().map(|socket| socket.display().to_string()))
            .prefer_socket(false)
            .user(Some(url.user.clone()))
            .pass(url.password.clone())
            .db_name(url.database.clone());
        let mut connection = Conn::new(options).await.map_err(|error| ours(&error))?;
        check_charsets(&mut connection).await?;
        Ok(Self { connection, queued: None })
    }

    async fn prepare(&mut self, sql: &str) -> Result<Statement> {
        self.connection.prep(sql).await.map_err(|error| match ours(&error) {
            Error::Engine { message, .. } => Error::Unsupported(format!("the server can't do it: {message}")),
            other => other,
        })
    }

    fn queue_text(&mut self, sql: &str) {
        self.queued = Some(Request::Text(sql.to_owned()));
    }

    fn queue_ping(&mut self) {
        self.queued = Some(Request::Ping);
    }

    fn queue<'a>(&mut self, prepared: &Statement, cells: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        let values = cells.map(value_of).collect::<Result<Vec<_>>>()?;
        let parameters = if values.is_empty() { Params::Empty } else { Params::Positional(values) };
        self.queued = Some(Request::Run(prepared.clone(), parameters));
        Ok(())
    }

    async fn answer(&mut self, _prepared: Option<&Statement>, reader: &mut impl Reader) -> Result<u64> {
        match self.queued.take() {
            Some(Request::Text(sql)) => read(self.connection.query_iter(sql).await, reader).await,
            Some(Request::Run(statement, parameters)) => {
                read(self.connection.exec_iter(statement, parameters).await, reader).await
            }
            Some(Request::Ping) => self.connection.ping().await.map(|()| 0).map_err(|error| ours(&error)),
            None => Err(Error::Internal("no request waits for an answer".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_refused_before_any_server_is_asked() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for (url, code) in
            [("mysql://u:p@127.0.0.1:1/?tls=required", "BB_UNSUPPORTED"), ("mysql://u:p@127.0.0.1:1/", "BB_CONNECTION")]
        {
            let refused = runtime.block_on(MysqlAsync::open(&url.parse().unwrap())).err().unwrap();
            assert_eq!(refused.code(), code, "{url}");
        }
    }

    #[test]
    fn values_are_read_by_the_type_of_their_column() {
        use ColumnType::{
            MYSQL_TYPE_BLOB, MYSQL_TYPE_DOUBLE, MYSQL_TYPE_LONG, MYSQL_TYPE_NEWDECIMAL, MYSQL_TYPE_VAR_STRING,
        };
        let bytes = |text: &str| Value::Bytes(text.into());
        for (value, column, cell) in [
            (bytes("12"), MYSQL_TYPE_LONG, Cell::Int(12)),
            (bytes("12"), MYSQL_TYPE_NEWDECIMAL, Cell::Int(12)),
            (bytes("1.5"), MYSQL_TYPE_NEWDECIMAL, Cell::Decimal("1.5")),
            (bytes("1.5"), MYSQL_TYPE_DOUBLE, Cell::Double(1.5)),
            (bytes("12"), MYSQL_TYPE_VAR_STRING, Cell::Text("12")),
            (Value::Bytes(vec![0xff]), MYSQL_TYPE_BLOB, Cell::Bytes(&[0xff])),
            (Value::UInt(7), MYSQL_TYPE_LONG, Cell::Int(7)),
            (Value::Float(0.5), MYSQL_TYPE_DOUBLE, Cell::Double(0.5)),
            (Value::NULL, MYSQL_TYPE_LONG, Cell::Null),
        ] {
            assert_eq!(cell_of(&value, column), cell, "{value:?}");
        }
        assert_eq!(value_of(Cell::Date(1)).unwrap_err().code(), "BB_INVALID_ARGUMENT");
    }
}
