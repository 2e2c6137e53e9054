//! Inserts by the classes of `hyperdb-api`.

use std::sync::{Arc, mpsc};

use boundary_bench_engine::measurements::Measurement;
use boundary_bench_kernel::Result;
use boundary_bench_kernel::error::catch_panic;
use hyperdb_api::{AsyncArrowInserter, AsyncConnection, ChunkSender, InsertChunk, Inserter, SqlType, TableDefinition};

use super::{Session, refused};
use crate::kept;
use crate::warm_thread::WarmThread;

/// The number of rows that the guide sends at once as Arrow: one batch of the IPC stream.
pub const ROWS_OF_A_SEND: u32 = 100_000;

/// The flush threshold of the Arrow inserter in the guide, in bytes.
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
/// `next_piece` fills the next piece of input, and returns whether there is one. It is called after the client has
/// handed the chunks that the last piece filled to the operating system. The server does not tell before the end of the
/// COPY whether it has stored them.
pub fn insert_rows(
    connection: &Session,
    table: &str,
    mut next_piece: impl FnMut(&mut Vec<Measurement>) -> bool,
) -> Result<u64> {
    let mut inserter = Inserter::new(connection.get()?, &definition(table)).map_err(refused)?;
    // A panic that went past the inserter would leave the connection's lock poisoned, and the COPY open.
    catch_panic(|| {
        let mut rows = kept::ROWS.lend();
        while next_piece(&mut rows) {
            for row in &*rows {
                inserter.add_i32(row.id).map_err(refused)?;
                inserter.add_i32(row.sensor_id).map_err(refused)?;
                inserter.add_f64(row.value).map_err(refused)?;
                inserter.add_i64(row.timestamp).map_err(refused)?;
                inserter.end_row().map_err(refused)?;
            }
        }
        Ok(())
    })?;
    inserter.execute().map_err(refused)
}

/// `ChunkSender` by one thread: rows are encoded into chunks, each sent when it is full. See [`insert_rows`].
pub fn insert_chunks(
    connection: &Session,
    table: &str,
    mut next_piece: impl FnMut(&mut Vec<Measurement>) -> bool,
) -> Result<u64> {
    let table = definition(table);
    let sender = ChunkSender::new(connection.get()?, &table).map_err(refused)?;
    // A panic would poison the connection's lock and leave the COPY open, as in `insert_rows`.
    catch_panic(|| {
        let mut chunk = InsertChunk::from_table_definition(&table);
        let mut rows = kept::ROWS.lend();
        while next_piece(&mut rows) {
            for row in &*rows {
                if let Some(full) = add_row(&mut chunk, row, &table)? {
                    sender.send_chunk(full).map_err(refused)?;
                }
            }
        }
        sender.send_chunk(chunk).map_err(refused)
    })?;
    sender.finish().map_err(refused)
}

/// `ChunkSender` by several threads over one connection. A thread for each part encodes its rows into chunks, and the
/// calling thread sends them. (The sender can't be shared, despite its documentation: it holds a lock of its thread.)
/// Returns the number of rows that the server stored.
pub fn insert_chunks_of_threads<I>(connection: &Session, table: &str, parts: Vec<I>) -> Result<u64>
where
    I: Iterator<Item = Measurement> + Send + 'static,
{
    let table = Arc::new(definition(table));
    let sender = ChunkSender::new(connection.get()?, &table).map_err(refused)?;
    let threads = parts.iter().map(|_| WarmThread::take()).collect::<Result<Vec<_>>>()?;
    // The channel is bounded: threads that are ahead wait, rather than hold the whole input as chunks.
    let (chunks, encoded) = mpsc::sync_channel(parts.len());
    let (report, ended) = mpsc::channel();
    for (part, thread) in parts.into_iter().zip(threads) {
        let (table, chunks, report) = (Arc::clone(&table), chunks.clone(), report.clone());
        thread.run(move || encode(part, &table, &chunks), move |result| drop(report.send(result)))?;
    }
    // Each channel now closes when the last thread is done.
    drop((chunks, report));
    let sent = encoded.iter().try_for_each(|chunk| sender.send_chunk(chunk).map_err(refused));
    // Threads that still encode after an error end when their next send fails.
    drop(encoded);
    let ended = ended.iter().fold(Ok(()), Result::and);
    sent.and(ended)?;
    sender.finish().map_err(refused)
}

/// Encodes the rows of one thread. Ends early, without an error, once the receiver of the chunks is dropped.
fn encode(
    rows: impl Iterator<Item = Measurement>,
    table: &TableDefinition,
    chunks: &mpsc::SyncSender<InsertChunk>,
) -> Result<()> {
    let mut chunk = InsertChunk::from_table_definition(table);
    for row in rows {
        if let Some(full) = add_row(&mut chunk, &row, table)?
            && chunks.send(full).is_err()
        {
            return Ok(());
        }
    }
    drop(chunks.send(chunk));
    Ok(())
}

/// Adds a row to a chunk. A full chunk is returned and replaced by a new one, as in the guide: sending consumes a
/// chunk's buffer.
#[inline]
fn add_row(chunk: &mut InsertChunk, row: &Measurement, table: &TableDefinition) -> Result<Option<InsertChunk>> {
    chunk.add_i32(row.id).map_err(refused)?;
    chunk.add_i32(row.sensor_id).map_err(refused)?;
    chunk.add_f64(row.value).map_err(refused)?;
    chunk.add_i64(row.timestamp).map_err(refused)?;
    chunk.end_row().map_err(refused)?;
    Ok(chunk.should_flush().then(|| std::mem::replace(chunk, InsertChunk::from_table_definition(table))))
}

/// `AsyncArrowInserter`: the bytes of one Arrow IPC stream, a send for each piece of it. The pieces must be of one
/// stream: the server stops at its end marker, and drops all bytes after it without an error.
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
