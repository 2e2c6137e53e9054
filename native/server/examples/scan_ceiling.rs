//! Measures what the network of one machine leaves of a scan: the rows of three shards read in place, read after a copy in
//! memory, read over bare loopback sockets from three processes, and read over gRPC from three shards. Each way sums every
//! value. Prints millions of rows a second, the median of the rounds. `node bench/hybrid-ceiling.mjs` builds and runs it.
//!
//!   `scan_ceiling [ROWS] [ROUNDS]`
#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use arrow_buffer::MutableBuffer;
use boundary_bench_core::engine::CancelToken;
use boundary_bench_core::{Error, Result};
use boundary_bench_server::ShardProcesses;
use boundary_bench_shards::{
    BLOCK_ROWS, Block, ClientOptions, Columns, MemoryStore, Place, ROW_BYTES, Row, ShardClient, Store, made_checksum,
};
use tokio::runtime::Builder;

const SHARDS: u32 = 3;

/// Bytes of a full block.
const BLOCK_BYTES: usize = BLOCK_ROWS * ROW_BYTES;

/// The first argument of a sender process.
const SEND: &str = "send";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if_eq(SEND).is_some() {
        let [port, first, blocks] = [(); 3].map(|()| number(arguments.next(), 0));
        return send(u16::try_from(port?).unwrap_or(0), first?, blocks?);
    }
    let (rows, rounds) = (number(arguments.next(), 750_000)?, number(arguments.next(), 9)?);
    // Each shard has whole blocks, since the bare sockets send no lengths.
    let blocks = (rows / u64::from(SHARDS)).div_ceil(BLOCK_ROWS as u64).max(1);
    let rows = blocks * BLOCK_ROWS as u64 * u64::from(SHARDS);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(failed)?;
    let stores: Vec<Arc<dyn Store>> = (0..SHARDS).map(|_| Arc::new(MemoryStore::new()) as Arc<dyn Store>).collect();
    let processes = ShardProcesses::start(None, &[], SHARDS, None, &CancelToken::default())?;
    let places = stores.iter().map(|store| Place::Direct(Arc::clone(store))).collect();
    let connect = |places| runtime.block_on(ShardClient::connect(places, &ClientOptions::default()));
    let (direct, grpc) = (connect(places)?, connect(processes.places())?);
    for client in [&direct, &grpc] {
        runtime.block_on(client.populate(rows, true))?;
    }
    let mut senders = Senders::start(blocks)?;
    let expected = made_checksum(rows);
    let mut rates = [const { Vec::new() }; 4];
    for _ in 0..rounds {
        for (side, rates) in rates.iter_mut().enumerate() {
            let start = Instant::now();
            let sum = match side {
                0 => read(&stores, |columns| columns.checksum())?,
                1 => read_copies(&stores)?,
                2 => senders.receive(blocks)?,
                _ => runtime.block_on(scan(&grpc))?,
            };
            rates.push(rows as f64 / start.elapsed().as_secs_f64() / 1e6);
            assert_eq!(sum, expected, "the rows read are not those that were written");
        }
    }
    println!("{rows} rows of {ROW_BYTES} bytes, {SHARDS} shards, {rounds} rounds");
    println!("| Scan | M rows/s | GB/s | to bare sockets |\n| --- | ---: | ---: | ---: |");
    let medians = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied().unwrap_or_default()
    });
    let sides = ["read in place", "copied in memory, then read", "bare sockets", "gRPC"];
    for (side, rate) in sides.into_iter().zip(medians) {
        println!("| {side} | {rate:.1} | {:.1} | {:.2}x |", rate * ROW_BYTES as f64 / 1e3, rate / medians[2]);
    }
    Ok(())
}

