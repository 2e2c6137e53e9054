//! Shards that require an API key, and speak TLS.

use std::path::PathBuf;
use std::sync::Arc;

use boundary_bench_kernel::testing::certificate;
use boundary_bench_kernel::tls::TlsFiles;
use boundary_bench_shards::proto::shard_service_client::ShardServiceClient;
use boundary_bench_shards::proto::{
    AggregateRequest, DescribeRequest, GetRequest, MultiGetRequest, PopulateRequest, PutManyRequest, PutRequest,
    ScanRequest,
};
use boundary_bench_shards::{
    ClientOptions, Columns, MemoryStore, Row, ShardClient, ShardLocation, ShardOptions, ShardServer, made_checksum,
};
use tonic::Code;

const ROWS: u64 = 3000;

fn key() -> String {
    format!("{}.{}", "p".repeat(16), "s".repeat(64))
}

fn guarded(options: ShardOptions) -> ShardServer {
    ShardServer::start(&ShardOptions { api_key: Some(key()), ..options }).unwrap()
}

/// Makes each kind of call, over the client's connections.
async fn use_all_calls(client: &ShardClient) {
    client.populate(ROWS, true).await.unwrap();
    assert_eq!(client.get(1).await.unwrap(), Some(Row::made(1)));
    assert!(client.multi_get(&[1, 2]).await.unwrap().failures.is_empty());
    client.put(&Row::made(1)).await.unwrap();
    client.put_many(&Row::made(2).to_bytes()).await.unwrap();
    assert_eq!(client.describe().await.unwrap(), [(ROWS, Some(ROWS))]);
    let mut scan = client.scan();
    let mut sum = 0_u32;
    while let Some(batch) = scan.next().await {
        sum = sum.wrapping_add(Columns::of_batch(&batch.map_err(|failure| failure.error).unwrap()).unwrap().checksum());
    }
    assert_eq!(sum, made_checksum(ROWS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_asked_for_by_every_call() {
    let server = guarded(ShardOptions::default());
    let options = |key: Option<&str>| ClientOptions { api_key: key.map(str::to_owned), ..ClientOptions::default() };
    let connect = |url: String, options: ClientOptions| async move {
        ShardClient::connect(vec![ShardLocation::Remote(url)], &options).await
    };
    let with_key = server.url().replace("://", &format!("://:{}@", key()));
    use_all_calls(&connect(server.url(), options(Some(key().as_str()))).await.unwrap()).await;
    use_all_calls(&connect(with_key.clone(), options(None)).await.unwrap()).await;
    // The key in the URL takes precedence, and a client with its own connections sends it too.
    use_all_calls(&connect(with_key, options(Some("other"))).await.unwrap().apart()).await;
    for (wrong, said) in [(None, "X-API-KEY is missing"), (Some("short"), "bad API key")] {
        let error = connect(server.url(), options(wrong)).await.err().unwrap();
        assert_eq!(error.code(), "BB_CONNECTION");
        assert!(error.to_string().contains(said) && error.to_string().contains("shard 0 of 1"), "{error}");
    }
    let other = server.url().replace("://", &format!("://:{}@", key().replace('s', "t")));
    let error = connect(other, options(None)).await.err().unwrap().to_string();
    assert!(error.contains("bad API key") && !error.contains("ttt"), "{error}");
    let unusable = connect(server.url(), options(Some("two\nlines"))).await.err().unwrap();
    assert_eq!(unusable.code(), "BB_INVALID_ARGUMENT");

    // A plain gRPC client without the key.
    let mut bare = ShardServiceClient::connect(server.url()).await.unwrap();
    let row = PutRequest { row: Some((&Row::made(-1)).into()) };
    let rows = PutManyRequest { rows: Row::made(-2).to_bytes().to_vec().into() };
    let codes = [
        bare.describe(DescribeRequest {}).await.err(),
        bare.get(GetRequest { key: 1 }).await.err(),
        bare.multi_get(MultiGetRequest { keys: vec![1] }).await.err(),
        bare.put(row).await.err(),
        bare.put_many(rows).await.err(),
        bare.aggregate(AggregateRequest::default()).await.err(),
        bare.scan(ScanRequest {}).await.err(),
        bare.populate(tokio_stream::iter([PopulateRequest::default()])).await.err(),
    ];
    for status in codes {
        assert_eq!(status.map(|status| status.code()), Some(Code::Unauthenticated));
    }
    let client = connect(server.url(), options(Some(key().as_str()))).await.unwrap();
    assert_eq!(client.describe().await.unwrap(), [(ROWS, Some(ROWS))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tls_protects_all_calls() {
    for own in ["loopback", "authority"] {
        check_tls(own).await;
    }
}

async fn check_tls(own: &str) {
    let (own, other) = (certificate(own), certificate("localhost"));
    let server = guarded(ShardOptions { tls: Some(own.clone()), ..ShardOptions::default() });
    assert!(server.url().starts_with("https://127.0.0.1:"));
    let url = server.url().replace("://", &format!("://:{}@", key()));
    let trusting = |certificate: &TlsFiles| ClientOptions {
        tls_ca: Some(certificate.certificate.clone()),
        connections: 2,
        ..ClientOptions::default()
    };
    let connect = |url: String, options: ClientOptions| async move {
        ShardClient::connect(vec![ShardLocation::Remote(url)], &options).await
    };
    let client = connect(url.clone(), trusting(&own)).await.unwrap();
    use_all_calls(&client).await;
    use_all_calls(&client.apart()).await;
    let named = format!("{url}/?tls-ca={}", own.certificate.display());
    use_all_calls(&connect(named, ClientOptions::default()).await.unwrap()).await;
    let clear = url.replace("https", "http");
    for (url, options) in
        [(url.clone(), ClientOptions::default()), (url.clone(), trusting(&other)), (clear, ClientOptions::default())]
    {
        let error = connect(url, options).await.err().unwrap();
        assert_eq!(error.code(), "BB_CONNECTION", "{error}");
        assert!(!error.to_string().contains("ssss"), "{error}");
    }
    let missing = ClientOptions { tls_ca: Some(PathBuf::from("/nothing.pem")), ..ClientOptions::default() };
    assert_eq!(connect(url, missing).await.err().unwrap().code(), "BB_INVALID_ARGUMENT");
}

#[test]
fn files_that_are_no_certificates_are_refused() {
    let here = PathBuf::from(file!()).file_name().map(|name| PathBuf::from("tests").join(name)).unwrap();
    for wrong in [PathBuf::from("/nothing.pem"), here] {
        let tls = Some(TlsFiles { certificate: wrong.clone(), key: wrong.clone() });
        let error = ShardServer::serve(&ShardOptions { tls, ..ShardOptions::default() }, Arc::new(MemoryStore::new()));
        let error = error.err().unwrap();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        assert!(error.to_string().contains(&wrong.display().to_string()), "{error}");
    }
}
