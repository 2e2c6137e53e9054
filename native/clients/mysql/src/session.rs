//! One connection with as little as possible between the caller and the protocol: requests are queued, answers are read
//! in their order, and rows are read in place.

use std::ops::ControlFlow;

use boundary_bench_engine::{Value, check_parameter_count};
use boundary_bench_kernel::Result;

use crate::calendar;
use crate::cells::{Cell, Values, put_parameters};
use crate::codec::{Bytes, CommandResult, Done, Field, command, garbled, type_id};
use crate::connection::{Connection, Prepared, Started};
use crate::effect::Effect;
use crate::insert::{self, Rows, Target};
use crate::pool::Lease;
use crate::pool::Pool;
use crate::session_state::admit;
use crate::sql;
use crate::temporal::{binary_date, binary_time, date_time_text};
use crate::url::Url;

/// A connection with one caller.
pub struct SqlSession {
    pub(crate) lease: Lease,
}

impl SqlSession {
    /// Connects to a server.
    pub async fn open(url: &Url) -> CommandResult<Self> {
        let pool = Pool::new(url.clone(), Vec::new(), 1);
        Ok(Self { lease: pool.lease().await? })
    }

    fn connection(&mut self) -> &mut Connection {
        &mut self.lease.connection
    }

    /// The name and version of the server.
    pub fn version(&self) -> &str {
        self.lease.connection.version()
    }

    /// Checks that the server answers.
    pub async fn ping(&mut self) -> CommandResult<()> {
        self.connection().ping().await
    }

    /// Prepares a statement. It keeps the meaning that it has now: after a change of the database or of variables, prepare it again. A MySQL
    /// server from 8.0.22 on also keeps the types of the first values.
    pub async fn prepare(&mut self, sql: &str) -> CommandResult<Prepared> {
        admit(sql)?;
        self.connection().prepare(sql).await
    }

