//! The contents of packets: numbers and texts in them, and the packets that the server sends.

use std::fmt;

use boundary_bench_kernel::Error;

use crate::{NAME, engine_error};

/// Flags of capabilities: the server's in its greeting, and the client's in its response.
pub(crate) mod capability {
    pub const LONG_PASSWORD: u64 = 1;
    pub const FOUND_ROWS: u64 = 1 << 1;
    pub const LONG_FLAG: u64 = 1 << 2;
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const PROTOCOL_41: u64 = 1 << 9;
    pub const SSL: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    pub const MULTI_RESULTS: u64 = 1 << 17;
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    pub const PLUGIN_AUTH_LENENC_DATA: u64 = 1 << 21;
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// `MariaDB` only: one packet runs a statement for many rows.
    pub const BULK_OPERATIONS: u64 = 1 << 34;
    /// `MariaDB` only: the columns of a prepared statement are not sent again with each result.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

/// The codes of commands.
pub(crate) mod command {
    pub const QUIT: u8 = 0x01;
    pub const QUERY: u8 = 0x03;
    pub const PING: u8 = 0x0e;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// The numbers of column types.
pub(crate) mod type_id {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// The number of the character set of bytes that are no text.
pub(crate) const BINARY_CHARSET: u16 = 63;

/// The flag of columns without negative numbers.
const UNSIGNED: u16 = 32;

/// The errors of a server that no longer has a prepared statement: its number is unknown (1243), or it must be prepared again (1615).
const FORGOTTEN: [u16; 2] = [1243, 1615];

/// The errors of a server that ends the connection: somebody has killed it (1927), or it was idle for too long (4031).
const ENDED: [u16; 2] = [1927, 4031];

/// The error of a server that keeps as many prepared statements as it may, counting the statements of all sessions.
const TOO_MANY_STATEMENTS: u16 = 1461;

/// Status flags of answers: a transaction is open, another result follows this one.
const IN_TRANSACTION: u16 = 1;
const AUTOCOMMITS: u16 = 2;
const MORE_RESULTS: u16 = 8;

/// A reader of a packet from its start. Its methods return `None` if the packet is too short.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Whether all bytes were read: `None` if there are more.
    pub(crate) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }

    pub(crate) fn until_nul(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// Reads a length-encoded integer of 1 to 9 bytes.
    pub(crate) fn length(&mut self) -> Option<u64> {
        match self.u8()? {
            0xfc => self.u16().map(u64::from),
            0xfd => self.array::<3>().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]).into()),
            0xfe => self.u64(),
            0xfb | 0xff => None,
            small => Some(small.into()),
        }
    }

    /// Reads bytes preceded by their length.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(usize::try_from(length).ok()?)
    }

    /// Reads bytes as [`Bytes::text`] does. The byte 0xfb instead of a length stands for null.
    #[expect(clippy::option_option, reason = "too short, null, or a text")]
    pub(crate) fn nullable_text(&mut self) -> Option<Option<&'a [u8]>> {
        if let Some(rest) = self.0.strip_prefix(&[0xfb]) {
            self.0 = rest;
            return Some(None);
        }
        self.text().map(Some)
    }
}

/// Appends a length-encoded integer. [`Bytes::length`] reads it.
#[expect(clippy::cast_possible_truncation, reason = "each arm's pattern says that it fits")]
pub(crate) fn put_length(target: &mut Vec<u8>, length: usize) {
    match length {
        0..=0xfa => target.push(length as u8),
        0xfb..=0xffff => {
            target.push(0xfc);
            target.extend_from_slice(&(length as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            target.push(0xfd);
            target.extend_from_slice(&(length as u32).to_le_bytes()[..3]);
        }
        _ => {
            target.push(0xfe);
            target.extend_from_slice(&(length as u64).to_le_bytes());
        }
    }
}

/// Appends bytes preceded by their length.
pub(crate) fn put_text(target: &mut Vec<u8>, text: &[u8]) {
    put_length(target, text.len());
    target.extend_from_slice(text);
}

/// The error for a packet that can't be parsed.
pub(crate) fn garbled(what: &str) -> Error {
    engine_error(format!("the server's {what} is not understood; is it a server of the MySQL wire?"))
}

/// The most bytes of an error's message that are kept. The messages of servers have up to 512 characters.
const MOST_MESSAGE: usize = 4 << 10;

/// An error that the server answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// The number of the error, such as 1062 for a duplicate key.
    pub code: u16,
    /// The SQL state, such as `23000`, or "" if the server gave none.
    pub state: String,
    /// The message of the server.
    pub message: String,
}

impl ServerError {
    /// Parses an error packet. It begins with 0xff.
    pub(crate) fn parse(packet: &[u8]) -> Self {
        let mut bytes = Bytes(packet.get(1..).unwrap_or_default());
        let code = bytes.u16().unwrap_or(0);
        let state = match bytes.0.strip_prefix(b"#").and_then(|rest| rest.split_at_checked(5)) {
            Some((state, rest)) => {
                bytes.0 = rest;
                String::from_utf8_lossy(state).into_owned()
            }
            None => String::new(),
        };
        let message = &bytes.0[..bytes.0.len().min(MOST_MESSAGE)];
        Self { code, state, message: String::from_utf8_lossy(message).into_owned() }
    }

    /// Whether the server ends the connection with the error.
    pub(crate) fn ends_connection(&self) -> bool {
        ENDED.contains(&self.code)
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "error {}", self.code)?;
        if !self.state.is_empty() {
            write!(formatter, " ({})", self.state)?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// The reason for which a command failed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The server refused the command. The connection stays usable.
    Refused(ServerError),
    /// The connection is unusable, or could not be opened.
    Lost(Error),
}

/// The outcome of a command.
pub type CommandResult<T> = std::result::Result<T, Failure>;

impl Failure {
    /// The server's number for the error, if it gave one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(error) => Some(error.code),
            Self::Lost(_) => None,
        }
    }

    /// Whether the server said that the command did not succeed, or it was never sent. Otherwise nobody knows what became of it.
    pub(crate) fn is_answered(&self) -> bool {
        !matches!(self, Self::Lost(Error::Connection(_) | Error::Timeout(_)))
    }

    /// Whether the server no longer has the prepared statement that was to run.
    pub(crate) fn is_forgotten(&self) -> bool {
        self.code().is_some_and(|code| FORGOTTEN.contains(&code))
    }

    /// Whether the server can't prepare a statement before another one is closed.
    pub(crate) fn has_too_many(&self) -> bool {
        self.code() == Some(TOO_MANY_STATEMENTS)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => Self::refused(NAME, &error.state, error.to_string()),
            Failure::Lost(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Lost(error)
    }
}

/// The server's answer to a command that returns no rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// The number of rows that were changed, or for an update, matched.
    pub affected_rows: u64,
    /// The first key that the server generated.
    pub last_insert_id: u64,
    /// The number of warnings.
    pub warnings: u16,
    /// Whether a transaction is open after the command.
    pub in_transaction: bool,
    /// Whether the server commits each statement that is in no transaction.
    pub(crate) autocommits: bool,
    /// Whether another result follows.
    pub(crate) has_more: bool,
}

