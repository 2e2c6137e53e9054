//! Clients of a shard that do not send or do not read delay no other clients, and are disconnected in the end. A population
//! takes effect as a whole, or not at all.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_kernel::testing::Folder;
use boundary_bench_shards::proto::shard_service_client::ShardServiceClient;
use boundary_bench_shards::proto::{GetRequest, PopulateBegin, PopulateRequest, PutRequest, ScanRequest};
use boundary_bench_shards::{
    Aggregate, Aggregation, BLOCK_ROWS, Block, Blocks, ClientOptions, Column, Columns, NextBatch, Population, Row,
    ShardClient, ShardLocation, ShardOptions, ShardServer, Store, made_checksum,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

const ROWS: u64 = 20_000;

/// Awaits a call. It must not hang, no matter what other clients do.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), work).await.expect("it hangs")
}

/// A shard, and a client that knows only the proto.
struct Served {
    server: ShardServer,
    raw: ShardServiceClient<Channel>,
}

impl Served {
    async fn new(mut options: ShardOptions, stall_time: Duration) -> Self {
        options.limits.stall_time = stall_time;
        Self::of(ShardServer::start(&options).unwrap()).await
    }

    async fn of(server: ShardServer) -> Self {
        let raw = ShardServiceClient::connect(server.url()).await.unwrap();
        Self { server, raw }
    }

    async fn client(&self) -> ShardClient {
        ShardClient::connect(vec![ShardLocation::Remote(self.server.url())], &ClientOptions::default()).await.unwrap()
    }

    /// A population of which only the beginning is sent. It ends when the sender is dropped, or sends an error.
    async fn silent(&self, rows: u64) -> (mpsc::Sender<PopulateRequest>, JoinHandle<std::result::Result<(), Status>>) {
        let (sender, receiver) = mpsc::channel(4);
        let begin = Some(PopulateBegin { rows, total_rows: rows, replace: true });
        sender.send(PopulateRequest { begin, ..PopulateRequest::default() }).await.unwrap();
        let mut raw = self.raw.clone();
        let call = tokio::spawn(async move { raw.populate(ReceiverStream::new(receiver)).await.map(drop) });
        (sender, call)
    }
}

async fn checksum(client: &ShardClient) -> Result<(u64, u32)> {
    let mut scan = client.scan();
    let (mut rows, mut sum) = (0, 0_u32);
    while let Some(batch) = scan.next().await {
        let batch = batch.map_err(|failure| failure.error)?;
        rows += batch.num_rows() as u64;
        sum = sum.wrapping_add(Columns::of_batch(&batch)?.checksum());
    }
    Ok((rows, sum))
}

