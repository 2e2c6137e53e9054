//! Calls of the MySQL wire.

use boundary_bench_engine::{Value, decimal};
use boundary_bench_kernel::{Error, Result};
use boundary_bench_mysql::{Cell, SqlSession};
use boundary_bench_node::values::arrays::array_of_objects;
use boundary_bench_node::values::numbers::{MAX_SAFE_INTEGER, safe_integer};
use boundary_bench_node::values::parameters::Parameters;
use napi::bindgen_prelude::{BigInt, Buffer, Null, Object, ToNapiValue, TypeName};
use napi::{Env, ValueType, sys};
use napi_derive::napi;

use super::{Calls, Promised, Request};

async fn connect(url: String) -> Result<SqlSession> {
    Ok(SqlSession::open(&url.parse()?).await?)
}

/// A check that the server answers.
struct Ping;

impl Request for Ping {
    type Client = SqlSession;
    type Output = ();

    async fn send(self, session: &mut SqlSession) -> Result<()> {
        Ok(session.ping().await?)
    }
}

/// A run of a statement. The statement is prepared at its first use.
struct Execute {
    sql: String,
    parameters: Vec<Value>,
}

impl Execute {
    fn new(sql: String, Parameters(mut parameters): Parameters) -> Self {
        parameters.iter_mut().for_each(send_as_integer);
        Self { sql, parameters }
    }
}

/// Makes a number that is a safe integer an integer of SQL, as the other lanes send it.
fn send_as_integer(value: &mut Value) {
    if let Value::Double(number) = *value
        && let Some(integer) = safe_integer(number)
    {
        *value = Value::Int(integer);
    }
}

impl Request for Execute {
    type Client = SqlSession;
    type Output = SqlAnswer;

    async fn send(self, session: &mut SqlSession) -> Result<SqlAnswer> {
        let (mut rows, mut problem) = (Rows::default(), None);
        let mut fields = None;
        let done = session
            .execute(&self.sql, &self.parameters, |row| {
                if rows.values.is_empty() {
                    rows.names = row.fields().iter().map(|field| field.name.clone()).collect();
                    fields = Some(row.fields().as_ptr().addr());
                } else if fields != Some(row.fields().as_ptr().addr()) {
                    problem.get_or_insert_with(several_results);
                }
                if let Err(found) = row.visit(|_, cell| rows.values.push(value_of(cell))) {
                    problem.get_or_insert(found);
                }
            })
            .await?;
        match problem {
            None => Ok(SqlAnswer { affected_rows: done.affected_rows as f64, rows }),
            Some(problem) => Err(problem),
        }
    }
}

/// The error for a procedure that returns several results.
fn several_results() -> Error {
    Error::Unsupported("the statement was run, and returned several results, of which this call returns one".to_owned())
}

/// A value of a row that no longer borrows the packet. A decimal is kept as its text.
fn value_of(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(value) => Value::Bool(value),
        Cell::Int(value) => Value::Int(value),
        Cell::Double(value) => Value::Double(value),
        Cell::Text(text) | Cell::Decimal(text) => Value::Text(text.to_owned()),
        Cell::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Cell::Date(days) => Value::Date(days),
        Cell::Timestamp(microseconds) => Value::Timestamp(microseconds),
    }
}

/// Rows that become an array of objects on JavaScript's thread.
#[derive(Default)]
pub struct Rows {
    names: Vec<String>,
    /// The values of all rows, one row after the other.
    values: Vec<Value>,
}

impl TypeName for Rows {
    fn type_name() -> &'static str {
        "Array"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for Rows {
    unsafe fn to_napi_value(env: sys::napi_env, Rows { names, values }: Self) -> napi::Result<sys::napi_value> {
        let width = names.len().max(1);
        let (count, mut values) = (values.len() / width, values.into_iter());
        // SAFETY: the caller's promise.
        unsafe {
            array_of_objects(env, count, |_, object| {
                let mut row = names.iter().zip(values.by_ref().take(width));
                row.try_for_each(|(name, value)| set(object, name, value))
            })
        }
    }
}

fn set(object: &mut Object<'_>, name: &str, value: Value) -> napi::Result<()> {
    match value {
        Value::Null | Value::NullOf(_) => object.set(name, Null),
        Value::SmallInt(value) => object.set(name, value),
        Value::Int32(value) => object.set(name, value),
        Value::Real(value) => object.set(name, value),
        Value::Bool(value) => object.set(name, value),
        Value::Int(value) if value.unsigned_abs() > MAX_SAFE_INTEGER.unsigned_abs() => {
            object.set(name, BigInt::from(value))
        }
        Value::Int(value) => object.set(name, value),
        Value::Double(value) => object.set(name, value),
        Value::Text(text) => object.set(name, text),
        Value::Decimal { value, scale, .. } => object.set(name, decimal::format(value, scale)),
        Value::Bytes(bytes) => object.set(name, Buffer::from(bytes)),
        Value::Date(days) => object.set(name, days),
        Value::Timestamp(microseconds) => object.set(name, BigInt::from(microseconds)),
    }
}

/// The answer to a statement as plain values.
#[napi(object, object_from_js = false)]
pub struct SqlAnswer {
    /// The number of rows changed.
    pub affected_rows: f64,
    /// The rows as objects: integers as numbers if a number holds them exactly, decimals as texts, dates as days and timestamps as
    /// microseconds since 1970.
    #[napi(ts_type = "Array<Record<string, unknown>>")]
    pub rows: Rows,
}

/// A connection to a server of the MySQL wire.
#[napi]
pub struct SqlCalls(Calls<SqlSession>);

#[napi]
impl SqlCalls {
    /// Connects to the server and logs in. The calls block threads of libuv's pool, or are futures on tokio's threads.
    #[napi(catch_unwind, ts_return_type = "Promise<SqlCalls>")]
    pub fn open(env: Env, url: String, is_blocking: bool) -> napi::Result<Promised<SqlCalls>> {
        Calls::open(env, is_blocking, connect(url), Self)
    }

    /// Checks that the server answers.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn ping(&self, env: Env) -> napi::Result<Promised<()>> {
        self.0.call(env, Ping)
    }

    /// Runs a statement. It is prepared at its first use.
    #[napi(
        catch_unwind,
        ts_args_type = "sql: string, parameters: readonly unknown[]",
        ts_return_type = "Promise<SqlAnswer>"
    )]
    pub fn execute(&self, env: Env, sql: String, parameters: Parameters) -> napi::Result<Promised<SqlAnswer>> {
        self.0.call(env, Execute::new(sql, parameters))
    }

    /// Closes the connection. Calls under way are rejected with `BB_CLOSED`. Does nothing the second time.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.0.close();
    }
}