impl Done {
    /// Parses an OK packet behind its first byte.
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(packet.get(1..)?);
        let affected_rows = bytes.length()?;
        let last_insert_id = bytes.length()?;
        let status = bytes.u16()?;
        let warnings = bytes.u16()?;
        Some(Self { affected_rows, last_insert_id, warnings, ..Self::of_status(status) })
    }

    /// Parses an EOF packet. It ends rows unless the server uses OK packets for that.
    pub(crate) fn parse_eof(packet: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(packet.get(1..)?);
        let warnings = bytes.u16()?;
        let status = bytes.u16()?;
        Some(Self { warnings, ..Self::of_status(status) })
    }

    fn of_status(status: u16) -> Self {
        Self {
            in_transaction: status & IN_TRANSACTION != 0,
            autocommits: status & AUTOCOMMITS != 0,
            has_more: status & MORE_RESULTS != 0,
            ..Self::default()
        }
    }
}

/// A column of a result, as the server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name of the column.
    pub name: String,
    /// The number of the column's type.
    pub type_id: u8,
    /// The number of the column's character set.
    pub charset: u16,
    /// The length of the longest value as text.
    pub length: u32,
    /// The flags of the column.
    pub flags: u16,
    /// The number of digits behind the decimal point.
    pub decimals: u8,
    /// Whether it is a column of a table, and not an expression.
    pub of_table: bool,
}

impl Field {
    pub(crate) fn parse(packet: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(packet);
        for _catalog_schema_table in 0..3 {
            bytes.text()?;
        }
        let of_table = !bytes.text()?.is_empty();
        let name = String::from_utf8_lossy(bytes.text()?).into_owned();
        bytes.text()?;
        bytes.length()?;
        Some(Self {
            name,
            charset: bytes.u16()?,
            length: bytes.u32()?,
            type_id: bytes.u8()?,
            flags: bytes.u16()?,
            decimals: bytes.u8()?,
            of_table,
        })
    }

    pub(crate) fn is_unsigned(&self) -> bool {
        self.flags & UNSIGNED != 0
    }

    /// Whether the values are bytes and no texts. Numbers, dates and JSON have the character set of bytes too.
    pub(crate) fn has_bytes(&self) -> bool {
        match self.type_id {
            type_id::BIT | type_id::GEOMETRY | type_id::VECTOR => true,
            type_id::VARCHAR
            | type_id::VAR_STRING
            | type_id::STRING
            | type_id::TINY_BLOB
            | type_id::MEDIUM_BLOB
            | type_id::LONG_BLOB
            | type_id::BLOB => self.charset == BINARY_CHARSET,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_are_read_with_and_without_a_state() {
        let error = ServerError::parse(b"\xff\x26\x04#23000Duplicate entry");
        assert_eq!(error.to_string(), "error 1062 (23000): Duplicate entry");
        assert_eq!(ServerError::parse(b"\xff\x10\x04Too many").to_string(), "error 1040: Too many");
        assert_eq!(ServerError::parse(b"\xff").code, 0);
    }

    proptest! {
        #[test]
        fn lengths_are_read_back(length in prop_oneof![0_usize..0x200, 0_usize..0x2_0000, any::<u32>().prop_map(|n| n as usize)]) {
            let mut bytes = Vec::new();
            put_length(&mut bytes, length);
            prop_assert_eq!(Bytes(&bytes).length(), Some(length as u64));
        }

        #[test]
        fn no_packet_makes_it_panic(packet in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = (ServerError::parse(&packet), Done::parse(&packet), Done::parse_eof(&packet), Field::parse(&packet));
            let _ = Bytes(&packet).nullable_text();
        }
    }
}
