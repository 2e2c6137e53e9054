//! The service as any gRPC client sees it, and the limits of a client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use boundary_bench_kernel::Result;
use boundary_bench_kernel::cancel::CancelToken;
use boundary_bench_shards::proto::shard_service_client::ShardServiceClient;
use boundary_bench_shards::proto::{
    AggregateRequest, GetRequest, MultiGetRequest, PopulateBegin, PopulateRequest, PutManyRequest, PutRequest,
    ScanRequest,
};
use boundary_bench_shards::{
    Aggregate, Aggregation, BLOCK_ROWS, Block, Blocks, ClientOptions, Columns, MemoryStore, NextBatch, Population, Row,
    ShardClient, ShardLocation, ShardOptions, ShardServer, Store,
};
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

/// A store of endless rows. It counts the blocks that were taken.
#[derive(Default)]
struct Endless {
    taken: Arc<AtomicUsize>,
    is_slow: bool,
}

impl Store for Endless {
    fn rows(&self) -> u64 {
        u64::MAX
    }

    fn get(&self, _: i64) -> Result<Option<Row>> {
        panic!("nobody is to ask for a row")
    }

    fn put(&self, _: Columns<'_>) -> Result<()> {
        Ok(())
    }

    fn scan(&self) -> Blocks {
        let taken = Arc::clone(&self.taken);
        let mut block = Block::with_capacity(BLOCK_ROWS);
        (0..4096).for_each(|key| block.push(&Row::made(key)));
        let block = Arc::new(block);
        Box::new(std::iter::from_fn(move || {
            taken.fetch_add(1, Ordering::Relaxed);
            Some(Ok(Arc::clone(&block)))
        }))
    }

    fn aggregate(&self, aggregation: &Aggregation, cancel: &CancelToken) -> Result<Aggregate> {
        loop {
            cancel.check().inspect_err(|_| {
                self.taken.fetch_add(1, Ordering::Relaxed);
            })?;
            std::thread::sleep(Duration::from_millis(1));
            aggregation.validate()?;
        }
    }

