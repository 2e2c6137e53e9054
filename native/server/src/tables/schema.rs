//! The schema of a point table: its columns, and how their values are read from JSON and written as keys.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::row::escaped;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// An integer of 32 bits.
    Int,
    /// Text of at most this many characters.
    Varchar(u32),
    /// At most this many bytes; base64 in JSON.
    Varbinary(u32),
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnType,
    /// The name as JSON, with the colon after it.
    pub(crate) label: Vec<u8>,
}

/// A table. The key's columns come first.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    /// The number of columns that make the key.
    pub(crate) key_columns: usize,
}

/// Why a value does not fit its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Invalid {
    /// The value is of another type.
    Type,
    /// The value is too long, or too large a number.
    TooBig,
}

impl Column {
    pub(crate) fn new(name: &str, kind: ColumnType) -> Self {
        let mut label = Vec::new();
        escaped(name, &mut label);
        label.push(b':');
        Self { name: name.to_owned(), kind, label }
    }
}

impl ColumnType {
    /// The name of the type in SQL.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Varchar(_) => "VARCHAR",
            Self::Varbinary(_) => "VARBINARY",
        }
    }

    /// Appends a JSON value to a key, encoded so that keys sort as their values do and no key is a prefix of another of its
    /// table.
    pub(crate) fn write_key(self, value: &RawValue, key: &mut Vec<u8>) -> Result<(), Invalid> {
        match self {
            Self::Int => {
                let number = integer(value)?;
                key.extend_from_slice(&(number.cast_unsigned() ^ (1 << 31)).to_be_bytes());
            }
            Self::Varchar(most) => {
                let text = text(value)?;
                check_characters(&text, most)?;
                write_sized(text.as_bytes(), key);
            }
            Self::Varbinary(most) => {
                let bytes = binary(value, most)?;
                write_sized(&bytes, key);
            }
        }
        Ok(())
    }

    /// Reads one value of a key, appends it as JSON, and returns the rest of the key.
    pub(crate) fn read_key<'key>(self, key: &'key [u8], json: &mut Vec<u8>) -> Option<&'key [u8]> {
        match self {
            Self::Int => {
                let (number, rest) = key.split_first_chunk()?;
                let number = (u32::from_be_bytes(*number) ^ (1 << 31)).cast_signed();
                json.extend_from_slice(number.to_string().as_bytes());
                Some(rest)
            }
            Self::Varchar(_) => {
                let (bytes, rest) = read_sized(key)?;
                escaped(std::str::from_utf8(bytes).ok()?, json);
                Some(rest)
            }
            Self::Varbinary(_) => {
                let (bytes, rest) = read_sized(key)?;
                quoted_base64(bytes, json);
                Some(rest)
            }
        }
    }

    /// Appends a value in the JSON that a row stores and a response contains.
    pub(crate) fn write_json(self, value: &RawValue, json: &mut Vec<u8>) -> Result<(), Invalid> {
        if value.get() == "null" {
            json.extend_from_slice(b"null");
            return Ok(());
        }
        match self {
            Self::Int => json.extend_from_slice(integer(value)?.to_string().as_bytes()),
            Self::Varchar(most) => {
                let text = text(value)?;
                check_characters(&text, most)?;
                escaped(&text, json);
            }
            Self::Varbinary(most) => quoted_base64(&binary(value, most)?, json),
        }
        Ok(())
    }
}

impl Table {
    /// The name of the table's keyspace in the store.
    pub(crate) fn keyspace(&self) -> String {
        let mut name = String::new();
        for part in [&self.database, &self.name] {
            // A table's name may hold any character, a keyspace's only some.
            for byte in part.bytes() {
                if byte.is_ascii_alphanumeric() || byte == b'_' {
                    name.push(char::from(byte));
                } else {
                    let _ = write!(name, "#{byte:02x}");
                }
            }
            name.push('.');
        }
        name
    }

    /// The index of the column with that name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// The columns of the key.
    pub(crate) fn key(&self) -> &[Column] {
        &self.columns[..self.key_columns]
    }

    /// The columns outside the key.
    pub(crate) fn values(&self) -> &[Column] {
        &self.columns[self.key_columns..]
    }
}

/// A JSON integer of 32 bits.
fn integer(value: &RawValue) -> Result<i32, Invalid> {
    let text = value.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Invalid::Type);
    }
    text.parse().map_err(|_| Invalid::TooBig)
}

fn text(value: &RawValue) -> Result<String, Invalid> {
    serde_json::from_str(value.get()).map_err(|_| Invalid::Type)
}

fn check_characters(text: &str, most: u32) -> Result<(), Invalid> {
    if text.chars().count() > most as usize { Err(Invalid::TooBig) } else { Ok(()) }
}

