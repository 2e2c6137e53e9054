//! `hyperdb-api` used directly, against the real server: every variant stores and reads the expected rows, and none
//! leaves a table locked.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use boundary_bench_engine::checksum::{Checksum, FLOAT_TOLERANCE};
use boundary_bench_engine::measurements::{
    Measurement, RowRange, expected_aggregation, expected_all, expected_filtered, table,
};
use boundary_bench_hyper::{ServerAddress, Transport, executable};
use boundary_bench_kernel::Result;
use boundary_bench_kernel::needs;
use boundary_bench_suite::Workload;
use boundary_bench_suite::hyperdb_api_crate::client::{
    Endpoint, Session, close_async, insert_chunks, insert_chunks_of_threads, insert_ipc, insert_rows, read_arrow,
    read_columns, read_rows, read_rows_async,
};
use hyperdb_api::{Connection, CreateMode, HyperProcess, ListenMode, Parameters, TransportMode};

const ROWS: u64 = 150_001;
const SCAN: &str = "SELECT id, sensor_id, value, timestamp FROM measurements";
const AGGREGATION: &str = "SELECT sensor_id, count(*) AS count, avg(value) AS avg, min(value) AS min, max(value) AS max \
                           FROM measurements GROUP BY sensor_id ORDER BY sensor_id";

/// A server with a database that has an empty table of measurements.
struct Server {
    process: HyperProcess,
    endpoint: String,
    database: String,
    folder: PathBuf,
}

impl Server {
    fn start(transport: TransportMode) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bb-direct-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let mut parameters = Parameters::new();
        parameters
            .set("log_dir", folder.to_str().unwrap())
            .set("default_database_version", "4")
            .set("hard_concurrent_query_thread_limit", "1000%")
            .set("grpc_service_roles", r#"{"default":{"user":"tableau_internal_user","authorizations":[]}}"#);
        parameters.set_transport_mode(transport);
        if transport == TransportMode::Tcp {
            // Any free port. hyperd does not choose one for gRPC.
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            parameters.set_listen_mode(ListenMode::Both { grpc_port: free.port() });
        }
        let process = HyperProcess::new(Some(&executable().unwrap()), Some(&parameters)).unwrap();
        // The descriptor of a Unix socket names the actual socket.
        let endpoint = match transport {
            TransportMode::Tcp => process.require_endpoint().unwrap().to_owned(),
            TransportMode::Ipc => process.connection_endpoint().unwrap().to_descriptor(),
        };
        let database = folder.join("bench.hyper").to_str().unwrap().to_owned();
        let server = Self { process, endpoint, database, folder };
        server.empty(CreateMode::Create);
        server
    }

    fn connect(&self, mode: CreateMode) -> Connection {
        Connection::connect(&self.endpoint, &self.database, mode).unwrap()
    }

    /// Replaces the table by an empty one. Fails if a session holds the table.
    fn empty(&self, mode: CreateMode) {
        let connection = self.connect(mode);
        connection.execute_command("DROP TABLE IF EXISTS measurements").unwrap();
        let columns = "id INT NOT NULL, sensor_id INT, value DOUBLE PRECISION, timestamp BIGINT";
        connection.execute_command(&format!("CREATE TABLE measurements ({columns})")).unwrap();
        connection.close().unwrap();
    }

    fn direct(&self) -> Endpoint {
        let (endpoint, database) = (self.endpoint.clone(), self.database.clone());
        Endpoint(ServerAddress { endpoint, database, transport: Transport::Tcp, credentials: None })
    }

    fn grpc(&self, transport: Transport) -> Endpoint {
        let endpoint = self.process.require_grpc_url().unwrap();
        Endpoint(ServerAddress { endpoint, transport, ..self.direct().0 })
    }

    fn fill(&self) {
        self.empty(CreateMode::DoNotCreate);
        let session = self.direct().connect().unwrap();
        assert_eq!(insert_rows(&session, "measurements", pieces(all())).unwrap(), ROWS);
    }

