//! Prepared statements, over `PostgreSQL`'s extended protocol.
//!
//! The server does not report the types of parameters. They are sent with the values: if they differ from the types of
//! the last run, the statement is parsed again in the same round trip.

use arrow_array::RecordBatch;
use boundary_bench_engine::decimal;
use boundary_bench_engine::dialect::Dialect;
use boundary_bench_engine::sql_text::{self, placeholders};
use boundary_bench_engine::table::SqlType;
use boundary_bench_engine::{
    BatchStream, QueryOptions, Statement, Value, check_parameter_count, not_a_query, unusable_parameter,
};
use boundary_bench_kernel::cancel::{CancelGuard, CancelToken};
use boundary_bench_kernel::{Error, Result};

use crate::batches::{Batches, Source};
use crate::pool::Lease;
use crate::rows::RowBuilder;
use crate::sql::{Hyperd, is_display, made_by_query};
use crate::wire::{Bound, Failure, Message, Parameter, Rows, ServerError, Status, rows_changed};
use crate::{copy_out, engine_error};

/// The type number of a parameter whose type the server infers. Its value is sent as text, and read like a quoted
/// literal in the statement.
const OPEN: u32 = 0;

/// The beginning of the server's error if it can't infer the type of a parameter without a value.
const UNDECIDED: &str = "could not deduce parameter type";

/// SQLSTATEs of values of the wrong type or size: overflow, date, text, binary format, types.
const MISFITS: [&str; 7] = ["22003", "22007", "22008", "22P02", "22P03", "42601", "42804"];

/// Days and microseconds from 1970-01-01 to 2000-01-01, the epoch of the protocol.
const POSTGRES_EPOCH_DAYS: i32 = 10_957;
const POSTGRES_EPOCH_MICROSECONDS: i64 = POSTGRES_EPOCH_DAYS as i64 * 86_400_000_000;

/// The number of rows and of their bytes at which a batch ends.
const MAX_ROWS: usize = 65_536;
const MAX_BYTES: usize = 16 << 20;

/// A statement and the session that it was prepared on.
pub(crate) struct PreparedStatement {
    session: Lease,
    sql: String,
    returns_rows: bool,
    /// The table of a `CREATE TABLE ... AS`.
    made: Option<String>,
    /// The types of the parameters, all `None`, since the server does not report them.
    parameters: Vec<Option<SqlType>>,
    /// The parameter types that the server has parsed the statement with, or `None` if the statement must be parsed again.
    parsed: Option<Vec<Option<SqlType>>>,
}

impl PreparedStatement {
    pub(crate) fn prepare(
        mut session: Lease,
        statement: &sql_text::Statement<'_>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        Hyperd::check_prepared(statement)?;
        let count = Hyperd::parameters(statement.text)?.count;
        let guard = copy_out::guard(&session, cancel);
        cancel.check()?;
        let parsed = session.parse(statement.text, &vec![OPEN; count]);
        drop(guard);
        match parsed {
            Err(_) if cancel.is_cancelled() => return Err(Error::Cancelled),
            Err(Failure::Refused(error)) if error.text().starts_with(UNDECIDED) => {}
            parsed => parsed?,
        }
        Ok(Self {
            session,
            sql: statement.text.to_owned(),
            returns_rows: Hyperd::is_query(statement) || is_display(statement),
            made: made_by_query(statement).map(str::to_owned),
            parameters: vec![None; count],
            parsed: None,
        })
    }

    /// Sends the statement with these values.
    fn start(&mut self, parameters: &[Value]) -> Result<()> {
        // A cancel request for the run before must not hit this one.
        if self.session.status() != Some(Status::Idle) || !self.session.canceller().settle() {
            return Err(Error::Closed("the statement, whose last run did not end"));
        }
        let values: Vec<_> = parameters.iter().map(encoded).collect();
        let parsed = self.parsed.take().filter(|parsed| {
            // After a change of a query's tables the server still describes the columns as they were parsed, but returns
            // the new ones. Their values would be read as another type. So queries are parsed again. NULL fits any type.
            !self.returns_rows
                && parsed
                    .iter()
                    .zip(parameters)
                    .all(|(parsed, value)| *value == Value::Null || *parsed == value.sql_type())
        });
        if let Some(parsed) = parsed {
            self.session.send_bound(&Bound { parse: None, values: &values, run: true })?;
            self.parsed = Some(parsed);
        } else {
            let types: Vec<_> = parameters.iter().map(type_of).collect();
            let sql = self.with_casts(parameters);
            self.session.send_bound(&Bound { parse: Some((&sql, &types)), values: &values, run: true })?;
            self.parsed = Some(parameters.iter().map(Value::sql_type).collect());
        }
        Ok(())
    }