    fn populate(&self, _: &Population, next: &mut NextBatch<'_>) -> Result<()> {
        while next()?.is_some() {
            self.taken.fetch_add(1, Ordering::Relaxed);
            if self.is_slow {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    fn populated(&self) -> Option<u64> {
        None
    }

    fn is_persistent(&self) -> bool {
        self.is_slow
    }
}

/// A server, and a client that knows only the proto.
struct Served {
    server: ShardServer,
    client: ShardServiceClient<Channel>,
}

impl Served {
    async fn new(store: Arc<dyn Store>) -> Self {
        let server = ShardServer::serve(&ShardOptions::default(), store).unwrap();
        let client = ShardServiceClient::connect(server.url()).await.unwrap();
        Self { server, client }
    }

    async fn sharded(&self, deadline: Option<Duration>) -> ShardClient {
        let options = ClientOptions { deadline, ..ClientOptions::default() };
        ShardClient::connect(vec![ShardLocation::Remote(self.server.url())], &options).await.unwrap()
    }
}

/// Waits until a count stops changing, and returns it.
async fn settled(count: &AtomicUsize) -> usize {
    let mut last = usize::MAX;
    loop {
        let now = count.load(Ordering::Relaxed);
        if now == last {
            return now;
        }
        last = now;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_that_nobody_reads_stands_still_and_ends_with_its_reader() {
    for is_slow in [false, true] {
        let store = Endless { is_slow, ..Endless::default() };
        let taken = Arc::clone(&store.taken);
        let mut served = Served::new(Arc::new(store)).await;
        let mut scan = served.client.scan(ScanRequest {}).await.unwrap().into_inner();
        scan.message().await.unwrap().unwrap();
        let ahead = settled(&taken).await;
        assert!(ahead * BLOCK_ROWS * 200 < 64 << 20, "{ahead} blocks were taken for nobody");
        for _ in 0..20 {
            scan.message().await.unwrap().unwrap();
        }
        let later = settled(&taken).await;
        assert!(later > ahead, "it goes on when it is read");
        drop(scan);
        let ended = settled(&taken).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(taken.load(Ordering::Relaxed), ended);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_has_a_message_for_its_schema_one_for_each_block_and_one_for_its_end() {
    let mut served = Served::new(Arc::new(MemoryStore::new())).await;
    served.sharded(None).await.populate(10_000, false).await.unwrap();
    let mut scan = served.client.scan(ScanRequest {}).await.unwrap().into_inner();
    let mut messages = 0;
    while scan.message().await.unwrap().is_some() {
        messages += 1;
    }
    assert_eq!(messages, 10_000_usize.div_ceil(BLOCK_ROWS) + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_population_waits_for_the_store() {
    let store = Endless { is_slow: true, ..Endless::default() };
    let taken = Arc::clone(&store.taken);
    let served = Served::new(Arc::new(store)).await;
    let client = served.sharded(None).await;
    // Far more rows than fit into the buffers between client and server.
    let filling = tokio::spawn(async move { client.populate(10_000_000, true).await });
    while taken.load(Ordering::Relaxed) < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    filling.abort();
    assert!(filling.await.is_err());
    let ended = settled(&taken).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(taken.load(Ordering::Relaxed), ended, "a population whose client is gone goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_aggregation_ends_when_nobody_waits_for_it() {
    let store = Endless::default();
    let cancelled = Arc::clone(&store.taken);
    let mut served = Served::new(Arc::new(store)).await;
    let asked = AggregateRequest { column: 1, filter: None };
    let mut request = Request::new(asked);
    request.set_timeout(Duration::from_millis(50));
    let status = served.client.aggregate(request).await.unwrap_err();
    assert!(matches!(status.code(), Code::DeadlineExceeded | Code::Cancelled), "{status:?}");
    while cancelled.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let client = served.sharded(Some(Duration::from_millis(50))).await;
    let aggregation = Aggregation { column: boundary_bench_shards::Column::Key, filter: None };
    let error = client.aggregate(&aggregation).await.unwrap_err();
    assert_eq!(error.code(), "BB_TIMEOUT");
    assert!(error.to_string().contains("shard 0 of 1"), "{error}");
    while cancelled.load(Ordering::Relaxed) == 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_ends_at_its_deadline() {
    let served = Served::new(Arc::new(Endless::default())).await;
    let client = served.sharded(Some(Duration::from_millis(100))).await;
    let mut scan = client.scan();
    let error = loop {
        if let Err(failure) = scan.next().await.unwrap() {
            break failure.error;
        }
    };
    assert_eq!(error.code(), "BB_TIMEOUT");
    assert!(scan.next().await.is_none());
    // The server's time-out also works, for a client that has none.
    let mut raw = ShardServiceClient::connect(served.server.url()).await.unwrap();
    let mut request = Request::new(ScanRequest {});
    request.metadata_mut().insert("grpc-timeout", "100m".parse().unwrap());
    let status = match raw.scan(request).await {
        Ok(answer) => {
            let mut scan = answer.into_inner();
            loop {
                match scan.message().await {
                    Ok(message) => assert!(message.is_some()),
                    Err(status) => break status,
                }
            }
        }
        // A busy machine may take the whole time-out for the first message.
        Err(status) => status,
    };
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert_eq!(status.metadata().get("bb-code").unwrap(), "BB_TIMEOUT");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_too_large_or_wrong_are_refused() {
    let options = ShardOptions { shard: 1, shards: 2, ..ShardOptions::default() };
    let server = ShardServer::serve(&options, Arc::new(MemoryStore::new())).unwrap();
    let mut client = ShardServiceClient::connect(server.url()).await.unwrap();
    let packed = |bytes: usize| PutManyRequest { rows: vec![0; bytes].into() };
    // gRPC itself refuses this message, without a code of ours.
    let status = client.put_many(packed(200 * 21_000)).await.unwrap_err();
    assert!(status.code() == Code::OutOfRange && status.metadata().get("bb-code").is_none(), "{status:?}");
    let mut short: boundary_bench_shards::proto::Row = (&Row::made(1)).into();
    short.payload = short.payload.slice(1..);
    for (refused, words) in [
        (client.multi_get(MultiGetRequest { keys: vec![0; 25_000] }).await.err(), "fit into an answer"),
        (client.put_many(packed(199)).await.err(), "no whole rows"),
        (client.put_many(packed(201)).await.err(), "no whole rows"),
        (client.put(PutRequest { row: None }).await.err(), "row"),
        (client.put(PutRequest { row: Some(short) }).await.err(), "171 bytes"),
        (client.aggregate(AggregateRequest::default()).await.err(), "column"),
    ] {
        let status = refused.unwrap();
        assert!(status.code() == Code::InvalidArgument && status.message().contains(words), "{status:?}");
        assert_eq!(status.metadata().get("bb-code").unwrap(), "BB_INVALID_ARGUMENT");
        assert_eq!(status.metadata().get("bb-shard").unwrap(), "1");
    }
    // The server still answers.
    assert!(client.get(GetRequest { key: 1 }).await.unwrap().into_inner().row.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_population_that_is_wrong_is_refused() {
    let mut served = Served::new(Arc::new(MemoryStore::new())).await;
    let populate = async |client: &mut ShardServiceClient<Channel>, messages: Vec<PopulateRequest>| {
        client.populate(tokio_stream::iter(messages)).await.unwrap_err()
    };
    let begin = |rows| PopulateRequest {
        begin: Some(PopulateBegin { rows, total_rows: rows, replace: false }),
        ..PopulateRequest::default()
    };
    let client = &mut served.client;
    assert!(populate(client, vec![]).await.message().contains("how to begin"));
    assert!(populate(client, vec![PopulateRequest::default()]).await.message().contains("how to begin"));
    assert!(populate(client, vec![begin(10)]).await.message().contains("broke off"));
    let garbage = PopulateRequest { ipc_header: vec![7; 99].into(), ..PopulateRequest::default() };
    assert_eq!(populate(client, vec![begin(10), garbage]).await.code(), Code::InvalidArgument);
    let status = populate(client, vec![begin(u64::MAX)]).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert_eq!(status.metadata().get("bb-code").unwrap(), "BB_NOT_ENOUGH_MEMORY");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_for_its_size_leaves_the_rows_that_there_are() {
    let mut served = Served::new(Arc::new(MemoryStore::new())).await;
    let row = Row { price: -0.0, ..Row::made(1) };
    served.client.put(PutRequest { row: Some((&row).into()) }).await.unwrap();
    let begin = Some(PopulateBegin { rows: u64::MAX, total_rows: u64::MAX, replace: true });
    let begin = PopulateRequest { begin, ..PopulateRequest::default() };
    let status = served.client.populate(tokio_stream::iter([begin])).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    let found = served.client.get(GetRequest { key: 1 }).await.unwrap().into_inner().row.unwrap();
    // A negative zero keeps its sign.
    assert_eq!(found.price.unwrap().to_bits(), row.price.to_bits());
    assert_eq!(found, (&row).into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_store_is_an_error() {
    let mut served = Served::new(Arc::new(Endless::default())).await;
    let status = served.client.get(GetRequest { key: 1 }).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert!(status.message().contains("nobody is to ask"), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_and_reflection_answer() {
    let served = Served::new(Arc::new(MemoryStore::new())).await;
    let channel = Channel::from_shared(served.server.url()).unwrap().connect().await.unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    let name = "boundary_bench.shards.v1.ShardService";
    let check = |service: &str| tonic_health::pb::HealthCheckRequest { service: service.to_owned() };
    for service in ["", name] {
        let health = health.check(check(service)).await.unwrap().into_inner();
        assert_eq!(health.status(), tonic_health::pb::health_check_response::ServingStatus::Serving);
    }
    assert_eq!(health.check(check("none")).await.unwrap_err().code(), Code::NotFound);

    let mut reflection = tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient::new(channel);
    let ask = tonic_reflection::pb::v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = reflection.server_reflection_info(tokio_stream::iter([ask])).await.unwrap().into_inner();
    let Some(MessageResponse::ListServicesResponse(services)) =
        answers.message().await.unwrap().unwrap().message_response
    else {
        panic!("no list of services")
    };
    assert!(services.service.iter().any(|listed| listed.name == name));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stopped_ends_and_is_named() {
    let served = Served::new(Arc::new(MemoryStore::new())).await;
    let client = served.sharded(None).await;
    client.put(&Row::made(3)).await.unwrap();
    tokio::task::spawn_blocking(move || served.server.stop()).await.unwrap();
    let error = client.get(3).await.unwrap_err();
    assert_eq!(error.code(), "BB_CONNECTION");
    assert!(error.to_string().contains("shard 0 of 1 at http://127.0.0.1:"), "{error}");
}
