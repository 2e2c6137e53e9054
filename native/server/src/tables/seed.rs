//! The tables of `RonDB`'s benchmarks and their first rows.

use super::row::{RowWriter, escaped};
use super::schema::{Column, ColumnType, Table, quoted_base64};

/// First rows of each table.
pub(crate) const ROWS: u32 = 1000;

/// Bytes of a key of `table_2`: zeros, then the row's number as 8 bytes, little-endian.
const BINARY_KEY: usize = 3000;

/// The number of columns of `table_3` outside its key.
const MANY_COLUMNS: usize = 100;

const DATABASE: &str = "rdrs_bench";

/// The three tables of the benchmarks.
pub(super) fn tables() -> [Table; 3] {
    let column = Column::new;
    let table =
        |name: &str, columns| Table { database: DATABASE.to_owned(), name: name.to_owned(), columns, key_columns: 1 };
    let text = ColumnType::Varchar(100);
    let many = (0..MANY_COLUMNS).map(|index| column(&format!("col{index}"), text));
    [
        table("table_1", vec![column("id0", ColumnType::Int), column("col0", text)]),
        table("table_2", vec![column("id0", ColumnType::Varbinary(3000)), column("col0", ColumnType::Varbinary(100))]),
        table("table_3", std::iter::once(column("id0", ColumnType::Int)).chain(many).collect()),
    ]
}

/// The keys and rows that a new table gets.
pub(super) fn rows(table: &Table) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    (0..ROWS).map(move |number| (key(table, number), row(table)))
}

fn key(table: &Table, number: u32) -> Vec<u8> {
    match table.columns[0].kind {
        ColumnType::Varbinary(_) => {
            let mut key = u16::try_from(BINARY_KEY).unwrap_or(u16::MAX).to_be_bytes().to_vec();
            key.resize(2 + BINARY_KEY - size_of::<u64>(), 0);
            key.extend_from_slice(&u64::from(number).to_le_bytes());
            key
        }
        _ => (number ^ (1 << 31)).to_be_bytes().to_vec(),
    }
}

fn row(table: &Table) -> Vec<u8> {
    let values = table.values();
    let mut writer = RowWriter::new(values.len());
    for column in values {
        match column.kind {
            ColumnType::Varbinary(most) => quoted_base64(&vec![b'a'; most as usize], writer.value()),
            _ if values.len() == 1 => escaped(&"a".repeat(100), writer.value()),
            _ => escaped("abcd", writer.value()),
        }
        writer.end_value();
    }
    writer.finish()
}