    /// The statement with casts of its decimal parameters to their precision and scale. The protocol can't carry these.
    fn with_casts(&self, parameters: &[Value]) -> String {
        let (mut sql, mut copied) = (String::with_capacity(self.sql.len()), 0);
        for placeholder in placeholders(&self.sql, Hyperd::first_token) {
            let value =
                placeholder.name.parse::<usize>().ok().and_then(|number| parameters.get(number.wrapping_sub(1)));
            if let Some(sql_type @ SqlType::Decimal { .. }) = value.and_then(Value::sql_type) {
                sql.push_str(&self.sql[copied..placeholder.place.start]);
                sql.extend(["CAST($", placeholder.name, " AS ", &Hyperd::type_name(sql_type), ")"]);
                copied = placeholder.place.end;
            }
        }
        sql.push_str(&self.sql[copied..]);
        sql
    }

    /// The error of a run that failed: it names the parameter whose value does not fit the statement, if there is one.
    fn failure(&mut self, failure: Failure, parameters: &[Value], cancel: &CancelToken) -> Error {
        self.parsed = None;
        if cancel.is_cancelled() {
            return Error::cancelled(self.session.status().is_some());
        }
        let misfit = match failure.code() {
            Some(code) if MISFITS.contains(&code) => self.misfit(parameters, cancel),
            _ => None,
        };
        misfit.unwrap_or_else(|| failure.into())
    }

    /// The error for the first parameter that the server can't convert. Nothing is run.
    fn misfit(&mut self, parameters: &[Value], cancel: &CancelToken) -> Option<Error> {
        // A binary search: the first `fitting` parameters all fit. One of the first `refused` does not.
        let (mut fitting, mut refused) = (0, parameters.len());
        let mut problem = self.refusal_of(&parameters[..refused], parameters.len())?;
        while fitting + 1 < refused && !cancel.is_cancelled() {
            let middle = fitting.midpoint(refused);
            match self.refusal_of(&parameters[..middle], parameters.len()) {
                Some(text) => (refused, problem) = (middle, text),
                None => fitting = middle,
            }
        }
        (fitting + 1 == refused).then(|| unusable_parameter(refused, &problem))
    }

    /// The server's error for the values of the `first` of `count` parameters, while the others are NULL, or `None` if they fit.
    fn refusal_of(&mut self, first: &[Value], count: usize) -> Option<String> {
        let mut types = vec![OPEN; count];
        let mut values: Vec<_> = (0..count).map(|_| None).collect();
        for (index, value) in first.iter().enumerate() {
            // As text of an open type, a number is compared with the range of the type that the statement wants.
            values[index] = match value {
                Value::SmallInt(number) => Some(Parameter::Text(number.to_string())),
                Value::Int32(number) => Some(Parameter::Text(number.to_string())),
                Value::Int(number) => Some(Parameter::Text(number.to_string())),
                Value::Double(number) if number.is_finite() => Some(Parameter::Text(number.round().to_string())),
                Value::Null | Value::NullOf(_) => None,
                _ => {
                    types[index] = type_of(value);
                    encoded(value)
                }
            };
        }
        let bound = Bound { parse: Some((&self.sql, &types)), values: &values, run: false };
        self.session.send_bound(&bound).ok()?;
        match self.session.finish() {
            Err(Failure::Refused(error)) if !error.text().starts_with(UNDECIDED) => Some(error.text().to_owned()),
            _ => None,
        }
    }
}

impl Statement for PreparedStatement {
    fn parameters(&self) -> &[Option<SqlType>] {
        &self.parameters
    }

    fn query<'statement>(
        &'statement mut self,
        parameters: &[Value],
        options: &QueryOptions,
    ) -> Result<Box<dyn BatchStream + 'statement>> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        if !self.returns_rows {
            return Err(not_a_query());
        }
        let guard = copy_out::guard(&self.session, &options.cancel);
        options.cancel.check()?;
        self.start(parameters)?;
        let mut refusal = None;
        let fields = loop {
            let message = match self.session.receive() {
                Ok(message) => message,
                Err(error) => return Err(self.failure(Failure::Lost(error), parameters, &options.cancel)),
            };
            match message {
                Message::RowDescription(fields) => break fields,
                Message::Failed(error) => refusal = Some(error),
                Message::Ready => {
                    drop(guard);
                    return Err(match refusal {
                        Some(error) => self.failure(Failure::Refused(error), parameters, &options.cancel),
                        None => engine_error("the server sent no result"),
                    });
                }
                _ => {}
            }
        };
        // From here on, dropping the result ends the query.
        let mut source =
            BoundRows { session: &mut self.session, guard: Some(guard), rows: None, refusal, most: options.batch_rows };
        let rows = RowBuilder::new(&fields)?;
        let schema = rows.schema().clone();
        source.rows = Some(rows);
        Ok(Box::new(Batches::new(source, &schema, options)?))
    }

    fn execute(&mut self, parameters: &[Value], cancel: &CancelToken) -> Result<u64> {
        check_parameter_count(parameters.len(), self.parameters.len())?;
        let made = self.made.clone().filter(|table| self.session.lacks(table));
        let guard = copy_out::guard(&self.session, cancel);
        cancel.check()?;
        self.start(parameters)?;
        let (mut refusal, mut tag) = (None, String::new());
        let mut run = || loop {
            match self.session.receive_rows(|_| Ok(Rows::More))? {
                Some(Message::Complete(text)) => tag = text,
                Some(Message::Failed(error)) => refusal = Some(error),
                Some(Message::Ready) => return Ok(()),
                _ => {}
            }
        };
        let ended: Result<()> = run();
        drop(guard);
        let failure = match (ended, refusal) {
            (Err(error), _) => Failure::Lost(error),
            (Ok(()), Some(error)) => Failure::Refused(error),
            (Ok(()), None) => return Ok(rows_changed(&tag)),
        };
        let error = self.failure(failure, parameters, cancel);
        made.inspect(|table| self.session.remove_left(table, &error));
        Err(error)
    }
}