/// Sums the blocks of all shards in place.
fn read(stores: &[Arc<dyn Store>], mut sum: impl FnMut(Columns<'_>) -> u32) -> Result<u32> {
    let mut blocks = stores.iter().flat_map(|store| store.scan());
    blocks.try_fold(0_u32, |all, block| Ok(all.wrapping_add(sum(block?.columns()))))
}

/// Sums the blocks after copying each: the ceiling without a network.
fn read_copies(stores: &[Arc<dyn Store>]) -> Result<u32> {
    let (mut keys, mut quantities, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    let (mut updated_at, mut payloads) = (Vec::new(), Vec::new());
    read(stores, |columns| {
        copy(columns.keys, &mut keys);
        copy(columns.quantities, &mut quantities);
        copy(columns.prices, &mut prices);
        copy(columns.updated_at, &mut updated_at);
        copy(columns.payloads, &mut payloads);
        let copies = Columns {
            keys: &keys,
            quantities: &quantities,
            prices: &prices,
            updated_at: &updated_at,
            payloads: &payloads,
        };
        copies.checksum()
    })
}

fn copy<T: Copy>(values: &[T], into: &mut Vec<T>) {
    into.clear();
    into.extend_from_slice(values);
}

async fn scan(client: &ShardClient) -> Result<u32> {
    let mut scan = client.scan();
    let mut sum = 0_u32;
    while let Some(batch) = scan.next().await {
        let batch = batch.map_err(|failure| failure.error)?;
        sum = sum.wrapping_add(Columns::of_batch(&batch)?.checksum());
    }
    Ok(sum)
}

/// The columns of a full block as they are sent, one after another.
fn columns_of(block: &MutableBuffer) -> Columns<'_> {
    let (long, short) = (block.typed_data::<i64>(), block.typed_data::<i32>());
    Columns {
        keys: &long[..BLOCK_ROWS],
        quantities: &short[8 * BLOCK_ROWS / 4..][..BLOCK_ROWS],
        prices: &block.typed_data::<f64>()[12 * BLOCK_ROWS / 8..][..BLOCK_ROWS],
        updated_at: &long[20 * BLOCK_ROWS / 8..][..BLOCK_ROWS],
        payloads: &block[28 * BLOCK_ROWS..],
    }
}

/// The processes that send rows over bare sockets.
struct Senders {
    processes: Vec<Child>,
    connections: Vec<TcpStream>,
}

impl Senders {
    fn start(blocks: u64) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let program = std::env::current_exe().map_err(failed)?;
        let rows = blocks * BLOCK_ROWS as u64;
        let mut senders = Self { processes: Vec::new(), connections: Vec::new() };
        for shard in 0..u64::from(SHARDS) {
            let arguments = [u64::from(port), shard * rows, blocks].map(|number| number.to_string());
            let process = Command::new(&program).arg(SEND).args(arguments).stdin(Stdio::null()).spawn();
            senders.processes.push(process.map_err(failed)?);
            senders.connections.push(listener.accept().map_err(failed)?.0);
        }
        Ok(senders)
    }

    /// Receives and sums all rows of all senders, with a thread for each.
    fn receive(&mut self, blocks: u64) -> Result<u32> {
        std::thread::scope(|scope| {
            let receive = |connection: &mut TcpStream| -> Result<u32> {
                connection.write_all(&[1]).map_err(failed)?;
                let mut memory = MutableBuffer::from_len_zeroed(BLOCK_BYTES);
                let mut sum = 0_u32;
                for _ in 0..blocks {
                    connection.read_exact(&mut memory).map_err(failed)?;
                    sum = sum.wrapping_add(columns_of(&memory).checksum());
                }
                Ok(sum)
            };
            let threads: Vec<_> =
                self.connections.iter_mut().map(|connection| scope.spawn(move || receive(connection))).collect();
            threads.into_iter().try_fold(0_u32, |all, thread| {
                let sum = thread.join().map_err(|_| Error::Internal("a receiver panicked".to_owned()))?;
                Ok(all.wrapping_add(sum?))
            })
        })
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        // The senders end when their connections close.
        self.connections.clear();
        for process in &mut self.processes {
            let _ = process.wait();
        }
    }
}

/// Sends blocks of rows with keys from `first` on, once for each byte received.
fn send(port: u16, first: u64, blocks: u64) -> Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let mut memory = MutableBuffer::new(0);
    for block in 0..blocks {
        let start = first + block * BLOCK_ROWS as u64;
        let mut rows = Block::with_capacity(BLOCK_ROWS);
        (start..start + BLOCK_ROWS as u64).for_each(|key| rows.push(&Row::made(key.cast_signed())));
        let Columns { keys, quantities, prices, updated_at, payloads } = rows.columns();
        memory.extend_from_slice(keys);
        memory.extend_from_slice(quantities);
        memory.extend_from_slice(prices);
        memory.extend_from_slice(updated_at);
        memory.extend_from_slice(payloads);
    }
    while connection.read(&mut [0]).map_err(failed)? == 1 {
        for block in memory.chunks(BLOCK_BYTES) {
            connection.write_all(block).map_err(failed)?;
        }
    }
    Ok(())
}

fn number(argument: Option<String>, otherwise: u64) -> Result<u64> {
    let number = argument.map_or(Ok(otherwise), |number| number.parse());
    number.map_err(|error| Error::InvalidArgument(format!("a number: {error}")))
}

fn failed(source: std::io::Error) -> Error {
    Error::Io { path: "the loopback".to_owned(), source: Arc::new(source) }
}