    fn contents(&self) -> Checksum {
        read_rows(&self.direct().connect().unwrap(), SCAN, Workload::QueryFullScan).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn all() -> RowRange {
    RowRange::new(0, ROWS).unwrap()
}

fn pieces(range: RowRange) -> impl FnMut(&mut Vec<Measurement>) -> bool {
    let mut chunks = range.chunks(40_000).collect::<Vec<_>>().into_iter();
    move |rows| {
        rows.clear();
        chunks.next().map(|chunk| rows.extend(chunk.iter())).is_some()
    }
}

/// One IPC stream, cut after each batch.
fn stream(range: RowRange) -> Vec<Vec<u8>> {
    let mut writer = StreamWriter::try_new(Vec::new(), &table("").to_arrow()).unwrap();
    let mut pieces = Vec::new();
    for chunk in range.chunks(40_000) {
        writer.write(&chunk.columns().into_batch().unwrap()).unwrap();
        pieces.push(std::mem::take(writer.get_mut()));
    }
    writer.finish().unwrap();
    pieces.push(std::mem::take(writer.get_mut()));
    pieces
}

fn assert_same(found: &Checksum, expected: &Checksum, context: &str) {
    assert_eq!(found.difference(expected, FLOAT_TOLERANCE), None, "{context}");
}

fn on_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

async fn insert_stream(endpoint: &Endpoint, pieces: &[Vec<u8>]) -> Result<u64> {
    let connection = endpoint.connect_async().await?;
    let inserted = insert_ipc(&connection, "measurements", pieces).await;
    close_async(connection).await?;
    inserted
}

#[test]
fn every_insert_stores_all_rows_over_tcp_and_ipc() {
    needs!("hyperd", executable());
    for transport in [TransportMode::Tcp, TransportMode::Ipc] {
        let server = Server::start(transport);
        let expected = expected_all(all());
        server.fill();
        assert_same(&server.contents(), &expected, "Inserter");

        server.empty(CreateMode::DoNotCreate);
        let session = server.direct().connect().unwrap();
        assert_eq!(insert_chunks(&session, "measurements", pieces(all())).unwrap(), ROWS);
        assert_same(&server.contents(), &expected, "ChunkSender");

        server.empty(CreateMode::DoNotCreate);
        let parts = [(0, 75_000), (75_000, 0), (75_000, ROWS - 75_000)];
        let parts = parts.map(|(start, rows)| RowRange::new(start, rows).unwrap().iter()).into();
        assert_eq!(insert_chunks_of_threads(&session, "measurements", parts).unwrap(), ROWS);
        assert_same(&server.contents(), &expected, "ChunkSender of threads");

        server.empty(CreateMode::DoNotCreate);
        assert_eq!(on_runtime(insert_stream(&server.direct(), &stream(all()))).unwrap(), ROWS);
        assert_same(&server.contents(), &expected, "AsyncArrowInserter");
    }
}

#[test]
fn every_query_reads_every_value() {
    needs!("hyperd", executable());
    for transport in [TransportMode::Tcp, TransportMode::Ipc] {
        let server = Server::start(transport);
        server.fill();
        let filtered = format!("{SCAN} WHERE sensor_id = 5");
        let queries = [
            (SCAN, Workload::QueryFullScan, expected_all(all())),
            (&filtered, Workload::QueryFiltered, expected_filtered(all())),
            (AGGREGATION, Workload::QueryAggregation, expected_aggregation(all())),
        ];
        for (sql, workload, expected) in queries {
            let session = server.direct().connect().unwrap();
            assert_same(&read_rows(&session, sql, workload).unwrap(), &expected, sql);
            let read = on_runtime(async {
                let connection = server.direct().connect_async().await?;
                let read = read_rows_async(&connection, sql, workload).await;
                close_async(connection).await?;
                read
            });
            assert_same(&read.unwrap(), &expected, sql);
            if transport == TransportMode::Ipc {
                continue;
            }
            for mode in [Transport::GrpcSync, Transport::GrpcAdaptive, Transport::GrpcAsync] {
                let endpoint = server.grpc(mode);
                let (whole, columns) = on_runtime(async {
                    let bytes = read_arrow(&mut endpoint.connect_grpc().await?, sql).await?;
                    Ok((bytes, read_columns(&mut endpoint.connect_grpc_stream().await?, sql).await?))
                })
                .unwrap();
                assert_same(&columns, &expected, &format!("{mode:?} {sql}"));
                assert_same(&decoded(whole), &expected, &format!("{mode:?} {sql}"));
            }
        }
    }
}

fn decoded(mut bytes: Buffer) -> Checksum {
    let mut decoder = StreamDecoder::new();
    let mut checksum = None;
    while let Some(batch) = decoder.decode(&mut bytes).unwrap() {
        checksum.get_or_insert_with(|| Checksum::new(&batch.schema()).unwrap()).add_batch(&batch).unwrap();
    }
    checksum.unwrap()
}

/// A trap of the server: it stops at the end of the first stream, so that `insert_ipc` must send one stream.
#[test]
fn several_ipc_streams_in_one_insert_lose_rows_without_a_word() {
    needs!("hyperd", executable());
    let server = Server::start(TransportMode::Tcp);
    let halves = [RowRange::new(0, 1000), RowRange::new(1000, 1000)].map(Result::unwrap);
    let two_streams = halves.map(|half| stream(half).concat());
    assert_eq!(on_runtime(insert_stream(&server.direct(), &two_streams)).unwrap(), 1000);
    assert_eq!(server.contents().rows, 1000);
}

type NextPiece<'a> = &'a mut dyn FnMut(&mut Vec<Measurement>) -> bool;

fn with_inserter(session: &Session, next_piece: NextPiece) -> Result<u64> {
    insert_rows(session, "measurements", next_piece)
}

fn with_chunks(session: &Session, next_piece: NextPiece) -> Result<u64> {
    insert_chunks(session, "measurements", next_piece)
}

#[test]
fn an_insert_that_ends_early_leaves_neither_rows_nor_a_locked_table() {
    needs!("hyperd", executable());
    for transport in [TransportMode::Tcp, TransportMode::Ipc] {
        let server = Server::start(transport);
        let fails =
            |index: u64| if index < ROWS - 1 { Measurement::at(index.try_into().unwrap()) } else { panic!("no row") };
        let session = server.direct().connect().unwrap();
        let parts = vec![(0..1000).map(fails), (1000..ROWS).map(fails)];
        let error = insert_chunks_of_threads(&session, "measurements", parts).unwrap_err();
        assert_eq!(error.code(), "BB_INTERNAL");
        drop(session);
        assert_eq!(server.contents().rows, 0);

        for insert in [with_inserter, with_chunks] {
            let session = server.direct().connect().unwrap();
            let mut pieces = pieces(all());
            let error = insert(&session, &mut |rows| pieces(rows) || panic!("no input")).unwrap_err();
            assert_eq!(error.code(), "BB_INTERNAL");
            drop(session);
            assert_eq!(server.contents().rows, 0);
        }

        let mut damaged = stream(all());
        damaged[1].fill(0xff);
        let error = on_runtime(insert_stream(&server.direct(), &damaged)).unwrap_err();
        assert_eq!(error.code(), "BB_ENGINE", "{error}");
        assert_eq!(server.contents().rows, 0);
        server.fill();
        assert_eq!(server.contents().rows, ROWS);
    }
}

#[test]
fn what_is_not_there_is_an_error_in_the_words_of_the_server() {
    needs!("hyperd", executable());
    let server = Server::start(TransportMode::Tcp);
    let endpoint = server.direct();
    let session = endpoint.connect().unwrap();
    let sql = "SELECT * FROM missing";
    let errors = [
        read_rows(&session, sql, Workload::QueryFullScan).unwrap_err(),
        insert_rows(&session, "missing", pieces(all())).unwrap_err(),
        on_runtime(async {
            let grpc = server.grpc(Transport::GrpcAdaptive);
            read_columns(&mut grpc.connect_grpc_stream().await?, sql).await
        })
        .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.code(), "BB_ENGINE");
        assert!(error.to_string().contains("missing"), "{error}");
    }
    // The connection is still usable.
    assert_eq!(read_rows(&session, SCAN, Workload::QueryFullScan).unwrap().rows, 0);

    let nowhere = Endpoint(ServerAddress { database: "/nowhere/x.hyper".to_owned(), ..endpoint.0.clone() });
    assert_eq!(nowhere.connect().err().unwrap().code(), "BB_ENGINE");
    assert_eq!(server.grpc(Transport::GrpcSync).connect().err().unwrap().code(), "BB_UNSUPPORTED");
    let not_grpc = on_runtime(async { endpoint.connect_grpc().await.map(drop) });
    assert_eq!(not_grpc.unwrap_err().code(), "BB_UNSUPPORTED");
}

#[test]
fn an_endpoint_does_not_show_its_password() {
    let endpoint = Endpoint(ServerAddress {
        endpoint: "host:1".to_owned(),
        database: "/data/x.hyper".to_owned(),
        transport: Transport::Tcp,
        credentials: Some(("me".to_owned(), "secret".to_owned())),
    });
    assert!(!format!("{endpoint:?}").contains("secret"));
}