/// The rows of a running statement.
struct BoundRows<'statement> {
    session: &'statement mut Lease,
    guard: Option<CancelGuard>,
    /// The builder of the batches, or `None` if a column of the result has an unsupported type.
    rows: Option<RowBuilder>,
    refusal: Option<ServerError>,
    /// Maximum number of rows of a batch.
    most: usize,
}

impl Source for BoundRows<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(rows) = &mut self.rows else { return Ok(None) };
        let most = self.most.clamp(1, MAX_ROWS);
        while self.session.status().is_none() {
            let message = self.session.receive_rows(|row| {
                rows.push(row)?;
                Ok(if rows.rows() >= most || rows.bytes() >= MAX_BYTES { Rows::Enough } else { Rows::More })
            })?;
            match message {
                None => return rows.finish().map(Some),
                Some(Message::Failed(error)) => self.refusal = Some(error),
                // No cancellation may hit the session's next statement.
                Some(Message::Ready) => self.guard = None,
                Some(_) => {}
            }
        }
        match self.refusal.take() {
            Some(error) => Err(error.into()),
            None if rows.rows() > 0 => rows.finish().map(Some),
            None => Ok(None),
        }
    }
}

impl Drop for BoundRows<'_> {
    fn drop(&mut self) {
        // A running statement is cancelled and its remaining messages are read, as for a query without parameters.
        if self.session.status().is_none() {
            self.session.canceller().cancel();
            self.session.settle();
        }
    }
}

/// The type number that is sent for a value. Text is open, so that the server converts it to the type that the
/// statement wants. A decimal is open too, and is cast to its own type in the statement.
fn type_of(value: &Value) -> u32 {
    match value.sql_type() {
        None | Some(SqlType::Decimal { .. }) => OPEN,
        Some(SqlType::Text) if matches!(value, Value::Text(_)) => OPEN,
        Some(SqlType::Text) => 25,
        Some(SqlType::Bool) => 16,
        Some(SqlType::SmallInt) => 21,
        Some(SqlType::Int) => 23,
        Some(SqlType::BigInt) => 20,
        Some(SqlType::Real) => 700,
        Some(SqlType::Double) => 701,
        Some(SqlType::Bytes) => 17,
        Some(SqlType::Date) => 1082,
        Some(SqlType::Timestamp) => 1114,
    }
}

/// A value, encoded for the type of [`type_of`], or `None` for NULL.
fn encoded(value: &Value) -> Option<Parameter> {
    Some(match value {
        Value::Null | Value::NullOf(_) => return None,
        Value::SmallInt(value) => Parameter::Binary(value.to_be_bytes().to_vec()),
        Value::Int32(value) => Parameter::Binary(value.to_be_bytes().to_vec()),
        Value::Real(value) => Parameter::Binary(value.to_be_bytes().to_vec()),
        Value::Bool(value) => Parameter::Binary(vec![u8::from(*value)]),
        Value::Int(value) => Parameter::Binary(value.to_be_bytes().to_vec()),
        Value::Double(value) => Parameter::Binary(value.to_be_bytes().to_vec()),
        Value::Decimal { value, scale, .. } => Parameter::Text(decimal::format(*value, *scale)),
        Value::Text(text) => Parameter::Text(text.clone()),
        Value::Bytes(bytes) => Parameter::Binary(bytes.clone()),
        // A value that saturates is outside of the server's range.
        Value::Date(days) => Parameter::Binary(days.saturating_sub(POSTGRES_EPOCH_DAYS).to_be_bytes().to_vec()),
        Value::Timestamp(microseconds) => {
            Parameter::Binary(microseconds.saturating_sub(POSTGRES_EPOCH_MICROSECONDS).to_be_bytes().to_vec())
        }
    })
}
