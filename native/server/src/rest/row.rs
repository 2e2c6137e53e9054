//! Reads and writes of rows by their key.

use super::error::RestError;
use super::json::{Filter, RowRequest, text};
use super::validate;
use crate::tables::{Change, ChangeKind, Invalid, Row, Table, Tables, escaped};

/// The response body of a `pk-read`.
pub(super) fn read(tables: &Tables, database: &str, table: &str, body: &[u8]) -> Result<Vec<u8>, RestError> {
    let request: RowRequest<'_> = serde_json::from_slice(body).map_err(|error| RestError::parse(&error))?;
    validate::path(database, table)?;
    validate::row(&request)?;
    let mut answer = Vec::with_capacity(256);
    answer.extend_from_slice(br#"{"code":200,"#);
    read_into(tables, database, table, &request, &mut answer)?;
    answer.push(b'}');
    Ok(answer)
}

/// Appends `"operationId":"...","data":{...}` for a validated request. After an error, the caller must truncate `answer`.
pub(super) fn read_into(
    tables: &Tables,
    database: &str,
    table: &str,
    request: &RowRequest<'_>,
    answer: &mut Vec<u8>,
) -> Result<(), RestError> {
    let index = tables.find(database, table).ok_or_else(|| RestError::no_table(database, table))?;
    let table = tables.table(index);
    let key = key(table, request.filters.as_deref().unwrap_or_default())?;
    let columns = columns(table, request)?;
    let bytes = tables.read(index, &key)?.ok_or_else(RestError::no_row)?;
    let row = Row::new(&bytes, table.values().len()).ok_or_else(|| broken(table))?;
    answer.extend_from_slice(br#""operationId":"#);
    escaped(text(request.operation_id.as_ref()), answer);
    answer.extend_from_slice(br#","data":{"#);
    let mut write = |value: usize| {
        answer.extend_from_slice(&table.values()[value].label);
        answer.extend_from_slice(row.value(value).ok_or_else(|| broken(table))?);
        answer.push(b',');
        Ok::<_, RestError>(())
    };
    match columns {
        Some(columns) => columns.into_iter().try_for_each(&mut write)?,
        None => (0..table.values().len()).try_for_each(&mut write)?,
    }
    answer.pop_if(|last| *last == b',');
    answer.push(b'}');
    Ok(())
}

/// The requested columns, counted from the first outside the key; `None`: all of them.
fn columns(table: &Table, request: &RowRequest<'_>) -> Result<Option<Vec<usize>>, RestError> {
    let asked = request.read_columns.as_deref().unwrap_or_default();
    if asked.is_empty() {
        return Ok(None);
    }
    let mut columns = Vec::with_capacity(asked.len());
    // Requests mostly name the columns in the table's order.
    let mut expected = 0;
    for column in asked {
        let name = text(column.column.as_ref());
        let values = table.values();
        let found = values.get(expected).filter(|column| column.name == name).map(|_| expected);
        let found = found.or_else(|| values.iter().position(|column| column.name == name));
        let found = found.ok_or_else(|| RestError::no_column(name))?;
        columns.push(found);
        expected = found + 1;
    }
    Ok(Some(columns))
}

/// The encoded key that the filters name.
fn key(table: &Table, filters: &[Filter<'_>]) -> Result<Vec<u8>, RestError> {
    let columns = table.key();
    if filters.len() != columns.len() {
        let message =
            format!("Wrong number of primary-key columns. Expecting: {} Got: {}", columns.len(), filters.len());
        return Err(RestError::coded(13, message));
    }
    let mut key = Vec::new();
    for column in columns {
        let filter = filters.iter().find(|filter| text(filter.column.as_ref()) == column.name);
        let value = filter.and_then(|filter| filter.value).ok_or_else(|| {
            let got = filters.first().map_or("", |filter| text(filter.column.as_ref()));
            RestError::coded(14, format!("Wrong primay-key column. Expecting: {} Got: {got}", column.name))
        })?;
        column.kind.write_key(value, &mut key).map_err(|invalid| wrong_value(invalid, column))?;
    }
    Ok(key)
}

/// The change that an operation of a batch requests.
pub(super) fn change(
    tables: &Tables,
    kind: ChangeKind,
    (database, table): (&str, &str),
    request: &RowRequest<'_>,
) -> Result<Change, RestError> {
    let index = tables.find(database, table).ok_or_else(|| RestError::no_table(database, table))?;
    let table = tables.table(index);
    let key = key(table, request.filters.as_deref().unwrap_or_default())?;
    let mut values = vec![None; table.values().len()];
    for written in request.write_columns.as_deref().unwrap_or_default() {
        let name = text(written.column.as_ref());
        let column =
            table.values().iter().position(|column| column.name == name).ok_or_else(|| RestError::no_column(name))?;
        let json = values[column].insert(Vec::new());
        match written.value {
            None => json.extend_from_slice(b"null"),
            Some(value) => {
                let column = &table.values()[column];
                column.kind.write_json(value, json).map_err(|invalid| wrong_value(invalid, column))?;
            }
        }
    }
    Ok(Change { kind, table: index, key, values })
}

pub(super) fn wrong_value(invalid: Invalid, column: &crate::tables::Column) -> RestError {
    let name = &column.name;
    match invalid {
        Invalid::Type => {
            RestError::coded(15, format!("Wrong data type. Expecting {}. Column: {name}", column.kind.name()))
        }
        Invalid::TooBig => RestError::coded(20, format!("Column length too big. Column: {name}")),
    }
}

fn broken(table: &Table) -> RestError {
    RestError::new(
        hyper::StatusCode::INTERNAL_SERVER_ERROR,
        format!("a row of {}.{} is not readable", table.database, table.name),
    )
}
