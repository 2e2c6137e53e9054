//! Inserts by the classes of `hyperdb-api`.

use boundary_bench_core::Result;
use boundary_bench_core::measurements::Measurement;
use hyperdb_api::{
    AsyncArrowInserter, AsyncConnection, ChunkSender, InsertChunk, Inserter, SqlType, TableDefinition,
};

use super::{Session, refused};

/// The rows that the guide sends at once as Arrow: one batch of the IPC stream.
pub const ROWS_OF_A_SEND: u32 = 100_000;

/// What the guide gives the Arrow inserter.
const FLUSH_THRESHOLD: usize = 16 << 20;

/// The table of measurements as `hyperdb-api` defines it.
fn definition(table: &str) -> TableDefinition {
    TableDefinition::new(table)
        .add_required_column("id", SqlType::int())
        .add_nullable_column("sensor_id", SqlType::int())
        .add_nullable_column("value", SqlType::double())
        .add_nullable_column("timestamp", SqlType::big_int())
}

/// `Inserter (HyperBinary)`: rows value by value into one COPY. Returns the number of rows that the server stored.
///
/// `next_piece` fills the next piece of input, and returns whether there is one. It is called when the client has
/// handed what the last piece filled of its chunks to the system; whether the server has stored them nobody can ask it
/// before the end of the COPY.
///
/// # Errors
/// [`boundary_bench_core::Error::Engine`]; then nothing is stored once the connection is dropped.
pub fn insert_rows(
    connection: &Session,
    table: &str,
    mut next_piece: impl FnMut(&mut Vec<Measurement>) -> bool,
) -> Result<u64> {
    let mut inserter = Inserter::new(connection.get()?, &definition(table)).map_err(refused)?;
    let mut rows = Vec::new();
    while next_piece(&mut rows) {
        for row in &rows {
            inserter.add_i32(row.id).map_err(refused)?;
            inserter.add_i32(row.sensor_id).map_err(refused)?;
            inserter.add_f64(row.value).map_err(refused)?;
            inserter.add_i64(row.timestamp).map_err(refused)?;
            inserter.end_row().map_err(refused)?;
        }
    }
    inserter.execute().map_err(refused)
}

/// `ChunkSender`: rows are encoded into chunks by as many threads as there are, and sent by whoever has one ready into
/// one COPY.
pub struct RowsSender<'connection> {
    sender: ChunkSender<'connection>,
    table: TableDefinition,
}

impl<'connection> RowsSender<'connection> {
    /// Begins an insert.
    ///
    /// # Errors
    /// [`boundary_bench_core::Error::Engine`].
    pub fn begin(connection: &'connection Session, table: &str) -> Result<Self> {
        let table = definition(table);
        Ok(Self { sender: ChunkSender::new(connection.get()?, &table).map_err(refused)?, table })
    }

    /// The work of one thread; see [`insert_rows`] for `next_piece`.
    ///
    /// # Errors
    /// As [`insert_rows`].
    pub fn send(&self, mut next_piece: impl FnMut(&mut Vec<Measurement>) -> bool) -> Result<()> {
        let mut rows = Vec::new();
        let mut chunk = InsertChunk::from_table_definition(&self.table);
        while next_piece(&mut rows) {
            for row in &rows {
                chunk.add_i32(row.id).map_err(refused)?;
                chunk.add_i32(row.sensor_id).map_err(refused)?;
                chunk.add_f64(row.value).map_err(refused)?;
                chunk.add_i64(row.timestamp).map_err(refused)?;
                chunk.end_row().map_err(refused)?;
                if chunk.should_flush() {
                    self.sender.send_chunk(chunk).map_err(refused)?;
                    // A new one, as the guide has it: sending takes its buffer away.
                    chunk = InsertChunk::from_table_definition(&self.table);
                }
            }
        }
        self.sender.send_chunk(chunk).map_err(refused)
    }

    /// Ends the COPY when all threads have sent theirs, and returns the number of rows that the server stored.
    ///
    /// # Errors
    /// As [`insert_rows`].
    pub fn finish(self) -> Result<u64> {
        self.sender.finish().map_err(refused)
    }
}

/// `AsyncArrowInserter`: the bytes of one Arrow IPC stream, a send for each piece of it. The pieces must be of one
/// stream: the server stops at its end marker, and would lose whatever came after it without a word.
///
/// # Errors
/// [`boundary_bench_core::Error::Engine`]; then nothing is stored.
pub async fn insert_ipc(connection: &AsyncConnection, table: &str, pieces: &[Vec<u8>]) -> Result<u64> {
    let inserter = AsyncArrowInserter::new(connection, &definition(table)).map_err(refused)?;
    let mut inserter = inserter.with_flush_threshold(FLUSH_THRESHOLD);
    for piece in pieces {
        if let Err(error) = inserter.insert_raw(piece).await {
            inserter.cancel().await;
            return Err(refused(error));
        }
    }
    inserter.execute().await.map_err(refused)
}
