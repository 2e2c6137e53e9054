//! The messages of `PostgreSQL`'s protocol
//! (<https://www.postgresql.org/docs/current/protocol-message-formats.html>).

use arrow_buffer::Buffer;
use boundary_bench_engine::unusable_parameter;
use boundary_bench_kernel::{Error, Result};

use crate::{HYPER, engine_error};

/// The format code of `HyperBinary`, the server's own format of rows: little-endian, with the widths of Arrow's types.
const HYPER_BINARY: u16 = 2;

/// A message of the server.
pub(crate) enum Message {
    /// A part of a result of `COPY ... TO STDOUT`.
    CopyData(Buffer),
    /// A row of a result, as text.
    Row(Vec<Option<String>>),
    /// A result's columns.
    RowDescription(Vec<Field>),
    /// The server waits for the data of `COPY ... FROM STDIN`.
    CopyIn,
    /// A statement is done. Holds its command tag, such as `INSERT 0 3`.
    Complete(String),
    /// A statement failed. Holds the server's error.
    Failed(ServerError),
    /// The server waits for the next statement.
    Ready,
    /// A message that needs no action.
    Other,
}

/// A column of a result.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// The number of the column's type in the catalog.
    pub(crate) type_id: u32,
    /// Precision and scale of a `NUMERIC`.
    pub(crate) modifier: i32,
}

/// A statement with parameters to be sent. The server keeps the parsed statement until it parses the next one.
pub(crate) struct Bound<'a> {
    /// The statement's text and the types of its parameters, 0 for an open one. `None` if the server has parsed it already.
    pub(crate) parse: Option<(&'a str, &'a [u32])>,
    /// The values, `None` for NULL.
    pub(crate) values: &'a [Option<Parameter>],
    /// Whether the statement is run. If not, the server only checks whether the values fit.
    pub(crate) run: bool,
}

/// A parameter's value in an encoding of the protocol.
pub(crate) enum Parameter {
    Text(String),
    /// `PostgreSQL`'s binary format.
    Binary(Vec<u8>),
}

/// Why the server refused a statement.
#[derive(Debug, Clone)]
pub(crate) struct ServerError {
    /// The SQLSTATE.
    pub(crate) code: String,
    pub(super) text: String,
}

impl ServerError {
    /// The server's error message.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the database can't be opened because the server is still closing it. A database that another server
    /// holds gives the same SQLSTATE.
    pub(crate) fn is_unloading(&self) -> bool {
        self.code == "55006" && self.text.contains("still in use")
    }
}

impl From<ServerError> for Error {
    fn from(error: ServerError) -> Self {
        Error::refused(HYPER.name, &error.code, format!("{} ({})", error.text, error.code))
    }
}

/// The number of rows at the end of a command tag, such as `INSERT 0 3`.
pub(super) fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The number of rows that a statement changed, by its command tag: `INSERT 0 3`, `DELETE 3`. A `SELECT 3` changed none.
pub(crate) fn rows_changed(tag: &str) -> u64 {
    let changes = ["INSERT", "UPDATE", "DELETE", "COPY"].iter().any(|kind| tag.starts_with(kind));
    if changes { rows_of(tag) } else { 0 }
}

/// The text before a terminating zero.
pub(super) fn text_of(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

pub(super) fn error_of(body: &[u8]) -> ServerError {
    let field = |kind: u8| {
        let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind))?;
        Some(String::from_utf8_lossy(&field[1..]).into_owned())
    };
    let mut text = field(b'M').unwrap_or_else(|| "an error without words".to_owned());
    for (kind, name) in [(b'D', "detail"), (b'H', "hint")] {
        if let Some(more) = field(kind).filter(|more| !more.is_empty()) {
            text = format!("{text}; {name}: {more}");
        }
    }
    ServerError { code: field(b'C').unwrap_or_default(), text }
}

/// The values of a row as texts, `None` for NULL.
pub(super) fn row_of(body: &[u8]) -> Result<Vec<Option<String>>> {
    if body.len() < 2 {
        return Err(malformed());
    }
    let text = |value: Option<&[u8]>| value.map(|value| String::from_utf8_lossy(value).into_owned());
    values_of(body).map(|value| value.map(text)).collect()
}

pub(super) fn fields_of(body: &[u8]) -> Option<Vec<Field>> {
    let (count, mut rest) = body.split_at_checked(2)?;
    let count = u16::from_be_bytes(count.try_into().ok()?);
    let mut fields = Vec::with_capacity(count.into());
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        // Table, column, type, size, modifier and format follow.
        let (numbers, after) = rest[end + 1..].split_at_checked(18)?;
        fields.push(Field {
            name: String::from_utf8_lossy(&rest[..end]).into_owned(),
            type_id: u32::from_be_bytes(numbers[6..10].try_into().ok()?),
            modifier: i32::from_be_bytes(numbers[12..16].try_into().ok()?),
        });
        rest = after;
    }
    Some(fields)
}

/// The values of a row, `None` for NULL, or an error if the bytes are no valid row.
pub(crate) fn values_of(body: &[u8]) -> impl Iterator<Item = Result<Option<&[u8]>>> {
    let (count, mut rest) = body.split_at_checked(2).unwrap_or_default();
    let count = count.try_into().map_or(0, u16::from_be_bytes);
    (0..count).map(move |_| {
        let (length, after) = rest.split_first_chunk().ok_or_else(malformed)?;
        rest = after;
        // -1 is NULL.
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else { return Ok(None) };
        let (value, after) = rest.split_at_checked(length).ok_or_else(malformed)?;
        rest = after;
        Ok(Some(value))
    })
}

pub(super) fn malformed() -> Error {
    engine_error("the server sent a malformed message")
}

/// A count of parameters in the protocol's encoding.
fn count_of(parameters: usize) -> Result<[u8; 2]> {
    let count = u16::try_from(parameters)
        .map_err(|_| Error::InvalidArgument("a statement takes at most 65535 parameters".to_owned()))?;
    Ok(count.to_be_bytes())
}

/// The body of the Parse message of an unnamed statement.
pub(super) fn parse_body(sql: &str, types: &[u32]) -> Result<Vec<u8>> {
    let mut body = vec![0];
    body.extend_from_slice(sql.as_bytes());
    body.push(0);
    body.extend_from_slice(&count_of(types.len())?);
    body.extend(types.iter().flat_map(|type_id| type_id.to_be_bytes()));
    Ok(body)
}

/// The body of the Bind message. It gives the unnamed statement its values.
pub(super) fn bind_body(values: &[Option<Parameter>]) -> Result<Vec<u8>> {
    let count = count_of(values.len())?;
    // The portal and the statement, both without a name.
    let mut body = vec![0, 0];
    body.extend_from_slice(&count);
    let format = |value: &Option<Parameter>| u16::from(matches!(value, Some(Parameter::Binary(_)))).to_be_bytes();
    body.extend(values.iter().flat_map(format));
    body.extend_from_slice(&count);
    for (index, value) in values.iter().enumerate() {
        let bytes = match value {
            None => {
                body.extend_from_slice(&(-1_i32).to_be_bytes());
                continue;
            }
            Some(Parameter::Text(text)) => text.as_bytes(),
            Some(Parameter::Binary(bytes)) => bytes,
        };
        let length =
            i32::try_from(bytes.len()).map_err(|_| unusable_parameter(index + 1, "2 GiB and more are too long"))?;
        body.extend_from_slice(&length.to_be_bytes());
        body.extend_from_slice(bytes);
    }
    body.extend([1, HYPER_BINARY].iter().flat_map(|word: &u16| word.to_be_bytes()));
    Ok(body)
}