/// The options of a shard in memory, and of one on disk.
fn kinds(folder: &Path) -> [ShardOptions; 2] {
    [ShardOptions::default(), ShardOptions { data_dir: Some(folder.to_owned()), ..ShardOptions::default() }]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_population_keeps_nobody_waiting() {
    let folder = Folder::new("silent");
    for options in kinds(&folder.0) {
        let mut served = Served::new(options, Duration::from_secs(600)).await;
        let client = served.client().await;
        soon(client.populate(ROWS, false)).await.unwrap();
        let (sender, call) = served.silent(5).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        // The rows are still there, can be changed, and can be replaced by another population.
        assert_eq!(soon(client.get(17)).await.unwrap(), Some(Row::made(17)));
        soon(served.raw.put(PutRequest { row: Some((&Row::made(-1)).into()) })).await.unwrap();
        assert!(soon(served.raw.get(GetRequest { key: -1 })).await.unwrap().into_inner().row.is_some());
        soon(client.populate(2 * ROWS, true)).await.unwrap();
        assert_eq!(soon(checksum(&client)).await.unwrap(), (2 * ROWS, made_checksum(2 * ROWS)));
        drop(sender);
        assert_eq!(soon(call).await.unwrap().unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(soon(checksum(&client)).await.unwrap(), (2 * ROWS, made_checksum(2 * ROWS)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_population_that_breaks_off_leaves_the_rows_that_were_there() {
    let folder = Folder::new("broken");
    for mut options in kinds(&folder.0) {
        options.limits.stall_time = Duration::from_secs(600);
        let served = Served::of(ShardServer::start(&options).unwrap()).await;
        let client = served.client().await;
        soon(client.populate(ROWS, false)).await.unwrap();
        // The population is under way when its client cancels it.
        for moment in [1, 10, 50] {
            let theirs = served.client().await;
            let filling = tokio::spawn(async move { theirs.populate(5_000_000, true).await });
            tokio::time::sleep(Duration::from_millis(moment)).await;
            filling.abort();
            let _ = filling.await;
        }
        // The population ends before all announced rows were sent.
        let (sender, call) = served.silent(5).await;
        drop(sender);
        soon(call).await.unwrap().unwrap_err();
        let state = soon(client.describe()).await.unwrap();
        assert_eq!(state, [(ROWS, Some(ROWS))]);
        assert_eq!(soon(checksum(&client)).await.unwrap(), (ROWS, made_checksum(ROWS)));
        if options.data_dir.is_some() {
            drop((client, served));
            let served = Served::new(options, Duration::from_secs(600)).await;
            let client = served.client().await;
            assert_eq!(soon(checksum(&client)).await.unwrap(), (ROWS, made_checksum(ROWS)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_population_that_sends_nothing_ends() {
    let folder = Folder::new("ends");
    for options in kinds(&folder.0) {
        let served = Served::new(options, Duration::from_millis(400)).await;
        let (_sender, call) = served.silent(5).await;
        let status = soon(call).await.unwrap().unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        assert_eq!(status.metadata().get("bb-code").unwrap(), "BB_TIMEOUT");
        assert!(status.message().contains("--stall-timeout"), "{status:?}");
        // The client sends no message at all.
        let (_sender, receiver) = mpsc::channel::<PopulateRequest>(1);
        let status = soon(served.raw.clone().populate(ReceiverStream::new(receiver))).await.unwrap_err();
        assert_eq!(status.code(), Code::DeadlineExceeded);
    }
}

/// A store of endless rows. It counts the open scans. On disk, its calls may block.
struct Slow {
    block: Arc<Block>,
    is_on_disk: bool,
    scans: Arc<AtomicUsize>,
}

impl Slow {
    fn new(is_on_disk: bool) -> Self {
        let mut block = Block::with_capacity(BLOCK_ROWS);
        (0..4096).for_each(|key| block.push(&Row::made(key)));
        Self { block: Arc::new(block), is_on_disk, scans: Arc::default() }
    }
}

/// Counts a scan as open until it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Store for Slow {
    fn rows(&self) -> u64 {
        0
    }

    fn get(&self, key: i64) -> Result<Option<Row>> {
        Ok(Some(Row::made(key)))
    }

    fn put(&self, _: Columns<'_>) -> Result<()> {
        Ok(())
    }

    fn scan(&self) -> Blocks {
        self.scans.fetch_add(1, Ordering::Relaxed);
        let (block, counted) = (Arc::clone(&self.block), Counted(Arc::clone(&self.scans)));
        Box::new(std::iter::from_fn(move || {
            let _ = &counted;
            Some(Ok(Arc::clone(&block)))
        }))
    }

    fn aggregate(&self, aggregation: &Aggregation, _: &CancelToken) -> Result<Aggregate> {
        let mut all = Aggregate::none(aggregation.column);
        all.add(aggregation, self.block.columns());
        Ok(all)
    }

    fn populate(&self, _: &Population, _: &mut NextBatch<'_>) -> Result<()> {
        Ok(())
    }

    fn populated(&self) -> Option<u64> {
        None
    }

    fn is_persistent(&self) -> bool {
        self.is_on_disk
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_that_nobody_reads_keep_nobody_waiting() {
    /// More than the blocking threads of a runtime.
    const MANY: usize = 560;
    let store = Slow::new(true);
    let open = Arc::clone(&store.scans);
    let mut options = ShardOptions::default();
    options.limits.stall_time = Duration::from_secs(600);
    let mut served = Served::of(ShardServer::serve(&options, Arc::new(store)).unwrap()).await;
    let mut unread = Vec::new();
    for _ in 0..MANY {
        unread.push(soon(served.raw.scan(ScanRequest {})).await.unwrap());
    }
    assert_eq!(open.load(Ordering::Relaxed), MANY);
    // Each of these calls needs a thread that may block. They have their own connections, since unread scans fill theirs.
    let client = served.client().await;
    let mut other = ShardServiceClient::connect(served.server.url()).await.unwrap();
    let aggregation = Aggregation { column: Column::Key, filter: None };
    assert_eq!(soon(client.aggregate(&aggregation)).await.unwrap().count, 4096);
    soon(other.put(PutRequest { row: Some((&Row::made(1)).into()) })).await.unwrap();
    let mut read = soon(other.scan(ScanRequest {})).await.unwrap().into_inner();
    assert!(soon(read.message()).await.unwrap().is_some());
    drop((unread, read));
    soon(async {
        while open.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_that_nobody_reads_ends_and_another_takes_its_place() {
    for is_on_disk in [false, true] {
        let store = Slow::new(is_on_disk);
        let open = Arc::clone(&store.scans);
        let mut options = ShardOptions::default();
        options.limits.stall_time = Duration::from_millis(400);
        options.limits.open = 1;
        let mut served = Served::of(ShardServer::serve(&options, Arc::new(store)).unwrap()).await;
        let mut unread = soon(served.raw.scan(ScanRequest {})).await.unwrap().into_inner();
        soon(async {
            while open.load(Ordering::Relaxed) > 0 {
                match served.raw.scan(ScanRequest {}).await {
                    Ok(_) => break,
                    Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        let status = loop {
            match soon(unread.message()).await {
                Ok(message) => assert!(message.is_some(), "a scan that was cut has an end"),
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
        assert!(status.message().contains("--stall-timeout"), "{status:?}");
    }
}