    /// Runs a statement, and calls `row` with each row of its result. The statement is prepared at its first use, and again after a
    /// statement that may have changed what it means.
    ///
    /// # Errors
    /// [`crate::Failure`] of either kind. [`boundary_bench_kernel::Error::InvalidArgument`] for parameters that the statement or the
    /// server does not take. Nothing is run then.
    pub async fn execute(
        &mut self,
        sql: &str,
        parameters: &[Value],
        row: impl FnMut(RowView<'_>),
    ) -> CommandResult<Done> {
        let effect = admit(sql)?;
        if self.lease.known(sql).is_none() {
            self.lease.make_room(1);
        }
        let changes_plans = self.lease.note(effect);
        let ran = self.run(sql, parameters, row).await;
        if changes_plans {
            self.lease.close_statements(|_| true);
        }
        ran
    }

    async fn run(&mut self, sql: &str, parameters: &[Value], row: impl FnMut(RowView<'_>)) -> CommandResult<Done> {
        let (values, mut encoded) = (Values::new(parameters), Vec::new());
        let mut is_again = false;
        let (prepared, started) = loop {
            let cells = (0..parameters.len()).map(|index| values.cell(index));
            let prepared = self.lease.prepared_for(sql, cells.clone()).await?;
            let count = usize::from(prepared.parameters);
            check_parameter_count(parameters.len(), count)?;
            encoded.clear();
            put_parameters(&mut encoded, count, cells)?;
            self.connection().send_execute(prepared.id, |target| target.extend_from_slice(&encoded));
            match self.connection().started(Some(prepared.id)).await {
                Err(failure) if failure.is_forgotten() => {
                    self.lease.forget(sql);
                    if is_again || !sql::may_run_again(sql) {
                        return Err(failure);
                    }
                    is_again = true;
                }
                started => break (prepared, started?),
            }
        };
        self.results(Some(&prepared), started, row).await
    }

    /// Appends a statement, sent as text, to the output. It must leave the session's character sets as they are. The server runs what is
    /// queued behind a statement also if that fails: read the answer to each change of a transaction before the next one is queued, because
    /// behind a deadlock the rest would be run, and stored, outside of the transaction.
    pub fn queue_text(&mut self, sql: &str) {
        let changes_plans = self.lease.note(Effect::of(sql));
        self.connection().send(command::QUERY, |target| target.extend_from_slice(sql.as_bytes()));
        if changes_plans {
            self.lease.close_statements(|_| true);
        }
    }

    /// Appends a ping to the output.
    pub fn queue_ping(&mut self) {
        self.connection().send(command::PING, |_| {});
    }

    /// Appends a run of a prepared statement to the output.
    ///
    /// # Errors
    /// [`boundary_bench_kernel::Error::InvalidArgument`] for a value that the server can't hold. The session is unusable then.
    pub fn queue<'a>(&mut self, prepared: &Prepared, cells: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        let mut put = Ok(());
        let count = usize::from(prepared.parameters);
        self.connection().send_execute(prepared.id, |target| put = put_parameters(target, count, cells));
        put.inspect_err(|_| self.connection().condemn())
    }

    /// Reads the answer to the oldest queued request, whose prepared statement is given if it has one, and calls `row` with each row of
    /// all its results. Returns the outcome of the last result.
    pub async fn answer(&mut self, prepared: Option<&Prepared>, row: impl FnMut(RowView<'_>)) -> CommandResult<Done> {
        let started = self.connection().started(prepared.map(|prepared| prepared.id)).await?;
        self.results(prepared, started, row).await
    }

    /// Reads an answer from the beginning of its first result on.
    async fn results(
        &mut self,
        prepared: Option<&Prepared>,
        mut started: Started,
        mut row: impl FnMut(RowView<'_>),
    ) -> CommandResult<Done> {
        let connection = self.connection();
        loop {
            let done = match started {
                Started::Done(done) => done,
                Started::WantsFile => connection.refuse_file().await?,
                Started::Rows(fields) => {
                    let is_binary = prepared.is_some();
                    let done = connection
                        .rows(|packet| {
                            row(RowView { fields: &fields, packet, is_binary });
                            Ok(ControlFlow::Continue(()))
                        })
                        .await?;
                    done.unwrap_or_default()
                }
            };
            if !done.has_more {
                return Ok(done);
            }
            started = connection.started(None).await?;
        }
    }

    /// Inserts rows into columns of a table of the connection's database, all or none of them, and returns their number. Within a
    /// transaction of the connection they become part of it.
    pub async fn insert_rows(&mut self, table: &str, columns: &[String], rows: &dyn Rows) -> CommandResult<u64> {
        let max_packet = self.lease.pool().max_packet();
        let table = sql::identifier(table);
        insert::insert(&mut self.lease, &Target { table: &table, columns, max_packet }, rows).await
    }
}

/// A row in wire format, read in place.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    fields: &'a [Field],
    packet: &'a [u8],
    is_binary: bool,
}

impl RowView<'_> {
    /// The columns of the row.
    pub fn fields(&self) -> &[Field] {
        self.fields
    }

    /// Calls `value` with the index of each column and its value. In a result sent as text, dates and times are texts.
    pub fn visit(&self, mut value: impl FnMut(usize, Cell<'_>)) -> Result<()> {
        let read = if self.is_binary { self.visit_binary(&mut value) } else { self.visit_text(&mut value) };
        read.ok_or_else(|| garbled("row"))
    }

    fn visit_text(&self, value: &mut impl FnMut(usize, Cell<'_>)) -> Option<()> {
        let mut bytes = Bytes(self.packet);
        for (index, field) in self.fields.iter().enumerate() {
            let Some(text) = bytes.nullable_text()? else {
                value(index, Cell::Null);
                continue;
            };
            let text = match std::str::from_utf8(text) {
                Ok(text) if !field.has_bytes() => text,
                _ => {
                    value(index, Cell::Bytes(text));
                    continue;
                }
            };
            match field.type_id {
                type_id::TINY | type_id::SHORT | type_id::YEAR | type_id::INT24 | type_id::LONG | type_id::LONGLONG => {
                    value(index, text.parse().map_or(Cell::Decimal(text), Cell::Int));
                }
                type_id::FLOAT | type_id::DOUBLE => value(index, Cell::Double(text.parse().ok()?)),
                type_id::DECIMAL | type_id::NEWDECIMAL => value(index, Cell::Decimal(text)),
                _ => value(index, Cell::Text(text)),
            }
        }
        bytes.end()
    }

    fn visit_binary(&self, value: &mut impl FnMut(usize, Cell<'_>)) -> Option<()> {
        let bitmap = (self.fields.len() + 9) / 8;
        let (nulls, values) = self.packet.get(1..)?.split_at_checked(bitmap)?;
        let mut bytes = Bytes(values);
        for (index, field) in self.fields.iter().enumerate() {
            let bit = index + 2;
            if nulls[bit / 8] >> (bit % 8) & 1 == 1 {
                value(index, Cell::Null);
                continue;
            }
            let unsigned = field.is_unsigned();
            match field.type_id {
                type_id::TINY if unsigned => value(index, Cell::Int(bytes.u8()?.into())),
                type_id::TINY => value(index, Cell::Int(bytes.u8()?.cast_signed().into())),
                type_id::SHORT if unsigned => value(index, Cell::Int(bytes.u16()?.into())),
                type_id::SHORT | type_id::YEAR => value(index, Cell::Int(bytes.u16()?.cast_signed().into())),
                type_id::LONG if unsigned => value(index, Cell::Int(bytes.u32()?.into())),
                type_id::LONG | type_id::INT24 => value(index, Cell::Int(bytes.u32()?.cast_signed().into())),
                type_id::LONGLONG => {
                    let number = bytes.u64()?;
                    match i64::try_from(number) {
                        Err(_) if unsigned => value(index, Cell::Decimal(&number.to_string())),
                        _ => value(index, Cell::Int(number.cast_signed())),
                    }
                }
                type_id::FLOAT => value(index, Cell::Double(f32::from_bits(bytes.u32()?).into())),
                type_id::DOUBLE => value(index, Cell::Double(f64::from_bits(bytes.u64()?))),
                type_id::DATE | type_id::DATETIME | type_id::TIMESTAMP => {
                    let (date, clock) = binary_date(&mut bytes)?;
                    let is_date = field.type_id == type_id::DATE;
                    match calendar::join(date, clock) {
                        None if is_date => value(index, Cell::Text(&date.to_string())),
                        None => value(index, Cell::Text(&date_time_text(date, clock, field.decimals))),
                        Some(_) if is_date => value(index, Cell::Date(date.days()?)),
                        Some(microseconds) => value(index, Cell::Timestamp(microseconds)),
                    }
                }
                type_id::TIME => value(index, Cell::Text(&binary_time(&mut bytes, field.decimals)?)),
                type_id::DECIMAL | type_id::NEWDECIMAL => {
                    value(index, Cell::Decimal(std::str::from_utf8(bytes.text()?).ok()?));
                }
                _ => {
                    let text = bytes.text()?;
                    match std::str::from_utf8(text) {
                        Ok(text) if !field.has_bytes() => value(index, Cell::Text(text)),
                        _ => value(index, Cell::Bytes(text)),
                    }
                }
            }
        }
        bytes.end()
    }
}