/// The bytes of a base64 JSON string.
fn binary(value: &RawValue, most: u32) -> Result<Vec<u8>, Invalid> {
    let text = value.get();
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).ok_or(Invalid::Type)?;
    // JSON may escape the slashes of base64.
    let decoded = if inner.contains('\\') {
        STANDARD.decode(serde_json::from_str::<String>(text).map_err(|_| Invalid::Type)?)
    } else {
        STANDARD.decode(inner)
    };
    let bytes = decoded.map_err(|_| Invalid::Type)?;
    if bytes.len() > most as usize { Err(Invalid::TooBig) } else { Ok(bytes) }
}

/// Appends bytes as a base64 JSON string.
pub(super) fn quoted_base64(bytes: &[u8], json: &mut Vec<u8>) {
    json.push(b'"');
    let start = json.len();
    let encoded = base64::encoded_len(bytes.len(), true).unwrap_or(0);
    json.resize(start + encoded, 0);
    let written = STANDARD.encode_slice(bytes, &mut json[start..]).unwrap_or(0);
    json.truncate(start + written);
    json.push(b'"');
}

fn write_sized(bytes: &[u8], key: &mut Vec<u8>) {
    // A column holds far fewer than 64 KiB; its length was checked before.
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    key.extend_from_slice(&length.to_be_bytes());
    key.extend_from_slice(bytes);
}

fn read_sized(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn values_of_another_type_or_too_big_are_refused() {
        let cases = [
            (ColumnType::Int, "\"5\"", Invalid::Type),
            (ColumnType::Int, "5.0", Invalid::Type),
            (ColumnType::Int, "1e3", Invalid::Type),
            (ColumnType::Int, "2147483648", Invalid::TooBig),
            (ColumnType::Int, "true", Invalid::Type),
            (ColumnType::Varchar(2), "5", Invalid::Type),
            (ColumnType::Varchar(2), "\"abc\"", Invalid::TooBig),
            (ColumnType::Varbinary(2), "\"=\"", Invalid::Type),
            (ColumnType::Varbinary(2), "[]", Invalid::Type),
            (ColumnType::Varbinary(2), "\"YWJj\"", Invalid::TooBig),
        ];
        for (kind, json, expected) in cases {
            assert_eq!(kind.write_key(&raw(json), &mut Vec::new()), Err(expected), "{kind:?} {json}");
            assert_eq!(kind.write_json(&raw(json), &mut Vec::new()), Err(expected), "{kind:?} {json}");
        }
        // The length of text counts characters, not bytes.
        assert!(ColumnType::Varchar(2).write_key(&raw("\"äß\""), &mut Vec::new()).is_ok());
        assert!(ColumnType::Varbinary(3).write_key(&raw(r#""\/\/\/\/""#), &mut Vec::new()).is_ok());
    }

    #[test]
    fn a_keyspace_is_its_own() {
        let table = |database: &str, name: &str| Table {
            database: database.to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            key_columns: 0,
        };
        assert_ne!(table("a.b", "c").keyspace(), table("a", "b.c").keyspace());
        assert_eq!(table("rdrs_bench", "table_1").keyspace(), "rdrs_bench.table_1.");
    }

    proptest! {
        #[test]
        fn keys_sort_as_their_numbers_and_read_back(left: i32, right: i32) {
            let key = |number: i32| {
                let mut key = Vec::new();
                ColumnType::Int.write_key(&raw(&number.to_string()), &mut key).unwrap();
                key
            };
            let (first, second) = (key(left), key(right));
            prop_assert_eq!(first.cmp(&second), left.cmp(&right));
            let mut json = Vec::new();
            prop_assert_eq!(ColumnType::Int.read_key(&first, &mut json), Some(&[][..]));
            prop_assert_eq!(json, left.to_string().into_bytes());
        }

        #[test]
        fn text_and_bytes_come_back(text in "\\PC{0,20}", bytes: Vec<u8>) {
            let json = serde_json::to_string(&text).unwrap();
            let mut key = Vec::new();
            ColumnType::Varchar(100).write_key(&raw(&json), &mut key).unwrap();
            let mut back = Vec::new();
            ColumnType::Varchar(100).read_key(&key, &mut back).unwrap();
            prop_assert_eq!(serde_json::from_slice::<String>(&back).unwrap(), text);
            let mut json = Vec::new();
            quoted_base64(&bytes, &mut json);
            let json = String::from_utf8(json).unwrap();
            let mut key = Vec::new();
            ColumnType::Varbinary(1000).write_key(&raw(&json), &mut key).unwrap();
            let mut back = Vec::new();
            ColumnType::Varbinary(1000).read_key(&key, &mut back).unwrap();
            prop_assert_eq!(String::from_utf8(back).unwrap(), json);
        }
    }
}
